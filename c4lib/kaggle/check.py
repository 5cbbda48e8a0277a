"""Plays a submission through everything that kills submissions, in Kaggle's own environment.

Each case of the table below runs in a process of its own with a hard time limit, for an agent that does not answer
hangs the environment. The file is copied first, so that it stands alone.
"""

import contextlib
import csv
import importlib.util
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..progress import bar
from ..resume import write_text
from .trial import SUBMISSION, Report

TRIAL = Path(__file__).with_name("trial.py")
FIRST_TURN = 15.0  # seconds for a first turn that is timed: it loads and compiles, and a minute is in the bank
MARGIN = 0.1  # seconds that a later move must leave of `actTimeout`
OWN = "random", "negamax"  # agents that come with Kaggle's environment
EPISODE = 150  # seconds of wall-clock time for one episode at most: every move of both sides at the full time
QUICK = 0.3  # seconds a move in the cases that are not about time


@dataclass(frozen=True)
class Case:
    """A way in which submissions die."""

    name: str
    trial: dict  # what `trial.py` is asked: its kind and arguments
    limit: float  # seconds of wall-clock time, after which the trial is killed
    timed: bool = False  # hold its moves to FIRST_TURN and MARGIN
    graded: bool = False  # tell how many episodes were won, and how the others went
    rounds: tuple[int, ...] = (1,)  # processes at the same time in the same folder, one round after the other
    elsewhere: bool = False  # run in another folder than that of the file
    homeless: bool = False  # with HOME and the folders for caches and temporary files pointing nowhere


def cases(episodes: int = 1, others: Sequence[Path] = ()) -> list[Case]:
    """The table of cases; so many `episodes` against each of Kaggle's own agents, and `others`, in each seat."""

    def play(*players, count=1, bank=None, **configuration):
        return {"kind": "episodes", "players": players, "configuration": configuration, "count": count, "bank": bank}

    own, quick = (SUBMISSION, SUBMISSION), {"actTimeout": QUICK}
    short = play(SUBMISSION, "random", **quick, episodeSteps=8)
    opponents = {name: name for name in OWN} | {str(other): str(other.resolve()) for other in others}
    matches = {
        f"{name}, moving {turn}": players
        for name, opponent in opponents.items()
        for turn, players in (("first", (SUBMISSION, opponent)), ("second", (opponent, SUBMISSION)))
    }
    return [
        Case("loader", {"kind": "loader"}, 30),
        Case("validation episode", play(*own), 240, timed=True),
        *(
            Case(name, play(*players, count=episodes), EPISODE * episodes, timed=True, graded=True)
            for name, players in matches.items()
        ),
        Case("low time bank", play(SUBMISSION, "random", bank=1.0, episodeSteps=12), 60),
        Case("no numba", play(SUBMISSION, "random", episodeSteps=10) | {"hidden": ["numba"]}, 90, timed=True),
        Case("read-only, no home", short | {"read_only": True}, 90, homeless=True),
        Case("another folder", short, 90, elsewhere=True),
        Case("several processes", short, 90, rounds=(2, 1)),
        Case("full columns", {"kind": "full_columns", "configuration": quick}, 90),
        *(
            Case(
                f"board {columns}x{rows}x{inarow}",
                play(*own, **quick, columns=columns, rows=rows, inarow=inarow, episodeSteps=30),
                120,
            )
            for columns, rows, inarow in ((1, 1, 1), (4, 5, 3), (8, 7, 4), (10, 10, 5), (20, 20, 4))
        ),
    ]


@dataclass
class Result:
    """What became of a case."""

    case: Case
    complaints: list[str] = field(default_factory=list)  # none: passed
    first: float | None = None  # seconds of the slowest first turn
    later: float | None = None  # seconds of the slowest other move
    notes: list[str] = field(default_factory=list)
    games: list[tuple[str, str]] = field(default_factory=list)  # of a graded case: the outcome, and the moves from 1
    killed: bool = False  # the hard limit was reached

    def add(self, report: Report) -> None:
        """Add what one process saw, and judge its times."""
        self.complaints += report.complaints
        self.notes += report.notes
        self.first = max((seconds for seconds in (self.first, *report.first) if seconds is not None), default=None)
        self.later = max((seconds for seconds in (self.later, *report.later) if seconds is not None), default=None)
        if self.case.graded:
            self.games += report.games
            others = [f"{outcome} {moves}" for outcome, moves in report.games if outcome in ("drew", "lost")]
            self.notes = [f"won {self.count('won')} of {len(self.games)}", *others, *self.notes]
        if self.case.timed:
            later_limit = self.case.trial["configuration"].get("actTimeout", 2.0) - MARGIN
            for turn, seconds, limit in (("first turn", self.first, FIRST_TURN), ("move", self.later, later_limit)):
                if seconds is not None and seconds > limit:
                    self.complaints.append(f"a {turn} took {seconds:.2f} s, more than {limit:g} s")

    def count(self, outcome: str) -> int:
        """How many games went so: won, drew or lost."""
        return sum(found == outcome for found, _ in self.games)

    @property
    def detail(self) -> str:
        """The first complaint, else the notes, in one line."""
        first, *others = self.complaints or [", ".join(dict.fromkeys(self.notes))]
        return f"{first} (and {len(others)} more)" if others else first


def check(
    path: Path,
    only: str | None = None,
    episodes: int = 1,
    others: Sequence[Path] = (),
    output: Path | None = None,
) -> bool:
    """Try a submission, print a table of what happened, and return whether all went well.

    A lost game is no failure; an error, an illegal move or time overdrawn is.

    Args:
        path: the file to be uploaded.
        only: name of the one case to run.
        episodes: to play against each opponent in each seat.
        others: files of submissions that are opponents too, beside Kaggle's own agents.
        output: CSV file for the table.

    Raises ValueError for a case that does not exist; FileNotFoundError and ModuleNotFoundError where the file or
    Kaggle's environment is missing.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if importlib.util.find_spec("kaggle_environments") is None:
        raise ModuleNotFoundError("No module named 'kaggle_environments'", name="kaggle_environments")
    table = cases(episodes, others)
    chosen = [case for case in table if only in (None, case.name)]
    if not chosen:
        raise ValueError(f"no case {only!r}; there are: {'; '.join(case.name for case in table)}")
    results = []
    with bar(total=len(chosen), unit="case", leave=False) as progress:
        for case in chosen:
            progress.set_description(case.name)
            results.append(run(case, path))
            progress.update()
            if results[-1].killed:  # it would sit out the limit of every case
                break
    _print(results, len(chosen))
    if output is not None:
        write_text(output, _csv(results))
    return len(results) == len(chosen) and not any(result.complaints for result in results)


def run(case: Case, path: Path) -> Result:
    """Run one case."""
    result = Result(case)
    with tempfile.TemporaryDirectory(prefix="c4-check-", ignore_cleanup_errors=True) as scratch:
        home, other = Path(scratch, "agent"), Path(scratch, "other")
        home.mkdir()
        other.mkdir()
        submission = shutil.copy(path, home / "main.py")
        for processes in case.rounds:
            trials = []
            try:
                for _ in range(processes):
                    trials.append(_Trial(case, str(submission), other if case.elsewhere else home, scratch))
                for trial in trials:
                    trial.collect(result)
            finally:
                for trial in trials:
                    trial.kill()
    result.complaints = list(dict.fromkeys(result.complaints))
    return result


class _Trial:
    """A running process of a case; its report and what it prints go to files in a folder made in `scratch`."""

    def __init__(self, case: Case, submission: str, folder: Path, scratch: str):
        place = Path(tempfile.mkdtemp(dir=scratch))
        self._report, self._output = place / "report.json", place / "output.txt"
        self._end = time.monotonic() + case.limit
        environment = dict(os.environ)
        if case.homeless:
            environment.pop("NUMBA_CACHE_DIR", None)
            for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME", "TMPDIR", "TEMP", "TMP"):
                environment[name] = str(place / "nowhere")
        # -P keeps the folder of trial.py, whose files have names like agent.py, out of the submission's sight
        command = [sys.executable, "-P", str(TRIAL), json.dumps(case.trial | {"path": submission}), str(self._report)]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=output, stderr=output, start_new_session=True
            )

    def collect(self, result: Result) -> None:
        """Wait for the end, and add to `result` what the process saw."""
        try:
            self._process.wait(max(self._end - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            result.killed = True
            result.complaints.append(f"killed: no end after {result.case.limit:.0f} s")
            return
        try:
            report = Report(**json.loads(self._report.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            said = self._output.read_text(encoding="utf-8", errors="replace").splitlines() or ["it said nothing"]
            result.complaints.append(f"the process died with exit code {self._process.returncode}: {said[-1]}")
            return
        result.add(report)

    def kill(self) -> None:
        """End the process, and on POSIX those that the submission may have started."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()


def _csv(results: list[Result]) -> str:
    """The results as CSV: a row a case; games where it is graded, seconds where it has timed moves."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", "passed", "episodes", "won", "drawn", "lost", "first_turn", "slowest_later", "complaint"))
    for result in results:
        games = [len(result.games), *map(result.count, ("won", "drew", "lost"))] if result.case.graded else [""] * 4
        seconds = ["" if value is None else f"{value:.3f}" for value in (result.first, result.later)]
        complaint = result.detail if result.complaints else ""
        writer.writerow((result.case.name, int(not result.complaints), *games, *seconds, complaint))
    return text.getvalue()


def _print(results: list[Result], chosen: int) -> None:
    """The results as a table, and a last line."""
    table = Table("case", "", "first turn", "slowest later", "detail")
    for column in table.columns[2:4]:
        column.justify = "right"
    table.columns[4].overflow = "fold"  # moves and errors may be longer than a line
    for result in results:
        first, later = ("" if seconds is None else f"{seconds:.2f} s" for seconds in (result.first, result.later))
        verdict = "[red]FAIL[/]" if result.complaints else "[green]pass[/]"
        table.add_row(result.case.name, verdict, first, later, escape(result.detail))
    console = Console()
    console.print(table)
    failed = sum(bool(result.complaints) for result in results)
    console.print(f"{len(results) - failed} of {chosen} cases passed" + (f", {failed} failed" if failed else ""))
    if len(results) < chosen:
        console.print(f"{chosen - len(results)} not tried: an agent that hangs would sit out the limit of each")
