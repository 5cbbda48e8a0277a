"""Measures perft, engine, solver and self-play on this machine. All in one run, side by side: trust the ratios."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import bench_alphazero, bench_solver
from .arena.match import play_match
from .arena.openings import random_openings
from .games import connect4, connect4_grid, othello, othello_grid
from .games.connect4 import STANDARD, Connect4
from .games.othello import Othello
from .jit import build
from .progress import bar
from .results import duration
from .search.minimax import Connect4MinimaxOpponent
from .search.negamax import Engine, SearchOptions, SearchResult

SECONDS = 2.0  # a search
POSITIONS = 50
POSITION_PLIES = 8
NODES_DEPTH = 12  # plies, for counting nodes
SEED = 8
PLAIN = SearchOptions.none(alpha_beta=True, deepening=True)


def main(parts: Sequence[str] = (), save: Path | None = None) -> None:
    """Measure and print, part by part.

    Args:
        parts: names in `PARTS`; none means all.
        save: folder for the numbers of solver and self-play, as CSV files.

    Raises ValueError for a part that does not exist.
    """
    if unknown := set(parts) - set(PARTS):
        raise ValueError(f"no part {', '.join(sorted(unknown))} of the benchmark; there are {', '.join(PARTS)}")
    console = Console()
    for part in parts or PARTS:
        for table in PARTS[part](save):
            console.print(table)


def perft_tables(save: Path | None) -> Iterator[Table]:
    """How fast games are counted: with bits and on a grid, and by other libraries where they are installed.

    The slower ones count fewer plies. What rust-reversi and open_spiel find for a position, Python adds up.
    """
    rust, spiel = (import_module(name) if find_spec(name) else None for name in ("rust_reversi", "pyspiel"))
    four, reversi = "Connect Four", "Othello"
    game = Othello()
    start = game.boards(game.initial_state())
    speeds: dict[str, dict[str, str]] = {}
    for label, kernel, constants, boards, plies, grid in (
        (four, connect4.perft, STANDARD.constants, (0, 0), 10, connect4_grid),
        (reversi, othello.perft, {"AXES": game.axes}, start, 11, othello_grid),
    ):
        counters = {
            "bits, compiled": (partial(build(kernel, True, **constants), *boards), plies),
            "bits, Python": (partial(build(kernel, False, **constants), *boards), plies - 4),
            "grid, compiled": (grid.count_games, plies - 2),
            "grid, Python": (partial(grid.count_games, compiled=False), plies - 5),
        }
        if rust and label == reversi:
            counters["rust-reversi"] = partial(rust_perft, rust.Board()), plies - 2
        if spiel:
            state = spiel.load_game(label.lower().replace(" ", "_")).new_initial_state()
            counters["open_spiel"] = partial(spiel_perft, state), plies - 4
        for who, counter in counters.items():
            speeds.setdefault(who, {})[label] = _speed(*counter)
    table = empty_table("Games of a number of plies counted, one core, million/s", four, reversi)
    for who, found in speeds.items():
        table.add_row(who, found.get(four, ""), found.get(reversi, ""))
    yield table


def _speed(count, plies):
    count(1)  # compiles
    start = time.perf_counter()
    return f"{float(f'{count(plies) / (time.perf_counter() - start) / 1e6:.3g}'):,g}"


def rust_perft(board: Any, plies: int) -> int:
    """Games of so many plies, 1 or more, from a board of rust-reversi: its own code makes the moves, Python adds up."""
    if board.is_pass() and not board.is_game_over():
        passed = board.clone()
        passed.do_pass()
        return 1 if plies == 1 else rust_perft(passed, plies - 1)
    if plies == 1:
        return board.get_legal_moves().bit_count()
    return sum(rust_perft(child, plies - 1) for child in board.get_child_boards())


def spiel_perft(state: Any, plies: int) -> int:
    """The same from a state of any game of open_spiel; its finished games have no legal actions."""
    actions = state.legal_actions()
    if plies == 1:
        return len(actions)
    return sum(spiel_perft(state.child(action), plies - 1) for action in actions)


def engine_tables(save: Path | None) -> Iterator[Table]:
    """The engine's speed, its depth in two seconds and nodes to a fixed depth; the yardstick; starting up."""
    game = Connect4()
    yield engine_table(game)
    yield nodes_table()
    yield yardstick_table(game)
    yield start_table()


def solver_tables(save: Path | None) -> Iterator[Table]:
    """The solver on the benchmark sets, on the empty board, and with two threads."""
    yield from _measured(
        save,
        ("sets", "The solver, one core, a cold table for each position, no book", bench_solver.measure_sets),
        ("empty_board", "The empty board from nothing", bench_solver.measure_empty_board),
        ("threads", f"{len(bench_solver.OPENINGS)} openings, one table", bench_solver.measure_threads),
    )


def alphazero_tables(save: Path | None) -> Iterator[Table]:
    """Self-play with the network of connect4.toml, beside the network alone."""
    memory = f"trees of a worker: {bench_alphazero.tree_bytes() / 1e6:.1f} MB"
    title = f"Self-play, {bench_alphazero.GAMES} games of a worker at one time ({memory})"
    yield from _measured(save, ("self_play", title, bench_alphazero.measure_self_play))


def _measured(save, *parts):
    """Tables of numbers, each measured when it is asked for, and saved as `NAME.csv`."""
    for name, title, measure in parts:
        numbers = measure()
        if save:
            numbers.to_csv(save / f"{name}.csv", float_format="%.6g", lineterminator="\n")
        table = empty_table(title, *numbers.columns)
        for label, row in numbers.iterrows():
            table.add_row(str(label), *(_readable(column, value) for column, value in row.items()))
        yield table


def _readable(column: str, value: float) -> str:
    """A number of a table, by its column: a count, a ratio, or seconds with their unit; nothing where it is NaN."""
    if value != value:
        return ""
    if "nodes" in column or column in ("positions", "batch", "evaluations", "simulations"):
        return f"{value:,.0f}"
    if column in ("ratio", "speedup", "share", "gain"):
        return f"{value:.3f}"
    return duration(value)


def empty_table(title: str, *columns: str) -> Table:
    """A table with a column of labels on the left, and columns of numbers."""
    table = Table("", title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def engine_table(game: Connect4) -> Table:
    """Speed of the engine, and the depth it reaches in the time of a search, against less of it."""
    positions = [game.boards(state) for state in random_openings(game, POSITIONS, POSITION_PLIES, SEED, decided=True)]
    stacks = {
        "full stack": SearchOptions(),
        "alpha-beta alone": PLAIN,
        "plain minimax": SearchOptions.none(deepening=True),
    }
    others_label = f"median depth, {POSITIONS} {POSITION_PLIES}-ply positions"
    title = f"The engine, {SECONDS:g} s a search, one core"
    table = empty_table(title, "million nodes/s", "depth, empty board", others_label)

    with bar(total=len(stacks) * (len(positions) + 1) + 1, unit="search") as progress:

        def searched(engine: Engine, own: int, opp: int) -> SearchResult:
            engine.clear()
            result = engine.search(own, opp, seconds=SECONDS)
            progress.update()
            return result

        for label, options in stacks.items():
            engine = Engine(STANDARD, options)
            start = searched(engine, 0, 0)
            others = [searched(engine, own, opp) for own, opp in positions]
            unsolved = [result for result in (start, *others) if result.seconds > SECONDS / 2]
            speed = sum(result.nodes for result in unsolved) / sum(result.seconds for result in unsolved) / 1e6
            depth = statistics.median(result.depth for result in others)
            table.add_row(label, f"{speed:.1f}", str(start.depth), f"{depth:g}")
        speed, depth = deepening_minimax(game)
        progress.update()
    table.add_row("minimax (yardstick)", f"{speed:.1f}", str(depth), "")
    return table


def deepening_minimax(game: Connect4) -> tuple[float, int]:
    """Million nodes/s of the yardstick opponent, and the last depth that it completes within the time of a search."""
    Connect4MinimaxOpponent(1)(game, game.initial_state())  # compile before the clock starts
    start = time.perf_counter()
    depth = nodes = 0
    while True:
        opponent = Connect4MinimaxOpponent(depth + 1)
        opponent(game, game.initial_state())
        elapsed = time.perf_counter() - start
        nodes += opponent.nodes
        if elapsed > SECONDS:
            return nodes / elapsed / 1e6, depth
        depth += 1


def nodes_table() -> Table:
    """Nodes from the empty board to a fixed depth, plain alpha-beta from left to right against the full stack."""
    table = empty_table(f"Nodes to depth {NODES_DEPTH} from the empty board", "nodes", "times the full stack")
    counts = {
        label: Engine(STANDARD, options).search(0, 0, depth=NODES_DEPTH).nodes
        for label, options in {
            "alpha-beta, left to right": replace(PLAIN, deepening=False, depth_exact=True),
            "alpha-beta, centre first": replace(PLAIN, deepening=False, depth_exact=True, centre=True),
            "full stack": SearchOptions(depth_exact=True),
        }.items()
    }
    for label, nodes in counts.items():
        table.add_row(label, f"{nodes:,}", f"{nodes / counts['full stack']:.1f}")
    return table


def yardstick_table(game: Connect4) -> Table:
    """Time of a move of minimax at several depths over whole games, and its score against less and more depth."""
    score_label = "score against minimax:2, 200 games from 4-ply openings"
    table = empty_table("The yardstick", "mean time of a move", "slowest", score_label)
    openings = random_openings(game, 100, 4, SEED)
    for depth in (1, 2, 4, 6, 8):
        times = []
        opponent = Connect4MinimaxOpponent(depth)

        def timed(game, state, opponent=opponent, times=times):
            start = time.perf_counter()
            column = opponent(game, state)
            times.append(time.perf_counter() - start)
            return column

        score = play_match(game, timed, Connect4MinimaxOpponent(2), openings)
        low, high = score.interval
        mean, slowest = (f"{1e3 * seconds:.2f} ms" for seconds in (statistics.mean(times), max(times)))
        table.add_row(f"minimax:{depth}", mean, slowest, f"{score.share:.3f} ({low:.3f} to {high:.3f})")
    return table


def start_table() -> Table:
    """Seconds from the start of a process to the engine's first move, its kernel compiled by an earlier process."""
    program = "from c4lib import Position, make_agent; from c4lib.games.connect4 import Connect4; "
    program += "make_agent('engine:0.001')(Connect4(), Position().state)"
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(time.perf_counter() - start)
    table = empty_table("A new process", "seconds")
    table.add_row("to the engine's first move", f"{statistics.median(times):.1f}")
    return table


PARTS = {"perft": perft_tables, "engine": engine_tables, "solver": solver_tables, "alphazero": alphazero_tables}
