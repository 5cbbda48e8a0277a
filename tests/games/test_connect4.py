"""Connect Four: the bit kernels and the array interface against a plain twin and other people's rules."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c4lib.bench import spiel_perft
from c4lib.games.connect4 import (
    STANDARD,
    Connect4,
    Geometry,
    boards_of_cells,
    canonical_key,
    has_line,
    key,
    mirror,
    perft,
    playable,
    winning_cells,
)
from c4lib.jit import build

from . import counting, plain

boards = pytest.mark.parametrize(("columns", "rows", "inarow"), plain.BOARDS)

GAMES_OF_N_PLIES = [1, 7, 49, 343, 2401, 16807, 117649, 823536, 5673234]
POSITIONS_AFTER_N_PLIES = [1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275]  # OEIS A212693


def some_games(columns, rows, inarow):
    """2,000 random games on the usual board, a few on the others."""
    count = 2000 if (columns, rows, inarow) == STANDARD else 5 if columns * rows > 60 else 40
    return plain.random_games(count, columns, rows, inarow, seed=columns * rows + inarow)


# --- the board ------------------------------------------------------------------------------------------------------


@boards
def test_the_layout_is_the_one_that_is_drawn(columns, rows, inarow):
    geometry = Geometry(columns, rows, inarow)
    everywhere = [(row, column) for row in range(rows) for column in range(columns)]
    assert geometry.board == plain.bits_of(everywhere, columns, rows)
    assert geometry.bottom == plain.bits_of([(rows - 1, column) for column in range(columns)], columns, rows)
    assert geometry.constants == {
        "COLUMNS": columns,
        "ROWS": rows,
        "INAROW": inarow,
        "BOTTOM": geometry.bottom,
        "BOARD": geometry.board,
    }


@pytest.mark.parametrize(
    "shape", [(0, 6, 4), (7, -1, 4), (7, 6, 0), (7.0, 6, 4), (7, "6", 4), (7, 6, True), (None, 6, 4), (7, 6, np.nan)]
)
def test_a_geometry_is_made_of_positive_integers(shape):
    with pytest.raises(ValueError, match="must be a positive integer"):
        Geometry(*shape).checked()
    with pytest.raises(ValueError, match="must be a positive integer"):
        Connect4(*shape)


def test_a_checked_geometry_holds_plain_integers():
    checked = Geometry(np.int64(7), np.uint8(6), 4).checked()
    assert checked == STANDARD
    assert [type(number) for number in checked] == [int, int, int]


@boards
def test_boards_that_fit_64_bits_never_shift_further(columns, rows, inarow):
    geometry = Geometry(columns, rows, inarow)
    last = max(plain.bits_of([(0, columns - 1)], columns, rows).bit_length(), 1)  # its index is one less
    longest = max(step * (inarow - 1) for step in (1, rows, rows + 1, rows + 2))
    assert geometry.fits_64_bits == (last + 1 <= 63 and longest <= 63)


def test_which_boards_are_compiled():
    fitting = [board for board in plain.BOARDS if Geometry(*board).fits_64_bits]
    assert fitting == [(7, 6, 4), (1, 1, 1), (4, 5, 3), (9, 6, 4), (5, 4, 1), (5, 4, 2), (3, 4, 5)]


# --- whole games against the plain twin -----------------------------------------------------------------------------


@boards
def test_random_games_agree_with_the_plain_twin(columns, rows, inarow):
    game = Connect4(columns, rows, inarow)
    bottom, board = game.geometry.bottom, game.geometry.board
    for moves, grids in some_games(columns, rows, inarow):
        state = game.initial_state()
        for ply, grid in enumerate(grids):
            open_columns = plain.open_columns(grid)
            winner = plain.winner(grid, inarow) if grid is grids[-1] else None  # the twin plays no further
            own, opp = plain.boards_of(grid)
            assert np.array_equal(state, plain.state_of(grid))
            assert game.boards(state) == (own, opp)
            assert np.flatnonzero(game.legal_actions_mask(state)).tolist() == open_columns
            assert game.terminal_value(state) == (-1.0 if winner else None if open_columns else 0.0)
            assert has_line(opp, rows, inarow) == (winner is not None)
            landing = [(max(row for row in range(rows) if grid[row][column] == "."), column) for column in open_columns]
            assert playable(own | opp, bottom, board) == plain.bits_of(landing, columns, rows)
            if ply < len(moves):
                state = game.apply(state, moves[ply])


@boards
def test_symmetries_are_the_position_and_its_mirror_image(columns, rows, inarow):
    game = Connect4(columns, rows, inarow)
    policy = np.arange(columns)
    for _, grids in plain.random_games(5, columns, rows, inarow, seed=1):
        planes = game.encode(plain.state_of(grids[-1]))
        (same, same_policy), (image, image_policy) = game.symmetries(planes, policy)
        assert np.array_equal(same, planes)
        assert np.array_equal(image, game.encode(plain.state_of(plain.mirrored(grids[-1]))))
        assert same_policy.tolist() == list(range(columns))
        assert image_policy.tolist() == list(reversed(range(columns)))


def test_an_action_must_be_a_column_that_is_not_full():
    game = Connect4()
    state = game.initial_state()
    for action in (-1, 7, 2.5):
        with pytest.raises(ValueError, match="does not exist"):
            game.apply(state, action)
    for _ in range(6):
        state = game.apply(state, 3)
    with pytest.raises(ValueError, match="column 3 is full"):
        game.apply(state, 3)


# --- kernels on any pattern of stones, reachable or not -------------------------------------------------------------


@st.composite
def patterns(draw):
    """(columns, rows, inarow) and a grid with stones anywhere, also in the air."""
    columns, rows, inarow = draw(st.sampled_from(plain.BOARDS) | st.tuples(*[st.integers(1, 6)] * 3))
    marks = st.sampled_from(draw(st.sampled_from(["xo.", "xxx.", "ooox", "x."])))
    random = draw(st.randoms(use_true_random=False)) if columns * rows > 60 else None
    if random:  # many cells: cheaper than one draw for each
        letters = draw(st.sampled_from(["xo.", "xxxxx.", "x."]))
        cells = [random.choice(letters) for _ in range(columns * rows)]
    else:
        cells = draw(st.lists(marks, min_size=columns * rows, max_size=columns * rows))
    return (columns, rows, inarow), [cells[row * columns :][:columns] for row in range(rows)]


def bits_of_mark(grid, mark):
    columns, rows = plain.size(grid)
    return plain.bits_of([(r, c) for r in range(rows) for c in range(columns) if grid[r][c] == mark], columns, rows)


@settings(max_examples=500)
@given(patterns())
def test_lines_and_winning_cells_agree_with_the_plain_twin(pattern):
    (columns, rows, inarow), grid = pattern
    board = Geometry(columns, rows, inarow).board
    first, second = bits_of_mark(grid, "x"), bits_of_mark(grid, "o")
    for mark, stones in (("x", first), ("o", second)):
        assert has_line(stones, rows, inarow) == bool(plain.lines_held(grid, mark, inarow))
        expected = plain.bits_of(plain.winning_cells(grid, mark, inarow), columns, rows)
        assert winning_cells(stones, first | second, board, rows, inarow) == expected


@given(patterns())
def test_the_mirror_reverses_the_columns(pattern):
    (columns, rows, _), grid = pattern
    image = mirror(bits_of_mark(grid, "x"), columns, rows)
    assert image == bits_of_mark(plain.mirrored(grid), "x")
    assert mirror(image, columns, rows) == bits_of_mark(grid, "x")


@given(patterns())
def test_boards_of_cells(pattern):
    (columns, rows, inarow), grid = pattern
    expected = bits_of_mark(grid, "x"), bits_of_mark(grid, "o")
    assert boards_of_cells(plain.state_of(grid), Geometry(columns, rows, inarow)) == expected


# --- keys -----------------------------------------------------------------------------------------------------------


def undone(number, columns, rows):
    """The boards (own, opp) of a key, column by column: all stones h and own stones s gave 2^h - 1 + s."""
    own = opp = 0
    for column in range(columns):
        digits = number >> column * (rows + 1) & ((1 << (rows + 1)) - 1)
        h = (digits + 1).bit_length() - 1
        stones = digits - (2**h - 1)
        own |= stones << column * (rows + 1)
        opp |= (2**h - 1 - stones) << column * (rows + 1)
    return own, opp


@boards
def test_a_key_can_be_undone_and_mirrored(columns, rows, inarow):
    for _, grids in plain.random_games(10, columns, rows, inarow, seed=2):
        for grid in grids:
            own, opp = plain.boards_of(grid)
            number = key(own, opp)
            image = key(*plain.boards_of(plain.mirrored(grid)))
            assert undone(number, columns, rows) == (own, opp)
            assert mirror(number, columns, rows) == image
            assert canonical_key(own, opp, columns, rows) == min(number, image)


def test_keys_are_unique_over_all_positions_to_ply_8():
    keys, canonical, positions, classes = set(), set(), 0, 0
    for ply in range(9):
        grids = counting.level(ply).grids
        positions += len(grids)
        numbers, images = counting.numbers(grids), counting.numbers(grids[:, :, ::-1])
        classes += len(np.unique(np.minimum(numbers, images)))
        for own, opp in zip(*bitboards(grids, ply), strict=True):
            keys.add(key(own, opp))
            canonical.add(canonical_key(own, opp, 7, 6))
    assert len(keys) == positions == sum(POSITIONS_AFTER_N_PLIES)
    assert len(canonical) == classes


def bitboards(grids, ply):
    """Lists of own and opp for an array of grids."""
    weights = [[plain.bits_of([(row, column)], 7, 6) for column in range(7)] for row in range(6)]
    first, second = (
        sum((grids[:, r, c] == mark) * np.int64(weights[r][c]) for r in range(6) for c in range(7)) for mark in (1, 2)
    )
    own, opp = (first, second) if ply % 2 == 0 else (second, first)
    return own.tolist(), opp.tolist()


# --- counts ---------------------------------------------------------------------------------------------------------


def positions_by_kernels(positions):
    """The set of (own, opp) one ply on, found with the kernels."""
    after = set()
    for own, opp in positions:
        moves = 0 if has_line(opp, 6, 4) else playable(own | opp, STANDARD.bottom, STANDARD.board)
        while moves:
            move = moves & -moves
            after.add((opp, own | move))
            moves ^= move
    return after


def check_counts(ply, games, positions):
    """Games and positions after `ply` plies: the number on record, the arrays of grids, the compiled kernel."""
    level = counting.level(ply)
    assert len(level.grids) == positions
    assert level.games.sum() == games
    assert Connect4().perft(0, 0, ply) == games


@pytest.mark.parametrize("ply", range(9))
def test_numbers_of_games_and_positions(ply):
    check_counts(ply, GAMES_OF_N_PLIES[ply], POSITIONS_AFTER_N_PLIES[ply])


@pytest.mark.slow
@pytest.mark.parametrize(("ply", "games", "positions"), [(9, 39394572, 558186), (10, 268031646, 1662623)])
def test_numbers_of_games_and_positions_further_on(ply, games, positions):
    check_counts(ply, games, positions)


@pytest.mark.parametrize("plies", [7, pytest.param(10, marks=pytest.mark.slow)])
def test_kernels_reach_exactly_the_positions_of_the_plain_twin(plies):
    reached = {(0, 0)}
    for ply in range(1, plies + 1):
        reached = positions_by_kernels(reached)
        assert reached == set(zip(*bitboards(counting.level(ply).grids, ply), strict=True))


def plain_perft(grid, plies, inarow):
    if plies == 0:
        return 1
    if plain.is_over(grid, inarow):
        return 0
    return sum(plain_perft(plain.played(grid, column), plies - 1, inarow) for column in plain.open_columns(grid))


@boards
def test_perft_on_any_board(columns, rows, inarow):
    """Compiled where the board fits, and interpreted, from the start and from the middle of a game."""
    game = Connect4(columns, rows, inarow)
    plies = 8 if columns <= 3 else 4 if columns <= 7 else 3 if columns <= 10 else 2
    interpreted = build(perft, False, **game.geometry.constants)
    for _, grids in plain.random_games(2, columns, rows, inarow, seed=3):
        for grid in (grids[0], grids[len(grids) // 2], grids[-1]):
            expected = [plain_perft(grid, n, inarow) for n in range(plies + 1)]
            own, opp = plain.boards_of(grid)
            assert [game.perft(own, opp, n) for n in range(plies + 1)] == expected
            assert [interpreted(own, opp, n) for n in range(plies + 1)] == expected


# --- other people's rules -------------------------------------------------------------------------------------------


@boards
def test_kaggle_plays_the_same_game(columns, rows, inarow):
    connectx = pytest.importorskip("kaggle_environments.envs.connectx.connectx")
    configuration = SimpleNamespace(columns=columns, rows=rows, inarow=inarow)
    env = SimpleNamespace(configuration=configuration, done=False)
    game = Connect4(columns, rows, inarow)
    geometry = game.geometry
    random = np.random.default_rng(4)
    for _ in range(5 if columns * rows > 60 else 30):
        observation = SimpleNamespace(board=[0] * (columns * rows), mark=1)
        seats = [
            SimpleNamespace(observation=observation, status="ACTIVE", action=0, reward=0),
            SimpleNamespace(
                observation=SimpleNamespace(board=observation.board, mark=2), status="INACTIVE", action=0, reward=0
            ),
        ]
        state = game.initial_state()
        while (value := game.terminal_value(state)) is None:
            player = 0 if game.current_player(state) == 1 else 1
            assert [seat.status for seat in seats] == ["ACTIVE", "INACTIVE"][:: 1 - 2 * player]
            own, opp = game.boards(state)
            moves = playable(own | opp, geometry.bottom, geometry.board)
            for stones, mark in ((own, player + 1), (opp, 2 - player)):
                wins = moves & winning_cells(stones, own | opp, geometry.board, rows, inarow)
                expected = [
                    column
                    for column in np.flatnonzero(game.legal_actions_mask(state)).tolist()
                    if connectx.is_win(observation.board, column, mark, configuration, has_played=False)
                ]
                assert [c for c in range(columns) if wins >> c * (rows + 1) & ((1 << rows) - 1)] == expected
            column = int(random.choice(np.flatnonzero(game.legal_actions_mask(state))))
            seats[player].action = column
            connectx.interpreter(seats, env)
            state = game.apply(state, column)
            assert state.ravel().tolist() == [(0, 1, -1)[mark] for mark in observation.board]
        assert [seat.status for seat in seats] == ["DONE", "DONE"]
        loser = 0 if game.current_player(state) == 1 else 1
        assert seats[loser].reward == value
        assert seats[1 - loser].reward == -value


@boards
def test_open_spiel_plays_the_same_game(columns, rows, inarow):
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game(f"connect_four(columns={columns},rows={rows},x_in_row={inarow})")
    game = Connect4(columns, rows, inarow)
    random = np.random.default_rng(5)
    for _ in range(10 if columns * rows > 100 else 100):
        state, their_state = game.initial_state(), theirs.new_initial_state()
        while (value := game.terminal_value(state)) is None:
            assert not their_state.is_terminal()
            assert their_state.current_player() == (0 if game.current_player(state) == 1 else 1)
            legal = np.flatnonzero(game.legal_actions_mask(state)).tolist()
            assert their_state.legal_actions() == legal
            column = int(random.choice(legal))
            state = game.apply(state, column)
            their_state.apply_action(column)
            assert str(their_state).split() == ["".join("o.x"[cell + 1] for cell in row) for row in state.tolist()]
        assert their_state.is_terminal()
        assert their_state.returns()[0] == value * game.current_player(state)


def test_open_spiel_counts_the_same_games():
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("connect_four").new_initial_state()
    assert [spiel_perft(theirs, plies) for plies in range(1, 9)] == GAMES_OF_N_PLIES[1:9]  # from 8 on some have ended
