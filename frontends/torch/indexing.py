"""Operators that read and write at indices which are data, and that find elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.division import FloorDivideOp
from ...dialects.relay.elementwise import CopyOp, DivideOp, MaximumOp
from ...dialects.relay.indexing import AdvIndexOp, ArgwhereOp, GatherOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.scatter import ScatterElementsOp, ScatterNdOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ExpandDimsOp,
    ReshapeOp,
    StridedSliceOp,
    TakeOp,
    TransposeOp,
)
from ...dialects.sizes import Size, SizeExpr, same_shape
from ..importing.converter import Converter, Narrowed
from ..importing.indices import check_indices, wrapped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, maximum, where
from ..meanings.moves import of_one_shape
from .context import Context
from .promotion import BOOL, LONG, cast_to, is_tensor, kind_of, operand
from .shaping import broadcast, shaped


def _embedding(ctx: Context) -> SSAValue:
    check_indices(ctx, ctx.at("indices"), ctx.shape_of("weight")[:1])
    return ctx.emit(TakeOp, ctx.of("weight"), ctx.of("indices"), axis=0)


def taken(ctx: Context, data: SSAValue, at: int, axis: int) -> SSAValue:
    """The elements at the indices that input `at` has, along an axis; those below 0 count from the end."""
    extent = shape_of(data)[axis]
    check_indices(ctx, at, [extent])
    is_open = isinstance(cast(Size, extent), SizeExpr)
    constant_values = ctx.tensor(at).array
    if constant_values is not None and not ctx.tensor(at).symbolic and not is_open:
        places = np.remainder(constant_values, max(extent, 1)).astype(np.int64)
        return ctx.emit(TakeOp, data, ctx.constant(places, "indices"), axis=axis)
    return ctx.emit(TakeOp, data, wrapped(ctx, ctx.value(at), extent), axis=axis)


def _index_select(ctx: Context) -> SSAValue:
    if not ctx.shape_of("self"):
        return ctx.emit(CopyOp, ctx.of("self"))
    return taken(ctx, ctx.of("self"), ctx.at("index"), ctx.axis("dim", len(ctx.shape_of("self"))))


def _gather(ctx: Context) -> SSAValue:
    data, index = ctx.of("self"), ctx.of("index")
    if not shape_of(data):
        return data
    axis = ctx.axis("dim", len(shape_of(data)))
    check_indices(ctx, ctx.at("index"), shape_of(data)[axis : axis + 1])
    return ctx.emit(GatherOp, data, index, axis=axis)


def _take_along(ctx: Context) -> SSAValue:
    data, index = ctx.of("self"), ctx.of("indices")
    if not ctx.given("dim"):
        return ctx.emit(
            TakeOp, shaped(ctx, data, (prod(shape_of(data)),)), shaped(ctx, index, (prod(shape_of(index)),)), axis=0
        )
    axis = ctx.axis("dim", len(shape_of(data)))
    own, wanted = list(shape_of(data)), list(shape_of(index))
    shapes = [max(a, b) if at != axis else None for at, (a, b) in enumerate(zip(own, wanted, strict=True))]
    data = broadcast(ctx, data, [a if s is None else s for a, s in zip(own, shapes, strict=True)])
    index = broadcast(ctx, index, [a if s is None else s for a, s in zip(wanted, shapes, strict=True)])
    return ctx.emit(GatherOp, data, index, axis=axis)


_REDUCTIONS = {"sum": "add", "prod": "mul", "amin": "min", "amax": "max", "add": "add", "multiply": "mul"}


def _scatter(reduction: str = "update") -> Converter[Context]:
    """scatter_elements; `src` may be larger than the indices, and a number stands for all."""

    def convert(ctx: Context) -> SSAValue:
        data, index = ctx.of("self"), ctx.of("index")
        rank = len(shape_of(data))
        axis = ctx.axis("dim", rank)
        check_indices(ctx, ctx.at("index"), shape_of(data)[axis : axis + 1])
        how = reduction
        if ctx.given("reduce"):
            asked = ctx.word("reduce", "")
            if asked not in _REDUCTIONS:
                ctx.fail(f"a reduction among {', '.join(_REDUCTIONS)}", repr(asked))
            how = _REDUCTIONS[asked]
        if is_tensor(ctx, "src"):
            source = cast_to(ctx, ctx.of("src"), dtype_of(data))
            if not same_shape(shape_of(source), shape_of(index)):
                source = ctx.emit(StridedSliceOp, source, begin=(0,) * rank, end=shape_of(index), strides=(1,) * rank)
        else:
            name = "value" if ctx.given("value") else "src"
            number = operand(ctx, name, dtype_of(data)).value
            source = ctx.emit(BroadcastToOp, number, shape=shape_of(index))
        if not rank:
            return source
        return ctx.emit(ScatterElementsOp, data, cast_to(ctx, index, LONG), source, axis=axis, reduction=how)

    return Converter(convert)


def _scatter_reduce(ctx: Context) -> SSAValue:
    """A reduction of the elements at each place; without those that are there, these become neutral before."""
    data, rank = ctx.of("self"), len(ctx.shape_of("self"))
    how, own = ctx.word("reduce", ""), ctx.flag("include_self", True)
    if how not in _NEUTRAL:
        ctx.fail(f"a reduction among {', '.join(_NEUTRAL)}", repr(how))
    if not rank:
        ctx.fail("a tensor of at least 1 axis", "a scalar")
    axis, dtype = ctx.axis("dim", rank), dtype_of(data)
    check_indices(ctx, ctx.at("index"), shape_of(data)[axis : axis + 1])
    index = cast_to(ctx, ctx.of("index"), LONG)
    ends = shape_of(index)
    source = ctx.emit(StridedSliceOp, ctx.of("src"), begin=(0,) * rank, end=ends, strides=(1,) * rank)

    def scattered(whole: SSAValue, part: SSAValue, reduction: str) -> SSAValue:
        return ctx.emit(ScatterElementsOp, whole, index, part, axis=axis, reduction=reduction)

    def filled(number: float, shape: tuple[int, ...]) -> SSAValue:
        return ctx.emit(BroadcastToOp, ctx.constant(np.asarray(number).astype(dtype), "number"), shape=shape)

    reduction, neutral = _NEUTRAL[how]
    if isinstance(neutral, str):
        ends_of = None if kind_of(dtype) == 2 else np.iinfo(dtype.name)
        low, high = (-np.inf, np.inf) if ends_of is None else (int(ends_of.min), int(ends_of.max))
        neutral = low if neutral == "low" else high
    if not own:
        data = scattered(data, filled(neutral, ends), "update")
    result = scattered(data, source, reduction)
    if how != "mean":
        return result
    counts = scattered(filled(float(own), shape_of(data)), filled(1, ends), "add")
    count = maximum(Term(ctx, counts), 1.0)
    return Term(ctx, result).apply(DivideOp if kind_of(dtype) == 2 else FloorDivideOp, count).value


_NEUTRAL: dict[str, tuple[str, float | str]] = {
    "sum": ("add", 0),
    "mean": ("add", 0),
    "prod": ("mul", 1),
    "amin": ("min", "high"),
    "amax": ("max", "low"),
}
"""Reduction -> relay's, and the number that changes nothing: that, or the one at an end of the element type."""


# Indices in brackets: tensors for some of the axes.


class Indices:
    """The brackets of `self`: for each indexed axis a tensor of places."""

    def __init__(self, ctx: Context):
        self.ctx = ctx
        self.given = ctx.places("indices")
        shape = ctx.shape_of("self")
        if len(self.given) > len(shape):
            ctx.fail(f"at most {len(shape)} indices", str(len(self.given)))
        self.axes = [axis for axis, position in enumerate(self.given) if position is not None]
        self.rank = len(shape)

    @property
    def mask(self) -> int | None:
        """The place of the only index, where that is one of truth values."""
        places = [position for position in self.given if position is not None]
        masks = [position for position in places if self.ctx.dtype(position) == BOOL]
        if masks and len(places) > 1:
            self.ctx.fail("one index of truth values, or indices that are numbers", f"{len(places)} indices")
        return masks[0] if masks else None

    def values(self) -> list[SSAValue]:
        """The places along each indexed axis, int64."""
        result: list[SSAValue] = []
        for axis in self.axes:
            position = self.given[axis]
            assert position is not None
            check_indices(self.ctx, position, self.ctx.shape_of("self")[axis : axis + 1])
            result.append(cast_to(self.ctx, self.ctx.value(position), LONG))
        return result

    @property
    def together(self) -> bool:
        """Return whether the indexed axes are neighbours: then the results' new axes stand in their place."""
        return self.axes == list(range(self.axes[0], self.axes[0] + len(self.axes)))

    def front(self, data: SSAValue) -> SSAValue:
        """The data with the indexed axes first."""
        order = [*self.axes, *(axis for axis in range(self.rank) if axis not in self.axes)]
        return data if order == list(range(self.rank)) else self.ctx.emit(TransposeOp, data, axes=order)

    def order_of_result(self, new: int) -> list[int]:
        """The order of axes of a result whose `new` axes come first."""
        first = self.axes[0] if self.together else 0
        rest = range(new, new + self.rank - len(self.axes))
        return [*rest[:first], *range(new), *rest[first:]]


def _index(ctx: Context) -> SSAValue | Narrowed:
    indices = Indices(ctx)
    data = ctx.of("self")
    if not indices.axes:
        return data
    if (mask := indices.mask) is not None:
        return _masked(ctx, data, ctx.value(mask), indices.axes[0])
    if len(indices.axes) == 1:
        position = indices.given[indices.axes[0]]
        assert position is not None
        return taken(ctx, data, position, indices.axes[0])
    values = indices.values()
    result = ctx.emit(AdvIndexOp, indices.front(data), *values)
    new = len(shape_of(result)) - (indices.rank - len(indices.axes))
    order = indices.order_of_result(new)
    return result if order == list(range(len(order))) else ctx.emit(TransposeOp, result, axes=order)


def _masked(ctx: Context, data: SSAValue, mask: SSAValue, axis: int) -> Narrowed:
    """The elements where a mask of some axes, from `axis` on, holds."""
    shape, covered = shape_of(data), shape_of(mask)
    if not covered or not same_shape(shape[axis : axis + len(covered)], covered):
        ctx.fail(f"a mask of axes of {list(shape)}", f"shape {list(covered)}")
    flat = shaped(ctx, data, (*shape[:axis], prod(covered), *shape[axis + len(covered) :]))
    points, number = ctx.emit_all(ArgwhereOp, shaped(ctx, mask, (prod(covered),)))
    places = ctx.emit(ReshapeOp, points, newshape=shape_of(points)[:1])
    return Narrowed(ctx.emit(TakeOp, flat, places, axis=axis), number, axis)


def _masked_select(ctx: Context) -> Narrowed:
    data, mask = (x.value for x in of_one_shape(ctx.term("self"), ctx.term("mask")))
    if not shape_of(data):
        data, mask = shaped(ctx, data, (1,)), shaped(ctx, mask, (1,))
    return _masked(ctx, data, mask, 0)


def _nonzero(ctx: Context) -> Narrowed:
    """The points, one in each row; that of a scalar has no coordinates."""
    data = ctx.of("self") if ctx.shape_of("self") else shaped(ctx, ctx.of("self"), (1,))
    points, number = ctx.emit_all(ArgwhereOp, data)
    if not ctx.shape_of("self"):
        points = ctx.emit(StridedSliceOp, points, begin=[0], end=[0], strides=[1], axes=[1])
    return Narrowed(points, number, 0)


def _index_put(ctx: Context) -> SSAValue:
    """scatter_nd of the indexed axes, which come first for the while; under a mask, a choice."""
    indices = Indices(ctx)
    data, values = ctx.of("self"), cast_to(ctx, ctx.of("values"), ctx.dtype_of("self"))
    if not indices.axes:
        return broadcast(ctx, values, shape_of(data))
    if (mask := indices.mask) is not None:
        return _put_under(ctx, data, ctx.value(mask), indices.axes[0], values)
    places = indices.values()
    points = places[0]
    if len(places) > 1:
        shape = shape_of(ctx.emit(AdvIndexOp, indices.front(data), *places))
        shape = shape[: len(shape) - (indices.rank - len(indices.axes))]
        points = ctx.emit(StackOp, *(broadcast(ctx, position, shape) for position in places), axis=0)
    else:
        shape = shape_of(points)
        points = ctx.emit(ExpandDimsOp, points, axis=0)
    order = indices.order_of_result(len(shape))
    front = indices.front(data)
    rest = shape_of(front)[len(indices.axes) :]
    target = [0] * len(order)
    for at, axis in enumerate(order):
        target[at] = (*shape, *rest)[axis]
    values = broadcast(ctx, values, target)
    if order != list(range(len(order))):
        values = ctx.emit(TransposeOp, values, axes=[order.index(axis) for axis in range(len(order))])
    mode = "add" if ctx.flag("accumulate") else "update"
    result = ctx.emit(ScatterNdOp, front, points, values, mode=mode)
    back = [*indices.axes, *(axis for axis in range(indices.rank) if axis not in indices.axes)]
    if back == list(range(indices.rank)):
        return result
    return ctx.emit(TransposeOp, result, axes=[back.index(axis) for axis in range(indices.rank)])


def _put_under(ctx: Context, data: SSAValue, mask: SSAValue, axis: int, values: SSAValue) -> SSAValue:
    """`values`, of one element, or one for each element of the rest, where the mask of some axes holds."""
    shape, covered = shape_of(data), shape_of(mask)
    rest = len(shape) - axis - len(covered)
    if len(shape_of(values)) > rest and prod(shape_of(values)) != 1:
        ctx.fail("one value for all elements under a mask", f"shape {list(shape_of(values))}")
    if len(shape_of(values)) > rest:
        values = shaped(ctx, values, ())
    wide = shaped(ctx, mask, (*covered, *(1,) * rest))
    chosen = Term(ctx, values)
    if ctx.flag("accumulate"):
        chosen = Term(ctx, data) + chosen
    return broadcast(ctx, where(Term(ctx, wide), chosen, Term(ctx, data)).value, shape)


def _masked_scatter(ctx: Context) -> SSAValue:
    """Where the mask holds, the elements of the source in their order."""
    data, mask = (x.value for x in of_one_shape(ctx.term("self"), ctx.term("mask")))
    shape = shape_of(data)
    source = cast_to(ctx, ctx.of("source"), dtype_of(data))
    flat = shaped(ctx, cast_to(ctx, mask, LONG), (prod(shape),))
    before = Term(ctx, ctx.emit(CumsumOp, flat, axis=0)) - 1
    values = ctx.emit(TakeOp, shaped(ctx, source, (prod(shape_of(source)),)), before.apply(MaximumOp, 0).value, axis=0)
    return where(Term(ctx, mask), Term(ctx, shaped(ctx, values, shape)), Term(ctx, data)).value


def _along(ctx: Context) -> tuple[SSAValue, int, Sequence[int]]:
    """The data, the axis of the indices, and the data's shape; a scalar is a row of one."""
    data = ctx.of("self")
    if not shape_of(data):
        data = shaped(ctx, data, (1,))
    return data, ctx.axis("dim", len(shape_of(data))), shape_of(data)


def _index_add(reduction: str) -> Converter[Context]:
    """Slices added to those at indices along an axis, or put in their place."""

    def convert(ctx: Context) -> SSAValue:
        data, axis, shape = _along(ctx)
        source = cast_to(ctx, ctx.of("source"), dtype_of(data))
        if ctx.number("alpha", 1) != 1:
            source = (Term(ctx, source) * ctx.float("alpha", 1.0)).value
        index = cast_to(ctx, ctx.of("index"), LONG)
        check_indices(ctx, ctx.at("index"), shape[axis : axis + 1])
        front = [axis, *(at for at in range(len(shape)) if at != axis)]
        count = prod(shape_of(index))
        source = source if shape_of(source) else shaped(ctx, source, (count,))
        moved, updates = (ctx.emit(TransposeOp, item, axes=front) for item in (data, source))
        points = shaped(ctx, index, (1, count))
        result = ctx.emit(ScatterNdOp, moved, points, updates, mode=reduction)
        return _back(ctx, result, front)

    return Converter(convert)


def _back(ctx: Context, result: SSAValue, front: Sequence[int]) -> SSAValue:
    """Undo the transposition that put an axis in front."""
    if not ctx.shape_of("self"):
        return shaped(ctx, result, ())
    return ctx.emit(TransposeOp, result, axes=[front.index(at) for at in range(len(front))])


def _index_fill(ctx: Context) -> SSAValue:
    """One number at indices along an axis."""
    data, axis, shape = _along(ctx)
    index = cast_to(ctx, ctx.of("index"), LONG)
    check_indices(ctx, ctx.at("index"), shape[axis : axis + 1])
    front = [axis, *(at for at in range(len(shape)) if at != axis)]
    moved = ctx.emit(TransposeOp, data, axes=front)
    number = operand(ctx, "value", dtype_of(data)).value
    updates = ctx.emit(BroadcastToOp, number, shape=(prod(shape_of(index)), *shape_of(moved)[1:]))
    result = ctx.emit(ScatterNdOp, moved, shaped(ctx, index, (1, prod(shape_of(index)))), updates, mode="update")
    return _back(ctx, result, front)


TABLE: dict[str, Converter[Context]] = {
    "aten.embedding.default": Converter(_embedding, unread={"padding_idx": "of gradients"}),
    "aten.gather.default": Converter(_gather),
    "aten.index.Tensor": Converter(_index),
    "aten.index_add.default": _index_add("add"),
    "aten.index_copy.default": _index_add("update"),
    "aten.index_fill.int_Scalar": Converter(_index_fill),
    "aten.index_fill.int_Tensor": Converter(_index_fill),
    "aten.index_put.default": Converter(_index_put),
    "aten.index_select.default": Converter(_index_select),
    "aten.masked_scatter.default": Converter(_masked_scatter),
    "aten.masked_select.default": Converter(_masked_select),
    "aten.nonzero.default": Converter(_nonzero),
    "aten.scatter.reduce": _scatter(),
    "aten.scatter.src": _scatter(),
    "aten.scatter.value": _scatter(),
    "aten.scatter.value_reduce": _scatter(),
    "aten.scatter_add.default": _scatter("add"),
    "aten.scatter_reduce.two": Converter(_scatter_reduce),
    "aten.take_along_dim.default": Converter(_take_along),
}
