"""One name, one agent. An agent is any callable `(game, state) -> action`."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from . import paths
from .games import make_game
from .games.base import Game
from .games.connect4 import STANDARD, Connect4
from .games.othello import Othello
from .search.book import Book
from .search.minimax import Connect4MinimaxOpponent, ScoringOpponent
from .search.negamax import Engine, SearchOptions, SearchResult
from .search.othello import OthelloGreedyOpponent, OthelloMinimaxOpponent
from .search.perfect import PerfectMove, PerfectPlayer
from .search.rollouts import RolloutAgent
from .search.solver import shared_solver

Agent = Callable[[Game, np.ndarray], int]


class RandomAgent:
    """Plays every legal action with the same chance."""

    def __init__(self, seed: int | None = None):
        self._rng = np.random.default_rng(seed)

    def __call__(self, game: Game, state: np.ndarray) -> int:
        return int(self._rng.choice(np.flatnonzero(game.legal_actions_mask(state))))


class EngineAgent:
    """Plays the full-stack engine for a fixed wall-clock time a move, keeping its table from move to move.

    Attributes:
        result: the `SearchResult` of the last move, None before the first.
    """

    def __init__(self, seconds: float, options: SearchOptions | None = None):
        self.seconds = seconds
        self.options = options or SearchOptions()
        self.result: SearchResult | None = None
        self._engine: Engine | None = None

    def __call__(self, game: Connect4, state: np.ndarray) -> int:
        if self._engine is None or self._engine.geometry != game.geometry:
            self._engine = Engine(game.geometry, self.options)
        self.result = self._engine.search(*game.boards(state), seconds=self.seconds)
        return self.result.move


class PerfectAgent:
    """Plays exactly, by the opening book and the solver, keeping the solver's table from move to move.

    Args:
        seconds: wall-clock time for a move; None: whatever an exact answer takes.

    Attributes:
        result: the `PerfectMove` of the last move, None before the first.
    """

    def __init__(self, seconds: float | None = None):
        self.seconds = seconds
        self.result: PerfectMove | None = None
        self._player: PerfectPlayer | None = None

    def __call__(self, game: Connect4, state: np.ndarray) -> int:
        if self._player is None or self._player.geometry != game.geometry:
            book = opening_book() if game.geometry == STANDARD else None
            self._player = PerfectPlayer(game.geometry, book)
        self.result = self._player.search(*game.boards(state), seconds=self.seconds)
        return self.result.move


class VariedPerfectAgent:
    """Plays any of the exactly best columns, each with the same chance; slower, since it wants to know all of them."""

    def __init__(self, seed: int | None = None):
        self._rng = np.random.default_rng(seed)
        self._best: dict[tuple[int, int], tuple[int, ...]] = {}

    def __call__(self, game: Connect4, state: np.ndarray) -> int:
        boards = game.boards(state)
        if boards not in self._best:
            self._best[boards] = shared_solver(game.geometry).analyse(boards).best_moves
        return int(self._rng.choice(self._best[boards]))


class KaggleNegamax:
    """The `negamax` that Kaggle's ConnectX ships: four plies and a move, in Python. It needs kaggle-environments."""

    def __init__(self, seed: int | None = None):
        from kaggle_environments.envs.connectx import connectx  # takes seconds, and not everyone has it

        self._connectx, self._rng = connectx, random.Random(seed)

    def __call__(self, game: Connect4, state: np.ndarray) -> int:
        geometry = game.geometry
        board = (state.ravel() % 3).astype(int).tolist()  # 1 and 2 for the players, row by row from the top
        seen = SimpleNamespace(board=board, mark=1 if game.current_player(state) == 1 else 2)
        self._connectx.choice = self._rng.choice  # of equal moves, in place of one from the process's generator
        sizes = SimpleNamespace(columns=geometry.columns, rows=geometry.rows, inarow=geometry.inarow)
        return int(self._connectx.negamax_agent(seen, sizes))


@cache
def opening_book() -> Book:
    """The book that comes with the lab; ValueError or OSError where its file is damaged or missing."""
    return Book.load(paths.BOOK)


Maker = Callable[[Game, str, int | None], Agent]  # of a game, an argument and a seed


def _plain(kind: str, agent: Callable[..., Agent]) -> Maker:
    def make(game, argument, seed):
        if argument:
            raise ValueError(f"{kind} takes no argument")
        return agent(seed=seed)

    return make


def _minimax(opponent: type[ScoringOpponent]) -> Maker:
    def make(game, argument, seed):
        if not argument.isdecimal() or int(argument) < 1:
            raise ValueError(f"minimax wants a depth in plies, as in minimax:8, not {argument!r}")
        return opponent(int(argument), seed=seed)

    return make


def _engine(game: Game, argument: str, seed: int | None) -> Agent:
    return EngineAgent(_seconds("engine", argument))


def _mcts(game: Game, argument: str, seed: int | None) -> Agent:
    if not argument.isdecimal() or int(argument) < 2:
        raise ValueError(f"mcts wants simulations, at least 2, as in mcts:1000, not {argument!r}")
    return RolloutAgent(int(argument), seed=seed)


def _kaggle(game: Game, argument: str, seed: int | None) -> Agent:
    if argument != "negamax":
        raise ValueError(f"of Kaggle's own agents there is kaggle:negamax, not {argument!r}")
    return KaggleNegamax(seed)


def _perfect(game: Game, argument: str, seed: int | None) -> Agent:
    if argument == "varied":
        return VariedPerfectAgent(seed)
    return PerfectAgent(_seconds("perfect", argument) if argument else None)


def _alphazero(game: Game, argument: str, seed: int | None) -> Agent:
    # torch takes seconds to import
    from .alphazero.agent import AlphaZeroAgent
    from .alphazero.run_folder import find_weights

    name, _, simulations = argument.rpartition("@") if "@" in argument else (argument, "", "100")
    if not name or not simulations.isdecimal():
        raise ValueError(f"alphazero wants a model and simulations, as in alphazero:connect4@400, not {argument!r}")
    kept = (paths.MODELS / f"{name}.safetensors").is_file() or not Path(name).exists()
    return AlphaZeroAgent(paths.model(name) if kept else find_weights(name), game, int(simulations))


def _seconds(kind, argument):
    try:
        seconds = float(argument.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise ValueError(f"{kind} wants seconds a move, as in {kind}:1.5, not {argument!r}")
    return seconds


# For every game, and for those of a class: by kind, how the name is written and what makes an agent of what follows the
# colon.
AGENTS: dict[type[Game], dict[str, tuple[str, Maker]]] = {
    Game: {
        "random": ("random", _plain("random", RandomAgent)),
        "alphazero": ("alphazero:MODEL@SIMULATIONS", _alphazero),
    },
    Connect4: {
        "minimax": ("minimax:DEPTH", _minimax(Connect4MinimaxOpponent)),
        "engine": ("engine:SECONDS", _engine),
        "mcts": ("mcts:SIMULATIONS", _mcts),
        "kaggle": ("kaggle:negamax", _kaggle),
        "perfect": ("perfect, perfect:SECONDS, perfect:varied", _perfect),
    },
    Othello: {
        "minimax": ("minimax:DEPTH", _minimax(OthelloMinimaxOpponent)),
        "greedy": ("greedy", _plain("greedy", OthelloGreedyOpponent)),
    },
}


def make_agent(name: str, *, seed: int | None = None, game: str = "connect4") -> Agent:
    """The agent of a name such as "random", "minimax:8" or "engine:1.5".

    Args:
        name: a kind and, after a colon, its argument.
        seed: for the agents that draw lots: `random`; `mcts` in its random games; `perfect:varied` among the best
            moves; `kaggle:negamax`, `minimax` and `greedy` among those that they hold for equally good (without a
            seed the two take the first: the column nearest the centre, or the top left cell).
        game: name of the game that it is to play.

    The model of `alphazero` is a file in data/models, or else the path of weights, a checkpoint, or a run; with 0
    simulations the network's policy plays as it is.

    Raises:
        ValueError: an unknown name, a wrong argument, or one that does not play the game; the message says what is
            allowed.
    """
    rules = make_game(game)
    kinds = {}
    for kind_of_game, theirs in AGENTS.items():
        if isinstance(rules, kind_of_game):
            kinds |= theirs
    kind, _, argument = name.partition(":")
    if kind not in kinds:
        known = ", ".join(pattern for pattern, _ in kinds.values())
        raise ValueError(f"unknown agent {name!r} for {game}; known are {known}")
    _, make = kinds[kind]
    return make(rules, argument, seed)
