"""The application of a `schedule.sequence` to a schedule."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import schedule as ops
from ...dialects.sizes import Size
from ...provenance.diagnostics import message
from ...support.errors import ScheduleError
from ..language.expr import ExprLike
from .choices import Choice, repeated
from .group import Group
from .itervar import IterVar, Tail, ThreadAxis
from .primitives import SchedulePrimitives
from .stage import Stage
from .tensor_intrin import TensorIntrin


def apply_sequence(
    schedule: SchedulePrimitives, sequence: ops.SequenceOp, count: int | None, intrinsics: Mapping[str, TensorIntrin]
) -> None:
    """Apply the first `count` recorded primitives of `sequence`, all for None, to a schedule to which nothing was done.

    intrinsics: what the names that it tensorizes by mean. Raises ScheduleError when a primitive does not fit.
    """
    with closing(apply_steps(schedule, sequence, intrinsics)) as steps:
        for done, _ in enumerate(steps):
            if done == count:
                break


def apply_steps(
    schedule: SchedulePrimitives, sequence: ops.SequenceOp, intrinsics: Mapping[str, TensorIntrin]
) -> Generator[Operation | None]:
    """Apply `sequence` to a schedule to which nothing was done, as far as the iterator is asked.

    Yields before the first recorded primitive and after each, when the schedule is the snapshot of that number, the op
    that was applied last (None before any). Raises ScheduleError when a primitive does not fit.
    """
    run = _Replay(schedule, intrinsics)
    # Its warnings were printed at the recording.
    schedule.record.quiet = True
    last: Operation | None = None
    complete = True
    try:
        for op in sequence.block.ops:
            # Ops that define stages come first.
            if complete and not isinstance(op, ops.StageOp | ops.TensorComputeOp):
                yield last
                complete = False
            run.apply(op)
            last = op
            complete = complete or (isinstance(op, ops.Primitive) and op.title() is not None)
        if complete:
            yield last
    finally:
        schedule.record.quiet = False


def _tail(op: ops.SplitOp | ops.SplitByNPartsOp) -> Tail | None:
    tail = op.attributes.get("tail")
    return cast(Tail, tail.data) if isinstance(tail, StringAttr) else None


class _Replay:
    def __init__(self, schedule: SchedulePrimitives, intrinsics: Mapping[str, TensorIntrin]):
        self.schedule = schedule
        self.intrinsics = intrinsics
        self.stages: dict[SSAValue, Stage] = {}
        self.axes: dict[SSAValue, IterVar] = {}
        self.arguments: dict[SSAValue, SSAValue] = {}
        self.threads: dict[SSAValue, ThreadAxis] = {}
        self.groups: dict[SSAValue, Group] = {}
        self.numbers: dict[SSAValue, Choice] = {}
        self.hosts: dict[IterVar, Stage] = {}
        """The stage of each axis."""

    def _host(self, axis: SSAValue) -> Stage:
        return self.hosts[self.axes[axis]]

    def _number(self, count: Size | SSAValue) -> ExprLike:
        return cast(ExprLike, self.numbers[count] if isinstance(count, SSAValue) else count)

    def _name(self, stage: Stage, handles: Sequence[SSAValue], axes: Sequence[IterVar]) -> None:
        """Bind handles to axes of a stage, as many as both have."""
        self.axes.update(zip(handles, axes, strict=False))
        self.hosts.update(dict.fromkeys(axes, stage))

    def _tensor(self, handle: SSAValue) -> SSAValue:
        return self.arguments[handle] if handle in self.arguments else self.stages[handle].outputs[0]

    def _argument_or_stage(self, handle: SSAValue) -> Stage:
        return self.schedule[self.arguments[handle]] if handle in self.arguments else self.stages[handle]

    def _intrinsic(self, op: ops.TensorizeOp | ops.TensorComputeOp) -> TensorIntrin:
        intrinsic = self.intrinsics.get(op.intrin.data)
        if intrinsic is None:
            names = ", ".join(self.intrinsics) or "none"
            raise ScheduleError(message(op.name, f"an intrinsic among {names}", op.intrin.data, op.location))
        return intrinsic

    def apply(self, op: Operation) -> None:
        """Do what one op says, or take up the names that it gives."""
        schedule, stages, axes, numbers = self.schedule, self.stages, self.axes, self.numbers
        match op:
            case ops.StageOp():
                stages[op.stage] = schedule[op.label.data]
            case ops.ArgumentOp():
                arguments, index = schedule.func.block.args, op.index.value.data
                if not 0 <= index < len(arguments):
                    raise ScheduleError(message(op.name, f"one of {len(arguments)} arguments", str(index), op.location))
                self.arguments[op.stage] = arguments[index]
            case ops.ThreadOp():
                extent = op.extent.value.data if op.extent is not None else None
                self.threads[op.thread] = ThreadAxis(op.tag.data, extent, op.thread.name_hint or "")
            case ops.KnobOp():
                decision = op.decision.value.data
                numbers[op.value] = schedule.record.knob(
                    op.knob.data, op.values, decision, op.location, fixed=op.is_fixed
                )
            case ops.ArithOp():
                numbers[op.value] = repeated(op, numbers)
            case ops.AxesOp():
                stage = stages[op.stage]
                roots = [*stage.axes, *stage.reduce_axes]
                if len(roots) != len(op.axes):
                    raise ScheduleError(
                        f"axes: expected {len(roots)} axes of stage '{stage.label}', got {len(op.axes)}"
                    )
                self._name(stage, op.axes, roots)
            case ops.SplitOp():
                host = self._host(op.axis)
                self._name(host, op.results, host.split(axes[op.axis], self._number(op.count), tail=_tail(op)))
            case ops.SplitByNPartsOp():
                host, nparts = self._host(op.axis), self._number(op.count)
                self._name(host, op.results, host.split(axes[op.axis], nparts=nparts, tail=_tail(op)))
            case ops.FuseOp():
                host = self._host(op.outer)
                self._name(host, op.results, [host.fuse_pair(axes[op.outer], axes[op.inner])])
            case ops.FusedOp():
                self._host(op.axis).end_fuse(axes[op.axis])
            case ops.SingletonOp():
                self._name(stages[op.stage], op.results, [stages[op.stage].fuse()])
            case ops.ReorderOp():
                self._host(op.axes[0]).reorder(*(axes[axis] for axis in op.axes))
            case ops.VectorizeOp():
                self._host(op.axis).vectorize(axes[op.axis])
            case ops.UnrollOp():
                self._host(op.axis).unroll(axes[op.axis])
            case ops.ParallelOp():
                self._host(op.axis).parallel(axes[op.axis])
            case ops.BindOp():
                self._host(op.axis).bind(axes[op.axis], self.threads[op.thread])
            case ops.TensorizeOp():
                self._host(op.axis).tensorize(axes[op.axis], self._intrinsic(op))
            case ops.TensorComputeOp():
                stages[op.stage].tensor_compute(self._intrinsic(op), op.outer.value.data)
            case ops.PragmaOp():
                value = op.value if op.number is None else numbers[op.number]
                self._host(op.axis).pragma(axes[op.axis], op.key.data, value)
            case ops.PrefetchOp():
                self._host(op.axis).prefetch(self._tensor(op.tensor), axes[op.axis], op.offset.value.data)
            case _:
                self._place(op)

    def _place(self, op: Operation) -> None:
        """The primitives that place stages and make new ones."""
        schedule, stages = self.schedule, self.stages
        match op:
            case ops.ComputeAtOp():
                placed = self.groups.get(op.stage) or stages[op.stage]
                placed.compute_at(stages[op.consumer], self.axes[op.axis])
            case ops.ComputeInlineOp():
                stages[op.stage].compute_inline()
            case ops.ComputeRootOp():
                (self.groups.get(op.stage) or stages[op.stage]).compute_root()
            case ops.SetScopeOp():
                stages[op.stage].set_scope(op.scope.data)
            case ops.CacheWriteOp():
                stages[op.cache] = schedule.cache_write(stages[op.stage], op.scope.data)
            case ops.CacheReadOp():
                readers = [stages[reader] for reader in op.readers]
                stages[op.cache] = schedule.cache_read(self._tensor(op.stage), op.scope.data, readers)
            case ops.RfactorOp():
                host, axis = self._host(op.axis), self.axes[op.axis]
                stages[op.factored] = schedule.rfactor(host, axis, op.factor_axis.value.data)
            case ops.CreateGroupOp():
                ends, starts = ([self._tensor(tensor) for tensor in side] for side in (op.outputs, op.inputs))
                self.groups[op.group] = schedule.create_group(ends, starts, op.include_inputs is not None)
            case ops.EnvThreadsOp():
                stage = stages[op.stage]
                stage.env_threads([self.threads[thread] for thread in op.threads])
                self._name(stage, op.axes, stage.threads)
            case ops.DoubleBufferOp():
                stages[op.stage].double_buffer()
            case ops.RollingBufferOp():
                stages[op.stage].rolling_buffer()
            case ops.StorageAlignOp():
                self._host(op.axis).storage_align(self.axes[op.axis], op.factor.value.data, op.offset.value.data)
            case ops.SetStorePredicateOp():
                stages[op.stage].set_store_predicate(op.condition)
            case ops.TransformLayoutOp():
                stage = self._argument_or_stage(op.stage)
                loops = stage.set_layout(op.layout)
                if op.axes and len(op.axes) != len(loops):
                    raise ScheduleError(message(op.name, f"{len(loops)} loops", str(len(op.axes)), op.location))
                self._name(stage, op.axes, loops)
            case ops.SetAxisSeparatorsOp():
                self._argument_or_stage(op.stage).set_axis_separators(op.values)
            case _:
                raise ScheduleError(f"schedule.sequence: expected schedule primitives, got {op.name}")
