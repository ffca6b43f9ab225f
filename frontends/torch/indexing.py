"""Operators that read and write at indices which are data, and that find elements."""

from __future__ import annotations

from functools import partial
from math import prod

from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.division import FloorDivideOp
from ...dialects.relay.elementwise import CopyOp, DivideOp
from ...dialects.relay.indexing import AdvIndexOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.transform import StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import same_shape
from ..importing.attributes import Flag, Float, Int, Word
from ..importing.converter import Converter, Narrowed
from ..importing.rows import row
from ..importing.terms import Term, axis_of, maximum, term, where
from ..meanings.creation import fill
from ..meanings.indices import check_indices, points_of, take, take_along, take_true
from ..meanings.moves import broadcast, of_one_shape
from ..meanings.scatters import neutral, scatter_elements
from .context import Context
from .promotion import BOOL, is_tensor, kind_of, operand

_AXIS = Int(name="dim")


def _as_row(x: Term) -> Term:
    """A scalar as a row of one."""
    return x if x.shape else x.reshape(1)


def _index_select(x: Term, index: Term, axis: int) -> Term:
    return take(x, index, axis, rule="from_end") if x.shape else x.apply(CopyOp)


def _gather(x: Term, index: Term, axis: int) -> Term:
    return take_along(x, index, axis, rule="from_end") if x.shape else x


def _take_along(x: Term, index: Term, axis: int | None) -> Term:
    if axis is not None:
        return take_along(x, index, axis, rule="from_end", broadcasts=True)
    return take(x.reshape(prod(x.shape)), index.reshape(prod(index.shape)), rule="from_end")


def _take(x: Term, index: Term) -> Term:
    """Elements by their places among all, in row-major order."""
    return take(x.reshape(prod(x.shape)), index, rule="from_end")


_MODES = {"sum": "add", "mean": "add", "prod": "mul", "amin": "min", "amax": "max", "add": "add", "multiply": "mul"}
"""Reduction -> the mode of scatters."""


def _first(x: Term, shape: tuple[int, ...]) -> Term:
    """The first elements along each axis, of which there may be more than a shape has."""
    if same_shape(x.shape, shape):
        return x
    return x.apply(StridedSliceOp, begin=(0,) * len(shape), end=shape, strides=(1,) * len(shape))


def _scatter(mode: str = "update") -> Converter[Context]:
    """The row of a scatter of a tensor, or of a number that stands for all."""

    def computed(ctx: Context, x: Term, index: Term, axis: int, how: str | None) -> Term:
        data, places = _as_row(x), _as_row(index)
        if is_tensor(ctx, "src"):
            source = _first(_as_row(ctx.term("src")).to(x.dtype), places.shape)
        else:
            source = fill(ctx, places.shape, operand(ctx, "value" if ctx.given("value") else "src", x.dtype))
        by = mode if how is None else _MODES[how]
        return scatter_elements(data, places, source, axis, by, rule="from_end").reshape(*x.shape)

    return row(computed, "self index", axis=_AXIS, how=Word(None, name="reduce", among=("add", "multiply")))


def _scatter_reduce(x: Term, index: Term, source: Term, axis: int, how: str, own: bool) -> Term:
    """A reduction of the elements at each place; without those that are there, these become neutral before."""
    data, places, mode = _as_row(x), _as_row(index), _MODES[how]
    source = _first(_as_row(source), places.shape)
    write = partial(scatter_elements, axis=axis, rule="from_end")
    if not own:
        data = write(data, places, fill(x.ctx, places.shape, x.number(neutral(mode, x.dtype))))
    result = write(data, places, source, how=mode)
    if how == "mean":
        counts = write(
            fill(x.ctx, data.shape, x.number(own)), places, fill(x.ctx, places.shape, x.number(1)), how="add"
        )
        result = result.apply(DivideOp if kind_of(x.dtype) == 2 else FloorDivideOp, maximum(counts, 1))
    return result.reshape(*x.shape)


# Indices in brackets: tensors for some of the axes.


class Indices:
    """The brackets of a tensor: for each indexed axis a tensor of places."""

    def __init__(self, ctx: Context, x: Term):
        self.x, self.rank = x, len(x.shape)
        positions = ctx.places("indices")
        if len(positions) > self.rank:
            ctx.fail(f"at most {self.rank} indices", str(len(positions)))
        self.axes = [axis for axis, position in enumerate(positions) if position is not None]
        self.given = [term(ctx, position) for position in positions if position is not None]
        self.rest = [axis for axis in range(self.rank) if axis not in self.axes]

    @property
    def mask(self) -> Term | None:
        """The only index, where that is one of truth values."""
        masks = [index for index in self.given if index.dtype == BOOL]
        if masks and len(self.given) > 1:
            self.x.ctx.fail("one index of truth values, or indices that are numbers", f"{len(self.given)} indices")
        return masks[0] if masks else None

    def values(self) -> list[Term]:
        """The places along each indexed axis, int64."""
        for axis, index in zip(self.axes, self.given, strict=True):
            check_indices(index, self.x.shape[axis : axis + 1])
        return [index.to("int64") for index in self.given]

    def front(self) -> Term:
        """The data with the indexed axes first."""
        return _ordered(self.x, [*self.axes, *self.rest])

    def order_of_result(self, new: int) -> list[int]:
        """The order of axes of a result whose `new` axes come first: they stand where indexed axes are neighbours."""
        together = self.axes == list(range(self.axes[0], self.axes[0] + len(self.axes)))
        first, rest = self.axes[0] if together else 0, range(new, new + len(self.rest))
        return [*rest[:first], *range(new), *rest[first:]]


def _ordered(x: Term, order: list[int]) -> Term:
    return x if order == list(range(len(order))) else x.apply(TransposeOp, axes=order)


def _inverse(order: list[int]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def _index(ctx: Context, x: Term) -> Term | Narrowed:
    indices = Indices(ctx, x)
    if not indices.axes:
        return x
    if (mask := indices.mask) is not None:
        return _masked(x, mask, indices.axes[0])
    if len(indices.axes) == 1:
        return take(x, indices.given[0], indices.axes[0], rule="from_end")
    result = indices.front().apply(AdvIndexOp, *indices.values())
    return _ordered(result, indices.order_of_result(len(result.shape) - len(indices.rest)))


def _masked(x: Term, mask: Term, axis: int) -> Narrowed:
    """The elements where a mask of some axes, from `axis` on, holds."""
    shape, covered = x.shape, mask.shape
    if not covered or not same_shape(shape[axis : axis + len(covered)], covered):
        x.ctx.fail(f"a mask of axes of {list(shape)}", f"shape {list(covered)}")
    flat = x.reshape(*shape[:axis], prod(covered), *shape[axis + len(covered) :])
    return take_true(flat, mask.reshape(prod(covered)), axis)


def _masked_select(x: Term, mask: Term) -> Narrowed:
    data, mask = of_one_shape(x, mask)
    return _masked(_as_row(data), _as_row(mask), 0)


def _index_put(ctx: Context, x: Term, values: Term, accumulate: bool) -> Term:
    """scatter_nd of the indexed axes, which come first for the while; under a mask, a choice."""
    indices, values = Indices(ctx, x), values.to(x.dtype)
    if not indices.axes:
        return broadcast(values, x.shape)
    if (mask := indices.mask) is not None:
        return _put_under(x, mask, indices.axes[0], values, accumulate)
    places, front = indices.values(), indices.front()
    shape, points = places[0].shape, places[0].reshape(1, *places[0].shape)
    if len(places) > 1:
        taken = front.apply(AdvIndexOp, *places).shape
        shape = taken[: len(taken) - len(indices.rest)]
        first, *others = (broadcast(place, shape) for place in places)
        points = first.apply(StackOp, *others, axis=0)
    order, whole = indices.order_of_result(len(shape)), (*shape, *front.shape[len(indices.axes) :])
    updates = _ordered(broadcast(values, [whole[axis] for axis in order]), _inverse(order))
    result = front.apply(ScatterNdOp, points, updates, mode="add" if accumulate else "update")
    return _ordered(result, _inverse([*indices.axes, *indices.rest]))


def _put_under(x: Term, mask: Term, axis: int, values: Term, accumulate: bool) -> Term:
    """`values`, of one element, or one for each element of the rest, where the mask of some axes holds."""
    rest = len(x.shape) - axis - len(mask.shape)
    if len(values.shape) > rest and prod(values.shape) != 1:
        x.ctx.fail("one value for all elements under a mask", f"shape {list(values.shape)}")
    values = values.reshape() if len(values.shape) > rest else values
    wide = mask.reshape(*mask.shape, *(1,) * rest)
    return broadcast(where(wide, x + values if accumulate else values, x), x.shape)


def _masked_scatter(x: Term, mask: Term, source: Term) -> Term:
    """Where the mask holds, the elements of the source in their order."""
    data, mask = of_one_shape(x, mask)
    source = source.to(data.dtype)
    before = mask.to("int64").reshape(prod(data.shape)).apply(CumsumOp, axis=0) - 1
    values = source.reshape(prod(source.shape)).apply(TakeOp, maximum(before, 0), axis=0)
    return where(mask, values.reshape(*data.shape), data)


def _written(x: Term, index: Term, source: Term, axis: int, mode: str) -> Term:
    """Slices written at indices along an axis, or combined with what is there."""
    data, source = _as_row(x), _as_row(source)
    at = axis_of(data, axis)
    check_indices(index, data.shape[at : at + 1])
    front = [at, *(other for other in range(len(data.shape)) if other != at)]
    points = index.reshape(1, prod(index.shape))
    result = _ordered(data, front).apply(ScatterNdOp, points, _ordered(source, front), mode=mode)
    return _ordered(result, _inverse(front)).reshape(*x.shape)


def _index_add(x: Term, index: Term, source: Term, axis: int, alpha: float) -> Term:
    source = source.to(x.dtype)
    return _written(x, index, source if alpha == 1 else source * alpha, axis, "add")


def _index_copy(x: Term, index: Term, source: Term, axis: int) -> Term:
    return _written(x, index, source.to(x.dtype), axis, "update")


def _index_fill(ctx: Context, x: Term, index: Term, axis: int) -> Term:
    """One number at indices along an axis."""
    shape = list(_as_row(x).shape)
    shape[axis_of(x, axis)] = prod(index.shape)
    return _written(x, index, fill(ctx, shape, operand(ctx, "value", x.dtype)), axis, "update")


TABLE: dict[str, Converter[Context]] = {
    "aten.embedding.default": row(
        partial(take, rule="inside"), "weight indices", unread={"padding_idx": "of gradients"}
    ),
    "aten.gather.default": row(_gather, "self index", axis=_AXIS),
    "aten.index.Tensor": row(_index, "self"),
    "aten.index_add.default": row(_index_add, "self index source", axis=_AXIS, alpha=Float(1.0)),
    "aten.index_copy.default": row(_index_copy, "self index source", axis=_AXIS),
    "aten.index_fill.int_Scalar": row(_index_fill, "self index", axis=_AXIS),
    "aten.index_fill.int_Tensor": row(_index_fill, "self index", axis=_AXIS),
    "aten.index_put.default": row(_index_put, "self values", accumulate=Flag(False)),
    "aten.index_select.default": row(_index_select, "self index", axis=_AXIS),
    "aten.masked_scatter.default": row(_masked_scatter, "self mask source"),
    "aten.masked_select.default": row(_masked_select, "self mask"),
    "aten.nonzero.default": row(partial(points_of, scalar_rank=0), "self"),
    "aten.scatter.reduce": _scatter(),
    "aten.scatter.src": _scatter(),
    "aten.scatter.value": _scatter(),
    "aten.scatter.value_reduce": _scatter(),
    "aten.scatter_add.default": _scatter("add"),
    "aten.scatter_reduce.two": row(
        _scatter_reduce,
        "self index src",
        axis=_AXIS,
        how=Word(name="reduce", among=("sum", "mean", "prod", "amin", "amax")),
        own=Flag(True, name="include_self"),
    ),
    "aten.take.default": row(_take, "self index"),
    "aten.take_along_dim.default": row(_take_along, "self indices", axis=Int(None, name="dim")),
}
