"""The vector dialect, op by op."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...provenance.diagnostics import fail
from ..llvm_to_native.text import suffix, type_text
from .arithmetic import direct, flags, intrinsic, overloaded
from .context import Handler, Lowering
from .types import element, is_integer, lanes, number_attribute, register_type, vector_type


def _broadcast(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.BroadcastOp)
    value, type_ = ctx.get(op.source), register_type(op.vector.type)
    if vector_type(value.type) is not None:
        if value.type != type_:
            fail(op, f"a scalar or {type_}", str(value.type))
        ctx.set(op.vector, value)
    elif isinstance(constant := value.owner, llvm.ConstantOp):
        number = cast("IntegerAttr | FloatAttr", constant.value).value.data
        ctx.set(op.vector, ctx.constant(number_attribute(number, type_), type_))
    else:
        ctx.set(op.vector, ctx.splat(value, type_))


_INTEGER_KINDS = {"add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor"} | {
    "minui": "umin",
    "minsi": "smin",
    "maxui": "umax",
    "maxsi": "smax",
}
_FLOAT_KINDS = {"maxnumf": "fmax", "minnumf": "fmin", "maximumf": "fmaximum", "minimumf": "fminimum"}
# The neutral start, and how the accumulator is joined.
_FLOAT_STARTS = {"add": ("fadd", -0.0), "mul": ("fmul", 1.0)}
_JOIN_OPS: dict[str, type[Operation]] = {
    "add": llvm.AddOp,
    "mul": llvm.MulOp,
    "and": llvm.AndOp,
    "or": llvm.OrOp,
    "xor": llvm.XOrOp,
}
_JOIN_INTRINSICS = {"minui": "umin", "minsi": "smin", "maxui": "umax", "maxsi": "smax"} | {
    "maxnumf": "maxnum",
    "minnumf": "minnum",
    "maximumf": "maximum",
    "minimumf": "minimum",
}

_PROPAGATING = {"maximumf": "maximum", "minimumf": "minimum"}


def _halved(ctx: Lowering, name: str, value: SSAValue, free: Mapping[str, Attribute]) -> SSAValue:
    """The upper half of the lanes with the lower one, until one is left.

    LLVM's reduction by `maximum` does the last 4 lanes one after the other.
    """
    type_ = value.type
    width = whole = lanes(type_)
    while width > 2:
        left = width // 2
        upper = ctx.shuffle(value, value, [*range(left, width), *[-1] * (whole - left)], type_)
        value = overloaded(ctx, name, [value, upper], free)
        width = left
    ends = [ctx.extract(value, lane, element(type_)) for lane in range(width)]
    return overloaded(ctx, name, ends, free) if width > 1 else ends[0]


def _reduction(ctx: Lowering, op: Operation) -> None:
    """The order within a vector is free, so that it takes log2(lanes) steps."""
    assert isinstance(op, vector.ReductionOp)
    kind, value, free = op.kind.data.value, ctx.get(op.vector), flags(op)
    acc = ctx.get(op.acc) if op.acc is not None else None
    scalar, name = element(value.type), suffix(type_text(value.type))
    if not is_integer(scalar) and kind in _FLOAT_STARTS:
        word, neutral = _FLOAT_STARTS[kind]
        start = acc if acc is not None else ctx.number(neutral, scalar)
        pairwise = {"fastmathFlags": llvm.FastMathAttr([*op.fastmath.data, FastMathFlag.REASSOC])}
        total = ctx.intrinsic(f"llvm.vector.reduce.{word}.{name}", (start, value), scalar, pairwise)
        ctx.set(op.dest, total.results[0])
        return
    kinds = _INTEGER_KINDS if is_integer(scalar) else _FLOAT_KINDS
    if kind not in kinds:
        fail(op, f"a kind among {', '.join(kinds)}", kind)
    if kind in _PROPAGATING and not is_integer(scalar) and lanes(value.type).bit_count() == 1:
        result = _halved(ctx, _PROPAGATING[kind], value, free)
    else:
        result = ctx.intrinsic(f"llvm.vector.reduce.{kinds[kind]}.{name}", (value,), scalar, free).results[0]
    if acc is not None and kind in _JOIN_OPS:
        result = ctx.value(_JOIN_OPS[kind], (acc, result), scalar)
    elif acc is not None:
        result = overloaded(ctx, _JOIN_INTRINSICS[kind], [acc, result], free)
    ctx.set(op.dest, result)


def _position(op: Operation) -> int:
    static = cast(DenseArrayBase[IntegerType], op.properties["static_position"]).get_values()
    if len(static) != 1 or static[0] < 0:
        fail(op, "one constant position", str(list(static)))
    return static[0]


def _extract(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    value = ctx.get(op.vector)
    ctx.set(op.result, ctx.extract(value, _position(op), element(value.type)))


def _insert(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    ctx.set(op.result, ctx.insert(ctx.get(op.dest), ctx.get(op.source), _position(op)))


def _shuffle(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ShuffleOp)
    type_ = register_type(op.result.type)
    ctx.set(op.result, ctx.shuffle(ctx.get(op.v1), ctx.get(op.v2), op.mask.get_values(), type_))


VECTORS: dict[type[Operation], Handler] = {
    vector.BroadcastOp: _broadcast,
    vector.ReductionOp: _reduction,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ShuffleOp: _shuffle,
    vector.FMAOp: intrinsic("fma"),
    vector.BitcastOp: direct(llvm.BitcastOp),
}
