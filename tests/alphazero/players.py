"""What the tests of the search share: hand-made networks, a toy game, positions, a brute-force solver."""

from functools import cache

import numpy as np

from c4lib.games import GAMES, make_game
from c4lib.games.base import Game
from c4lib.games.connect4 import Connect4


class Row(Game):
    """A toy: take turns to fill seven cells in a row; three neighbouring stones win. Only what a game must have."""

    name = "row"
    input_shape = (3, 1, 7)
    action_size = 7

    def initial_state(self):
        return np.zeros((1, 7), np.int8)

    def current_player(self, state):
        return 1 if np.count_nonzero(state) % 2 == 0 else -1

    def legal_actions_mask(self, state):
        return state[0] == 0

    def apply(self, state, action):
        if not 0 <= action < 7 or state[0, action]:
            raise ValueError(f"cell {action} cannot be played")
        after = state.copy()
        after[0, action] = self.current_player(state)
        return after

    def terminal_value(self, state):
        beaten = state[0] == -self.current_player(state)
        if any(beaten[i : i + 3].all() for i in range(5)):
            return -1.0
        return 0.0 if state.all() else None

    def boards(self, state):
        canonical = self.canonical_state(state)[0]
        return tuple(int(sum(1 << int(i) for i in np.flatnonzero(canonical == side))) for side in (1, -1))

    def state(self, own, opp):
        canonical = np.array([[(own >> i & 1) - (opp >> i & 1) for i in range(7)]], np.int8)
        return (canonical * self.current_player(canonical)).astype(np.int8)

    def symmetries(self, planes, policy):
        return [(planes, policy), (planes[..., ::-1], policy[..., ::-1])]


EVERY_GAME = {
    **{name: make_game(name) for name in GAMES if name != "othello"},  # the smaller one stands for both
    "row": Row(),
    "connect4 5x4x3": Connect4(5, 4, 3),
}


def uniform(game):
    """A network that knows nothing."""
    return lambda planes: (np.zeros((len(planes), game.action_size), np.float32), np.zeros(len(planes), np.float32))


def scrambled(game, seed=0, sharpness=3.0):
    """A network with firm opinions about nothing: logits and values are a hash of the planes, in whole sixteenths."""
    cells = int(np.prod(game.input_shape))
    factors = np.random.default_rng(seed).integers(1, 1 << 20, (cells, game.action_size + 1))

    def evaluate(planes):
        sums = planes.reshape(len(planes), -1).astype(np.int64) @ factors
        numbers = ((sums * 2654435761 >> 7) % 33 - 16) / np.float32(16)
        return (sharpness * numbers[:, :-1]).astype(np.float32), (numbers[:, -1] * 15 / 16).astype(np.float32)

    return evaluate


def misled(game, action):
    """A network that will not hear of one action, and thinks that the side to move always loses."""

    def evaluate(planes):
        logits = np.zeros((len(planes), game.action_size), np.float32)
        logits[:, action] = -60
        return logits, np.full(len(planes), -1, np.float32)

    return evaluate


def random_states(game, count, seed, plies=None):
    """Unfinished states after a random number of random moves, fewer than `plies`."""
    plies = plies or max(30, game.action_size)
    random = np.random.default_rng(seed)
    states = []
    while len(states) < count:
        state = game.initial_state()
        for _ in range(random.integers(plies)):
            after = game.apply(state, int(random.choice(np.flatnonzero(game.legal_actions_mask(state)))))
            if game.terminal_value(after) is not None:
                break
            state = after
        states.append(state)
    return states


def legal_actions(game, state):
    return np.flatnonzero(game.legal_actions_mask(state)).tolist()


def winning_actions(game, state):
    """Actions that win at once."""
    return [a for a in legal_actions(game, state) if game.terminal_value(game.apply(state, a)) == -1]


def solver(game):
    """`value(own, opp)` of a small game by brute force."""

    @cache
    def value(own, opp):
        state = game.state(own, opp)
        known = game.terminal_value(state)
        if known is not None:
            return known
        return max(-value(*game.boards(game.apply(state, action))) for action in legal_actions(game, state))

    return value
