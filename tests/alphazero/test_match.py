"""Games side by side: seats, results, moves."""

import numpy as np

from c4lib.agents import RandomAgent
from c4lib.alphazero.agent import AlphaZeroAgent
from c4lib.alphazero.match import Tally, play_match
from c4lib.games.tictactoe import TicTacToe

from .players import legal_actions, random_states, scrambled

GAME = TicTacToe()


class First:
    """Plays the lowest free cell, and notes who it was in its first move."""

    def __init__(self):
        self.seats = []

    def __call__(self, game, state):
        if np.count_nonzero(state) <= 1:
            self.seats.append(game.current_player(state))
        return legal_actions(game, state)[0]


def test_seats_alternate_and_results_are_the_players():
    player, opponent = First(), First()  # whoever begins has 0, 2, 4, and then 6: a diagonal
    match = play_match(GAME, player, opponent, [GAME.initial_state()] * 3)
    assert match.results.tolist() == [1, -1] * 3
    assert match.tally == Tally(3, 0, 3)
    assert match.moves == [[0, 1, 2, 3, 4, 5, 6]] * 6
    assert sorted(player.seats) == [-1, -1, -1, 1, 1, 1]


def test_games_are_what_their_moves_say():
    openings = random_states(GAME, 20, seed=1, plies=4)
    match = play_match(GAME, RandomAgent(1), RandomAgent(2), openings)
    assert sum(match.tally) == len(match.moves) == 40
    for number, (moves, result) in enumerate(zip(match.moves, match.results, strict=True)):
        state = openings[number // 2]
        for move in moves:
            assert GAME.terminal_value(state) is None
            state = GAME.apply(state, move)
        seat = 1 if number % 2 == 0 else -1
        assert GAME.terminal_value(state) * GAME.current_player(state) * seat == result
    assert set(match.results) == {1, 0, -1}


def test_many_at_once_play_as_one_at_a_time():
    openings = random_states(GAME, 6, seed=2, plies=4)
    together = AlphaZeroAgent(scrambled(GAME), GAME, 20)
    alone = lambda game, state: together(game, state)  # noqa: E731
    assert play_match(GAME, together, First(), openings).moves == play_match(GAME, alone, First(), openings).moves
