"""Builds the opening book, and checks it.

A position is in the book if it takes a cold solver more than `COLD_NODES` nodes to find a best move in it. From there
the book goes on with its move, and every reply. Of several equally good moves it prefers the one after which the
fewest replies are slow to solve.

All that costs time is a *fact*, the answer to one question about one position; facts are written to a journal as they
come in, so that a killed builder loses the questions being worked on and no more. Processes answer the questions;
which position comes next follows the moves, so that positions close in the tree are solved close in time, on a warm
table.
"""

import heapq
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..bits import popcount
from ..games.connect4 import (
    STANDARD,
    Geometry,
    canonical_key,
    centre_first,
    column_cells,
    has_line,
    key,
    mirror,
    playable,
)
from ..progress import bar
from ..resume import drop_unfinished_line, worker_pool
from .book import ENTRY, Book
from .solver import Solver

COLD_NODES = 1_000_000  # a twentieth of a second on one core of a 2023 server
SURELY_SLOW_STONES = 5  # with so few stones every position is taken for slow, without a look
WARM_TABLE_BITS = 26  # 512 MB a process
COLD_TABLE_BITS = 24


class Question(NamedTuple):
    """What is asked of a position, given in the orientation of its canonical key."""

    kind: str  # "cold": nodes of a cold solve, at most about COLD_NODES; "score"; "keeps": may `column` be played?
    own: int
    opp: int
    column: int = -1

    @property
    def name(self) -> str:
        """As the journal writes it."""
        return f"{self.kind} {key(self.own, self.opp)} {self.column}"


class Answerer:
    """Answers questions; each process has one."""

    def __init__(self, geometry: Geometry, warm_table_bits: int = WARM_TABLE_BITS, cold_nodes: int = COLD_NODES):
        self.warm = Solver(geometry, table_bits=warm_table_bits)
        self.cold = Solver(geometry, table_bits=min(COLD_TABLE_BITS, warm_table_bits))
        self.cold_nodes = cold_nodes

    def __call__(self, question: Question, score: int | None) -> int:
        """The fact; `score` is the position's own where `kind` is "keeps"."""
        boards = question.own, question.opp
        if question.kind == "cold":
            self.cold.clear()
            move, _ = self.cold.best_move(boards, nodes=self.cold_nodes)
            return self.cold.nodes if move is not None else self.cold_nodes + 1
        if question.kind == "score":
            return self.warm.solve(boards).score
        child = _after(*boards, question.column, self.warm.geometry)
        return int(self.warm.solve(child, window=(-score, -score + 1)).upper == -score)


class Builder:
    """The decisions, as generators that ask questions and are sent the answers."""

    def __init__(self, geometry: Geometry = STANDARD, cold_nodes: int = COLD_NODES):
        self.geometry = geometry
        self.cold_nodes = cold_nodes

    def canonical(self, own: int, opp: int) -> tuple[int, int]:
        """A position or its mirror image, whichever has the smaller key."""
        columns, rows, _ = self.geometry
        if canonical_key(own, opp, columns, rows) == key(own, opp):
            return own, opp
        return mirror(own, columns, rows), mirror(opp, columns, rows)

    def roots(self) -> list[tuple[int, int]]:
        """The first positions of either seat."""
        return [(0, 0), *self.replies(0, 0)]

    def replies(self, own: int, opp: int) -> list[tuple[int, int]]:
        """The different positions one move on, canonical; those where the game is over are left out."""
        g = self.geometry
        if has_line(opp, g.rows, g.inarow):
            return []
        children = [_after(own, opp, column, g) for column in _columns(own, opp, g)]
        going_on = [c for c in children if not has_line(c[1], g.rows, g.inarow) and c[0] | c[1] != g.board]
        return list(dict.fromkeys(self.canonical(*child) for child in going_on))

    def decide(self, own: int, opp: int):
        """Generator: yields lists of (question, score), takes lists of facts; returns None or (column, score)."""
        if popcount(own | opp) > SURELY_SLOW_STONES:
            (nodes,) = yield [(Question("cold", own, opp), None)]
            if nodes <= self.cold_nodes:
                return None
        (score,) = yield [(Question("score", own, opp), None)]
        columns = _columns(own, opp, self.geometry)
        keeps = yield [(Question("keeps", own, opp, column), score) for column in columns]
        good = [column for column, kept in zip(columns, keeps, strict=True) if kept]
        if len(good) == 1 or popcount(own | opp) + 2 <= SURELY_SLOW_STONES:
            return good[0], score
        costs = []
        for order, column in enumerate(good):
            replies = self.replies(*_after(own, opp, column, self.geometry))
            nodes = yield [(Question("cold", *reply), None) for reply in replies]
            costs.append((sum(n > self.cold_nodes for n in nodes), sum(nodes), order, column))
        return min(costs)[-1], score


def build_book(
    journal: Path,
    *,
    geometry: Geometry = STANDARD,
    processes: int | None = None,
    cold_nodes: int = COLD_NODES,
    warm_table_bits: int = WARM_TABLE_BITS,
    pool: Executor | None = None,
) -> Book:
    """Build a book, resuming from what the journal holds; one progress step is one decided position.

    Args:
        journal: file of facts, added to; its first line tells what it belongs to.
        geometry: the board.
        processes: how many answer questions at once; by default one a core.
        cold_nodes: how slow to solve a position of the book is.
        warm_table_bits: size of each process' table.
        pool: answers the questions, `processes` at once; None for processes of this machine.

    Raises ValueError where the journal belongs to another kind of book.
    """
    builder = Builder(geometry, cold_nodes)
    title = f"facts for a book, {geometry.columns} x {geometry.rows} x {geometry.inarow}, cold_nodes {cold_nodes}"
    drop_unfinished_line(journal)
    facts = _read_journal(journal, title)
    processes = processes or os.cpu_count() or 1
    entries: dict[int, tuple[int, int]] = {}
    ticket = itertools.count()
    waiting: list = []  # heap of (path, ticket, position)
    seen: set[int] = set()

    def enqueue(path, positions):
        for number, position in enumerate(positions):
            if key(*position) not in seen:
                seen.add(key(*position))
                heapq.heappush(waiting, ((*path, number), next(ticket), position))

    enqueue((), builder.roots())
    active: dict = {}  # decision -> what it needs
    running: dict = {}  # future -> question name
    settings = geometry, warm_table_bits, cold_nodes
    with (
        nullcontext(pool) if pool else worker_pool(processes) as workers,
        journal.open("a", encoding="ascii") as log,
        bar(total=len(waiting), unit="position") as progress,
    ):
        if not log.tell():
            print(title, file=log, flush=True)

        def advance(decision, path, position, answers):
            """Send answers to a decision until it asks what is not known; then queue that."""
            try:
                while True:
                    asked = decision.send(answers)
                    unknown = [pair for pair in asked if pair[0].name not in facts]
                    if unknown:
                        active[id(decision)] = decision, path, position, asked
                        for question, score in unknown:
                            if question.name not in running.values():
                                running[workers.submit(_answer, settings, question, score)] = question.name
                        return
                    answers = [facts[question.name] for question, _ in asked]
            except StopIteration as end:
                if end.value:
                    entries[key(*position)] = end.value
                    enqueue(path, builder.replies(*_after(*position, end.value[0], geometry)))
                progress.total = len(seen)
                progress.set_postfix(book=len(entries), refresh=False)
                progress.update()

        while waiting or active:
            while waiting and len(running) < processes + 1:
                path, _, position = heapq.heappop(waiting)
                advance(builder.decide(*position), path, position, None)
            if not running:
                continue
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                name = running.pop(future)
                facts[name] = future.result()
                print(name, facts[name], file=log, flush=True)
            for number, (decision, path, position, asked) in list(active.items()):
                if all(question.name in facts for question, _ in asked):
                    del active[number]
                    advance(decision, path, position, [facts[question.name] for question, _ in asked])
    keys = sorted(entries)
    return Book(np.array([(k, *entries[k]) for k in keys], ENTRY), geometry)


def check_book(book: Book, *, table_bits: int = WARM_TABLE_BITS) -> Iterator[str]:
    """Derive every entry again from its successors, with a solver of its own; yields what is wrong, in words.

    The score must be that of the book's move, which is the worst for us of all replies to it (from the book where it
    has them, else solved), and no other move may be better.
    """
    geometry = book.geometry
    solver = Solver(geometry, table_bits=table_bits)

    def value(own, opp):
        found = book.probe(own, opp)
        return found[1] if found else solver.solve((own, opp)).score

    entries = [(*boards_of_key(number, geometry), number, move, score) for number, move, score in book.entries.tolist()]
    entries.sort(key=lambda entry: -popcount(entry[0] | entry[1]))  # the last first, to find them in the table later
    for own, opp, number, move, score in bar(entries, unit="position"):
        derived = None  # stays so where the move cannot be played
        for column in _columns(own, opp, geometry):
            child = _after(own, opp, column, geometry)
            if column != move:
                if solver.solve(child, window=(-score - 1, -score)).lower < -score:
                    yield f"position {number}: column {column} is better than {move}, which is worth {score}"
            elif has_line(child[1], geometry.rows, geometry.inarow) or child[0] | child[1] == geometry.board:
                derived = -solver.solve(child).score
            else:
                derived = min(value(*_after(*child, reply, geometry)) for reply in _columns(*child, geometry))
        if derived != score:
            yield f"position {number}: the score is {score}, and the replies to column {move} give {derived}"


def boards_of_key(number: int, geometry: Geometry) -> tuple[int, int]:
    """`(own, opp)` of a key: in each column the highest bit of (key + 1 at the foot) lies above all stones."""
    own = mask = 0
    for column in range(geometry.columns):
        shift = column * geometry.height
        field = ((number >> shift) & ((1 << geometry.height) - 1)) + 1
        height = field.bit_length() - 1
        mask |= ((1 << height) - 1) << shift
        own |= (field - (1 << height)) << shift
    return own, mask ^ own


def _columns(own, opp, geometry):
    """The columns that can be played, from the centre outwards."""
    cells = playable(own | opp, geometry.bottom, geometry.board)
    order = (centre_first(i, geometry.columns) for i in range(geometry.columns))
    return [column for column in order if cells & column_cells(column, geometry.rows)]


def _after(own, opp, column, geometry):
    """The position after a move."""
    cells = playable(own | opp, geometry.bottom, geometry.board)
    return opp, own | (cells & column_cells(column, geometry.rows))


def _read_journal(journal, title):
    """The facts of a journal."""
    if not journal.exists() or not journal.stat().st_size:
        return {}
    first, *lines = journal.read_text(encoding="ascii").splitlines()
    if first != title:
        raise ValueError(f"{journal} holds {first!r}, not {title!r}")
    return {name: int(fact) for name, _, fact in (line.rpartition(" ") for line in lines)}


def _answer(settings, question, score):
    return _answerer(*settings)(question, score)


@lru_cache(maxsize=1)
def _answerer(*settings):
    """The answerer of this process: made at its first question, and kept for its tables."""
    return Answerer(*settings)
