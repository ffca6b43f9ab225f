"""Elements at indices that are data, and vectors of classes.

Formats differ in what they make of an index below 0, or outside of an axis; a `Rule` names that:

- `from_end`: below 0 it counts from the end, outside it is refused;
- `inside`: it counts from the beginning, outside it is refused;
- `held`: below 0 it counts from the end, and outside it is the nearest inside.

What is refused is refused at import where it is known, and at a call where it is an input of the program. Indices that
the program computes are brought inside by any rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.indexing import ArgwhereOp, GatherNdOp, GatherOp, OneHotOp
from ...dialects.relay.transform import TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, proves, symbols_of
from ...runtime.program.index_bounds import IndexBound
from ...support.dtypes import Array
from ..importing.converter import Narrowed
from ..importing.terms import Term, axis_of, constant
from .moves import broadcast, common_shape
from .slices import cut

Rule: TypeAlias = Literal["from_end", "inside", "held"]


def numbers_of(x: Term) -> Array | None:
    """Return the numbers of a constant, None of other terms."""
    return x.value.owner.value(x.ctx.module) if isinstance(x.value.owner, ConstantOp) else None


def check_indices(indices: Term, extents: Sequence[Size], ignored: tuple[int, ...] | None = None) -> None:
    """Refuse indices outside of axes of `extents`, one of all or one for each place along the last axis.

    ignored: as for `require_indices`. Indices that are an input of the program are checked at every call.
    """
    ctx, numbers = indices.ctx, numbers_of(indices)
    if numbers is None:
        ctx.require_indices(indices.value, extents, ignored)
    elif not ignored and any(map(symbols_of, extents)):
        _require_room(indices, numbers, extents, ignored is None)
    elif IndexBound(0, cast("tuple[int, ...]", tuple(extents)), ignored=ignored).outside(numbers).any():
        _refuse(indices, numbers, extents, ignored is None)


def _require_room(indices: Term, numbers: Array, extents: Sequence[Size], from_end: bool) -> None:
    """Have every call checked: axes must be as long as known indices need."""
    for at, extent in enumerate(extents if numbers.size else ()):
        column = numbers[..., at] if len(extents) > 1 else numbers
        least = max(int(column.max()) + 1, -int(column.min()))
        if proves(extent, "<", least) or (column.min() < 0 and not from_end):
            _refuse(indices, column, [extent], from_end)
        if not proves(extent, ">=", least):
            indices.ctx.require(extent - least)


def _refuse(indices: Term, numbers: Array, extents: Sequence[Size], from_end: bool) -> None:
    end = str(extents[0]) if len(extents) == 1 else f"[{', '.join(map(str, extents))}]"
    indices.ctx.fail(f"indices in [{f'-{end}' if from_end else 0}, {end})", f"{numbers.min()} to {numbers.max()}")


def check_by(rule: Rule, indices: Term, extents: Sequence[Size]) -> None:
    """Refuse indices outside of axes, as far as a rule does."""
    if rule != "held":
        check_indices(indices, extents, ignored=None if rule == "from_end" else ())


def counted(indices: Term, extent: Size) -> Term:
    """Indices of which those below 0 are counted from the end of an axis."""
    if indices.dtype.kind == "u":
        return indices
    numbers: Any = numbers_of(indices)
    if numbers is not None and not (numbers < 0).any():
        return indices
    # An extent is more than 8 or 16 bits may hold.
    indices = indices if indices.dtype.itemsize >= 4 else indices.to("int32")
    if numbers is None:
        return indices + (indices < 0).to(indices.dtype) * cast("int", extent)
    if isinstance(extent, SizeExpr):
        sizes = [cast("int", extent + at if at < 0 else at) for at in map(int, numbers.reshape(-1).tolist())]
        return Term(indices.ctx, indices.ctx.emit(SizesOp, values=sizes, shape=numbers.shape, dtype="int64"))
    whole = numbers.astype(indices.dtype)
    return constant(indices.ctx, cast("Array", np.where(whole < 0, whole + extent, whole)), "indices")


def take(x: Term, indices: Term, axis: int = 0, batch: int = 0, *, rule: Rule) -> Term:
    """Elements along an axis; the first `batch` axes go along in data and indices, from the indices' end below 0."""
    if not x.shape:
        x.ctx.fail("a tensor of at least 1 axis", "a scalar")
    axis, rank = axis_of(x, axis), len(indices.shape)
    batch = batch + rank if batch < 0 else batch
    if not 0 <= batch <= min(axis, rank):
        x.ctx.fail(f"batch dimensions up to axis {axis}", str(batch))
    check_by(rule, indices, x.shape[axis : axis + 1])
    places = indices if rule == "inside" else counted(indices, x.shape[axis])
    return x.apply(TakeOp, places, axis=axis, batch_dims=batch)


def coordinates_first(points: Term) -> Term:
    """Points whose coordinates are along the last axis, with these along the first, as relay has them."""
    rank = len(points.shape)
    if not rank:
        points.ctx.fail("indices of at least 1 dimension", "a scalar")
    return points.apply(TransposeOp, axes=(rank - 1, *range(rank - 1)))


def points_in(x: Term, indices: Term, batch: int = 0, *, rule: Rule) -> Term:
    """Points in a tensor behind its first `batch` axes, checked, their coordinates along the first axis."""
    rank = len(x.shape) - batch
    if indices.shape and indices.shape[-1] > rank:
        x.ctx.fail(f"points of at most {rank} coordinates", f"shape {list(indices.shape)}")
    first = coordinates_first(indices)
    check_by(rule, indices, x.shape[batch : batch + first.shape[0]])
    return first


def gather_nd(x: Term, indices: Term, batch: int = 0, *, rule: Rule) -> Term:
    """Slices at points, whose coordinates are along the last axis of the indices."""
    return x.apply(GatherNdOp, points_in(x, indices, batch, rule=rule), batch_dims=batch)


def take_along(x: Term, indices: Term, axis: int = 0, *, rule: Rule, broadcasts: bool = False) -> Term:
    """The elements at the places of the indices, which are the coordinates along an axis.

    broadcasts: data and indices broadcast along the other axes; else the indices may be shorter there.
    """
    axis = axis_of(x, axis)
    if broadcasts:
        x, indices = _of_one_shape(x, indices, axis)
    check_by(rule, indices, x.shape[axis : axis + 1])
    return x.apply(GatherOp, indices, axis=axis)


def _of_one_shape(x: Term, indices: Term, axis: int) -> tuple[Term, Term]:
    """Data and indices in the shape to which they broadcast, but for the axis."""
    rests = [(*part.shape[:axis], 1, *part.shape[axis + 1 :]) for part in (x, indices)]
    shape = common_shape(x.ctx, rests)
    left, right = ((*shape[:axis], part.shape[axis], *shape[axis + 1 :]) for part in (x, indices))
    return broadcast(x, left), broadcast(indices, right)


def one_hot(indices: Term, depth: int, on: Term, off: Term, axis: int = -1, *, from_end: bool = False) -> Term:
    """`on` where a new axis of `depth` equals the index, else `off`; an index outside equals none.

    from_end: indices below 0 count from the end.
    """
    bound = len(indices.shape) + 1
    if not -bound <= axis < bound:
        indices.ctx.fail(f"an axis in [{-bound}, {bound})", str(axis))
    places = counted(indices, depth) if from_end else indices
    on, off = on.reshape(), off.reshape()
    return places.apply(OneHotOp, on, off, depth=depth, axis=axis % bound, dtype=on.dtype.name)


def points_of(x: Term, *, scalar_rank: int, columns: bool = False) -> Narrowed:
    """The points of what is not 0, one in each row, or each column.

    scalar_rank: the number of coordinates of the point of a scalar, 1 as of a vector, or 0.
    """
    points, number = x.ctx.emit_all(ArgwhereOp, (x if x.shape else x.reshape(1)).value)
    rows = Term(x.ctx, points)
    if not x.shape and not scalar_rank:
        rows = cut(rows, 1, 0, 0)
    return Narrowed((rows.apply(TransposeOp, axes=(1, 0)) if columns else rows).value, number, int(columns))


def take_true(x: Term, mask: Term, axis: int) -> Narrowed:
    """The elements along an axis where a vector is not 0."""
    points, number = x.ctx.emit_all(ArgwhereOp, mask.value)
    places = Term(x.ctx, points).reshape(*mask.shape)
    return Narrowed(x.apply(TakeOp, places, axis=axis).value, number, axis)
