"""Connect Four the obvious way, on a grid of cells: what the bitboards are compared with, in results and in speed.

Cell `row * columns + column` is word `row * columns + column` of a memory (see `jit`), row 0 on top: 0 where it is
empty, else 1 or 2, the player whose stone lies there.
"""

from ..jit import build, inline, kernel, load, memory_block, store
from .connect4 import COLUMNS, INAROW, ROWS, STANDARD, Geometry


@inline
def landing_row(cells, column, columns, rows):
    """The row in which the next stone of a column comes to rest; -1 where the column is full."""
    row = rows - 1
    while row >= 0 and load(cells, row * columns + column) != 0:
        row -= 1
    return row


@inline
def makes_line(cells, row, column, columns, rows, inarow):
    """Whether the stone in this cell is one of `inarow` in a row: walks away from it along all four directions."""
    mark = load(cells, row * columns + column)
    for down, right in ((1, 0), (0, 1), (1, 1), (1, -1)):
        run = 1
        for way in (1, -1):
            r, c = row + way * down, column + way * right
            while 0 <= r < rows and 0 <= c < columns and load(cells, r * columns + c) == mark:
                run += 1
                r += way * down
                c += way * right
        if run >= inarow:
            return True
    return False


@kernel
def perft(cells, mark, plies):
    """Number of ways to play on for exactly `plies` plies in a game that goes on; `mark` is to move."""
    if plies == 0:
        return 1
    games = 0
    for column in range(COLUMNS):
        row = landing_row(cells, column, COLUMNS, ROWS)
        if row < 0:
            continue
        if plies == 1:
            games += 1
            continue
        store(cells, row * COLUMNS + column, mark)
        if not makes_line(cells, row, column, COLUMNS, ROWS, INAROW):
            games += perft(cells, 3 - mark, plies - 1)
        store(cells, row * COLUMNS + column, 0)
    return games


def count_games(plies: int, geometry: Geometry = STANDARD, compiled: bool = True) -> int:
    """`perft` from the empty board, compiled or interpreted."""
    columns, rows, _ = geometry
    cells, handle = memory_block(columns * rows, compiled)
    games = build(perft, compiled, **geometry.constants)(handle, 1, plies)
    assert not any(cells), "every stone has been taken back"
    return games
