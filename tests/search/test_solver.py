"""The solver's answers on the usual board, against public data, another solver and themselves, and its contracts."""

import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from c4lib import bits, jit, lanes, paths
from c4lib.games import connect4
from c4lib.games.connect4 import STANDARD, Geometry
from c4lib.games.position import Position
from c4lib.search import nullwindow
from c4lib.search import solver as module
from c4lib.search.book import ENTRY, Book
from c4lib.search.solver import OUTCOME, Analysis, Solution, Solver, solve, solve_many

from .exact import full_depth

ORACLES = Path(os.environ.get("C4_ORACLES", paths.ROOT.parent / "shared" / "oracles"))
needs_numba = pytest.mark.skipif(not jit.HAVE_NUMBA, reason="numba cannot be imported here")

pytestmark = needs_numba  # interpreted, the usual board takes hours; the kernels' own tests interpret small ones


@pytest.fixture(scope="module")
def solver():
    """One for all whose answers may come from a warm table."""
    return Solver()


@pytest.fixture(scope="module")
def small():
    """A solver of a small board, where everything is quick."""
    return Solver((4, 4, 4), table_bits=16)


def random_positions(count, *, seed, least, most=41, geometry=STANDARD):
    """Positions of random games that go on, every length from `least` to `most` stones with the same chance."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        length = rng.integers(least, most + 1)
        position = Position(geometry=geometry)
        while position.plies < length and not position.is_over:
            position = position.play(int(rng.choice(position.legal_moves)))
        if not position.is_over:
            found.append(position)
    return found


def final_score(position):
    """Of a finished game, for the side to move: less than nothing by the stones that the winner had in hand."""
    if position.is_draw:
        return 0
    columns, rows, _ = position.geometry
    winner_before = (columns * rows + (position.winner == 1)) // 2 - (position.plies - 1) // 2
    return -winner_before


# --- public data --------------------------------------------------------------------------------------------------


def oracle(name):
    """A file of public data, or the reason to do without."""
    file = ORACLES / name
    if not file.exists():
        pytest.skip(f"there is no {name} in {ORACLES}; C4_ORACLES names the folder")
    return file


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("Test_L3_R1", 500),
        ("Test_L2_R1", 500),
        ("Test_L2_R2", 500),
        ("Test_L1_R1", 500),
        ("Test_L1_R2", 50),
        pytest.param("Test_L1_R2", 500, marks=pytest.mark.slow),
        ("Test_L1_R3", 3),
        pytest.param("Test_L1_R3", 500, marks=pytest.mark.slow),
    ],
)
def test_public_benchmark(name, count, solver):
    rows = [line.split() for line in oracle(name).read_text().splitlines()[:count]]
    assert len(rows) == count
    found = solver.solve_many(moves for moves, _ in rows)
    wrong = [(*row, int(score)) for row, score in zip(rows, found, strict=True) if int(row[1]) != score]
    assert not wrong


def eight_ply_positions():
    """(boards, score) of every position in the file of scores after eight plies: cells from the left, bottom up."""
    with gzip.open(oracle("eight_ply_scores.txt.gz"), "rt") as lines:
        for line in lines:
            cells, score = line.split()
            sides = [
                sum(
                    1 << column * 7 + row
                    for column in range(7)
                    for row in range(6)
                    if letters[column * 6 + row] == side
                )
                for letters in [cells.split(",")]
                for side in "xo"
            ]
            yield tuple(sides), int(score)


def drawn(items, count, seed):
    """So many of a list, by chance."""
    chosen = np.random.default_rng(seed).choice(len(items), count, replace=False)
    return [items[i] for i in chosen]


def test_eight_ply_scores(solver):
    for boards, score in drawn(list(eight_ply_positions()), 40, seed=1):
        assert solver.solve(boards).score == score


@pytest.mark.slow
def test_many_eight_ply_scores(solver):
    """Takes up where it was interrupted, as long as the solver's sources are the same."""
    seed, batch = 2, 20
    sample = drawn(list(eight_ply_positions()), 2000, seed)
    modules = (module, nullwindow, connect4, lanes, bits, jit)
    sources = b"".join(Path(each.__file__).read_bytes() for each in modules)
    progress = paths.BUILD / f"eight-ply-{seed}-{jit.digest(sources)}.json"
    done = json.loads(progress.read_text())["done"] if progress.exists() else 0
    progress.parent.mkdir(exist_ok=True)
    for first in range(done, len(sample), batch):
        part = sample[first : first + batch]
        assert solver.solve_many(boards for boards, _ in part).tolist() == [score for _, score in part]
        beside = progress.with_suffix(".part")
        beside.write_text(json.dumps({"done": first + len(part)}))
        beside.replace(progress)


@pytest.mark.slow
def test_the_empty_board():
    """The first player wins with his very last stone, and only from the centre."""
    found = Solver().analyse(Position())
    assert [column.score for column in found.columns] == [-2, -1, 0, 1, 0, -1, -2]
    assert (found.score, found.best_moves, len(found.principal_variation)) == (1, (3,), 41)


# --- another solver -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "least"), [(300, 16), pytest.param(2000, 12, marks=pytest.mark.slow)])
def test_agrees_with_bitbully(count, least, solver):
    bitbully = pytest.importorskip("bitbully")
    other = bitbully.BitBully(opening_book=None)
    positions = random_positions(count, seed=3, least=least)
    expected = [other.mtdf(bitbully.Board(list(position.moves))) for position in positions]
    found = solver.solve_many(positions).tolist()
    assert [(p, e, f) for p, e, f in zip(positions, expected, found, strict=True) if e != f] == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [(5, 4, 4), (4, 5, 4), (5, 5, 4), (5, 5, 3), (4, 6, 4), (9, 2, 3), (6, 5, 4)], ids=str)
def test_agrees_with_the_engine_on_whole_boards(size):
    """The lab's engine, searching to the end of the game."""
    geometry = Geometry(*size)
    assert Solver(geometry).solve((0, 0)).score == full_depth(geometry)(0, 0)


# --- one table, many searches -------------------------------------------------------------------------------------


POSITIONS = random_positions(60, seed=4, least=14)


@pytest.fixture(scope="module")
def scores(solver):
    return solver.solve_many(POSITIONS).tolist()


def test_warm_and_cleared_tables_give_the_same(scores):
    kept = Solver(table_bits=20)
    assert kept.solve_many(POSITIONS).tolist() == scores
    assert kept.solve_many(reversed(POSITIONS)).tolist() == scores[::-1]
    assert kept.solve_many(POSITIONS, cold=True).tolist() == scores
    for position, score in zip(POSITIONS[:10], scores, strict=False):
        assert kept.solve(position).score == kept.solve(position).score == score
    kept.clear()
    assert kept.nodes == 0
    assert [kept.solve(position).score for position in POSITIONS] == scores


@pytest.mark.parametrize("table_bits", [8, 12])
def test_a_tiny_table_gives_the_same(table_bits, scores):
    later = [i for i, position in enumerate(POSITIONS) if position.plies >= 18]
    tiny = Solver(table_bits=table_bits)
    assert tiny.solve_many(POSITIONS[i] for i in later).tolist() == [scores[i] for i in later]


def test_a_table_that_grows_gives_the_same(scores):
    """From its smallest size to one that the search can fill, and on from there."""
    grows = Solver(table_bits=18)
    sizes = []
    for position, score in zip(POSITIONS, scores, strict=True):
        assert grows.solve(position).score == score
        sizes.append(int(grows._blocks[0][0][nullwindow.BITS]))
    assert sizes == sorted(sizes)
    assert 8 <= sizes[0] < sizes[-1] <= 18


def test_interpreted_it_gives_the_same(solver):
    late = random_positions(40, seed=14, least=30)
    interpreted = Solver(table_bits=8, compiled=False)
    assert interpreted.solve_many(late).tolist() == solver.solve_many(late).tolist()


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=16, max_size=42))
def test_a_mirror_image_has_the_same_score(solver, columns):
    position = Position()
    for column in columns:
        if column in position.legal_moves:
            position = position.play(column)
    assume(position.plies >= 14)
    assert solver.solve(position).score == solver.solve(position.mirror()).score


def test_mirror_images_near_the_empty_board(small):
    """There both share an entry."""
    for position in random_positions(40, seed=5, least=0, most=8, geometry=small.geometry):
        one, two = small.analyse(position), small.analyse(position.mirror())
        assert [c and c.score for c in one.columns] == [c and c.score for c in two.columns[::-1]]
        assert small.solve(position.mirror()).score == Solver((4, 4, 4), table_bits=8).solve(position).score


# --- threads ------------------------------------------------------------------------------------------------------


def test_two_threads_find_the_same(solver):
    pair = Solver(threads=2)
    for position in random_positions(20, seed=6, least=10, most=16):
        found = pair.solve(position)
        assert found.score == solver.solve(position).score
        assert found.nodes > 0 or position.legal_moves


@pytest.mark.parametrize(
    "switches",
    [pytest.param({}, marks=pytest.mark.slow), dict(SHARED_PLIES=2, TABLELESS_PLIES=3)],
    ids=["usual", "to the end"],
)
def test_two_threads_on_a_small_board(switches, small):
    """It has fewer keys than the table has room for."""
    pair = Solver((4, 4, 4), threads=2, **switches)
    positions = random_positions(1000, seed=7, least=0, most=9, geometry=pair.geometry)
    found = [pair.solve(position).score for position in positions]
    assert found == small.solve_many(positions).tolist()


def test_threads_agree_on_their_table_after_a_measurement():
    """A list is solved by one of the threads: afterwards all go on with a table of the same size."""
    pair = Solver(threads=2, table_bits=16)
    pair.measure(POSITIONS[:1])
    assert len({int(memory[nullwindow.BITS]) for memory, _ in pair._blocks}) == 1


def test_two_threads_keep_limits():
    pair = Solver(threads=2, table_bits=18)
    score = pair.solve(POSITIONS[0]).score
    found = pair.solve("44", nodes=20_000)
    assert found.nodes < 20_000 + 2 * 1024
    assert found.lower < found.upper
    assert pair.solve(POSITIONS[0]).score == score


# --- limits -------------------------------------------------------------------------------------------------------


LIMITS = [0, 1000, 3000, 10_000, 30_000, 100_000]


@pytest.mark.parametrize("seed", range(8))
def test_bounds_close_in_on_the_score(seed, solver):
    (position,) = random_positions(1, seed=100 + seed, least=9, most=12)
    score = solver.solve(position).score
    cut = Solver(table_bits=18)
    lower, upper = -21, 21
    for limit in LIMITS:
        cut.clear()
        found = cut.solve(position, nodes=limit)
        assert found.nodes <= limit + 1024
        assert lower <= found.lower <= score <= found.upper <= upper
        lower, upper = found.lower, found.upper
    assert cut.solve(position).score == score  # on what the last, aborted search left


def test_aborted_searches_leave_nothing_wrong_behind(scores):
    """Many in a row on one table, by nodes and by time, and the full answer after each."""
    kept = Solver(table_bits=16)
    for i, (position, score) in enumerate(zip(POSITIONS, scores, strict=True)):
        for limits in ({"nodes": 1000 + 100 * i}, {"seconds": 0.0005}, {"nodes": 5000, "seconds": 1}):
            found = kept.solve(position, **limits)
            assert found.lower <= score <= found.upper
        assert kept.solve(position).score == score


@pytest.mark.parametrize("seconds", [0, 0.01, 0.1])
def test_time_is_kept(seconds):
    cut = Solver(table_bits=18)
    for question in (cut.solve, cut.analyse, cut.best_move):
        cut.clear()
        start = time.perf_counter()
        question(Position(), seconds=seconds)
        assert time.perf_counter() - start < seconds + 0.5


def test_limits_may_be_as_large_as_one_likes(small):
    assert small.solve((0, 0), nodes=10**30, seconds=float("inf")).score == 0


def test_a_limit_does_not_outlive_its_call(solver):
    solver.solve("44", nodes=0)
    assert solver.solve(POSITIONS[0]).score is not None
    solver.solve("4", nodes=0)
    assert solver.solve_many(POSITIONS[:3]).tolist() == [solver.solve(position).score for position in POSITIONS[:3]]


# --- windows ------------------------------------------------------------------------------------------------------


def test_outcomes(solver, scores):
    fresh = Solver(table_bits=20)
    for position, score in zip(POSITIONS, scores, strict=True):
        found = fresh.solve(position, window=OUTCOME)
        assert found.outcome == np.sign(score)
        assert found.lower <= score <= found.upper


def test_any_window(small):
    """Within it the score is exact; beyond its ends the bounds still hold."""
    for position in random_positions(60, seed=8, least=0, most=13, geometry=small.geometry):
        score = small.solve(position).score
        for low in range(-9, 9, 2):
            for high in range(low + 1, 10, 3):
                found = small.solve(position, window=(low, high))
                assert found.lower <= score <= found.upper
                assert found.score == score or not low < score < high
                assert score > low or found.upper <= low
                assert score < high or found.lower >= high


@pytest.mark.parametrize("window", [(0, 0), (1, -1), (5, 4)])
def test_a_window_has_a_width(window, small):
    with pytest.raises(ValueError, match="window"):
        small.solve((0, 0), window=window)


# --- move by move -------------------------------------------------------------------------------------------------


def check_analysis(solver, position):
    """What an analysis says of a position, against the scores of its children, and its line, played out."""
    found = solver.analyse(position)
    score = solver.solve(position).score
    assert isinstance(found, Analysis)
    assert found.score == found.solution.score == score
    expected = [None] * position.geometry.columns
    for column in position.legal_moves:
        expected[column] = -solver.solve(position.play(column)).score
    assert [column and column.score for column in found.columns] == expected
    best = tuple(column for column in position.legal_moves if expected[column] == score)
    assert found.best_moves == best
    assert bool(best) == (not position.is_over)
    move, solution = solver.best_move(position)
    assert solution.score == score
    assert move in best or (move is None and not best)
    for column in found.principal_variation:
        assert not position.is_over
        assert solver.solve(position).score == score
        assert column in position.legal_moves
        position, score = position.play(column), -score
    assert position.is_over
    assert final_score(position) == score


@pytest.mark.parametrize("position", random_positions(20, seed=9, least=12), ids=repr)
def test_analysis(position, solver):
    check_analysis(solver, position)


@pytest.mark.parametrize(
    "size", [(4, 4, 4), (1, 1, 1), (2, 2, 2), (1, 5, 3), (3, 3, 3), (12, 2, 3), (20, 1, 3)], ids=str
)
def test_analysis_on_other_boards(size):
    geometry = Geometry(*size)
    other = Solver(geometry, table_bits=16, compiled=size in ((4, 4, 4), (12, 2, 3), (20, 1, 3)))
    for position in random_positions(8, seed=10, least=0, most=geometry.columns * geometry.rows - 1, geometry=geometry):
        check_analysis(other, position)
    check_analysis(other, Position(geometry=geometry))


def finished_games(count, seed, geometry=STANDARD):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        position = Position(geometry=geometry)
        while not position.is_over:
            position = position.play(int(rng.choice(position.legal_moves)))
        yield position


def test_finished_games(small, solver):
    """They have a score, and neither moves nor a line."""
    for kept in (solver, small):
        for position in finished_games(30, 11, kept.geometry):
            found = kept.analyse(position)
            assert found.score == final_score(position)
            assert set(found.columns) == {None}
            assert (found.best_moves, found.principal_variation) == ((), ())
            assert kept.best_move(position)[0] is None
            assert kept.column_worth(position, -21) is None


def test_a_limited_analysis_is_never_wrong(solver):
    for position in random_positions(6, seed=12, least=10, most=14):
        full = solver.analyse(position)
        for limits in ({"nodes": 0}, {"nodes": 5000}, {"nodes": 50_000}, {"seconds": 0.001}):
            found = Solver(table_bits=16).analyse(position, **limits)
            assert found.solution.lower <= full.score <= found.solution.upper
            for cut, column in zip(found.columns, full.columns, strict=True):
                assert (cut is None) == (column is None)
                assert cut is None or cut.lower <= column.score <= cut.upper
            assert set(found.best_moves) <= set(full.best_moves)
            move, solution = Solver(table_bits=16).best_move(position, **limits)
            assert solution.lower <= full.score <= solution.upper
            assert move is None or move in full.best_moves


def test_a_column_worth_a_score(solver):
    for position in random_positions(20, seed=13, least=16):
        columns = solver.analyse(position).columns
        best = solver.solve(position).score
        for score in (-25, -18, best - 1, best, best + 1, 18, 25):
            column = solver.column_worth(position, score)
            assert (column is None) == (score > best)
            assert column is None or columns[column].score >= score


# --- results ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "score", "outcome"),
    [
        (3, 3, 3, 1),
        (0, 0, 0, 0),
        (-1, -1, -1, -1),
        (1, 18, None, 1),
        (-18, -2, None, -1),
        (0, 1, None, None),
        (-1, 0, None, None),
        (-21, 21, None, None),
    ],
)
def test_solution(lower, upper, score, outcome):
    found = Solution(lower, upper, 0, 0.0)
    assert (found.score, found.outcome) == (score, outcome)


def columns_of(*bounds):
    return tuple(pair and Solution(*pair, 0, 0.0) for pair in bounds)


@pytest.mark.parametrize(
    ("bounds", "best"),
    [
        ([(1, 1), (2, 2), None, (2, 2)], (1, 3)),
        ([(-3, 2), (2, 2)], (1,)),  # the other may be as good, and is not proven to be
        ([(-3, 3), (2, 2)], ()),
        ([None, None], ()),
        ([(-4, -4), (-5, -5)], (0,)),
    ],
)
def test_best_moves_are_those_proven_best(bounds, best):
    assert Analysis(columns_of(*bounds), (), Solution(0, 0, 0, 0.0)).best_moves == best


def test_nodes_and_seconds_add_up():
    fresh = Solver(table_bits=18)
    one = fresh.solve(POSITIONS[0])
    two = fresh.analyse(POSITIONS[1]).solution
    assert one.nodes + two.nodes == fresh.nodes > 0
    scores, nodes, seconds = fresh.measure(POSITIONS[:5])
    assert (scores.dtype, nodes.dtype, seconds.dtype) == (np.int8, np.int64, np.float64)
    assert (nodes >= 0).all()
    assert (seconds > 0).all()
    assert one.seconds > 0


# --- questions and answers ----------------------------------------------------------------------------------------


def test_the_ways_to_give_a_position(solver):
    position = POSITIONS[0]
    digits = "".join(str(column + 1) for column in position.moves)
    expected = solver.solve(position).score
    assert {solver.solve(given).score for given in (position, digits, position.boards)} == {expected}


def test_many_positions(solver, scores):
    found = solver.solve_many(POSITIONS)
    assert found.dtype == np.int8
    assert found.tolist() == scores
    mixed = [POSITIONS[0], POSITIONS[1].boards, "".join(str(column + 1) for column in POSITIONS[2].moves)]
    assert solver.solve_many(iter(mixed)).tolist() == scores[:3]
    same = [POSITIONS[3]] * 5
    assert solver.solve_many(same).tolist() == [scores[3]] * 5


@pytest.mark.parametrize("compiled", [False, True])
def test_no_positions(compiled):
    found = Solver((4, 4, 4), table_bits=8, compiled=compiled).solve_many([])
    assert (found.shape, found.dtype) == ((0,), np.int8)


def test_functions_of_the_module(scores):
    assert solve(POSITIONS[0]).score == scores[0]
    assert solve_many(POSITIONS).tolist() == scores
    assert len(solve_many([])) == 0
    assert solve(Position(geometry=Geometry(4, 4, 4)), window=OUTCOME).outcome == 0
    assert solve("44", nodes=0).score is None or module.shared_solver().book


def test_a_process_has_one_solver_for_a_board():
    assert module.shared_solver() is module.shared_solver(STANDARD)


LINE = 0b1111
IMPOSSIBLE = {
    "overlap": (1, 1),
    "overlap or lie outside": (1 << 6, 0),
    "lie outside": (0, 1 << 49),
    "outside": (0, -1),
    "has a line already": (LINE, 0b111 << 7 | 1 << 14),
}


@pytest.mark.parametrize(("boards", "message"), [(boards, message) for message, boards in IMPOSSIBLE.items()])
def test_impossible_bitboards(boards, message, solver):
    for question in (solver.solve, solver.analyse, solver.best_move, lambda boards: solver.solve_many([boards])):
        with pytest.raises(ValueError, match=message):
            question(boards)


@pytest.mark.parametrize(
    "boards",
    [
        (0, 1 << 3),  # a stone in the air
        (0b11, 0),  # two of one side, none of the other
        (0, 0b11),
        (0b1, 0b110 | 1 << 7),
    ],
)
def test_bitboards_that_no_game_leads_to(boards, solver):
    with pytest.raises(ValueError, match=r"\w"):
        solver.solve(boards, nodes=0)


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ("8", "column 8"),
        ("0", "column 0"),
        ("4a", "not a digit"),
        ("4444444", "full"),
        ("12121212", "over"),
        (Position(geometry=Geometry(4, 4, 4)), "4.*7"),
        (Position(geometry=Geometry(7, 6, 5)), "5.*4"),
    ],
)
def test_illegal_positions(position, message, solver):
    for question in (solver.solve, solver.analyse, solver.best_move):
        with pytest.raises(ValueError, match=message):
            question(position)
    with pytest.raises(ValueError, match=message):
        solver.solve_many(["4", position])
    with pytest.raises(ValueError, match=message):
        solver.measure([position])


@pytest.mark.parametrize(
    ("limits", "message"),
    [({"nodes": -1}, "nodes"), ({"seconds": -0.1}, "seconds"), ({"seconds": float("nan")}, "seconds")],
)
def test_impossible_limits(limits, message, solver):
    for question in (solver.solve, solver.analyse, solver.best_move):
        with pytest.raises(ValueError, match=message):
            question("44", **limits)


OTHER_BOOK = Book(np.zeros(1, ENTRY), Geometry(4, 4, 4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(geometry=(9, 9, 4)), "9 x 9"),
        (dict(geometry=(3, 20, 4)), "64 bits"),
        (dict(geometry=(0, 6, 4)), "columns"),
        (dict(geometry=(7, 6, 0)), "inarow"),
        (dict(geometry=(7, 6.0, 4)), "rows"),
        (dict(table_bits=7), "table_bits"),
        (dict(table_bits=33), "table_bits"),
        (dict(geometry=(9, 6, 4), table_bits=8), "table_bits"),
        (dict(threads=0), "threads"),
        (dict(threads=-2), "threads"),
        (dict(threads=2, compiled=False), "threads"),
        (dict(book=OTHER_BOOK), "book"),
    ],
)
def test_impossible_solvers(arguments, message):
    with pytest.raises(ValueError, match=message):
        Solver(**arguments)
