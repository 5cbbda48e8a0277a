"""How surely a number is known."""

from math import sqrt
from typing import NamedTuple


class Estimate(NamedTuple):
    """A number and the interval that holds the true one with 95 % confidence."""

    value: float
    low: float
    high: float


def wilson_interval(points: float, games: int, z: float = 1.96) -> tuple[float, float]:
    """The interval in which the true share of points lies, with 95 % confidence for the default `z`.

    E. B. Wilson's score interval (1927). Unlike the usual "± z standard errors" it stays within 0 and 1, and has a
    width also where every game was won. Draws counted as half points make it wider than it need be, never narrower.

    Args:
        points: one for a win, a half for a draw; from 0 to `games`.
        games: how many were played, at least 1.
        z: quantile of the normal distribution.
    """
    if games < 1 or not 0 <= points <= games:
        raise ValueError(f"points must be from 0 to the number of games, at least 1: not {points} of {games}")
    share = points / games
    middle = share + z * z / (2 * games)
    spread = z * sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    scale = 1 + z * z / games
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
