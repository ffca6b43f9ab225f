"""A stage of a schedule: one compute, and the primitives that arrange its loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, cast

from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from ..dialects import schedule as ops
from ..dialects import te
from ..dialects.tir import SCOPES
from ..provenance.diagnostics import ScheduleError, describe
from .expr import Axis
from .itervar import Attach, Fuse, IterVar, Kind, Relation, Singleton, Split

if TYPE_CHECKING:
    from .schedule import Schedule


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

    @property
    def scheduled(self) -> bool:
        """Whether its loops are other than at first, or it is computed inside others."""
        first = [*self.axes, *self.reduce_axes]
        changed = self.leaf != first or any(axis.kind != "serial" for axis in first)
        return changed or self.attach is not None or self.inlined

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
        if (factor is None) == (nparts is None):
            self._fail("split", f"expected either factor or nparts, got factor={factor}, nparts={nparts}")
        wanted = factor if factor is not None else cast(int, nparts)
        position = self._splittable(axis, wanted)
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

    def _splittable(self, axis: IterVar, wanted: int) -> int:
        """The position of a loop that can be split by `wanted`."""
        position = self._leaf("split", axis)
        if axis.kind != "serial":
            self._fail("split", f"Cannot split on {axis.kind} axis {axis.name}")
        if wanted < 1:
            self._fail("split", f"expected a positive factor, got {wanted}")
        return position

    def fuse(self, *axes: IterVar | Axis) -> IterVar:
        """`for i in 4 { for j in 8 {` -> `for i.j.fused in 32`. The axes must be neighbours, outermost first.

        Of no axes: a new outermost loop `singleton` of one pass.
        """
        if not axes:
            return self._singleton()
        fused, *others = found = [self.axis_of(axis) for axis in axes]
        # All is checked before the first pair is fused: what fails leaves no trace.
        positions = [self._leaf("fuse", axis) for axis in found]
        if positions != list(range(positions[0], positions[0] + len(found))):
            self._fail("fuse", "Can only fuse iterations that are consecutive between each other")
        if any(axis.kind != "serial" or axis.reduce != fused.reduce for axis in found):
            self._fail("fuse", f"expected serial axes of one sort, got {', '.join(map(repr, found))}")
        for axis in others:
            fused = self._fuse_two(fused, axis)
        return fused

    def _singleton(self) -> IterVar:
        axis = IterVar(self, "singleton", 1, False)
        self.leaf.insert(0, axis)
        self.relations.append(Singleton(axis))
        op = self.schedule.record(ops.SingletonOp(self.schedule.stage_handle(self)), self)
        self.schedule.name(axis, op.axis)
        return axis

    def _fuse_two(self, outer: IterVar, inner: IterVar) -> IterVar:
        position = self.leaf.index(outer)
        fused = IterVar(self, f"{outer.name}.{inner.name}.fused", outer.extent * inner.extent, outer.reduce)
        self.leaf[position : position + 2] = [fused]
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
        x, y = self.axis_of(x), self.axis_of(y)
        if x is y:
            self._fail("tile", f"expected two axes, got {x.name} twice")
        self._splittable(y, y_factor)
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
