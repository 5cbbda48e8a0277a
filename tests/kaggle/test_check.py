"""The check lets good submissions pass, and each way of dying is seen by the case that is there for it."""

import csv
import os
import re
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from c4lib.cli import c4
from c4lib.kaggle import check as checker
from c4lib.kaggle.check import cases, check
from c4lib.kaggle.export import export

pytest.importorskip("kaggle_environments", reason="kaggle-environments is not installed")

LEGAL = "[c for c in range(configuration.columns) if observation.board[c] == 0][0]"
GOOD = f"def agent(observation, configuration):\n    return {LEGAL}\n"


def returning(expression: str, before: str = "") -> str:
    """The source of a submission that evaluates an expression for its move."""
    return f"{before}\ndef agent(observation, configuration):\n    return {expression}\n"


@pytest.fixture
def submit(tmp_path):
    """Writes a submission."""

    def write(source: str):
        file = tmp_path / "submission.py"
        file.write_text(source)
        return file

    return write


BAD = {
    "another callable last": ("loader", GOOD + "def helper():\n    return 3\n", "is helper, not agent"),
    "one argument": ("loader", "def agent(observation):\n    return 3\n", "called with 1 of its two arguments"),
    "arguments as a tuple": ("loader", "def agent(*args):\n    return 3\n", "called with no of its two arguments"),
    "no agent": ("loader", "x = 3\n", "InvalidArgument"),
    "needs the lab": ("loader", "import c4lib\n" + GOOD, "import of c4lib halted"),
    "needs its path": ("loader", "print(__file__)\n" + GOOD, "'__file__' is not defined"),
    "raises": ("random, moving first", returning("1 // 0"), "ERROR as player 1, move 1: ZeroDivisionError"),
    "a numpy integer": ("random, moving first", returning(f"np.int64({LEGAL})", "import numpy as np"), "type int64"),
    "a float": ("random, moving second", returning(f"float({LEGAL})"), "of type float, not a plain int"),
    "no move": ("random, moving first", returning("None"), "returned None of type NoneType"),
    "a move off the board": ("negamax, moving second", returning("7"), "INVALID as player 2, move 1"),
    "always one column": ("full columns", returning("3"), "played 3 where only ["),
    "seven columns": ("board 4x5x3", returning("6"), "INVALID as player 1, move 1"),
    "slow to load": ("low time bank", "import time; time.sleep(3.3)\n" + GOOD, "TIMEOUT as player 1, move 1"),
    "slow to move": (
        "low time bank",
        returning(f"time.sleep(3.1 * (observation.step > 0)) or {LEGAL}", "import time"),
        "TIMEOUT as player 1, move 2",
    ),
    "needs numba": ("no numba", "import numba\n" + GOOD, "import of numba halted"),
    "writes beside itself": ("read-only, no home", returning("[open('x', 'w'), 3][1]"), "Read-only file system"),
    "writes to a folder": ("read-only, no home", "import os; os.mkdir('/tmp/c4-x')\n" + GOOD, "Read-only file system"),
    "needs its home": (
        "read-only, no home",
        "from pathlib import Path; list(Path.home().iterdir())\n" + GOOD,
        "FileNotFoundError",
    ),
    "needs its folder": ("another folder", "open('main.py')\n" + GOOD, "FileNotFoundError"),
    "wants to be alone": (
        "several processes",
        "import os, time; os.mkdir('lock'); time.sleep(2); os.rmdir('lock')\n" + GOOD,
        "FileExistsError",
    ),
    "comes once": (
        "several processes",
        "import os; os.mkdir(f'run{os.path.exists(\"run\")}')\n" + GOOD,
        "FileExistsError",
    ),
    "dies": ("board 1x1x1", returning("os._exit(5)", "import os"), "died with exit code 5"),
}


SLOW = ("slow to move", "wants to be alone")  # others show the same case


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.slow if kind in SLOW else ()) for kind in BAD])
def test_sees_the_bad(submit, capsys, monkeypatch, kind):
    case, source, said = BAD[kind]
    monkeypatch.setenv("COLUMNS", "300")
    assert check(submit(source), only=case) is False
    output = capsys.readouterr().out
    assert "FAIL" in output
    assert said in output
    assert "0 of 1 cases passed, 1 failed" in output


@pytest.mark.slow
def test_lets_the_good_pass(submit, capsys):
    assert check(submit(GOOD))
    assert "17 of 17 cases passed" in capsys.readouterr().out


@pytest.mark.parametrize("case", ["loader", "random, moving second", "full columns", "board 20x20x4"])
def test_lets_the_good_pass_a_case(submit, capsys, case):
    assert check(submit(GOOD), only=case) is True
    assert "1 of 1 cases passed" in capsys.readouterr().out


def test_tells_wins_and_times(submit, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    slow = returning(f"time.sleep(0.1 if observation.step else 0.3) or {LEGAL}", "import time")
    assert check(submit(slow), only="random, moving first", episodes=2) is True
    output = capsys.readouterr().out
    assert " 0.3" in output
    assert " 0.1" in output
    assert " of 2" in output


def test_plays_against_other_submissions(submit, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "600")
    other, broken = tmp_path / "other.py", tmp_path / "broken.py"
    other.write_text(returning(f"max({LEGAL[:-3]})"))  # fills columns from the right, as GOOD does from the left
    broken.write_text(returning("1 // 0"))
    table = tmp_path / "table.csv"
    slow = submit(returning(f"time.sleep(0.1) or {LEGAL}", "import time"))
    words = ["check", slow, "--only", f"{other}, moving second", "--episodes", 3, "--against", other]
    result = CliRunner().invoke(c4, [*map(str, words), "-o", str(table)])
    assert result.exit_code == 0
    assert "won 0 of 3, lost 7" in result.output
    [row] = csv.DictReader(table.open())
    assert row["case"] == f"{other}, moving second"
    columns = ("passed", "episodes", "won", "drawn", "lost", "complaint")
    assert [row[column] for column in columns] == ["1", "3", "0", "0", "3", ""]
    assert all(0.1 <= float(row[column]) < 10 for column in ("first_turn", "slowest_later"))
    assert check(submit(GOOD), f"{broken}, moving first", others=[broken])
    assert "the opponent: ERROR" in capsys.readouterr().out


def test_a_lost_game_is_told_with_its_moves(submit, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert check(submit(GOOD), only="negamax, moving second")  # GOOD fills column 1
    output = capsys.readouterr().out
    assert "won 0 of 1" in output
    assert re.search(r"lost [1-7]1([1-7]1)*[1-7] ", output)


def test_holds_moves_to_their_time(submit, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    slow = returning(f"time.sleep(1.95 * (observation.step == 2)) or {LEGAL}", "import time")
    assert check(submit(slow), only="random, moving first") is False
    assert "a move took 1.95 s, more than 1.9 s" in capsys.readouterr().out


def test_tells_what_was_survived(submit, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert check(submit(returning(f"print('KeyError: oh', file=sys.stderr) or {LEGAL}", "import sys")), "board 1x1x1")
    assert "survived KeyError: oh" in capsys.readouterr().out


def test_a_hanging_agent_is_killed_with_its_children_and_not_tried_again(submit, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "300")
    table = [case for case in cases() if case.name in ("loader", "board 1x1x1", "board 4x5x3")]
    for case in table:
        object.__setattr__(case, "limit", 4)
    monkeypatch.setattr(checker, "cases", lambda *_: table)
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid"
    note = f"open({str(tmp_path / 'pid')!r}, 'w').write(str({child}))"
    start = time.monotonic()
    assert check(submit(returning(f"[{note}, time.sleep(60)]", "import subprocess, sys, time"))) is False
    assert time.monotonic() - start < 12
    output = capsys.readouterr().out
    assert "killed: no end after 4 s" in output
    assert "1 of 3 cases passed, 1 failed" in output
    assert "1 not tried" in output
    if os.name == "posix":
        time.sleep(0.2)
        pid = int((tmp_path / "pid").read_text())
        assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if not sys.platform.startswith("linux"):
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_unknown_case(submit):
    with pytest.raises(
        ValueError, match="no case 'dance'; there are: loader; validation episode; random, moving first"
    ):
        check(submit(GOOD), only="dance")


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        check(tmp_path / "nothing.py")


def test_missing_environment(submit, monkeypatch):
    monkeypatch.setattr(checker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError) as problem:
        check(submit(GOOD))
    assert problem.value.name == "kaggle_environments"


def test_cases_have_different_names():
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("source", "code"), [(GOOD, 0), (returning("'3'"), 1)], ids=["good", "bad"])
def test_command(submit, source, code):
    result = CliRunner().invoke(c4, ["check", str(submit(source)), "--only", "board 1x1x1", "--episodes", "2"])
    assert result.exit_code == code
    assert "board 1x1x1" in result.output


@pytest.fixture(scope="module")
def exported(agent, tmp_path_factory):
    return export(agent, tmp_path_factory.mktemp("check") / "submission.py")


@pytest.mark.parametrize("case", ["loader", "low time bank"])
def test_our_own_submission(exported, case):
    assert check(exported, only=case)


@pytest.mark.slow
def test_our_own_submission_in_every_case(exported):
    assert check(exported)
