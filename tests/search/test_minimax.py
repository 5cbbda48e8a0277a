import pytest

from c4lib.arena.match import play_match
from c4lib.arena.openings import random_openings
from c4lib.games.connect4 import Connect4, centre_first
from c4lib.jit import build
from c4lib.search.evaluation import WIN
from c4lib.search.minimax import Connect4MinimaxOpponent

from . import plain
from .positions import random_states


@pytest.mark.parametrize("size", [(7, 6, 4), (4, 5, 3), (5, 4, 4), (9, 8, 4)], ids=str)
def test_scores_equal_plain_minimax(size):
    game = Connect4(*size)
    for depth in (1, 2, 3):
        opponent = Connect4MinimaxOpponent(depth)
        for state in random_states(game, 6, seed=depth):
            scores = opponent.scores(game, state)
            for column, score in scores.items():
                after = game.apply(state, column)
                assert score == -plain.minimax(game, after, depth - 1, plain.window_evaluation)


def test_interpreted_plays_the_same():
    game = Connect4()
    for state in random_states(game, 20, seed=5):
        compiled, interpreted = (Connect4MinimaxOpponent(4, compiled=flag) for flag in (True, False))
        assert compiled(game, state) == interpreted(game, state)
        assert compiled.nodes == interpreted.nodes


def test_pruned_scores_choose_the_same_move():
    game = Connect4()
    opponent = Connect4MinimaxOpponent(5)
    for state in random_states(game, 100, seed=6):
        exact, pruned = (opponent.scores(game, state, exact=flag) for flag in (True, False))
        assert max(exact, key=exact.get) == max(pruned, key=pruned.get)  # ties: the first, centre first
        assert all(pruned[column] >= exact[column] for column in exact)


def test_ties_go_to_the_centre_or_to_the_seed():
    game = Connect4()
    empty = game.initial_state()
    assert Connect4MinimaxOpponent(1)(game, empty) == 3
    # depth 2 from the empty board: equal values exist, and a seed draws among all of them
    scores = Connect4MinimaxOpponent(2).scores(game, empty)
    best = {column for column, score in scores.items() if score == max(scores.values())}
    drawn = {Connect4MinimaxOpponent(2, seed=seed)(game, empty) for seed in range(40)}
    assert drawn == best


def test_same_seed_same_games():
    game = Connect4()

    def moves(seed):
        players = [Connect4MinimaxOpponent(2, seed=seed), Connect4MinimaxOpponent(3, seed=seed)]
        state, played = game.initial_state(), []
        while game.terminal_value(state) is None:
            played.append(players[len(played) % 2](game, state))
            state = game.apply(state, played[-1])
        return played

    assert moves(1) == moves(1)
    assert len({tuple(moves(seed)) for seed in range(8)}) > 1


def test_sooner_wins_are_better():
    game = Connect4()
    state = game.initial_state()
    for column in (2, 2, 3, 3, 4, 4):  # three in a row with both ends open
        state = game.apply(state, column)
    scores = Connect4MinimaxOpponent(4).scores(game, state)
    assert scores[1] == scores[5] == WIN - 7
    assert max(score for column, score in scores.items() if column not in (1, 5)) < WIN - 7


@pytest.mark.parametrize("columns", [1, 2, 3, 6, 7, 8])
def test_centre_first_visits_every_column(columns):
    order = [centre_first(i, columns) for i in range(columns)]
    assert sorted(order) == list(range(columns))
    distances = [abs(column - columns // 2) for column in order]
    assert distances == sorted(distances)


@pytest.mark.parametrize("depth", [0, -1, 2.5, "8", True, None])
def test_bad_depth_is_refused(depth):
    with pytest.raises(ValueError, match="depth must be"):
        Connect4MinimaxOpponent(depth)


def test_finished_game_is_refused():
    game = Connect4(1, 1, 1)
    state = game.apply(game.initial_state(), 0)
    with pytest.raises(ValueError, match="over"):
        Connect4MinimaxOpponent(1)(game, state)


def test_deeper_beats_shallower():
    """Points of depth 8 off depth 2 over 100 random 4-ply openings, each from both seats: deterministic, so golden.

    About 73 %: the window evaluation knows nothing of zugzwang, which decides many games beyond any depth here.
    """
    game = Connect4()
    openings = random_openings(game, 100, 4, seed=8)
    score = play_match(game, Connect4MinimaxOpponent(8), Connect4MinimaxOpponent(2), openings)
    assert (score.wins, score.draws, score.losses) == (136, 15, 49)


def test_build_is_shared():
    """Two opponents on one board use one compiled kernel."""
    from c4lib.search.minimax import alpha_beta

    constants = Connect4().geometry.constants
    assert build(alpha_beta, True, **constants) is build(alpha_beta, True, **constants)
