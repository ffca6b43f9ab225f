"""The values and type variables that a piece of a program reads from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue

from ....dialects.relay.types import Forall, TypeVar
from .traversal import pre_order


def free_vars(root: Operation) -> list[SSAValue]:
    """The values that `root` and what is in it read and that are made elsewhere, in the order of their first use."""
    bound: set[SSAValue] = set()
    read: dict[SSAValue, None] = {}
    for op in pre_order(root):
        bound.update(op.results)
        for region in op.regions:
            for block in region.blocks:
                bound.update(block.args)
        read.update(dict.fromkeys(op.operands))
    return [value for value in read if value not in bound]


def free_type_vars(root: Operation) -> list[str]:
    """The names of the type variables in `root` that no function or data type around them, within `root`, binds."""
    free: dict[str, None] = {}
    bound: dict[Operation, frozenset[str]] = {}
    for op in pre_order(root):
        parent = op.parent_op()
        outside = bound.get(parent, frozenset()) if parent is not None else frozenset[str]()
        names = outside | set(_parameters(op))
        if op.regions:
            bound[op] = names
        for type_ in _types(op):
            free.update(dict.fromkeys(name for name in type_variables(type_) if name not in names))
    return list(free)


def type_variables(type_: Attribute) -> tuple[str, ...]:
    """The names of the free type variables of a type, each once."""
    names: dict[str, None] = {}
    stack: list[tuple[Attribute, frozenset[str]]] = [(type_, frozenset())]
    while stack:
        current, bound = stack.pop()
        match current:
            case TypeVar():
                if current.hint.data not in bound:
                    names[current.hint.data] = None
            case Forall():
                stack.append((current.body, bound | {name.data for name in current.params}))
            case FunctionType():
                stack += [(t, bound) for t in reversed([*current.inputs, *current.outputs])]
            case ArrayAttr():
                stack += [(t, bound) for t in reversed(current.data)]
            case ParametrizedAttribute():
                stack += [(t, bound) for t in reversed(current.parameters)]
            case _:
                pass
    return tuple(names)


def _parameters(op: Operation) -> tuple[str, ...]:
    names = op.properties.get("type_params")
    if not isinstance(names, ArrayAttr):
        return ()
    return tuple(name.data for name in cast(ArrayAttr[StringAttr], names))


def _types(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.args)
    if (inputs := op.properties.get("inputs")) is not None:
        yield inputs
