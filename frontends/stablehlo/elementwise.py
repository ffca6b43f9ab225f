"""Operators on each element: both operands have one shape, as StableHLO wants it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ..importing.attributes import Int, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, absolute, once, where
from ..meanings import elementwise
from ..meanings.special_functions import digamma, erf_inverse, erfc, log_gamma
from .context import Context
from .known import uniform

Function = Callable[[Term], Term]


def _floats(function: type[Operator] | Function) -> Converter[Context]:
    """A function of floats; half precision is rounded once, where several operators compute it."""

    def computed(x: Term) -> Term:
        if x.dtype.kind in "iub":
            x.ctx.fail("floats", x.dtype.name)
        return x.apply(function) if isinstance(function, type) else once(function)(x)

    return row(computed, "operand")


def _binary(op: type[Operator]) -> Converter[Context]:
    """The row of an operator of two tensors of one shape."""

    def computed(ctx: Context, x: Term, y: Term) -> Term:
        ctx.same_shapes(0, 1)
        return elementwise.numeric(op)(x, y)

    return row(computed, "lhs rhs")


def _to_result(function: Callable[..., Term]) -> Converter[Context]:
    """A function of a tensor and the element type of the result."""

    def computed(ctx: Context, x: Term) -> Term:
        return function(x, ctx.result_dtype())

    return row(computed, "operand")


def _round_away(x: Term) -> Term:
    """To the nearest, halves away from 0."""
    whole = x.apply(ew.TruncOp)
    rest = absolute(x - whole).apply(logic.GreaterEqualOp, 0.5)
    return where(rest, whole + x.apply(ew.SignOp), whole)


_DIRECTIONS: dict[str, type[Operator]] = {
    "EQ": ew.EqualOp,
    "NE": logic.NotEqualOp,
    "GE": logic.GreaterEqualOp,
    "GT": ew.GreaterOp,
    "LE": logic.LessEqualOp,
    "LT": ew.LessOp,
}


def _in_total_order(x: Term) -> Term:
    """Integers that are ordered as the floats are: -NaN, -inf, .., -0, 0, .., inf, NaN."""
    integer = f"int{8 * x.dtype.itemsize}"
    bits = x.apply(ew.ReinterpretOp, dtype=integer)
    greatest = int(np.iinfo(integer).max)
    # Of negative floats the greater magnitude is the smaller one.
    return where(bits < 0, bits.apply(logic.BitwiseXorOp, greatest), bits)


def _compare(ctx: Context, left: Term, right: Term, direction: str, kind: str) -> Term:
    ctx.same_shapes(0, 1)
    if kind == "TOTALORDER":
        left, right = _in_total_order(left), _in_total_order(right)
    if left.dtype == np.bool_:
        left, right = left.to("int8"), right.to("int8")
    return left.apply(_DIRECTIONS[direction], right)


def _select(ctx: Context, condition: Term, x: Term, y: Term) -> Term:
    ctx.same_shapes(1, 2)
    if condition.shape:
        ctx.same_shapes(0, 1)
    return where(condition, x, y)


def _clamp(ctx: Context, low: Term, x: Term, high: Term) -> Term:
    """The data are between two others, each of the shape of the data or a scalar."""
    for index, bound in ((0, low), (2, high)):
        if bound.shape:
            ctx.same_shapes(1, index)
    return elementwise.between(x, low, high)


_PRECISIONS = {(8, 7): "bfloat16", (5, 10): "float16", (8, 23): "float32"}


def _reduce_precision(x: Term, exponent: int, mantissa: int) -> Term:
    if (exponent, mantissa) not in _PRECISIONS:
        x.ctx.fail("the bits of a float of 16 or 32 bits", f"{exponent} and {mantissa}")
    return x.apply(ew.CastOp, dtype=_PRECISIONS[exponent, mantissa]).to(x.dtype)


# Bits.


def _shifted(op: type[Operator], logical: bool) -> Converter[Context]:
    """A shift of integers; a logical one takes them for unsigned."""

    def computed(ctx: Context, x: Term, count: Term) -> Term:
        ctx.same_shapes(0, 1)
        if x.dtype.kind not in "iu":
            ctx.fail("integers", x.dtype.name)
        bits = x.to(f"u{x.dtype.name}") if logical and x.dtype.kind == "i" else x
        distance = uniform(ctx, 1)
        # One number needs no tensor; a negative one is beyond the width, as large unsigned ones are.
        return bits.apply(op, count.to(bits.dtype) if distance is None or distance < 0 else distance).to(x.dtype)

    return row(computed, "lhs rhs")


def _word(x: Term) -> Term:
    """The bits of an integer of at most 32."""
    if x.dtype.kind not in "iu" or x.dtype.itemsize > 4:
        x.ctx.fail("integers of at most 32 bits", x.dtype.name)
    return x.to(f"uint{8 * x.dtype.itemsize}").to("uint32")


def _bit_count(word: Term) -> Term:
    """The number of bits that are set in 32."""

    def part(value: Term, shift: int, mask: int) -> Term:
        return (value.apply(logic.RightShiftOp, shift) if shift else value).apply(logic.BitwiseAndOp, mask)

    word = word - part(word, 1, 0x55555555)
    word = part(word, 0, 0x33333333) + part(word, 2, 0x33333333)
    word = part(word + word.apply(logic.RightShiftOp, 4), 0, 0x0F0F0F0F)
    return (word * 0x01010101).apply(logic.RightShiftOp, 24)


def _set_bits(x: Term) -> Term:
    return _bit_count(_word(x)).to(x.dtype)


def _leading_zeros(x: Term) -> Term:
    word = _word(x)
    for shift in (1, 2, 4, 8, 16):
        word = word.apply(logic.BitwiseOrOp, word.apply(logic.RightShiftOp, shift))
    return (-(_bit_count(word).to("int32") - 8 * x.dtype.itemsize)).to(x.dtype)


TABLE: dict[str, Converter[Context]] = {
    "abs": row(ew.AbsOp, "operand"),
    "acos": _floats(ew.AcosOp),
    "acosh": _floats(ew.AcoshOp),
    "add": _binary(ew.AddOp),
    "and": _binary(logic.BitwiseAndOp),
    "asin": _floats(ew.AsinOp),
    "asinh": _floats(ew.AsinhOp),
    "atan": _floats(ew.AtanOp),
    "atan2": _binary(ew.Atan2Op),
    "atanh": _floats(ew.AtanhOp),
    "bitcast_convert": _to_result(elementwise.bitcast),
    "cbrt": _floats(ew.CbrtOp),
    "ceil": _floats(ew.CeilOp),
    "clamp": row(_clamp, "min operand max"),
    "compare": row(
        _compare,
        "lhs rhs",
        direction=Word(name="comparison_direction", among=tuple(_DIRECTIONS)),
        kind=Word("NOTYPE", name="compare_type"),
    ),
    "convert": _to_result(elementwise.cast),
    "cosh": _floats(ew.CoshOp),
    "cosine": _floats(ew.CosOp),
    "count_leading_zeros": row(_leading_zeros, "operand"),
    "digamma": _floats(digamma),
    "divide": _binary(ew.DivideOp),
    "erf": _floats(ew.ErfOp),
    "erf_inv": _floats(erf_inverse),
    "erfc": _floats(erfc),
    "exponential": _floats(ew.ExpOp),
    "exponential_minus_one": _floats(ew.Expm1Op),
    "floor": _floats(ew.FloorOp),
    "is_finite": _floats(ew.IsFiniteOp),
    "is_inf": row(elementwise.infinite, "operand"),
    "is_neg_inf": row(partial(elementwise.infinite, above=False), "operand"),
    "is_pos_inf": row(partial(elementwise.infinite, below=False), "operand"),
    "lgamma": _floats(log_gamma),
    "log": _floats(ew.LogOp),
    "log_plus_one": _floats(ew.Log1pOp),
    "logistic": _floats(ew.SigmoidOp),
    "maximum": _binary(ew.MaximumOp),
    "minimum": _binary(ew.MinimumOp),
    "multiply": _binary(ew.MultiplyOp),
    "negate": row(ew.NegativeOp, "operand"),
    "not": row(elementwise.numeric(ew.BitwiseNotOp), "operand"),
    "or": _binary(logic.BitwiseOrOp),
    "popcnt": row(_set_bits, "operand"),
    "power": _binary(ew.PowerOp),
    "reduce_precision": row(
        _reduce_precision, "operand", exponent=Int(name="exponent_bits"), mantissa=Int(name="mantissa_bits")
    ),
    "remainder": _binary(division.TruncModOp),
    "round_nearest_afz": _floats(_round_away),
    "round_nearest_even": _floats(ew.RoundOp),
    "rsqrt": _floats(ew.RsqrtOp),
    "select": row(_select, "pred on_true on_false"),
    "shift_left": _shifted(logic.LeftShiftOp, logical=True),
    "shift_right_arithmetic": _shifted(logic.RightShiftOp, logical=False),
    "shift_right_logical": _shifted(logic.RightShiftOp, logical=True),
    "sign": row(ew.SignOp, "operand"),
    "sine": _floats(ew.SinOp),
    "sinh": _floats(ew.SinhOp),
    "sqrt": _floats(ew.SqrtOp),
    "square": row(elementwise.square, "operand"),
    "subtract": _binary(ew.SubtractOp),
    "tan": _floats(ew.TanOp),
    "tanh": _floats(ew.TanhOp),
    "xor": _binary(logic.BitwiseXorOp),
}
