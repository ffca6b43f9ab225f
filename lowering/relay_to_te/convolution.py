"""Computes of the convolutions.

All of them end in one blocked form, NCHW[x]c data and OIHW[x]i[y]o weights, so that the innermost loop runs over
output channels and one schedule serves them. The plain NCHW operator packs, convolves and unpacks inside its kernel;
`relay-alter-op-layout` moves the packing out of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.relay import nn as relay
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.operator import Operator, Signature, shape_of
from ...passes.relay.blocking import largest_divisor, vector_block
from .body import Body, TeBuilder, Tensor, element, shape
from .elementwise import label
from .nn import product
from .transform import blocked_point

LANES = 16
"""Channels per block where the operator does not say."""


def tile_width(width: int) -> int:
    """How many output pixels of a row one register tile takes: a divisor of `width` if a good one exists."""
    best = largest_divisor(width, 14)
    return best if best >= min(width, 6) else min(-(-width // -(-width // 14)), width)


@dataclass(frozen=True)
class _Window:
    """Kernel extent, stride, dilation and padding in one image direction."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int


def _windows(sig: Signature, kernel: tuple[int, int]) -> tuple[_Window, _Window]:
    top, left, bottom, right = relay.expand_padding(sig, sig.ints("padding"))
    (sh, sw), (dh, dw) = sig.ints("strides"), sig.ints("dilation")
    return _Window(kernel[0], sh, dh, top, bottom), _Window(kernel[1], sw, dw, left, right)


def _padded(builder: TeBuilder, data: Tensor, extents: tuple[int, int], before: tuple[int, int]) -> Tensor:
    """NCHW[x]c data in a buffer of image `extents`, zeros around it; the data itself when nothing is added."""
    n, chunks, height, width, lanes = shape(data)
    if extents == (height, width) and before == (0, 0):
        return data

    def body(b: Body) -> SSAValue:
        i, c, y, x, lane = b.axes
        return b.read(data, [i, c, y - before[0], x - before[1], lane], 0)

    names = ("n", "c", "y", "x", "ci")
    return builder.compute("data_pad", (n, chunks, *extents, lanes), element(data), body, names=names, keep=True)


def blocked_convolution(
    builder: TeBuilder, sig: Signature, name: str, data: Tensor, weight: Tensor, result: tuple[int, ...]
) -> SSAValue:
    """NCHW[x]c data, OIHW[x]i[y]o weight -> NCHW[y]c of shape `result`, whose rows may come out wider than asked.

    The row is widened to whole register tiles; the columns beyond it are never read.
    """
    n, chunks, out_height, out_width, lanes = result
    o_chunks, i_chunks, kh, kw, i_lanes, _ = shape(weight)
    groups = sig.int("groups")
    rows, columns = _windows(sig, (kh, kw))
    tile = tile_width(out_width)
    wide = -(-out_width // tile) * tile
    _, _, height, width, _ = shape(data)
    need = (
        max(height + rows.before, (out_height - 1) * rows.stride + (kh - 1) * rows.dilation + 1),
        max(width + columns.before, (wide - 1) * columns.stride + (kw - 1) * columns.dilation + 1),
    )
    padded = _padded(builder, data, need, (rows.before, columns.before))
    per_group = o_chunks // groups

    def body(b: Body) -> SSAValue:
        i, oc, y, x, lane = b.axes
        ic, dy, dx, il = b.reduce
        chunk = ic if groups == 1 else (oc // per_group) * i_chunks + ic
        point = [
            i,
            chunk,
            y * rows.stride + dy * rows.dilation,
            x * columns.stride + dx * columns.dilation,
            il,
        ]
        return product(b, b.read(padded, point), b.read(weight, [oc, ic, dy, dx, il, lane]))

    return builder.compute(
        name,
        (n, chunks, out_height, wide, lanes),
        element(data),
        body,
        reduce=(i_chunks, kh, kw, i_lanes),
        reducer="sum",
        names=("n", "oc", "y", "x", "ol", "ic", "ky", "kx", "il"),
        tag="conv2d_NCHWc",
    )


def _trimmed(builder: TeBuilder, name: str, wide: SSAValue, result: SSAValue) -> SSAValue:
    """The first columns of a convolution that came out wider than its result."""
    if shape_of(wide) == shape_of(result):
        return wide
    return builder.compute(name, shape_of(result), element(result), lambda b: b.read(wide, b.axes))


def lower_conv2d_nchwc(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    result = op.results[0]
    wide = blocked_convolution(builder, op.signature, label(op), inputs[0], inputs[1], shape_of(result))
    return [_trimmed(builder, label(op), wide, result)]


def _repacked(builder: TeBuilder, name: str, x: Tensor, src: str, dst: str, extents: tuple[int, ...]) -> SSAValue:
    axes: list[AffineExpr] = [AffineExpr.dimension(i) for i in range(len(extents))]
    point = blocked_point(axes, src, dst)
    return builder.compute(name, extents, element(x), lambda b: b.read(x, point), keep=True)


def lower_conv2d(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    sig = op.signature
    data, weight = inputs
    layouts = (sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or sig.str("data_layout"))
    if layouts != ("NCHW", "OIHW", "NCHW"):
        sig.fail("layouts NCHW, OIHW and NCHW", ", ".join(layouts))
    n, channels, height, width = shape(data)
    outputs, depth, kh, kw = shape(weight)
    groups = sig.int("groups")
    result = op.results[0]
    _, _, out_height, out_width = shape_of(result)
    if groups == channels == outputs:
        return [_depthwise_nchw(builder, op, data, weight)]
    ib, ob = vector_block(depth, LANES), vector_block(outputs // groups, LANES)
    packed = _repacked(builder, "data_vec", data, "NCHW", f"NCHW{ib}c", (n, channels // ib, height, width, ib))
    kernel = _repacked(
        builder,
        "kernel_vec",
        weight,
        "OIHW",
        f"OIHW{ib}i{ob}o",
        (outputs // ob, depth // ib, kh, kw, ib, ob),
    )
    blocked = (n, outputs // ob, out_height, out_width, ob)
    wide = blocked_convolution(builder, sig, "conv2d_NCHWc", packed, kernel, blocked)
    extents = shape_of(result)

    def body(b: Body) -> SSAValue:
        i, c, y, x = b.axes
        return b.read(wide, [i, c // ob, y, x, c % ob])

    return [builder.compute(label(op), extents, element(result), body)]


def _depthwise_nchw(builder: TeBuilder, op: Operator, data: Tensor, weight: Tensor) -> SSAValue:
    _, _, kh, kw = shape(weight)
    rows, columns = _windows(op.signature, (kh, kw))

    def body(b: Body) -> SSAValue:
        i, c, y, x = b.axes
        dy, dx = b.reduce
        iy = y * rows.stride + dy * rows.dilation - rows.before
        ix = x * columns.stride + dx * columns.dilation - columns.before
        zero = AffineExpr.constant(0)
        return product(b, b.read(data, [i, c, iy, ix], 0), b.read(weight, [c, zero, dy, dx]))

    result = op.results[0]
    return builder.compute(
        "depthwise_conv2d",
        shape_of(result),
        element(result),
        body,
        reduce=(kh, kw),
        reducer="sum",
        names=("n", "c", "y", "x", "ky", "kx"),
    )


def lower_depthwise_nchwc(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    data, weight = inputs
    sig = op.signature
    result = op.results[0]
    extents = shape_of(result)
    _, _, kh, kw, *_ = shape(weight)
    if [axis.letter for axis in parse_layout(sig.str("kernel_layout"))] != list("OIHWIO"):
        sig.fail("a kernel_layout such as OIHW1i16o", sig.str("kernel_layout"))
    rows, columns = _windows(sig, (kh, kw))
    _, _, height, width, _ = shape(data)
    padded = _padded(
        builder,
        data,
        (rows.before + height + rows.after, columns.before + width + columns.after),
        (rows.before, columns.before),
    )

    def body(b: Body) -> SSAValue:
        i, c, y, x, lane = b.axes
        dy, dx = b.reduce
        iy, ix = y * rows.stride + dy * rows.dilation, x * columns.stride + dx * columns.dilation
        zero = AffineExpr.constant(0)
        return product(b, b.read(padded, [i, c, iy, ix, lane]), b.read(weight, [c, zero, dy, dx, zero, lane]))

    return [
        builder.compute(
            label(op),
            extents,
            element(result),
            body,
            reduce=(kh, kw),
            reducer="sum",
            names=("n", "c", "y", "x", "cl", "ky", "kx"),
            tag="depthwise_conv2d_NCHWc",
        )
    ]


TABLE = {
    relay.Conv2DOp: lower_conv2d,
    relay.ContribConv2DNCHWcOp: lower_conv2d_nchwc,
    relay.ContribDepthwiseConv2DNCHWcOp: lower_depthwise_nchwc,
}
