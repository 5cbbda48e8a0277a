"""Many games between agents: each opening is played twice, once from either seat, and a referee watches.

A tournament is a table of games (see `table`), kept in a parquet file to which further ones are added.
"""

import itertools
import os
import time
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..agents import Agent, make_agent
from ..alphazero.match import Match, Tally, ask
from ..alphazero.match import play_match as play_side_by_side
from ..games import make_game
from ..games.base import Game, digits
from ..progress import bar
from ..resume import worker_pool
from .interval import wilson_interval
from .openings import after
from .table import COLUMNS, load, save

BLOCK = 25  # openings that one process plays side by side


class Score(Tally):
    """Games of one agent against another."""

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies, with 95 % confidence."""
        return wilson_interval(self.points, self.games)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.wins} won, {self.draws} drawn, {self.losses} lost: {self.share:.3f} ({low:.3f} to {high:.3f})"


class Clock(NamedTuple):
    """Time for an agent's moves in a game, in seconds."""

    move: float  # for each move
    bank: float = 0.0  # for what exceeds it, in the whole game


class Referee:
    """Asks for moves (see `alphazero.match.ask`), and notes what they cost and which agent failed.

    An agent that raises, plays against the rules or overruns its clock has lost that game. Of agents that are asked
    for many moves at once each move takes an equal share of the time.

    Args:
        players: the two of the match.
        games: how many there are.
        clock: for each of them; None for as long as they like.

    Attributes:
        seconds, nodes: `(games, 2)` float64, what the players used; nodes are NaN where an agent does not count.
        reasons: by number of a game, why it was lost, where it was not played out.
    """

    def __init__(self, players: tuple[Agent, Agent], games: int, clock: Clock | None = None):
        self.players, self.clock = players, clock
        self.seconds = np.zeros((games, 2))
        self.nodes = np.zeros((games, 2))
        self.reasons: dict[int, str] = {}
        self._bank = np.full((games, 2), clock.bank if clock else np.inf)

    def __call__(self, player, game, states, numbers):
        calls = [(states, numbers)]
        if not hasattr(player, "choose"):
            calls = [([state], [number]) for state, number in zip(states, numbers, strict=True)]
        return [move for call in calls for move in self._moves(player, game, *call)]

    def _moves(self, player, game, states, numbers):
        """The moves of one call, None for those that lose."""
        side = 0 if player is self.players[0] else 1
        started = time.perf_counter()
        try:
            answers, fault = ask(player, game, states, numbers), ""
            if len(answers) != len(states):
                raise ValueError(f"{len(answers)} moves for {len(states)} positions")
        except Exception as error:  # whatever it is, the agent has lost
            answers, fault = [None] * len(states), f"raised {type(error).__name__}: {error}"
        seconds = (time.perf_counter() - started) / len(states)
        self.seconds[numbers, side] += seconds
        self.nodes[numbers, side] += _nodes(player)
        if self.clock is not None:
            self._bank[numbers, side] -= max(0.0, seconds - self.clock.move)
        moves = []
        for state, number, answer in zip(states, numbers, answers, strict=True):
            legal = np.flatnonzero(game.legal_actions_mask(state)).tolist()
            if not fault and self._bank[number, side] < 0:
                self.reasons[number] = f"{seconds:.1f} seconds for a move"
            elif fault or answer not in legal:
                self.reasons[number] = fault or f"illegal move {answer!r}"
            moves.append(None if number in self.reasons else int(answer))
        return moves


def _nodes(agent):
    """What the agent searched for its last move, NaN where it does not tell."""
    for place in (agent, getattr(agent, "result", None)):
        if (nodes := getattr(place, "nodes", None)) is not None:
            return nodes
    return getattr(agent, "num_simulations", np.nan)


def play_game(game: Game, first: Agent, second: Agent, state: np.ndarray | None = None) -> float:
    """Play from a state, or from the start; the result for the first player: 1.0 won, 0.0 drawn, -1.0 lost."""
    state = game.initial_state() if state is None else state
    while (value := game.terminal_value(state)) is None:
        agent = first if game.current_player(state) == 1 else second
        state = game.apply(state, agent(game, state))
    return value * game.current_player(state)


def play_match(game: Game, agent: Agent, opponent: Agent, openings: Iterable[np.ndarray]) -> Score:
    """The score of `agent` against `opponent` over the openings, each from both seats."""
    return Score(*play_side_by_side(game, agent, opponent, list(openings)).tally)


def play_block(
    game_name: str, agent: str, opponent: str, lines: Sequence[list[int]], clock: Clock | None, seed: int
) -> pd.DataFrame:
    """The games of two agents, by name, from the openings that these lines of moves lead to: a table.

    Agents that draw lots begin each block anew, from a seed made of their names, the first opening, and `seed`.
    """
    game = make_game(game_name)
    key = f"{agent} {opponent} {digits(lines[0])}"
    players = tuple(
        make_agent(name, game=game_name, seed=zlib.crc32(f"{seed} {side} {key}".encode()))
        for side, name in enumerate((agent, opponent))
    )
    referee = Referee(players, 2 * len(lines), clock)
    match: Match = play_side_by_side(game, *players, [after(game, line) for line in lines], ask=referee)
    rows = []
    for number, moves in enumerate(match.moves):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        names = [(agent, opponent)[side] for side in order]
        result = int(match.results[number]) * (1 if number % 2 == 0 else -1)
        seconds, nodes = ([float(used[number, side]) for side in order] for used in (referee.seconds, referee.nodes))
        reason = referee.reasons.get(number, "")
        rows.append((game_name, *names, digits(lines[number // 2]), digits(moves), result, reason, *seconds, *nodes))
    return pd.DataFrame(rows, columns=COLUMNS)


def tournament(
    game: str,
    agents: Sequence[str],
    lines: Sequence[list[int]],
    output: Path | None = None,
    *,
    gauntlet: bool = False,
    clock: Clock | None = None,
    seed: int = 0,
    processes: int | None = None,
) -> pd.DataFrame:
    """Everybody against everybody from the same openings; returns the rows of these games, in a fixed order.

    Args:
        game: name of the game.
        agents: names, see `make_agent`; all of them play this game.
        lines: moves to each opening, see `openings.random_lines`.
        output: parquet file. Games are added to it as they end; those that it has are not played again.
        gauntlet: only the first agent meets all others.
        clock: see `Referee`.
        seed: for the agents that draw lots.
        processes: how many play, by default one a core.

    Raises ValueError for fewer than two agents, one twice, an unknown one, one that plays another game, or a file of
    something else.
    """
    if len(set(agents)) < max(2, len(agents)):
        raise ValueError("a tournament is of two agents or more, all of them different")
    for name in agents:
        make_agent(name, game=game)
    pairs = [pair for pair in itertools.combinations(agents, 2) if not gauntlet or agents[0] in pair]
    wanted = pd.DataFrame(
        [(game, *names, digits(line)) for pair in pairs for line in lines for names in (pair, pair[::-1])],
        columns=COLUMNS[:4],
    )
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
    table = load(output) if output is not None and output.exists() else pd.DataFrame(columns=COLUMNS)
    known = set(table[list(COLUMNS[:4])].itertuples(index=False, name=None))
    blocks = []
    for pair in pairs:
        missing = [line for line in lines if (game, *pair, digits(line)) not in known]
        blocks += [(game, *pair, missing[i : i + BLOCK], clock, seed) for i in range(0, len(missing), BLOCK)]
    with (
        worker_pool(processes, _on_one_thread) as pool,
        bar(total=2 * sum(len(block[3]) for block in blocks), desc="tournament", unit="game") as shown,
    ):
        for future in as_completed([pool.submit(play_block, *block) for block in blocks]):
            games = future.result()
            table = pd.concat([table, games], ignore_index=True) if len(table) else games
            if output is not None:
                save(table, output)
            shown.update(len(games))
    return wanted.merge(table, on=list(COLUMNS[:4]), how="left")


def _on_one_thread():
    """A network, where this process will have one, is computed on one thread: there is a process for each core."""
    os.environ["OMP_NUM_THREADS"] = "1"
