"""What every game gets for nothing: random moves, and moves as text."""

import numpy as np
import pytest

from c4lib.games.base import actions_of, digits, random_line
from c4lib.games.tictactoe import TicTacToe

GAME = TicTacToe()


@pytest.mark.parametrize(
    ("actions", "text"),
    [((), ""), ((0, 3, 8), "149"), ((0, 9, 3), "1 10 4 "), (np.array([2, 2]), "33"), ((63,), "64 "), ((10,), "11 ")],
)
def test_moves_as_text(actions, text):
    assert digits(actions) == text
    assert actions_of(text) == list(actions)


def test_random_moves_lead_where_they_say():
    for seed in range(30):
        line, state = random_line(GAME, 6, np.random.default_rng(seed))
        replayed = GAME.initial_state()
        for action in line:
            assert GAME.terminal_value(replayed) is None
            replayed = GAME.apply(replayed, action)
        assert (replayed == state).all()
        assert len(line) == 6 or GAME.terminal_value(state) is not None
    assert len(random_line(GAME, 0, np.random.default_rng(0))[0]) == 0
    assert GAME.terminal_value(random_line(GAME, 99, np.random.default_rng(0))[1]) is not None
