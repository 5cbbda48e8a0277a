"""All positions of 7 x 6 x 4 ply by ply, by dynamic programming on arrays of grids; knows nothing of bitboards.

A level is every distinct position after so many plies, and for each the number of games that lead to it: the sum of
these is perft, although no game is ever played twice.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from . import plain

COLUMNS, ROWS, INAROW = 7, 6, 4


class Level(NamedTuple):
    grids: np.ndarray  # uint8 (n, 6, 7), the top row first: 0 empty, 1 first player, 2 second player
    games: np.ndarray  # int64 (n,), the ways to get there
    won: np.ndarray  # bool (n,), the side that moved last has a line


@cache
def level(ply: int) -> Level:
    if ply == 0:
        return Level(np.zeros((1, ROWS, COLUMNS), np.uint8), np.ones(1, np.int64), np.zeros(1, bool))
    before = level(ply - 1)
    mark = 1 if ply % 2 == 1 else 2
    children, games = [], []
    for column in range(COLUMNS):
        goes_on = ~before.won & (before.grids[:, 0, column] == 0)
        grids = before.grids[goes_on]
        row = (grids[:, :, column] == 0).sum(axis=1) - 1  # the lowest empty one
        grids[np.arange(len(grids)), row, column] = mark
        children.append(grids)
        games.append(before.games[goes_on])
    grids, games = np.concatenate(children), np.concatenate(games)
    _, first, same = np.unique(numbers(grids), return_index=True, return_inverse=True)
    ways = np.zeros(len(first), np.int64)
    np.add.at(ways, same, games)
    grids = grids[first]
    won = np.zeros(len(grids), bool)
    for line in plain.lines(COLUMNS, ROWS, INAROW):
        won |= np.all([grids[:, r, c] == mark for r, c in line], axis=0)
    return Level(grids, ways, won)


def numbers(grids: np.ndarray) -> np.ndarray:
    """A number for each grid, different for different grids: a column is read as binary digits, 1 for a stone of the
    second player, after a leading 1 that stands on top of the topmost stone."""
    total = np.zeros(len(grids), np.int64)
    for column in range(COLUMNS):
        digits = np.ones(len(grids), np.int64)
        for row in range(ROWS):  # from the top: 2 d + 1 for the second player's stone, nothing for an empty cell
            cell = grids[:, row, column]
            digits = np.where(cell == 0, digits, 2 * digits + (cell == 2))
        total = total * 2 ** (ROWS + 1) + digits
    return total


def as_plain(grid: np.ndarray) -> list[list[str]]:
    return [[".xo"[cell] for cell in row] for row in grid.tolist()]
