"""Watches the engine think: records the tree that one search visits, with nothing added to the search itself."""

from dataclasses import dataclass, field

from ..bits import bit_indices
from ..games.connect4 import STANDARD, Geometry, column_cells, playable
from .negamax import Engine, SearchOptions


@dataclass
class Node:
    """A visited position. Scores and windows are for its side to move."""

    own: int
    opp: int
    depth: int  # plies left
    alpha: int
    beta: int
    column: int | None = None  # that led here; None for the root
    score: int = 0  # as returned: exact within (alpha, beta), else a bound
    children: list["Node"] = field(default_factory=list)
    pruned: list[int] = field(default_factory=list)  # columns that were not tried after a cutoff

    @property
    def visited(self) -> int:
        """Nodes of the tree from here, this one included."""
        return 1 + sum(child.visited for child in self.children)


def record(own: int, opp: int, depth: int, options: SearchOptions, geometry: Geometry = STANDARD) -> Node:
    """The tree of one search to `depth` plies, as the engine's own kernel visits it (interpreted, so keep it small).

    With `deepening` the tree is that of the last iteration; a child that is searched again appears again.
    """
    engine = Engine(geometry, options, compiled=False)
    namespace = engine.kernel.namespace
    original = namespace["negamax"]
    path: list[Node] = []
    roots: list[Node] = []

    def watched(own, opp, depth, alpha, beta, memory, table):
        node = Node(own, opp, depth, alpha, beta)
        if path:
            node.column = _column_between(path[-1], node, geometry)
            path[-1].children.append(node)
        else:
            roots.append(node)
        path.append(node)
        node.score = original(own, opp, depth, alpha, beta, memory, table)
        path.pop()
        if node.children:
            tried = {child.column for child in node.children}
            moves = playable(own | opp, geometry.bottom, geometry.board)
            legal = [column for column in range(geometry.columns) if moves & column_cells(column, geometry.rows)]
            node.pruned = [column for column in legal if column not in tried]
        return node.score

    watched.namespace = namespace
    namespace["negamax"] = engine.kernel = watched
    try:
        engine.search(own, opp, depth=depth)
    finally:
        namespace["negamax"] = original  # the instance is shared
    return roots[-1]


def _column_between(parent: Node, child: Node, geometry: Geometry) -> int:
    """The column of the stone that a child has and its parent has not."""
    stone = (child.own | child.opp) ^ (parent.own | parent.opp)
    return bit_indices(stone)[0] // geometry.height
