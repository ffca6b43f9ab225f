"""Schedules: how the stages of a te.func are ordered into loops.

Each primitive appends one op to a `schedule.sequence`; that list is the record. Snapshot k is the function with the
first k primitives applied, made by replaying them. A primitive that fails changes and records nothing.

    s = Schedule(func)
    outer, inner = s["dense"].split(s["dense"].axes[1], 16)
    s["dense"].vectorize(inner)
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation

from ..dialects import schedule as ops
from ..dialects import te
from ..dialects.tir import SCOPES
from ..provenance.builder import LocatedBuilder
from ..provenance.diagnostics import ScheduleError
from .itervar import IterVar
from .stage import Stage
from .tensor import Operation as TeOperation
from .tensor import Tensor

OpT = TypeVar("OpT", bound=IRDLOperation)


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
            if key is stage or key in (stage.label, stage.compute) or key in stage.compute.outputs:
                return stage
        raise ScheduleError(f"Cannot find the operation {key} in schedule of {self.func.sym_name.data}")

    def __str__(self) -> str:
        from .view import show

        return show(self)

    def is_output(self, stage: Stage) -> bool:
        """Whether a tensor of the stage is used as a whole: returned, or handed to an operation that is no compute."""
        uses = (use for output in stage.compute.outputs for use in output.uses)
        return any(not isinstance(use.operation, te.ReadOp) for use in uses)

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
        if stage.scheduled:
            raise ScheduleError(f"cache_write: expected stage '{stage.label}' unscheduled, got it changed before")
        if inside := [other.label for other in self.stages if other.attach is not None and other.attach.stage is stage]:
            raise ScheduleError(f"cache_write: expected no stage inside '{stage.label}', got {', '.join(inside)}")
        if len(stage.compute.outputs) > 1:
            raise ScheduleError(f"cache_write: expected a stage of one tensor, got several (stage '{stage.label}')")
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
        from .replay import replay

        return replay(self._origin.clone(), self.sequence, count)

    @property
    def schedule_record(self) -> list[Schedule]:
        """All snapshots, as long as `primitive_record`."""
        return [self.snapshot(count) for count in range(len(self.primitives) + 1)]
