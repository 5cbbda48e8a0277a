"""The board of a notebook without a browser: what a session does, what it refuses, and what it throws away."""

import json
import re
import subprocess
import sys
import threading
import tomllib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c4lib import Position, paths, widgets
from c4lib.arena import benchmark
from c4lib.games.position import COLOURS
from c4lib.widgets import HUMAN, Analyst, Findings, Session

LATE = "7527267743225741531164553"  # a draw from here on: solved in no time
WON = "4545454"  # four in a column
DRAWN = "666165577462463234152541333211132724554777"


class Notes:
    """An analyst that finds what it is told to, and notes what it was asked."""

    model = None

    def __init__(self, *findings, meanwhile=None):
        self.findings, self.meanwhile = findings, meanwhile
        self.asked = []

    def look(self, position):
        self.asked.append(position)
        for i, found in enumerate(self.findings):
            if i and self.meanwhile:
                self.meanwhile()
            yield found


def leftmost(game, state):
    """An agent that is easily foreseen."""
    return int(np.flatnonzero(game.legal_actions_mask(state))[0])


def at_once(job):
    job()


def begun(first=HUMAN, second=HUMAN, *, analyst=None, start=at_once, **options):
    """A session under way, and the views it has published."""
    views = []
    session = Session(analyst or Notes(), first, second, start=start, **options)
    session.begin(views.append)
    return session, views


def line(session):
    return session.view()["moves"]


# --- playing --------------------------------------------------------------------------------------------------------


def test_two_people_play_to_the_end():
    session, views = begun()
    for digit in WON:
        session.play(int(digit) - 1)
    assert session.message == "Four in a row: the winner is x."
    assert line(session) == WON
    assert sorted(session.view()["line"]) == [17, 24, 31, 38]  # the centre column, rows 2 to 5 from the top
    assert session.view()["last"] == 17
    assert [view["moves"] for view in views] == [WON[:n] for n in range(len(WON) + 1)]


def test_a_draw_is_said():
    session, _ = begun(moves=DRAWN)
    assert session.position.is_draw
    assert session.message == "The board is full: a draw."


def test_the_winner_is_told_who_he_is():
    session, _ = begun(HUMAN, leftmost, moves="121212")
    session.play(0)
    assert session.message == "Four in a row: the winner is x (you)."


@pytest.mark.parametrize(
    ("moves", "column", "message"),
    [
        ("444444", 3, "Column 4 is full."),
        ("444444", 7, "There is no such column: they are 1 to 7."),
        ("444444", None, "There is no such column: they are 1 to 7."),
        (WON, 0, "The game is over."),
    ],
)
def test_what_cannot_be_played_is_refused(moves, column, message):
    session, views = begun(moves=moves)
    session.play(column)
    assert (session.message, line(session)) == (message, moves)
    assert views[-1]["refused"]
    assert not views[0]["refused"]


def test_nobody_plays_for_an_agent():
    jobs = []
    session, _ = begun(HUMAN, leftmost, start=jobs.append)
    session.play(3)
    session.play(3)
    assert session.message == "It is the turn of o (function)."
    jobs.pop()()
    assert line(session) == "41"
    assert session.message == "o (function) played column 1. x (you) to move."


def test_two_agents_play_by_themselves(monkeypatch):
    monkeypatch.setattr(widgets, "BETWEEN_AGENTS", 0)
    session, views = begun("random", "minimax:1", seed=1)
    assert session.position.is_over
    assert [len(view["moves"]) for view in views] == list(range(session.position.plies + 1))
    session.take_back()
    assert session.message == "There is no move of yours to take back."


@pytest.mark.parametrize("column", [7, "three", None])
def test_an_agent_that_fails_is_told_in_a_line(column):
    session, _ = begun(HUMAN, lambda game, state: column)
    session.play(3)
    assert line(session) == "4"
    assert re.match(r"o \(function\) failed: (Value|Type)Error: .+", session.message)
    assert "\n" not in session.message
    session.take_back()
    assert line(session) == ""


def test_a_thread_brings_the_answer():
    answered = threading.Event()
    session = Session(Notes(), HUMAN, "random", seed=1)
    session.begin(lambda view: len(view["moves"]) == 2 and answered.set())
    session.play(3)
    assert answered.wait(30)
    assert session.position.plies == 2


# --- taking back, beginning again, pasting --------------------------------------------------------------------------


def test_taking_back_goes_to_the_persons_turn():
    session, _ = begun(HUMAN, leftmost)
    session.play(3)
    session.play(3)
    assert line(session) == "4141"
    session.take_back()
    assert line(session) == "41"
    session.take_back()
    session.take_back()
    assert (line(session), session.message) == ("", "There is no move of yours to take back.")


def test_the_first_move_of_an_agent_is_not_taken_back():
    session, _ = begun(leftmost, HUMAN)
    session.take_back()
    assert line(session) == "1"


def test_an_answer_to_what_was_taken_back_is_thrown_away():
    jobs = []
    session, _ = begun(HUMAN, leftmost, start=jobs.append)
    session.play(3)
    session.take_back()
    jobs.pop()()
    assert line(session) == ""


def test_a_new_game_begins_with_whoever_is_first():
    session, _ = begun(leftmost, HUMAN)
    session.play(3)
    session.new_game()
    assert line(session) == "1"


@pytest.mark.parametrize(("text", "after"), [("4453", "4453"), (" 44 5\n3 ", "4453"), ("", "")])
def test_a_line_is_pasted(text, after):
    session, _ = begun(moves="1")
    session.paste(text)
    assert line(session) == after
    session.play(6)
    assert line(session) == after + "7"


def test_an_agent_answers_a_pasted_line():
    session, _ = begun(HUMAN, leftmost)
    session.paste("445")
    assert line(session) == "4451"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("4459", "move 4 of '4459': column 9 (1-based) does not exist: columns are 1 to 7"),
        ("44a", "move 3 of '44a': 'a' is not a digit"),
        ("4444444", "move 7 of '4444444': column 4 (1-based) is full"),
        (WON + "1", f"move 8 of '{WON}1': the game is over: the first player has won"),
    ],
)
def test_a_bad_line_changes_nothing(text, reason):
    session, _ = begun(moves="4453")
    session.paste(text)
    assert (session.message, line(session)) == (f"Nothing was changed: {reason}.", "4453")


@given(st.text(max_size=400))
def test_no_text_breaks_anything(text):
    session, _ = begun()
    session.paste(text)
    assert "\n" not in session.message
    assert len(session.message) < 200
    assert Position.from_moves(line(session)) == session.position


ACTIONS = st.one_of(
    st.tuples(st.just("play"), st.integers(-1, 7)),
    st.tuples(st.sampled_from(["take_back", "new_game", "hint", "toggle_analysis"])),
    st.tuples(st.just("paste"), st.text("1234567 ", max_size=8)),
)


@given(st.sampled_from([(HUMAN, HUMAN), (HUMAN, leftmost), (leftmost, HUMAN)]), st.lists(ACTIONS, max_size=40))
def test_whatever_is_done_the_game_stays_one(seats, actions):
    session, views = begun(*seats, analyst=Notes(Findings()))
    for action in actions:
        before = session.position
        session.obey(*action)
        assert Position.from_moves(line(session)) == session.position
        assert session.position.is_over or session.seats[session.position.mover] == HUMAN
        if views[-1]["refused"]:
            assert session.position == before
        json.dumps(views[-1], allow_nan=False)


def test_only_commands_are_obeyed():
    session, _ = begun()
    with pytest.raises(ValueError, match="there are play, take_back"):
        session.obey("begin", print)


# --- the analysis ---------------------------------------------------------------------------------------------------

HALF = Findings(scores=(None, None, None, 1, None, None, None))
WHOLE = Findings(scores=(-2, -1, 0, 1, 0, -1, -2), best=(3,), complete=True)


def test_findings_are_shown_as_they_come():
    _, views = begun(analyst=Notes(HALF, WHOLE), analysis=True)
    shown = [view["findings"] and view["findings"]["scores"] for view in views]
    assert shown == [None, HALF.scores, WHOLE.scores]
    assert views[-1]["summary"] == "For x, who is to move. It wins: exact score +1."


def test_findings_of_an_earlier_position_are_thrown_away():
    analyst = Notes(HALF, WHOLE, meanwhile=lambda: session.play(3))
    session = Session(analyst, HUMAN, leftmost, analysis=True, start=at_once)
    session.begin(lambda view: None)
    assert session.position.plies
    assert session.findings != WHOLE


def test_nothing_is_looked_at_twice_or_unasked():
    analyst = Notes(WHOLE)
    session, _ = begun(HUMAN, leftmost, analyst=analyst)
    session.play(3)
    assert not analyst.asked
    for _ in range(3):
        session.toggle_analysis()
    session.hint()
    assert [position.plies for position in analyst.asked] == [2]
    session.play(3)
    assert [position.plies for position in analyst.asked] == [2, 4], "an agent's turn is its own"


def test_an_analysis_that_fails_is_told_in_a_line():
    analyst = Notes()
    analyst.look = lambda position: [][0]
    session, _ = begun(analyst=analyst, analysis=True)
    assert session.message == "The analysis failed: IndexError: list index out of range"


def test_a_hint_marks_the_columns_that_are_best():
    table = benchmark.load("L2_R2").head(20)
    for moves, *scores in table[["moves", *benchmark.COLUMNS]].itertuples(index=False):
        exact = tuple(None if pd.isna(score) else int(score) for score in scores)
        best = max(score for score in exact if score is not None)
        session, views = begun(analyst=Analyst(model=None), moves=moves)
        session.hint()
        assert views[-1]["findings"]["scores"] == exact
        assert views[-1]["hints"] == [column for column, score in enumerate(exact) if score == best]


def test_a_hint_is_said_and_gone_with_the_next_move():
    session, _ = begun(analyst=Notes(WHOLE))
    session.hint()
    assert session.message == "Best: 4; x wins."
    session.play(0)
    assert session.view()["hints"] == []


def test_there_is_no_hint_after_the_end():
    session, _ = begun(moves=WON)
    session.hint()
    assert session.message == "The game is over."


def test_the_book_answers_at_once():
    look = Analyst(model=None).look(Position.from_moves("1"))
    assert next(look) == Findings(scores=(None, None, None, 2, None, None, None), best=(3,))
    assert next(look).best == (3,), "what is known stays known"
    assert Analyst(model=None).analyse(Position()) == WHOLE


def test_a_network_is_asked_too():
    position = Position.from_moves("444444")
    opinion = next(found for found in Analyst("connect4", simulations=20).look(position) if found.value is not None)
    for shares in (opinion.policy, opinion.visits):
        assert shares[3] is None
        assert sum(share for share in shares if share is not None) == pytest.approx(1, abs=0.01)
    assert -1 <= opinion.value <= 1
    assert not opinion.complete


# --- what is wrong from the start -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Session(Notes(), "nobody"), "unknown agent 'nobody'"),
        (lambda: Session(Notes(), 3), "a seat is for 'human'"),
        (lambda: Session(Notes(), moves="48"), "column 8"),
        (lambda: Analyst(simulations=0), "simulations must be at least 1"),
        (lambda: Analyst("no such model"), "no such model"),
    ],
)
def test_mistakes_are_told_at_once(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- the widget -----------------------------------------------------------------------------------------------------


def test_saved_notebooks_show_a_board():
    pytest.importorskip("anywidget")
    board = widgets.play(moves=LATE, model=None)
    data, _ = board._repr_mimebundle_()
    assert data["image/svg+xml"] == Position.from_moves(LATE)._repr_svg_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == f"<board: human against perfect, moves '{LATE}'>"


def test_the_widget_passes_on_what_was_clicked():
    pytest.importorskip("anywidget")
    board = widgets.play(HUMAN, HUMAN, model=None)
    board._handle_custom_msg({"command": "play", "arguments": [3]}, [])
    assert board.position == Position.from_moves("4")
    assert board.view["moves"] == "4"


def test_anywidget_is_asked_for_late_and_by_its_name(monkeypatch):
    blocked = "import sys; sys.modules['anywidget'] = None; import c4lib.widgets"
    subprocess.run([sys.executable, "-c", blocked], check=True)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    widgets._widget_class.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'c4lib\[notebooks\]'"):
        widgets.play(model=None)


def test_the_colours_are_those_of_every_board():
    css = (paths.PACKAGE / "widgets.css").read_text(encoding="utf-8")
    assert dict(re.findall(r"--(first|second|empty): (#\w+);", css)) == {
        "first": COLOURS[1],
        "second": COLOURS[-1],
        "empty": COLOURS[0],
    }


def test_the_front_end_is_installed_along():
    settings = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"widgets.js", "widgets.css"} <= set(settings["tool"]["setuptools"]["package-data"]["c4lib"])
