"""An agent's moves on the benchmark positions, measured against the exact score of every column.

A move keeps the **outcome** if it leaves a win, a draw or a loss as it was, and is **exact** if it leaves the score as
it was: wins no later, loses no sooner than it must. Its loss is the difference of the scores.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..agents import Agent, make_agent
from ..games.connect4 import Connect4
from ..games.position import Position
from ..progress import bar
from ..resume import write_text
from . import benchmark
from .interval import wilson_interval

BATCH = 250  # positions between two movements of the progress bar


def positions(sets: Sequence[str] = (), count: int | None = None) -> pd.DataFrame:
    """The first `count` positions (None: all) of some sets (none: all of them), with their `set`; see `benchmark.load`.

    Raises ValueError for a set that does not exist.
    """
    tables = [benchmark.load(name).iloc[:count].assign(set=name) for name in sets or benchmark.SETS]
    return pd.concat(tables, ignore_index=True)


def columns_played(agent: Agent, table: pd.DataFrame) -> list[int]:
    """What an agent plays in each of the positions `moves`; one that has `choose` is asked for many moves at once."""
    game = Connect4()
    columns: list[int] = []
    with bar(total=len(table), desc="moves", unit="position") as shown:
        for start in range(0, len(table), BATCH):
            states = [Position.from_moves(moves).state for moves in table["moves"].iloc[start : start + BATCH]]
            choose = getattr(agent, "choose", None)
            columns += choose(game, states) if choose else [agent(game, state) for state in states]
            shown.update(len(states))
    return columns


def graded(table: pd.DataFrame, columns: Sequence[int]) -> pd.DataFrame:
    """Moves measured: the columns played in a table of `positions`.

    Returns one row a position: `set`, `moves` (the position), `stones` on the board, `score` (exact, for the side to
    move), `column` played, `loss` of score, `kept` (the outcome, bool), `at_stake` (whether some legal move loses
    outcome, bool). Raises ValueError for a move into a full column.
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
    """Rows of `graded` in numbers, by set or other columns, in order of appearance.

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
    table.index = table.index.rename(by) if isinstance(by, str) else table.index.rename(list(by))
    return table


def measure(
    agents: Sequence[str], sets: Sequence[str] = (), count: int | None = None, output: Path | None = None
) -> pd.DataFrame:
    """Graded moves of agents, by name, on benchmark sets: the rows of `graded`, with the `agent` before them.

    Args:
        agents: names, see `make_agent`.
        sets, count: see `positions`.
        output: CSV of `set`, `moves` and the column played by each agent. It is written after each agent; those that
            an existing file has are not asked again. ValueError where it is of other positions.

    Raises ValueError for a name that does not exist.
    """
    table = positions(sets, count)
    made = {name: make_agent(name) for name in agents}
    played = table[["set", "moves"]]
    if output is not None and output.exists():
        played = pd.read_csv(output, dtype={"moves": str})
        if not played[["set", "moves"]].equals(table[["set", "moves"]]):
            raise ValueError(f"{output} is of other positions")
    for name, agent in made.items():
        if name not in played:
            played = played.assign(**{name: columns_played(agent, table)})
            if output is not None:
                write_text(output, played.to_csv(index=False, lineterminator="\n"))
    return _joined(table, played[["set", "moves", *agents]])


def load(file: Path) -> pd.DataFrame:
    """What `measure` returned when it wrote the file."""
    played = pd.read_csv(file, dtype={"moves": str})
    known = positions(played["set"].unique())
    return _joined(played[["set", "moves"]].merge(known, on=["set", "moves"], how="left"), played)


def _joined(table, played):
    parts = {name: graded(table, played[name]) for name in played.columns[2:]}
    return pd.concat(parts, names=["agent"]).reset_index("agent").reset_index(drop=True)


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
