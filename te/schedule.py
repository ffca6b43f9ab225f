"""Schedules: how the stages of a te.func are ordered into loops.

Each primitive appends one op to a `schedule.sequence`; that list is the record. Snapshot k is the function with the
first k primitives applied, made by replaying them. A primitive that fails changes and records nothing.

    s = Schedule(func)
    outer, inner = s["dense"].split(s["dense"].axes[1], 16)
    s["dense"].vectorize(inner)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation

from ..dialects import schedule as ops
from ..dialects import te
from ..dialects.tir import SCOPES
from ..provenance.builder import LocatedBuilder
from ..provenance.diagnostics import ScheduleError, describe
from .expr import Axis
from .tensor import Operation as TeOperation
from .tensor import Tensor

OpT = TypeVar("OpT", bound=IRDLOperation)
Kind = Literal["serial", "parallel", "vectorized", "unrolled"]


class IterVar:
    """One iteration variable of a stage."""

    def __init__(self, stage: Stage, name: str, extent: int, reduce: bool):
        self.stage = stage
        self.name = name
        self.extent = extent
        self.reduce = reduce
        """Whether it runs over a reduction."""
        self.kind: Kind = "serial"

    def __repr__(self) -> str:
        return f"{self.name} in {self.extent}" + ("" if self.kind == "serial" else f" # {self.kind}")


@dataclass(frozen=True)
class Split:
    """`parent = outer * factor + inner`."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return (self.parent,)

    @property
    def children(self) -> tuple[IterVar, ...]:
        return self.outer, self.inner


@dataclass(frozen=True)
class Fuse:
    """`fused = outer * extent(inner) + inner`."""

    outer: IterVar
    inner: IterVar
    fused: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return self.outer, self.inner

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.fused,)


@dataclass(frozen=True)
class Singleton:
    """`axis` is a loop of one pass, made from no other."""

    axis: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return ()

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.axis,)


Relation: TypeAlias = Split | Fuse | Singleton
"""How the iteration variables that a primitive made (`children`) stand to those it took (`parents`)."""


@dataclass(frozen=True)
class Attach:
    """Computed inside the loop `axis` of `stage`."""

    stage: Stage
    axis: IterVar


@dataclass(frozen=True)
class StageAxes:
    """The name and the root axes of a stage."""

    name: str
    axis: list[IterVar]
    reduce_axis: list[IterVar]


class Stage:
    """One compute of the function, and how its loops are arranged."""

    def __init__(self, schedule: Schedule, compute: te.ComputeOp):
        self.schedule = schedule
        self.compute = compute
        self._reset_axes()
        self.relations: list[Relation] = []
        self.attach: Attach | None = None
        """None: computed at the root, in full, before its consumers."""
        self.inlined = False
        self.scope = "global"

    def _reset_axes(self) -> None:
        arguments = list(self.compute.block.args)
        extents = (*self.compute.shape, *self.compute.reduce_shape)
        rank = len(self.compute.shape)
        made = [
            IterVar(self, argument.name_hint or f"ax{i}", extent, i >= rank)
            for i, (argument, extent) in enumerate(zip(arguments, extents, strict=True))
        ]
        self.axes, self.reduce_axes = made[:rank], made[rank:]
        self.leaf = list(made)
        """The loops, outermost first."""

    @property
    def label(self) -> str:
        return self.compute.label.data

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """The root axes, then what the relations made, in order."""
        made = [child for relation in self.relations for child in relation.children]
        return [*self.axes, *self.reduce_axes, *made]

    def __repr__(self) -> str:
        return f"Stage({self.label})"

    def _fail(self, primitive: str, text: str) -> NoReturn:
        layer = describe(self.compute.location)
        raise ScheduleError(f"{primitive}: {text} (stage '{self.label}'{', ' + layer if layer else ''})")

    @property
    def op(self) -> StageAxes:
        """The stage's axes, under the names they have on an operation: `s[C].op.axis[0]`."""
        return StageAxes(self.label, list(self.axes), list(self.reduce_axes))

    def axis_of(self, axis: IterVar | Axis) -> IterVar:
        """The iteration variable of an axis of the te operation that this stage computes."""
        if isinstance(axis, IterVar):
            return axis
        for operation, stage in self.schedule.operations.items():
            if axis in (known := [*operation.axis, *operation.reduce_axis]):
                # A stage that became a copy has data axes of its own; the reduction went with its cache.
                roots = [*stage.axes, *stage.reduce_axes]
                if known.index(axis) < len(roots):
                    return roots[known.index(axis)]
        self._fail("schedule", f"axis {axis.name} is not part of the schedule")

    def _leaf(self, primitive: str, axis: IterVar) -> int:
        """The position of a loop of this stage."""
        if axis.stage is not self:
            self._fail(primitive, f"axis {axis.name} is not part of the schedule of this stage")
        if axis not in self.leaf:
            self._fail(primitive, f"Operate on iter var {axis.name} that has already been split or fused")
        return self.leaf.index(axis)

    def split(
        self, axis: IterVar | Axis, factor: int | None = None, *, nparts: int | None = None
    ) -> tuple[IterVar, IterVar]:
        """`for i in 32` -> `for i.outer in 4 { for i.inner in 8 {`, with factor 8 (or nparts 4).

        Returns (outer, inner). An uneven factor guards the last pass.
        """
        axis = self.axis_of(axis)
        position = self._leaf("split", axis)
        if (factor is None) == (nparts is None):
            self._fail("split", f"expected either factor or nparts, got factor={factor}, nparts={nparts}")
        if axis.kind != "serial":
            self._fail("split", f"Cannot split on {axis.kind} axis {axis.name}")
        wanted = factor if factor is not None else cast(int, nparts)
        if wanted < 1:
            self._fail("split", f"expected a positive factor, got {wanted}")
        width = wanted if factor is not None else -(-axis.extent // wanted)
        width = max(1, min(width, axis.extent))
        outer = IterVar(self, f"{axis.name}.outer", -(-axis.extent // width), axis.reduce)
        inner = IterVar(self, f"{axis.name}.inner", width, axis.reduce)
        self.leaf[position : position + 1] = [outer, inner]
        self.relations.append(Split(axis, outer, inner, width))
        op = self.schedule.record(ops.SplitOp(self.schedule.handle(axis), width), self)
        self.schedule.name(outer, op.outer)
        self.schedule.name(inner, op.inner)
        return outer, inner

    def fuse(self, *axes: IterVar | Axis) -> IterVar:
        """`for i in 4 { for j in 8 {` -> `for i.j.fused in 32`. The axes must be neighbours, outermost first.

        Of no axes: a new outermost loop `singleton` of one pass.
        """
        if not axes:
            return self._singleton()
        fused = self.axis_of(axes[0])
        for axis in axes[1:]:
            fused = self._fuse_two(fused, self.axis_of(axis))
        return fused

    def _singleton(self) -> IterVar:
        axis = IterVar(self, "singleton", 1, False)
        self.leaf.insert(0, axis)
        self.relations.append(Singleton(axis))
        op = self.schedule.record(ops.SingletonOp(self.schedule.stage_handle(self)), self)
        self.schedule.name(axis, op.axis)
        return axis

    def _fuse_two(self, outer: IterVar, inner: IterVar) -> IterVar:
        first, second = self._leaf("fuse", outer), self._leaf("fuse", inner)
        if second != first + 1:
            self._fail("fuse", "Can only fuse iterations that are consecutive between each other")
        if outer.reduce != inner.reduce or outer.kind != "serial" or inner.kind != "serial":
            self._fail("fuse", f"expected two serial axes of one sort, got {outer} and {inner}")
        fused = IterVar(self, f"{outer.name}.{inner.name}.fused", outer.extent * inner.extent, outer.reduce)
        self.leaf[first : second + 1] = [fused]
        self.relations.append(Fuse(outer, inner, fused))
        op = self.schedule.record(ops.FuseOp(self.schedule.handle(outer), self.schedule.handle(inner)), self)
        self.schedule.name(fused, op.fused)
        return fused

    def reorder(self, *order: IterVar | Axis) -> None:
        """The given axes take, in the given order, the places that they occupy now."""
        axes = [self.axis_of(axis) for axis in order]
        positions = [self._leaf("reorder", axis) for axis in axes]
        if len(set(axes)) != len(axes):
            self._fail("reorder", "Same axis can not appear more than once")
        for position, axis in zip(sorted(positions), axes, strict=True):
            self.leaf[position] = axis
        self.schedule.record(ops.ReorderOp([self.schedule.handle(axis) for axis in axes]), self)

    def tile(
        self, x: IterVar | Axis, y: IterVar | Axis, x_factor: int, y_factor: int
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split both, order (x.outer, y.outer, x.inner, y.inner); recorded as split, split, reorder."""
        x_outer, x_inner = self.split(x, x_factor)
        y_outer, y_inner = self.split(y, y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def _mark(self, axis: IterVar | Axis, kind: Kind, op: Callable[[SSAValue], IRDLOperation]) -> None:
        primitive = {"vectorized": "vectorize", "unrolled": "unroll", "parallel": "parallel"}[kind]
        axis = self.axis_of(axis)
        self._leaf(primitive, axis)
        if axis.reduce and kind != "unrolled":
            self._fail(primitive, f"Cannot {primitive} on CommReduce axis {axis.name}")
        axis.kind = kind
        self.schedule.record(op(self.schedule.handle(axis)), self)

    def vectorize(self, axis: IterVar | Axis) -> None:
        """The loop becomes vector operations of its extent."""
        self._mark(axis, "vectorized", ops.VectorizeOp)

    def unroll(self, axis: IterVar | Axis) -> None:
        """The loop is unrolled in full."""
        self._mark(axis, "unrolled", ops.UnrollOp)

    def parallel(self, axis: IterVar | Axis) -> None:
        """The loop's passes are shared among threads."""
        self._mark(axis, "parallel", ops.ParallelOp)

    def compute_at(self, consumer: Stage, axis: IterVar | Axis) -> None:
        """Compute, inside the loop `axis` of `consumer`, what one pass of that loop needs of this stage."""
        axis = consumer.axis_of(axis)
        if axis not in consumer.leaf:
            self._fail("compute_at", f"Cannot find the axis {axis.name} in parent's leaf_iter_vars")
        if self.schedule.is_output(self):
            self._fail("compute_at", "an output of the function stays at the root")
        at: Attach | None = Attach(consumer, axis)
        while at is not None:
            if at.stage is self:
                self._fail("compute_at", "Find loop in compute_at attach group")
            at = at.stage.attach
        self.attach, self.inlined = Attach(consumer, axis), False
        producer, host = self.schedule.stage_handle(self), self.schedule.stage_handle(consumer)
        self.schedule.record(ops.ComputeAtOp(producer, host, self.schedule.handle(axis)), self)

    def compute_inline(self) -> None:
        """Compute the element where it is read; the stage has no buffer."""
        if self.compute.reducer is not None:
            self._fail("compute_inline", "a reduction cannot be inlined")
        if self.schedule.is_output(self):
            self._fail("compute_inline", "an output of the function cannot be inlined")
        self.inlined, self.attach = True, None
        self.schedule.record(ops.ComputeInlineOp(self.schedule.stage_handle(self)), self)

    def compute_root(self) -> None:
        """Compute the stage in full before its consumers (the default)."""
        self.inlined, self.attach = False, None
        self.schedule.record(ops.ComputeRootOp(self.schedule.stage_handle(self)), self)

    def set_scope(self, scope: str) -> None:
        """Where the stage's buffer lives: `global` or `local`."""
        if scope not in SCOPES:
            self._fail("set_scope", f"expected a scope among {', '.join(SCOPES)}, got {scope!r}")
        if self.schedule.is_output(self) and scope != "global":
            self._fail("set_scope", "an output of the function is global")
        self.scope = scope
        self.schedule.record(ops.SetScopeOp(self.schedule.stage_handle(self), scope), self)

    def relayout(self, compute: te.ComputeOp) -> None:
        """Describe another compute from now on, unscheduled."""
        self.compute = compute
        self._reset_axes()


class Schedule:
    """The stages of a te.func, producers first, and the record of what was done to them.

    `func` is changed by cache_write; hand in a clone to keep it.
    """

    def __init__(self, func: te.FuncOp):
        self.func = func
        self._origin = func.clone()
        self.operations: dict[TeOperation, Stage] = {}
        """The stages of the te language's operations, when the function was built from them."""
        self.stages = [Stage(self, compute) for compute in func.computes]
        self.sequence = ops.SequenceOp(func.sym_name.data)
        self.sequence.location = func.location
        self._builder = LocatedBuilder(self.sequence.block, func.location)
        self._stages: dict[Stage, SSAValue] = {}
        self._axes: dict[IterVar, SSAValue] = {}
        labels = [stage.label for stage in self.stages]
        if len(set(labels)) != len(labels):
            raise ScheduleError(f"schedule of {func.sym_name.data}: expected distinct stage labels, got {labels}")

    def __getitem__(self, key: str | te.ComputeOp | SSAValue | Stage | Tensor | TeOperation) -> Stage:
        """The stage of a label, a compute, its tensor or a stage; raises ScheduleError when there is none."""
        if isinstance(key, Tensor):
            key = key.op
        if isinstance(key, TeOperation):
            found = self.operations.get(key)
            key = found if found is not None else key.name
        for stage in self.stages:
            if key is stage or key in (stage.label, stage.compute) or key is stage.compute.result:
                return stage
        raise ScheduleError(f"Cannot find the operation {key} in schedule of {self.func.sym_name.data}")

    def __str__(self) -> str:
        from .view import show

        return show(self)

    def is_output(self, stage: Stage) -> bool:
        return any(value is stage.compute.result for value in self.func.return_op.values)

    def stage_handle(self, stage: Stage) -> SSAValue:
        """The value that stands for a stage in the sequence."""
        if stage not in self._stages:
            with self._builder.located(stage.compute.location):
                handle = self._builder.add(ops.StageOp(stage.label)).stage
            handle.name_hint = stage.label if SSAValue.is_valid_name(stage.label) else None
            self._stages[stage] = handle
        return self._stages[stage]

    def handle(self, axis: IterVar) -> SSAValue:
        """The value that stands for an axis in the sequence."""
        if axis not in self._axes:
            roots = [*axis.stage.axes, *axis.stage.reduce_axes]
            stage = self.stage_handle(axis.stage)
            with self._builder.located(axis.stage.compute.location):
                op = self._builder.add(ops.AxesOp(stage, len(roots)))
            for root, value in zip(roots, op.axes, strict=True):
                self.name(root, value)
        return self._axes[axis]

    def name(self, axis: IterVar, value: SSAValue) -> None:
        value.name_hint = axis.name
        self._axes[axis] = value

    def record(self, op: OpT, stage: Stage) -> OpT:
        with self._builder.located(stage.compute.location):
            return self._builder.add(op)

    def cache_write(self, stage: Stage | Tensor, scope: str) -> Stage:
        """A new stage `LABEL.SCOPE` computes what `stage` did; `stage` becomes a copy of it. Returns the new stage."""
        stage = self[stage]
        if scope not in SCOPES:
            raise ScheduleError(f"cache_write: expected a scope among {', '.join(SCOPES)}, got {scope!r}")
        if stage.relations or stage.attach is not None or stage.inlined:
            raise ScheduleError(f"cache_write: expected stage '{stage.label}' unscheduled, got it split or attached")
        handle = self.stage_handle(stage)
        original = stage.compute
        label, shape = original.label.data, original.shape
        names = [axis.name for axis in stage.axes]
        element = original.result.type.element_type
        copy = te.ComputeOp.make(label, shape, element, names=names)
        builder = LocatedBuilder(copy.block, original.location)
        read = builder.add(te.ReadOp.make(original.result, AffineMap.identity(len(shape)), list(copy.block.args)))
        builder.add(te.YieldOp(read.result))
        copy.location = original.location
        block = original.parent_block()
        assert block is not None
        original.result.replace_uses_with_if(copy.result, lambda use: use.operation is not read)
        block.insert_op_after(copy, original)
        original.label = StringAttr(f"{label}.{scope}")
        original.result.name_hint = original.label.data
        cache = Stage(self, original)
        cache.scope = scope
        self.stages.insert(self.stages.index(stage), cache)
        stage.relayout(copy)
        for axis in [axis for axis in self._axes if axis.stage is stage]:
            del self._axes[axis]
        self._stages[cache] = self.record(ops.CacheWriteOp(handle, scope), cache).cache
        self._stages[cache].name_hint = cache.label
        return cache

    @property
    def primitives(self) -> list[IRDLOperation]:
        """The recorded primitives, in order."""
        return [op for op in self.sequence.block.ops if isinstance(op, ops.PRIMITIVES)]

    @property
    def primitive_record(self) -> list[str]:
        """`vanilla`, then the name of each primitive; a fuse of no axes is a `fuse` too."""
        names = (op.name.removeprefix("schedule.") for op in self.primitives)
        return ["vanilla", *("fuse" if name == "singleton" else name for name in names)]

    def snapshot(self, count: int) -> Schedule:
        """The schedule after the first `count` primitives, 0 for none of them."""
        return replay(self._origin.clone(), self.sequence, count)

    @property
    def schedule_record(self) -> list[Schedule]:
        """All snapshots, as long as `primitive_record`."""
        return [self.snapshot(count) for count in range(len(self.primitives) + 1)]


def replay(func: te.FuncOp, sequence: ops.SequenceOp, count: int | None = None) -> Schedule:
    """Apply the first `count` primitives of `sequence` (all without it) to `func`.

    Raises ScheduleError when one does not fit.
    """
    schedule = Schedule(func)
    stages: dict[SSAValue, Stage] = {}
    axes: dict[SSAValue, IterVar] = {}
    left = len(sequence.block.ops) if count is None else count
    for op in sequence.block.ops:
        if isinstance(op, ops.PRIMITIVES):
            if left == 0:
                break
            left -= 1
        match op:
            case ops.StageOp():
                stages[op.stage] = schedule[op.label.data]
            case ops.AxesOp():
                stage = stages[op.stage]
                roots = [*stage.axes, *stage.reduce_axes]
                if len(roots) != len(op.axes):
                    raise ScheduleError(
                        f"axes: expected {len(roots)} axes of stage '{stage.label}', got {len(op.axes)}"
                    )
                axes.update(zip(op.axes, roots, strict=True))
            case ops.SplitOp():
                axis = axes[op.axis]
                axes[op.outer], axes[op.inner] = axis.stage.split(axis, op.factor.value.data)
            case ops.FuseOp():
                axes[op.fused] = axes[op.outer].stage.fuse(axes[op.outer], axes[op.inner])
            case ops.SingletonOp():
                axes[op.axis] = stages[op.stage].fuse()
            case ops.ReorderOp():
                given = [axes[axis] for axis in op.axes]
                given[0].stage.reorder(*given)
            case ops.VectorizeOp():
                axes[op.axis].stage.vectorize(axes[op.axis])
            case ops.UnrollOp():
                axes[op.axis].stage.unroll(axes[op.axis])
            case ops.ParallelOp():
                axes[op.axis].stage.parallel(axes[op.axis])
            case ops.ComputeAtOp():
                stages[op.stage].compute_at(stages[op.consumer], axes[op.axis])
            case ops.ComputeInlineOp():
                stages[op.stage].compute_inline()
            case ops.ComputeRootOp():
                stages[op.stage].compute_root()
            case ops.SetScopeOp():
                stages[op.stage].set_scope(op.scope.data)
            case ops.CacheWriteOp():
                stages[op.cache] = schedule.cache_write(stages[op.stage], op.scope.data)
            case _:
                raise ScheduleError(f"schedule.sequence: expected schedule primitives, got {op.name}")
    return schedule
