"""The primitives of a schedule: those that make stages and groups."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects import schedule as ops
from ...dialects import te
from ...support.doors import doors
from ...support.errors import ScheduleError
from ..language.expr import Axis
from . import dataflow
from .group import Group, between, group_scans, make_group
from .itervar import IterVar
from .record import Record
from .stage import Stage
from .stage_state import GroupState
from .stage_table import Key, StageTable, several


@doors(ScheduleError)
class SchedulePrimitives(StageTable[Stage]):
    """The stages of a te.func, one per operation, producers first, and the record of what was done to them.

    `func` is changed by cache_write; hand in a clone to keep it.
    """

    def __init__(self, func: te.FuncOp):
        super().__init__(func)
        self.record = Record(self)
        self.stages = [Stage(self.record, op) for op in func.block.ops if isinstance(op, te.STAGES)]
        self.placeholders = {argument: Stage(self.record, argument) for argument in func.block.args}
        self.scan_groups = [*group_scans(self)]

    @property
    def groups(self) -> list[GroupState]:
        """The groups of the scans, then those of `create_group`."""
        return [*self.scan_groups, *self.record.groups]

    def _made(self, stage: Stage, op: ops.CacheReadOp | ops.CacheWriteOp | ops.RfactorOp) -> Stage:
        """Record the primitive that made a stage."""
        self.record.name_stage(stage, self.record.add(op, stage).results[0])
        return stage

    def cache_write(self, tensor: Key | Sequence[Key], scope: str) -> Stage:
        """`c = f(a)` -> `c.local = f(a); c = c.local`: a new stage computes what a stage did, which becomes its copy.

        Where the stage's loops over data were split, fused or reordered, they are the axes of the new stage: split by 4
        `c[i]` -> `c.local[i.outer.c, i.inner.c] = f(a); c[i] = c.local[i // 4, i % 4]`, and the copy has plain loops.
        A stage that is calls of an intrinsic leaves these to the cache.
        tensor: with several of one stage, all of them. Returns the new stage, `LABEL.SCOPE`. Raises ScheduleError when
        loops of the reduction were changed, or loops that vanish were marked or have stages inside.
        """
        keys = several(tensor)
        stage = self[keys[0]]
        if any(self[key] is not stage for key in keys):
            stage.fail("cache_write", "expected tensors of one stage")
        if len(keys) > 1 and len(set(keys)) != len(stage.outputs):
            stage.fail("cache_write", f"expected all of the stage's {len(stage.outputs)} tensors, got {len(set(keys))}")
        cache = dataflow.cache_write(self, stage, scope)
        handle = self.record.stage(stage)
        return self._made(cache, ops.CacheWriteOp(handle, scope))

    def cache_read(self, tensor: Key, scope: str, readers: Key | Sequence[Key]) -> Stage:
        """`c = f(a)` -> `a.local = a; c = f(a.local)`: a new stage copies a tensor, `readers` read the copy.

        Returns the new stage, `NAME.SCOPE`. Raises ScheduleError when a reader does not read the tensor.
        """
        value = self.tensor_of(tensor)
        stages = [self[reader] for reader in several(readers)]
        cache = dataflow.cache_read(self.record, self, value, scope, stages)
        source = self.record.tensor(value)
        return self._made(cache, ops.CacheReadOp(source, scope, [self.record.stage(stage) for stage in stages]))

    def rfactor(self, tensor: Key, axis: IterVar | Axis, factor_axis: int = 0) -> Stage:
        """`B[i] += A[i, ko, ki]` -> `B.rf[ki, i] += A[i, ko, ki]; B.repl[i] += B.rf[ki, i]`.

        The loop `axis` of the reduction becomes data axis `factor_axis` of a new stage, which it returns; the stage of
        `tensor` reduces over it alone, from its `init` on, and both are unscheduled. Where `axis` comes from an uneven
        split, points past the end add nothing. Raises ScheduleError for what is no loop of the reduction, or no known
        reduction.
        """
        stage = self[tensor]
        stage.the_compute("rfactor")
        axis = stage.axis_of(axis)
        factor_axis = stage.integer("rfactor", "the factor axis", factor_axis)
        dataflow.check_rfactor(stage, axis, factor_axis)
        handle = stage.handle(axis)
        factored = dataflow.rfactor(self, stage, axis, factor_axis)
        return self._made(factored, ops.RfactorOp(handle, factor_axis))

    def create_group(
        self, outputs: Key | Sequence[Key], inputs: Key | Sequence[Key], include_inputs: bool = False
    ) -> Group:
        """The stages from `inputs` to `outputs`, to be placed as one: `for i {a} for i {b}` -> `for i {a b}`.

        include_inputs: with the stages of the inputs. Groups nest: one that has all of
        the stages is around the new one, one of which it has all stages is inside. Raises ScheduleError when a group
        has some of them and others besides. Warns when a stage was computed in a loop outside; it goes where
        the group is.
        """
        ends, starts = ([self.tensor_of(key) for key in several(keys)] for keys in (outputs, inputs))
        members = between(self, ends, starts, include_inputs)
        group = make_group(self.record, members, self.groups)
        handles = [[self.record.tensor(tensor) for tensor in tensors] for tensors in (ends, starts)]
        op = ops.CreateGroupOp(handles[0], handles[1], include_inputs)
        self.record.name_group(group, self.record.add(op, members[0]).group)
        return group
