"""Lanes in kernels, 8, 16 and 32 of them, against the class of the same name; and that class against plain lists."""

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c4lib import jit
from c4lib.bits import popcount
from c4lib.jit import build, kernel, memory_block, store
from c4lib.lanes import OPERATORS, Lanes, highest, lanes, load_lanes, nonzero, store_lanes, where

needs_numba = pytest.mark.skipif(not jit.HAVE_NUMBA, reason="numba cannot be imported here")
counts = pytest.mark.parametrize("count", [8, 16, 32])
few = settings(max_examples=40)  # each is a vector of examples

EDGES = [0, 1, -1, 2**63 - 1, -(2**63), 2**62, 0x5555555555555555, -0x5555555555555556]
words = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1)
naturals = st.sampled_from([x for x in EDGES if x >= 0]) | st.integers(0, 2**63 - 1)
shifts = st.integers(0, 63)

COUNT = 8
CONSTANT = tuple(range(8))


def vectors(numbers, count):
    return st.lists(numbers, min_size=count, max_size=count)


def as_word(x):
    """What 64 bits hold of an integer, read as signed."""
    return (x + 2**63) % 2**64 - 2**63


def run(kernel, compiled, count, words, *arguments, given=(), **constants):
    """What a kernel leaves in a memory of so many words, and what it returns; the memory begins with those `given`."""
    block, handle = memory_block(words, compiled)
    block[: len(given)] = given
    result = build(kernel, compiled, COUNT=count, **constants)(handle, *arguments)
    return [as_word(int(x)) for x in block], int(result)


def check(kernel, count, words, *arguments, **more):
    """Compiled and interpreted, it leaves and returns the same."""
    expected = run(kernel, False, count, words, *arguments, **more)
    assert run(kernel, True, count, words, *arguments, **more) == expected


# --- operators ----------------------------------------------------------------------------------------------------


@kernel
def operate(memory, n):
    a = load_lanes(memory, 0, COUNT)
    b = load_lanes(memory, COUNT, COUNT)
    store_lanes(memory, 2 * COUNT, a & b)
    store_lanes(memory, 3 * COUNT, a & n)
    store_lanes(memory, 4 * COUNT, n & a)
    store_lanes(memory, 5 * COUNT, a | b)
    store_lanes(memory, 6 * COUNT, a | n)
    store_lanes(memory, 7 * COUNT, n | a)
    store_lanes(memory, 8 * COUNT, a ^ b)
    store_lanes(memory, 9 * COUNT, a ^ n)
    store_lanes(memory, 10 * COUNT, n ^ a)
    store_lanes(memory, 11 * COUNT, a + b)
    store_lanes(memory, 12 * COUNT, a + n)
    store_lanes(memory, 13 * COUNT, n + a)
    store_lanes(memory, 14 * COUNT, a - b)
    store_lanes(memory, 15 * COUNT, a - n)
    store_lanes(memory, 16 * COUNT, n - a)
    store_lanes(memory, 17 * COUNT, a * b)
    store_lanes(memory, 18 * COUNT, a * n)
    store_lanes(memory, 19 * COUNT, n * a)
    store_lanes(memory, 20 * COUNT, ~a)
    store_lanes(memory, 21 * COUNT, (a & ~b) + 3 * (b ^ -1) - (n | 5))
    return 0


@needs_numba
@counts
@few
@given(data=st.data())
def test_arithmetic(count, data):
    given = data.draw(vectors(words, 2 * count))
    check(operate, count, 22 * count, data.draw(words), given=given)


@kernel
def operate_in_place(memory, n):
    a = load_lanes(memory, 0, COUNT)
    b = load_lanes(memory, COUNT, COUNT)
    before = a
    a &= b
    store_lanes(memory, 2 * COUNT, a)
    a |= n
    store_lanes(memory, 3 * COUNT, a)
    a ^= b
    store_lanes(memory, 4 * COUNT, a)
    a += b
    store_lanes(memory, 5 * COUNT, a)
    a -= n
    store_lanes(memory, 6 * COUNT, a)
    a *= b
    store_lanes(memory, 7 * COUNT, a)
    a &= n
    a |= b
    a ^= n
    a += n
    a -= b
    a *= n
    store_lanes(memory, 8 * COUNT, a)
    a <<= 5
    store_lanes(memory, 9 * COUNT, a)
    a &= 0x7FFFFFFFFFFFFFFF
    a >>= 7
    store_lanes(memory, 10 * COUNT, a)
    a <<= b & 31
    a &= 0x7FFFFFFFFFFFFFFF
    a >>= b & 15
    store_lanes(memory, 11 * COUNT, a)
    store_lanes(memory, 12 * COUNT, before)  # what had the same value is what it was
    return 0


@needs_numba
@counts
@few
@given(data=st.data())
def test_in_place(count, data):
    given = data.draw(vectors(words, 2 * count))
    check(operate_in_place, count, 13 * count, data.draw(words), given=given)
    assert run(operate_in_place, True, count, 13 * count, 1, given=given)[0][12 * count :] == given[:count]


@kernel
def shift(memory, n, by):
    a = load_lanes(memory, 0, COUNT)
    c = load_lanes(memory, COUNT, COUNT)
    store_lanes(memory, 2 * COUNT, a << c)
    store_lanes(memory, 3 * COUNT, a << by)
    store_lanes(memory, 4 * COUNT, n << c)
    store_lanes(memory, 5 * COUNT, a >> c)
    store_lanes(memory, 6 * COUNT, a >> by)
    store_lanes(memory, 7 * COUNT, n >> c)
    store_lanes(memory, 8 * COUNT, (a << 1) ^ (a >> 1) ^ (1 << c))
    return 0


@needs_numba
@counts
@few
@given(data=st.data())
def test_shifts(count, data):
    """By none to 63, upwards also out of the word; to the right only what is not negative."""
    given = data.draw(vectors(naturals, count)) + data.draw(vectors(shifts, count))
    check(shift, count, 9 * count, data.draw(naturals), data.draw(shifts), given=given)


@kernel
def shift_up(memory, n, by):
    store_lanes(memory, COUNT, load_lanes(memory, 0, COUNT) << by)
    return n << by


@needs_numba
@counts
@few
@given(data=st.data())
def test_negative_numbers_are_shifted_up(count, data):
    given = data.draw(vectors(words, count))
    check(shift_up, count, 2 * count, 1, data.draw(st.integers(0, 62)), given=given)


# --- functions ----------------------------------------------------------------------------------------------------


@kernel
def look(memory, n):
    a = load_lanes(memory, 0, COUNT)
    natural = load_lanes(memory, COUNT, COUNT)
    store_lanes(memory, 2 * COUNT, popcount(natural))
    store_lanes(memory, 3 * COUNT, popcount(a & 0x7FFFFFFFFFFFFFFF) + popcount(n))
    store(memory, 4 * COUNT, highest(a))
    store(memory, 4 * COUNT + 1, highest(natural))
    store(memory, 4 * COUNT + 2, nonzero(natural))
    store(memory, 4 * COUNT + 3, nonzero(a & 1))
    return nonzero(a)


@needs_numba
@counts
@few
@given(data=st.data())
def test_functions_of_one_argument(count, data):
    given = data.draw(vectors(st.just(0) | words, count)) + data.draw(vectors(st.just(0) | naturals, count))
    check(look, count, 4 * count + 4, data.draw(naturals), given=given)


@kernel
def choose(memory, m, n):
    test = load_lanes(memory, 0, COUNT)
    a = load_lanes(memory, COUNT, COUNT)
    b = load_lanes(memory, 2 * COUNT, COUNT)
    store_lanes(memory, 3 * COUNT, where(test, a, b))
    store_lanes(memory, 4 * COUNT, where(test, m, b))
    store_lanes(memory, 5 * COUNT, where(test, a, n))
    store_lanes(memory, 6 * COUNT, where(test, m, n))
    store_lanes(memory, 7 * COUNT, where(test, 0, -1) ^ where(a & b, test, 7))
    return 0


@needs_numba
@counts
@few
@given(data=st.data())
def test_where(count, data):
    """What is not zero chooses, were it only the highest bit."""
    given = data.draw(vectors(st.just(0) | st.just(-(2**63)) | words, count)) + data.draw(vectors(words, 2 * count))
    check(choose, count, 8 * count, data.draw(words), data.draw(words), given=given)


@kernel
def constants(memory, n):
    store_lanes(memory, 0, lanes(CONSTANT))
    store_lanes(memory, COUNT, lanes(CONSTANT) & n)
    return highest(lanes(CONSTANT))


@needs_numba
@counts
def test_constants(count):
    constant = tuple((EDGES * 4)[:count])
    assert run(constants, True, count, 2 * count, -1, CONSTANT=constant)[0] == [*constant, *constant]
    check(constants, count, 2 * count, 0x123456789ABCDEF, CONSTANT=constant)


@kernel
def copy(memory, source, target):
    store_lanes(memory, target, load_lanes(memory, source, COUNT))
    return 0


@needs_numba
@counts
def test_memory(count):
    """Lanes lie in memory as words, and what is beside them stays as it is."""
    given = list(range(100, 100 + 6 * count))
    for source, target in ((0, 3), (5, 1), (2, 2), (4, 5)):
        moved = given[source * count : (source + 1) * count]
        expected = given[: target * count] + moved + given[(target + 1) * count :]
        for compiled in (True, False):
            assert run(copy, compiled, count, 6 * count, source * count, target * count, given=given)[0] == expected


@kernel
def lowest_first(memory, n):
    """A loop and a branch that carry lanes along."""
    left = load_lanes(memory, 0, COUNT)
    total = left ^ left
    rounds = 0
    while nonzero(left) != 0:
        lowest = left & (0 - left)
        total += lowest if n == 0 else popcount(lowest)
        left ^= lowest
        rounds += 1
    store_lanes(memory, COUNT, total)
    return rounds


@needs_numba
@counts
@few
@given(data=st.data())
def test_lanes_pass_through_loops_and_branches(count, data):
    given = data.draw(vectors(naturals, count))
    for n in (0, 1):
        check(lowest_first, count, 2 * count, n, given=given)
    result, rounds = run(lowest_first, True, count, 2 * count, 0, given=given)
    assert result[count:] == given
    assert rounds == max(x.bit_count() for x in given)


# --- the class in Python ------------------------------------------------------------------------------------------


def values(x):
    assert isinstance(x, Lanes)
    return list(x.values)


@pytest.mark.parametrize("name", OPERATORS)
@given(data=st.data())
def test_an_operator_works_lane_by_lane(name, data):
    function = OPERATORS[name]
    numbers = naturals if name == "lshr" else words
    a, n = data.draw(vectors(numbers, 8)), data.draw(numbers)
    b, m = (data.draw(vectors(shifts, 8)), data.draw(shifts)) if name in ("shl", "lshr") else (a[::-1], n)
    assert values(function(Lanes(a), Lanes(b))) == [function(x, y) for x, y in zip(a, b, strict=True)]
    assert values(function(Lanes(a), m)) == [function(x, m) for x in a]
    assert values(function(n, Lanes(b))) == [function(n, y) for y in b]
    in_place = getattr(operator, f"i{function.__name__.strip('_')}")
    for other in (Lanes(b), m):
        assert values(in_place(Lanes(a), other)) == values(function(Lanes(a), other))


@given(vectors(words, 8), vectors(words, 8), vectors(st.just(0) | words, 8), words)
def test_functions_in_python(a, b, test, n):
    assert values(~Lanes(a)) == [~x for x in a]
    assert values(popcount(Lanes([abs(x) for x in a]))) == [f"{abs(x):b}".count("1") for x in a]
    assert highest(Lanes(a)) == max(a)
    assert nonzero(Lanes(test)) == int("".join("01"[x != 0] for x in reversed(test)), 2)
    assert values(where(Lanes(test), Lanes(a), Lanes(b))) == [x if t else y for t, x, y in zip(test, a, b, strict=True)]
    assert values(where(Lanes(test), n, Lanes(b))) == [n if t else y for t, y in zip(test, b, strict=True)]
    assert values(where(Lanes(test), Lanes(a), n)) == [x if t else n for t, x in zip(test, a, strict=True)]
    assert values(where(Lanes(test), n, 3)) == [n if t else 3 for t in test]


def test_memory_in_python():
    memory = list(range(40))
    assert values(load_lanes(memory, 16, 8)) == list(range(16, 24))
    store_lanes(memory, 8, lanes(tuple(range(90, 98))))
    assert memory == [*range(8), *range(90, 98), *range(16, 40)]


def test_different_numbers_of_lanes_do_not_mix():
    with pytest.raises(ValueError, match="shorter"):
        where(Lanes([1, 2]), Lanes([1]), Lanes([1, 2]))
