"""The builder of kernels: compiled and interpreted instances of one source, their constants, and the disk cache."""

import json
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c4lib import jit, paths
from c4lib.games.connect4 import Geometry, perft
from c4lib.jit import build, clock, inline, kernel, load, popcount, prefetch, store
from c4lib.search.negamax import Engine

needs_numba = pytest.mark.skipif(not jit.HAVE_NUMBA, reason="numba cannot be imported here")
both = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
words = st.integers(0, 2**63 - 1)

SCALE, SHIFT = 3, 1


@inline
def shifted(x, by):
    return x + by


@kernel
def scaled(x):
    return SCALE * moved(x)


@kernel
def moved(x):
    return shifted(x, SHIFT)


@kernel
def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


@kernel
def ones(x):
    return popcount(x)


@kernel
def swap(memory, i, j):
    before = load(memory, i)
    store(memory, i, load(memory, j))
    store(memory, j, before)
    return before


@kernel
def touch(memory, n):
    for i in range(n):
        prefetch(memory, i)
    return load(memory, n - 1)


@kernel
def now():
    return clock()


def is_compiled(instance):
    return hasattr(instance, "nopython_signatures")


# --- primitives -----------------------------------------------------------------------------------------------------


@both
@given(x=words)
def test_popcount(compiled, x):
    assert build(ones, compiled)(x) == f"{x:b}".count("1")


@given(x=st.integers(0, 2**500))
def test_popcount_of_big_integers(x):
    assert build(ones, False)(x) == f"{x:b}".count("1")


def memory_of(numbers, compiled):
    """A memory with these words: what a kernel takes, and a function that lists the words again."""
    if compiled:
        array = np.array(numbers, np.int64)
        return array.ctypes.data, array.tolist
    memory = list(numbers)
    return memory, memory.copy


@both
@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9), data=st.data())
def test_load_and_store(compiled, numbers, data):
    i, j = (data.draw(st.integers(0, len(numbers) - 1)) for _ in "ij")
    memory, contents = memory_of(numbers, compiled)
    expected = list(numbers)
    expected[i], expected[j] = expected[j], expected[i]
    assert build(swap, compiled)(memory, i, j) == numbers[i]
    assert contents() == expected


@both
def test_prefetch_changes_nothing(compiled):
    numbers = list(range(100, 150))
    memory, contents = memory_of(numbers, compiled)
    assert build(touch, compiled)(memory, 50) == 149
    assert contents() == numbers


@both
def test_the_clock_is_the_monotonic_clock_in_nanoseconds(compiled):
    read = build(now, compiled)
    times = [t for _ in range(100) for t in (time.monotonic_ns(), read())] + [time.monotonic_ns()]
    assert times == sorted(times)
    assert times[-1] > times[0]


# --- instances ------------------------------------------------------------------------------------------------------


@both
def test_an_instance_is_what_was_asked_for(compiled):
    instance = build(scaled, compiled)
    assert is_compiled(instance) is compiled
    assert instance(5) == scaled(5) == 18
    assert instance.__doc__ == scaled.__doc__
    assert build(scaled, compiled) is instance


@both
def test_constants_give_instances_of_their_own(compiled):
    """They reach the kernels that are called, and neither the module nor another instance notices."""
    usual = build(scaled, compiled)
    other = build(scaled, compiled, SCALE=10, SHIFT=7)
    third = build(scaled, compiled, SHIFT=2)
    assert len({id(usual), id(other), id(third)}) == 3
    assert [instance(5) for instance in (usual, other, third, usual)] == [18, 120, 21, 18]
    assert [instance.namespace["moved"](5) for instance in (usual, other, third)] == [6, 12, 7]
    assert (SCALE, SHIFT, scaled(5), moved(5)) == (3, 1, 18, 6)


@both
def test_a_kernel_may_call_itself(compiled):
    instance = build(factorial, compiled)
    assert [instance(n) for n in range(6)] == [1, 1, 2, 6, 24, 120]
    assert instance.namespace["factorial"] is instance


def test_interpreted_kernels_take_integers_of_any_size():
    assert build(scaled, False)(2**100) == 3 * (2**100 + 1)


def test_an_interpreted_callee_can_be_observed():
    instance = build(scaled, False, SCALE=5)  # constants that no other test builds with: instances are shared
    seen = []
    real = instance.namespace["moved"]
    instance.namespace["moved"] = lambda x: seen.append(x) or real(x)
    assert instance(8) == 45
    assert seen == [8]


@needs_numba
@pytest.mark.parametrize("board", [(7, 6, 4), (4, 5, 3), (9, 6, 4), (5, 4, 2), (3, 4, 5), (1, 1, 1)])
def test_compiled_equals_interpreted(board):
    constants = Geometry(*board).constants
    compiled, interpreted = (build(perft, choice, **constants) for choice in (True, False))
    assert is_compiled(compiled)
    assert not is_compiled(interpreted)
    assert [compiled(0, 0, n) for n in range(6)] == [interpreted(0, 0, n) for n in range(6)]


# --- without numba --------------------------------------------------------------------------------------------------


def python(code, **environment):
    """What a fresh interpreter prints, read as JSON."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "broken",
    [
        "sys.modules['numba'] = None",  # not installed
        "sys.modules['llvmlite'] = None",  # numba without its compiler
        # there, and failing in some way of its own
        "finder = types.SimpleNamespace(find_spec=lambda name, *_: 1 / 0 if name == 'llvmlite' else None);"
        "sys.meta_path.insert(0, finder)",
    ],
)
def test_without_numba_everything_is_interpreted(broken):
    found = python(f"""
        import json, sys, types
        {broken}
        from c4lib import jit
        from c4lib.games.connect4 import Connect4, perft
        from c4lib.games.connect4_grid import count_games
        from c4lib.games.position import Position
        from c4lib import make_agent
        from c4lib.search.negamax import Engine
        instance = jit.build(perft, True)
        three = Position.from_moves("335544")
        print(json.dumps({{
            "have": jit.HAVE_NUMBA,
            "function": type(instance).__name__,
            "perft": [instance(0, 0, 5), Connect4().perft(0, 0, 5), Connect4(4, 5, 3).perft(0, 0, 5)],
            "winner": Position.from_moves("4455667").winner,
            "moves": [
                make_agent("minimax:3")(Connect4(), three.state) in (1, 5),
                make_agent("engine:0.05")(Connect4(), three.state) in (1, 5),
                Engine().search(0, 0, depth=4).score,
                count_games(4),
            ],
        }}))
    """)
    expected = Geometry(4, 5, 3)
    assert found == {
        "have": False,
        "function": "function",
        "perft": [16807, 16807, build(perft, False, **expected.constants)(0, 0, 5)],
        "winner": 1,
        "moves": [True, True, Engine().search(0, 0, depth=4).score, 2401],
    }


# --- the cache on disk ----------------------------------------------------------------------------------------------

COMPILE_TWO = """
    import json
    from c4lib.games.connect4 import Geometry, perft
    from c4lib.jit import build
    found = []
    for board in ((7, 6, 4), (4, 5, 3)):
        instance = build(perft, True, **Geometry(*board).constants)
        stats = instance.stats
        found.append([instance(0, 0, 6), sum(stats.cache_hits.values()), sum(stats.cache_misses.values())])
    print(json.dumps(found))
"""


@needs_numba
def test_a_second_process_takes_the_compiled_code_from_the_cache(tmp_path):
    games = [build(perft, False, **Geometry(*board).constants)(0, 0, 6) for board in ((7, 6, 4), (4, 5, 3))]
    assert games[0] != games[1]
    first = python(COMPILE_TWO, C4_CACHE=str(tmp_path))
    second = python(COMPILE_TWO, C4_CACHE=str(tmp_path))
    assert first == [[n, 0, 1] for n in games]
    assert second == [[n, 1, 0] for n in games]


@needs_numba
def test_without_a_writable_folder_it_compiles_uncached(tmp_path):
    (tmp_path / "file").touch()
    for _ in range(2):
        found = python(COMPILE_TWO, C4_CACHE=str(tmp_path / "file" / "below"))
        assert found[0] == [117649, 0, 1]


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """`jit.cache_folder` without its memory, on a cache and a package of the test's own."""
    monkeypatch.setenv("C4_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "package")
    paths.PACKAGE.mkdir()
    (paths.PACKAGE / "one.py").write_text("x = 1\n")
    return jit.cache_folder.__wrapped__


def test_an_edit_of_any_source_changes_the_cache_folder(cache_folder):
    before = cache_folder()
    assert cache_folder() == before
    (paths.PACKAGE / "deeper").mkdir()
    (paths.PACKAGE / "deeper" / "two.py").write_text("y = 2\n")
    between = cache_folder()
    (paths.PACKAGE / "deeper" / "two.py").write_text("y = 3\n")
    assert len({before, between, cache_folder()}) == 3


def test_cache_folders_out_of_use_are_removed(cache_folder, tmp_path):
    ages = {"numba-old": 15, "numba-young": 13}  # days
    for name, days in ages.items():
        probe = tmp_path / "cache" / name / ".writable"
        probe.parent.mkdir(parents=True)
        probe.touch()
        long_ago = time.time() - days * 86400
        os.utime(probe, (long_ago, long_ago))
    (tmp_path / "cache" / "numba-being-made").mkdir()
    (tmp_path / "cache" / "of-others").mkdir()
    current = cache_folder()
    assert current is not None
    left = {folder.name for folder in (tmp_path / "cache").iterdir()}
    assert left == {"numba-young", "numba-being-made", "of-others", current.rpartition(os.sep)[2]}
