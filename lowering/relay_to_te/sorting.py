"""Computes of the operators that sort."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, cast

from ... import te
from ...dialects.relay import sorting as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import Size, SizeExpr, bounds, proves, same
from ...support.dtypes import is_float
from ...te import Expr, Tensor
from . import sorting_scripts as scripts
from .stages import ROWS_APART, compute, label, shape, wide
from .transform import flat_index

_FULL = 4
"""If more than one in this many elements is selected, all are sorted."""


def _key(dtype: str) -> Callable[[Expr], Expr]:
    return lambda x: x.astype(wide(dtype))


def _before(dtype: str, ascend: bool) -> Callable[[Expr, Expr], Expr]:
    """Return whether one number comes before another; NaN, which equals itself here, is the greatest."""

    def less(a: Expr, b: Expr) -> Expr:
        # If neither is greater or equal, it is less, or one of the two is NaN.
        return te.all(te.logical_not(a >= b), a.equal(a)) if is_float(dtype) else a < b

    # A function statement each: a script takes functions, not partial ones.
    def greater(a: Expr, b: Expr) -> Expr:
        return less(b, a)

    return less if ascend else greater


def _rows(extents: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    return prod(extents[:axis]), extents[axis], prod(extents[axis + 1 :])


def _order(x: Tensor, axis: int, ascend: bool, count: int) -> Tensor:
    """The indices of the first `count` along an axis: (rows, count), a row for each of the other points."""
    outer, extent, inner = _rows(shape(x), axis)
    key, before = _key(x.dtype), _before(x.dtype, ascend)
    with te.tag_scope(ROWS_APART):
        # A few elements are selected; any larger part is the begin of a full sort.
        few = proves(count * _FULL, "<=", extent)
        if not few and not (isinstance(cast(Size, extent), SizeExpr) and bounds(count)[1] is not None):
            return scripts.merge_sort(x, outer, extent, inner, wide(x.dtype), key, before)
        return scripts.heap_select(x, outer, extent, inner, count=count, dtype=wide(x.dtype), key=key, before=before)


def descending(x: Tensor, axis: int) -> Tensor:
    """The indices that sort along an axis, the greatest first: a row for each of the other points."""
    return _order(x, axis, False, shape(x)[axis])


def _at(order: Tensor, extents: tuple[int, ...], axis: int, point: tuple[Expr, ...]) -> Expr:
    """The index for a point of the result."""
    rest = (*extents[:axis], *extents[axis + 1 :])
    return order(flat_index((*point[:axis], *point[axis + 1 :]), rest), point[axis])


def _sorted(x: Tensor, axis: int, ascend: bool, count: int, dtype: str, name: str) -> tuple[Tensor, Tensor]:
    """Values and indices."""
    order = _order(x, axis, ascend, count)
    extents = (*shape(x)[:axis], count, *shape(x)[axis + 1 :])
    indices = compute(extents, lambda *i: _at(order, extents, axis, i).astype(dtype), f"{name}_indices")
    values = compute(extents, lambda *i: x(*i[:axis], _at(order, extents, axis, i), *i[axis + 1 :]), name)
    return values, indices


def sort(op: Operator, x: Tensor) -> Tensor:
    axis = relay.Sorting.along(op.signature)
    return _sorted(x, axis, bool(op.signature.get("is_ascend")), shape(x)[axis], "int64", label(op))[0]


def argsort(op: Operator, x: Tensor) -> Tensor:
    axis = relay.Sorting.along(op.signature)
    ascend, dtype = bool(op.signature.get("is_ascend")), op.signature.str("dtype")
    return _sorted(x, axis, ascend, shape(x)[axis], dtype, label(op))[1]


def topk(op: Operator, x: Tensor) -> tuple[Tensor, ...]:
    sig = op.signature
    axis = sig.axis(sig.int("axis"), len(shape(x)))
    count = shape_of(op.results[0])[axis]
    both = _sorted(x, axis, bool(sig.get("is_ascend")), count, sig.str("dtype"), label(op))
    return {"both": both, "values": both[:1], "indices": both[1:]}[sig.str("ret_type")]


def searchsorted(op: Operator, rows: Tensor, values: Tensor) -> Tensor:
    extents, shared = shape(values), len(shape(rows)) == 1
    outer, inner = (1, prod(extents)) if shared else (prod(extents[:-1]), extents[-1])
    before = _before(rows.dtype, True)

    def up_to(a: Expr, b: Expr) -> Expr:
        return te.logical_not(before(b, a))

    goes_on = up_to if op.signature.get("right") else before
    with te.tag_scope(ROWS_APART):
        positions = scripts.binary_search(rows, values, outer, shape(rows)[-1], inner, goes_on)
    dtype = op.signature.str("dtype")
    if shared:
        return compute(extents, lambda *i: positions(0, flat_index(i, extents)).astype(dtype), label(op))
    return compute(extents, lambda *i: positions(flat_index(i[:-1], extents[:-1]), i[-1]).astype(dtype), label(op))


def unique(op: Operator, x: Tensor) -> tuple[Tensor, ...]:
    rows, *rest = shape(x)
    width = prod(rest)
    before = _before(x.dtype, True)
    number = wide(x.dtype)
    data = compute((rows, width), lambda *i: x(*i[: len(rest) + 1]).astype(number), "rows", keep=True)
    if same(width, 1):
        sorted_ = _order(x, 0, True, rows)
        order: Any = compute((rows,), lambda *i: sorted_(0, *i), "order", keep=True)
    else:
        order = scripts.insertion_sort_rows(data, rows, width, before)
    ascending = int(bool(op.signature.get("sorted")))
    indices, inverse, counts, count = scripts.distinct(data, order, rows, width, ascending)

    def element(*i: Expr) -> Expr:
        return te.select(i[0].astype("int64") < count(), x(indices(i[0]), *i[1:]), te.const(0, x.dtype))

    return compute(shape(x), element, label(op)), indices, inverse, counts, count


def invert_permutation(op: Operator, x: Tensor) -> Tensor:
    return scripts.inverted(x)


TABLE = {
    relay.SortOp: sort,
    relay.ArgsortOp: argsort,
    relay.TopKOp: topk,
    relay.SearchSortedOp: searchsorted,
    relay.UniqueOp: unique,
    relay.InvertPermutationOp: invert_permutation,
}
