"""Games of two players side by side, so that a search asks its network about all of them in one batch."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from ..games.base import Game
from ..progress import bar

Player = Callable[[Game, np.ndarray], int]
Ask = Callable[[Player, Game, list[np.ndarray], list[int]], list[int | None]]  # see `ask`


class Tally(NamedTuple):
    """Games of one side against another."""

    wins: int
    draws: int
    losses: int

    @classmethod
    def of(cls, results: np.ndarray) -> Self:
        """Results counted: 1 won, 0 drawn, -1 lost."""
        return cls(*(int(np.sum(results == wanted)) for wanted in (1, 0, -1)))

    @property
    def games(self) -> int:
        """How many."""
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
        return Tally.of(self.results)


def ask(player: Player, game: Game, states: list[np.ndarray], numbers: list[int]) -> list[int | None]:
    """What a player plays in each of these states, which are of the games with these numbers; None gives a game up.

    A player that has `choose`, as `AlphaZeroAgent` has, is asked for all its moves at once.
    """
    if hasattr(player, "choose"):
        return player.choose(game, states)
    return [player(game, state) for state in states]


def play_match(
    game: Game, player: Player, opponent: Player, openings: Sequence[np.ndarray], *, ask: Ask = ask
) -> Match:
    """Play two games from each opening, a state that is not finished, all of them side by side.

    Another `ask` may look at the moves on their way, and give a game up for its player.
    """
    states = [state for state in openings for _ in range(2)]
    seats = [1, -1] * len(openings)  # of the player: +1 is the side that moves first in the game
    moves: list[list[int]] = [[] for _ in states]
    results: dict[int, int] = {}
    with bar(total=len(states), desc="match", unit="game", leave=False) as shown:
        while True:
            for i, state in enumerate(states):
                if i not in results and (value := game.terminal_value(state)) is not None:
                    results[i] = int(value * game.current_player(state) * seats[i])
            shown.update(len(results) - shown.n)
            if len(results) == len(states):
                return Match(moves, np.array([results[i] for i in range(len(states))]))
            ours = {i: game.current_player(states[i]) == seats[i] for i in range(len(states)) if i not in results}
            for side, own, loss in ((player, True, -1), (opponent, False, 1)):
                turns = [i for i, our in ours.items() if our == own]
                actions = ask(side, game, [states[i] for i in turns], turns) if turns else []
                for i, action in zip(turns, actions, strict=True):
                    if action is None:
                        results[i] = loss
                        continue
                    moves[i].append(action)
                    states[i] = game.apply(states[i], action)
