"""Playing and analysing in a notebook: a board to click on, with exact scores and AlphaZero's opinion below it.

`Session` is the game and all that can be done to it, in plain Python, and `Analyst` what is found out about its
position. The widget, with `widgets.js` and `widgets.css` beside this file, shows what the session says and tells it
what was clicked or typed. People count columns from 1 here, in messages and lines; Python counts them from 0.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from . import paths
from .agents import Agent, make_agent, opening_book
from .bits import bit_indices
from .games.base import digits
from .games.connect4 import STANDARD, Connect4
from .games.position import LETTERS, Position
from .report import OUTCOMES
from .search.solver import Solver

HUMAN = "human"
GAME = Connect4()
COMMANDS = ("play", "take_back", "new_game", "paste", "hint", "toggle_analysis")  # what a front end may ask for
FIRST_STEP, LONGEST_STEP = 0.1, 1.0  # seconds that the solver works before it looks whether it is still wanted
BETWEEN_AGENTS = 0.4  # seconds: two agents would be through before anybody has seen a move
UNKNOWN = (None,) * STANDARD.columns

_analysing = threading.Lock()  # one analysis at a time: all boards share a solver


@dataclass(frozen=True)
class Findings:
    """What is known of a position so far, for its side to move. Tuples by column hold None for unknown and for full.

    Attributes:
        scores: exact score of each column.
        best: the columns proven to be best.
        complete: whether all columns are scored.
        policy, visits, values: AlphaZero's prior, share of visits and mean value of each column.
        value: of the whole position, by AlphaZero's search.
    """

    scores: tuple[int | None, ...] = UNKNOWN
    best: tuple[int, ...] = ()
    complete: bool = False
    policy: tuple[float | None, ...] = UNKNOWN
    visits: tuple[float | None, ...] = UNKNOWN
    values: tuple[float | None, ...] = UNKNOWN
    value: float | None = None

    @property
    def score(self) -> int | None:
        """The exact score of the position, where a best column is known."""
        return self.scores[self.best[0]] if self.best else None


class Analyst:
    """Finds out what a position is worth: by opening book and solver, and by the search of a network.

    Args:
        model: name of a network in data/models, or what else `make_agent` takes for one; None for exact scores alone.
        simulations: of the network's search.

    Raises ValueError for a model that is not there.
    """

    def __init__(self, model: str | None = "connect4", simulations: int = 100):
        if simulations < 1:
            raise ValueError(f"simulations must be at least 1, not {simulations}")
        self.model = model
        self._agent = None if model is None else make_agent(f"alphazero:{model}@{simulations}")

    def look(self, position: Position) -> Iterator[Findings]:
        """What is known of a position that is not over, more each time; who has had enough stops asking.

        The book's move comes at once. Where there are few stones the other columns can take a minute in all.
        """
        found = Findings()
        book = _book()
        if known := book and book.probe(*position.boards):
            best, score = known
            found = Findings(tuple(score if column == best else None for column in range(STANDARD.columns)), (best,))
            yield found
        if self._agent is not None:
            with _analysing:
                found = self._with_opinion(found, position)
            yield found
        seconds = FIRST_STEP
        while not found.complete:
            with _analysing:  # what a step has found out stays in the solver's table
                analysis = _solver().analyse(position, seconds=seconds)
            solved = [move and move.score for move in analysis.columns]
            scores = tuple(b if a is None else a for a, b in zip(solved, found.scores, strict=True))
            best = tuple(sorted({*found.best, *analysis.best_moves}))
            complete = all(scores[column] is not None for column in position.legal_moves)
            found = replace(found, scores=scores, best=best, complete=complete)
            yield found
            seconds = min(2 * seconds, LONGEST_STEP)

    def analyse(self, position: Position) -> Findings:
        """All there is to find out, however long it takes."""
        *_, found = self.look(position)
        return found

    def _with_opinion(self, found, position):
        """The findings, with those of a search by the network."""
        self._agent(GAME, position.state)
        search = self._agent.search
        tree = search.tree
        return replace(
            found,
            policy=_known(np.where(tree.legal, tree.priors, np.nan)),
            visits=_known(np.where(tree.legal, search.visits / search.visits.sum(), np.nan)),
            values=_known(tree.q),
            value=search.value,
        )


class Session:
    """A game on the usual board: people and agents in the two seats, and the analysis of where it stands.

    Every method may be called from any thread. What cannot be done is refused in `message`, and changes nothing.

    Args:
        analyst: looks at positions, for `hint` and `toggle_analysis`.
        first, second: who plays: "human", the name of an agent, or an agent.
        moves: to begin after these, as `Position.from_moves` takes them.
        analysis: show it from the start.
        seed: for agents that draw lots.
        start: runs a job in the background.

    Attributes:
        position: where the game stands.
        message: one line for the players.
        findings: what the analysis has found out about the position, None before it has.

    Raises ValueError for moves that cannot be made, or an agent that there is not.
    """

    def __init__(
        self,
        analyst: Analyst,
        first: str | Agent = HUMAN,
        second: str | Agent = HUMAN,
        *,
        moves: str | Iterable[int] = "",
        analysis: bool = False,
        seed: int | None = None,
        start: Callable[[Callable[[], None]], None] | None = None,
    ):
        seats = {1: first, -1: second}
        self.seats = {player: seat if isinstance(seat, str) else type(seat).__name__ for player, seat in seats.items()}
        self._agents = {player: _agent(seat, seed) for player, seat in seats.items()}
        self._analyst = analyst
        self._start = start or _in_background
        self._publish: Callable[[dict], None] = lambda view: None
        self._lock = threading.RLock()
        self._thinking = threading.RLock()  # agents keep state: they are asked one at a time
        self._ticket = 0  # of the position: what comes back with an older one is not wanted any more
        self._looked_at = -1  # ticket of the last position that the analyst was given
        self._analysis = analysis
        self._refused = self._hinted = False
        self.position = Position.from_moves(moves)
        self.findings: Findings | None = None
        self.message = self._status()

    def begin(self, publish: Callable[[dict], None]) -> None:
        """Let agent and analyst start, and have every change from now on published: a `view`."""
        with self._lock:
            self._publish = publish
            self._arrive(self.position)

    def view(self) -> dict[str, Any]:
        """All that there is to see, as JSON takes it. Cells are numbered row by row from the top left."""
        with self._lock:
            position, moves = self.position, self.position.moves
            line = [_cell(*divmod(index, STANDARD.height)) for index in bit_indices(position.winning_line)]
            return {
                "cells": position.state.ravel().tolist(),
                "last": _cell(moves[-1], moves.count(moves[-1]) - 1) if moves else None,
                "line": line,
                "moves": digits(moves),
                "mover": position.mover,
                "open": list(position.legal_moves) if self._is_human() else [],
                "message": self.message,
                "refused": self._refused,
                "analysis": self._analysis,
                "model": self._analyst.model,
                "findings": self.findings and asdict(self.findings),
                "summary": self._summary(),
                "hints": list(self.findings.best) if self._hinted and self.findings else [],
            }

    # --- what can be done to it -------------------------------------------------------------------------------------

    def obey(self, command: str, *arguments: Any) -> None:
        """Do one of `COMMANDS`; ValueError for any other."""
        if command not in COMMANDS:
            raise ValueError(f"there is no command {command!r}; there are {', '.join(COMMANDS)}")
        getattr(self, command)(*arguments)

    def play(self, column: int) -> None:
        """Drop a stone of the person to move into a column, counted from 0."""
        with self._lock:
            if not self._is_human():
                self._refuse(self._why_not())
            elif column in self.position.legal_moves:
                self._arrive(self.position.play(column))
            elif column in range(STANDARD.columns):
                self._refuse(f"Column {column + 1} is full.")
            else:
                self._refuse(f"There is no such column: they are 1 to {STANDARD.columns}.")

    def take_back(self) -> None:
        """Take back moves until a person is to move."""
        with self._lock:
            moves = self.position.moves
            for length in reversed(range(len(moves))):
                position = Position.from_moves(moves[:length])
                if self.seats[position.mover] == HUMAN:
                    return self._arrive(position, "Taken back.")
            return self._refuse("There is no move of yours to take back.")

    def new_game(self) -> None:
        """Begin again, from the empty board."""
        with self._lock:
            self._arrive(Position(), "A new game.")

    def paste(self, moves: str) -> None:
        """Put the position after a line of 1-based digits on the board; spaces do not matter."""
        with self._lock:
            try:
                position = Position.from_moves("".join(moves.split()))
            except ValueError as error:
                self._refuse(f"Nothing was changed: {_one_line(error)}.")
            else:
                self._arrive(position, f"{position.plies} moves were made.")

    def hint(self) -> None:
        """Mark the best columns, as soon as they are known."""
        with self._lock:
            if not self._is_human():
                return self._refuse(self._why_not())
            self._hinted = True
            self._say(self._advice())
            return self._look()

    def toggle_analysis(self) -> None:
        """Show the analysis, or hide it."""
        with self._lock:
            self._analysis = not self._analysis
            self._changed()
            self._look()

    # --- the workshop -----------------------------------------------------------------------------------------------

    def _arrive(self, position, news=""):
        """Go on from a position."""
        self.position = position
        self._ticket += 1
        self.findings, self._hinted = None, False
        self._say(f"{news} {self._status()}".strip())
        self._think()
        self._look()

    def _think(self):
        """Let the agent whose turn it is move, in the background."""
        position, ticket = self.position, self._ticket
        agent = self._agents[position.mover]
        if agent is None or position.is_over:
            return

        def job():
            if HUMAN not in self.seats.values():
                time.sleep(BETWEEN_AGENTS)
            with self._thinking:
                if ticket != self._ticket:
                    return
                try:
                    column = int(agent(GAME, position.state))
                    after, failure = position.play(column), None
                except Exception as error:  # agents are anybody's: what one raises is told in a line
                    failure = f"{self._who(position.mover)} failed: {type(error).__name__}: {_one_line(error)}"
                with self._lock:
                    if ticket == self._ticket and failure:
                        self._refuse(failure)
                    elif ticket == self._ticket:
                        self._arrive(after, f"{self._who(position.mover)} played column {column + 1}.")

        self._start(job)

    def _look(self):
        """Have the position looked at in the background, where somebody wants that and nobody does it yet."""
        position, ticket = self.position, self._ticket
        # an agent's time is its own, unless there is nobody else to watch for
        idle = self._is_human() or HUMAN not in self.seats.values()
        if position.is_over or not (self._analysis or self._hinted) or not idle or self._looked_at == ticket:
            return
        self._looked_at = ticket

        def job():
            try:
                for found in self._analyst.look(position):
                    with self._lock:
                        if ticket != self._ticket:
                            return
                        self.findings = found
                        if self._hinted:
                            self.message, self._refused = self._advice(), False
                        self._changed()
            except Exception as error:  # told in a line, since nobody would see it in a thread
                with self._lock:
                    if ticket == self._ticket:
                        self._refuse(f"The analysis failed: {type(error).__name__}: {_one_line(error)}")

        self._start(job)

    def _changed(self):
        self._publish(self.view())

    def _say(self, message, refused=False):
        self.message, self._refused = message, refused
        self._changed()

    def _refuse(self, message):
        self._say(message, refused=True)

    def _is_human(self):
        """Whether a person is to move."""
        return not self.position.is_over and self.seats[self.position.mover] == HUMAN

    def _why_not(self):
        """Why nobody can move by hand."""
        return "The game is over." if self.position.is_over else f"It is the turn of {self._who(self.position.mover)}."

    def _who(self, player):
        """A player in words: "x (you)"."""
        seat = self.seats[player]
        alone = seat == HUMAN and self.seats[-player] == HUMAN
        return LETTERS[player] if alone else f"{LETTERS[player]} ({'you' if seat == HUMAN else seat})"

    def _status(self):
        """Whose turn it is, or how the game ended."""
        position = self.position
        if position.winner:
            return f"Four in a row: the winner is {self._who(position.winner)}."
        if position.is_draw:
            return "The board is full: a draw."
        return f"{self._who(position.mover)} to move{'.' if self._is_human() else ', thinking.'}"

    def _summary(self):
        """What the findings say of the whole position."""
        found = self.findings
        if found is None:
            return ""
        parts = [f"For {LETTERS[self.position.mover]}, who is to move."]
        if found.score is not None:
            parts.append(f"It {OUTCOMES[np.sign(found.score)]}: exact score {_signed(found.score)}.")
        if found.value is not None:
            parts.append(f"AlphaZero's value: {found.value:+.2f}.")
        return " ".join(parts)

    def _advice(self):
        """The hint, as far as it is known."""
        found = self.findings
        if found is None or not found.best:
            return "Looking for the best columns."
        columns = ", ".join(str(column + 1) for column in found.best)
        outcome = f"{LETTERS[self.position.mover]} {OUTCOMES[np.sign(found.score)]}"
        return f"Best: {columns}{'' if found.complete else ', and perhaps others'}; {outcome}."


def play(
    first: str | Agent = HUMAN,
    second: str | Agent = "perfect",
    *,
    moves: str | Iterable[int] = "",
    analysis: bool = False,
    model: str | None = "connect4",
    simulations: int = 100,
    seed: int | None = None,
) -> Any:
    """A board to play on, as the last line of a notebook's cell; its `position` is where the game stands.

    Columns are clicked, or played by the keys 1 to 7, or by arrows and Enter; u or Backspace takes back.

    Args:
        first, second: who plays: "human", the name of an agent such as "minimax:8", or an agent.
        moves: to begin after these, as `Position.from_moves` takes them: "4453".
        analysis: show what every column is worth from the start; there is a button for it.
        model, simulations: the network whose opinion is shown there, see `Analyst`; None for none.
        seed: for agents that draw lots.

    Raises:
        ValueError: an agent or a model that there is not, or moves that cannot be made.
        ImportError: anywidget is missing.
    """
    widget = _widget_class()
    return widget(Session(Analyst(model, simulations), first, second, moves=moves, analysis=analysis, seed=seed))


@cache
def _widget_class():
    """`BoardWidget`; made late, since not everyone who imports this file has a browser."""
    try:
        import anywidget
        from traitlets import Dict
    except ImportError:
        raise ImportError("a board in a notebook needs anywidget: pip install 'c4lib[notebooks]'") from None

    class BoardWidget(anywidget.AnyWidget):
        """A session in the browser. Saved notebooks show the board as it was when the cell ran."""

        _esm = paths.PACKAGE / "widgets.js"
        _css = paths.PACKAGE / "widgets.css"
        view = Dict().tag(sync=True)

        def __init__(self, session: Session):
            super().__init__(view=session.view())
            self.session = session
            self.on_msg(lambda widget, content, buffers: session.obey(content["command"], *content["arguments"]))
            session.begin(lambda view: setattr(self, "view", view))

        @property
        def position(self) -> Position:
            """Where the game stands."""
            return self.session.position

        def __repr__(self):
            return f"<board: {' against '.join(self.session.seats.values())}, moves {digits(self.position.moves)!r}>"

        def _repr_mimebundle_(self, **options):
            data, metadata = super()._repr_mimebundle_(**options)
            return data | {"image/svg+xml": self.position._repr_svg_()}, metadata

    return BoardWidget


def _book():
    """The lab's opening book, where there is one."""
    return opening_book() if paths.BOOK.exists() else None


@cache
def _solver():
    """The solver of all boards: not the one of `solve`, which a cell may be asking at the same time."""
    return Solver(book=_book())


def _agent(seat, seed):
    """Who plays in a seat: an agent, None for a person."""
    if isinstance(seat, str):
        return None if seat == HUMAN else make_agent(seat, seed=seed)
    if not callable(seat):
        raise ValueError(f"a seat is for 'human', the name of an agent or an agent, not for {seat!r}")
    return seat


def _in_background(job):
    threading.Thread(target=job, daemon=True).start()


def _cell(column, level):
    """Number of a cell in a view."""
    return (STANDARD.rows - 1 - level) * STANDARD.columns + column


def _known(numbers):
    """As a tuple, None for NaN: JSON has none."""
    return tuple(None if np.isnan(number) else round(float(number), 4) for number in numbers)


def _signed(score):
    return f"{score:+}" if score else "0"


def _one_line(error):
    """What an exception says, short enough to be shown below a board."""
    line = " ".join(str(error).split()).rstrip(".")
    return line if len(line) <= 160 else f"{line[:159]}…"
