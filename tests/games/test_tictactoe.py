"""Tic-Tac-Toe against what everybody knows about it."""

import numpy as np
import pytest

from c4lib.games.tictactoe import LINES, TicTacToe, has_line

GAME = TicTacToe()


def perft(state, plies):
    if plies == 0:
        return 1
    if GAME.terminal_value(state) is not None:
        return 0
    return sum(perft(GAME.apply(state, action), plies - 1) for action in np.flatnonzero(GAME.legal_actions_mask(state)))


def test_perft():
    assert [perft(GAME.initial_state(), plies) for plies in range(7)] == [1, 9, 72, 504, 3024, 15120, 54720]


def test_the_distinct_positions_and_how_they_end():
    seen, level = set(), [(0, 0)]
    ends = {-1.0: 0, 0.0: 0}
    while level:
        below = set()
        for own, opp in level:
            seen.add((own, opp))
            state = GAME.state(own, opp)
            value = GAME.terminal_value(state)
            if value is not None:
                ends[value] += 1
                continue
            for action in np.flatnonzero(GAME.legal_actions_mask(state)):
                below.add(GAME.boards(GAME.apply(state, action)))
        level = sorted(below)
    assert len(seen) == 5478
    assert ends == {-1.0: 942, 0.0: 16}


def test_lines():
    grids = [[(i, j) for j in range(3)] for i in range(3)] + [[(j, i) for j in range(3)] for i in range(3)]
    grids += [[(i, i) for i in range(3)], [(i, 2 - i) for i in range(3)]]
    assert set(LINES) == {sum(1 << 3 * row + column for row, column in cells) for cells in grids}
    assert all(has_line(line) for line in LINES)
    assert not has_line(0b011_100_011)


def test_the_eight_symmetries_are_distinct_and_each_moves_cells_as_it_moves_planes():
    cells = np.arange(9)
    images = GAME.symmetries(cells.reshape(3, 3), cells)
    assert len({tuple(policy) for _, policy in images}) == 8
    for planes, policy in images:
        assert np.array_equal(planes.ravel(), policy)


def test_refusals_say_why():
    state = GAME.apply(GAME.initial_state(), 4)
    with pytest.raises(ValueError, match="cell 4 is taken"):
        GAME.apply(state, 4)
    with pytest.raises(ValueError, match="cell 9 does not exist"):
        GAME.apply(state, 9)
