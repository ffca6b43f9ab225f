"""Functions of one quantised number of 8 bits: a table of 256 results, computed at import as the kernels compute it."""

from __future__ import annotations

from collections.abc import Callable
from math import erf

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.numerics import AnyArray
from ...dialects.relay.transform import TakeOp
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.terms import term
from .context import Context
from .fixed_point import away_from_zero, factor, out_scale, scale_of

Function = Callable[[Context, AnyArray], AnyArray]
"""float32 to float32."""


def numbers_of(ctx: Context, index: int = 0) -> AnyArray:
    """All numbers that input `index` may hold, int64; it has 8 bits."""
    dtype = ctx.info(index).type.lower()
    if dtype not in ("int8", "uint8"):
        ctx.fail("quantised numbers of 8 bits", dtype)
    low, high = map(int, limits(dtype))
    return np.arange(low, high + 1)


def looked_up(ctx: Context, results: AnyArray) -> SSAValue:
    """The result for each number of input 0, of the output's type."""
    dtype = ctx.out().type.lower()
    table = np.clip(results, *limits(dtype)).astype(dtype)
    index = term(ctx, 0).to("int32") - int(numbers_of(ctx)[0])
    return ctx.emit(TakeOp, ctx.constant(table, "table"), index.value, axis=0)


def rounded(x: AnyArray) -> AnyArray:
    """To the nearest integer, halves away from 0."""
    return np.where(x < 0, -np.floor(np.abs(x) + 0.5), np.floor(np.abs(x) + 0.5))


def quantized_function(ctx: Context, function: Function) -> SSAValue:
    """Dequantised, computed as float32, quantised by a product with the inverse of the scale."""
    scale, zero_point = np.float32(scale_of(ctx, 0)), ctx.quantization(0).zero_point[0]
    real = scale * (numbers_of(ctx) - zero_point).astype(np.float32)
    with np.errstate(all="ignore"):
        found = function(ctx, real).astype(np.float32)
    inverse = np.float32(1) / np.float32(out_scale(ctx))
    steps = rounded((found * inverse).astype(np.float64)) + ctx.out_quantization().zero_point[0]
    return looked_up(ctx, np.nan_to_num(steps, posinf=1e9, neginf=-1e9))


def _table(function: Callable[[AnyArray], AnyArray]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        return quantized_function(ctx, lambda _, x: function(x))

    return Converter(convert)


def _logistic(x: AnyArray) -> AnyArray:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _gelu(ctx: Context, x: AnyArray) -> AnyArray:
    if ctx.option("Approximate", False):
        inner = np.float32(0.7978845608028654) * (x + np.float32(0.044715) * x * x * x)
        return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))
    wide = x.astype(np.float64)
    return 0.5 * wide * (1 + np.array([erf(value / 2**0.5) for value in wide.tolist()]))


def gelu(ctx: Context) -> SSAValue:
    return quantized_function(ctx, _gelu)


def high_product(a: AnyArray, b: int) -> AnyArray:
    """The upper half of a product of int32, doubled, rounded upward."""
    return (a.astype(np.int64) * b + (1 << 30)) >> 31


def shifted(x: AnyArray, right: int) -> AnyArray:
    """Divided by a power of two, halves away from 0."""
    if right <= 0:
        return x
    return (x + (np.int64(1) << (right - 1)) - (x < 0)) >> right


def scaled(x: AnyArray, real: float) -> AnyArray:
    """Numbers times a factor, as `fixed_point.multiplied`."""
    multiplier, shift = factor(real)
    return shifted(high_product(x.astype(np.int64) << max(shift, 0), multiplier), max(-shift, 0))


def leaky_relu(ctx: Context) -> SSAValue:
    """One factor for what is at least the zero point, another for the rest."""
    alpha = np.float32(ctx.option("Alpha", 0.0))
    steps = numbers_of(ctx) - ctx.quantization(0).zero_point[0]
    plain = float(scale_of(ctx, 0)) / out_scale(ctx)
    sloped = float(np.float64(scale_of(ctx, 0)) * np.float64(alpha)) / out_scale(ctx)
    found = np.where(steps >= 0, scaled(steps, plain), scaled(steps, sloped))
    return looked_up(ctx, found + ctx.out_quantization().zero_point[0])


def absolute(ctx: Context) -> SSAValue:
    """Rescaled where the scales differ."""
    steps = np.abs(numbers_of(ctx) - ctx.quantization(0).zero_point[0])
    if scale_of(ctx, 0) != out_scale(ctx):
        steps = scaled(steps, scale_of(ctx, 0) / out_scale(ctx))
    return looked_up(ctx, steps + ctx.out_quantization().zero_point[0])


def relu(low: float | None, high: float | None) -> Converter[Context]:
    """Rescaled, and cut off at what stands for the bounds."""

    def convert(ctx: Context) -> SSAValue:
        steps = numbers_of(ctx) - ctx.quantization(0).zero_point[0]
        zero = int(ctx.out_quantization().zero_point[0])
        found = scaled(steps, float(np.float32(scale_of(ctx, 0)) / np.float32(out_scale(ctx)))) + zero
        for bound, cut in ((low, np.maximum), (high, np.minimum)):
            if bound is not None:
                found = cut(found, zero + away_from_zero(float(np.float32(bound) / np.float32(out_scale(ctx)))))
        return looked_up(ctx, found)

    return Converter(convert)


def _to_16_bits(multiplier: int) -> int:
    return min((multiplier + (1 << 15)) >> 16, 0x7FFF)


def hard_swish(ctx: Context) -> SSAValue:
    """In 16 bits: the input on a fine scale, times a ReLU of it that goes from 0 to 1."""
    steps = (numbers_of(ctx) - ctx.quantization(0).zero_point[0]).astype(np.int64)
    fine_scale = np.float32(1.0 / 128.0) * np.float32(scale_of(ctx, 0))
    relu_scale = np.float32(3.0 / 32768.0)
    out_multiplier, out_shift = factor(float(fine_scale / np.float32(out_scale(ctx))))
    relu_multiplier, relu_shift = factor(float(fine_scale / relu_scale))
    out_multiplier, relu_multiplier = _to_16_bits(out_multiplier), _to_16_bits(relu_multiplier)

    def high(a: AnyArray, b: AnyArray | int) -> AnyArray:
        """The upper half of a product of int16, doubled, rounded upward."""
        return np.clip((a * b + (1 << 14)) >> 15, -(1 << 15), (1 << 15) - 1)

    def bounded(x: AnyArray) -> AnyArray:
        return np.clip(x, -(1 << 15), (1 << 15) - 1)

    fine = bounded(steps * 128)
    on_output = high(fine, out_multiplier)
    value = fine
    if relu_shift > 0:
        value = bounded(value << (relu_shift - 1))
    value = high(value, relu_multiplier)
    if relu_shift > 0:
        value = bounded(value << 1)
    elif relu_shift < 0:
        value = shifted(value, -relu_shift)
    weight = (value + (1 << 15)) >> 1
    found = np.where(weight * on_output >= 0, weight * on_output >> 15, -((-weight * on_output) >> 15))
    found = shifted(found, -out_shift) if out_shift < 0 else bounded(found << out_shift)
    return looked_up(ctx, found + ctx.out_quantization().zero_point[0])


TABLE = {
    "ABS": Converter(absolute),
    "ELU": _table(lambda x: np.where(x < 0, np.expm1(x), x)),
    "EXP": _table(np.exp),
    "GELU": Converter(gelu),
    "HARD_SWISH": Converter(hard_swish),
    "LEAKY_RELU": Converter(leaky_relu),
    "LOG": _table(np.log),
    "LOGISTIC": _table(_logistic),
    "RELU": relu(0.0, None),
    "RELU6": relu(0.0, 6.0),
    "RELU_0_TO_1": relu(0.0, 1.0),
    "RELU_N1_TO_1": relu(-1.0, 1.0),
    "TANH": _table(np.tanh),
}
