"""The state of a stage: one operation of the function, its loops, where it is computed and how its result is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, LocationAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects import te
from ...provenance.diagnostics import describe
from ...support.errors import ScheduleError
from ..language.compute_view import compute_body
from ..language.expr import Expr
from .itervar import IterVar, Relation
from .opaque import Producer, opaque_axes
from .tensor_intrin import TensorIntrin

_WORDS: dict[type[object], str] = {
    te.ComputeOp: "a compute",
    te.StateOp: "the state of a scan",
    te.ScanOp: "a scan",
    te.ExternOp: "an extern",
    te.HybridOp: "a hybrid script",
}


@dataclass(frozen=True)
class StageAxes:
    """The name and the root axes of a stage."""

    name: str
    axis: list[IterVar]
    reduce_axis: list[IterVar]
    stage: StageState = field(repr=False, compare=False)

    @property
    def body(self) -> list[Expr]:
        """The values of the results, of a compute; raises ScheduleError for what is none."""
        return self.stage.expressions()

    @property
    def scan_axis(self) -> IterVar:
        """The steps of a scan, its first axis."""
        return self.axis[0]


@dataclass
class Storage:
    """The layout of a stage's result in memory."""

    align: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Data axis -> factor and offset: its stride is offset modulo factor."""
    layout: AffineMapAttr | None = None
    """The position of element (i, j, ..); None for (i, j, ..) itself."""
    separators: tuple[int, ...] = ()
    double_buffer: bool = False
    rolling_buffer: bool = False
    predicate: AffineSetAttr | None = None
    """Over the data axes: only where it holds an element is stored."""
    inside: AffineSetAttr | None = None
    """Like `predicate`, of a cache whose axes run past the tensor's end: it holds for the elements there are."""

    @property
    def conditions(self) -> list[AffineSetAttr]:
        """All that must hold for an element to be stored."""
        return [condition for condition in (self.inside, self.predicate) if condition is not None]

    def __str__(self) -> str:
        parts = [f"axis {axis} aligned to {factor}, {offset} on" for axis, (factor, offset) in self.align.items()]
        parts += [f"layout {self.layout.data}"] if self.layout is not None else []
        parts += [f"axis separators {list(self.separators)}"] if self.separators else []
        parts += [name for name in ("double_buffer", "rolling_buffer") if getattr(self, name)]
        parts += [f"stored if {condition.data}" for condition in self.conditions]
        return ", ".join(parts)


@dataclass(frozen=True)
class Attach:
    """Computed inside the loop `axis` of `stage`."""

    stage: StageState
    axis: IterVar

    @property
    def loop(self) -> IterVar:
        """The loop that `axis` is now: after a split the inner one, after a fuse the fused one."""
        axis = self.axis
        for relation in self.stage.relations:
            if axis in relation.parents:
                axis = relation.children[-1]
        return axis


class GroupState:
    """Stages that are placed as one, those of the groups inside this one too."""

    def __init__(self, members: Sequence[StageState], scan: te.ScanOp | None = None, parent: GroupState | None = None):
        self.members = list(members)
        self.scan = scan
        """The scan whose steps the members are; such a group cannot be moved."""
        self.parent = parent
        """The group that this one is in."""
        self.placed: Attach | None = None
        """Its attach point; None for that of the group around it."""

    @property
    def label(self) -> str:
        return f"group({', '.join(stage.label for stage in self.members)})"

    @property
    def attach(self) -> Attach | None:
        """The attach point of members without one of their own; None for the root."""
        group: GroupState | None = self
        while group is not None and group.placed is None:
            group = group.parent
        return group.placed if group is not None else None

    @property
    def chain(self) -> list[GroupState]:
        """This group, and those around it from the inside out."""
        return [self, *(self.parent.chain if self.parent is not None else ())]


class StageState:
    """An operation of the function, and the arrangement of its loops."""

    def __init__(self, producer: Producer):
        self.producer: Producer = producer
        self.origin = self.label
        """The label at first; a factored stage gets another."""
        self._reset_axes()
        self.relations: list[Relation] = []
        self.placed: Attach | None = None
        """Its attach point; None for that of its group."""
        self.inlined = False
        self.scope = "global"
        self.storage = Storage()
        self.group: GroupState | None = None
        """The innermost group that it is placed with."""
        self.made_of: tuple[TensorIntrin, int] | None = None
        """The intrinsic that it is calls of, and the number of axes outside of it."""
        self.cache: StageState | None = None
        """The stage that computes the elements since a cache_write made this stage their copy."""
        self.threads: list[IterVar] = []
        """The threads around the steps of a scan."""

    def _reset_axes(self) -> None:
        if not isinstance(self.producer, te.ComputeOp):
            self.axes, self.reduce_axes = opaque_axes(self.producer), list[IterVar]()
            self.leaf = list(self.axes)
            return
        arguments = list(self.compute.block.args)
        extents = (*self.compute.shape, *self.compute.reduce_shape)
        rank = len(self.compute.shape)
        iter_vars = [
            IterVar(argument.name_hint or f"ax{i}", extent, "reduce" if i >= rank else "data")
            for i, (argument, extent) in enumerate(zip(arguments, extents, strict=True))
        ]
        self.axes, self.reduce_axes = iter_vars[:rank], iter_vars[rank:]
        self.leaf = list(iter_vars)
        """The loops, outermost first."""

    @property
    def attach(self) -> Attach | None:
        """Where it is computed; None for the root: in full, before its consumers."""
        if self.placed is not None or self.group is None or self.inlined:
            return self.placed
        return self.group.attach

    @property
    def is_compute(self) -> bool:
        """Return whether it has an expression per element; others are placed and computed as they are."""
        return isinstance(self.producer, te.ComputeOp)

    @property
    def is_placeholder(self) -> bool:
        """Return whether it is an argument of the function."""
        return isinstance(self.producer, BlockArgument)

    @property
    def compute(self) -> te.ComputeOp:
        """The compute that this stage is; raises ScheduleError when it is another operation."""
        if not isinstance(self.producer, te.ComputeOp):
            self.fail("schedule", f"expected a compute, got {self.kind}")
        return self.producer

    @property
    def kind(self) -> str:
        """The kind of its producer, in words."""
        return _WORDS.get(type(self.producer), "a placeholder")

    @property
    def outputs(self) -> Sequence[SSAValue]:
        """The tensors."""
        return [self.producer] if isinstance(self.producer, BlockArgument) else self.producer.results

    @property
    def inputs(self) -> Sequence[SSAValue]:
        """The tensors read, each once, in order of their first read; for a scan, its initial values and its updates."""
        return [] if isinstance(self.producer, BlockArgument) else te.inputs_of(self.producer)

    @property
    def location(self) -> LocationAttr:
        return self.producer.location

    @property
    def label(self) -> str:
        producer = self.producer
        if isinstance(producer, BlockArgument):
            return producer.name_hint or f"p{producer.index}"
        return producer.label.data

    @property
    def attach_type(self) -> int:
        """TVM's number of where it is computed: 1 at the root, 2 inlined, 4 in a loop, 5 in the steps of a scan."""
        if self.inlined:
            return 2
        if self.attach is not None:
            return 4
        return 5 if self.is_update else 1

    @property
    def attach_stage(self) -> StageState | None:
        """The stage in one of whose loops it is computed."""
        return self.attach.stage if self.attach is not None else None

    @property
    def attach_ivar(self) -> IterVar | None:
        """The loop that it is computed in."""
        return self.attach.axis if self.attach is not None else None

    @property
    def is_output(self) -> bool:
        """Return whether a tensor of it is returned, or handed as a whole to an operation that is no compute."""
        return self.whole_use is not None

    @property
    def whole_use(self) -> Operation | None:
        """The user of a tensor of it as a whole: the return, or an operation that is no compute."""
        uses = (use.operation for output in self.outputs for use in output.uses)
        return next((user for user in uses if not isinstance(user, te.ReadOp)), None)

    @property
    def is_update(self) -> bool:
        """Return whether it gives a scan its next row."""
        return self.scan is not None and any(output in self.scan.updates for output in self.outputs)

    @property
    def scan(self) -> te.ScanOp | None:
        """The scan in whose steps it runs."""
        groups = self.group.chain if self.group is not None else ()
        return next((group.scan for group in groups if group.scan is not None), None)

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """The root axes and the threads around them, then what the relations made, in order."""
        children = [child for relation in self.relations for child in relation.children]
        return [*self.axes, *self.reduce_axes, *self.threads, *children]

    @property
    def scheduled(self) -> bool:
        """Return whether its loops are other than at first, or it is computed inside others."""
        first = [*self.axes, *self.reduce_axes]
        changed = self.leaf != first or any(axis.kind != "serial" or axis.thread or axis.hints for axis in first)
        return changed or self.attach is not None or self.inlined

    def __repr__(self) -> str:
        return f"Stage({self.label})"

    def fail(self, primitive: str, text: str) -> NoReturn:
        layer = describe(self.location)
        raise ScheduleError(f"{primitive}: {text} (stage '{self.label}'{', ' + layer if layer else ''})")

    @property
    def op(self) -> StageAxes:
        """The stage's axes, under the names they have on an operation: `s[C].op.axis[0]`."""
        return StageAxes(self.label, list(self.axes), list(self.reduce_axes), self)

    def expressions(self) -> list[Expr]:
        """Return the values of the results as expressions of axes that have these names."""
        compute = self.the_compute("op.body")
        return compute_body(compute, [axis.name for axis in (*self.axes, *self.reduce_axes)])

    def the_compute(self, primitive: str) -> te.ComputeOp:
        """The compute that this stage is; fails when `primitive` makes no sense on what it is."""
        if not isinstance(self.producer, te.ComputeOp):
            self.fail(primitive, f"Expect a ComputeOp, got {self.kind}")
        return self.producer

    def relayout(self, compute: te.ComputeOp) -> None:
        """Describe another compute from now on, unscheduled."""
        self.producer = compute
        self.relations = []
        self.made_of = None
        self._reset_axes()
