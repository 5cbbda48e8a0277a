"""The player inside the AlphaZero submission: that of `agent`, with a network and the tree search before the engine."""

import base64
import statistics
import time
import timeit
from typing import NamedTuple

import numpy as np

from ..alphazero.config import Config
from ..alphazero.mcts import PLAY_C_PUCT, Evaluate, Forest
from ..alphazero.plain_net import PlainNet, TorchNet, unpack
from ..games.connect4 import STANDARD, Connect4, Geometry
from . import agent

NETWORK = "network.npz"
SIMULATIONS = "simulations.txt"  # a number: of a search at most
CHUNK = 16  # simulations between two looks at the clock; no more than one of them waits for the network


class Player(agent.Player):
    """Plays the most visited move of a search without noise, as long as the clock allows.

    The engine plays on other boards than the network's, where the time bank is too small for loading, and where
    anything is wrong with the network.
    """

    def make_engine(self, geometry: Geometry, compiled: bool):
        if compiled and geometry == STANDARD:  # without numba interpreted: most of the time is the network's
            try:
                simulations = int(base64.b64decode(self._files[SIMULATIONS]))
                search = TreeSearch(geometry, self._network(geometry), simulations)
                search.search(0, 0, seconds=0.0)  # compiled now, not when the clock of a move is running
                return search
            except Exception as failure:
                self._survive(failure)
        return super().make_engine(geometry, compiled)

    def _network(self, geometry) -> Evaluate:
        """The network that came with the submission, computed by torch where that is there and faster than numpy."""
        weights = unpack(base64.b64decode(self._files[NETWORK]))
        if tuple(weights["input_shape"]) != Connect4(*geometry).input_shape:
            raise ValueError(f"the network is of another board than {geometry}")
        plain = PlainNet(weights)
        try:
            return min(plain, TorchNet(weights), key=_seconds)
        except ImportError:
            return plain
        except Exception as failure:  # torch is there, and broken
            self._survive(failure)
            return plain


def _seconds(network: Evaluate) -> float:
    """What the evaluation of one position takes on this machine."""
    planes = np.zeros((1, *Connect4(*STANDARD).input_shape), np.float32)
    return statistics.median(timeit.repeat(lambda: network(planes), number=1, repeat=20))


class TreeMove(NamedTuple):
    """A move, and the search behind it."""

    move: int  # column
    simulations: int


class TreeSearch:
    """The lab's tree search under a clock: it can stand wherever an `Engine` can.

    Args:
        geometry: the board.
        evaluate: the network, see `mcts.Forest`.
        simulations: of a search at most.
    """

    def __init__(self, geometry: Geometry, evaluate: Evaluate, simulations: int):
        self.geometry = geometry
        config = Config(game="connect4", num_simulations=simulations, fast_simulations=1, c_puct=PLAY_C_PUCT)
        self._forest = Forest(Connect4(*geometry), evaluate, config, n_trees=1)

    def search(self, own: int, opp: int, *, seconds: float) -> TreeMove:
        """The move to play, after as many simulations as fit into `seconds`, but one at least.

        Raises ValueError where the game is over.
        """
        end = time.monotonic() + seconds
        forest, trees = self._forest, self._forest.trees
        forest.begin(np.arange(1), np.array([own]), np.array([opp]), 1)
        while not trees.done[0] or (trees.done[0] < forest.capacity and time.monotonic() < end):
            trees.budget[0] = min(trees.done[0] + CHUNK, forest.capacity)
            forest.step()
        return TreeMove(int(forest.best_actions()[0]), int(trees.done[0]))
