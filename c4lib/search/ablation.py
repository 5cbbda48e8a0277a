"""What each technique of the engine is worth: the same positions searched as techniques go in, and as each goes out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..games.connect4 import STANDARD, Geometry
from .negamax import Engine, SearchOptions, SearchResult

# The order in which they go in; each line stands on those above it.
TECHNIQUES = {
    "alpha_beta": "alpha-beta",
    "centre": "centre first",
    "deepening": "iterative deepening",
    "table": "transposition table",
    "table_move": "table move first",
    "mirror": "mirror images shared",
    "forced": "wins and blocks seen",
    "killers": "killer moves",
    "history": "history",
    "pvs": "null windows (PVS)",
    "aspiration": "aspiration window",
    "prefetch": "prefetch",
}


def ladder(table_bits: int = 22) -> dict[str, SearchOptions]:
    """Options by label, from plain minimax to the full stack: each adds one technique to those before it."""
    steps = {"plain minimax": SearchOptions.none(depth_exact=True, table_bits=table_bits)}
    options = steps["plain minimax"]
    for name, label in TECHNIQUES.items():
        options = replace(options, **{name: True})
        steps[f"+ {label}"] = options
    return steps


def leave_one_out(table_bits: int = 22) -> dict[str, SearchOptions]:
    """Options by label: the full stack, and the full stack without each technique in turn.

    Without alpha-beta the tree would be out of all proportion; it always stays in.
    """
    full = SearchOptions(depth_exact=True, table_bits=table_bits)
    without = {f"- {label}": replace(full, **{name: False}) for name, label in TECHNIQUES.items()}
    del without[f"- {TECHNIQUES['alpha_beta']}"]
    return {"full stack": full, **without}


def measure(
    options: SearchOptions, positions: Sequence[tuple[int, int]], depth: int, geometry: Geometry = STANDARD
) -> Iterator[SearchResult]:
    """Search each position `(own, opp)` to `depth` plies, everything forgotten before each."""
    engine = Engine(geometry, options)
    for own, opp in positions:
        engine.clear()
        yield engine.search(own, opp, depth=depth)
