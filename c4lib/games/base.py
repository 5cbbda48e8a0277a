"""What a game is: the array-level interface that people read and that learning uses.

The compiled kernels of a game work on `(own, opp)`, two integers holding the stones of the side to move and of the
other side. The two faces of a game are proven equal in the tests; `boards` and `state` lead from one to the other.
"""

from abc import ABC, abstractmethod

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
        """Value of a finished game for the player to move: -1.0 he has just been beaten, 0.0 draw; None: going on."""

    @abstractmethod
    def boards(self, state: np.ndarray) -> tuple[int, int]:
        """The bitboards `(own, opp)` of a state, seen from the side to move."""

    @abstractmethod
    def state(self, own: int, opp: int) -> np.ndarray:
        """The state of bitboards seen from the side to move; inverse of `boards`."""

    @abstractmethod
    def symmetries(self, planes: np.ndarray, policy: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Every equivalent `(planes, policy)`, the given pair first.

        `planes` is an array whose last two axes are the board; the policy's entries move along with it.
        """

    def canonical_state(self, state: np.ndarray) -> np.ndarray:
        """The state with +1 for the stones of the side to move."""
        return (state * self.current_player(state)).astype(np.int8)

    def encode(self, state: np.ndarray) -> np.ndarray:
        """float32 planes of shape `input_shape`: stones of the side to move, the other side's, ones."""
        canonical = self.canonical_state(state)
        return np.stack([canonical == 1, canonical == -1, np.ones_like(canonical)]).astype(np.float32)
