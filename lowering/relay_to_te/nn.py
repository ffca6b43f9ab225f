"""Computes of dense products, normalisation, softmax and pooling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from ... import te
from ...dialects.relay import nn as relay
from ...dialects.relay.operator import Operator, shape_of
from ...support.dtypes import limits
from ...te import Expr, Tensor
from .stages import compute, divided, dtype_of, label, of_row, reduced_rows, rounded, shape, wide


def dense(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    """`data` (m, k) times the rows of `weight` (n, k)."""
    (rows, depth), (columns, _) = shape(data), shape(weight)
    k = te.reduce_axis((0, depth), name="k")
    dtype = dtype_of(op)
    number = wide(dtype)
    total = te.compute(
        (rows, columns),
        lambda m, n: te.sum(data(m, k).astype(number) * weight(n, k).astype(number), axis=k),
        name="dense",
        tag="dense",
    )
    return rounded(total, dtype)


def dense_pack(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    """`dense` with its weight in panels of (n / block, k, block)."""
    (rows, depth), (panels, _, block) = shape(data), shape(weight)
    k = te.reduce_axis((0, depth), name="k")
    dtype = dtype_of(op)
    number = wide(dtype)
    total = te.compute(
        (rows, panels * block),
        lambda m, n: te.sum(data(m, k).astype(number) * weight(n // block, k, n % block).astype(number), axis=k),
        name="dense_pack",
        tag="dense_pack",
    )
    return rounded(total, dtype)


def batch_matmul(op: Operator, x: Tensor, y: Tensor) -> Tensor:
    """(b, m, k) times (b, n, k), each transposed or not; a batch of 1 serves all of the other."""
    flip_x, flip_y = op.signature.get("transpose_a"), op.signature.get("transpose_b")
    k = te.reduce_axis((0, shape(x)[1 if flip_x else 2]), name="k")
    dtype = dtype_of(op)
    number = wide(dtype)

    def product(b: Expr, m: Expr, n: Expr) -> Expr:
        bx, by = (0 if shape(tensor)[0] == 1 else b for tensor in (x, y))
        left = x(bx, k, m) if flip_x else x(bx, m, k)
        right = y(by, n, k) if flip_y else y(by, k, n)
        return te.sum(left.astype(number) * right.astype(number), axis=k)

    return rounded(te.compute(shape_of(op.results[0]), product, name="batch_matmul", tag="dense"), dtype)


def _softmax(op: Operator, x: Tensor, element: Callable[[Expr, Expr, Expr], Expr], tag: str) -> Tensor:
    """`element(shifted, exp, sum)` of: x less the largest of its row, e to that, and the row's sum of those."""
    extents, number = shape(x), wide(x.dtype)
    axis = op.signature.int("axis") % len(extents)

    def shifted(*i: Expr) -> Expr:
        return x(*i) - of_row(largest, axis, i)

    def reduced(source: Tensor, reducer: Callable[..., Expr], name: str) -> Tensor:
        return rounded(reduced_rows(lambda *i: source(*i).astype(number), extents, axis, reducer, name), x.dtype)

    largest = reduced(x, te.max, "softmax_maxelem")
    exp = compute(extents, lambda *i: te.exp(shifted(*i)), "softmax_exp", keep=True)
    total = reduced(exp, te.sum, "softmax_expsum")
    return compute(extents, lambda *i: element(shifted(*i), exp(*i), of_row(total, axis, i)), "softmax_norm", tag=tag)


def softmax(op: Operator, x: Tensor) -> Tensor:
    # A row is divided once: as many divisions as elements would take as long as the rest.
    return _softmax(op, x, lambda shifted, exp, total: exp * (1.0 / total), "softmax_output")


def log_softmax(op: Operator, x: Tensor) -> Tensor:
    return _softmax(op, x, lambda shifted, exp, total: shifted - te.log(total), "log_softmax_output")


def lrn(op: Operator, x: Tensor) -> Tensor:
    sig = op.signature
    extents, number = shape(x), wide(x.dtype)
    axis, size = sig.int("axis") % len(extents), sig.int("size")
    alpha, beta, bias = (sig.get(name) for name in ("alpha", "beta", "bias"))
    k = te.reduce_axis((0, size), name="k0")

    def square(*i: Expr) -> Expr:
        value = x(*i[:axis], i[axis] + k - (size - 1) // 2, *i[axis + 1 :], otherwise=0).astype(number)
        return te.sum(value * value, axis=k)

    total = compute(extents, square, "sqr_sum", tag="sqr_sum")

    def norm(*i: Expr) -> Expr:
        base = bias + alpha / size * total(*i)
        if beta == 0.75:
            # base ** 0.75 without a call of pow, the exponent that all networks use.
            root = te.sqrt(base)
            power = root * te.sqrt(root)
        else:
            power = te.power(base, beta)
        return (x(*i).astype(number) / power).astype(x.dtype)

    return compute(extents, norm, "lrn")


def _reduced_image(
    op: Operator, x: Tensor, window: tuple[int, int], read: Callable[..., Expr], reducer: Callable[..., Expr], tag: str
) -> Tensor:
    """The reduction of `read(point, k0, k1)` over a window, in wide numbers."""
    number = wide(x.dtype)
    k = [te.reduce_axis((0, extent), name=f"k{axis}") for axis, extent in enumerate(window)]

    def combined(*i: Expr) -> Expr:
        return reducer(read(list(i), *k).astype(number), axis=k)

    return compute(shape_of(op.results[0]), combined, label(op), tag=tag)


def _global_pool(op: Operator, x: Tensor, reducer: Callable[..., Expr], tag: str) -> Tensor:
    height, width = relay.Pool2D.image_axes(op.signature)

    def element(point: list[Expr], y: Expr, column: Expr) -> Expr:
        point[height], point[width] = y, column
        return x(*point)

    return _reduced_image(op, x, (shape(x)[height], shape(x)[width]), element, reducer, tag)


def global_max_pool(op: Operator, x: Tensor) -> Tensor:
    return rounded(_global_pool(op, x, te.max, "adaptive_pool_max"), x.dtype)


def global_avg_pool(op: Operator, x: Tensor) -> Tensor:
    count = prod(shape(x)[axis] for axis in relay.Pool2D.image_axes(op.signature))
    return divided(_global_pool(op, x, te.sum, "adaptive_pool_sum"), count, x.dtype)


def _pool(op: Operator, x: Tensor, reducer: Callable[..., Expr], outside: float, tag: str) -> Tensor:
    sig = op.signature
    height, width = relay.Pool2D.image_axes(sig)
    (sh, sw), (dh, dw) = sig.ints("strides"), sig.ints("dilation")
    top, left, _, _ = relay.expand_padding(sig, sig.ints("padding"))

    def element(point: list[Expr], y: Expr, column: Expr) -> Expr:
        point[height] = point[height] * sh + y * dh - top
        point[width] = point[width] * sw + column * dw - left
        return x(*point, otherwise=outside)

    return _reduced_image(op, x, sig.pair("pool_size"), element, reducer, tag)


def max_pool(op: Operator, x: Tensor) -> Tensor:
    return rounded(_pool(op, x, te.max, limits(x.dtype)[0], "pool_max"), x.dtype)


@dataclass(frozen=True)
class _Window:
    """What a pooling takes along an image axis: of its elements, those at positions in [low, high) count."""

    axis: int
    kernel: int
    stride: int
    dilation: int
    low: int
    high: int

    def always_full(self, extent: int) -> bool:
        """Whether all elements count, wherever among `extent` positions the window lies."""
        return self.low == 0 and (extent - 1) * self.stride + (self.kernel - 1) * self.dilation < self.high

    def count(self, position: Expr) -> Expr:
        """How many elements of the window at a position count."""
        start = position * self.stride
        first = (start * -1 + (self.low + self.dilation - 1)) // self.dilation
        past = (start * -1 + (self.high + self.dilation - 1)) // self.dilation
        return te.minimum(past, self.kernel) - te.maximum(first, 0)


def _windows(op: Operator, extents: tuple[int, ...]) -> list[_Window]:
    """In coordinates that begin with the padding, which counts if `count_include_pad` is set."""
    sig = op.signature
    top, left, bottom, right = relay.expand_padding(sig, sig.ints("padding"))
    include = bool(sig.get("count_include_pad"))
    sizes = zip(*map(sig.pair, ("pool_size", "strides", "dilation")), (top, left), (bottom, right), strict=True)
    windows: list[_Window] = []
    for axis, (kernel, stride, dilation, before, after) in zip(relay.Pool2D.image_axes(sig), sizes, strict=True):
        end = before + extents[axis]
        low, high = (0, end + after) if include else (before, end)
        windows.append(_Window(axis, kernel, stride, dilation, low, high))
    return windows


def avg_pool(op: Operator, x: Tensor) -> Tensor:
    """The mean of the elements of each window that count."""
    total = _pool(op, x, te.sum, 0, "pool_sum")
    extents = shape(total)
    rows, columns = _windows(op, shape(x))
    if all(window.always_full(extents[window.axis]) for window in (rows, columns)):
        return divided(total, rows.kernel * columns.kernel, x.dtype)

    def mean(*i: Expr) -> Expr:
        # With ceil_mode a window may lie outside altogether: its mean is 0.
        count = te.maximum(rows.count(i[rows.axis]) * columns.count(i[columns.axis]), 1)
        return te.div(total(*i), count.astype(total.dtype)).astype(x.dtype)

    return compute(extents, mean, label(op))


TABLE = {
    relay.DenseOp: dense,
    relay.ContribDensePackOp: dense_pack,
    relay.BatchMatmulOp: batch_matmul,
    relay.SoftmaxOp: softmax,
    relay.LogSoftmaxOp: log_softmax,
    relay.LRNOp: lrn,
    relay.MaxPool2DOp: max_pool,
    relay.AvgPool2DOp: avg_pool,
    relay.GlobalMaxPool2DOp: global_max_pool,
    relay.GlobalAvgPool2DOp: global_avg_pool,
}
