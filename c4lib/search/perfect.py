"""The perfect player: the opening book, then the exact solver, and the engine where both have no answer in time."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from ..games.connect4 import STANDARD, Geometry
from ..jit import clock
from .book import Book
from .negamax import Engine, SearchOptions
from .solver import Solver

SOLVER_SHARE = 0.6  # of the time for a move; the rest is the engine's, should it be needed


@dataclass(frozen=True)
class PerfectMove:
    """A move, and where it comes from."""

    move: int  # column
    source: str  # "book" or "solver": exactly the best; "bound": wins, perhaps not soonest; "engine": a good guess
    score: int | None  # exact score of the position, where it is known
    seconds: float


class PerfectPlayer:
    """Plays exactly: wins as soon as possible, else draws, else resists as long as possible.

    It can stand wherever an `Engine` can. Under a clock it solves on the usual board only; others are the engine's.

    Args:
        geometry: the board.
        book: the opening book; one of another board is not used.
        options: of the engine.
        table_bits: of the solver.
        compiled: compile, where that is possible.

    Attributes:
        sources: how many moves came from where.
    """

    def __init__(
        self,
        geometry: Geometry = STANDARD,
        book: Book | None = None,
        *,
        options: SearchOptions | None = None,
        table_bits: int = 24,
        compiled: bool = True,
    ):
        self.geometry = geometry
        self.sources: Counter[str] = Counter()
        self._book = book if book and book.geometry == geometry else None
        self._settings = dict(book=self._book, table_bits=table_bits, compiled=compiled)
        self._engine = Engine(geometry, options, compiled=compiled)
        if geometry == STANDARD:
            _ = self._solver  # compiled now, not when the clock of a move is running

    @cached_property
    def _solver(self):
        return Solver(self.geometry, **self._settings)

    def search(self, own: int, opp: int, *, seconds: float | None = None) -> PerfectMove:
        """The move to play within `seconds`, or whatever time it takes.

        Raises ValueError where the game is over, or where there is neither a limit nor a solver for the board.
        """
        start = clock()
        move, source, score = self._find(own, opp, seconds, start)
        self.sources[source] += 1
        return PerfectMove(move, source, score, (clock() - start) / 1e9)

    def _find(self, own, opp, seconds, start):
        known = self._book and self._book.probe(own, opp)
        if known:
            return known[0], "book", known[1]
        if self.geometry == STANDARD or (seconds is None and self.geometry.fits_64_bits):
            time = None if seconds is None else SOLVER_SHARE * seconds
            move, solution = self._solver.best_move((own, opp), seconds=time)
            if move is not None:
                return move, "solver", solution.score
            if solution.score is None and solution.lower > 0:
                move = self._solver.column_worth((own, opp), solution.lower, seconds=0.1 * seconds)
                if move is not None:
                    return move, "bound", None
        left = None if seconds is None else max(seconds - (clock() - start) / 1e9, 0.01)
        return self._engine.search(own, opp, seconds=left).move, "engine", None
