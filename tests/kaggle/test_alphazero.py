"""The player inside the AlphaZero submission: the lab's search under a clock, and what is left where it cannot be."""

import base64
import itertools
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from c4lib import paths
from c4lib.alphazero.agent import AlphaZeroAgent
from c4lib.alphazero.config import Config
from c4lib.alphazero.net import AlphaZeroNet, network_threads
from c4lib.alphazero.plain_net import PlainNet, TorchNet, pack, unpack
from c4lib.games import make_game
from c4lib.games.connect4 import STANDARD, Connect4, Geometry
from c4lib.games.position import Position
from c4lib.kaggle import alphazero
from c4lib.kaggle.alphazero import CHUNK, Player, TreeSearch
from c4lib.kaggle.export import MOST_SIMULATIONS, export, ingredients
from c4lib.kaggle.frame import load

from .test_agent import CONFIGURATION, StubEngine, seen
from .test_export import columns_of, execute

OPENINGS = ["4", "44", "1", "4455", "121212", "444444333355"]


@pytest.fixture(autouse=True)
def _threads():
    """One, as a `TorchNet` leaves them; afterwards as they were."""
    with network_threads(1):
        yield


@pytest.fixture
def files(models):
    """The data files of a submission."""
    return encoded(ingredients("alphazero:connect4@60")[1])


@pytest.fixture
def engines(monkeypatch):
    """The stub engines made so far; the player gets no others."""
    monkeypatch.setattr(alphazero.agent, "Engine", StubEngine)
    monkeypatch.setattr(StubEngine, "made", [])
    return StubEngine.made


def encoded(content: dict[str, bytes]) -> dict[str, str]:
    return {name: base64.encodebytes(data).decode("ascii") for name, data in content.items()}


def packed(game):
    return pack(AlphaZeroNet.of(game, Config(game="connect4", n_blocks=1, n_channels=4)))


def uniform(planes):
    """A network that knows nothing."""
    return np.zeros((len(planes), 7), np.float32), np.zeros(len(planes), np.float32)


def seat(player):
    """What chose the player's last move."""
    return list(player._seats.values())[-1].engine


# --- the search ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "answers"),
    [((0, 6, 0, 6, 0, 6), {0}), ((0, 6, 0, 6, 0), {0}), ((3, 1, 4, 1, 5, 1), {2, 6})],
    ids=["win", "block", "two wins"],
)
def test_sees_what_is_urgent(files, engines, moves, answers):
    player = Player(files=files)
    move = player(seen(*moves), CONFIGURATION)
    assert type(move) is int
    assert move in answers
    assert type(seat(player)) is TreeSearch
    assert (player.failures, engines) == ([], [])


def test_moves_are_the_labs(files):
    network = PlainNet(unpack(base64.b64decode(files["network.npz"])))
    game = Connect4()
    lab = AlphaZeroAgent(network, game, 60)
    search = TreeSearch(STANDARD, network, 60)
    for moves in OPENINGS:
        position = Position.from_moves(moves)
        found = search.search(*position.boards, seconds=60.0)
        assert found == (lab(game, game.state(*position.boards)), 60)


def test_at_least_one_simulation():
    for moves in ("", "44444433333", "141414"):
        position = Position.from_moves(moves)
        found = TreeSearch(STANDARD, uniform, 100).search(*position.boards, seconds=0.0)
        assert found.simulations in range(1, CHUNK + 1)
        position.play(found.move)


def test_looks_at_the_clock_between_chunks(monkeypatch):
    """Also where the outcome is known and every simulation is done at once: after seven looks it is over."""
    search = TreeSearch(STANDARD, uniform, 10_000)
    monkeypatch.setattr(alphazero, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    win_in_one = Position.from_moves("141414")
    assert CHUNK < search.search(*win_in_one.boards, seconds=7).simulations <= 8 * CHUNK


def test_keeps_the_clock():
    def slow(planes):
        time.sleep(0.01)
        return uniform(planes)

    search = TreeSearch(STANDARD, slow, 10_000)
    search.search(0, 0, seconds=0.0)
    start = time.monotonic()
    found = search.search(*Position.from_moves("44").boards, seconds=0.2)
    assert 0.2 <= time.monotonic() - start < 1.0
    assert 0 < found.simulations < 100


def test_the_limit_of_simulations(models):
    for agent, most in (("alphazero:connect4@7", 7), ("alphazero:connect4", MOST_SIMULATIONS)):
        player = Player(files=encoded(ingredients(agent)[1]))
        assert player.make_engine(STANDARD, compiled=True)._forest.capacity == most


# --- the network -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("faster", "other"), [(PlainNet, TorchNet), (TorchNet, PlainNet)])
def test_takes_the_faster_network(files, monkeypatch, faster, other):
    monkeypatch.setattr(alphazero, "_seconds", lambda network: {faster: 1, other: 2}[type(network)])
    player = Player(files=files)
    assert type(player.make_engine(STANDARD, compiled=True)._forest.evaluate) is faster
    assert player.failures == []


def test_measures_the_networks():
    def slow(planes):
        time.sleep(0.01)
        return uniform(planes)

    assert alphazero._seconds(uniform) < 0.01 <= alphazero._seconds(slow)


def test_plays_without_torch(files, engines, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    player = Player(files=files)
    assert player(seen(0, 6, 0, 6, 0, 6), CONFIGURATION) == 0
    assert type(seat(player)._forest.evaluate) is PlainNet
    assert (player.failures, engines) == ([], [])
    assert capsys.readouterr().err == ""


def test_survives_a_broken_torch(files, engines, monkeypatch, capsys):
    def broken(self, planes):
        raise RuntimeError("could not create a primitive")

    monkeypatch.setattr(TorchNet, "__call__", broken)
    player = Player(files=files)
    assert player(seen(0, 6, 0, 6, 0, 6), CONFIGURATION) == 0
    assert type(seat(player)._forest.evaluate) is PlainNet
    assert [str(failure) for failure in player.failures] == ["could not create a primitive"]
    assert "could not create a primitive" in capsys.readouterr().err


# --- where the engine plays ------------------------------------------------------------------------------------------

DAMAGES = {
    "no network": {"network.npz": None},
    "empty": {"network.npz": ""},
    "no base64": {"network.npz": "@"},
    "no ASCII": {"network.npz": "é"},
    "no weights": {"network.npz": base64.b64encode(b"weights").decode()},
    "another game": encoded({"network.npz": packed(make_game("tictactoe"))}),
    "turned board": encoded({"network.npz": packed(Connect4(6, 7, 4))}),
    "no limit": {"simulations.txt": None},
    "limit in words": encoded({"simulations.txt": b"many"}),
    "limit of none": encoded({"simulations.txt": b"0"}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_engine_plays_where_a_file_is_damaged(files, engines, damage, capsys):
    damaged = {name: text for name, text in (files | DAMAGES[damage]).items() if text is not None}
    player = Player(files=damaged)
    assert player(seen(3, 3), CONFIGURATION) == 3
    assert [engine.compiled for engine in engines] == [True]
    assert len(player.failures) == 1
    assert capsys.readouterr().err


def test_the_engine_plays_where_the_network_answers_nonsense(files, engines, monkeypatch, capsys):
    def nonsense(self, planes):
        return np.full((len(planes), 7), np.nan, np.float32), np.zeros(len(planes), np.float32)

    monkeypatch.setattr(PlainNet, "__call__", nonsense)
    monkeypatch.setitem(sys.modules, "torch", None)
    player = Player(files=files)
    assert player(seen(3, 3), CONFIGURATION) == 3
    assert len(engines) == 1
    assert "not finite" in str(player.failures[0])


def test_the_engine_plays_where_nothing_came_along(engines, capsys):
    player = Player()
    assert player(seen(3, 3), CONFIGURATION) == 3
    assert [type(failure) for failure in player.failures] == [KeyError]


def test_the_engine_plays_where_the_bank_is_small(files, engines):
    player = Player(files=files)
    assert player(seen(3, 3, bank=24.0), CONFIGURATION) == 3
    assert [engine.compiled for engine in engines] == [False]
    assert player.failures == []


@pytest.mark.parametrize("size", [(7, 6, 5), (6, 7, 4), (4, 5, 3), (20, 20, 4)], ids=str)
def test_the_engine_plays_on_other_boards(files, engines, size):
    columns, rows, inarow = size
    player = Player(files=files)
    configuration = CONFIGURATION | {"columns": columns, "rows": rows, "inarow": inarow}
    assert player(seen(0, columns=columns, rows=rows), configuration) == 3
    assert [engine.geometry for engine in engines] == [Geometry(*size)]
    assert player.failures == []


# --- the submission --------------------------------------------------------------------------------------------------


def test_the_whole_submission_searches(models, name, tmp_path, monkeypatch):
    """Without numba, so that nothing has to be compiled, and without torch."""
    namespace = execute(export("alphazero:connect4@60", tmp_path / "submission.py"))
    _, sources, entry = namespace["play"]._origin
    with monkeypatch.context() as elsewhere:
        for absent in ("numba", "torch", "safetensors", "c4lib"):
            elsewhere.setitem(sys.modules, absent, None)
        module = load(name, sources, entry)
        player = module.Player(files=namespace["FILES"])
        moves = {opening: player(seen(*columns_of(opening)), CONFIGURATION) for opening in OPENINGS}
    assert player.failures == []
    assert type(seat(player)) is module.TreeSearch is not TreeSearch
    ours = TreeSearch(STANDARD, PlainNet(unpack(ingredients("alphazero:connect4")[1]["network.npz"])), 60)
    wanted = {opening: ours.search(*Position.from_moves(opening).boards, seconds=60.0).move for opening in OPENINGS}
    assert moves == wanted
    assert len(set(moves.values())) > 1


def test_a_network_of_the_usual_size(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "MODELS", tmp_path)
    AlphaZeroNet.of(Connect4(), Config(game="connect4")).save(tmp_path / "connect4.safetensors")
    size = export("alphazero:connect4", tmp_path / "submission.py").stat().st_size
    assert 1_000_000 < size < 2_500_000  # people report that more than five are refused


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("alphazero:chess", "there is no model 'chess': in .* there are connect4, noughts$"),
        ("alphazero:", "there is no model ''"),
        ("alphazero:noughts", "'noughts' does not play Connect Four"),
        ("alphazero:connect4@", "with 1 to 20000 simulations, not ''"),
        ("alphazero:connect4@0", "with 1 to 20000 simulations, not '0'"),
        ("alphazero:connect4@20001", "with 1 to 20000 simulations, not '20001'"),
        ("alphazero:connect4@many", "with 1 to 20000 simulations, not 'many'"),
    ],
)
def test_what_cannot_be_exported(models, tmp_path, monkeypatch, name, said):
    for file in models.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    game = make_game("tictactoe")
    AlphaZeroNet.of(game, Config(game="tictactoe", n_blocks=1, n_channels=4)).save(tmp_path / "noughts.safetensors")
    monkeypatch.setattr(paths, "MODELS", tmp_path)
    with pytest.raises(ValueError, match=said):
        export(name, tmp_path / "submission.py")
    assert not (tmp_path / "submission.py").exists()


def test_no_models_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "MODELS", tmp_path / "models")
    with pytest.raises(ValueError, match="there are none"):
        ingredients("alphazero:connect4")
