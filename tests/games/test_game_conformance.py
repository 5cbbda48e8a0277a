"""What every game must keep: its arrays and its kernels play one and the same game.

A new game adds its entries to `GAMES`: the array interface, and the three things its kernels know, on `(own, opp)`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from c4lib.bits import bit_indices
from c4lib.games.base import Game
from c4lib.games.connect4 import Connect4, has_line, playable


class Entry(NamedTuple):
    game: Game
    actions: Callable[[int, int], list[int]]  # what the kernels let the side to move do, also in a finished game
    play: Callable[[int, int, int], tuple[int, int]]  # (own, opp, action): the pair after it, swapped
    value: Callable[[int, int], float | None]  # of a finished game for the side to move; else None
    games: int = 20  # random games to play


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


GAMES = {
    "connect4": connect4(games=60),
    "connect4 1x1x1": connect4(1, 1, 1),
    "connect4 4x5x3": connect4(4, 5, 3),
    "connect4 9x7x5": connect4(9, 7, 5),
    "connect4 20x20x4": connect4(20, 20, 4, games=3),
    "connect4 5x4x2": connect4(5, 4, 2),
    "connect4 3x4x5": connect4(3, 4, 5),
}


@pytest.fixture(params=GAMES.values(), ids=GAMES.keys())
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


def one_hot(entry, action):
    return np.eye(entry.game.action_size, dtype=np.float32)[action]


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
        assert np.array_equal(game.state(own, opp), state)
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
        assert (np.count_nonzero(state == mover), np.count_nonzero(state == -mover)) == (
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
        assert np.array_equal(planes[0], state == mover)
        assert np.array_equal(planes[1], state == -mover)
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
