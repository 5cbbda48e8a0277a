"""What a game is: the array-level interface that people read, and the same rules on arrays of boards.

A position has two faces. A *state* is one small int8 array with +1 for the first player's stones. *Boards* are two
integers `(own, opp)` for the side to move and the other side, and `play_boards` hands them back swapped. Searches and
learning hold thousands of positions as two int64 arrays, and move them on together with the `*_boards` functions.
Here these go through the array-level interface, one position at a time, so a new game is complete without them; a
game that is to be fast brings its own. The two faces of a game are proven equal in the tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np


class Game(ABC):
    """Rules of a two-player zero-sum game with perfect information, on states that are small int8 arrays.

    A state holds +1 for the first player's stones, -1 for the second player's and 0 for empty cells. States are
    values: no method changes its argument.

    Attributes:
        name: the name under which commands and files know the game.
        input_shape: shape of `encode`, planes first.
        action_size: number of actions; an action is an integer in `range(action_size)`.
    """

    name: str
    input_shape: tuple[int, int, int]
    action_size: int

    @abstractmethod
    def initial_state(self) -> np.ndarray:
        """The state before the first move."""

    @abstractmethod
    def current_player(self, state: np.ndarray) -> int:
        """+1 where the first player is to move, -1 where the second is."""

    @abstractmethod
    def legal_actions_mask(self, state: np.ndarray) -> np.ndarray:
        """bool, shape `(action_size,)`: the rules' own moves, also of a finished game (see `terminal_value`)."""

    @abstractmethod
    def apply(self, state: np.ndarray, action: int) -> np.ndarray:
        """The state after the side to move played `action`. Raises ValueError for a move that cannot be made.

        That the game is over is not checked: ask `terminal_value` first.
        """

    @abstractmethod
    def terminal_value(self, state: np.ndarray) -> float | None:
        """Value of a finished game for the player to move: 1.0 won, 0.0 drawn, -1.0 lost; None while it goes on."""

    @abstractmethod
    def boards(self, state: np.ndarray) -> tuple[int, int]:
        """The boards `(own, opp)` of a state, seen from the side to move.

        Two numbers from 0 to 2**64 - 1, by habit a bit for every stone; any encoding will do that keeps positions
        apart and that `state` can undo. (A board with more cells may use larger numbers, and then has no `*_boards`.)
        """

    @abstractmethod
    def state(self, own: int, opp: int) -> np.ndarray:
        """The state of boards seen from the side to move: `boards(state(own, opp)) == (own, opp)`."""

    @abstractmethod
    def symmetries(self, planes: np.ndarray, policy: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Every equivalent `(planes, policy)`, the given pair first.

        `planes` is an array whose last two axes are the board; the policy's entries, its last axis, move along with
        it. Both may have more axes in front, which stay as they are. The results may be views.
        """

    def canonical_state(self, state: np.ndarray) -> np.ndarray:
        """The state with +1 for the stones of the side to move."""
        return (state * self.current_player(state)).astype(np.int8)

    def encode(self, state: np.ndarray) -> np.ndarray:
        """float32 planes of shape `input_shape`: stones of the side to move, the other side's, ones."""
        canonical = self.canonical_state(state)
        return np.stack([canonical == 1, canonical == -1, np.ones_like(canonical)]).astype(np.float32)

    # --- many positions at once: int64 arrays `own`, `opp` of shape (n,), which hold the 64 bits of each board --------

    def initial_boards(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """`n` times the position before the first move."""
        return boards_array([self.boards(self.initial_state())] * n)

    def play_boards(self, own: np.ndarray, opp: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The boards after each side to move played its action, seen from the other side.

        Every action must be legal, which a fast game does not check.
        """
        pairs = zip(self._states(own, opp), actions.tolist(), strict=True)
        return boards_array([self.boards(self.apply(state, action)) for state, action in pairs])

    def legal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        """bool, shape `(n, action_size)`: see `legal_actions_mask`."""
        masks = [self.legal_actions_mask(state) for state in self._states(own, opp)]
        return np.array(masks, bool).reshape(-1, self.action_size)

    def terminal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        """float32, shape `(n,)`: value of a finished game for the side to move (see `terminal_value`), else NaN."""
        values = [self.terminal_value(state) for state in self._states(own, opp)]
        return np.array([np.nan if value is None else value for value in values], np.float32)

    def encode_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        """float32, shape `(n, *input_shape)`: see `encode`."""
        planes = [self.encode(state) for state in self._states(own, opp)]
        return np.array(planes, np.float32).reshape(-1, *self.input_shape)

    def _states(self, own, opp):
        """The state of each position of two arrays."""
        pairs = zip(own.view(np.uint64).tolist(), opp.view(np.uint64).tolist(), strict=True)
        return (self.state(*boards) for boards in pairs)


def random_line(game: Game, plies: int, rng: np.random.Generator) -> tuple[list[int], np.ndarray]:
    """Random moves from the start, fewer than `plies` where the game ends before; and the state after them."""
    state, line = game.initial_state(), []
    while len(line) < plies and game.terminal_value(state) is None:
        line.append(int(rng.choice(np.flatnonzero(game.legal_actions_mask(state)))))
        state = game.apply(state, line[-1])
    return line, state


def digits(actions: Iterable[int]) -> str:
    """Moves as text: digits counted from 1; where one has more of them, numbers with a space after each."""
    numbers = [str(action + 1) for action in actions]
    return "".join(numbers if all(len(number) == 1 for number in numbers) else (number + " " for number in numbers))


def actions_of(text: str) -> list[int]:
    """The moves that `digits` wrote."""
    return [int(number) - 1 for number in (text.split() if " " in text else text)]


def boards_array(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """A list of boards `(own, opp)`, numbers from 0 to 2**64 - 1, as two arrays of int64 that hold their bits."""
    boards = np.array(pairs, np.uint64).reshape(-1, 2).view(np.int64)
    return boards[:, 0].copy(), boards[:, 1].copy()
