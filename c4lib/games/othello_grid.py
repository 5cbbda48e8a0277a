"""Othello the obvious way, on a grid of cells: what the bitboards are compared with, in results and in speed.

Cell `row * size + column` is that word of a memory (see `jit`), row 0 on top: 0 where it is empty, else 1 or 2, the
player whose disc lies there.
"""

import numpy as np

from ..jit import build, inline, kernel, load, memory_block, store
from .othello import Othello

SIZE = 8  # constant of the kernel, replaced by `build` for other boards
WAYS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))  # down, right


@inline
def runs_turned(cells, row, column, mark, size):
    """How many discs a new one of `mark` turns over, in each of the `WAYS`: four bits of the result a way."""
    runs = 0
    shift = 0
    for down, right in WAYS:
        r, c = row + down, column + right
        run = 0
        while 0 <= r < size and 0 <= c < size and load(cells, r * size + c) == 3 - mark:
            run += 1
            r += down
            c += right
        if run and 0 <= r < size and 0 <= c < size and load(cells, r * size + c) == mark:
            runs |= run << shift
        shift += 4
    return runs


@inline
def turn(cells, row, column, runs, mark, size):
    """Give the discs of these runs to `mark`, in place."""
    for down, right in WAYS:
        for step in range(1, (runs & 15) + 1):
            store(cells, (row + step * down) * size + column + step * right, mark)
        runs >>= 4


@kernel
def perft(cells, mark, plies):
    """Number of ways to play on for exactly `plies` plies, a pass being one; `mark` is to move."""
    if plies == 0:
        return 1
    games = 0
    stuck = True
    for cell in range(SIZE * SIZE):
        if load(cells, cell) != 0:
            continue
        row, column = cell // SIZE, cell % SIZE
        runs = runs_turned(cells, row, column, mark, SIZE)
        if runs == 0:
            continue
        stuck = False
        if plies == 1:
            games += 1
            continue
        turn(cells, row, column, runs, mark, SIZE)
        store(cells, cell, mark)
        games += perft(cells, 3 - mark, plies - 1)
        turn(cells, row, column, runs, 3 - mark, SIZE)
        store(cells, cell, 0)
    if not stuck:
        return games
    for cell in range(SIZE * SIZE):  # a pass, if the other side can move
        if load(cells, cell) == 0 and runs_turned(cells, cell // SIZE, cell % SIZE, 3 - mark, SIZE):
            return perft(cells, 3 - mark, plies - 1)
    return 0


def count_games(plies: int, size: int = 8, compiled: bool = True) -> int:
    """`perft` from the start, compiled or interpreted."""
    game = Othello(size)
    cells, handle = memory_block(game.cells, compiled)
    start = (np.ravel(game.initial_state()[0]) % 3).tolist()  # the first player is 1, the second 2
    cells[:] = start
    games = build(perft, compiled, SIZE=size)(handle, 1, plies)
    assert list(cells) == start, "every move has been taken back"
    return games
