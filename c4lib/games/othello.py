"""Othello in bits, on 8 x 8, 6 x 6 or 4 x 4.

A position is `(own, opp)`: the discs of the side to move and of the other side. Cells are numbered row by row from
the top left, as the squares a1, b1, ... of the usual board, which takes all 64 bits of a machine integer:

         a  b  c  d  e  f  g  h
    1    0  1  2  3  4  5  6  7
    2    8  9 10 11 12 13 14 15
    3   16 17 18 19 20 21 22 23
    4   24 25 26 27 28 29 30 31      The game begins with the first player (black) on e4 and d5,
    5   32 33 34 35 36 37 38 39      the second player (white) on d4 and e5.
    6   40 41 42 43 44 45 46 47
    7   48 49 50 51 52 53 54 55
    8   56 57 58 59 60 61 62 63

So one step right is +1, down +size, and along the diagonals +(size - 1) and +(size + 1). A move flips the runs of
opponent's discs between the new disc and another of its side. A disc in such a run has neighbours on both sides, so
it never lies on the edges that its line runs into: shifts that start from those other cells only cannot wrap around.

That makes signed integers safe too, which compiled kernels and arrays have. Bit 63 is their sign, and shifting right
copies it downwards; but no run holds it, and what else is shifted right is masked to such cells at once.

The functions below work on Python integers, on arrays of int64 (of uint64: their `view`), and compiled inside kernels.
A fill steps by one cell twice and then by pairs, a parallel prefix of one stage, as in Othello programs such as Edax
(Richard Delorme); the fills of chess programs double every step (Kogge and Stone 1973).
"""

import numpy as np

from ..bits import popcount, signed
from ..jit import HAVE_NUMBA, build, compile_function, inline, kernel
from .base import Game, boards_array

SIZES = (4, 6, 8)


def axes(size: int) -> tuple[tuple[int, int], ...]:
    """The four lines through a cell: one step along each, and the cells where a disc can be flipped along it."""
    inner = range(1, size - 1)
    columns = sum(1 << row * size + column for row in range(size) for column in inner)
    rows = sum(1 << row * size + column for row in inner for column in range(size))
    return (1, columns), (size, rows), (size - 1, columns & rows), (size + 1, columns & rows)


AXES = axes(8)  # constant of the kernels, replaced by `build` for other boards


@inline
def fill_up(start, between, step):
    """The runs of `between` that begin one step after a disc of `start`, up to six long."""
    run = (start << step) & between
    run = run | ((run << step) & between)
    pairs = between & (between << step)
    run = run | ((run << (2 * step)) & pairs)
    return run | ((run << (2 * step)) & pairs)


@inline
def fill_down(start, between, step):
    """The runs of `between` that end one step before a disc of `start`, up to six long."""
    run = (start >> step) & between
    run = run | ((run >> step) & between)
    pairs = between & (between >> step)
    run = run | ((run >> (2 * step)) & pairs)
    return run | ((run >> (2 * step)) & pairs)


@inline
def legal_moves(own, opp, axes):
    """The empty cells where a disc flips something."""
    moves = own ^ own  # nothing, of the board's own kind
    for step, inner in axes:
        between = opp & inner
        moves |= fill_up(own, between, step) << step
        moves |= fill_down(own, between, step) >> step
    return moves & ~(own | opp)


@inline
def flips(move, own, opp, axes):
    """The discs of `opp` that turn over for a new disc on the empty cell `move`; none for no cell.

    They are the runs that begin at the move and end at an own disc: what both can reach, towards each other.
    """
    flipped = own ^ own
    for step, inner in axes:
        between = opp & inner
        flipped |= fill_up(move, between, step) & fill_down(own, between, step)
        flipped |= fill_down(move, between, step) & fill_up(own, between, step)
    return flipped


@inline
def played(own, opp, move, axes):
    """The boards after a legal move, swapped; `move` is a cell's bit, or 0 for a pass."""
    flipped = flips(move, own, opp, axes)
    return opp ^ flipped, own ^ flipped ^ move


@kernel
def perft(own, opp, plies):
    """Number of ways to play on for exactly `plies` plies, a pass being one; a finished game cannot be played on.

    Published tables count a finished game as one at every greater depth, which makes a difference from ply 10 on.
    """
    if plies == 0:
        return 1
    moves = legal_moves(own, opp, AXES)
    if moves == 0:
        if legal_moves(opp, own, AXES) == 0:
            return 0
        return perft(opp, own, plies - 1)
    if plies == 1:
        return popcount(moves)
    games = 0
    while moves:
        move = moves & -moves
        there, here = played(own, opp, move, AXES)
        games += perft(there, here, plies - 1)
        moves ^= move
    return games


def words(boards: tuple[int, int], compiled: bool = True) -> tuple[int, int]:
    """Boards as a kernel takes them: where it is compiled, as signed machine integers; interpreted, as they are."""
    own, opp = boards
    return (signed(own), signed(opp)) if compiled and HAVE_NUMBA else (own, opp)


def _each_legal(own, opp, axes):
    """`legal_moves` of every position of two arrays, one after the other."""
    moves = np.empty_like(own)
    for i in range(len(own)):
        moves[i] = legal_moves(own[i], opp[i], axes)
    return moves


def _each_played(own, opp, move, axes):
    """`played` of every position of two arrays, one after the other."""
    there, here = np.empty_like(own), np.empty_like(own)
    for i in range(len(own)):
        there[i], here[i] = played(own[i], opp[i], move[i], axes)
    return there, here


# Compiled, a pass over 256 positions is forty times faster than numpy, which makes many passes.
legal_of_many = compile_function(_each_legal, None) if HAVE_NUMBA else legal_moves
played_of_many = compile_function(_each_played, None) if HAVE_NUMBA else played


class Othello(Game):
    """Othello as arrays. An action is a cell, row by row from 0; the one after the last cell is a pass.

    A pass is legal only where there is no other move and the game goes on. The game ends when neither side can move,
    and who has more discs wins.

    Because of passes the discs do not tell whose turn it is. So a state is two boards, shape `(2, size, size)`: the
    discs, and a plane filled with +1 where the first player is to move, with -1 where the second is. Symmetries turn
    it like any planes, and seen from the mover the second board is the plane of ones that `encode` shows.

    `boards` leave out which side is which, for the rules treat both alike: a position and the same with colours
    exchanged are one to those who search and learn. `state` returns them in the colours that they have before
    anybody has passed.

    Raises ValueError for a size other than 4, 6 and 8.
    """

    def __init__(self, size: int = 8):
        if size not in SIZES:
            raise ValueError(f"Othello is played here on boards of size {', '.join(map(str, SIZES))}, not {size!r}")
        self.size = size = int(size)
        self.cells, self.axes = size * size, axes(size)
        self.name = "othello" if size == 8 else f"othello{size}"
        self.input_shape = (3, size, size)
        self.action_size = self.cells + 1
        self._moves = np.zeros(self.action_size, np.int64)  # the bit of each action; none for the pass
        self._moves[:-1] = (np.uint64(1) << np.arange(self.cells, dtype=np.uint64)).view(np.int64)
        order = np.arange(self.cells).reshape(size, size)
        self._orders = [np.append(image, self.cells) for image in _images(order)]  # of the actions, by symmetry

    def initial_state(self) -> np.ndarray:
        before, after = self.size // 2 - 1, self.size // 2
        state = np.ones((2, self.size, self.size), np.int8)
        state[0] = 0
        state[0, [before, after], [after, before]] = 1
        state[0, [before, after], [before, after]] = -1
        return state

    def current_player(self, state: np.ndarray) -> int:
        return int(state[1, 0, 0])

    def discs(self, state: np.ndarray) -> tuple[int, int]:
        """How many discs the first player has, and the second."""
        return int(np.count_nonzero(state[0] == 1)), int(np.count_nonzero(state[0] == -1))

    def legal_actions_mask(self, state: np.ndarray) -> np.ndarray:
        own, opp = self.boards(state)
        moves = legal_moves(own, opp, self.axes)
        passes = not moves and legal_moves(opp, own, self.axes) != 0
        return np.append(self._bits(*boards_array([(moves, 0)]))[0], passes)

    def apply(self, state: np.ndarray, action: int) -> np.ndarray:
        if not 0 <= action < self.action_size or action != int(action):
            raise ValueError(f"action {action} does not exist: cells are 0 to {self.cells - 1}, {self.cells} is a pass")
        action = int(action)
        if not self.legal_actions_mask(state)[action]:
            if action == self.cells:
                raise ValueError(f"a pass ({action}) is only for a side that cannot move while the other one can")
            raise ValueError(f"cell {action} is taken" if state[0].flat[action] else f"cell {action} flips no disc")
        move = 1 << action if action < self.cells else 0
        return self._state(*played(*self.boards(state), move, self.axes), -self.current_player(state))

    def terminal_value(self, state: np.ndarray) -> float | None:
        own, opp = self.boards(state)
        if legal_moves(own, opp, self.axes) or legal_moves(opp, own, self.axes):
            return None
        return float(np.sign(popcount(own) - popcount(opp)))

    def boards(self, state: np.ndarray) -> tuple[int, int]:
        discs = self.canonical_state(state)[0]
        packed = (np.packbits(discs == player, bitorder="little") for player in (1, -1))
        own, opp = (int.from_bytes(board.tobytes(), "little") for board in packed)
        return own, opp

    def state(self, own: int, opp: int) -> np.ndarray:
        """A state of these boards; which side is the first player they do not say, see above."""
        return self._state(own, opp, 1 if popcount(own | opp) % 2 == 0 else -1)

    def _state(self, own, opp, mover):
        own, opp = self._bits(*boards_array([(own, opp)])).reshape(2, self.size, self.size).astype(np.int8)
        return np.stack([mover * (own - opp), np.full_like(own, mover)])

    def encode(self, state: np.ndarray) -> np.ndarray:
        discs, ones = self.canonical_state(state)
        return np.stack([discs == 1, discs == -1, ones]).astype(np.float32)

    def symmetries(self, planes: np.ndarray, policy: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(image, policy[..., order]) for image, order in zip(_images(planes), self._orders, strict=True)]

    def play_boards(self, own: np.ndarray, opp: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return played_of_many(own, opp, self._moves[actions], self.axes)

    def legal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        moves = legal_of_many(own, opp, self.axes)
        legal = np.zeros((len(own), self.action_size), bool)
        legal[:, :-1] = self._bits(moves)
        stuck = np.flatnonzero(moves == 0)
        legal[stuck, -1] = legal_of_many(opp[stuck], own[stuck], self.axes) != 0
        return legal

    def terminal_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        moves = legal_of_many(own, opp, self.axes)
        values = np.full(len(own), np.nan, np.float32)
        over = np.flatnonzero(moves == 0)
        over = over[legal_of_many(opp[over], own[over], self.axes) == 0]
        # of signed integers numpy would count the bits of the absolute value
        mine, others = (np.bitwise_count(boards[over].view(np.uint64)).astype(int) for boards in (own, opp))
        values[over] = np.sign(mine - others)
        return values

    def encode_boards(self, own: np.ndarray, opp: np.ndarray) -> np.ndarray:
        planes = np.ones((len(own), *self.input_shape), np.float32)
        for plane, discs in enumerate((own, opp)):
            planes[:, plane] = self._bits(discs).reshape(-1, self.size, self.size)
        return planes

    def _bits(self, *boards):
        """The cells of some arrays of boards, one below the other: bool, shape `(n, cells)`."""
        octets = np.concatenate(boards).astype("<i8", copy=False).view(np.uint8).reshape(-1, 8)
        return np.unpackbits(octets, axis=1, count=self.cells, bitorder="little").view(bool)

    def perft(self, own: int, opp: int, plies: int) -> int:
        """Number of games of exactly `plies` plies from a position."""
        return build(perft, AXES=self.axes)(*words((own, opp)), plies)


def _images(grids):
    """Grids (the last two axes) in all eight ways to lay a board: four turns of it, and four of its reflection."""
    return [np.rot90(grid, turns, axes=(-2, -1)) for grid in (grids, grids[..., ::-1]) for turns in range(4)]
