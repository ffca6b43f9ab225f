"""The context of a converter: one call of an ATen operator, whose arguments have the names of its schema.

An exported program leaves out arguments that equal their defaults, so that the methods here take the defaults.
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
"""Arguments of operators that do not change the results, each with the reason."""
_OF_AXES = frozenset(("dim", "descending", "keepdim", "largest", "exclusive"))
"""Arguments that do not change the results for a scalar, which torch treats as a vector of one element."""


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One call under conversion. Inputs are the values among its arguments, in order."""

    repeats = True
    call: Call

    def argument(self, name: str) -> Operand:
        """Return an argument of the call; None where it is left out."""
        self.asked.attributes.add(name)
        return self.call.arguments.get(name)

    def arguments(self) -> Mapping[str, Operand]:
        """Return all present arguments, by name."""
        self.asked.attributes.update(self.call.arguments)
        return self.call.arguments

    def parts(self) -> Iterator[NodePart]:
        """Yield the arguments, except tensors that were read by their index among the inputs.

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
        """Return whether an argument is present and not None."""
        return self.argument(name) is not None

    # Tensors.

    def index_of(self, name: str, position: int) -> int | None:
        return self.at(name) if self.given(name) else None

    def indices_of(self, name: str, position: int) -> list[int]:
        return [index for index in self.places(name) if index is not None]

    def at(self, name: str) -> int:
        """Return the index among the inputs of an argument, which must be a tensor."""
        operand = self.argument(name)
        if not isinstance(operand, At):
            self.fail(f"a tensor as '{name}'", "none" if operand is None else repr(operand))
        self.asked.names.setdefault(operand.index, name)
        return operand.index

    def of(self, name: str) -> SSAValue:
        """Return an argument as a relay value."""
        return self.value(self.at(name))

    def term(self, name: str) -> Term:
        """Return an argument as a term."""
        return Term(self, self.of(name))

    def optional(self, name: str) -> SSAValue | None:
        """Return an argument as a relay value; None where it is left out."""
        return self.of(name) if self.given(name) else None

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.shape(self.at(name))

    def dtype_of(self, name: str) -> np.dtype[np.generic]:
        return self.dtype(self.at(name))

    def places(self, name: str) -> list[int | None]:
        """Return the indices among the inputs of an argument that is a list of tensors, some of them None."""
        operand = self.argument(name)
        if not isinstance(operand, tuple) or not all(item is None or isinstance(item, At) for item in operand):
            self.fail(f"a list of tensors as '{name}'", repr(operand))
        return [item.index if isinstance(item, At) else None for item in operand]

    def list_of(self, name: str) -> list[SSAValue]:
        """Return an argument that is a list of tensors."""
        values = [self.value(position) for position in self.places(name) if position is not None]
        return values

    # Numbers.

    def number(self, name: str, default: T = None) -> Size | float | T:
        """Return an argument that is a number, which must be known at import, or a function of the call's sizes."""
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
        """Return an argument as a value of Python; a tensor as its number, which must be known at import, or a size."""
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
        """Return a whole number; a boolean counts as one."""
        return int(value) if isinstance(value, bool) else super().whole(value)

    def real(self, value: Any) -> float | None:
        return float(value) if isinstance(value, bool) else super().real(value)

    def items(self, value: Any, count: int | None) -> Sequence[Any] | None:
        """Return a list of `count` items; a list of one item is repeated."""
        items = super().items(value, count)
        return items * count if isinstance(items, tuple) and count and len(items) == 1 else items

    def element_type(self, name: str, value: Any) -> np.dtype[Any]:
        return (
            dtype_of(value.code, self.op_type) if isinstance(value, ScalarType) else super().element_type(name, value)
        )

    # Axes.

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """Return an argument that is an axis, counted from 0; a scalar has one axis."""
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
        """Return the number of results of the call."""
        return len(self.call.metas)


def named(dtype: np.dtype[Any]) -> str:
    """Return relay's name of an element type."""
    return dtype.name
