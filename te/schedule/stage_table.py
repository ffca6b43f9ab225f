"""The stages of a function, and what names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar, cast

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects import te
from ...support.doors import doors
from ...support.errors import ScheduleError
from ..language.expr import Axis
from ..language.tensor import Operation as TeOperation
from ..language.tensor import Tensor
from .itervar import IterVar
from .opaque import Producer
from .stage_state import GroupState, StageAxes, StageState

StageT_co = TypeVar("StageT_co", bound=StageState, covariant=True)
Key: TypeAlias = str | Producer | SSAValue | StageState | Tensor | TeOperation
"""A name of a stage: its label, its op, its tensor, itself; in the te language its tensor or operation."""


@doors(ScheduleError)
class StageTable(Generic[StageT_co]):
    """The stages of a te.func, one per operation, producers first."""

    def __init__(self, func: te.FuncOp):
        self.func = func
        self.stages: list[StageT_co] = []
        self.placeholders: dict[BlockArgument, StageT_co] = {}
        """The stages of the function's arguments, which can be laid out and no more."""
        self.operations: dict[TeOperation, StageT_co] = {}
        """The stages of the te language's operations, when the function was built from them."""
        self.arguments: dict[Tensor, SSAValue] = {}
        """The function's arguments by their placeholders, when it was built from them."""
        self.before: dict[IterVar, IterVar] = {}
        """The iteration variables of a normalized schedule by those from before."""
        self.scan_groups: list[GroupState] = []
        """The stages that run in the steps of each scan."""
        self._places: dict[Axis, tuple[StageT_co, int]] = {}
        self._of_producers: dict[object, StageT_co] = {}
        """The stages by their ops, as of the last op that was not met before."""

    @property
    def computes(self) -> list[StageT_co]:
        """The stages that are computes, producers first."""
        return [stage for stage in self.stages if stage.is_compute]

    def __getitem__(self, key: Key | StageAxes) -> StageT_co:
        """The stage of a label, an op, its tensor, a stage or its `op`; raises ScheduleError when there is none.

        That of an argument is not among `stages`, and can be laid out and no more.
        """
        if isinstance(key, StageAxes):
            key = key.name
        if not isinstance(key, Key):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError(f"Expect schedule key to be Tensor or Operation, got {type(key).__name__}")
        if isinstance(key, Tensor) and key in self.arguments:
            key = self.arguments[key]
        if isinstance(key, Tensor):
            key = key.op
        if isinstance(key, TeOperation):
            found = self.operations.get(key)
            key = found if found is not None else key.name
        if isinstance(key, Operation | StageState) and (stage := self._of_operation(key)) is not None:
            return stage
        for stage in self.stages:
            if key in (stage.label, stage.producer) or key in stage.outputs:
                return stage
        for stage in self.stages:
            if key == stage.origin:
                return stage
        for argument, stage in self.placeholders.items():
            if key is argument or key is stage or (key == argument.name_hint and isinstance(key, str)):
                return stage
        raise ScheduleError(f"Cannot find the operation {key} in schedule of {self.func.sym_name.data}")

    def _of_operation(self, key: Operation | StageState) -> StageT_co | None:
        """The stage of an op, or the stage itself, without a look at all others: most are asked for many times."""
        if isinstance(key, StageState):
            return cast(StageT_co, key) if key in self.stages else None
        stage = self._of_producers.get(key)
        if stage is None or stage.producer is not key or stage not in self.stages:
            # Primitives replace stages and their ops.
            self._of_producers = {stage.producer: stage for stage in self.stages}
            stage = self._of_producers.get(key)
        return stage

    def place_of(self, axis: Axis) -> tuple[StageT_co, int] | None:
        """The stage of the te operation that has this axis, and which of the operation's axes it is."""
        if not self._places:
            self._places = {
                axis: (stage, i)
                for op, stage in self.operations.items()
                for i, axis in enumerate([*op.axis, *op.reduce_axis])
            }
        return self._places.get(axis)

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

    @staticmethod
    def is_output(stage: StageState) -> bool:
        """Return whether a tensor of it is used as a whole: returned, or handed to an operation that is no compute."""
        return stage.is_output


def several(keys: Key | Sequence[Key]) -> Sequence[Key]:
    """A key or keys as keys."""
    return keys if isinstance(keys, Sequence) and not isinstance(keys, str) else [keys]
