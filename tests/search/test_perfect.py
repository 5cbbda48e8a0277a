"""The perfect player: where its moves come from, that they are exact, and that it keeps its clock."""

import time

import numpy as np
import pytest

from c4lib.games.connect4 import STANDARD, Connect4, Geometry, canonical_key, column_cells, has_line, mirror, playable
from c4lib.games.position import Position
from c4lib.search.book import ENTRY, Book
from c4lib.search.perfect import PerfectPlayer
from c4lib.search.solver import Solution, Solver

from .exact import full_depth
from .positions import random_boards

SMALL = Geometry(5, 4, 4)
PATIENCE = 1.0  # seconds that a busy machine may add


def book_of(*entries, geometry=STANDARD):
    """A book of (moves, column, score); what it says need not be true."""
    rows = []
    for moves, column, score in entries:
        own, opp = Position.from_moves(moves, *geometry).boards
        rows.append((canonical_key(own, opp, *geometry[:2]), column, score))
    return Book(np.array(sorted(rows), ENTRY), geometry)


def open_columns(own, opp, geometry):
    cells = playable(own | opp, geometry.bottom, geometry.board)
    return [column for column in range(geometry.columns) if cells & column_cells(column, geometry.rows)]


def after(own, opp, column, geometry):
    cells = playable(own | opp, geometry.bottom, geometry.board)
    return opp, own | cells & column_cells(column, geometry.rows)


def is_over(own, opp, geometry):
    return own | opp == geometry.board or has_line(opp, geometry.rows, geometry.inarow)


class StubSolver:
    """Knows bounds, and a column that is worth the lower one, or none."""

    def __init__(self, solution, worth=None):
        self.solution, self.worth, self.asked = solution, worth, []

    def best_move(self, position, *, seconds):
        return None, self.solution

    def column_worth(self, position, score, *, seconds):
        self.asked.append(score)
        return self.worth


@pytest.fixture(scope="module")
def player():
    """One without a book."""
    return PerfectPlayer(table_bits=20)


# --- where moves come from ------------------------------------------------------------------------------------------


def test_the_book_comes_first():
    """Even where it is wrong."""
    player = PerfectPlayer(book=book_of(("", 5, -7), ("44", 1, 2)), table_bits=20)
    own, opp = Position.from_moves("44").boards
    for boards, move, score in (((0, 0), 5, -7), ((own, opp), 1, 2)):
        found = player.search(*boards, seconds=0.2)
        assert (found.move, found.source, found.score) == (move, "book", score)
        assert 0 <= found.seconds < PATIENCE
    assert player.sources == {"book": 2}


def test_the_book_knows_mirror_images():
    player = PerfectPlayer(book=book_of(("11", 2, 1)), table_bits=20)
    moves = [player.search(*Position.from_moves(moves).boards).move for moves in ("11", "77")]
    assert sorted(moves) == [2, 4]


def test_then_the_solver(player):
    before = player.sources["solver"]
    position = Position.from_moves("7527267743225741531164553")
    found = player.search(*position.boards)
    assert found.source == "solver"
    assert found.score == full_depth(STANDARD)(*position.boards)
    assert player.sources["solver"] == before + 1


def test_then_the_engine(player):
    """The empty board cannot be solved so fast."""
    before = player.sources["engine"]
    start = time.monotonic()
    found = player.search(0, 0, seconds=0.1)
    assert time.monotonic() - start < 0.1 + PATIENCE
    assert (found.source, found.score) == ("engine", None)
    assert found.move in range(7)
    assert player.sources["engine"] == before + 1


def test_a_move_that_wins_for_sure_is_better_than_a_guess(player, monkeypatch):
    solver = StubSolver(Solution(3, 18, 0, 0.0), worth=6)
    monkeypatch.setitem(player.__dict__, "_solver", solver)
    found = player.search(0, 0, seconds=0.1)
    assert (found.move, found.source, found.score) == (6, "bound", None)
    assert solver.asked == [3]


@pytest.mark.parametrize("lower", [-18, 0, 3])
def test_bounds_alone_are_no_move(player, monkeypatch, lower):
    solver = StubSolver(Solution(lower, 18, 0, 0.0), worth=None)
    monkeypatch.setitem(player.__dict__, "_solver", solver)
    assert player.search(0, 0, seconds=0.1).source == "engine"
    assert solver.asked == [3] * (lower > 0)


def test_all_sources_are_counted():
    player = PerfectPlayer(book=book_of(("", 3, 1)), table_bits=20)
    player.search(0, 0)
    player.search(*Position.from_moves("7527267743225741531164553").boards)
    player.search(1 << 7, 1, seconds=0.05)
    assert player.sources == {"book": 1, "solver": 1, "engine": 1}


def test_a_book_of_another_board_is_not_used():
    player = PerfectPlayer(SMALL, book_of(("", 6, 5)), table_bits=18)
    assert player.search(0, 0).source == "solver"
    player = PerfectPlayer(SMALL, book_of(("", 4, 5), geometry=SMALL), table_bits=18)
    assert player.search(0, 0).source == "book"


# --- exact ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1], ids=["first", "second"])
def test_never_errs_without_a_limit(seat):
    """Ten games against random moves on a small board: each of its moves keeps the exact score."""
    player, exact = PerfectPlayer(SMALL, table_bits=18), full_depth(SMALL)
    rng = np.random.default_rng(seat)
    moves = 0
    for _ in range(10):
        own, opp, ply = 0, 0, 0
        while not is_over(own, opp, SMALL):
            columns = open_columns(own, opp, SMALL)
            column = int(rng.choice(columns))
            if ply % 2 == seat:
                found = player.search(own, opp)
                column = found.move
                assert column in columns
                assert found.score == exact(own, opp) == -exact(*after(own, opp, column, SMALL))
                moves += 1
            own, opp = after(own, opp, column, SMALL)
            ply += 1
    assert player.sources == {"solver": moves}


def test_late_positions_of_the_usual_board_are_exact(player):
    solver = Solver(table_bits=20)
    for own, opp in [boards for boards in random_boards(Connect4(), 60, seed=3) if sum(boards).bit_count() >= 18]:
        found = player.search(own, opp, seconds=20.0)
        assert found.source == "solver"
        assert found.score == solver.solve((own, opp)).score
        assert -solver.solve(after(own, opp, found.move, STANDARD)).score == found.score


def test_mirror_images_have_the_same_score(player):
    own, opp = Position.from_moves("1276241445766624713722").boards
    images = mirror(own, 7, 6), mirror(opp, 7, 6)
    assert player.search(own, opp).score == player.search(*images).score


# --- limits and other boards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.3])
def test_a_budget_too_small_is_kept(player, seconds):
    for own, opp in random_boards(Connect4(), 4, seed=4, most=6):
        start = time.monotonic()
        found = player.search(own, opp, seconds=seconds)
        assert time.monotonic() - start < seconds + PATIENCE
        assert found.move in open_columns(own, opp, STANDARD)
        assert found.source in ("engine", "bound", "solver")


@pytest.mark.parametrize("size", [(9, 8, 4), (20, 20, 4), (2, 30, 4)], ids=str)
def test_boards_beyond_64_bits_are_the_engines(size):
    geometry = Geometry(*size)
    assert not geometry.fits_64_bits
    player = PerfectPlayer(geometry)
    start = time.monotonic()
    found = player.search(0, 0, seconds=0.2)
    assert time.monotonic() - start < 0.2 + PATIENCE
    assert (found.source, found.score) == ("engine", None)
    assert found.move in range(geometry.columns)
    with pytest.raises(ValueError, match="a search needs a limit"):
        player.search(0, 0)


def test_other_boards_are_the_engines_under_a_clock():
    """And no solver is made, which would cost the compiler's time."""
    player = PerfectPlayer(SMALL, table_bits=18)
    assert player.search(0, 0, seconds=0.1).source == "engine"
    assert "_solver" not in player.__dict__


WON = Position.from_moves("1212121").boards


@pytest.mark.parametrize("seconds", [None, 0.1])
def test_a_finished_game_is_refused(player, seconds):
    with pytest.raises(ValueError, match="the game is over"):
        player.search(*WON, seconds=seconds)
    with pytest.raises(ValueError, match="line already"):
        player.search(*reversed(WON), seconds=seconds)


def test_a_full_board_is_refused():
    player = PerfectPlayer(SMALL, table_bits=18)
    full = Position.from_moves("12331545142352413524", *SMALL).boards
    for seconds in (None, 0.1):
        with pytest.raises(ValueError, match="the game is over"):
            player.search(*full, seconds=seconds)
    assert player.sources == {}


def test_interpreted_keeps_its_clock():
    player = PerfectPlayer(table_bits=16, compiled=False)
    for own, opp in [(0, 0), *random_boards(Connect4(), 3, seed=5, most=14)]:
        start = time.monotonic()
        found = player.search(own, opp, seconds=0.5)
        assert time.monotonic() - start < 1.5
        assert found.move in open_columns(own, opp, STANDARD)


def test_interpreted_is_exact_near_the_end():
    player, exact = PerfectPlayer(table_bits=16, compiled=False), full_depth(STANDARD)
    for moves in ("67146741546534737745553317522", "726121757731322623771565561331235"):
        own, opp = Position.from_moves(moves).boards
        found = player.search(own, opp, seconds=30.0)
        assert (found.source, found.score) == ("solver", exact(own, opp))
        assert -exact(*after(own, opp, found.move, STANDARD)) == found.score
