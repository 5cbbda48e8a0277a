"""What `c4 solve` prints: the board, every column's score, the best line, and what it took."""

import json
import time

from . import paths
from .games.base import digits
from .games.connect4 import STANDARD
from .games.position import Position
from .search.book import Book
from .search.solver import OUTCOME, Analysis, Solution, Solver

OUTCOMES = {1: "wins", 0: "draws", -1: "loses"}


def solve_report(
    moves: str, board: dict, settings: dict, *, book: bool, stats: bool, seconds: float | None, as_json: bool
) -> str:
    """The report on a position, as text or JSON.

    Args:
        moves: 1-based digits.
        board: columns, rows, inarow.
        settings: for the `Solver`.
        book: look into the opening book, where the board has one.
        stats: also solve the position from an empty table and without the book: its score, and its outcome.
        seconds: time limit of the analysis.
        as_json: JSON instead of text.

    Raises ValueError for moves that are not legal, or a board that cannot be solved.
    """
    position = Position.from_moves(moves, **board)
    solver = Solver(position.geometry, **settings)
    cold = {}
    if stats:
        for label, window in (("score", None), ("outcome", OUTCOME)):
            solver.clear()
            cold[label] = solver.solve(position, window=window)
        solver.clear()
    if book and position.geometry == STANDARD and paths.BOOK.exists():
        solver.book = Book.load(paths.BOOK)
    start = time.perf_counter()
    analysis = solver.analyse(position, seconds=seconds)
    elapsed = time.perf_counter() - start
    return (as_jsonable if as_json else as_text)(position, analysis, elapsed, cold)


def as_jsonable(position: Position, analysis: Analysis, elapsed: float, cold: dict[str, Solution]) -> str:
    """The report as JSON; columns are counted from 0."""
    solution = analysis.solution
    report = {
        "moves": digits(position.moves or ()),
        "score": solution.score,
        "lower": solution.lower,
        "upper": solution.upper,
        "columns": [
            move and (move.score if move.score is not None else [move.lower, move.upper]) for move in analysis.columns
        ],
        "best_moves": list(analysis.best_moves),
        "principal_variation": list(analysis.principal_variation),
        "nodes": solution.nodes,
        "seconds": round(elapsed, 6),
    }
    for label, found in cold.items():
        report[f"cold_{label}"] = {"nodes": found.nodes, "seconds": round(found.seconds, 6)}
    return json.dumps(report)


def as_text(position: Position, analysis: Analysis, elapsed: float, cold: dict[str, Solution]) -> str:
    """The report for people."""
    width = max(2, *(len(_score(move)) for move in analysis.columns)) + 1
    rows = [line.split() for line in str(position).splitlines()]
    rows.append([str(column + 1) for column in range(position.geometry.columns)])
    lines = ["".join(cell.rjust(width) for cell in row) for row in rows]
    lines.append("".join(_score(move).rjust(width) for move in analysis.columns) + "   score of each column")
    lines.append("")
    lines.append(_verdict(position, analysis.solution))
    if analysis.best_moves:
        lines.append(f"best: {', '.join(str(column + 1) for column in analysis.best_moves)}")
    if analysis.principal_variation:
        played, best = digits(position.moves or ()), digits(analysis.principal_variation)
        lines.append(f"line: {played} {best}".replace(":  ", ": "))
    lines.append(_effort("all of this", analysis.solution.nodes, elapsed))
    for label, found in cold.items():
        lines.append(_effort(f"the {label} alone, from nothing", found.nodes, found.seconds))
    return "\n".join(lines)


def _verdict(position, solution):
    """Who wins, and when."""
    mover = "x" if position.mover == 1 else "o"
    if position.is_over:
        return "the game is over: " + ("a draw" if position.is_draw else f"{'o' if mover == 'x' else 'x'} has won")
    if solution.score is None:
        return f"{mover} to move: the score lies from {solution.lower} to {solution.upper}"
    if solution.score == 0:
        return f"{mover} to move draws"
    cells = position.geometry.columns * position.geometry.rows
    winner = position.mover * (1 if solution.score > 0 else -1)
    stones = (cells + (winner == 1)) // 2 - abs(solution.score) + 1  # the winner's own, the last one included
    end = f"the game ends with the winner's stone number {stones}"
    return f"{mover} to move {OUTCOMES[solution.outcome]} (score {solution.score:+}): {end}"


def _effort(label, nodes, seconds):
    speed = f", {nodes / seconds / 1e6:.1f} million a second" if nodes > 100_000 else ""
    return f"{label}: {nodes:,} nodes, {seconds:.3f} s{speed}"


def _score(move):
    """A column's score, or its bounds, or a blank where the column is full."""
    if move is None:
        return ""
    return f"{move.score:+}" if move.score else "0" if move.score == 0 else f"{move.lower:+}..{move.upper:+}"
