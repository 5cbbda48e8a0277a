"""Tables of games, one row each: how they are kept, and what can be read from them at once.

Games have the columns of `COLUMNS`. What is read from them asks for `first`, `second` and `result` only, and sometimes
for the `opening`: two agents play from each once with either colour.
"""

from itertools import combinations
from pathlib import Path

import pandas as pd

from ..games.base import actions_of
from ..resume import writing
from .interval import wilson_interval

COLUMNS = (
    "game",  # its name
    "first",  # name of the agent that has the first seat: it moves on an empty board
    "second",
    "opening",  # moves, as `games.base.digits`
    "moves",  # those after the opening
    "result",  # for the first: 1 won, 0 drawn, -1 lost
    "reason",  # empty for a game that was played out; else what the loser did
    "first_seconds",  # thought in all; of moves asked for together each has its equal share
    "second_seconds",
    "first_nodes",  # positions searched, or simulations, in all; missing where the agent does not count
    "second_nodes",
)


def save(table: pd.DataFrame, file: Path):
    """Write a table of games as parquet, whole or not at all, sorted: equal games, equal rows."""
    with writing(file) as beside:
        table.sort_values(list(COLUMNS[:4]), ignore_index=True).to_parquet(beside, index=False)


def load(file: Path) -> pd.DataFrame:
    """Read a table of games. Raises ValueError for a file of something else."""
    try:
        with file.open("rb") as stream:  # of a path the reader opens the file twice, and it may be another by then
            table = pd.read_parquet(stream)
    except Exception as error:  # of a damaged file the reader says so in many ways
        raise ValueError(f"{file} is no readable table of games: {error}") from None
    if missing := [name for name in COLUMNS if name not in table]:
        raise ValueError(f"{file} is no table of games: it lacks {', '.join(missing)}")
    return table


def check_games(table: pd.DataFrame, *more: str) -> None:
    """Raise ValueError where a table of games is empty or lacks values, also of `more` columns, or holds wrong ones."""
    columns = ["first", "second", "result", *more]
    if missing := [name for name in columns if name not in table]:
        raise ValueError(f"a table of games needs columns {', '.join(columns)}: {', '.join(missing)} missing")
    if table.empty:
        raise ValueError("the table has no games")
    if table[columns].isna().any(axis=None):
        raise ValueError(f"values are missing in {', '.join(table[columns].columns[table[columns].isna().any()])}")
    if not (known := table["result"].isin([1, 0, -1])).all():
        raise ValueError(f"a result is 1, 0 or -1 for the first player, not {table['result'][~known].iloc[0]!r}")
    if (alone := table["first"] == table["second"]).any():
        raise ValueError(f"{table['first'][alone].iloc[0]!r} plays against itself: that says nothing about strength")


def crosstable(table: pd.DataFrame) -> pd.DataFrame:
    """Who scored how much against whom.

    Returns a player in each row, those with the most points first. Columns are in two groups of the same players:
    `["share"]`, points of the row against the column per game (a win 1, a draw a half), NaN where they did not play;
    `["games"]`, their number.
    """
    check_games(table)
    cells = points(table)
    order = cells.groupby("player")["points"].mean().sort_values(ascending=False, kind="stable").index
    cells = cells.groupby(["player", "opponent"])["points"].agg(share="mean", games="size").unstack("opponent")
    cells = cells.reindex(index=order, columns=pd.MultiIndex.from_product([["share", "games"], order]))
    return cells.fillna({name: 0 for name in cells if name[0] == "games"}).astype(
        {name: int for name in cells if name[0] == "games"}
    )


def points(table: pd.DataFrame) -> pd.DataFrame:
    """Two rows a game: `player`, `opponent` and `points` of the player: a win counts 1, a draw a half."""
    share = (table["result"] + 1) / 2
    seats = [("first", "second", share), ("second", "first", 1 - share)]
    parts = [pd.DataFrame({"player": table[a], "opponent": table[b], "points": part}) for a, b, part in seats]
    return pd.concat(parts, ignore_index=True)


def cycles(table: pd.DataFrame) -> pd.DataFrame:
    """Three players each of whom scored more than half against the next: what no rating can express.

    Returns one row a cycle, the surest first: players `a`, `b`, `c`; the share of points of `a` against `b`, `b`
    against `c`, `c` against `a` as `ab`, `bc`, `ca`; `low`, the smallest lower bound of these shares (Wilson, 95 %).
    Cycles with `low` up to one half are what chance makes of equal players.
    """
    cells = crosstable(table)
    share, games = cells["share"], cells["games"]
    rows = []
    for trio in combinations(share.index, 3):
        for a, b, c in (trio, trio[::-1]):
            duels = [(a, b), (b, c), (c, a)]
            shares = [share.loc[duel] for duel in duels]
            if all(one > 0.5 for one in shares):
                low = min(wilson_interval(share.loc[d] * games.loc[d], int(games.loc[d]))[0] for d in duels)
                rows.append((a, b, c, *shares, low))
    found = pd.DataFrame(rows, columns=["a", "b", "c", "ab", "bc", "ca", "low"])
    return found.sort_values("low", ascending=False, kind="stable", ignore_index=True)


def duplicates(table: pd.DataFrame) -> int:
    """How many games repeat an earlier one, same seats and same moves from the empty board on: they say nothing new."""
    moves = [
        (*actions_of(before), *actions_of(after))
        for before, after in zip(table["opening"], table["moves"], strict=True)
    ]
    return int(table.assign(moves=moves).duplicated(["first", "second", "moves"]).sum())
