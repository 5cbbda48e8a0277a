import pytest

from c4lib.games.connect4 import BOARD, BOTTOM, COLUMNS, INAROW, ROWS, Connect4, Geometry
from c4lib.jit import build, kernel
from c4lib.search import evaluation, minimax

from . import plain
from .positions import random_boards

GEOMETRIES = [(7, 6, 4), (4, 5, 3), (8, 7, 4), (5, 5, 5), (1, 4, 2), (2, 3, 2), (9, 5, 6), (10, 10, 5)]


@kernel
def compiled_evaluation(own, opp):
    return evaluation.evaluate(own, opp, COLUMNS, ROWS, INAROW, BOTTOM, BOARD)


@kernel
def compiled_windows(own, opp):
    return minimax.window_evaluation(own, opp, BOARD, COLUMNS, ROWS, INAROW)


@pytest.mark.parametrize("size", GEOMETRIES, ids=str)
def test_terms_equal_a_loop_over_cells(size):
    g = Geometry(*size)
    for own, opp in random_boards(Connect4(*size), 100, seed=1):
        cells = plain.grid(g, own, opp)
        threats = evaluation.threats(own, opp, g.rows, g.inarow, g.bottom, g.board)
        assert threats == plain.threats(g, cells)
        assert evaluation.lines(own, opp, g.board, g.rows, g.inarow) == plain.lines(g, cells)
        assert evaluation.centre(own, opp, g.columns, g.rows) == plain.centre(g, cells)
        windows = minimax.window_evaluation(own, opp, g.board, g.columns, g.rows, g.inarow)
        assert windows == plain.window_evaluation(g, cells)


@pytest.mark.parametrize("size", [size for size in GEOMETRIES if Geometry(*size).fits_64_bits], ids=str)
def test_compiled_equals_python(size):
    g = Geometry(*size)
    evaluate, windows = (build(f, **g.constants) for f in (compiled_evaluation, compiled_windows))
    for own, opp in random_boards(Connect4(*size), 200, seed=2):
        assert evaluate(own, opp) == evaluation.evaluate(own, opp, *size, g.bottom, g.board)
        assert windows(own, opp) == minimax.window_evaluation(own, opp, g.board, *size)


@pytest.mark.parametrize("size", GEOMETRIES, ids=str)
def test_lines_centre_and_windows_change_sign_with_the_sides(size):
    g = Geometry(*size)
    for own, opp in random_boards(Connect4(*size), 50, seed=3):
        assert evaluation.lines(own, opp, g.board, g.rows, g.inarow) == -evaluation.lines(
            opp, own, g.board, g.rows, g.inarow
        )
        assert evaluation.centre(own, opp, g.columns, g.rows) == -evaluation.centre(opp, own, g.columns, g.rows)
        assert minimax.window_evaluation(own, opp, g.board, *size) == -minimax.window_evaluation(
            opp, own, g.board, *size
        )


def test_known_values():
    """Three on the bottom row with both ends open: a fork for its owner, whoever is to move."""
    g = Geometry()
    three = 1 << 14 | 1 << 21 | 1 << 28
    above = 1 << 15 | 1 << 22 | 1 << 29
    assert evaluation.threats(three, above, g.rows, g.inarow, g.bottom, g.board) == evaluation.OWN_FORK
    assert evaluation.threats(above, three, g.rows, g.inarow, g.bottom, g.board) == evaluation.OPPONENT_FORK
    blocking = 1 << 15 | 1 << 30 | 1 << 35
    assert evaluation.threats(three, blocking, g.rows, g.inarow, g.bottom, g.board) == evaluation.OWN_THREAT
    assert evaluation.threats(blocking, three, g.rows, g.inarow, g.bottom, g.board) == 0
    # one stone bottom centre: 4 horizontal, 1 vertical and 2 diagonal windows, and the centre column's weight
    assert evaluation.evaluate(1 << 21, 0, *g, g.bottom, g.board) == 7 + evaluation.CENTRE


def test_evaluation_stays_below_decided():
    """Even a full board of one colour stays below a proven result on the largest board of the Kaggle checks."""
    g = Geometry(20, 20, 4)
    assert evaluation.evaluate(g.board, 0, *g, g.bottom, g.board) < evaluation.DECIDED
