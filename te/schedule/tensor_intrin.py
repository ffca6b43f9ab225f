"""Tensor intrinsics: the compute whose tiles one computes, and the code that computes them instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation as IrOperation

from ...dialects import te
from ...dialects.schedule import SequenceOp
from ...dialects.schedule.intrin import PARTS, PATTERN, TensorIntrinOp
from ...support.errors import ScheduleError
from ..language.expr import Axis
from ..language.tensor import ComputeOp, Tensor, TensorSlice
from ..language.tensor_compute import IntrinCall


@dataclass(frozen=True, eq=False)
class Program:
    """A function that nothing was done to yet, and the sequence of what is to be done to it."""

    func: te.FuncOp
    sequence: SequenceOp
    intrinsics: Mapping[str, TensorIntrin]
    """The intrinsics by their names in the sequence."""


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """`pattern` is what a tile must compute; the others compute it instead, from the same inputs.

    `body` does all; where loops of the reduction stay outside the tile, `reset` runs first (what the reduction starts
    from, without it) and `update` for each of their iterations. A body that is computes stands for these, too.
    """

    name: str
    pattern: te.FuncOp
    body: Program | None
    reset: Program | None = None
    update: Program | None = None
    accumulates: bool = False
    """True when parts of a reduction can be computed one after the other."""
    operation: ComputeOp | None = None
    """The origin of the pattern, to be put into computes; an intrinsic from text has none."""

    @property
    def compute(self) -> te.ComputeOp:
        """The compute that a tile is compared with."""
        (compute,) = self.pattern.computes
        return compute

    def __call__(
        self, *slices: TensorSlice | Tensor, reduce_axis: Axis | Sequence[Axis] = (), scalar_inputs: Sequence[Any] = ()
    ) -> IntrinCall:
        """The intrinsic on regions of tensors, as what `te.compute` computes at its outer axes.

        Raises ScheduleError unless there is a region, `A[i, 0:16]`, of the right shape for each of its inputs.

            C = te.compute((64, 16), lambda i: vadd(A[i, 0:16], B[i, 0:16]))
        """
        axes = (reduce_axis,) if isinstance(reduce_axis, Axis) else tuple(reduce_axis)
        operation = self.operation
        if scalar_inputs:
            raise ScheduleError(f"'{self.name}': expected no scalar_inputs, as it has no scalar_params")
        if operation is None:
            raise ScheduleError(f"te.compute: expected an intrinsic of decl_tensor_intrin, got '{self.name}' from text")
        return IntrinCall(self, operation, tuple(slices), axes)

    @property
    def packed_calls(self) -> list[te.ExternOp]:
        """Its calls of Python functions, and those of the intrinsics that it is made of."""
        programs = [part for part in (self.body, self.reset, self.update) if part is not None]
        calls = [op for part in programs for op in te.packed_calls(part.func)]
        return calls + [op for part in programs for inner in part.intrinsics.values() for op in inner.packed_calls]

    @property
    def op(self) -> ComputeOp | None:
        """The operation that `decl_tensor_intrin` was given, by TVM's name."""
        return self.operation

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that `op` reads."""
        return self.operation.input_tensors if self.operation is not None else []

    def declaration(self) -> TensorIntrinOp:
        """Its text form."""
        pattern = self.pattern.clone()
        pattern.sym_name = StringAttr(PATTERN)
        parts: list[IrOperation] = [pattern]
        for name in PARTS:
            program: Program | None = getattr(self, name)
            if program is not None:
                func, sequence = program.func.clone(), program.sequence.clone()
                func.sym_name = sequence.target = StringAttr(name)
                parts += [func, sequence] if sequence.block.ops else [func]
        intrin_op = TensorIntrinOp.make(self.name, parts)
        intrin_op.location = self.pattern.location
        return intrin_op
