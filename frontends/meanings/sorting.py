"""Order: sorted elements, their places, and places among what is sorted. Equals keep their order, NaN is greatest."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.reduce import AnyOp
from ...dialects.relay.sorting import ArgsortOp, SearchSortedOp, SortOp, TopKOp, UniqueOp
from ..importing.converter import Narrowed
from ..importing.terms import Term, axis_of, constant


def ordered(x: Term) -> Term:
    """Truth values as numbers, which have an order."""
    return x.to("int8") if x.dtype == np.bool_ else x


def sort(x: Term, axis: int = -1, descending: bool = False) -> Term:
    """Sorted along an axis; a scalar as it is."""
    at = axis_of(x, axis)
    return ordered(x).apply(SortOp, axis=at, is_ascend=not descending).to(x.dtype) if x.shape else x.apply(ew.CopyOp)


def argsort(x: Term, axis: int = -1, descending: bool = False, *, dtype: str = "int64") -> Term:
    """The places of the elements in the order in which they are sorted along an axis; of a scalar 0."""
    at = axis_of(x, axis)
    if not x.shape:
        return constant(x.ctx, np.zeros((), dtype), "places")
    return ordered(x).apply(ArgsortOp, axis=at, is_ascend=not descending, dtype=dtype)


def sort_with_places(x: Term, axis: int = -1, descending: bool = False) -> tuple[Term, Term]:
    """Sorted along an axis, and the places of the elements, of int64."""
    if not x.shape:
        return sort(x, axis), argsort(x, axis)
    numbers, at = ordered(x), axis_of(x, axis)
    both = x.ctx.emit_all(TopKOp, numbers.value, k=0, axis=at, is_ascend=not descending, dtype="int64")
    return Term(x.ctx, both[0]).to(x.dtype), Term(x.ctx, both[1])


def search_sorted(edges: Term, x: Term, right: bool = False, *, dtype: str = "int64") -> Term:
    """The place of each number among sorted ones, before equals or (`right`) behind; edges of a row, or of each."""
    return edges.apply(SearchSortedOp, x, right=right, dtype=dtype)


def bucketize(x: Term, edges: Sequence[float], *, dtype: str = "int32") -> Term:
    """The number of edges that each number is not below, compared as float32."""
    row = constant(x.ctx, np.asarray(edges, np.float32), "boundaries")
    return search_sorted(row, x.to("float32"), right=True, dtype=dtype)


def is_in(x: Term, others: Term, invert: bool = False) -> Term:
    """True for each element that is one of others, or for those that are none."""
    equal = x.reshape(*x.shape, 1).equal(others.reshape(prod(others.shape)))
    result = equal.apply(AnyOp, axis=(len(x.shape),), keepdims=False)
    return result.apply(ew.LogicalNotOp) if invert else result


def distinct_in_order(x: Term, dtype: str | np.dtype[np.generic] = "int64") -> tuple[Narrowed, SSAValue, Narrowed]:
    """The distinct elements of a vector in order of appearance, which of them each element is, and their counts."""
    values, _, inverse, counts, number = x.ctx.emit_all(UniqueOp, x.value, sorted=False)
    which, often = Term(x.ctx, inverse).to(dtype), Term(x.ctx, counts).to(dtype)
    return Narrowed(values, number), which.value, Narrowed(often.value, number)
