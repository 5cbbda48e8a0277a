"""What `c4 solve` says of positions near the end, where the engine can search as far as the game goes."""

import json
import re

import numpy as np
import pytest

from c4lib import paths, report
from c4lib.games.connect4 import Geometry, canonical_key
from c4lib.games.position import Position
from c4lib.search.book import ENTRY, Book
from c4lib.search.solver import Analysis, Solution, Solver

from .search.exact import full_depth

SMALL = dict(columns=5, rows=4, inarow=4)
USUAL = dict(columns=7, rows=6, inarow=4)

# by their moves: the board, and the verdict where it is known without a search
POSITIONS = {
    "7527267743225741531164553": (USUAL, "o to move draws"),
    "1276241445766624713722": (USUAL, "x to move wins (score +4): the game ends with the winner's stone number 18"),
    "41251125477125145215445633": (
        USUAL,
        "x to move loses (score -6): the game ends with the winner's stone number 16",
    ),
    "726121757731322623771565561331235": (
        USUAL,
        "o to move loses (score -1): the game ends with the winner's stone number 21",
    ),
    "1233154514235241": (SMALL, "x to move draws"),
    "1424": (SMALL, None),
}
positions = pytest.mark.parametrize(("moves", "board"), [(moves, board) for moves, (board, _) in POSITIONS.items()])


def tell(moves, board=USUAL, *, book=False, stats=False, seconds=None, as_json=False, compiled=True):
    settings = dict(threads=1, table_bits=20, compiled=compiled)
    return report.solve_report(moves, board, settings, book=book, stats=stats, seconds=seconds, as_json=as_json)


def exact_columns(position):
    """The score of every column for the side to move, None for a full one."""
    exact = full_depth(position.geometry)
    columns = [None] * position.geometry.columns
    for column in position.legal_moves:
        columns[column] = -exact(*position.play(column).boards)
    return columns


def digits(columns):
    return "".join(str(column + 1) for column in columns)


def is_a_best_line(position, line):
    """Whether every move of it is best, and the game over at its end."""
    for column in line:
        columns = exact_columns(position)
        if columns[column] != max(score for score in columns if score is not None):
            return False
        position = position.play(column)
    return position.is_over


# --- as text --------------------------------------------------------------------------------------------------------


@positions
def test_text(moves, board):
    position = Position.from_moves(moves, **board)
    columns = exact_columns(position)
    best = max(score for score in columns if score is not None)
    lines = tell(moves, board).splitlines()
    rows = board["rows"]
    assert [line.split() for line in lines[:rows]] == [line.split() for line in str(position).splitlines()]
    assert lines[rows].split() == [str(column + 1) for column in range(board["columns"])]

    scores, label = lines[rows + 1].split("   score of")
    assert label == " each column"
    width = len(lines[rows]) // board["columns"]
    told = [scores[column * width :][:width].strip() for column in range(board["columns"])]
    assert told == ["" if score is None else f"{score:+}" if score else "0" for score in columns]

    assert lines[rows + 2] == ""
    assert lines[rows + 3] == (POSITIONS[moves][1] or lines[rows + 3])
    assert lines[rows + 4] == "best: " + ", ".join(str(i + 1) for i, score in enumerate(columns) if score == best)
    before, line = re.fullmatch(r"line: (\d+) (\d+)", lines[rows + 5]).groups()
    assert before == moves
    assert is_a_best_line(position, [int(digit) - 1 for digit in line])
    assert re.fullmatch(r"all of this: [\d,]+ nodes, \d+\.\d{3} s(, [\d.]+ million a second)?", lines[rows + 6])
    assert len(lines) == rows + 7


def test_columns_stand_below_each_other():
    lines = tell("1276241445766624713722").splitlines()[:8]
    assert lines[6] == "  1  2  3  4  5  6  7"
    assert lines[7] == " -8 -8 +2 +4 -9 -8  0   score of each column"
    assert all(len(line) == len(lines[6]) for line in lines[:6])


@pytest.mark.parametrize(
    ("moves", "board", "verdict"),
    [
        ("1212121", USUAL, "the game is over: x has won"),
        ("71212121", USUAL, "the game is over: o has won"),
        ("12331545142352413524", SMALL, "the game is over: a draw"),
    ],
)
def test_a_finished_game(moves, board, verdict):
    lines = tell(moves, board).splitlines()
    rows = board["rows"]
    assert lines[rows + 3] == verdict
    assert not [line for line in lines if line.startswith(("best", "line"))]
    found = json.loads(tell(moves, board, as_json=True))
    assert found["columns"] == [None] * board["columns"]
    assert found["best_moves"] == found["principal_variation"] == []
    assert found["score"] == full_depth(Geometry(*board.values()))(*Position.from_moves(moves, **board).boards)


@pytest.mark.parametrize("size", [(7, 6), (5, 5), (5, 4)], ids=str)
@pytest.mark.parametrize(
    ("moves", "says", "winner", "stones"),
    [("112233", "wins", 1, 3), ("5112233", "wins", -1, 3), ("1122335", "loses", 1, 4), ("51122335", "loses", -1, 4)],
)
def test_the_winners_last_stone_is_counted_right(size, moves, says, winner, stones):
    """He has so many on the board and wins with the next; the first player may have one more than the second."""
    columns, rows = size
    in_hand = (columns * rows + (winner == 1)) // 2 - stones
    score = in_hand if says == "wins" else -in_hand
    analysis = Analysis((None,) * columns, (), Solution(score, score, 1, 0.0))
    told = report.as_text(Position.from_moves(moves, columns, rows), analysis, 0.0, {})
    assert f"to move {says} (score {score:+}): the game ends with the winner's stone number {stones + 1}\n" in told


# --- as JSON --------------------------------------------------------------------------------------------------------


@positions
def test_json(moves, board):
    position = Position.from_moves(moves, **board)
    columns = exact_columns(position)
    best = max(score for score in columns if score is not None)
    found = json.loads(tell(moves, board, as_json=True))
    assert list(found) == [
        "moves",
        "score",
        "lower",
        "upper",
        "columns",
        "best_moves",
        "principal_variation",
        "nodes",
        "seconds",
    ]
    assert found["moves"] == moves
    assert found["score"] == found["lower"] == found["upper"] == best
    assert found["columns"] == columns
    assert found["best_moves"] == [column for column, score in enumerate(columns) if score == best]
    assert is_a_best_line(position, found["principal_variation"])
    assert type(found["nodes"]) is int
    assert found["nodes"] >= 0
    assert 0 < found["seconds"] < 60


# --- limits, statistics, the book -----------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", ["", "1212", "7527267743225741531164553", "726121757731322623771565561331235"])
def test_no_time_gives_bounds(moves):
    position = Position.from_moves(moves)
    found = json.loads(tell(moves, seconds=0.0, as_json=True))
    assert found["lower"] <= found["upper"]
    assert (found["score"] is None) == (found["lower"] < found["upper"])
    bounds = [score if isinstance(score, list) else [score, score] for score in found["columns"] if score is not None]
    assert len(bounds) == len(position.legal_moves)
    assert all(lower <= upper for lower, upper in bounds)
    if position.plies > 20:
        columns = [score for score in exact_columns(position) if score is not None]
        assert all(lower <= score <= upper for score, (lower, upper) in zip(columns, bounds, strict=True))
        assert found["lower"] <= max(columns) <= found["upper"]
    else:
        assert found["score"] is None
        lines = tell(moves, seconds=0.0).splitlines()
        assert lines[9] == f"x to move: the score lies from {found['lower']} to {found['upper']}"
        assert re.fullmatch(r" *(-\d+\.\.\+\d+ *){7}score of each column", lines[7])
        assert not [line for line in lines if line.startswith("line")]


def test_statistics():
    moves = "7527267743225741531164553"
    plain, text = tell(moves).splitlines(), tell(moves, stats=True).splitlines()
    assert [line for line in text[: len(plain) - 1] if "all of this" not in line] == plain[:-1]
    told = [re.fullmatch(r"the (\w+) alone, from nothing: ([\d,]+) nodes, \d+\.\d{3} s", line) for line in text[-2:]]
    assert [line[1] for line in told] == ["score", "outcome"]

    found = json.loads(tell(moves, stats=True, as_json=True))
    for name, line in zip(("cold_score", "cold_outcome"), told, strict=True):
        assert list(found[name]) == ["nodes", "seconds"]
        assert f"{found[name]['nodes']:,}" == line[2]
    solver = Solver(table_bits=20)
    assert found["cold_score"]["nodes"] == solver.solve(moves).nodes


def test_the_book_is_looked_into_where_it_is_wanted(tmp_path, monkeypatch):
    """A book that lies, so that it shows."""
    moves = "726121757731322623771565561331235"
    boards = Position.from_moves(moves).boards
    monkeypatch.setattr(paths, "BOOK", tmp_path / "a.book")
    open_column = next(c for c in range(7) if c in (legal := Position.from_moves(moves).legal_moves) and 6 - c in legal)
    Book(np.array([(canonical_key(*boards, 7, 6), open_column, 4)], ENTRY)).save(paths.BOOK)
    assert json.loads(tell(moves, book=False, as_json=True))["upper"] == -1
    assert json.loads(tell(moves, book=True, as_json=True))["lower"] == 4
    assert json.loads(tell(moves, book=True, stats=True, as_json=True))["cold_score"]["nodes"] > 0
    tell("1233154514235241", SMALL, book=True)  # another board has no book

    paths.BOOK.write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"a\.book: this is not an opening book"):
        tell(moves, book=True)
    paths.BOOK.unlink()
    assert json.loads(tell(moves, book=True, as_json=True))["score"] == -1


# --- boards and moves that will not do ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "board", "said"),
    [
        ("4459", USUAL, "move 4 of '4459': column 9 (1-based) does not exist: columns are 1 to 7"),
        ("4450", USUAL, "column 0 (1-based) does not exist"),
        ("4444444", USUAL, "move 7 of '4444444': column 4 (1-based) is full"),
        ("12121212", USUAL, "move 8 of '12121212': the game is over: the first player has won"),
        ("44a", USUAL, "move 3 of '44a': 'a' is not a digit"),
        ("44 53", USUAL, "' ' is not a digit"),
        ("6", SMALL, "column 6 (1-based) does not exist: columns are 1 to 5"),
        ("", dict(columns=10, rows=10, inarow=4), "the solver's boards fit 64 bits; 10 x 10 does not"),
        ("", dict(columns=0, rows=6, inarow=4), "columns must be a positive integer, not 0"),
    ],
)
def test_what_cannot_be_solved(moves, board, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        tell(moves, board)


@pytest.mark.parametrize(("columns", "rows"), [(1, 3), (2, 1), (2, 2)])
def test_tiny_boards(columns, rows):
    found = json.loads(tell("1", dict(columns=columns, rows=rows, inarow=3), as_json=True, compiled=False))
    assert found["score"] == 0
