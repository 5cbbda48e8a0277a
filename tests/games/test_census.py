"""Every distinct position, ply by ply, against the arrays of grids and against numbers on record."""

import numpy as np
import pytest

from c4lib.games import census
from c4lib.games.connect4 import Connect4, Geometry, canonical_key, has_line, key

from . import counting, plain

# Positions of a whole board, the empty one and finished games included (John Tromp's table)
ALL_POSITIONS = {(4, 4, 4): 161029, (5, 4, 4): 3945711}


def test_levels_of_the_usual_board():
    for ply, (own, opp) in enumerate(census.levels(7)):
        level = counting.level(ply)
        assert len(own) == len(level.grids)
        assert has_line(opp, 6, 4).sum() == level.won.sum()
        assert (np.diff(key(own, opp)) > 0).all()
        numbers, images = counting.numbers(level.grids), counting.numbers(level.grids[:, :, ::-1])
        assert len(census.canonical_keys(own, opp)) == len(np.unique(np.minimum(numbers, images)))


@pytest.mark.parametrize("shape", [(4, 4, 4), pytest.param((5, 4, 4), marks=pytest.mark.slow)])
def test_whole_boards(shape):
    columns, rows, _ = shape
    assert sum(len(own) for own, _ in census.levels(columns * rows, Geometry(*shape))) == ALL_POSITIONS[shape]


def play_out(state, game, plies):
    """Boards of all positions after so many plies, by the array interface."""
    if plies == 0:
        return {game.boards(state)}
    if game.terminal_value(state) is not None:
        return set()
    actions = np.flatnonzero(game.legal_actions_mask(state))
    return set().union(*(play_out(game.apply(state, action), game, plies - 1) for action in actions))


@pytest.mark.parametrize("shape", [(4, 5, 3), (10, 10, 5), (3, 20, 4), (2, 30, 4), (1, 1, 1), (5, 4, 1)])
def test_levels_of_any_board(shape):
    plies = 3 if shape[0] > 5 else 6
    geometry, game = Geometry(*shape), Connect4(*shape)
    for ply, (own, opp) in enumerate(census.levels(plies, geometry)):
        boards = list(zip(own.tolist(), opp.tolist(), strict=True))
        assert len(boards) == len(set(boards))
        assert set(boards) == play_out(game.initial_state(), game, ply)
        keys = {canonical_key(*pair, *shape[:2]) for pair in boards}
        assert census.canonical_keys(own, opp, geometry).tolist() == sorted(keys)


def test_boards_of_the_plain_twin_are_there():
    levels = [set(zip(own.tolist(), opp.tolist(), strict=True)) for own, opp in census.levels(6)]
    for _, grids in plain.random_games(50, 7, 6, 4, seed=7):
        assert all(plain.boards_of(grid) in level for grid, level in zip(grids, levels, strict=False))
