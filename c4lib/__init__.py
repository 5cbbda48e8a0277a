"""A laboratory for Connect Four: bitboards, search and learning, small enough for a reader's head.

The public face: `Position`, a friendly immutable position; `solve` and `solve_many`, exact scores; `make_agent`, an
agent by its name. They are loaded at first use, so that `import c4lib` and the command line start at once.
"""

from importlib import import_module

HOMES = {
    "Position": ".games.position",
    "make_agent": ".agents",
    "solve": ".search.solver",
    "solve_many": ".search.solver",
}  # where each public name lives
__all__ = ["Position", "make_agent", "solve", "solve_many"]


def __getattr__(name):
    if name not in HOMES:
        raise AttributeError(f"module 'c4lib' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(HOMES[name], __name__), name)
    return found
