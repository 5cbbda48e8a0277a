"""Measures self-play beside the network alone, which it cannot outrun without knowing some answers already.

All on the network of `connect4.toml`, untrained, in one run: trust the ratios, and let nothing else be running.
"""

import time

import numpy as np
import pandas as pd

from .alphazero.config import Config
from .alphazero.mcts import new_trees
from .alphazero.net import AlphaZeroNet, Evaluator, network_threads
from .alphazero.selfplay import Played, SelfPlayWorker, play_side_by_side
from .games import make_game
from .progress import bar

GAMES = 128  # of one worker, all in play at one time
SECONDS = 10.0  # of the network alone
THREADS = 2


def measure_self_play() -> pd.DataFrame:
    """Rows of the network asked and simulations done a second: by the network alone, and by self-play.

    `share` is evaluations, and `gain` simulations, a second over what the network does alone on one thread, at the
    mean batch of the self-play without a cache.
    """
    game = make_game("connect4")
    config = Config.load("connect4", {"parallel_games": GAMES})
    evaluate = Evaluator(AlphaZeroNet.of(game, config))
    runs = {
        "self-play, no cache": (1, 0),
        "self-play, cache": (1, config.cache_positions),
        f"{THREADS} threads, no cache": (THREADS, 0),
        f"{THREADS} threads, cache": (THREADS, config.cache_positions),
    }
    with network_threads(1), bar(total=len(runs) + 1, unit="run") as progress:
        SelfPlayWorker(game, evaluate, config.replace({"num_simulations": 8})).play(16, config.seed)  # compiles
        played = {}
        for name, (threads, positions) in runs.items():
            workers = [
                SelfPlayWorker(game, evaluate, config.replace({"cache_positions": positions})) for _ in range(threads)
            ]
            played[name] = play_side_by_side(workers, GAMES * threads, config.seed)
            progress.update()
        first = next(iter(played.values()))
        batch = round(first.evaluations / first.batches)
        alone = _network_speed(game, evaluate, first, batch)
        progress.update()
    rows = [dict(what=f"the network alone, {evaluate.backend}", batch=batch, evaluations=alone)]
    for name, games in played.items():
        found = games.statistics
        evaluations, simulations = found["evaluations_per_second"], found["simulations_per_second"]
        row = dict(what=name, batch=games.evaluations / games.batches, evaluations=evaluations, simulations=simulations)
        rows.append(row | dict(share=evaluations / alone, gain=simulations / alone))
    return pd.DataFrame(rows).set_index("what")


def tree_bytes() -> int:
    """Memory of the trees of one worker of `measure_self_play`."""
    config = Config.load("connect4")
    return sum(array.nbytes for array in new_trees(GAMES, config.num_simulations, make_game("connect4").action_size))


def _network_speed(game, evaluate: Evaluator, played: Played, batch: int) -> float:
    """Positions a second that the network evaluates in batches of one size, positions of games."""
    planes = game.encode_boards(*played.samples[:2])
    batches = [np.ascontiguousarray(planes[at : at + batch]) for at in range(0, len(planes) - batch, batch)]
    for part in batches[:3]:
        evaluate(part)
    done, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < SECONDS:
        evaluate(batches[done % len(batches)])
        done += 1
    return done * batch / elapsed
