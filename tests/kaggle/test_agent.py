"""The player inside a submission: the right position and time for the engine, a legal answer whatever happens."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from c4lib.games.connect4 import Geometry, boards_of_cells
from c4lib.kaggle import agent
from c4lib.kaggle.agent import Player, centre_most

CONFIGURATION = {"columns": 7, "rows": 6, "inarow": 4, "actTimeout": 2.0}


class StubEngine:
    """Stands for the engine: keeps what it was asked, answers with `move` or raises it."""

    made: list["StubEngine"] = []  # noqa: RUF012
    move: int | Exception = 3

    def __init__(self, geometry, options, *, compiled=True):
        self.geometry, self.compiled = geometry, compiled
        self.asked = []
        self.made.append(self)

    def search(self, own, opp, *, seconds):
        self.asked.append((own, opp, seconds))
        if isinstance(self.move, Exception):
            raise self.move
        return SimpleNamespace(move=self.move)


@pytest.fixture
def engines(monkeypatch):
    """The stub engines made so far; the player gets no others."""
    monkeypatch.setattr(agent, "Engine", StubEngine)
    monkeypatch.setattr(StubEngine, "made", [])
    return StubEngine.made


def board_of(*moves, columns=7, rows=6):
    """The board after these columns, as Kaggle sees it."""
    board = [0] * (columns * rows)
    for ply, column in enumerate(moves):
        row = max(row for row in range(rows) if board[row * columns + column] == 0)
        board[row * columns + column] = ply % 2 + 1
    return board


def seen(*moves, bank=60.0, **size):
    """The observation of the side to move after these columns."""
    return {"board": board_of(*moves, **size), "mark": len(moves) % 2 + 1, "remainingOverageTime": bank}


class Both(dict):
    """A dict whose entries are attributes too, as Kaggle's are."""

    __getattr__ = dict.__getitem__


@pytest.mark.parametrize("kind", [dict, Both, lambda entries: SimpleNamespace(**entries)])
def test_reads_dicts_and_attributes(engines, kind):
    assert Player()(kind(seen(3, 3)), kind(CONFIGURATION)) == 3
    assert engines[0].geometry == Geometry(7, 6, 4)
    assert len(engines[0].asked) == 1


@pytest.mark.parametrize("moves", [(3,), (3, 3), (3, 3, 3, 0, 6, 6, 1)])
def test_the_engine_gets_the_position(engines, moves):
    observation = seen(*moves)
    Player()(observation, CONFIGURATION)
    cells = np.array(observation["board"]).reshape(6, 7)
    mark = observation["mark"]
    expected = boards_of_cells(np.where(cells == mark, 1, np.where(cells == 0, 0, -1)), Geometry())
    assert engines[0].asked[0][:2] == expected


@pytest.mark.parametrize(
    ("moves", "answers"),
    [((0, 6, 0, 6, 0, 6), {0}), ((0, 6, 0, 6, 0), {0}), ((3, 1, 4, 1, 5, 1), {2, 6})],
    ids=["win", "block", "two wins"],
)
def test_real_engine_sees_what_is_urgent(moves, answers):
    player = Player()
    move = player(seen(*moves, bank=0), CONFIGURATION | {"actTimeout": 0.1})
    assert type(move) is int
    assert move in answers
    assert player.failures == []


def test_keeps_the_engine_through_a_game(engines):
    player = Player()
    for moves in ((), (3, 3), (3, 3, 2, 4), (3, 3, 2, 4, 0, 0)):
        player(seen(*moves), CONFIGURATION)
    assert len(engines) == 1
    assert len(engines[0].asked) == 3  # the empty board needs no search


@pytest.mark.parametrize("start", [(), (4, 4), (3, 3)])
def test_sees_a_new_game(engines, start):
    player = Player()
    player(seen(3, 3), CONFIGURATION)
    player(seen(3, 3, 2, 2), CONFIGURATION)
    player(seen(*start), CONFIGURATION)
    assert len(engines) == 2


def test_seats_and_boards_do_not_share(engines):
    player = Player()
    player(seen(3, 3), CONFIGURATION)
    player(seen(3, 3, 3), CONFIGURATION)  # the other side of the same game
    player(seen(1, 1, columns=4, rows=5), CONFIGURATION | {"columns": 4, "rows": 5, "inarow": 3})
    player(seen(3, 3, 3, 3), CONFIGURATION)
    player(seen(3, 3, 3, 3, 3), CONFIGURATION)
    assert [len(engine.asked) for engine in engines] == [2, 2, 1]


@pytest.mark.parametrize(("bank", "compiled"), [(60.0, True), (25.0, True), (24.9, False), (0.0, False)])
def test_compiles_only_where_the_bank_pays(engines, bank, compiled):
    Player()(seen(bank=bank), CONFIGURATION)
    assert [engine.compiled for engine in engines] == [compiled]


def test_time_is_a_share_of_the_timeout(engines):
    player = Player()
    player(seen(3, 3), CONFIGURATION)
    player(seen(3, 3, 3, 3), CONFIGURATION | {"actTimeout": 0.5})
    assert [asked[2] for asked in engines[0].asked] == pytest.approx([1.6, 0.4], abs=0.05)


def test_a_large_bank_pays_for_loading(engines):
    Player(time.monotonic() - 5)(seen(3, bank=55), CONFIGURATION)
    assert engines[0].asked[0][2] == pytest.approx(1.6, abs=0.05)


def test_with_a_small_bank_the_search_pays_for_loading_once(engines):
    player = Player(time.monotonic() - 1)
    player(seen(3, bank=1), CONFIGURATION)
    player(seen(3, 3, 3, bank=1), CONFIGURATION)
    assert [asked[2] for asked in engines[0].asked] == pytest.approx([0.6, 1.6], abs=0.05)


def test_there_is_always_a_moment_to_search(engines):
    Player(time.monotonic() - 9)(seen(3, bank=1), CONFIGURATION)
    assert engines[0].asked[0][2] == 0.01


def test_interpreted_where_numba_does_not_compile(engines, monkeypatch, capsys):
    def engine(geometry, options, *, compiled=True):
        if compiled:
            raise RuntimeError("no LLVM today")
        return StubEngine(geometry, options, compiled=False)

    monkeypatch.setattr(agent, "Engine", engine)
    player = Player()
    assert player(seen(), CONFIGURATION) == 3
    assert [str(failure) for failure in player.failures] == ["no LLVM today"]
    assert "no LLVM today" in capsys.readouterr().err


def test_a_failing_search_costs_no_game(engines, monkeypatch, capsys):
    monkeypatch.setattr(StubEngine, "move", ZeroDivisionError("oops"))
    player = Player()
    move = player(seen(3, 3, 3, 3, 3, 3), CONFIGURATION)
    assert (type(move), move) == (int, 2)
    assert [type(failure) for failure in player.failures] == [ZeroDivisionError]
    assert "ZeroDivisionError: oops" in capsys.readouterr().err


@pytest.mark.parametrize("chosen", [3, 7, -1])
def test_an_illegal_choice_is_not_played(engines, monkeypatch, chosen):
    monkeypatch.setattr(StubEngine, "move", chosen)
    player = Player()
    assert player(seen(3, 3, 3, 3, 3, 3), CONFIGURATION) == 2
    assert str(player.failures[0]) == f"the engine chose column {chosen}, which is not open"


def test_answers_with_a_plain_int(engines, monkeypatch):
    monkeypatch.setattr(StubEngine, "move", np.int64(5))
    assert type(Player()(seen(3), CONFIGURATION)) is int


@pytest.mark.parametrize(("columns", "centre"), [(7, 3), (5, 2), (4, 2), (1, 0)])
def test_opens_in_the_centre_and_has_its_engine_ready(engines, columns, centre):
    assert Player()(seen(columns=columns), CONFIGURATION | {"columns": columns}) == centre
    assert [(engine.compiled, engine.asked) for engine in engines] == [(True, [])]


def test_odd_observations_get_an_answer():
    player = Player()
    assert player({"board": [0] * 42}, {}) in range(7)  # neither mark nor clock nor size
    assert player({"board": [1] * 42, "mark": 1}, CONFIGURATION) == 0  # nothing to play
    assert player({"board": [0] * 5, "mark": 1}, {"columns": 5, "actTimeout": 0.1}) in range(
        5
    )  # not the board promised


@pytest.mark.parametrize(
    ("closed", "columns", "answer"),
    [((), 7, 3), ((3,), 7, 2), ((2, 3), 7, 4), ((), 4, 2), ((0, 1, 2, 3, 4, 5), 7, 6), ((0,), 1, 0)],
)
def test_centre_most(closed, columns, answer):
    board = [int(column in closed) for column in range(columns)] + [1] * columns
    assert centre_most(board, columns) == answer
