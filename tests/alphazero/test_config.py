"""Configurations: what they hold, and what they refuse."""

import dataclasses
import re
import tomllib

import pytest

from c4lib import paths
from c4lib.alphazero import config as module
from c4lib.alphazero.config import Config
from c4lib.games import make_game

CONFIGS = paths.PACKAGE / "configs"
NAMES = sorted(file.stem for file in CONFIGS.glob("*.toml"))


def test_connect4():
    assert tomllib.loads((CONFIGS / "connect4.toml").read_text(encoding="utf-8")) == {
        "game": "connect4",
        "n_blocks": 6,
        "n_channels": 64,
        "num_simulations": 100,
        "c_puct": 2.5,
        "dirichlet_alpha": 0.5,
        "dirichlet_weight": 0.25,
        "games_per_iteration": 100,
        "temperature_threshold": 15,
        "training_steps_per_iteration": 1000,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "weight_decay": 1e-4,
        "replay_buffer_capacity": 200_000,
        "min_buffer_size": 20_000,
        "eval_interval": 5,
        "eval_games": 200,
        "opening_plies": 4,
        "num_iterations": 50,
        "seed": 42,
        "device": "auto",
        "checkpoint_dir": "checkpoints",
        "log_dir": "runs",
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_configuration_loads_and_names_a_game(name):
    config = Config.load(name)
    assert make_game(config.game).name == config.game
    assert Config.load(CONFIGS / f"{name}.toml") == config


def test_round_trip(tmp_path):
    config = Config(game="connect4", c_puct=3, checkpoint_dir='a "folder" \\ there', proofs=False)
    (tmp_path / "run.toml").write_text(config.to_toml(), encoding="utf-8")
    assert Config.load(tmp_path / "run.toml") == config


def test_overrides():
    config = Config.load("tictactoe", ["num_simulations=7", "device=cpu", "proofs = false", "c_puct=1"])
    assert (config.num_simulations, config.device, config.proofs, config.c_puct) == (7, "cpu", False, 1.0)
    assert config.replace({"seed": 3}).seed == 3
    assert config.replace(["seed=3"]) == dataclasses.replace(config, seed=3)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["simulations=5"], "there is no key 'simulations'"),
        (["num_simulations"], "not of the form key=value"),
        (["num_simulations=0"], "num_simulations must be at least 1, not 0"),
        (["num_simulations=2.5"], "num_simulations must be a whole number, not 2.5"),
        (["num_simulations=true"], "num_simulations must be a whole number, not True"),
        (["c_puct=much"], "c_puct must be a number, not 'much'"),
        (["c_puct=nan"], "c_puct must be a number, not nan"),
        (["c_puct=0"], "c_puct must be more than 0"),
        (["weight_decay=-1"], "weight_decay must be at least 0"),
        (["dirichlet_weight=1.5"], "dirichlet_weight must be from 0 to 1"),
        (["proofs=1"], "proofs must be true or false"),
        (["cache_positions=1000"], "cache_positions must be 0 or a power of two"),
        (["gumbel_actions=1"], "gumbel_actions must be 0, or at least 2"),
        (["lr_schedule=linear"], "lr_schedule must be"),
        (["dtype=float16"], "dtype must be"),
        (["game=''"], "game must be some text"),
        (["min_buffer_size=300_000"], "min_buffer_size .* more than replay_buffer_capacity"),
    ],
)
def test_refusals_are_one_line_that_names_the_key(overrides, message):
    with pytest.raises(ValueError, match=message) as refused:
        Config.load("connect4", overrides)
    assert "\n" not in str(refused.value)


def test_files_that_are_none(tmp_path):
    with pytest.raises(ValueError, match=r"no configuration 'chess'.*connect4, connect4_best, othello, "):
        Config.load("chess")
    (tmp_path / "bad.toml").write_text("game =", encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.toml is not TOML"):
        Config.load(tmp_path / "bad.toml")
    (tmp_path / "empty.toml").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="'game' is missing"):
        Config.load(tmp_path / "empty.toml")


def test_learning_rates():
    def rates(schedule):
        config = Config(game="connect4", learning_rate=1.0, lr_schedule=schedule)
        return [round(config.learning_rate_at(progress), 4) for progress in (0, 0.5, 0.6, 0.85, 1)]

    assert rates("constant") == [1, 1, 1, 1, 1]
    assert rates("steps") == [1, 1, 0.1, 0.01, 0.01]
    assert rates("cosine") == [1, 0.5, 0.3455, 0.0545, 0]


def test_every_key_is_explained():
    source = module.__loader__.get_source(module.__name__)
    for field in dataclasses.fields(Config):
        assert re.search(rf"^    {field.name}: .*\n    # \S", source, re.MULTILINE), field.name
    named = " ".join(keys for keys, _, _ in module.RANGES).split()
    free = {"proofs", "adjudicate", "merge_duplicates", "symmetries"}  # true and false are both allowed
    assert set(named) | free == {field.name for field in dataclasses.fields(Config)}
