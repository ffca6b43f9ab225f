"""Computes of the convolutions.

All of them end in one blocked form, NCHW[x]c data and OIHW[x]i[y]o weights, so that the innermost loop runs over
output channels and one schedule serves them. The plain NCHW operator packs, convolves and unpacks inside its kernel;
`relay-alter-op-layout` moves the packing out of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ... import te
from ...dialects.relay import nn as relay
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.operator import Operator, Signature, shape_of
from ...passes.relay.blocking import vector_block
from ...support.machine import CHANNEL_BLOCK
from ...te import Expr, Tensor
from .stages import compute, label, rounded, shape, wide
from .transform import blocked_point


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


def _window_axes(kernel: tuple[int, int]) -> tuple[Expr, Expr]:
    return te.reduce_axis((0, kernel[0]), name="ky"), te.reduce_axis((0, kernel[1]), name="kx")


def _padded(data: Tensor, extents: tuple[int, int], before: tuple[int, int]) -> Tensor:
    """NCHW[x]c data in a buffer of image `extents`, zeros around it; the data itself when nothing is added."""
    batch, chunks, height, width, lanes = shape(data)
    if extents == (height, width) and before == (0, 0):
        return data
    top, left = before
    return te.compute(
        (batch, chunks, *extents, lanes),
        lambda n, c, y, x, ci: data(n, c, y - top, x - left, ci, otherwise=0),
        name="data_pad",
        attrs={"keep": True},
    )


def _blocked_convolution(sig: Signature, name: str, data: Tensor, weight: Tensor, result: tuple[int, ...]) -> Tensor:
    """NCHW[x]c data, OIHW[x]i[y]o weight -> NCHW[y]c of shape `result`."""
    _, chunks, out_height, out_width, _ = result
    o_chunks, i_chunks, kh, kw, i_lanes, _ = shape(weight)
    groups = sig.int("groups")
    rows, columns = _windows(sig, (kh, kw))
    _, _, height, width, _ = shape(data)
    need = (
        max(height + rows.before, (out_height - 1) * rows.stride + (kh - 1) * rows.dilation + 1),
        max(width + columns.before, (out_width - 1) * columns.stride + (kw - 1) * columns.dilation + 1),
    )
    padded = _padded(data, need, (rows.before, columns.before))
    per_group = o_chunks // groups
    number = wide(data.dtype)
    ic, (ky, kx), il = te.reduce_axis((0, i_chunks), "ic"), _window_axes((kh, kw)), te.reduce_axis((0, i_lanes), "il")

    def product(n: Expr, oc: Expr, y: Expr, x: Expr, ol: Expr) -> Expr:
        chunk = ic if groups == 1 else oc // per_group * i_chunks + ic
        iy, ix = y * rows.stride + ky * rows.dilation, x * columns.stride + kx * columns.dilation
        value = padded(n, chunk, iy, ix, il).astype(number) * weight(oc, ic, ky, kx, il, ol).astype(number)
        return te.sum(value, axis=[ic, ky, kx, il])

    return rounded(te.compute(result, product, name=name, tag="conv2d_NCHWc"), data.dtype)


def conv2d_nchwc(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    return _blocked_convolution(op.signature, label(op), data, weight, shape_of(op.results[0]))


def _repacked(x: Tensor, src: str, dst: str, extents: tuple[int, ...], name: str) -> Tensor:
    return compute(extents, lambda *i: x(*blocked_point(i, src, dst)), name, keep=True)


def conv2d(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    sig = op.signature
    layouts = (sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or sig.str("data_layout"))
    if layouts != ("NCHW", "OIHW", "NCHW"):
        sig.fail("layouts NCHW, OIHW and NCHW", ", ".join(layouts))
    batch, channels, height, width = shape(data)
    outputs, depth, kh, kw = shape(weight)
    groups = sig.int("groups")
    if groups == channels == outputs:
        return _depthwise_nchw(op, data, weight)
    extents = shape_of(op.results[0])
    ib, ob = vector_block(depth, CHANNEL_BLOCK), vector_block(outputs // groups, CHANNEL_BLOCK)
    packed = _repacked(data, "NCHW", f"NCHW{ib}c", (batch, channels // ib, height, width, ib), "data_vec")
    blocks = (outputs // ob, depth // ib, kh, kw, ib, ob)
    kernel = _repacked(weight, "OIHW", f"OIHW{ib}i{ob}o", blocks, "kernel_vec")
    blocked = _blocked_convolution(sig, "conv2d_NCHWc", packed, kernel, (batch, outputs // ob, *extents[2:], ob))

    def unpacked(*i: Expr) -> Expr:
        n, c, y, x = i
        return blocked(n, c // ob, y, x, c % ob)

    return compute(extents, unpacked, label(op))


def _depthwise_nchw(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    _, _, kh, kw = shape(weight)
    rows, columns = _windows(op.signature, (kh, kw))
    number = wide(data.dtype)
    ky, kx = _window_axes((kh, kw))

    def product(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        iy = y * rows.stride + ky * rows.dilation - rows.before
        ix = x * columns.stride + kx * columns.dilation - columns.before
        value = data(n, c, iy, ix, otherwise=0).astype(number) * weight(c, 0, ky, kx).astype(number)
        return te.sum(value, axis=[ky, kx])

    total = te.compute(shape_of(op.results[0]), product, name="depthwise_conv2d", tag="depthwise_conv2d_nchw")
    return rounded(total, data.dtype)


def depthwise_conv2d_nchwc(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    sig = op.signature
    _, _, kh, kw, *_ = shape(weight)
    if [axis.letter for axis in parse_layout(sig.str("kernel_layout"))] != list("OIHWIO"):
        sig.fail("a kernel_layout such as OIHW1i16o", sig.str("kernel_layout"))
    rows, columns = _windows(sig, (kh, kw))
    _, _, height, width, _ = shape(data)
    need = (rows.before + height + rows.after, columns.before + width + columns.after)
    padded = _padded(data, need, (rows.before, columns.before))
    number = wide(data.dtype)
    ky, kx = _window_axes((kh, kw))

    def product(n: Expr, c: Expr, y: Expr, x: Expr, cl: Expr) -> Expr:
        iy, ix = y * rows.stride + ky * rows.dilation, x * columns.stride + kx * columns.dilation
        value = padded(n, c, iy, ix, cl).astype(number) * weight(c, 0, ky, kx, 0, cl).astype(number)
        return te.sum(value, axis=[ky, kx])

    total = te.compute(shape_of(op.results[0]), product, name=label(op), tag="depthwise_conv2d_NCHWc")
    return rounded(total, data.dtype)


TABLE = {
    relay.Conv2DOp: conv2d,
    relay.ContribConv2DNCHWcOp: conv2d_nchwc,
    relay.ContribDepthwiseConv2DNCHWcOp: depthwise_conv2d_nchwc,
}
