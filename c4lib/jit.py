"""The compiler, kept in one file: two decorators, five machine primitives, one builder.

Everything hot in the lab is written once, in plain Python on plain integers, and marked:

* `@inline`  - a small helper. Called from Python it is the Python function itself, so it takes integers of
               any size; called from a kernel it is compiled into it.
* `@kernel`  - a loop or a recursion worth compiling. It stays a Python function until `build` makes an instance
               of it, either compiled by numba or interpreted, with some of its module's constants replaced.

One source thus serves the 64-bit boards at full speed, boards of any size on Python integers, and machines
without numba. All arguments and results of a kernel are 64-bit integers. Memory is handed over as **one** integer,
an address (numba passes an array as seven words on every recursive call); an interpreted kernel gets a list
instead, and `load` and `store` hide the difference.
"""

import hashlib
import time
import types as python_types
from functools import cache

import numpy as np

try:
    import llvmlite.ir as ir
    import numba
    from numba import types
    from numba.extending import intrinsic, overload
except Exception:  # absent, or present and broken: the interpreted kernels do the work
    numba = None

HAVE_NUMBA = numba is not None


# --- primitives: each works on Python objects as written, and has a compiled form below ---------------------------


def popcount(x):
    """Number of one bits of a non-negative integer."""
    return x.bit_count()


def load(memory, i):
    """Word `i` of a memory: a list, or the address of an array of int64."""
    return memory[i]


def store(memory, i, value):
    """Set word `i` of a memory."""
    memory[i] = value


def prefetch(memory, i):
    """Ask for the cache line of word `i` ahead of its use; changes nothing."""


def clock():
    """Nanoseconds of the monotonic clock, the same one inside kernels and outside."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) if hasattr(time, "CLOCK_MONOTONIC") else time.monotonic_ns()


if HAVE_NUMBA:
    WORD = 8

    def word_address(builder, memory, index):
        """LLVM pointer to word `index` of the memory at address `memory`."""
        offset = builder.mul(index, ir.Constant(index.type, WORD))
        return builder.inttoptr(builder.add(memory, offset), ir.IntType(64).as_pointer())

    @intrinsic
    def _popcount(typing, x):
        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def _load(typing, memory, i):
        def codegen(context, builder, signature, args):
            return builder.load(word_address(builder, *args))

        return types.int64(types.int64, types.int64), codegen

    @intrinsic
    def _store(typing, memory, i, value):
        def codegen(context, builder, signature, args):
            builder.store(args[2], word_address(builder, *args[:2]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    @intrinsic
    def _prefetch(typing, memory, i):
        def codegen(context, builder, signature, args):
            int32 = ir.IntType(32)
            pointer = builder.bitcast(word_address(builder, *args), ir.IntType(8).as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [pointer.type, int32, int32, int32])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
            read, keep, data = (ir.Constant(int32, n) for n in (0, 3, 1))
            builder.call(function, [pointer, read, keep, data])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    @overload(popcount)
    def _compiled_popcount(x):
        return lambda x: _popcount(x)

    @overload(load)
    def _compiled_load(memory, i):
        return lambda memory, i: _load(memory, i)

    @overload(store)
    def _compiled_store(memory, i, value):
        return lambda memory, i, value: _store(memory, i, value)

    @overload(prefetch)
    def _compiled_prefetch(memory, i):
        return lambda memory, i: _prefetch(memory, i)

    if hasattr(time, "CLOCK_MONOTONIC"):

        @intrinsic
        def _clock(typing):
            def codegen(context, builder, signature, args):
                int32, int64 = ir.IntType(32), ir.IntType(64)
                timespec = builder.alloca(int64, ir.Constant(int32, 2))
                kind = ir.FunctionType(int32, [int32, int64.as_pointer()])
                name = "clock_gettime"
                function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
                builder.call(function, [ir.Constant(int32, time.CLOCK_MONOTONIC), timespec])
                seconds = builder.load(timespec)
                nanoseconds = builder.load(builder.gep(timespec, [ir.Constant(int32, 1)]))
                return builder.add(builder.mul(seconds, ir.Constant(int64, 10**9)), nanoseconds)

            return types.int64(), codegen

        @overload(clock)
        def _compiled_clock():
            return lambda: _clock()

    else:  # Windows: through the interpreter, half a microsecond a call

        @overload(clock)
        def _compiled_clock():
            def implementation():
                with numba.objmode(now="int64"):
                    now = time.monotonic_ns()
                return now

            return implementation


# --- memory ---------------------------------------------------------------------------------------------------------


def memory_block(words, compiled, zeroed=True):
    """Memory of zeros for a kernel that is compiled, or interpreted: `(block, handle)`.

    The block is read from Python and must be kept; the handle is what the kernel takes. A compiled kernel's block
    begins at a cache line, and all of its pages have been touched, which the system may take its time for; with
    `zeroed=False` it holds anything, and its pages cost nothing until they are used.
    """
    if not (compiled and HAVE_NUMBA):
        block = [0] * words
        return block, block
    block = np.empty(words + 7, np.int64)
    skip = -block.ctypes.data // 8 % 8
    block = block[skip : skip + words]
    if zeroed:
        block.fill(0)
    return block, block.ctypes.data


# --- decorators -----------------------------------------------------------------------------------------------------


def inline(function):
    """Mark a small helper: plain Python to Python, compiled into the kernels that call it.

    Inlining is forced: only then do constant arguments unroll the loops of a helper inside a helper (four times
    faster evaluation). Literals are preferred, so that a helper is compiled for the constants that it is called
    with: in general form its loops over them would be vectorised, for nothing and, on numba 0.60, for ten seconds.
    """
    if HAVE_NUMBA:
        overload(function, jit_options={"forceinline": True}, strict=False, prefer_literal=True)(
            lambda *args, **kwargs: function
        )
    function.is_inline = True
    return function


def kernel(function):
    """Mark a function for `build`. As it stands it is plain Python, with its module's own constants."""
    function.is_kernel = True
    return function


# --- the builder ----------------------------------------------------------------------------------------------------


@cache
def build(function, compiled=True, **constants):
    """An instance of a kernel in which `constants` stand in place of its module's globals of those names.

    Kernels that it calls are built along, and so are the inline helpers of its own module, so these may use the
    constants too; helpers of other modules must be handed what they need. The compiler sees the constants as such,
    so loops over them unroll and tests on them vanish.

    Args:
        function: a function marked with `@kernel`.
        compiled: compile with numba, to `int64(int64, ...)`, cached on disk; otherwise (or where numba cannot be
            imported) the same code interpreted, on integers of any size and lists as memory.
        constants: integers or tuples, by name.

    Returns:
        A callable; `.namespace` holds its globals, in which an interpreted callee may be replaced, to observe it.
    """
    compiled = compiled and HAVE_NUMBA
    namespace = {**function.__globals__, **constants}
    for name, helper in function.__globals__.items():
        if getattr(helper, "is_inline", False) and helper.__globals__ is function.__globals__:
            namespace[name] = inline(_rebuilt(helper, namespace))
    _instantiate(function, namespace, compiled, f"with_{digest(repr(constants).encode())}")
    return namespace[function.__name__]


def _instantiate(function, namespace, compiled, suffix):
    """Rebuild `function` and the kernels that it calls so that they share `namespace`."""
    name = function.__name__
    del namespace[name]  # numba wants the name of a self-recursive function free while it compiles
    for callee in function.__code__.co_names:
        if getattr(namespace.get(callee), "is_kernel", False):
            _instantiate(namespace[callee], namespace, compiled, suffix)
    instance = _rebuilt(function, namespace)
    if compiled:
        # numba names the cached file after the qualified name: one for each set of constants
        instance.__qualname__ = f"{suffix}.{name}"
        signature = types.int64(*[types.int64] * function.__code__.co_argcount)
        instance = compile_function(instance, signature)
    instance.namespace = namespace
    namespace[name] = instance


def _rebuilt(function, namespace):
    """The same code with other globals."""
    copy = python_types.FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
    copy.__doc__ = function.__doc__
    return copy


def compile_function(function, signature):
    """numba's nopython compilation to one signature (None: to those it is called with), releasing the GIL; cached on
    disk where that is possible."""
    folder = cache_folder()
    options = {"nogil": True, "cache": folder is not None}
    before = numba.config.CACHE_DIR
    try:
        # read by numba once, when the function is decorated (a setting of the process: compile from one thread)
        numba.config.CACHE_DIR = folder or ""
        return numba.njit(signature, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def digest(content):
    """Sixteen hexadecimal digits that stand for these bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def sources_digest():
    """The digest of the package's sources. Raises ImportError outside a package on disk."""
    from . import paths

    return digest(b"".join(source.read_bytes() for source in sorted(paths.PACKAGE.rglob("*.py"))))


@cache
def cache_folder():
    """Folder for compiled code, named by a digest of the package's sources, or None where there is none.

    numba notices an edit of the function that it cached, not of the functions that this one calls; with a folder
    for each state of the sources a stale result cannot happen. There is none outside a package on disk (an exported
    file), and where the folder cannot be written.
    """
    try:
        from . import paths

        folder = paths.cache_folder() / f"numba-{sources_digest()}"
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        _forget_old(folder)
        return str(folder)
    except (ImportError, OSError, RuntimeError):
        return None


def _forget_old(folder, days=14):
    """Remove sibling cache folders that no process has used for `days`."""
    import shutil

    for other in folder.parent.glob("numba-*"):
        probe = other / ".writable"  # absent where another process is just making or removing the folder
        if other != folder and probe.exists() and time.time() - probe.stat().st_mtime > days * 86400:
            shutil.rmtree(other, ignore_errors=True)
