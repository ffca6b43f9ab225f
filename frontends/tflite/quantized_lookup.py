"""Functions of one quantised number: a table of all results, computed at import as the kernels compute it.

Of 8 bits there are 256; of 16 bits 65536, many of which the kernels interpolate between those of a table of their own.
"""

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
from .kernel_arithmetic import (
    between,
    high_product,
    interpolated_table,
    inverse_root,
    precise,
    rounded,
    scaled,
    shifted,
    sigmoid,
)
from .lines import lines_of

_BYTES = 256
Function = Callable[[Context, AnyArray], AnyArray]
"""float32 to float32."""


def numbers_of(ctx: Context, index: int = 0) -> AnyArray:
    """All numbers that input `index` may hold, int64; it has 8 or 16 bits."""
    dtype = ctx.info(index).type.lower()
    if dtype not in ("int8", "uint8", "int16"):
        ctx.fail("quantised numbers of 8 or 16 bits", dtype)
    low, high = map(int, limits(dtype))
    return np.arange(low, high + 1)


def looked_up(ctx: Context, results: AnyArray) -> SSAValue:
    """The result for each number of input 0, of the output's type: from a table, or what gives the same."""
    dtype = ctx.out().type.lower()
    table = np.clip(results, *limits(dtype)).astype(dtype)
    bend = int(ctx.quantization(0).zero_point[0])
    if len(table) == _BYTES and (lines := lines_of(numbers_of(ctx), table.astype(np.int64), bend)) is not None:
        return lines.value(term(ctx, 0), numbers_of(ctx), dtype)
    index = term(ctx, 0).to("int32") - int(numbers_of(ctx)[0])
    return ctx.emit(TakeOp, ctx.constant(table, "table"), index.value, axis=0)


def quantized_function(ctx: Context, function: Function) -> SSAValue:
    """Dequantised, computed as float32, times the inverse of the scale; of 16 bits interpolated."""
    if ctx.info(0).type == "INT16":
        scales = np.float32(scale_of(ctx, 0)), np.float32(out_scale(ctx))
        zeros = int(ctx.quantization(0).zero_point[0]), int(ctx.out_quantization().zero_point[0])
        table = interpolated_table(lambda x: function(ctx, x), scales, zeros)
        return looked_up(ctx, between(table, numbers_of(ctx)))
    scale, zero_point = np.float32(scale_of(ctx, 0)), ctx.quantization(0).zero_point[0]
    real = scale * (numbers_of(ctx) - zero_point).astype(np.float32)
    with np.errstate(all="ignore"):
        results = function(ctx, real).astype(np.float32)
    inverse = np.float32(1) / np.float32(out_scale(ctx))
    steps = rounded((results * inverse).astype(np.float64)) + ctx.out_quantization().zero_point[0]
    return looked_up(ctx, np.nan_to_num(steps, posinf=1e9, neginf=-1e9))


def _table(function: Callable[[AnyArray], AnyArray]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        return quantized_function(ctx, lambda _, x: precise(function, x))

    return Converter(convert)


def _logistic(x: AnyArray) -> AnyArray:
    return np.float32(1) / (np.float32(1) + precise(np.exp, -x))


def _gelu(ctx: Context, x: AnyArray) -> AnyArray:
    if ctx.flag("Approximate"):
        inner = np.float32(0.7978845608028654) * (x + np.float32(0.044715) * x * x * x)
        return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))
    wide = x.astype(np.float64)
    return 0.5 * wide * (1 + np.array([erf(value / 2**0.5) for value in wide.tolist()]))


def _log(ctx: Context, x: AnyArray) -> AnyArray:
    """Return logarithms; numbers that have none give the least number."""
    info = ctx.out_quantization()
    least = np.float32(float(limits(ctx.out().type.lower())[0]) - float(info.zero_point[0])) * info.scale[0]
    return np.where(x > 0, precise(np.log, x), least)


def logarithm(ctx: Context) -> SSAValue:
    return quantized_function(ctx, _log)


def _rsqrt(ctx: Context, x: AnyArray) -> AnyArray:
    return np.where(x > 0, np.float32(1) / np.sqrt(x), np.float32((1 << 15) - 1) * ctx.out_quantization().scale[0])


def gelu(ctx: Context) -> SSAValue:
    return quantized_function(ctx, _gelu)


def leaky_relu(ctx: Context) -> SSAValue:
    """One factor for what is at least the zero point, another for the rest."""
    alpha = np.float32(ctx.float("Alpha", 0.0))
    steps = numbers_of(ctx) - ctx.quantization(0).zero_point[0]
    scale, out = np.float32(scale_of(ctx, 0)), np.float32(out_scale(ctx))
    plain, sloped = float(scale / out), float(scale * alpha / out)
    results = np.where(steps >= 0, scaled(steps, plain), scaled(steps, sloped))
    return looked_up(ctx, results + ctx.out_quantization().zero_point[0])


def absolute(ctx: Context) -> SSAValue:
    """Rescaled where the scales differ."""
    steps = np.abs(numbers_of(ctx) - ctx.quantization(0).zero_point[0])
    if scale_of(ctx, 0) != out_scale(ctx):
        steps = scaled(steps, float(np.float32(scale_of(ctx, 0)) / np.float32(out_scale(ctx))))
    return looked_up(ctx, steps + ctx.out_quantization().zero_point[0])


def relu(low: float | None, high: float | None) -> Converter[Context]:
    """Rescaled, and cut off at what stands for the bounds."""

    def convert(ctx: Context) -> SSAValue:
        steps = numbers_of(ctx) - ctx.quantization(0).zero_point[0]
        zero = int(ctx.out_quantization().zero_point[0])
        results = scaled(steps, float(np.float32(scale_of(ctx, 0)) / np.float32(out_scale(ctx)))) + zero
        for bound, cut in ((low, np.maximum), (high, np.minimum)):
            if bound is not None:
                results = cut(results, zero + away_from_zero(float(np.float32(bound) / np.float32(out_scale(ctx)))))
        return looked_up(ctx, results)

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
    results = np.where(weight * on_output >= 0, weight * on_output >> 15, -((-weight * on_output) >> 15))
    results = shifted(results, -out_shift) if out_shift < 0 else bounded(results << out_shift)
    return looked_up(ctx, results + ctx.out_quantization().zero_point[0])


def _sigmoid_argument(ctx: Context) -> AnyArray:
    """All numbers of 16 bits in steps of 1 / (3 * 4096), which the kernels compute with a factor of 15 bits."""
    scale = float(scale_of(ctx, 0))
    power = np.log2(scale)
    if power == np.round(power) and int(power) + 12 in (0, 1):
        return numbers_of(ctx) * (3 << (int(power) + 12))
    multiplier, shift = scale * 4096 * 3, 0
    while multiplier <= 32767 / 2 and shift <= 30:
        multiplier, shift = 2 * multiplier, shift + 1
    return (numbers_of(ctx) * int(multiplier) + ((1 << shift) >> 1)) >> shift


def logistic(ctx: Context) -> SSAValue:
    if ctx.info(0).type != "INT16":
        return quantized_function(ctx, lambda _, x: _logistic(x))
    x = _sigmoid_argument(ctx)
    result = sigmoid(x, 9)
    return looked_up(ctx, np.where(x >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1) >> 10)


def tanh(ctx: Context) -> SSAValue:
    """Of 16 bits by twice the sigmoid of twice the number."""
    if ctx.info(0).type != "INT16":
        return quantized_function(ctx, lambda _, x: precise(np.tanh, x))
    x = _sigmoid_argument(ctx)
    found = sigmoid(x, 8) - (1 << 23)
    return looked_up(ctx, (np.where(x >= 0, found, -found - 1) + (1 << 7)) >> 8)


def square_root(ctx: Context) -> SSAValue:
    """Dequantised, computed as float32, divided by the scale and cut off; what is below 0 counts as that."""
    real = np.float32(scale_of(ctx, 0)) * (numbers_of(ctx) - ctx.quantization(0).zero_point[0]).astype(np.float32)
    steps = np.floor(np.sqrt(np.maximum(real, 0)) / np.float32(out_scale(ctx))).astype(np.int64)
    return looked_up(ctx, steps + ctx.out_quantization().zero_point[0])


_BITS = 20
"""Of the inverse of a square root before it is rescaled."""


def rsqrt(ctx: Context) -> SSAValue:
    """Of 8 bits by Newton's method in integers; what is not above 0 is the largest number."""
    if ctx.info(0).type == "INT16":
        return quantized_function(ctx, _rsqrt)
    steps = (numbers_of(ctx) - ctx.quantization(0).zero_point[0]).astype(np.int64)
    real = 1.0 / float(np.sqrt(np.float32(scale_of(ctx, 0))) * np.float32(out_scale(ctx)))
    multiplier, shift = factor(real)
    found: list[int] = []
    for step in steps.tolist():
        if step <= 0:
            found.append(1 << 30)
            continue
        inverse, right = inverse_root(step)
        wide = int(shifted(high_product(np.asarray(1 << max(_BITS - right, 0)), inverse), max(right - _BITS, 0)))
        left = shift - _BITS
        moved = shifted(high_product(np.asarray(wide << max(left, 0)), multiplier), max(-left, 0))
        found.append(int(moved))
    return looked_up(ctx, np.asarray(found) + ctx.out_quantization().zero_point[0])


QUANTIZED = {
    "ABS": Converter(absolute),
    "ELU": _table(lambda x: np.where(x < 0, np.expm1(x), x)),
    "EXP": _table(np.exp),
    "GELU": Converter(gelu),
    "HARD_SWISH": Converter(hard_swish),
    "LEAKY_RELU": Converter(leaky_relu),
    "LOG": Converter(logarithm),
    "LOGISTIC": Converter(logistic),
    "RELU": relu(0.0, None),
    "RELU6": relu(0.0, 6.0),
    "RELU_0_TO_1": relu(0.0, 1.0),
    "RELU_N1_TO_1": relu(-1.0, 1.0),
    "RSQRT": Converter(rsqrt),
    "SQRT": Converter(square_root),
    "TANH": Converter(tanh),
}
