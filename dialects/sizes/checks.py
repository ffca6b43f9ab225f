"""The check that functions use only their own sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.ir import Attribute, Operation

from ...provenance.diagnostics import fail
from .expr import Size
from .kernel import beyond


def check_sizes(func: Operation, count: int, shape_of: Callable[[Attribute], Sequence[Size]]) -> None:
    """Fail where a function of `count` sizes uses another, in an index map or a shape.

    shape_of: the extents of a type; () for a type without.
    """
    wanted = f"sizes of the function, which has {count}"
    for op in func.walk():
        maps = [part.data for part in _parts(op) if isinstance(part, AffineMapAttr)]
        if most := max((map.num_symbols for map in maps if map.num_symbols > count), default=0):
            fail(op, wanted, f"s{most - 1}")
        arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
        for value in (*op.results, *arguments):
            if (excess := beyond(shape_of(value.type), count)) is not None:
                fail(op, wanted, excess)


def _parts(op: Operation) -> Iterator[Attribute]:
    """The properties of an op, and what those hold that are arrays."""
    for part in op.properties.values():
        if isinstance(part, ArrayAttr):
            yield from cast("ArrayAttr[Attribute]", part)
        else:
            yield part
