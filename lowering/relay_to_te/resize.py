"""Computes of resized images: one axis after the other, with tables of neighbours and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from ... import te
from ...dialects.relay import resize as relay
from ...dialects.relay.interpolation import Resizing
from ...dialects.relay.operator import Operator
from ...dialects.sizes import Size, SizeExpr, proves, same, size_max
from ...support.dtypes import is_float
from ...te import Expr, Tensor
from .constants import table
from .stages import REPEATED, compute, dtype_of, label, shape

_UNROLLED = 4
"""More terms than these are a reduction."""


def resize(op: Operator, x: Tensor) -> Tensor:
    kind, sig, dtype = type(op), op.signature, dtype_of(op)
    assert issubclass(kind, relay.Resized)
    how = [pair for pair in zip(kind.axes(sig), kind.how(sig), strict=True) if not pair[1].identical]
    plain = all(
        axis_resizing.method == "nearest_neighbor" and axis_resizing.mode != "tf_crop_and_resize"
        for _, axis_resizing in how
    )
    number = x.dtype if plain or x.dtype == "float64" else "float32"
    data, name = x, label(op).replace("image.", "")
    # Axes that shrink first, and the outermost of them, so that the innermost, along which reads are single, has fewer
    # rows. Of those that grow the innermost is the first, for the same reason.
    shrinking = [pair for pair in how if proves(pair[1].size, "<", pair[1].extent)]
    growing = [pair for pair in reversed(how) if pair not in shrinking]
    ordered = [*shrinking, *growing]
    for number_of_axis, (axis, axis_resizing) in enumerate(ordered):
        # Rows that are only left out are read where they are.
        keep = not (plain and (axis, axis_resizing) in shrinking and number_of_axis + 1 < len(ordered))
        data = _along(data, axis, axis_resizing, number, kind.extrapolation(sig), f"{name}_{axis}", keep)
    if data.dtype != dtype:
        return compute(shape(data), lambda *i: _as(data(*i), dtype), name)
    return data if how else compute(shape(data), lambda *i: data(*i), name)


def _as(value: Expr, dtype: str) -> Expr:
    return value.astype(dtype) if is_float(dtype) else te.trunc(value).astype(dtype)


def _along(data: Tensor, axis: int, how: Resizing, dtype: str, extrapolation: float, name: str, keep: bool) -> Tensor:
    """Resize one axis in numbers of `dtype`; `keep`: in a stage with a buffer."""
    if how.open:
        return _along_open(data, axis, how, dtype, extrapolation, name)
    indices, factors = how.table()
    taps = len(indices)
    times = how.size // how.extent
    if dtype == data.dtype and np.array_equal(indices, np.arange(how.extent).repeat(times)[None]):
        return _repeated(data, axis, times, name)
    places = table(indices.astype(np.int32), f"{name}_places")
    extents = (*shape(data)[:axis], how.size, *shape(data)[axis + 1 :])
    outside = how.outside()
    weights = table(factors.astype(dtype), f"{name}_weights") if how.method != "nearest_neighbor" else None
    beyond = table(outside.astype(np.uint8), f"{name}_beyond") if outside.any() else None

    def term(tap: Expr | int, *i: Expr) -> Expr:
        value = data(*i[:axis], places(tap, i[axis]), *i[axis + 1 :]).astype(dtype)
        return value if weights is None else value * weights(tap, i[axis])

    def inside(total: Expr, *i: Expr) -> Expr:
        return total if beyond is None else te.select(beyond(i[axis]) > 0, te.const(extrapolation, dtype), total)

    def element(*i: Expr) -> Expr:
        total = term(0, *i)
        for tap in range(1, taps):
            total = total + term(tap, *i)
        return inside(total, *i)

    if taps <= _UNROLLED:
        return compute(extents, element, name, keep=keep)
    k = te.reduce_axis((0, taps), name="k")
    total = compute(extents, lambda *i: te.sum(term(k, *i), axis=k), name, tag="comm_reduce")
    return total if beyond is None else compute(extents, lambda *i: inside(total(*i), *i), name)


def _along_open(data: Tensor, axis: int, how: Resizing, dtype: str, extrapolation: float, name: str) -> Tensor:
    """Resize one axis of open extent, old or new; the call makes the tables."""
    extent, size = how.extent, how.size
    if dtype == data.dtype and (times := _times(how)):
        return _repeated(data, axis, times, name)
    taps = cast(int, size_max(2 * how.before, 1))
    last = te.const(extent - 1, "int32")

    def place(tap: Expr, left: Expr, ratio: Expr) -> Expr:
        return left + (tap.astype("float64") - te.const(how.before - 1, "float64") if how.reach else _right(how, ratio))

    def near(tap: Expr, i: Expr) -> Expr:
        at = place(tap, *_left(how, i)).astype("int32")
        return te.maximum(te.minimum(at, last), te.const(0, "int32"))

    def term(tap: Expr | int, *i: Expr) -> Expr:
        value = te.if_then_else(te.const(extent, "int32") > 0, data(*i[:axis], places(tap, i[axis]), *i[axis + 1 :]), 0)
        return value.astype(dtype) if weights is None else value.astype(dtype) * weights(tap, i[axis])

    def inside(total: Expr, *i: Expr) -> Expr:
        if how.mode != "tf_crop_and_resize":
            return total
        at = _coordinate(how, i[axis])
        within = te.all(at >= 0.0, at <= te.const(extent, "float64") - 1.0)
        return te.select(within, total, te.const(extrapolation, dtype))

    def element(*i: Expr) -> Expr:
        total = term(0, *i)
        for tap in range(1, taps):
            total = total + term(tap, *i)
        return inside(total, *i)

    places = compute((taps, size), near, f"{name}_places", keep=True)
    weights = _weights(how, taps, place, dtype, name) if how.reach else None
    extents = (*shape(data)[:axis], size, *shape(data)[axis + 1 :])
    if not isinstance(cast(Size, taps), SizeExpr) and taps <= _UNROLLED:
        return compute(extents, element, name, keep=True)
    k = te.reduce_axis((0, taps), name="k")
    total = compute(extents, lambda *i: te.sum(term(k, *i), axis=k), name, tag="comm_reduce")
    return compute(extents, lambda *i: inside(total(*i), *i), name) if how.mode == "tf_crop_and_resize" else total


def _weights(
    how: Resizing, taps: int, tap_position: Callable[[Expr, Expr, Expr], Expr], dtype: str, name: str
) -> Tensor:
    """Return the weight of each tap for each new element, (taps, size)."""
    extent = te.const(how.extent, "float64")

    def weight(tap: Expr, i: Expr) -> Expr:
        left, ratio = _left(how, i)
        at = tap_position(tap, left, ratio)
        distance = te.abs(at - left - ratio)
        share = _weight(how, distance * te.minimum(_scale(how), 1.0) if how.antialias else distance)
        return te.select(te.all(at >= 0.0, at < extent), share, 0.0) if how.exclude else share

    if not (how.antialias or how.exclude):
        return compute((taps, how.size), lambda *i: weight(*i).astype(dtype), f"{name}_weights", keep=True)
    shares = compute((taps, how.size), weight, f"{name}_shares", keep=True)
    k = te.reduce_axis((0, taps), name="k")
    totals = compute((how.size,), lambda *i: te.sum(shares(k, *i), axis=k), f"{name}_whole", tag="comm_reduce")

    def part(tap: Expr, i: Expr) -> Expr:
        return (shares(tap, i) / totals(i)).astype(dtype)

    return compute((taps, how.size), part, f"{name}_weights", keep=True)


def _times(how: Resizing) -> int:
    """Return the number of times that an axis repeats each element, whatever its extent is; else 0."""
    if how.method != "nearest_neighbor" or how.scale is None or not how.scale.is_integer():
        return 0
    times, few = int(how.scale), 3
    if not same(how.extent * times, how.size):
        return 0
    indices, _ = replace(how, extent=few, size=few * times).table()
    return times if np.array_equal(indices, np.arange(few).repeat(times)[None]) else 0


def _left(how: Resizing, i: Expr) -> tuple[Expr, Expr]:
    """The left one of the pair of elements that a coordinate lies on or between, and how far from it (float64)."""
    at = _coordinate(how, i)
    left = te.ceil(at) - 1.0
    return left, at - left


def _scale(how: Resizing) -> Expr:
    """Return the scale that coordinates are computed with (float64)."""
    if how.scale is None:
        more, less = how.ratio or (how.size, how.extent)
        return te.const(more, "float64") / te.const(less, "float64")
    return te.const(how.scale, "float64")


def _coordinate(how: Resizing, i: Expr) -> Expr:
    """Return the coordinate of a new element among the old ones (float64)."""
    x, scale = i.astype("float64"), _scale(how)
    extent, size = te.const(how.extent, "float64"), te.const(how.size, "float64")
    length = size if how.scale is None and how.ratio is None else scale * extent
    match how.mode:
        case "align_corners":
            return te.select(length.equal(1.0), 0.0, x * (extent - 1.0) / (length - 1.0))
        case "asymmetric":
            return x / scale
        case "tf_crop_and_resize":
            first, last = ((extent - 1.0) * end for end in how.roi)
            middle = (first + last) / 2.0
            return te.select(length.equal(1.0), middle, first + x * (last - first) / (length - 1.0))
        case "tf_half_pixel_for_nn":
            return (x + 0.5) / scale
        case "half_pixel_symmetric":
            return extent / 2.0 * (1.0 - size / length) + (x + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return te.select(length.equal(1.0), 0.0, (x + 0.5) / scale - 0.5)
        case _:
            return (x + 0.5) / scale - 0.5


def _right(how: Resizing, ratio: Expr) -> Expr:
    """1 where the right one of the pair is the nearest, else 0."""
    match how.rounds:
        case "floor":
            right = ratio >= 1.0
        case "ceil":
            right = ratio > 0.0
        case "round_prefer_floor":
            right = ratio > 0.5
        case _:
            right = ratio >= 0.5
    return te.select(right, te.const(1.0, "float64"), te.const(0.0, "float64"))


def _weight(how: Resizing, distance: Expr) -> Expr:
    """The weight at a distance from the coordinate."""
    if how.method == "linear":
        return te.maximum(1.0 - distance, 0.0)
    a, d = how.alpha, distance
    near = ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    far = ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    return te.select(d <= 1.0, near, te.select(d < 2.0, far, te.const(0.0, "float64")))


def _repeated(data: Tensor, axis: int, times: int, name: str) -> Tensor:
    """Each element so many times along an axis."""
    extents = (*shape(data)[:axis], shape(data)[axis] * times, *shape(data)[axis + 1 :])
    attributes = {"keep": True, "times": times}

    def element(*i: Expr) -> Expr:
        return data(*i[:axis], i[axis] // times, *i[axis + 1 :])

    return te.compute(extents, element, name, REPEATED if axis == len(extents) - 1 else "", attributes)


TABLE = dict.fromkeys(
    [relay.Resize1DOp, relay.Resize2DOp, relay.Resize3DOp, relay.UpsamplingOp, relay.Upsampling3DOp], resize
)
