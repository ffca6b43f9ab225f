"""Matrix products: a tile of the result in registers."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import NamedTuple

import numpy as np
from xdsl.dialects.arith import SelectOp
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from ....dialects.affine import below
from ....dialects.relay.matmul import FEW_ROWS, LONG_ROW
from ....dialects.relay.operator import element_of
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import known
from ....dialects.tir import element_bytes
from ....dialects.tir.tiles import WORDS
from ....passes.relay.blocking import largest_divisor
from ....support.machine import Machine
from ....te.schedule.choices import looked_at
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ..cost import Cost, Moved, moved, where
from ..knobs import Formula, Legal, Values
from ..stages import DEQUANTIZED, PARTS
from .common import (
    PANELS,
    PARTITION_HINT,
    SKIP_MASKED,
    SKIP_ZEROS,
    Scheduling,
    Shared,
    operand,
    passes,
    points,
    read_stage,
    shape_of,
    tag_of,
)
from .reduction import along_all, lane_sums, place_lane_sums, schedule_reduction
from .tile_products import sum_in_tiles, takes_tiles, tile_columns, tile_rows
from .tiles import counted, product_fits, product_tile, product_widths

_UNROLLED = (1, 2, 4, 8)
"""Steps of a product's reduction that one pass of its loop may make."""
_STEPS = 4
"""Steps of a packed product's reduction in one pass of its loop."""
_OPEN_STEPS = 2
"""The steps if only a call knows the number of rows: as fast, and LLVM then has several such tiles to compile."""
_LOADS = 1.5
"""The cost of as many loads as products, in products."""
OPEN = 2
"""Vectors of a row of a tile where the number of columns is open."""
_KEPT = 1 << 18
"""The bytes of weights made of a few bits that a panel keeps for all tiles of rows. Of more each tile makes its own."""
_LEAST = 2
"""Vectors of a row that have to fit; else tiles are tall, so that the weights that each makes serve many rows."""
_FLOAT = 4
_PAGE = 1 << 12
"""The bytes after which addresses share a place in the nearest cache."""
_MANY = 32
"""Rows of a product beside which a copy of the other operand takes little time."""
_TERMS = 64
"""Terms of a product that are left out together where the first operand is 0."""
_VECTORS = 4
"""Vectors of a row of a tile, where no packed weight says how many."""


def schedule_dense(work: Scheduling, stage: Stage) -> None:
    """Panels of columns outside, then tiles of rows: per tile the whole reduction in registers.

        for parallel n.outer { for m.outer { acc[m.inner, n.inner] in registers; for k { acc += .. }; out = acc } }

    A weight packed as (n / block, k, block) sets the width of a panel. A panel that is no whole number of vectors ends
    with one that is cut off; the rows of its tile lie whole vectors apart, so that each has registers of its own. Where
    panels do not divide the columns, the last is computed whole, of zeros past the end, and stored in part.

    Where few rows, or one column, are sums along rows of both operands, these are reduced as any rows are; several
    batches' rows that share the second operand are multiplied with each of its rows together.
    """
    if (parts := read_stage(work, stage, PARTS)) is not None:
        _schedule_parts(work, stage, parts)
        return
    shared = _shared_batch(stage)
    if _of_rows(work, stage):
        if shared:
            _schedule_rows(work, stage, shared)
        else:
            schedule_reduction(work, stage)
        return
    if _of_long_rows(stage):
        _schedule_rows(work, stage)
        return
    size = points(stage)
    weights = read_stage(work, stage, DEQUANTIZED)
    host, inner = work.hosted(stage)
    batch, rows, columns, number = _matrix_axes(host, shared if work.few_rows else ())
    tile(work, host, inner, Matrix(batch, rows, columns, rows.extent, row=number), size, weights)


class Matrix(NamedTuple):
    """The loops of a product's result, and how many of the rows there are where it is computed.

    usual: of those by default, where that is a choice; by them a tile is chosen. row: the number of the rows' axis.
    zeros: whether the first operand may be 0 for whole tiles, as weights of masked scores are.
    """

    batch: Sequence[IterVar]
    rows: IterVar
    columns: IterVar
    height: Size
    usual: int | None = None
    row: int = -2
    zeros: bool = False


def tile(
    work: Scheduling, host: Stage, inner: Stage, matrix: Matrix, size: int | None, weights: Stage | None = None
) -> None:
    """Take the loops of a product apart, and compute it in registers inside.

    size: the points of it that are shared among threads; None where they are inside a loop that is. weights: what makes
    numbers of a packed weight, a panel at a time or, of few rows, in the product itself.
    """
    batch, rows, columns, extent, usual, row, zeros = matrix
    lanes = work.lanes(host)
    packed = tag_of(inner) == "dense_pack"
    if weights is None and takes_tiles(work, inner, extent, shape_of(inner.compute.reads[-1])[-1] if packed else WORDS):
        _tile_words(work, host, inner, matrix, size)
        return
    if packed:
        panel = known(shape_of(inner.compute.reads[-1])[-1])
    elif not isinstance(columns.extent, int):
        panel = lanes * OPEN if _along_columns(inner) else lanes
    elif columns.extent % lanes and _along_columns(inner):
        panel = _ragged_panel(counted(extent), columns.extent, lanes, work.machine)
    else:
        panel = _panel(columns.extent, lanes)
    whole = panel % lanes == 0
    count = 1 if work.few_rows and not isinstance(extent, int) else counted(extent)
    width, small = -(-panel // lanes), True
    if weights is not None and whole:
        fits = _KEPT // (prod(map(known, weights.compute.shape[1:-1])) * lanes * _FLOAT)
        small = fits >= _LEAST
        once = below(count, work.machine.accumulators + 1)
        width = largest_divisor(width, fits if small else 1 if once else _LEAST)
    height, vectors = _register_tile(work, count if usual is None else usual, width, whole)
    m_outer, m_inner = host.split(rows, height)
    n_outer, n_inner = host.split(columns, vectors * lanes if whole else panel, tail="round_up")
    ragged = not same(columns.extent % n_inner.extent, 0)
    even = same(extent % height, 0)
    others = [*batch, *([m_outer] if even else [])]
    few = size is not None and passes(batch) < PANELS
    # Only a loop that is not shared can be cut, so that all panels but the last do without masks. Where threads would
    # have nothing else to share, the stores of packed panels have them, the only ones, once for a whole reduction.
    masked = ragged and few and (work.machine.mask_registers or (packed and passes(others) < PANELS))
    cut = ragged and not masked
    inside = _panels_inside(work, extent, weights is None, size is not None) or cut
    if inside:
        tiles, shared = [m_outer, n_outer], others
    else:
        tiles, shared = [n_outer, m_outer], [*batch, n_outer]
        if passes(shared) < PANELS and even:
            shared.append(m_outer)
    if cut:
        host.pragma(n_outer, PARTITION_HINT, 1)
    if weights is not None:
        if not small or below(count, height + 1):
            weights.compute_inline()
        else:
            weights.compute_at(host, n_outer)
            work.vectorize(weights, weights.axes[-1], unroll=True)
        work.done.add(weights)
    host.reorder(*(batch if size is not None else ()), *tiles, m_inner, n_inner)
    host.unroll(m_inner)
    if (
        size is not None
        and tiles[-1] is m_outer
        and m_outer not in shared
        and _is_worth_copying(work, inner, n_inner.extent)
    ):
        _copy_panels(work, host, inner, n_outer)
    inner.compute_at(host, tiles[-1])
    if not packed and any(isinstance(op, SelectOp) for part in work.parts(host) for op in part.compute.block.ops):
        host.pragma(tiles[-1], SKIP_MASKED)
    if size is not None:
        work.parallel(host, shared, size)
    data, reduce = list(inner.axes), list(inner.reduce_axes)
    data[row], data[-2] = data[-2], data[row]
    if packed and len(reduce) > 1:
        # The numbers of a word, which is loaded once.
        work.knobs.fix("steps", 1)
        inner.unroll(reduce[-1])
    elif zeros:
        reduce[-1:] = inner.split(reduce[-1], _TERMS, tail="cut")
        inner.pragma(reduce[-2], SKIP_ZEROS)
    elif (steps := _steps(work, reduce[-1], packed, isinstance(rows.extent, int))) > 1:
        reduce[-1:] = inner.split(reduce[-1], steps)
        inner.unroll(reduce[-1])
    if all(isinstance(size, int) for size in (extent, columns.extent, *inner.compute.reduce_shape)):
        work.cost(_cost(work, host, inner, matrix, lanes, shared if size is not None else ()))
    inner.reorder(*reduce, *data)
    if height > 1:
        inner.unroll(data[-2])
        if not whole:
            inner.storage_align(data[-2], lanes, 0)
    for part, axis in ((host, n_inner), (inner, data[-1])):
        if whole:
            v_outer, v_inner = part.split(axis, lanes)
            part.unroll(v_outer)
            part.vectorize(v_inner)
            if part is inner and masked and height > 1:
                # A vector behind a mask is loaded once for all rows only where their loop is inside.
                part.reorder(v_outer, data[-2], v_inner)
        else:
            part.vectorize(axis)


def _is_worth_copying(work: Scheduling, inner: Stage, panel: Size) -> bool:
    """Return whether a product of many rows copies each panel of an operand, as the nearest cache does not keep it.

    A cache has room for as many lines at the same place of a page as pages fit in it. Rows of a matrix that begin at
    few places of a page, such as all at multiples of 1024 bytes, push one another out.
    """
    if not inner.compute.reads or not _along_columns(inner):
        return False
    data, source = inner.compute.reads[0].tensor, inner.compute.reads[-1].tensor
    sizes = (*inner.compute.shape[-2:], *inner.compute.reduce_shape, panel)
    if not isinstance(source.owner, Block) or data is source or element_of(source) != f32:
        return False
    if not all(isinstance(extent, int) for extent in sizes):
        return False
    rows, columns, *terms, width = map(known, sizes)
    apart = gcd(columns * _FLOAT, _PAGE)
    crowded = apart > work.machine.cache_line and prod(terms) * apart >= work.machine.l1
    return crowded and rows >= _MANY and columns > width and prod(terms) * width * _FLOAT <= _KEPT


def _copy_panels(work: Scheduling, host: Stage, inner: Stage, panel: IterVar) -> None:
    """Let a panel of columns lie in one piece for all tiles of rows."""
    copy = work.schedule.cache_read(inner.compute.reads[-1].tensor, "local", [inner])
    copy.compute_at(host, panel)
    work.vectorize(copy, copy.axes[-1], unroll=True)
    work.done.add(copy)


def _tile_words(work: Scheduling, host: Stage, inner: Stage, matrix: Matrix, size: int | None) -> None:
    """Products of words in tiles: a panel of columns stays in a cache for all rows.

    for parallel n.outer { for m.outer { acc[m.inner, n.inner] in tiles; for k { acc += .. }; out = acc } }
    """
    batch, rows, columns, extent, *_ = matrix
    packed = tag_of(inner) == "dense_pack"
    width = tile_columns(known(shape_of(inner.compute.reads[-1])[-1])) if packed else 2 * WORDS
    m_outer, m_inner = host.split(rows, tile_rows(known(extent), width), tail="cut")
    n_outer, n_inner = host.split(columns, width, tail="round_up" if packed else "cut")
    host.reorder(*(batch if size is not None else ()), n_outer, m_outer, m_inner, n_inner)
    inner.compute_at(host, m_outer)
    sum_in_tiles(inner, inner.axes)
    if size is not None:
        # Only a loop that is not shared can be cut.
        whole = packed or same(columns.extent % n_inner.extent, 0)
        shared = [*batch, n_outer] if whole else [*batch]
        if whole and passes(shared) < PANELS and same(extent % m_inner.extent, 0):
            shared.append(m_outer)
        work.parallel(host, shared, size)
    work.vectorize(host, n_inner, unroll=True)


def _register_tile(work: Scheduling, rows: int, panel: int, whole: bool) -> tuple[int, int]:
    """The rows and the vectors of the register tile, of `rows` and of the vectors of a panel."""
    height, vectors = product_tile(rows, panel, work.machine, whole)
    heights = range(1, min(rows, work.machine.accumulators) + 1)
    # How loops are ordered and shared follows from whether tiles fit into rows and columns.
    vectors = looked_at(work.knob("vectors", product_widths(panel, whole), vectors))
    height = work.knob("rows", heights, height, lambda at: product_fits(at["rows"], at["vectors"], work.machine))
    return height, vectors


def _panels_inside(work: Scheduling, rows: Size, free: bool, shared: bool) -> bool:
    """Return whether all panels are multiplied with a tile of rows before the next, where one is `free` to say."""
    orders = (0, 1) if free and isinstance(rows, int) else (0,)
    # Tiles that are shared among threads have to be alike.
    legal: Legal | None = (lambda at: (at["panels_inside"] == 0) | (rows % at["rows"] == 0)) if shared else None
    return bool(work.knob("panels_inside", orders, 0, legal))


def _steps(work: Scheduling, terms: IterVar, packed: bool, known_rows: bool) -> int:
    """The steps of a product's reduction that one pass of its loop makes; 1 where it is left alone."""
    most = (_STEPS if known_rows else _OPEN_STEPS) if packed else 1
    fits = [count for count in _UNROLLED if same(terms.extent % count, 0) and not below(terms.extent, count + 1)]
    return work.knob("steps", {1, *fits}, most if most in fits else 1)


def _cost(
    work: Scheduling, host: Stage, inner: Stage, matrix: Matrix, lanes: int, shared: Sequence[IterVar]
) -> Formula:
    """The cost of a product whose sizes are numbers, as a function of its knobs."""
    batch, rows, columns = passes(matrix.batch), known(matrix.height), known(matrix.columns.extent)
    terms, machine = prod(map(known, inner.compute.reduce_shape)), work.machine
    panel = min(columns, lanes * max(1, columns // lanes))
    batched = bool(shared) and shared[0] in matrix.batch
    row_width, column_width = operand(inner, 0).width, operand(inner, -1).width

    def formula(at: Values) -> Cost:
        height, vectors, inside = at["rows"], at["vectors"], at["panels_inside"]
        width = np.minimum(vectors * lanes, panel)
        tiles, panels = np.ceil(rows / height), np.ceil(columns / width)
        whole = batch * tiles * panels
        per_tile, per_panel = height * terms * row_width, width * terms * column_width
        inner_bytes = where(inside, per_panel * panels, per_tile * tiles)
        outer_bytes = where(inside, per_tile * tiles, per_panel * panels)
        held = where(inside, per_tile, per_panel)
        # The outer operand is read again in each pass of the inner loop, and the inner one in each of the outer.
        again = moved(inner_bytes * batch, where(inside, tiles, panels) - 1, inner_bytes + held, machine)
        kept = moved(outer_bytes * batch, where(inside, panels, tiles) - 1, per_tile + per_panel, machine)
        once = Moved(memory=np.asarray(float(batch * columns * terms * column_width)))
        return Cost(
            products=batch * rows * panels * vectors * terms,
            sums=height * vectors,
            loads=whole * terms * (height + vectors),
            steps=whole * terms / at["steps"],
            moved=again.also(kept).also(once),
            passes=where(inside, tiles, panels) * (batch if batched else 1) * at["parallel"] if shared else 0,
        )

    return formula


def _schedule_parts(work: Scheduling, stage: Stage, parts: Stage) -> None:
    """Sums of a few products in registers, as narrow as the operands, are added to those of a tile, which are wide.

    for parallel n.outer { for m.outer { for ko { part[m.inner, n.inner]; for ki { part += .. }; acc += part } } }
    """
    size = points(parts)
    host, inner = work.hosted(stage)
    rows, columns = host.leaf
    panel = known(shape_of(parts.compute.reads[-1])[-1])
    narrow = work.machine.lanes(element_bytes(parts.compute.result.type.element_type))
    lanes = work.lanes(host)
    if panel % narrow:
        narrow = lanes
    height, vectors = _register_tile(work, counted(rows.extent), max(1, panel // narrow), panel % narrow == 0)
    m_outer, m_inner = host.split(rows, height)
    n_outer, n_inner = host.split(columns, vectors * narrow if panel % narrow == 0 else panel, tail="round_up")
    host.reorder(n_outer, m_outer, m_inner, n_inner)
    inner.compute_at(host, m_outer)
    shared = work.parallel(host, [n_outer], size)
    if work.is_large(parts):
        work.cost(_cost_of_parts(work, parts, (known(rows.extent), known(columns.extent), narrow), shared))
    parts.set_scope("local")
    (ko,), data = inner.reduce_axes, list(inner.axes)
    inner.reorder(ko, *data)
    parts.compute_at(inner, ko)
    (ki,), part_data = parts.reduce_axes, list(parts.axes)
    parts.reorder(ki, *part_data)
    work.done.add(parts)
    for part, axes, width in ((host, [m_inner, n_inner], lanes), (inner, data, lanes), (parts, part_data[:2], narrow)):
        if height > 1:
            part.unroll(axes[0])
        if panel % narrow:
            part.vectorize(axes[1])
        else:
            v_outer, v_inner = part.split(axes[1], width)
            part.unroll(v_outer)
            part.vectorize(v_inner)


def _cost_of_parts(work: Scheduling, parts: Stage, sizes: tuple[int, int, int], shared: Shared) -> Formula:
    """The cost of a product of some rows and columns whose parts are summed in vectors of some narrow lanes."""
    rows, columns, lanes = sizes
    terms = prod(map(known, parts.compute.shape[2:])) * prod(map(known, parts.compute.reduce_shape))

    def formula(at: Values) -> Cost:
        height, vectors = at["rows"], at["vectors"]
        tiles = np.ceil(rows / height) * np.ceil(columns / (vectors * lanes))
        weights = np.asarray(columns * terms * 1.0)
        return Cost(
            products=tiles * height * vectors * terms,
            sums=height * vectors,
            loads=tiles * terms * (height + vectors),
            steps=tiles * terms,
            moved=moved(weights, 1, weights, work.machine),
            passes=shared(at),
        )

    return formula


def _shared_batch(stage: Stage) -> list[int]:
    """The axes of a product's batch along which its second operand is the same."""
    if not stage.compute.reads:
        return []
    last, axes = stage.compute.reads[-1], list(stage.compute.axes)
    used = [last.indices[dim] for expr in last.map.data.results for dim in expr.used_dims()]
    return [number for number, axis in enumerate(axes[:-2]) if axis not in used]


def _of_rows(work: Scheduling, stage: Stage) -> bool:
    """Return whether elements are sums along rows of both operands, which few others share: vectors go along rows then.

    Panels would gather a column from as many rows as it has numbers, which pays once more rows multiply it.
    """
    rows, columns = stage.compute.shape[-2:]
    few = below(columns, 2) or (rows <= FEW_ROWS if isinstance(rows, int) else work.few_rows)
    return few and along_all(stage)


def _of_long_rows(stage: Stage) -> bool:
    """Return whether elements are sums along rows of both operands that are long beside the sums across lanes."""
    terms = stage.compute.reduce_shape[-1]
    return isinstance(terms, int) and terms >= LONG_ROW and along_all(stage)


def _matrix_axes(host: Stage, shared: Sequence[int]) -> tuple[list[IterVar], IterVar, IterVar, int]:
    """The batch, rows and columns of a product, and the number of the axis that has the rows.

    Where batches that share the second operand have a row each, those are the rows of one product.
    """
    *batch, rows, columns = host.leaf
    number = len(batch)
    if shared:
        number = shared[-1]
        batch[number], rows = rows, batch[number]
    return batch, rows, columns, number


def _schedule_rows(work: Scheduling, stage: Stage, shared: Sequence[int] = ()) -> None:
    """Lanes run along the rows of both operands, of which some are multiplied with some; their lanes are summed last.

    for parallel n.outer { for m.outer { rf[m.inner, n.inner, lane]; for k { rf += .. }; out = vector reductions } }
    """
    size = points(stage)
    part, host, inner = lane_sums(work, stage)
    batch, rows, columns, number = _matrix_axes(host, shared)
    count = 1 if work.few_rows and not isinstance(rows.extent, int) else counted(rows.extent)
    height, width = product_tile(count, _VECTORS, work.machine, True)
    m_outer, m_inner = host.split(rows, height)
    n_outer, n_inner = host.split(columns, width)
    for axis in (m_outer, n_outer, part.reduce_axes[-1]):
        (part if axis.reduce else host).pragma(axis, PARTITION_HINT, 1)
    host.reorder(*batch, n_outer, m_outer, m_inner, n_inner)
    # Only a loop that is not shared can be cut: without it, the sums of few rows would ask for each column.
    work.parallel(host, batch if shared else [*batch, n_outer], size)
    host.unroll(m_inner)
    host.unroll(n_inner)
    place_lane_sums(part, host, inner, m_outer, (number, len(host.axes) - 1))


def _along_columns(stage: Stage) -> bool:
    """Return whether the columns of the second operand follow one another in memory; numbers in its place do not."""
    if not stage.compute.reads:
        return False
    last = stage.compute.reads[-1]
    column = stage.compute.axes[-1]
    used = [last.indices[dim] for dim in last.map.data.results[-1].used_dims()]
    return used == [column]


def _panel(columns: int, lanes: int) -> int:
    """The columns of a tile: whole vectors if they divide the columns, else as many as fill vectors best."""
    if columns % lanes == 0:
        return lanes * largest_divisor(columns // lanes, _VECTORS)
    divisors = [width for width in range(1, min(columns, _VECTORS * lanes) + 1) if columns % width == 0]
    return max(divisors, key=lambda width: (width / (-(-width // lanes) * lanes), width))


def _ragged_panel(rows: int, columns: int, lanes: int, machine: Machine) -> int:
    """The columns of a tile, whole vectors of which the last panel wastes little."""
    if columns <= lanes:
        return columns
    least = -(-columns // lanes)
    counts = range(1, min(_VECTORS, least) + 1)
    best = min(counts, key=lambda count: (-(-least // count) * count * _tile_cost(rows, count, machine), -count))
    # One panel has only the existing columns: more would not fit the registers.
    return min(lanes * best, columns)


def _tile_cost(rows: int, vectors: int, machine: Machine) -> float:
    """Return the cost of loads in the best tile of a panel of some vectors, in the time of its products; at least 1."""
    height, width = product_tile(rows, vectors, machine, False)
    return max(1.0, _LOADS * (height + width) / (height * width))
