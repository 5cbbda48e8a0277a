"""Opponents for Othello: alpha-beta to a fixed depth that counts moves and corners, and one that grabs discs."""

import numpy as np

from ..bits import signed
from ..games.othello import AXES, Othello, flips, legal_moves, played, words
from ..jit import build, inline, kernel, load, memory_block, popcount, store
from .minimax import ScoringOpponent

WIN = 1000  # of a finished game, beside the difference in discs; no evaluation comes near
MOVE = 1  # every legal move: who has none must pass, who has few must take bad ones
CORNER = 10  # every disc in a corner, where it can never be turned over


def corners(size: int) -> int:
    """The corners of a board, as compiled kernels know them."""
    row = 1 | 1 << (size - 1)
    return signed(row | row << size * (size - 1))


CORNERS = corners(8)  # constant of the kernel, replaced by `build` for other boards


@inline
def mobility_evaluation(moves, replies, own, opp, corners):
    """Static value for the side to move, from the legal moves of both sides and the corners they hold."""
    value = MOVE * (popcount(moves) - popcount(replies))
    return value + CORNER * (popcount(own & corners) - popcount(opp & corners))


@kernel
def alpha_beta(own, opp, depth, alpha, beta, memory):
    """Value of a position for the side to move, `depth` plies deep, a pass being one. Fail-soft.

    A result <= alpha is an upper bound, one >= beta a lower bound, one between is the value. A finished game is worth
    the difference in discs, and WIN more for who has won. Word 0 of `memory` counts the nodes.
    """
    store(memory, 0, load(memory, 0) + 1)
    moves = legal_moves(own, opp, AXES)
    replies = legal_moves(opp, own, AXES)
    if moves == 0 and replies == 0:
        more = popcount(own) - popcount(opp)
        if more == 0:
            return 0
        return more + WIN if more > 0 else more - WIN
    if depth == 0:
        return mobility_evaluation(moves, replies, own, opp, CORNERS)
    if moves == 0:
        return -alpha_beta(opp, own, depth - 1, -beta, -alpha, memory)
    best = -2 * WIN
    while moves:
        move = moves & -moves
        there, here = played(own, opp, move, AXES)
        score = -alpha_beta(there, here, depth - 1, -beta, -max(alpha, best), memory)
        if score > best:
            best = score
            if best >= beta:
                break
        moves ^= move
    return best


class OthelloMinimaxOpponent(ScoringOpponent):
    """Alpha-beta to a fixed depth with `mobility_evaluation`, on any size; of equal moves the first on the board."""

    def scores(self, game: Othello, state: np.ndarray, *, exact: bool = True) -> dict[int, int]:
        search = build(alpha_beta, self.compiled, AXES=game.axes, CORNERS=corners(game.size))
        memory, handle = memory_block(1, self.compiled)
        scores = {}
        for action in np.flatnonzero(game.legal_actions_mask(state)).tolist():
            there, here = words(game.boards(game.apply(state, action)), self.compiled)
            alpha = -2 * WIN if exact else max(scores.values(), default=-2 * WIN)
            scores[action] = -search(there, here, self.depth - 1, -2 * WIN, -alpha, handle)
        self.nodes = int(memory[0])
        return scores


class OthelloGreedyOpponent(ScoringOpponent):
    """Turns over as many discs as it can, as most beginners do; of equal moves the first on the board."""

    def __init__(self, *, seed: int | None = None):
        super().__init__(1, seed=seed)

    def scores(self, game: Othello, state: np.ndarray, *, exact: bool = True) -> dict[int, int]:
        own, opp = game.boards(state)
        actions = np.flatnonzero(game.legal_actions_mask(state)).tolist()
        self.nodes = len(actions)
        # the pass has the bit after the last cell, from where nothing is reached
        return {action: popcount(flips(1 << action, own, opp, game.axes)) for action in actions}
