"""Self-play: many games in lockstep, and what can be learned from them.

Each game has a random generator of its own, made of the seed and the game's number; so which games are played does
not depend on how many are played at a time, as far as the network's arithmetic does not.
"""

import itertools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ..games.base import Game
from ..progress import bar
from .config import Config
from .mcts import Cache, Evaluate, Forest, root_noise
from .net import AlphaZeroNet, Evaluator, network_threads

LEAST_BATCH = 32  # games that a worker plays at one time: with fewer another worker gains nothing


class Samples(NamedTuple):
    """Positions to learn from, `n` of them. Values are for the side to move."""

    own: np.ndarray  # (n,) int64: the position
    opp: np.ndarray
    policy: np.ndarray  # (n, A) float32: what the search recommends, a distribution over the legal actions
    outcome: np.ndarray  # (n,) float32: how the game ended: 1 won, 0 drawn, -1 lost; see `Config.outcome_decay`
    root_value: np.ndarray  # (n,) float32: what the search thought

    @classmethod
    def concatenate(cls, parts: list[Self]) -> Self:
        """All samples of some parts, in order."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Played:
    """Finished games, in the order of their numbers, whatever the order in which they ended."""

    samples: Samples  # game by game, ply by ply; of fast searches and random moves none
    results: np.ndarray  # (games,) int8: 1 where the first player won, 0 draw, -1
    moves: list[list[int]]  # the actions of each game, up to its end or to the proof of its result
    simulations: int  # of all searches
    evaluations: int  # asked of the network, in so many batches
    batches: int
    seconds: float

    @classmethod
    def concatenate(cls, parts: Sequence[Self], seconds: float) -> Self:
        """All games of some parts, in order, which took so many seconds together."""
        return cls(
            samples=Samples.concatenate([part.samples for part in parts]),
            results=np.concatenate([part.results for part in parts]),
            moves=[moves for part in parts for moves in part.moves],
            simulations=sum(part.simulations for part in parts),
            evaluations=sum(part.evaluations for part in parts),
            batches=sum(part.batches for part in parts),
            seconds=seconds,
        )

    @property
    def lengths(self) -> np.ndarray:
        """int: plies of each game."""
        return np.array([len(moves) for moves in self.moves])

    @property
    def statistics(self) -> dict[str, Any]:
        """The games in numbers.

        `games`, `positions` (samples), `simulations_per_second`, `evaluations_per_second`, `mean_length`,
        `first_wins`, `draws`, `second_wins` (shares of games), `policy_entropy` (mean of the targets, in nats),
        `value_error` (mean square of root value - outcome).
        """
        policy = self.samples.policy
        entropy = -(policy * np.log(np.where(policy > 0, policy, 1))).sum(axis=1)
        return {
            "games": len(self.moves),
            "positions": len(policy),
            "simulations_per_second": self.simulations / self.seconds,
            "evaluations_per_second": self.evaluations / self.seconds,
            "mean_length": float(self.lengths.mean()),
            "first_wins": float(np.mean(self.results == 1)),
            "draws": float(np.mean(self.results == 0)),
            "second_wins": float(np.mean(self.results == -1)),
            "policy_entropy": float(entropy.mean()),
            "value_error": float(np.mean((self.samples.root_value - self.samples.outcome) ** 2)),
        }


class _Table:
    """A game in play: its random numbers, its moves, and what was recorded."""

    def __init__(self, number: int, seed: int):
        self.number = number
        self.generator = np.random.default_rng([seed, number])
        self.moves: list[int] = []
        self.records: list[tuple] = []  # (ply, own, opp, policy, root value)
        self.values: dict[int, float] = {}  # of every search, by ply
        self.result: int | None = None  # for the first player, when the game has ended

    def end(self, value: float):
        """Note the value of the game for the side to move."""
        self.result = int(value) if len(self.moves) % 2 == 0 else -int(value)

    def outcomes(self, decay: float) -> dict[int, float]:
        """By ply, for its side to move: the game's result, or what `Config.outcome_decay` makes of it."""
        outcomes = {}
        outcome = self.result if len(self.moves) % 2 == 0 else -self.result
        for ply in sorted(self.values, reverse=True):
            if ply < len(self.moves):
                outcome = -outcome
            outcome = decay * outcome + (1 - decay) * self.values[ply]
            outcomes[ply] = outcome
        return outcomes


class SelfPlayWorker:
    """Plays a game against itself with one network.

    Args:
        game, evaluate, config, cache: as for `Forest`; a cache that outlives the network must be cleared.
    """

    def __init__(self, game: Game, evaluate: Evaluate, config: Config, cache: Cache | None = None):
        self.game, self.evaluate, self.config = game, evaluate, config
        if cache is None and config.cache_positions:
            cache = Cache(config.cache_positions, game.action_size)
        self.cache = cache

    def play(self, n_games: int, seed: int, *, first: int = 0, progress: bool = False) -> Played:
        """Play games number `first` to `first + n_games - 1` of this seed.

        Moves are drawn from the policy until `temperature_threshold` plies, then the best is played; a Gumbel search,
        whose noise is its exploration, always plays its best. A place whose game has ended takes the next game.
        """
        started = time.perf_counter()
        game, config = self.game, self.config
        n_places = max(1, min(config.parallel_games, n_games))
        forest = Forest(game, self.evaluate, config, n_places, self.cache)
        coming = iter(range(first, first + n_games))
        tables: list[_Table | None] = [None] * n_places
        own, opp = game.initial_boards(n_places)
        start_own, start_opp = own[0], opp[0]
        full = np.zeros(n_places, bool)
        ended: dict[int, _Table] = {}
        free = list(range(n_places))
        fresh = []
        with bar(total=n_games, desc="self-play", unit="game") if progress else nullcontext() as shown:
            while True:
                for place in free:
                    number = next(coming, None)
                    tables[place] = table = None if number is None else _Table(number, seed)
                    own[place], opp[place] = start_own, start_opp
                    if table is not None:
                        self._open(table, own[place : place + 1], opp[place : place + 1])
                        fresh.append(place)
                if fresh:
                    self._begin(forest, tables, np.array(fresh), own, opp, full)
                if len(ended) == n_games:
                    break
                forest.step()
                searched = [int(place) for place in np.flatnonzero(forest.finished) if tables[place] is not None]
                self._move(forest, tables, np.array(searched, int), own, opp, full)
                free = [place for place in searched if tables[place].result is not None]
                fresh = [place for place in searched if tables[place].result is None]
                ended |= {tables[place].number: tables[place] for place in free}
                if shown is not None:
                    shown.update(len(free))
        return self._result([ended[number] for number in sorted(ended)], forest, time.perf_counter() - started)

    def _open(self, table, own, opp):
        """Random moves for some of the games; `own` and `opp` are one position, changed in place."""
        config = self.config
        if not config.random_opening_share or table.generator.random() >= config.random_opening_share:
            return
        for _ in range(table.generator.integers(1, config.random_opening_plies, endpoint=True)):
            action = table.generator.choice(np.flatnonzero(self.game.legal_boards(own, opp)[0]), size=1)
            after = self.game.play_boards(own, opp, action)
            if not np.isnan(self.game.terminal_boards(*after)[0]):
                return
            own[:], opp[:] = after
            table.moves.append(int(action[0]))

    def _begin(self, forest, tables, places, own, opp, full):
        """Begin the searches of the next moves at some places."""
        config = self.config
        generators = [tables[place].generator for place in places]
        share = config.full_search_probability
        full[places] = [share == 1 or generator.random() < share for generator in generators]
        noisy = [generator if full[place] else None for place, generator in zip(places, generators, strict=True)]
        noise = root_noise(self.game, config, own[places], opp[places], noisy)
        simulations = np.where(full[places], config.num_simulations, config.fast_simulations)
        forest.begin(places, own[places], opp[places], simulations, **noise)

    def _move(self, forest, tables, places, own, opp, full):
        """Record what the searches at some places found, and play, or end the game where its outcome is known."""
        if not len(places):
            return
        config = self.config
        policies, values, best = forest.policies(places), forest.values(places), forest.best_actions(places)
        proven = forest.proven(places) if config.adjudicate else np.full(len(places), np.nan)
        for i, place in enumerate(places):
            table = tables[place]
            ply = len(table.moves)
            table.values[ply] = values[i]
            if full[place]:
                table.records.append((ply, own[place], opp[place], policies[i], values[i]))
            if not np.isnan(proven[i]):
                table.end(proven[i])
                continue
            if ply < config.temperature_threshold and not config.gumbel_actions:
                best[i] = _draw(policies[i], table.generator)
            table.moves.append(int(best[i]))
        played = np.array([tables[place].result is None for place in places])
        places, best = places[played], best[played]
        own[places], opp[places] = self.game.play_boards(own[places], opp[places], best)
        for place, value in zip(places, self.game.terminal_boards(own[places], opp[places]), strict=True):
            if not np.isnan(value):
                tables[place].end(value)

    def _result(self, ended, forest, seconds):
        """Everything about games that ended."""
        records = []
        for table in ended:
            outcomes = table.outcomes(self.config.outcome_decay)
            records += [(*position, outcomes[ply]) for ply, *position in table.records]
        own, opp, policies, values, outcomes = zip(*records, strict=True) if records else ((),) * 5
        samples = Samples(
            own=np.array(own, np.int64),
            opp=np.array(opp, np.int64),
            policy=np.array(policies, np.float32).reshape(-1, self.game.action_size),
            outcome=np.array(outcomes, np.float32),
            root_value=np.array(values, np.float32),
        )
        return Played(
            samples=samples,
            results=np.array([table.result for table in ended], np.int8),
            moves=[table.moves for table in ended],
            simulations=forest.simulations,
            evaluations=forest.evaluations,
            batches=forest.batches,
            seconds=seconds,
        )


def play_side_by_side(workers: Sequence[SelfPlayWorker], n_games: int, seed: int, *, first: int = 0) -> Played:
    """What one worker's `play` gives, from several that play in threads, each its share of the games.

    They must not share a cache. Where the network runs on the CPU its own threads are better left at one.
    """
    started = time.perf_counter()
    parts = shares(n_games, len(workers), first)
    with ThreadPoolExecutor(len(parts)) as threads:
        playing = [
            threads.submit(worker.play, count, seed, first=start)
            for worker, (start, count) in zip(workers, parts, strict=False)
        ]
        played = [future.result() for future in playing]
    return Played.concatenate(played, time.perf_counter() - started)


def play_games(
    net: AlphaZeroNet, game: Game, config: Config, n_games: int, *, first: int = 0, threads: int = 1
) -> Played:
    """Games of a network against itself, number `first` to `first + n_games - 1` of the configuration's seed.

    They depend on the arguments and on nothing else, so that games that were lost can be played again. At most so many
    `threads` play side by side, each its share of the games.
    """
    workers = max(1, min(threads, config.parallel_games // LEAST_BATCH))
    config = config.replace({"parallel_games": max(1, config.parallel_games // workers)})
    evaluate = Evaluator(net, config.device, config.dtype)
    with network_threads(1):
        side_by_side = [SelfPlayWorker(game, evaluate, config) for _ in range(workers)]
        return play_side_by_side(side_by_side, n_games, config.seed, first=first)


def shares(n_games: int, parts: int, first: int = 0) -> list[tuple[int, int]]:
    """Numbers `first` to `first + n_games - 1` in at most so many equal parts: of each its first and how many."""
    bounds = first + np.arange(parts + 1) * n_games // parts
    return [(int(start), int(end - start)) for start, end in itertools.pairwise(bounds) if end > start]


def _draw(policy, generator):
    """An action by its probability; one random number, whatever the game."""
    bounds = np.cumsum(policy)
    return int(np.searchsorted(bounds, generator.random() * bounds[-1], side="right"))
