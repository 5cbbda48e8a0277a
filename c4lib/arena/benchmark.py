"""The benchmark: sets of positions with the exact score of every column, from easy to hard.

The classes are those of Pascal Pons' benchmark, the positions our own. L says how many stones are on the board: L1 up
to 14, L2 15 to 28, L3 more. R says how many plies are still to be played under best play: R1 fewer than 15, R2 15 to
28, R3 more. Six of the nine classes have positions. A seventh set, `real_play`, comes from games of the engine.

`load` reads a set, `build` makes one again. The same seed makes the same positions: each candidate has a random
generator of its own, and whether it belongs is a fact, whatever the time it takes to find out.
"""

import hashlib
import platform
import time
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from .. import paths
from ..bits import bit_indices
from ..games.base import digits
from ..games.connect4 import BOARD, BOTTOM, INAROW, ROWS, has_line, playable
from ..games.position import Position
from ..progress import bar
from ..resume import drop_unfinished_line, write_text
from ..search.negamax import Engine, SearchOptions
from ..search.solver import Solver

FOLDER = paths.DATA / "benchmark"
JOURNALS = paths.BUILD / "benchmark"  # what an interrupted `build` knew
SEED = 2024
CELLS = 42
COLUMNS = [f"c{column}" for column in range(7)]  # of the table: the scores of the seven columns

# The sets in order of difficulty (of their middle positions: the earliest of real play are the hardest of all), with
# the numbers of stones that their positions are drawn from. Games of real play begin after that many random plies.
STONES = {
    "L3_R1": range(29, 42),
    "L2_R1": range(15, 29),
    "L2_R2": range(15, 29),
    "L1_R1": range(4, 15),
    "real_play": range(2, 7),
    "L1_R2": range(4, 15),
    "L1_R3": range(8, 15),  # with fewer, each takes many seconds
}
SETS = tuple(STONES)

ENGINE_NODES = 10_000  # a move, in real play; a limit of time would not give the same games twice
ENGINE_TABLE_BITS = 16  # small, since it is cleared before each game
STRAY = 0.1  # share of random moves in real play
FIRST_NODES = 1 << 12  # where the search for a candidate's class begins


# --- classes ------------------------------------------------------------------------------------------------------


def plies_left(stones: int, score: int) -> int:
    """How many plies follow under best play on a position with so many stones and that score.

    A side that wins with score n has n of its 21 stones left, so it does with its stone number 22 - n. The first
    player's k-th stone is the game's stone 2k - 1, the second player's is stone 2k.
    """
    if score == 0:
        return CELLS - stones
    second_player_wins = (stones % 2 == 1) == (score > 0)
    left = 2 * (22 - abs(score)) - (not second_player_wins) - stones
    if left < 0:
        raise ValueError(f"no position with {stones} stones has the score {score}")
    return left


def class_of(position: Position, score: int) -> str:
    """The class of a position with that score, such as "L2_R1"."""
    return f"L{_third(position.plies)}_R{_third(plies_left(position.plies, score))}"


def _third(plies: int) -> int:
    """1 up to 14, 2 up to 28, 3 beyond."""
    return 1 if plies <= 14 else 2 if plies <= 28 else 3


# --- reading ------------------------------------------------------------------------------------------------------


def load(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """A set as a table: `moves` (1-based digits), `score`, and `c0` to `c6`, the score after each column's move.

    All scores are for the side to move; that of a full column is `pandas.NA`. The rows are in random order, so that
    the first few are as good a sample as any.
    """
    kinds = {"moves": str, "score": "int8"} | dict.fromkeys(COLUMNS, "Int8")
    return pd.read_csv(folder / f"{_checked(name)}.csv", dtype=kinds)


def _checked(name: str) -> str:
    if name not in SETS:
        raise ValueError(f"no set {name!r}; there are: {', '.join(SETS)}")
    return name


# --- candidates ---------------------------------------------------------------------------------------------------


def candidates(name: str, seed: int = SEED) -> Iterator[Position]:
    """Unfinished positions for a set, without end, no two of them equal or mirror images."""
    engine = Engine(options=SearchOptions(table_bits=ENGINE_TABLE_BITS)) if name == "real_play" else None
    seen = set()
    number = 0
    while True:
        rng = np.random.default_rng([seed, *name.encode(), number])
        position = random_position(rng, int(rng.choice(STONES[name])))
        if engine:
            position = position_of_game(rng, position, engine)
        key = min(position.key, position.mirror().key)
        if key not in seen:
            seen.add(key)
            yield position
        number += 1


def random_position(rng: np.random.Generator, plies: int) -> Position:
    """An unfinished position after so many random plies: games that end sooner are thrown away."""
    while True:
        own, opp, moves = 0, 0, []  # bare boards: few random games are long, and `Position` checks every move
        while len(moves) < plies and not has_line(opp, ROWS, INAROW):
            cells = bit_indices(playable(own | opp, BOTTOM, BOARD))
            cell = cells[rng.integers(len(cells))]
            own, opp = opp, own | 1 << cell
            moves.append(cell // (ROWS + 1))
        if not has_line(opp, ROWS, INAROW):
            return Position.from_moves(moves)


def position_of_game(rng: np.random.Generator, position: Position, engine: Engine) -> Position:
    """A position, any with the same chance, of a game that the engine plays from here on, with some random moves."""
    engine.clear()
    game = []
    while not position.is_over:
        game.append(position)
        stray = rng.random() < STRAY
        column = rng.choice(position.legal_moves) if stray else engine.search(*position.boards, nodes=ENGINE_NODES).move
        position = position.play(int(column))
    return game[rng.integers(len(game))]


# --- building -----------------------------------------------------------------------------------------------------


class Journal:
    """Answers about positions that outlive the process: one line each, on disk as soon as it is known."""

    def __init__(self, path: Path):
        self._path = path
        self.seconds = 0.0  # spent in earlier runs on the answers that this one was spared
        path.parent.mkdir(parents=True, exist_ok=True)
        drop_unfinished_line(path)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._lines = dict(line.split(",", 1) for line in lines)

    def ask(self, question: str, find: Callable[[], list]) -> list[str]:
        """The answer on record, or else that of `find()`, which goes on record."""
        if question in self._lines:
            *answer, seconds = self._lines[question].split(",")
            self.seconds += float(seconds)
            return answer
        start = time.perf_counter()
        answer = [str(word) for word in find()]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(",".join([question, *answer, f"{time.perf_counter() - start:.4f}"]) + "\n")
        return answer


def build(
    name: str, *, seed: int = SEED, count: int = 1000, folder: Path = FOLDER, table_bits: int = 25
) -> pd.DataFrame:
    """Make a set, write its file and its line in SOURCE.md, and return it. What was cut short is taken up again.

    Args:
        name: the set.
        seed: whatever is random follows from it.
        count: how many positions.
        folder: where to write.
        table_bits: of the solver, which needs 8 bytes for each of 2^table_bits entries.
    """
    _checked(name)
    start = time.perf_counter()
    solver = Solver(table_bits=table_bits)
    members, scores = Journal(JOURNALS / f"{name}_members.csv"), Journal(JOURNALS / "scores.csv")
    chosen = _choose(name, seed, count, solver, members)
    answers = {}
    for position in bar(in_order_of_openings(chosen), desc=f"{name}: grading", unit="position"):
        moves = digits(position.moves)
        answers[moves] = scores.ask(moves, partial(_grade, position, solver))
    seconds = time.perf_counter() - start + members.seconds + scores.seconds

    rows = [[moves, *answers[moves]] for moves in (digits(position.moves) for position in chosen)]
    table = pd.DataFrame(rows, columns=["moves", *COLUMNS])
    table[COLUMNS] = table[COLUMNS].replace("", pd.NA).astype("Int8")
    table.insert(1, "score", table[COLUMNS].max(axis=1).astype("int8"))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    _describe(name, table, seed, seconds, folder)
    return table


def in_order_of_openings(positions: list[Position]) -> list[Position]:
    """Sorted such that positions that share their first moves, seen in a mirror or not, follow each other.

    What the solver's table holds from the one then helps with the next.
    """
    return sorted(positions, key=lambda position: min(position.moves, position.mirror().moves))


def _choose(name: str, seed: int, count: int, solver: Solver, members: Journal) -> list[Position]:
    """The first `count` candidates that belong to the set."""
    stream = candidates(name, seed)
    chosen = []
    while len(chosen) < count:
        batch = list(bar(islice(stream, count), desc=f"{name}: candidates", total=count, leave=False))
        if name != "real_play":
            belongs = {}
            for position in bar(in_order_of_openings(batch), desc=f"{name}: {len(chosen)} found", leave=False):
                find = partial(_belongs, position, name, solver)
                belongs[position] = members.ask(digits(position.moves), find) == ["1"]
            batch = [position for position in batch if belongs[position]]
        chosen += batch
    return chosen[:count]


def _belongs(position: Position, name: str, solver: Solver) -> list[int]:
    """[1] if a position is of a class, else [0]: searched until that is sure, which is sooner than its score is."""
    nodes = FIRST_NODES
    while True:
        found = solver.solve(position, nodes=nodes)
        possible = {class_of(position, score) for score in range(found.lower, found.upper + 1)}
        if name not in possible or len(possible) == 1:
            return [int(name in possible)]
        nodes *= 4


def _grade(position: Position, solver: Solver) -> list[int | str]:
    """The score of each column, "" where it is full."""
    return ["" if move is None else move.score for move in solver.analyse(position).columns]


# --- provenance ---------------------------------------------------------------------------------------------------

SOURCE = """\
# Benchmark positions

Sets of Connect Four positions with the exact score of every column, made by this lab. The classes are those of
[Pascal Pons' benchmark](http://blog.gamesolver.org/solving-connect-four/02-test-protocol/), the positions are not.

* **L**, stones on the board: L1 up to 14, L2 15 to 28, L3 more than 28.
* **R**, plies still to be played under best play: R1 fewer than 15, R2 15 to 28, R3 more than 28.
* The positions of a class come from random play: a number of stones is drawn from the range of the set, each with the
  same chance, and random games are played to that length until one is not over. What is in the class is kept. (L1_R3
  begins at 8 stones: with fewer, each takes many seconds.)
* `real_play` comes from games of the engine against itself that begin after {fewest} to {most} random plies, with
  {nodes:,} nodes a move and {stray:.0f} % of the moves random: one position a game, each since that beginning with
  the same chance.
* No two positions of a set are equal or mirror images, and no game is over. The rows are in random order.

Columns: `moves` are the columns played since the empty board, 1 to 7; `score` is that of the position, `c0` to `c6`
are those after a move in each column, empty where it is full. Scores are for the side to move: +n where it wins with n
of its 21 stones in hand before the winning one, -n where it is beaten so, 0 for a draw. `score` is the best of them.

Made by

    c4 benchmark build

which makes the same positions again from the same seed; those of `real_play` also depend on the engine. Scores are by
the lab's own solver. Seconds are those of one core.

{table}
"""
HEADER = ["file", "positions", "stones", "plies left", "won, drawn, lost", "seed", "seconds", "made", "sha256"]


def _describe(name: str, table: pd.DataFrame, seed: int, seconds: float, folder: Path) -> None:
    """Put a set's line into SOURCE.md, which is written anew around the lines of the others."""
    file = folder / "SOURCE.md"
    old = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    lines = {line.split()[1].removesuffix(".csv"): line for line in old if ".csv |" in line}
    stones = table.moves.str.len()
    left = pd.Series(map(plies_left, stones, table.score))
    outcomes = [int((np.sign(table.score) == sign).sum()) for sign in (1, 0, -1)]
    tools = ", ".join(f"{package} {version(package)}" for package in ("c4lib", "numba", "numpy"))
    cells = (
        f"{name}.csv",
        f"{len(table):,}",
        f"{stones.min()} to {stones.max()}",
        f"{left.min()} to {left.max()}",
        ", ".join(map(str, outcomes)),
        seed,
        f"{seconds:,.0f}",
        f"{date.today()} with {tools}, Python {platform.python_version()}",
        hashlib.sha256((folder / f"{name}.csv").read_bytes()).hexdigest(),
    )
    lines[name] = _row(cells)
    rows = [_row(HEADER), _row(["---"] * len(HEADER)), *(lines[known] for known in SETS if known in lines)]
    opening = STONES["real_play"]
    text = SOURCE.format(
        nodes=ENGINE_NODES, stray=100 * STRAY, fewest=opening[0], most=opening[-1], table="\n".join(rows)
    )
    write_text(file, text)


def _row(cells) -> str:
    return f"| {' | '.join(map(str, cells))} |"
