"""Computations of operators, by TVM's names: strategies with implementations, the user's and the compiler's.

A function under `FTVMStrategy` or `FTVMCompute` of an operator (`relay.op.register_strategy`, `register_compute`) takes
the place of the compiler's lowering. Rows for the tags of its stages schedule what it computes (`strategies.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, cast

from ...dialects.relay.operator import Operator
from ...passes.relay.op_hooks import attributes, written
from ...provenance.diagnostics import fail
from ...support.errors import ScheduleError, expectation
from ...syntax.relay.op_attrs import COMPUTE, STRATEGY, op_attr
from ...syntax.relay.operators import name_of
from ...syntax.relay.type_view import view
from ...te import Tensor
from ..llvm_to_native.target import Target

Compute = Callable[[Any, Sequence[Tensor], Any], Sequence[Tensor]]
"""(attributes, tensors of the arguments, type of the result) -> tensors of the results."""
ScheduleFunction = Callable[[Any, Sequence[Tensor], Any], Any]
"""(attributes, tensors of the results, target) -> schedule."""


class SpecializedCondition:
    """A context in which implementations are added that only serve if all `clauses` hold."""

    _open: ClassVar[list[SpecializedCondition]] = []

    def __init__(self, clauses: Any):
        self.clauses: list[Any] = list(
            cast("Sequence[Any]", clauses) if isinstance(clauses, list | tuple) else [clauses]
        )

    def __enter__(self) -> Self:
        self._open.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.pop()

    @property
    def holds(self) -> bool:
        return all(map(bool, self.clauses))

    @staticmethod
    def current() -> SpecializedCondition | None:
        """The innermost context."""
        return SpecializedCondition._open[-1] if SpecializedCondition._open else None


@dataclass(frozen=True)
class OpImplementation:
    """A way to compute an operator; of those that serve, that of the highest `plevel` is taken."""

    fcompute: Compute
    fschedule: ScheduleFunction | None
    name: str
    plevel: int = 10

    def compute(self, attrs: Any, inputs: Sequence[Tensor], out_type: Any) -> list[Tensor]:
        """Return the tensors of the results."""
        results: Any = self.fcompute(attrs, inputs, out_type)
        return [results] if isinstance(results, Tensor) else list(results)

    def schedule(self, attrs: Any, outs: Sequence[Tensor], target: Any) -> Any:
        """Return a schedule of `compute`'s tensors. Raises ScheduleError for an implementation without one."""
        if self.fschedule is None:
            raise ScheduleError(expectation(self.name, "an implementation with a schedule", "none"))
        return self.fschedule(attrs, outs, target)


@dataclass
class OpSpecialization:
    """The implementations under one condition."""

    condition: SpecializedCondition | None
    implementations: list[OpImplementation] = field(default_factory=list[OpImplementation])


@dataclass
class OpStrategy:
    """The implementations of an operator."""

    specializations: list[OpSpecialization] = field(default_factory=list[OpSpecialization])

    def add_implementation(
        self, compute: Compute, schedule: ScheduleFunction | None, name: str = "default", plevel: int = 10
    ) -> None:
        """Add an implementation, under the conditions of the `SpecializedCondition` around the call."""
        condition = SpecializedCondition.current()
        homes = [one for one in self.specializations if one.condition is condition]
        if not homes:
            self.specializations.append(OpSpecialization(condition))
        (homes or self.specializations)[-1].implementations.append(OpImplementation(compute, schedule, name, plevel))

    def valid(self) -> list[OpImplementation]:
        """The implementations whose conditions hold."""
        ours = [one for one in self.specializations if one.condition is None or one.condition.holds]
        return [implementation for one in ours for implementation in one.implementations]

    def best(self, name: str) -> OpImplementation:
        """Return that of the highest `plevel`, the first of equals. Raises ScheduleError without any."""
        if not (valid := self.valid()):
            raise ScheduleError(expectation(name, "a strategy with an implementation that serves", "none"))
        return max(valid, key=lambda implementation: implementation.plevel)


def lowering_of_users(op: Operator) -> Callable[..., tuple[Tensor, ...]] | None:
    """Return the lowering by a function that the user registered for an operator, if there is one."""
    name = name_of(type(op))
    strategy, compute = op_attr(name, STRATEGY), op_attr(name, COMPUTE)
    if strategy is None and compute is None:
        return None

    def lower(op: Operator, *tensors: Any) -> tuple[Tensor, ...]:
        attrs = attributes(written(op))
        types = [view(value.type) for value in op.results]
        out_type = types[0] if len(types) == 1 else types
        target = Target.current() or Target.native()
        chosen: Any = OpImplementation(compute, None, name)
        if strategy is not None:
            chosen = strategy(attrs, tensors, out_type, target).best(name)
        results = chosen.compute(attrs, tensors, out_type)
        wanted = [(tuple(type_.shape), type_.dtype) for type_ in types]
        actual = [(tuple(tensor.shape), tensor.dtype) for tensor in results]
        if wanted != actual:
            fail(op, f"tensors of {', '.join(map(str, types))}", ", ".join(map(str, actual)))
        return tuple(results)

    return lower
