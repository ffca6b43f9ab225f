"""The check that accesses of a loop nest touch one element each, another one in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects.affine import Linear, below, flatten, linear
from ....dialects.sizes import Size
from ....dialects.tir import ForOp, LoadOp, StoreOp, buffer_of
from ....dialects.tir.index_maps import Ranges, simplify_maps, view
from ....dialects.tir.lanes import lanes


class Point(NamedTuple):
    """The element `constant + sum(factor * atom)` of a buffer, from which on `lanes` ones are touched."""

    terms: tuple[tuple[AffineExpr, Size], ...]
    constant: Size
    values: tuple[SSAValue, ...]
    """The values of the dims in the terms."""
    lanes: int
    stride: int

    @property
    def form(self) -> Linear:
        return Linear(self.terms, self.constant)

    @property
    def key(self) -> object:
        """Equal for accesses of equal elements."""
        atoms = frozenset(
            (atom if not isinstance(atom, AffineDimExpr) else None, _used(atom, self.values), factor)
            for atom, factor in self.terms
        )
        return atoms, self.constant, self.lanes, self.stride


def _used(atom: AffineExpr, values: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    if isinstance(atom, AffineDimExpr):
        return (values[atom.position],)
    return tuple(values)


def accessed(op: LoadOp | StoreOp) -> Attribute:
    """The type of what is read or written."""
    return op.result.type if isinstance(op, LoadOp) else op.value.type


def point(op: LoadOp | StoreOp, ranges: Ranges) -> Point:
    """The flat place of an access, where its guard holds."""
    seen = view(op, ranges)
    simplified = simplify_maps(seen.map, seen.guard, seen.ranges)
    form = linear(flatten(seen.map, buffer_of(op.buffer).strides), simplified.ranges)
    (count,) = lanes(accessed(op)) or (1,)
    return Point(form.terms, form.constant, seen.values, count, op.step if count > 1 else 1)


def same_elements(accesses: Sequence[LoadOp | StoreOp], nest: Operation, ranges: Ranges) -> bool:
    """Return whether all `accesses`, ops of one block, touch the same element or vector in each iteration of the loops
    of `nest`, and no other iteration touches that."""
    points = [point(op, ranges) for op in accesses]
    if len({p.key for p in points}) != 1:
        return False
    chosen = points[0]
    loops: dict[SSAValue, Size] = {}
    parent = accesses[0].parent_op()
    while parent is not None and parent is not nest.parent_op():
        if isinstance(parent, ForOp):
            loops[parent.var] = parent.trip_count
        parent = parent.parent_op()
    spans: list[tuple[int, int]] = [(abs(chosen.stride), chosen.lanes)] if chosen.lanes > 1 else []
    for atom, factor in chosen.terms:
        if not isinstance(atom, AffineDimExpr):
            return False
        value = chosen.values[atom.position]
        if (extent := loops.pop(value, None)) is not None:
            if not isinstance(extent, int) or not isinstance(factor, int):
                return False
            spans.append((abs(factor), extent))
        elif isinstance(value.owner, Operation) and nest.is_ancestor(value.owner):
            return False
    # Every loop must move the element, and each by more than all smaller moves together.
    reach = 0
    for factor, extent in sorted(spans):
        if factor <= reach:
            return False
        reach += factor * (extent - 1)
    return all(below(extent, 2) for extent in loops.values())
