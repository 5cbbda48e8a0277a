"""A packed network computes what the network does, by numpy and by torch."""

import io
from functools import cache

import numpy as np
import pytest
import torch

from c4lib.alphazero.config import Config
from c4lib.alphazero.net import AlphaZeroNet, network_threads
from c4lib.alphazero.plain_net import PlainNet, TorchNet, pack, unpack
from c4lib.games import make_game
from c4lib.games.connect4 import Connect4

from . import test_net
from .test_net import some_planes

both = pytest.mark.parametrize("kind", [PlainNet, TorchNet])


@pytest.fixture(autouse=True)
def _threads():
    """One, as a `TorchNet` leaves them; afterwards as they were."""
    with network_threads(1):
        yield


trained = cache(test_net.trained)


def exact(net):
    """Weights as `unpack` returns them, not rounded to float16."""
    weights = {name: tensor.numpy() for name, tensor in net.folded().state_dict().items()}
    return {**weights, "input_shape": np.array(net.shape["input_shape"])}


def outputs(net, planes):
    with torch.no_grad():
        return [tensor.numpy() for tensor in net.eval()(torch.from_numpy(planes))]


@both
@pytest.mark.parametrize("n", [1, 5])
def test_computes_what_the_network_does(kind, n):
    net, planes = trained(), some_planes(n)
    before = planes.copy()
    logits, values = kind(exact(net))(planes)
    wanted_logits, wanted_values = outputs(net, planes)
    assert logits == pytest.approx(wanted_logits, abs=1e-4)
    assert values == pytest.approx(wanted_values, abs=1e-4)
    assert logits.dtype == values.dtype == np.float32
    assert (logits.shape, values.shape) == ((n, 7), (n,))
    assert np.array_equal(planes, before)


@both
@pytest.mark.parametrize("game", [make_game("tictactoe"), Connect4(5, 4, 3)], ids=["tictactoe", "5x4"])
def test_other_boards(kind, game):
    net = AlphaZeroNet.of(game, Config(game="connect4", n_blocks=3, n_channels=4))
    planes = np.random.default_rng(0).random((3, *game.input_shape), np.float32)
    for found, wanted in zip(kind(unpack(pack(net)))(planes), outputs(net, planes), strict=True):
        assert found == pytest.approx(wanted, abs=2e-3)


def test_the_packed_network_is_close():
    net, planes = trained(), some_planes(20)
    for found, wanted in zip(PlainNet(unpack(pack(net)))(planes), outputs(net, planes), strict=True):
        assert found == pytest.approx(wanted, abs=0.01)


def test_unpacks_what_was_packed():
    net = trained()
    found, wanted = unpack(pack(net)), exact(net)
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert np.array_equal(found[name], array.astype(np.float16)), name
        assert found[name].dtype == (int if name == "input_shape" else np.float32)


def test_equal_weights_equal_bytes():
    assert pack(test_net.trained(1)) == pack(test_net.trained(1)) != pack(trained())


def test_a_network_of_the_usual_size_takes_a_megabyte():
    net = AlphaZeroNet.of(Connect4(), Config(game="connect4"))
    assert len(pack(net)) < 1_200_000


def test_weights_that_do_not_fit_are_refused():
    net = test_net.trained(0)
    with torch.no_grad():
        net.policy_out.bias[3] = 70_000
    with pytest.raises(ValueError, match="too large for float16"):
        pack(net)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def damaged(data, at):
    """The bytes with one of them changed."""
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "changed", "pickle", "other arrays", "one array"])
def test_other_data_is_refused(damage):
    data = pack(trained())
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    content = {
        "empty": b"",
        "text": b"weights",
        "cut": data[:-100],
        "changed": damaged(data, len(data) // 2),
        "pickle": npz(input_shape=np.array([3, 6, 7], object)),
        "other arrays": npz(x=np.zeros(3)),
        "one array": array.getvalue(),
    }[damage]
    with pytest.raises(ValueError, match="no packed weights"):
        unpack(content)


@both
def test_missing_weights_are_told(kind):
    weights = unpack(pack(trained()))
    del weights["value_out.bias"]
    with pytest.raises(KeyError, match=r"value_out\.bias"):
        kind(weights)(some_planes(1))
