"""Computes of what is left of quantised operators once `relay-qnn-canonicalize` has run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ... import te
from ...dialects.element_types import dtype_name
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.qnn import DequantizeOp, FixedPointMultiplyOp, FixedPointMultiplyPerAxisOp, QuantizeOp
from ...dialects.relay.qnn_elementwise import AvgPool2DOp, MultiplyAddOp
from ...dialects.sizes import same
from ...support.dtypes import GREATEST, is_float, limits
from ...te import Expr, Tensor
from .elementwise import clipped
from .small_dtypes import cast
from .stages import broadcast, compute, label, literal, shape

_EXACT = ("int8", "uint8", "int16", "uint16")
"""Integers whose ends, and the distances between these, are numbers of float32."""


def _parameter(tensor: Tensor, axis: int, point: Sequence[Expr]) -> Expr:
    """A scale or zero point at a point of the data: one number, one per index of an axis, or what broadcasts."""
    extents = shape(tensor)
    if len(extents) == 1 and not same(extents[0], 1):
        return tensor(point[axis % len(point)])
    return broadcast(tensor, point)


def quantize(op: Operator, x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    axis, dtype = op.signature.int("axis"), op.signature.str("out_dtype")

    def element(*i: Expr) -> Expr:
        steps = x(*i).astype("float32")
        if literal(scale) != 1:
            steps = steps / _parameter(scale, axis, i).astype("float32")
        if is_float(dtype):
            return cast(clipped(steps, -GREATEST[dtype], GREATEST[dtype]), "float32", dtype)
        low, high = limits(dtype)
        if dtype in _EXACT:
            # Between the ends, rounded to an integer at once: what is added to that then cannot leave the dtype.
            zero, zero_value = _parameter(zero_point, axis, i).astype("int32"), literal(zero_point)
            if zero_value is not None:
                least, most = (te.const(end - zero_value, "float32") for end in (low, high))
            else:
                least, most = (te.const(end, "float32") - zero.astype("float32") for end in (low, high))
            raised = te.select(steps < least, least, steps)
            rounded_steps = te.nearbyint(te.select(most < raised, most, raised)).astype("int32")
            return (rounded_steps if zero_value == 0 else rounded_steps + zero).astype(dtype)
        steps = te.nearbyint(steps)
        if (start := literal(zero_point)) is None:
            steps = steps + _parameter(zero_point, axis, i).astype("float32")
        elif start:
            steps = steps + te.const(start, "float32")
        return cast(clipped(steps, low, high), "float32", dtype)

    return compute(shape(x), element, label(op))


def dequantize(op: Operator, x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    axis, (dtype, out_dtype) = (
        op.signature.int("axis"),
        (dtype_name(element_of(v)) for v in (op.operands[0], *op.results)),
    )

    def element(*i: Expr) -> Expr:
        if is_float(dtype) or literal(zero_point) == 0:
            number = cast(x(*i), dtype, "float32")
        else:
            number = (cast(x(*i), dtype, "int32") - _parameter(zero_point, axis, i)).astype("float32")
        if literal(scale) != 1:
            number = number * _parameter(scale, axis, i).astype("float32")
        return number.astype(out_dtype)

    return compute(shape(x), element, label(op))


def fixed_point_multiply(op: Operator, x: Tensor) -> Tensor:
    multiplier, shift = (op.signature.int(name) for name in ("multiplier", "shift"))
    factor, left, right = (te.const(number, "int32") for number in (multiplier, max(shift, 0), max(-shift, 0)))
    return compute(shape(x), lambda *i: _multiplied(x(*i), factor, left, right, False), label(op))


def fixed_point_multiply_per_axis(
    op: Operator, x: Tensor, multiplier: Tensor, lshift: Tensor, rshift: Tensor
) -> Tensor:
    sig, zero = op.signature, te.const(0, "int32")
    rounding = sig.str("rounding")

    def element(*i: Expr) -> Expr:
        left = broadcast(lshift, i) if sig.get("is_lshift_required") else zero
        right = broadcast(rshift, i) if sig.get("is_rshift_required") else zero
        factor = broadcast(multiplier, i)
        if rounding == "DOUBLE":
            double = _multiplied_of_few_bits if sig.get("bounded") else _multiplied_twice_rounded
            return double(x(*i), factor, left, right)
        return _multiplied(x(*i), factor, left, right, rounding == "TONEAREST")

    return compute(shape(x), element, label(op))


def _multiplied(x: Expr, multiplier: Expr, left: Expr, right: Expr, nearest: bool) -> Expr:
    """`x * multiplier * 2^(left - right - 31)`; halves go up, or away from 0 to the `nearest`."""
    product = te.shift_left(x.astype("int64"), left.astype("int64")) * multiplier.astype("int64")
    dropped = te.const(31, "int64") + right.astype("int64")
    half = te.shift_left(te.const(1, "int64"), dropped - 1)
    if nearest:
        half = te.select(product < 0, half - 1, half)
    return te.shift_right(product + half, dropped).astype("int32")


def _multiplied_twice_rounded(x: Expr, multiplier: Expr, left: Expr, right: Expr) -> Expr:
    """The same, rounded after the product, upward, and again after the shift to the right, halves away from 0.

    Only the product takes 64 bits, of which no shift needs the sign.
    """
    product = te.shift_left(x, left).astype("int64") * multiplier.astype("int64") + (1 << 30)
    high = te.shift_right(product, te.const(31, "int64")).astype("int32")
    mask = te.shift_left(te.const(1, "int32"), right) - 1
    half = te.shift_right(mask, te.const(1, "int32"))
    most = te.select(high < 0, half + 1, half)
    return te.shift_right(high, right) + (te.bitwise_and(high, mask) > most).astype("int32")


def _multiplied_of_few_bits(x: Expr, multiplier: Expr, left: Expr, right: Expr) -> Expr:
    """The same of numbers that have room for half of what the second shift drops, which is added with the first half.

    Negative ones are one less then, so that their halves go down.
    """
    halves = te.shift_left(te.const(1, "int64"), right.astype("int64") + 30) + (1 << 30)
    product = te.shift_left(x, left).astype("int64") * multiplier.astype("int64") + halves
    high = te.shift_right(product, te.const(31, "int64")).astype("int32")
    return te.shift_right(high + te.shift_right(x, te.const(31, "int32")), right)


@dataclass(frozen=True)
class _Window:
    """A pooling window along an axis of `extent` elements, `before` and `after` which there is padding."""

    axis: int
    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    def start(self, position: Expr) -> Expr:
        return position * self.stride - self.before

    def last(self, places: int) -> int:
        """The last element that any window of so many has."""
        return (places - 1) * self.stride - self.before + (self.kernel - 1) * self.dilation

    def tests(self, point: Expr, places: int) -> list[Expr]:
        """Return the conditions of a point of a window that lies in the image, as far as some do not."""
        before: list[Expr] = [point >= 0] if self.before else []
        return before if self.last(places) < self.extent else [*before, point < self.extent]

    def count(self, position: Expr, places: int, padded: bool) -> Expr | int:
        """Return the number of the window's elements that are in the image, or in the padded image."""
        low, high = (-self.before, self.extent + self.after) if padded else (0, self.extent)
        last = self.last(places)
        if -self.before >= low and last < high:
            return self.kernel
        start = self.start(position)
        first = (start * -1 + (low + self.dilation - 1)) // self.dilation
        past = (start * -1 + (high + self.dilation - 1)) // self.dilation
        return te.minimum(past, self.kernel) - te.maximum(first, 0)


def avg_pool2d(op: Operator, x: Tensor, scale: Tensor, zero: Tensor, new_scale: Tensor, new_zero: Tensor) -> Tensor:
    """The mean is rounded to the new scale with halves to even."""
    sig = op.signature
    axes = AvgPool2DOp.image_axes(sig)
    top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
    sizes = zip(*map(sig.ints, ("pool_size", "strides", "dilation")), (top, left), (bottom, right), strict=True)
    windows = [_Window(axis, shape(x)[axis], *size) for axis, size in zip(axes, sizes, strict=True)]
    extents = shape_of(op.results[0])
    taps = [te.reduce_axis((0, window.kernel), name=f"k{at}") for at, window in enumerate(windows)]
    is_global = all(same(extents[axis], 1) for axis in axes)

    def one(tensor: Tensor) -> Expr:
        return tensor(*([0] * len(shape(tensor))))

    def summed(*i: Expr) -> Expr:
        point = list(i)
        for window, tap in zip(windows, taps, strict=True):
            point[window.axis] = window.start(i[window.axis]) + tap * window.dilation
        number = x(*point, otherwise=0).astype("int32")
        if is_global:
            return te.sum(number, axis=taps)
        real = (number - one(zero)).astype("float32") * one(scale)
        tests = [test for window in windows for test in window.tests(point[window.axis], extents[window.axis])]
        if tests:
            real = te.select(te.all(*tests), real, 0.0)
        # A product that is an operand of the sum itself would not be rounded.
        return te.sum(real + 0.0, axis=taps)

    total = compute(extents, summed, label(op), tag="adaptive_pool_sum" if is_global else "pool_sum")
    low, high = limits(x.dtype)
    include = bool(sig.get("count_include_pad"))

    def count(i: Sequence[Expr], padded: bool) -> Expr:
        number: Expr = te.const(1, "int32")
        for window in windows:
            number = number * window.count(i[window.axis], extents[window.axis], padded)
        return number

    def element(*i: Expr) -> Expr:
        start, size = one(new_zero).astype("float32"), te.maximum(count(i, include), 1).astype("float32")
        if is_global:
            above = (total(*i) - one(zero) * count(i, False)).astype("float32")
            number = te.nearbyint(above * (one(scale) / (one(new_scale) * size))) + start
        else:
            number = te.nearbyint(total(*i) / size / one(new_scale) + start)
        return te.minimum(te.maximum(number, float(low)), float(high)).astype(x.dtype)

    return compute(extents, element, label(op))


def multiply_add(op: Operator, x: Tensor, factor: Tensor, summand: Tensor) -> Tensor:
    def element(*i: Expr) -> Expr:
        return te.fma(broadcast(x, i).astype("float32"), broadcast(factor, i), broadcast(summand, i))

    return compute(shape_of(op.results[0]), element, label(op))


TABLE = {
    MultiplyAddOp: multiply_add,
    QuantizeOp: quantize,
    DequantizeOp: dequantize,
    FixedPointMultiplyOp: fixed_point_multiply,
    FixedPointMultiplyPerAxisOp: fixed_point_multiply_per_axis,
    AvgPool2DOp: avg_pool2d,
}
