"""The parts that the default schedules share: vector widths, thread loops, and where a reduction is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from ....dialects import te
from ....dialects.affine import below
from ....dialects.sizes import Size, product, proves, same
from ....dialects.sizes.kernel import known, nominal
from ....dialects.sizes.types import extents_of
from ....dialects.tir import element_bytes
from ....support.machine import Machine
from ....te.schedule.counts import Access, Body, body_of
from ....te.schedule.itervar import IterVar
from ....te.schedule.schedule import Schedule
from ....te.schedule.stage import Stage
from ....te.schedule.stage_state import StageState
from ..cost import Moved, moved
from ..knobs import Decisions, Formula, Knobs, Legal, Values

SERIAL_LIMIT = 1 << 14
"""Loops over fewer points are not worth waking threads for."""
_PASSES = 64
"""Passes of a parallel loop that are enough for any number of threads."""
PANELS = 4
"""Panels of a product's columns that are enough for the threads; where there are fewer, they share tiles of rows."""
_FEW = 1 << 11
"""Points of which a stage is done before its schedule matters."""

_CHAIN = 16
"""Operations of an element, as many as an elementary function has, from which a core does not look far enough ahead to
begin the next element in time."""
_ABREAST = (4, 2)
"""Vectors of such elements whose operations come in turn, so that each waits while the others work."""

PARTITION_HINT = "loop_partition_hint"
"""The pragma of loops whose first and last passes, where guards fail, get code of their own."""

SKIP_MASKED = "skip_masked"
"""The pragma of loops that a product is computed in, which is left out where a mask chooses none of its elements."""
SKIP_ZEROS = "skip_zeros"
"""The pragma of loops over terms of a product, which are left out where its first operand is 0."""
VECTOR_REDUCTION = "vector_reduction"
"""The pragma of loops over the terms of a reduction that become vectors and one reduction of their lanes. `vectorize`
is for axes of data, as in TVM."""


Shared: TypeAlias = Callable[[Values], Any]
"""The passes of the loop that threads share, as a function of the knob `parallel`; 0 where they share none."""


def tag_of(stage: StageState) -> str:
    """The kind of operator that a stage computes, as its lowering says; empty when it says nothing."""
    tag = stage.producer.attributes.get("tag") if isinstance(stage.producer, Operation) else None
    return tag.data if isinstance(tag, StringAttr) else ""


def points(stage: Stage) -> int:
    """Return the number of times that the body of a stage is evaluated."""
    return prod(map(nominal, (*stage.compute.shape, *stage.compute.reduce_shape)))


def passes(axes: Sequence[IterVar]) -> int:
    """Return the number of times that a body in loops over `axes` runs, about that where sizes are open."""
    return prod(nominal(axis.extent) for axis in axes)


def _surely(axes: Sequence[IterVar]) -> int:
    """Return `passes` where the first size that only a call knows, often that of a batch, is 1."""
    batch = next((axis for axis in axes if not isinstance(axis.extent, int)), None)
    return passes([axis for axis in axes if axis is not batch])


def shape_of(read: te.ReadOp) -> tuple[Size, ...]:
    """The shape of the tensor that is read."""
    type_ = read.tensor.type
    assert isinstance(type_, TensorType)
    return extents_of(cast(TensorType[Attribute], type_))


def operand(stage: Stage, number: int) -> Access:
    """The tensor that a stage reads as one of its operands; one that is all of them is read once.

    A stage whose operands are numbers reads none: its result stands for them.
    """
    reads = [read.tensor for read in stage.compute.reads] or [stage.compute.result]
    return Access(reads[min(number, len(reads) - 1)], ())


class Scheduling:
    """A schedule in the making, for a machine."""

    def __init__(
        self, schedule: Schedule, machine: Machine, few_rows: bool = False, decisions: Decisions | None = None
    ):
        self.schedule = schedule
        self.machine = machine
        self.knobs = Knobs(decisions or {}, machine)
        self._location = schedule.func.location
        self.few_rows = few_rows
        """True when a product of open rows is for one row."""
        self.done: set[Stage] = set()
        """Stages that were scheduled together with another."""

    def begin(self, stage: Stage) -> None:
        """Begin the schedule of a stage: knobs that are asked for from here on are its."""
        self._location = stage.location
        self.knobs.enter(stage.label)

    def knob(self, name: str, candidates: Iterable[int], default: int, legal: Legal | None = None) -> int:
        """A number that could be another: what is decided, else `default`. It is recorded in the schedule.

        Primitives that it is given record where it comes from, also through `*`, `+`, `-`, `//` and `least`: they are
        the same for another decision. A schedule that looks at the number, as `if` does, is one for this decision.
        candidates: the numbers that it may be; legal: whether it goes with what was asked for before, a function of the
        numbers by name that takes arrays as it takes numbers (`&`, not `and`). Where there is one candidate only, that
        is no choice, and none is recorded.
        Raises ScheduleError for a name that the schedule of this stage has asked for already, and where what is decided
        is none of the candidates.
        """
        numbers = tuple(candidates)
        if set(numbers) <= {default}:
            self.knobs.fix(name, default)
            return default
        knob, decision = self.knobs.ask(name, numbers, default, legal)
        return self.schedule.record.knob(knob.name, knob.candidates, decision, self._location)

    def cost(self, formula: Formula) -> None:
        """State what the schedule of a stage costs, as a function of the numbers of the knobs asked for so far.

        Spaces are searched by it before anything is measured; a schedule without one is searched blindly.
        """
        self.knobs.add_cost(formula)

    def is_static(self, stage: Stage) -> bool:
        """Return whether all sizes of a stage are numbers."""
        return all(isinstance(extent, int) for extent in (*stage.compute.shape, *stage.compute.reduce_shape))

    def is_large(self, stage: Stage) -> bool:
        """Return whether a stage is worth a choice: its sizes are numbers, and its points are many."""
        return self.is_static(stage) and points(stage) >= _FEW

    def loops(self, stage: Stage) -> list[IterVar]:
        """The loops of a stage, those of one pass brought outside where they would stand between or inside others."""
        several = [axis for axis in stage.leaf if not below(axis.extent, 2)]
        if several and stage.leaf[-len(several) :] != several:
            stage.reorder(*(axis for axis in stage.leaf if below(axis.extent, 2)), *several)
        return list(stage.leaf)

    def lanes(self, stage: Stage) -> int:
        """The elements of a full vector; half precision is computed in float32."""
        element: Attribute = stage.compute.result.type.element_type
        return self.machine.lanes(max(4, element_bytes(element)))

    def vectors(self, stage: Stage, extent: Size) -> int:
        """The vectors that hold `extent` elements; raises UndecidedSize where only a call knows."""
        return max(1, -(-known(extent) // self.lanes(stage)))

    def width(self, stage: Stage, extent: Size) -> int:
        """The largest power of two that divides `extent`, at most the lanes of a vector."""
        width = self.lanes(stage)
        while not same(extent % width, 0):
            width //= 2
        return width

    def vectorize(self, stage: Stage, axis: IterVar, *, unroll: bool = False) -> IterVar | None:
        """Make vectors of an axis: `for i in 64` -> `for i.outer in 4 { for vectorized i.inner in 16`.

        Returns the vector loop, None if the extent is 1. unroll: what is left outside of it is unrolled. An axis of
        another extent than whole vectors ends with one that is cut off.
        """
        lanes = self.lanes(stage)
        if below(axis.extent, 2):
            return None
        if below(axis.extent, lanes + 1) or (not same(axis.extent % lanes, 0) and not unroll):
            stage.vectorize(axis)
            return axis
        outer, inner = stage.split(axis, lanes)
        if unroll:
            stage.unroll(outer)
        stage.vectorize(inner)
        return inner

    def abreast(self, stage: Stage, extent: Size) -> int:
        """The vectors of an axis that are computed side by side, as one vector several times as wide: 1, 2 or 4."""
        if self.body(stage).operations < _CHAIN:
            return 1
        lanes = self.lanes(stage)
        fits = (count for count in _ABREAST if count * lanes <= self.machine.vector_bytes)
        return next((count for count in fits if same(extent % (count * lanes), 0)), 1)

    def parallel(
        self, stage: Stage, axes: Sequence[IterVar], work: int | None = None, *, any_count: bool = False
    ) -> Shared:
        """Share the outermost data loops among `axes` between threads, if the `work`, in points, is worth it.

        As many as make enough passes become one loop; the others stay, as an index is cheaper than a division. The knob
        `parallel` is 0 where threads share none, 1 where they share these, else the number of loops that become one.

        any_count: the number of loops is a choice, as no other one changes which there are.
        """
        loops = list(takewhile(lambda axis: not axis.reduce and axis.kind == "serial", axes))
        count = next((count for count in range(len(loops)) if _surely(loops[:count]) >= _PASSES), len(loops))
        size = points(stage) if work is None else work
        counts = {0: 0, **({1: count} if count else {})}
        if any_count:
            counts |= {number: number for number in range(2, len(loops) + 1) if number != count}
        default = int(count > 0 and size >= SERIAL_LIMIT)
        choice = self.knob("parallel", counts if size >= _FEW and self.is_static(stage) else (), default)
        if choice:
            stage.parallel(stage.fuse(*loops[: counts[choice]]))
        shared = {number: passes(loops[:fused]) for number, fused in counts.items() if number}

        return lambda at: sum((np.equal(at["parallel"], number) * extent for number, extent in shared.items()), 0)

    def readers(self, stage: Stage) -> set[Stage]:
        """The stages with buffers that read this one, directly or through inlined ones."""
        readers: set[Stage] = set()
        pending, seen = [stage], {stage}
        while pending:
            for use in pending.pop().compute.result.uses:
                compute = use.operation.parent_op()
                if isinstance(compute, te.ComputeOp) and (reader := self.schedule[compute]) not in seen:
                    seen.add(reader)
                    (pending.append if reader.inlined else readers.add)(reader)
        return readers

    def parts(self, stage: Stage) -> Iterator[Stage]:
        """The stage, and the inlined ones that its loops compute, each once however often it is read."""
        pending, seen = [stage], {stage}
        while pending:
            yield (part := pending.pop())
            for read in part.compute.reads:
                if isinstance(read.tensor.owner, te.ComputeOp):
                    producer = self.schedule[read.tensor.owner]
                    if producer.inlined and producer not in seen:
                        seen.add(producer)
                        pending.append(producer)

    def body(self, stage: Stage) -> Body:
        """The events at a point of a stage's loops, those of inlined stages included."""
        return body_of(stage.compute, lambda producer: self.schedule[producer].inlined)

    def moved(self, body: Body) -> Moved:
        """The bytes that each tensor of a stage once brings from the nearest cache that holds all of them."""
        return moved(float(body.bytes), 1, body.bytes, self.machine)

    def guarded(self, stage: Stage) -> bool:
        """Return whether a stage reads a tensor where that may have no element, itself or through inlined ones."""
        return any(read.otherwise is not None for part in self.parts(stage) for read in part.compute.reads)

    def hosted(self, stage: Stage) -> tuple[Stage, Stage]:
        """(host, inner): the stage whose loops carry a reduction, and the reduction in registers.

        The host is the elementwise stage that alone reads the reduction, else a copy made by cache_write.
        """
        host = self._host(stage)
        if host is None:
            host, inner = stage, self.schedule.cache_write(stage, "local")
        else:
            inner = stage
            inner.set_scope("local")
        self.done |= {host, inner}
        return host, inner

    def _host(self, stage: Stage) -> Stage | None:
        if self.schedule.is_output(stage):
            return None
        readers = self.readers(stage)
        if len(readers) != 1:
            return None
        host = readers.pop()
        usable = host.compute.reducer is None and not host.relations and self.schedule.is_output(host)
        fits = usable and _same_points(stage.compute.shape, host.compute.shape)
        return host if fits and not self._gathers(host, stage) else None

    def _gathers(self, host: Stage, stage: Stage) -> bool:
        """Return whether a stage reads whole axes of another, of open extents, at indices that are data."""
        if all(isinstance(extent, int) for extent in stage.compute.shape):
            return False
        reads = [read for read in host.compute.reads if read.tensor.owner is stage.compute]
        return any(index not in host.compute.axes for read in reads for index in read.indices)


def read_stage(work: Scheduling, stage: Stage, tag: str) -> Stage | None:
    """The stage with a tag that a product reads last, if there is one."""
    owner = stage.compute.reads[-1].tensor.owner if stage.compute.reads else None
    source = work.schedule[owner] if isinstance(owner, te.ComputeOp) else None
    return source if source is not None and tag_of(source) == tag else None


def _same_points(reduced: Sequence[Size], read: Sequence[Size]) -> bool:
    """Return whether loops over a reduction's reader are loops over it: one axis in between may be several there."""
    if len(read) <= len(reduced):
        return len(read) == len(reduced) and all(proves(a, "<=", b) for a, b in zip(read, reduced, strict=True))
    ends = zip((*reduced[:2], *reduced[-1:]), (*read[:2], *read[-1:]), strict=False)
    return len(reduced) > 3 and all(same(a, b) for a, b in ends) and same(product(reduced), product(read))
