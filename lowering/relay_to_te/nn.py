"""Computes of dense products, normalisation and softmax."""

from __future__ import annotations

from collections.abc import Callable

from ... import te
from ...dialects.relay import nn as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes.kernel import may_be_one
from ...te import Expr, Tensor
from .pairs import in_words, products, words_of_rows
from .stages import (
    PARTS,
    TURNED,
    broadcast,
    broadcast_point,
    compute,
    dtype_of,
    label,
    of_row,
    reduced_rows,
    rounded,
    shape,
    wide,
)


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
    """`dense` with its weight in panels of (n / block, k, block), of which the last may have columns too many."""
    _, depth, block = shape(weight)
    if steps := op.signature.int("partial"):
        return _dense_of_parts(op, data, weight, steps)
    k = te.reduce_axis((0, depth), name="k")
    dtype = dtype_of(op)
    product = products(data, weight, wide(dtype))
    total = te.compute(
        shape_of(op.results[0]),
        lambda m, n: te.sum(product((m, k), (n // block, k, n % block)), axis=k),
        name="dense_pack",
        tag="dense_pack",
    )
    return rounded(total, dtype)


def _dense_of_parts(op: Operator, data: Tensor, weight: Tensor, steps: int) -> Tensor:
    """`dense_pack` whose sums of `steps` products are made in the dtype of the operands."""
    _, depth, block = shape(weight)
    ko, ki = te.reduce_axis((0, depth // steps), name="ko"), te.reduce_axis((0, steps), name="ki")
    rows, columns = shape_of(op.results[0])

    def product(m: Expr, n: Expr, part: Expr) -> Expr:
        k = part * steps + ki
        return te.sum(data(m, k) * weight(n // block, k, n % block), axis=ki)

    names = ("m", "n", "part")
    parts = te.compute((rows, columns, depth // steps), product, "parts", PARTS, None, names)
    dtype = dtype_of(op)
    number = wide(dtype)
    total = te.compute(
        (rows, columns),
        lambda m, n: te.sum(parts(m, n, ko).astype(number), axis=ko),
        name="dense_pack",
        tag="dense_pack",
    )
    return rounded(total, dtype)


def matmul(op: Operator, x: Tensor, y: Tensor) -> Tensor:
    """(.., m, k) times (k, n), or (.., m, k) times (.., k, n) whose batches broadcast; each transposed or not."""
    flip_x, flip_y = op.signature.get("transpose_a"), op.signature.get("transpose_b")
    dtype = dtype_of(op)
    number = wide(dtype)
    if (x.dtype, y.dtype) == ("bfloat16", "bfloat16") and in_words(y, flip_x, flip_y):
        words = words_of_rows(y)
        multiplied, depth = products(x, words, number), shape(words)[-2]
    else:
        words, multiplied, depth = y, None, shape(x)[-2 if flip_x else -1]
    k = te.reduce_axis((0, depth), name="k")
    extents = shape_of(op.results[0])
    if flip_y and multiplied is None and may_be_one(extents[-2]):
        turned = (*shape(y)[:-2], depth, shape(y)[-2])
        y, flip_y = compute(turned, lambda *i: words(*i[:-2], i[-1], i[-2]), "turned", tag=TURNED, keep=True), False

    def product(*i: Expr) -> Expr:
        *b, m, n = i
        if multiplied is not None:
            return te.sum(multiplied(broadcast_point(x, [*b, m, k]), broadcast_point(words, [*b, k, n])), axis=k)
        left = broadcast(x, [*b, k, m] if flip_x else [*b, m, k])
        right = broadcast(y, [*b, n, k] if flip_y else [*b, k, n])
        return te.sum(left.astype(number) * right.astype(number), axis=k)

    batch = tuple(f"b{axis}" for axis in range(len(extents) - 2)) if len(extents) > 3 else ("b",) * (len(extents) - 2)
    return rounded(te.compute(extents, product, label(op), "dense", None, (*batch, "m", "n")), dtype)


def _exponentials(op: Operator, x: Tensor, *, keep: bool) -> tuple[Callable[..., Expr], Tensor, Callable[..., Expr]]:
    """`x` less the largest of its row, e to that, and the row's sum of those.

    keep: the exponentials are read again, so a row of them is kept.
    """
    extents, number = shape(x), wide(x.dtype)
    axis = op.signature.int("axis") % len(extents)

    def shifted(*i: Expr) -> Expr:
        return x(*i) - of_row(largest, axis, i)

    def reduced(source: Tensor, reducer: Callable[..., Expr], name: str) -> Tensor:
        return rounded(reduced_rows(lambda *i: source(*i).astype(number), extents, axis, reducer, name), x.dtype)

    largest = reduced(x, te.max, "softmax_maxelem")
    exp = compute(extents, lambda *i: te.exp(shifted(*i)), "softmax_exp", keep=keep)
    total = reduced(exp, te.sum, "softmax_expsum")
    return shifted, exp, lambda *i: of_row(total, axis, i)


def softmax(op: Operator, x: Tensor) -> Tensor:
    _, exp, total = _exponentials(op, x, keep=True)

    def element(*i: Expr) -> Expr:
        # A row is divided once: as many divisions as elements would take as long as the rest.
        return exp(*i) * (1.0 / total(*i))

    return compute(shape(x), element, "softmax_norm", tag="softmax_output", keep=True)


def log_softmax(op: Operator, x: Tensor) -> Tensor:
    shifted, _, total = _exponentials(op, x, keep=False)

    def element(*i: Expr) -> Expr:
        return shifted(*i) - te.log(total(*i))

    return compute(shape(x), element, "softmax_norm", tag="log_softmax_output", keep=True)


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


TABLE = {
    relay.DenseOp: dense,
    relay.ContribDensePackOp: dense_pack,
    relay.BatchMatmulOp: matmul,
    relay.MatmulOp: matmul,
    relay.SoftmaxOp: softmax,
    relay.LogSoftmaxOp: log_softmax,
    relay.LRNOp: lrn,
}
