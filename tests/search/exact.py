"""Exact scores by the engine, which searches to the end of the game and shares no kernel with the solver."""

from functools import cache

from c4lib.bits import popcount
from c4lib.games.connect4 import Geometry, has_line
from c4lib.search.evaluation import DECIDED, WIN
from c4lib.search.negamax import Engine, SearchOptions


class FullDepth:
    """`FullDepth(geometry)(own, opp)` is the score of a position, finished or not, for the side to move."""

    def __init__(self, geometry: Geometry):
        self.geometry = geometry
        self.cells = geometry.columns * geometry.rows
        self._engine = Engine(geometry, SearchOptions(depth_exact=True, table_bits=18))

    def __call__(self, own: int, opp: int) -> int:
        stones = popcount(own | opp)
        if has_line(opp, self.geometry.rows, self.geometry.inarow):
            return -self._in_hand(stones)
        if stones == self.cells:
            return 0
        found = self._engine.search(own, opp, depth=self.cells)
        if abs(found.score) <= DECIDED:
            assert (found.depth, found.score) == (self.cells - stones, 0)
            return 0
        return self._in_hand(WIN - abs(found.score)) * (1 if found.score > 0 else -1)

    def _in_hand(self, stones):
        """Stones that the winner still has, counting his last, where the game ended with so many on the board."""
        return (self.cells + 2 - stones) // 2


@cache
def full_depth(geometry: Geometry) -> FullDepth:
    """One for each board."""
    return FullDepth(geometry)
