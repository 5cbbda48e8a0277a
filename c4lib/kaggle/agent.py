"""The player inside a Kaggle submission: reads an observation, keeps the clock, always answers with a legal column."""

import contextlib
import time
import traceback

import numpy as np

from ..games.connect4 import Geometry, boards_of_cells, centre_first
from ..search.negamax import Engine, SearchOptions

SHARE_OF_TIMEOUT = 0.8  # of the time for a move that a search may take; the rest is for whatever the machine does
COMPILE_RESERVE = 25.0  # seconds; with less than this in the time bank nothing is compiled
OPTIONS = SearchOptions(table_bits=22)  # 64 MB a seat


class Player:
    """Plays any number of games, also both seats of one, through calls `player(observation, configuration)`.

    The time of a move comes from `actTimeout`. The time bank is touched once, by the first turn, which loads and
    compiles; where the bank is too small for that, or numba fails, the interpreted engine plays.

    Args:
        started: when loading for the first move began, by `time.monotonic`; None: with the call.
        files: data files that came with the submission, base64 by name.

    Attributes:
        failures: exceptions that were met and survived, newest last.
    """

    def __init__(self, started: float | None = None, files: dict[str, str] | None = None):
        self.failures: list[Exception] = []
        self._files = files or {}
        self._started = started
        self._seats: dict[tuple, _Seat] = {}

    def __call__(self, observation, configuration) -> int:
        board = list(_read(observation, "board"))
        columns = int(_read(configuration, "columns", 7))
        try:
            move = int(self._choose(observation, configuration, board, columns))
            if move not in range(columns) or board[move] != 0:
                raise ValueError(f"the engine chose column {move}, which is not open")
            return move
        except Exception as failure:  # a submission must not fail, whatever happens
            self._survive(failure)
            return centre_most(board, columns)

    def _choose(self, observation, configuration, board, columns):
        rows, inarow = (int(_read(configuration, name, default)) for name, default in (("rows", 6), ("inarow", 4)))
        mark = int(_read(observation, "mark", 1))
        timeout = float(_read(configuration, "actTimeout", 2.0))
        bank = float(_read(observation, "remainingOverageTime", 0.0))
        started, self._started = self._started or time.monotonic(), None
        seconds = timeout * SHARE_OF_TIMEOUT
        seat = (mark, columns, rows, inarow)
        if seat not in self._seats or not self._seats[seat].continues(board):
            self._seats[seat] = _Seat(self._engine(Geometry(columns, rows, inarow), bank))
        if not any(board):  # nothing is better on 7 x 6 (Allis, 1988), and a search is not deep enough to see it
            return centre_most(board, columns)
        if bank < COMPILE_RESERVE:  # then the search has to pay for loading
            seconds -= time.monotonic() - started
        return self._seats[seat].move(board, mark, seconds)

    def _engine(self, geometry: Geometry, bank: float):
        if bank >= COMPILE_RESERVE:
            try:
                return self.make_engine(geometry, compiled=True)
            except Exception as failure:  # numba imports but does not compile
                self._survive(failure)
        return self.make_engine(geometry, compiled=False)

    def make_engine(self, geometry: Geometry, compiled: bool):
        """What chooses the moves: an `Engine`, or what stands in for one."""
        return Engine(geometry, OPTIONS, compiled=compiled)

    def _survive(self, failure: Exception) -> None:
        self.failures.append(failure)
        with contextlib.suppress(Exception):
            traceback.print_exception(failure)  # to the log that Kaggle keeps of every episode


class _Seat:
    """One side of one game: its engine, and the board it saw last."""

    def __init__(self, engine):
        self.engine = engine
        self.geometry = engine.geometry
        self.board = [0] * (self.geometry.columns * self.geometry.rows)

    def continues(self, board) -> bool:
        """Whether `board` can belong to the same game: no stone has gone or changed, and some were added."""
        return board != self.board and all(before in (0, now) for before, now in zip(self.board, board, strict=True))

    def move(self, board, mark, seconds) -> int:
        """The column to play, found within `seconds`."""
        start = time.monotonic()
        self.board = board
        cells = np.array(board).reshape(self.geometry.rows, self.geometry.columns)
        signs = np.where(cells == mark, 1, np.where(cells == 0, 0, -1))
        own, opp = boards_of_cells(signs, self.geometry)
        return self.engine.search(own, opp, seconds=max(seconds - (time.monotonic() - start), 0.01)).move


def centre_most(board, columns) -> int:
    """The open column nearest the centre; the top row comes first in `board`. Column 0 where none is open."""
    order = (centre_first(i, columns) for i in range(columns))
    return next((column for column in order if board[column] == 0), 0)


def _read(struct, name, default=None):
    """A field of an observation or a configuration, which may be a dict, an object with attributes, or both."""
    value = struct.get(name) if hasattr(struct, "get") else getattr(struct, name, None)
    return default if value is None else value
