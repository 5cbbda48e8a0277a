"""The book that comes with the lab: what is known of Connect Four, its entries solved again, and another's database."""

import numpy as np
import pytest

from c4lib import paths
from c4lib.bits import bit_indices, popcount
from c4lib.games.connect4 import STANDARD, column_cells, has_line, key, mirror, playable
from c4lib.search.book import Book
from c4lib.search.book_builder import boards_of_key, check_book
from c4lib.search.solver import Solver

pytestmark = pytest.mark.skipif(not paths.BOOK.exists(), reason="there is no book yet: `c4 book build` makes it")
COLUMNS, ROWS, INAROW = STANDARD


@pytest.fixture(scope="module")
def book():
    return Book.load(paths.BOOK)


@pytest.fixture(scope="module")
def entries(book):
    """(own, opp, move, score) of every entry."""
    return [(*boards_of_key(number, STANDARD), move, score) for number, move, score in book.entries.tolist()]


def test_it_begins_with_what_is_known(book):
    """The first player wins from the centre, with his last stone; one answer for every other first move."""
    assert book.geometry == STANDARD
    assert book.probe(0, 0) == (COLUMNS // 2, 1)
    answers = [book.probe(0, 1 << column * STANDARD.height) for column in range(COLUMNS)]
    assert [score for _, score in answers] == [2, 1, 0, -1, 0, 1, 2]


def test_it_is_small():
    assert paths.BOOK.stat().st_size < 500_000


def test_every_entry_is_possible(entries):
    for own, opp, move, score in entries:
        stones = popcount(own | opp)
        assert popcount(opp) - popcount(own) == stones % 2
        assert not has_line(own, ROWS, INAROW)
        assert not has_line(opp, ROWS, INAROW)
        assert playable(own | opp, STANDARD.bottom, STANDARD.board) & column_cells(move, ROWS)
        assert -((42 - stones) // 2) <= score <= (43 - stones) // 2


def test_thirty_entries_solved_again(entries):
    """With a solver without a book: no more and no less than the score."""
    late = [entry for entry in entries if popcount(entry[0] | entry[1]) >= 8]
    chosen = np.random.default_rng(8).permutation(len(late))[:30]
    solver = Solver()
    for own, opp, _, score in sorted((late[index] for index in chosen), key=lambda entry: key(*entry[:2])):
        found = solver.solve((own, opp), window=(score - 1, score + 1))
        assert (found.lower, found.upper) == (score, score)


@pytest.mark.slow
def test_every_entry_follows_from_its_successors(book):
    assert list(check_book(book)) == []


# --- against BitBully's database of all positions with twelve stones ------------------------------------------------


class Database:
    """Looks positions with twelve stones up, whole arrays at once."""

    STONES = 12

    def __init__(self, file):
        found = np.fromfile(file, [("code", ">i4"), ("value", "i1")])
        self.codes, self.values = found["code"].astype(np.int32), found["value"]

    def scores(self, own, opp):
        """For the side to move. The database lacks games that are won, or can be with the next stone."""
        images = [mirror(board, COLUMNS, ROWS) for board in (own, opp)]
        places, exist = zip(*(self._find(*boards) for boards in ((own, opp), images)), strict=True)
        values = self.values[np.where(exist[0], *places)].astype(int)
        left = np.where(values > 0, 100 - values, 100 + values)  # plies to the end of the game
        scores = np.sign(values) * ((44 - self.STONES - left) // 2)
        wins, over = _wins_at_once(own, opp), has_line(opp, ROWS, INAROW)
        scores[wins] = 15
        scores[over] = -16
        assert (exist[0] | exist[1] | wins | over).all()
        return scores

    def _find(self, own, opp):
        """Where a position is, or would be, in the database; and whether it is."""
        code = np.zeros_like(own)
        for column in range(COLUMNS):  # "10" a stone of the first player, "11" of the second, "0" the column's end
            for row in range(ROWS):
                bit = column * STANDARD.height + row
                code = np.where((own | opp) >> bit & 1, code * 4 + 2 + (opp >> bit & 1), code)
            code *= 2
        code = (code * 2).astype(np.int32)  # wraps, as theirs
        place = np.searchsorted(self.codes, code).clip(max=len(self.codes) - 1)
        return place, self.codes[place] == code


def _wins_at_once(own, opp):
    moves = playable(own | opp, STANDARD.bottom, STANDARD.board)
    each = [moves & column_cells(column, ROWS) for column in range(COLUMNS)]
    return np.any([(move != 0) & has_line(own | move, ROWS, INAROW) for move in each], axis=0)


def _scores(own, opp, stones, database):
    """Scores of arrays of positions with so many stones, through all their successors with twelve."""
    keys = key(own, opp)
    _, first, inverse = np.unique(np.minimum(keys, mirror(keys, COLUMNS, ROWS)), return_index=True, return_inverse=True)
    own, opp = own[first], opp[first]
    if stones == database.STONES:
        return database.scores(own, opp)[inverse]
    ended = has_line(opp, ROWS, INAROW)
    moves = np.where(ended, 0, playable(own | opp, STANDARD.bottom, STANDARD.board))
    each = np.array([moves & column_cells(column, ROWS) for column in range(COLUMNS)])
    column, parent = np.nonzero(each)
    best = np.where(ended, -((44 - stones) // 2), -99)
    if len(parent):
        children = _scores(opp[parent], own[parent] | each[column, parent], stones + 1, database)
        np.maximum.at(best, parent, -children)
    return best[inverse]


@pytest.fixture(scope="module")
def database():
    package = pytest.importorskip("bitbully_databases", reason="bitbully-databases is not installed")
    return Database(package.BitBullyDatabases.get_database_path("12-ply-dist"))


@pytest.mark.parametrize("least", [6, pytest.param(0, marks=pytest.mark.slow)])
def test_scores_and_moves_are_those_of_another_database(entries, database, least):
    checked = 0
    for stones in range(least, database.STONES + 1):
        chosen = [entry for entry in entries if popcount(entry[0] | entry[1]) == stones]
        if not chosen:
            continue
        own, opp, move, score = np.array(chosen).T
        assert np.array_equal(_scores(own, opp, stones, database), score)
        checked += len(chosen)
        if stones < database.STONES:
            cells = np.array([column_cells(int(column), ROWS) for column in move])
            cells &= playable(own | opp, STANDARD.bottom, STANDARD.board)
            assert np.array_equal(-_scores(opp, own | cells, stones + 1, database), score)
    assert checked > 100


def test_the_databases_first_example(database):
    """Its own documentation says: the first player wins in 29 plies."""
    board = ["       ", "   x   ", " x o   ", " o x o ", " x o x ", " o x o "]
    own, opp = (
        sum(
            1 << column * STANDARD.height + 5 - row
            for row in range(6)
            for column in range(7)
            if board[row][column] == m
        )
        for m in "xo"
    )
    assert len(bit_indices(own | opp)) == 12
    assert database.scores(np.array([own]), np.array([opp])).tolist() == [1]
