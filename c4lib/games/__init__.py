"""The games of the lab by name."""

from .base import Game


def _connect4() -> Game:
    from .connect4 import Connect4

    return Connect4()


def _tictactoe() -> Game:
    from .tictactoe import TicTacToe

    return TicTacToe()


def _othello(size: int = 8) -> Game:
    from .othello import Othello

    return Othello(size)


GAMES = {
    "connect4": _connect4,
    "tictactoe": _tictactoe,
    "othello": _othello,
    "othello6": lambda: _othello(6),
}  # name -> maker


def make_game(name: str) -> Game:
    """The game of that name. Raises ValueError for a name that is not in `GAMES`."""
    if name not in GAMES:
        raise ValueError(f"there is no game named {name!r}: choose from {', '.join(GAMES)}")
    return GAMES[name]()
