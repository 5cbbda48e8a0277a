"""A ladder like that of Kaggle's simulation competitions, to see what its ratings can tell and what is luck.

The rules are those published under "Evaluation" of these competitions. The skill of a submission is known as a Gaussian
N(mu, sigma^2), and mu, at first 600, is the score shown. A submission first plays a validation episode against copies
of itself; one that fails is marked as an error and stays out. The others play episodes against submissions of similar
rating, new ones more often. After an episode mu moves by how far the result is from what was expected and by sigma; a
draw moves the two closer together; and sigma shrinks by what was learned.

Kaggle does not publish the formulas. These are of Weng and Lin's Bradley-Terry model (2011) as `openskill` has them,
which fits each of the sentences above. It is the variant "Part": between two players the others are the same, but mean
to give both sides of a draw one and the same change. The numbers below are our own choice.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

import numpy as np
import pandas as pd
from openskill.models import BradleyTerryPart

from ..progress import bar
from .rating import ELO, Chances
from .table import check_games

MU = 600.0  # of a new submission; this one is published
SIGMA = 200.0  # of a new submission
BETA = ELO / 2**0.5  # spread of what a submission shows in one episode: makes mu read as Elo once sigma is small
SIMILAR = 100.0  # opponents: one that is so much further away in mu is picked e times as rarely
RANKS = {1: [1, 2], 0: [1, 1], -1: [2, 1]}  # of the two seats, by the result for the first

# Chances of a win, a draw and a loss of the first agent, for each agent in either seat against each other one.
Table = Mapping[tuple[str, str], Sequence[float]]


def simulate(chances: Table, episodes: int, *, failing: Iterable[str] = (), seed: int = 0) -> pd.DataFrame:
    """The ratings of agents that are all submitted at once and play episodes against each other.

    Each episode an agent is drawn with chances proportional to its sigma, so that new ones play more; then an opponent,
    the more similar in mu the likelier; then who moves first; then the result.

    Args:
        chances: (first, second): probabilities of a win, a draw and a loss of the first. All ordered pairs of agents.
        episodes: how many, not counting validation.
        failing: agents that fail the validation episode.
        seed: of all that is drawn.

    Returns one row for each agent in each of its episodes: `episode` (0: validation), `agent`, `mu` and `sigma` after
    it (NaN for those that failed), `status` ("active" or "error").

    Raises ValueError for a missing pair, probabilities that do not add up to 1, an unknown agent in `failing`, and
    fewer than two agents that do not fail.
    """
    agents = sorted({agent for pair in chances for agent in pair})
    likely = {pair: _checked(pair, chances) for pair in permutations(agents, 2)}
    if unknown := sorted({*failing} - {*agents}):
        raise ValueError(f"no chances are given for {', '.join(unknown)}, only for {', '.join(agents)}")
    active = [agent for agent in agents if agent not in {*failing}]
    if len(active) < 2:
        raise ValueError(f"a ladder needs two agents that do not fail, not {len(active)}")
    rng = np.random.default_rng(seed)
    model = BradleyTerryPart(mu=MU, sigma=SIGMA, beta=BETA, tau=0)
    ratings = [model.rating() for _ in active]
    passed, failed = (MU, SIGMA, "active"), (np.nan, np.nan, "error")
    rows = [(0, agent, *(passed if agent in active else failed)) for agent in agents]
    for episode in range(1, episodes + 1):
        seats = _drawn_pair(np.array([[rating.mu, rating.sigma] for rating in ratings]), rng)
        first, second = (active[seat] for seat in seats)
        result = int(rng.choice([1, 0, -1], p=likely[first, second]))
        teams = model.rate([[ratings[seat]] for seat in seats], ranks=RANKS[result])
        for seat, (rating,) in zip(seats, teams, strict=True):
            ratings[seat] = rating
            rows.append((episode, active[seat], rating.mu, rating.sigma, "active"))
    return pd.DataFrame(rows, columns=["episode", "agent", "mu", "sigma", "status"])


def _checked(pair, chances):
    three = np.asarray(chances.get(pair, []), float)
    if three.shape != (3,) or (three < 0).any() or not np.isclose(three.sum(), 1):
        raise ValueError(f"{' against '.join(pair)} needs chances of a win, a draw and a loss that add up to 1")
    return three / three.sum()


def _drawn_pair(ratings, rng):
    """Two different seats, who moves first before the other, for ratings (agents, 2): mu, sigma."""
    mu, sigma = ratings.T
    one = rng.choice(len(mu), p=sigma / sigma.sum())
    near = np.exp(-np.abs(mu - mu[one]) / SIMILAR)
    near[one] = 0
    other = rng.choice(len(mu), p=near / near.sum())
    return [one, other] if rng.random() < 0.5 else [other, one]


def observed_chances(table: pd.DataFrame) -> dict[tuple[str, str], Chances]:
    """The shares of wins, draws and losses of every first against every second player in a table of games.

    A table of games as in `table`. Only pairs that played are in the answer.
    """
    check_games(table)
    games = table.groupby(["first", "second"])["result"]
    shares = {wanted: games.agg(lambda results, wanted=wanted: (results == wanted).mean()) for wanted in (1, 0, -1)}
    return {pair: Chances(*(float(shares[wanted][pair]) for wanted in (1, 0, -1))) for pair in shares[1].index}


def order_over_time(history: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """How right the order of mu is after every episode.

    Args:
        history: what `simulate` returned.
        order: all active agents, the strongest first.

    Returns `episode`, `per_agent` (episodes that an agent has played on average) and `tau`, Kendall's rank correlation
    with the order: 1 where all pairs are in order, -1 where none is. Raises ValueError for an order of other agents.
    """
    active = history[history["status"] == "active"]
    if sorted(order) != sorted(active["agent"].unique()):
        raise ValueError(f"the order must be of the agents {', '.join(sorted(active['agent'].unique()))}")
    mu = active.pivot(index="episode", columns="agent", values="mu").ffill()[list(order)].to_numpy()
    above, below = np.triu_indices(len(order), 1)
    episode = np.arange(len(mu))
    tau = np.sign(mu[:, above] - mu[:, below]).mean(axis=1)
    return pd.DataFrame({"episode": episode, "per_agent": 2 * episode / len(order), "tau": tau})


def settled(history: pd.DataFrame, order: Sequence[str], tau: float = 1.0) -> float:
    """After how many episodes per agent the order is right, up to `tau`, and stays so; NaN if it is not at the end.

    The arguments are as for `order_over_time`.
    """
    over_time = order_over_time(history, order)
    wrong = np.flatnonzero(over_time["tau"] < tau - 1e-9)
    after = wrong[-1] + 1 if len(wrong) else 0
    return float(over_time["per_agent"].iloc[after]) if after < len(over_time) else np.nan


def spread(chances: Table, episodes: int, runs: int, *, seed: int = 0) -> pd.DataFrame:
    """How far luck moves a rating: the last mu of each agent over ladders that differ in nothing but what is drawn.

    Returns by `agent`, the highest first: `mean`, `std`, `min` and `max` of mu, and `sigma`, the mean of what the
    ladder itself takes for the doubt. See `simulate` for the arguments. Raises ValueError for fewer than two runs.
    """
    if runs < 2:
        raise ValueError(f"a spread needs two runs or more, not {runs}")
    seeds = np.random.SeedSequence(seed).generate_state(runs)
    ladders = [simulate(chances, episodes, seed=int(one)) for one in bar(seeds, desc="ladders", leave=False)]
    last = pd.concat([ladder.groupby("agent").last() for ladder in ladders]).groupby("agent")
    found = last["mu"].agg(["mean", "std", "min", "max"]).assign(sigma=last["sigma"].mean())
    return found.sort_values("mean", ascending=False)
