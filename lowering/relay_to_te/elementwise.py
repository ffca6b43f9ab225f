"""Computes of the elementwise and broadcasting operators."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from math import ceil, floor

from ... import te
from ...dialects.element_types import dtype_name
from ...dialects.relay import elementwise as relay
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import BroadcastToOp
from ...support.dtypes import BOOL, bits, is_float, is_unsigned, limits, rounded
from ...te import Expr, Tensor
from .small_dtypes import cast, reinterpret
from .stages import broadcast, compute, label, shape, wide

_Unary = Callable[[Expr], Expr]
_Attributed = Callable[[Operator, Expr], Expr]
_Binary = Callable[[Expr, Expr], Expr]


def _widened(function: _Unary) -> _Unary:
    """Half precision is computed in float32 and rounded once."""
    return lambda x: function(x.astype(wide(x.dtype))).astype(x.dtype)


def _relu(x: Expr) -> Expr:
    # A comparison with NaN is false, so that NaN stays.
    zero = te.const(0, x.dtype)
    return te.select(x < zero, zero, x)


def _clip(op: Operator, x: Expr) -> Expr:
    return clipped(x, *(op.signature.get(name) for name in ("a_min", "a_max")))


def clipped(x: Expr, low: float, high: float) -> Expr:
    """A number cut off at bounds; NaN stays."""
    low, high = (rounded(bound, x.dtype) for bound in (low, high))
    if not is_float(x.dtype):
        # A fractional bound binds at the next integer inside; one beyond the type's range does not bind.
        first, last = limits(x.dtype)
        low, high = (min(max(bound, first), last) for bound in (low, high))
        low, high = ceil(low), floor(high)
    least, most = te.const(low, x.dtype), te.const(high, x.dtype)
    raised = te.select(x < least, least, x)
    return te.select(most < raised, most, raised)


def _cast(op: Operator, x: Expr) -> Expr:
    source, target = (dtype_name(element_of(value)) for value in (op.operands[0], op.results[0]))
    return cast(x, source, target, op.signature.str("round_mode"))


def _reinterpret(op: Operator, x: Expr) -> Expr:
    return reinterpret(x, *(dtype_name(element_of(value)) for value in (op.operands[0], op.results[0])))


def _sign(x: Expr) -> Expr:
    # A number that is neither greater nor less is a zero or NaN, and stays.
    result = te.select(0 < x, 1, x)
    return result if is_unsigned(x.dtype) else te.select(x < 0, -1, result)


UNARY: dict[type[Operator], _Unary] = {
    relay.AbsOp: te.abs,
    relay.AcosOp: te.acos,
    relay.AcoshOp: te.acosh,
    relay.AsinOp: te.asin,
    relay.AsinhOp: te.asinh,
    relay.AtanOp: te.atan,
    relay.AtanhOp: te.atanh,
    relay.BitwiseNotOp: te.bitwise_not,
    relay.CbrtOp: te.cbrt,
    relay.CeilOp: te.ceil,
    relay.CopyOp: lambda x: x,
    relay.CosOp: te.cos,
    relay.CoshOp: te.cosh,
    relay.ErfOp: te.erf,
    relay.ExpOp: te.exp,
    relay.Exp2Op: te.exp2,
    relay.Expm1Op: te.expm1,
    relay.FloorOp: te.floor,
    relay.IsFiniteOp: te.isfinite,
    relay.IsInfOp: te.isinf,
    relay.IsNanOp: te.isnan,
    relay.LogOp: te.log,
    relay.Log10Op: te.log10,
    relay.Log1pOp: te.log1p,
    relay.Log2Op: te.log2,
    relay.LogicalNotOp: te.logical_not,
    relay.NegativeOp: operator.neg,
    relay.OnesLikeOp: lambda x: te.const(1, x.dtype),
    relay.ReluOp: _relu,
    relay.RoundOp: te.nearbyint,
    relay.RsqrtOp: _widened(lambda x: 1.0 / te.sqrt(x)),
    relay.SigmoidOp: _widened(te.sigmoid),
    relay.SignOp: _sign,
    relay.SinOp: te.sin,
    relay.SinhOp: te.sinh,
    relay.SqrtOp: te.sqrt,
    relay.TanOp: te.tan,
    relay.TanhOp: te.tanh,
    relay.TruncOp: te.trunc,
    relay.ZerosLikeOp: lambda x: te.const(0, x.dtype),
}
"""Operator -> its element, of the operand's."""

ATTRIBUTED: dict[type[Operator], _Attributed] = {
    relay.CastOp: _cast,
    relay.ClipOp: _clip,
    relay.ReinterpretOp: _reinterpret,
    relay.LeakyReluOp: lambda op, x: te.select(x < 0, x * op.signature.get("alpha"), x),
}
"""Operator -> its element, of the operator and the operand's element."""


def _arithmetic(numbers: _Binary, bools: _Binary) -> _Binary:
    return lambda x, y: (bools if x.dtype == BOOL else numbers)(x, y)


def _divide(x: Expr, y: Expr) -> Expr:
    return x / y if is_float(x.dtype) else truncated_quotient(x, y)


def truncated_quotient(x: Expr, y: Expr) -> Expr:
    """Integers divide towards zero and never trap: x / 0 is 0, the least number / -1 wraps, both as in numpy."""
    zero, one = te.const(0, x.dtype), te.const(1, x.dtype)
    is_zero = y == zero
    if is_unsigned(x.dtype):
        return te.select(is_zero, zero, te.div(x, te.select(is_zero, one, y)))
    trap = te.any(is_zero, y == -1)
    return te.select(trap, te.select(is_zero, zero, zero - x), te.div(x, te.select(trap, one, y)))


def _power(x: Expr, y: Expr) -> Expr:
    """Integers modulo their width; with a negative exponent the quotient 1 / x**-y towards zero, 0 for x = 0."""
    if is_float(x.dtype):
        return te.power(x, y)
    zero, one = te.const(0, x.dtype), te.const(1, x.dtype)
    odd = te.bitwise_and(y, one)
    result, square = te.select(odd == zero, one, x), x
    for bit in range(1, bits(x.dtype) - (not is_unsigned(x.dtype))):
        square = square * square
        digit = te.bitwise_and(te.shift_right(y, te.const(bit, y.dtype)), one)
        result = te.select(digit == zero, result, result * square)
    if is_unsigned(x.dtype):
        return result
    unit = te.select(odd == zero, one, x)
    return te.select(y < 0, te.select(te.any(x == 1, x == -1), unit, zero), result)


def _hypot(x: Expr, y: Expr) -> Expr:
    number = wide(x.dtype)
    return te.hypot(x.astype(number), y.astype(number)).astype(x.dtype)


BINARY: dict[type[Operator], _Binary] = {
    relay.Atan2Op: te.atan2,
    relay.CopysignOp: te.copysign,
    relay.HypotOp: _hypot,
    relay.AddOp: _arithmetic(operator.add, te.bitwise_or),
    relay.SubtractOp: _arithmetic(operator.sub, te.bitwise_xor),
    relay.MultiplyOp: _arithmetic(operator.mul, te.bitwise_and),
    relay.DivideOp: _divide,
    relay.PowerOp: _power,
    relay.MaximumOp: _arithmetic(te.maximum, te.bitwise_or),
    relay.MinimumOp: _arithmetic(te.minimum, te.bitwise_and),
    relay.EqualOp: lambda x, y: x.equal(y),
    relay.LessOp: lambda x, y: x < y,
    relay.GreaterOp: lambda x, y: x > y,
}
"""Operator -> its element, of the operands', which have one dtype."""


def pointwise(op: Operator, *operands: Tensor) -> Tensor:
    """The element of a table, of the operands' elements, which broadcast."""
    kind = type(op)
    return _compute(UNARY.get(kind) or BINARY.get(kind) or partial(ATTRIBUTED[kind], op), op, *operands)


def _compute(element: Callable[..., Expr], op: Operator, *operands: Tensor) -> Tensor:
    return compute(shape_of(op.results[0]), lambda *i: element(*(broadcast(x, i) for x in operands)), label(op))


def of_elements(table: Mapping[type[Operator], Callable[..., Expr]]) -> dict[type[Operator], Callable[..., Tensor]]:
    """Operators by what each is of its operands' elements, which broadcast -> their lowerings."""
    return {kind: partial(_compute, element) for kind, element in table.items()}


def cast_like(op: Operator, x: Tensor, like: Tensor) -> Tensor:
    source, target = (dtype_name(element_of(value)) for value in (op.operands[0], op.results[0]))
    return compute(shape(x), lambda *i: cast(x(*i), source, target), label(op))


def bias_add(op: Operator, x: Tensor, bias: Tensor) -> Tensor:
    axis = op.signature.int("axis") % len(shape(x))
    return compute(shape(x), lambda *i: x(*i) + bias(i[axis]), label(op))


def broadcast_to(op: Operator, x: Tensor) -> Tensor:
    return compute(shape_of(op.results[0]), lambda *i: broadcast(x, i), label(op))


TABLE = {
    **dict.fromkeys([*UNARY, *ATTRIBUTED, *BINARY], pointwise),
    BiasAddOp: bias_add,
    BroadcastToOp: broadcast_to,
    relay.CastLikeOp: cast_like,
}
