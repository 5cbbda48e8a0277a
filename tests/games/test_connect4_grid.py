"""The grid that bitboards are compared with: the same rules as the plain twin, compiled and interpreted."""

import pytest

from c4lib.games import connect4_grid as grid
from c4lib.games.connect4 import Connect4, Geometry

from . import plain

boards = pytest.mark.parametrize("shape", plain.BOARDS)


@boards
@pytest.mark.parametrize("compiled", [False, True])
def test_it_counts_the_same_games(shape, compiled):
    plies = 8 if shape[0] <= 3 else 5 if shape[0] <= 7 else 3
    for n in range(plies + 1):
        assert grid.count_games(n, Geometry(*shape), compiled) == Connect4(*shape).perft(0, 0, n)


def test_it_counts_games_that_end():
    counts = [grid.count_games(n, Geometry(4, 5, 3)) for n in range(11)]
    assert counts == [Connect4(4, 5, 3).perft(0, 0, n) for n in range(11)]
    assert counts[10] < 4 * counts[9]  # lines are found, and games end with them


@boards
def test_stones_land_and_make_lines_as_in_the_plain_twin(shape):
    columns, rows, inarow = shape
    for moves, grids in plain.random_games(3, columns, rows, inarow, seed=6):
        cells = [0] * (columns * rows)
        for ply, column in enumerate(moves):
            row = grid.landing_row(cells, column, columns, rows)
            cells[row * columns + column] = 1 + ply % 2
            assert cells == [".xo".index(cell) for line in grids[ply + 1] for cell in line]
            won = plain.winner(grids[ply + 1], inarow) is not None
            assert grid.makes_line(cells, row, column, columns, rows, inarow) == won
        full = [c for c in range(columns) if c not in plain.open_columns(grids[-1])]
        assert [c for c in range(columns) if grid.landing_row(cells, c, columns, rows) < 0] == full
