"""Othello on a list of lists, cell by cell: the twin that the lab is compared with.

A grid is a list of rows, the top row first, of "x" (first player), "o" (second player) and "." (empty). Actions are
cells, row by row from 0, and after the last of them the pass.
"""

import numpy as np


def start(size):
    grid = [["."] * size for _ in range(size)]
    for row, marks in zip((size // 2 - 1, size // 2), ("ox", "xo"), strict=True):
        grid[row][size // 2 - 1 : size // 2 + 1] = marks
    return grid


def other(mark):
    return {"x": "o", "o": "x"}[mark]


def turned(grid, row, column, mark):
    """The cells whose discs turn over for a disc of this mark on an empty cell."""
    size, cells = len(grid), []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            run = []
            r, c = row + down, column + right
            while 0 <= r < size and 0 <= c < size and grid[r][c] == other(mark):
                run.append((r, c))
                r, c = r + down, c + right
            if 0 <= r < size and 0 <= c < size and grid[r][c] == mark:
                cells += run
    return cells


def open_cells(grid, mark):
    """The cells where a disc turns others over, as numbers."""
    size = len(grid)
    return [
        row * size + column
        for row in range(size)
        for column in range(size)
        if grid[row][column] == "." and turned(grid, row, column, mark)
    ]


def actions(grid, mark):
    """What a side may do: cells, or the pass alone, or nothing where the game is over."""
    return open_cells(grid, mark) or [len(grid) ** 2] * bool(open_cells(grid, other(mark)))


def after(grid, action, mark):
    changed = [row[:] for row in grid]
    if action < len(grid) ** 2:
        row, column = divmod(action, len(grid))
        for r, c in [(row, column), *turned(grid, row, column, mark)]:
            changed[r][c] = mark
    return changed


def count(grid, mark):
    return sum(row.count(mark) for row in grid)


def bits(cells):
    return sum(2**cell for cell in cells)


def boards(grid, mark):
    """(own, opp) where this side is to move."""
    cells = [cell for row in grid for cell in row]
    return tuple(bits(i for i, cell in enumerate(cells) if cell == side) for side in (mark, other(mark)))


def random_games(number, size, seed):
    """The positions of random games: (grid, side to move, action), the action None at the end."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        grid, mark = start(size), "x"
        while choices := actions(grid, mark):
            action = int(random.choice(choices))
            yield grid, mark, action
            grid, mark = after(grid, action, mark), other(mark)
        yield grid, mark, None


def perft(grid, mark, plies):
    if plies == 0:
        return 1
    return sum(perft(after(grid, action, mark), other(mark), plies - 1) for action in actions(grid, mark))
