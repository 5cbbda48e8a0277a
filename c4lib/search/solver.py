"""Exact scores: `Solver`, and `solve` and `solve_many` for those who want no more than an answer.

A score is for the side to move: +n if it wins, n being its stones in hand before the winning one is dropped; 0 for a
draw; -n if it is beaten so. On the usual board +1 is a win with the very last stone, +18 one with the fourth. A
finished game has a score too. The search itself is in `nullwindow`.
"""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..bits import popcount
from ..games.connect4 import STANDARD, Geometry, column_cells, has_line, playable
from ..jit import HAVE_NUMBA, build, clock, memory_block
from . import nullwindow as kernels
from .book import Book

OUTCOME = -1, 1  # the window of win, draw and loss
BATCH_SECONDS = 0.1  # about as long runs the compiled loop of `solve_many` before the progress bar moves
MOST_TABLE_BITS = 32


@dataclass(frozen=True)
class Solution:
    """What is known of a position's score, for the side to move: `lower <= score <= upper`."""

    lower: int
    upper: int
    nodes: int  # positions visited to find out
    seconds: float

    @property
    def score(self) -> int | None:
        """The exact score, or None where a limit came first."""
        return self.lower if self.lower == self.upper else None

    @property
    def outcome(self) -> int | None:
        """+1 for a win, 0 for a draw, -1 for a loss; None where the bounds leave that open."""
        low, high = np.sign(self.lower), np.sign(self.upper)
        return int(low) if low == high else None


@dataclass(frozen=True)
class Analysis:
    """A position, move by move. Scores are for the side to move in it."""

    columns: tuple[Solution | None, ...]  # after each column's move; None where it is full, or the game over
    principal_variation: tuple[int, ...]  # columns of a best line, to the end of the game or as far as time allowed
    solution: Solution  # of the position itself; nodes and seconds are those of the whole analysis

    @property
    def score(self) -> int | None:
        """The exact score of the position, or None where a limit came first."""
        return self.solution.score

    @property
    def best_moves(self) -> tuple[int, ...]:
        """The columns proven to be best, from the left: all of them where there was no limit."""
        known = [(i, move) for i, move in enumerate(self.columns) if move]
        best = max((move.upper for _, move in known), default=0)
        return tuple(i for i, move in known if move.lower == best)


class Solver:
    """A solver with its transposition table, which is kept from call to call.

    Positions are given as `Position` objects, as strings of 1-based digits ("4453"), or as pairs of bitboards
    `(own, opp)`. All methods raise ValueError for another board's position, or one that no game leads to.

    Args:
        geometry: the board; it must fit 64 bits.
        book: an opening book of that board to look into first.
        table_bits: the table grows up to 2^table_bits entries of 8 bytes.
        threads: how many search at once, on one table. One thread's answers are everyone's.
        compiled: compile the kernels where that is possible; else interpret them, some hundred times slower.
        switches: constants of `nullwindow` to replace, to measure what a technique is worth.

    Raises:
        ValueError: a board that does not fit, or a number out of its range.
    """

    def __init__(
        self,
        geometry: Geometry = STANDARD,
        *,
        book: Book | None = None,
        table_bits: int = 24,
        threads: int = 1,
        compiled: bool = True,
        **switches: int,
    ):
        geometry = Geometry(*geometry).checked()
        if not geometry.fits_64_bits:
            raise ValueError(f"the solver's boards fit 64 bits; {geometry.columns} x {geometry.rows} does not")
        constants = kernels.solver_constants(geometry)
        if not constants["START_BITS"] <= table_bits <= MOST_TABLE_BITS:
            allowed = f"from {constants['START_BITS']} to {MOST_TABLE_BITS}"
            raise ValueError(f"table_bits must be {allowed} on this board, not {table_bits}")
        if book and book.geometry != geometry:
            raise ValueError(f"a book of {book.geometry} for a solver of {geometry}")
        self.geometry = geometry
        self.book = book
        self.compiled = compiled and HAVE_NUMBA
        if threads < 1 or (threads > 1 and not self.compiled):
            raise ValueError(f"threads must be at least 1, and exactly 1 where nothing is compiled, not {threads}")
        self.threads = threads
        self.table_bits = table_bits = min(table_bits, constants["KEY_BITS"])  # more would never be used
        self.highest_score = (constants["CELLS"] + 1) // 2
        constants |= geometry.constants | dict(THREADED=int(threads > 1)) | switches
        if not self.compiled:
            constants["CHECK_MASK"] = 15  # nodes take milliseconds
        self._settle_each = build(kernels.settle_each, self.compiled, **constants)
        self._settle, self._clear = (self._settle_each.namespace[name] for name in ("settle", "clear"))
        words = kernels.AREAS + constants["CELLS"] * constants["STRIDE"]
        self._blocks = [memory_block(words, self.compiled) for _ in range(threads)]
        self._busy = memory_block(kernels.BUSY_MASK + 1, self.compiled)
        self._table, self._table_handle = memory_block(1 << table_bits, self.compiled, zeroed=False)
        for memory, _ in self._blocks:
            memory[kernels.MOST_BITS] = table_bits
            memory[kernels.NODE_LIMIT] = memory[kernels.DEADLINE] = kernels.FOREVER
            if threads > 1:
                memory[kernels.BUSY] = self._busy[1]
        self.clear()

    # --- questions ----------------------------------------------------------------------------------------------

    def solve(
        self,
        position: Any,
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        window: tuple[int, int] | None = None,
    ) -> Solution:
        """The score of a position, or bounds of it where a limit came first.

        Args:
            position: the position.
            nodes, seconds: limits, kept to within a thousand nodes.
            window: how much one wants to know: scores up to its first number are not told apart, nor are those from
                its second on. `OUTCOME`, which is (-1, 1), asks who wins and not how soon.
        """
        boards = self._boards(position)
        low, high = window or (-self.highest_score, self.highest_score)
        if low >= high:
            raise ValueError(f"a window goes from a lower to a higher score, not from {low} to {high}")
        self._limit(nodes, seconds)
        found = self._solve(*boards, low, high)
        lower = found.lower if found.lower > low else -self.highest_score
        upper = found.upper if found.upper < high else self.highest_score
        return replace(found, lower=lower, upper=upper)

    def solve_many(self, positions: Iterable[Any], *, cold: bool = False) -> np.ndarray:
        """The exact scores of many positions: int8, in their order; a progress bar tells how far it is.

        Args:
            positions: the positions.
            cold: clear the table before each, so that none helps another.
        """
        return self.measure(positions, cold=cold)[0]

    def measure(self, positions: Iterable[Any], *, cold: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Exact scores (int8) of many positions, with the nodes (int64) and the seconds (float64) that each took.

        The loop over the positions is compiled. It runs in one thread, and looks into no book.
        """
        from ..progress import bar  # not where only the standard library and numpy are at hand

        boards = [self._boards(position) for position in positions]
        given, given_handle = memory_block(2 * len(boards), self.compiled)
        found, found_handle = memory_block(3 * len(boards), self.compiled)
        for i, pair in enumerate(boards):
            given[2 * i], given[2 * i + 1] = pair
        self._limit()
        memory = self._blocks[0][1]
        done, batch = 0, 1
        highest = self.highest_score
        with bar(total=len(boards), unit="position") as progress:
            while done < len(boards):
                until = min(done + batch, len(boards))
                start = time.perf_counter()
                self._settle_each(
                    done, until, int(cold), -highest, highest, given_handle, found_handle, memory, self._table_handle
                )
                batch = batch * 2 if time.perf_counter() - start < BATCH_SECONDS else max(batch // 2, 1)
                progress.update(until - done)
                done = until
        if self.threads > 1:
            self._clear_table()  # this thread may have made it small
        found = np.array(found, np.int64).reshape(-1, 3)
        return found[:, 0].astype(np.int8), found[:, 1], found[:, 2] / 1e9

    def analyse(self, position: Any, *, nodes: int | None = None, seconds: float | None = None) -> Analysis:
        """The score of every column, the best moves, and a best line; the limits are for all of it."""
        start, before = clock(), self.nodes
        own, opp = self._boards(position)
        self._limit(nodes, seconds)
        columns: list[Solution | None] = [None] * self.geometry.columns
        whole = self._solve(own, opp)
        lower, upper = whole.lower, whole.upper
        for column, child in self._children(own, opp):
            answer = self._solve(*child, -upper)  # no child is worse for its mover than that
            columns[column] = Solution(-answer.upper, -answer.lower, answer.nodes, answer.seconds)
        known = [move for move in columns if move]
        if known:  # a limit may have cut the position short, and not its children
            lower = max(lower, *(move.lower for move in known))
            upper = min(upper, max(move.upper for move in known))
        line = self._line(own, opp, lower) if lower == upper else ()
        return Analysis(tuple(columns), line, Solution(lower, upper, self.nodes - before, (clock() - start) / 1e9))

    def best_move(
        self, position: Any, *, nodes: int | None = None, seconds: float | None = None
    ) -> tuple[int | None, Solution]:
        """A best column, None where the game is over or a limit came first; and what is known of the position.

        It wins as soon, or resists as long, as any.
        """
        own, opp = self._boards(position)
        self._limit(nodes, seconds)
        solution = self._solve(own, opp)
        return None if solution.score is None else self._best_move(own, opp, solution.score), solution

    def column_worth(
        self, position: Any, score: int, *, nodes: int | None = None, seconds: float | None = None
    ) -> int | None:
        """A column proven to be worth at least `score`; None where there is none, or a limit came first."""
        boards = self._boards(position)
        self._limit(nodes, seconds)
        return self._best_move(*boards, score)

    # --- state --------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Positions visited since the solver was made or cleared."""
        return sum(int(memory[kernels.NODES]) for memory, _ in self._blocks)

    def clear(self) -> None:
        """Forget everything."""
        for memory, _ in self._blocks:
            memory[kernels.NODES] = 0
        self._clear_table()

    # --- the workshop -------------------------------------------------------------------------------------------

    def _clear_table(self):
        for memory, handle in self._blocks:
            self._clear(handle, self._table_handle)
            if self.threads > 1:  # a table that several write to does not grow
                memory[kernels.BITS] = self.table_bits
        if self.threads > 1:
            self._table[:] = 0

    def _boards(self, position: Any) -> tuple[int, int]:
        """The bitboards of a position, which must be one of this board."""
        if isinstance(position, tuple) and len(position) == 2:
            own, opp = position
            mask = own | opp
            if own & opp or mask & ~self.geometry.board:
                raise ValueError(f"stones overlap or lie outside the board of {'{} x {}'.format(*self.geometry)}")
            if has_line(own, self.geometry.rows, self.geometry.inarow):
                raise ValueError("the side to move has a line already")
            if mask & ~(mask << 1 | self.geometry.bottom) or popcount(opp) - popcount(own) not in (0, 1):
                raise ValueError("no game leads to these bitboards: a stone hangs in the air, or their numbers differ")
            return own, opp
        if isinstance(position, str):
            from ..games.position import Position

            position = Position.from_moves(position, *self.geometry)
        if position.geometry != self.geometry:
            raise ValueError(f"a position on {position.geometry} for a solver of {self.geometry}")
        return position.boards

    def _limit(self, nodes=None, seconds=None):
        """Tell the kernels how far they may go from here on, in all."""
        if nodes is not None and nodes < 0:
            raise ValueError(f"nodes must not be negative, nor {nodes}")
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"seconds must not be negative, nor {seconds}")
        deadline = kernels.FOREVER if seconds is None else clock() + int(min(seconds, 1e9) * 1e9)
        for memory, _ in self._blocks:
            most = kernels.FOREVER // 2
            more = most if nodes is None else min(nodes // self.threads, most)
            memory[kernels.NODE_LIMIT] = int(memory[kernels.NODES]) + more
            memory[kernels.DEADLINE] = deadline

    def _solve(self, own, opp, low=None, high=None) -> Solution:
        """The score, or bounds of it, as if it were `low` where it is less, and `high` where it is more."""
        start, before = clock(), self.nodes
        low = -self.highest_score if low is None else low
        high = self.highest_score if high is None else high
        if self.book and (known := self.book.probe(own, opp)):
            score = min(max(known[1], low), high)
            return Solution(score, score, 0, (clock() - start) / 1e9)
        if self.threads == 1:
            self._settle(own, opp, low, high, self._blocks[0][1], self._table_handle)
        else:
            self._settle_together(own, opp, low, high)
        memories = [memory for memory, _ in self._blocks]
        lower = max(int(memory[kernels.LOWER]) for memory in memories)
        upper = min(int(memory[kernels.UPPER]) for memory in memories)
        return Solution(lower, upper, self.nodes - before, (clock() - start) / 1e9)

    def _settle_together(self, own, opp, low, high):
        """Every thread settles the position; the first to finish stops the others."""
        self._busy[0][:] = 0
        for memory, _ in self._blocks:
            memory[kernels.STOP] = 0
            memory[kernels.LOWER], memory[kernels.UPPER] = low, high

        def settle(block):
            if self._settle(own, opp, low, high, block[1], self._table_handle) != kernels.ABORT:
                for memory, _ in self._blocks:
                    memory[kernels.STOP] = 1

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(settle, self._blocks))

    def _is_over(self, own, opp):
        return own | opp == self.geometry.board or has_line(opp, self.geometry.rows, self.geometry.inarow)

    def _children(self, own, opp):
        """The columns that can be played with their positions, those first that the table says are worst to be in."""
        if self._is_over(own, opp):
            return []
        g = self.geometry
        moves = playable(own | opp, g.bottom, g.board)
        cells = ((column, moves & column_cells(column, g.rows)) for column in range(g.columns))
        children = [(column, (opp, own | move)) for column, move in cells if move]
        return sorted(children, key=lambda child: (self._upper(*child[1]), abs(2 * child[0] - g.columns + 1)))

    def _upper(self, own, opp):
        """An upper bound of a position's score, as far as the table has one."""
        names = self._settle.namespace
        hashed = names["table_hash"](own, opp, popcount(own | opp))
        entry = int(self._table[names["slot_of"](hashed, int(self._blocks[0][0][kernels.BITS]))])
        found = entry >> kernels.TAG_SHIFT == names["tag_of"](hashed)
        return (entry & kernels.SCORE_MASK) - kernels.SCORE_ZERO if found else self.highest_score

    def _best_move(self, own, opp, score):
        """The first column found to be worth at least `score`; None where there is none, or a limit came first."""
        for column, child in self._children(own, opp):
            if self._solve(*child, -score, -score + 1).upper == -score:
                return column
        return None

    def _line(self, own, opp, score):
        """A line of best moves from a position of known score, as far as the limits allow."""
        line = []
        while (column := self._best_move(own, opp, score)) is not None:
            line.append(column)
            cell = playable(own | opp, self.geometry.bottom, self.geometry.board)
            own, opp, score = opp, own | cell & column_cells(column, self.geometry.rows), -score
        return tuple(line)


def shared_solver(geometry: Geometry = STANDARD) -> Solver:
    """The solver of this process for a board, with its warm table and, where there is one, the lab's opening book."""
    return _shared_solver(geometry)


@cache
def _shared_solver(geometry):
    from .. import paths  # not where only this module's own package is at hand

    return Solver(geometry, book=Book.load(paths.BOOK) if geometry == STANDARD and paths.BOOK.exists() else None)


def solve(position: Any, **limits: Any) -> Solution:
    """The exact score of a position: `Solver.solve` of a solver that this process keeps for its board."""
    return shared_solver(_geometry(position)).solve(position, **limits)


def solve_many(positions: Iterable[Any]) -> np.ndarray:
    """The exact scores of many positions on one board, int8: `Solver.solve_many` of the solver kept for it."""
    positions = list(positions)
    return shared_solver(_geometry(positions[0]) if positions else STANDARD).solve_many(positions)


def _geometry(position):
    return getattr(position, "geometry", STANDARD)
