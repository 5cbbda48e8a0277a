"""The grid that bitboards are compared with: the same rules as the plain twin, compiled and interpreted."""

import pytest

from c4lib.games import othello_grid as grid
from c4lib.games.othello import Othello

from . import plain_othello as plain


@pytest.mark.parametrize(("size", "plies"), [(4, 8), (6, 7), (8, 7)])
def test_it_counts_the_same_games(size, plies):
    game = Othello(size)
    counts = [game.perft(*game.boards(game.initial_state()), n) for n in range(plies + 1)]
    assert [grid.count_games(n, size) for n in range(plies + 1)] == counts
    few = counts[: 9 if size == 4 else 6]
    assert [grid.count_games(n, size, compiled=False) for n in range(len(few))] == few


def test_sides_pass_and_games_end():
    counts = [grid.count_games(n, 4) for n in range(17)]
    game = Othello(4)
    assert counts == [game.perft(*game.boards(game.initial_state()), n) for n in range(17)]
    assert counts[13] > 0  # twelve cells are empty: somebody has passed
    assert counts[16] < counts[12]


@pytest.mark.parametrize("size", [4, 6, 8])
def test_discs_turn_as_in_the_plain_twin(size):
    for shown, mark, _ in plain.random_games(5, size, seed=size):
        cells = [".xo".index(cell) for line in shown for cell in line]
        before, number = cells[:], ".xo".index(mark)
        for cell in range(size * size):
            if cells[cell]:
                continue
            row, column = divmod(cell, size)
            runs = grid.runs_turned(cells, row, column, number, size)
            assert (runs != 0) == (cell in plain.open_cells(shown, mark))
            grid.turn(cells, row, column, runs, number, size)
            turned = {r * size + c for r, c in plain.turned(shown, row, column, mark)}
            assert cells == [number if i in turned else disc for i, disc in enumerate(before)]
            grid.turn(cells, row, column, runs, 3 - number, size)
            assert cells == before
