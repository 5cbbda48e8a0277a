"""What every game must keep: its arrays and its kernels play one and the same game.

A new game adds its entries to `ENTRIES`: the array interface, and the three things its kernels know, on `(own, opp)`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from c4lib.bits import bit_indices
from c4lib.games import GAMES, make_game
from c4lib.games.base import Game, boards_array
from c4lib.games.connect4 import Connect4, has_line, playable
from c4lib.games.othello import Othello, legal_moves, played
from c4lib.games.tictactoe import TicTacToe


class Entry(NamedTuple):
    game: Game
    actions: Callable[[int, int], list[int]]  # what the kernels let the side to move do, also in a finished game
    play: Callable[[int, int, int], tuple[int, int]]  # (own, opp, action): the pair after it, swapped
    value: Callable[[int, int], float | None]  # of a finished game for the side to move; else None
    games: int = 20  # random games to play
    boards_tell_who_began: bool = True  # if not, `Game.state` may exchange the players


def connect4(*shape: int, games: int = 20) -> Entry:
    game = Connect4(*shape)
    geometry = game.geometry

    def cells(own, opp):
        return {
            index // geometry.height: 1 << index
            for index in bit_indices(playable(own | opp, geometry.bottom, geometry.board))
        }

    def value(own, opp):
        if has_line(opp, geometry.rows, geometry.inarow):
            return -1.0
        return None if cells(own, opp) else 0.0

    return Entry(
        game=game,
        actions=lambda own, opp: sorted(cells(own, opp)),
        play=lambda own, opp, action: (opp, own | cells(own, opp)[action]),
        value=value,
        games=games,
    )


def tictactoe() -> Entry:
    def value(own, opp):
        if any(opp & line == line for line in (7, 56, 448, 73, 146, 292, 273, 84)):
            return -1.0
        return 0.0 if own | opp == 511 else None

    return Entry(
        game=TicTacToe(),
        actions=lambda own, opp: [cell for cell in range(9) if not (own | opp) >> cell & 1],
        play=lambda own, opp, action: (opp, own | 1 << action),
        value=value,
        games=60,
    )


def othello(size: int) -> Entry:
    game = Othello(size)

    def actions(own, opp):
        moves = bit_indices(legal_moves(own, opp, game.axes))
        return moves or [game.cells] * bool(legal_moves(opp, own, game.axes))

    return Entry(
        game=game,
        actions=actions,
        play=lambda own, opp, action: played(own, opp, (1 << action) % (1 << game.cells), game.axes),
        value=lambda own, opp: None if actions(own, opp) else float(np.sign(own.bit_count() - opp.bit_count())),
        games=8,
        boards_tell_who_began=False,
    )


ENTRIES = {
    "connect4": connect4(games=60),
    "connect4 1x1x1": connect4(1, 1, 1),
    "connect4 4x5x3": connect4(4, 5, 3),
    "connect4 9x7x5": connect4(9, 7, 5),
    "connect4 20x20x4": connect4(20, 20, 4, games=3),
    "connect4 5x4x2": connect4(5, 4, 2),
    "connect4 3x4x5": connect4(3, 4, 5),
    "tictactoe": tictactoe(),
    "othello": othello(8),
    "othello6": othello(6),
    "othello4": othello(4),
}


@pytest.fixture(params=ENTRIES.values(), ids=ENTRIES.keys())
def entry(request):
    return request.param


def random_play(entry, seed):
    """Random games by kernels and arrays together: yields (own, opp, state, action, state after); at the end of a
    game the last two are None. The states are read-only, so that a method that changes one fails."""
    random = np.random.default_rng(seed)
    for _ in range(entry.games):
        state = read_only(entry.game.initial_state())
        own, opp = entry.game.boards(state)
        while entry.value(own, opp) is None:
            action = int(random.choice(entry.actions(own, opp)))
            after = read_only(entry.game.apply(state, action))
            yield own, opp, state, action, after
            own, opp = entry.play(own, opp, action)
            state = after
        yield own, opp, state, None, None


def read_only(array):
    array.flags.writeable = False
    return array


def stones(state):
    """The cells of a state; what else belongs to it, such as whose turn it is, comes in further boards."""
    return state.reshape(-1, *state.shape[-2:])[0]


def one_hot(entry, action):
    return np.eye(entry.game.action_size, dtype=np.float32)[action]


def test_games_by_name():
    assert set(GAMES) <= set(ENTRIES)
    for name in GAMES:
        assert make_game(name).name == name
        assert type(make_game(name)) is type(ENTRIES[name].game)
    with pytest.raises(ValueError, match=r"'chess'.*connect4"):
        make_game("chess")


def test_the_game_describes_itself(entry):
    game = entry.game
    assert isinstance(game.name, str)
    assert game.name
    assert len(game.input_shape) == 3
    assert all(type(number) is int and number > 0 for number in (*game.input_shape, game.action_size))
    assert game.current_player(game.initial_state()) == 1


def test_initial_states_are_separate(entry):
    changed = entry.game.initial_state()
    changed[...] = 1
    assert not np.array_equal(entry.game.initial_state(), changed)


def test_arrays_and_kernels_play_the_same_game(entry):
    game = entry.game
    finished = 0
    for own, opp, state, action, _ in random_play(entry, seed=0):
        assert game.boards(state) == (own, opp)
        assert game.state(own, opp).dtype == state.dtype == np.int8
        assert game.boards(game.state(own, opp)) == (own, opp)
        assert np.array_equal(game.canonical_state(game.state(own, opp)), game.canonical_state(state))
        assert np.array_equal(game.state(own, opp), state) or not entry.boards_tell_who_began
        legal = game.legal_actions_mask(state)
        assert legal.dtype == bool
        assert legal.shape == (game.action_size,)
        assert np.flatnonzero(legal).tolist() == entry.actions(own, opp)
        assert game.terminal_value(state) == entry.value(own, opp)
        assert (game.terminal_value(state) is None) == (action is not None)
        finished += action is None
    assert finished == entry.games


def test_states_show_the_first_player_and_canonical_states_the_mover(entry):
    game = entry.game
    for own, opp, state, _, _ in random_play(entry, seed=1):
        mover = game.current_player(state)
        assert mover in (1, -1)
        cells = stones(state)
        assert (np.count_nonzero(cells == mover), np.count_nonzero(cells == -mover)) == (
            own.bit_count(),
            opp.bit_count(),
        )
        canonical = game.canonical_state(state)
        assert canonical.dtype == np.int8
        assert np.array_equal(canonical == 1, state == mover)
        assert np.array_equal(canonical == -1, state == -mover)


def test_encode_shows_the_mover_the_other_side_and_ones(entry):
    game = entry.game
    for _, _, state, _, _ in random_play(entry, seed=2):
        planes = game.encode(state)
        mover = game.current_player(state)
        assert planes.shape == game.input_shape
        assert planes.dtype == np.float32
        assert np.array_equal(planes[0], stones(state) == mover)
        assert np.array_equal(planes[1], stones(state) == -mover)
        assert (planes[2] == 1).all()


def test_symmetries_commute_with_play(entry):
    game = entry.game
    for _, _, state, action, after in random_play(entry, seed=3):
        if action is None:
            continue
        policy = one_hot(entry, action)
        images = game.symmetries(state, policy)
        images_after = game.symmetries(after, policy)
        assert np.array_equal(images[0][0], state)
        assert np.array_equal(images[0][1], policy)
        assert len(images) == len(images_after)
        for (image, image_policy), (image_after, _) in zip(images, images_after, strict=True):
            assert np.array_equal(game.apply(image, int(np.argmax(image_policy))), image_after)
            assert game.terminal_value(image_after) == game.terminal_value(after)


def test_symmetries_move_planes_and_states_alike_and_the_legal_actions_along(entry):
    game = entry.game
    for _, _, state, _, _ in random_play(entry, seed=4):
        legal = game.legal_actions_mask(state)
        images = game.symmetries(state, legal)
        encoded = game.symmetries(game.encode(state), legal)
        for (image, image_legal), (planes, _) in zip(images, encoded, strict=True):
            assert np.array_equal(game.encode(image), planes)
            assert np.array_equal(game.legal_actions_mask(image), image_legal)


def test_actions_that_are_not_allowed_are_refused(entry):
    game = entry.game
    for own, opp, state, _, _ in random_play(entry, seed=5):
        refused = {-1, game.action_size, *range(game.action_size)} - set(entry.actions(own, opp))
        assert {-1, game.action_size} <= refused
        for action in refused:
            with pytest.raises(ValueError, match=r"\d"):  # the message names the action
                game.apply(state, action)


def test_apply_hands_out_a_new_state(entry):
    for _, _, state, action, after in random_play(entry, seed=6):
        if action is not None:
            assert not np.shares_memory(state, after)
            assert not np.array_equal(state, after)


def random_boards(entry, seed):
    """(states, own, opp, actions, boards after) of random games, as arrays; the last two leave out finished games."""
    plays = list(random_play(entry, seed))
    if max(max(boards) for *boards, _, _, _ in plays) >= 1 << 64:
        pytest.skip("the board has more than 64 cells")
    states = [state for _, _, state, _, _ in plays]
    own, opp = boards_array([(own, opp) for own, opp, _, _, _ in plays])
    goes_on = np.array([action is not None for *_, action, _ in plays])
    actions = np.array([action for *_, action, _ in plays if action is not None])
    after = boards_array([entry.game.boards(after) for *_, after in plays if after is not None])
    return states, own, opp, goes_on, actions, after


def test_many_boards_are_played_as_one_is(entry):
    game = entry.game
    states, own, opp, goes_on, actions, after = random_boards(entry, seed=7)
    for kind in (np.int64, np.int32, np.int16):  # shifts must not be made in a narrow one
        found = game.play_boards(own[goes_on], opp[goes_on], actions.astype(kind))
        assert [boards.dtype for boards in found] == [np.int64, np.int64]
        assert np.array_equal(found, after)
    legal = game.legal_boards(own, opp)
    assert legal.dtype == bool
    assert np.array_equal(legal, [game.legal_actions_mask(state) for state in states])
    values = game.terminal_boards(own, opp)
    assert values.dtype == np.float32
    assert np.array_equal(np.isnan(values), goes_on)
    assert values[~goes_on].tolist() == [
        game.terminal_value(state) for state, on in zip(states, goes_on, strict=True) if not on
    ]
    planes = game.encode_boards(own, opp)
    assert planes.dtype == np.float32
    assert np.array_equal(planes, [game.encode(state) for state in states])
    for boards in game.initial_boards(3):
        assert boards.shape == (3,)


def test_a_fast_game_does_what_the_slow_way_does(entry):
    game = entry.game
    _, own, opp, goes_on, actions, _ = random_boards(entry, seed=8)
    for name, arguments in {
        "play_boards": (own[goes_on], opp[goes_on], actions),
        "legal_boards": (own, opp),
        "terminal_boards": (own, opp),
        "encode_boards": (own, opp),
    }.items():
        slow, fast = getattr(Game, name)(game, *arguments), getattr(game, name)(*arguments)
        for one, other in zip(slow, fast, strict=True):
            assert np.array_equal(one, other, equal_nan=True)
        for empty in (getattr(Game, name), getattr(type(game), name)):
            assert len(empty(game, *(array[:0] for array in arguments))) == (2 if name == "play_boards" else 0)


def test_symmetries_take_many_positions_at_once(entry):
    game = entry.game
    _, own, opp, *_ = random_boards(entry, seed=9)
    planes, legal = game.encode_boards(own, opp), game.legal_boards(own, opp)
    together = game.symmetries(planes, legal)
    for row in range(0, len(own), 7):
        for (one, policy), (many, policies) in zip(game.symmetries(planes[row], legal[row]), together, strict=True):
            assert np.array_equal(one, many[row])
            assert np.array_equal(policy, policies[row])
