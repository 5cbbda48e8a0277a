import time

import numpy as np
import pytest

from c4lib.agents import RandomAgent, make_agent
from c4lib.alphazero.match import play_match as play_side_by_side
from c4lib.arena import match
from c4lib.arena.match import Clock, Referee, Score, play_block, play_game, play_match, tournament
from c4lib.arena.openings import after, all_lines, is_decided, random_lines, random_openings
from c4lib.arena.table import COLUMNS, load
from c4lib.games.connect4 import Connect4
from c4lib.games.position import Position
from c4lib.games.tictactoe import TicTacToe
from c4lib.search.minimax import Connect4MinimaxOpponent
from c4lib.search.solver import shared_solver

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


def test_balanced_openings_are_drawn():
    lines = random_lines(GAME, 10, (9, 12), seed=1, balanced=True)
    solver = shared_solver()
    assert {solver.solve(GAME.boards(after(GAME, line))).score for line in lines} == {0}


@pytest.mark.parametrize(("plies", "states"), [(0, 1), (1, 4), (2, 25), (3, 121)])
def test_all_openings_up_to_symmetry(plies, states):
    """1, 7, 49 and 238 states, of which 1, 1, 1 and 4 are their own mirror images."""
    lines = all_lines(GAME, plies)
    assert len(lines) == states
    assert all(len(line) == plies for line in lines)
    mirrored = {after(GAME, line)[:, ::-1].tobytes() for line in lines}
    own_image = [line for line in lines if after(GAME, line).tobytes() in mirrored]
    assert all((after(GAME, line) == after(GAME, line)[:, ::-1]).all() for line in own_image)


def test_all_openings_of_tic_tac_toe():
    """Three first moves that differ, twelve second ones; none is decided, and after three plies some are."""
    game = TicTacToe()
    assert [len(all_lines(game, plies)) for plies in range(3)] == [1, 3, 12]
    everything, undecided = (all_lines(game, 4, decided=flag) for flag in (True, False))
    assert 0 < len(undecided) < len(everything)


def refereed(agent, opponent, clock=None, count=3):
    """A match from random openings, and its referee."""
    referee = Referee((agent, opponent), 2 * count, clock)
    openings = random_openings(GAME, count, 4, seed=1)
    return play_side_by_side(GAME, agent, opponent, openings, ask=referee), referee


class Together:
    """An agent that is asked for all its moves at once."""

    num_simulations = 7

    def __init__(self, answer):
        self.answer = answer

    def choose(self, game, states):
        return [self.answer(game, state) for state in states]


def raising(game, state):
    raise RuntimeError("out of luck")


def slow(game, state):
    time.sleep(0.02)
    return leftmost(game, state)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (raising, "raised RuntimeError: out of luck"),
        (in_column(9), "illegal move 9"),
        (in_column(None), "illegal move None"),
        (in_column(-1), "illegal move -1"),
        (in_column("3"), "illegal move '3'"),
    ],
)
@pytest.mark.parametrize("kind", [lambda answer: answer, Together])
def test_an_agent_that_fails_has_lost(answer, reason, kind):
    played, referee = refereed(kind(answer), leftmost)
    assert played.results.tolist() == [-1] * 6
    assert set(referee.reasons.values()) == {reason}
    assert sorted(referee.reasons) == list(range(6))
    assert all(len(moves) <= 1 for moves in played.moves)  # at most the other's first
    assert refereed(leftmost, kind(answer))[0].results.tolist() == [1] * 6


def test_too_few_moves_lose_all_games():
    agent = Together(leftmost)
    agent.choose = lambda game, states: [0]
    _, referee = refereed(agent, leftmost)
    assert set(referee.reasons.values()) == {"raised ValueError: 1 moves for 3 positions"}


def test_a_number_of_another_type_is_a_move():
    played, referee = refereed(lambda game, state: np.int64(leftmost(game, state)), RandomAgent(1))
    assert not referee.reasons
    assert all(type(move) is int for moves in played.moves for move in moves)


def test_the_clock_and_its_bank():
    _, referee = refereed(slow, leftmost, Clock(1.0))
    assert not referee.reasons
    played, referee = refereed(slow, leftmost, Clock(0.001))
    assert played.results.tolist() == [-1] * 6
    assert all(reason.endswith("seconds for a move") for reason in referee.reasons.values())
    played, referee = refereed(slow, leftmost, Clock(0.001, bank=0.03))  # enough for one move, and not for two
    assert played.results.tolist() == [-1] * 6
    assert all(1 <= len(moves) <= 3 for moves in played.moves)


def test_what_was_used_is_counted_by_side():
    together, minimax = Together(leftmost), Connect4MinimaxOpponent(2)
    played, referee = refereed(together, minimax)
    opening = [4] * 6
    ours = [
        sum((ply % 2 == 0) == (number % 2 == 0) for ply in range(start, start + len(moves)))
        for number, (start, moves) in enumerate(zip(opening, played.moves, strict=True))
    ]
    assert referee.nodes[:, 0].tolist() == [7 * count for count in ours]
    assert (referee.nodes[:, 1] > 7).all()
    assert (referee.seconds > 0).all()
    _, referee = refereed(leftmost, minimax)
    assert np.isnan(referee.nodes[:, 0]).all()


def test_a_table_says_what_was_played():
    lines = random_lines(GAME, 4, (2, 5), seed=1)
    table = play_block("connect4", "minimax:2", "random", lines, None, 0)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 8
    for row in table.itertuples():
        state = Position.from_moves(row.opening + row.moves).state
        assert GAME.terminal_value(state) * GAME.current_player(state) == row.result
        assert {row.first, row.second} == {"minimax:2", "random"}
        nodes = {row.first: row.first_nodes, row.second: row.second_nodes}
        assert nodes["minimax:2"] > 0
        assert np.isnan(nodes["random"])
    assert table["first"].tolist() == ["minimax:2", "random"] * 4
    assert table.drop(columns=["first_seconds", "second_seconds"]).equals(
        play_block("connect4", "minimax:2", "random", lines, None, 0).drop(columns=["first_seconds", "second_seconds"])
    )


def test_a_tournament_goes_on_where_it_was(tmp_path, monkeypatch):
    agents, lines = ["random", "minimax:1", "minimax:2"], random_lines(GAME, 4, 4, seed=1)
    file = tmp_path / "games.parquet"
    part = tournament("connect4", agents[:2], lines[:3], file, processes=1)
    assert len(part) == 6
    played = []
    monkeypatch.setattr(match, "play_block", lambda *block: played.append(block) or play_block(*block))
    monkeypatch.setattr(match, "worker_pool", lambda *arguments: Here())
    whole = tournament("connect4", agents, lines, file)
    assert sum(2 * len(block[3]) for block in played) == 3 * 8 - 6
    assert len(whole) == 24
    assert whole[whole["opening"] != whole["opening"].iloc[6]].merge(part).shape[0] >= 6
    assert len(load(file)) == 24
    again = tournament("connect4", agents, lines, file)
    assert sum(2 * len(block[3]) for block in played) == 3 * 8 - 6
    assert again.equals(whole)
    gauntlet = tournament("connect4", agents, lines, gauntlet=True)
    assert all("random" in pair for pair in zip(gauntlet["first"], gauntlet["second"], strict=True))
    assert len(gauntlet) == 16


class Here:
    """A pool whose work is done at once."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def submit(self, function, *arguments):
        from concurrent.futures import Future

        future = Future()
        future.set_result(match.play_block(*arguments))
        return future


def test_the_same_games_from_any_number_of_processes():
    agents, lines = ["random", "mcts:20", "minimax:1"], random_lines(GAME, 30, 4, seed=1)
    one, two = (
        tournament("connect4", agents, lines, processes=processes).drop(columns=["first_seconds", "second_seconds"])
        for processes in (1, 2)
    )
    assert one.equals(two)
    assert len(one) == 3 * 60


@pytest.mark.parametrize("agents", [["random"], ["random", "random"], []])
def test_a_tournament_needs_different_agents(agents):
    with pytest.raises(ValueError, match="all of them different"):
        tournament("connect4", agents, [[]])


def test_every_kind_of_agent_counts_or_does_not():
    state = GAME.initial_state()
    for name, nodes in (("random", None), ("mcts:50", 50), ("minimax:1", 7)):
        agent = make_agent(name, seed=1)
        agent(GAME, state)
        counted = match._nodes(agent)
        assert np.isnan(counted) if nodes is None else counted == nodes
