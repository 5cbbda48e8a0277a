"""Is the new agent better? A sequential test, which stops as soon as the games say so.

Wald's sequential probability ratio test (1945) compares two hypotheses about Elo, `elo0` and `elo1`, after every pair
of games: the two from one opening, colours swapped. Of a pair the new agent scores 0, 1/2, 1, 3/2 or 2 points, and the
hypotheses say nothing but the mean of these. So each takes the distribution with its mean that makes what was seen the
likeliest: the generalised test, worked out for such counts by Michel Van den Bergh ("The generalized maximum likelihood
ratio for the expected value of multinomial distributions"). Pairs are counted, not games, since an opening that is good
for one side gives each agent a point: two games of a pair are no independent witnesses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log10

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import xlogy

from .interval import Estimate
from .table import check_games

SCORES = np.array([0, 1 / 4, 1 / 2, 3 / 4, 1])  # of a pair, per game
HALVINGS = 60  # of the interval that holds the multiplier: as exact as floats are
LIKELY = 1.921  # half of the 0.95 quantile of chi-squared: how far log-likelihood may fall on either side


@dataclass(frozen=True)
class Sprt:
    """The test, with its four numbers; the counts of pairs are handed to its methods.

    Raises ValueError unless elo0 < elo1 and both error rates are above 0 and below 1/2.
    """

    elo0: float  # hypothesis 0: the new agent is so much stronger than the old one, and not worth having
    elo1: float  # hypothesis 1: it is so much stronger, and we want to know
    alpha: float = 0.05  # how often "better" may be said under hypothesis 0
    beta: float = 0.05  # how often "not better" may be said under hypothesis 1

    def __post_init__(self):
        if not self.elo0 < self.elo1:
            raise ValueError(f"elo0 must be below elo1: not {self.elo0} and {self.elo1}")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise ValueError(f"alpha and beta must be above 0 and below 1/2: not {self.alpha} and {self.beta}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Wald's bounds: "not better" at the lower one, "better" at the upper one."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def llr(self, pairs: Sequence[int] | np.ndarray) -> float | np.ndarray:
        """The logarithm of how much likelier the pairs are under `elo1` than under `elo0`.

        Args:
            pairs: (..., 5) how many pairs brought the new agent 0, 1/2, 1, 3/2 and 2 points.

        Returns (...) float.
        """
        pairs = _checked(pairs)
        return log_likelihood(pairs, share_of(self.elo1)) - log_likelihood(pairs, share_of(self.elo0))

    def decision(self, pairs: Sequence[int]) -> str | None:
        """ "better", "not better", or None as long as more games are needed; see `llr` for the pairs."""
        low, high = self.bounds
        llr = self.llr(pairs)
        return "better" if llr >= high else "not better" if llr <= low else None


def share_of(elo: float) -> float:
    """The expected share of points of an agent so many Elo stronger, from 0 to 1."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(share: float) -> float:
    """The Elo difference that makes a share of points expected; infinite for 0 and 1."""
    return float("inf") * (share - 0.5) if share in (0, 1) else 400 * log10(share / (1 - share))


def log_likelihood(pairs: np.ndarray, share: float) -> np.ndarray:
    """Of the likeliest distribution of pair scores whose mean is that share of points, from 0 to 1 exclusive.

    With n_i pairs of score a_i it gives each of these n_i / n / (1 + m (a_i - share)), and the multiplier m makes the
    mean right. Where every pair is above the share, or nearly, what remains goes to score 0, where no pair is, and the
    multiplier ends at 1 / share; likewise at the other side. So there is an answer also where all pairs are alike.

    Args:
        pairs: (..., 5) counts, as in `Sprt.llr`.
        share: the mean.

    Returns (...) float.
    """
    pairs = np.asarray(pairs, float)
    distance = SCORES - share
    low, high = np.full(pairs.shape[:-1], -1 / (1 - share)), np.full(pairs.shape[:-1], 1 / share)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_low = (_tilted(pairs, distance, middle) * distance).sum(axis=-1) > 0
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    chances = _tilted(pairs, distance, middle) / np.maximum(pairs.sum(axis=-1, keepdims=True), 1)
    return xlogy(pairs, chances).sum(axis=-1)


def _tilted(pairs, distance, multiplier):
    return pairs / np.where(pairs > 0, 1 + multiplier[..., None] * distance, 1)


def elo(pairs: Sequence[int]) -> Estimate:
    """Elo of the new agent less the old one's by the mean score, and the interval of 95 % by the same likelihood.

    That interval (Owen 1988, empirical likelihood) has a width also where all pairs are alike. Raises ValueError for no
    pairs.
    """
    pairs = _checked(pairs)
    if not pairs.sum():
        raise ValueError("there are no pairs to estimate from")
    share = float(pairs @ SCORES / pairs.sum())
    top = xlogy(pairs, pairs / pairs.sum()).sum()

    def above(other):
        return log_likelihood(pairs, other) - top + LIKELY

    least, most = 1e-12, 1 - 1e-12
    low = brentq(above, least, min(share, most)) if share > 0 else 0.0
    high = brentq(above, max(share, least), most) if share < 1 else 1.0
    return Estimate(elo_of(share), elo_of(low), elo_of(high))


def count_pairs(table: pd.DataFrame, new: str) -> np.ndarray:
    """How many pairs brought the agent `new` 0, 1/2, 1, 3/2 and 2 points, (5,) int, from a table of its games.

    The table is as in `table`. Raises ValueError where an opening was not played once with either colour against
    one and the same opponent, or `new` is in none of the games.
    """
    check_games(table, "opening")
    ours = (table["first"] == new) | (table["second"] == new)
    rivals = {*table["first"], *table["second"]} - {new}
    if not ours.all() or len(rivals) != 1:
        raise ValueError(f"all games must be of {new!r} against one opponent: here are {', '.join(sorted(rivals))}")
    as_first = table["first"] == new
    points = (table["result"].where(as_first, -table["result"]) + 1).astype(int)
    pairs = pd.DataFrame({"points": points, "seat": as_first, "opening": table["opening"]}).groupby("opening")
    if (wrong := (pairs.size() != 2) | (pairs["seat"].nunique() != 2)).any():
        raise ValueError(f"opening {wrong[wrong].index[0]!r} was not played once with either colour")
    return np.bincount(pairs["points"].sum(), minlength=5)


def _checked(pairs):
    pairs = np.asarray(pairs, float)
    if pairs.shape[-1:] != (5,) or (pairs < 0).any():
        raise ValueError("pairs are five counts, none negative: of 0, 1/2, 1, 3/2 and 2 points")
    return pairs
