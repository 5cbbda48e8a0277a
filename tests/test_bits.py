"""The bit tricks against ways to do the same with strings of binary digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c4lib.bits import bit_indices, popcount, run_starts, signed

numbers = st.integers(0, 2**64 - 1) | st.integers(0, 2**441 - 1)  # up to a board of 20 x 20


def plain_indices(x):
    return [index for index, digit in enumerate(reversed(f"{x:b}")) if digit == "1"]


@given(numbers)
def test_bit_indices_and_popcount(x):
    assert bit_indices(x) == plain_indices(x)
    assert popcount(x) == f"{x:b}".count("1")


@given(numbers, st.integers(1, 30), st.integers(1, 12))
def test_run_starts(x, step, length):
    ones = set(plain_indices(x))
    expected = [start for start in sorted(ones) if all(start + k * step in ones for k in range(length))]
    assert plain_indices(run_starts(x, step, length)) == expected


@pytest.mark.parametrize("length", range(1, 20))
def test_run_starts_of_every_length(length):
    """Every length, also those that are no power of two, in a run of twenty."""
    assert run_starts(2**20 - 1, 1, length) == 2 ** (21 - length) - 1


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8])
def test_run_starts_of_whole_arrays_leaves_them_as_they_are(length):
    boards = np.random.default_rng(1).integers(0, 2**49, 100)
    before = boards.copy()
    assert run_starts(boards, 7, length).tolist() == [run_starts(board, 7, length) for board in before.tolist()]
    assert np.array_equal(boards, before)


@given(st.integers(0, 2**64 - 1))
def test_signed_has_the_same_bits(x):
    assert signed(x) == np.array(x, np.uint64).view(np.int64)
