"""What the tests of submissions share: the agents that can be exported, and a small network among the models."""

import sys

import pytest

from c4lib import paths


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder that stands for that of the models, with an untrained network in it."""
    from c4lib.alphazero.config import Config
    from c4lib.alphazero.net import AlphaZeroNet
    from c4lib.games import make_game

    folder = tmp_path_factory.mktemp("models")
    net = AlphaZeroNet.of(make_game("connect4"), Config(game="connect4", n_blocks=1, n_channels=8))
    net.save(folder / "connect4.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MODELS", folder)
        yield folder


@pytest.fixture(scope="module", params=["engine", "perfect", "alphazero:connect4@40"])
def agent(request, models):
    """The name of an agent that can be exported."""
    return request.param


@pytest.fixture
def name():
    """A name for a package, which is gone afterwards."""
    yield "c4lib_test"
    for module in [module for module in sys.modules if module.startswith("c4lib_test")]:
        del sys.modules[module]
