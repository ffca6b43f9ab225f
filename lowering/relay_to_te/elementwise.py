"""Computes of the elementwise and broadcasting operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import ceil, floor

from ... import te
from ...dialects.relay import elementwise as relay
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.transform import BroadcastToOp
from ...provenance.diagnostics import fail
from ...support.dtypes import BOOL, is_float, is_unsigned, limits
from ...te import Expr, Tensor
from .stages import broadcast, compute, dtype_of, label, shape, wide

_Unary = Callable[[Operator, Expr], Expr]
_Binary = Callable[[Operator, Expr, Expr], Expr]


def _float_only(function: Callable[[Expr], Expr], *, widened: bool = False) -> _Unary:
    """A function of floats. widened: half precision is computed in float32 and rounded once."""

    def element(op: Operator, x: Expr) -> Expr:
        _check_float(op, x)
        return function(x.astype(wide(x.dtype))).astype(x.dtype) if widened else function(x)

    return element


def _check_float(op: Operator, x: Expr) -> None:
    if not is_float(x.dtype):
        fail(op, "a float operand", str(op.operands[0].type))


def _of_numbers(function: Callable[[Expr], Expr]) -> _Unary:
    return lambda op, x: function(x)


def _relu(op: Operator, x: Expr) -> Expr:
    # A comparison with NaN is false, so that NaN stays.
    zero = te.const(0, x.dtype)
    return te.select(x < zero, zero, x)


def _leaky_relu(op: Operator, x: Expr) -> Expr:
    _check_float(op, x)
    return te.select(x < 0, x * op.signature.get("alpha"), x)


def _clip(op: Operator, x: Expr) -> Expr:
    low, high = op.signature.get("a_min"), op.signature.get("a_max")
    if not is_float(x.dtype):
        # A fractional bound binds at the next integer inside; one beyond the type's range does not bind.
        first, last = limits(x.dtype)
        low, high = (min(max(bound, first), last) for bound in (low, high))
        low, high = ceil(low), floor(high)
    least, most = te.const(low, x.dtype), te.const(high, x.dtype)
    raised = te.select(x < least, least, x)
    return te.select(most < raised, most, raised)


def _sign(op: Operator, x: Expr) -> Expr:
    # What is neither greater nor less is 0 or NaN.
    result = te.select(0 < x, 1, x)
    return result if is_unsigned(x.dtype) else te.select(x < 0, -1, result)


UNARY: dict[type[Operator], _Unary] = {
    relay.AbsOp: _of_numbers(te.abs),
    relay.AcosOp: _float_only(te.acos),
    relay.AcoshOp: _float_only(te.acosh),
    relay.AsinOp: _float_only(te.asin),
    relay.AsinhOp: _float_only(te.asinh),
    relay.AtanOp: _float_only(te.atan),
    relay.AtanhOp: _float_only(te.atanh),
    relay.BitwiseNotOp: _of_numbers(te.bitwise_not),
    relay.CastOp: lambda op, x: x.astype(dtype_of(op)),
    relay.CeilOp: _of_numbers(te.ceil),
    relay.ClipOp: _clip,
    relay.CopyOp: lambda op, x: x,
    relay.CosOp: _float_only(te.cos),
    relay.CoshOp: _float_only(te.cosh),
    relay.ErfOp: _float_only(te.erf),
    relay.ExpOp: _float_only(te.exp),
    relay.FloorOp: _of_numbers(te.floor),
    relay.IsFiniteOp: _of_numbers(te.isfinite),
    relay.IsInfOp: _of_numbers(te.isinf),
    relay.IsNanOp: _of_numbers(te.isnan),
    relay.LeakyReluOp: _leaky_relu,
    relay.LogOp: _float_only(te.log),
    relay.Log10Op: _float_only(te.log10),
    relay.Log2Op: _float_only(te.log2),
    relay.LogicalNotOp: _of_numbers(te.logical_not),
    relay.NegativeOp: _of_numbers(operator.neg),
    relay.OnesLikeOp: lambda op, x: te.const(1, x.dtype),
    relay.ReluOp: _relu,
    relay.RoundOp: _of_numbers(te.nearbyint),
    relay.RsqrtOp: _float_only(lambda x: 1.0 / te.sqrt(x), widened=True),
    relay.SigmoidOp: _float_only(te.sigmoid, widened=True),
    relay.SignOp: _sign,
    relay.SinOp: _float_only(te.sin),
    relay.SinhOp: _float_only(te.sinh),
    relay.SqrtOp: _float_only(te.sqrt),
    relay.TanOp: _float_only(te.tan),
    relay.TanhOp: _float_only(te.tanh),
    relay.TruncOp: _of_numbers(te.trunc),
    relay.ZerosLikeOp: lambda op, x: te.const(0, x.dtype),
}
"""Operator -> its element, of the operand's."""


def _arithmetic(numbers: Callable[[Expr, Expr], Expr], bools: Callable[[Expr, Expr], Expr]) -> _Binary:
    return lambda op, x, y: (bools if x.dtype == BOOL else numbers)(x, y)


def _divide(op: Operator, x: Expr, y: Expr) -> Expr:
    """Integers divide towards zero and never trap: x / 0 is 0, the least number / -1 wraps, both as in numpy."""
    if is_float(x.dtype):
        return x / y
    zero, one = te.const(0, x.dtype), te.const(1, x.dtype)
    is_zero = y == zero
    if is_unsigned(x.dtype):
        return te.select(is_zero, zero, te.div(x, te.select(is_zero, one, y)))
    trap = te.any(is_zero, y == -1)
    return te.select(trap, te.select(is_zero, zero, zero - x), te.div(x, te.select(trap, one, y)))


def _power(op: Operator, x: Expr, y: Expr) -> Expr:
    if not is_float(x.dtype):
        fail(op, "float operands", str(op.operands[0].type))
    return te.power(x, y)


BINARY: dict[type[Operator], _Binary] = {
    relay.AddOp: _arithmetic(operator.add, te.bitwise_or),
    relay.SubtractOp: _arithmetic(operator.sub, te.bitwise_xor),
    relay.MultiplyOp: _arithmetic(operator.mul, te.bitwise_and),
    relay.DivideOp: _divide,
    relay.PowerOp: _power,
    relay.MaximumOp: _arithmetic(te.maximum, te.bitwise_or),
    relay.MinimumOp: _arithmetic(te.minimum, te.bitwise_and),
    relay.EqualOp: lambda op, x, y: x.equal(y),
    relay.LessOp: lambda op, x, y: x < y,
    relay.GreaterOp: lambda op, x, y: x > y,
}
"""Operator -> its element, of the operands', which have one dtype."""


def unary(op: Operator, x: Tensor) -> Tensor:
    element = UNARY[type(op)]
    return compute(shape(x), lambda *i: element(op, x(*i)), label(op))


def binary(op: Operator, x: Tensor, y: Tensor) -> Tensor:
    element = BINARY[type(op)]
    return compute(shape_of(op.results[0]), lambda *i: element(op, broadcast(x, i), broadcast(y, i)), label(op))


def bias_add(op: Operator, x: Tensor, bias: Tensor) -> Tensor:
    axis = op.signature.int("axis") % len(shape(x))
    return compute(shape(x), lambda *i: x(*i) + bias(i[axis]), label(op))


def broadcast_to(op: Operator, x: Tensor) -> Tensor:
    return compute(shape_of(op.results[0]), lambda *i: broadcast(x, i), label(op))


TABLE = {
    **dict.fromkeys(UNARY, unary),
    **dict.fromkeys(BINARY, binary),
    BiasAddOp: bias_add,
    BroadcastToOp: broadcast_to,
}
