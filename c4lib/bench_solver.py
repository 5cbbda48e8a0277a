"""Measures the exact solver, beside BitBully (the fastest other one on PyPI) where that is installed.

Every position starts from an empty table and without a book, on one core; both solve it in the same run. Seconds are
those of a wall clock: nothing else should be running.
"""

import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec

import pandas as pd

from .arena.benchmark import load
from .progress import bar
from .search.solver import OUTCOME, Solver

COUNTS = {"L3_R1": 1000, "L2_R1": 1000, "L2_R2": 1000, "L1_R1": 1000, "L1_R2": 100, "L1_R3": 20}  # positions to solve
OPENINGS = ("4444", "4453", "1234", "2623", "7135", "3354")  # hard enough for two threads
WARM_UP = "44444422222211111166666655"  # solved in microseconds


class BitBully:
    """The peer: its score, nodes and seconds for a position from an empty table."""

    def __init__(self):
        import bitbully

        self._board = bitbully.Board
        self._solver = bitbully.BitBully(opening_book=None)

    def __call__(self, moves: str, outcome_only: bool = False) -> tuple[int, int, float]:
        solver = self._solver
        solver.reset_transposition_table()
        self._search(self._columns(WARM_UP))  # clearing has emptied the caches of code and data, too
        solver.reset_node_counter()
        board = self._columns(moves)
        start = time.perf_counter()
        score = solver.negamax(board, alpha=-1, beta=1) if outcome_only else solver.mtdf(board)
        return score, solver.get_node_counter(), time.perf_counter() - start

    def _columns(self, moves):
        return self._board([int(digit) - 1 for digit in moves])

    def _search(self, board):
        return self._solver.mtdf(board)


def peer() -> Callable | None:
    """BitBully, or None where it is not installed."""
    return BitBully() if find_spec("bitbully") else None


def measure_sets(counts: dict[str, int] = COUNTS) -> pd.DataFrame:
    """Mean and median time and nodes on the benchmark sets; one row a set.

    Raises ValueError where the two solvers disagree.
    """
    solver, other = Solver(), peer()
    rows = []
    with bar(total=sum(counts.values()), unit="position") as progress:
        for name, count in counts.items():
            table = load(name)
            moves = table["moves"].iloc[:: max(len(table) // count, 1)].iloc[:count].tolist()
            solver.measure(moves[: min(count, 20)] if len(moves) > 100 else moves[:1])  # warms the code, not the table
            scores, nodes, seconds = solver.measure(moves)
            row = dict(set=name, positions=len(moves), mean=seconds.mean(), median=statistics.median(seconds))
            row |= dict(nodes=nodes.mean(), median_nodes=statistics.median(nodes))
            if other:
                found = [other(line) for line in moves]
                if [score for score, _, _ in found] != scores.tolist():
                    raise ValueError(f"the solvers disagree on {name}")
                times = [spent for _, _, spent in found]
                row |= dict(peer_mean=statistics.mean(times), peer_median=statistics.median(times))
                row |= dict(peer_nodes=statistics.mean(visited for _, visited, _ in found))
                row["ratio"] = row["mean"] / row["peer_mean"]
            rows.append(row)
            progress.update(count)
    return pd.DataFrame(rows).set_index("set")


def measure_empty_board() -> pd.DataFrame:
    """The empty board from nothing: its exact score, and only who wins."""
    solver, other = Solver(), peer()
    rows = []
    for question, window in (("exact score", None), ("win, draw or loss", OUTCOME)):
        solver.clear()
        found = solver.solve("", window=window)
        row = dict(question=question, seconds=found.seconds, nodes=found.nodes)
        if other:
            _, peer_nodes, peer_seconds = other("", outcome_only=window is not None)
            row |= dict(peer_seconds=peer_seconds, peer_nodes=peer_nodes, ratio=found.seconds / peer_seconds)
        rows.append(row)
    return pd.DataFrame(rows).set_index("question")


def measure_threads(openings: tuple[str, ...] = OPENINGS, threads: tuple[int, ...] = (1, 2)) -> pd.DataFrame:
    """Wall-clock seconds for a few hard openings with so many threads on one table, and how many times one thread."""
    rows = []
    for number in threads:
        solver = Solver(threads=number)
        seconds = nodes = 0.0
        for moves in bar(openings, unit="position"):
            solver.clear()
            found = solver.solve(moves)
            seconds, nodes = seconds + found.seconds, nodes + found.nodes
        rows.append(dict(threads=number, seconds=seconds, nodes=nodes))
    result = pd.DataFrame(rows).set_index("threads")
    return result.assign(speedup=result["seconds"].iloc[0] / result["seconds"])
