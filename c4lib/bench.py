"""Measures the search on this machine. Everything is timed in one run, side by side: trust the ratios."""

import statistics
import time
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from .games.connect4 import STANDARD, Connect4
from .progress import bar
from .search.minimax import Connect4MinimaxOpponent
from .search.negamax import Engine, SearchOptions, SearchResult

SECONDS = 2.0  # a search
POSITIONS = 50
POSITION_PLIES = 8
NODES_DEPTH = 12  # plies, for counting nodes
SEED = 8
PLAIN = SearchOptions.none(alpha_beta=True, deepening=True)


def main() -> None:
    """Print the table of the engine: speed, depth in two seconds, and nodes to a fixed depth."""
    game = Connect4()
    positions = random_positions(game, POSITIONS, POSITION_PLIES, SEED)
    stacks = {
        "full stack": SearchOptions(),
        "alpha-beta alone": PLAIN,
        "plain minimax": SearchOptions.none(deepening=True),
    }
    table = Table(title=f"The engine, {SECONDS:g} s a search, one core")
    others_label = f"median depth, {POSITIONS} {POSITION_PLIES}-ply positions"
    for column in ("", "million nodes/s", "depth, empty board", others_label):
        table.add_column(column, justify="right" if column else "left")

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
        yardstick = deepening_minimax(game)
        progress.update()
    table.add_row("minimax (yardstick)", f"{yardstick[0]:.1f}", str(yardstick[1]), "")
    console = Console()
    console.print(table)
    console.print(nodes_table())
    console.print(yardstick_table(game))


def random_positions(game: Connect4, count: int, plies: int, seed: int) -> list[tuple[int, int]]:
    """Different random positions after `plies` plies, as `(own, opp)`, none finished."""
    rng = np.random.default_rng(seed)
    positions: dict[tuple[int, int], None] = {}
    while len(positions) < count:
        state = game.initial_state()
        for _ in range(plies):
            state = game.apply(state, int(rng.choice(np.flatnonzero(game.legal_actions_mask(state)))))
            if game.terminal_value(state) is not None:
                break
        else:
            positions[game.boards(state)] = None
    return list(positions)


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
    table = Table(title=f"Nodes to depth {NODES_DEPTH} from the empty board")
    for column in ("", "nodes", "times the full stack"):
        table.add_column(column, justify="right" if column else "left")
    full = SearchOptions(depth_exact=True)
    counts = {
        label: Engine(STANDARD, options).search(0, 0, depth=NODES_DEPTH).nodes
        for label, options in {
            "alpha-beta, left to right": replace(PLAIN, deepening=False, depth_exact=True),
            "alpha-beta, centre first": replace(PLAIN, deepening=False, depth_exact=True, centre=True),
            "full stack": full,
        }.items()
    }
    for label, nodes in counts.items():
        table.add_row(label, f"{nodes:,}", f"{nodes / counts['full stack']:.1f}")
    return table


def yardstick_table(game: Connect4) -> Table:
    """Time of a move of minimax at several depths, over whole games from random openings."""
    table = Table(title="The yardstick: time of a move over whole games")
    for column in ("", "mean", "slowest"):
        table.add_column(column, justify="right" if column else "left")
    for depth in (2, 4, 6, 8):
        times = []
        opponent = Connect4MinimaxOpponent(depth)
        for own, opp in random_positions(game, 10, 4, SEED):
            state = game.state(own, opp)
            while game.terminal_value(state) is None:
                start = time.perf_counter()
                column = opponent(game, state)
                times.append(time.perf_counter() - start)
                state = game.apply(state, column)
        table.add_row(f"minimax:{depth}", f"{1e3 * statistics.mean(times):.2f} ms", f"{1e3 * max(times):.2f} ms")
    return table
