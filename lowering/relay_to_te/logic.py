"""Computes of logic, comparisons, bits, choice, quotients and remainders: what each is of its operands' elements."""

from __future__ import annotations

import operator
from collections.abc import Callable

from ... import te
from ...dialects.relay import activation, division, logic
from ...dialects.relay.operator import Operator
from ...support.dtypes import bits, is_float, is_unsigned
from ...te import Expr, Tensor
from .elementwise import of_elements, truncated_quotient
from .stages import compute, label, shape, wide


def _shift(function: Callable[[Expr, Expr], Expr], beyond: Callable[[Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    """A shift that is `beyond` for a distance that is negative, or the width or more."""

    def shifted(x: Expr, y: Expr) -> Expr:
        width = bits(x.dtype)
        inside = y < width if is_unsigned(y.dtype) else te.all(y >= 0, y < width)
        return te.select(inside, function(x, te.select(inside, y, te.const(0, y.dtype))), beyond(x))

    return shifted


def _zero(x: Expr) -> Expr:
    return te.const(0, x.dtype)


def _sign(x: Expr) -> Expr:
    return _zero(x) if is_unsigned(x.dtype) else te.select(x < 0, te.const(-1, x.dtype), _zero(x))


def _float_quotient(rounding: Callable[[Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    def quotient(x: Expr, y: Expr) -> Expr:
        number = wide(x.dtype)
        return rounding(x.astype(number) / y.astype(number)).astype(x.dtype)

    return quotient


def _integer_remainder(x: Expr, y: Expr) -> Expr:
    """Return the remainder of division towards zero; 0 for divisions by 0 and -1, which the machine would refuse."""
    one = te.const(1, x.dtype)
    trap = y == _zero(y) if is_unsigned(x.dtype) else te.any(y == _zero(y), y == -1)
    return te.select(trap, _zero(x), te.truncmod(x, te.select(trap, one, y)))


def _remainder(x: Expr, y: Expr) -> Expr:
    if not is_float(x.dtype):
        return _integer_remainder(x, y)
    number = wide(x.dtype)
    return te.fmod(x.astype(number), y.astype(number)).astype(x.dtype)


def _floor_remainder(x: Expr, y: Expr) -> Expr:
    """The remainder towards zero, brought to the side of `y`; one of 0 has the sign of `y`, too."""
    if is_unsigned(x.dtype):
        return _integer_remainder(x, y)
    number = wide(x.dtype) if is_float(x.dtype) else x.dtype
    rest, divisor = _remainder(x.astype(number), y.astype(number)), y.astype(number)
    apart = te.logical_xor(rest < 0, divisor < 0)
    moved = te.select(apart, rest + divisor, rest)
    none = te.copysign(_zero(rest), divisor) if is_float(number) else _zero(rest)
    return te.select(rest == _zero(rest), none, moved).astype(x.dtype)


def _floor_quotient(x: Expr, y: Expr) -> Expr:
    if is_float(x.dtype):
        return _float_quotient(te.floor)(x, y)
    quotient = truncated_quotient(x, y)
    if is_unsigned(x.dtype):
        return quotient
    inexact = te.all(_integer_remainder(x, y) != 0, te.logical_xor(x < 0, y < 0))
    return te.select(inexact, quotient - 1, quotient)


def _trunc_quotient(x: Expr, y: Expr) -> Expr:
    return _float_quotient(te.trunc)(x, y) if is_float(x.dtype) else truncated_quotient(x, y)


def prelu(op: Operator, data: Tensor, alpha: Tensor) -> Tensor:
    axis = op.signature.int("axis") % len(shape(data))

    def element(*i: Expr) -> Expr:
        x = data(*i)
        return x if is_unsigned(x.dtype) else te.select(x < 0, x * alpha(i[axis]), x)

    return compute(shape(data), element, label(op))


_ELEMENTS: dict[type[Operator], Callable[..., Expr]] = {
    logic.BitwiseAndOp: te.bitwise_and,
    logic.BitwiseOrOp: te.bitwise_or,
    logic.BitwiseXorOp: te.bitwise_xor,
    logic.GreaterEqualOp: operator.ge,
    logic.LeftShiftOp: _shift(te.shift_left, _zero),
    logic.LessEqualOp: operator.le,
    logic.LogicalAndOp: te.logical_and,
    logic.LogicalOrOp: te.logical_or,
    logic.LogicalXorOp: te.logical_xor,
    logic.NotEqualOp: operator.ne,
    logic.RightShiftOp: _shift(te.shift_right, _sign),
    logic.WhereOp: te.select,
    division.FloorDivideOp: _floor_quotient,
    division.FloorModOp: _floor_remainder,
    division.ModOp: _remainder,
    division.TruncDivideOp: _trunc_quotient,
    division.TruncModOp: _remainder,
}
"""Operator -> its element, of the operands'."""

TABLE = {**of_elements(_ELEMENTS), activation.PReluOp: prelu}
