"""Every distinct position of Connect Four, ply by ply: the functions on bitboards at work on whole arrays of them."""

from collections.abc import Iterator

import numpy as np

from .connect4 import STANDARD, Geometry, column_cells, has_line, key, mirror, playable


def levels(plies: int, geometry: Geometry = STANDARD) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Arrays (own, opp) of all positions after 0, 1, ... `plies` plies, each position once, in the order of keys.

    A finished game is a position too, but is not played on. Boards that do not fit 64 bits are Python integers in
    arrays of objects: slower, and the same.
    """
    columns, rows, inarow = geometry
    own = opp = np.zeros(1, np.int64 if geometry.fits_64_bits else object)
    yield own, opp
    for _ in range(plies):
        goes_on = ~has_line(opp, rows, inarow)
        own, opp = own[goes_on], opp[goes_on]
        moves = playable(own | opp, geometry.bottom, geometry.board)
        children = []
        for column in range(columns):
            move = moves & column_cells(column, rows)
            can = move != 0
            children.append((opp[can], own[can] | move[can]))
        own, opp = (np.concatenate(boards) for boards in zip(*children, strict=True))
        _, first = np.unique(key(own, opp), return_index=True)
        own, opp = own[first], opp[first]
        yield own, opp


def canonical_keys(own: np.ndarray, opp: np.ndarray, geometry: Geometry = STANDARD) -> np.ndarray:
    """The canonical keys of arrays of positions, without repetition: one for each pair of mirror images."""
    keys = key(own, opp)
    return np.unique(np.minimum(keys, mirror(keys, geometry.columns, geometry.rows)))
