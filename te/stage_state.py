"""What a stage is: one compute of the function, its loops, and where and how its result is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, cast

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr

from ..dialects import te
from ..provenance.diagnostics import ScheduleError, describe
from .expr import Axis
from .itervar import Attach, IterVar, Relation

if TYPE_CHECKING:
    from .group import Group
    from .schedule import Schedule
    from .stage import Stage


@dataclass(frozen=True)
class StageAxes:
    """The name and the root axes of a stage."""

    name: str
    axis: list[IterVar]
    reduce_axis: list[IterVar]


@dataclass
class Storage:
    """How the result of a stage is stored."""

    align: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Data axis -> factor and offset: its stride is offset modulo factor."""
    layout: AffineMapAttr | None = None
    """Where element (i, j, ..) is; None: there."""
    separators: tuple[int, ...] = ()
    double_buffer: bool = False
    rolling_buffer: bool = False
    predicate: AffineSetAttr | None = None
    """Over the data axes: only where it holds an element is stored."""


class StageState:
    """One compute of the function, and how its loops are arranged."""

    def __init__(self, schedule: Schedule, compute: te.ComputeOp):
        self.schedule = schedule
        self.compute = compute
        self.origin = compute.label.data
        """The label at first; a factored stage gets another."""
        self._reset_axes()
        self.relations: list[Relation] = []
        self.attach: Attach | None = None
        """None: computed at the root, in full, before its consumers."""
        self.inlined = False
        self.scope = "global"
        self.storage = Storage()
        self.group: Group | None = None
        """The group that it is placed with."""

    def _reset_axes(self) -> None:
        arguments = list(self.compute.block.args)
        extents = (*self.compute.shape, *self.compute.reduce_shape)
        rank = len(self.compute.shape)
        made = [
            IterVar(self.stage, argument.name_hint or f"ax{i}", extent, i >= rank)
            for i, (argument, extent) in enumerate(zip(arguments, extents, strict=True))
        ]
        self.axes, self.reduce_axes = made[:rank], made[rank:]
        self.leaf = list(made)
        """The loops, outermost first."""

    @property
    def stage(self) -> Stage:
        """This, with all primitives."""
        return cast("Stage", self)

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
        changed = self.leaf != first or any(axis.kind != "serial" or axis.thread or axis.hints for axis in first)
        return changed or self.attach is not None or self.inlined

    def __repr__(self) -> str:
        return f"Stage({self.label})"

    def fail(self, primitive: str, text: str) -> NoReturn:
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
        self.fail("schedule", f"axis {axis.name} is not part of the schedule")

    def position(self, primitive: str, axis: IterVar) -> int:
        """The position of a loop of this stage."""
        if axis.stage is not self:
            self.fail(primitive, f"axis {axis.name} is not part of the schedule of this stage")
        if axis not in self.leaf:
            self.fail(primitive, f"Operate on iter var {axis.name} that has already been split or fused")
        return self.leaf.index(axis)

    def relayout(self, compute: te.ComputeOp) -> None:
        """Describe another compute from now on, unscheduled."""
        self.compute = compute
        self.relations = []
        self._reset_axes()
