"""From a `schedule.sequence` back to a schedule."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ..dialects import schedule as ops
from ..dialects import te
from ..provenance.diagnostics import ScheduleError
from .itervar import IterVar
from .schedule import Schedule
from .stage import Stage


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
