"""The model behind the ratings, and its likeliest parameters.

Bradley and Terry (1952), with draws as Davidson (1970) has them and an advantage of moving first. With strengths `a` of
the first and `b` of the second player (natural logarithms of odds), the three results are as likely as

    first wins   exp(a + first_move)
    draw         draws * exp((a + first_move + b) / 2)
    second wins  exp(b)

The likeliest parameters are those at the top of a hill with one summit, and Newton's method climbs it for thousands of
tournaments at once.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax

WIDEST = 10.0  # first_move and log(draws) end here, where they would be infinite
NO_DRAWS = -30.0  # log(draws) where nobody drew
FARTHEST = 100.0  # so much stronger is as good as infinitely stronger
LIKELY = 1.353  # half of the 0.9 quantile of chi-squared: how far log-likelihood may fall on one side for 95 %
AT_LIMIT = 1e-9  # so near to one is at it
CLIMBED = 1e-10  # a step that promises less log-likelihood is the last
STEPS = 200  # more than any climb takes


class Pairings(NamedTuple):
    """Who played whom: one row for each first player with each second player."""

    first: np.ndarray  # (rows,) int: number of the player
    second: np.ndarray
    players: int

    @property
    def design(self) -> np.ndarray:
        """(rows, 3, players + 2) float: how each result's logit depends on each parameter; see `Model`."""
        rows = np.arange(len(self.first))
        design = np.zeros((len(rows), 3, self.players + 2))
        design[rows, 0, self.first] = design[rows, 2, self.second] = 1
        design[rows, 1, self.first] = design[rows, 1, self.second] = 1 / 2
        design[:, :, -2] = 1, 1 / 2, 0
        design[:, 1, -1] = 1
        return design


class Model(NamedTuple):
    """The likeliest parameters of `n` tournaments."""

    parameters: np.ndarray  # (n, players + 2): strengths, advantage of the first move, log(draws)
    log_likelihood: np.ndarray  # (n,)
    reach: np.ndarray  # (n, players, players) bool: the row scored against the column, be it over others

    def against(self, anchor: int) -> np.ndarray:
        """(n, players) float: strengths less the anchor's, infinite or NaN where there is no finite one."""
        strength = self.parameters[:, :-2]
        scored, was_scored = self.reach[:, :, anchor], self.reach[:, anchor, :]
        choices = [(strength - strength[:, [anchor]]).round(9) + 0.0, np.inf, -np.inf]
        return np.select([scored & was_scored, scored, was_scored], choices, np.nan)

    @property
    def common(self) -> np.ndarray:
        """(n, 2) float: advantage of the first move and log(draws), infinite where there is no finite one."""
        common = self.parameters[:, -2:]
        low, high = common <= np.array([-WIDEST, NO_DRAWS]) + AT_LIMIT, common >= WIDEST - AT_LIMIT
        return np.select([low, high], [-np.inf, np.inf], common)

    @property
    def stronger(self) -> np.ndarray:
        """(n, players, players) float: 1 where the row is stronger than the column, 0 where weaker, else a half."""
        strength = self.parameters[:, :-2].round(6)  # so that equals are equal
        back = self.reach.transpose(0, 2, 1)
        lead = np.sign(strength[:, :, None] - strength[:, None, :])
        return (np.where(self.reach & back, lead, self.reach * 1.0 - back) + 1) / 2


def fit(counts: np.ndarray, pairings: Pairings, start: np.ndarray | None = None) -> Model:
    """Fit `n` tournaments of the same pairings.

    Where one group of players scored every point against another, the likeliest strengths are infinitely far apart, and
    the games between them say nothing about anything else. So these are left out, and what remains has finite answers.

    Args:
        counts: (n, rows, 3) float, how often the first player won, drew and lost each pairing.
        pairings: the rows.
        start: (players + 2,) float, parameters to begin with.
    """
    level = _mutual(_reach(_edges(counts, pairings)))
    kept = counts * level[:, pairings.first, pairings.second, None]
    parameters, log_likelihood = _climb(kept, pairings.design, level, start=start)
    # Where draws become infinitely likely, one draws against any weaker player, and only wins bound a strength.
    draws = parameters[:, -1:] < WIDEST - AT_LIMIT
    parameters[~kept.any(axis=(1, 2)), -2:] = np.nan  # no game is left to tell
    return Model(parameters, log_likelihood, _reach(_edges(counts, pairings, draws)))


def _climb(counts, design, level, offset=0.0, start=None, widest=WIDEST):
    """A multinomial logit by Newton's method: the likeliest parameters and their log-likelihood, of `n` sets of counts.

    Args:
        counts: (n, rows, 3) float.
        design: (rows, 3, players + 2) float; the logits are `design @ parameters + offset`.
        level: (n, players, players) bool, players that must be compared with each other: the sum of their strengths,
            on which no result depends, stays what it was.
        offset: (rows, 3) float.
        start: (players + 2,) float, 0 if None.
        widest: the last two parameters stay from -`widest`, or `NO_DRAWS`, to `widest`.
    """
    n, k = len(counts), design.shape[-1]
    flat = design.reshape(-1, k)
    games = counts.sum(axis=2, keepdims=True)
    high = np.append(np.full(k - 2, np.inf), [widest, widest])
    low = np.append(-high[:-1], NO_DRAWS)
    at = np.zeros((n, k)) if start is None else np.tile(np.nan_to_num(start), (n, 1))
    at[~counts[:, :, 1].any(axis=1), -1] = NO_DRAWS

    def look(at):
        logs = log_softmax((at @ flat.T).reshape(counts.shape) + offset, axis=2)
        return logs, (counts * logs).sum(axis=(1, 2))

    logs, height = look(at)
    for _ in range(STEPS):
        chances = np.exp(logs)
        slope = (counts - games * chances).reshape(n, -1) @ flat
        free = ((at > low + AT_LIMIT) | (slope > 0)) & ((at < high - AT_LIMIT) | (slope < 0))  # the others press on
        spread = (design - (chances[..., None] * design).sum(axis=2, keepdims=True)).reshape(n, -1, k)
        curvature = (spread * (games * chances).reshape(n, -1, 1)).transpose(0, 2, 1) @ spread
        curvature[:, :-2, :-2] += level
        curvature *= free[:, :, None] & free[:, None, :]
        curvature += np.eye(k) * np.where(free, 1e-12, 1.0)[:, None]  # never singular
        slope *= free
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        room = np.where(step > 0, high, low) - at
        share = np.divide(room, step, out=np.ones_like(step), where=np.abs(step) > 1e-12)
        step *= np.minimum(share.min(axis=1, keepdims=True), 1)  # as far as the first limit

        before, base = height, at
        at = base + step
        logs, height = look(at)
        while (worse := height < before - CLIMBED).any():  # a step too far is halved
            step[worse] /= 2
            at = base + step
            logs, height = look(at)
        if ((slope * step).sum(axis=1) < CLIMBED).all():
            break
    return at, height


def _edges(counts, pairings, draws=True):
    """(n, players, players) bool: the row won against the column or, where `draws` (n, 1) says so, drew."""
    edges = np.zeros((len(counts), pairings.players, pairings.players), bool)
    won, drawn, lost = np.moveaxis(counts > 0, 2, 0)
    edges[:, pairings.first, pairings.second] = won | drawn & draws
    edges[:, pairings.second, pairings.first] |= lost | drawn & draws
    return edges


def _reach(edges):
    """(n, players, players) bool: some way along the edges leads from the row to the column; always to itself."""
    reach = (edges | np.eye(edges.shape[-1], dtype=bool)).astype(np.float32)
    for _ in range(edges.shape[-1].bit_length()):
        reach = np.minimum(reach @ reach, 1)
    return reach > 0


def _mutual(reach):
    return reach & reach.transpose(0, 2, 1)


def one_sided_bound(counts, pairings, model, player, anchor):
    """Where the likelihood of an infinite strength, less the anchor's, has fallen by `LIKELY`."""
    edges = _edges(counts, pairings)
    edges[0, player, anchor] = edges[0, anchor, player] = True
    level = _mutual(_reach(edges))
    kept = counts * level[:, pairings.first, pairings.second, None]
    tied = pairings.design
    alone = tied[..., player].copy()
    tied[..., anchor] += alone
    tied[..., player] = 0

    def above(lead):
        return _climb(kept, tied, level, alone * lead, widest=FARTHEST)[1][0] - model.log_likelihood[0] + LIKELY

    return brentq(above, -FARTHEST, FARTHEST, xtol=1e-6)
