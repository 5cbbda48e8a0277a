"""Where games start. Deterministic players need different openings, or forty games are two."""

import numpy as np

from ..games.base import Game

ATTEMPTS = 1000  # tries for each opening before giving up


def random_openings(game: Game, count: int, plies: int, seed: int) -> list[np.ndarray]:
    """`count` different states after `plies` random plies each, none finished; the same for the same seed.

    Raises ValueError where so many cannot be found.
    """
    rng = np.random.default_rng(seed)
    openings: dict[bytes, np.ndarray] = {}
    for _ in range(ATTEMPTS * count):
        if len(openings) == count:
            break
        state = game.initial_state()
        for _ in range(plies):
            if game.terminal_value(state) is not None:
                break
            state = game.apply(state, int(rng.choice(np.flatnonzero(game.legal_actions_mask(state)))))
        if game.terminal_value(state) is None:
            openings[state.tobytes()] = state
    if len(openings) < count:
        raise ValueError(f"found {len(openings)} different unfinished states after {plies} plies, not {count}")
    return list(openings.values())
