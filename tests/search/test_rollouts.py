from math import log, sqrt

import numpy as np
import pytest

from c4lib.agents import RandomAgent
from c4lib.arena.match import play_match
from c4lib.arena.openings import random_openings
from c4lib.games.connect4 import Connect4
from c4lib.games.position import Position
from c4lib.search.rollouts import RolloutAgent

from .positions import random_states

GAME = Connect4()


class PlainNode:
    """A node of the twin: states instead of boards, objects instead of words."""

    def __init__(self, state):
        self.state, self.visits, self.points, self.children = state, 0, 0, {}


class PlainUct:
    """The same search as in a textbook, with the same random numbers."""

    def __init__(self, game, x):
        self.game, self.x = game, x

    def random(self):
        x = self.x
        x ^= (x << 13) % 2**32
        x ^= x >> 17
        x ^= (x << 5) % 2**32
        self.x = x
        return x

    def random_game(self, state):
        mover = self.game.current_player(state)
        while (value := self.game.terminal_value(state)) is None:
            moves = np.flatnonzero(self.game.legal_actions_mask(state))
            state = self.game.apply(state, int(moves[self.random() * len(moves) >> 32]))
        return 1 + int(value * self.game.current_player(state) * mover)

    def simulate(self, node, exploration):
        """Half points of the side to move at the node."""
        if (value := self.game.terminal_value(node.state)) is not None:
            points = 1 + int(value)
        elif not node.visits:
            points = self.random_game(node.state)
        else:
            if not node.children:
                legal = np.flatnonzero(self.game.legal_actions_mask(node.state))
                node.children = {int(move): PlainNode(self.game.apply(node.state, int(move))) for move in legal}
            fresh = [child for child in node.children.values() if not child.visits]

            def bound(child):
                return child.points / (2 * child.visits) + exploration * sqrt(log(node.visits) / child.visits)

            child = fresh[0] if fresh else max(node.children.values(), key=bound)
            points = 2 - self.simulate(child, exploration)
        node.visits += 1
        node.points += 2 - points
        return points


@pytest.mark.parametrize("size", [(7, 6, 4), (4, 4, 3), (9, 8, 4)], ids=str)
@pytest.mark.parametrize("compiled", [True, False])
def test_it_searches_like_the_textbook(size, compiled):
    game = Connect4(*size)
    for seed, state in enumerate(random_states(game, 5, seed=2)):
        agent = RolloutAgent(150, seed=seed, compiled=compiled)
        move, children = agent.search(game, state)
        twin, root = PlainUct(game, int(np.random.default_rng(seed).integers(1, 1 << 32))), PlainNode(state)
        for _ in range(150):
            twin.simulate(root, 1.0)
        expected = [(child.visits, child.points / (2 * max(child.visits, 1))) for child in root.children.values()]
        assert np.array(list(children.values())) == pytest.approx(np.array(expected))
        assert children[move][0] == max(visits for visits, _ in children.values())
        assert sum(visits for visits, _ in children.values()) == 149


@pytest.mark.parametrize(("moves", "best"), [("112233", 3), ("11223", 3), ("4141417", 0), ("1717172", 6)])
def test_it_sees_one_move_ahead(moves, best):
    assert RolloutAgent(500, seed=1)(GAME, Position.from_moves(moves).state) == best


def test_a_seed_is_a_way_to_play():
    states = random_states(GAME, 10, seed=3)

    def moves(seed):
        agent = RolloutAgent(30, seed=seed)
        return [agent(GAME, state) for state in states]

    assert moves(1) == moves(1)
    assert moves(1) != moves(2)


def test_it_beats_random():
    openings = random_openings(GAME, 20, (0, 4), seed=1)
    assert play_match(GAME, RolloutAgent(100, seed=1), RandomAgent(1), openings).share > 0.9


def test_a_game_as_long_as_you_like():
    """One column: every simulation goes a ply deeper, and nobody ever has a line."""
    game = Connect4(1, 300, 301)
    column, children = RolloutAgent(400, seed=1).search(game, game.initial_state())
    assert (column, children) == (0, {0: (399, 0.5)})


@pytest.mark.parametrize("simulations", [1, 0, -5, 2.5, True])
def test_bad_simulations_are_refused(simulations):
    with pytest.raises(ValueError, match="at least 2"):
        RolloutAgent(simulations)


def test_a_finished_game_is_refused():
    with pytest.raises(ValueError, match="over"):
        RolloutAgent(10)(GAME, Position.from_moves("1212121").state)
