"""Othello on 6 x 6, learned by the program that knows no game: the network in data/models against all opponents."""

import pytest

from c4lib.agents import make_agent
from c4lib.arena.match import play_match
from c4lib.arena.openings import after, random_lines
from c4lib.games.othello import Othello

GAME = Othello(6)
# Least points per game that are taken for no accident: the lower 95 % bound of such games in the model's folder.
LEAST = {"random": 0.981, "greedy": 0.981, "minimax:4": 0.780}


@pytest.mark.slow
@pytest.mark.parametrize("opponent", LEAST)
def test_against(opponent):
    agent, other = (make_agent(name, game=GAME.name, seed=0) for name in ("alphazero:othello6@100", opponent))
    score = play_match(GAME, agent, other, [after(GAME, line) for line in random_lines(GAME, 100, (2, 6), seed=0)])
    print(score)
    assert score.share >= LEAST[opponent]
