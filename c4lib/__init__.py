"""A laboratory for Connect Four: bitboards, search and learning, small enough for a reader's head.

The public face: `Position`, a friendly immutable position, and `make_agent`, an agent by its name. They are loaded
at first use, so that `import c4lib` and the command line start at once.
"""

__all__ = ["Position", "make_agent"]


def __getattr__(name):
    if name == "Position":
        from .games.position import Position as found
    elif name == "make_agent":
        from .agents import make_agent as found
    else:
        raise AttributeError(f"module 'c4lib' has no attribute {name!r}")
    globals()[name] = found
    return found
