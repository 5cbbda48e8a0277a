"""The search: against an obvious twin, against golden trees, and what must hold of every search of every game."""

import json
from pathlib import Path

import numpy as np
import pytest

from c4lib.alphazero.config import Config
from c4lib.alphazero.mcts import Cache, Forest, halving_schedule, masked_softmax, search
from c4lib.games import make_game
from c4lib.games.base import boards_array
from c4lib.games.connect4 import Connect4

from .players import (
    EVERY_GAME,
    legal_actions,
    misled,
    random_states,
    scrambled,
    solver,
    uniform,
    winning_actions,
)
from .twin import twin_search

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(params=EVERY_GAME.values(), ids=EVERY_GAME.keys())
def game(request):
    return request.param


def counts(node):
    """Visits and exact values of a whole tree, in the twin's form."""
    children = node.children
    return {
        int(action): (
            int(node.edge_visits[action]),
            None if np.isnan(node.exact[action]) else float(node.exact[action]),
            counts(children[action]) if action in children else None,
        )
        for action in np.flatnonzero(node.legal)
    }


@pytest.mark.parametrize("proofs", [True, False])
def test_equals_the_twin(game, proofs):
    options = [{}, {"c_puct": 1.0, "fpu_reduction": 0.0}, {"c_puct": 5.0, "fpu_reduction": 1.0}]
    networks = [scrambled(game, seed=1), uniform(game), scrambled(game, seed=2, sharpness=8.0)]
    for number, state in enumerate(random_states(game, 9, seed=1)):
        option, network = options[number % 3], networks[number // 3]
        found = search(game, network, state, 60, proofs=proofs, **option)
        twin = twin_search(game, network, state, 60, proofs=proofs, **option)
        assert counts(found.tree) == twin.counts()
        proven = twin.solved() if proofs else None
        assert found.value == found.tree.value == (twin.mean() if proven is None else proven)


@pytest.mark.parametrize("options", [{}, {"proofs": False}, {"gumbel_actions": 4}], ids=["puct", "no proofs", "gumbel"])
def test_visits_and_policies(game, options):
    for number, state in enumerate(random_states(game, 12, seed=2)):
        legal = game.legal_actions_mask(state)
        for simulations in (1, 2, 17, 50):
            found = search(game, scrambled(game, number), state, simulations, seed=number, **options)
            assert found.visits.sum() == simulations == found.tree.visits - 1
            assert not found.visits[~legal].any()
            assert found.policy[~legal].sum() == 0
            assert (found.policy >= 0).all()
            assert found.policy.sum() == pytest.approx(1)
            assert found.policy[found.action] > 0
            assert -1 <= found.value <= 1
            assert found.tree.priors.sum() == pytest.approx(1, abs=1e-5)
            assert sum(1 for _ in found.tree.walk()) <= simulations + 1


def test_values_change_sign_with_the_mover(game):
    for number, state in enumerate(random_states(game, 6, seed=3)):
        found = search(game, scrambled(game, number), state, 80, proofs=False)
        for node in found.tree.walk():
            assert node.network_value == scrambled(game, number)(game.encode(node.state)[None])[1][0]
            for action, child in node.children.items():
                assert child.visits == node.edge_visits[action]
                assert child.value == pytest.approx(-node.q[action], abs=1e-12)
            for action in np.flatnonzero(~np.isnan(node.exact)):
                assert node.exact[action] == -game.terminal_value(game.apply(node.state, action))


def test_proven_values_are_true(game):
    if game.action_size * game.input_shape[1] > 30:
        pytest.skip("too large for brute force")
    value = solver(game)
    states = [state for state in random_states(game, 60, seed=4) if np.count_nonzero(state) >= 0.45 * state.size]
    proven = 0
    for number, state in enumerate(states):
        for node in search(game, scrambled(game, number), state, 150).tree.walk():
            for action in np.flatnonzero(~np.isnan(node.exact)):
                assert node.exact[action] == -value(*game.boards(game.apply(node.state, action)))
                proven += 1
            if node.is_proven:
                assert node.value == value(*node.boards)
    assert proven > 30


def test_a_win_in_one_is_found_with_any_network(game):
    tried = 0
    for number, state in enumerate(random_states(game, 60, seed=5)):
        wins = winning_actions(game, state)
        for network in (uniform(game), scrambled(game, number), *(misled(game, win) for win in wins[:1])):
            for options in ({}, {"gumbel_actions": 2}):
                if wins:
                    found = search(game, network, state, 8, **options)
                    assert found.action in wins
                    assert found.value == 1
                    tried += 1
    assert tried > 20


def test_a_block_is_found_with_any_network(game):
    if game.name == "othello6":
        pytest.skip("a single move hardly ever stops a win there")
    tried = 0
    for number, state in enumerate(random_states(game, 200, seed=6)):
        if winning_actions(game, state):
            continue
        safe = [a for a in legal_actions(game, state) if not winning_actions(game, game.apply(state, a))]
        if len(safe) != 1 or len(legal_actions(game, state)) < 3:
            continue
        for network in (uniform(game), scrambled(game, number), misled(game, safe[0])):
            found = search(game, network, state, 40)
            assert found.action == safe[0] or found.value == -1  # every move is proven to lose
            tried += found.value != -1
    assert tried > 10


def test_many_at_once_equal_one_at_a_time(game):
    states = random_states(game, 30, seed=7)
    config = Config(game=game.name, num_simulations=40, cache_positions=0)
    network = scrambled(game)
    forest = Forest(game, network, config, len(states))
    own, opp = boards_array([game.boards(state) for state in states])
    trees = np.random.default_rng(0).permutation(len(states))
    simulations = np.arange(len(states)) % 40 + 1
    forest.begin(trees[::2], own[::2], opp[::2], simulations[::2])
    forest.step()
    forest.step()
    forest.begin(trees[1::2], own[1::2], opp[1::2], simulations[1::2])  # they need not begin together
    forest.run()
    assert forest.simulations == simulations.sum()
    for state, tree, count in zip(states, trees, simulations, strict=True):
        alone = search(game, network, state, int(count))
        assert forest.tree(tree).to_dict() == alone.tree.to_dict()
        assert forest.values([tree]) == alone.value
        assert forest.best_actions([tree]) == alone.action
        assert np.array_equal(forest.policies([tree])[0], alone.policy)


@pytest.mark.parametrize("positions", [1, 16, 1 << 12])
def test_a_cache_changes_nothing(game, positions):
    states = random_states(game, 20, seed=8, plies=4)
    own, opp = boards_array([game.boards(state) for state in states])
    trees, asked = [], []
    for size in (0, positions):
        config = Config(game=game.name, num_simulations=60, cache_positions=size)
        forest = Forest(game, scrambled(game), config, len(states))
        for _ in range(2):
            forest.begin(np.arange(len(states)), own, opp, 60)
            forest.run()
        trees.append([forest.tree(tree).to_dict() for tree in range(len(states))])
        asked.append(forest.evaluations)
    assert trees[0] == trees[1]
    assert asked[1] < asked[0]


def test_the_cache_forgets_when_told_to():
    cache = Cache(4, 2)
    own, opp = np.array([0, 5]), np.array([0, 9])
    assert not cache.find(own, opp)[0].any()  # the position without stones is not there from the beginning
    cache.store(own, opp, np.array([[0.5, 0.5], [1, 0]]), np.array([0.25, -1]))
    found, priors, values = cache.find(own[::-1], opp[::-1])
    assert found.all()
    assert priors.tolist() == [[1, 0], [0.5, 0.5]]
    assert values.tolist() == [-1, 0.25]
    cache.clear()
    assert not cache.find(own, opp)[0].any()


def test_noise_moves_the_prior_as_far_as_its_weight():
    game = make_game("connect4")
    state = game.initial_state()
    plain = search(game, scrambled(game), state, 20).tree.priors
    one, again, other = (search(game, scrambled(game), state, 20, seed=seed).tree.priors for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert (one >= 0.75 * plain - 1e-6).all()
    full = search(game, scrambled(game), state, 20, seed=1, dirichlet_weight=1.0).tree.priors
    assert one == pytest.approx(0.75 * plain + 0.25 * full, abs=1e-6)


def test_equal_moves_are_settled_by_their_order():
    game = make_game("connect4")
    found = search(game, uniform(game), game.initial_state(), 7, proofs=False)
    assert found.visits.tolist() == [1] * 7
    assert found.action == 0
    assert found.principal_variation == [0]


def test_principal_variation_is_playable(game):
    found = search(game, scrambled(game), game.initial_state(), 100)
    state = game.initial_state()
    assert found.principal_variation[0] == np.argmax(found.visits)
    for action in found.principal_variation:
        assert game.terminal_value(state) is None
        state = game.apply(state, action)


def test_refusals():
    game = Connect4()
    config = Config(game="connect4", num_simulations=30)
    beaten = game.state(0, 0b1111)
    with pytest.raises(ValueError, match="finished"):
        search(game, uniform(game), beaten)
    forest = Forest(game, uniform(game), config, 1)
    for simulations in (0, 31):
        with pytest.raises(ValueError, match="1 to 30"):
            forest.begin(np.arange(1), *game.initial_boards(1), simulations)
    with pytest.raises(ValueError, match="not finite"):
        search(game, lambda planes: (np.full((len(planes), 7), np.nan), np.zeros(len(planes))), game.initial_state())


def test_masked_softmax():
    priors = masked_softmax(np.array([[0, 1000, np.log(3)]], np.float32), np.array([[True, False, True]]))
    assert priors == pytest.approx(np.array([[0.25, -1, 0.75]]))


# --- Gumbel ---------------------------------------------------------------------------------------------------------


def test_halving_schedule():
    assert halving_schedule(4, 16).tolist() == [0] * 4 + [1] * 4 + [2] * 2 + [3] * 2 + [4] * 2 + [5] * 2
    assert halving_schedule(1, 3).tolist() == [0, 1, 2]
    for actions in range(1, 12):
        for simulations in (1, 2, 5, 16, 50, 200):
            visits = np.zeros(actions, int)
            for wanted in halving_schedule(actions, simulations):
                assert wanted in visits  # there is always an action with that many visits
                visits[np.argmax(visits == wanted)] += 1
            assert visits.sum() == simulations


def test_gumbel_searches_the_likeliest_and_plays_the_best():
    game = make_game("connect4")
    logits = np.array([3, 0, 2, -4, 1, 0, -4], np.float32)

    def network(planes):
        stones = planes[:, :2].sum(axis=(1, 2, 3)).astype(int)
        second = planes[:, 1, :, 2].any(axis=1) & (stones == 1)  # the first stone was dropped into column 2
        return np.tile(logits, (len(planes), 1)), np.where(second, -0.9, 0).astype(np.float32)

    found = search(game, network, game.initial_state(), 24, gumbel_actions=3)
    assert set(np.flatnonzero(found.visits)) == {0, 2, 4}
    assert found.action == 2
    assert np.argmax(found.policy) == 2
    assert (found.policy > 0).all()
    first = {search(game, network, game.initial_state(), 2, gumbel_actions=2, seed=seed).action for seed in range(20)}
    assert len(first) > 1


# --- golden trees ---------------------------------------------------------------------------------------------------

GOLDEN_SEARCHES = {
    "tictactoe": ("tictactoe", [4, 1], 40, {}),
    "connect4": ("connect4", [3, 3, 3, 3, 2], 60, {}),
    "connect4_without_proofs": ("connect4", [3, 3, 2, 3], 40, {"proofs": False}),
    "connect4_gumbel": ("connect4", [3, 2], 32, {"gumbel_actions": 4}),
}


def golden_tree(name):
    """The tree of one of `GOLDEN_SEARCHES`, as plain numbers."""
    game_name, moves, simulations, options = GOLDEN_SEARCHES[name]
    game = make_game(game_name)
    state = game.initial_state()
    for move in moves:
        state = game.apply(state, move)
    return search(game, scrambled(game), state, simulations, **options).tree.to_dict()


@pytest.mark.parametrize("name", GOLDEN_SEARCHES)
def test_golden_trees(name):
    wanted = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert golden_tree(name) == wanted


if __name__ == "__main__":  # python -m tests.alphazero.test_mcts: make the golden trees again
    for name in GOLDEN_SEARCHES:
        text = json.dumps(golden_tree(name), indent=1)
        (GOLDEN / f"{name}.json").write_text(text + "\n", encoding="utf-8")
