"""The engine's static evaluation: named terms, each a handful of shifts and popcounts, none a loop over cells.

Every value is seen from the side to move. `lines` and `centre` are antisymmetric: swapping the two sides changes the
sign. `threats` is not, and cannot be: who moves next decides what a playable winning cell is worth. One's own is a
win to be taken; the opponent's single one can still be blocked and costs nothing, two of them cannot.
"""

from ..bits import popcount, run_starts
from ..games.connect4 import column_cells, playable, winning_cells
from ..jit import inline

OWN_FORK = 950  # two winning cells playable now
OWN_THREAT = 500  # one winning cell playable now
OPPONENT_FORK = -950
CENTRE = 4  # a stone in the centre column, or in either of two
NEAR_CENTRE = 2  # a stone in a column beside it

WIN = 1_000_000  # above any evaluation; a game won with the n-th stone on the board is worth WIN - n to the winner
DECIDED = WIN // 2  # a search score beyond it, either way, is a proven end of the game


@inline
def evaluate(own, opp, columns, rows, inarow, bottom, board):
    """Static value of a position where neither side has a line yet: the sum of the three terms below."""
    return (
        threats(own, opp, rows, inarow, bottom, board)
        + lines(own, opp, board, rows, inarow)
        + centre(own, opp, columns, rows)
    )


@inline
def threats(own, opp, rows, inarow, bottom, board):
    """What the winning cells playable now are worth to the side to move. Not antisymmetric, see above."""
    mask = own | opp
    moves = playable(mask, bottom, board)
    value = 0
    mine = winning_cells(own, mask, board, rows, inarow) & moves
    if mine != 0:
        value += OWN_FORK if mine & (mine - 1) != 0 else OWN_THREAT
    theirs = winning_cells(opp, mask, board, rows, inarow) & moves
    if theirs & (theirs - 1) != 0:
        value += OPPONENT_FORK
    return value


@inline
def lines(own, opp, board, rows, inarow):
    """Windows that hold stones of one side only count the square of their number; own minus the opponent's."""
    return (
        _lines_along(own, opp, board, 1, inarow)
        + _lines_along(own, opp, board, rows, inarow)
        + _lines_along(own, opp, board, rows + 1, inarow)
        + _lines_along(own, opp, board, rows + 2, inarow)
    )


@inline
def _lines_along(own, opp, board, step, inarow):
    mine = _squares(own, run_starts(board & ~opp, step, inarow), step, inarow)
    return mine - _squares(opp, run_starts(board & ~own, step, inarow), step, inarow)


@inline
def _squares(stones, windows, step, inarow):
    """Sum over windows, each given by its first cell, of the square of the number of stones inside (not a line)."""
    if inarow == 4:  # add up the four cells of all windows at once, in binary: ones and twos
        odd = stones ^ (stones >> step)
        both = stones & (stones >> step)
        ones = windows & (odd ^ (odd >> (2 * step)))
        twos = windows & (both | (both >> (2 * step)) | (odd & (odd >> (2 * step))))
        return popcount(ones) + 4 * (popcount(twos) + popcount(ones & twos))
    # the square counts ordered pairs: every stone with itself, and every pair of stones twice
    singles = 0
    pairs = 0
    for first in range(inarow):
        one = windows & (stones >> (first * step))
        singles += popcount(one)
        for second in range(first + 1, inarow):
            pairs += popcount(one & (stones >> (second * step)))
    return singles + 2 * pairs


@inline
def centre(own, opp, columns, rows):
    """Stones in the centre column weigh 4 and those beside it 2 (an even board has two centre columns)."""
    left = (columns - 1) // 2
    right = columns // 2
    middle = column_cells(left, rows) | column_cells(right, rows)
    value = CENTRE * (popcount(own & middle) - popcount(opp & middle))
    if left > 0:
        beside = column_cells(left - 1, rows) | column_cells(right + 1, rows)
        value += NEAR_CENTRE * (popcount(own & beside) - popcount(opp & beside))
    return value
