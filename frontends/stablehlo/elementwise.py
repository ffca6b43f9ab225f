"""Operators on each element: both operands have one shape, as StableHLO wants it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import division, logic
from ...dialects.relay import elementwise as ew
from ...dialects.relay.operator import Operator
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, once, where
from ..meanings.special_functions import digamma, erf_inverse, erfc, log_gamma
from .context import Context
from .known import uniform

Function = Callable[[Term], Term]


def _unary(function: type[Operator] | Function, of_truths: type[Operator] | None = None) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        x = ctx.term(0)
        if x.dtype == np.bool_ and of_truths is not None:
            return x.apply(of_truths).value
        return (x.apply(function) if isinstance(function, type) else function(x)).value

    return Converter(convert)


def _of_floats(function: type[Operator] | Function) -> Converter[Context]:
    """A function of floats; half precision is rounded once, where several operators compute it."""

    def convert(ctx: Context) -> SSAValue:
        x = ctx.term(0)
        if x.dtype.kind in "iub":
            ctx.fail("floats", x.dtype.name)
        if isinstance(function, type):
            return x.apply(function).value
        return once(function)(x).value

    return Converter(convert)


def _binary(op: type[Operator], of_truths: type[Operator] | None = None) -> Converter[Context]:
    """Of two tensors of one shape; `of_truths` is what becomes of booleans."""

    def convert(ctx: Context) -> SSAValue:
        ctx.same_shapes(0, 1)
        chosen = of_truths if of_truths is not None and ctx.dtype(0) == np.bool_ else op
        return ctx.emit(chosen, ctx.value(0), ctx.value(1))

    return Converter(convert)


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


def _compare(ctx: Context) -> SSAValue:
    ctx.same_shapes(0, 1)
    direction = ctx.word("comparison_direction", "")
    if direction not in _DIRECTIONS:
        ctx.fail(f"a direction among {', '.join(_DIRECTIONS)}", direction)
    left, right = ctx.term(0), ctx.term(1)
    if ctx.word("compare_type", "NOTYPE") == "TOTALORDER":
        left, right = _in_total_order(left), _in_total_order(right)
    if left.dtype == np.bool_:
        left, right = left.to("int8"), right.to("int8")
    return left.apply(_DIRECTIONS[direction], right).value


def _select(ctx: Context) -> SSAValue:
    ctx.same_shapes(1, 2)
    if ctx.shape(0):
        ctx.same_shapes(0, 1)
    return ctx.emit(logic.WhereOp, ctx.value(0), ctx.value(1), ctx.value(2))


def _clamp(ctx: Context) -> SSAValue:
    """The data are between two others, each of the shape of the data or a scalar."""
    for index in (0, 2):
        if ctx.shape(index):
            ctx.same_shapes(1, index)
    return ctx.term(1).apply(ew.MaximumOp, ctx.term(0)).apply(ew.MinimumOp, ctx.term(2)).value


def _convert(ctx: Context) -> SSAValue:
    wanted = ctx.result_dtype()
    if wanted == np.bool_ and ctx.dtype(0) != np.bool_:
        return ctx.term(0).apply(logic.NotEqualOp, 0).value
    x = ctx.term(0)
    return x.apply(ew.CopyOp).value if x.dtype == wanted else x.to(wanted).value


def _bitcast(ctx: Context) -> SSAValue:
    wanted = ctx.result_dtype()
    if wanted.itemsize != ctx.dtype(0).itemsize:
        ctx.fail(f"a type of {8 * ctx.dtype(0).itemsize} bits", wanted.name)
    return ctx.emit(ew.ReinterpretOp, ctx.value(0), dtype=wanted.name)


_PRECISIONS = {(8, 7): "bfloat16", (5, 10): "float16", (8, 23): "float32"}


def _reduce_precision(ctx: Context) -> SSAValue:
    bits = ctx.int("exponent_bits"), ctx.int("mantissa_bits")
    if bits not in _PRECISIONS:
        ctx.fail("the bits of a float of 16 or 32 bits", f"{bits[0]} and {bits[1]}")
    x = ctx.term(0)
    return x.apply(ew.CastOp, dtype=_PRECISIONS[bits]).to(x.dtype).value


# Bits.


def _shifted(op: type[Operator], logical: bool) -> Converter[Context]:
    """A shift; bits that are shifted by the width or more are gone, of an arithmetic one all are the sign's."""

    def convert(ctx: Context) -> SSAValue:
        ctx.same_shapes(0, 1)
        x, count = ctx.term(0), ctx.term(1)
        dtype, bits = x.dtype, 8 * x.dtype.itemsize
        if dtype.kind not in "iu":
            ctx.fail("integers", dtype.name)
        unsigned = dtype.name if dtype.kind == "u" else f"u{dtype.name}"
        if (distance := uniform(ctx, 1)) is not None and 0 <= distance < bits:
            wide = x.to(unsigned) if logical else x
            return wide.apply(op, distance).to(dtype).value
        inside = count.to(unsigned) < bits
        if logical:
            x = x.to(unsigned)
            shifted = x.apply(op, where(inside, count.to(unsigned), 0))
            return where(inside, shifted, 0).to(dtype).value
        return x.apply(op, where(inside, count, bits - 1)).value

    return Converter(convert)


def _bit_count(x: Term) -> Term:
    """The number of bits that are set in an integer of at most 32."""
    word = x.to(f"uint{8 * x.dtype.itemsize}").to("uint32")

    def part(value: Term, shift: int, mask: int) -> Term:
        return (value.apply(logic.RightShiftOp, shift) if shift else value).apply(logic.BitwiseAndOp, mask)

    word = word - part(word, 1, 0x55555555)
    word = part(word, 0, 0x33333333) + part(word, 2, 0x33333333)
    word = part(word + word.apply(logic.RightShiftOp, 4), 0, 0x0F0F0F0F)
    return (word * 0x01010101).apply(logic.RightShiftOp, 24)


def _counted(ctx: Context, zeros: bool) -> SSAValue:
    x = ctx.term(0)
    if x.dtype.kind not in "iu" or x.dtype.itemsize > 4:
        ctx.fail("integers of at most 32 bits", x.dtype.name)
    if not zeros:
        return _bit_count(x).to(x.dtype).value
    word = x.to(f"uint{8 * x.dtype.itemsize}").to("uint32")
    for shift in (1, 2, 4, 8, 16):
        word = word.apply(logic.BitwiseOrOp, word.apply(logic.RightShiftOp, shift))
    return (-(_bit_count(word).to("int32") - 8 * x.dtype.itemsize)).to(x.dtype).value


def _population(ctx: Context) -> SSAValue:
    return _counted(ctx, zeros=False)


def _leading_zeros(ctx: Context) -> SSAValue:
    return _counted(ctx, zeros=True)


def _is_infinite(sign: int) -> Function:
    def ask(x: Term) -> Term:
        infinite = x.apply(ew.IsInfOp)
        return infinite if not sign else infinite.apply(logic.LogicalAndOp, x > 0.0 if sign > 0 else x < 0.0)

    return ask


TABLE: dict[str, Converter[Context]] = {
    "abs": _unary(ew.AbsOp),
    "acos": _of_floats(ew.AcosOp),
    "acosh": _of_floats(ew.AcoshOp),
    "add": _binary(ew.AddOp, logic.LogicalOrOp),
    "and": _binary(logic.BitwiseAndOp, logic.LogicalAndOp),
    "asin": _of_floats(ew.AsinOp),
    "asinh": _of_floats(ew.AsinhOp),
    "atan": _of_floats(ew.AtanOp),
    "atan2": _binary(ew.Atan2Op),
    "atanh": _of_floats(ew.AtanhOp),
    "bitcast_convert": Converter(_bitcast),
    "cbrt": _of_floats(ew.CbrtOp),
    "ceil": _of_floats(ew.CeilOp),
    "clamp": Converter(_clamp),
    "compare": Converter(_compare),
    "convert": Converter(_convert),
    "cosh": _of_floats(ew.CoshOp),
    "cosine": _of_floats(ew.CosOp),
    "count_leading_zeros": Converter(_leading_zeros),
    "digamma": _of_floats(digamma),
    "divide": _binary(ew.DivideOp),
    "erf": _of_floats(ew.ErfOp),
    "erf_inv": _of_floats(erf_inverse),
    "erfc": _of_floats(erfc),
    "exponential": _of_floats(ew.ExpOp),
    "exponential_minus_one": _of_floats(ew.Expm1Op),
    "floor": _of_floats(ew.FloorOp),
    "is_finite": _of_floats(ew.IsFiniteOp),
    "is_inf": _unary(_is_infinite(0)),
    "is_neg_inf": _unary(_is_infinite(-1)),
    "is_pos_inf": _unary(_is_infinite(1)),
    "lgamma": _of_floats(log_gamma),
    "log": _of_floats(ew.LogOp),
    "log_plus_one": _of_floats(ew.Log1pOp),
    "logistic": _of_floats(ew.SigmoidOp),
    "maximum": _binary(ew.MaximumOp, logic.LogicalOrOp),
    "minimum": _binary(ew.MinimumOp, logic.LogicalAndOp),
    "multiply": _binary(ew.MultiplyOp, logic.LogicalAndOp),
    "negate": _unary(ew.NegativeOp),
    "not": _unary(ew.BitwiseNotOp, ew.LogicalNotOp),
    "or": _binary(logic.BitwiseOrOp, logic.LogicalOrOp),
    "popcnt": Converter(_population),
    "power": _binary(ew.PowerOp),
    "reduce_precision": Converter(_reduce_precision),
    "remainder": _binary(division.TruncModOp),
    "round_nearest_afz": _of_floats(_round_away),
    "round_nearest_even": _of_floats(ew.RoundOp),
    "rsqrt": _of_floats(ew.RsqrtOp),
    "select": Converter(_select),
    "shift_left": _shifted(logic.LeftShiftOp, logical=True),
    "shift_right_arithmetic": _shifted(logic.RightShiftOp, logical=False),
    "shift_right_logical": _shifted(logic.RightShiftOp, logical=True),
    "sign": _unary(ew.SignOp),
    "sine": _of_floats(ew.SinOp),
    "sinh": _of_floats(ew.SinhOp),
    "sqrt": _of_floats(ew.SqrtOp),
    "square": _unary(lambda x: x * x),
    "subtract": _binary(ew.SubtractOp),
    "tan": _of_floats(ew.TanOp),
    "tanh": _of_floats(ew.TanhOp),
    "xor": _binary(logic.BitwiseXorOp, logic.LogicalXorOp),
}
