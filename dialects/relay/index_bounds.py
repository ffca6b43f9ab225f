"""What a program knows of inputs that are indices: which extents they lie in, and which layers need that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, LocationAttr, i64
from xdsl.ir import Attribute

from ..size_types import SizesAttr, sizes_attr
from ..sizes import Size, substitute
from .core import FuncOp

INDEX_BOUNDS = "index_bounds"
"""The attribute of `@main` with triples: number of an input, extents, and the location of what uses the indices."""


class IndexBound(NamedTuple):
    """An input whose elements are indices from `-extent` to `extent - 1`."""

    input: int
    extents: tuple[Size, ...]
    """One for all elements, or one for each place along the last axis."""
    location: LocationAttr


def set_index_bounds(func: FuncOp, bounds: Sequence[IndexBound]) -> None:
    """Note bounds, of equal ones the first."""
    func.attributes.pop(INDEX_BOUNDS, None)
    if distinct := {(one.input, tuple(map(str, one.extents))): one for one in reversed(bounds)}:
        rows = reversed(distinct.values())
        func.attributes[INDEX_BOUNDS] = ArrayAttr[Attribute](
            ArrayAttr([IntegerAttr(one.input, i64), sizes_attr(one.extents), one.location]) for one in rows
        )


def index_bounds_of(func: FuncOp) -> tuple[IndexBound, ...]:
    """What `set_index_bounds` noted."""
    noted = cast("ArrayAttr[ArrayAttr[Any]]", func.attributes.get(INDEX_BOUNDS, ArrayAttr([])))
    return tuple(IndexBound(row.data[0].value.data, cast(SizesAttr, row.data[1]).sizes, row.data[2]) for row in noted)


def bind_index_bounds(func: FuncOp, values: Mapping[str, Size]) -> None:
    """Put other sizes in the place of symbols."""
    set_index_bounds(
        func,
        [one._replace(extents=tuple(substitute(n, values) for n in one.extents)) for one in index_bounds_of(func)],
    )
