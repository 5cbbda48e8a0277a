"""An agent's moves on the benchmark positions, measured against the exact score of every column.

A move keeps the **outcome** if it leaves a win, a draw or a loss as it was, and is **exact** if it leaves the score as
it was: wins no later, loses no sooner than it must. Its loss is the difference of the scores.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..agents import Agent, make_agent
from ..games.connect4 import Connect4
from ..games.position import Position
from ..progress import bar
from . import benchmark
from .rating import wilson_interval

BATCH = 250  # positions between two movements of the progress bar


def graded_moves(agent: Agent, sets: Sequence[str] = benchmark.SETS, positions: int | None = None) -> pd.DataFrame:
    """What an agent plays on benchmark sets; one row a position.

    Args:
        agent: one that has `choose` is asked for many moves at once.
        sets: names in `benchmark.SETS`.
        positions: the first so many of each set; None for all.

    Returns:
        Columns `set`, `moves` (the position), `stones` on the board, `score` (exact, for the side to move), `column`
        played, `loss` of score, `kept` (the outcome, bool), `at_stake` (whether some legal move loses outcome, bool).
    """
    game = Connect4()
    tables = [benchmark.load(name).iloc[:positions].assign(set=name) for name in sets]
    table = pd.concat(tables, ignore_index=True)
    columns: list[int] = []
    with bar(total=len(table), desc="moves", unit="position") as shown:
        for start in range(0, len(table), BATCH):
            states = [Position.from_moves(moves).state for moves in table["moves"].iloc[start : start + BATCH]]
            choose = getattr(agent, "choose", None)
            columns += choose(game, states) if choose else [agent(game, state) for state in states]
            shown.update(len(states))
    return graded(table, columns)


def graded(table: pd.DataFrame, columns: Sequence[int]) -> pd.DataFrame:
    """The rows of `graded_moves` for a table of benchmark positions (with `set`) and the columns played in them.

    Raises ValueError for a move into a full column.
    """
    scores = table[benchmark.COLUMNS].astype("Float64").to_numpy(float, na_value=np.nan)
    after = scores[np.arange(len(table)), list(columns)]
    if np.isnan(after).any():
        row = int(np.flatnonzero(np.isnan(after))[0])
        raise ValueError(f"column {columns[row]} is full in {table['moves'].iloc[row]}")
    score = table["score"].to_numpy(int)
    worst = np.nanmin(np.sign(scores), axis=1)
    return pd.DataFrame(
        {
            "set": table["set"].to_numpy(),
            "moves": table["moves"].to_numpy(),
            "stones": table["moves"].str.len().to_numpy(),
            "score": score,
            "column": np.asarray(columns),
            "loss": (score - after).astype(int),
            "kept": np.sign(after) == np.sign(score),
            "at_stake": worst < np.sign(score),
        }
    )


def accuracy(moves: pd.DataFrame, by: str | Sequence[str] = "set") -> pd.DataFrame:
    """Rows of `graded_moves` in numbers, by set or other columns, in order of appearance.

    Columns: `positions`; `kept`, the share of moves that keep the outcome; `kept_at_stake`, that share where some move
    loses it; `exact`, the share that keeps the score; each with the 95 % interval (Wilson 1927) as `_low`, `_high`;
    `mean_loss` of score.
    """
    rows = {}
    for name, group in moves.groupby(by, sort=False):
        row: dict[str, float] = {"positions": len(group)}
        at_stake = group[group["at_stake"]]
        for measure, hits in (
            ("kept", group["kept"]),
            ("kept_at_stake", at_stake["kept"]),
            ("exact", group["loss"] == 0),
        ):
            low, high = wilson_interval(int(hits.sum()), len(hits)) if len(hits) else (np.nan, np.nan)
            row |= {measure: hits.mean(), f"{measure}_low": low, f"{measure}_high": high}
        rows[name] = row | {"mean_loss": group["loss"].mean()}
    table = pd.DataFrame.from_dict(rows, orient="index").astype({"positions": int})
    return table.rename_axis(by if isinstance(by, str) else list(by))


def measure(agents: Sequence[str], sets: Sequence[str] = (), positions: int | None = None) -> pd.DataFrame:
    """Rows of `accuracy` by name of agent and set; see `graded_moves`, where no sets mean all.

    Raises ValueError for a name that does not exist.
    """
    sets = sets or benchmark.SETS
    for name in sets:
        benchmark.load(name)  # complain before the first agent has worked
    made = {name: make_agent(name) for name in agents}
    tables = {name: accuracy(graded_moves(agent, sets, positions)) for name, agent in made.items()}
    return pd.concat(tables, names=["agent"])


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """A table of `accuracy` for people: shares in per cent, with their intervals."""
    text = pd.DataFrame(index=table.index)
    text["positions"] = table["positions"]
    titles = {"kept": "outcome kept", "kept_at_stake": "where at stake", "exact": "exact"}
    for name, title in titles.items():
        low, high = f"{name}_low", f"{name}_high"
        text[f"{title} %"] = [_share(*cells) for cells in table[[name, low, high]].to_numpy()]
    text["mean loss"] = table["mean_loss"].map("{:.2f}".format)
    return text


def _share(share, low, high):
    return "" if np.isnan(share) else f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"
