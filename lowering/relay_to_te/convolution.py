"""Computes of the convolutions, of one to three spatial axes.

All of them end in one blocked form, NCHW[x]c data and OIHW[x]i[y]o weights, so that the innermost loop runs over
output channels and one schedule serves them. The plain NCHW operator packs, convolves and unpacks inside its kernel;
`relay-alter-op-layout` moves the packing out of it. Of single pixels to few channels it packs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ... import te
from ...dialects.relay import nn as relay
from ...dialects.relay.layout import logical_shape, parse_layout
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import Size, SizeExpr, same_shape
from ...passes.relay.blocking import SMALLEST_BLOCK, lanes_are_pixels, vector_block
from ...support.machine import CHANNEL_BLOCK
from ...te import Expr, Tensor
from .pairs import products
from .stages import MUCH_PADDING, PARTS, compute, dtype_of, label, rounded, shape, wide
from .transform import blocked_point, flat_index, unflatten

_EVEN = 4
"""Pixels that tiles of equal size can be made of."""
_MUCH = 1 / 8
"""The share of products with padding from which on it pays to ask for each tap of a window if it is there."""
_SHARES = 16
"""Parts of the work that are enough for threads."""


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


def _taken(windows: Sequence[_Window], point: Sequence[Expr], k: Sequence[Expr]) -> list[Expr]:
    """Return the indices in the padded image of the windows' elements at `point`."""
    return [at * w.stride + tap * w.dilation for w, at, tap in zip(windows, point, k, strict=True)]


def zeros_around(data: Tensor, extents: Sequence[Size], before: Sequence[int]) -> Tensor:
    """NC..[x]c data in a buffer of image `extents`, zeros around it; the data itself when nothing is added."""
    batch, chunks, *image, lanes = shape(data)
    if same_shape(extents, image) and not any(before):
        return data

    def element(n: Expr, c: Expr, *rest: Expr) -> Expr:
        *position, lane = rest
        return data(n, c, *(at - width for at, width in zip(position, before, strict=True)), lane, otherwise=0)

    names = (*("z", "y", "x")[-len(image) :], "ci")
    return te.compute((batch, chunks, *extents, lanes), element, "data_pad", "", {"keep": True}, names)


def _needed(extent: Size, out: Size, w: _Window) -> Size:
    """Return the length of a padded image for `out` windows along an axis."""
    if isinstance(extent, SizeExpr) or isinstance(out, SizeExpr):
        return extent + w.before + w.after
    return max(extent + w.before, (out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1)


def _blocked_convolution(op: Operator, name: str, data: Tensor, weight: Tensor, result: tuple[int, ...]) -> Tensor:
    """NC..[x]c data, OI..[x]i[y]o weight -> NC..[y]c of shape `result`."""
    places = result[2:-1]
    o_chunks, i_chunks, *kernel, i_lanes, _ = shape(weight)
    groups = op.signature.int("groups")
    windows = _windows(op, kernel)
    need = [_needed(extent, out, w) for extent, out, w in zip(shape(data)[2:-1], places, windows, strict=True)]
    padded = zeros_around(data, need, [w.before for w in windows])
    per_group = o_chunks // groups
    number = wide(dtype_of(op))
    ic, k, il = te.reduce_axis((0, i_chunks), "ic"), _window_axes(kernel), te.reduce_axis((0, i_lanes), "il")

    names = (*("z", "y", "x")[-len(k) :], "ol")

    def term(point: Sequence[Expr], chunk: Expr, taps: Sequence[Expr], dtype: str) -> Expr:
        n, oc, *position, ol = point
        of_image = chunk if groups == 1 else oc // per_group * i_chunks + chunk
        at = n, of_image, *_taken(windows, position, taps), il
        return products(padded, weight, dtype)(at, (oc, chunk, *taps, il, ol))

    if isinstance(op, relay.ContribConv2DNCHWcOp) and op.signature.int("partial"):
        depth = len(result) - 2

        def part(n: Expr, oc: Expr, *rest: Expr) -> Expr:
            chunk, *taps = rest[depth:]
            return te.sum(term((n, oc, *rest[:depth]), chunk, taps, data.dtype), axis=il)

        parts = te.compute((*result, i_chunks, *kernel), part, "parts", PARTS, None, (*names, "part", "dy", "dx"))

        def parts_summed(n: Expr, oc: Expr, *rest: Expr) -> Expr:
            return te.sum(parts(n, oc, *rest, ic, *k).astype(number), axis=[ic, *k])

        return rounded(te.compute(result, parts_summed, name, "conv2d_NCHWc", None, names), dtype_of(op))

    def product(n: Expr, oc: Expr, *rest: Expr) -> Expr:
        return te.sum(term((n, oc, *rest), ic, k, number), axis=[ic, *k, il])

    if all(w.kernel == w.stride == 1 for w in windows) and padded is data:
        return rounded(by_pixel(result, product, name), dtype_of(op))
    empty = (_empty(*row) for row in zip(windows, shape(data)[2:-1], places, strict=True))
    marks = {MUCH_PADDING: True} if data.dtype == "float32" and max(empty) >= _MUCH else None
    return rounded(te.compute(result, product, name, "conv2d_NCHWc", marks, names), dtype_of(op))


def _empty(w: _Window, extent: Size, out: Size) -> float:
    """Return the share of the taps of all windows along an axis that are outside of the image; 0 where it is open."""
    if not isinstance(extent, int) or not isinstance(out, int):
        return 0.0
    pixels = [at * w.stride + tap * w.dilation - w.before for at in range(out) for tap in range(w.kernel)]
    return sum(not 0 <= pixel < extent for pixel in pixels) / max(1, len(pixels))


def are_joined(batch: int, chunks: int, image: Sequence[int]) -> bool:
    """Return whether rows of pixels whose windows are single ones are one axis, in blocked results."""
    closed = not any(isinstance(extent, SizeExpr) for extent in (batch, *image))
    return len(image) > 1 and closed and not (prod(image) % _EVEN and batch * chunks < _SHARES)


def by_pixel(result: Sequence[int], product: Callable[..., Expr], name: str) -> Tensor:
    """A blocked convolution whose windows are single pixels, side by side: the sums of `product` of each point.

    It has one axis of pixels, so that tiles do not end where rows do, where sizes are known and their tiles, or the
    blocks of channels, can be shared between threads.
    """
    batch, chunks, *image, lanes = result
    if not are_joined(batch, chunks, image):
        names = (*("z", "y", "x")[-len(image) :], "ol")
        return te.compute(result, product, name, "conv2d_NCHWc", None, names)

    def pixel(n: Expr, oc: Expr, p: Expr, ol: Expr) -> Expr:
        return product(n, oc, *unflatten(p, image), ol)

    total = te.compute((batch, chunks, prod(image), lanes), pixel, name, "conv2d_NCHWc")
    return compute(result, lambda *i: total(*i[:2], flat_index(i[2:-1], image), i[-1]), name)


def conv_blocked(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    return _blocked_convolution(op, label(op), data, weight, shape_of(op.results[0]))


def repacked(x: Tensor, src: str, dst: str, extents: tuple[int, ...], name: str) -> Tensor:
    return compute(extents, lambda *i: x(*blocked_point(i, src, dst)), name, keep=True)


def conv(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    """Any layouts: those that `_blocked_convolution` takes as they are, blocks are made here of others."""
    assert isinstance(op, relay.Conv)
    sig, plain, kernel_plain = op.signature, "NC" + op.SPATIAL, "OI" + op.SPATIAL
    layouts = (sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or sig.str("data_layout"))
    full = logical_shape(shape(data), parse_layout(layouts[0]))
    batch, channels, *image = (full[letter] for letter in plain)
    filters = logical_shape(shape(weight), parse_layout(layouts[1]))
    outputs, depth, *kernel_extents = (filters[letter] for letter in kernel_plain)
    depthwise = sig.int("groups") == channels == outputs
    ins, outs = shape(data)[-1], shape_of(op.results[0])[-1]
    kernel_ins = 1 if depthwise else ins
    if layouts == (f"{plain}{ins}c", f"{kernel_plain}{kernel_ins}i{outs}o", f"{plain}{outs}c"):
        return depthwise_blocked(op, data, weight) if depthwise else conv_blocked(op, data, weight)
    groups = sig.int("groups")
    if depthwise:
        return _depthwise_plain(op, data, weight, layouts)
    result = shape_of(op.results[0])
    if layouts == (plain, kernel_plain, plain) and lanes_are_pixels(op, CHANNEL_BLOCK, SMALLEST_BLOCK):
        return _of_pixels(op, data, weight)
    extents = _image(result, layouts[2], op.SPATIAL)
    ib, ob = vector_block(depth, CHANNEL_BLOCK), vector_block(outputs // groups, CHANNEL_BLOCK)
    packed = repacked(data, layouts[0], f"{plain}{ib}c", (batch, channels // ib, *image, ib), "data_vec")
    blocks = (outputs // ob, depth // ib, *kernel_extents, ib, ob)
    kernel = repacked(weight, layouts[1], f"{kernel_plain}{ib}i{ob}o", blocks, "kernel_vec")
    blocked = _blocked_convolution(op, f"{label(op)}_NCHWc", packed, kernel, (batch, outputs // ob, *extents, ob))
    return compute(result, lambda *i: blocked(*blocked_point(i, f"{plain}{ob}c", layouts[2])), label(op))


def _of_pixels(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    """Plain data and weight of single pixels -> plain result, a row of whose pixels is lanes."""
    result = shape_of(op.results[0])
    ic, tap = te.reduce_axis((0, shape(data)[1]), "ic"), [0] * (len(result) - 2)

    def product(n: Expr, oc: Expr, *pixel: Expr) -> Expr:
        return te.sum(data(n, ic, *pixel) * weight(oc, ic, *tap), axis=[ic])

    return te.compute(result, product, label(op), "conv2d_nchw", None, ("z", "y", "x")[-len(tap) :])


def _image(extents: Sequence[int], layout: str, spatial: str) -> list[int]:
    """The extents of the spatial axes of a tensor in a layout."""
    full = logical_shape(extents, parse_layout(layout))
    return [full[letter] for letter in spatial]


def _depthwise_plain(op: Operator, data: Tensor, weight: Tensor, layouts: tuple[str, str, str]) -> Tensor:
    assert isinstance(op, relay.Conv)
    plain, kernel_plain = "NC" + op.SPATIAL, "OI" + op.SPATIAL
    kernel = _image(shape(weight), layouts[1], op.SPATIAL)
    windows, k = _windows(op, kernel), _window_axes(kernel)
    number = wide(dtype_of(op))

    result = shape_of(op.results[0])

    def product(n: Expr, c: Expr, *place: Expr) -> Expr:
        point = [at - w.before for at, w in zip(_taken(windows, place, k), windows, strict=True)]
        value = data(*blocked_point((n, c, *point), layouts[0], plain), otherwise=0).astype(number)
        factor = weight(*blocked_point((c, te.const(0, "int32"), *k), layouts[1], kernel_plain)).astype(number)
        return te.sum(value * factor, axis=k)

    names = ("z", "y", "x")[-len(k) :]
    full = logical_shape(result, parse_layout(layouts[2]))
    name, extents = f"depthwise_{label(op)}", [full[letter] for letter in plain]
    total = rounded(te.compute(extents, product, name, "depthwise_conv2d_nchw", None, names), dtype_of(op))
    if layouts[2] == plain:
        return total
    return compute(result, lambda *i: total(*blocked_point(i, plain, layouts[2])), label(op))


def depthwise_blocked(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    assert isinstance(op, relay.Conv)
    sig = op.signature
    if [axis.letter for axis in parse_layout(sig.str("kernel_layout"))] != [*"OI", *op.SPATIAL, *"IO"]:
        sig.fail(f"a kernel_layout such as OI{op.SPATIAL}1i16o", sig.str("kernel_layout"))
    _, _, *kernel, _, _ = shape(weight)
    windows, k = _windows(op, kernel), _window_axes(kernel)
    need = [w.before + extent + w.after for w, extent in zip(windows, shape(data)[2:-1], strict=True)]
    padded = zeros_around(data, need, [w.before for w in windows])
    number = wide(dtype_of(op))

    def product(n: Expr, c: Expr, *rest: Expr) -> Expr:
        *position, cl = rest
        value = padded(n, c, *_taken(windows, position, k), cl).astype(number) * weight(c, 0, *k, 0, cl).astype(number)
        return te.sum(value, axis=k)

    names = (*("z", "y", "x")[-len(k) :], "cl")
    total = te.compute(shape_of(op.results[0]), product, label(op), "depthwise_conv2d_NCHWc", None, names)
    return rounded(total, dtype_of(op))


TABLE = {
    relay.Conv1DOp: conv,
    relay.Conv2DOp: conv,
    relay.Conv3DOp: conv,
    relay.ContribConv2DNCHWcOp: conv_blocked,
    relay.ContribDepthwiseConv2DNCHWcOp: depthwise_blocked,
}
