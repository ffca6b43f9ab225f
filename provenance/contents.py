"""The contents of an op: its blocks' arguments, and where all of it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import BlockArgument, Operation

from .walk import walk


def arguments_in(op: Operation) -> Iterator[BlockArgument]:
    """The arguments of the blocks of `op`."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def places_in(root: Operation) -> list[LocationAttr]:
    """Return the locations of an op, the ops in it, and the arguments of its blocks."""
    return [
        location
        for op in walk(root)
        for location in (op.location, *(argument.location for argument in arguments_in(op)))
    ]
