"""The player inside the perfect submission: book, solver and engine, and what is left of them where one fails."""

import base64

import numpy as np
import pytest

from c4lib import paths
from c4lib.games.connect4 import STANDARD, Geometry
from c4lib.games.position import Position
from c4lib.kaggle import perfect
from c4lib.kaggle.perfect import Player
from c4lib.search.book import ENTRY, Book
from c4lib.search.perfect import PerfectPlayer
from c4lib.search.solver import Solver

from .test_agent import CONFIGURATION, seen

LATE = [6, 4, 1, 6, 1, 5, 6, 6, 3, 2, 1, 1, 4, 6, 3, 0, 4, 2, 0, 0, 5, 3, 4, 4, 2]  # 7527267743225741531164553
SLOW = CONFIGURATION | {"actTimeout": 10.0}


def files(book: Book) -> dict[str, str]:
    return {"connect4.book": base64.encodebytes(book.to_bytes()).decode("ascii")}


@pytest.fixture
def strange():
    """A book that knows one position, after one stone in the centre, and says something strange of it."""
    return files(Book(np.array([(1 << 21, 6, 3)], ENTRY)))


def seat(player):
    """What chose the player's last move."""
    return list(player._seats.values())[-1].engine


@pytest.mark.parametrize("bank", [60.0, 0.0], ids=["compiled", "interpreted"])
def test_plays_by_the_book(strange, bank):
    player = Player(files=strange)
    assert player(seen(3, bank=bank), CONFIGURATION) == 6
    assert seat(player).sources == {"book": 1}
    assert player.failures == []


@pytest.mark.parametrize("bank", [60.0, 0.0], ids=["compiled", "interpreted"])
def test_plays_exactly_where_it_can(strange, bank):
    player = Player(files=strange)
    move = player(seen(*LATE, bank=bank), SLOW)
    assert type(move) is int
    assert seat(player).sources == {"solver": 1}
    position, solver = Position.from_moves(LATE), Solver(table_bits=20)
    assert -solver.solve(position.play(move)).score == solver.solve(position).score


def test_moves_are_those_of_the_labs_player():
    player = Player(files=files(Book.load(paths.BOOK)))
    lab = PerfectPlayer(STANDARD, Book.load(paths.BOOK), table_bits=20)
    early = [3], [3, 3], [0], [6], [3, 2], [3, 3, 0]
    for moves in (*early, LATE, LATE[:-1], LATE[:-2], LATE[:-4]):
        assert player(seen(*moves), SLOW) == lab.search(*Position.from_moves(moves).boards, seconds=8.0).move
    assert lab.sources == {"book": 6, "solver": 4}
    assert player.failures == []


def test_opens_in_the_centre_without_a_look(strange):
    player = Player(files=strange)
    assert player(seen(), CONFIGURATION) == 3
    assert seat(player).sources == {}


def test_the_settings_of_solver_and_engine(strange, monkeypatch):
    made = []

    def watched(geometry, book, **settings):
        made.append((geometry, len(book), settings))
        return PerfectPlayer(geometry, book, **settings)

    monkeypatch.setattr(perfect, "PerfectPlayer", watched)
    for compiled in (True, False):
        Player(files=strange).make_engine(STANDARD, compiled)
    assert [(settings["table_bits"], settings["compiled"]) for *_, settings in made] == [(23, True), (16, False)]
    assert {(geometry, entries, settings["options"]) for geometry, entries, settings in made} == {
        (STANDARD, 1, perfect.agent.OPTIONS)
    }


DAMAGES = {
    "no files": None,
    "no book": {"other.book": ""},
    "empty": {"connect4.book": ""},
    "no base64": {"connect4.book": "@"},
    "no ASCII": {"connect4.book": "é"},
    "cut": {"connect4.book": files(Book(np.array([(0, 6, 3), (5, 0, 0)], ENTRY)))["connect4.book"][:-6]},
    "no book's content": {"connect4.book": base64.b64encode(b"opening book").decode()},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_plays_on_without_a_book(damage, capsys):
    player = Player(files=DAMAGES[damage])
    assert player(seen(*LATE, bank=0.0), SLOW) == 3
    assert seat(player).sources == {"solver": 1}
    assert player(seen(3, 3, bank=0.0), CONFIGURATION | {"actTimeout": 0.2}) in range(7)
    assert seat(player).sources == {"engine": 1}
    assert len(player.failures) == 2  # one a game
    assert all(isinstance(failure, (KeyError, ValueError)) for failure in player.failures)
    assert capsys.readouterr().err


def test_an_impossible_move_of_the_book_is_not_played(capsys):
    """The centre is full, where the book says to play it."""
    moves = [3] * 6
    player = Player(files=files(Book(np.array([(Position.from_moves(moves).key, 3, 3)], ENTRY))))
    move = player(seen(*moves, bank=0.0), CONFIGURATION)
    assert move != 3
    assert move in range(7)


@pytest.mark.parametrize("size", [(4, 5, 3), (8, 7, 4), (10, 10, 5)], ids=str)
def test_other_boards_are_the_engines(strange, size):
    columns, rows, inarow = size
    player = Player(files=strange)
    configuration = CONFIGURATION | {"columns": columns, "rows": rows, "inarow": inarow, "actTimeout": 0.2}
    assert player(seen(0, columns=columns, rows=rows, bank=0.0), configuration) in range(columns)
    assert seat(player).geometry == Geometry(*size)
    assert seat(player).sources == {"engine": 1}
    assert player.failures == []
