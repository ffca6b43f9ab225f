"""Accesses that leave their buffer in some iteration that is sure to come."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from xdsl.ir import Block
from xdsl.ir.affine import AffineExpr

from ....dialects.affine import Range, below, flatten, linear, linear_bounds
from ....dialects.sizes import Size, proves
from ....dialects.sizes.kernel import at_least, negative
from ....dialects.tir import ForOp, IfOp, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ....dialects.tir.index_maps import Ranges, View, blocks_of, view
from ....dialects.tir.lanes import lanes
from ....provenance.diagnostics import message
from .accesses import Nest, name_of
from .meetings import Access, Pair, Witness

Element: TypeAlias = LoadOp | StoreOp


def errors_of(func: PrimFuncOp) -> list[str]:
    """A message for each load or store whose index leaves its buffer in an iteration that is sure to come.

    Loops take all values of their variables; guards and branches over these are taken into account. Nothing is said of
    what depends on data: accesses in a `tir.while`, in a branch on data, and indices that only data decides.
    """
    return list(_block(func.block, {}))


def _block(block: Block, ranges: Ranges) -> Iterator[str]:
    for op in block.ops:
        match op:
            case LoadOp() | StoreOp():
                if (error := _outside(op, view(op, ranges))) is not None:
                    yield error
            case IfOp():
                for inner, inner_ranges in blocks_of(op, ranges):
                    yield from _block(inner, inner_ranges)
            case ForOp() if op.is_run():
                for inner, inner_ranges in blocks_of(op, ranges):
                    yield from _block(inner, inner_ranges)
            case _:
                pass


def _outside(op: Element, seen: View) -> str | None:
    """A message if an access leaves its buffer."""
    type_ = buffer_of(op.buffer)
    (count,) = lanes(op.result.type if isinstance(op, LoadOp) else op.value.type) or (1,)
    space = _Space(op)
    for dim, (expr, extent) in enumerate(zip(seen.map, type_.get_shape(), strict=True)):
        if _is_inside(expr, extent, seen) or space.access is None:
            continue
        if (indices := space.outside(space.access.map[dim], extent)) is not None:
            index = str(indices[0]) if indices[0] == indices[1] else f"{indices[0]} to {indices[1]}"
            return message(
                op.name, f"an index in [0, {extent}) of dimension {dim} of {name_of(op.buffer)}", index, op.location
            )
    if count < 2:
        return None
    more = op.step * (count - 1)
    if not _is_inside(flatten(seen.map, type_.strides) + more, type_.size, seen) and space.access is not None:
        indices = space.outside(flatten(space.access.map, type_.strides) + more, type_.size)
        if indices is not None:
            expected = f"all {count} lanes inside the {type_.size} elements of {name_of(op.buffer)}"
            at = indices[0] if indices[0] < 0 else indices[1]
            return message(op.name, expected, f"the last lane at element {at}", op.location)
    return None


def _is_inside(expr: AffineExpr, extent: Size, seen: View) -> bool:
    """Return whether ranges and the access's own guard, one expression at a time, show that an index is right."""
    form = linear(expr, seen.ranges)
    low, high = linear_bounds(form, seen.ranges)
    above, under = at_least(low, 0), below(high, extent)
    for guard in seen.guard:
        if above and under:
            break
        # Where the guard holds, index - guard <= index <= index + guard.
        guard_form = linear(guard, seen.ranges)
        above = above or at_least(linear_bounds(form.plus(guard_form, -1), seen.ranges)[0], 0)
        under = under or below(linear_bounds(form.plus(guard_form), seen.ranges)[1], extent)
    return above and under


class _Space:
    """The iterations in which an access happens."""

    def __init__(self, op: Element):
        self._op = op
        self._nest = Nest()

    @cached_property
    def access(self) -> Access | None:
        """The access over the variables of its loops; None if it never happens."""
        return self._nest.point(self._op)

    def outside(self, expr: AffineExpr, extent: Size) -> Range | None:
        """The values that an index of the access takes, if some are outside of [0, extent)."""
        assert self.access is not None
        variables, clauses = self.access.variables, self.access.clauses
        box = tuple(map(self._nest.range_of, variables))
        exprs = [expr, *(one for clause in clauses for case in clause for one in case)]
        used = {dim for one in exprs for dim in one.used_dims()}
        is_closed = all(isinstance(end, int) for dim in used for end in box[dim])
        is_plain = isinstance(extent, int) and all(linear(one, box).plain for one in exprs)
        if not is_closed or not is_plain or any(variables[dim] in self._nest.data for dim in used):
            # For open sizes, and for data, an access is wrong if it is wrong for all values.
            low, high = linear_bounds(linear(expr, box), box)
            return (low, high) if not clauses and (negative(high) or proves(low, ">=", extent)) else None
        assert isinstance(extent, int)
        above, under = self._reached(expr - extent), self._reached(expr * -1 - 1)
        if above is None and under is None:
            return None
        known = extent + above if above is not None else -1 - (under or 0)
        return -self._most(expr * -1, -known), self._most(expr, known)

    def _reached(self, expr: AffineExpr) -> int | None:
        """A value of an expression in an iteration, which is at least 0. None if there is none, or it is not found."""
        assert self.access is not None
        variables, clauses = self.access.variables, self.access.clauses
        asked = Access(variables, (), (*clauses, ((expr,),)))
        answer = Pair(asked, Access((), ()), self._nest.ranges).meet({})
        return expr.eval([answer.earlier[one] for one in variables], []) if isinstance(answer, Witness) else None

    def _most(self, expr: AffineExpr, known: int) -> int:
        """The largest value of an expression, which takes a known one, in an iteration; as far as values are found."""
        most, step = known, 1
        while step:
            # Larger steps as long as they lead to a value, then smaller ones.
            found = self._reached(expr - (most + step))
            most, step = (most, step // 2) if found is None else (most + step + found, step * 2)
        return most
