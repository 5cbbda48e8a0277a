"""The replay buffer."""

import numpy as np
import pytest

from c4lib.alphazero.replay import ReplayBuffer, merged
from c4lib.alphazero.selfplay import Samples
from c4lib.games import make_game

from .players import EVERY_GAME, random_states

GAME = make_game("connect4")


def some_samples(n, start=0, game=GAME):
    """`n` samples that can be told apart by their outcome, `start`, `start` + 1, ..."""
    boards = [game.boards(state) for state in random_states(game, n, seed=start)]
    own, opp = np.array(boards, np.int64).reshape(-1, 2).T
    policy = np.random.default_rng(start).dirichlet([1] * game.action_size, n).astype(np.float32)
    outcome = np.arange(start, start + n, dtype=np.float32)
    return Samples(own, opp, policy, outcome, outcome / 2)


def test_never_more_than_its_capacity_and_the_oldest_go_first():
    buffer = ReplayBuffer(10, 7)
    added = 0
    for n in (3, 4, 0, 5, 10, 1, 25, 7):
        buffer.add(some_samples(n, added))
        added += n
        assert len(buffer) == min(added, 10)
        assert buffer.added == added
        assert buffer.samples.outcome.tolist() == list(range(max(0, added - 10), added))
        assert all(len(array) == 10 for array in buffer._kept)


@pytest.mark.parametrize("merge", [False, True])
def test_only_the_window_is_drawn_from(merge):
    buffer = ReplayBuffer(10, 7, merge=merge)
    for added, window, drawn in ((6, 4, range(2, 6)), (13, 4, range(9, 13)), (13, 99, range(3, 13))):
        buffer.add(some_samples(added - buffer.added, buffer.added))
        buffer.window = window
        assert buffer.window == len(buffer.samples.own) == len(drawn)
        assert buffer.samples.outcome.tolist() == list(drawn)
        assert set(buffer.sample(500, np.random.default_rng(0), GAME).values) == set(drawn)
    assert len(buffer) == 10


def test_rows_stay_together():
    buffer = ReplayBuffer(6, 7)
    samples = some_samples(9)
    buffer.add(samples)
    for kept, array in zip(buffer.samples, samples, strict=True):
        assert np.array_equal(kept, array[3:])


@pytest.mark.parametrize("game", EVERY_GAME.values(), ids=EVERY_GAME.keys())
def test_samples_are_encoded_positions_in_all_their_forms(game):
    samples = some_samples(5, game=game)
    buffer = ReplayBuffer(10, game.action_size)
    buffer.add(samples)
    forms = {}
    for row in range(5):
        planes = game.encode_boards(samples.own, samples.opp)[row]
        for image, policy in game.symmetries(planes, samples.policy[row]):
            forms[image.tobytes() + policy.tobytes()] = samples.outcome[row]
    batch = buffer.sample(600, np.random.default_rng(0), game)
    assert batch.planes.shape == (600, *game.input_shape)
    seen = set()
    for planes, policy, value in zip(*batch, strict=True):
        form = planes.tobytes() + policy.tobytes()
        assert forms[form] == value
        seen.add(form)
    assert len(seen) == len(forms)  # each position in each form
    plain = buffer.sample(100, np.random.default_rng(0), game, symmetries=False)
    assert len({planes.tobytes() + policy.tobytes() for planes, policy, _ in zip(*plain, strict=True)}) == 5


def test_value_targets_are_mixed():
    buffer = ReplayBuffer(10, 7)
    buffer.add(some_samples(5)._replace(outcome=np.ones(5, np.float32), root_value=np.zeros(5, np.float32)))
    for weight in (0, 0.25, 1):
        batch = buffer.sample(3, np.random.default_rng(0), GAME, root_value_weight=weight)
        assert batch.values.tolist() == [1 - weight] * 3
        assert batch.values.dtype == np.float32


def test_the_generator_decides_the_draw():
    buffer = ReplayBuffer(50, 7)
    buffer.add(some_samples(50))
    one, same, other = (buffer.sample(20, np.random.default_rng(seed), GAME) for seed in (1, 1, 2))
    assert all(map(np.array_equal, one, same))
    assert not np.array_equal(one.values, other.values)


def test_an_empty_buffer_is_refused():
    with pytest.raises(ValueError, match="empty"):
        ReplayBuffer(5, 7).sample(1, np.random.default_rng(0), GAME)


@pytest.mark.parametrize("n", [0, 7, 23])
def test_saved_and_loaded_it_is_the_same(tmp_path, n):
    buffer = ReplayBuffer(10, 7, merge=True)
    buffer.add(some_samples(n))
    buffer.save(tmp_path / "buffer.npz")
    loaded = ReplayBuffer.load(tmp_path / "buffer.npz")
    assert (loaded.capacity, loaded.added, loaded.merge, len(loaded)) == (10, n, True, min(n, 10))
    assert [file.name for file in tmp_path.iterdir()] == ["buffer.npz"]
    for one in (buffer, loaded):
        one.add(some_samples(4, 100))
    assert all(map(np.array_equal, buffer.samples, loaded.samples))
    draws = [one.sample(20, np.random.default_rng(0), GAME) for one in (buffer, loaded)]
    assert all(map(np.array_equal, *draws))


def test_merging():
    samples = Samples(
        own=np.array([3, 1, 3, 3, 1]),
        opp=np.array([4, 2, 4, 8, 2]),
        policy=np.array([[1, 0], [0.5, 0.5], [0, 1], [1, 0], [0.5, 0.5]], np.float32),
        outcome=np.array([1, -1, 0, 1, 1], np.float32),
        root_value=np.array([0.5, 0, 0.25, 1, 0], np.float32),
    )
    found = merged(samples)
    assert found.own.tolist() == [1, 3, 3]
    assert found.opp.tolist() == [2, 4, 8]
    assert found.policy.tolist() == [[0.5, 0.5], [0.5, 0.5], [1, 0]]
    assert found.outcome.tolist() == [0, 0.5, 1]
    assert found.root_value.tolist() == [0, 0.375, 1]
    assert all(array.dtype == kept.dtype for array, kept in zip(found, samples, strict=True))


def test_a_merging_buffer_draws_distinct_positions_alike():
    buffer = ReplayBuffer(1000, 7, merge=True)
    one, two = some_samples(1), some_samples(2, 1)
    buffer.add(Samples.concatenate([one] * 50 + [two]))
    assert len(buffer) == 52
    assert len(buffer.distinct.own) == len({*zip(buffer.samples.own, buffer.samples.opp, strict=True)})
    drawn = buffer.sample(3000, np.random.default_rng(0), GAME, symmetries=False).values
    counts = np.unique(drawn, return_counts=True)[1]
    assert counts.min() > 800
    buffer.add(some_samples(3, 7))  # what is merged follows what is added
    assert len(buffer.distinct.own) > len(counts)
