"""Random positions for the search tests."""

import numpy as np

from c4lib.games.connect4 import Connect4


def random_states(game: Connect4, count: int, *, seed: int, most: int | None = None):
    """`count` states of games that still go on, of every length up to `most` plies."""
    rng = np.random.default_rng(seed)
    most = game.geometry.rows * game.geometry.columns if most is None else most
    states = []
    while len(states) < count:
        state = game.initial_state()
        for _ in range(rng.integers(most)):
            if game.terminal_value(state) is not None:
                break
            state = game.apply(state, int(rng.choice(np.flatnonzero(game.legal_actions_mask(state)))))
        if game.terminal_value(state) is None:
            states.append(state)
    return states


def random_boards(game: Connect4, count: int, *, seed: int, most: int | None = None):
    """The same as bitboards `(own, opp)`."""
    return [game.boards(state) for state in random_states(game, count, seed=seed, most=most)]
