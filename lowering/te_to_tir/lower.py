"""te + schedule -> tir: loop nests over buffers.

Before: a te.func and its schedule. After: one tir.prim_func over the function's arguments, then its results.
A stage's ops, its store and its loops are located at the stage; a loop that several stages share at all of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Literal, NoReturn, cast

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te, tir
from ...dialects.affine import ZERO, bounds, linear, substitute
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import ScheduleError, describe
from ...provenance.span import fuse
from ...te.affine_forms import bounds_of
from ...te.itervar import Attach, IterVar, Split, ThreadAxis
from ...te.normalize import normalize
from ...te.relations import Interval, axis_values, full_region, loop_extents
from ...te.schedule import Schedule
from ...te.stage import Stage
from ...te.tensorize import match_tile
from .bodies import BodyLowering, room
from .regions import clip, index_interval, union
from .scans import scan_bodies
from .storage import Layout, Stored, attributes_of, layout_of
from .tiles import Place, inline_kernel
from .whole import copy_rows, emit_extern, emit_hybrid

Part = Literal["all", "init", "update"]

_STACK_LIMIT = 1 << 18
"""A local buffer, or one computed inside a parallel loop, lives on its thread's stack; this many bytes at most."""


def lower_schedule(schedule: Schedule, part: Part = "all") -> tir.PrimFuncOp:
    """The prim_func of a schedule, with the te.func's name. The schedule's function is consumed.

    part: of the reductions that are results, only their start (`init`), or only their terms (`update`).

    Raises ScheduleError when the schedule cannot be carried out.
    """
    normalize(schedule)
    return _Lowering(schedule, part).run()


def _location_of(value: SSAValue) -> LocationAttr:
    assert isinstance(value.owner, Operation)
    return value.owner.location


class _Lowering(BodyLowering):
    def __init__(self, schedule: Schedule, part: Part):
        self.schedule = schedule
        self.part: Part = part
        func = schedule.func
        outputs = list(func.return_op.values)
        types = [cast(TensorType[Attribute], value.type) for value in [*func.block.args, *outputs]]
        buffers = [tir.BufferType.of(type_.get_shape(), type_.element_type) for type_ in types]
        self.func = tir.PrimFuncOp(func.sym_name.data, buffers, len(outputs))
        self.func.location = func.location
        super().__init__(LocatedBuilder(self.func.block, func.location))
        for argument, value in zip(self.func.block.args, [*func.block.args, *outputs], strict=True):
            is_output = value in outputs
            argument.name_hint = "out" if is_output else value.name_hint
            argument.location = value.location if isinstance(value, BlockArgument) else _location_of(value)
            self.storage[value] = self._stored(argument)
        self.stage_of = {stage.compute: stage for stage in schedule.stages}
        self.scans = scan_bodies(func)
        self.children: dict[IterVar, list[Stage]] = {}
        for stage in schedule.stages:
            if (at := stage.attach) is not None:
                if at.stage.inlined:
                    raise ScheduleError(
                        f"compute_at: stage '{stage.label}' is computed inside '{at.stage.label}', which is inlined"
                    )
                self.children.setdefault(at.loop, []).append(stage)
        self.parallel_depth = 0
        self.threads: dict[ThreadAxis, int] = {}

    @staticmethod
    def _stored(buffer: SSAValue) -> Stored:
        return Stored(buffer, [ZERO] * len(tir.buffer_of(buffer).shape))

    def run(self) -> tir.PrimFuncOp:
        for op in list(self.schedule.func.block.ops):
            match op:
                case te.ComputeOp():
                    stage = self.stage_of[op]
                    if stage.attach is None and op not in self.scans:
                        region = full_region(op.shape)
                        self._allocate(stage, region)
                        self._emit(stage, region)
                case te.ScanOp():
                    self._scan(op)
                case te.ExternOp() | te.HybridOp():
                    with self.builder.located(op.location):
                        buffers = [*(self.storage[value].buffer for value in op.inputs), *self._results(op)]
                        if isinstance(op, te.ExternOp):
                            emit_extern(self.builder, op, buffers)
                        else:
                            emit_hybrid(self.builder, op, buffers)
                case _:
                    pass
        return self.func

    # Stages that are no computes

    def _results(self, op: te.ScanOp | te.ExternOp | te.HybridOp) -> list[SSAValue]:
        """The buffers of an operation's results."""
        for output in op.outputs:
            if output not in self.storage:
                type_ = output.type
                buffer = self.builder.add(tir.AllocOp(tir.BufferType.of(type_.get_shape(), type_.element_type))).result
                buffer.name_hint = output.name_hint
                self.storage[output] = self._stored(buffer)
        return [self.storage[output].buffer for output in op.outputs]

    def _scan(self, scan: te.ScanOp) -> None:
        """The first rows, then a serial loop over time; states, updates and results are one buffer each."""
        stages = [stage for stage in self.schedule.stages if self.scans.get(stage.compute) is scan]
        with self.builder.located(scan.location):
            buffers = self._results(scan)
            for init, buffer in zip(scan.inits, buffers, strict=True):
                copy_rows(self.builder, self.storage[init].buffer, buffer)
        for buffer, state, update in zip(buffers, scan.states, scan.updates, strict=True):
            self.storage[state] = self.storage[update] = self._stored(buffer)
        hint = stages[0].axes[0].name if stages else "t"
        loop = tir.ForOp.make(scan.steps - scan.first, "serial", hint)
        with self.builder.located(fuse([scan.location, *(stage.compute.location for stage in stages)])):
            self.builder.add(loop)
        time = AffineDimExpr(len(self.vars)) + scan.first
        self.vars.append(loop.var)
        self.ranges.append((0, max(0, scan.steps - scan.first - 1)))
        with self.builder.at(loop.block):
            for stage in stages:
                if stage.attach is None:
                    region = [Interval(time, 1), *full_region(stage.compute.shape[1:])]
                    self._allocate(stage, region)
                    self._emit(stage, region)
        del self.vars[-1], self.ranges[-1]

    # Buffers

    def _allocate(self, stage: Stage, region: Sequence[Interval]) -> None:
        """Give the tensors of a stage that are no results of the function their buffers."""
        for output in stage.compute.outputs:
            if output not in self.storage:
                layout = layout_of(stage, [interval.extent for interval in region])
                buffer = self._buffer(stage, output.type.element_type, layout)
                buffer.name_hint = output.name_hint or (stage.label if SSAValue.is_valid_name(stage.label) else None)
                self.storage[output] = Stored(buffer, [interval.start for interval in region], layout)

    def _buffer(self, stage: Stage, element: Attribute, layout: Layout) -> SSAValue:
        type_ = tir.BufferType.of(layout.shape, element, stage.scope)
        top = self.func.block
        with self.builder.located(stage.compute.location):
            op = tir.AllocOp(type_)
            on_stack = stage.scope == "local" or self.parallel_depth > 0
            if on_stack and type_.nbytes > _STACK_LIMIT:
                self._too_large(stage, type_)
            if stage.scope == "local" or not on_stack:
                if stage.scope == "global" and self.builder.block is not top:
                    op.location = self.builder.location
                    first = top.first_op
                    assert first is not None
                    top.insert_op_before(op, first)
                else:
                    self.builder.add(op)
            else:
                op = self.builder.add(tir.AllocOp(tir.BufferType.of(layout.shape, element, "local")))
        op.attributes.update(attributes_of(stage))
        return op.result

    @staticmethod
    def _too_large(stage: Stage, type_: tir.BufferType) -> NoReturn:
        local = stage.scope == "local"
        primitive, place = (
            ("set_scope", "in a local buffer") if local else ("compute_at", "per pass of a parallel loop")
        )
        where = describe(stage.compute.location)
        raise ScheduleError(
            f"{primitive}: expected at most {_STACK_LIMIT} bytes {place}, "
            f"got {type_.nbytes} (stage '{stage.label}'{', ' + where if where else ''})"
        )

    # Loops

    def _emit(self, stage: Stage, region: Sequence[Interval]) -> None:
        extents = loop_extents(stage, region)
        bound: dict[IterVar, AffineExpr] = {}
        tiled = next((axis for axis in stage.leaf if axis.intrin is not None), None)
        loops = stage.leaf[: stage.leaf.index(tiled)] if tiled is not None else stage.leaf
        reduction = next((i for i, axis in enumerate(loops) if axis.reduce), len(loops))
        # A tile with the whole of a reduction starts it too.
        apart = reduction < len(loops) if tiled is not None else stage.compute.reducer is not None
        part = self.part if self.schedule.is_output(stage) else "all"
        with self._nest(stage, region, extents, loops[:reduction], bound):
            if apart and part != "update":
                start = dict(bound)
                data = [axis for axis in loops[reduction:] if not axis.reduce]
                with self._nest(stage, region, extents, data, start, attach=False):
                    if tiled is not None:
                        self._tile(stage, region, extents, start, tiled, "init")
                    else:
                        self._store(stage, region, extents, start, init=True)
            if part != "init":
                with self._nest(stage, region, extents, loops[reduction:], bound):
                    if tiled is not None:
                        self._tile(stage, region, extents, bound, tiled, "update" if apart else "all")
                    else:
                        self._store(stage, region, extents, bound, init=False)

    def _tile(
        self,
        stage: Stage,
        region: Sequence[Interval],
        extents: dict[IterVar, int],
        bound: dict[IterVar, AffineExpr],
        axis: IterVar,
        part: Part,
    ) -> None:
        """What an intrinsic does in place of the loops from `axis` on."""
        intrin = axis.intrin
        assert intrin is not None
        inside = stage.leaf[stage.leaf.index(axis) :]
        if held := [child.label for loop in inside for child in self.children.get(loop, [])]:
            stage.fail("tensorize", f"expected no stage inside the tile, got {', '.join(held)}")
        tile = match_tile(axis, intrin, extents)
        depth = len(self.ranges)
        leaves = bound | {loop: self.free(extents[loop]) for loop in stage.leaf if loop not in bound}
        values = axis_values(stage, extents, leaves)
        if list(self._guards(stage, region, extents, values, self.points(stage, region, values), part == "init")):
            stage.fail("tensorize", "expected whole tiles, got one that reaches past the end")
        del self.ranges[depth:]
        leaves = bound | {loop: ZERO for loop in stage.leaf if loop not in bound}
        points = self.points(stage, region, axis_values(stage, extents, leaves))

        def place(tensor: SSAValue, start: Sequence[AffineExpr], dims: Sequence[int]) -> Place:
            stored = self.storage[tensor]

            def at(local: Sequence[AffineExpr]) -> list[AffineExpr]:
                point = list(start)
                for dim, expr in zip(dims, local, strict=True):
                    point[dim] = point[dim] + expr
                return stored.place(point)

            return stored.buffer, at

        func = lower_schedule(intrin.body.snapshot(), part)
        *inputs, output = func.block.args
        places: dict[SSAValue, Place] = {
            output: place(stage.compute.result, [points[a] for a in stage.compute.axes], tile.output)
        }
        for argument, pattern in zip(inputs, intrin.pattern.block.args, strict=True):
            read, dims = tile.inputs[pattern]
            start = [substitute(expr, [points[i] for i in read.indices]) for expr in read.map.data.results]
            places[argument] = place(read.tensor, start, dims)
        with self.builder.located(stage.compute.location):
            inline_kernel(self, func, places)

    @contextmanager
    def _nest(
        self,
        stage: Stage,
        region: Sequence[Interval],
        extents: dict[IterVar, int],
        axes: Sequence[IterVar],
        bound: dict[IterVar, AffineExpr],
        attach: bool = True,
    ) -> Generator[None]:
        """The loops of `axes`, outermost first; inside, their values are in `bound`."""
        depth, block, parallel = len(self.vars), self.builder.block, self.parallel_depth
        for axis in axes:
            children = self.children.get(axis, []) if attach else []
            extent = extents[axis]
            if extent == 1:
                bound[axis] = ZERO
            else:
                loop = tir.ForOp.make(extent, self._kind(stage, axis, extent), axis.name)
                if attach:
                    loop.attributes.update(axis.hints)
                with self.builder.located(self._loop_location(stage, axis) if attach else stage.compute.location):
                    self.builder.add(loop)
                self.builder.block = loop.block
                bound[axis] = AffineDimExpr(len(self.vars))
                self.vars.append(loop.var)
                self.ranges.append((0, extent - 1))
                self.parallel_depth += loop.kind.data == "parallel"
            if children:
                regions = {child: self._required(child, stage, region, extents, bound) for child in children}
                for child in children:
                    if child.storage.rolling_buffer:
                        self._roll(child, regions[child], axis, extent)
                    else:
                        self._allocate(child, regions[child])
                        self._emit(child, regions[child])
        yield
        del self.vars[depth:], self.ranges[depth:]
        self.builder.block, self.parallel_depth = block, parallel

    def _roll(self, stage: Stage, region: Sequence[Interval], axis: IterVar, extent: int) -> None:
        """The first pass of the innermost loop computes all of the region, the others what the one before did not."""
        if extent == 1:
            self._allocate(stage, region)
            self._emit(stage, region)
            return
        loop = self.builder.block.parent_op()
        assert isinstance(loop, tir.ForOp)
        moving: list[tuple[int, int]] = []
        for i, interval in enumerate(region):
            for atom, factor in linear(interval.start, tuple(self.ranges)).terms:
                if len(self.vars) - 1 in atom.used_dims():
                    moving.append((i, factor if isinstance(atom, AffineDimExpr) else 0))
        if len(moving) != 1 or moving[0][1] < 1 or loop.kind.data not in ("serial", "unrolled"):
            stage.fail("rolling_buffer", f"expected a serial loop along one axis of the stage, got {axis.name}")
        if any(at in self.children for at in stage.leaf) or len(stage.compute.outputs) > 1:
            stage.fail("rolling_buffer", "expected a stage of one tensor without others inside")
        (dim, step), outer = moving[0], loop.parent
        assert outer is not None
        length = region[dim].extent
        with self.builder.at(outer):
            buffer = self._buffer(
                stage, stage.compute.result.type.element_type, layout_of(stage, [i.extent for i in region])
            )
        buffer.name_hint = stage.compute.result.name_hint
        alloc = cast(tir.AllocOp, buffer.owner)
        if alloc.parent is outer and alloc is outer.last_op:
            alloc.detach()
            outer.insert_op_before(alloc, loop)
        self.storage[stage.compute.result] = Stored(buffer, [i.start for i in region], rolling=(dim, length))
        if step >= length:
            self._emit(stage, region)
            return
        new = list(region)
        new[dim] = Interval(region[dim].start + (length - step), step)
        with self.builder.located(stage.compute.location):
            first = AffineMap(1, 0, (AffineDimExpr(0) * -1,))
            branch = self.builder.add(tir.IfOp.make(first, [loop.var], orelse=True))
        for part, block in zip((region, new), (r.block for r in branch.regions), strict=True):
            with self.builder.at(block):
                self._emit(stage, part)

    def _kind(self, stage: Stage, axis: IterVar, extent: int) -> str:
        """How a loop runs; its thread has one extent wherever it is bound, and blocks run in parallel."""
        if (thread := axis.thread) is None:
            return axis.kind
        wanted = self.threads.setdefault(thread, extent if thread.extent is None else thread.extent)
        if wanted != extent:
            stage.fail("bind", f"expected the extent {wanted} of {thread.tag}, got {extent} of {axis.name}")
        return "parallel" if thread.is_block and not self.parallel_depth else "serial"

    def _loop_location(self, stage: Stage, axis: IterVar) -> LocationAttr:
        """The stage's location, and those of the stages computed inside this loop."""
        locations = [stage.compute.location]
        for inner in stage.leaf[stage.leaf.index(axis) :]:
            for child in self.children.get(inner, []):
                locations.append(self._loop_location(child, child.leaf[0]))
        return fuse(locations)

    # Regions

    def _required(
        self,
        producer: Stage,
        host: Stage,
        region: Sequence[Interval],
        extents: dict[IterVar, int],
        bound: dict[IterVar, AffineExpr],
    ) -> list[Interval]:
        """What one pass of the host's current loops needs of `producer`."""
        shape = producer.compute.shape
        fixed = len(self.ranges)
        needed: list[Interval] | None = None
        for use in [use for output in producer.compute.outputs for use in output.uses]:
            read = use.operation
            compute = read.parent_op()
            if not isinstance(read, te.ReadOp) or not isinstance(compute, te.ComputeOp):
                continue
            consumer = self.stage_of[compute]
            if consumer is host:
                leaves = dict(bound)
                for axis in host.leaf:
                    if axis not in leaves:
                        leaves[axis] = self.free(extents[axis])
                values = axis_values(host, extents, leaves)
                points = self.points(host, region, values)
            else:
                if not self._inside(consumer, host):
                    raise ScheduleError(
                        f"compute_at: stage '{producer.label}' is computed inside '{host.label}', "
                        f"but read outside by '{consumer.label}'"
                    )
                inner = self._required(consumer, host, region, extents, bound)
                points: dict[SSAValue, AffineExpr] = {
                    argument: interval.start + self.free(interval.extent)
                    for argument, interval in zip(compute.axes, inner, strict=True)
                }
                for argument, extent in zip(compute.reduce_axes, compute.reduce_shape, strict=True):
                    points[argument] = self.free(extent)
            dims = [points[i] if i in points else self.unknown() for i in read.indices]
            ranges = tuple(self.ranges)
            found = [index_interval(substitute(expr, dims), ranges, fixed) for expr in read.map.data.results]
            if needed is None:
                needed = found
            else:
                needed = [union(a, b, ranges, e) for a, b, e in zip(needed, found, shape, strict=True)]
        del self.ranges[fixed:]
        if needed is None:
            raise ScheduleError(
                f"compute_at: stage '{producer.label}' is computed inside '{host.label}', which does not read it"
            )
        return [clip(interval, self.ranges, extent) for interval, extent in zip(needed, shape, strict=True)]

    @staticmethod
    def _inside(stage: Stage, host: Stage) -> bool:
        at: Attach | None = stage.attach
        while at is not None:
            if at.stage is host:
                return True
            at = at.stage.attach
        return False

    def _store(
        self,
        stage: Stage,
        region: Sequence[Interval],
        extents: dict[IterVar, int],
        bound: dict[IterVar, AffineExpr],
        *,
        init: bool,
    ) -> None:
        compute = stage.compute
        block = self.builder.block
        with self.builder.located(compute.location):
            leaves = dict(bound)
            if init:
                leaves.update((axis, ZERO) for axis in stage.leaf if axis.reduce)
            values = axis_values(stage, extents, leaves)
            points = self.points(stage, region, values)
            guard = list(self._guards(stage, region, extents, values, points, init))
            if guard:
                map, operands = self.access(guard)
                branch = self.builder.add(tir.IfOp.make(map, operands, likely=True))
                self.builder.block = branch.block
            stores = [self.storage[output] for output in compute.outputs]
            targets = [self.target(compute, points, storage) for storage in stores]
            if compute.reducer is None:
                values = self.elements(compute, points)
            elif init:
                values = self.identity(compute)
            else:
                loads = [tir.LoadOp.make(store.buffer, *target) for store, target in zip(stores, targets, strict=True)]
                olds = [self.builder.add(load).result for load in loads]
                values = self.combined(compute, points, olds)
            for value, store, target in zip(values, stores, targets, strict=True):
                self.builder.add(tir.StoreOp.make(value, store.buffer, *target))
        self.builder.block = block

    def _guards(
        self,
        stage: Stage,
        region: Sequence[Interval],
        extents: dict[IterVar, int],
        values: dict[IterVar, AffineExpr],
        points: dict[SSAValue, AffineExpr],
        init: bool,
    ) -> Iterable[AffineExpr]:
        """Expressions that are negative where a loop runs past what is wanted: uneven splits, ragged regions."""
        for relation in stage.relations:
            if isinstance(relation, Split) and not (init and relation.parent.reduce):
                extent, value = extents[relation.parent], values[relation.parent]
                if bounds(value, self.ranges)[1] >= extent:
                    yield room(value, extent)
        for argument, interval, extent in zip(stage.compute.axes, region, stage.compute.shape, strict=True):
            if interval == Interval(ZERO, extent):
                continue
            low, high = bounds(points[argument], self.ranges)
            if low < 0:
                yield points[argument]
            if high >= extent:
                yield room(points[argument], extent)
        if (predicate := stage.storage.predicate) is not None:
            yield from (substitute(e, [points[a] for a in stage.compute.axes]) for e in bounds_of(predicate))
