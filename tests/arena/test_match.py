import numpy as np
import pytest

from c4lib.agents import RandomAgent
from c4lib.arena.match import Score, play_game, play_match
from c4lib.arena.openings import is_decided, random_openings
from c4lib.games.connect4 import Connect4
from c4lib.games.position import Position
from c4lib.search.minimax import Connect4MinimaxOpponent

GAME = Connect4()


def leftmost(game, state):
    return int(np.flatnonzero(game.legal_actions_mask(state))[0])


def in_column(column):
    return lambda game, state: column


def test_results_are_for_the_first_player():
    assert play_game(GAME, in_column(0), in_column(1)) == 1.0
    second_wins = GAME.apply(GAME.initial_state(), 6)  # the second player is to move, and fills his column first
    assert play_game(GAME, in_column(0), in_column(1), second_wins) == -1.0
    assert play_game(Connect4(1, 2, 2), leftmost, leftmost) == 0.0


def test_each_opening_is_played_from_both_seats():
    openings = random_openings(GAME, 3, 2, seed=1)
    seen = set()

    def watching(game, state):
        beginnings = [i for i, opening in enumerate(openings) if (state[opening != 0] == opening[opening != 0]).all()]
        if np.count_nonzero(state) <= 3:  # its first move of a game
            seen.update((i, game.current_player(state)) for i in beginnings)
        return leftmost(game, state)

    score = play_match(GAME, watching, RandomAgent(0), openings)
    assert score.games == 6
    assert seen == {(i, seat) for i in range(3) for seat in (1, -1)}


def test_an_agent_against_itself_scores_half():
    score = play_match(
        GAME, Connect4MinimaxOpponent(2), Connect4MinimaxOpponent(2), random_openings(GAME, 20, 4, seed=2)
    )
    assert score.share == 0.5
    assert score.wins == score.losses


def test_score():
    score = Score(6, 2, 2)
    assert (score.games, score.points, score.share) == (10, 7.0, 0.7)
    low, high = score.interval
    assert low < 0.7 < high
    assert "6 won, 2 drawn, 2 lost: 0.700" in str(score)


def test_openings_are_different_unfinished_and_repeatable():
    openings = random_openings(GAME, 100, 8, seed=3)
    assert len({state.tobytes() for state in openings}) == 100
    assert all(np.count_nonzero(state) == 8 and GAME.terminal_value(state) is None for state in openings)
    assert all((a == b).all() for a, b in zip(openings, random_openings(GAME, 100, 8, seed=3), strict=True))
    assert any((a != b).any() for a, b in zip(openings, random_openings(GAME, 100, 8, seed=4), strict=True))


def test_openings_of_several_lengths():
    lengths = [np.count_nonzero(state) for state in random_openings(GAME, 200, (2, 6), seed=3)]
    assert set(lengths) == {2, 3, 4, 5, 6}
    assert lengths.count(2) <= 49


def test_openings_are_not_decided_unless_asked():
    drawn = random_openings(GAME, 300, 12, seed=3, decided=True)
    assert 0 < sum(is_decided(GAME, state) for state in drawn) < 300
    assert not any(is_decided(GAME, state) for state in random_openings(GAME, 300, 12, seed=3))


@pytest.mark.parametrize(
    ("moves", "decided"),
    [
        ("", False),
        ("112233", True),  # wins with column 4
        ("11223", False),  # must stop column 4, and can
        ("1322443", False),
        ("414131", False),
        ("3141", False),
        ("314152", True),  # wins with column 6
        ("31415", True),  # column 2 and column 6
    ],
)
def test_decided(moves, decided):
    assert is_decided(GAME, Position.from_moves(moves).state) == decided


def test_too_many_openings_are_refused():
    with pytest.raises(ValueError, match="found 7 different"):
        random_openings(GAME, 8, 1, seed=5)
