"""The `c4` command: quick to answer, and one clear line where something is wrong."""

import json
import subprocess
import sys

import numpy as np
import pytest

from c4lib import cli, paths
from c4lib.games.connect4 import key
from c4lib.games.position import Position
from c4lib.search.book import ENTRY, Book


def run(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    """Exit status of `c4 WORDS...`, and what it says on standard output and standard error."""
    monkeypatch.setattr(sys, "argv", ["c4", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code or 0, *capsys.readouterr()


def call(monkeypatch, capsys, *words: str) -> tuple[int, str]:
    """Exit status of `c4 WORDS...`, and what it says on standard error."""
    code, _, error = run(monkeypatch, capsys, *words)
    return code, error


def failing(problem: Exception):
    def command(**options):
        raise problem

    return command


def test_help_imports_nothing_heavy():
    code = "import sys, c4lib.cli; print(*sorted(name for name in sys.modules if '.' not in name))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "matplotlib", "pandas", "papermill", "torch"} & set(loaded)


@pytest.mark.parametrize(
    "words",
    [(), ("--help",), ("--version",)]
    + [(*command.split(), "--help") for command in ("reproduce", "solve", "book", "book build", "book check", "grade")],
)
def test_help(monkeypatch, capsys, words):
    assert call(monkeypatch, capsys, *words) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dance",), "No such command 'dance'"),
        (("reproduce", "--jobs", "0"), "x>=1"),
        (("reproduce", "--profile", "slow"), "no profile 'slow'; there are: full, quick"),
        (("reproduce", "--only", "77"), "no notebook 77; there are: "),
        (("reproduce", "--in-place", "--profile", "full"), "not with the profile 'full'"),
        (("check", "nowhere.py"), "'nowhere.py' does not exist"),
        (("solve",), "Missing argument 'MOVES'"),
        (("solve", "4459"), "move 4 of '4459': column 9 (1-based) does not exist: columns are 1 to 7"),
        (("solve", "4450"), "move 4 of '4450': column 0 (1-based) does not exist"),
        (("solve", "4444444"), "move 7 of '4444444': column 4 (1-based) is full"),
        (("solve", "12121212"), "move 8 of '12121212': the game is over: the first player has won"),
        (("solve", "e4"), "move 1 of 'e4': 'e' is not a digit"),
        (("solve", "44\n5"), "is not a digit"),
        (("solve", "\u0661"), "is not a digit"),
        (("solve", "--", "-1"), "'-' is not a digit"),
        (("solve", "6", "--columns", "5"), "column 6 (1-based) does not exist: columns are 1 to 5"),
        (("solve", "1", "--columns", "0"), "columns must be a positive integer, not 0"),
        (("solve", "1", "--rows", "many"), "'many' is not a valid integer"),
        (("solve", "1", "--columns", "10", "--rows", "10"), "the solver's boards fit 64 bits; 10 x 10 does not"),
        (("solve", "44", "--seconds", "-1"), "x>=0"),
        (("solve", "44", "--seconds", "nan"), "seconds must not be negative, nor nan"),
        (("solve", "44", "--threads", "0"), "x>=1"),
        (("solve", "44", "--table-bits", "99"), "table_bits must be from 8 to 32 on this board, not 99"),
        (("book", "check", "nowhere.book"), "'nowhere.book' does not exist"),
        (("book", "dance"), "No such command 'dance'"),
        (("book", "build", "--processes", "0"), "x>=1"),
        (("grade", "random"), "Missing option '-o'"),
        (("grade", "random", "--games", "0", "-o", "x.csv"), "x>=1"),
        (("export", "--agent", "random"), "no agent 'random' to export; known are engine, perfect"),
    ],
)
def test_bad_input_is_one_line(monkeypatch, capsys, words, said):
    code, error = call(monkeypatch, capsys, *words)
    assert code > 0
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (ValueError("no such thing"), "error: no such thing\n"),
        (FileNotFoundError(2, "No such file", "x.py"), "error: [Errno 2] No such file: 'x.py'\n"),
        (ModuleNotFoundError(name="papermill"), "error: the package papermill is not installed; `make setup` "),
    ],
)
def test_problems_are_told_without_traceback(monkeypatch, capsys, problem, said):
    monkeypatch.setattr(cli.bench, "callback", failing(problem))
    code, error = call(monkeypatch, capsys, "bench")
    assert code == 1
    assert error.startswith(said)


def test_our_own_mistakes_keep_their_traceback(monkeypatch):
    monkeypatch.setattr(cli.bench, "callback", failing(ModuleNotFoundError(name="c4lib.nowhere")))
    monkeypatch.setattr(sys, "argv", ["c4", "bench"])
    with pytest.raises(ModuleNotFoundError):
        cli.main()


# --- solve, and the book: what they do is tested with the functions that they call --------------------------------

LATE = "726121757731322623771565561331235"


def test_solve(monkeypatch, capsys):
    code, output, error = run(monkeypatch, capsys, "solve", LATE, "--stats", "--no-book")
    assert (code, error) == (0, "")
    assert "  1  2  3  4  5  6  7\n" in output
    assert "o to move loses (score -1): the game ends with the winner's stone number 21\nbest: 6\n" in output
    assert [line.split(":")[0] for line in output.splitlines()[-3:]] == [
        "all of this",
        "the score alone, from nothing",
        "the outcome alone, from nothing",
    ]


@pytest.mark.parametrize(
    ("words", "score", "columns"),
    [
        ((LATE,), -1, [None, None, None, -2, -2, -1, None]),
        ((LATE, "--seconds", "60", "--table-bits", "20"), -1, [None, None, None, -2, -2, -1, None]),
        (("1233154514235241", "--columns", "5", "--rows", "4"), 0, [None, 0, -2, -2, -2]),
        (("1212121",), -18, [None] * 7),
    ],
)
def test_solve_as_json(monkeypatch, capsys, words, score, columns):
    code, output, error = run(monkeypatch, capsys, "solve", *words, "--json")
    assert (code, error) == (0, "")
    assert output.count("\n") == 1
    found = json.loads(output)
    assert (found["score"], found["columns"]) == (score, columns)


def test_solve_the_empty_board_in_no_time(monkeypatch, capsys):
    code, output, error = run(monkeypatch, capsys, "solve", "", "--seconds", "0", "--no-book")
    assert (code, error) == (0, "")
    assert "x to move: the score lies from -" in output


@pytest.fixture
def book_file(tmp_path):
    """A book of one position, in which the first player wins with his next stone."""
    boards = Position.from_moves("22334").boards  # the second player is to move, and must stop two lines
    file = tmp_path / "a.book"
    Book(np.array([(key(*boards), 3, -18)], ENTRY)).save(file)
    return file


def test_check_of_a_book(monkeypatch, capsys, book_file):
    assert run(monkeypatch, capsys, "book", "check", str(book_file)) == (0, "1 positions, 0 faults\n", "")
    monkeypatch.setattr(paths, "BOOK", book_file)
    assert run(monkeypatch, capsys, "book", "check") == (0, "1 positions, 0 faults\n", "")


def test_check_of_a_wrong_book(monkeypatch, capsys, book_file):
    entries = Book.load(book_file).entries.copy()
    entries["score"] = 2
    Book(entries).save(book_file)
    code, output, error = run(monkeypatch, capsys, "book", "check", str(book_file))
    assert code == 1
    assert output == "1 positions, 1 faults\n"
    assert error == f"position {entries['key'][0]}: the score is 2, and the replies to column 3 give -18\n"


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "foreign"])
def test_check_of_a_damaged_book_is_one_line(monkeypatch, capsys, book_file, damage):
    content = book_file.read_bytes()
    damaged = {"empty": b"", "short": content[:-1], "flipped": content[:-1] + b"\0", "foreign": b"\x80PK" * 99}
    book_file.write_bytes(damaged[damage])
    code, output, error = run(monkeypatch, capsys, "book", "check", str(book_file))
    assert (code, output) == (1, "")
    assert error.startswith(f"error: {book_file}: this ")
    assert error.count("\n") == 1


def test_no_book_to_check(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(paths, "BOOK", tmp_path / "none.book")
    code, error = call(monkeypatch, capsys, "book", "check")
    assert code == 1
    assert error.startswith("error: [Errno 2] No such file")
    assert error.count("\n") == 1


def test_a_build_with_another_books_journal_is_one_line(monkeypatch, capsys, tmp_path):
    journal = tmp_path / "journal.txt"
    journal.write_text("facts for a book, 5 x 4 x 4, cold_nodes 7\n")
    words = ("book", "build", "--journal", str(journal), "-o", str(tmp_path / "new" / "a.book"))
    code, error = call(monkeypatch, capsys, *words)
    assert code == 1
    assert error.startswith(f"error: {journal} holds 'facts for a book, 5 x 4 x 4, cold_nodes 7', not 'facts for ")
    assert error.count("\n") == 1


def test_build(monkeypatch, capsys, tmp_path, book_file):
    made = Book.load(book_file)
    asked = []

    def build(journal, *, processes):
        asked.append((journal, processes))
        return made

    monkeypatch.setattr("c4lib.search.book_builder.build_book", build)
    output, journal = tmp_path / "deep" / "b.book", tmp_path / "facts" / "journal.txt"
    words = ("book", "build", "--journal", str(journal), "-o", str(output), "--processes", "3")
    code, said, error = run(monkeypatch, capsys, *words)
    assert (code, error) == (0, "")
    assert said == f"{output}: 1 positions, {output.stat().st_size} bytes\n"
    assert asked == [(journal, 3)]
    assert journal.parent.is_dir()
    assert output.read_bytes() == book_file.read_bytes()
