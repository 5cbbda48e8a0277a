"""Self-play on several machines: an iteration's games in chunks, each played on any core of a cluster that is free."""

import copy
import time

from ..cluster import ClusterPool
from ..games.base import Game
from .config import Config
from .net import AlphaZeroNet
from .selfplay import Played, play_games, shares

CHUNK = 64  # games: with half as many a core plays a third fewer a second, for its batches are small


def play_on(
    pool: ClusterPool, net: AlphaZeroNet, game: Game, config: Config, n_games: int, *, first: int = 0
) -> Played:
    """What `play_games` gives, from all cores of a cluster. The network is sent once, and fetched once by each machine.

    The chunks are the same whatever the cluster, and each is played as if there were no other. So the games do not
    depend on how many cores there are or on what dies; on machines of one kind they are the same bit for bit.
    """
    started = time.perf_counter()
    sent = pool.share(copy.deepcopy(net).cpu())
    chunks = shares(n_games, -(-n_games // CHUNK), first)
    playing = [pool.submit(play_games, sent, game, config, count, first=start) for start, count in chunks]
    return Played.concatenate([future.result() for future in playing], time.perf_counter() - started)
