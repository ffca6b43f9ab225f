"""Arithmetic, comparisons and conversions of quantised tensors, with the shifts of the reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic
from ...dialects.relay.operator import Operator
from ...dialects.relay.qnn import DequantizeOp
from ...dialects.relay.transform import ConcatenateOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.tensor import dtype_of
from ..importing.terms import Term, absolute, term, where
from .context import Context
from .fixed_point import activation_range, centred, multiplied, out_scale, saturated, scale_of
from .kernel_arithmetic import scaled
from .quantized_lookup import looked_up, numbers_of


def _end(ctx: Context, total: Term, bounds: bool = True) -> SSAValue:
    """In the numbers of the output, after the fused activation."""
    dtype, quantization = ctx.out().type.lower(), ctx.out_quantization()
    limit = activation_range(ctx, quantization, dtype) if bounds else None
    return saturated(ctx, total.value, quantization, dtype, limit)


def _scaled(x: Term, real: float, most: float = inf) -> Term:
    """most: what the numbers are not beyond."""
    return Term(x.ctx, multiplied(x.ctx, x.value, real, most=most))


def _operands(ctx: Context) -> tuple[Term, Term]:
    """Both operands above their zero points, of one type."""
    if ctx.info(0).type != ctx.info(1).type:
        ctx.fail("operands of one type", f"{ctx.info(0).type.lower()} and {ctx.info(1).type.lower()}")
    return centred(ctx, 0), centred(ctx, 1)


def _common(ctx: Context, left_shift: int) -> tuple[Term, Term, float]:
    """Both operands on a scale that they share, and twice the larger of their scales."""
    twice = 2 * max(scale_of(ctx, 0), scale_of(ctx, 1))
    scales = [scale_of(ctx, index) / twice for index in (0, 1)]
    most = _most(ctx, left_shift)
    a, b = (_scaled(x * (1 << left_shift), real, most) for x, real in zip(_operands(ctx), scales, strict=True))
    return a, b, twice


def _most(ctx: Context, left_shift: int) -> float:
    """Return what operands above their zero points are not beyond, shifted so."""
    return 2.0 ** (left_shift + (16 if ctx.info(0).type == "INT16" else 8))


def sum_of(sign: int) -> Converter[Context]:
    """Operands on a common scale, with 20 bits more (15 of numbers of 16 bits), rescaled."""

    def convert(ctx: Context) -> SSAValue:
        bits = 15 if ctx.info(0).type == "INT16" else 20
        a, b, twice = _common(ctx, bits)
        total = a + b if sign > 0 else a - b
        return _end(ctx, _scaled(total, twice / ((1 << bits) * out_scale(ctx)), 2 * _most(ctx, bits)))

    return Converter(convert)


def mul(ctx: Context) -> SSAValue:
    """The product of the steps; its factor is computed in float32."""
    scales = [np.float32(scale_of(ctx, index)) for index in (0, 1)]
    real = float(scales[0] * scales[1] / np.float32(out_scale(ctx)))
    a, b = _operands(ctx)
    return _end(ctx, _scaled(a * b, real, _most(ctx, 0) ** 2))


def squared_difference(ctx: Context) -> SSAValue:
    a, b, twice = _common(ctx, 7)
    difference = a - b
    real = twice * twice / ((1 << 14) * out_scale(ctx))
    return _end(ctx, _scaled(difference * difference, real), False)


def comparison(op: type[Operator]) -> Converter[Context]:
    """Of both operands on scales of their own, with 8 bits more."""

    def convert(ctx: Context) -> SSAValue:
        operands = enumerate(_operands(ctx))
        return ctx.emit(op, *(_scaled(x * (1 << 8), scale_of(ctx, index)).value for index, x in operands))

    return Converter(convert)


def dequantize(ctx: Context) -> SSAValue:
    """To float32; halves, which are floats already, are widened."""
    if not ctx.quantized(0):
        value = ctx.value(0)
        return ctx.emit(ew.CastOp if dtype_of(value) != np.float32 else ew.CopyOp, value, **_to_float(ctx))
    found = ctx.quantization(0)
    single = len(found.scale) == 1
    scale = ctx.constant(found.scale[0] if single else found.scale, "scale")
    zero = ctx.constant((found.zero_point[0] if single else found.zero_point).astype(np.int32), "zero_point")
    return ctx.emit(DequantizeOp, ctx.value(0), scale, zero, axis=-1 if single else found.axis)


def _to_float(ctx: Context) -> dict[str, str]:
    return {} if ctx.dtype(0) == np.float32 else {"dtype": "float32"}


def nearest(x: Term) -> Term:
    """The nearest integers, halves away from 0."""
    whole = x.apply(ew.TruncOp)
    far = Term(x.ctx, x.ctx.emit(ew.LessOp, absolute(x - whole).value, x.number(0.5).value))
    return where(far, whole, whole + x.apply(ew.SignOp))


_BYTES = ("INT8", "UINT8")


def quantize(ctx: Context) -> SSAValue:
    """From float32, by a quotient; from other integers, rescaled."""
    dtype, found = ctx.out().type.lower(), ctx.out_quantization()
    if ctx.quantized(0):
        if ctx.info(0).type in _BYTES and dtype.upper() in _BYTES:
            steps = scaled(numbers_of(ctx) - ctx.quantization(0).zero_point[0], scale_of(ctx, 0) / out_scale(ctx))
            return looked_up(ctx, steps + found.zero_point[0])
        moved = _scaled(centred(ctx, 0), scale_of(ctx, 0) / out_scale(ctx))
        return _end(ctx, moved, False)
    steps = nearest(term(ctx, 0).to("float32") / float(found.scale[0]))
    zero, (low, high) = int(found.zero_point[0]), map(int, limits(dtype))
    # Far outside, before the zero point is added: int32 cannot hold all floats.
    return (steps.clip(float(low - zero), float(high - zero)) + float(zero)).to(dtype).value


def concatenation(ctx: Context) -> SSAValue:
    """Of numbers of one scale as they are; uint8 may have others, rescaled as floats."""
    result = ctx.out_quantization()
    inverse, zero = np.float32(1) / np.float32(result.scale[0]), int(result.zero_point[0])
    parts: list[SSAValue] = []
    for index in range(len(ctx.inputs)):
        own = ctx.quantization(index)
        if own.scale[0] == result.scale[0] and own.zero_point[0] == zero:
            parts.append(ctx.value(index))
            continue
        scale = np.float32(own.scale[0]) * inverse
        bias = np.float32(-float(own.zero_point[0])) * scale
        steps = nearest(term(ctx, index).to("float32") * float(scale) + float(bias)) + float(zero)
        low, high = limits(ctx.out().type.lower())
        parts.append(steps.clip(float(low), float(high)).to(ctx.out().type.lower()).value)
    axis = ctx.axis(ctx.int("Axis", 0), len(ctx.shape(0)))
    return ctx.emit(ConcatenateOp, parts, axis=axis)


def prelu(ctx: Context) -> SSAValue:
    """One factor for what is at least the zero point, another, with the slope, for the rest."""
    x, slope = centred(ctx, 0), centred(ctx, 1)
    plain = scale_of(ctx, 0) / out_scale(ctx)
    sloped = float(np.float32(scale_of(ctx, 0)) * np.float32(scale_of(ctx, 1)) / np.float32(out_scale(ctx)))
    positive = Term(ctx, ctx.emit(logic.GreaterEqualOp, x.value, x.number(0).value))
    return _end(ctx, where(positive, _scaled(x, plain), _scaled(x * slope, sloped)), False)


def same_kind(op: type[Operator]) -> Callable[[Context], SSAValue]:
    """Of numbers on one scale, as they are."""

    def convert(ctx: Context) -> SSAValue:
        return ctx.emit(op, ctx.value(0), ctx.value(1))

    return convert


TABLE = {"DEQUANTIZE": Converter(dequantize), "QUANTIZE": Converter(quantize)}
QUANTIZED = {
    **TABLE,
    "ADD": sum_of(1),
    "CONCATENATION": Converter(concatenation),
    "EQUAL": comparison(ew.EqualOp),
    "GREATER": comparison(ew.GreaterOp),
    "GREATER_EQUAL": comparison(logic.GreaterEqualOp),
    "LESS": comparison(ew.LessOp),
    "LESS_EQUAL": comparison(logic.LessEqualOp),
    "MAXIMUM": Converter(same_kind(ew.MaximumOp)),
    "MINIMUM": Converter(same_kind(ew.MinimumOp)),
    "MUL": Converter(mul),
    "NOT_EQUAL": comparison(logic.NotEqualOp),
    "PRELU": Converter(prelu),
    "SQUARED_DIFFERENCE": Converter(squared_difference),
    "SUB": sum_of(-1),
}
