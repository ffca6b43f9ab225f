"""Convolutions on blocked layouts: a tile of pixels and output channels in registers."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import AnyFloat

from ....dialects import te
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import known, nominal
from ....dialects.tir import element_bytes
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ..stages import MUCH_PADDING
from .common import PARTITION_HINT, Scheduling, passes
from .tiles import counted, pixel_tile, row_tile

_BODY = 192
"""Products of vectors, at most, that are written out as the body of the innermost loop over terms."""
_FEW_SUMS = 16
"""A step of this many products takes much longer than the instructions of a loop."""
_SHARES = 16
"""So many shares of some work are about as much for each thread."""
_THREADS = 4
"""A multiple of this is the same number of shares for each thread, where there are few of them."""
_SHORT = 6
"""Steps, at most, where a product and its sum are two instructions: of more LLVM would add up the products first."""


def schedule_conv2d_nchwc(work: Scheduling, stage: Stage) -> None:
    """NCHW16c convolutions: per tile of a row of pixels the whole reduction in registers.

    for parallel n.oc.y { for x.outer { acc[x.inner, oc.inner, lane]; for ic, ky, kx, il { acc += .. }; out = acc } }

    Where windows are single pixels, rows are no matter, and some tiles' data stays in a cache for all channels:

    for parallel n.yx.outer.outer.oc { for yx.outer.inner { acc[yx.inner, oc.inner, lane]; .. } }
    """
    host, inner = work.hosted(stage)
    n, channels, *rows, columns, lanes = host.leaf
    by_pixel = len(inner.axes) < len(host.leaf)
    if by_pixel:
        columns = host.fuse(*rows, columns)
    per_pixel = work.vectors(host, lanes.extent)
    fused = isinstance(inner.compute.result.type.element_type, AnyFloat)
    width, blocks = pixel_tile(columns.extent, known(channels.extent), per_pixel, work.machine, fused=fused)
    c_outer, c_inner = host.split(channels, blocks)
    x_outer, x_inner = host.split(columns, width)
    outside = [n, c_outer, *rows]
    if by_pixel:
        some, x_outer = host.split(x_outer, _cached_tiles(work, inner, columns.extent, width, passes([n, c_outer])))
        outside = [n, some, c_outer]
    host.reorder(*outside, x_outer, x_inner, c_inner, lanes)
    host.parallel(host.fuse(*outside))
    host.unroll(c_inner)
    _registers(work, host, inner, x_outer, x_inner, lanes)
    if MUCH_PADDING in inner.compute.attributes:
        for window in inner.reduce_axes[1:-1]:
            inner.pragma(window, "skip_padding")
    if isinstance(columns.extent, int):
        _write_out(inner, width * blocks * per_pixel, fused)
    else:
        # LLVM has several tiles to compile, so that only the last ones are to be more than products.
        host.pragma(x_outer, PARTITION_HINT, 1)


def _write_out(inner: Stage, sums: int, fused: bool) -> None:
    """Write the last loops over terms out where tiles have so few sums that a loop's own instructions cost as much.

    Of products that are one instruction with their sums, the last loop only: of more LLVM would load values early.
    """
    if sums >= _FEW_SUMS:
        return
    most = _BODY // sums if fused else _SHORT
    terms = prod(map(known, inner.compute.reduce_shape))
    for axis in reversed(inner.reduce_axes):
        steps = known(axis.extent)
        # Without any loop the weights of all tiles would be kept in registers, of which there are not enough.
        some = largest_divisor(steps, min(most, steps if terms > steps else max(1, steps // 2)))
        if some == steps:
            inner.unroll(axis)
        elif fused and some > 1:
            inner.unroll(inner.split(axis, some)[1])
        if fused or some < steps:
            return
        most //= steps
        terms //= steps


def _cached_tiles(work: Scheduling, inner: Stage, columns: Size, width: int, others: int) -> int:
    """Return the number of tiles of `width` pixels, of the data of a 1x1 convolution, that are a share of a thread.

    They fit in a cache, and leave enough shares, or as many for each of some threads, of which there are `others` for
    the same tiles.
    """
    pixels = known(columns)
    tiles, ragged = divmod(pixels, width)
    if ragged:
        return tiles + 1
    terms = prod(map(known, inner.compute.reduce_shape))
    tile_bytes = width * terms * element_bytes(inner.compute.result.type.element_type)
    most = max(1, work.machine.l2 // 4 // tile_bytes)
    fits = [count for count in range(min(tiles, most), 0, -1) if tiles % count == 0]
    shares = {count: tiles // count * others for count in fits}
    return next((count for count in fits if shares[count] >= _SHARES or shares[count] % _THREADS == 0), fits[0])


def schedule_depthwise_nchwc(work: Scheduling, stage: Stage) -> None:
    """Depthwise convolutions: the padded rows that some rows of pixels need, then these, tile by tile in registers.

    for parallel n.c.y.outer { pad rows; for y.inner, x.outer { acc[x.inner]; for ky, kx { .. }; out = acc } }
    """
    host, inner = work.hosted(stage)
    *outside, columns, lanes = host.leaf
    padded = _producer(work, inner)
    per_pixel = work.vectors(host, lanes.extent)
    if len(outside) > 2 and not isinstance(outside[-1].extent, int):
        # How many rows are kept beside each other only a call knows: an image at a time.
        outside.pop()
    elif len(outside) > 2:
        rows = outside.pop()
        height = known(rows.extent)
        if padded is not None:
            image, *row = padded.compute.shape[-3:]
            row_bytes = prod(map(nominal, row)) * element_bytes(padded.compute.result.type.element_type)
            most = _kept(work) * height // (row_bytes * known(image))
            height = largest_divisor(height, max(1, most))
        y_outer, _ = host.split(rows, height)
        outside.append(y_outer)
    x_outer, x_inner = host.split(columns, row_tile(counted(columns.extent), per_pixel, work.machine))
    outer = host.fuse(*outside)
    host.parallel(outer)
    if padded is not None:
        padded.compute_at(host, outer)
        padded.vectorize(padded.leaf[-1])
        padded.pragma(padded.leaf[-2], PARTITION_HINT, 1)
        work.done.add(padded)
    _registers(work, host, inner, x_outer, x_inner, lanes)
    # Neighbouring pixels share what they read of a row.
    inner.unroll(inner.reduce_axes[-1])


def _kept(work: Scheduling) -> int:
    """Bytes of a padded image that are kept while its channels are convolved: a power of 2 in the first cache."""
    return 1 << (work.machine.l1.bit_length() - 1)


def _registers(work: Scheduling, host: Stage, inner: Stage, outer: IterVar, pixel: IterVar, lanes: IterVar) -> None:
    """Compute `inner` in registers inside the loop `outer` of its host, whose `pixel` loop runs over a tile."""
    host.unroll(pixel)
    work.vectorize(host, lanes, unroll=True)
    inner.compute_at(host, outer)
    n, channels, *rows, columns, lanes = inner.axes
    # Pixels outside channels: a pixel is broadcast once, and the few weight vectors stay in registers.
    inner.reorder(*inner.reduce_axes, n, *rows, columns, channels, lanes)
    inner.unroll(channels)
    inner.unroll(columns)
    if not same(lanes.extent % work.lanes(inner), 0):
        # Pixels lie whole vectors apart, so that each has registers of its own.
        inner.storage_align(columns, work.lanes(inner), 0)
    work.vectorize(inner, lanes, unroll=True)


def _producer(work: Scheduling, stage: Stage) -> Stage | None:
    """The stage with a buffer whose result is the first operand of `stage`, which alone reads it."""
    source = stage.compute.reads[0].tensor.owner
    if not isinstance(source, te.ComputeOp):
        return None
    producer = work.schedule[source]
    return None if producer.inlined or work.readers(producer) != {stage} else producer
