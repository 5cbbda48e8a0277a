"""Two agents, many games: each opening is played twice, once from either seat."""

from collections.abc import Iterable

import numpy as np

from ..agents import Agent
from ..alphazero.match import Tally
from ..alphazero.match import play_match as play_side_by_side
from ..games.base import Game
from .rating import wilson_interval


class Score(Tally):
    """Games of one agent against another."""

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies, with 95 % confidence."""
        return wilson_interval(self.points, self.games)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.wins} won, {self.draws} drawn, {self.losses} lost: {self.share:.3f} ({low:.3f} to {high:.3f})"


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
