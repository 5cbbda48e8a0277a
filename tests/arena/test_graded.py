"""Moves measured against the truth, mostly on a small board, where the engine knows it too."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from c4lib import make_agent, paths
from c4lib.arena import graded as module
from c4lib.arena.graded import GradedGame, grade, move_losses, play_graded, summary
from c4lib.cli import c4
from c4lib.games.connect4 import Connect4, Geometry, canonical_key
from c4lib.games.position import Position
from c4lib.search.book import ENTRY, Book
from c4lib.search.solver import Solution, Solver

from ..games import plain
from ..search.exact import full_depth

SMALL = Geometry(5, 4, 4)
needs_book = pytest.mark.skipif(not paths.BOOK.exists(), reason="there is no book yet: `c4 book build` makes it")


@pytest.fixture
def small(monkeypatch):
    """Games are played and graded on a small board, all in this process."""
    solver = Solver(SMALL, table_bits=18)
    monkeypatch.setattr(module, "Connect4", lambda: Connect4(*SMALL))
    monkeypatch.setattr(module, "shared_solver", lambda: solver)
    monkeypatch.setattr(module, "worker_pool", lambda processes: ThreadPoolExecutor(1))


class LateSolver(Solver):
    """Solves from the fourteenth stone on; what comes before it takes for a draw."""

    def solve(self, position, **limits):
        own, opp = position
        if (own | opp).bit_count() < 14:
            return Solution(0, 0, 0, 0.0)
        return super().solve(position, **limits)


def exact_losses(columns):
    """The same by the engine."""
    exact, position = full_depth(SMALL), Position(geometry=SMALL)
    for column in columns:
        after = position.play(column)
        yield exact(*position.boards) + exact(*after.boards)
        position = after


def untimed(game):
    return replace(game, slowest=0.0, slowest_later=0.0)


# --- losses ---------------------------------------------------------------------------------------------------------


def test_losses_of_random_games(small):
    total = 0
    for columns, _ in plain.random_games(20, *SMALL, seed=5):
        losses = move_losses(columns)
        assert losses == list(exact_losses(columns))
        assert min(losses) >= 0
        assert move_losses(columns, 1) == losses[::2]
        assert move_losses(columns, -1) == losses[1::2]
        total += sum(losses)
    assert total > 50


def test_best_moves_lose_nothing(small):
    for start in ((), (0,), (1, 1, 3)):
        position = Position.from_moves(start, *SMALL)
        line = module.shared_solver().analyse(position).principal_variation
        assert Position.from_moves([*start, *line], *SMALL).is_over
        assert set(move_losses([*start, *line])[len(start) :]) == {0}


def test_a_blunder_is_what_it_costs(small):
    """The second player lets a line grow open at both ends."""
    losses = move_losses([1, 1, 2, 2, 3, 3, 4])
    assert losses[3] > 0  # should have stopped it
    assert losses[4:] == [0, 0, 0]  # too late for both
    columns = [1, 0, 2, 0, 3, 0, 4]
    losses = move_losses(columns)
    assert losses[5] > 0  # should have stopped it at its only end
    assert losses[6] == 0  # wins
    assert move_losses([*columns[:6], 1])[6] > 0  # could have won


def test_losses_are_the_same_with_a_book(small, monkeypatch):
    """Of all positions with two stones, so that those with one are judged by their successors."""
    exact, start, entries = full_depth(SMALL), Position(geometry=SMALL), {}
    for first in start.legal_moves:
        for second in start.play(first).legal_moves:
            position = start.play(first).play(second)
            if position.key == canonical_key(*position.boards, *SMALL[:2]):
                scores = {column: -exact(*position.play(column).boards) for column in position.legal_moves}
                move = max(scores, key=scores.get)
                entries[position.key] = move, scores[move]
    book = Book(np.array([(number, *entries[number]) for number in sorted(entries)], ENTRY), SMALL)
    solver = Solver(SMALL, book=book, table_bits=18)
    monkeypatch.setattr(module, "shared_solver", lambda: solver)
    for columns, _ in plain.random_games(10, *SMALL, seed=8):
        assert move_losses(columns) == list(exact_losses(columns))


def test_no_moves_no_losses(small):
    assert move_losses([]) == []


def test_losses_on_the_usual_board(monkeypatch):
    """From the fourteenth stone on, against the solver asked directly."""
    solver, late, graded = Solver(table_bits=20), LateSolver(table_bits=20), 0
    monkeypatch.setattr(module, "shared_solver", lambda: late)
    for columns, _ in plain.random_games(12, 7, 6, 4, seed=6):
        losses = move_losses(columns)
        assert len(losses) == len(columns)
        position = Position.from_moves(columns[:14])
        for column, loss in zip(columns[14:], losses[14:], strict=True):
            scores = [move and move.score for move in solver.analyse(position).columns]
            assert loss == max(score for score in scores if score is not None) - scores[column]
            position = position.play(column)
            graded += 1
    assert graded > 50


@needs_book
def test_the_best_line_from_the_empty_board_loses_nothing():
    """By the lab's book and solver: 41 moves, and the first player has won with his last stone."""
    solver, position, columns = module.shared_solver(), Position(), []
    while not position.is_over:
        columns.append(solver.best_move(position)[0])
        position = position.play(columns[-1])
    assert (len(columns), position.winner) == (41, 1)
    assert move_losses(columns) == [0] * 41


# --- games ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(6))
def test_a_graded_game(small, number):
    opponents = ("random", "minimax:2", "minimax:4")
    game = play_graded("minimax:3", number, opponents, seed=1)
    assert (game.number, game.opponent, game.seat) == (number, opponents[number // 2], [1, -1][number % 2])
    position = Position.from_moves(game.moves, *SMALL)
    assert position.is_over
    assert game.result == (position.winner or 0) * game.seat
    columns = [int(digit) - 1 for digit in game.moves]
    expected = list(exact_losses(columns))[0 if game.seat == 1 else 1 :: 2]
    assert game.losses == " ".join(map(str, expected))
    assert game.sources == ""
    assert 0 <= game.slowest_later <= game.slowest < 10


def test_a_series_meets_every_opponent_from_both_seats(small):
    games = [play_graded("random", number, ("random", "minimax:1"), 0) for number in range(8)]
    assert [(game.opponent, game.seat) for game in games[:4]] == [(game.opponent, game.seat) for game in games[4:]]
    assert {(game.opponent, game.seat) for game in games} == {(o, s) for o in ("random", "minimax:1") for s in (1, -1)}


def test_the_perfect_agent_loses_nothing_and_tells_its_sources(small, monkeypatch):
    monkeypatch.setattr("c4lib.agents.opening_book", lambda: None)
    for number in range(2):
        game = play_graded("perfect", number, ("minimax:2",), seed=3)
        losses = game.losses.split()
        assert set(losses) == {"0"}
        assert game.sources == "s" * len(losses)


def test_an_agent_against_itself(small):
    game = play_graded("minimax:2", 0, ("minimax:2",), seed=0)
    assert Position.from_moves(game.moves, *SMALL).is_over


def test_a_draw_is_a_plain_zero(small):
    games = (play_graded("random", number, ("minimax:4",), 0) for number in range(1, 400, 2))
    drawn = next(game for game in games if game.result == 0)
    assert str(drawn.result) == "0.0"


@pytest.mark.parametrize("agent", ["random", "minimax:3"])
def test_same_number_and_seed_same_game(small, agent):
    games = []
    for _ in range(2):
        games.append([untimed(play_graded(agent, number, ("minimax:2", "random"), 7)) for number in range(4)])
    assert games[0] == games[1]
    assert len({game.moves for game in games[0]}) > 1
    others = [play_graded(agent, number, ("minimax:2", "random"), 8).moves for number in range(4)]
    assert others != [game.moves for game in games[0]]


def test_a_game_does_not_depend_on_those_before(small):
    first, second = (play_graded("minimax:3", 0, ("random",), 7).moves for _ in range(2))
    assert first == second


def test_a_part_of_the_opponents_moves_are_random(small):
    """An opponent that always plays the first open column, but for those."""

    def leftmost(game, state):
        return int(np.flatnonzero(game.legal_actions_mask(state))[0])

    replies = first = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            module, "make_agent", lambda name, seed: leftmost if name == "leftmost" else make_agent(name, seed=seed)
        )
        for number in range(60):
            game = play_graded("random", number, ("leftmost",), seed=2)
            position = Position(geometry=SMALL)
            for digit in game.moves:
                if position.mover != game.seat:
                    replies += 1
                    first += int(digit) - 1 == position.legal_moves[0]
                position = position.play(int(digit) - 1)
    assert 0.7 < first / replies < 0.92  # three quarters, and some of the random moves


# --- series ---------------------------------------------------------------------------------------------------------


OPPONENTS = ("random", "minimax:1")


def graded(output, games, **settings):
    return grade("minimax:2", output, games=games, seed=4, opponents=OPPONENTS, **settings)


@pytest.fixture
def played(monkeypatch):
    """The numbers of the games that are really played."""
    numbers = []
    play = module.play_graded

    def watched(agent, number, opponents, seed):
        numbers.append(number)
        return play(agent, number, opponents, seed)

    monkeypatch.setattr(module, "play_graded", watched)
    return numbers


def test_grade(small, tmp_path, played):
    output = tmp_path / "games.csv"
    table = graded(output, 6)
    assert list(table.columns) == [field.name for field in fields(GradedGame)]
    assert list(table["number"]) == sorted(played) == [0, 1, 2, 3, 4, 5]
    assert list(tmp_path.iterdir()) == [output]
    content = output.read_text()
    assert content.count("\n") == 7
    assert "\r" not in content
    for row, game in zip(table.itertuples(index=False), (GradedGame(*row) for row in table.values), strict=True):
        assert tuple(row) == tuple(getattr(game, field.name) for field in fields(GradedGame))
        losses = list(exact_losses(int(digit) - 1 for digit in game.moves))[0 if game.seat == 1 else 1 :: 2]
        assert [int(loss) for loss in game.losses.split()] == losses


def test_grade_resumes_and_sorts(small, tmp_path, played):
    output = tmp_path / "games.csv"
    graded(output, 4)
    title, *rows = output.read_text().splitlines()
    output.write_text("\n".join([title, rows[3], rows[0], ""]))  # as a killed run may leave it
    played.clear()
    table = graded(output, 5)
    assert sorted(played) == [1, 2, 4]
    assert list(table["number"]) == [0, 1, 2, 3, 4]
    again = output.read_text().splitlines()
    assert again[0] == title
    assert again[1] == rows[0]
    assert again[4] == rows[3]

    played.clear()
    assert graded(output, 5).values.tolist() == table.values.tolist()
    assert played == []
    assert output.read_text().splitlines() == again


@pytest.mark.parametrize("kept", [1, 12, -2])
def test_a_row_cut_short_is_played_again(small, tmp_path, played, kept):
    output = tmp_path / "games.csv"
    graded(output, 3)
    *before, last = output.read_text().splitlines()
    output.write_text("\n".join([*before, last[:kept]]))
    played.clear()
    assert list(graded(output, 4)["number"]) == [0, 1, 2, 3]
    assert sorted(played) == [2, 3]
    assert output.read_text().splitlines()[: len(before)] == before


def test_a_first_row_is_kept_as_soon_as_its_game_is_over(small, tmp_path, monkeypatch):
    output = tmp_path / "games.csv"
    play = module.play_graded

    def dies(agent, number, opponents, seed):
        if number == 2:
            raise KeyboardInterrupt
        return play(agent, number, opponents, seed)

    monkeypatch.setattr(module, "play_graded", dies)
    with pytest.raises(KeyboardInterrupt):
        graded(output, 3)
    assert sorted(pd.read_csv(output)["number"]) == [0, 1]
    monkeypatch.setattr(module, "play_graded", play)
    assert list(graded(output, 3)["number"]) == [0, 1, 2]


def test_fewer_games_than_there_are(small, tmp_path):
    output = tmp_path / "games.csv"
    graded(output, 3)
    assert list(graded(output, 2)["number"]) == [0, 1]


def test_unknown_agents_are_told(small, tmp_path):
    with pytest.raises(ValueError, match="unknown agent 'dance'"):
        grade("dance", tmp_path / "games.csv", games=1)
    with pytest.raises(FileNotFoundError):
        grade("random", tmp_path / "nowhere" / "games.csv", games=1)


# --- summaries ------------------------------------------------------------------------------------------------------


def a_game(number, opponent, seat, result, losses, slowest_later):
    return GradedGame(number, "perfect", 0, opponent, seat, "44", result, losses, "", 9.0, slowest_later)


def test_summary():
    games = [
        a_game(0, "random", 1, 1.0, "0 0 3", 0.5),
        a_game(1, "random", -1, 0.0, "0", 0.1),
        a_game(2, "minimax:8", 1, -1.0, "1 10 0 2", 0.2),
        a_game(3, "minimax:8", -1, -1.0, "0 0", 0.3),
        a_game(4, "random", 1, 1.0, "0 0", 0.25),
        a_game(5, "random", 1, 0.0, "7", 0.0),
    ]
    table = summary(pd.DataFrame(games))
    assert list(table.columns) == ["won", "drawn", "lost", "moves", "mistakes", "slowest_later"]
    assert {index: tuple(row) for index, row in zip(table.index, table.values.tolist(), strict=True)} == {
        ("minimax:8", "first"): (0, 0, 1, 4, 3, 0.2),
        ("minimax:8", "second"): (0, 0, 1, 2, 0, 0.3),
        ("random", "first"): (2, 1, 0, 6, 2, 0.5),
        ("random", "second"): (0, 1, 0, 1, 0, 0.1),
    }


def test_summary_of_what_was_graded(small, tmp_path):
    table = graded(tmp_path / "games.csv", 6)
    counted = summary(table)
    assert counted[["won", "drawn", "lost"]].to_numpy().sum() == 6
    losses = [loss for losses in table["losses"] for loss in losses.split()]
    assert counted["moves"].sum() == len(losses)
    assert counted["mistakes"].sum() == len(losses) - losses.count("0")


# --- the command ----------------------------------------------------------------------------------------------------


def test_command(small, tmp_path, played):
    output = tmp_path / "games.csv"
    words = ["grade", "random", "--games", "2", "--seed", "3", "--processes", "1", "-o", str(output)]
    result = CliRunner().invoke(c4, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output.splitlines()[0].split() == ["won", "drawn", "lost", "moves", "mistakes", "slowest_later"]
    assert "first" in result.output
    content = output.read_text()
    output.write_text("".join(content.splitlines(keepends=True)[:2]))
    again = CliRunner().invoke(c4, words, catch_exceptions=False)
    assert (again.exit_code, sorted(played)) == (0, [0, 1, 1])
    assert output.read_text().splitlines()[:2] == content.splitlines()[:2]
    assert output.read_text().count("\n") == 3


@pytest.mark.slow
@needs_book
def test_command_on_the_usual_board(tmp_path):
    output = tmp_path / "games.csv"
    words = ["grade", "random", "--games", "2", "--processes", "1", "-o", str(output)]
    for _ in range(2):
        assert CliRunner().invoke(c4, words, catch_exceptions=False).exit_code == 0
    table = pd.read_csv(output)
    assert list(table["number"]) == [0, 1]
    assert all(int(loss) >= 0 for losses in table["losses"] for loss in str(losses).split())
