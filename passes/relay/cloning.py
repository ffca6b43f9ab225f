"""Copies of the ops in blocks, with other values and types for parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue

from ...dialects.relay.types import TypeVar, substituted
from ...provenance.copies import copy_of, empty_copy
from ...provenance.ledger import note_copy

Retype: TypeAlias = Callable[[Attribute], Attribute]
"""A function from the type of an original to the type of its copy."""


def with_types(types: Mapping[str, Attribute]) -> Retype | None:
    """A replacement of type variables by types; None without any."""
    bound = dict(types)
    return (lambda type_: substituted(type_, bound)) if bound else None


def clone_block(
    block: Block, given: dict[SSAValue, SSAValue], add: Callable[[Operation], object], typed: Retype | None = None
) -> list[SSAValue]:
    """Copy the ops of a block except the last, and return copies of its operands.

    given: what stands for the block's arguments, or for any other value; what is copied is added.
    add: is called with each copy, in order.
    """
    last = block.last_op
    assert last is not None
    for op in block.ops:
        if op is not last:
            add(clone_op(op, given, typed))
    return [given.get(value, value) for value in last.operands]


def clone_op(op: Operation, given: dict[SSAValue, SSAValue], typed: Retype | None = None) -> Operation:
    """A copy of an op with what is in it; its results are added to `given`."""
    retype = typed or _same
    regions: list[Region] = []
    for region in op.regions:
        regions.append(region_copy := Region())
        for block in region.blocks:
            region_copy.add_block(new := empty_copy(block, given, retype))
            for inner in block.ops:
                new.add_op(clone_op(inner, given, typed))
    operands = [given.get(value, value) for value in op.operands]
    copy = copy_of(op, operands, [retype(type_) for type_ in op.result_types], regions)
    note_copy(op, copy)
    given.update(zip(op.results, copy.results, strict=True))
    return copy


def _same(type_: Attribute) -> Attribute:
    return type_


def unified(general: Iterable[Attribute], special: Iterable[Attribute]) -> dict[str, Attribute]:
    """Return the special types for the type variables of the general ones."""
    bindings: dict[str, Attribute] = {}
    stack = list(zip(general, special, strict=True))
    while stack:
        general_type, special_type = stack.pop()
        if isinstance(general_type, TypeVar):
            bindings.setdefault(general_type.hint.data, special_type)
        elif type(general_type) is type(special_type) and general_type != special_type:
            if isinstance(general_type, ArrayAttr):
                stack += zip(
                    cast(ArrayAttr[Attribute], general_type), cast(ArrayAttr[Attribute], special_type), strict=False
                )
            elif isinstance(general_type, ParametrizedAttribute) and isinstance(special_type, ParametrizedAttribute):
                stack += zip(general_type.parameters, special_type.parameters, strict=False)
    return bindings
