"""Othello, learned by the program that knows no game: the networks in data/models against all opponents."""

import pandas as pd
import pytest

from c4lib import paths
from c4lib.agents import make_agent
from c4lib.arena.match import Score, play_match
from c4lib.arena.openings import after, random_lines
from c4lib.games import make_game


@pytest.mark.slow
@pytest.mark.parametrize("name", ["othello6", "othello"])
@pytest.mark.parametrize("opponent", ["random", "greedy", "minimax:4"])
def test_against(name, opponent):
    """No fewer points than the 95 % interval of the games in the model's folder allows."""
    game = make_game(name)
    agent, other = (make_agent(player, game=name, seed=0) for player in (f"alphazero:{name}@100", opponent))
    score = play_match(game, agent, other, [after(game, line) for line in random_lines(game, 100, (2, 6), seed=0)])
    print(score)
    kept = pd.read_csv(paths.MODELS / name / f"{opponent.replace(':', '')}.csv")
    assert score.share >= Score.of(kept["result"]).interval[0]
