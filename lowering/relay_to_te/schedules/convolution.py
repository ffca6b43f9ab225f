"""Convolutions on blocked layouts: a tile of pixels and output channels in registers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from ....dialects import te
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import known, nominal
from ....dialects.tir import element_bytes
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ..knobs import Legal, Values
from ..stages import MUCH_PADDING, PARTS
from .common import PARTITION_HINT, Scheduling, operand, passes, read_stage
from .convolution_cost import Padding, coefficients, convolution_cost, window_cost
from .reduction import lane_sums, place_lane_sums
from .terms import LONGEST, divisors, term_counts, write_out
from .tile_products import schedule_convolution, takes_tiles
from .tiles import counted, pixel_tile, pixel_tiles, pixels_fit, row_tile, row_tiles

_FEW_SUMS = 16
"""A step of this many products takes much longer than the instructions of a loop."""
_SHARES = 16
"""So many shares of some work are about as much for each thread."""
_THREADS = 4
"""A multiple of this is the same number of shares for each thread, where there are few of them."""
_ROWS_APART = 5
"""Axes of a convolution in blocks whose images have rows."""
_STACK = 1 << 18
"""The most bytes of a buffer that a pass of a parallel loop may have to itself."""
_SHORT = 6
"""Steps, at most, where a product and its sum are two instructions: of more LLVM would add up the products first."""


def schedule_conv2d_nchwc(work: Scheduling, stage: Stage) -> None:
    """NCHW16c convolutions: per tile of a row of pixels the whole reduction in registers.

        for parallel n.oc.y {
            for x.outer { acc[x.inner, oc.inner, lane]; for ic, ky, kx, il { acc += .. }; out = acc }
        }

    Where windows are single pixels, rows are no matter, and some tiles' data stays in a cache for all channels:

        for parallel n.yx.outer.outer.oc { for yx.outer.inner { acc[yx.inner, oc.inner, lane]; .. } }

    Where the products of a block of input channels are summed as narrow as they are, both sums are in registers.

    Knobs: rows, or pixels, and blocks of channels that are kept in a cache for each other.
    """
    if _is_of_few(work, stage):
        _schedule_few(work, stage)
        return
    host, inner = work.hosted(stage)
    n, channels, *rows, columns, lanes = host.leaf
    sizes = [axis.extent for axis in host.leaf]
    parts = read_stage(work, inner, PARTS)
    by_pixel = len(inner.axes) < len(host.leaf)
    if by_pixel:
        columns, rows = host.fuse(*rows, columns), []
    if takes_tiles(work, inner, columns.extent, lanes.extent):
        schedule_convolution(work, host, inner, (*rows, columns))
        return
    per_pixel = work.vectors(host, lanes.extent)
    narrow = 0 if parts is None else _narrow(work, parts)
    in_registers = per_pixel + (known(lanes.extent) // narrow if narrow else 0)
    fused = isinstance(inner.compute.result.type.element_type, AnyFloat)
    closed, count = isinstance(columns.extent, int), known(channels.extent)
    rule = pixel_tile(columns.extent, count, in_registers, work.machine, fused=fused)
    kept = _kept_pixels(work, inner, columns.extent, rule[0], passes([n]) * (count // rule[1])) if by_pixel else 0
    width, blocks = _tile(work, columns.extent, count, in_registers, rule)
    c_outer, c_inner = host.split(channels, blocks)
    x_outer, x_inner = host.split(columns, width)
    outside = [c_outer]
    if by_pixel:
        some, x_outer = host.split(x_outer, -(-_pixels_knob(work, known(columns.extent), kept) // width))
        outside.insert(0, some)
    elif rows:
        outside = _kept_rows(work, host, inner, c_outer, rows)
    kept_for = columns.extent if by_pixel else rows[0].extent if rows else 1
    if (kept_blocks := _kept_blocks(work, count, kept_for, by_pixel)) < count:
        c_outest, c_rest = host.split(c_outer, kept_blocks // blocks)
        outside = [c_outest, *(c_rest if axis is c_outer else axis for axis in outside)]
    outside.insert(0, n)
    host.reorder(*outside, x_outer, x_inner, c_inner, lanes)
    host.parallel(host.fuse(*outside))
    host.unroll(c_inner)
    _registers(work, host, inner, x_outer, x_inner, lanes)
    if MUCH_PADDING in inner.compute.attributes and work.knob("skip_padding", (0, 1), 1):
        for window in inner.reduce_axes[1:-1]:
            inner.pragma(window, "skip_padding")
    if parts is not None:
        _place_parts(work, inner, parts, narrow)
        work.knobs.fix("unrolled_terms", 1)
    elif closed:
        write_out(inner, _terms(work, inner, rule[0] * rule[1], per_pixel, fused))
    if not closed:
        # LLVM has several tiles to compile, so that only the last ones are to be more than products.
        host.pragma(x_outer, PARTITION_HINT, 1)
    if all(isinstance(size, int) for size in sizes):
        images, _, *image, _ = map(known, sizes)
        height, length = (1, prod(image)) if by_pixel else (prod(image[:-1]), image[-1])
        extents, terms = (images, count, height, length), prod(map(known, inner.compute.reduce_shape))
        if parts is None:
            work.cost(convolution_cost(work.machine, inner, extents, per_pixel, terms))
        else:
            terms *= known(parts.compute.reduce_shape[0])
            work.cost(convolution_cost(work.machine, parts, extents, in_registers - per_pixel, terms))


def _is_of_few(work: Scheduling, stage: Stage) -> bool:
    """Return whether a convolution has blocks of one output channel, and input channels for whole vectors."""
    return same(stage.axes[-1].extent, 1) and same(stage.reduce_axes[-1].extent % work.lanes(stage), 0)


def _schedule_few(work: Scheduling, stage: Stage) -> None:
    """Convolutions to few channels: lanes are input channels, whose sums for some pixels of all outputs are combined.

    for parallel n.y { for x.outer { rf[x.inner, oc, lane]; for ic, ky, kx { rf += .. }; out = vector reductions } }
    """
    part, host, inner = lane_sums(work, stage)
    n, channels, *rows, columns, _ = host.leaf
    if len(inner.axes) < len(host.leaf):
        columns, rows = host.fuse(*rows, columns), []
    sums = work.machine.accumulators
    c_outer, c_inner = host.split(channels, largest_divisor(known(channels.extent), sums))
    most = max(1, sums // known(c_inner.extent))
    pixels = largest_divisor(columns.extent, most) if isinstance(columns.extent, int) else most
    x_outer, x_inner = host.split(columns, pixels if 2 * pixels > most else most)
    host.pragma(x_outer, PARTITION_HINT, 1)
    host.reorder(n, c_outer, *rows, x_outer, x_inner, c_inner)
    host.parallel(host.fuse(n, c_outer, *rows))
    host.unroll(x_inner)
    host.unroll(c_inner)
    image = range(2, len(stage.axes) - 1)
    place_lane_sums(part, host, inner, x_outer, (0, *image, 1))


def _tile(work: Scheduling, columns: Size, channels: int, per_block: int, rule: tuple[int, int]) -> tuple[int, int]:
    """Return the pixels of a row and the blocks of channels of a tile; `rule` are those by default."""
    width, blocks = rule
    widths, counts = pixel_tiles(columns, channels, per_block, work.machine)
    blocks = work.knob("blocks", counts, blocks)
    width = work.knob(
        "pixels", widths, width, lambda at: pixels_fit(at["pixels"], at["blocks"], per_block, work.machine)
    )
    return width, blocks


def _pixels_knob(work: Scheduling, pixels: int, rule: int) -> int:
    """The pixels of an image whose data is kept in a cache for blocks of output channels: whole tiles, or all."""

    def legal(at: Values) -> Any:
        return (at["kept_pixels"] == pixels) | ((pixels % at["pixels"] == 0) & (at["kept_pixels"] % at["pixels"] == 0))

    return work.knob("kept_pixels", divisors(pixels), rule, legal)


def _kept_blocks(work: Scheduling, blocks: int, extent: Size, by_pixel: bool) -> int:
    """The blocks of output channels whose weights are kept in a cache while data changes: whole tiles, or all.

    extent: that of the rows, or pixels, some of which are kept for them; of all, no loop is between channels.
    """

    def legal(at: Values) -> Any:
        kept, data = at["kept_blocks"], at["kept_pixels" if by_pixel else "kept_rows"]
        some = (kept % at["blocks"] == 0) & (data != extent) & (by_pixel | (kept != at["blocks"]))
        return (kept == blocks) | some

    several = isinstance(extent, int) and extent > 1
    return work.knob("kept_blocks", divisors(blocks) if several else (), blocks, legal)


def _kept_rows(work: Scheduling, host: Stage, inner: Stage, channels: IterVar, rows: list[IterVar]) -> list[IterVar]:
    """The loops over tiles of channels and over rows: channels outside, but for rows whose data is kept for all."""
    extent = rows[0].extent
    if len(rows) > 1 and work.is_static(inner) and _only_rows_fit(work, inner):
        work.knobs.fix("kept_rows", known(extent))
        return [*rows, channels]
    if not isinstance(extent, int) or (kept := work.knob("kept_rows", divisors(extent), extent)) == extent:
        return [channels, *rows]
    if kept == 1:
        return [rows[0], channels, *rows[1:]]
    outer, inside = host.split(rows[0], kept)
    return [outer, channels, inside, *rows[1:]]


def _only_rows_fit(work: Scheduling, inner: Stage) -> bool:
    """Return whether the second cache holds the weights and the data of a row of a volume, but not all its data."""
    data, weights = operand(inner, 0), operand(inner, 1)
    *terms, _, lanes = map(known, inner.compute.reduce_shape)
    row = prod(terms) * data.shape[-2] * lanes
    return data.tensor_bytes > work.machine.l2 >= weights.tensor_bytes + row * data.width


def _terms(work: Scheduling, inner: Stage, tile: int, per_pixel: int, fused: bool) -> int:
    """The terms that are written out as the body of the innermost loop; by default those for a tile of the rule."""
    extents = [known(extent) for extent in inner.compute.reduce_shape]
    # Without any loop the weights of all tiles would be kept in registers, of which there are not enough.
    counts = [count for count in term_counts(extents) if count < prod(extents)]

    def legal(at: Values) -> Any:
        terms = at["unrolled_terms"]
        return (terms == 1) | (terms * at["pixels"] * at["blocks"] * per_pixel <= LONGEST)

    return work.knob("unrolled_terms", counts, _written_terms(extents, tile * per_pixel, fused), legal)


def _written_terms(extents: Sequence[int], sums: int, fused: bool) -> int:
    """The terms to write out where tiles have so few sums that a loop's own instructions cost as much; else 1.

    Of products that are one instruction with their sums, the last loop only: of more LLVM would load values early.
    """
    if sums >= _FEW_SUMS:
        return 1
    most = LONGEST // sums if fused else _SHORT
    rest, written = prod(extents), 1
    for steps in reversed(extents):
        some = largest_divisor(steps, min(most, steps if rest > steps else max(1, steps // 2)))
        if some == steps or fused:
            written *= some
        if fused or some < steps:
            break
        most //= steps
        rest //= steps
    return written


def _kept_pixels(work: Scheduling, inner: Stage, columns: Size, width: int, others: int) -> int:
    """Return the pixels of the data of a 1x1 convolution, in tiles of `width`, that are a share of a thread.

    They fit in a cache, and leave enough shares, or as many for each of some threads, of which there are `others` for
    the same tiles.
    """
    pixels = known(columns)
    tiles, ragged = divmod(pixels, width)
    if ragged:
        return pixels
    terms = prod(map(known, inner.compute.reduce_shape))
    tile_bytes = width * terms * element_bytes(inner.compute.result.type.element_type)
    most = max(1, work.machine.l2 // 4 // tile_bytes)
    fits = [count for count in range(min(tiles, most), 0, -1) if tiles % count == 0]
    shares = {count: tiles // count * others for count in fits}
    return width * next((count for count in fits if shares[count] >= _SHARES or shares[count] % _THREADS == 0), fits[0])


def schedule_depthwise_nchwc(work: Scheduling, stage: Stage) -> None:
    """Depthwise convolutions: the padded rows that some rows of pixels need, then these, tile by tile in registers.

    for parallel n.c.y.outer { pad rows; for y.inner, x.outer { acc[x.inner]; for ky, kx { .. }; out = acc } }
    """
    host, inner = work.hosted(stage)
    sizes = [axis.extent for axis in host.leaf]
    *outside, columns, lanes = host.leaf
    padded = source = _producer(work, inner)
    per_pixel = work.vectors(host, lanes.extent)
    rows = outside.pop() if len(outside) > 2 else None
    kept = 1
    # How many rows are kept beside each other only a call knows where sizes are open: an image at a time.
    if rows is not None and isinstance(rows.extent, int):
        kept = _rows_kept(work, padded, rows.extent)
        height = work.knob("kept_rows", divisors(rows.extent), kept)
        y_outer, rows = host.split(rows, height)
        outside.append(y_outer)
    pixels = counted(columns.extent)
    rule = row_tile(pixels, per_pixel, work.machine)
    x_outer, x_inner = host.split(columns, work.knob("pixels", row_tiles(pixels, per_pixel, work.machine), rule))
    kernel = [known(extent) for extent in inner.compute.reduce_shape]
    terms = work.knob("unrolled_terms", term_counts(kernel), kernel[-1], _body_fits(per_pixel, kernel[-1]))
    fits = None if padded is None else _padding_fits(inner, padded)
    buffered = int(fits is None or not work.is_static(inner) or bool(fits({"padded_rows": 1, "kept_rows": kept})))
    if padded is not None and not work.knob("padded_rows", (0, 1), buffered, fits):
        padded.compute_inline()
        work.done.add(padded)
        padded = None
        host.pragma(x_outer, PARTITION_HINT, 1)
        if rows is not None:
            host.pragma(rows, PARTITION_HINT, 1)
    outer = host.fuse(*outside)
    host.parallel(outer)
    if padded is not None:
        padded.compute_at(host, outer)
        padded.vectorize(padded.leaf[-1])
        padded.pragma(padded.leaf[-2], PARTITION_HINT, 1)
        work.done.add(padded)
    _registers(work, host, inner, x_outer, x_inner, lanes)
    # Neighbouring pixels share what they read of a row.
    write_out(inner, terms)
    if all(isinstance(size, int) for size in sizes):
        images, image = prod(map(known, sizes[:2])), list(map(known, sizes[2:-1]))
        extents = images, prod(image[:-1]), image[-1]
        padding = None if source is None else _padding(work, inner, source, extents[1])
        work.cost(window_cost(work.machine, inner, extents, per_pixel, padding))


def _padding_fits(inner: Stage, padded: Stage) -> Legal | None:
    """Return the condition that a pass of the parallel loop may buffer the padded rows it needs; None without rows."""
    compute = inner.compute
    if len(compute.axes) < _ROWS_APART or not isinstance(compute.shape[-3], int):
        return None
    steps = coefficients(compute.reads[0])
    extents: list[Any] = [*[1] * (len(compute.axes) - 3), None, *compute.shape[-2:], *compute.reduce_shape]
    lengths: dict[SSAValue, Any] = dict(zip((*compute.axes, *compute.reduce_axes), extents, strict=True))
    size = element_bytes(padded.compute.result.type.element_type)

    def legal(at: Values) -> Any:
        total = size
        for dim in range(len(padded.compute.shape)):
            length = 1
            for axis, row in steps.items():
                extent = at["kept_rows"] if lengths[axis] is None else lengths[axis]
                length = length + row[dim] * (extent - 1)
            total = total * length
        return (at["padded_rows"] == 0) | (total <= _STACK)

    return legal


def _padding(work: Scheduling, inner: Stage, padded: Stage, rows: int) -> Padding:
    """The copies of padded rows that a depthwise convolution makes."""
    *_, height, length, lanes = map(known, padded.compute.shape)
    window = known(inner.compute.reduce_shape[-2]) if len(inner.compute.reduce_shape) > 1 else 1
    stride = (height - window) // max(1, rows - 1)
    return Padding(length * work.vectors(padded, lanes), stride, window)


def _rows_kept(work: Scheduling, padded: Stage | None, height: int) -> int:
    """The rows of an image whose padded data is kept in the first cache."""
    if padded is None:
        return height
    image, *row = padded.compute.shape[-3:]
    row_bytes = prod(map(nominal, row)) * element_bytes(padded.compute.result.type.element_type)
    most = _kept(work) * height // (row_bytes * known(image))
    return largest_divisor(height, max(1, most))


def _kept(work: Scheduling) -> int:
    """Bytes of a padded image that are kept while its channels are convolved: a power of 2 in the first cache."""
    return 1 << (work.machine.l1.bit_length() - 1)


def _body_fits(per_pixel: int, default: int) -> Legal:
    """Return the condition that the products of the terms written out are no too long body of a loop."""
    return lambda at: (at["unrolled_terms"] == default) | (at["unrolled_terms"] * at["pixels"] * per_pixel <= LONGEST)


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


def _narrow(work: Scheduling, parts: Stage) -> int:
    """The lanes of vectors of the narrow numbers of parts."""
    return work.machine.lanes(element_bytes(parts.compute.result.type.element_type))


def _place_parts(work: Scheduling, inner: Stage, parts: Stage, lanes: int) -> None:
    """Sum the products of a block of input channels in registers, as narrow as the operands, for each of the sums.

    for ic, ky, kx { part[x.inner, oc.inner, lane]; for il { part += .. }; acc += part }
    """
    parts.set_scope("local")
    parts.compute_at(inner, inner.reduce_axes[-1])
    terms = len(inner.reduce_axes)
    n, channels, *rows, columns, lane = parts.axes[:-terms]
    (il,) = parts.reduce_axes
    parts.reorder(*parts.axes[-terms:], il, n, *rows, columns, channels, lane)
    parts.unroll(channels)
    parts.unroll(columns)
    outer, vector = parts.split(lane, lanes)
    parts.unroll(outer)
    parts.vectorize(vector)
    work.done.add(parts)


def _producer(work: Scheduling, stage: Stage) -> Stage | None:
    """The stage with a buffer whose result is the first operand of `stage`, which alone reads it."""
    source = stage.compute.reads[0].tensor.owner
    if not isinstance(source, te.ComputeOp):
        return None
    producer = work.schedule[source]
    return None if producer.inlined or work.readers(producer) != {stage} else producer
