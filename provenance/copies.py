"""Copies of ops and blocks, by parts: what is not given is as in the original, and so are locations and names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue


def empty_copy(block: Block, values: dict[SSAValue, SSAValue], retype: Callable[[Attribute], Attribute]) -> Block:
    """Return a block with copies of the arguments of another; `values` gets them for the originals."""
    copy = Block(arg_types=[retype(argument.type) for argument in block.args])
    for old, argument in zip(block.args, copy.args, strict=True):
        argument.name_hint, argument.location = old.name_hint, old.location
        values[old] = argument
    return copy


def copy_of(
    op: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    regions: Sequence[Region] = (),
    properties: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Return an op as another one; raises ValueError unless it has as many results."""
    copy = type(op).create(
        operands=operands,
        result_types=result_types,
        attributes=op.attributes.copy(),
        properties=dict(op.properties if properties is None else properties),
        regions=regions,
        location=op.location,
    )
    for old, result in zip(op.results, copy.results, strict=True):
        result.name_hint = old.name_hint
    return copy
