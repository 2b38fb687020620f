"""Short vectors for compiled code: 16 lanes of int16 or 8 of float32.

The loop vectoriser of the compiler gives up on recursions whose inner loop is one vector long;
these few operations let a recursion say what it means. They compile to the vector instructions of
any processor, and exist in compiled code only (not with ``NUMBA_DISABLE_JIT=1``).

Addition of int16 saturates. Comparisons give ints of the width of the lanes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model

__all__ = [
    "add",
    "either",
    "fill",
    "flag_above",
    "flag_at_least",
    "larger",
    "load",
    "shift1",
    "shift2",
    "shift4",
    "shift8",
    "store",
    "store_bytes",
]


intrinsic: Any = extending.intrinsic  # what it makes is called without its first argument


class Lanes(types.Type):
    """Type of a vector."""

    def __init__(self, dtype: Any, n: int):
        self.dtype, self.n = dtype, n
        super().__init__(name=f"Lanes({dtype}, {n})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Lanes):
        super().__init__(manager, fe_type, _vector(fe_type))


_ELEMENTS = {
    types.int16: ir.IntType(16),
    types.int32: ir.IntType(32),
    types.float32: ir.FloatType(),
    types.uint8: ir.IntType(8),
}
_LANES = {types.int16: Lanes(types.int16, 16), types.float32: Lanes(types.float32, 8)}
_MASKS = {types.int16: Lanes(types.int16, 16), types.float32: Lanes(types.int32, 8)}


def _vector(lanes: Lanes) -> ir.VectorType:
    return ir.VectorType(_ELEMENTS[lanes.dtype], lanes.n)


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any, vector: ir.VectorType) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _spread(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """Vector at ``array[index]``, a contiguous array."""
    lanes = _LANES[array.dtype]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], _vector(lanes))
        return builder.load(place, align=lanes.dtype.bitwidth // 8)

    return lanes(array, types.intp), generate


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write a vector to ``array[index]``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], _vector(value))
        builder.store(args[2], place, align=value.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def store_bytes(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write the low bytes of the lanes to an array of uint8."""
    narrow = ir.VectorType(ir.IntType(8), value.n)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], narrow)
        builder.store(builder.trunc(args[2], narrow), place, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def fill(typing: Any, value: Any) -> Any:
    """The same number, of type int16 or float32, in all lanes."""
    lanes = _LANES[value]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _spread(builder, args[0], _vector(lanes))

    return lanes(value), generate


@intrinsic
def add(typing: Any, a: Any, b: Any) -> Any:
    """Sum, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if a.dtype == types.float32:
            return builder.fadd(*args)
        vector = _vector(a)
        kind = ir.FunctionType(vector, [vector, vector])
        name = f"llvm.sadd.sat.v{a.n}i{a.dtype.bitwidth}"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    return a(a, b), generate


def _compare(builder: Any, lanes: Lanes, sign: str, a: Any, b: Any) -> Any:
    if lanes.dtype == types.float32:
        return builder.fcmp_ordered(sign, a, b)
    return builder.icmp_signed(sign, a, b)


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Any:
    """Maximum, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(_compare(builder, a, ">", *args), *args)

    return a(a, b), generate


def _flag(sign: str) -> Any:
    def typed(typing: Any, a: Any, b: Any, bit: Any) -> Any:
        mask = _MASKS[a.dtype]

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = _vector(mask)
            value = builder.trunc(args[2], vector.element)
            yes = _compare(builder, a, sign, args[0], args[1])
            return builder.select(yes, _spread(builder, value, vector), ir.Constant(vector, None))

        return mask(a, b, types.int64), generate

    return typed


@intrinsic
def flag_above(typing: Any, a: Any, b: Any, bit: Any) -> Any:
    """``bit`` in the lanes where a > b, else 0."""
    return _flag(">")(typing, a, b, bit)


@intrinsic
def flag_at_least(typing: Any, a: Any, b: Any, bit: Any) -> Any:
    """``bit`` in the lanes where a >= b, else 0."""
    return _flag(">=")(typing, a, b, bit)


@intrinsic
def either(typing: Any, a: Any, b: Any) -> Any:
    """Bitwise or."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.or_(*args)

    return a(a, b), generate


def _shifted(k: int) -> Any:
    def typed(typing: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            n = a.n
            lanes = [n + i if i < k else i - k for i in range(n)]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), n), lanes)
            return builder.shuffle_vector(args[0], args[1], mask)

        return a(a, b), generate

    return typed


@intrinsic
def shift1(typing: Any, a: Any, b: Any) -> Any:
    """Lanes of ``a`` one place up, with the first lane of ``b`` before them."""
    return _shifted(1)(typing, a, b)


@intrinsic
def shift2(typing: Any, a: Any, b: Any) -> Any:
    """The same by two places."""
    return _shifted(2)(typing, a, b)


@intrinsic
def shift4(typing: Any, a: Any, b: Any) -> Any:
    """The same by four places."""
    return _shifted(4)(typing, a, b)


@intrinsic
def shift8(typing: Any, a: Any, b: Any) -> Any:
    """The same by eight places; with eight lanes these are those of ``b``."""
    return _shifted(8)(typing, a, b)
