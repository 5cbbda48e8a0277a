"""Games of an agent, each of its moves graded by the exact solver.

A move's loss is the exact score of the position less that of the position it leads to, both for the mover: 0 for a
best move, never negative.
"""

import csv
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import as_completed
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

from ..agents import make_agent
from ..games.base import digits
from ..games.connect4 import Connect4
from ..progress import bar
from ..resume import drop_unfinished_line, worker_pool, write_text
from ..search.solver import shared_solver

OPPONENTS = ("random", "minimax:2", "minimax:4", "minimax:6", "minimax:8", "engine:0.02", "perfect")
RANDOM_SHARE = 0.25  # of the opponents' moves


@dataclass(frozen=True)
class GradedGame:
    """A game of an agent, its moves graded."""

    number: int
    agent: str
    seed: int
    opponent: str
    seat: int  # of the agent: +1 it moves first, -1 second
    moves: str  # 1-based digits
    result: float  # for the agent: 1.0 won, 0.0 drawn, -1.0 lost
    losses: str  # of each of the agent's moves, separated by spaces
    sources: (
        str  # where each of them came from, one letter each: b(ook), s(olver), ...; empty where the agent is silent
    )
    slowest: float  # seconds of its slowest move
    slowest_later: float  # but for its first


def move_losses(columns: Iterable[int], seat: int | None = None) -> list[int]:
    """What each move of a game from the empty board gave away; with a seat (+1, -1), of that player's moves only."""
    game = Connect4()
    state = game.initial_state()
    losses = []
    for column in columns:
        before, mover = state, game.current_player(state)
        state = game.apply(state, column)
        if seat in (None, mover):
            losses.append(_score(game, before) + _score(game, state))
    return losses


def _score(game, state):
    """The exact score of a state: one move later, where the book knows such a position; else by the solver."""
    solver = shared_solver()
    if game.terminal_value(state) is None and solver.book and not solver.book.probe(*game.boards(state)):
        replies = [game.apply(state, int(column)) for column in np.flatnonzero(game.legal_actions_mask(state))]
        if any(solver.book.probe(*game.boards(reply)) for reply in replies):
            return max(-solver.solve(game.boards(reply)).score for reply in replies)
    return solver.solve(game.boards(state)).score


def play_graded(agent_name: str, number: int, opponents: tuple[str, ...], seed: int) -> GradedGame:
    """Game `number` of a series: opponents take turns, and each meets the agent from either seat.

    A part of the opponent's moves are random, so that games differ and leave the beaten track; the same number and
    seed give the same random choices.
    """
    game = Connect4()
    opponent_name = opponents[number // 2 % len(opponents)]
    seat = 1 - number % 2 * 2
    rng = np.random.default_rng([seed, number])
    agent, opponent = (make_agent(name, seed=number) for name in (agent_name, opponent_name))  # with cold tables
    state = game.initial_state()
    moves, times, sources = [], [], ""
    while (value := game.terminal_value(state)) is None:
        player = game.current_player(state)
        if player == seat:
            start = time.perf_counter()
            column = agent(game, state)
            times.append(time.perf_counter() - start)
            sources += getattr(getattr(agent, "result", None), "source", "")[:1]
        elif rng.random() < RANDOM_SHARE:
            column = int(rng.choice(np.flatnonzero(game.legal_actions_mask(state))))
        else:
            column = opponent(game, state)
        moves.append(column)
        state = game.apply(state, column)
    losses = move_losses(moves, seat)
    return GradedGame(
        number=number,
        agent=agent_name,
        seed=seed,
        opponent=opponent_name,
        seat=seat,
        moves=digits(moves),
        result=value * game.current_player(state) * seat + 0.0,  # not -0.0
        losses=" ".join(map(str, losses)),
        sources=sources,
        slowest=round(max(times), 3),
        slowest_later=round(max(times[1:], default=0.0), 3),
    )


def grade(
    agent: str,
    output: Path,
    *,
    games: int,
    seed: int = 0,
    opponents: tuple[str, ...] = OPPONENTS,
    processes: int | None = None,
) -> pd.DataFrame:
    """Play and grade games of an agent; one row a game, as in `GradedGame`, in the order of their numbers.

    Rows are added to the file `output` as games end, so a killed run resumes where it was. Raises ValueError where the
    file holds something else.
    """
    names = [field.name for field in fields(GradedGame)]
    drop_unfinished_line(output)
    done = set()
    if output.exists() and output.stat().st_size:
        before = _read(output)
        if list(before.columns) != names or not ((before["agent"] == agent) & (before["seed"] == seed)).all():
            raise ValueError(f"{output} does not hold games of {agent} with seed {seed}")
        done = set(before["number"])
    with output.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not file.tell():
            writer.writerow(names)
        missing = [number for number in range(games) if number not in done]
        for row in bar(_play_all(agent, missing, opponents, seed, processes), total=len(missing), unit="game"):
            writer.writerow(astuple(row))
            file.flush()
    table = _read(output).sort_values("number", ignore_index=True)
    write_text(output, table.to_csv(index=False, lineterminator="\n"))
    return table[table["number"] < games]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Graded games by opponent and seat: results, moves, how many of them gave something away, slowest move."""
    moves = table["losses"].str.split()
    table = table.assign(
        won=table["result"] == 1,
        drawn=table["result"] == 0,
        lost=table["result"] == -1,
        moves=moves.str.len(),
        mistakes=moves.map(lambda losses: sum(loss != "0" for loss in losses)),
        seat=table["seat"].map({1: "first", -1: "second"}),
    )
    counted = ["won", "drawn", "lost", "moves", "mistakes"]
    grouped = table.groupby(["opponent", "seat"], sort=True)
    return grouped[counted].sum().join(grouped["slowest_later"].max())


def _play_all(agent, numbers, opponents, seed, processes) -> Iterator[GradedGame]:
    with worker_pool(processes) as pool:
        for future in as_completed([pool.submit(play_graded, agent, number, opponents, seed) for number in numbers]):
            yield future.result()


def _read(file):
    return pd.read_csv(file, dtype={"moves": str, "losses": str, "sources": str}, keep_default_na=False)
