"""The context of a converter: one call of an ATen operator, whose arguments have the names of its schema.

An exported program leaves out what equals the default, so that each question here comes with that default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.sizes import Size, SizeExpr
from ..importing import context
from ..importing.node_parts import NodePart
from ..importing.tensor import Tensor
from ..importing.terms import Term
from .calls import At, Call, Operand
from .schema import ScalarType, Unread
from .tensors import dtype_of

T = TypeVar("T")


HINTS: Mapping[str, str] = {
    "allow_tf32": "of kernels of a GPU",
    "assert_msg": "said where an assertion fails",
    "benchmark": "of kernels of a GPU",
    "copy": "each value is a storage of its own",
    "cudnn_enable": "of kernels of a GPU",
    "cudnn_enabled": "of kernels of a GPU",
    "deterministic": "of kernels of a GPU",
    "implicit": "of gradients",
    "momentum": "of statistics that training gathers",
    "non_blocking": "of copies between devices",
    "path": "the order in which an einsum is computed",
    "physical_layout": "the order of elements in memory, which no operator sees",
    "pin_memory": "of memory that a GPU reads",
    "requires_grad": "of gradients",
    "scale_grad_by_freq": "of gradients",
    "sparse": "of gradients",
    "sparse_grad": "of gradients",
}
"""Arguments of operators that do not change what is computed, each with the reason."""
_OF_AXES = frozenset(("dim", "descending", "keepdim", "largest", "exclusive"))
"""Arguments that do not change what is computed of a scalar, which torch takes for a row of one."""


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One call under conversion. Inputs are the values among its arguments, in order."""

    repeats = True
    call: Call

    def argument(self, name: str) -> Operand:
        """An argument as it stands; None where it is left out."""
        self.asked.attributes.add(name)
        return self.call.arguments.get(name)

    def arguments(self) -> Mapping[str, Operand]:
        """All arguments that are not left out, by name."""
        self.asked.attributes.update(self.call.arguments)
        return self.call.arguments

    def parts(self) -> Iterator[NodePart]:
        """The arguments, but for tensors that were asked for by their places among the inputs.

        A program leaves out arguments that have their defaults.
        """
        scalar = self._of_scalar()
        for name, operand in self.call.arguments.items():
            if operand is None or isinstance(operand, Unread) or name in HINTS or (scalar and name in _OF_AXES):
                continue
            if isinstance(operand, At):
                if operand.index not in self.asked.inputs:
                    tensor = self.inputs[operand.index]
                    yield NodePart(name, "argument", name, "none" if tensor is None else f"'{tensor.name}'")
            else:
                yield NodePart(name, "argument", name, repr(operand))

    def _of_scalar(self) -> bool:
        """Return whether the first argument is a tensor without axes."""
        first = next(iter(self.call.arguments.values()), None)
        return isinstance(first, At) and self.inputs[first.index] is not None and self.shape(first.index) == ()

    def given(self, name: str) -> bool:
        """Return whether an argument is there, and not None."""
        return self.argument(name) is not None

    # Tensors.

    def index_of(self, name: str, position: int) -> int | None:
        return self.at(name) if self.given(name) else None

    def indices_of(self, name: str, position: int) -> list[int]:
        return [index for index in self.places(name) if index is not None]

    def at(self, name: str) -> int:
        """The place among the inputs of an argument, which must be a value."""
        operand = self.argument(name)
        if not isinstance(operand, At):
            self.fail(f"a tensor as '{name}'", "none" if operand is None else repr(operand))
        return operand.index

    def of(self, name: str) -> SSAValue:
        """An argument as a relay value."""
        return self.value(self.at(name))

    def term(self, name: str) -> Term:
        """An argument, to compute with."""
        return Term(self, self.of(name))

    def optional(self, name: str) -> SSAValue | None:
        """An argument as a relay value; None where it is left out."""
        return self.of(name) if self.given(name) else None

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.shape(self.at(name))

    def dtype_of(self, name: str) -> np.dtype[np.generic]:
        return self.dtype(self.at(name))

    def places(self, name: str) -> list[int | None]:
        """The places among the inputs of an argument that is a list of tensors, some of them None."""
        operand = self.argument(name)
        if not isinstance(operand, tuple) or not all(item is None or isinstance(item, At) for item in operand):
            self.fail(f"a list of tensors as '{name}'", repr(operand))
        return [item.index if isinstance(item, At) else None for item in operand]

    def list_of(self, name: str) -> list[SSAValue]:
        """An argument that is a list of tensors."""
        result = [self.value(position) for position in self.places(name) if position is not None]
        return result

    # Numbers.

    def number(self, name: str, default: T = None) -> Size | float | T:
        """An argument that is a number, whose value must be known at import, or one that sizes of the call decide."""
        operand = self.argument(name)
        if operand is None:
            return default
        return self._number(operand, name)

    def _number(self, operand: Operand, name: str) -> Size | float:
        number = self._resolved(operand, name)
        if not isinstance(number, bool | int | float | SizeExpr):
            self.fail(f"a number as '{name}'", repr(operand))
        return number

    def stated(self, name: str) -> Any:
        """An argument as Python has it; of a tensor the number in it, which must be known at import, or a size."""
        operand = self.argument(name)
        if isinstance(operand, tuple):
            return tuple(self._resolved(item, name) for item in operand)
        return self._resolved(operand, name)

    def _resolved(self, operand: Operand, name: str) -> Any:
        if not isinstance(operand, At):
            return operand
        tensor = self.tensor(operand.index)
        if tensor.dtype is not None and tensor.dtype.kind == "f" and not tensor.symbolic:
            return self.single(operand.index, name)
        if tensor.dtype == np.bool_ and not tensor.symbolic:
            return bool(self.single(operand.index, name))
        return self.size(operand.index, name)

    def whole(self, value: Any) -> int | None:
        """Return a whole number, as truth values are, too."""
        return int(value) if isinstance(value, bool) else super().whole(value)

    def real(self, value: Any) -> float | None:
        return float(value) if isinstance(value, bool) else super().real(value)

    def items(self, value: Any, count: int | None) -> Sequence[Any] | None:
        """Return a list, of which one number stands for all."""
        items = super().items(value, count)
        return items * count if isinstance(items, tuple) and count and len(items) == 1 else items

    def element_type(self, name: str, value: Any) -> np.dtype[Any]:
        return (
            dtype_of(value.code, self.op_type) if isinstance(value, ScalarType) else super().element_type(name, value)
        )

    # Axes.

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """An argument that is an axis, made non-negative; a scalar has one."""
        return self.axis_in(self.int(name, default), rank, name)

    def axis_in(self, axis: int, rank: int, name: str = "dim") -> int:
        bound = max(rank, 1)
        if not -bound <= axis < bound:
            self.fail(f"{name} in [{-bound}, {bound})", str(axis))
        return axis % bound

    def input_tensor(self, name: str) -> Tensor:
        return self.tensor(self.at(name))

    @property
    def output_count(self) -> int:
        """The number of values that the call gives."""
        return len(self.call.metas)


def named(dtype: np.dtype[Any]) -> str:
    """The name of an element type as relay has it."""
    return dtype.name
