"""Every figure and board picture: the style, the one writer of figures/, boards and bitboards drawn.

Boards are drawn in cells: the cell of bit `column * height + row` has its middle at `(column, row)` of the axes, so
whatever else a picture needs can be put on top with matplotlib's own calls. Othello's are numbered row by row instead.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from . import paths
from .bits import bit_indices
from .games.connect4 import STANDARD, Geometry
from .games.position import BOARD_COLOUR, COLOURS, Position
from .resume import writing
from .search.tracing import Node

# Okabe and Ito's colours, apart for every kind of colour vision, and what goes around them
BLUE, ORANGE, GREEN, VERMILLION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
PURPLE, SKY, YELLOW, GREY = "#cc79a7", "#56b4e9", "#f0e442", "#6b7280"
INK, PALE, FAINT = "#1f2933", "#e9edf2", "#9aa5b1"


def use_style() -> None:
    """Draw in the lab's style from here on."""
    plt.style.use(paths.PACKAGE / "c4.mplstyle")


def save_figure(figure: Figure, name: str, kind: str = "svg") -> None:
    """Write a figure into figures/, whole or not at all; the same bytes for the same figure.

    Returns nothing: as the last line of a notebook's cell it would print a path of this machine.

    Args:
        figure: what to save.
        name: number of the notebook and a few words, without an ending: "01_layout".
        kind: "svg", or "png" where a figure has thousands of marks.
    """
    if not re.fullmatch(r"\d\d_[a-z0-9_]+", name):
        raise ValueError(f"a figure is named like '01_layout', by its notebook's number and without ending: {name!r}")
    if kind not in ("svg", "png"):
        raise ValueError(f"a figure is an svg or a png, not {kind!r}")
    marks = {"svg": ("Date", "Creator"), "png": ("Software",)}[kind]  # what matplotlib adds by itself
    paths.FIGURES.mkdir(parents=True, exist_ok=True)
    file = paths.FIGURES / f"{name}.{kind}"
    # text as outlines, so that no reader's fonts change it; identifiers from the name instead of from chance
    with plt.rc_context({"svg.fonttype": "path", "svg.hashsalt": name}), writing(file) as beside:
        figure.savefig(beside, format=kind, metadata=dict.fromkeys(marks))


def draw_board(
    ax: Axes,
    position: Position,
    *,
    labels: Mapping[int, object] | None = None,
    rings: int = 0,
    dots: Mapping[str, int] | None = None,
    sentinels: bool = False,
    column_numbers: bool = True,
) -> None:
    """Draw a position as the game looks: yellow is the first player, vermillion the second.

    Args:
        ax: where to draw; its frame is taken away.
        position: on a board of any size.
        labels: by bit, what to write into a cell.
        rings: bitboard of the cells to ring.
        dots: by colour, a bitboard of cells that get a small dot.
        sentinels: show the row of sentinels above the board.
        column_numbers: write the columns' numbers below the board.
    """
    geometry = position.geometry
    columns, rows, _ = geometry
    labels, dots = labels or {}, dots or {}
    frame = FancyBboxPatch((-0.5, -0.5), columns, rows, boxstyle="round,pad=0.06,rounding_size=0.3", fc=BOARD_COLOUR)
    ax.add_patch(frame)
    first, second = position.boards if position.mover == 1 else position.boards[::-1]
    for index in bit_indices(geometry.board):
        stone = 1 if first >> index & 1 else -1 if second >> index & 1 else 0
        fill = COLOURS[stone] if stone else PALE
        ring = {"ec": "white", "lw": 3} if rings >> index & 1 else {}
        ax.add_patch(Circle(divmod(index, geometry.height), 0.41, fc=fill, **ring))
        if ring:  # a dark line around the light one: seen on every fill
            ax.add_patch(Circle(divmod(index, geometry.height), 0.45, fill=False, ec=INK, lw=1.5))
    if sentinels:
        for column in range(columns):
            ax.add_patch(Circle((column, rows + 0.12), 0.41, fill=False, ec=FAINT, lw=1, ls=(0, (3, 2))))
    spread = [0.0] if len(dots) < 2 else [-0.17 + 0.34 * i / (len(dots) - 1) for i in range(len(dots))]
    for (colour, cells), shift in zip(dots.items(), spread, strict=False):
        for index in bit_indices(cells):
            column, row = divmod(index, geometry.height)
            ax.add_patch(Circle((column + shift, row), 0.14, fc=colour, ec=INK, lw=0.8))
    for index, label in labels.items():
        column, row = divmod(index, geometry.height)
        sentinel = row == rows
        colour = GREY if sentinel else INK
        ax.text(column, row + 0.12 * sentinel, str(label), color=colour, ha="center", va="center_baseline")
    _finish(ax, geometry, sentinels, range(columns) if column_numbers else ())


def draw_bits(
    ax: Axes,
    bitboard: int,
    geometry: Geometry = STANDARD,
    *,
    colour: str = BLUE,
    ghosts: int = 0,
    labels: Mapping[int, object] | None = None,
    arrows: Iterable[tuple[int, int]] = (),
    title: str = "",
    note: str = "",
    sentinels: bool = True,
    feet: Sequence[object] = (),
) -> None:
    """Draw one bitboard as a grid: a filled square is a 1, a pale one a 0, the sentinels stand apart on top.

    Args:
        ax: where to draw; its frame is taken away.
        bitboard: any pattern, reachable or not.
        geometry: the board that it is of.
        colour: of the ones.
        ghosts: a bitboard to outline: what was there before.
        labels: by bit, what to write into a cell.
        arrows: pairs of bits, from and to.
        title: an expression, set in typewriter letters.
        note: a few words for below.
        sentinels: show the row of sentinels.
        feet: what to write below the columns.
    """
    columns, rows, _ = geometry
    every_bit = (1 << geometry.height * columns) - 1
    if bitboard & ~every_bit:
        raise ValueError(f"there are bits outside the board of {columns} x {rows} and its sentinels")
    for index in range(geometry.height * columns):
        column, row = divmod(index, geometry.height)
        if row == rows and not sentinels:
            continue
        lift = _lift(row, rows)
        one = bitboard >> index & 1
        box = {"fc": colour if one else PALE if row < rows else "white"}
        if row == rows and not one:
            box |= {"ec": FAINT, "lw": 0.8, "ls": (0, (3, 2))}
        style = "round,pad=0,rounding_size=0.12"
        ax.add_patch(FancyBboxPatch((column - 0.45, row - 0.45 + lift), 0.9, 0.9, boxstyle=style, **box))
        if ghosts >> index & 1:
            ghost = FancyBboxPatch((column - 0.37, row - 0.37 + lift), 0.74, 0.74, boxstyle=style, fill=False)
            ghost.set(edgecolor=colour, linewidth=1.2, linestyle=(0, (2, 1.5)))
            ax.add_patch(ghost)
        if labels and index in labels:
            text = ax.text(column, row + lift, str(labels[index]), ha="center", va="center_baseline")
            text.set_color(_ink_on(colour) if one else GREY if row == rows else INK)
    for start, end in arrows:
        cells = (divmod(index, geometry.height) for index in (start, end))
        ax.add_patch(_arrow(*((column, row + _lift(row, rows)) for column, row in cells)))
    if title:
        ax.set_title(title, family="monospace", loc="center", size=10.5)
    if note:
        ax.text((columns - 1) / 2, -1.45 if feet else -0.85, note, color=GREY, size="small", ha="center", va="top")
    _finish(ax, geometry, sentinels, feet)


def draw_cells(
    ax: Axes,
    *,
    black: int = 0,
    white: int = 0,
    size: int = 8,
    fills: Mapping[str, int] | None = None,
    labels: Mapping[int, object] | None = None,
    arrows: Iterable[tuple[int, int]] = (),
    title: str = "",
    note: str = "",
    names: bool = True,
) -> None:
    """Draw an Othello board, or a bitboard of it: bit `row * size + column` has its middle at `(column, row)`.

    Args:
        ax: where to draw, downwards; its frame is taken away.
        black: bitboard of the first player's discs.
        white: the same of the second player's.
        size: of the board.
        fills: by colour, a bitboard of cells to fill; a later one covers an earlier one.
        labels: by bit, what to write into a cell.
        arrows: pairs of bits, from and to.
        title: an expression, set in typewriter letters.
        note: a few words for below.
        names: write the columns' letters and the rows' numbers beside the board.
    """
    for index in range(size * size):
        row, column = divmod(index, size)
        fill = PALE
        for colour, cells in (fills or {}).items():
            fill = colour if cells >> index & 1 else fill
        style = "round,pad=0,rounding_size=0.12"
        ax.add_patch(FancyBboxPatch((column - 0.45, row - 0.45), 0.9, 0.9, boxstyle=style, fc=fill))
        for discs, colour in ((black, INK), (white, "white")):
            if discs >> index & 1:
                fill = colour
                ax.add_patch(Circle((column, row), 0.34, fc=fill, ec=INK, lw=1))
        if labels and index in labels:
            ax.text(column, row, str(labels[index]), ha="center", va="center_baseline", color=_ink_on(fill))
    for pair in arrows:
        ax.add_patch(_arrow(*(divmod(index, size)[::-1] for index in pair)))
    for i in range(size) if names else ():
        ax.text(i, -0.85, "abcdefgh"[i], color=GREY, size="small", ha="center", va="center_baseline")
        ax.text(-0.85, i, str(i + 1), color=GREY, size="small", ha="center", va="center_baseline")
    if title:
        ax.set_title(title, family="monospace", loc="center", size=10.5)
    if note:
        ax.text((size - 1) / 2, size - 0.3, note, color=GREY, size="small", ha="center", va="top")
    ax.set(xlim=(-1.1 if names else -0.6, size - 0.4), ylim=(size - 0.4, -1.1 if names else -0.6))
    ax.set_aspect("equal")
    ax.axis("off")


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> FancyArrowPatch:
    """From the middle of one cell to that of another; bent and dashed where it leaps over others."""
    far = max(abs(b - a) for a, b in zip(start, end, strict=True)) > 1.5
    return FancyArrowPatch(
        start,
        end,
        connectionstyle=f"arc3,rad={-0.25 if far else 0}",
        arrowstyle="-|>",
        mutation_scale=12,
        shrinkA=7,
        shrinkB=7,
        color=ORANGE,
        lw=1.5 if far else 2,
        ls=(0, (4, 2)) if far else "-",
    )


def _ink_on(colour: str) -> str:
    """White or ink, whichever is easier to read on a colour."""
    red, green, blue = to_rgb(colour)
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 0.55 else "white"


def _lift(row: int, rows: int) -> float:
    """How far above its place a cell is drawn: sentinels keep a little distance."""
    return 0.12 if row == rows else 0.0


def _finish(ax: Axes, geometry: Geometry, sentinels: bool, feet: Sequence[object]) -> None:
    """What stands below the columns, limits, and no frame."""
    columns, rows, _ = geometry
    for column, foot in enumerate(feet):
        ax.text(column, -0.95, str(foot), color=GREY, size="small", ha="center", va="center_baseline")
    ax.set(xlim=(-0.65, columns - 0.35), ylim=(-1.2 if feet else -0.65, rows - 0.35 + 1.15 * sentinels))
    ax.set_aspect("equal")
    ax.axis("off")


def draw_tree(ax: Axes, root: Node, *, labels: bool = True) -> None:
    """Draw a recorded search tree, root on top: cut-off nodes orange, what they never tried grey.

    Args:
        ax: where to draw; its frame is taken away.
        root: what `search.tracing.record` returned.
        labels: write the columns of the first moves beside their nodes.
    """
    places: dict[int, tuple[float, int]] = {}
    grey: list[tuple] = []
    lines: list[tuple] = []
    width = 0.0

    def place(node: Node, ply: int) -> float:
        nonlocal width
        spots = [place(child, ply + 1) for child in node.children]
        for _ in node.pruned:
            spots.append(width)
            width += 0.45
        if not spots:
            spots = [width]
            width += 1.0
        x = (spots[0] + spots[-1]) / 2
        places[id(node)] = (x, -ply)
        tried = len(node.children)
        lines.extend(((x, -ply), (spot, -ply - 1)) for spot in spots[:tried])
        if node.pruned:
            grey.extend(((x, -ply), (spot, -ply - 0.55)) for spot in spots[tried:])
        return x

    def visit(node: Node):
        yield node
        for child in node.children:
            yield from visit(child)

    place(root, 0)
    ax.add_collection(LineCollection(grey, colors=FAINT, linewidths=0.7, alpha=0.8))
    ax.add_collection(LineCollection(lines, colors=INK, linewidths=0.9))
    nodes = list(visit(root))
    for colour, chosen in ((BLUE, [n for n in nodes if not n.pruned]), (ORANGE, [n for n in nodes if n.pruned])):
        if chosen:
            x, y = zip(*(places[id(node)] for node in chosen), strict=True)
            ax.scatter(x, y, s=[90 if node is root else 26 for node in chosen], color=colour, zorder=3)
    for child in root.children if labels else []:
        x, y = places[id(child)]
        ax.annotate(str(child.column), (x, y), xytext=(5, 4), textcoords="offset points", size=9, color=INK)
    ax.set(xlim=(-1, width), ylim=(min(y for _, y in places.values()) - 0.7, 0.4))
    ax.axis("off")


def draw_steps(ax: Axes, steps: Iterable[tuple[str, str]]) -> None:
    """Draw a decision as a column of boxes: each step a question, and beside it what a yes leads to.

    Args:
        ax: where to draw; its frame is taken away.
        steps: pairs of question and outcome, from the top.
    """
    steps = list(steps)
    for i, (question, outcome) in enumerate(steps):
        y = -i
        last = i == len(steps) - 1
        for x, text, fill, colour in ((0, question, PALE, INK), (3.1, outcome, "white" if not last else BLUE, INK)):
            box = FancyBboxPatch((x, y - 0.32), 2.6, 0.64, boxstyle="round,pad=0,rounding_size=0.12", fc=fill)
            box.set(edgecolor=BLUE if x else FAINT, linewidth=1.2)
            ax.add_patch(box)
            ink = "white" if last and x else colour
            ax.text(x + 1.3, y, text, ha="center", va="center", color=ink, size=10)
        ax.add_patch(FancyArrowPatch((2.6, y), (3.1, y), arrowstyle="-|>", mutation_scale=12, color=BLUE, lw=1.4))
        if not last:
            down = FancyArrowPatch((1.3, y - 0.32), (1.3, y - 0.68), arrowstyle="-|>", mutation_scale=12, lw=1.4)
            down.set_color(GREY)
            ax.add_patch(down)
    ax.set(xlim=(-0.1, 5.8), ylim=(-len(steps) + 0.4, 0.5))
    ax.axis("off")
