"""The record of the primitives on a schedule: a `schedule.sequence`, and its values for stages, axes and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, LocationAttr, StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ...dialects import schedule as ops
from ...dialects.format import name_hint
from ...dialects.sizes import Size, size_max, substitute, symbols_of
from ...dialects.sizes.kernel import at_least
from ...provenance.builder import LocatedBuilder
from .choices import Choice, plain
from .issued import issued
from .itervar import IterVar, ThreadAxis
from .open_sizes import FunctionSizes
from .stage_state import GroupState, StageState
from .stage_table import StageTable
from .tensor_intrin import TensorIntrin

OpT = TypeVar("OpT", bound=IRDLOperation)

_PACKAGE = __name__.rpartition(".")[0]
"""The package that carries out primitives, for every caller."""


class Record:
    """Appends primitives to the sequence. What they are applied to is named in it when it is first needed."""

    def __init__(self, table: StageTable[StageState]):
        self.table = table
        func = table.func
        self.sequence = ops.SequenceOp(func.sym_name.data)
        self.sequence.location = func.location
        self.sizes = FunctionSizes(names=func.size_names)
        """The sizes that primitives may name."""
        self.intrinsics: dict[str, TensorIntrin] = {}
        """The intrinsics by their names in the sequence."""
        self.quiet = False
        """True when primitives do not warn."""
        self.lines: dict[Operation, str] | None = None
        """Primitive -> `file.py:12`, the line of Python that issued it; None: they are not kept."""
        self._builder = LocatedBuilder(self.sequence.block, func.location)
        self._stages: dict[StageState, SSAValue] = {}
        self._axes: dict[IterVar, SSAValue] = {}
        self._threads: dict[ThreadAxis, SSAValue] = {}
        self._arguments: dict[SSAValue, SSAValue] = {}
        self._groups: dict[GroupState, SSAValue] = {}

    def size(self, named: Size) -> Size:
        """A size over names, at least 1, as one of the function's, of whose sizes new names become some."""
        if isinstance(named, int):
            return named
        values = {name: self.sizes[name] for name in symbols_of(named)}
        size = substitute(named, cast("dict[str, Size]", values))
        if not at_least(size, 1):
            most = size_max(size, 1)
            size = most if isinstance(most, int) else cast(Size, self.sizes[str(most)])
        if self.sizes.missing and not self.sizes.nominal:
            self.table.func.properties["sizes"] = ArrayAttr(map(StringAttr, self.sizes.missing))
        return size

    @property
    def groups(self) -> list[GroupState]:
        """The groups that `create_group` made."""
        return list(self._groups)

    def add(self, op: OpT, stage: StageState) -> OpT:
        """Record a primitive, at the location of a stage."""
        if self.lines is not None:
            self.lines[op] = issued(_PACKAGE)
        with self._builder.located(stage.location):
            return self._builder.add(op)

    def knob(
        self,
        name: str,
        candidates: Sequence[int],
        decision: int,
        location: LocationAttr,
        before: Operation | None = None,
        *,
        fixed: bool = False,
    ) -> Choice:
        """Record a choice, and return its number for primitives; before another op, or else at the end.

        fixed: whether the primitives themselves are chosen by it.
        """
        with self._builder.located(location):
            op = self._builder.add(ops.KnobOp(name, candidates, decision, decision if fixed else None))
        if before is not None:
            op.detach()
            self.sequence.block.insert_op_before(op, before)
        return Choice.of(op.value, decision)

    def number(self, number: int, stage: StageState) -> int | SSAValue:
        """The value of a number that follows from knobs of this schedule; of another one the number."""
        with self._builder.located(stage.location):
            value = number.value(self._builder, self.sequence) if isinstance(number, Choice) else None
        return plain(number) if value is None else value

    def stage(self, stage: StageState) -> SSAValue:
        """Return the value of a stage."""
        if stage not in self._stages:
            self.name_stage(stage, self.add(ops.StageOp(stage.label), stage).stage)
        return self._stages[stage]

    def name_stage(self, stage: StageState, value: SSAValue) -> None:
        """Set the value of a stage."""
        value.name_hint = name_hint(stage.label)
        self._stages[stage] = value

    def axis(self, stage: StageState, axis: IterVar) -> SSAValue:
        """Return the value of an axis of a stage."""
        if axis not in self._axes:
            roots = [*stage.axes, *stage.reduce_axes]
            if axis not in roots:
                stage.fail("schedule", f"expected an axis of the stage, got {getattr(axis, 'name', repr(axis))}")
            op = self.add(ops.AxesOp(self.stage(stage), len(roots)), stage)
            for root, value in zip(roots, op.axes, strict=True):
                self.name_axis(root, value)
        return self._axes[axis]

    def name_axis(self, axis: IterVar, value: SSAValue) -> None:
        """Set the value of an axis."""
        value.name_hint = name_hint(axis.name)
        self._axes[axis] = value

    def thread(self, thread: ThreadAxis) -> SSAValue:
        """Return the value of a thread."""
        if thread not in self._threads:
            self._threads[thread] = self._builder.add(ops.ThreadOp(thread.tag, thread.extent)).thread
            self._threads[thread].name_hint = name_hint(thread.name)
        return self._threads[thread]

    def group(self, group: GroupState) -> SSAValue:
        """Return the value of a group."""
        return self._groups[group]

    def name_group(self, group: GroupState, value: SSAValue) -> None:
        """Set the value of a group."""
        value.name_hint = "group"
        self._groups[group] = value

    def tensor(self, tensor: SSAValue) -> SSAValue:
        """Return the value of a tensor: that of its stage, or of an argument of the function."""
        if not isinstance(tensor, BlockArgument):
            return self.stage(self.table[tensor])
        if tensor not in self._arguments:
            with self._builder.located(tensor.location):
                self._arguments[tensor] = self._builder.add(ops.ArgumentOp(tensor.index)).stage
            self._arguments[tensor].name_hint = self.table.tensor_name(tensor)
        return self._arguments[tensor]

    def intrinsic(self, intrin: TensorIntrin) -> str:
        """The name under which the sequence refers to an intrinsic."""
        for name, recorded in self.intrinsics.items():
            if recorded is intrin:
                return name
        name, count = intrin.name, 0
        while name in self.intrinsics:
            count += 1
            name = f"{intrin.name}_{count}"
        self.intrinsics[name] = intrin
        return name
