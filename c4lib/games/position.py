"""A Connect Four position to hold in the hand: made from moves, text or Kaggle's board, played on, printed, drawn.

The searches work on bare integers `(own, opp)`; this is the friendly face of the same two numbers, on a board of any
size. Every way to make one ends in the same check, so a `Position` that exists obeys the rules as far as its last
stone. (Whether *all* its stones can have come in turn is a search of its own, and is not asked.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..bits import bit_indices, popcount, run_starts
from . import connect4
from .connect4 import STANDARD, Connect4, Geometry, has_line, playable

PLAYERS = {1: "the first player", -1: "the second player"}
LETTERS = {1: "x", -1: "o", 0: "."}

# Okabe and Ito's yellow and vermillion: apart for every kind of colour vision, and in grey
COLOURS = {1: "#f0e442", -1: "#d55e00", 0: "#0e2238"}
BOARD_COLOUR, LABEL_COLOUR, INK = "#1f4068", "#ffffff", "#000000"


@dataclass(frozen=True, slots=True, repr=False)
class Position:
    """An immutable position; equal where the stones and the board are, however the game got there.

    `Position()` is the empty 7 x 6 board. Columns are 0-based, from the left.

    Attributes:
        own, opp: bitboards of the side to move and of the other side (the layout is drawn in `connect4`).
        geometry: columns, rows, inarow.
        moves: the columns played since the empty board, where they are known; else None.
    """

    own: int = 0
    opp: int = 0
    geometry: Geometry = STANDARD
    moves: tuple[int, ...] | None = field(default=None, init=False, compare=False)

    def __post_init__(self):
        """Bring the fields to plain integers; ValueError where no game can have led here by its last stone."""
        self._set(geometry=Geometry(*self.geometry).checked(), own=_integer(self.own, "own"))
        self._set(opp=_integer(self.opp, "opp"))
        own, opp, (columns, rows, inarow) = self.own, self.opp, self.geometry
        bottom, board = self.geometry.bottom, self.geometry.board
        if (own | opp) & ~board:
            raise ValueError(f"there are bits outside the board of {columns} x {rows}")
        if own & opp:
            raise ValueError(f"two stones share {self._place(own & opp)}")
        if floating := (own | opp) & ~((own | opp) << 1 | bottom):
            raise ValueError(f"the stone in {self._place(floating)} rests on nothing")

        first, second = (own, opp) if self.mover == 1 else (opp, own)
        if popcount(first) - popcount(second) not in (0, 1):
            raise ValueError(f"{popcount(first)} stones of the first player and {popcount(second)} of the second: "
                             "the players take turns, and the first begins")  # fmt: skip
        if has_line(own, rows, inarow):
            if has_line(opp, rows, inarow):
                raise ValueError(f"both players have {inarow} in a row")
            raise ValueError(f"{PLAYERS[self.mover]} has {inarow} in a row, but {PLAYERS[-self.mover]} moved last")
        last = opp & ~((own | opp) >> 1)  # his stones with nothing on top
        if opp and not last:
            raise ValueError(f"{PLAYERS[-self.mover]} moved last, but has no stone on top of a column")
        if opp and all(has_line(opp ^ 1 << index, rows, inarow) for index in bit_indices(last)):
            raise ValueError(f"no single last stone can have completed the lines of {PLAYERS[-self.mover]}")
        if not own | opp:
            self._set(moves=())

    # --- ways to make one ---------------------------------------------------------------------------------------

    @classmethod
    def from_moves(cls, moves: str | Iterable[int], columns: int = 7, rows: int = 6, inarow: int = 4) -> Self:
        """The position after these moves: a string of 1-based digits ("4453"), or 0-based integers ([3, 3, 4, 2])."""
        if not isinstance(moves, (str, Iterable)):
            raise ValueError(f"moves must be a string of digits or a sequence of columns, not {moves!r}")
        moves = moves if isinstance(moves, str) else list(moves)
        position = cls(geometry=Geometry(columns, rows, inarow))
        for number, move in enumerate(moves, 1):
            try:
                position = position._after_digit(move) if isinstance(moves, str) else position.play(move)
            except ValueError as error:
                raise ValueError(f"move {number} of {moves!r}: {error}") from None
        return position

    @classmethod
    def from_text(cls, board: str, inarow: int = 4) -> Self:
        """The position of a picture like that of `str`: `x` first player, `o` second, `.` empty, top row first.

        Spaces, indentation and case do not matter; the board is as wide and high as the text.
        """
        players = {letter: player for player, letter in LETTERS.items()}
        lines = ["".join(line.split()).lower() for line in board.strip().splitlines()] or [""]
        for row, line in enumerate(lines):
            for column, letter in enumerate(line):
                if letter not in players:
                    raise ValueError(f"row {row} from the top, column {column}: {letter!r} is none of 'x', 'o', '.'")
            if len(line) != len(lines[0]):
                raise ValueError(f"row {row} from the top is {len(line)} wide, and row 0 is {len(lines[0])}")
        cells = [[players[letter] for letter in line] for line in lines]
        return cls._from_cells(cells, Geometry(len(lines[0]), len(lines), inarow))

    @classmethod
    def from_kaggle(cls, observation: Any, configuration: Any) -> Self:
        """The position that a ConnectX agent is shown; both arguments are mappings, or objects with attributes.

        Needs `board` of the one and `columns`, `rows`, `inarow` of the other. Whose turn it is follows from the board.
        """
        geometry = Geometry(*(_read(configuration, name) for name in Geometry._fields)).checked()
        columns, rows, _ = geometry
        board = _read(observation, "board")
        if not isinstance(board, Iterable):
            raise ValueError(f"the board must be a list of cells, not {board!r}")
        board = list(board)
        if len(board) != columns * rows:
            raise ValueError(f"the board has {len(board)} cells, and {columns} x {rows} are {columns * rows}")
        for index, mark in enumerate(board):
            if _integer(mark, f"cell {index}") not in (0, 1, 2):
                raise ValueError(f"cell {index} holds {mark}, which is none of 0, 1, 2")
        players = (0, 1, -1)
        cells = [[players[mark] for mark in board[row * columns :][:columns]] for row in range(rows)]
        return cls._from_cells(cells, geometry)

    @classmethod
    def _from_cells(cls, cells: list[list[int]], geometry: Geometry) -> Self:
        """From rows of +1, -1 and 0, the top row first."""
        geometry = geometry.checked()
        first, second = connect4.boards_of_cells(np.array(cells), geometry)
        own, opp = (first, second) if popcount(first | second) % 2 == 0 else (second, first)
        return cls(own, opp, geometry)

    # --- what can be asked of it --------------------------------------------------------------------------------

    @property
    def boards(self) -> tuple[int, int]:
        """`(own, opp)`, as kernels take them."""
        return self.own, self.opp

    @property
    def state(self) -> np.ndarray:
        """The state of `Connect4`: int8, shape (rows, columns), row 0 on top, +1 for the first player's stones."""
        return Connect4(*self.geometry).state(self.own, self.opp)

    @property
    def key(self) -> int:
        """A number that no other position on this board has."""
        return connect4.key(self.own, self.opp)

    @property
    def plies(self) -> int:
        """Number of stones on the board."""
        return popcount(self.own | self.opp)

    @property
    def mover(self) -> int:
        """+1 where the first player is to move, -1 where the second is (also of a finished game)."""
        return 1 if self.plies % 2 == 0 else -1

    @property
    def winner(self) -> int | None:
        """+1 where the first player has won, -1 where the second has; None otherwise."""
        return -self.mover if has_line(self.opp, self.geometry.rows, self.geometry.inarow) else None

    @property
    def winning_line(self) -> int:
        """The cells of the winner's line, or lines, as a bitboard; 0 where nobody has won."""
        _, rows, inarow = self.geometry
        cells = 0
        for step in (1, rows, rows + 1, rows + 2):
            starts = run_starts(self.opp, step, inarow)
            for k in range(inarow if starts else 0):
                cells |= starts << (k * step)
        return cells

    @property
    def is_draw(self) -> bool:
        """Whether the board is full and nobody has won."""
        return self.own | self.opp == self.geometry.board and self.winner is None

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.winner is not None or self.is_draw

    @property
    def legal_moves(self) -> tuple[int, ...]:
        """The columns that can be played, from the left; none once the game is over."""
        if self.is_over:
            return ()
        cells = playable(self.own | self.opp, self.geometry.bottom, self.geometry.board)
        return tuple(index // self.geometry.height for index in bit_indices(cells))

    # --- what can be made of it ---------------------------------------------------------------------------------

    def play(self, column: int) -> Self:
        """The position after the side to move dropped a stone into `column`."""
        return self._after(_integer(column, "column"), base=0)

    def mirror(self) -> Self:
        """The mirror image, left for right."""
        columns, rows, _ = self.geometry
        own, opp = (connect4.mirror(board, columns, rows) for board in self.boards)
        image = type(self)(own, opp, self.geometry)
        return image._set(moves=self.moves and tuple(columns - 1 - column for column in self.moves))

    def __str__(self) -> str:
        return "\n".join(" ".join(LETTERS[cell] for cell in row) for row in self.state.tolist())

    def __repr__(self) -> str:
        columns = self.geometry.columns
        standard = self.geometry == STANDARD
        if self.moves is None:
            return f"Position({self.own}, {self.opp}{'' if standard else f', {self.geometry}'})"
        moves = "".join(str(column + 1) for column in self.moves) if columns <= 9 else list(self.moves)
        board = "" if standard else "".join(f", {name}={n}" for name, n in self.geometry._asdict().items())
        return f"Position.from_moves({moves!r}{board})"

    def _repr_svg_(self) -> str:
        """The board drawn: yellow is the first player, rings mark the winning line, numbers the order of moves."""
        columns, rows, _ = self.geometry
        numbers = {}
        for number, column in enumerate(self.moves or (), 1):
            level = self.moves[: number - 1].count(column)
            numbers[rows - 1 - level, column] = number
        line = {divmod(index, self.geometry.height) for index in bit_indices(self.winning_line)}
        size, margin, label = 44, 6, 20  # pixels of a cell, of the frame, of the line of column numbers
        width, height = columns * size + 2 * margin, rows * size + 2 * margin + label
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" text-anchor="middle" font-family="sans-serif" font-size="14">',
            f"<title>{self!r}</title>",
            f'<rect width="{width}" height="{height}" rx="10" fill="{BOARD_COLOUR}"/>',
        ]
        for (row, column), cell in np.ndenumerate(self.state):
            x, y = margin + column * size + size // 2, margin + row * size + size // 2
            ring = f' stroke="{LABEL_COLOUR}" stroke-width="4"' if (column, rows - 1 - row) in line else ""
            parts.append(f'<circle cx="{x}" cy="{y}" r="18" fill="{COLOURS[int(cell)]}"{ring}/>')
            if (row, column) in numbers:
                parts.append(f'<text x="{x}" y="{y + 5}" fill="{INK}">{numbers[row, column]}</text>')
        for column in range(columns):
            x, y = margin + column * size + size // 2, height - margin - 5
            parts.append(f'<text x="{x}" y="{y}" fill="{LABEL_COLOUR}">{column}</text>')
        return "\n".join([*parts, "</svg>"])

    # --- the workshop -------------------------------------------------------------------------------------------

    def _after_digit(self, digit: str) -> Self:
        """`play` for a 1-based digit."""
        if digit not in "0123456789":
            raise ValueError(f"{digit!r} is not a digit")
        return self._after(int(digit) - 1, base=1)

    def _after(self, column: int, base: int) -> Self:
        """`play` for a checked integer; `base` is the number of the leftmost column in messages."""
        columns = self.geometry.columns
        name = f"column {column + base}{' (1-based)' if base else ''}"
        if self.is_over:
            result = "a draw" if self.is_draw else f"{PLAYERS[self.winner]} has won"
            raise ValueError(f"the game is over: {result}")
        if not 0 <= column < columns:
            raise ValueError(f"{name} does not exist: columns are {base} to {columns - 1 + base}")
        cells = playable(self.own | self.opp, self.geometry.bottom, self.geometry.board)
        move = cells & ((1 << self.geometry.rows) - 1) << column * self.geometry.height
        if not move:
            raise ValueError(f"{name} is full")
        after = type(self)(self.opp, self.own | move, self.geometry)
        return after._set(moves=None if self.moves is None else (*self.moves, column))

    def _place(self, cells: int) -> str:
        """The first of some cells, in words."""
        column, row = divmod(bit_indices(cells)[0], self.geometry.height)
        return f"column {column}, row {row} from the bottom"

    def _set(self, **fields: Any) -> Self:
        """Set fields of a position that is being made, and hand it on."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        return self


def _integer(number: Any, name: str) -> int:
    """A plain integer; ValueError for whatever is not a whole number by its type, booleans included."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise ValueError(f"{name} must be an integer, not {number!r}")
    return int(number)


def _read(source: Any, name: str) -> Any:
    """An entry of a mapping, or an attribute."""
    try:
        return source[name] if isinstance(source, Mapping) else getattr(source, name)
    except (KeyError, AttributeError):
        raise ValueError(f"{name!r} is missing") from None
