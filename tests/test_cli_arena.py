"""`c4 tournament`, `c4 rate` and `c4 sprt`."""

import pandas as pd
import pytest

from c4lib.arena.table import load, save
from c4lib.cli_arena import rate, sprt, tournament

ONE = ["--processes", "1"]


def test_a_tournament_and_its_ratings(call, tmp_path):
    file = tmp_path / "runs" / "games.parquet"
    agents = ["random", "minimax:1", "minimax:2"]
    output, error = call(tournament, *agents, "--openings", 6, "--opening-plies", 4, *ONE, "-o", file)
    assert error is None
    assert all(name in output for name in (*agents, "moving first is worth"))
    table = load(file)
    assert len(table) == 3 * 12
    assert table["opening"].nunique() == 6
    ratings = tmp_path / "ratings.csv"
    output, error = call(rate, file, "--anchor", "random", "--resamples", 50, "-o", ratings)
    assert error is None
    kept = pd.read_csv(ratings, index_col=0)
    assert set(kept.index) == {*agents}
    assert kept.loc["random", ["games", "rating", "low", "high"]].tolist() == [24, 0, 0, 0]
    assert next(line.split() for line in output.splitlines() if line.startswith("random"))[3:6] == ["0", "0", "0"]
    _, error = call(rate, file, "--anchor", "perfect")
    assert "'perfect' did not play" in str(error)


def test_failures_and_repetitions_are_told(call, tmp_path):
    file = tmp_path / "games.parquet"
    call(tournament, "minimax:1", "minimax:2", "--openings", 2, *ONE, "-o", file)
    table = load(file)
    moves = table["opening"] + table["moves"]
    again = table.assign(opening=moves.str[:1], moves=moves.str[1:], reason="illegal move 9")
    save(pd.concat([table, again]), file)
    output, _ = call(rate, file)
    assert "4 of 8 games repeat another one move by move" in output
    assert "illegal move 9" in output


def test_the_better_one_is_found(call, tmp_path):
    words = ["--opening-plies", "3-6", *ONE, "--elo1", 100]
    file = tmp_path / "games.parquet"
    output, error = call(sprt, "minimax:3", "random", *words, "-o", file)
    assert error is None
    assert output == call(sprt, "minimax:3", "random", *words)[0]
    assert output.endswith("minimax:3 is better than random\n")
    games = len(load(file))
    reverse, _ = call(sprt, "random", "minimax:3", *words)
    assert reverse.endswith("random is not better than minimax:3\n")
    short, _ = call(sprt, "random", "mcts:2", *ONE, "--openings", 3, "--elo1", 1)
    assert short.endswith("undecided after 3 openings\n")
    repeated, _ = call(sprt, "minimax:3", "random", *words, "-o", file)
    assert repeated == output
    assert len(load(file)) == games, "what is there is not played again"


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        (tournament, ["random"], "all of them different"),
        (tournament, ["random", "nobody"], "unknown agent 'nobody'"),
        (sprt, ["random", "random"], "all of them different"),
        (sprt, ["random", "minimax:1", "--elo0", "10", "--elo1", "5"], "elo0 must be below elo1"),
        (rate, ["nowhere.parquet"], "nowhere.parquet"),
        (tournament, ["random", "minimax:2", "--game", "tictactoe"], "unknown agent 'minimax:2' for tictactoe"),
        (tournament, ["random", "mcts:2", "--game", "othello6", "--balanced"], "only Connect Four has a solver"),
    ],
)
def test_refusals(call, command, words, message):
    _, error = call(command, *words)
    assert isinstance(error, ValueError)
    assert message in str(error)


def test_wrong_options(call):
    assert "no number of plies" in call(tournament, "random", "minimax:1", "--opening-plies", "9-2")[0]
    assert "--seconds" in call(tournament, "random", "minimax:1", "--seconds", "0")[0]
