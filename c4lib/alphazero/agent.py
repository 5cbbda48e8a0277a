"""The player: a network and a search, as any agent of the lab is called."""

from pathlib import Path
from typing import Any

import numpy as np

from ..games.base import Game, boards_array
from .config import Config
from .mcts import PLAY_C_PUCT, Cache, Evaluate, Forest, Search, root_noise, search
from .net import AlphaZeroNet, Evaluator
from .run_folder import find_weights

AT_ONCE = 256  # positions that are searched together


class AlphaZeroAgent:
    """Plays the most visited move of a search without noise: a callable `(game, state) -> action`.

    Args:
        net: a network; the path of its weights, of a checkpoint, or of a run (then its latest checkpoint); or
            anything else that evaluates planes, see `mcts.Evaluate`.
        game: the game that it plays; ValueError where a network is of another shape.
        num_simulations: of each search; 0 for none: the legal move that the network's policy likes best.
        device, dtype: of a network or path, see `net.choose_backend`.
        cache_positions: evaluations kept from move to move.
        options: other keys of `Config` for the search; `c_puct` is `PLAY_C_PUCT` where it is not among them.

    Attributes:
        search: the `Search` of the last call, values for the side that was to move; None before the first, and
            where there are no simulations.
    """

    def __init__(
        self,
        net: AlphaZeroNet | str | Path | Evaluate,
        game: Game,
        num_simulations: int = 100,
        *,
        device: str = "auto",
        dtype: str = "auto",
        cache_positions: int = 131_072,
        **options: Any,
    ):
        if isinstance(net, (str, Path)):
            net = AlphaZeroNet.load(find_weights(net))
        if isinstance(net, AlphaZeroNet):
            if not net.fits(game):
                raise ValueError(f"the network is not of {game.name}: its shape is {net.shape}")
            net = Evaluator(net, device, dtype)
        self.evaluate = net
        self.num_simulations = num_simulations
        self.search: Search | None = None
        self._shape = _shape(game)
        options = {"fast_simulations": 1, "c_puct": PLAY_C_PUCT, **options, "cache_positions": cache_positions}
        self._config = Config(game=game.name, num_simulations=num_simulations or 1, **options)
        self._options = options
        self._cache = Cache(cache_positions, game.action_size) if cache_positions else None

    def __call__(self, game: Game, state: np.ndarray) -> int:
        """The move to play. Raises ValueError for a finished game, or one of another shape."""
        if not self.num_simulations:
            return self.choose(game, [state])[0]
        self._check(game)
        found = search(game, self.evaluate, state, self.num_simulations, cache=self._cache, **self._options)
        self.search = found
        return found.action

    def choose(self, game: Game, states: list[np.ndarray]) -> list[int]:
        """The move to play in each of many states: the same searches, side by side, which is many times faster."""
        self._check(game)
        own, opp = boards_array([game.boards(state) for state in states])
        actions = []
        for start in range(0, len(states), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            if not self.num_simulations:
                actions += self._by_policy(game, own[part], opp[part])
                continue
            n = len(own[part])
            forest = Forest(game, self.evaluate, self._config, n, self._cache)
            noise = root_noise(game, self._config, own[part], opp[part], [None] * n)
            forest.begin(np.arange(n), own[part], opp[part], self.num_simulations, **noise)
            forest.run()
            actions += forest.best_actions().tolist()
        return actions

    def _by_policy(self, game, own, opp):
        """The likeliest legal moves; a search would find a finished game by itself."""
        if not np.isnan(game.terminal_boards(own, opp)).all():
            raise ValueError("a finished game has no move to play")
        logits, _ = self.evaluate(game.encode_boards(own, opp))
        return np.where(game.legal_boards(own, opp), logits, -np.inf).argmax(axis=1).tolist()

    def forget(self):
        """Clear the evaluations kept: for when the network behind `evaluate` has been changed."""
        if self._cache is not None:
            self._cache.clear()

    def _check(self, game):
        if _shape(game) != self._shape:
            raise ValueError(f"this agent plays another game than {game.name}: planes and actions are {self._shape}")


def _shape(game):
    return tuple(game.input_shape), game.action_size
