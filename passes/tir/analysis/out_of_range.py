"""Accesses that leave their buffer in some iteration that is sure to come: found by splitting the iteration space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects.arith import MaxSIOp, MinSIOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects.affine import Linear, Range, below, flatten, linear, linear_bounds, substitute
from ....dialects.sizes import Size, proves
from ....dialects.sizes.kernel import at_least, known, negative
from ....dialects.tir import UNBOUNDED, ForOp, IfOp, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ....dialects.tir.index_maps import Ranges, View, blocks_of, operands_of, view
from ....dialects.tir.lanes import lanes
from ....provenance.diagnostics import message

Access: TypeAlias = LoadOp | StoreOp

BUDGET = 256
"""Boxes of iterations that are looked at for one question; one that takes more is left open."""


class _Condition(NamedTuple):
    """The condition of an access: all expressions are at least 0, or (`negated`) not all of them."""

    values: tuple[SSAValue, ...]
    exprs: tuple[AffineExpr, ...]
    negated: bool = False


class _Forms(NamedTuple):
    forms: tuple[Linear, ...]
    negated: bool = False

    def used_dims(self) -> set[int]:
        return {dim for form in self.forms for atom, _ in form.terms for dim in atom.used_dims()}

    def decided(self, box: tuple[Range, ...]) -> bool | None:
        """Return whether it holds in all of `box`, in none (False), or in part of it (None), as far as bounds tell."""
        ends = [linear_bounds(form, box) for form in self.forms]
        if all(at_least(low, 0) for low, _ in ends):
            return not self.negated
        if any(negative(high) for _, high in ends):
            return self.negated
        return None


def errors_of(func: PrimFuncOp) -> list[str]:
    """A message for each load or store whose index leaves its buffer in an iteration that is sure to come.

    Loops take all values of their variables; guards and branches over these are taken into account. Nothing is said of
    what depends on data: accesses in a `tir.while`, in a branch on data, and indices that only data decides.
    """
    return list(_block(func.block, {}, ()))


def _block(block: Block, ranges: Ranges, around: tuple[_Condition, ...]) -> Iterator[str]:
    for op in block.ops:
        match op:
            case LoadOp() | StoreOp():
                if (error := _error(op, ranges, around)) is not None:
                    yield error
            case IfOp():
                seen = view(op, ranges)
                for number, (inner, inner_ranges) in enumerate(blocks_of(op, ranges)):
                    yield from _block(inner, inner_ranges, (*around, _Condition(seen.values, seen.guard, number == 1)))
            case ForOp():
                if op.is_run():
                    for inner, inner_ranges in blocks_of(op, ranges):
                        yield from _block(inner, inner_ranges, around)
            case _:
                pass


def _error(op: Access, ranges: Ranges, around: tuple[_Condition, ...]) -> str | None:
    errors = (_outside(op, seen, around) for seen in _sides(view(op, ranges), ranges))
    return next((error for error in errors if error is not None), None)


def _sides(seen: View, ranges: Ranges) -> Iterator[View]:
    """An access with either side of each minimum and maximum that its indices use, guarded by that it is that side."""
    used = {dim for expr in (*seen.map, *seen.guard) for dim in expr.used_dims()}
    for position in sorted(used):
        op = seen.values[position].owner
        if isinstance(op, MinSIOp | MaxSIOp):
            break
    else:
        yield seen
        return
    sides = operands_of((op.lhs, op.rhs))
    own = [AffineDimExpr(len(seen.values) + i) for i in range(len(sides.values))]
    left, right = (substitute(dim, own) for dim in sides.dims or (AffineDimExpr(0), AffineDimExpr(1)))
    under = right - left if isinstance(op, MinSIOp) else left - right
    values = (*seen.values, *sides.values)
    all_ranges = (*seen.ranges, *(ranges.get(value, UNBOUNDED) for value in sides.values))
    for side, holds in ((left, under), (right, under * -1 - 1)):
        dims: list[AffineExpr] = [AffineDimExpr(i) for i in range(len(seen.values))]
        dims[position] = side
        map, guard = (tuple(substitute(expr, dims) for expr in exprs) for exprs in (seen.map, seen.guard))
        yield from _sides(View(values, map, (*guard, holds), all_ranges), ranges)


def _outside(op: Access, seen: View, around: tuple[_Condition, ...]) -> str | None:
    """A message if the access as `seen`, which happens where conditions hold, leaves its buffer."""
    type_ = buffer_of(op.buffer)
    (count,) = lanes(op.result.type if isinstance(op, LoadOp) else op.value.type) or (1,)
    space: _Space | None = None
    for dim, (expr, extent) in enumerate(zip(seen.map, type_.get_shape(), strict=True)):
        if _is_inside(expr, extent, seen):
            continue
        space = space or _Space(seen, around)
        if (indices := space.outside(expr, extent)) is not None:
            index = str(indices[0]) if indices[0] == indices[1] else f"{indices[0]} to {indices[1]}"
            return message(
                op.name, f"an index in [0, {extent}) of dimension {dim} of {name_of(op.buffer)}", index, op.location
            )
    if count < 2:
        return None
    last = flatten(seen.map, type_.strides) + op.step * (count - 1)
    if not _is_inside(last, type_.size, seen):
        indices = (space or _Space(seen, around)).outside(last, type_.size)
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
    """The iterations in which an access happens: a box of loop variables, and conditions."""

    def __init__(self, seen: View, around: Sequence[_Condition]):
        conditions = [*around, _Condition(seen.values, seen.guard)]
        values = dict.fromkeys(value for condition in conditions for value in condition.values)
        self.dims = {value: AffineDimExpr(i) for i, value in enumerate(values)}
        self.values = seen.values
        self.box = tuple(_range(value) for value in values)
        self.conditions = [
            _Forms(tuple(self._form(expr, test.values) for expr in test.exprs), test.negated)
            for test in conditions
            if test.exprs or test.negated
        ]

    def _form(self, expr: AffineExpr, values: Sequence[SSAValue]) -> Linear:
        return linear(substitute(expr, [self.dims[value] for value in values]), self.box)

    def outside(self, expr: AffineExpr, extent: Size) -> Range | None:
        """The values that an index takes, if some are outside of [0, extent)."""
        form = self._form(expr, self.values)
        forms = (form, *(one for condition in self.conditions for one in condition.forms))
        if not isinstance(extent, int) or not all(one.plain for one in forms) or not self._counted(forms):
            # For open sizes, an access is wrong if it is wrong for all values.
            low, high = linear_bounds(form, self.box)
            wrong = negative(high) or proves(low, ">=", extent)
            return (low, high) if wrong and not self.conditions else None
        used = {dim for one in (*self.conditions, _Forms((form,))) for dim in one.used_dims()}
        if any(self.box[dim] == UNBOUNDED for dim in used):
            low, high = linear_bounds(form, self.box)
            return (low, high) if not self.conditions and (high < 0 or low >= extent) else None
        if not (self._reaches(form.plus(Linear((), -extent))) or self._reaches(form.times(-1).plus(Linear((), -1)))):
            return None
        return -self._most(form.times(-1)), self._most(form)

    def _counted(self, forms: Sequence[Linear]) -> bool:
        """Return whether the ends of all variables in `forms` are numbers."""
        used = {dim for form in forms for atom, _ in form.terms for dim in atom.used_dims()}
        return all(isinstance(end, int) for dim in used for end in self.box[dim])

    def _reaches(self, form: Linear) -> bool:
        """Return whether `form` is at least 0 in an iteration. False if the budget does not suffice to tell."""
        conditions = [*self.conditions, _Forms((form,))]
        boxes = [self.box]
        for _ in range(BUDGET):
            if not boxes:
                return False
            box = boxes.pop()
            verdicts = [condition.decided(box) for condition in conditions]
            if False in verdicts:
                continue
            if None not in verdicts:
                return True
            undecided = (condition for condition, verdict in zip(conditions, verdicts, strict=True) if verdict is None)
            used = {dim for condition in undecided for dim in condition.used_dims()}
            widest = max(used, key=lambda dim: box[dim][1] - box[dim][0])
            low, high = box[widest]
            middle = (low + high) // 2
            for part in ((low, middle), (middle + 1, high)):
                boxes.append((*box[:widest], part, *box[widest + 1 :]))
        return False

    def _most(self, form: Linear) -> int:
        """The largest value of `form` in an iteration; where the budget does not suffice, one that it surely takes."""
        low, high = map(known, linear_bounds(form, self.box))
        while low < high:
            middle = (low + high + 1) // 2
            if self._reaches(form.plus(Linear((), -middle))):
                low = middle
            else:
                high = middle - 1
        return low


def _range(value: SSAValue) -> Range:
    """The values that a loop variable takes."""
    owner = value.owner
    loop = owner.parent_op() if isinstance(owner, Block) else None
    return loop.bounds if isinstance(loop, ForOp) else UNBOUNDED


def name_of(buffer: SSAValue) -> str:
    """Return the name of a buffer for messages."""
    if buffer.name_hint:
        return f"%{buffer.name_hint}"
    return f"argument {buffer.index}" if isinstance(buffer, BlockArgument) else "a buffer"
