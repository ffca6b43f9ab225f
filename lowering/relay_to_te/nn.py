"""Computes of dense products, normalisation, softmax and pooling."""

from __future__ import annotations

from math import inf, prod

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects import te
from ...dialects.relay import nn as relay
from ...dialects.relay.operator import Operator, shape_of
from .body import Body, TeBuilder, Tensor, element, shape
from .elementwise import convert, label
from .transform import divided, quotient

ZERO = AffineConstantExpr(0)


def product(b: Body, left: SSAValue, right: SSAValue) -> SSAValue:
    return b.apply(arith.MuliOp, left, right) if te.is_integer(left.type) else b.apply_fast(arith.MulfOp, left, right)


def lower_dense(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    """`dense` with its weight as (n, k), and `dense_pack` with panels of (n / block, k, block)."""
    data, weight = inputs
    result = op.results[0]
    packed = isinstance(op, relay.ContribDensePackOp)
    block = shape(weight)[2] if packed else 1
    name = "dense_pack" if packed else "dense"

    def body(b: Body) -> SSAValue:
        (m, n), (k,) = b.axes, b.reduce
        place = [n // block, k, n % block] if packed else [n, k]
        return product(b, b.read(data, [m, k]), b.read(weight, place))

    return [
        builder.compute(
            name,
            shape_of(result),
            element(result),
            body,
            reduce=[shape(data)[1]],
            reducer="sum",
            names=("m", "n", "k"),
            tag=name,
        )
    ]


def lower_batch_matmul(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    x, y = inputs
    result = op.results[0]
    flip_x, flip_y = op.signature.get("transpose_a"), op.signature.get("transpose_b")
    depth = shape(x)[1 if flip_x else 2]

    def body(b: Body) -> SSAValue:
        (i, m, n), (k,) = b.axes, b.reduce
        bx, by = (ZERO if shape(t)[0] == 1 else i for t in (x, y))
        left = b.read(x, [bx, k, m] if flip_x else [bx, m, k])
        return product(b, left, b.read(y, [by, n, k] if flip_y else [by, k, n]))

    return [
        builder.compute(
            "batch_matmul",
            shape_of(result),
            element(result),
            body,
            reduce=[depth],
            reducer="sum",
            names=("b", "m", "n", "k"),
            tag="dense",
        )
    ]


def lower_softmax(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    (x,) = inputs
    result = op.results[0]
    extents, kind = shape_of(result), element(result)
    axis = op.signature.int("axis") % len(extents)
    rest = [extent for i, extent in enumerate(extents) if i != axis]

    def outer(axes: list[AffineExpr]) -> list[AffineExpr]:
        return [expr for i, expr in enumerate(axes) if i != axis]

    def along(axes: list[AffineExpr], k: AffineExpr) -> list[AffineExpr]:
        return [*axes[:axis], k, *axes[axis:]]

    def reduced(name: str, source: Tensor, reducer: str) -> SSAValue:
        def body(b: Body) -> SSAValue:
            return b.read(source, along(b.axes, b.reduce[0]))

        return builder.compute(name, rest, kind, body, reduce=[extents[axis]], reducer=reducer)

    def shifted(b: Body) -> SSAValue:
        return b.add(arith.SubfOp(b.read(x, b.axes), b.read(largest, outer(b.axes)))).result

    largest = reduced("softmax_maxelem", x, "max")
    exp = builder.compute("softmax_exp", extents, kind, lambda b: b.apply_fast(math.ExpOp, shifted(b)), keep=True)
    total = reduced("softmax_expsum", exp, "sum")

    def norm(b: Body) -> SSAValue:
        return b.add(arith.DivfOp(b.read(exp, b.axes), b.read(total, outer(b.axes)))).result

    def log_norm(b: Body) -> SSAValue:
        return b.add(arith.SubfOp(shifted(b), b.apply_fast(math.LogOp, b.read(total, outer(b.axes))))).result

    body = log_norm if isinstance(op, relay.LogSoftmaxOp) else norm
    return [builder.compute("softmax_norm", extents, kind, body)]


def lower_lrn(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    (x,) = inputs
    sig = op.signature
    result = op.results[0]
    extents, kind = shape_of(result), element(result)
    axis, size = sig.int("axis") % len(extents), sig.int("size")

    def squares(b: Body) -> SSAValue:
        point = list(b.axes)
        point[axis] = point[axis] + b.reduce[0] - (size - 1) // 2
        value = b.read(x, point, 0)
        return b.apply_fast(arith.MulfOp, value, value)

    total = builder.compute("sqr_sum", extents, kind, squares, reduce=[size], reducer="sum", narrow=False)
    wide = element(total)

    def body(b: Body) -> SSAValue:
        square_sum = b.read(total, b.axes)
        scale = b.constant(sig.get("alpha") / size, square_sum.type)
        bias = b.constant(sig.get("bias"), square_sum.type)
        base = b.add(arith.AddfOp(bias, b.add(arith.MulfOp(scale, square_sum)).result)).result
        if sig.get("beta") == 0.75:
            # base ** 0.75 without a call of pow, the exponent that all networks use.
            root = b.apply_fast(math.SqrtOp, base)
            power = b.add(arith.MulfOp(root, b.apply_fast(math.SqrtOp, root))).result
        else:
            power = b.apply_fast(math.PowFOp, base, b.constant(sig.get("beta"), base.type))
        value = convert(b, b.read(x, b.axes), kind, wide)
        return convert(b, b.add(arith.DivfOp(value, power)).result, wide, kind)

    return [builder.compute("lrn", extents, kind, body)]


def least(element: Attribute) -> float | int:
    """The number below all others of an element type."""
    if not te.is_integer(element):
        return -inf
    return 0 if te.is_unsigned(element) else -(1 << (te.bit_width(element) - 1))


def _image(sig_op: Operator, axes: list[AffineExpr], y: AffineExpr, x: AffineExpr) -> list[AffineExpr]:
    """The point of a pooling's input at image position (y, x)."""
    assert isinstance(sig_op, relay.Pool2D)
    height, width = relay.Pool2D.image_axes(sig_op.signature)
    point = list(axes)
    point[height], point[width] = y, x
    return point


def lower_global_pool(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    (x,) = inputs
    result = op.results[0]
    height, width = (shape(x)[axis] for axis in relay.Pool2D.image_axes(op.signature))
    average = isinstance(op, relay.GlobalAvgPool2DOp)
    pooled = builder.compute(
        label(op),
        shape_of(result),
        element(result),
        lambda b: b.read(x, _image(op, b.axes, b.reduce[0], b.reduce[1])),
        reduce=[height, width],
        reducer="sum" if average else "max",
        narrow=not average,
    )
    return [divided(builder, label(op), pooled, height * width, element(result)) if average else pooled]


def lower_pool(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    (x,) = inputs
    sig = op.signature
    result = op.results[0]
    h_axis, w_axis = relay.Pool2D.image_axes(sig)
    (kh, kw), (sh, sw), (dh, dw) = sig.ints("pool_size"), sig.ints("strides"), sig.ints("dilation")
    top, left, bottom, right = relay.expand_padding(sig, sig.ints("padding"))
    average = isinstance(op, relay.AvgPool2DOp)
    outside = 0 if average else least(element(x))

    def body(b: Body) -> SSAValue:
        y = b.axes[h_axis] * sh + b.reduce[0] * dh - top
        column = b.axes[w_axis] * sw + b.reduce[1] * dw - left
        return b.read(x, _image(op, b.axes, y, column), outside)

    name = label(op)
    extents = shape_of(result)
    pooled = builder.compute(
        name,
        extents,
        element(result),
        body,
        reduce=[kh, kw],
        reducer="sum" if average else "max",
        narrow=not average,
    )
    if not average:
        return [pooled]
    height, width = shape(x)[h_axis], shape(x)[w_axis]
    include = bool(sig.get("count_include_pad"))
    spans = [
        (extents[h_axis], kh, sh, dh, top, height, bottom),
        (extents[w_axis], kw, sw, dw, left, width, right),
    ]
    limits = [(0, before + size + after) if include else (before, before + size) for *_, before, size, after in spans]
    if all(
        low == 0 and (out - 1) * stride + (kernel - 1) * dilation < high
        for (out, kernel, stride, dilation, *_), (low, high) in zip(spans, limits, strict=True)
    ):
        return [divided(builder, name, pooled, prod((kh, kw)), element(result))]

    def inside(b: Body, axis: int, kernel: int, stride: int, dilation: int, low: int, high: int) -> SSAValue:
        """How many of a window's elements count: positions start + i * dilation in [low, high)."""
        start = b.axes[axis] * stride
        # First counted i: ceil((low - start) / dilation); one past the last: ceil((high - start) / dilation).
        first = b.index((start * -1 + low + dilation - 1) // dilation)
        past = b.index((start * -1 + high + dilation - 1) // dilation)
        first = b.add(arith.MaxSIOp(first, b.constant(0, te.INDEX))).result
        past = b.add(arith.MinSIOp(past, b.constant(kernel, te.INDEX))).result
        return b.add(arith.SubiOp(past, first)).result

    def mean(b: Body) -> SSAValue:
        counts = [
            inside(b, axis, kernel, stride, dilation, *limit)
            for axis, (_, kernel, stride, dilation, *_), limit in zip((h_axis, w_axis), spans, limits, strict=True)
        ]
        # With ceil_mode a window may lie outside altogether: its mean is 0.
        count = b.add(arith.MaxSIOp(b.add(arith.MuliOp(counts[0], counts[1])).result, b.constant(1, te.INDEX))).result
        total = b.read(pooled, b.axes)
        divisor = convert(b, b.add(arith.IndexCastOp(count, te.I32)).result, te.I32, element(pooled))
        return convert(b, quotient(b, total, divisor, element(result)), element(pooled), element(result))

    return [builder.compute(name, extents, element(result), mean)]


TABLE = {
    relay.DenseOp: lower_dense,
    relay.ContribDensePackOp: lower_dense,
    relay.BatchMatmulOp: lower_batch_matmul,
    relay.SoftmaxOp: lower_softmax,
    relay.LogSoftmaxOp: lower_softmax,
    relay.LRNOp: lower_lrn,
    relay.MaxPool2DOp: lower_pool,
    relay.AvgPool2DOp: lower_pool,
    relay.GlobalMaxPool2DOp: lower_global_pool,
    relay.GlobalAvgPool2DOp: lower_global_pool,
}
