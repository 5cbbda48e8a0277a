"""`Position` against the plain twin, its own round trips, and the bad input it must refuse."""

import copy
import dataclasses
import pickle
import xml.etree.ElementTree as ElementTree
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c4lib.games.connect4 import STANDARD, Geometry
from c4lib.games.position import COLOURS, LABEL_COLOUR, Position

from . import plain

boards = pytest.mark.parametrize(("columns", "rows", "inarow"), plain.BOARDS)
SIGN = {"x": 1, "o": -1, None: None}


@st.composite
def games(draw):
    """(columns, rows, inarow) and the columns of a game, broken off anywhere."""
    board = draw(st.sampled_from(plain.BOARDS) | st.tuples(*[st.integers(1, 6)] * 3))
    columns, rows, inarow = board
    choices = draw(st.lists(st.integers(0, 10**6), max_size=60))
    grid, moves = plain.empty_grid(columns, rows), []
    for choice in choices:
        if plain.is_over(grid, inarow):
            break
        moves.append(plain.open_columns(grid)[choice % len(plain.open_columns(grid))])
        grid = plain.played(grid, moves[-1])
    return board, moves


# --- agreement with the plain twin ----------------------------------------------------------------------------------


@boards
def test_random_games_agree_with_the_plain_twin(columns, rows, inarow):
    shape = (columns, rows, inarow)
    outcomes = Counter()
    count = 150 if shape == STANDARD else 2 if columns * rows > 60 else 10
    for moves, grids in plain.random_games(count, *shape, seed=11):
        position = Position(geometry=Geometry(*shape))
        for ply, grid in enumerate(grids):
            if ply:
                position = position.play(moves[ply - 1])
            over = plain.is_over(grid, inarow)
            winner = plain.winner(grid, inarow)
            held = [cell for line in plain.lines_held(grid, winner, inarow) for cell in line] if winner else []
            assert str(position) == plain.text(grid)
            assert position.boards == (position.own, position.opp) == plain.boards_of(grid)
            assert position.state.dtype == np.int8
            assert np.array_equal(position.state, plain.state_of(grid))
            assert position.plies == plain.stones(grid) == ply
            assert position.mover == SIGN[plain.mover(grid)]
            assert position.winner == SIGN[winner]
            assert position.is_over is over
            assert position.is_draw is (over and winner is None)
            assert position.legal_moves == (() if over else tuple(plain.open_columns(grid)))
            assert position.winning_line == plain.bits_of(set(held), columns, rows)
            assert str(position.mirror()) == plain.text(plain.mirrored(grid))
            assert position.moves == tuple(moves[:ply])
            assert position.mirror().moves == tuple(columns - 1 - column for column in moves[:ply])
        assert Position.from_moves(moves, *shape) == position
        outcomes[position.winner] += 1
    assert sum(outcomes.values()) == count
    if shape == STANDARD:  # a draw is rare, and both sides must have won
        assert outcomes[1] > 40
        assert outcomes[-1] > 40


def test_a_drawn_game():
    position = Position.from_moves([0, 1, 1, 0, 1, 0, 2, 2, 2], 3, 3, 4)
    assert (position.is_draw, position.is_over, position.winner, position.legal_moves) == (True, True, None, ())
    assert (position.mover, position.plies, position.winning_line) == (-1, 9, 0)


def test_a_full_board_with_a_line_is_no_draw():
    position = Position.from_moves("1", 1, 1, 1)
    assert (position.is_draw, position.is_over, position.winner) == (False, True, 1)


def test_the_empty_board():
    position = Position()
    assert (
        position == Position.from_moves("") == Position.from_moves([]) == Position.from_text("\n".join(["." * 7] * 6))
    )
    assert (position.boards, position.geometry, position.moves, position.mover) == ((0, 0), STANDARD, (), 1)
    assert position.legal_moves == tuple(range(7))


def test_a_known_position():
    position = Position.from_moves("4453")
    assert position == Position.from_moves([3, 3, 4, 2]) == Position.from_moves(np.array([3, 3, 4, 2]))
    assert str(position).splitlines()[-2:] == [". . . o . . .", ". . o x x . ."]
    assert position.moves == (3, 3, 4, 2)
    assert all(type(column) is int for column in Position.from_moves(np.array([3, 3])).moves)


# --- values ---------------------------------------------------------------------------------------------------------


def test_equal_however_it_was_reached():
    one, other = Position.from_moves("1234"), Position.from_moves("3214")
    by_boards = Position(*one.boards)
    assert one == other == by_boards
    assert hash(one) == hash(other) == hash(by_boards)
    assert one.moves != other.moves
    assert by_boards.moves is None
    assert by_boards.play(0).moves is by_boards.mirror().moves is None
    assert one != Position.from_moves("1243")
    assert one != Position.from_moves("1234", inarow=5)
    assert Position() != Position(geometry=Geometry(6, 7, 4))
    assert len({one, other, by_boards, one.play(0)}) == 2


def test_it_cannot_be_changed():
    position = Position.from_moves("44")
    for name in ("own", "opp", "geometry", "moves"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(position, name, 0)
    position.play(0)
    position.state[...] = 1  # an array of its own
    assert position == Position.from_moves("44")
    assert np.count_nonzero(position.state) == 2


def test_copies_and_pickles():
    """Processes hand positions to each other pickled; none is ever kept that way."""
    position = Position.from_moves("4453")
    for twin in (copy.copy(position), copy.deepcopy(position), pickle.loads(pickle.dumps(position))):
        assert (twin, twin.moves) == (position, position.moves)


def test_numpy_integers_become_plain_ones():
    position = Position(np.int64(0), np.int64(1), Geometry(np.int64(7), 6, 4)).play(np.int8(1))
    assert position == Position.from_moves("12")
    assert {type(number) for number in (*position.boards, *position.geometry)} == {int}


@given(games())
def test_a_mirror_twice_is_the_position(game):
    board, moves = game
    position = Position.from_moves(moves, *board)
    assert position.mirror().mirror() == position
    assert position.mirror().mirror().moves == position.moves
    assert position.mirror().mirror().key == position.key
    assert (position.mirror() == position) == (position.mirror().key == position.key)
    assert position.mirror().winner == position.winner


@given(games(), st.sampled_from([str, str.upper, lambda text: text.replace(" ", ""), "\n   {}\n  ".format]))
def test_text_round_trip(game, written):
    board, moves = game
    position = Position.from_moves(moves, *board)
    again = Position.from_text(written(str(position)), inarow=board[2])
    assert again == position
    assert again.moves == (None if moves else ())


@given(games())
def test_repr_is_an_expression_for_the_position(game):
    board, moves = game
    position = Position.from_moves(moves, *board)
    names = {"Position": Position, "Geometry": Geometry}
    again = eval(repr(position), names)
    assert (again, again.moves) == (position, position.moves)
    assert eval(repr(Position(*position.boards, position.geometry)), names) == position


def test_repr_is_short():
    assert repr(Position.from_moves("4453")) == "Position.from_moves('4453')"
    assert repr(Position.from_moves("4", 4, 5, 3)) == "Position.from_moves('4', columns=4, rows=5, inarow=3)"
    assert repr(Position(0, 1)) == "Position(0, 1)"


@given(games())
def test_kaggle_round_trip(game):
    (columns, rows, inarow), moves = game
    position = Position.from_moves(moves, columns, rows, inarow)
    board = [{1: 1, -1: 2, 0: 0}[cell] for cell in position.state.ravel().tolist()]
    observation = {"board": board, "mark": 1, "step": len(moves)}
    configuration = {"columns": columns, "rows": rows, "inarow": inarow, "actTimeout": 2}
    assert Position.from_kaggle(observation, configuration) == position
    assert Position.from_kaggle(SimpleNamespace(**observation), SimpleNamespace(**configuration)) == position
    assert Position.from_kaggle({"board": np.array(board)}, configuration) == position


def test_what_kaggle_really_hands_over():
    make = pytest.importorskip("kaggle_environments").make
    env = make("connectx", configuration={"columns": 8, "rows": 5, "inarow": 3})
    moves = [4, 4, 5, 3, 6]
    for ply, column in enumerate(moves):
        shown = Position.from_kaggle(env.state[0].observation, env.configuration)
        assert shown == Position.from_moves(moves[:ply], 8, 5, 3)
        env.step([column, None] if ply % 2 == 0 else [None, column])
    final = Position.from_kaggle(env.state[0].observation, env.configuration)
    assert final == Position.from_moves(moves, 8, 5, 3)
    assert [seat.reward for seat in env.state] == [final.winner, -final.winner]


# --- bad input ------------------------------------------------------------------------------------------------------

BAD_MOVES = [
    ("44444444", {}, r"move 7 of '44444444': column 4 \(1-based\) is full"),
    ([3] * 7, {}, r"move 7 of \[3, 3, 3, 3, 3, 3, 3\]: column 3 is full"),
    ("448", {}, r"move 3 of '448': column 8 \(1-based\) does not exist: columns are 1 to 7"),
    ("0", {}, r"move 1 of '0': column 0 \(1-based\) does not exist"),
    ([3, 7], {}, r"move 2 of \[3, 7\]: column 7 does not exist: columns are 0 to 6"),
    ([-1], {}, "move 1 of .*: column -1 does not exist"),
    ("11223344", {}, "move 8 of '11223344': the game is over: the first player has won"),
    ("7112233", {"inarow": 3}, "move 7 of '7112233': the game is over: the second player has won"),
    ("11", {"columns": 1, "rows": 1, "inarow": 2}, "move 2 of '11': the game is over: a draw"),
    ("4a", {}, "move 2 of '4a': 'a' is not a digit"),
    ("4 4", {}, "move 2 of '4 4': ' ' is not a digit"),
    ("4²", {}, "move 2 of '4²': '²' is not a digit"),
    ("٤", {}, "is not a digit"),
    ([3, True], {}, r"move 2 of \[3, True\]: column must be an integer, not True"),
    ([3, 2.0], {}, r"move 2 of \[3, 2.0\]: column must be an integer, not 2.0"),
    (["4", "4"], {}, "move 1 of .*: column must be an integer, not '4'"),
    ([None], {}, "must be an integer, not None"),
    ([np.bool_(True)], {}, "must be an integer"),
    ("4", {"columns": 0}, "columns must be a positive integer, not 0"),
    ("4", {"rows": 6.0}, r"rows must be a positive integer, not 6\.0"),
    ("4", {"inarow": True}, "inarow must be a positive integer, not True"),
]


@pytest.mark.parametrize(("moves", "board", "message"), BAD_MOVES)
def test_moves_that_cannot_be(moves, board, message):
    with pytest.raises(ValueError, match=message):
        Position.from_moves(moves, **board)


@pytest.mark.parametrize("column", [-1, 7, 10**30, True, 1.0, "1", None, np.float64(1), [1]])
def test_columns_that_cannot_be_played(column):
    with pytest.raises(ValueError, match="column"):
        Position().play(column)


BAD_TEXTS = {
    "no text": ("", 4, "columns must be a positive integer"),
    "an unknown letter": ("...\n.z.", 4, "row 1 from the top, column 1: 'z' is none of 'x', 'o', '.'"),
    "a digit": ("...\n.1.", 4, "row 1 from the top, column 1: '1'"),
    "a ragged row": ("...\nxo", 4, "row 1 from the top is 2 wide, and row 0 is 3"),
    "an empty row inside": ("...\n\nxo.", 4, "row 1 from the top is 0 wide"),
    "a floating stone": ("..x\n...\n.ox\nxo.", 4, "the stone in column 2, row 1 from the bottom rests on nothing"),
    "a stone in the air": (".x.\n...", 4, "the stone in column 1, row 1 from the bottom rests on nothing"),
    "too many of the first": ("xx.", 4, "2 stones of the first player and 0 of the second"),
    "too many of the second": ("xoo", 4, "1 stones of the first player and 2 of the second"),
    "the second player began": ("o..", 4, "0 stones of the first player and 1 of the second"),
    "two winners": ("xxx\nooo", 3, "both players have 3 in a row"),
    "the first won, the second moved last": (
        "oo..\nxxxo",
        3,
        "the first player has 3 in a row, but the second player moved last",
    ),
    "the second won, the first moved last": (
        "xx.x\nooox",
        3,
        "the second player has 3 in a row, but the first player moved last",
    ),
    "the line was there before the last stone": (
        "oxo..\nxxxo.",
        3,
        "no single last stone can have completed the lines of the first player",
    ),
    "two lines without a common stone": (
        "oo.oo..\nxxxoxxx",
        3,
        "no single last stone can have completed the lines of the first player",
    ),
    "the last to move is covered": ("x.\no.", 4, "the second player moved last, but has no stone on top of a column"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_texts_that_cannot_be(name):
    text, inarow, message = BAD_TEXTS[name]
    with pytest.raises(ValueError, match=message):
        Position.from_text(text, inarow)


def test_two_lines_at_once_are_allowed_where_one_stone_completes_both():
    position = Position.from_text("ooo.ooo\nxxxxxxx", inarow=4)
    assert position.winner == 1
    assert position.winning_line.bit_count() == 7
    with pytest.raises(ValueError, match="no single last stone"):
        Position.from_text("o.....o\noo.ooox\nxxxxxxx", inarow=4)


BAD_BOARDS = [
    ((1, 1), "two stones share column 0, row 0 from the bottom"),
    ((0, 1 << 6), "bits outside the board of 7 x 6"),
    ((0, 1 << 49), "bits outside the board of 7 x 6"),
    ((-1, 0), "bits outside the board of 7 x 6"),
    ((0, 1 << 22), "the stone in column 3, row 1 from the bottom rests on nothing"),
    ((1, 0), "0 stones of the first player and 1 of the second"),
    ((0, 1.0), r"opp must be an integer, not 1\.0"),
    ((True, 0), "own must be an integer, not True"),
    ((0, 0, (7, 6.5, 4)), r"rows must be a positive integer, not 6\.5"),
    ((0, 1 << 7, (1, 6, 4)), "bits outside the board of 1 x 6"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_BOARDS)
def test_boards_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        Position(*arguments)


BAD_OBSERVATIONS = [
    ([0] * 41, {}, "the board has 41 cells, and 7 x 6 are 42"),
    ([0] * 42, {"rows": 7}, "the board has 42 cells, and 7 x 7 are 49"),
    ([0] * 41 + [3], {}, "cell 41 holds 3, which is none of 0, 1, 2"),
    ([0] * 41 + [-1], {}, "cell 41 holds -1"),
    ([0] * 41 + [1.0], {}, r"cell 41 must be an integer, not 1\.0"),
    ([0] * 41 + [True], {}, "cell 41 must be an integer, not True"),
    ([0] * 41 + ["1"], {}, "cell 41 must be an integer, not '1'"),
    ([0] * 41 + [None], {}, "cell 41 must be an integer, not None"),
    ([0] * 41 + [2], {}, "0 stones of the first player and 1 of the second"),
    ([1] + [0] * 41, {}, "the stone in column 0, row 5 from the bottom rests on nothing"),
    ([0] * 42, {"columns": 7.0}, r"columns must be a positive integer, not 7\.0"),
    ([0] * 42, {"inarow": 0}, "inarow must be a positive integer, not 0"),
]


@pytest.mark.parametrize(("board", "configuration", "message"), BAD_OBSERVATIONS)
def test_observations_that_cannot_be(board, configuration, message):
    with pytest.raises(ValueError, match=message):
        Position.from_kaggle({"board": board}, {"columns": 7, "rows": 6, "inarow": 4, **configuration})


# --- the picture ----------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def drawn(position):
    """The circles as {(x, y): element}, and the texts as {(x, y): string}, of the picture."""
    root = ElementTree.fromstring(position._repr_svg_())
    width, height = int(root.get("width")), int(root.get("height"))
    circles = {(int(c.get("cx")), int(c.get("cy"))): c for c in root.iter(f"{SVG}circle")}
    texts = {(int(t.get("x")), int(t.get("y"))): t.text for t in root.iter(f"{SVG}text")}
    assert all(0 < x < width and 0 < y < height for x, y in (*circles, *texts))
    assert root.find(f"{SVG}title").text == repr(position)
    return circles, texts


@given(games())
def test_the_picture_shows_the_position(game):
    (columns, rows, inarow), moves = game
    position = Position.from_moves(moves, columns, rows, inarow)
    circles, texts = drawn(position)
    down = sorted(circles, key=lambda place: place[::-1])  # row by row from the top, as in a state
    colours = [circles[place].get("fill") for place in down]
    assert colours == [COLOURS[cell] for cell in position.state.ravel().tolist()]
    ringed = [circles[place].get("stroke") == LABEL_COLOUR for place in down]
    grid = [row.split() for row in str(position).splitlines()]
    winner = plain.winner(grid, inarow)
    held = {cell for line in plain.lines_held(grid, winner, inarow) for cell in line} if winner else set()
    assert ringed == [divmod(index, columns) in held for index in range(columns * rows)]

    # numbers stand in circles and, read in their order, are the moves; labels stand under the columns
    xs = sorted({x for x, _ in circles})
    numbers = {(x, y - 5): int(text) for (x, y), text in texts.items() if (x, y - 5) in circles}
    labels = {(x, y): text for (x, y), text in texts.items() if (x, y - 5) not in circles}
    assert [xs.index(place[0]) for place in sorted(numbers, key=numbers.get)] == moves
    assert sorted(numbers.values()) == list(range(1, len(moves) + 1))
    for place, number in numbers.items():
        assert circles[place].get("fill") == COLOURS[1 if number % 2 == 1 else -1]
    for (x, y), number in numbers.items():  # a column is filled from below
        assert all(other > number for (x2, y2), other in numbers.items() if x2 == x and y2 < y)
    assert {x: text for (x, _), text in labels.items()} == {x: str(column) for column, x in enumerate(xs)}
    assert all(y > max(y for _, y in circles) + 18 for _, y in labels)


def test_without_known_moves_only_the_columns_are_numbered():
    _, texts = drawn(Position(*Position.from_moves("4453").boards))
    assert sorted(texts.values()) == list("0123456")


def test_the_stones_differ_in_brightness():
    """For readers who see no colours: relative luminance (WCAG) apart by a contrast of at least 2."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    first, second, empty = (luminance(COLOURS[player]) + 0.05 for player in (1, -1, 0))
    assert first / second > 2
    assert second / empty > 2


def test_wrong_kinds_of_arguments_are_told_in_one_line():
    for missing in ("columns", "rows", "inarow"):
        configuration = {"columns": 7, "rows": 6, "inarow": 4}
        del configuration[missing]
        with pytest.raises(ValueError, match=f"'{missing}' is missing"):
            Position.from_kaggle({"board": [0] * 42}, configuration)
    with pytest.raises(ValueError, match="'board' is missing"):
        Position.from_kaggle({}, {"columns": 7, "rows": 6, "inarow": 4})
    with pytest.raises(ValueError, match="string of digits"):
        Position.from_moves(445)
