"""Winograd's convolutions: some rows of tiles at a time, whose points stay in a cache for all their products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....dialects import te
from ....dialects.relay.winograd import POINTS, TILE
from ....dialects.sizes.kernel import known
from ....support.machine import Machine
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ..cost import Cost, Moved, Rates, moved, where
from ..knobs import Values
from .common import PARTITION_HINT, Scheduling
from .convolution_cost import row_steps
from .terms import divisors
from .tiles import pixel_tiles, pixels_fit

_STACK = 1 << 18
"""The most bytes of a buffer that a pass of a parallel loop may have to itself."""
_FLOAT = 4
_SQUARE = POINTS * POINTS
"""The points of a tile."""
_ADDED = 32, 24
"""Additions of vectors that transform the data of a tile, and that make its results."""
_STORED = 36, 24
"""Loads and stores of vectors on the way: of the data of a tile, which is padded first, and of its results."""
_FORK = 4000
"""Steps of a loop that threads take to begin a loop that they share."""
_APART = 2
"""A byte of the points counts as so many: short runs of them lie far apart, which no core expects."""
_SHARE = 4
"""Bytes of the last cache that a core has to itself, in those of its own: other cores, and other programs, use it."""
_WAITED = 0.08, 0.16
"""Steps of a loop that sums wait for a byte of the last cache, and for one of memory."""
_THREADS = 4
"""Threads for which the work is shared well by default, and by any number with the same results."""


@dataclass(frozen=True)
class _Work:
    """The sizes of a convolution; those of tensors in bytes."""

    machine: Machine
    images: int
    rows: int
    """Rows of tiles."""
    columns: int
    """Tiles of a row."""
    depth: int
    """Input channels."""
    blocks: int
    """Blocks of output channels."""
    width: int
    """Channels of such a block."""
    per_block: int
    """Vectors of it."""

    def data(self, rows: Any) -> Any:
        """The points of some rows of tiles."""
        return rows * (self.columns * self.depth * _SQUARE * _FLOAT)

    def sums(self, rows: Any, blocks: Any) -> Any:
        """The sums for some rows of tiles and some blocks."""
        return rows * blocks * (self.columns * self.width * _SQUARE * _FLOAT)

    def candidates(self) -> dict[str, Sequence[int]]:
        """The numbers that knobs may be.

        They are the rows of tiles that are kept, and of a part, the blocks of a group, whether threads share what is
        kept, and the blocks and the points of a tile of sums.
        """
        rows, blocks = divisors(self.rows), divisors(self.blocks)
        widths, counts = pixel_tiles(self.rows * self.columns, self.blocks, self.per_block, self.machine)
        return {
            "kept_rows": rows,
            "rows": rows,
            "kept_blocks": blocks,
            "shared_data": (0, 1),
            "blocks": counts,
            "pixels": widths,
        }

    def tile_fits(self, at: Values) -> Any:
        """Return whether a tile is no larger than what it is part of, and fits the registers."""
        inside = (at["pixels"] <= at["rows"] * self.columns) & (at["kept_blocks"] % at["blocks"] == 0)
        return inside & pixels_fit(at["pixels"], at["blocks"], self.per_block, self.machine)

    def fits(self, at: Values) -> Any:
        """Return whether rows go together, and buffers are no larger than they may be."""
        kept, rows = at["kept_rows"], at["rows"]
        shared = at["shared_data"] == 1
        private = (kept == rows) & (self.data(kept) <= _STACK)
        return (self.sums(rows, at["kept_blocks"]) <= _STACK) & (kept % rows == 0) & (shared | private)

    def cost(self, at: Values) -> Cost:
        """The cost by the knobs."""
        kept, rows, shared = at["kept_rows"], at["rows"], at["shared_data"]
        vectors = at["blocks"] * self.per_block
        tiles, products = row_steps(self.columns * rows, at["pixels"], vectors)
        # Of rows that are kept apart the points are computed, and multiplied, up to the end of the last tile.
        products = where(kept == self.rows, products, tiles * at["pixels"] * vectors)
        panels, groups = at["kept_blocks"] / at["blocks"], self.blocks / at["kept_blocks"]
        parts, again = self.rows / kept * self.images, kept / rows
        passes = parts * groups * again
        points = passes * panels * _SQUARE
        weights = self.depth * self.blocks * self.width * _SQUARE * _FLOAT
        group, panel = weights / groups, weights / self.blocks * at["blocks"] / _SQUARE
        data, sums, slab = self.data(rows), self.sums(rows, at["kept_blocks"]), self.data(rows) / _SQUARE
        whole = self.data(kept)
        machine = replace(self.machine, l3=min(self.machine.l3, _SHARE * self.machine.l2))
        # Inside out: weights of a panel for each tile, a point of the data for each panel, the weights of a group for
        # each part of the data, the data for each group, and the weights for each part that is kept.
        traffic = Moved()
        for size, times, among in (
            (panel, points * (tiles - 1), panel + slab / tiles),
            (slab, points / panels * (panels - 1), panel + slab),
            (data, 2 * _APART * parts * again, whole),
            (sums, 2 * passes, sums),
            (group, parts * groups * (again - 1), group + data + sums),
            (data, _APART * parts * (groups - 1) * again, whole + group + sums),
            (weights, parts - 1, weights + whole + sums),
        ):
            traffic = traffic.also(moved(size, times, among, machine))
        waited = traffic.l3 * _WAITED[0] + traffic.memory * _WAITED[1]
        lanes = self.width / self.per_block
        ends = self.images * self.rows * self.columns / lanes
        of_data, of_results = ends * self.depth, ends * self.blocks * self.width
        steps = points * tiles * self.depth
        return Cost(
            products=points * products * self.depth + of_data * _ADDED[0] + of_results * _ADDED[1],
            sums=at["pixels"] * vectors,
            loads=steps * vectors
            + points * self.columns * rows * self.depth
            + of_data * _STORED[0]
            + of_results * _STORED[1],
            steps=steps + points * tiles + where(shared, 2 * parts * _FORK, 0) + waited,
            moved=traffic.also(Moved(memory=np.asarray(weights))),
            passes=where(shared, groups * again, parts),
        )

    def default(self) -> dict[str, int]:
        """The numbers of the knobs that fit and cost least."""
        candidates = self.candidates()
        grid = np.meshgrid(*candidates.values(), indexing="ij")
        at = dict(zip(candidates, (column.ravel() for column in grid), strict=True))
        allowed = self.fits(at) & self.tile_fits(at)
        if allowed.any():
            at = {name: column[allowed] for name, column in at.items()}
        best = int(np.argmin(self.cost(at).seconds(Rates.of(self.machine, _THREADS))))
        return {name: int(column[best]) for name, column in at.items()}


def schedule_winograd(work: Scheduling, stage: Stage) -> None:
    """Winograd's convolutions: the points of some rows of tiles, their products for some channels, and the results.

        for n, ty.outer {
            data_pack[16, c, tiles, lanes]
            for oc.outer, ty.middle { bgemm[16, oc.inner, tiles, lanes]; for oc.inner, ty, tx { results of a tile } }
        }

    Threads share the outer loops, or where the points are many or the rows few, the loops inside.
    """
    sums = _read(work, stage)
    points = _read(work, sums)
    host, inner = work.hosted(stage)
    n, channels, y, x, lanes = host.leaf
    sizes = _sizes(work, host, points)
    rule, legal = sizes.default(), {"shared_data": sizes.fits, "pixels": sizes.tile_fits}
    chosen = {
        name: work.knob(name, numbers, rule[name], legal.get(name)) for name, numbers in sizes.candidates().items()
    }
    ty, y_inner = host.split(y, TILE)
    tx, x_inner = host.split(x, TILE)
    kept, rest = host.split(ty, chosen["kept_rows"])
    middle, ty = host.split(rest, chosen["rows"])
    group, block = host.split(channels, chosen["kept_blocks"])
    host.reorder(n, kept, group, middle, block, ty, tx, y_inner, x_inner, lanes)
    # Of one loop over tiles no guard is a reason to have ends apart, where windows are odd in number.
    outside, inside, tile = host.fuse(n, kept), host.fuse(group, middle), host.fuse(ty, tx)
    host.pragma(outside, PARTITION_HINT, 0)
    host.parallel(inside if chosen["shared_data"] else outside)
    for axis in (y_inner, x_inner):
        host.unroll(axis)
    work.vectorize(host, lanes, unroll=True)
    inner.compute_at(host, tile)
    for axis in inner.leaf[-3:-1]:
        inner.unroll(axis)
    work.vectorize(inner, inner.leaf[-1], unroll=True)
    _place_points(work, points, host, outside, chosen)
    _place_sums(work, sums, host, inside, chosen)
    work.cost(sizes.cost)


def _read(work: Scheduling, stage: Stage) -> Stage:
    """The stage whose result is the first operand of another."""
    source = stage.compute.reads[0].tensor.owner
    assert isinstance(source, te.ComputeOp)
    return work.schedule[source]


def _sizes(work: Scheduling, host: Stage, points: Stage) -> _Work:
    images, blocks, rows, columns, width = (known(axis.extent) for axis in host.leaf)
    chunks, lanes = known(points.compute.shape[3]), known(points.compute.shape[-1])
    return _Work(
        machine=work.machine,
        images=images,
        rows=-(-rows // TILE),
        columns=-(-columns // TILE),
        depth=chunks * lanes,
        blocks=blocks,
        width=width,
        per_block=work.vectors(host, width),
    )


def _place_points(work: Scheduling, points: Stage, host: Stage, outside: IterVar, chosen: dict[str, int]) -> None:
    """Compute the points of rows of tiles inside a loop of the host, of the padded rows of some channels at a time."""
    points.compute_at(host, outside)
    *square, n, c, p, lanes = points.leaf
    points.reorder(n, c, p, *square, lanes)
    for axis in square:
        points.unroll(axis)
    _vectors_outside(work, points, square, lanes)
    if chosen["shared_data"]:
        points.parallel(c)
    work.done.add(points)
    source = points.compute.reads[0].tensor.owner
    if not isinstance(source, te.ComputeOp) or (padding := work.schedule[source]).inlined:
        return
    *_, columns, lanes_of = map(known, padding.compute.shape)
    if (chosen["kept_rows"] + 2) * TILE * columns * lanes_of * _FLOAT <= _STACK:
        padding.compute_at(points, c)
        work.vectorize(padding, padding.leaf[-1])
        work.done.add(padding)


def _vectors_outside(work: Scheduling, stage: Stage, square: list[IterVar], lanes: IterVar) -> None:
    """Make vectors of lanes, the loop over them outside of the points that they share numbers with."""
    if known(lanes.extent) <= work.lanes(stage):
        work.vectorize(stage, lanes)
        return
    outer, inner = stage.split(lanes, work.lanes(stage))
    stage.reorder(outer, *square, inner)
    stage.vectorize(inner)


def _place_sums(work: Scheduling, sums: Stage, host: Stage, inside: IterVar, chosen: dict[str, int]) -> None:
    """Compute the products of a group's channels inside a loop of the host, each tile of sums in registers."""
    sums.compute_at(host, inside)
    registers = work.schedule.cache_write(sums, "local")
    *square, n, channels, p, lanes = sums.leaf
    panel, blocks = sums.split(channels, chosen["blocks"])
    tile, pixels = sums.split(p, chosen["pixels"])
    sums.reorder(*square, n, panel, tile, pixels, blocks, lanes)
    sums.pragma(tile, PARTITION_HINT, 1)
    sums.unroll(pixels)
    sums.unroll(blocks)
    work.vectorize(sums, lanes, unroll=True)
    registers.compute_at(sums, tile)
    *square, n, channels, p, lanes = registers.axes
    registers.reorder(*registers.reduce_axes, *square, n, p, channels, lanes)
    registers.unroll(p)
    registers.unroll(channels)
    work.vectorize(registers, lanes, unroll=True)
    work.done |= {sums, registers}
