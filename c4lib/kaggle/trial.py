"""One trial of a submission in Kaggle's environment: a program of its own, which `check` starts for every case.

It imports nothing of the lab, and hides the lab from the submission: on Kaggle there is none.
"""

import errno
import json
import os
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

SUBMISSION = "submission"  # stands for the file among the players of an episode
WRITES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}


@dataclass
class Report:
    """What a trial saw."""

    complaints: list[str] = field(default_factory=list)  # none: passed
    first: list[float] = field(default_factory=list)  # seconds of first turns, which load the file
    later: list[float] = field(default_factory=list)  # seconds of all other moves
    notes: list[str] = field(default_factory=list)
    games: list[tuple[str, str]] = field(default_factory=list)  # won, drew, lost or failed; and the moves from 1


def main() -> None:
    """Run the trial that the first argument describes; write the report to the file that the second one names."""
    trial = json.loads(sys.argv[1])
    report = Report()
    with Path(sys.argv[2]).open("w", encoding="utf-8") as file:  # opened now: a trial may forbid writing
        # an import of these fails; the second one jsonschema can do without, and takes a second to load
        for module in ("c4lib", "rfc3987_syntax", *trial.pop("hidden", ())):
            sys.modules[module] = None
        import kaggle_environments  # noqa: F401  (before anything is forbidden)

        random.seed(0)  # for Kaggle's own agents
        if trial.pop("read_only", False):
            forbid_writing()
        try:
            globals()[trial.pop("kind")](report, **trial)
        except Exception as failure:  # also of the environment, which some results of an agent break
            report.complaints.append(f"{type(failure).__name__}: {failure}")
        json.dump(vars(report), file)


def forbid_writing() -> None:
    """From now on, fail whatever Python code does to write to disk, as on a read-only file system.

    Permissions of folders would not do: they do not bind root, as whom containers like to run.
    """
    sys.dont_write_bytecode = True

    def refuse(event, arguments):
        if event == "open":
            path, _, flags = arguments
            writing = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not isinstance(path, int)
            if writing and os.fspath(path) != os.devnull:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        elif event in WRITES:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), arguments[0])

    sys.addaudithook(refuse)


# --- the kinds of trial ---------------------------------------------------------------------------------------------


def loader(report: Report, path: str) -> None:
    """Kaggle's loader finds `agent`, and gives it two arguments."""
    from kaggle_environments.agent import get_last_callable

    found = get_last_callable(Path(path).read_text(encoding="utf-8"), path=path)
    name = getattr(found, "__name__", repr(found))
    if name != "agent":
        report.complaints.append(f"the last callable in the file is {name}, not agent: Kaggle would call it instead")
    if (arguments := getattr(getattr(found, "__code__", None), "co_argcount", None)) != 2:
        report.complaints.append(f"{name} would be called with {arguments or 'no'} of its two arguments")


def episodes(
    report: Report,
    path: str,
    players: list[str],
    configuration: dict,
    bank: float | None = None,
    count: int = 1,
) -> None:
    """Play episodes; the players are SUBMISSION, Kaggle's own agents and files of other submissions.

    Nothing but a loss is forgiven the submission.
    """
    from kaggle_environments import make
    from kaggle_environments.envs.connectx import connectx

    if bank is not None:
        connectx.specification["observation"]["remainingOverageTime"] = bank
    for _ in range(count):
        env = make("connectx", configuration)
        env.run([_watched(path, report) if player == SUBMISSION else player for player in players])
        last = env.steps[-1]
        moves = [step[ply % 2].action for ply, step in enumerate(env.steps[1:])]
        for seat, player in enumerate(players):
            if player != SUBMISSION:
                if last[seat].status != "DONE":
                    report.notes.append(f"the opponent: {last[seat].status}")
                continue
            turns = [turn[seat] for turn in env.logs if len(turn) > seat and "duration" in turn[seat]]
            seconds = [turn["duration"] for turn in turns]
            report.first += seconds[:1]
            report.later += seconds[1:]
            said = [line for turn in turns for line in turn["stderr"].splitlines()]
            if last[seat].status != "DONE":  # its reward does not tell: the other side gets 0, not 1
                reason = f": {said[-1]}" if said and last[seat].status == "ERROR" else ""
                report.complaints.append(f"{last[seat].status} as player {seat + 1}, move {len(turns)}{reason}")
            elif last[seat].observation.remainingOverageTime < 0:
                report.complaints.append("the time bank is overdrawn")
            elif said:
                report.notes.append(f"survived {said[-1]}")
            outcome = {1: "won", 0: "drew", -1: "lost", None: "failed"}[last[seat].reward]
            report.games.append((outcome, "".join("?" if move is None else str(move + 1) for move in moves)))


def full_columns(report: Report, path: str, configuration: dict) -> None:
    """Ask for moves on boards with full columns: for every column one where only that is open, and one before."""
    from kaggle_environments import make
    from kaggle_environments.utils import structify

    env = make("connectx", configuration)
    columns = env.configuration.columns
    agent = _watched(path, report)
    for target in range(columns):
        for board in _filled(env.configuration, target):
            stones = columns * env.configuration.rows - board.count(0)
            observation = {"board": board, "mark": stones % 2 + 1, "step": stones, "remainingOverageTime": 60}
            start = time.perf_counter()
            move = agent(structify(observation), structify(env.configuration))
            (report.later if report.first else report.first).append(time.perf_counter() - start)
            if type(move) is int and not (0 <= move < columns and board[move] == 0):
                report.complaints.append(f"played {move} where only {_open(board, columns)} is open")


def _filled(configuration, target):
    """Two boards without a line, from a game by chance: about half of the columns full, then all but `target`."""
    from kaggle_environments.envs.connectx.connectx import is_win, play

    columns = configuration.columns
    while True:
        board, half = [0] * (columns * configuration.rows), None
        while others := [column for column in _open(board, columns) if column != target]:
            mark = 1 if board.count(1) == board.count(2) else 2
            quiet = [column for column in others if not is_win(board, column, mark, configuration, False)]
            if not quiet:
                break
            play(board, random.choice(quiet), mark, configuration)
            if half is None and len(_open(board, columns)) <= (columns + 1) // 2:
                half = board[:]
        else:
            return half, board


def _open(board, columns):
    return [column for column in range(columns) if board[column] == 0]


def _watched(path, report):
    """The submission as Kaggle loads it; answers that are not plain integers are complained about."""
    from kaggle_environments.agent import build_agent

    agent, _ = build_agent(path, {}, "connectx")

    def watched(observation, configuration):
        move = agent(observation, configuration)
        if type(move) is not int:
            report.complaints.append(f"returned {move!r} of type {type(move).__name__}, not a plain int")
        return move

    return watched


if __name__ == "__main__":
    main()
