"""Building and checking a book, on a board where that takes seconds."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from c4lib.bits import popcount
from c4lib.cluster import ClusterPool
from c4lib.games.connect4 import (
    Connect4,
    Geometry,
    canonical_key,
    column_cells,
    has_line,
    key,
    mirror,
    playable,
)
from c4lib.search.book import ENTRY, Book
from c4lib.search.book_builder import SURELY_SLOW_STONES, boards_of_key, build_book, check_book
from c4lib.search.solver import Solver

from ..nodes import cluster_of
from .exact import full_depth
from .positions import random_boards

BOARD = Geometry(5, 4, 4)
SETTINGS = dict(geometry=BOARD, processes=1, cold_nodes=1000, warm_table_bits=20)
TITLE = "facts for a book, 5 x 4 x 4, cold_nodes 1000"


def columns_of(own, opp):
    """The columns that can be played, from the left; none once the game is over."""
    if has_line(opp, BOARD.rows, BOARD.inarow):
        return []
    cells = playable(own | opp, BOARD.bottom, BOARD.board)
    return [column for column in range(BOARD.columns) if cells & column_cells(column, BOARD.rows)]


def after(own, opp, column):
    cells = playable(own | opp, BOARD.bottom, BOARD.board)
    return opp, own | cells & column_cells(column, BOARD.rows)


def canonical(own, opp):
    columns, rows, _ = BOARD
    image = mirror(own, columns, rows), mirror(opp, columns, rows)
    return min((own, opp), image, key=lambda boards: key(*boards))


def same(one, two):
    return one.geometry == two.geometry and one.entries.tolist() == two.entries.tolist()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book, and the text of its journal."""
    journal = tmp_path_factory.mktemp("built") / "journal.txt"
    book = build_book(journal, **SETTINGS)
    return book, journal.read_text()


@pytest.fixture(scope="module")
def book(built):
    return built[0]


@pytest.fixture(scope="module")
def cold():
    """`cold(own, opp)` is how many nodes an empty table needs to find a best move; None for more than the limit."""
    solver = Solver(BOARD, table_bits=20)

    def nodes(own, opp):
        solver.clear()
        move, _ = solver.best_move((own, opp), nodes=SETTINGS["cold_nodes"])
        return None if move is None or solver.nodes > SETTINGS["cold_nodes"] else solver.nodes

    return nodes


# --- keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(7, 6, 4), (5, 4, 4), (4, 5, 3), (9, 5, 4), (10, 10, 5), (1, 1, 1)], ids=str)
def test_boards_of_key_undoes_key(size):
    game = Connect4(*size)
    for own, opp in [(0, 0), *random_boards(game, 100, seed=1)]:
        assert boards_of_key(key(own, opp), game.geometry) == (own, opp)
    full = game.geometry.board
    for own in (0, full, full & ~(full << 1)):
        assert boards_of_key(key(own, full ^ own), game.geometry) == (own, full ^ own)


# --- what is in the book --------------------------------------------------------------------------------------------


def test_every_entry_is_exact(book):
    """Against the engine, searching to the end of the game."""
    exact = full_depth(BOARD)
    assert len(book) > 100
    for number, move, score in book.entries.tolist():
        own, opp = boards_of_key(number, BOARD)
        assert number == canonical_key(own, opp, BOARD.columns, BOARD.rows)
        assert exact(own, opp) == score
        assert move in columns_of(own, opp)
        assert -exact(*after(own, opp, move)) == score


def test_it_is_a_repertoire_for_both_seats_and_no_more(book, cold):
    """Whatever the other side plays, a position is in the book or solved quickly; all entries can come up."""
    waiting = [(0, 0), *(after(0, 0, column) for column in columns_of(0, 0))]
    met, left = set(), set()
    while waiting:
        own, opp = canonical(*waiting.pop())
        if key(own, opp) in met | left or not columns_of(own, opp):
            continue
        found = book.probe(own, opp)
        if found is None:
            assert popcount(own | opp) > SURELY_SLOW_STONES
            assert cold(own, opp) is not None
            left.add(key(own, opp))
            continue
        met.add(key(own, opp))
        reply_to = after(own, opp, found[0])
        waiting += [after(*reply_to, column) for column in columns_of(*reply_to)]
    assert met == set(book.entries["key"].tolist())
    assert len(left) > 100


def test_entries_are_slow_to_solve(book, cold):
    for number in book.entries["key"].tolist():
        own, opp = boards_of_key(number, BOARD)
        assert popcount(own | opp) <= SURELY_SLOW_STONES or cold(own, opp) is None


def test_of_equally_good_moves_it_takes_one_with_the_fewest_slow_replies(book, cold):
    exact, choices = full_depth(BOARD), 0
    for number, move, score in book.entries.tolist():
        own, opp = boards_of_key(number, BOARD)
        if popcount(own | opp) + 2 <= SURELY_SLOW_STONES:
            continue  # all replies are in the book
        slow = {}
        for column in columns_of(own, opp):
            child = after(own, opp, column)
            if -exact(*child) == score:
                replies = {canonical(*after(*child, reply)) for reply in columns_of(*child)}
                slow[column] = sum(bool(columns_of(*reply)) and cold(*reply) is None for reply in replies)
        assert slow[move] == min(slow.values())
        choices += len(set(slow.values())) > 1
    assert choices > 10


def test_a_board_where_five_stones_can_decide(tmp_path):
    made = build_book(tmp_path / "journal.txt", **SETTINGS | dict(geometry=Geometry(4, 5, 3)))
    assert made.probe(0, 0)
    assert list(check_book(made, table_bits=20)) == []


# --- the check ------------------------------------------------------------------------------------------------------


def planted(book, index, **changes):
    """A copy of the book with one entry changed, and what the check says of it."""
    entries = book.entries.copy()
    for name, value in changes.items():
        entries[name][index] = value
    said = list(check_book(Book(entries, book.geometry), table_bits=20))
    return [line for line in said if line.startswith(f"position {entries['key'][index]}: ")]


def worse_moves(book):
    """(index, column, its score) of moves that give something away."""
    exact = full_depth(BOARD)
    for index, (number, _, score) in enumerate(book.entries.tolist()):
        own, opp = boards_of_key(number, BOARD)
        for column in columns_of(own, opp):
            worth = -exact(*after(own, opp, column))
            if worth < score:
                yield index, column, worth


def test_the_check_finds_nothing_in_a_good_book(book):
    assert list(check_book(book, table_bits=20)) == []


@pytest.mark.parametrize("error", [-3, -1, 1, 2])
def test_the_check_finds_a_wrong_score(book, error):
    for index in (0, len(book) // 2, len(book) - 1):
        score = int(book.entries["score"][index])
        (said, *_) = planted(book, index, score=score + error)
        assert f"{score + error}" in said
        assert f"give {score}" in said or "is better than" in said


def test_the_check_finds_a_wrong_move(book):
    wrong = list(worse_moves(book))
    assert len(wrong) > 50
    for index, column, worth in wrong[:: len(wrong) // 6]:
        said = planted(book, index, move=column)
        assert any(line.endswith(f"the replies to column {column} give {worth}") for line in said)
        better = int(book.entries["move"][index])
        said = planted(book, index, move=column, score=worth)  # consistent, and yet wrong
        assert any(f"column {better} is better than {column}, which is worth {worth}" in line for line in said)


def test_the_check_finds_an_impossible_move():
    own, opp = 0b0101, 0b1010  # the first column is full
    book = Book(np.array([(key(own, opp), 0, 0)], ENTRY), BOARD)
    assert any("column 0" in line for line in check_book(book, table_bits=20))


# --- resuming -------------------------------------------------------------------------------------------------------


def names(text):
    """The questions that a journal answers, in its order."""
    title, *lines, last = text.split("\n")
    assert title == TITLE
    assert last == ""
    return [line.rpartition(" ")[0] for line in lines]


def test_no_question_is_asked_twice(built):
    asked = names(built[1])
    assert len(set(asked)) == len(asked) > 1000


@pytest.mark.parametrize(
    ("share", "more"),
    [(0.0, 0), (0.3, 0), (0.8, 3), (0.9, 20)],
    ids=["title only", "whole lines", "cut in a line's first word", "cut in a line's number"],
)
def test_a_journal_cut_anywhere_gives_the_same_book(built, tmp_path, share, more):
    book, text = built
    end = text.index("\n", max(int(share * len(text)), 1)) + 1
    line = text[end:].split("\n")[0]
    kept = text[: end + min(more, len(line))]
    journal = tmp_path / "journal.txt"
    journal.write_text(kept)
    assert same(build_book(journal, **SETTINGS), book)
    resumed = journal.read_text()
    assert resumed.startswith(text[:end])
    assert sorted(names(resumed)) == sorted(names(text))
    assert len(resumed.splitlines()) == len(text.splitlines())


def test_a_complete_journal_is_enough(built, tmp_path, monkeypatch):
    """In any order, and without another question."""
    book, text = built
    title, *lines = text.splitlines()
    shuffled = "\n".join([title, *np.random.default_rng(1).permutation(lines), ""])
    journal = tmp_path / "journal.txt"
    journal.write_text(shuffled)
    monkeypatch.setattr(ProcessPoolExecutor, "submit", None)
    assert same(build_book(journal, **SETTINGS), book)
    assert journal.read_text() == shuffled


def test_a_journal_cut_behind_its_title(built, tmp_path):
    journal = tmp_path / "journal.txt"
    journal.write_text(TITLE)
    assert same(build_book(journal, **SETTINGS), built[0])
    assert sorted(names(journal.read_text())) == sorted(names(built[1]))


@pytest.mark.parametrize("other", [dict(geometry=Geometry(5, 4, 3)), dict(cold_nodes=1001), None], ids=str)
def test_a_journal_of_another_book_is_refused(built, tmp_path, other):
    journal = tmp_path / "journal.txt"
    journal.write_text(built[1] if other else "shopping list\nmilk\n")
    before = journal.read_text()
    with pytest.raises(ValueError, match=r"journal\.txt holds '(facts for a book|shopping list).*', not 'facts for a"):
        build_book(journal, **SETTINGS | (other or {}))
    assert journal.read_text() == before


BUILD = f"""
import sys
from pathlib import Path
from c4lib.games.connect4 import Geometry
from c4lib.search.book_builder import build_book
build_book(Path(sys.argv[1]), **{SETTINGS!r})
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a group of processes")
def test_killed_and_started_again(built, tmp_path):
    """The second time with two processes."""
    book, text = built
    journal = tmp_path / "journal.txt"
    builder = subprocess.Popen([sys.executable, "-c", BUILD, str(journal)], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while _lines(journal) < 100 and time.monotonic() < deadline and builder.poll() is None:
            time.sleep(0.005)
    finally:
        os.killpg(builder.pid, signal.SIGKILL)
        assert builder.wait() == -signal.SIGKILL
    killed = journal.read_text()
    assert 100 <= _lines(journal) < len(text.splitlines())
    assert same(build_book(journal, **SETTINGS | dict(processes=2)), book)
    assert journal.read_text().startswith(killed[: killed.rindex("\n") + 1])
    assert sorted(names(journal.read_text())) == sorted(names(text))


def _lines(file: Path) -> int:
    return file.read_text().count("\n") if file.exists() else 0


def test_any_pool_will_do(built, tmp_path):
    book, text = built
    with ThreadPoolExecutor(1) as pool:
        assert same(build_book(tmp_path / "journal.txt", **SETTINGS, pool=pool), book)
        assert pool.submit(int).result() == 0, "it is left as it was"
    assert sorted(names((tmp_path / "journal.txt").read_text())) == sorted(names(text))


@pytest.mark.slow
def test_on_a_cluster_that_loses_a_machine(built, tmp_path):
    book, text = built
    journal = tmp_path / "journal.txt"
    made = []
    with cluster_of(1, 1) as (address, (doomed, _), kill), ClusterPool(address) as pool:
        settings = SETTINGS | dict(processes=pool.cores, pool=pool)
        building = threading.Thread(target=lambda: made.append(build_book(journal, **settings)))
        building.start()
        while _lines(journal) < 100 and building.is_alive():
            time.sleep(0.005)
        kill(doomed)
        building.join(120)
    assert same(*made, book)
    assert sorted(names(journal.read_text())) == sorted(names(text))
