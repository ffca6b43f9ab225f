"""Groups: stages that are placed as one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ...dialects import schedule as ops
from ...dialects import te
from ...support.errors import ScheduleError
from .itervar import Attach, IterVar

if TYPE_CHECKING:
    from ..language.expr import Axis
    from .schedule import Schedule
    from .stage import Stage


SCAN_UPDATE = "Cannot specify compute_at for scan updates"


class Group:
    """The stages that lie between given inputs and outputs.

    `g.compute_at(s[C], axis)` moves those of them that are not inside others.
    """

    def __init__(self, schedule: Schedule, members: Sequence[Stage], scan: te.ScanOp | None = None):
        self.schedule = schedule
        self.members = list(members)
        self.attach: Attach | None = None
        self.scan = scan
        """The scan whose steps the members are; such a group cannot be moved."""

    @property
    def label(self) -> str:
        return f"group({', '.join(stage.label for stage in self.members)})"

    def _move(self, attach: Attach | None) -> None:
        before, self.attach = self.attach, attach
        for stage in self.members:
            if stage.attach is before and not stage.inlined:
                stage.attach = attach

    def _movable(self, primitive: str) -> None:
        if self.scan is not None:
            raise ScheduleError(f"{primitive}: {SCAN_UPDATE} ({self.label})")

    def compute_at(self, consumer: Stage, axis: IterVar | Axis) -> None:
        """`for i {a} for i {b} for i {c}` -> `for i {a b c}`: the members are computed inside a loop of `consumer`.

        Raises ScheduleError for a consumer in a group, an axis that is no loop of it, and a member that is an output.
        """
        self._movable("compute_at")
        axis = consumer.axis_of(axis)
        if axis not in consumer.leaf:
            raise ScheduleError(
                f"compute_at: Cannot find the axis {axis.name} in parent's leaf_iter_vars ({self.label})"
            )
        if consumer.group is not None:
            raise ScheduleError(
                f"compute_at: Can only assign compute_at to stages within the same group ({self.label})"
            )
        for stage in self.members:
            if self.schedule.is_output(stage):
                stage.fail("compute_at", "an output of the function stays at the root")
        at: Attach | None = Attach(consumer, axis)
        while at is not None:
            if at.stage in self.members:
                raise ScheduleError(f"compute_at: Find loop in compute_at attach group ({self.label})")
            at = at.stage.attach
        self._move(Attach(consumer, axis))
        host = self.schedule.stage_handle(consumer)
        handle = self.schedule.group_handle(self)
        self.schedule.record(ops.ComputeAtOp(handle, host, self.schedule.handle(axis)), self.members[0])

    def compute_root(self) -> None:
        """`for i {a b c}` -> `for i {a} for i {b} for i {c}`: the members are computed before their consumers."""
        self._movable("compute_root")
        self._move(None)
        self.schedule.record(ops.ComputeRootOp(self.schedule.group_handle(self)), self.members[0])


def between(
    schedule: Schedule, outputs: Sequence[SSAValue], inputs: Sequence[SSAValue], include_inputs: bool
) -> list[Stage]:
    """The stages on a way from `inputs` to `outputs`, in order; the inputs' own only if asked for."""
    behind: set[SSAValue] = set()
    stack = list(outputs)
    stop = set(inputs)
    while stack:
        tensor = stack.pop()
        if tensor in behind or (tensor in stop and not include_inputs):
            continue
        behind.add(tensor)
        if tensor not in stop and isinstance(op := tensor.owner, te.STAGES):
            stack += te.inputs_of(op)
    reached: set[SSAValue] = set(inputs)
    members: list[Stage] = []
    for stage in schedule.stages:
        results = stage.outputs
        if any(tensor in reached for tensor in stage.inputs):
            reached.update(results)
        wanted = any(result in behind for result in results)
        if wanted and any(result in reached for result in results):
            members.append(stage)
    return members


def group_scans(schedule: Schedule) -> list[Group]:
    """A group per scan of what its updates read that depends on its states; the stages are told."""
    found: list[Group] = []
    for op in [stage.producer for stage in schedule.stages if isinstance(stage.producer, te.ScanOp)]:
        members = [stage for stage in between(schedule, op.updates, op.states, False) if stage.is_compute]
        group = Group(schedule, members, op)
        for stage in members:
            stage.group = group
        found.append(group)
    return found


def make_group(schedule: Schedule, members: Sequence[Stage]) -> Group:
    """Group `members`. Attachments across its border are undone, with a warning.

    Raises ScheduleError when there are none, or one is in a group already.
    """
    if not members:
        raise ScheduleError("create_group: expected stages between the inputs and the outputs, got none")
    for stage in members:
        if stage.group is not None:
            stage.fail("create_group", "Trying to group region that intersect with an already existed group")
    crossing = [
        stage for stage in schedule.stages if stage.attach and (stage in members) != (stage.attach.stage in members)
    ]
    for stage in crossing:
        warnings.warn(
            f"create_group: stage '{stage.label}' was computed inside a loop across the group's border; "
            "it is computed at the root now",
            stacklevel=3,
        )
        # What a group placed there moves with the group.
        if stage.group is None:
            stage.compute_root()
        elif stage.group.attach is not None:
            stage.group.compute_root()
    group = Group(schedule, members)
    for stage in members:
        stage.group = group
    return group
