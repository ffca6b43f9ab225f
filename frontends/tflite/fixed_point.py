"""Products of integers with real factors, as TFLite's reference kernels compute them: an integer and a shift."""

from __future__ import annotations

from math import frexp, inf

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.logic import RightShiftOp
from ...dialects.relay.numerics import AnyArray
from ...dialects.relay.qnn import FixedPointMultiplyPerAxisOp, split_shifts
from ...support.dtypes import limits
from ..importing import context
from ..importing.tensor import shape_of
from ..importing.terms import Term
from .activations import NONE, RELU, RELU6, RELU_N1_TO_1
from .context import Context
from .model import Quantization

_BOUNDS: dict[int, tuple[float, float | None]] = {
    RELU: (0.0, None),
    RELU6: (0.0, 6.0),
    RELU_N1_TO_1: (-1.0, 1.0),
}


_LARGEST = 30
"""Bits that a factor may shift to the left."""
_BOUND = 2.0**30
"""Half of a number below this can be added to it in 32 bits."""


def away_from_zero(x: float) -> int:
    """The nearest integer, halves away from 0."""
    return int(np.floor(abs(x) + 0.5)) * (1 if x >= 0 else -1)


def factor(real: float) -> tuple[int, int]:
    """A factor as `multiplier * 2^(shift - 31)`; one that is too small is 0."""
    if real == 0:
        return 0, 0
    significand, shift = frexp(real)
    multiplier = away_from_zero(significand * 2.0**31)
    if abs(multiplier) == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def multiplied(
    ctx: context.Context, x: SSAValue, real: float | AnyArray, rounding: str = "DOUBLE", most: float = inf
) -> SSAValue:
    """Numbers of int32 times a factor, or one per index of the last axis, rounded twice as most kernels do.

    most: what the numbers are not beyond, on either side of 0.
    """
    factors = [factor(scale) for scale in np.atleast_1d(np.asarray(real, np.float64)).tolist()]
    if any(shift > _LARGEST for _, shift in factors):
        ctx.fail(f"scales whose quotient is below 2^{_LARGEST}", str(np.max(real)))
    shape = () if len(factors) == 1 else (*[1] * (len(shape_of(x)) - 1), len(factors))
    multiplier, shift = (np.asarray(column, np.int32).reshape(shape) for column in zip(*factors, strict=True))
    return shifted_product(ctx, x, multiplier, shift, rounding, most)


def shifted_product(
    ctx: context.Context, x: SSAValue, multiplier: AnyArray, shift: AnyArray, rounding: str, most: float = inf
) -> SSAValue:
    """Numbers of int32 times `multiplier * 2^(shift - 31)`, of int32, too."""
    left, right, required = split_shifts(shift)
    names = {"multiplier": multiplier, "lshift": left, "rshift": right}
    parts = [ctx.constant(array.astype(np.int32), name) for name, array in names.items()]
    bounded = most < _BOUND and bool(np.all((shift < 0) & (shift > -_LARGEST) & (multiplier >= 0)))
    return ctx.emit(FixedPointMultiplyPerAxisOp, x, *parts, **required, rounding=rounding, bounded=bounded)


def multiplied_wide(ctx: context.Context, x: SSAValue, real: float | AnyArray) -> SSAValue:
    """Sums of int64 times a factor of 16 bits, rounded once; the result is int32."""
    factors = [factor(scale) for scale in np.atleast_1d(np.asarray(real, np.float64)).tolist()]
    small = [(m + (1 << 15)) >> 16 if m < 0x7FFF0000 else 0x7FFF for m, _ in factors]
    right = [15 - shift for _, shift in factors]
    shape = () if len(factors) == 1 else (*[1] * (len(shape_of(x)) - 1), len(factors))

    def column(values: list[int], name: str) -> Term:
        return Term(ctx, ctx.constant(np.asarray(values, np.int64).reshape(shape), name))

    total = Term(ctx, x) * column(small, "multiplier") + column([1 << (r - 1) for r in right], "half")
    return total.apply(RightShiftOp, column(right, "shift")).to("int32").value


def quantized_number(real: float, scale: float, zero_point: int) -> int:
    """A number in steps of a scale, halves away from 0."""
    return zero_point + away_from_zero(float(np.float32(real) / np.float32(scale)))


def activation_range(ctx: Context, quantization: Quantization, dtype: str) -> tuple[int, int]:
    """The least and greatest number after the fused activation."""
    low, high = map(int, limits(dtype))
    options = ctx.node.operator.options
    kind = ctx.int("FusedActivationFunction", NONE) if hasattr(options, "FusedActivationFunction") else NONE
    if kind == NONE:
        return low, high
    if kind not in _BOUNDS:
        ctx.fail("a fused activation NONE, RELU, RELU_N1_TO_1 or RELU6 on integers", f"number {kind}")
    scale, zero_point = float(quantization.scale[0]), int(quantization.zero_point[0])
    least, most = _BOUNDS[kind]
    low = max(low, quantized_number(least, scale, zero_point))
    if most is not None:
        high = min(high, quantized_number(most, scale, zero_point))
    return low, high


def saturated(
    ctx: Context, total: SSAValue, quantization: Quantization, dtype: str, bounds: tuple[int, int] | None = None
) -> SSAValue:
    """Numbers of int32 above a zero point as numbers of a dtype; what is outside its range, or `bounds`, is cut off."""
    zero_point = int(quantization.zero_point[0])
    if zero_point:
        total = ctx.emit(ew.AddOp, total, ctx.scalar(zero_point, total))
    low, high = limits(dtype) if bounds is None else bounds
    total = ctx.emit(ew.ClipOp, total, a_min=float(low), a_max=float(high))
    return ctx.emit(ew.CastOp, total, dtype=dtype)


def centred(ctx: Context, index: int, dtype: str = "int32") -> Term:
    """Return the numbers of input `index` minus their zero point."""
    numbers = Term(ctx, ctx.value(index)).to(dtype)
    zero_point = int(ctx.quantization(index).zero_point[0])
    return numbers - zero_point if zero_point else numbers


def scale_of(ctx: Context, index: int) -> float:
    """The scale of input `index`, which has one."""
    return float(ctx.quantization(index).scale[0])


def out_scale(ctx: Context, index: int = 0) -> float:
    return float(ctx.out_quantization(index).scale[0])
