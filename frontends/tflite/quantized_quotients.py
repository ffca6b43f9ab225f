"""Quotients and products of quantised tensors, lengths made 1, and softmax of 16 bits: inverses in integers."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic, reduce
from ...dialects.relay.numerics import AnyArray
from ...dialects.relay.transform import TakeOp, TransposeOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.terms import Term, term, where
from ..meanings.slices import cut
from .context import Context
from .fixed_point import activation_range, centred, factor, multiplied_wide, out_scale, saturated, scale_of
from .kernel_arithmetic import between, interpolated_table, newton, reciprocal, root_shifts, scaled


def _high(a: Term, b: Term | int) -> Term:
    """The upper half of a product of int32 (held by int64), doubled, rounded upward."""
    return (a * b + (1 << 30)).apply(logic.RightShiftOp, 31)


def _wide(a: Term, bits: int) -> Term:
    return (a * (1 << bits)).clip(-float(1 << 31), float((1 << 31) - 1))


def _shifted(x: Term, right: Term) -> Term:
    """Divided by powers of two that are at least 1, halves away from 0."""
    half = x.number(1).apply(logic.LeftShiftOp, right).apply(logic.RightShiftOp, 1)
    below = where((x < 0).apply(logic.LogicalAndOp, right > 0), x.number(1), x.number(0))
    return (x + half - below).apply(logic.RightShiftOp, right)


def _picked(ctx: Context, values: list[int] | AnyArray, at: Term, name: str) -> Term:
    """Of a table of int64 the entries at indices."""
    table = ctx.constant(np.asarray(values, np.int64), name)
    return Term(ctx, ctx.emit(TakeOp, table, at.to("int32").value, axis=0))


def _bits(ctx: Context, x: Term, most: int) -> Term:
    """Return the number of bits of positive numbers, up to `most`."""
    bits = x.number(0)
    for bit in range(most):
        bits = bits + where(x.apply(logic.GreaterEqualOp, 1 << bit), x.number(1), x.number(0))
    return bits


def inverse_roots(ctx: Context, total: Term) -> tuple[Term, Term]:
    """Inverses of the square roots of numbers of 31 bits (int64), as `multiplier * 2^(-31 - right)`."""
    bits = _bits(ctx, total, 31)
    moves = [root_shifts(max(count, 2)) for count in range(32)]
    left = _picked(ctx, [max(one, 0) for one, _ in moves], bits, "left")
    right = _picked(ctx, [max(-one, 0) for one, _ in moves], bits, "right")
    value = total.apply(logic.LeftShiftOp, left).apply(logic.RightShiftOp, right).apply(logic.RightShiftOp, 1)
    half = (value + 1).apply(logic.RightShiftOp, 1)
    inverse = newton(half, half * 0 + (1 << 28), _high, _wide)
    back = _picked(ctx, [one for _, one in moves], bits, "back")
    none = back.number(0)
    inverse = inverse.apply(logic.LeftShiftOp, where(back < 0, -back, none))
    small = total < 2
    inverse = where(small, inverse.number((1 << 31) - 1), inverse)
    return inverse, where(small.apply(logic.LogicalOrOp, back < 0), none, back)


def rescaled(x: Term, multiplier: Term, right: Term) -> Term:
    """Numbers of 32 bits (int64) times `multiplier * 2^(-31 - right)`, rounded twice; no `right` is negative."""
    return _shifted(_high(x, multiplier), right)


def l2_normalization(ctx: Context) -> SSAValue:
    """Over the last axis; results are in steps of 1 / 128."""
    x = centred(ctx, 0, "int64")
    inverse, back = inverse_roots(ctx, (x * x).sum(len(x.shape) - 1))
    none = back.number(0)
    # Results have 7 bits: for int8 they are part of the shift, for uint8 of what is multiplied.
    if ctx.info(0).type == "INT8":
        back = back - 7
    else:
        x = x * (1 << 7)
    result = _high(x.apply(logic.LeftShiftOp, where(back < 0, -back, none)), inverse)
    result = _shifted(result, where(back < 0, none, back))
    return saturated(ctx, result.to("int32").value, ctx.out_quantization(), ctx.out().type.lower())


def div(ctx: Context) -> SSAValue:
    """A product with the inverse of the divisor, which a table has, rescaled."""
    a, b = centred(ctx, 0, "int64"), centred(ctx, 1, "int64")
    dtype = ctx.info(0).type.lower()
    negative = b < 0
    a, b = where(negative, -a, a), where(negative, -b, b)
    span = int(limits(dtype)[1]) - int(limits(dtype)[0]) + 1
    # Divided by 0 is not defined; it counts as 1.
    reciprocals = [reciprocal(max(number, 1)) for number in range(span + 1)]
    inverse = _picked(ctx, [one for one, _ in reciprocals], b, "inverses")
    right = _picked(ctx, [one for _, one in reciprocals], b, "bits")
    # A number and one less than its opposite have as many bits.
    room = -_bits(ctx, where(a < 0, -a - 1, a), span.bit_length()) + 31
    quotient = _high(a.apply(logic.LeftShiftOp, room), inverse)
    real = np.float32(scale_of(ctx, 0)) / (np.float32(scale_of(ctx, 1)) * np.float32(out_scale(ctx)))
    multiplier, shift = factor(float(real))
    total = _shifted(_high(quotient, multiplier), right + room - shift)
    quantization, kind = ctx.out_quantization(), ctx.out().type.lower()
    return saturated(ctx, total.to("int32").value, quantization, kind, activation_range(ctx, quantization, kind))


_MOST_FACTORS = 1024


def reduce_prod(ctx: Context) -> SSAValue:
    """Number after number in order, each product rescaled and kept in 32 bits, which may overflow."""
    dtype, shape = ctx.out().type.lower(), ctx.shape(0)
    if dtype not in ("int8", "int16"):
        ctx.fail("numbers of int8 or int16", dtype)
    axes = sorted(ctx.axes(1, len(shape)))
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    count = prod(shape[axis] for axis in axes)
    if not 1 <= count <= _MOST_FACTORS:
        ctx.fail(f"products of 1 to {_MOST_FACTORS} numbers", str(count))
    ordered = Term(ctx, ctx.emit(TransposeOp, centred(ctx, 0, "int64").value, axes=[*axes, *rest]))
    left = tuple(shape[axis] for axis in rest)
    rows = ordered.reshape(count, *left)
    real = scale_of(ctx, 0) / out_scale(ctx) ** (1.0 / count)

    def row(at: int) -> Term:
        return cut(rows, 0, at, at + 1).reshape(*left)

    total = row(0)
    for at in range(1, count):
        total = Term(ctx, multiplied_wide(ctx, (total * row(at)).value, real)).to("int64")
    result = saturated(ctx, multiplied_wide(ctx, total.value, real), ctx.out_quantization(), dtype)
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return Term(ctx, result).reshape(*kept).value if ctx.flag("KeepDims") else result


_LOW = 1 << 15
_NEAR = 1e-3
"""The largest relative error of a scale."""


def softmax_of_16_bits(ctx: Context) -> SSAValue:
    """Exponentials from a table, their sum, and its inverse from another; results are in steps of 1 / 32768."""
    if abs(out_scale(ctx) * _LOW - 1.0) > _NEAR:
        ctx.fail("an output in steps of 1 / 32768", str(out_scale(ctx)))
    ctx.out_quantization()
    x = term(ctx, 0).to("int32")
    largest = x.apply(reduce.MaxOp, axis=[-1], keepdims=True)
    step = np.float64(10.0 / 65535.0)
    out = np.float64(2.0 / 65535.0)
    real = scale_of(ctx, 0) * float(np.float32(ctx.float("Beta", 0.0))) / float(step)
    # How far below the largest, in steps of the first table.
    far = np.clip(scaled(-np.arange(1 << 16), real) + _LOW - 1, -_LOW, _LOW - 1)
    powers = between(interpolated_table(np.exp, (step, out), (_LOW - 1, 0)), far)
    each = _picked(ctx, powers, largest - x, "exponentials")
    total = each.sum(len(x.shape) - 1)
    bits = _bits(ctx, total, 31)
    moved = (total.apply(logic.LeftShiftOp, -bits + 31) + (1 << 13)).apply(logic.RightShiftOp, 14)
    at = (moved - 3 * _LOW).clip(-float(_LOW), _LOW - 1.0) + _LOW
    halves = interpolated_table(lambda y: 1 / (1 + y), (np.float64(1.0 / 65535.0), out), (-_LOW, 0))
    inverse = _picked(ctx, between(halves, np.arange(-_LOW, _LOW)), at, "inverses")
    right = bits - 1
    half = right.number(1).apply(logic.LeftShiftOp, right - 1)
    result = (each * inverse + half).apply(logic.RightShiftOp, right)
    return ctx.emit(ew.CastOp, result.clip(0.0, _LOW - 1.0).value, dtype="int16")


QUANTIZED = {
    "DIV": Converter(div),
    "L2_NORMALIZATION": Converter(l2_normalization),
    "REDUCE_PROD": Converter(reduce_prod),
}
