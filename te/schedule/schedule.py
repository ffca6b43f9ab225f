"""Schedules: how the stages of a te.func are ordered into loops.

Each primitive appends one op to a `schedule.sequence`; that list is the record. Snapshot k is the function with the
first k primitives applied, made by replaying them. A primitive that fails changes and records nothing.

    s = Schedule(func)
    outer, inner = s["dense"].split(s["dense"].axes[1], 16)
    s["dense"].vectorize(inner)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation

from ...dialects import schedule as ops
from ...dialects import te
from ...dialects.schedule.knob import check_knob
from ...support.context import PassContext
from ...support.doors import doors
from ...support.errors import ScheduleError
from ...support.markup import folded, preformatted
from ...support.rooms import name_in
from ..language.tensor import Operation as TeOperation
from .normalize import normalize
from .open_sizes import FunctionSizes, OpenSizes
from .primitives import SchedulePrimitives
from .python import python_of
from .replay import apply_sequence
from .stage import Stage
from .tensor_intrin import Program, TensorIntrin
from .view import show


@doors(ScheduleError)
class Schedule(SchedulePrimitives):
    """The schedule of a te.func: its stages and their primitives, as text, and as it was at any time before.

    `func` is changed by cache_write; hand in a clone to keep it.
    """

    def __init__(self, func: te.FuncOp, sizes: FunctionSizes | None = None):
        self._origin = func.clone()
        super().__init__(func)
        if sizes is not None:
            self.record.sizes = sizes
        self.origin: OpenSizes | None = None
        """The tensors and sizes of `create_schedule`; None for a schedule of ops alone."""
        options = PassContext.current()
        self.keep_schedule_record = bool(options.option("te.keep_schedule_record"))
        self.record.lines = {} if options.option("te.keep_primitive_lines") else None

    def __str__(self) -> str:
        return show(self, len(self.primitives))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the loop tree, and the primitives behind it."""
        return preformatted(str(self)) + folded(f"{len(self.primitives)} primitives", preformatted(str(self.sequence)))

    def explain(self, **options: Any) -> Any:
        """Return what each primitive did: loops before and after, estimate, time, and primitives that may come next.

        The result prints as text, and in a notebook as a table. Options and errors as `te.explain`.
        """
        return name_in(__name__.removesuffix(".schedule.schedule"), "explain")(self, **options)

    @property
    def sequence(self) -> ops.SequenceOp:
        """The primitives that were applied, in order."""
        return self.record.sequence

    @property
    def intrinsics(self) -> dict[str, TensorIntrin]:
        """The intrinsics by their names in the sequence."""
        return self.record.intrinsics

    @property
    def open(self) -> OpenSizes | None:
        """The origin, when sizes are open."""
        names = tuple(self.record.sizes.missing)
        return replace(self.origin, names=names) if self.origin is not None and names else None

    @property
    def outputs(self) -> list[TeOperation]:
        """The operations of the te language whose tensors are used as a whole."""
        return [operation for operation, stage in self.operations.items() if stage.is_output]

    @property
    def stage_map(self) -> dict[TeOperation, Stage]:
        """The stages of the te language's operations, those of placeholders among them."""
        operations = (*(tensor.op for tensor in self.arguments), *self.operations)
        return {operation: self[operation.output(0)] for operation in operations}

    def program(self) -> Program:
        """The function as it was at first and what was done to it until now."""
        return Program(self._origin.clone(), self.sequence.clone(), dict(self.intrinsics))

    def module(self) -> ModuleOp:
        """Return the whole schedule as a module: its intrinsics, its function and its primitives.

        The pass `schedule-apply` makes of it what lowering makes of the schedule.
        """
        intrinsics: list[Operation] = []
        for name, intrin in self.intrinsics.items():
            op = intrin.declaration()
            op.label = StringAttr(name)
            intrinsics.append(op)
        program = self.program()
        module = ModuleOp([*intrinsics, program.func, program.sequence])
        module.location = self.func.location
        return module

    def knob(self, name: str, candidates: Sequence[int], decision: int) -> int:
        """A number for primitives that might be another of the candidates: `split(i, s.knob("rows", (4, 6, 8), 8))`.

        It is recorded; see `with_decisions`. `*`, `+`, `-`, `//` and `te.schedule.least` make others of it; a schedule
        that looks at it, as `if` does, is one for this decision alone. Raises ScheduleError for a name that a knob has
        already, and for a decision that is no candidate.
        """
        check_knob(self.sequence, name, candidates, decision)
        return self.record.knob(name, candidates, decision, self.func.location)

    def as_python(self) -> str:
        """Python that makes the same schedule: a function of a schedule to which nothing was done, and intrinsics.

        Sizes are in it as `te.schedule.size("n + 1")`, other attributes as `te.schedule.attribute("unit")`.
        """
        return python_of(self.sequence)

    @property
    def primitives(self) -> list[ops.Primitive]:
        """The recorded primitives, in order."""
        return [op for op in self.sequence.block.ops if isinstance(op, ops.Primitive) and op.title() is not None]

    @property
    def primitive_record(self) -> list[str]:
        """`vanilla`, then TVM's name of each primitive; empty when no record is kept.

        TVM leaves rfactor and create_group out, and calls cache_read and cache_write set_scope.
        """
        return ["vanilla", *(cast(str, op.title()) for op in self.primitives)] if self.keep_schedule_record else []

    def snapshot(self, count: int | None = None) -> Schedule:
        """The schedule after the first `count` recorded primitives, 0 for none of them; a copy without it."""
        return self._replayed(self.sequence, count)

    def with_decisions(self, decisions: Mapping[str, int]) -> Schedule:
        """A copy in which knobs are decided otherwise: the same primitives, with other numbers.

        decisions: those that are not named stay. Raises ScheduleError for a knob that there is not, a number that is no
        candidate, and another decision of a knob by which the primitives were chosen.
        """
        return self._replayed(ops.decided(self.sequence, decisions))

    def _replayed(self, sequence: ops.SequenceOp, count: int | None = None) -> Schedule:
        now = self.record.sizes
        names = list(now.missing) if now.nominal else self._origin.size_names
        sizes = FunctionSizes(now.given, names, now.nominal)
        schedule = replay(self._origin.clone(), sequence, count, self.intrinsics, sizes)
        schedule.origin = self.origin
        by_origin = {stage.origin: stage for stage in schedule.stages}
        schedule.operations = {operation: by_origin[stage.origin] for operation, stage in self.operations.items()}
        schedule.arguments = {
            tensor: schedule.func.block.args[value.index]
            for tensor, value in self.arguments.items()
            if isinstance(value, BlockArgument)
        }
        return schedule

    def copy(self) -> Schedule:
        """Return an independent copy of the schedule, with the same record."""
        return self.snapshot()

    def normalize(self) -> Schedule:
        """`b inlined; c @ d.i, i split` -> `c = ..b's..; c @ d.i.inner`: a copy as it is lowered.

        Stages marked so are inlined, each other one is attached to the loop that its axis is now. Not recorded.
        """
        copy = self.snapshot()
        for mine, other in zip(self.stages, copy.stages, strict=True):
            copy.before |= dict(zip(mine.all_iter_vars, other.all_iter_vars, strict=True))
        normalize(copy)
        return copy

    @property
    def schedule_record(self) -> list[Schedule]:
        """Return all snapshots, as many as `primitive_record` has entries."""
        return (
            [] if not self.keep_schedule_record else [self.snapshot(count) for count in range(len(self.primitives) + 1)]
        )


def replay(
    func: te.FuncOp,
    sequence: ops.SequenceOp,
    count: int | None = None,
    intrinsics: Mapping[str, TensorIntrin] | None = None,
    sizes: FunctionSizes | None = None,
) -> Schedule:
    """The schedule of `func` after the first `count` recorded primitives of `sequence` (all without it).

    intrinsics: what the names that it tensorizes by mean. sizes: those that its primitives name. Raises ScheduleError
    when a primitive does not fit.
    """
    schedule = Schedule(func, sizes)
    apply_sequence(schedule, sequence, count, intrinsics or {})
    return schedule
