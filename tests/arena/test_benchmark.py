import numpy as np
import pandas as pd
import pytest

from c4lib.arena import benchmark
from c4lib.arena.benchmark import COLUMNS, SETS, class_of, load, plies_left
from c4lib.games.base import digits
from c4lib.games.position import Position
from c4lib.search.solver import Solver

CHEAP = [name for name in SETS if name not in ("real_play", "L1_R3")]


@pytest.fixture(scope="module")
def solver():
    return Solver()


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A folder to build in, with journals of its own."""
    monkeypatch.setattr(benchmark, "JOURNALS", tmp_path / "journals")
    return tmp_path / "sets"


def affordable(name):
    """A set without its earliest positions, which take seconds each."""
    table = load(name)
    return table[table.moves.str.len() >= 8]


# --- classes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stones", "score", "left"),
    [
        (0, 1, 41),  # the first player wins with his last stone, the game's last but one
        (1, -1, 40),
        (0, 0, 42),
        (41, 0, 1),
        (41, 1, 1),  # the second player's last stone is the game's last
        (40, -1, 2),
        (6, 18, 1),  # four in a column
        (7, 18, 1),
        (7, -18, 0),  # it stands
        (8, -18, 0),
        (5, -18, 2),
    ],
)
def test_plies_left(stones, score, left):
    assert plies_left(stones, score) == left


@pytest.mark.parametrize(("stones", "score"), [(7, 19), (9, -18), (20, 12)])
def test_impossible_scores_are_refused(stones, score):
    with pytest.raises(ValueError, match=f"no position with {stones} stones has the score {score}"):
        plies_left(stones, score)


@pytest.mark.parametrize(
    ("stones", "score", "name"),
    [
        (14, 0, "L1_R2"),  # 28 plies left
        (13, 0, "L1_R3"),  # 29
        (14, 8, "L1_R1"),  # 13
        (14, 7, "L1_R2"),  # 15
        (15, 0, "L2_R2"),
        (28, 0, "L2_R1"),  # 14
        (27, 0, "L2_R2"),  # 15
        (29, 0, "L3_R1"),
    ],
)
def test_edges_of_the_classes(stones, score, name):
    position = benchmark.random_position(np.random.default_rng(1), stones)
    assert position.plies == stones
    assert class_of(position, score) == name


@pytest.mark.parametrize("name", CHEAP)
def test_best_play_takes_as_many_plies_as_are_left(name, solver):
    for row in affordable(name)[:10].itertuples():
        line = solver.analyse(row.moves).principal_variation
        assert len(line) == plies_left(len(row.moves), row.score)
        position = Position.from_moves([*(int(digit) - 1 for digit in row.moves), *line])
        assert position.is_over
        assert position.is_draw == (row.score == 0)


# --- the sets -----------------------------------------------------------------------------------------------------


def test_an_unknown_set_is_refused():
    with pytest.raises(ValueError, match="no set 'L9_R9'; there are: L3_R1, "):
        load("L9_R9")


@pytest.mark.parametrize("name", SETS)
def test_set(name):
    table = load(name)
    assert list(table) == ["moves", "score", *COLUMNS]
    assert len(table) == 1000
    assert (table.score == table[COLUMNS].max(axis=1)).all()
    positions = [Position.from_moves(moves) for moves in table.moves]
    assert len({min(position.key, position.mirror().key) for position in positions}) == 1000
    for position, score, columns in zip(positions, table.score, table[COLUMNS].notna().to_numpy(), strict=True):
        assert position.legal_moves == tuple(np.flatnonzero(columns))
        assert plies_left(position.plies, score) > 0
        assert name in (class_of(position, score), "real_play")
        assert position.plies in benchmark.STONES[name] or name == "real_play"


@pytest.mark.parametrize("name", CHEAP[:4])
def test_scores_of_columns(name, solver):
    for _, row in affordable(name).sample(30, random_state=1).iterrows():
        position = Position.from_moves(row.moves)
        for column in position.legal_moves:
            assert solver.solve(position.play(column)).score == -row[f"c{column}"]


@pytest.mark.parametrize(("name", "count"), [("L1_R2", 30), ("real_play", 30), ("L1_R3", 2)])
def test_scores_of_positions(name, count, solver):
    sample = affordable(name).sample(count, random_state=1)
    assert (solver.solve_many(sample.moves) == sample.score).all()


# --- building -----------------------------------------------------------------------------------------------------


def test_a_set_is_built_again_from_its_seed(workshop):
    table = benchmark.build("L2_R1", count=5, folder=workshop, table_bits=16)
    pd.testing.assert_frame_equal(table, load("L2_R1", workshop))
    pd.testing.assert_frame_equal(table, load("L2_R1")[:5])
    other = benchmark.build("L2_R1", seed=1, count=5, folder=workshop, table_bits=16)
    assert not set(other.moves) & set(table.moves)


def test_an_interrupted_build_is_taken_up_again(workshop, monkeypatch):
    table = benchmark.build("L3_R1", count=5, folder=workshop, table_bits=16)
    journal = benchmark.JOURNALS / "scores.csv"
    journal.write_text(journal.read_text()[:-3])  # killed within the fifth line
    graded = []
    grade = benchmark._grade
    monkeypatch.setattr(benchmark, "_grade", lambda position, solver: graded.append(1) or grade(position, solver))
    pd.testing.assert_frame_equal(benchmark.build("L3_R1", count=5, folder=workshop, table_bits=16), table)
    assert len(graded) == 1


def test_source_has_a_line_for_each_set(workshop):
    for name in ("L2_R2", "L3_R1", "L2_R2"):
        benchmark.build(name, count=3, folder=workshop, table_bits=16)
    source = (workshop / "SOURCE.md").read_text()
    lines = [line for line in source.splitlines() if ".csv |" in line]
    assert [line.split()[1] for line in lines] == ["L3_R1.csv", "L2_R2.csv"]
    assert all("| 3 |" in line for line in lines)


def test_real_play_is_repeatable_and_different():
    def first(seed):
        stream = benchmark.candidates("real_play", seed)
        return [digits(next(stream).moves) for _ in range(4)]

    games = first(1)
    assert games == first(1)
    assert not set(games) & set(first(2))
    assert len(set(games)) == 4
