"""Vectors of 64-bit integers, so that all moves of a position are looked at in one stroke.

`Lanes` holds one integer a column. The operators `& | ^ ~ + - * << >>` and `popcount` work lane by lane, a plain
integer standing for itself in every lane; so the bit tricks of the lab take lanes as they take integers. In a kernel
they become LLVM vectors (one AVX-512 register holds eight lanes; other machines use several); from Python they are
the class below, which says what they mean.
"""

import operator

from .jit import HAVE_NUMBA

OPERATORS = {
    "and_": operator.and_,
    "or_": operator.or_,
    "xor": operator.xor,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "shl": operator.lshift,
    "lshr": operator.rshift,  # of numbers that are not negative
}  # by their names in LLVM


class Lanes:
    """A few integers, one a lane."""

    def __init__(self, values):
        self.values = tuple(values)

    def _other(self, x):
        return x.values if isinstance(x, Lanes) else (x,) * len(self.values)

    def __invert__(self):
        return Lanes(~a for a in self.values)

    def bit_count(self):
        """Number of one bits, by lane."""
        return Lanes(a.bit_count() for a in self.values)


def _lane_by_lane(function):
    def forward(self, other):
        return Lanes(map(function, self.values, self._other(other)))

    def reflected(self, other):
        return Lanes(map(function, self._other(other), self.values))

    return forward, reflected


for _function in OPERATORS.values():
    _name = _function.__name__.strip("_")
    _forward, _reflected = _lane_by_lane(_function)
    setattr(Lanes, f"__{_name}__", _forward)
    setattr(Lanes, f"__r{_name}__", _reflected)


def lanes(values):
    """The integers of a constant tuple; in a kernel 8, 16 or 32 of them."""
    return Lanes(values)


def where(test, chosen, other):
    """Lanes of `chosen` where those of `test` are not zero, else of `other`; these two may be integers."""
    pairs = zip(test.values, test._other(chosen), test._other(other), strict=True)
    return Lanes(a if t else b for t, a, b in pairs)


def nonzero(x):
    """An integer whose bit `i` is set where lane `i` is not zero."""
    return sum(1 << i for i, a in enumerate(x.values) if a)


def highest(x):
    """The greatest of the lanes."""
    return max(x.values)


def load_lanes(memory, i, count):
    """The `count` words of a memory from word `i` on; a multiple of `count`."""
    return Lanes(memory[i : i + count])


def store_lanes(memory, i, x):
    """Write lanes to a memory from word `i` on; a multiple of their number."""
    memory[i : i + len(x.values)] = x.values


if HAVE_NUMBA:
    import llvmlite.ir as ir
    from numba import types
    from numba.extending import intrinsic, models, overload, register_model

    from .jit import popcount, word_address

    INT32, INT64 = ir.IntType(32), ir.IntType(64)

    class LanesType(types.Type):
        """numba's type of lanes."""

        def __init__(self, count):
            self.count = count
            super().__init__(f"Lanes({count})")

        @property
        def vector(self):
            """The machine's vector of this many lanes."""
            return ir.VectorType(INT64, self.count)

    @register_model(LanesType)
    class LanesModel(models.PrimitiveModel):
        def __init__(self, manager, lanes_type):
            super().__init__(manager, lanes_type, lanes_type.vector)

    def _vector(context, builder, kind, value, lanes_type):
        """A value as lanes: as it is, or an integer in every lane."""
        if isinstance(kind, LanesType):
            return value
        undefined = ir.Constant(lanes_type.vector, ir.Undefined)
        value = context.cast(builder, value, kind, types.int64)
        first = builder.insert_element(undefined, value, ir.Constant(INT32, 0))
        zeros = ir.Constant(ir.VectorType(INT32, lanes_type.count), [0] * lanes_type.count)
        return builder.shuffle_vector(first, undefined, zeros)

    def _builtin(builder, name, lanes_type, result):
        """LLVM's function of that name on such lanes."""
        name = f"{name}.v{lanes_type.count}i64"
        kind = ir.FunctionType(result, [lanes_type.vector])
        return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)

    def _pointer(builder, memory, i, lanes_type):
        return builder.bitcast(word_address(builder, memory, i), lanes_type.vector.as_pointer())

    def _install(name, function):
        """Give lanes an operator and, where there is one, its in-place form."""

        @intrinsic
        def operation(typing, a, b):
            result = a if isinstance(a, LanesType) else b

            def codegen(context, builder, signature, args):
                a, b = (_vector(context, builder, *pair, result) for pair in zip(signature.args, args, strict=True))
                return getattr(builder, name)(a, b)

            return result(a, b), codegen

        def implementation(a, b):
            if isinstance(a, LanesType) or isinstance(b, LanesType):
                return lambda a, b: operation(a, b)

        overload(function)(implementation)
        overload(getattr(operator, f"i{function.__name__.strip('_')}"))(implementation)

    for _name, _function in OPERATORS.items():
        _install(_name, _function)

    @intrinsic
    def _invert(typing, x):
        return x(x), lambda context, builder, signature, args: builder.not_(args[0])

    @overload(operator.invert)
    def _compiled_invert(x):
        if isinstance(x, LanesType):
            return lambda x: _invert(x)

    @intrinsic
    def _popcounts(typing, x):
        def codegen(context, builder, signature, args):
            return builder.call(_builtin(builder, "llvm.ctpop", x, x.vector), args)

        return x(x), codegen

    @overload(popcount)
    def _compiled_popcounts(x):
        if isinstance(x, LanesType):
            return lambda x: _popcounts(x)

    @intrinsic(prefer_literal=True)
    def _lanes(typing, values):
        numbers = [value.literal_value for value in values]
        result = LanesType(len(numbers))

        def codegen(context, builder, signature, args):
            return ir.Constant(result.vector, numbers)

        return result(values), codegen

    @overload(lanes, prefer_literal=True)
    def _compiled_lanes(values):
        return lambda values: _lanes(values)

    def _is_nonzero(builder, x, lanes_type):
        return builder.icmp_signed("!=", x, ir.Constant(lanes_type.vector, [0] * lanes_type.count))

    @intrinsic
    def _where(typing, test, chosen, other):
        def codegen(context, builder, signature, args):
            chosen, other = (_vector(context, builder, signature.args[k], args[k], test) for k in (1, 2))
            return builder.select(_is_nonzero(builder, args[0], test), chosen, other)

        return test(test, chosen, other), codegen

    @overload(where)
    def _compiled_where(test, chosen, other):
        return lambda test, chosen, other: _where(test, chosen, other)

    @intrinsic
    def _nonzero(typing, x):
        def codegen(context, builder, signature, args):
            bits = builder.bitcast(_is_nonzero(builder, args[0], x), ir.IntType(x.count))
            return builder.zext(bits, INT64)

        return types.int64(x), codegen

    @overload(nonzero)
    def _compiled_nonzero(x):
        return lambda x: _nonzero(x)

    @intrinsic
    def _highest(typing, x):
        def codegen(context, builder, signature, args):
            return builder.call(_builtin(builder, "llvm.vector.reduce.smax", x, INT64), args)

        return types.int64(x), codegen

    @overload(highest)
    def _compiled_highest(x):
        return lambda x: _highest(x)

    @intrinsic(prefer_literal=True)
    def _load_lanes(typing, memory, i, count):
        result = LanesType(count.literal_value)

        def codegen(context, builder, signature, args):
            load = builder.load(_pointer(builder, *args[:2], result))
            load.align = 64
            return load

        return result(types.int64, types.int64, count), codegen

    @overload(load_lanes, prefer_literal=True)
    def _compiled_load_lanes(memory, i, count):
        return lambda memory, i, count: _load_lanes(memory, i, count)

    @intrinsic
    def _store_lanes(typing, memory, i, x):
        def codegen(context, builder, signature, args):
            store = builder.store(args[2], _pointer(builder, *args[:2], x))
            store.align = 64
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, x), codegen

    @overload(store_lanes)
    def _compiled_store_lanes(memory, i, x):
        return lambda memory, i, x: _store_lanes(memory, i, x)
