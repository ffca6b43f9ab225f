"""Schedules: how the stages of a te.func are ordered into loops.

Each primitive appends one op to a `schedule.sequence`; that list is the record. Snapshot k is the function with the
first k primitives applied, made by replaying them. A primitive that fails changes and records nothing.

    s = Schedule(func)
    outer, inner = s["dense"].split(s["dense"].axes[1], 16)
    s["dense"].vectorize(inner)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ...dialects import schedule as ops
from ...dialects import te
from ...provenance.builder import LocatedBuilder
from ...support.context import PassContext
from ...support.dtypes import python_number
from ...support.errors import ScheduleError
from ..language.expr import Axis
from ..language.tensor import Operation as TeOperation
from ..language.tensor import Tensor
from . import dataflow
from .group import Group, between, group_scans, make_group
from .intrin import TensorIntrin
from .itervar import IterVar, ThreadAxis
from .open_sizes import OpenSizes
from .stage import Stage
from .stage_state import Producer

OpT = TypeVar("OpT", bound=IRDLOperation)
Key: TypeAlias = str | Producer | SSAValue | Stage | Tensor | TeOperation
"""What names a stage: its label, its op, its tensor, itself; in the te language its tensor or operation."""


def _several(keys: Key | Sequence[Key]) -> Sequence[Key]:
    return keys if isinstance(keys, Sequence) and not isinstance(keys, str) else [keys]


class Schedule:
    """The stages of a te.func, one per operation, producers first, and the record of what was done to them.

    `func` is changed by cache_write; hand in a clone to keep it.
    """

    def __init__(self, func: te.FuncOp):
        self.func = func
        self._origin = func.clone()
        self.operations: dict[TeOperation, Stage] = {}
        """The stages of the te language's operations, when the function was built from them."""
        self._places: dict[Axis, tuple[Stage, int]] = {}
        self.stages = [Stage(self, op) for op in func.block.ops if isinstance(op, te.STAGES)]
        self._placeholders: dict[BlockArgument, Stage] = {}
        self.sequence = ops.SequenceOp(func.sym_name.data)
        self.sequence.location = func.location
        self._builder = LocatedBuilder(self.sequence.block, func.location)
        self._stages: dict[Stage, SSAValue] = {}
        self._axes: dict[IterVar, SSAValue] = {}
        self._threads: dict[ThreadAxis, SSAValue] = {}
        self._arguments: dict[SSAValue, SSAValue] = {}
        self._groups: dict[Group, SSAValue] = {}
        self.scan_groups = group_scans(self)
        """The stages that run in the steps of each scan."""
        self.arguments: dict[Tensor, SSAValue] = {}
        """The function's arguments by their placeholders, when it was built from them."""
        self.open: OpenSizes | None = None
        """What it was made from, when sizes are open: extents are nominal then."""
        self.intrinsics: dict[str, TensorIntrin] = {}
        """What the names of intrinsics in the sequence mean."""
        self.quiet = False
        """Whether primitives do not warn."""
        self.keep_schedule_record = bool(PassContext.current().option("te.keep_schedule_record"))

    @property
    def computes(self) -> list[Stage]:
        """The stages that are computes, producers first."""
        return [stage for stage in self.stages if stage.is_compute]

    def __getitem__(self, key: Key) -> Stage:
        """The stage of a label, an op, its tensor or a stage; raises ScheduleError when there is none.

        That of an argument is not among `stages`, and nothing can be done to it.
        """
        if not isinstance(key, Key):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError(f"Expect schedule key to be Tensor or Operation, got {type(key).__name__}")
        if isinstance(key, Tensor) and key in self.arguments:
            key = self.arguments[key]
        if isinstance(key, Tensor):
            key = key.op
        if isinstance(key, TeOperation):
            found = self.operations.get(key)
            key = found if found is not None else key.name
        if isinstance(key, Stage) and key in self.stages:
            return key
        for stage in self.stages:
            if key in (stage.label, stage.producer) or key in stage.outputs:
                return stage
        for stage in self.stages:
            if key == stage.origin:
                return stage
        for argument in self.func.block.args:
            if key is argument or (key == argument.name_hint and isinstance(key, str)):
                return self._placeholder(argument)
        if isinstance(key, Stage) and key in self._placeholders.values():
            return key
        raise ScheduleError(f"Cannot find the operation {key} in schedule of {self.func.sym_name.data}")

    def place_of(self, axis: Axis) -> tuple[Stage, int] | None:
        """The stage of the te operation that has this axis, and which of the operation's axes it is."""
        if not self._places:
            self._places = {
                axis: (stage, i)
                for op, stage in self.operations.items()
                for i, axis in enumerate([*op.axis, *op.reduce_axis])
            }
        return self._places.get(axis)

    def _placeholder(self, argument: BlockArgument) -> Stage:
        if argument not in self._placeholders:
            self._placeholders[argument] = Stage(self, argument)
        return self._placeholders[argument]

    def __str__(self) -> str:
        from .view import show

        return show(self)

    def is_output(self, stage: Stage) -> bool:
        """Whether a tensor of the stage is used as a whole: returned, or handed to an operation that is no compute."""
        return self.whole_use(stage) is not None

    def whole_use(self, stage: Stage) -> Operation | None:
        """What uses a tensor of the stage as a whole: the return, or an operation that is no compute."""
        uses = (use.operation for output in stage.outputs for use in output.uses)
        return next((user for user in uses if not isinstance(user, te.ReadOp)), None)

    def stage_handle(self, stage: Stage) -> SSAValue:
        """The value that stands for a stage in the sequence."""
        if stage not in self._stages:
            with self._builder.located(stage.location):
                handle = self._builder.add(ops.StageOp(stage.label)).stage
            handle.name_hint = stage.label if SSAValue.is_valid_name(stage.label) else None
            self._stages[stage] = handle
        return self._stages[stage]

    def handle(self, axis: IterVar) -> SSAValue:
        """The value that stands for an axis in the sequence."""
        if axis not in self._axes:
            roots = [*axis.stage.axes, *axis.stage.reduce_axes]
            stage = self.stage_handle(axis.stage)
            with self._builder.located(axis.stage.location):
                op = self._builder.add(ops.AxesOp(stage, len(roots)))
            for root, value in zip(roots, op.axes, strict=True):
                self.name(root, value)
        return self._axes[axis]

    def name(self, axis: IterVar, value: SSAValue) -> None:
        value.name_hint = axis.name
        self._axes[axis] = value

    def record(self, op: OpT, stage: Stage) -> OpT:
        with self._builder.located(stage.location):
            return self._builder.add(op)

    def thread_handle(self, thread: ThreadAxis) -> SSAValue:
        """The value that stands for a thread in the sequence."""
        if thread not in self._threads:
            self._threads[thread] = self._builder.add(ops.ThreadOp(thread.tag, thread.extent)).thread
            self._threads[thread].name_hint = thread.name
        return self._threads[thread]

    def group_handle(self, group: Group) -> SSAValue:
        """The value that stands for a group in the sequence."""
        return self._groups[group]

    def tensor_of(self, key: Key) -> SSAValue:
        """The value in the function of a tensor, or of the first that a stage computes; arguments have no stage."""
        if isinstance(key, Tensor) and key in self.arguments:
            return self.arguments[key]
        if isinstance(key, SSAValue) and key in self.func.block.args:
            return key
        named = [a for a in self.func.block.args if a.name_hint == key]
        if named and isinstance(key, str) and all(key != stage.label for stage in self.stages):
            return named[0]
        stage = self[key]
        return stage.outputs[key.value_index if isinstance(key, Tensor) else 0]

    def tensor_name(self, tensor: SSAValue) -> str:
        """The label of a stage, `.v<i>` added where it has several tensors; the name of an argument."""
        if isinstance(tensor, BlockArgument):
            return tensor.name_hint or f"p{tensor.index}"
        stage = self[tensor]
        several = len(stage.outputs) > 1
        return f"{stage.label}.v{stage.outputs.index(tensor)}" if several else stage.label

    def tensor_handle(self, tensor: SSAValue) -> SSAValue:
        """The value that stands for a tensor in the sequence."""
        if not isinstance(tensor, BlockArgument):
            return self.stage_handle(self[tensor])
        if tensor not in self._arguments:
            with self._builder.located(tensor.location):
                self._arguments[tensor] = self._builder.add(ops.ArgumentOp(tensor.index)).stage
            self._arguments[tensor].name_hint = tensor.name_hint
        return self._arguments[tensor]

    def intrinsic(self, intrin: TensorIntrin) -> str:
        """The name under which the sequence refers to an intrinsic."""
        for name, known in self.intrinsics.items():
            if known is intrin:
                return name
        name, count = intrin.name, 0
        while name in self.intrinsics:
            count += 1
            name = f"{intrin.name}_{count}"
        self.intrinsics[name] = intrin
        return name

    def _made(self, stage: Stage, op: ops.CacheReadOp | ops.CacheWriteOp | ops.RfactorOp) -> Stage:
        """Record the primitive that made a stage."""
        made = self.record(op, stage).results[0]
        made.name_hint = stage.label if SSAValue.is_valid_name(stage.label) else None
        self._stages[stage] = made
        return stage

    def _forget(self, stage: Stage) -> None:
        """A stage's axes are others from now on."""
        for axis in [axis for axis in self._axes if axis.stage is stage]:
            del self._axes[axis]

    def cache_write(self, tensor: Key | Sequence[Key], scope: str) -> Stage:
        """`c = f(a)` -> `c.local = f(a); c = c.local`: a new stage computes what a stage did, which becomes its copy.

        Where the stage's loops over data were split, fused or reordered, they are the axes of the new stage: split by 4
        `c[i]` -> `c.local[i.outer.c, i.inner.c] = f(a); c[i] = c.local[i // 4, i % 4]`, and the copy has plain loops.
        A stage that is calls of an intrinsic leaves these to the cache.
        tensor: with several of one stage, all of them. Returns the new stage, `LABEL.SCOPE`. Raises ScheduleError when
        loops of the reduction were changed, or loops that vanish were marked or have stages inside.
        """
        keys = _several(tensor)
        stage = self[keys[0]]
        if any(self[key] is not stage for key in keys):
            stage.fail("cache_write", "expected tensors of one stage")
        if len(keys) > 1 and len(set(keys)) != len(stage.outputs):
            stage.fail("cache_write", f"expected all of the stage's {len(stage.outputs)} tensors, got {len(set(keys))}")
        cache = dataflow.cache_write(self, stage, scope)
        handle = self.stage_handle(stage)
        self._forget(stage)
        return self._made(cache, ops.CacheWriteOp(handle, scope))

    def cache_read(self, tensor: Key, scope: str, readers: Key | Sequence[Key]) -> Stage:
        """`c = f(a)` -> `a.local = a; c = f(a.local)`: a new stage copies a tensor, `readers` read the copy.

        Returns the new stage, `NAME.SCOPE`. Raises ScheduleError when a reader does not read the tensor.
        """
        value = self.tensor_of(tensor)
        stages = [self[reader] for reader in _several(readers)]
        cache = dataflow.cache_read(self, value, scope, stages)
        source = self.tensor_handle(value)
        return self._made(cache, ops.CacheReadOp(source, scope, [self.stage_handle(stage) for stage in stages]))

    def rfactor(self, tensor: Key, axis: IterVar | Axis, factor_axis: int = 0) -> Stage:
        """`B[i] += A[i, ko, ki]` -> `B.rf[ki, i] += A[i, ko, ki]; B.repl[i] += B.rf[ki, i]`.

        The loop `axis` of the reduction becomes data axis `factor_axis` of a new stage, which it returns; the stage of
        `tensor` reduces over it alone, from its `init` on, and both are unscheduled. Where `axis` comes from an uneven
        split, points past the end add nothing. Raises ScheduleError for what is no loop of the reduction, or no known
        reduction.
        """
        stage = self[tensor]
        stage.the_compute("rfactor")
        axis, factor_axis = stage.axis_of(axis), python_number(factor_axis)
        dataflow.check_rfactor(stage, axis, factor_axis)
        handle = self.handle(axis)
        factored = dataflow.rfactor(self, stage, axis, factor_axis)
        self._forget(stage)
        return self._made(factored, ops.RfactorOp(handle, factor_axis))

    def create_group(
        self, outputs: Key | Sequence[Key], inputs: Key | Sequence[Key], include_inputs: bool = False
    ) -> Group:
        """The stages from `inputs` to `outputs`, to be placed as one: `for i {a} for i {b}` -> `for i {a b}`.

        include_inputs: with the stages of the inputs. Raises ScheduleError when one of them is in a group already.
        Warns when a stage was computed inside a loop across the border of the group; it goes to the root.
        """
        ends, starts = ([self.tensor_of(key) for key in _several(keys)] for keys in (outputs, inputs))
        members = between(self, ends, starts, include_inputs)
        group = make_group(self, members)
        handles = [[self.tensor_handle(tensor) for tensor in tensors] for tensors in (ends, starts)]
        made = self.record(ops.CreateGroupOp(handles[0], handles[1], include_inputs), members[0]).group
        made.name_hint = "group"
        self._groups[group] = made
        return group

    @property
    def outputs(self) -> list[TeOperation]:
        """The operations of the te language whose tensors are used as a whole."""
        return [operation for operation, stage in self.operations.items() if stage.is_output]

    @property
    def stage_map(self) -> dict[TeOperation, Stage]:
        """The stages of the te language's operations, those of placeholders among them."""
        operations = (*(tensor.op for tensor in self.arguments), *self.operations)
        return {operation: self[operation.output(0)] for operation in operations}

    @property
    def groups(self) -> list[Group]:
        """Those of the scans, then what `create_group` made."""
        return [*self.scan_groups, *self._groups]

    def text_of(self, name: str | None = None) -> list[Operation]:
        """The function as it was at first and what was done to it, under a name of their own if one is given."""
        func, sequence = self._origin.clone(), self.sequence.clone()
        if name is not None:
            func.sym_name = sequence.target = StringAttr(name)
        return [func, sequence]

    def module(self) -> ModuleOp:
        """All of the schedule as text: the intrinsics that it uses, its function, and what is done to it.

        The pass `schedule-apply` makes of it what lowering makes of the schedule.
        """
        intrinsics: list[Operation] = []
        for name, intrin in self.intrinsics.items():
            op = intrin.op()
            op.label = StringAttr(name)
            intrinsics.append(op)
        module = ModuleOp([*intrinsics, *self.text_of()])
        module.location = self.func.location
        return module

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
        from .replay import replay

        made = replay(self._origin.clone(), self.sequence, count, self.intrinsics)
        made.open = self.open
        return made

    def copy(self) -> Schedule:
        """A schedule that stands for itself, with the same record."""
        return self.snapshot()

    def normalize(self) -> Schedule:
        """`b inlined; c @ d.i, i split` -> `c = ..b's..; c @ d.i.inner`: a copy as it is lowered.

        Stages marked so are inlined, each other one is attached to the loop that its axis is now. Not recorded.
        """
        from .normalize import normalize

        return normalize(self.snapshot())

    @property
    def schedule_record(self) -> list[Schedule]:
        """All snapshots, as long as `primitive_record`."""
        return (
            [] if not self.keep_schedule_record else [self.snapshot(count) for count in range(len(self.primitives) + 1)]
        )
