"""Games of two players side by side, so that a search asks its network about all of them in one batch."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..games.base import Game
from ..progress import bar

Player = Callable[[Game, np.ndarray], int]


class Tally(NamedTuple):
    """Games of one side against another."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return sum(self)

    @property
    def points(self) -> float:
        """A win counts one, a draw a half."""
        return self.wins + self.draws / 2

    @property
    def share(self) -> float:
        """Points per game."""
        return self.points / self.games


class Match(NamedTuple):
    """Finished games of a player against an opponent, two for each opening: the player moves first, then second."""

    moves: list[list[int]]  # of each game, from its opening on
    results: np.ndarray  # (games,) int: for the player, 1 won, 0 drawn, -1 lost

    @property
    def tally(self) -> Tally:
        """The results, counted."""
        return Tally(*(int(np.sum(self.results == wanted)) for wanted in (1, 0, -1)))


def play_match(game: Game, player: Player, opponent: Player, openings: Sequence[np.ndarray]) -> Match:
    """Play two games from each opening, a state that is not finished, all of them side by side.

    A player that has `choose`, as `AlphaZeroAgent` has, is asked for all its moves at once.
    """
    states = [state for state in openings for _ in range(2)]
    seats = [1, -1] * len(openings)  # of the player: +1 is the side that moves first in the game
    moves: list[list[int]] = [[] for _ in states]
    with bar(total=len(states), desc="match", unit="game", leave=False) as shown:
        while going := [i for i, state in enumerate(states) if game.terminal_value(state) is None]:
            shown.update(len(states) - len(going) - shown.n)
            ours = [game.current_player(states[i]) == seats[i] for i in going]
            for side, own in ((player, True), (opponent, False)):
                turns = [i for i, our in zip(going, ours, strict=True) if our == own]
                for i, action in zip(turns, _moves(side, game, [states[i] for i in turns]), strict=True):
                    moves[i].append(action)
                    states[i] = game.apply(states[i], action)
    results = [
        int(game.terminal_value(state) * game.current_player(state) * seat)
        for state, seat in zip(states, seats, strict=True)
    ]
    return Match(moves, np.array(results))


def _moves(player, game, states):
    if hasattr(player, "choose"):
        return player.choose(game, states) if states else []
    return [player(game, state) for state in states]
