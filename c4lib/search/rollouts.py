"""Plain Monte Carlo tree search: no knowledge but the rules, and the results of random games.

UCT after Kocsis and Szepesvari 2006: walk down the tree by the upper confidence bound UCB1 (Auer et al. 2002), add one
node, play a random game from it, and carry the result up.
"""

from math import log, sqrt

import numpy as np

from ..games.connect4 import BOARD, BOTTOM, INAROW, ROWS, Connect4, has_line, playable
from ..jit import build, inline, kernel, load, memory_block, popcount, store

RANDOM = 0  # word of the memory: state of the random numbers, 32 bits, never 0
SIZE = 1  # nodes in the tree
TREE = 2  # from here on the nodes, NODE words each; the root is the first
NODE = 5
VISITS, POINTS, MOVE = 0, 1, 2  # of a node: POINTS are half points of the side that moved here
PARENT, FIRST = 3, 4  # nodes above it, and below it the first child; 0 for none


@inline
def _random(memory):
    """The next of 2**32 - 1 numbers from 1 (xorshift, Marsaglia 2003)."""
    x = load(memory, RANDOM)
    x ^= (x << 13) & 0xFFFFFFFF
    x ^= x >> 17
    x ^= (x << 5) & 0xFFFFFFFF
    store(memory, RANDOM, x)
    return x


@inline
def _random_game(own, opp, memory):
    """Half points, 2, 1 or 0, of the side to move in a game of random moves; nobody has a line yet."""
    points = 2
    while True:
        moves = playable(own | opp, BOTTOM, BOARD)
        if moves == 0:
            return 1
        for _ in range((_random(memory) * popcount(moves)) >> 32):
            moves &= moves - 1
        own |= moves & -moves
        if has_line(own, ROWS, INAROW):
            return points
        own, opp = opp, own
        points = 2 - points


@inline
def _best_child(node, exploration, memory):
    """The child with the highest bound, the first of equals; one that was never visited comes before all others."""
    total = log(load(memory, node + VISITS))
    best, best_bound = 0, -1.0
    child = load(memory, node + FIRST)
    while load(memory, child + MOVE) != 0:
        visits = load(memory, child + VISITS)
        if visits == 0:
            return child
        bound = load(memory, child + POINTS) / (2 * visits) + exploration / 1000 * sqrt(total / visits)
        if bound > best_bound:
            best, best_bound = child, bound
        child += NODE
    return best


@kernel
def uct(own, opp, simulations, exploration, memory):
    """Grow the tree of a position, in which a move can be made, by so many simulations; returns the most visited move.

    The move is its bit; the first of equals. `exploration` is the constant of UCB1, in thousandths.
    """
    for word in range(NODE):
        store(memory, TREE + word, 0)
    store(memory, SIZE, 1)
    for _ in range(simulations):
        me, you = own, opp
        node = TREE
        over = False
        while load(memory, node + VISITS) and not over:
            if load(memory, node + FIRST) == 0:
                child = TREE + NODE * load(memory, SIZE)
                store(memory, node + FIRST, child)
                moves = playable(me | you, BOTTOM, BOARD)
                while True:  # the children, and a node without a move to end their row
                    for word in range(NODE):
                        store(memory, child + word, 0)
                    store(memory, child + MOVE, moves & -moves)
                    store(memory, child + PARENT, node)
                    store(memory, SIZE, load(memory, SIZE) + 1)
                    if moves == 0:
                        break
                    moves &= moves - 1
                    child += NODE
            node = _best_child(node, exploration, memory)
            me, you = you, me | load(memory, node + MOVE)
            over = has_line(you, ROWS, INAROW) or playable(me | you, BOTTOM, BOARD) == 0
        points = 2 if has_line(you, ROWS, INAROW) else 2 - _random_game(me, you, memory)
        while node != 0:
            store(memory, node + VISITS, load(memory, node + VISITS) + 1)
            store(memory, node + POINTS, load(memory, node + POINTS) + points)
            points = 2 - points
            node = load(memory, node + PARENT)
    best, most = 0, -1
    child = load(memory, TREE + FIRST)
    while load(memory, child + MOVE) != 0:
        if load(memory, child + VISITS) > most:
            best, most = load(memory, child + MOVE), load(memory, child + VISITS)
        child += NODE
    return best


class RolloutAgent:
    """A player by plain Monte Carlo tree search: `agent(game, state) -> column`, for any columns x rows x inarow.

    Args:
        simulations: of each search, at least 2.
        seed: of its random games; None for others every time.
        exploration: the constant of UCB1: how much a move is tried because it was tried little.
        compiled: use the compiled kernel where the board allows it.

    Attributes:
        nodes: simulations of the last move.
    """

    def __init__(
        self, simulations: int = 1000, *, seed: int | None = None, exploration: float = 1.0, compiled: bool = True
    ):
        if isinstance(simulations, bool) or not isinstance(simulations, (int, np.integer)) or simulations < 2:
            raise ValueError(f"simulations must be a whole number of at least 2, not {simulations!r}")
        self.simulations, self.exploration, self.compiled = int(simulations), exploration, compiled
        self.nodes = 0
        self._rng = np.random.default_rng(seed)

    def __call__(self, game: Connect4, state: np.ndarray) -> int:
        if game.terminal_value(state) is not None:
            raise ValueError("the game is over: there is no move to choose")
        return self.search(game, state)[0]

    def search(self, game: Connect4, state: np.ndarray) -> tuple[int, dict[int, tuple[int, float]]]:
        """The column to play, and by column its visits and the points of a game there, from 0 to 1."""
        geometry = game.geometry
        compiled = self.compiled and geometry.fits_64_bits
        words = TREE + NODE * (2 + self.simulations * (geometry.columns + 1))
        memory, handle = memory_block(words, compiled, zeroed=False)
        memory[RANDOM] = int(self._rng.integers(1, 1 << 32))
        search = build(uct, compiled, **geometry.constants)
        move = search(*game.boards(state), self.simulations, round(1000 * self.exploration), handle)
        self.nodes = self.simulations

        def column(move):
            return (int(move).bit_length() - 1) // geometry.height

        children = {}
        child = int(memory[TREE + FIRST])
        while memory[child + MOVE]:
            visits, points = int(memory[child + VISITS]), int(memory[child + POINTS])
            children[column(memory[child + MOVE])] = visits, points / (2 * visits) if visits else 0.0
            child += NODE
        return column(move), children
