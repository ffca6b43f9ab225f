"""Operators that a program declares in steps, by TVM's names: `relay.op.op.register("mine")`, then `.add_type_rel(..)`.

`whence.operator` declares one at once, with a meaning in numpy and a gradient (docs/adding-an-operator.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from whence.dialects.relay.dialect import OUTSIDE, add_operator
from whence.dialects.relay.elementwise import broadcast_shape
from whence.dialects.relay.operator import Operator, Signature, Tensor
from whence.dialects.relay.traits import OpPattern, Stateful
from whence.dialects.sizes.types import tensor_of
from whence.support.doors import door
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Op
from whence.syntax.relay.op_attrs import op_attr, register_op_attr
from whence.syntax.relay.type_view import plain, view

PATTERN, STATEFUL = "TOpPattern", "TOpIsStateful"


def _identity(sig: Signature) -> Tensor:
    return sig.types[0]


def _broadcast(sig: Signature) -> Tensor:
    shape = sig.shape(0)
    for index in range(1, len(sig.types)):
        shape = broadcast_shape(sig, shape, sig.shape(index))
    return tensor_of(sig.same_element(), shape)


RELATIONS: dict[str, Callable[[Signature], Tensor]] = {"Identity": _identity, "Broadcast": _broadcast}


@dataclass(eq=False, repr=False)
class DeclaredOp(Op):
    """An operator that is being declared; each step holds at once.

    It has a kernel if `register_compute` or `register_strategy` of `relay.op` says what computes it, and is not
    evaluated at compile time.
    """

    description: str = ""
    support_level: int = 10
    arguments: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Name, type and description of each argument."""
    _count: int = 0
    _relation: Callable[[Signature], Tensor] = _identity

    @property
    def num_inputs(self) -> int:
        return max(self._count, len(self.arguments))

    def set_num_inputs(self, n: int) -> None:
        """Set the number of arguments."""
        self._count = n
        self._declare()

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Name the next argument."""
        self.arguments.append((name, type, description))
        self._declare()

    def add_type_rel(self, rel_name: str, type_rel_func: Callable[[Sequence[Any], Any], Any] | None = None) -> None:
        """Set the rule of the result's type: "Identity", "Broadcast", or a function (types, attributes) -> type.

        Raises FrontendError for another name without a function.
        """
        if type_rel_func is None and rel_name not in RELATIONS:
            expected = f"a function, or a relation among {', '.join(RELATIONS)}"
            raise FrontendError(expectation(f"add_type_rel of {self.name}", expected, rel_name))
        self._relation = RELATIONS[rel_name] if type_rel_func is None else _by_function(self.name, type_rel_func)
        self._declare()

    def set_support_level(self, level: int) -> None:
        """Set the level of support, which nothing reads."""
        self.support_level = level

    def set_attrs_type_key(self, key: str) -> None:
        """Accept TVM's key of the type of attributes: declared operators have none."""
        self.attrs_type_key = key

    def _declare(self) -> None:
        relation, name = self._relation, self.name
        names = [argument[0] for argument in self.arguments]
        names += [f"data_{index}" for index in range(len(names), self.num_inputs)]

        def infer(cls: type[Operator], sig: Signature) -> Sequence[Tensor]:
            return [relation(sig)]

        def evaluate(cls: type[Operator], sig: Signature, *operands: Any) -> Any:
            raise FrontendError(expectation(name, "an operator with a meaning in numpy (whence.operator)", "none"))

        def pattern(cls: type[Operator]) -> OpPattern:
            return OpPattern(op_attr(name, PATTERN) if op_attr(name, PATTERN) is not None else OpPattern.OPAQUE)

        members: dict[str, Any] = {
            "name": f"relay.{name}",
            "__doc__": self.description,
            "__module__": __name__,
            **{argument: operand_def(TensorType) for argument in names},
            "result": result_def(TensorType),
            "traits": traits_def(Stateful()),
            "infer": classmethod(infer),
            "evaluate": classmethod(evaluate),
            "pattern": classmethod(pattern),
        }
        add_operator(irdl_op_definition(cast("type[Operator]", type(f"{name}Op", (Operator,), members))))


def _by_function(name: str, function: Callable[[Sequence[Any], Any], Any]) -> Callable[[Signature], Tensor]:
    def relation(sig: Signature) -> Tensor:
        result = plain(function([view(type_) for type_ in sig.types], None))
        if not isinstance(result, TensorType):
            raise FrontendError(expectation(f"type relation of {name}", "the type of a tensor", str(result)))
        return cast("Tensor", result)

    return relation


_declared: dict[str, DeclaredOp] = {}


def declared(name: str) -> DeclaredOp | None:
    """Return the operator that `register` made of a name, if it did."""
    return _declared.get(name) if name in OUTSIDE else None


@door(FrontendError)
def register(op_name: str, describe: str = "") -> DeclaredOp:
    """Declare an operator of no arguments, to be described by its methods.

    Raises FrontendError for the name of an operator that there is.
    """
    if op_name in OUTSIDE:
        raise FrontendError(f"Operator {op_name} is registered before: expected a new name, got {op_name}")
    op = DeclaredOp(op_name, description=describe)
    op._declare()  # pyright: ignore[reportPrivateUsage]
    _declared[op_name] = op
    return op


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Set whether an operator has state; declared ones are never evaluated at compile time anyway."""
    return register_op_attr(op_name, STATEFUL, stateful, level)
