"""te + schedule -> tir: loop nests over buffers.

Before: a te.func and its schedule. After: one tir.prim_func over the function's arguments, then its results.
A stage's ops, its store and its loops are located at the stage; a loop that several stages share at all of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import NoReturn, cast

from xdsl.dialects.arith import MulfOp
from xdsl.dialects.builtin import IndexType, LocationAttr, TensorType
from xdsl.dialects.math import FmaOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te, tir
from ...dialects.affine import ZERO, Range, bounds, linear, simplify, substitute
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import ScheduleError, describe
from ...provenance.span import fuse, is_known
from ...te.itervar import Attach, IterVar, Split
from ...te.relations import Interval, axis_values, full_region, loop_extents
from ...te.schedule import Schedule
from ...te.stage import Stage
from .inline import inline_stages
from .reducers import combine, constant, identity
from .regions import clip, index_interval, union

_STACK_LIMIT = 1 << 18
"""A local buffer, or one computed inside a parallel loop, lives on its thread's stack; this many bytes at most."""


def lower_schedule(schedule: Schedule) -> tir.PrimFuncOp:
    """The prim_func of a schedule, with the te.func's name. The schedule's function is consumed.

    Raises ScheduleError when the schedule cannot be carried out.
    """
    inline_stages(schedule)
    return _Lowering(schedule).run()


def _room(index: AffineExpr, extent: int) -> AffineExpr:
    """How far `index` is below the last of `extent`; negative when it is past it."""
    return index * -1 + (extent - 1)


def _location_of(value: SSAValue) -> LocationAttr:
    assert isinstance(value.owner, Operation)
    return value.owner.location


class _Storage:
    """Where a tensor's elements are: element `i` at `i - starts` of the buffer."""

    def __init__(self, buffer: SSAValue, starts: Sequence[AffineExpr]):
        self.buffer = buffer
        self.starts = starts


class _Lowering:
    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        func = schedule.func
        outputs = list(func.return_op.values)
        types = [cast(TensorType[Attribute], value.type) for value in [*func.block.args, *outputs]]
        buffers = [tir.BufferType.of(type_.get_shape(), type_.element_type) for type_ in types]
        self.func = tir.PrimFuncOp(func.sym_name.data, buffers, len(outputs))
        self.func.location = func.location
        self.builder = LocatedBuilder(self.func.block, func.location)
        self.storage: dict[SSAValue, _Storage] = {}
        for argument, value in zip(self.func.block.args, [*func.block.args, *outputs], strict=True):
            is_output = value in outputs
            argument.name_hint = "out" if is_output else value.name_hint
            argument.location = value.location if isinstance(value, BlockArgument) else _location_of(value)
            self.storage[value] = self._stored(argument)
        self.stage_of = {stage.compute: stage for stage in schedule.stages}
        self.children: dict[IterVar, list[Stage]] = {}
        for stage in schedule.stages:
            if (at := stage.attach) is not None:
                if at.stage.inlined:
                    raise ScheduleError(
                        f"compute_at: stage '{stage.label}' is computed inside '{at.stage.label}', which is inlined"
                    )
                self.children.setdefault(at.loop, []).append(stage)
        # Dim i of every expression is self.vars[i], which lies in self.ranges[i].
        self.vars: list[SSAValue] = []
        self.ranges: list[Range] = []
        self.parallel_depth = 0

    @staticmethod
    def _stored(buffer: SSAValue) -> _Storage:
        return _Storage(buffer, [ZERO] * len(tir.buffer_of(buffer).shape))

    def run(self) -> tir.PrimFuncOp:
        for stage in self.schedule.stages:
            if stage.attach is None:
                region = full_region(stage.compute.shape)
                self._allocate(stage, region)
                self._emit(stage, region)
        return self.func

    # Buffers

    def _allocate(self, stage: Stage, region: Sequence[Interval]) -> None:
        """Give the tensors of a stage that are no results of the function their buffers."""
        for output in stage.compute.outputs:
            if output not in self.storage:
                buffer = self._buffer(stage, cast(TensorType[Attribute], output.type).element_type, region)
                buffer.name_hint = output.name_hint or (stage.label if SSAValue.is_valid_name(stage.label) else None)
                self.storage[output] = _Storage(buffer, [interval.start for interval in region])

    def _buffer(self, stage: Stage, element: Attribute, region: Sequence[Interval]) -> SSAValue:
        shape = [interval.extent for interval in region]
        type_ = tir.BufferType.of(shape, element, stage.scope)
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
                op = self.builder.add(tir.AllocOp(tir.BufferType.of(shape, element, "local")))
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
        reduction = next((i for i, axis in enumerate(stage.leaf) if axis.reduce), len(stage.leaf))
        with self._nest(stage, region, extents, stage.leaf[:reduction], bound):
            if stage.compute.reducer is not None:
                start = dict(bound)
                data = [axis for axis in stage.leaf[reduction:] if not axis.reduce]
                with self._nest(stage, region, extents, data, start, attach=False):
                    self._store(stage, region, extents, start, init=True)
            with self._nest(stage, region, extents, stage.leaf[reduction:], bound):
                self._store(stage, region, extents, bound, init=False)

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
                loop = tir.ForOp.make(extent, axis.kind, axis.name)
                with self.builder.located(self._loop_location(stage, axis) if attach else stage.compute.location):
                    self.builder.add(loop)
                self.builder.block = loop.block
                bound[axis] = AffineDimExpr(len(self.vars))
                self.vars.append(loop.var)
                self.ranges.append((0, extent - 1))
                self.parallel_depth += axis.kind == "parallel"
            if children:
                regions = {child: self._required(child, stage, region, extents, bound) for child in children}
                for child in children:
                    self._allocate(child, regions[child])
                    self._emit(child, regions[child])
        yield
        del self.vars[depth:], self.ranges[depth:]
        self.builder.block, self.parallel_depth = block, parallel

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
                        leaves[axis] = self._free(extents[axis])
                values = axis_values(host, extents, leaves)
                points = self._points(host, region, values)
            else:
                if not self._inside(consumer, host):
                    raise ScheduleError(
                        f"compute_at: stage '{producer.label}' is computed inside '{host.label}', "
                        f"but read outside by '{consumer.label}'"
                    )
                inner = self._required(consumer, host, region, extents, bound)
                points: dict[SSAValue, AffineExpr] = {
                    argument: interval.start + self._free(interval.extent)
                    for argument, interval in zip(compute.axes, inner, strict=True)
                }
                for argument, extent in zip(compute.reduce_axes, compute.reduce_shape, strict=True):
                    points[argument] = self._free(extent)
            dims = [points[i] if i in points else self._unknown() for i in read.indices]
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

    def _free(self, extent: int) -> AffineExpr:
        self.ranges.append((0, extent - 1))
        return AffineDimExpr(len(self.ranges) - 1)

    def _unknown(self) -> AffineExpr:
        self.ranges.append(tir.UNBOUNDED)
        return AffineDimExpr(len(self.ranges) - 1)

    @staticmethod
    def _inside(stage: Stage, host: Stage) -> bool:
        at: Attach | None = stage.attach
        while at is not None:
            if at.stage is host:
                return True
            at = at.stage.attach
        return False

    @staticmethod
    def _points(
        stage: Stage, region: Sequence[Interval], values: dict[IterVar, AffineExpr]
    ) -> dict[SSAValue, AffineExpr]:
        """The compute's axis arguments in terms of loops."""
        points: dict[SSAValue, AffineExpr] = {}
        for argument, axis, interval in zip(stage.compute.axes, stage.axes, region, strict=True):
            points[argument] = values[axis] + interval.start
        for argument, axis in zip(stage.compute.reduce_axes, stage.reduce_axes, strict=True):
            points[argument] = values[axis]
        return points

    # Bodies

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
            points = self._points(stage, region, values)
            guard = list(self._guards(stage, region, extents, values, points, init))
            if guard:
                map, operands = self._access(guard)
                branch = self.builder.add(tir.IfOp.make(map, operands, likely=True))
                self.builder.block = branch.block
            stores = [self.storage[output] for output in compute.outputs]
            targets = [self._target(compute, points, storage) for storage in stores]
            if compute.reducer is None:
                values = self._elements(compute, points)
            elif init:
                values = self._identity(compute)
            else:
                loads = [
                    tir.LoadOp.make(store.buffer, *target) for store, target in zip(stores, targets, strict=True)
                ]
                olds = [self.builder.add(load).result for load in loads]
                values = self._combined(compute, points, olds)
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
                    yield _room(value, extent)
        for argument, interval, extent in zip(stage.compute.axes, region, stage.compute.shape, strict=True):
            if interval == Interval(ZERO, extent):
                continue
            low, high = bounds(points[argument], self.ranges)
            if low < 0:
                yield points[argument]
            if high >= extent:
                yield _room(points[argument], extent)

    def _access(self, exprs: Sequence[AffineExpr]) -> tuple[AffineMap, list[SSAValue]]:
        """A map over just the loop variables that `exprs` use."""
        ranges = tuple(self.ranges)
        simple = [linear(expr, ranges).expr for expr in exprs]
        used = sorted(set[int]().union(*(expr.used_dims() for expr in simple)))
        position = {dim: i for i, dim in enumerate(used)}
        dims = [AffineDimExpr(position.get(dim, 0)) for dim in range(len(self.vars))]
        return AffineMap(len(used), 0, tuple(substitute(e, dims) for e in simple)), [self.vars[d] for d in used]

    def _target(
        self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr], storage: _Storage
    ) -> tuple[AffineMap, list[SSAValue]]:
        return self._access([points[axis] - start for axis, start in zip(compute.axes, storage.starts, strict=True)])

    def _elements(self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr]) -> list[SSAValue]:
        """The ops of a compute's body at `points`; returns the yielded values."""
        depth = len(self.vars)
        values = self._body(compute, points)
        del self.vars[depth:], self.ranges[depth:]
        return [values[value] for value in compute.yields]

    def _identity(self, compute: te.ComputeOp) -> list[SSAValue]:
        """What a reduction starts from."""
        if compute.identity is not None:
            return [constant(self.builder, number) for number in compute.identity]
        assert compute.reducer is not None
        return [identity(self.builder, compute.reducer.data, compute.result.type.element_type)]

    def _combined(
        self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr], olds: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The accumulators after one more term; a product that is summed becomes a fused multiply-add."""
        assert compute.reducer is not None
        terms = self._elements(compute, points)
        if compute.combiner is not None:
            return self._custom(compute, compute.combiner.block, [*olds, *terms])
        (old,), (term,) = olds, terms
        product = term.owner
        if compute.reducer.data == "sum" and isinstance(product, MulfOp) and not term.has_one_use() and not term.uses:
            a, b = product.operands
            location = product.location
            product.detach()
            product.erase()
            op = FmaOp(a, b, old)
            op.location = location
            return [self.builder.add(op).result]
        return [combine(self.builder, compute.reducer.data, compute.result.type.element_type, old, term)]

    def _custom(self, compute: te.ComputeOp, combiner: Block, operands: Sequence[SSAValue]) -> list[SSAValue]:
        """The combiner's ops on accumulators and terms."""
        values = dict[SSAValue, SSAValue](zip(combiner.args, operands, strict=True))
        for op in combiner.ops:
            if not isinstance(op, te.YieldOp):
                with self.builder.located(op.location if is_known(op.location) else compute.location):
                    copy = self.builder.add(op.clone(values))
                values.update(zip(op.results, copy.results, strict=True))
        return [values[value] for value in compute.combined]

    def _body(self, compute: te.ComputeOp, points: dict[SSAValue, AffineExpr]) -> dict[SSAValue, SSAValue]:
        values: dict[SSAValue, SSAValue] = {}
        known = dict(points)

        def dims_of(indices: Iterable[SSAValue]) -> list[AffineExpr]:
            dims: list[AffineExpr] = []
            for index in indices:
                if index not in known:
                    # A computed index: from here on a variable of its own, bounded by nothing.
                    known[index] = AffineDimExpr(len(self.vars))
                    self.vars.append(values[index])
                    self.ranges.append(tir.UNBOUNDED)
                dims.append(known[index])
            return dims

        for op in compute.block.ops:
            with self.builder.located(op.location if is_known(op.location) else compute.location):
                match op:
                    case te.ReadOp():
                        dims = dims_of(op.indices)
                        point = [substitute(expr, dims) for expr in op.map.data.results]
                        values[op.result] = self._load(op, point)
                    case te.IndexOp():
                        dims = dims_of(op.indices)
                        map, operands = self._access([substitute(e, dims) for e in op.map.data.results])
                        values[op.result] = self.builder.add(tir.IndexOp.make(map, operands, IndexType())).result
                    case te.YieldOp():
                        break
                    case _:
                        copy = self.builder.add(op.clone(values))
                        values.update(zip(op.results, copy.results, strict=True))
        return values

    def _load(self, read: te.ReadOp, point: list[AffineExpr]) -> SSAValue:
        if (storage := self.storage.get(read.tensor)) is None:
            consumer, producer = read.parent_op(), read.tensor.owner
            assert isinstance(consumer, te.ComputeOp) and isinstance(producer, te.ComputeOp)
            raise ScheduleError(
                f"compute_at: stage '{producer.label.data}' is computed after '{consumer.label.data}', which reads it"
            )
        place = [expr - start for expr, start in zip(point, storage.starts, strict=True)]
        guard: list[AffineExpr] = []
        if read.otherwise is not None:
            shape = cast(TensorType[Attribute], read.tensor.type).get_shape()
            for expr, extent in zip(point, shape, strict=True):
                low, high = bounds(expr, self.ranges)
                if low < 0:
                    guard.append(simplify(expr, self.ranges))
                if high >= extent:
                    guard.append(_room(expr, extent))
        if not guard:
            return self.builder.add(tir.LoadOp.make(storage.buffer, *self._access(place))).result
        map, operands = self._access([*place, *guard])
        rank = len(place)
        load = tir.LoadOp.make(
            storage.buffer,
            AffineMap(map.num_dims, 0, map.results[:rank]),
            operands,
            guard=AffineMap(map.num_dims, 0, map.results[rank:]),
            otherwise=read.otherwise,
        )
        return self.builder.add(load).result
