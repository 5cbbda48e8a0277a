"""The yardstick: plain alpha-beta to a fixed depth with an evaluation by windows. Simple, deterministic, fast."""

import numpy as np

from ..bits import run_starts
from ..games.base import Game
from ..games.connect4 import (
    BOARD,
    BOTTOM,
    COLUMNS,
    INAROW,
    ROWS,
    Connect4,
    centre_first,
    column_cells,
    has_line,
    playable,
)
from ..jit import build, inline, kernel, load, memory_block, popcount, store
from .evaluation import WIN

ONE_SHORT = 5  # a window with all own stones but one, and that cell empty
TWO_SHORT = 2  # the same with two empty cells
CENTRE_STONE = 3  # every stone in the centre column


@inline
def window_evaluation(own, opp, board, columns, rows, inarow):
    """Static value for the side to move: windows one and two stones short of a line, and centre stones.

    Windows that hold stones of both sides count nothing. The opponent's count the same with the sign changed, so
    swapping the sides changes the sign.
    """
    value = 0
    for direction in range(4):
        step = rows + direction - 1 if direction else 1
        value += _nearly_full(own, run_starts(board & ~opp, step, inarow), step, inarow)
        value -= _nearly_full(opp, run_starts(board & ~own, step, inarow), step, inarow)
    middle = column_cells(columns // 2, rows)
    return value + CENTRE_STONE * (popcount(own & middle) - popcount(opp & middle))


@inline
def _nearly_full(stones, windows, step, inarow):
    """Value of the windows, given by their first cells, that lack one or two stones of being full."""
    lacking0 = windows
    lacking1 = 0
    lacking2 = 0
    for i in range(inarow):
        here = stones >> (i * step)
        lacking2 = (lacking2 & here) | (lacking1 & ~here)
        lacking1 = (lacking1 & here) | (lacking0 & ~here)
        lacking0 = lacking0 & here
    return ONE_SHORT * popcount(lacking1) + TWO_SHORT * popcount(lacking2)


@kernel
def alpha_beta(own, opp, depth, alpha, beta, memory):
    """Value of a position for the side to move, `depth` plies deep. Fail-soft.

    A result <= alpha is an upper bound, one >= beta a lower bound, one between is the value. A game won with the
    n-th stone on the board is worth WIN - n, so sooner is better. Word 0 of `memory` counts the nodes.
    """
    store(memory, 0, load(memory, 0) + 1)
    mask = own | opp
    if has_line(opp, ROWS, INAROW):
        return popcount(mask) - WIN
    moves = playable(mask, BOTTOM, BOARD)
    if moves == 0:
        return 0
    if depth == 0:
        return window_evaluation(own, opp, BOARD, COLUMNS, ROWS, INAROW)
    best = -WIN
    for i in range(COLUMNS):
        move = moves & column_cells(centre_first(i, COLUMNS), ROWS)
        if move == 0:
            continue
        score = -alpha_beta(opp, own | move, depth - 1, -beta, -max(alpha, best), memory)
        if score > best:
            best = score
            if best >= beta:
                break
    return best


class ScoringOpponent:
    """A player that scores every move and plays the best: `opponent(game, state) -> action`.

    Equal moves are settled in favour of the first that `scores` names, or by chance where a seed is given. The same
    seed gives the same games.

    Args:
        depth: plies to look ahead, at least 1.
        seed: seed of a random choice among equally good moves; None for the first.
        compiled: use the compiled kernel where the board allows it.

    Attributes:
        nodes: positions visited for the last move.
    """

    def __init__(self, depth: int = 8, *, seed: int | None = None, compiled: bool = True):
        if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or depth < 1:
            raise ValueError(f"depth must be a whole number of plies, at least 1, not {depth!r}")
        self.depth = int(depth)
        self.compiled = compiled
        self.nodes = 0
        self._rng = None if seed is None else np.random.default_rng(seed)

    def __call__(self, game: Game, state: np.ndarray) -> int:
        if game.terminal_value(state) is not None:
            raise ValueError("the game is over: there is no move to choose")
        scores = self.scores(game, state, exact=self._rng is not None)
        best = max(scores.values())
        choices = [action for action, score in scores.items() if score == best]
        return choices[0] if self._rng is None else int(self._rng.choice(choices))

    def scores(self, game: Game, state: np.ndarray, *, exact: bool = True) -> dict[int, int]:
        """Value of each legal action for the side to move.

        With `exact=False` the values of moves that are not the best may be upper bounds, found sooner; the first
        action with the highest value is a best move either way.
        """
        raise NotImplementedError


class Connect4MinimaxOpponent(ScoringOpponent):
    """Alpha-beta to a fixed depth on any columns x rows x inarow; of equal moves the one nearest the centre."""

    def scores(self, game: Connect4, state: np.ndarray, *, exact: bool = True) -> dict[int, int]:
        geometry = game.geometry
        own, opp = game.boards(state)
        compiled = self.compiled and geometry.fits_64_bits
        search = build(alpha_beta, compiled, **geometry.constants)
        memory, handle = memory_block(1, compiled)
        moves = playable(own | opp, geometry.bottom, geometry.board)
        scores = {}
        for i in range(geometry.columns):
            column = centre_first(i, geometry.columns)
            move = moves & column_cells(column, geometry.rows)
            if move:
                alpha = -WIN if exact else max(scores.values(), default=-WIN)
                scores[column] = -search(opp, own | move, self.depth - 1, -WIN, -alpha, handle)
        self.nodes = int(memory[0])
        return scores
