"""Where games start. Deterministic players need different openings, or forty games are two."""

import numpy as np

from ..games.base import Game

ATTEMPTS = 1000  # tries for each opening before giving up


def random_openings(
    game: Game, count: int, plies: int | tuple[int, int], seed: int, *, decided: bool = False
) -> list[np.ndarray]:
    """`count` different states after random plies, none finished; the same for the same seed.

    Args:
        game: the rules.
        count: how many.
        plies: of each, or the fewest and the most, any number between them with the same chance.
        seed: of the random moves.
        decided: also those that `is_decided`.

    Raises ValueError where so many cannot be found.
    """
    rng = np.random.default_rng(seed)
    openings: dict[bytes, np.ndarray] = {}
    for _ in range(ATTEMPTS * count):
        if len(openings) == count:
            break
        state = game.initial_state()
        for _ in range(plies if isinstance(plies, int) else rng.integers(*plies, endpoint=True)):
            if game.terminal_value(state) is not None:
                break
            state = game.apply(state, int(rng.choice(np.flatnonzero(game.legal_actions_mask(state)))))
        if game.terminal_value(state) is None and (decided or not is_decided(game, state)):
            openings[state.tobytes()] = state
    if len(openings) < count:
        raise ValueError(f"found {len(openings)} different unfinished states after {plies} plies, not {count}")
    return list(openings.values())


def is_decided(game: Game, state: np.ndarray) -> bool:
    """Whether the side to move wins at once, or cannot keep the other side from doing so with its next move."""
    replies = _after(game, state)
    return _can_win(game, replies) or all(
        game.terminal_value(reply) is None and _can_win(game, _after(game, reply)) for reply in replies
    )


def _after(game, state):
    return [game.apply(state, int(action)) for action in np.flatnonzero(game.legal_actions_mask(state))]


def _can_win(game, replies):
    return any(game.terminal_value(reply) == -1 for reply in replies)
