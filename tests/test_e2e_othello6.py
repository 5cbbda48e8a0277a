"""Othello on 6 x 6, learned by the program that knows no game: the network in data/models against all opponents."""

import pandas as pd
import pytest

from c4lib import paths
from c4lib.agents import make_agent
from c4lib.arena.match import Score, play_match
from c4lib.arena.openings import after, random_lines
from c4lib.games.othello import Othello

GAME = Othello(6)


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["random", "greedy", "minimax:4"])
def test_against(opponent):
    """No fewer points than the 95 % interval of the games in the model's folder allows."""
    agent, other = (make_agent(name, game=GAME.name, seed=0) for name in ("alphazero:othello6@100", opponent))
    score = play_match(GAME, agent, other, [after(GAME, line) for line in random_lines(GAME, 100, (2, 6), seed=0)])
    print(score)
    kept = pd.read_csv(paths.MODELS / "othello6" / f"{opponent.replace(':', '')}.csv")
    assert score.share >= Score.of(kept["result"]).interval[0]
