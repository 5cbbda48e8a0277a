"""What each technique is worth, of the engine and of the solver: the same positions searched as techniques go in."""

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


# The solver's techniques, in the order in which they go in, with the constants of `nullwindow` that make them up.
SOLVER_TECHNIQUES = {
    "transposition table": ("TABLELESS_PLIES",),
    "most winning cells first": ("WINNING_CELL",),
    "none that the enemy undercuts": ("UNDERCUT",),
    "moves that force nothing first": ("NONFORCING",),
    "joined lines first": ("PAIRED",),
    "children's entries": ("CHILD_CUTOFF_PLIES",),
    "claimeven": ("CLAIMEVEN",),
    "mirror images shared": ("MIRROR_STONES",),
    "prefetch": ("PREFETCH",),
}
NEVER = {"TABLELESS_PLIES": 99, "CHILD_CUTOFF_PLIES": 99}  # what switches a technique off; 0 does it for the others


def solver_ladder() -> dict[str, dict[str, int]]:
    """Switches for a `Solver` by label: null windows and safe moves, centre first; then one technique more each."""
    off = {name: NEVER.get(name, 0) for names in SOLVER_TECHNIQUES.values() for name in names}
    steps = {"null windows, safe moves": dict(off)}
    for label, names in SOLVER_TECHNIQUES.items():
        for name in names:
            del off[name]
        steps[f"+ {label}"] = dict(off)
    return steps
