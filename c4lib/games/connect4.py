"""Connect Four in bits, on any columns x rows x inarow.

A position is `(own, opp)`: the stones of the side to move and of the other side. Cells are numbered column by
column from the bottom left, with one sentinel bit, always empty, on top of each column. On the usual board:

    .  .  .  .  .  .  .     6 13 20 27 34 41 48   sentinels
    5 12 19 26 33 40 47
    4 11 18 25 32 39 46
    3 10 17 24 31 38 45
    2  9 16 23 30 37 44
    1  8 15 22 29 36 43
    0  7 14 21 28 35 42

So one step up is +1, right +(rows + 1), diagonally down +rows and up +(rows + 2), and a line that would run over an
edge meets a sentinel. The functions below work on Python integers of any size, and compiled inside kernels where
`Geometry.fits_64_bits` says so.
"""

from typing import NamedTuple

import numpy as np

from ..bits import bit_indices, popcount, run_starts
from ..jit import build, inline, kernel
from .base import Game


class Geometry(NamedTuple):
    """Size of the board, and how many in a row win."""

    columns: int = 7
    rows: int = 6
    inarow: int = 4

    @property
    def height(self) -> int:
        """Bits of a column, with its sentinel."""
        return self.rows + 1

    @property
    def bottom(self) -> int:
        """The lowest cell of every column."""
        return sum(1 << column * self.height for column in range(self.columns))

    @property
    def board(self) -> int:
        """Every cell."""
        return self.bottom * ((1 << self.rows) - 1)

    @property
    def fits_64_bits(self) -> bool:
        """Whether the compiled kernels can hold the board; larger ones are interpreted.

        A machine shift by 64 or more is undefined, so the longest line must not reach further than 63 bits either:
        that leaves out tall boards of two or three columns, and lines far longer than the board.
        """
        return self.height * self.columns <= 63 and (self.inarow - 1) * (self.height + 1) <= 63

    @property
    def constants(self) -> dict[str, int]:
        """What a kernel is built with: the names of the module constants below."""
        names = ("COLUMNS", "ROWS", "INAROW", "BOTTOM", "BOARD")
        return dict(zip(names, (*self, self.bottom, self.board), strict=True))

    def checked(self) -> "Geometry":
        """Itself; raises ValueError where a number is not a positive integer."""
        for name, number in zip(self._fields, self, strict=True):
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
                raise ValueError(f"{name} must be a positive integer, not {number!r}")
        return Geometry(*map(int, self))


STANDARD = Geometry()

# Constants of the kernels, replaced by `build` for other boards.
COLUMNS, ROWS, INAROW = STANDARD
BOTTOM, BOARD = STANDARD.bottom, STANDARD.board


@inline
def column_cells(column, rows):
    """Every cell of a column."""
    return ((1 << rows) - 1) << (column * (rows + 1))


@inline
def centre_first(i, columns):
    """The i-th column from the centre outwards: 3 2 4 1 5 0 6 on seven."""
    return columns // 2 + (i + 1) // 2 * (i % 2 * -2 + 1)


@inline
def playable(mask, bottom, board):
    """The cell where the next stone of each column comes to rest; none for a full column.

    Adding 1 at the foot of a column carries through its stones (`mask`, both sides') to the first empty bit.
    """
    return (mask + bottom) & board


@inline
def has_line(stones, rows, inarow):
    """Whether one side's stones hold `inarow` in a row: eight shift-and-AND steps for four in a row."""
    return (
        run_starts(stones, 1, inarow)
        | run_starts(stones, rows, inarow)
        | run_starts(stones, rows + 1, inarow)
        | run_starts(stones, rows + 2, inarow)
    ) != 0


@inline
def _completing(stones, step, inarow):
    """Cells (also occupied ones, and off the board) where one more stone makes a line along `step`."""
    if inarow == 4:  # the loop below written out, its products shared: twice as fast compiled
        below = stones << step
        above = stones >> step
        two_below = below & (below << step)
        two_above = above & (above >> step)
        three = (two_below & (stones << (3 * step))) | (two_above & (stones >> (3 * step)))
        return three | (two_below & above) | (below & two_above)
    cells = stones ^ stones  # nothing, of the stones' own kind
    for before in range(inarow):
        run = ~(stones ^ stones)
        for k in range(1, before + 1):
            run &= stones << (k * step)
        for k in range(1, inarow - before):
            run &= stones >> (k * step)
        cells |= run
    return cells


@inline
def winning_cells(stones, mask, board, rows, inarow):
    """Empty cells, playable now or later, where one more stone of `stones`' side makes a line."""
    cells = (
        _completing(stones, 1, inarow)
        | _completing(stones, rows, inarow)
        | _completing(stones, rows + 1, inarow)
        | _completing(stones, rows + 2, inarow)
    )
    return cells & board & ~mask


@inline
def key(own, opp):
    """A unique number of the position: per column, the stones of the side to move added to all stones.

    A column of height h adds 2^h - 1 plus less than 2^h, so no carry leaves it, and the sum can be undone.
    """
    return own + (own | opp)


@inline
def mirror(board, columns, rows):
    """A bitboard, or a key, with the order of its columns reversed."""
    height = rows + 1
    image = board ^ board  # nothing, of the board's own kind
    for column in range(columns):
        image |= ((board >> (column * height)) & ((1 << height) - 1)) << ((columns - 1 - column) * height)
    return image


@inline
def canonical_key(own, opp, columns, rows):
    """The smaller of the keys of a position and of its mirror image."""
    this = key(own, opp)
    return min(this, mirror(this, columns, rows))


@kernel
def perft(own, opp, plies):
    """Number of ways to play on for exactly `plies` plies; a finished game cannot be played on."""
    if plies == 0:
        return 1
    if has_line(opp, ROWS, INAROW):
        return 0
    moves = playable(own | opp, BOTTOM, BOARD)
    if plies == 1:
        return popcount(moves)
    games = 0
    while moves:
        move = moves & -moves
        games += perft(opp, own | move, plies - 1)
        moves ^= move
    return games


class Connect4(Game):
    """Connect Four as arrays: states of shape `(rows, columns)`, row 0 on top; an action is a column from 0."""

    name = "connect4"

    def __init__(self, columns: int = 7, rows: int = 6, inarow: int = 4):
        self.geometry = Geometry(columns, rows, inarow).checked()
        self.input_shape = (3, self.geometry.rows, self.geometry.columns)
        self.action_size = self.geometry.columns
        self._bottom, self._board = self.geometry.bottom, self.geometry.board

    def initial_state(self) -> np.ndarray:
        return np.zeros(self.input_shape[1:], np.int8)

    def current_player(self, state: np.ndarray) -> int:
        return 1 if np.count_nonzero(state) % 2 == 0 else -1

    def legal_actions_mask(self, state: np.ndarray) -> np.ndarray:
        return state[0] == 0

    def apply(self, state: np.ndarray, action: int) -> np.ndarray:
        if not 0 <= action < self.action_size or action != int(action):
            raise ValueError(f"column {action} does not exist: columns are 0 to {self.action_size - 1}")
        column = int(action)
        empty = np.flatnonzero(state[:, column] == 0)
        if not len(empty):
            raise ValueError(f"column {column} is full")
        after = state.copy()
        after[empty[-1], column] = self.current_player(state)
        return after

    def terminal_value(self, state: np.ndarray) -> float | None:
        own, opp = self.boards(state)
        if has_line(opp, self.geometry.rows, self.geometry.inarow):
            return -1.0
        return 0.0 if own | opp == self.geometry.board else None

    def boards(self, state: np.ndarray) -> tuple[int, int]:
        return boards_of_cells(self.canonical_state(state), self.geometry)

    def state(self, own: int, opp: int) -> np.ndarray:
        mover = 1 if popcount(own | opp) % 2 == 0 else -1
        state = self.initial_state()
        for stones, player in ((own, mover), (opp, -mover)):
            for index in bit_indices(stones):
                column, row = divmod(index, self.geometry.height)
                state[self.geometry.rows - 1 - row, column] = player
        return state

    def symmetries(self, planes: np.ndarray, policy: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(planes, policy), (planes[..., ::-1], policy[..., ::-1])]

    def play_boards(self, own: np.ndarray, opp: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        move = playable(own | opp, self._bottom, self._board)
        return opp, own | (move & column_cells(actions.astype(own.dtype), self.geometry.rows))

    def legal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        top = self._bottom << (self.geometry.rows - 1)
        tops = top & column_cells(np.arange(self.geometry.columns), self.geometry.rows)
        return (own | opp)[:, None] & tops == 0

    def terminal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        _, rows, inarow = self.geometry
        unbeaten = np.where(own | opp == self._board, np.float32(0), np.float32(np.nan))
        return np.where(has_line(opp, rows, inarow), np.float32(-1), unbeaten)

    def encode_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        columns, rows, _ = self.geometry
        bits = np.arange(rows)[::-1, None] + np.arange(columns) * self.geometry.height  # of each cell, row 0 on top
        planes = np.ones((len(own), *self.input_shape), np.float32)
        for plane, stones in enumerate((own, opp)):
            planes[:, plane] = stones[:, None, None] >> bits & 1
        return planes

    def perft(self, own: int, opp: int, plies: int) -> int:
        """Number of games of exactly `plies` plies from a position."""
        return build(perft, self.geometry.fits_64_bits, **self.geometry.constants)(own, opp, plies)


def boards_of_cells(cells: np.ndarray, geometry: Geometry) -> tuple[int, int]:
    """Bitboards of the cells holding +1 and of those holding -1; `cells` has shape (rows, columns), row 0 on top."""
    boards = []
    for player in (1, -1):
        rows, columns = np.nonzero(cells == player)
        bits = columns * geometry.height + geometry.rows - 1 - rows
        boards.append(sum(1 << int(bit) for bit in bits))
    return boards[0], boards[1]
