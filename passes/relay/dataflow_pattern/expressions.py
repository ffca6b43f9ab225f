"""SSA values of relay as the expressions that patterns speak of: calls, tuples, fields of tuples, constants, variables.

A value is a call of the operator, or function, that makes it. An op of several results is a call that gives a tuple,
and each result a field of that. An operand that takes any number of values (`concatenate`) is a tuple of them, as is
what `relay.tuple` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....dialects.relay.attributes import to_python
from ....dialects.relay.binding import IfOp
from ....dialects.relay.core import CallOp, ConstantOp, FuncOp
from ....dialects.relay.functions import FnOp, InvokeOp, yielded
from ....dialects.relay.operator import Operator
from ....dialects.relay.traits import FusionPattern
from ....dialects.relay.tuples import TupleGetItemOp, TupleOp
from ....syntax.relay import expr as relay
from ....syntax.relay import nodes
from ....syntax.relay.attrs import operators
from ....syntax.relay.elaborate import elaborate
from ....syntax.relay.type_view import plain as type_of
from ..analysis.traversal import pre_order


@dataclass(frozen=True)
class Fields:
    """The values of operand number `index` of an op, which takes any number of them: a tuple."""

    op: Operation
    index: int
    values: tuple[SSAValue, ...] = field(compare=False)


Call: TypeAlias = Operator | CallOp | InvokeOp
Callee: TypeAlias = type[Operator] | FuncOp | FnOp | relay.Expr
"""The callee of a call."""
Expr: TypeAlias = SSAValue | Operation | Fields | relay.Expr
"""A value, an op that gives a tuple, a tuple that an op reads; or an expression as it was written."""
Node: TypeAlias = Expr | Callee
"""The nodes that a pattern may match."""


def as_expr(given: Expr) -> Expr:
    """The expression that a value or an op is; an op of one result is that."""
    if isinstance(given, Operation) and len(given.results) == 1:
        return given.results[0]
    return given


def call_of(node: Node) -> Call | relay.Call | None:
    """The op, if a node is a call."""
    if isinstance(node, relay.Expr):
        return node if isinstance(node, relay.Call) else None
    if isinstance(node, SSAValue):
        op = node.owner
        return op if isinstance(op, Call) and len(op.results) == 1 else None
    return node if isinstance(node, Call) and len(node.results) != 1 else None


def branching(node: Node) -> tuple[Expr, Expr, Expr] | None:
    """The condition and what the two branches give, if a node is the value of one of them."""
    if isinstance(node, relay.If):
        return node.cond, node.true_branch, node.false_branch
    if not isinstance(node, SSAValue) or not isinstance(node.owner, IfOp):
        return None
    op = node.owner
    return op.condition, yielded(op, op.true_branch)[0], yielded(op, op.false_branch)[0]


def function_of(node: Node) -> tuple[Sequence[Expr], Expr] | None:
    """The parameters and what it gives, if a node is a function of one result."""
    if isinstance(node, relay.Function):
        return node.params, node.body
    if isinstance(node, SSAValue) and isinstance(node.owner, FnOp):
        node = node.owner
    if not isinstance(node, FuncOp | FnOp):
        return None
    results = node.return_op.values if isinstance(node, FuncOp) else yielded(node, node.body)
    return (node.block.args, results[0]) if len(results) == 1 else None


def tuple_fields(node: Node) -> Sequence[Expr] | None:
    """The fields, if a node is a tuple made of values."""
    if isinstance(node, relay.Tuple):
        return node.fields
    if isinstance(node, Fields):
        return node.values
    return node.owner.operands if isinstance(node, SSAValue) and isinstance(node.owner, TupleOp) else None


def field_of(node: Node) -> tuple[Expr, int] | None:
    """The tuple, and the number of the field, if a node is a field of a tuple."""
    if isinstance(node, relay.TupleGetItem):
        return node.tuple_value, node.index
    if isinstance(node, SSAValue) and isinstance(node.owner, TupleGetItemOp):
        return node.owner.tuple_value, node.owner.index.value.data
    if isinstance(node, SSAValue) and isinstance(node.owner, Call) and len(node.owner.results) > 1:
        return node.owner, next(i for i, result in enumerate(node.owner.results) if result is node)
    return None


def constant_of(node: Node) -> ConstantOp | relay.Constant | None:
    """The constant, if a node is one."""
    if isinstance(node, relay.Constant):
        return node
    return node.owner if isinstance(node, SSAValue) and isinstance(node.owner, ConstantOp) else None


def same_constant(one: ConstantOp | relay.Constant, other: ConstantOp | relay.Constant) -> bool:
    """Return whether two constants are of one type and value, as far as is known without the values of weights."""
    if isinstance(one, relay.Constant) and isinstance(other, relay.Constant):
        return one.data.dtype == other.data.dtype and np.array_equal(one.data, other.data)
    if isinstance(one, relay.Constant) or isinstance(other, relay.Constant):
        return False
    return one.result.type == other.result.type and one.key == other.key and one.literal == other.literal


def variable_name(node: Node) -> str | None:
    """The name of a variable, "" when it has none; None for what is no variable."""
    if isinstance(node, relay.Var):
        return node.name_hint
    return node.name_hint or "" if isinstance(node, BlockArgument) else None


def callee(op: Call | relay.Call) -> Callee | None:
    """Return the callee of an op; None for a function that is not known."""
    if isinstance(op, relay.Call):
        return (operators().get(op.op.name) or op.op) if isinstance(op.op, relay.Op) else op.op
    if isinstance(op, Operator):
        return type(op)
    if isinstance(op, InvokeOp):
        return op.function.owner if isinstance(op.function.owner, FnOp) else None
    module = op.parent_op()
    module = module.parent_op() if module is not None else None
    name = op.callee.string_value()
    blocks = module.regions[0].blocks if module is not None else ()
    functions = (function for block in blocks for function in block.ops if isinstance(function, FuncOp))
    return next((function for function in functions if function.sym_name.data == name), None)


def arguments(op: Call | relay.Call) -> list[Expr]:
    """The arguments of a call; an optional operand that is missing is none."""
    if isinstance(op, relay.Call):
        return list(op.args)
    if isinstance(op, InvokeOp):
        return list(op.arguments)
    if isinstance(op, CallOp) or all(group.single for group in op.operand_groups()):
        return list(op.operands)
    values: list[Expr] = []
    for index, value in enumerate(op.signature.arguments(op.operands)):
        if isinstance(value, tuple):
            values.append(Fields(op, index, value))
        elif value is not None:
            values.append(value)
    return values


def inputs(node: Node) -> Sequence[Expr]:
    """The expressions that one reads."""
    if (fields := tuple_fields(node)) is not None:
        return fields
    if (part := field_of(node)) is not None:
        return (part[0],)
    if (parts := branching(node)) is not None:
        return parts
    op = call_of(node)
    return arguments(op) if op is not None else ()


def below(node: Expr) -> Sequence[Expr]:
    """The expressions that one is made of: what it reads, and, where it is written, what it calls or gives."""
    return list(nodes.children(node)) if isinstance(node, relay.Expr) else inputs(node)


def readers_in(top: Expr) -> Callable[[Expr], Sequence[Expr]]:
    """Return what gives the expressions that read one: where it was written, those in `top`."""
    if not isinstance(top, relay.Expr):
        return _readers
    readers: dict[Expr, list[Expr]] = {}

    def of(node: Expr) -> Sequence[Expr]:
        if not readers:
            for reader in nodes.post_order(top):
                for child in nodes.children(reader):
                    readers.setdefault(child, []).append(reader)
        return readers.get(node, ())

    return of


def _readers(node: Expr) -> list[Expr]:
    """The expressions that read one; an op without results, such as a return, stands for itself."""
    if isinstance(node, Operation):
        return [result for result in node.results if result.first_use is not None]
    if isinstance(node, Fields):
        return [as_expr(node.op)]
    nodes: list[Expr] = []
    for op in dict.fromkeys(use.operation for use in node.uses) if isinstance(node, SSAValue) else ():
        read = arguments(op) if isinstance(op, Call) else ()
        nodes += [fields for fields in read if isinstance(fields, Fields) and node in fields.values]
        if not isinstance(op, Call) or node in read:
            nodes.append(as_expr(op))
    return nodes


def all_expressions(top: FuncOp | relay.Expr) -> Iterator[Expr]:
    """The expressions in a function, its regions included, or in one that was written, readers first."""
    if isinstance(top, relay.Expr):
        yield from reversed(list(nodes.post_order(top)))
        return
    for op in reversed(list(pre_order(top))):
        yield from reversed(op.results)
        if len(op.results) > 1 and isinstance(op, Call):
            yield op


def is_callee(node: Node) -> bool:
    """Return whether a node is an operator or a function."""
    return isinstance(node, type | FuncOp | FnOp | relay.Op | relay.Function)


def is_shared(node: Expr) -> bool:
    """Return whether an expression may be inside a match and be read elsewhere."""
    return constant_of(node) is not None or isinstance(node, relay.Op | relay.GlobalVar | relay.Function)


def is_movable(node: Expr) -> bool:
    """Return whether an expression may go into a function of its own: no op with regions, no call of a value."""
    op = owner_of(node)
    return op is None or not (op.regions or isinstance(op, InvokeOp))


def values_of(node: Node) -> Sequence[Node]:
    """An expression with the values that it stands for; a tuple that an op reads is no more than those."""
    if isinstance(node, Fields):
        return node.values
    return (node, *node.results) if isinstance(node, Operation) else (node,)


def owner_of(node: Expr) -> Operation | None:
    """The op that makes an expression, or of which it is a tuple of operands; None for parameters."""
    if isinstance(node, relay.Expr):
        return None
    if isinstance(node, Fields):
        return node.op
    if isinstance(node, Operation):
        return node
    return node.owner if isinstance(node.owner, Operation) else None


def plain(value: object) -> Any:
    """An attribute, or what a user gives for one, such that equal ones are equal in Python."""
    match value:
        case UnitAttr():
            return True
        case StringAttr() | IntegerAttr() | FloatAttr() | DenseArrayBase():
            return plain(to_python(value))
        case list() | tuple():
            return tuple(map(plain, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return value


def attribute(node: Node, name: str) -> Any:
    """An attribute of a call or of what is called; None when it has none of that name."""
    if isinstance(node, type):
        pattern = node.get_trait(FusionPattern)
        return int(pattern.kind) if name == "TOpPattern" and pattern is not None else None
    if isinstance(node, FuncOp | FnOp):
        return plain(node.attributes.get(name))
    if isinstance(node, relay.Call | relay.Function):
        return plain(getattr(node.attrs, name, None))
    op = call_of(node)
    if isinstance(op, Operator) and name in op.declared_attributes():
        return plain(op.signature.get(name))
    return plain(op.attributes.get(name)) if isinstance(op, Operation) else None


def types(node: Node) -> tuple[Attribute, ...]:
    """The types of the values that an expression is, inferred if need be; raises FrontendError where it has none."""
    if isinstance(node, relay.Var) and node.type is None and node.type_annotation is not None:
        return (type_of(node.type_annotation),)
    if isinstance(node, relay.Expr):
        if node.type is None:
            infer_written(node)
        return (node.inferred,)
    if isinstance(node, SSAValue):
        return (node.type,)
    if isinstance(node, Fields):
        return tuple(value.type for value in node.values)
    return tuple(node.result_types) if isinstance(node, Operation) else ()


def infer_written(node: relay.Expr) -> None:
    """Have an expression and what it is made of know their types; raises FrontendError where they have none."""
    function = node if isinstance(node, relay.Function) else relay.Function(nodes.free_vars(node), node)
    elaborate(relay.Program({"main": function}, {}))


def post_order(root: Expr, inside: set[Expr]) -> Iterator[Expr]:
    """The expressions `inside` of which `root` is made, producers first, each once."""
    seen: set[Expr] = set()
    stack = [(root, False)]
    while stack:
        node, complete = stack.pop()
        if complete:
            yield node
        elif node not in seen and node in inside:
            seen.add(node)
            stack.append((node, True))
            stack += [(producer, False) for producer in reversed(below(node))]
