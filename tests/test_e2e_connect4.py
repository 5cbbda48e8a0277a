"""Connect Four from nothing to a player, the whole way: the seed configuration's network against minimax:8.

It starts from the networks in data/models. With C4_TRAIN=1 the seed configuration is trained from nothing first, in the
folder C4_TRAIN_FOLDER if that is given, where a run that was stopped goes on (an hour on two cores).
"""

import os
from pathlib import Path

import pytest

from c4lib import paths
from c4lib.agents import make_agent
from c4lib.alphazero.agent import AlphaZeroAgent
from c4lib.alphazero.config import Config
from c4lib.alphazero.match import play_match
from c4lib.alphazero.run_folder import is_run
from c4lib.alphazero.trainer import Trainer
from c4lib.arena.match import Score
from c4lib.arena.openings import after, random_lines
from c4lib.games.connect4 import Connect4

GAME = Connect4()
SIMULATIONS = Config.load("connect4").num_simulations
# Least points per game that are taken for no accident: the lower 95 % bound of such games in the model's folder.
LEAST = {"connect4-seed": 0.513, "connect4": 0.865}


def model(name, tmp_path):
    """The network in data/models, or that of a run trained here."""
    if name != "connect4-seed" or os.environ.get("C4_TRAIN", "0") == "0":
        return paths.model(name)
    folder = Path(os.environ.get("C4_TRAIN_FOLDER", tmp_path / "run"))
    Trainer(Config.load("connect4"), folder, resume=is_run(folder)).run()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAST)
def test_against_minimax(name, tmp_path):
    agent = AlphaZeroAgent(model(name, tmp_path), GAME, SIMULATIONS)
    lines = random_lines(GAME, 100, (2, 6), seed=0)
    match = play_match(GAME, agent, make_agent("minimax:8", seed=0), [after(GAME, line) for line in lines])
    games = {(*lines[number // 2], *moves) for number, moves in enumerate(match.moves)}
    score = Score(*match.tally)
    print(f"{name}: {score}; {len(games)} different games")
    assert len(games) >= 190
    assert score.share >= LEAST[name]
