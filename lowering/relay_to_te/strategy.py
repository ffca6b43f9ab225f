"""Default schedules: which loops a fused group gets, by its reductions' tags.

The one reduction of a group is computed tile by tile inside the loops of the group's last stage, in registers; all
elementwise stages are inlined; what is left is vectorised innermost and shared among threads outermost.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir.affine import AffineDimExpr

from ...dialects import te
from ...dialects.tir import element_bytes
from ...passes.relay.blocking import largest_divisor
from ...te.itervar import IterVar
from ...te.schedule import Schedule
from ...te.stage import Stage
from .convolution import tile_width

_SERIAL_LIMIT = 1 << 14
"""Loops over fewer points are not worth waking threads for."""

_ACCUMULATORS = 24
"""More of them bring nothing, or are spilled."""
_STEPS = 4
"""Steps of a packed product's reduction in one pass of its loop."""
_RAGGED = 1.25
"""What a height that does not divide the rows costs: the last tile is computed by code of its own."""


def schedule_function(func: te.FuncOp, vector_bits: int) -> Schedule:
    """The default schedule of a te.func for vectors of `vector_bits`."""
    schedule = Schedule(func)
    strategy = _Strategy(schedule, vector_bits)
    strategy.run()
    return schedule


class _Strategy:
    def __init__(self, schedule: Schedule, vector_bits: int):
        self.schedule = schedule
        self.vector_bits = vector_bits
        self.hosts: set[Stage] = set()
        """Stages whose loops carry a reduction, scheduled together with it."""

    def run(self) -> None:
        schedule = self.schedule
        for stage in schedule.stages:
            if self._inlinable(stage):
                stage.compute_inline()
        for stage in [s for s in schedule.stages if not s.inlined]:
            if stage in self.hosts:
                continue
            tag = self._tag(stage)
            if stage.compute.reducer is None:
                self._elementwise(stage)
            elif tag in ("conv2d_NCHWc", "dense_pack", "dense", "depthwise_conv2d_NCHWc"):
                self._tiled(stage, tag)
            else:
                self._reduction(stage)

    def _inlinable(self, stage: Stage) -> bool:
        compute = stage.compute
        return compute.reducer is None and "keep" not in compute.attributes and not self.schedule.is_output(stage)

    @staticmethod
    def _tag(stage: Stage) -> str:
        tags = [name for name in stage.compute.attributes if name != "keep"]
        return tags[0] if tags else ""

    def _lanes(self, stage: Stage) -> int:
        element = stage.compute.result.type.element_type
        return self.vector_bits // 8 // max(4, element_bytes(element))

    # Elementwise

    def _vector_axis(self, stage: Stage, axis: IterVar, *, unroll: bool = False) -> IterVar | None:
        """The vector part of an axis: the largest power of two that divides it, at most the lanes.

        unroll: what is left outside it is unrolled.
        """
        width = self._lanes(stage)
        while width > 1 and axis.extent % width:
            width //= 2
        if width < 2:
            return None
        if width == axis.extent:
            stage.vectorize(axis)
            return axis
        outer, inner = stage.split(axis, width)
        if unroll:
            stage.unroll(outer)
        stage.vectorize(inner)
        return inner

    def _elementwise(self, stage: Stage) -> None:
        axes = [axis for axis in stage.leaf]
        if not axes:
            return
        last = axes[-1]
        if self._flat(stage):
            last = stage.fuse(*axes)
        vector = self._vector_axis(stage, last)
        self._parallel(stage, [axis for axis in stage.leaf if axis is not vector])

    @staticmethod
    def _flat(stage: Stage) -> bool:
        """Whether every read is of the same shape at the same point, so that the stage is one long loop."""
        compute = stage.compute
        for read in compute.reads:
            type_ = read.tensor.type
            assert isinstance(type_, TensorType)
            same = type_.get_shape() == compute.shape and list(read.indices) == list(compute.axes)
            if not ((same and read.map.data.results == _identity(len(compute.shape))) or _constant(read)):
                return False
        return not any(isinstance(op, te.IndexOp) for op in compute.block.ops)

    def _parallel(self, stage: Stage, axes: list[IterVar]) -> None:
        """Share the outermost data loops among threads, if there is enough work in the stage."""
        data: list[IterVar] = []
        for axis in axes:
            if axis.reduce or axis.kind != "serial":
                break
            data.append(axis)
        points = 1
        for extent in (*stage.compute.shape, *stage.compute.reduce_shape):
            points *= extent
        if not data or points < _SERIAL_LIMIT:
            return
        stage.parallel(stage.fuse(*data))

    # Reductions

    def _reduction(self, stage: Stage) -> None:
        """Outer data loops, the reduction, the vector loop; the accumulator stays in registers."""
        host, inner = self._hosted(stage)
        axes = list(host.leaf)
        vector = self._vector_axis(host, axes[-1]) if axes else None
        outer = [axis for axis in host.leaf if axis is not vector]
        self._parallel_around(host, outer, inner)

    def _parallel_around(self, host: Stage, outer: list[IterVar], inner: Stage) -> None:
        """Fuse and share `outer`, and compute `inner` inside it."""
        if not outer:
            inner.compute_root()
            return
        points = 1
        for extent in (*inner.compute.shape, *inner.compute.reduce_shape):
            points *= extent
        fused = host.fuse(*outer)
        inner.compute_at(host, fused)
        if points >= _SERIAL_LIMIT:
            host.parallel(fused)
        data = [axis for axis in inner.leaf if not axis.reduce]
        inner.reorder(*inner.reduce_axes, *data)
        if data and host.leaf[-1].kind == "vectorized":
            inner.vectorize(data[-1])

    def _hosted(self, stage: Stage) -> tuple[Stage, Stage]:
        """(host, inner): the stage whose loops carry the reduction, and the reduction in registers.

        That is the elementwise stage that reads it alone, else a copy made by cache_write.
        """
        host = self._host(stage)
        if host is None:
            host, inner = stage, self.schedule.cache_write(stage, "local")
        else:
            inner = stage
            inner.set_scope("local")
        self.hosts.add(host)
        return host, inner

    def _host(self, stage: Stage) -> Stage | None:
        if self.schedule.is_output(stage):
            return None
        readers = self._readers(stage)
        if len(readers) != 1:
            return None
        host = readers.pop()
        usable = host.compute.reducer is None and not host.relations and self.schedule.is_output(host)
        same_points = len(host.compute.shape) == len(stage.compute.shape) and all(
            a <= b for a, b in zip(host.compute.shape, stage.compute.shape, strict=True)
        )
        return host if usable and same_points else None

    def _readers(self, stage: Stage) -> set[Stage]:
        """The stages with buffers that read this one, directly or through inlined ones."""
        found: set[Stage] = set()
        for use in stage.compute.result.uses:
            compute = use.operation.parent_op()
            if isinstance(compute, te.ComputeOp):
                reader = self.schedule[compute]
                found |= self._readers(reader) if reader.inlined else {reader}
        return found

    def _tiled(self, stage: Stage, tag: str) -> None:
        """A register tile: outer loops, then the reduction, then tile loops unrolled and the vector loop."""
        host, inner = self._hosted(stage)
        match tag:
            case "dense" | "dense_pack":
                self._dense(host, inner)
            case _:
                self._convolution(host, inner)

    def _convolution(self, host: Stage, inner: Stage) -> None:
        n, channels, rows, columns, lanes = host.leaf
        registers = 32 if self.vector_bits == 512 else 16
        per_pixel = max(1, lanes.extent // self._lanes(host))
        width = min(tile_width(columns.extent), registers // per_pixel)
        blocks = 1
        reuse = len(inner.reduce_axes) == 4
        for candidate in (2, 4):
            fits = (width * candidate + candidate + 1) * per_pixel <= registers
            if reuse and channels.extent % candidate == 0 and fits:
                blocks = candidate
        c_outer, c_inner = host.split(channels, blocks)
        x_outer, x_inner = host.split(columns, width)
        host.reorder(n, c_outer, rows, x_outer, x_inner, c_inner, lanes)
        outer = host.fuse(n, c_outer, rows)
        host.parallel(outer)
        host.unroll(x_inner)
        host.unroll(c_inner)
        self._vector_axis(host, lanes, unroll=True)
        inner.compute_at(host, x_outer)
        n, channels, rows, columns, lanes = inner.axes
        # Pixels outside channels: a pixel is broadcast once, and the few weight vectors stay in registers.
        inner.reorder(*inner.reduce_axes, n, rows, columns, channels, lanes)
        inner.unroll(channels)
        inner.unroll(columns)
        self._vector_axis(inner, lanes, unroll=True)

    def _dense(self, host: Stage, inner: Stage) -> None:
        *batch, rows, columns = host.leaf
        lanes = self._lanes(host)
        packed = "dense_pack" in inner.compute.attributes
        block = self._panel(inner) if packed else largest_divisor(columns.extent, 4 * lanes)
        height, vectors = self._tile(rows.extent, max(1, block // lanes))
        if block % lanes == 0:
            block = vectors * lanes
        m_outer, m_inner = host.split(rows, height)
        n_outer, n_inner = host.split(columns, block)
        host.reorder(*batch, n_outer, m_outer, m_inner, n_inner)
        fused = host.fuse(*batch, n_outer)
        host.parallel(fused)
        host.unroll(m_inner)
        self._vector_axis(host, n_inner, unroll=True)
        inner.compute_at(host, m_outer)
        data, reduce = list(inner.axes), list(inner.reduce_axes)
        if packed and reduce[-1].extent % _STEPS == 0 and reduce[-1].extent > _STEPS:
            reduce[-1:] = inner.split(reduce[-1], _STEPS)
            inner.unroll(reduce[-1])
        inner.reorder(*reduce, *data)
        if height > 1:
            inner.unroll(data[-2])
        last = data[-1]
        if block % lanes == 0 and block > lanes:
            v_outer, v_inner = inner.split(last, lanes)
            inner.unroll(v_outer)
            inner.vectorize(v_inner)
        elif block in (2, 4, 8, 16, 32):
            inner.vectorize(last)

    def _tile(self, rows: int, panel: int) -> tuple[int, int]:
        """The rows and the vectors of the register tile: of `rows`, and of the `panel` vectors of a row.

        A step of the reduction loads both and multiplies each with each, so the tile with the fewest loads per product
        is best. The last tile of rows may be cut off; its share of the work is the smaller the more tiles there are.
        """
        registers = 32 if self.vector_bits == 512 else 16

        def cost(tile: tuple[int, int]) -> float:
            height, vectors = tile
            ragged = _RAGGED if rows % height else 1.0
            return (height + vectors) / (height * vectors) * ragged

        widths = [width for width in range(1, panel + 1) if panel % width == 0]
        heights = range(1, min(rows, _ACCUMULATORS) + 1)
        fits = [(h, w) for w in widths for h in heights if h * w <= _ACCUMULATORS and (h + 1) * w < registers]
        return min(fits, key=cost)

    def _panel(self, inner: Stage) -> int:
        """The columns per packed panel: the last extent of the weight."""
        weight = inner.compute.reads[1].tensor.type
        assert isinstance(weight, TensorType)
        return weight.get_shape()[2]


def _identity(rank: int) -> tuple[AffineDimExpr, ...]:
    return tuple(AffineDimExpr(i) for i in range(rank))


def _constant(read: te.ReadOp) -> bool:
    return not read.indices
