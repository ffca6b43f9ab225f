"""The facts about inputs that are indices: which extents they lie in, and which layers need that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, LocationAttr, i64
from xdsl.ir import Attribute

from ..sizes import Size, substitute
from .attributes import to_attribute, to_python
from .core import FuncOp

INDEX_BOUNDS = "index_bounds"
"""The attribute of `@main` with rows: number of an input, extents, the location of what uses the indices; of classes
also the values that stand for none."""


class IndexBound(NamedTuple):
    """An input whose elements are indices from `-extent` to `extent - 1`, or classes."""

    input: int
    extents: tuple[Size, ...]
    """One extent for all elements, or one for each position along the last axis."""
    location: LocationAttr
    ignored: tuple[int, ...] | None = None
    """For classes from 0 to `extent - 1`, the values that mean no class."""


def set_index_bounds(func: FuncOp, bounds: Sequence[IndexBound]) -> None:
    """Note bounds, of equal ones the first."""
    func.attributes.pop(INDEX_BOUNDS, None)
    if distinct := {(bound.input, tuple(map(str, bound.extents)), bound.ignored): bound for bound in reversed(bounds)}:
        rows = reversed(distinct.values())
        func.attributes[INDEX_BOUNDS] = ArrayAttr[Attribute](
            ArrayAttr(
                [
                    IntegerAttr(bound.input, i64),
                    to_attribute(cast("tuple[int, ...]", bound.extents)),
                    bound.location,
                    *([] if bound.ignored is None else [to_attribute(bound.ignored)]),
                ]
            )
            for bound in rows
        )


def index_bounds_of(func: FuncOp) -> tuple[IndexBound, ...]:
    """Return the bounds that `set_index_bounds` noted."""
    noted = cast("ArrayAttr[ArrayAttr[Any]]", func.attributes.get(INDEX_BOUNDS, ArrayAttr([])))
    return tuple(
        IndexBound(
            row.data[0].value.data,
            cast("tuple[Size, ...]", to_python(row.data[1])),
            row.data[2],
            *(cast("tuple[int, ...]", to_python(ignored)) for ignored in row.data[3:]),
        )
        for row in noted
    )


def bind_index_bounds(func: FuncOp, values: Mapping[str, Size]) -> None:
    """Put other sizes in the place of symbols."""
    set_index_bounds(
        func,
        [
            bound._replace(extents=tuple(substitute(n, values) for n in bound.extents))
            for bound in index_bounds_of(func)
        ],
    )
