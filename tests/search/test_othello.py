"""Opponents for Othello against a slow search on a grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c4lib.agents import make_agent
from c4lib.games.othello import Othello, words
from c4lib.jit import build, memory_block
from c4lib.search.othello import (
    CORNER,
    MOVE,
    WIN,
    OthelloGreedyOpponent,
    OthelloMinimaxOpponent,
    alpha_beta,
    corners,
)

from ..games import plain_othello as plain

SIZES = (4, 6, 8)
GAMES = {size: Othello(size) for size in SIZES}


def evaluation(grid, mark):
    """By moves and corners."""
    size = len(grid)
    corners = [grid[row][column] for row in (0, size - 1) for column in (0, size - 1)]
    moves = len(plain.open_cells(grid, mark)) - len(plain.open_cells(grid, plain.other(mark)))
    return MOVE * moves + CORNER * (corners.count(mark) - corners.count(plain.other(mark)))


def minimax(grid, mark, depth, seen=None):
    """Value for the side to move, without a window; the actions of all positions it meets are appended to `seen`."""
    actions = plain.actions(grid, mark)
    if seen is not None:
        seen.append(actions)
    if not actions:
        more = plain.count(grid, mark) - plain.count(grid, plain.other(mark))
        return more + WIN * int(np.sign(more))
    if depth == 0:
        return evaluation(grid, mark)
    return max(-minimax(plain.after(grid, action, mark), plain.other(mark), depth - 1, seen) for action in actions)


def some_positions(size, number, seed, empty=None):
    """Positions of random games that go on, as (state, grid, side to move); at most so many cells are empty."""
    positions = []
    for grid, mark, action in plain.random_games(number, size, seed):
        if action is not None and plain.count(grid, ".") <= (size * size if empty is None else empty):
            cells = [[{"x": 1, "o": -1, ".": 0}[cell] for cell in row] for row in grid]
            mover = np.full((size, size), 1 if mark == "x" else -1)
            positions.append((np.array([cells, mover], np.int8), grid, mark))
    picked = np.random.default_rng(seed).choice(len(positions), 3 * number, replace=False)
    return [positions[i] for i in picked]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_scores_equal_plain_minimax(size, compiled):
    for depth in (1, 2, 3):
        opponent = OthelloMinimaxOpponent(depth, compiled=compiled)
        for state, grid, mark in some_positions(size, 3, seed=depth):
            expected = {
                action: -minimax(plain.after(grid, action, mark), plain.other(mark), depth - 1)
                for action in plain.actions(grid, mark)
            }
            assert opponent.scores(GAMES[size], state) == expected


def test_pruned_scores_choose_the_same_move():
    opponent = OthelloMinimaxOpponent(4)
    for state, _, _ in some_positions(6, 30, seed=4):
        exact, pruned = (opponent.scores(GAMES[6], state, exact=flag) for flag in (True, False))
        assert max(exact, key=exact.get) == max(pruned, key=pruned.get) == opponent(GAMES[6], state)
        assert all(pruned[action] >= exact[action] for action in exact)


def test_the_last_cell_of_the_big_board_is_no_sign():
    """Bit 63 is the sign of the kernels' integers: as many boards with a disc there, and its mirror images, say."""
    game = GAMES[8]
    taken = 0
    for state, _, _ in some_positions(8, 20, seed=5):
        images = game.symmetries(state, np.zeros(game.action_size))
        best = {max(OthelloMinimaxOpponent(3).scores(game, image).values()) for image, _ in images}
        assert len(best) == 1
        taken += any(image[0, 7, 7] for image, _ in images)
    assert taken > 10


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_the_last_moves_are_played_out(size, compiled):
    """Sides pass, games end, and discs lie on the last cell, on 8 x 8 the sign of the kernels' integers."""
    opponent = OthelloMinimaxOpponent(12, compiled=compiled)
    seen, corner = [], []
    for state, grid, mark in some_positions(size, 6, seed=size, empty=5):
        expected = {
            action: -minimax(plain.after(grid, action, mark), plain.other(mark), 11, seen)
            for action in plain.actions(grid, mark)
        }
        assert opponent.scores(GAMES[size], state) == expected
        assert all(value == 0 or abs(value) > WIN for value in expected.values())
        corner.append(grid[-1][-1] == mark)
    assert [] in seen
    assert [size * size] in seen
    assert set(corner) == {True, False}


@pytest.mark.parametrize("compiled", [True, False])
def test_a_window_leaves_out_nodes_and_keeps_the_bounds(compiled):
    random = np.random.default_rng(6)
    game, depth = GAMES[6], 3
    search = build(alpha_beta, compiled, AXES=game.axes, CORNERS=corners(6))
    outcomes, visited, all_nodes = set(), 0, 0
    for state, grid, mark in some_positions(6, 8, seed=6):
        seen = []
        value = minimax(grid, mark, depth, seen)
        boards = words(game.boards(state), compiled)
        memory, handle = memory_block(1, compiled)
        assert search(*boards, depth, -2 * WIN, 2 * WIN, handle) == value
        visited, all_nodes = visited + int(memory[0]), all_nodes + len(seen)
        for alpha in value + random.integers(-12, 12, 8):
            beta = alpha + random.integers(1, 8)
            found = search(*boards, depth, int(alpha), int(beta), handle)
            outcome = "low" if found <= alpha else "high" if found >= beta else "exact"
            assert {"low": value <= found, "high": value >= found, "exact": value == found}[outcome]
            outcomes.add(outcome)
    assert outcomes == {"low", "high", "exact"}
    assert visited < 0.7 * all_nodes


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), size=st.sampled_from(SIZES))
def test_greed_turns_most_discs(seed, size):
    for state, grid, mark in some_positions(size, 1, seed):
        turned = {
            action: len(plain.turned(grid, *divmod(action, size), mark)) if action < size * size else 0
            for action in plain.actions(grid, mark)
        }
        greedy = OthelloGreedyOpponent()
        assert greedy.scores(GAMES[size], state) == turned
        assert greedy.nodes == len(turned)
        assert turned[greedy(GAMES[size], state)] == max(turned.values())


def test_names():
    assert type(make_agent("greedy", game="othello6")) is OthelloGreedyOpponent
    opponent = make_agent("minimax:4", game="othello")
    assert type(opponent) is OthelloMinimaxOpponent
    assert opponent.depth == 4
    with pytest.raises(ValueError, match=r"unknown agent 'greedy' for connect4; known are random, "):
        make_agent("greedy")
    with pytest.raises(ValueError, match="greedy takes no argument"):
        make_agent("greedy:2", game="othello")
    with pytest.raises(ValueError, match="known are random, alphazero:MODEL@SIMULATIONS, minimax:DEPTH, greedy"):
        make_agent("perfect", game="othello")


def test_a_seed_draws_among_the_best():
    game = GAMES[6]
    state = game.initial_state()  # all four moves are the same one, turned round
    for name in ("greedy", "minimax:2"):
        assert {make_agent(name, game="othello6", seed=seed)(game, state) for seed in range(40)} == {8, 13, 22, 27}
        assert make_agent(name, game="othello6")(game, state) == 8
