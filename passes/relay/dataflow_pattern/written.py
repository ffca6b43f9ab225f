"""Relay as it is written (`frontends/relay/expr.py`), as patterns look at it: it need not be typed to be matched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from xdsl.ir import Attribute

from ....dialects.relay import DYNAMIC, OPERATORS
from ....dialects.relay.operator import Operator
from ....frontends.relay import expr as relay
from ....frontends.relay.elaborate import elaborate
from ....frontends.relay.type_view import plain


@runtime_checkable
class HoldsFunctions(Protocol):
    """A module of expressions, such as `relay.IRModule`."""

    def map_functions(self, change: Callable[[relay.Function], relay.Expr]) -> Self:
        """The like, of what `change` makes of each function."""
        ...


_BY_NAME = {operator.name.removeprefix("relay."): operator for operator in (*OPERATORS, *DYNAMIC)}


def operator_named(name: str) -> type[Operator] | None:
    """The operator of TVM's name."""
    return _BY_NAME.get(name)


def callee(call: relay.Call) -> type[Operator] | relay.Expr:
    """Return the callee of a call."""
    return (_BY_NAME.get(call.op.name) or call.op) if isinstance(call.op, relay.Op) else call.op


def attribute(node: relay.Expr, name: str) -> Any:
    """An attribute of a call or a function; of an operator that was not given it, its default."""
    if isinstance(node, relay.Function):
        return node.attrs.get(name)
    if not isinstance(node, relay.Call):
        return None
    if name in node.attrs:
        return node.attrs[name]
    called = callee(node)
    declared = called.declared_attributes().get(name) if isinstance(called, type) else None
    return declared.default_value if declared is not None else None


def types(node: relay.Expr) -> tuple[Attribute, ...]:
    """The type of an expression, inferred if it was not; raises FrontendError for one that has none."""
    if node.type is None and isinstance(node, relay.Var) and node.type_annotation is not None:
        return (plain(node.type_annotation),)
    if node.type is None:
        infer_written(node)
    return (node.inferred,)


def infer_written(node: relay.Expr) -> None:
    """Have an expression and what it is made of know their types; raises FrontendError where they have none."""
    function = node if isinstance(node, relay.Function) else relay.Function(relay.free_vars(node), node)
    elaborate(relay.Program({"main": function}, {}))


def inputs(node: relay.Expr) -> Sequence[relay.Expr]:
    """The expressions that one reads; not what it calls."""
    if isinstance(node, relay.Call):
        return node.args
    return list(relay.children(node)) if isinstance(node, relay.Tuple | relay.TupleGetItem | relay.If) else ()
