"""Computes of images sampled at points that are data: places and weights first, for all channels, then the pixels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import cast

from ... import te
from ...dialects.relay import sampling as relay
from ...dialects.relay.operator import Operator, Signature, shape_of
from ...dialects.sizes import Size, SizeExpr
from ...te import Expr, Tensor
from .stages import compute, dtype_of, label, shape, wide

_OFFSETS = {"nearest": (0,), "bilinear": (0, 1), "bicubic": (-1, 0, 1, 2)}


def grid_sample(op: Operator, data: Tensor, grid: Tensor) -> Tensor:
    sig = op.signature
    corners, extents, rank = bool(sig.get("align_corners")), shape(data)[2:], len(shape(data)) - 2
    number, points = wide(grid.dtype), shape(grid)[2:]
    method, mode = sig.str("method"), sig.str("padding_mode")
    offsets = _OFFSETS[method]

    def coordinate(axis: int) -> Tensor:
        """In pixels; of the first of x, y (and z) for the last axis."""
        extent = _real(extents[axis], number)

        def element(*i: Expr) -> Expr:
            p = grid(i[0], rank - 1 - axis, *i[1:]).astype(number)
            return (p + 1.0) / 2.0 * (extent - 1.0) if corners else ((p + 1.0) * extent - 1.0) / 2.0

        return compute((shape(grid)[0], *points), element, f"coordinate_{axis}", keep=True)

    def first(at: Expr) -> Expr:
        return te.nearbyint(at) if method == "nearest" else te.floor(at)

    taps = (len(offsets), shape(grid)[0], *points)

    def placed(axis: int, at: Tensor) -> Tensor:
        extent = extents[axis]

        def element(*i: Expr) -> Expr:
            p = _padded(_tap(i[0], first(at(*i[1:])), offsets), extent, mode, corners)
            # NaN is nowhere; it is not greater than 0.
            inside = te.select(p > 0, p, te.const(0, number))
            last = te.const(extent - 1, number)
            return te.select(inside < _real(extent - 1, number), inside, last).astype("int32")

        return compute(taps, element, f"place_{axis}", keep=True)

    def weighted(axis: int, at: Tensor) -> Tensor:
        def element(*i: Expr) -> Expr:
            p = at(*i[1:])
            own = _weight(method, _tap(i[0], te.const(0, number), offsets), p - first(p), number)
            if mode != "zeros":
                return own
            there = _tap(i[0], first(p), offsets)
            return te.select(te.all(there >= 0, there < _real(extents[axis], number)), own, te.const(0, number))

        return compute(taps, element, f"weight_{axis}", keep=True)

    coordinates = [coordinate(axis) for axis in range(rank)]
    places = [placed(axis, at) for axis, at in enumerate(coordinates)]
    weights = [weighted(axis, at) for axis, at in enumerate(coordinates)]

    def element(*i: Expr) -> Expr:
        n, c, *rest = i
        total: Expr | None = None
        for tap in product(range(len(offsets)), repeat=rank):
            value = data(n, c, *(p(t, n, *rest) for p, t in zip(places, tap, strict=True))).astype(wide(data.dtype))
            for w, t in zip(weights, tap, strict=True):
                value = value * w(t, n, *rest).astype(value.dtype)
            total = value if total is None else total + value
        assert total is not None
        return total.astype(dtype_of(op))

    return compute(shape_of(op.results[0]), element, label(op).replace("image.", ""))


def _real(extent: Size, number: str) -> Expr | int:
    """An extent in arithmetic of floats: a number as it is, a size of the call in the dtype `number`."""
    return te.const(extent, number) if isinstance(extent, SizeExpr) else extent


def _tap(number: Expr, start: Expr, offsets: tuple[int, ...]) -> Expr:
    """The place of a tap, counted from `start`."""
    return start + offsets[0] + number.astype(start.dtype) if len(offsets) > 1 else start


def _weight(method: str, offset: Expr, ratio: Expr, number: str) -> Expr:
    """Return the weight of the pixel at `offset` from the left neighbour of a coordinate, which is `ratio` after it."""
    d = te.abs(ratio - offset)
    if method == "nearest":
        return te.const(1, number)
    if method == "bilinear":
        return 1.0 - d
    a = relay.CUBIC
    near = ((a + 2) * d - (a + 3)) * d * d + 1.0
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return te.select(d <= 1, near, far)


def _padded(p: Expr, extent: int, mode: str, corners: bool) -> Expr:
    """A whole coordinate reflected as often as it takes; other modes clamp it, or give it no weight."""
    if mode != "reflection":
        return p
    size = cast(int, _real(extent, p.dtype))
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    span = high - low
    if isinstance(cast(Size, extent), SizeExpr):
        span = te.maximum(span, 1.0)  # one element is its own neighbour: nothing is divided by 0
    elif not span:
        return p * 0.0
    away = te.abs(p - low)
    turn = away - te.floor(away / (2 * span)) * (2 * span)
    return te.minimum(turn, 2 * span - turn) + low


def affine_grid(op: Operator, theta: Tensor) -> Tensor:
    sig, sizes = op.signature, op.signature.ints("target_shape")
    rank, number = len(sizes), wide(theta.dtype)

    def element(*i: Expr) -> Expr:
        n, row, *point = i
        total = theta(n, row, rank).astype(number)
        for axis, (index, extent) in enumerate(zip(point, sizes, strict=True)):
            start, step = _steps(sig, extent, number)
            total = total + theta(n, row, rank - 1 - axis).astype(number) * (index.astype(number) * step + start)
        return total.astype(dtype_of(op))

    return compute(shape_of(op.results[0]), element, label(op).replace("image.", ""))


def _steps(sig: Signature, extent: int, number: str) -> tuple[Expr | float, Expr | float]:
    """The first coordinate along an axis, and the distance to the next."""
    if not isinstance(cast(Size, extent), SizeExpr):
        return relay.AffineGridOp.steps(sig, extent)
    size = te.const(extent, number)
    if sig.get("align_corners"):
        return -1.0, te.select(size > 1.0, 2.0 / te.maximum(size - 1.0, 1.0), te.const(0, number))
    return 1.0 / size - 1.0, 2.0 / size


def crop_and_resize(op: Operator, data: Tensor, boxes: Tensor, indices: Tensor) -> Tensor:
    sig = op.signature
    first = sig.str("layout") == "NHWC"
    batch, extents = shape(data)[0], shape(data)[1:3] if first else shape(data)[2:]
    sizes, number = sig.spatial("crop_size", 2), wide(data.dtype)
    nearest = sig.str("method") == "nearest_neighbor"

    def coordinate(axis: int) -> Callable[[Expr, Expr], Expr]:
        """Return the coordinate of sample `at` of box `b`."""
        extent, size = extents[axis], sizes[axis]

        def found(b: Expr, at: Expr) -> Expr:
            low, high = boxes(b, axis).astype(number), boxes(b, 2 + axis).astype(number)
            if size == 1:
                return (low + high) * ((extent - 1) / 2)
            return low * (extent - 1.0) + at.astype(number) * (high - low) * (extent - 1.0) / (size - 1.0)

        return found

    def clamped(p: Expr, extent: int) -> Expr:
        above = te.select(p > 0, p, te.const(0, number))
        return te.select(above < extent - 1, above, te.const(extent - 1, number))

    def element(*i: Expr) -> Expr:
        b, y, x, c = i if first else (i[0], i[2], i[3], i[1])
        own = te.minimum(te.maximum(indices(b).astype("int64"), 0), batch - 1)
        at = [coordinate(axis)(b, index) for axis, index in enumerate((y, x))]
        seen = te.all(*(te.all(p >= 0, p <= n - 1) for p, n in zip(at, extents, strict=True)))
        at = [clamped(p, n) for p, n in zip(at, extents, strict=True)]

        def pixel(row: Expr, column: Expr) -> Expr:
            point = (row.astype("int32"), column.astype("int32"))
            return (data(own, *point, c) if first else data(own, c, *point)).astype(number)

        if nearest:
            value = pixel(te.floor(at[0] + 0.5), te.floor(at[1] + 0.5))
        else:
            (y0, x0), (y1, x1) = map(te.floor, at), map(te.ceil, at)
            fy, fx = at[0] - y0, at[1] - x0
            top = pixel(y0, x0) * (1.0 - fx) + pixel(y0, x1) * fx
            value = top * (1.0 - fy) + (pixel(y1, x0) * (1.0 - fx) + pixel(y1, x1) * fx) * fy
        return te.select(seen, value, te.const(sig.get("extrapolation_value"), number)).astype(dtype_of(op))

    return compute(shape_of(op.results[0]), element, label(op).replace("image.", ""))


TABLE = {
    relay.GridSampleOp: grid_sample,
    relay.AffineGridOp: affine_grid,
    relay.CropAndResizeOp: crop_and_resize,
}
