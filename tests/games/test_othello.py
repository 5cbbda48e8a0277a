"""Othello: the bit kernels and the array interface against a plain twin, published numbers and other people's rules."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c4lib.bench import rust_perft, spiel_perft
from c4lib.bits import bit_indices
from c4lib.cli_alphazero import board_text
from c4lib.games.base import boards_array
from c4lib.games.othello import (
    Othello,
    axes,
    flips,
    legal_moves,
    legal_of_many,
    perft,
    played,
    played_of_many,
)
from c4lib.jit import build

from . import plain_othello as plain

SIZES = (4, 6, 8)
GAMES = {size: Othello(size) for size in SIZES}
sizes = pytest.mark.parametrize("size", SIZES)

# Aart Bik, https://www.aartbik.com/strategy.php#reversi. From ten plies on that table also counts, as one each, games
# that have ended before: at ten plies the 228 that end with the ninth, when a side has lost its last disc.
GAMES_OF_N_PLIES = [1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284 - 228]

# The moves of a perfect game on 6 x 6, by number (Joel Feinstein, 1993; www.maths.nottingham.ac.uk/plp/pmzjff/Othello/
# 6x6sol.html). The second player wins by 20 discs to 16.
PERFECT_GAME = [
    [28, 9, 8, 7, 31, 32],
    [22, 14, 1, 4, 17, 16],
    [27, 13, 0, 0, 6, 15],
    [19, 2, 0, 0, 5, 12],
    [24, 23, 3, 10, 26, 29],
    [21, 18, 20, 11, 25, 30],
]


# --- whole games against the plain twin -------------------------------------------------------------------------------


@sizes
def test_random_games_agree_with_the_plain_twin(size):
    game = GAMES[size]
    passes = 0
    values = set()
    for grid, mark, action in plain.random_games({4: 100, 6: 40, 8: 25}[size], size, seed=size):
        if grid == plain.start(size) and mark == "x":
            state = game.initial_state()
        own, opp = plain.boards(grid, mark)
        discs = [[{"x": 1, "o": -1, ".": 0}[cell] for cell in row] for row in grid]
        mover = 1 if mark == "x" else -1
        assert state.tolist() == [discs, [[mover] * size] * size]
        assert game.boards(state) == (own, opp)
        assert game.current_player(state) == mover
        assert game.discs(state) == (plain.count(grid, "x"), plain.count(grid, "o"))
        assert np.flatnonzero(game.legal_actions_mask(state)).tolist() == plain.actions(grid, mark)
        assert bit_indices(legal_moves(own, opp, game.axes)) == plain.open_cells(grid, mark)
        for cell in plain.open_cells(grid, mark):
            expected = plain.bits(r * size + c for r, c in plain.turned(grid, *divmod(cell, size), mark))
            assert flips(1 << cell, own, opp, game.axes) == expected
        value = (
            None
            if action is not None
            else float(np.sign(plain.count(grid, mark) - plain.count(grid, plain.other(mark))))
        )
        assert game.terminal_value(state) == value
        passes += action == size * size
        values.add(value)
        state = game.apply(state, action) if action is not None else None
    assert passes > 10
    assert values == {None, -1.0, 0.0, 1.0} if size < 8 else {None, -1.0, 1.0} <= values


def test_a_thousand_games_in_lockstep_with_the_plain_twin():
    game = GAMES[8]
    random = np.random.default_rng(4)
    grids, mark = [plain.start(8)] * 1000, "x"
    own, opp = game.initial_boards(1000)
    while grids:
        assert [plain.boards(grid, mark) for grid in grids] == list(
            zip(own.view(np.uint64).tolist(), opp.view(np.uint64).tolist(), strict=True)
        )
        choices = [plain.actions(grid, mark) for grid in grids]
        assert [np.flatnonzero(mask).tolist() for mask in game.legal_boards(own, opp)] == choices
        values = game.terminal_boards(own, opp)
        on = np.isnan(values)
        assert on.tolist() == [bool(actions) for actions in choices]
        ended = [grid for grid, actions in zip(grids, choices, strict=True) if not actions]
        leads = [plain.count(grid, mark) - plain.count(grid, plain.other(mark)) for grid in ended]
        assert values[~on].tolist() == np.sign(leads).tolist()
        chosen = [int(random.choice(actions)) for actions in choices if actions]
        goes_on = [grid for grid, actions in zip(grids, choices, strict=True) if actions]
        grids = [plain.after(grid, action, mark) for grid, action in zip(goes_on, chosen, strict=True)]
        own, opp = game.play_boards(own[on], opp[on], np.array(chosen, int))
        mark = plain.other(mark)


def test_the_start_is_the_usual_one():
    game = GAMES[8]
    first, second = game.boards(game.initial_state())
    names = [f"{column}{row}" for row in range(1, 9) for column in "abcdefgh"]
    assert [names[cell] for cell in bit_indices(first)] == ["e4", "d5"]
    assert [names[cell] for cell in bit_indices(second)] == ["d4", "e5"]
    assert [names[cell] for cell in bit_indices(legal_moves(first, second, game.axes))] == ["d3", "c4", "f5", "e6"]


def test_a_perfect_game_on_the_small_board():
    game = GAMES[6]
    state = game.initial_state()
    numbers = np.array(PERFECT_GAME).ravel()
    for number in range(1, 33):
        if game.legal_actions_mask(state)[game.cells]:
            state = game.apply(state, game.cells)
        state = game.apply(state, int(np.flatnonzero(numbers == number)[0]))
    assert game.discs(state) == (16, 20)
    assert game.terminal_value(state) == -game.current_player(state)


def test_the_second_player_wins_on_the_smallest_board():
    lines = axes(4)

    @cache
    def value(own, opp):
        replies = [played(own, opp, 1 << cell, lines) for cell in bit_indices(legal_moves(own, opp, lines))]
        if not replies and not legal_moves(opp, own, lines):
            return np.sign(own.bit_count() - opp.bit_count())
        best = -1
        for reply in replies or [(opp, own)]:
            best = max(best, -value(*reply))
            if best == 1:
                break
        return best

    assert value(*plain.boards(plain.start(4), "x")) == -1


def test_states_say_whose_turn_it_is_and_boards_do_not():
    game = GAMES[6]
    told = 0
    for grid, mark, action in plain.random_games(20, 6, seed=1):
        if grid == plain.start(6) and mark == "x":
            state, passed = game.initial_state(), False
        shown = game.state(*game.boards(state))
        assert game.boards(shown) == game.boards(state)
        assert game.current_player(state) == (1 if mark == "x" else -1)
        assert passed or np.array_equal(shown, state)  # in the right colours until somebody passes
        told += passed and not np.array_equal(shown, state)
        passed = passed or action == game.cells
        if action is not None:
            state = game.apply(state, action)
    assert told


def test_refusals_say_why():
    game = GAMES[8]
    state = game.initial_state()
    for action, why in {
        -1: "action -1 does not exist: cells are 0 to 63, 64 is a pass",
        65: "does not exist",
        19.5: "does not exist",
        27: "cell 27 is taken",
        20: "cell 20 flips no disc",
        64: r"a pass \(64\) is only for a side that cannot move while the other one can",
    }.items():
        with pytest.raises(ValueError, match=why):
            game.apply(state, action)
    for size in (0, 5, 7, 10, -8, "8", None, True):
        with pytest.raises(ValueError, match="boards of size 4, 6, 8, not"):
            Othello(size)


# --- any discs on the board, reachable or not -------------------------------------------------------------------------


@st.composite
def patterns(draw):
    """A grid with discs anywhere, few or many of either side."""
    size = draw(st.sampled_from(SIZES))
    marks = draw(st.sampled_from(["xo.", "xooo.", "xxxo", "ooo.", "xo" + 8 * "."]))
    random = draw(st.randoms(use_true_random=False))  # many cells: cheaper than one draw for each
    return [[random.choice(marks) for _ in range(size)] for _ in range(size)]


def signed(*numbers):
    """The same 64 bits as int64, of which the last is the sign."""
    return boards_array([(number, 0) for number in numbers])[0]


@settings(max_examples=300)
@given(patterns())
def test_legal_moves_and_flips_agree_with_the_plain_twin(grid):
    size = len(grid)
    lines = axes(size)
    own, opp = plain.boards(grid, "x")
    legal = legal_moves(own, opp, lines)
    assert bit_indices(legal) == plain.open_cells(grid, "x")
    empty = [cell for cell in range(size * size) if grid[cell // size][cell % size] == "."]
    expected = [plain.bits(r * size + c for r, c in plain.turned(grid, *divmod(cell, size), "x")) for cell in empty]
    assert [flips(1 << cell, own, opp, lines) for cell in empty] == expected
    assert flips(0, own, opp, lines) == 0
    # arrays of signed integers, in the form of arrays and in the compiled one
    owns, opps = signed(*[own] * len(empty)), signed(*[opp] * len(empty))
    moves, turns = signed(*(1 << cell for cell in empty)), signed(*expected)
    for many in (legal_moves, legal_of_many):
        assert (many(owns, opps, lines) == signed(legal)).all()
    for many in (played, played_of_many):
        there, here = many(owns, opps, moves, lines)
        assert np.array_equal(there, opps ^ turns)
        assert np.array_equal(here, owns ^ turns ^ moves)


@st.composite
def positions(draw):
    """A game and a state of it, from the start to the end of a random game."""
    game = GAMES[draw(st.sampled_from(SIZES))]
    random = draw(st.randoms(use_true_random=False))
    state = game.initial_state()
    for _ in range(draw(st.integers(0, game.cells))):
        legal = np.flatnonzero(game.legal_actions_mask(state)).tolist()
        if legal:
            state = game.apply(state, random.choice(legal))
    return game, state


@given(positions())
def test_a_move_adds_one_disc_and_flips_some(position):
    game, state = position
    player = game.current_player(state)
    for action in np.flatnonzero(game.legal_actions_mask(state)).tolist():
        then = game.apply(state, action)
        gain = (np.array(game.discs(then)) - game.discs(state))[::player]  # the mover's, the other's
        if action == game.cells:
            assert gain.tolist() == [0, 0]
            assert np.array_equal(then, [state[0], -state[1]])
        else:
            assert gain.sum() == 1
            assert gain[1] < 0
            assert then[0].flat[action] == player
        assert game.current_player(then) == -player


@given(positions())
def test_the_eight_symmetries_commute_with_play(position):
    game, state = position
    legal = game.legal_actions_mask(state)
    images = game.symmetries(state, legal)
    assert len(images) == 8
    for action in np.flatnonzero(legal).tolist():
        one_hot = np.arange(game.action_size) == action
        afters = game.symmetries(game.apply(state, action), one_hot)
        for (image, image_legal), (image_after, image_policy) in zip(images, afters, strict=True):
            assert np.array_equal(game.legal_actions_mask(image), image_legal)
            assert np.array_equal(game.apply(image, int(image_policy.argmax())), image_after)
            assert image_policy[-1] == one_hot[-1]  # a pass remains one


@sizes
def test_the_eight_symmetries_are_distinct_and_each_moves_cells_as_it_moves_planes(size):
    cells = np.arange(size * size + 1)
    images = GAMES[size].symmetries(cells[:-1].reshape(size, size), cells)
    assert len({tuple(policy) for _, policy in images}) == 8
    for planes, policy in images:
        assert np.array_equal(np.append(planes, size * size), policy)


@given(positions())
def test_a_game_ends(position):
    """There are no more moves than empty cells, and no two passes on end."""
    game, state = position
    passes = []
    while game.terminal_value(state) is None:
        legal = np.flatnonzero(game.legal_actions_mask(state))
        passes.append(legal[0] == game.cells)
        state = game.apply(state, int(legal[-1]))
    assert passes.count(False) <= game.cells - 4
    assert not any(one and two for one, two in pairwise(passes))
    assert not game.legal_actions_mask(state).any()
    mine, others = game.discs(state)[:: game.current_player(state)]
    assert game.terminal_value(state) == np.sign(mine - others)


# --- counts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plies", [*range(9), pytest.param(9, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.slow)]
)
def test_numbers_of_games(plies):
    game = GAMES[8]
    assert game.perft(*game.boards(game.initial_state()), plies) == GAMES_OF_N_PLIES[plies]


@sizes
def test_perft_from_anywhere(size):
    """Compiled and interpreted, also where sides must pass, where the game ends, and with a disc on the last cell."""
    game = GAMES[size]
    interpreted = build(perft, False, AXES=game.axes)
    chosen = [
        (grid, mark)
        for number, (grid, mark, action) in enumerate(plain.random_games(30, size, seed=3))
        if number % 70 == 0 or (action in (None, size * size) and number % 3 == 0)
    ][:40]
    assert any(grid[-1][-1] == "x" for grid, _ in chosen)
    for grid, mark in chosen:
        expected = [plain.perft(grid, mark, plies) for plies in range(4)]
        assert [game.perft(*plain.boards(grid, mark), plies) for plies in range(4)] == expected
        assert [interpreted(*plain.boards(grid, mark), plies) for plies in range(4)] == expected


# --- other people's rules, and the terminal ---------------------------------------------------------------------------


def test_open_spiel_plays_the_same_game():
    """A thousand random games in lockstep; there too an action is a cell, row by row, and 64 a pass."""
    pyspiel = pytest.importorskip("pyspiel")
    game = GAMES[8]
    random = np.random.default_rng(5)
    theirs = [pyspiel.load_game("othello").new_initial_state() for _ in range(1000)]
    own, opp = game.initial_boards(1000)
    while len(theirs):
        legal = game.legal_boards(own, opp)
        values = game.terminal_boards(own, opp)
        for state, mask, value, *discs in zip(theirs, legal, values, own, opp, strict=True):
            assert state.is_terminal() == (not np.isnan(value))
            if state.is_terminal():
                first = (-1) ** len(state.history())  # 1 where the first player would be to move
                assert state.returns()[0] == first * value
                assert discs_shown(state) == tuple(int(board.view(np.uint64)) for board in discs)[::first]
            else:
                assert state.legal_actions() == np.flatnonzero(mask).tolist()
        on = np.isnan(values)
        theirs = [state for state, goes_on in zip(theirs, on, strict=True) if goes_on]
        chosen = np.array([random.choice(np.flatnonzero(mask)) for mask in legal[on]], int)
        for state, action in zip(theirs, chosen.tolist(), strict=True):
            state.apply_action(action)
        own, opp = game.play_boards(own[on], opp[on], chosen)


def test_rust_reversi_finds_the_same_moves():
    """A hundred random games; there a side that cannot move passes by a call of its own."""
    rust_reversi = pytest.importorskip("rust_reversi")
    game, random = GAMES[8], np.random.default_rng(6)
    for _ in range(100):
        state, theirs = game.initial_state(), rust_reversi.Board()
        while not theirs.is_game_over():
            assert game.terminal_value(state) is None
            action = int(random.choice(np.flatnonzero(game.legal_actions_mask(state))))
            if action == game.cells:
                assert theirs.is_pass()
                theirs.do_pass()
            else:
                assert theirs.get_legal_moves_vec() == np.flatnonzero(game.legal_actions_mask(state)).tolist()
                theirs.do_move(action)
            state = game.apply(state, action)
        assert game.terminal_value(state) is not None
        discs = [board.bit_count() for board in game.boards(state)]
        assert sorted(discs) == sorted([theirs.player_piece_num(), theirs.opponent_piece_num()])


def test_rust_reversi_counts_the_same_games():
    rust_reversi = pytest.importorskip("rust_reversi")
    game = GAMES[8]
    counts = [game.perft(*game.boards(game.initial_state()), plies) for plies in range(1, 9)]
    assert [rust_perft(rust_reversi.Board(), plies) for plies in range(1, 9)] == counts


def test_open_spiel_counts_the_same_games():
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("othello").new_initial_state()
    assert [spiel_perft(theirs, plies) for plies in range(1, 8)] == GAMES_OF_N_PLIES[1:8]


def discs_shown(state):
    """The boards of the first player and of the second in the text of a state of theirs."""
    cells = "".join(line[1:-1].replace(" ", "") for line in str(state).splitlines()[2:10])
    return tuple(plain.bits(i for i, cell in enumerate(cells) if cell == mark) for mark in "xo")


def test_the_board_in_letters():
    game = GAMES[4]
    assert board_text(game, game.initial_state()) == "\n  .  1  .  .\n  4  O  X  .\n  .  X  O 11\n  .  . 14  .\n"
    grid = [list(row) for row in ("xo..", "....", "....", "...o")]
    state = game.state(*plain.boards(grid, "o"))
    assert game.current_player(state) == -1
    assert board_text(game, state) == "\n  X  O  .  .\n  .  .  .  .\n  .  .  .  .\n  .  .  .  O\n 16 to pass\n"
