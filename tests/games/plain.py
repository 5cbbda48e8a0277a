"""Connect Four on a list of lists: slow, obvious, and without one bit trick. The twin that the lab is compared with.

A grid is a list of rows, the top row first, of "x" (first player), "o" (second player) and "." (empty).
"""

from functools import cache

import numpy as np

# (columns, rows, inarow) that the tests play on: the usual board, the smallest, boards that do and do not fit 64 bits,
# lines of one and of two, lines longer than the board, and tall boards on which a line reaches further than 64 bits
BOARDS = [
    (7, 6, 4),
    (1, 1, 1),
    (4, 5, 3),
    (9, 7, 5),
    (9, 6, 4),
    (8, 7, 4),
    (10, 10, 5),
    (20, 20, 4),
    (5, 4, 1),
    (5, 4, 2),
    (3, 4, 5),
    (7, 6, 20),
    (2, 30, 4),
    (3, 20, 4),
]


def empty_grid(columns, rows):
    return [["."] * columns for _ in range(rows)]


def size(grid):
    """(columns, rows)"""
    return len(grid[0]), len(grid)


def stones(grid):
    return sum(cell != "." for row in grid for cell in row)


def mover(grid):
    return "x" if stones(grid) % 2 == 0 else "o"


def open_columns(grid):
    """Columns that are not full; whether the game is over is another question."""
    return [column for column, cell in enumerate(grid[0]) if cell == "."]


def dropped(grid, column, mark):
    """The grid after a stone fell down a column."""
    after = [row[:] for row in grid]
    for row in reversed(after):
        if row[column] == ".":
            row[column] = mark
            return after
    raise ValueError("full")


def played(grid, column):
    return dropped(grid, column, mover(grid))


@cache
def lines(columns, rows, inarow):
    """Every line of the board, each a list of (row, column)."""
    found = []
    for row in range(rows):
        for column in range(columns):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + k * down, column + k * right) for k in range(inarow)]
                if all(0 <= r < rows and 0 <= c < columns for r, c in line):
                    found.append(line)
    return found


def lines_held(grid, mark, inarow):
    """The lines that hold nothing but this player's stones."""
    return [line for line in lines(*size(grid), inarow) if all(grid[r][c] == mark for r, c in line)]


def winner(grid, inarow):
    """ "x", "o" or None."""
    for mark in "xo":
        if lines_held(grid, mark, inarow):
            return mark
    return None


def is_over(grid, inarow):
    return not open_columns(grid) or winner(grid, inarow) is not None


def winning_cells(grid, mark, inarow):
    """Empty cells (row, column) that are the only one that a line lacks."""
    cells = set()
    for line in lines(*size(grid), inarow):
        lacking = [(r, c) for r, c in line if grid[r][c] != mark]
        if len(lacking) == 1 and grid[lacking[0][0]][lacking[0][1]] == ".":
            cells.add(lacking[0])
    return cells


def mirrored(grid):
    return [row[::-1] for row in grid]


def text(grid):
    return "\n".join(" ".join(row) for row in grid)


# --- to and from the lab's forms, written out cell by cell -------------------------------------------------------


def state_of(grid):
    """The int8 array."""
    return np.array([[{"x": 1, "o": -1, ".": 0}[cell] for cell in row] for row in grid], np.int8)


def bits_of(cells, columns, rows):
    """The bitboard of some cells (row from the top, column): a column is rows + 1 bits, its lowest cell the lowest."""
    board = 0
    for row, column in cells:
        level = rows - 1 - row
        board += 2 ** (column * (rows + 1) + level)
    return board


def boards_of(grid):
    """The bitboards (own, opp)."""
    columns, rows = size(grid)
    cells = {mark: [(r, c) for r in range(rows) for c in range(columns) if grid[r][c] == mark] for mark in "xo"}
    own = mover(grid)
    opp = "o" if own == "x" else "x"
    return bits_of(cells[own], columns, rows), bits_of(cells[opp], columns, rows)


def random_games(count, columns, rows, inarow, seed):
    """Random games to their end: for each a list of columns, and the list of grids, the empty one first."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        moves, grids = [], [empty_grid(columns, rows)]
        while not is_over(grids[-1], inarow):
            moves.append(int(random.choice(open_columns(grids[-1]))))
            grids.append(played(grids[-1], moves[-1]))
        yield moves, grids
