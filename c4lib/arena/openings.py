"""Where games start. Deterministic players need different openings, or forty games are two."""

from collections.abc import Iterable

import numpy as np

from ..games.base import Game, random_line
from ..games.connect4 import Connect4
from ..search.solver import shared_solver

ATTEMPTS = 1000  # tries for each opening before giving up


def random_lines(
    game: Game,
    count: int,
    plies: int | tuple[int, int],
    seed: int,
    *,
    decided: bool = False,
    balanced: bool = False,
) -> list[list[int]]:
    """Random moves from the start to `count` different states, none finished; the same for the same seed.

    Args:
        game: the rules.
        count: how many.
        plies: of each, or the fewest and the most, any number between them with the same chance.
        seed: of the random moves.
        decided: also to states that `is_decided`.
        balanced: only to states that are drawn where neither side errs, by the exact solver (of Connect Four).

    Raises ValueError where so many cannot be found, or none can be balanced.
    """
    if balanced and not isinstance(game, Connect4):
        raise ValueError(f"only Connect Four has a solver that knows balanced openings, not {game.name}")
    rng = np.random.default_rng(seed)
    lines: dict[bytes, list[int]] = {}

    def suits(state):
        return (
            game.terminal_value(state) is None
            and (decided or not is_decided(game, state))
            and (not balanced or shared_solver(game.geometry).solve(game.boards(state)).score == 0)
        )

    for _ in range(ATTEMPTS * count):
        if len(lines) == count:
            break
        length = plies if isinstance(plies, int) else int(rng.integers(*plies, endpoint=True))
        line, state = random_line(game, length, rng)
        if state.tobytes() not in lines and suits(state):
            lines[state.tobytes()] = line
    if len(lines) < count:
        raise ValueError(f"found {len(lines)} different unfinished states after {plies} plies, not {count}")
    return list(lines.values())


def all_lines(game: Game, plies: int, *, decided: bool = False) -> list[list[int]]:
    """A line of moves to each state that can stand after so many plies, of equivalent ones to the first; none finished.

    Args:
        game: the rules.
        plies: how many.
        decided: also to states that `is_decided`.
    """
    lines: dict[bytes, list[int]] = {b"": []}
    for _ in range(plies):
        longer = {}
        for line in lines.values():
            state = after(game, line)
            for action in np.flatnonzero(game.legal_actions_mask(state)).tolist():
                reply = game.apply(state, action)
                if game.terminal_value(reply) is None:
                    longer.setdefault(_canonical(game, reply), [*line, action])
        lines = longer
    return [line for line in lines.values() if decided or not is_decided(game, after(game, line))]


def random_openings(
    game: Game, count: int, plies: int | tuple[int, int], seed: int, *, decided: bool = False
) -> list[np.ndarray]:
    """The states that `random_lines` lead to."""
    return [after(game, line) for line in random_lines(game, count, plies, seed, decided=decided)]


def after(game: Game, line: Iterable[int]) -> np.ndarray:
    """The state after these moves from the start."""
    state = game.initial_state()
    for action in line:
        state = game.apply(state, action)
    return state


def is_decided(game: Game, state: np.ndarray) -> bool:
    """Whether the side to move wins at once, or cannot keep the other side from doing so with its next move."""
    replies = _replies(game, state)
    return _can_win(game, replies) or all(
        game.terminal_value(reply) is None and _can_win(game, _replies(game, reply)) for reply in replies
    )


def _canonical(game, state):
    """The same bytes for equivalent states, others for all others."""
    images = game.symmetries(game.encode(state), game.legal_actions_mask(state))
    return min(planes.tobytes() for planes, _ in images)


def _replies(game, state):
    return [game.apply(state, int(action)) for action in np.flatnonzero(game.legal_actions_mask(state))]


def _can_win(game, replies):
    return any(game.terminal_value(reply) == -1 for reply in replies)
