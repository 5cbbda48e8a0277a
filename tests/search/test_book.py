"""The file format of the opening book, and what is found in one."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c4lib.games.connect4 import (
    STANDARD,
    Connect4,
    Geometry,
    canonical_key,
    column_cells,
    key,
    mirror,
    playable,
)
from c4lib.search.book import ENTRY, Book

from .positions import random_boards

SIZES = [(7, 6, 4), (5, 4, 4), (4, 5, 3), (9, 5, 4), (2, 3, 2), (1, 1, 1)]


def same(one: Book, two: Book) -> bool:
    return (
        one.geometry == two.geometry
        and one.entries.dtype == two.entries.dtype == ENTRY
        and (one.entries.tolist() == two.entries.tolist())
    )


def book_of(positions, geometry) -> tuple[Book, dict]:
    """A book with a random open column and a random score for every position, and these by its boards."""
    columns, rows, _ = geometry
    rng = np.random.default_rng(4)
    answers, entries = {}, {}
    for own, opp in positions:
        cells = playable(own | opp, geometry.bottom, geometry.board)
        move = int(rng.choice([column for column in range(columns) if cells & column_cells(column, rows)]))
        number = canonical_key(own, opp, columns, rows)
        if number not in entries:
            answers[own, opp] = move, int(rng.integers(-18, 19))
            entries[number] = move if number == key(own, opp) else columns - 1 - move, answers[own, opp][1]
    return Book(np.array([(number, *entries[number]) for number in sorted(entries)], ENTRY), geometry), answers


@pytest.fixture(scope="module")
def content():
    """The bytes of a book of twelve positions."""
    return book_of(random_boards(Connect4(), 12, seed=1, most=12), STANDARD)[0].to_bytes()


# --- there and back -------------------------------------------------------------------------------------------------


@st.composite
def books(draw):
    geometry = Geometry(*draw(st.sampled_from(SIZES)))
    keys = draw(st.sets(st.integers(0, 2 ** (geometry.columns * geometry.height) - 1), max_size=30))
    # a move into a column with an empty cell: its part of the key is less than that of a full one
    entries = []
    for number in sorted(keys):
        tops = [(number >> column * geometry.height) % 2**geometry.height for column in range(geometry.columns)]
        columns = [column for column, top in enumerate(tops) if top < 2**geometry.rows - 1]
        if columns:
            entries.append((number, draw(st.sampled_from(columns)), draw(st.integers(-128, 127))))
    return Book(np.array(entries, ENTRY), geometry)


@given(books())
def test_bytes_there_and_back(book):
    content = book.to_bytes()
    assert same(Book.from_bytes(content), book)
    assert Book.from_bytes(content).to_bytes() == content
    assert len(content) == content.index(b"\n") + 1 + 10 * len(book)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_file_there_and_back(tmp_path, size):
    book, answers = book_of(random_boards(Connect4(*size), 60, seed=2), Geometry(*size))
    book.save(tmp_path / "a.book")
    loaded = Book.load(tmp_path / "a.book")
    assert same(loaded, book)
    assert list(tmp_path.iterdir()) == [tmp_path / "a.book"]
    assert all(loaded.probe(*boards) == answer for boards, answer in answers.items())


def test_the_first_line_says_what_it_is(content):
    first = content.splitlines()[0].decode()
    assert first.startswith("c4lib opening book, version 1, 7 x 6 x 4, 12 positions, sha256 ")


# --- probing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_position_and_its_mirror_image_are_one_entry(size):
    geometry = Geometry(*size)
    columns, rows, _ = geometry
    book, answers = book_of(random_boards(Connect4(*size), 60, seed=3), geometry)
    assert len(book) == len(answers) > 0
    for (own, opp), (move, score) in answers.items():
        assert book.probe(own, opp) == (move, score)
        image = mirror(own, columns, rows), mirror(opp, columns, rows)
        if image != (own, opp):
            assert book.probe(*image) == (columns - 1 - move, score)


def test_probing_gives_plain_integers():
    book, answers = book_of(random_boards(Connect4(), 5, seed=5), STANDARD)
    assert {type(number) for boards in answers for number in book.probe(*boards)} == {int}


@pytest.mark.parametrize("absent", ["first", "between", "last"])
def test_an_absent_position_is_not_found(absent):
    whole, answers = book_of(random_boards(Connect4(), 41, seed=6), STANDARD)
    gone = {"first": 0, "between": 20, "last": len(whole) - 1}[absent]
    missing = int(whole.entries["key"][gone])
    book = Book(np.delete(whole.entries, gone))
    for own, opp in answers:
        found = book.probe(own, opp)
        assert (found is None) == (canonical_key(own, opp, 7, 6) == missing)


def test_nothing_is_found_in_an_empty_book():
    book = Book.from_bytes(Book(np.array([], ENTRY)).to_bytes())
    assert len(book) == 0
    assert book.probe(0, 0) is None


# --- what is not a book ---------------------------------------------------------------------------------------------


def board_digits(content):
    """Where the three numbers of the board's size stand in the first line."""
    start = content.index(b"7 x 6 x 4")
    return {start, start + 4, start + 8}


@pytest.mark.parametrize(
    "part",
    [
        "first line",
        "payload",
        "board",
    ],
)
def test_no_flipped_bit_goes_unseen(content, part):
    line = set(range(content.index(b"\n") + 1))
    places = {
        "first line": line - board_digits(content),
        "payload": set(range(len(content))) - line,
        "board": board_digits(content),
    }
    for place in places[part]:
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            with pytest.raises(
                ValueError, match=r"this book is|this is not an opening book|must be a positive integer"
            ):
                Book.from_bytes(bytes(damaged))


def test_no_missing_byte_goes_unseen(content):
    for length in range(len(content)):
        with pytest.raises(ValueError, match=r"this is not an opening book of c4lib|this book is damaged: its content"):
            Book.from_bytes(content[:length])


@pytest.mark.parametrize("more", [b"\n", b"\0", b"0123456789", "itself"], ids=str)
def test_nothing_may_follow(content, more):
    with pytest.raises(ValueError, match="this book is damaged: its content and its checksum differ"):
        Book.from_bytes(content + (content if more == "itself" else more))


@pytest.mark.parametrize(
    "foreign", [b"", b"\n", b"PK\x03\x04" + bytes(300), "ü".encode() * 300, b"c4lib opening book\n"]
)
def test_a_foreign_file_is_refused(foreign):
    with pytest.raises(ValueError, match=r"^this is not an opening book of c4lib$"):
        Book.from_bytes(foreign)


@pytest.mark.parametrize("version", [0, 2, 10])
def test_another_version_is_refused(content, version):
    other = content.replace(b"version 1,", f"version {version},".encode())
    with pytest.raises(ValueError, match=f"this book is of version {version}, and this c4lib reads version 1"):
        Book.from_bytes(other)


@pytest.mark.parametrize(
    ("size", "entries"),
    [
        ((7, 6, 4), [(5, 0, 0), (4, 0, 0)]),
        ((7, 6, 4), [(4, 0, 0), (4, 0, 0)]),
        ((7, 6, 4), [(-1, 0, 0)]),
        ((7, 6, 4), [(4, 7, 0)]),
        ((5, 4, 4), [(4, 0, 0), (5, 5, 0)]),
        ((5, 4, 4), [(4, 255, 0)]),
        ((5, 4, 4), [(0b01111, 0, 0)]),  # four stones in the first column, which is four high
    ],
    ids=["order", "twice", "negative", "column", "column of a smaller board", "no column", "full column"],
)
def test_impossible_entries_are_refused_in_spite_of_a_right_checksum(size, entries):
    content = Book(np.array(entries, ENTRY), Geometry(*size)).to_bytes()
    with pytest.raises(ValueError, match="its entries are not in order, or hold impossible moves"):
        Book.from_bytes(content)


def test_a_file_that_is_refused_is_named(tmp_path, content):
    file = tmp_path / "a.book"
    file.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=r"a\.book: this book is damaged"):
        Book.load(file)
    with pytest.raises(FileNotFoundError):
        Book.load(tmp_path / "b.book")


# --- saving ---------------------------------------------------------------------------------------------------------


def test_saving_replaces(tmp_path, content):
    file = tmp_path / "a.book"
    file.write_bytes(b"old")
    Book.from_bytes(content).save(file)
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


def half(path, content):
    """Writes the first half, and fails."""
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    raise OSError("disk full")


def refuse(path, target):
    raise OSError("disk full")


@pytest.mark.parametrize(("method", "fails"), [("write_bytes", half), ("replace", refuse)])
@pytest.mark.parametrize("before", [b"", b"a good one"], ids=["new", "over another"])
def test_a_file_cut_short_never_takes_the_place_of_a_good_one(tmp_path, monkeypatch, content, method, fails, before):
    file = tmp_path / "a.book"
    if before:
        file.write_bytes(before)
    monkeypatch.setattr(Path, method, fails)
    with pytest.raises(OSError, match="disk full"):
        Book.from_bytes(content).save(file)
    assert [(path, path.read_bytes()) for path in tmp_path.iterdir()] == ([(file, before)] if before else [])
