"""Computes of the convolutions, of one to three spatial axes.

All of them end in one blocked form, NCHW[x]c data and OIHW[x]i[y]o weights, so that the innermost loop runs over
output channels and one schedule serves them. The plain NCHW operator packs, convolves and unpacks inside its kernel;
`relay-alter-op-layout` moves the packing out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ... import te
from ...dialects.relay import nn as relay
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.operator import Operator, shape_of
from ...passes.relay.blocking import vector_block
from ...support.machine import CHANNEL_BLOCK
from ...te import Expr, Tensor
from .stages import compute, label, rounded, shape, wide
from .transform import blocked_point


@dataclass(frozen=True)
class _Window:
    """Kernel extent, stride, dilation and padding along one spatial axis."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int


def _windows(op: Operator, kernel: Sequence[int]) -> list[_Window]:
    assert isinstance(op, relay.Conv)
    sig, rank = op.signature, len(op.SPATIAL)
    pads = relay.expand_padding(sig, sig.ints("padding"), rank)
    columns = kernel, sig.ints("strides"), sig.ints("dilation"), pads[:rank], pads[rank:]
    return [_Window(*row) for row in zip(*columns, strict=True)]


def _window_axes(kernel: Sequence[int]) -> list[Expr]:
    names = ("kz", "ky", "kx")[-len(kernel) :]
    return [te.reduce_axis((0, extent), name=name) for extent, name in zip(kernel, names, strict=True)]


def _taken(windows: Sequence[_Window], place: Sequence[Expr], k: Sequence[Expr]) -> list[Expr]:
    """Where in the padded image the elements of the windows at `place` are."""
    return [at * w.stride + tap * w.dilation for w, at, tap in zip(windows, place, k, strict=True)]


def _padded(data: Tensor, extents: Sequence[int], before: Sequence[int]) -> Tensor:
    """NC..[x]c data in a buffer of image `extents`, zeros around it; the data itself when nothing is added."""
    batch, chunks, *image, lanes = shape(data)
    if list(extents) == image and not any(before):
        return data

    def element(n: Expr, c: Expr, *rest: Expr) -> Expr:
        *place, lane = rest
        return data(n, c, *(at - width for at, width in zip(place, before, strict=True)), lane, otherwise=0)

    names = (*("z", "y", "x")[-len(image) :], "ci")
    return te.compute((batch, chunks, *extents, lanes), element, "data_pad", "", {"keep": True}, names)


def _blocked_convolution(op: Operator, name: str, data: Tensor, weight: Tensor, result: tuple[int, ...]) -> Tensor:
    """NC..[x]c data, OI..[x]i[y]o weight -> NC..[y]c of shape `result`."""
    places = result[2:-1]
    o_chunks, i_chunks, *kernel, i_lanes, _ = shape(weight)
    groups = op.signature.int("groups")
    windows = _windows(op, kernel)
    need = [
        max(extent + w.before, (out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1)
        for extent, out, w in zip(shape(data)[2:-1], places, windows, strict=True)
    ]
    padded = _padded(data, need, [w.before for w in windows])
    per_group = o_chunks // groups
    number = wide(data.dtype)
    ic, k, il = te.reduce_axis((0, i_chunks), "ic"), _window_axes(kernel), te.reduce_axis((0, i_lanes), "il")

    def product(n: Expr, oc: Expr, *rest: Expr) -> Expr:
        *place, ol = rest
        chunk = ic if groups == 1 else oc // per_group * i_chunks + ic
        value = padded(n, chunk, *_taken(windows, place, k), il).astype(number) * weight(oc, ic, *k, il, ol).astype(
            number
        )
        return te.sum(value, axis=[ic, *k, il])

    names = (*("z", "y", "x")[-len(k) :], "ol")
    return rounded(te.compute(result, product, name, "conv2d_NCHWc", None, names), data.dtype)


def conv_blocked(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    return _blocked_convolution(op, label(op), data, weight, shape_of(op.results[0]))


def _repacked(x: Tensor, src: str, dst: str, extents: tuple[int, ...], name: str) -> Tensor:
    return compute(extents, lambda *i: x(*blocked_point(i, src, dst)), name, keep=True)


def conv(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    """Any layouts that `_blocked_convolution` takes, or the plain ones, of which blocks are made here."""
    assert isinstance(op, relay.Conv)
    sig, plain, kernel_plain = op.signature, "NC" + op.SPATIAL, "OI" + op.SPATIAL
    layouts = (sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or sig.str("data_layout"))
    if [axis.letter for axis in parse_layout(layouts[1])] == [*kernel_plain, "I", "O"]:
        channels, outputs = (shape(tensor)[1 - axis] * shape(tensor)[-1] for axis, tensor in enumerate((data, weight)))
        depthwise = sig.int("groups") == channels == outputs
        return depthwise_blocked(op, data, weight) if depthwise else conv_blocked(op, data, weight)
    if layouts != (plain, kernel_plain, plain):
        sig.fail(f"layouts {plain}, {kernel_plain} and {plain}", ", ".join(layouts))
    batch, channels, *image = shape(data)
    outputs, depth, *kernel_extents = shape(weight)
    groups = sig.int("groups")
    if groups == channels == outputs:
        return _depthwise_plain(op, data, weight)
    extents = shape_of(op.results[0])
    ib, ob = vector_block(depth, CHANNEL_BLOCK), vector_block(outputs // groups, CHANNEL_BLOCK)
    packed = _repacked(data, plain, f"{plain}{ib}c", (batch, channels // ib, *image, ib), "data_vec")
    blocks = (outputs // ob, depth // ib, *kernel_extents, ib, ob)
    kernel = _repacked(weight, kernel_plain, f"{kernel_plain}{ib}i{ob}o", blocks, "kernel_vec")
    blocked = _blocked_convolution(op, f"{label(op)}_NCHWc", packed, kernel, (batch, outputs // ob, *extents[2:], ob))

    def unpacked(*i: Expr) -> Expr:
        n, c, *place = i
        return blocked(n, c // ob, *place, c % ob)

    return compute(extents, unpacked, label(op))


def _depthwise_plain(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    _, _, *kernel = shape(weight)
    windows, k = _windows(op, kernel), _window_axes(kernel)
    number = wide(data.dtype)

    def product(n: Expr, c: Expr, *place: Expr) -> Expr:
        point = [at - w.before for at, w in zip(_taken(windows, place, k), windows, strict=True)]
        value = data(n, c, *point, otherwise=0).astype(number) * weight(c, 0, *k).astype(number)
        return te.sum(value, axis=k)

    names = ("z", "y", "x")[-len(k) :]
    name = f"depthwise_{label(op)}"
    total = te.compute(shape_of(op.results[0]), product, name, "depthwise_conv2d_nchw", None, names)
    return rounded(total, data.dtype)


def depthwise_blocked(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    assert isinstance(op, relay.Conv)
    sig = op.signature
    if [axis.letter for axis in parse_layout(sig.str("kernel_layout"))] != [*"OI", *op.SPATIAL, *"IO"]:
        sig.fail(f"a kernel_layout such as OI{op.SPATIAL}1i16o", sig.str("kernel_layout"))
    _, _, *kernel, _, _ = shape(weight)
    windows, k = _windows(op, kernel), _window_axes(kernel)
    need = [w.before + extent + w.after for w, extent in zip(windows, shape(data)[2:-1], strict=True)]
    padded = _padded(data, need, [w.before for w in windows])
    number = wide(data.dtype)

    def product(n: Expr, c: Expr, *rest: Expr) -> Expr:
        *place, cl = rest
        value = padded(n, c, *_taken(windows, place, k), cl).astype(number) * weight(c, 0, *k, 0, cl).astype(number)
        return te.sum(value, axis=k)

    names = (*("z", "y", "x")[-len(k) :], "cl")
    total = te.compute(shape_of(op.results[0]), product, label(op), "depthwise_conv2d_NCHWc", None, names)
    return rounded(total, data.dtype)


TABLE = {
    relay.Conv1DOp: conv,
    relay.Conv2DOp: conv,
    relay.Conv3DOp: conv,
    relay.ContribConv2DNCHWcOp: conv_blocked,
    relay.ContribDepthwiseConv2DNCHWcOp: depthwise_blocked,
}
