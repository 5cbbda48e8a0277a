"""What a number of games says about strength, and how surely.

Ratings are the strengths of the model in `davidson`, on Elo's scale, 400 / ln 10 times as large: 400 points are odds of
ten to one among the games that somebody wins. How sure they are is seen from tournaments drawn again from the games:
two agents play from each opening once with either colour, and these two games stay together.
"""

from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri, softmax

from ..progress import bar
from .davidson import FARTHEST, NO_DRAWS, WIDEST, Pairings, fit, one_sided_bound
from .interval import Estimate
from .table import check_games, points

ELO = 400 / log(10)  # points of a factor e in the odds
CHUNK = 200  # resampled tournaments fitted at once


class Chances(NamedTuple):
    """Probabilities of the three results, for the first player."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True)
class Ratings:
    """What `rate` found."""

    table: pd.DataFrame  # by player, the strongest first: games, points (a share), rating, low, high (Elo), note
    first_move: Estimate  # Elo that the first player has more
    draws: Estimate  # Davidson's parameter: 0 for none, 1 for a draw as likely as either win between equals
    anchor: str  # the player whose rating is 0
    superiority: pd.DataFrame  # player x player: share of resamples in which the row is the stronger, ties half

    def expected(self, first: str, second: str) -> Chances:
        """How likely the results of a game are by the ratings. ValueError for two players who cannot be compared."""
        lead = self._rating(first) - self._rating(second)
        if np.isnan(lead):
            raise ValueError(f"no telling who is stronger: {first!r} or {second!r}")
        ahead = np.clip(np.nansum([lead, self.first_move.value]) / ELO, -FARTHEST, FARTHEST)
        log_draws = np.log(np.clip(np.nan_to_num(self.draws.value), np.exp(NO_DRAWS), np.exp(WIDEST)))
        return Chances(*map(float, softmax([ahead, ahead / 2 + log_draws, 0.0])))

    def _rating(self, name):
        if name not in self.table.index:
            raise ValueError(f"{name!r} has no rating; these have: {', '.join(sorted(self.table.index))}")
        return self.table.loc[name, "rating"]


def rate(table: pd.DataFrame, anchor: str, *, resamples: int = 1000, seed: int = 0) -> Ratings:
    """Ratings of all players of a table of games, by maximum likelihood, with intervals by the bootstrap.

    The two games of two agents from one opening have more in common than two others, so they are drawn again together.
    From the m openings of two agents m - 1 are drawn and count m / (m - 1) each (Rao and Wu 1988): with m draws the
    intervals would be too narrow by a factor of sqrt(1 - 1 / m). Agents with a single opening are put together with all
    others of that kind. Few games push the ratings of maximum likelihood apart, and those of resamples once more, so
    the intervals are from bias-corrected percentiles (Efron 1981). In simulated tournaments of four agents they held
    the truth in 92 to 97 % of the cases with 4 openings or more, but in 83 % with 2. Where all openings ended alike
    there is no doubt to be seen, and the interval is a point.

    A rating is finite where the player scored, be it over others, against the anchor and the anchor against him. He
    who was never scored against is rated infinite, with `low` where the profile likelihood says so (one-sided, 95 %);
    he who never scored minus infinite, with `high`; and NaN stands where nothing led from one to the other. `note` says
    so in words. If that happens to a player in more than 2.5 % of the resamples, his interval is open on that side.

    Args:
        table: columns `first`, `second`, `result` and `opening`, one row a game; see `table`.
        anchor: the player whose rating is 0.
        resamples: how many tournaments are drawn again from this one.
        seed: of these draws.

    Raises ValueError for an anchor that did not play, missing columns or values, results other than 1, 0 and -1,
    games of a player against himself, fewer than two openings, and where every player always had the same colour
    against the same others, so that nothing tells the first move from strength.
    """
    check_games(table, "opening")
    players = sorted({*table["first"], *table["second"]})
    if anchor not in players:
        raise ValueError(f"{anchor!r} did not play; these did: {', '.join(players)}")
    if resamples < 1:
        raise ValueError(f"the number of resamples must be 1 or more, not {resamples}")
    pairings, units, strata = _counted(table, players)
    _check_colours(pairings)
    at = players.index(anchor)

    counts = units.sum(axis=0).reshape(1, -1, 3)
    model = fit(counts, pairings)
    sample, stronger = _bootstrap(units, strata, pairings, model, at, resamples, np.random.default_rng(seed))
    values = np.column_stack([model.against(at), model.common])[0]
    low, high = _interval(sample, values)

    ratings, lows, highs = (ELO * x[:-2] for x in (values, low, high))
    for player in np.flatnonzero(np.isinf(ratings)):
        bound = ELO * one_sided_bound(counts, pairings, model, int(player), at)
        lows[player], highs[player] = (bound, np.inf) if ratings[player] > 0 else (-np.inf, bound)
    shares = points(table).groupby("player")["points"].agg(["size", "mean"]).loc[players]
    found = pd.DataFrame(
        {
            "games": shares["size"].to_numpy(),
            "points": shares["mean"].to_numpy(),
            "rating": ratings,
            "low": lows,
            "high": highs,
            "note": [_note(player, at, model, pairings, players) for player in range(len(players))],
        },
        index=pd.Index(players, name="player"),
    )
    return Ratings(
        table=found.sort_values(["rating", "low", "points"], ascending=False, kind="stable"),
        first_move=Estimate(*(float(ELO * x[-2]) for x in (values, low, high))),
        draws=Estimate(*(float(np.exp(x[-1])) for x in (values, low, high))),
        anchor=anchor,
        superiority=pd.DataFrame(stronger, players, players),
    )


def _counted(table, players):
    """The pairings of a table, the counts of each unit that is drawn again, and the number of units in each stratum."""
    number = {name: i for i, name in enumerate(players)}
    first, second = (table[seat].map(number).to_numpy(int) for seat in ("first", "second"))
    rows, row = np.unique(first * len(players) + second, return_inverse=True)
    cell = 3 * row + 1 - table["result"].to_numpy(int)

    agents = np.minimum(first, second) * len(players) + np.maximum(first, second)
    unit = pd.DataFrame({"agents": agents, "opening": table["opening"].to_numpy()}).groupby(["agents", "opening"])
    stratum = unit.size().index.get_level_values("agents").to_numpy().copy()
    if len(stratum) < 2:
        raise ValueError("one opening is not enough to tell luck from strength: there must be two or more")
    stratum[~pd.Series(stratum).duplicated(keep=False)] = -1  # agents with one opening
    shape = len(stratum), 3 * len(rows)
    units = csr_array((np.ones(len(table)), (unit.ngroup().to_numpy(), cell)), shape=shape)
    units = units[np.argsort(stratum, kind="stable")]
    return Pairings(*np.divmod(rows, len(players)), len(players)), units, np.unique(stratum, return_counts=True)[1]


def _check_colours(pairings):
    strength = pairings.design[:, 0, :-2] - pairings.design[:, 2, :-2]
    with_first = np.column_stack([strength, np.ones(len(strength))])
    if np.linalg.matrix_rank(with_first) == np.linalg.matrix_rank(strength):
        raise ValueError("colours were never swapped: nothing tells the advantage of the first move from strength")


def _bootstrap(units, strata, pairings, model, anchor, resamples, rng):
    """Parameters of redrawn tournaments (resamples, players + 2), strengths less the anchor's, and who is stronger."""
    samples, stronger = [], []
    for start in bar(range(0, resamples, CHUNK), desc="bootstrap", leave=False):
        count = min(CHUNK, resamples - start)
        weights = np.hstack([_redrawn(size, count, rng) for size in strata])
        redrawn = fit((units.T @ weights.T).T.reshape(count, -1, 3), pairings, model.parameters[0])
        samples.append(np.column_stack([redrawn.against(anchor), redrawn.common]))
        stronger.append(redrawn.stronger.sum(axis=0))
    return np.concatenate(samples), np.sum(stronger, axis=0) / resamples


def _redrawn(size, count, rng):
    """(count, size) float: how much each of `size` units counts, `count` times."""
    drawn = max(1, size - 1)
    return rng.multinomial(drawn, np.full(size, 1 / size), size=count) * (size / drawn)


def _interval(samples, estimates):
    """Bias-corrected percentiles (columns,) of the samples (n, columns): low and high, where NaN may be anything."""
    with np.errstate(invalid="ignore"):  # infinity less infinity: as good as equal
        below = (np.nan_to_num(np.sign(estimates - samples)).mean(axis=0) + 1) / 2
    n = len(samples)
    bias = ndtri(np.clip(below, 0.5 / n, 1 - 0.5 / n))
    low, high = (ndtr(2 * bias + ndtri(share)) * (n - 1) for share in (0.025, 0.975))
    lowest, highest = (np.sort(np.where(np.isnan(samples), end, samples), axis=0) for end in (-np.inf, np.inf))
    columns = np.arange(samples.shape[1])
    return lowest[np.floor(low).astype(int), columns], highest[np.ceil(high).astype(int), columns]


def _note(player, anchor, model, pairings, players):
    reach = model.reach[0]
    up, down = reach[player, anchor], reach[anchor, player]
    if up and down:
        return "" if player != anchor else "anchor"
    if not (up or down):
        return f"not comparable with {players[anchor]}"
    group = reach[player] & reach[:, player]
    met = np.isin(pairings.first, np.flatnonzero(group)), np.isin(pairings.second, np.flatnonzero(group))
    others = {*pairings.second[met[0]], *pairings.first[met[1]]}
    beyond = (reach[player] & ~group) if up else (reach[:, player] & ~group)
    names = ", ".join(players[other] for other in sorted(others) if beyond[other])
    what = "a game" if model.common[0, 1] == np.inf else "a point"
    return f"at least: never lost {what} to {names}" if up else f"at most: never took {what} from {names}"
