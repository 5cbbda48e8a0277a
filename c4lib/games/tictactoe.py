"""Tic-Tac-Toe in bits: small enough to know everything about, and so the first game to try learning on.

A position is `(own, opp)`: the stones of the side to move and of the other side. Cells are numbered row by row:

    0 1 2
    3 4 5
    6 7 8

Every function on boards works on Python integers and on arrays of them.
"""

import numpy as np

from ..bits import bit_indices, popcount
from .base import Game

BOARD = 0b111_111_111
LINES = (0b111, 0b111 << 3, 0b111 << 6, 0b001001001, 0b010010010, 0b100100100, 0b100010001, 0b001010100)
CELLS = 1 << np.arange(9)


def has_line(stones):
    """Whether one side's stones hold a row, a column or a diagonal."""
    found = False
    for line in LINES:
        found = found | ((stones & line) == line)
    return found


class TicTacToe(Game):
    """Tic-Tac-Toe as arrays: states of shape (3, 3); an action is a cell, row by row from 0."""

    name = "tictactoe"
    input_shape = (3, 3, 3)
    action_size = 9

    def initial_state(self) -> np.ndarray:
        return np.zeros((3, 3), np.int8)

    def current_player(self, state: np.ndarray) -> int:
        return 1 if np.count_nonzero(state) % 2 == 0 else -1

    def legal_actions_mask(self, state: np.ndarray) -> np.ndarray:
        return state.ravel() == 0

    def apply(self, state: np.ndarray, action: int) -> np.ndarray:
        if not 0 <= action < 9 or action != int(action):
            raise ValueError(f"cell {action} does not exist: cells are 0 to 8")
        if state.flat[int(action)]:
            raise ValueError(f"cell {action} is taken")
        after = state.copy()
        after.flat[int(action)] = self.current_player(state)
        return after

    def terminal_value(self, state: np.ndarray) -> float | None:
        own, opp = self.boards(state)
        if has_line(opp):
            return -1.0
        return 0.0 if own | opp == BOARD else None

    def boards(self, state: np.ndarray) -> tuple[int, int]:
        canonical = self.canonical_state(state).ravel()
        return int(CELLS[canonical == 1].sum()), int(CELLS[canonical == -1].sum())

    def state(self, own: int, opp: int) -> np.ndarray:
        mover = 1 if popcount(own | opp) % 2 == 0 else -1
        state = self.initial_state()
        for stones, player in ((own, mover), (opp, -mover)):
            state.flat[bit_indices(stones)] = player
        return state

    def symmetries(self, planes: np.ndarray, policy: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        grid = policy.reshape(*policy.shape[:-1], 3, 3)
        return [
            (_image(planes, turns, flipped), _image(grid, turns, flipped).reshape(policy.shape))
            for flipped in (False, True)
            for turns in range(4)
        ]

    def play_boards(self, own: np.ndarray, opp: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return opp, own | CELLS[actions]

    def legal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        return (own | opp)[:, None] & CELLS == 0

    def terminal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        unbeaten = np.where(own | opp == BOARD, np.float32(0), np.float32(np.nan))
        return np.where(has_line(opp), np.float32(-1), unbeaten)

    def encode_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        planes = np.ones((len(own), *self.input_shape), np.float32)
        for plane, stones in enumerate((own, opp)):
            planes[:, plane] = (stones[:, None] & CELLS != 0).reshape(-1, 3, 3)
        return planes


def _image(grids, turns, flipped):
    """Grids (the last two axes) turned by quarters, after a reflection left for right."""
    return np.rot90(grids[..., ::-1] if flipped else grids, turns, axes=(-2, -1))
