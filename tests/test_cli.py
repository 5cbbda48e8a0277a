"""The `c4` command: quick to answer, and one clear line where something is wrong."""

import subprocess
import sys

import pytest

from c4lib import cli


def call(monkeypatch, capsys, *words: str) -> tuple[int, str]:
    """Exit status of `c4 WORDS...`, and what it says on standard error."""
    monkeypatch.setattr(sys, "argv", ["c4", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code or 0, capsys.readouterr().err


def failing(problem: Exception):
    def command():
        raise problem

    return command


def test_help_imports_nothing_heavy():
    code = "import sys, c4lib.cli; print(*sorted(name for name in sys.modules if '.' not in name))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "matplotlib", "pandas", "papermill", "torch"} & set(loaded)


@pytest.mark.parametrize("words", [(), ("--help",), ("--version",), ("reproduce", "--help")])
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
