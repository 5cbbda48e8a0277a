"""The network and its evaluator."""

import numpy as np
import pytest
import torch

from c4lib.alphazero.config import Config
from c4lib.alphazero.net import AlphaZeroNet, Evaluator, choose_backend
from c4lib.games import make_game

GAME = make_game("connect4")
CONFIG = Config(game="connect4", n_blocks=2, n_channels=16)


def trained(steps=5):
    """A small network whose weights and normalisations are no longer those of the beginning."""
    net = AlphaZeroNet.of(GAME, CONFIG)
    optimiser = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(steps):
        optimiser.zero_grad()
        planes = torch.from_numpy(some_planes(32))
        policy, value = net.losses(planes, torch.full((32, 7), 1 / 7), torch.ones(32))
        (policy + value).backward()
        optimiser.step()
    return net.eval()


def some_planes(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n, *GAME.input_shape)).astype(np.float32)


def test_shapes_and_ranges():
    for game in (GAME, make_game("tictactoe")):
        net = AlphaZeroNet.of(game, CONFIG)
        planes = game.encode_boards(*game.initial_boards(5))
        logits, values = Evaluator(net, "cpu", "float32")(planes)
        assert logits.shape == (5, game.action_size)
        assert values.shape == (5,)
        assert logits.dtype == values.dtype == np.float32
        assert (np.abs(values) <= 1).all()


def test_the_seed_decides_the_weights():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one, two, other = (AlphaZeroNet.of(GAME, CONFIG, seed).state_dict() for seed in (42, None, 43))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["value_out.weight"], other["value_out.weight"])


def test_the_evaluator_computes_what_the_network_does():
    net, planes = trained(), some_planes(37)
    with torch.no_grad():
        logits, values = (tensor.numpy() for tensor in net(torch.from_numpy(planes)))
    exact = Evaluator(net, "cpu", "float32")
    assert exact(planes)[0] == pytest.approx(logits, abs=1e-4)
    assert exact(planes)[1] == pytest.approx(values, abs=1e-4)
    rough = Evaluator(net, "cpu", "bfloat16")
    assert rough(planes)[0] == pytest.approx(logits, abs=0.1)
    assert rough(planes)[1] == pytest.approx(values, abs=0.1)
    assert exact(planes[:1])[1] == pytest.approx(values[:1], abs=1e-4)
    assert exact.evaluations == 2 * 37 + 1


def test_the_evaluator_holds_a_copy():
    net, planes = trained(), some_planes(4)
    evaluate = Evaluator(net, "cpu", "float32")
    before = evaluate(planes)[0]
    with torch.no_grad():
        net.policy_out.bias += 1
    assert np.array_equal(evaluate(planes)[0], before)
    evaluate.update(net)
    assert evaluate(planes)[0] == pytest.approx(before + 1, abs=1e-4)
    assert all(parameter.requires_grad for parameter in net.parameters())


def test_save_and_load(tmp_path):
    net, planes = trained(), torch.from_numpy(some_planes(4))
    net.save(tmp_path / "net.safetensors")
    loaded = AlphaZeroNet.load(tmp_path / "net.safetensors").eval()
    assert loaded.shape == net.shape
    for one, other in zip(net(planes), loaded(planes), strict=True):
        assert torch.equal(one, other)


def test_other_files_are_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"x": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="no AlphaZero network"):
        AlphaZeroNet.load(tmp_path / "other.safetensors")


def test_backends():
    assert str(choose_backend("cpu", "float32")) == "cpu, float32"
    assert choose_backend("cpu", "bfloat16").dtype == torch.bfloat16
    assert choose_backend().device.type in ("cpu", "cuda", "mps")
    with pytest.raises(ValueError, match="no device 'abacus'"):
        choose_backend("abacus")
    assert str(Evaluator(trained(0), "cpu", "float32")) == "2 blocks of 16 channels on cpu, float32"
