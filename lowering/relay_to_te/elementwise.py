"""Computes of the elementwise and broadcasting operators."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from typing import cast

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import te
from ...dialects.relay import elementwise as relay
from ...dialects.relay.constants import numpy_dtype
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import BroadcastToOp
from ...provenance.diagnostics import fail
from .body import Body, TeBuilder, Tensor, element

_Unary = Callable[[Body, Operator, SSAValue], SSAValue]


def _is_integer(value: SSAValue) -> bool:
    return te.is_integer(value.type)


def _operand(op: Operator) -> Attribute:
    """The element type of the first operand; a scalar's own type no longer knows its sign."""
    return element_of(op.operands[0])


def _call(kind: type[Operation]) -> _Unary:
    def body(b: Body, op: Operator, x: SSAValue) -> SSAValue:
        return b.apply_fast(kind, _float(op, x))

    return body


def _rounding(kind: type[Operation]) -> _Unary:
    """Integers are round already."""
    return lambda b, op, x: x if _is_integer(x) else b.apply_fast(kind, x)


def _float(op: Operator, x: SSAValue) -> SSAValue:
    """`x` itself; raises VerifyException when it is an integer."""
    if _is_integer(x):
        fail(op, "a float operand", str(op.operands[0].type))
    return x


def _in_float32(compute: _Unary) -> _Unary:
    """Half precision computed in float32, for formulas of several steps: rounded once."""

    def body(b: Body, op: Operator, x: SSAValue) -> SSAValue:
        narrow = _float(op, x).type
        if not isinstance(narrow, Float16Type | BFloat16Type):
            return compute(b, op, x)
        wide = b.add(arith.ExtFOp(x, f32)).result
        return b.add(arith.TruncFOp(compute(b, op, wide), narrow)).result

    return body


def _abs(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    if te.is_unsigned(_operand(op)):
        return x
    return body.apply(math.AbsIOp, x) if _is_integer(x) else body.apply_fast(math.AbsFOp, x)


def _negative(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    if _is_integer(x):
        return body.add(arith.SubiOp(body.constant(0, x.type), x)).result
    return body.apply_fast(arith.NegfOp, x)


def _relu(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    # A comparison with NaN is false, so that NaN stays.
    zero = body.constant(0, x.type)
    return body.select(_less(body, op, x, zero), zero, x)


def _less(body: Body, op: Operator, x: SSAValue, y: SSAValue) -> SSAValue:
    return body.compare(PREDICATES["less"][_sort(_operand(op))], x, y)


def _leaky_relu(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    alpha = body.constant(op.signature.get("alpha"), _float(op, x).type)
    zero = body.constant(0, x.type)
    return body.select(_less(body, op, x, zero), body.add(arith.MulfOp(x, alpha)).result, x)


def _clip(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    low, high = op.signature.get("a_min"), op.signature.get("a_max")
    if _is_integer(x):
        # A fractional bound binds at the next integer inside; one beyond the type's range does not bind.
        info = np.iinfo(cast("np.dtype[np.int8]", numpy_dtype(_operand(op))))
        low, high = (min(max(bound, info.min), info.max) for bound in (low, high))
        low, high = ceil(low), floor(high)
    least, most = (body.constant(bound, x.type) for bound in (low, high))
    raised = body.select(_less(body, op, x, least), least, x)
    return body.select(_less(body, op, most, raised), most, raised)


def _rsqrt(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    return body.add(arith.DivfOp(body.constant(1, x.type), body.apply_fast(math.SqrtOp, x))).result


def _sigmoid(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    one = body.constant(1, x.type)
    grown = body.apply_fast(math.ExpOp, body.apply_fast(arith.NegfOp, x))
    return body.add(arith.DivfOp(one, body.add(arith.AddfOp(one, grown)).result)).result


def _copy(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    return x


def convert(body: Body, x: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """A number of element type `source` as one of `target`, numpy's way.

    Floats are truncated to integers; anything but 0 is true, and true is 1.
    """
    have, want = te.stored_type(source), te.stored_type(target)
    if have == want:
        return x
    unsigned = te.is_unsigned(source)
    match te.is_integer(have), te.is_integer(want):
        case integer, True if te.bit_width(want) == 1:
            return body.compare("ne" if integer else "une", x, body.constant(0, have))
        case True, True:
            widen = arith.ExtUIOp if unsigned else arith.ExtSIOp
            kind = arith.TruncIOp if te.bit_width(want) < te.bit_width(have) else widen
        case True, False:
            kind = arith.UIToFPOp if unsigned else arith.SIToFPOp
        case False, True:
            kind = arith.FPToUIOp if te.is_unsigned(target) else arith.FPToSIOp
        case _:
            if have != f32 != want and bf16 in (have, want):
                # LLVM converts bf16 to and from f32 only, without a library.
                return convert(body, convert(body, x, source, f32), f32, target)
            kind = arith.ExtFOp if _BITS[str(want)] > _BITS[str(have)] else arith.TruncFOp
    return body.add(kind.create(operands=[x], result_types=[want])).results[0]


_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}

UNARY: dict[type[Operator], _Unary] = {
    relay.AbsOp: _abs,
    relay.CeilOp: _rounding(math.CeilOp),
    relay.ClipOp: _clip,
    relay.CopyOp: _copy,
    relay.ErfOp: _call(math.ErfOp),
    relay.ExpOp: _call(math.ExpOp),
    relay.FloorOp: _rounding(math.FloorOp),
    relay.LeakyReluOp: _leaky_relu,
    relay.LogOp: _call(math.LogOp),
    relay.NegativeOp: _negative,
    relay.ReluOp: _relu,
    relay.RoundOp: _rounding(math.RoundEvenOp),
    relay.RsqrtOp: _in_float32(_rsqrt),
    relay.SigmoidOp: _in_float32(_sigmoid),
    relay.SqrtOp: _call(math.SqrtOp),
    relay.TanhOp: _call(math.TanhOp),
}

_FLOAT, _SIGNED, _UNSIGNED = range(3)


def _sort(element: Attribute) -> int:
    """The column of the tables below."""
    return _FLOAT if not te.is_integer(element) else _UNSIGNED if te.is_unsigned(element) else _SIGNED


_Kinds = tuple[type[Operation], type[Operation] | None, type[Operation] | None]

ARITHMETIC: dict[type[Operator], _Kinds] = {
    relay.AddOp: (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    relay.SubtractOp: (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    relay.MultiplyOp: (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    relay.DivideOp: (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    relay.PowerOp: (math.PowFOp, None, None),
    relay.MaximumOp: (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp),
    relay.MinimumOp: (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp),
}
"""Operator -> the op on floats, on signed and on unsigned integers."""

PREDICATES: dict[str, tuple[str, str, str]] = {
    "equal": ("oeq", "eq", "eq"),
    "less": ("olt", "slt", "ult"),
    "greater": ("ogt", "sgt", "ugt"),
}
"""Comparison -> the predicate on floats, on signed and on unsigned integers."""


def arithmetic(body: Body, op: Operator, kinds: _Kinds, left: SSAValue, right: SSAValue) -> SSAValue:
    """The op that `kinds` has for the operands' element type; raises VerifyException when it has none."""
    kind = kinds[_sort(_operand(op))]
    if kind is None:
        fail(op, "float operands", str(op.operands[0].type))
    if not _is_integer(left):
        return body.apply_fast(kind, left, right)
    if kind is arith.AddiOp and te.bit_width(left.type) == 1:
        return body.apply(arith.OrIOp, left, right)
    if kind in (arith.DivSIOp, arith.DivUIOp):
        return _quotient(body, kind, left, right)
    return body.apply(kind, left, right)


def _quotient(body: Body, kind: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
    """A division that never traps: x / 0 is 0, the least number / -1 wraps, both as in numpy."""
    zero, one = body.constant(0, left.type), body.constant(1, left.type)
    is_zero = body.compare("eq", right, zero)
    if kind is arith.DivUIOp:
        return body.select(is_zero, zero, body.apply(kind, left, body.select(is_zero, one, right)))
    is_minus = body.compare("eq", right, body.constant(-1, left.type))
    special = body.select(is_zero, zero, body.add(arith.SubiOp(zero, left)).result)
    trap = body.add(arith.OrIOp(is_zero, is_minus)).result
    return body.select(trap, special, body.apply(kind, left, body.select(trap, one, right)))


def lower_unary(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    (x,) = inputs
    result = op.results[0]

    def body(b: Body) -> SSAValue:
        value = b.read(x, b.axes)
        if isinstance(op, relay.CastOp):
            return convert(b, value, _operand(op), element(result))
        return UNARY[type(op)](b, op, value)

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def label(op: Operator) -> str:
    return op.name.removeprefix("relay.").removeprefix("nn.")


def lower_binary(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    x, y = inputs
    result = op.results[0]

    def body(b: Body) -> SSAValue:
        left, right = b.read_broadcast(x, b.axes), b.read_broadcast(y, b.axes)
        if isinstance(op, relay.Compare):
            return b.compare(PREDICATES[label(op)][_sort(_operand(op))], left, right)
        return arithmetic(b, op, ARITHMETIC[type(op)], left, right)

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def lower_bias_add(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    x, bias = inputs
    result = op.results[0]
    axis = op.signature.int("axis") % len(shape_of(result))

    def body(b: Body) -> SSAValue:
        return arithmetic(b, op, ARITHMETIC[relay.AddOp], b.read(x, b.axes), b.read(bias, [b.axes[axis]]))

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def lower_broadcast_to(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    result = op.results[0]
    return [
        builder.compute(label(op), shape_of(result), element(result), lambda b: b.read_broadcast(inputs[0], b.axes))
    ]


TABLE = {
    **dict.fromkeys([*UNARY, relay.CastOp], lower_unary),
    **dict.fromkeys([*ARITHMETIC, relay.EqualOp, relay.LessOp, relay.GreaterOp], lower_binary),
    BiasAddOp: lower_bias_add,
    BroadcastToOp: lower_broadcast_to,
}
