"""Moves on benchmark positions, and what is counted of them."""

import numpy as np
import pandas as pd
import pytest

from c4lib import make_agent
from c4lib.arena import accuracy as module
from c4lib.arena import benchmark
from c4lib.arena.accuracy import accuracy, columns_played, graded, load, measure, positions, readable
from c4lib.arena.interval import wilson_interval
from c4lib.games.connect4 import Connect4
from c4lib.games.position import Position
from c4lib.search.solver import Solver

NA = pd.NA


def table(*rows):
    """A table of positions: moves, and the scores of the seven columns."""
    made = pd.DataFrame([(moves, *scores) for moves, *scores in rows], columns=["moves", *benchmark.COLUMNS])
    made[benchmark.COLUMNS] = made[benchmark.COLUMNS].astype("Int8")
    return made.assign(set="some", score=made[benchmark.COLUMNS].max(axis=1))


SOME = table(
    ("44", 3, 3, 1, 0, -2, NA, 3),  # won
    ("445", -4, -4, -9, -4, NA, -4, -4),  # lost whatever is played
    ("4453", 0, -1, -1, 0, 0, 0, -3),  # drawn
    ("445333", 5, 5, 5, 2, 5, 5, 5),  # won whatever is played
)


@pytest.mark.parametrize(
    ("columns", "losses", "kept"),
    [
        ((0, 0, 0, 0), [0, 0, 0, 0], [True, True, True, True]),
        ((2, 2, 3, 3), [2, 5, 0, 3], [True, True, True, True]),
        ((3, 1, 6, 1), [3, 0, 3, 0], [False, True, False, True]),
        ((4, 0, 1, 0), [5, 0, 1, 0], [False, True, False, True]),
    ],
)
def test_moves_are_graded(columns, losses, kept):
    moves = graded(SOME, columns)
    assert moves["loss"].tolist() == losses
    assert moves["kept"].tolist() == kept
    assert moves["at_stake"].tolist() == [True, False, True, False]
    assert moves["stones"].tolist() == [2, 3, 4, 6]
    assert moves["column"].tolist() == list(columns)


def test_a_full_column_is_no_move():
    with pytest.raises(ValueError, match="column 5 is full in 44"):
        graded(SOME, (5, 0, 0, 0))


def test_shares_and_intervals():
    numbers = accuracy(graded(SOME, (3, 2, 0, 3))).loc["some"]
    assert numbers["positions"] == 4
    assert (numbers["kept"], numbers["kept_at_stake"], numbers["exact"]) == (0.75, 0.5, 0.25)
    assert (numbers["kept_low"], numbers["kept_high"]) == wilson_interval(3, 4)
    assert (numbers["kept_at_stake_low"], numbers["kept_at_stake_high"]) == wilson_interval(1, 2)
    assert (numbers["exact_low"], numbers["exact_high"]) == wilson_interval(1, 4)
    assert numbers["mean_loss"] == (3 + 5 + 0 + 3) / 4


def test_nothing_at_stake():
    numbers = accuracy(graded(SOME, (0, 0, 0, 0)), by="stones")
    assert numbers.index.tolist() == [2, 3, 4, 6]
    assert np.isnan(numbers.loc[3, "kept_at_stake"])
    assert readable(numbers).loc[3, "where at stake %"] == ""
    assert readable(numbers).loc[2, "where at stake %"] == "100.0 (20.7 to 100.0)"


def test_the_benchmark_is_graded_by_what_is_played():
    """Every move against the solver, by playing it."""
    solver, game = Solver(table_bits=18), Connect4()
    table = positions(("L3_R1", "L2_R1"), 40)
    moves = graded(table, columns_played(make_agent("minimax:2"), table))
    assert moves["set"].tolist() == ["L3_R1"] * 40 + ["L2_R1"] * 40
    for row in moves.itertuples():
        position = Position.from_moves(row.moves)
        assert row.column == make_agent("minimax:2")(game, position.state)
        ended = game.terminal_value(position.play(row.column).state)
        stones = len(row.moves)
        after = -solver.solve(position.play(row.column)).score if ended is None else (ended and (43 - stones) // 2)
        best = solver.solve(position).score
        assert row.score == best
        assert row.loss == best - after
        assert row.kept == (np.sign(best) == np.sign(after))


def test_an_agent_is_asked_for_many_moves_at_once():
    class Leftmost:
        asked = ()

        def choose(self, game, states):
            self.asked += (len(states),)
            return [int(np.flatnonzero(game.legal_actions_mask(state))[0]) for state in states]

    agent = Leftmost()
    table = positions(("L3_R1",), 300)
    assert 0 < graded(table, columns_played(agent, table))["kept"].mean() < 1
    assert agent.asked == (250, 50)


def test_names_are_measured(tmp_path):
    file = tmp_path / "moves.csv"
    found = measure(["minimax:1", "minimax:2"], ["L3_R1"], 50, file)
    assert found["agent"].tolist() == ["minimax:1"] * 50 + ["minimax:2"] * 50
    assert load(file).equals(found)
    numbers = accuracy(found, by=["agent", "set"])
    assert numbers.index.tolist() == [("minimax:1", "L3_R1"), ("minimax:2", "L3_R1")]
    assert (numbers["positions"] == 50).all()
    assert numbers.loc[("minimax:2", "L3_R1")].equals(accuracy(found[50:], by="set").loc["L3_R1"])


def test_an_agent_that_the_file_has_is_not_asked_again(tmp_path, monkeypatch):
    file = tmp_path / "moves.csv"
    first = measure(["minimax:1"], ["L3_R1"], 20, file)
    asked = []
    play = module.columns_played
    monkeypatch.setattr(module, "columns_played", lambda agent, table: asked.append(agent.depth) or play(agent, table))
    both = measure(["minimax:2", "minimax:1"], ["L3_R1"], 20, file)
    assert asked == [2]
    assert both[20:].reset_index(drop=True).equals(first)
    with pytest.raises(ValueError, match="is of other positions"):
        measure(["minimax:1"], ["L3_R1"], 21, file)
    assert [path.name for path in tmp_path.iterdir()] == ["moves.csv"]


def test_refusals():
    with pytest.raises(ValueError, match="no set 'L9'"):
        measure(["random"], ["L9"])
    with pytest.raises(ValueError, match="unknown agent"):
        measure(["nobody"], ["L3_R1"])
