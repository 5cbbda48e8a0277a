"""The kernels of the exact solver against the slow and obvious: a search of everything, on columns of letters."""

import types
from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c4lib import jit
from c4lib.games.connect4 import Geometry, canonical_key, key
from c4lib.jit import build, memory_block
from c4lib.search import nullwindow as kernels
from c4lib.search.nullwindow import children  # named in a kernel below
from c4lib.search.solver import Solver

from ..games import plain

needs_numba = pytest.mark.skipif(not jit.HAVE_NUMBA, reason="numba cannot be imported here")
both = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])

# (columns, rows, inarow), and the fewest stones from which the slow search is quick
BOARDS = {
    (4, 4, 3): 0,
    (4, 4, 4): 0,
    (5, 4, 4): 8,
    (4, 5, 4): 8,
    (5, 4, 3): 7,
    (4, 5, 3): 7,
    (5, 5, 4): 14,
    (3, 3, 3): 0,
    (1, 1, 1): 0,
    (5, 3, 1): 0,  # the first stone wins
    (6, 2, 2): 0,
    (4, 3, 5): 0,  # no line fits
    (1, 9, 4): 0,
    (2, 8, 3): 0,
    (9, 1, 3): 0,
    (12, 1, 3): 0,  # from here on, more than eight lanes
    (12, 2, 3): 14,
    (20, 1, 3): 11,
    (3, 20, 3): 42,  # keys of 63 bits
    (9, 6, 4): 40,
    (7, 8, 4): 42,
    (7, 6, 4): 28,
}
# Compiling takes seconds a board; without these there are still 8, 16 and 32 lanes, odd rows, and 63 bits.
SLOW = {(4, 4, 3), (4, 5, 4), (5, 4, 3), (4, 5, 3), (3, 3, 3), (5, 3, 1), (6, 2, 2), (4, 3, 5), (1, 9, 4), (2, 8, 3)}
SLOW |= {(5, 4, 4), (1, 1, 1), (9, 1, 3), (12, 1, 3), (3, 20, 3), (7, 8, 4)}


def ways(*pairs):
    """Parameters: boards, each with whether the kernels are compiled."""
    marks = [[needs_numba, *[pytest.mark.slow] * (size in SLOW)] * compiled for size, compiled in pairs]
    found = [pytest.param(*pair, marks=mark) for pair, mark in zip(pairs, marks, strict=True)]
    return pytest.mark.parametrize(("size", "compiled"), found, ids=str)


def both_ways(sizes=BOARDS):
    """Parameters: boards, each interpreted and compiled."""
    return ways(*((size, compiled) for size in sizes for compiled in (False, True)))


@cache
def solver_of(size, compiled=True, **options):
    """One solver for all the tests of a board; its table begins with as little as it may and can grow."""
    geometry = Geometry(*size)
    smallest = kernels.solver_constants(geometry)["START_BITS"]
    return Solver(geometry, table_bits=smallest + 6 * compiled, compiled=compiled, **options)


# --- the twin: a board is a tuple of columns, each a string of "x" and "o" from the bottom up ------------------------


def stones(board):
    return sum(map(len, board))


def mark_to_move(board):
    """The first player is "x"."""
    return "xo"[stones(board) % 2]


def in_hand(board, rows):
    """How many stones the side to move has not played yet; of an odd number of cells, the first player has one more."""
    cells = len(board) * rows
    return (cells + 1 if mark_to_move(board) == "x" else cells) // 2 - stones(board) // 2


def dropped(board, column):
    """The board after a move."""
    return (*board[:column], board[column] + mark_to_move(board), *board[column + 1 :])


def completes_line(board, column, inarow):
    """Whether the topmost stone of a column stands in a line."""
    level = len(board[column]) - 1
    mark = board[column][level]
    for right, up in ((1, 0), (1, 1), (1, -1), (0, 1)):
        count = 1
        for side in (1, -1):
            x, y = column + side * right, level + side * up
            while 0 <= x < len(board) and 0 <= y < len(board[x]) and board[x][y] == mark:
                count += 1
                x, y = x + side * right, y + side * up
        if count >= inarow:
            return True
    return False


def exact(board, rows, inarow, known):
    """The score of a game that goes on: a win is worth the stones in hand when the last one is dropped."""
    if board not in known:
        scores = []
        for column, pile in enumerate(board):
            if len(pile) < rows:
                after = dropped(board, column)
                won = completes_line(after, column, inarow)
                scores.append(in_hand(board, rows) if won else -exact(after, rows, inarow, known))
        known[board] = max(scores, default=0)
    return known[board]


@cache
def known_scores(size):
    """What the twin has found out on a board."""
    return {}


@cache
def every_position(size):
    """Every game that goes on, or ended in a draw, with its score."""
    columns, rows, inarow = size
    exact(("",) * columns, rows, inarow, known_scores(size))
    return known_scores(size)


def score_of(board, size):
    return exact(board, *size[1:], known_scores(size))


def bitboards(board, rows):
    """The bitboards (own, opp)."""
    sides = {"x": 0, "o": 0}
    for column, pile in enumerate(board):
        for level, mark in enumerate(pile):
            sides[mark] += 2 ** (column * (rows + 1) + level)
    own = sides.pop(mark_to_move(board))
    return own, *sides.values()


def random_games(size, seed, *, peaceful=False, crowded=False):
    """Random games to their end, for ever: for each the boards that go on, and the finished one with its score.

    Peaceful games complete no line as long as they can help it; crowded ones use the two rightmost open columns only.
    """
    columns, rows, inarow = size
    random = np.random.default_rng(seed)
    while True:
        board, going, ended = ("",) * columns, [], None
        while ended is None:
            going.append(board)
            moves = [column for column in range(columns) if len(board[column]) < rows]
            moves = moves[-2:] if crowded else moves
            if peaceful:
                moves = [x for x in moves if not completes_line(dropped(board, x), x, inarow)] or moves
            column = int(random.choice(moves))
            hand, board = in_hand(board, rows), dropped(board, column)
            if completes_line(board, column, inarow):
                ended = -hand
            elif stones(board) == columns * rows:
                ended = 0
        yield going, board, ended


def random_boards(size, count, seed, *, least=0, **kind):
    """Boards of games that go on, of every length from `least` stones on; fewer where so long games are too rare."""
    random = np.random.default_rng(seed + 1)
    found = []
    games = random_games(size, seed, peaceful=least > 6, **kind)
    for going, _, _ in islice(games, 20 * count):
        long_enough = going[least:]
        if long_enough:
            found.append(long_enough[random.integers(len(long_enough))])
        if len(found) == count:
            break
    return found


def assert_exact(solver, found, size):
    """The solver gives these boards the twin's scores."""
    expected = [score_of(board, size) for board in found]
    scores = solver.solve_many([bitboards(board, size[1]) for board in found])
    wrong = [(board, e, s) for board, e, s in zip(found, expected, scores.tolist(), strict=True) if e != s]
    assert not wrong, f"of {len(found)} boards {len(wrong)} are wrong; board, expected, got: {wrong[:3]}"


# --- scores -------------------------------------------------------------------------------------------------------


@both_ways()
def test_scores_are_exact(size, compiled):
    """Of the empty board where that is quick, and of random positions of every length."""
    least, cells = BOARDS[size], size[0] * size[1]
    if not compiled:
        least = max(least, cells - 9)
    found = [("",) * size[0]] if least == 0 else []
    found += random_boards(size, 1000 if compiled else 30, seed=1, least=min(least, cells - 1))
    assert_exact(solver_of(size, compiled), found, size)


@ways(*((size, True) for size in BOARDS if BOARDS[size] == 0))
def test_every_position_of_a_small_board(size, compiled):
    """Where they are too many, some from each part of the list that the search of everything makes."""
    found = list(every_position(size))
    step = max(1, len(found) // 20_000)
    assert_exact(solver_of(size, compiled), found[::step], size)


@both_ways()
def test_finished_games_have_scores(size, compiled):
    """Lines, and full boards: what the loser's opponent had in hand before his last stone."""
    games = random_games(size, seed=2)
    ends = [next(games)[1:] for _ in range(100 if compiled else 20)]
    found = solver_of(size, compiled).solve_many([bitboards(board, size[1]) for board, _ in ends])
    assert found.tolist() == [score for _, score in ends]


@both_ways()
def test_one_or_two_empty_cells(size, compiled):
    columns, rows, _ = size
    last = random_boards(size, 20, seed=3, least=max(0, columns * rows - 2))
    assert_exact(solver_of(size, compiled), last, size)


@both_ways([(9, 6, 4), (7, 8, 4), (3, 20, 3)])
def test_keys_with_their_highest_bits_set(size, compiled):
    """The rightmost columns are full, so the key takes all of its 63 bits."""
    rows = size[1]
    found = random_boards(size, 200 if compiled else 10, seed=4, least=BOARDS[size], crowded=True)
    full = [board for board in found if len(board[-1]) == rows]
    assert any(key(*bitboards(board, rows)) >> 62 for board in full)
    assert_exact(solver_of(size, compiled), full, size)


# Other constants: what is for early plies done until the end of the game, nothing done, and moves in another order.
TO_THE_END = dict(CHILD_CUTOFF_PLIES=3, TABLELESS_PLIES=3, MIRROR_STONES=99)
WITHOUT = dict(CHILD_CUTOFF_PLIES=99, TABLELESS_PLIES=99, MIRROR_STONES=0, CLAIMEVEN=0, PREFETCH=0, UNDERCUT=0)
UNORDERED = dict(TABLELESS_PLIES=5, MIRROR_STONES=0, WINNING_CELL=0, NONFORCING=0, PAIRED=0)


@pytest.mark.parametrize("switches", [TO_THE_END, WITHOUT, UNORDERED], ids=["to the end", "without", "unordered"])
@ways(((4, 4, 4), True), ((4, 4, 3), True), ((4, 4, 4), False), ((5, 4, 4), False), ((12, 2, 3), False))
def test_switches_change_no_score(switches, size, compiled):
    assert set(switches) <= set(vars(kernels))
    least = BOARDS[size] if compiled else max(BOARDS[size], size[0] * size[1] - 10)
    found = random_boards(size, 4000 if compiled else 40, seed=5, least=least)
    assert_exact(solver_of(size, compiled, **switches), found, size)


@given(st.integers(-31, 31), st.integers(-31, 31))
def test_questions_part_the_scores_in_two(low, high):
    if low < high:
        assert low <= kernels.next_question(low, high) < high


@both
def test_settling_within_a_window(compiled):
    """A score below the window is its lower end, one above it its higher end; memory then holds the answer twice."""
    size = (4, 4, 4)
    solver = solver_of(size, compiled)
    solver._limit()
    memory, handle = solver._blocks[0]
    for board in random_boards(size, 300 if compiled else 20, seed=6, least=0 if compiled else 7):
        score = score_of(board, size)
        for low in range(-9, 9, 3):
            for high in range(low + 1, 10, 4):
                found = solver._settle(*bitboards(board, 4), low, high, handle, solver._table_handle)
                assert found == min(max(score, low), high)
                assert memory[kernels.LOWER] == memory[kernels.UPPER] == found


@ways(((4, 4, 4), False), ((4, 4, 3), True))
def test_a_limit_ends_a_list_of_positions(size, compiled):
    """The results up to there are right, and the number of the first position without one is returned."""
    constants = Geometry(*size).constants | kernels.solver_constants(Geometry(*size)) | dict(CHECK_MASK=0)
    settle_each = build(kernels.settle_each, compiled, **constants)
    memory, handle = memory_block(kernels.AREAS + constants["CELLS"] * constants["STRIDE"], compiled)
    _table, table_handle = memory_block(1 << 12, compiled)
    memory[kernels.BITS], memory[kernels.MOST_BITS] = constants["START_BITS"], 12
    found = random_boards(size, 30, seed=7, least=2)
    given_block, given_handle = memory_block(2 * len(found), compiled)
    results, results_handle = memory_block(3 * len(found), compiled)
    for i, board in enumerate(found):
        given_block[2 * i], given_block[2 * i + 1] = bitboards(board, 4)
    first = 0
    limits = [0, 50, 200, 1000, kernels.FOREVER]
    for limit in limits:
        memory[kernels.NODE_LIMIT], memory[kernels.DEADLINE] = limit, kernels.FOREVER
        last = settle_each(first, len(found), 0, -8, 8, given_handle, results_handle, handle, table_handle)
        assert first <= last <= len(found)
        assert int(memory[kernels.NODES]) <= max(limit, len(limits)) + len(limits)
        assert [int(x) for x in results[: 3 * last : 3]] == [score_of(board, size) for board in found[:last]]
        first = last
    assert first == len(found)
    assert sum(int(x) for x in results[1::3]) <= memory[kernels.NODES]
    assert all(int(x) >= 0 for x in results[2::3])


# --- all moves of a position at once ------------------------------------------------------------------------------


def playable_columns(board, rows):
    return [column for column, pile in enumerate(board) if len(pile) < rows]


def wins_at_once(board, rows, inarow):
    return any(completes_line(dropped(board, column), column, inarow) for column in playable_columns(board, rows))


def safe_columns(board, rows, inarow):
    """Columns after which the opponent does not win at once."""
    return [x for x in playable_columns(board, rows) if not wins_at_once(dropped(board, x), rows, inarow)]


def landing_bits(board, moves, rows):
    """The bitboard of the cells where stones in these columns come to rest."""
    return sum(2 ** (column * (rows + 1) + len(board[column])) for column in moves)


def winning_bits(board, mark, rows, inarow):
    """The bitboard of the empty cells, high or low, where one more stone of that kind makes a line."""
    grid = [[pile[row] if row < len(pile) else "." for pile in board] for row in reversed(range(rows))]
    return plain.bits_of(plain.winning_cells(grid, mark, inarow), len(board), rows)


def undecided_boards(size, count, seed):
    """Boards such as the search goes through: no immediate win, a safe move, and three or more empty cells."""
    columns, rows, inarow = size
    random = np.random.default_rng(seed)
    found = []
    for going, _, _ in random_games(size, seed):
        board = going[random.integers(len(going))]
        few_stones = stones(board) < columns * rows - 2
        if few_stones and not wins_at_once(board, rows, inarow) and safe_columns(board, rows, inarow):
            found.append(board)
        if len(found) == count:
            return found


def looked_at(own, opp, threats, moves, mask, stones, memory, table):
    return children(own, opp, threats, moves, mask, stones, memory, table)


@ways(
    *((size, compiled) for size in [(7, 6, 4), (20, 1, 3)] for compiled in (False, True)),
    *((size, False) for size in [(12, 2, 3), (4, 5, 3), (6, 6, 5), (9, 6, 4)]),
)
def test_children(size, compiled):
    columns, rows, inarow = size
    solver = solver_of(size, compiled)
    names = solver._settle.namespace  # children() and the constants of this board
    look = types.FunctionType(looked_at.__code__, names)
    look = jit.numba.njit(look) if compiled else look
    count, stride = names["LANES"], names["STRIDE"]
    block, handle = memory_block(kernels.AREAS + columns * rows * stride, compiled)
    block[kernels.BITS] = solver._blocks[0][0][kernels.BITS]
    lost_boards = 0
    for board in undecided_boards(size, 300 if compiled else 60, seed=8):
        mover = mark_to_move(board)
        enemy = "xo"["ox".index(mover)]
        own, opp = bitboards(board, rows)
        safe = safe_columns(board, rows, inarow)
        threats, moves = winning_bits(board, enemy, rows, inarow), landing_bits(board, safe, rows)
        lost = look(own, opp, threats, moves, own | opp, stones(board), handle, solver._table_handle)
        lost_boards += lost != 0
        area = kernels.AREAS + stones(board) * stride
        wins, replies, priorities, hashes = ([int(x) for x in block[area + k * count :][:count]] for k in range(4))
        for column in range(count):
            if column not in safe:
                assert priorities[column] == -1
                assert not lost >> column & 1
                continue
            child = dropped(board, column)
            safe_replies = safe_columns(child, rows, inarow)
            assert wins[column] == winning_bits(child, mover, rows, inarow)
            assert replies[column] == landing_bits(child, safe_replies, rows)
            assert lost >> column & 1 == (not safe_replies)
            assert priorities[column] >= 0
            assert priorities[column] & kernels.COLUMN == column
            mirrored = stones(child) < kernels.MIRROR_STONES
            own, opp = bitboards(child, rows)
            name = canonical_key(own, opp, columns, rows) if mirrored else key(own, opp)
            assert hashes[column] == names["hash_of"](name)
    assert lost_boards or inarow > 3


# --- the table ----------------------------------------------------------------------------------------------------


def table_names(size):
    return build(kernels.grow, False, **kernels.solver_constants(Geometry(*size))).namespace


SIZES = [(7, 6, 4), (4, 4, 4), (9, 6, 4), (3, 20, 3), (20, 1, 3)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@given(data=st.data())
def test_slot_and_tag_tell_the_key(size, data):
    """From a slot, of a table of any size, and a tag the key can be worked out: no two keys share both."""
    names = table_names(size)
    key_bits, start = names["KEY_BITS"], names["START_BITS"]
    position_key = data.draw(st.sampled_from([0, 1, 2**key_bits - 1]) | st.integers(0, 2**key_bits - 1))
    hashed = names["hash_of"](position_key)
    tag = names["tag_of"](hashed)
    assert 0 < tag < 2 ** (63 - kernels.TAG_SHIFT)
    for bits in range(start, min(key_bits, 32) + 1):
        slot = names["slot_of"](hashed, bits)
        assert 0 <= slot < 2**bits
        assert key_of(slot, tag, bits, names) == position_key


def key_of(slot, tag, bits, names):
    """The key that a slot and a tag stand for."""
    rest = names["KEY_BITS"] - names["START_BITS"]
    hashed = (slot >> (bits - names["START_BITS"])) * 2**rest + tag - 1
    return hashed * pow(kernels.MULTIPLIER, -1, 2 ** names["KEY_BITS"]) % 2 ** names["KEY_BITS"]


@both
@pytest.mark.parametrize("size", [(7, 6, 4), (4, 4, 4), (9, 6, 4)], ids=str)
def test_growing_loses_nothing(size, compiled):
    """Every entry is found again at its new slot, and nothing else is in the table, whatever lay behind its end."""
    constants = kernels.solver_constants(Geometry(*size))
    grow, names = build(kernels.grow, compiled, **constants), table_names(size)
    start, times = constants["START_BITS"], 3
    random = np.random.default_rng(9)
    memory, handle = memory_block(kernels.AREAS, compiled)
    table, table_handle = memory_block(1 << (start + times), compiled)
    table[1 << start :] = [12345] * len(table[1 << start :])
    memory[kernels.BITS] = start
    entries = {}  # by hashed key
    keys = [
        0,
        2 ** constants["KEY_BITS"] - 1,
        *(int(k) for k in random.integers(2 ** constants["KEY_BITS"], size=3000)),
    ]
    for position_key in keys:
        hashed = names["hash_of"](position_key)
        slot = names["slot_of"](hashed, start)
        if table[slot] == 0:
            entries[hashed] = names["tag_of"](hashed) << kernels.TAG_SHIFT | int(random.integers(2**kernels.TAG_SHIFT))
            table[slot] = entries[hashed]
    assert len(entries) > 200
    for bits in range(start + 1, start + times + 1):
        grow(handle, table_handle)
        assert memory[kernels.BITS] == bits
        assert [int(table[names["slot_of"](hashed, bits)]) for hashed in entries] == list(entries.values())
        assert np.count_nonzero(np.array(table[: 1 << bits], np.int64)) == len(entries)


@both
def test_clearing_empties_the_table(compiled):
    """Also what lies beyond its end, once it grows there."""
    constants = kernels.solver_constants(Geometry())
    clear, grow = (build(function, compiled, **constants) for function in (kernels.clear, kernels.grow))
    memory, handle = memory_block(kernels.AREAS, compiled)
    table, table_handle = memory_block(1 << 10, compiled)
    table[:] = [2**40 + 1] * (1 << 10)
    memory[kernels.BITS], memory[kernels.STORES] = 10, 77
    clear(handle, table_handle)
    assert (memory[kernels.BITS], memory[kernels.STORES]) == (constants["START_BITS"], 0)
    grow(handle, table_handle)
    grow(handle, table_handle)
    assert not any(table)


@ways(((7, 6, 4), True), ((7, 6, 4), False), ((3, 20, 3), False))
def test_every_score_survives_in_an_entry(size, compiled):
    """The empty board, whose key is 0, has what its entry says: the least and the greatest score, and all between."""
    solver = solver_of(size, compiled)
    solver._limit()
    memory, handle = solver._blocks[0]
    names = solver._settle.namespace
    cells = size[0] * size[1]
    hashed = names["hash_of"](0)
    for score in range(-((cells - 2) // 2), (cells - 3) // 2 + 1):
        solver.clear()
        number = score + kernels.SCORE_ZERO
        assert 0 < number < kernels.SCORE_MASK
        entry = names["tag_of"](hashed) << kernels.TAG_SHIFT | number << kernels.LOWER_SHIFT | number
        solver._table[names["slot_of"](hashed, int(memory[kernels.BITS]))] = entry
        assert solver._settle(0, 0, -32, 32, handle, solver._table_handle) == score
    solver.clear()


def entries_of(solver):
    """(key, lower bound, upper bound) of every entry in the table."""
    names = solver._settle.namespace
    bits = int(solver._blocks[0][0][kernels.BITS])
    for slot, entry in enumerate(solver._table[: 1 << bits]):
        if entry := int(entry):
            lower = (entry >> kernels.LOWER_SHIFT & kernels.SCORE_MASK) - kernels.SCORE_ZERO
            upper = (entry & kernels.SCORE_MASK) - kernels.SCORE_ZERO
            yield key_of(slot, entry >> kernels.TAG_SHIFT, bits, names), lower, upper


def board_of(position_key, columns, rows):
    """The board that a key stands for: a column's number, plus one, is a one on top of its own stones as digits."""
    piles = [f"{(position_key >> column * (rows + 1)) % 2 ** (rows + 1) + 1:b}"[1:] for column in range(columns)]
    mover = "xo"[sum(map(len, piles)) % 2]
    other = "xo"["ox".index(mover)]
    return tuple("".join(mover if digit == "1" else other for digit in reversed(pile)) for pile in piles)


@ways(((4, 4, 4), True), ((4, 4, 3), False))
@pytest.mark.parametrize("switches", [{}, TO_THE_END], ids=["usual", "to the end"])
def test_what_a_search_leaves_in_the_table_is_true(size, compiled, switches):
    """Every entry, also after searches that a limit cut short, bounds the score of a position of the game."""
    columns, rows, _ = size
    solver = solver_of(size, compiled, **switches)
    solver.clear()
    seen = 0
    scores = every_position(size)
    for nodes in (1000, 4000, None):
        solver.solve((0, 0), nodes=nodes)
        for board in random_boards(size, 30 if compiled else 5, seed=nodes or 1, least=1 if compiled else 4):
            solver.solve(bitboards(board, rows), nodes=nodes)
        for position_key, lower, upper in entries_of(solver):
            assert lower <= scores[board_of(position_key, columns, rows)] <= upper
            seen += 1
    assert seen > 20


def test_memory_stays_in_bounds():
    """The compiled kernels write to raw addresses: lists that refuse what is not theirs are used here."""

    class Guarded(list):
        def checked(self, i):
            if isinstance(i, slice):
                assert 0 <= i.start < i.stop <= len(self)
                assert i.start % 8 == 0  # a cache line, where compiled lanes are loaded and stored
            else:
                assert i >= 0
            return i

        def __getitem__(self, i):
            return super().__getitem__(self.checked(i))

        def __setitem__(self, i, value):
            super().__setitem__(self.checked(i), value)

    for size, least in {
        (7, 6, 4): 30,
        (1, 1, 1): 0,
        (3, 2, 2): 0,
        (2, 9, 3): 4,
        (12, 2, 3): 13,
        (20, 1, 3): 10,
    }.items():
        solver = Solver(Geometry(*size), table_bits=8, compiled=False)
        memory, table = Guarded(solver._blocks[0][0]), Guarded(solver._table)
        for board in random_boards(size, 10, seed=10, least=least):
            score = solver._settle(*bitboards(board, size[1]), -31, 31, memory, table)
            assert score == score_of(board, size)
