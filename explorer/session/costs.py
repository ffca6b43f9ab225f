"""An estimate of what a schedule costs, by rule: for comparing schedules, and no substitute for measuring them.

    seconds = max(cycles / clock, bytes / bandwidth)

*Cycles* add up over the stages. The body of a stage runs once for each iteration of the loops around it, for as many
points as a vector has lanes, and takes as many cycles as the busiest part of a core: two vector operations in a cycle,
a multiply-add counted once; two loads, of which those that do not change in unrolled loops are made once; one store,
where no reduction keeps its sums in registers; four cycles for each addition that waits for the one before, divided by
the unrolled loops over data; one cycle to count a loop that is not unrolled. Iterations of the outermost parallel loop
are shared out over the threads.

*Bytes* are those that pass between memory and the second level of the cache: each stage keeps there what the largest
part of its loops that fits touches, and fetches it as often as the loops outside change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.affine import substitute
from ...dialects.sizes.kernel import nominal
from ...dialects.sizes.types import extents_of
from ...dialects.tir import element_bytes
from ...lowering.kernel.work import operations_at_point
from ...support.machine import Machine
from ...te.schedule.bounds import Bounds, Reading, readings
from ...te.schedule.itervar import Fuse, IterVar, Split, Transform
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage_state import StageState
from .films import Cost

CLOCK = 2.5e9
"""Cycles in a second: no record of a machine says."""
BANDWIDTH = 20e9
"""Bytes in a second from beyond the second level of the cache, of one core."""
_LATENCY = 4
"""Cycles from the begin of an addition of floats to its result."""
_WAKING = 5e-6
"""Seconds until threads have begun a parallel loop."""
_VECTOR_PRAGMA = "pragma_vector_reduction"


@dataclass(frozen=True)
class _Access:
    """A tensor that a stage reads or writes, and where, in terms of the stage's axes."""

    tensor: SSAValue
    point: tuple[AffineExpr, ...]
    shape: tuple[int, ...]
    width: int
    """Bytes of an element."""

    @staticmethod
    def of(tensor: SSAValue, point: Iterable[AffineExpr]) -> _Access:
        type_ = cast("TensorType[Attribute]", tensor.type)
        return _Access(tensor, tuple(point), tuple(map(nominal, extents_of(type_))), element_bytes(type_.element_type))

    def elements(self, spans: Sequence[int]) -> int:
        """The number that is touched while axis i takes `spans[i]` values."""
        return prod(min(span(expr, spans), extent) for expr, extent in zip(self.point, self.shape, strict=True))

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.width


def span(expr: AffineExpr, spans: Sequence[int]) -> int:
    """Largest minus smallest value of an index, plus one, while dim i takes `spans[i]` values from 0 on."""
    match expr:
        case AffineDimExpr():
            # A dim past the axes stands for a computed index, which may be anything.
            return spans[expr.position] if expr.position < len(spans) else 1 << 30
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            return span(expr.lhs, spans) + span(expr.rhs, spans) - 1
        case AffineBinaryOpExpr(kind=kind, rhs=AffineConstantExpr(value=value)) if value:
            inner = span(expr.lhs, spans)
            if kind is AffineBinaryOpKind.Mul:
                return (inner - 1) * abs(value) + 1
            return min(inner, value) if kind is AffineBinaryOpKind.Mod else -(-(inner - 1) // value) + 1
        case AffineBinaryOpExpr():
            return max(span(expr.lhs, spans), span(expr.rhs, spans))
        case _:
            return 1


class _Nest:
    """The loops around the body of a stage, outermost first: those of its hosts, then its own."""

    def __init__(self, stage: StageState, bounds: Bounds, accesses: Sequence[_Access], write: _Access):
        self.stage = stage
        self.bounds = bounds
        self.around = [nominal(last - first + 1) for first, last in bounds.ranges]
        self.own = list(stage.leaf)
        self.extents = [*self.around, *(nominal(bounds.extents[axis]) for axis in self.own)]
        self.kinds = [*(axis.kind for axis in bounds.around), *(axis.kind for axis in self.own)]
        self.reads = accesses
        self.write = write
        self._extent = {axis: nominal(extent) for axis, extent in bounds.extents.items()}

    def axis_spans(self, level: int) -> list[int]:
        """The values that each root axis takes while the loops from `level` on run, and those outside stand still."""
        inner = level - len(self.around)
        spans = self.own_spans(self.own[max(inner, 0) :])
        if inner >= 0:
            return spans
        moving = [extent if position >= level else 1 for position, extent in enumerate(self.around)]
        whole = [*self.stage.compute.shape, *self.stage.compute.reduce_shape]
        for position, interval in enumerate(self.bounds.region):
            wider = span(interval.start, moving) + spans[position] - 1
            spans[position] = min(wider, max(nominal(whole[position]), spans[position]))
        return spans

    def own_spans(self, moving: Sequence[IterVar]) -> list[int]:
        """As `axis_spans`, while some of its own loops run."""
        spans: dict[IterVar, int] = {axis: self._extent[axis] for axis in moving}
        extent = self._extent
        for relation in reversed(self.stage.relations):
            match relation:
                case Split(parent=parent, outer=outer, inner=inner):
                    steps = spans.get(outer, 1)
                    wide = (steps - 1) * extent[inner] + spans.get(inner, 1)
                    spans[parent] = min(wide, extent[parent])
                case Fuse(outer=outer, inner=inner, fused=fused):
                    width = spans.get(fused, 1)
                    spans[inner] = min(width, extent[inner])
                    spans[outer] = min(-(-width // max(extent[inner], 1)), extent[outer])
                case Transform(originals=originals, transformed=transformed):
                    moves = any(spans.get(axis, 1) > 1 for axis in transformed)
                    spans.update((axis, extent[axis] if moves else 1) for axis in originals)
                case _:
                    pass
        return [spans.get(axis, 1) for axis in (*self.stage.axes, *self.stage.reduce_axes)]

    @property
    def iterations(self) -> int:
        return prod(self.extents)


class CostModel:
    """Estimates schedules for one machine and a number of threads."""

    def __init__(self, machine: Machine, threads: int):
        self.machine = machine
        self.threads = max(1, threads)

    def __call__(self, schedule: Schedule, bounds: Mapping[StageState, Bounds]) -> Cost | None:
        """The estimate for a schedule of which these are the bounds; None where stages are no computes."""
        if any(not stage.is_compute for stage in schedule.stages):
            return None
        points = readings(schedule)
        at_point: dict[StageState, int] = {stage: operations_at_point(stage.compute) for stage in schedule.stages}
        nests = [self._nest(schedule, stage, bounds[stage], points) for stage in schedule.stages if not stage.inlined]
        inlined: dict[StageState, list[StageState]] = {stage: [stage] for stage in bounds}
        for stage in schedule.stages:
            if stage.inlined:
                for host, _ in points[stage]:
                    inlined[host].append(stage)
        near = {nest.write.tensor for nest in nests if self._is_near(nest)}
        flops = moved = 0
        seconds = 0.0
        for nest in nests:
            operations = sum(at_point[stage] for stage in inlined[nest.stage])
            flops += nest.iterations * operations
            seconds += self._seconds(nest, operations)
            moved += self._traffic(nest, near)
        return Cost(max(seconds, moved / BANDWIDTH), flops, moved)

    @staticmethod
    def _nest(
        schedule: Schedule, stage: StageState, bounds: Bounds, points: Mapping[StageState, list[Reading]]
    ) -> _Nest:
        axes = [AffineDimExpr(i) for i in range(len(stage.compute.block.args))]
        inlined = {producer.compute for producer in schedule.stages if producer.inlined}
        reads = list(_reads(stage.compute, axes, inlined))
        for producer in schedule.stages:
            if producer.inlined:
                for host, point in points[producer]:
                    if host is stage:
                        reads += _reads(producer.compute, point, inlined)
        write = _Access.of(stage.outputs[0], axes[: len(stage.compute.shape)])
        # What is read twice at one point is loaded once.
        return _Nest(stage, bounds, list(dict.fromkeys(reads)), write)

    def _seconds(self, nest: _Nest, operations: int) -> float:
        """The seconds of a stage's body in its loops."""
        own, stage = nest.own, nest.stage
        extent = {axis: nominal(nest.bounds.extents[axis]) for axis in own}
        tail: list[IterVar] = []
        for axis in reversed(own):
            if axis.kind not in ("vectorized", "unrolled") and extent[axis] > 1:
                break
            tail.append(axis)
        vectors = [axis for axis in own if axis.kind == "vectorized" or _VECTOR_PRAGMA in axis.hints]
        vector = vectors[-1] if vectors else None
        lanes = min(self.machine.lanes(nest.write.width), extent[vector]) if vector is not None else 1
        unrolled = [axis for axis in tail if axis is not vector]
        copies = prod(extent[axis] for axis in unrolled)
        if vector is not None and vector in tail:
            copies *= -(-extent[vector] // lanes)
        loads = sum(self._loads(nest, access, unrolled, vector, lanes, extent) for access in nest.reads) / copies
        waiting, stores = 0.0, 1.0
        if stage.reduce_axes:
            rest = [axis for axis in own if axis not in tail and extent[axis] > 1]
            sums = copies // prod(extent[axis] for axis in unrolled if axis.reduce)
            kept = bool(rest) and rest[-1].reduce and sums <= self.machine.vector_registers
            waiting = _LATENCY / max(sums, 1) if rest and rest[-1].reduce and vector not in rest else 0.0
            stores = 0.0 if kept else 1.0
            loads += 0.0 if kept else 1.0
        cycles = max(operations / 4, loads / 2, stores, waiting, 1 / copies)
        return nest.iterations / lanes * cycles / CLOCK / self._speedup(nest) + self._start(nest)

    @staticmethod
    def _loads(
        nest: _Nest,
        access: _Access,
        unrolled: Sequence[IterVar],
        vector: IterVar | None,
        lanes: int,
        extent: Mapping[IterVar, int],
    ) -> int:
        """The loads of a tensor in one pass of the loops that are not unrolled."""
        count = prod(extent[axis] for axis in unrolled if access.elements(nest.own_spans([axis])) > 1)
        if vector is None or access.elements(spans := nest.own_spans([vector])) == 1:
            return count
        # Neighbours are one load, elements further apart one for each.
        together = not access.point or span(access.point[-1], spans) == access.elements(spans)
        return count * (-(-extent[vector] // lanes)) * (1 if together else lanes)

    def _speedup(self, nest: _Nest) -> float:
        """By how much threads make the outermost parallel loop faster."""
        parallel = (e for e, kind in zip(nest.extents, nest.kinds, strict=True) if kind == "parallel" and e > 0)
        passes = next(parallel, 1)
        return passes / -(-passes // self.threads)

    def _start(self, nest: _Nest) -> float:
        begins = [axis for axis in nest.own if axis.kind == "parallel"]
        return _WAKING if begins and self.threads > 1 else 0.0

    def _is_near(self, nest: _Nest) -> bool:
        """Return whether what a stage computes stays in the cache until it is read: no result, and small enough."""
        if nest.stage.is_output:
            return False
        return prod(nominal(part.extent) for part in nest.bounds.region) * nest.write.width <= self.machine.l2

    def _traffic(self, nest: _Nest, near: set[SSAValue]) -> int:
        """The bytes of memory that a stage moves, of tensors that are not `near`."""
        accesses = [*nest.reads, nest.write]
        level, spans = 0, nest.axis_spans(0)
        last = len(nest.extents)
        while level < last and sum(a.elements(spans) * a.width for a in accesses) > self.machine.l2:
            level += 1
            spans = nest.axis_spans(level)
        total = 0
        for access in accesses:
            if access.tensor in near:
                continue
            elements, outer = access.elements(spans), level
            while outer > 0 and access.elements(nest.axis_spans(outer - 1)) == elements:
                outer -= 1
            total += elements * access.width * prod(nest.extents[:outer])
        return total


def _reads(compute: te.ComputeOp, point: Sequence[AffineExpr], inlined: set[te.ComputeOp]) -> Iterable[_Access]:
    """The tensors that a compute reads at a point of its axes, apart from those of inlined stages."""
    places = {argument: expr for argument, expr in zip(compute.block.args, point, strict=True)}
    anything = AffineDimExpr(1 << 20)
    for read in compute.reads:
        if read.tensor.owner not in inlined:
            dims: list[AffineExpr] = [
                places.get(index, anything) for index in cast("Sequence[BlockArgument]", read.indices)
            ]
            yield _Access.of(read.tensor, (substitute(expr, dims) for expr in read.map.data.results))
