"""Self-play on a cluster: the same games whatever the cluster, and whatever dies."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from c4lib import cluster
from c4lib.alphazero import distributed, selfplay
from c4lib.alphazero.config import Config
from c4lib.alphazero.distributed import CHUNK, play_on
from c4lib.alphazero.net import AlphaZeroNet
from c4lib.alphazero.run_folder import find_weights, read_metrics
from c4lib.alphazero.selfplay import Played, play_games, shares
from c4lib.alphazero.trainer import METRICS
from c4lib.cli_alphazero import train
from c4lib.cluster import ClusterPool
from c4lib.games.tictactoe import TicTacToe

from ..nodes import Here, cluster_of
from .players import scrambled

GAME = TicTacToe()
CONFIG = Config(
    game="tictactoe", n_blocks=1, n_channels=8, num_simulations=8, games_per_iteration=150, temperature_threshold=9,
    training_steps_per_iteration=4, batch_size=16, min_buffer_size=60, num_iterations=2, seed=3, device="cpu",
    dtype="float32", threads=1, cache_positions=256,
)  # fmt: skip
NET = AlphaZeroNet.of(GAME, CONFIG)


def same(one, other):
    return (
        one.moves == other.moves
        and all(map(np.array_equal, one.samples, other.samples))
        and np.array_equal(one.results, other.results)
        and (one.simulations, one.evaluations, one.batches) == (other.simulations, other.evaluations, other.batches)
    )


def chunk_by_chunk(n_games, first, chunk):
    """What a cluster should play, played here, one after the other."""
    chunks = shares(n_games, -(-n_games // chunk), first)
    return Played.concatenate([play_games(NET, GAME, CONFIG, count, first=start) for start, count in chunks], 1.0)


# --- chunks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_games", "parts"), [(1, 1), (10, 3), (64, 1), (65, 2), (384, 6), (2, 5)])
def test_shares_hold_each_number_once(n_games, parts):
    found = shares(n_games, parts, 100)
    assert [start + i for start, count in found for i in range(count)] == list(range(100, 100 + n_games))
    assert len(found) == min(parts, n_games)
    assert max(count for _, count in found) - min(count for _, count in found) <= 1


@pytest.mark.parametrize("n_games", [1, CHUNK, CHUNK + 1, 5 * CHUNK - 1])
def test_the_games_are_those_of_the_chunks(n_games):
    with Here() as pool:
        played = play_on(pool, NET, GAME, CONFIG, n_games, first=20)
    assert same(played, chunk_by_chunk(n_games, 20, CHUNK))
    assert len(played.moves) == n_games
    assert played.seconds > 0


def test_where_arithmetic_does_not_depend_on_the_batch_the_games_are_those_of_one_machine(monkeypatch):
    monkeypatch.setattr(selfplay, "Evaluator", lambda *_: scrambled(GAME))
    alone = play_games(NET, GAME, CONFIG, 50, first=7)
    for chunk in (1, 7, 50, 64):
        monkeypatch.setattr(distributed, "CHUNK", chunk)
        with Here() as pool:
            played = play_on(pool, NET, GAME, CONFIG, 50, first=7)
        assert played.moves == alone.moves
        assert all(map(np.array_equal, played.samples, alone.samples))


def test_the_network_is_sent_once_as_it_is():
    class Counting(Here):
        sent = ()

        def share(self, value):
            self.sent += (value,)
            return value

    with Counting() as pool:
        play_on(pool, NET, GAME, CONFIG, 3 * CHUNK)
        (sent,) = pool.sent
    assert sent is not NET, "training goes on with the other one"
    assert all(map(np.array_equal, sent.state_dict().values(), NET.state_dict().values()))


# --- training -------------------------------------------------------------------------------------------------------


def trained(call, folder: Path, *options):
    """A run by `c4 train`: all that it prints, and its folder."""
    (folder / "config.toml").write_text(CONFIG.to_toml())
    words = ("--config", folder / "config.toml", "--folder", folder / "run", "--opponent", "none")
    said, error = call(train, *words, *options)
    assert error is None or error.code == 0
    return said, folder / "run"


def untimed(run):
    times = {name for name in METRICS if "second" in name}
    return {name: column for name, column in read_metrics(run).items() if name not in times}


@pytest.mark.parametrize(("words", "address"), [(("--ray",), ""), (("--ray", "head:1", "--minutes", "60"), "head:1")])
def test_train_takes_an_address_or_none(call, monkeypatch, tmp_path, words, address):
    monkeypatch.setattr(cluster, "ClusterPool", Here)
    said, run = trained(call, tmp_path, *words)
    assert f"self-play on a thread at {address!r}" in said
    assert read_metrics(run)["games"] == [150, 150]


# --- a cluster ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_node_killed_in_the_middle_of_an_iteration(monkeypatch, tmp_path):
    """The chunk that it was playing is played again, elsewhere, and no other one."""
    chunk = 8
    monkeypatch.setattr(distributed, "CHUNK", chunk)
    with cluster_of(1, 1) as (address, (doomed, _), kill), ClusterPool(address) as pool:
        doomed_id = doomed.node_id

        def watched(net, game, config, n_games, *, first):
            import ray

            here = ray.get_runtime_context().get_node_id()
            with (tmp_path / "log").open("a") as log:
                log.write(f"{first} {here}\n")
            played = play_games(net, game, config, n_games, first=first)
            if here == doomed_id and first >= 40:  # from here on it plays without end
                (tmp_path / "playing").touch()
                time.sleep(600)
            return played

        monkeypatch.setattr(distributed, "play_games", watched)
        found = []
        playing = threading.Thread(target=lambda: found.append(play_on(pool, NET, GAME, CONFIG, 150, first=0)))
        playing.start()
        deadline = time.monotonic() + 60
        while not (tmp_path / "playing").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        kill(doomed)
        playing.join(120)
    assert same(*found, chunk_by_chunk(150, 0, chunk))
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    numbers = [int(first) for first, _ in log]
    (again,) = {number for number in numbers if numbers.count(number) > 1}
    assert [place == doomed_id for first, place in log if int(first) == again] == [True, False]
    assert sorted(set(numbers)) == [start for start, _ in shares(150, -(-150 // chunk))]
    assert len({place for _, place in log}) == 2


@pytest.mark.slow
def test_training_comes_to_the_same_weights_on_any_cluster(call, monkeypatch, tmp_path):
    folders = [tmp_path / name for name in ("here", "cluster")]
    for folder in folders:
        folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "ClusterPool", Here)
        trained(call, folders[0], "--ray")
    with cluster_of(1, 1) as (address, _, _):
        said, _ = trained(call, folders[1], "--ray", address)
    assert "self-play on a cluster of 2 cores" in said
    here, there = (folder / "run" for folder in folders)
    assert untimed(here) == untimed(there)
    assert find_weights(here).read_bytes() == find_weights(there).read_bytes()
