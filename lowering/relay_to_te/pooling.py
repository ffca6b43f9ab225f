"""Computes of the poolings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ... import te
from ...dialects.affine import below
from ...dialects.relay import nn as relay
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.pooling import Window
from ...dialects.sizes import same
from ...support.dtypes import limits
from ...te import Expr, Tensor
from .stages import compute, divided, dtype_of, label, rounded, shape, wide

_GAIN = 2
"""The times as many operations that writing and reading what is shared is worth."""


def _image_axes(op: Operator) -> tuple[int, ...]:
    assert isinstance(op, relay.Pool)
    return op.image_axes(op.signature)


def _reduced_image(
    op: Operator,
    x: Tensor,
    extents: Sequence[int],
    window: Sequence[int],
    read: Callable[..., Expr],
    reducer: Callable[..., Expr],
    tag: str,
) -> Tensor:
    """The reduction of `read(point, k0, k1, ..)` over a window, for each point within extents, in wide numbers."""
    number = wide(x.dtype)
    k = [te.reduce_axis((0, extent), name=f"k{axis}") for axis, extent in enumerate(window)]

    def combined(*i: Expr) -> Expr:
        return reducer(read(list(i), *k).astype(number), axis=k)

    # Whether the innermost axis is a block of channels; the schedule cannot tell it from pixels.
    blocked = parse_layout(op.signature.str("layout"))[-1].factor > 0
    names = tuple(f"ax{axis}" for axis in range(len(extents)))
    return te.compute(tuple(extents), combined, label(op), tag, {"blocked": True} if blocked else None, names)


def _global_pool(op: Operator, x: Tensor, reducer: Callable[..., Expr], tag: str) -> Tensor:
    axes = _image_axes(op)

    def element(point: list[Expr], *k: Expr) -> Expr:
        for axis, at in zip(axes, k, strict=True):
            point[axis] = at
        return x(*point)

    window = [shape(x)[axis] for axis in axes]
    return _reduced_image(op, x, shape_of(op.results[0]), window, element, reducer, tag)


def global_max_pool(op: Operator, x: Tensor) -> Tensor:
    return rounded(_global_pool(op, x, te.max, "adaptive_pool_max"), x.dtype)


def global_avg_pool(op: Operator, x: Tensor) -> Tensor:
    count = prod(shape(x)[axis] for axis in _image_axes(op))
    return divided(_global_pool(op, x, te.sum, "adaptive_pool_sum"), count, x.dtype)


def _pool(op: Operator, x: Tensor, reducer: Callable[..., Expr], outside: float, tag: str) -> Tensor:
    """The reduction of each window: of wide windows that overlap one axis at a time, as neighbours share parts."""
    assert isinstance(op, relay.WindowedPool)
    windows = op.windows(op.signature)

    def reduced(x: Tensor, windows: Sequence[Window]) -> Tensor:
        def element(point: list[Expr], *k: Expr) -> Expr:
            for w, at in zip(windows, k, strict=True):
                point[w.axis] = point[w.axis] * w.stride + at * w.dilation - w.before
            return x(*point, otherwise=outside)

        extents = list(shape(x))
        for w in windows:
            extents[w.axis] = shape_of(op.results[0])[w.axis]
        return _reduced_image(op, x, extents, [w.size for w in windows], element, reducer, tag)

    if not _shares_parts(windows):
        return reduced(x, windows)
    for w in reversed(windows):
        x = reduced(x, [w])
    return x


def _shares_parts(windows: Sequence[Window]) -> bool:
    """Return whether windows overlap so much that one axis at a time takes less than half of the operations."""
    apart, strides = 0, 1
    for w in windows:
        apart += w.size * strides
        strides *= w.stride
    return prod(w.size for w in windows) > _GAIN * apart


def max_pool(op: Operator, x: Tensor) -> Tensor:
    return rounded(_pool(op, x, te.max, limits(x.dtype)[0], "pool_max"), x.dtype)


@dataclass(frozen=True)
class _Window:
    """The windows of a pooling along an image axis: of their elements, those at positions in [low, high) count."""

    axis: int
    kernel: int
    stride: int
    dilation: int
    low: int
    high: int

    def always_full(self, extent: int) -> bool:
        """Return whether all elements count, wherever among `extent` positions the window lies."""
        return same(self.low, 0) and below((extent - 1) * self.stride + (self.kernel - 1) * self.dilation, self.high)

    def count(self, position: Expr) -> Expr:
        """Return the number of elements of the window at a position that count."""
        start = position * self.stride
        first = (start * -1 + (self.low + self.dilation - 1)) // self.dilation
        past = (start * -1 + (self.high + self.dilation - 1)) // self.dilation
        return te.minimum(past, self.kernel) - te.maximum(first, 0)


def _windows(op: relay.WindowedPool, extents: tuple[int, ...]) -> list[_Window]:
    """In coordinates that begin with the padding, which counts if `count_include_pad` is set."""
    sig = op.signature
    include = bool(sig.get("count_include_pad"))
    windows: list[_Window] = []
    for w in op.windows(sig):
        end = w.before + extents[w.axis]
        low, high = (0, end + w.after) if include else (w.before, end)
        windows.append(_Window(w.axis, w.size, w.stride, w.dilation, low, high))
    return windows


def avg_pool(op: Operator, x: Tensor) -> Tensor:
    """The mean of the elements of each window that count."""
    assert isinstance(op, relay.WindowedPool)
    total = _pool(op, x, te.sum, 0, "pool_sum")
    extents = shape(total)
    windows = _windows(op, shape(x))
    if all(window.always_full(extents[window.axis]) for window in windows):
        return divided(total, prod(window.kernel for window in windows), x.dtype)

    def mean(*i: Expr) -> Expr:
        first, *rest = [window.count(i[window.axis]) for window in windows]
        count = first
        for other in rest:
            count = count * other
        # With ceil_mode a window may lie outside altogether: its mean is 0.
        return te.div(total(*i), te.maximum(count, 1).astype(total.dtype)).astype(x.dtype)

    return compute(extents, mean, label(op))


def _adaptive(op: Operator, x: Tensor, reducer: Callable[..., Expr], tag: str) -> Tensor:
    """Place i of n takes floor(i * extent / n) to ceil((i + 1) * extent / n); windows differ by one element."""
    assert isinstance(op, relay.AdaptivePool)
    axes, sizes, extents = op.image_axes(op.signature), op.sizes(op.signature), shape(x)
    window = [
        max(-(-(i + 1) * extents[axis] // size) - i * extents[axis] // size for i in range(size))
        for axis, size in zip(axes, sizes, strict=True)
    ]
    k = [te.reduce_axis((0, extent), name=f"k{axis}") for axis, extent in enumerate(window)]

    def combined(*i: Expr) -> Expr:
        point = list(i)
        inside: list[Expr] = []
        for axis, size, at in zip(axes, sizes, k, strict=True):
            extent = extents[axis]
            point[axis] = i[axis] * extent // size + at
            if extent % size:
                inside.append(point[axis] < ((i[axis] + 1) * extent + (size - 1)) // size)
        value = x(*point, otherwise=0) if inside else x(*point)
        where = te.all(*inside) if inside else None
        return reducer(value.astype(wide(x.dtype)), axis=k, where=where)

    return compute(shape_of(op.results[0]), combined, label(op), tag=tag)


def adaptive_max_pool(op: Operator, x: Tensor) -> Tensor:
    return rounded(_adaptive(op, x, te.max, "adaptive_pool_max"), x.dtype)


def adaptive_avg_pool(op: Operator, x: Tensor) -> Tensor:
    assert isinstance(op, relay.AdaptivePool)
    axes, sizes, extents = op.image_axes(op.signature), op.sizes(op.signature), shape(x)
    total = _adaptive(op, x, te.sum, "adaptive_pool_sum")

    def mean(*i: Expr) -> Expr:
        count: Expr | int = 1
        for axis, size in zip(axes, sizes, strict=True):
            extent = extents[axis]
            count = (((i[axis] + 1) * extent + (size - 1)) // size - i[axis] * extent // size) * count
        assert isinstance(count, Expr)
        return te.div(total(*i), count.astype(total.dtype)).astype(dtype_of(op))

    return compute(shape(total), mean, label(op))


TABLE = {
    relay.MaxPool1DOp: max_pool,
    relay.MaxPool2DOp: max_pool,
    relay.MaxPool3DOp: max_pool,
    relay.AvgPool1DOp: avg_pool,
    relay.AvgPool2DOp: avg_pool,
    relay.AvgPool3DOp: avg_pool,
    relay.GlobalMaxPool2DOp: global_max_pool,
    relay.GlobalAvgPool2DOp: global_avg_pool,
    relay.AdaptiveMaxPool1DOp: adaptive_max_pool,
    relay.AdaptiveMaxPool2DOp: adaptive_max_pool,
    relay.AdaptiveMaxPool3DOp: adaptive_max_pool,
    relay.AdaptiveAvgPool1DOp: adaptive_avg_pool,
    relay.AdaptiveAvgPool2DOp: adaptive_avg_pool,
    relay.AdaptiveAvgPool3DOp: adaptive_avg_pool,
}
