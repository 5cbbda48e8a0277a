"""Figures: the same bytes for the same picture, refused names, and as many stones and bits as there are."""

from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from c4lib import Position, paths, viz
from c4lib.games.connect4 import Geometry
from c4lib.games.position import COLOURS

matplotlib.use("Agg")

MIDDLE = Position.from_moves("542444426451365566")  # nine stones of each
LARGE = Position.from_moves([0, 9, 4, 4, 4], columns=10, rows=10)


@pytest.fixture(autouse=True)
def figures(tmp_path, monkeypatch):
    """A folder that takes the place of figures/; the style is put back."""
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "figures")
    with plt.rc_context():
        yield tmp_path / "figures"
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots()[1]


def some_figure():
    viz.use_style()
    figure, axes = plt.subplots(1, 2)
    axes[0].plot(np.arange(5), label="line")
    axes[0].legend()
    axes[0].set_title("a title")
    viz.draw_board(axes[1], MIDDLE)
    return figure


def shapes(ax, kind, colour=None):
    """The shapes of a kind that are filled, with a colour where one is given."""
    found = [patch for patch in ax.patches if type(patch) is kind and patch.get_fill()]
    return [patch for patch in found if colour is None or same_color(patch.get_facecolor(), colour)]


def written(ax):
    return [text.get_text() for text in ax.texts]


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_figure_gives_the_same_bytes(figures, kind):
    contents = []
    for _ in range(2):
        viz.save_figure(some_figure(), "01_some_name", kind)
        [file] = figures.iterdir()  # and nothing else is left behind
        assert file.name == f"01_some_name.{kind}"
        contents.append(file.read_bytes())
    assert contents[0] == contents[1]
    assert b"matplotlib.org" not in contents[0]  # its version would be a reason to differ


def test_an_svg_holds_outlines_in_place_of_fonts(figures):
    viz.save_figure(some_figure(), "01_outlines")
    root = ElementTree.fromstring((figures / "01_outlines.svg").read_text(encoding="utf-8"))
    assert not list(root.iter("{http://www.w3.org/2000/svg}text"))


def test_saving_prints_nothing_in_a_notebook():
    assert viz.save_figure(some_figure(), "01_quiet") is None


@pytest.mark.parametrize(
    "name", ["layout", "1_layout", "01", "01_", "01-layout", "01_layout.svg", "01_Layout", "../01_x"]
)
def test_names_without_a_number_are_refused(figures, name):
    with pytest.raises(ValueError, match="named like"):
        viz.save_figure(plt.figure(), name)
    assert not figures.exists()


def test_other_kinds_of_files_are_refused(figures):
    with pytest.raises(ValueError, match="svg or a png"):
        viz.save_figure(plt.figure(), "01_layout", "jpg")
    assert not figures.exists()


def test_the_style_uses_fonts_that_every_matplotlib_has():
    viz.use_style()
    for family in plt.rcParams["font.family"] + ["DejaVu Sans Mono"]:
        file = matplotlib.font_manager.findfont(family, fallback_to_default=False)
        assert file.startswith(matplotlib.get_data_path())


# --- boards ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [Position(), MIDDLE, MIDDLE.mirror(), LARGE, MIDDLE.play(0)], ids=repr)
def test_a_board_has_a_hole_for_every_cell_and_the_right_stones(ax, position):
    viz.draw_board(ax, position)
    assert len(shapes(ax, Circle)) == position.geometry.columns * position.geometry.rows
    state = position.state
    for player in (1, -1):
        at = sorted(tuple(circle.center) for circle in shapes(ax, Circle, COLOURS[player]))
        rows, columns = np.nonzero(state == player)
        assert at == sorted((int(c), position.geometry.rows - 1 - int(r)) for r, c in zip(rows, columns, strict=True))


def test_a_board_shows_labels_column_numbers_and_sentinels(ax):
    viz.draw_board(ax, MIDDLE, labels={3: "three", 6: "sentinel"}, sentinels=True)
    assert written(ax) == ["three", "sentinel", *"0123456"]
    dashed = [patch for patch in ax.patches if isinstance(patch, Circle) and not patch.get_fill()]
    assert len(dashed) == 7


def test_a_board_without_column_numbers(ax):
    viz.draw_board(ax, MIDDLE, column_numbers=False)
    assert written(ax) == []


def test_rings_and_dots_mark_cells(ax):
    viz.draw_board(ax, Position(), rings=1 << 8 | 1 << 0, dots={viz.YELLOW: 1 << 3 | 1 << 4, viz.VERMILLION: 1 << 4})
    rings = [patch for patch in ax.patches if isinstance(patch, Circle) and not patch.get_fill()]
    assert sorted(tuple(ring.center) for ring in rings) == [(0, 0), (1, 1)]
    yellow, red = (shapes(ax, Circle, colour) for colour in (viz.YELLOW, viz.VERMILLION))
    assert [dot.center[1] for dot in yellow] == [3, 4]
    [dot] = red
    assert dot.center[0] > yellow[1].center[0]  # side by side where both are


# --- bitboards ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", [Geometry(), Geometry(10, 10, 5), Geometry(1, 1, 1)])
def test_ones_are_filled(ax, geometry):
    every_bit = (1 << geometry.columns * geometry.height) - 1
    bits = 0x5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A & every_bit
    viz.draw_bits(ax, bits, geometry)
    assert len(shapes(ax, FancyBboxPatch)) == every_bit.bit_count()
    assert len(shapes(ax, FancyBboxPatch, viz.BLUE)) == bits.bit_count()


def test_sentinels_can_be_left_out(ax):
    viz.draw_bits(ax, 0, sentinels=False)
    assert len(shapes(ax, FancyBboxPatch)) == 42


def test_what_is_written_around_bits(ax):
    viz.draw_bits(ax, 1, labels={0: "one"}, title="x & y", note="a note", feet=[4, 5], arrows=[(0, 8)], ghosts=6)
    assert written(ax) == ["one", "a note", "4", "5"]
    assert ax.get_title() == "x & y"
    assert len([patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]) == 1
    assert len([patch for patch in ax.patches if not patch.get_fill()]) == 2  # the ghosts


@pytest.mark.parametrize("size", [4, 6, 8])
def test_othello_is_drawn_row_by_row_from_the_top(ax, size):
    first, second = 1 << size - 1, 1 << size * size - 1  # the last cell of the first row, and of the last one
    viz.draw_cells(ax, black=first, white=second, size=size, fills={viz.GREEN: second, viz.ORANGE: 1})
    assert [disc.center for disc in shapes(ax, Circle, viz.INK)] == [(size - 1, 0)]
    assert [disc.center for disc in shapes(ax, Circle, "white")] == [(size - 1, size - 1)]
    [cell] = shapes(ax, FancyBboxPatch, viz.ORANGE)
    assert (cell.get_x(), cell.get_y()) == (-0.45, -0.45)
    assert len(shapes(ax, FancyBboxPatch)) == size * size
    assert ax.yaxis_inverted()
    assert written(ax)[:4] == ["a", "1", "b", "2"]


def test_what_is_written_around_cells(ax):
    viz.draw_cells(ax, labels={63: "last"}, arrows=[(31, 32)], title="x << 1", note="a note", names=False)
    assert written(ax) == ["last", "a note"]
    assert ax.get_title() == "x << 1"
    assert len([patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]) == 1


@pytest.mark.parametrize("bits", [1 << 49, -1])
def test_bits_outside_the_board_are_refused(ax, bits):
    with pytest.raises(ValueError, match="outside the board"):
        viz.draw_bits(ax, bits)
