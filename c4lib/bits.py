"""Bit tricks that no game owns. Everything here works on Python integers of any size and inside kernels."""

from .jit import inline, popcount

__all__ = ["bit_indices", "popcount", "run_starts", "signed"]


@inline
def run_starts(stones, step, length):
    """Cells that begin a run of `length` stones, each `step` bits above the one before.

    Doubles the length with every shift: a run of four takes two shift-and-AND steps, not three.
    """
    if length == 4:  # the loop below written out, which compilers do not do by themselves
        pairs = stones & (stones >> step)
        return pairs & (pairs >> (2 * step))
    starts = stones
    reached = 1
    while 2 * reached <= length:
        starts = starts & (starts >> (reached * step))  # not in place: numpy's arrays come this way too
        reached *= 2
    if reached < length:
        starts = starts & (starts >> ((length - reached) * step))
    return starts


def signed(x: int) -> int:
    """The integer that compiled kernels know 64 bits as: the number `x`, below 2**64, or less by 2**64."""
    return (x ^ 1 << 63) - (1 << 63)


def bit_indices(x: int) -> list[int]:
    """Indices of the one bits of a non-negative integer, lowest first."""
    indices = []
    while x:
        indices.append((x & -x).bit_length() - 1)
        x &= x - 1
    return indices
