"""Groups: stages that are placed as one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NoReturn

from xdsl.ir import SSAValue

from ...dialects import schedule as ops
from ...dialects import te
from ...support.doors import doors
from ...support.errors import ScheduleError
from ..language.expr import Axis
from .itervar import IterVar
from .record import Record
from .stage import SCAN_UPDATE, Stage
from .stage_state import Attach, GroupState, StageState
from .stage_table import StageTable


@doors(ScheduleError)
class Group(GroupState):
    """The stages that lie between given inputs and outputs.

    `g.compute_at(s[C], axis)` moves those of them that are not inside others.
    """

    def __init__(self, record: Record, members: Sequence[StageState], parent: GroupState | None):
        super().__init__(members, None, parent)
        self.record = record

    def compute_at(self, consumer: Stage, axis: IterVar | Axis) -> None:
        """`for i {a} for i {b} for i {c}` -> `for i {a b c}`: the members are computed inside a loop of `consumer`.

        Raises ScheduleError for a consumer outside of the group that this one is in, an axis that is no loop of it, and
        a member that is an output.
        """
        if not isinstance(consumer, Stage):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._fail("compute_at", f"expected a stage to be computed in, got {consumer!r}")
        if all(consumer is not stage for stage in self.record.table.stages):
            self._fail("compute_at", f"expected a stage of this schedule, got '{consumer.label}'")
        axis = consumer.axis_of(axis)
        if axis not in consumer.leaf:
            self._fail("compute_at", f"Cannot find the axis {axis.name} in parent's leaf_iter_vars")
        around = consumer.group.chain if consumer.group is not None else []
        if self.parent is not None and self.parent not in around:
            self._fail("compute_at", "Can only assign compute_at to stages within the same group")
        for stage in self.members:
            if stage.is_output:
                stage.fail("compute_at", "an output of the function stays at the root")
        at: Attach | None = Attach(consumer, axis)
        while at is not None:
            if at.stage in self.members:
                self._fail("compute_at", "Find loop in compute_at attach group")
            at = at.stage.attach
        self.placed = Attach(consumer, axis)
        host = self.record.stage(consumer)
        op = ops.ComputeAtOp(self.record.group(self), host, consumer.handle(axis))
        self.record.add(op, self.members[0])

    def compute_root(self) -> None:
        """`for i {a b c}` -> `for i {a} for i {b} for i {c}`: the members are computed before their consumers.

        In a group around this one: where that is.
        """
        self.placed = None
        self.record.add(ops.ComputeRootOp(self.record.group(self)), self.members[0])

    def _fail(self, primitive: str, text: str) -> NoReturn:
        raise ScheduleError(f"{primitive}: {text} ({self.label})")


@doors(ScheduleError)
class ScanGroup(GroupState):
    """The stages that run in the steps of a scan; they stay there."""

    def compute_at(self, consumer: Stage, axis: IterVar | Axis) -> None:
        """Raises ScheduleError."""
        del consumer, axis
        raise ScheduleError(f"compute_at: {SCAN_UPDATE} ({self.label})")

    def compute_root(self) -> None:
        """Raises ScheduleError."""
        raise ScheduleError(f"compute_root: {SCAN_UPDATE} ({self.label})")


def between(
    table: StageTable[Stage], outputs: Sequence[SSAValue], inputs: Sequence[SSAValue], include_inputs: bool
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
    for stage in table.stages:
        results = stage.outputs
        if any(tensor in reached for tensor in stage.inputs):
            reached.update(results)
        wanted = any(result in behind for result in results)
        if wanted and any(result in reached for result in results):
            members.append(stage)
    return members


def group_scans(table: StageTable[Stage]) -> list[ScanGroup]:
    """Make a group per scan of the stages between its states and its updates, and set it in the stages."""
    groups: list[ScanGroup] = []
    for op in [stage.producer for stage in table.stages if isinstance(stage.producer, te.ScanOp)]:
        members = [stage for stage in between(table, op.updates, op.states, False) if stage.is_compute]
        group = ScanGroup(members, op)
        for stage in members:
            stage.group = group
        groups.append(group)
    return groups


def make_group(record: Record, members: Sequence[Stage], known: Sequence[GroupState]) -> Group:
    """Group `members`, in the innermost group that holds them all; groups (of `known`) inside it are whole members.

    Attachments from inside it to stages outside of it are undone, with a warning. Raises ScheduleError when there are
    no members, or a group has some of them and other stages besides.
    """
    if not members:
        raise ScheduleError("create_group: expected stages between the inputs and the outputs, got none")
    parent = _common(members)
    around = parent.chain if parent is not None else []
    inside = [group for stage in members for group in _chain(stage) if group not in around]
    for group in dict.fromkeys(inside):
        if any(stage not in members for stage in group.members):
            members[0].fail(
                "create_group", f"Trying to group region that intersect with an already existed group, {group.label}"
            )
    new_group = Group(record, members, parent)
    for group in known:
        if group in inside and group.parent is parent:
            group.parent = new_group
    for stage in members:
        if stage.group is parent:
            stage.group = new_group
    crossing = [stage for stage in members if stage.placed is not None and new_group not in _chain(stage.placed.stage)]
    for stage in crossing:
        _warn(record, stage)
        stage.compute_root()
    for group in [group for group in known if new_group in group.chain[1:] and group.placed is not None]:
        assert group.placed is not None
        if new_group not in _chain(group.placed.stage) and isinstance(group, Group):
            _warn(record, group)
            group.compute_root()
    return new_group


def _chain(stage: StageState) -> list[GroupState]:
    return stage.group.chain if stage.group is not None else []


def _common(members: Sequence[StageState]) -> GroupState | None:
    """The innermost group that all members are in."""
    shared = _chain(members[0])
    for stage in members[1:]:
        shared = [group for group in shared if group in _chain(stage)]
    return shared[0] if shared else None


def _warn(record: Record, moved: StageState | GroupState) -> None:
    if not record.quiet:
        warnings.warn(
            f"create_group: stage '{moved.label}' was computed inside a loop across the group's border; "
            "it is computed where the group is now",
            stacklevel=4,
        )
