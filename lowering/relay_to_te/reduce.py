"""Computes of the reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ... import te
from ...dialects.affine import below
from ...dialects.relay import reduce as relay
from ...dialects.relay.collapse import CollapseSumLikeOp, CollapseSumToOp
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import Size, product, same
from ...te import Expr, Tensor
from .stages import broadcast, compute, divided, dtype_of, label, rounded, shape, wide

_Term = Callable[[list[Expr], Expr | int], Expr]

_LONG = 1 << 16
"""A chain of additions of more float32 numbers is one of float64: its error grows with its length. Memory, from which
so many come, is slower than the additions."""
_CHAINS = 64
"""The number of chains side by side along whole vectors."""


def _reduction(reducer: Callable[..., Expr]) -> Callable[[Operator, Tensor], Tensor]:
    return lambda op, x: rounded(_reduced(op, x, reducer), dtype_of(op))


def _reduced(op: Operator, x: Tensor, reducer: Callable[..., Expr]) -> Tensor:
    """The reduction over the operator's axes, in wide numbers."""
    number = wide(dtype_of(op))

    def term(point: list[Expr], position: Expr | int) -> Expr:
        return x(*point).astype(number)

    return reduced_over(relay.Reduce.axes(op.signature), shape(x), term, reducer, label(op), shape_of(op.results[0]))


def reduced_over(
    axes: Sequence[int],
    extents: tuple[int, ...],
    term: _Term,
    reducer: Callable[..., Expr],
    name: str,
    result: tuple[int, ...],
) -> Tensor:
    """The reduction of `term(point, position)` over `axes`, which are gone from `result` or have extent 1 there.

    position: where a point stands among those that are reduced to one element, in row-major order.
    """
    keep = len(result) == len(extents)
    k = {axis: te.reduce_axis((0, extents[axis]), name=f"k{n}") for n, axis in enumerate(axes)}

    def element(*i: Expr) -> Expr:
        data = iter([index for axis, index in enumerate(i) if axis not in axes] if keep else i)
        point = [k[axis] if axis in k else next(data) for axis in range(len(extents))]
        position: Expr | int = 0
        for axis in axes:
            position = k[axis] if isinstance(position, int) else position * extents[axis] + k[axis]
        value = term(point, position)
        if not k:
            return value
        dtypes.append(value.dtype)
        return reducer(
            value.astype("float64") if _is_long(value.dtype, reducer, extents, axes) else value, axis=list(k.values())
        )

    dtypes: list[str] = []
    total = compute(result, element, name, tag="comm_reduce" if k else "")
    return rounded(total, dtypes[0]) if dtypes else total


def _is_long(dtype: str, reducer: Callable[..., Expr], extents: Sequence[Size], axes: Sequence[int]) -> bool:
    """Return whether a sum over some axes may be too long for float32 numbers."""
    if reducer is not te.sum or dtype != "float32" or not axes:
        return False
    count = product(extents[axis] for axis in axes)
    chained = axes[-1] == len(extents) - 1 and same(count % _CHAINS, 0)
    return not below(count, (_LONG * _CHAINS if chained and isinstance(count, int) else _LONG) + 1)


def mean(op: Operator, x: Tensor) -> Tensor:
    count = prod(shape(x)[axis] for axis in relay.Reduce.axes(op.signature))
    return divided(_reduced(op, x, te.sum), count, dtype_of(op))


def variance(op: Operator, x: Tensor, average: Tensor) -> Tensor:
    number = wide(dtype_of(op))

    def square(point: list[Expr], position: Expr | int) -> Expr:
        difference = x(*point).astype(number) - broadcast(average, point).astype(number)
        return difference * difference

    total = reduced_over(relay.Reduce.axes(op.signature), shape(x), square, te.sum, label(op), shape_of(op.results[0]))
    count = prod(shape(x)[axis] for axis in relay.Reduce.axes(op.signature))
    return divided(total, count - bool(op.signature.get("unbiased")), dtype_of(op))


def _arg(reducer: Callable[..., Expr]) -> Callable[[Operator, Tensor], Tensor]:
    """Two reductions, each in vectors: to the element sought, and to the place of one that is equal to it."""

    def lowered(op: Operator, x: Tensor) -> Tensor:
        extents, number, axes = shape(x), wide(x.dtype), relay.Reduce.axes(op.signature)
        last = bool(op.signature.get("select_last_index"))
        kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(extents))

        def element(point: list[Expr], position: Expr | int) -> Expr:
            return x(*point).astype(number)

        best = reduced_over(axes, extents, element, reducer, f"{label(op)}_value", kept)
        none = te.const(-1 if last else prod(extents[axis] for axis in axes), "int32")

        def place(point: list[Expr], position: Expr | int) -> Expr:
            here = element(point, position)
            # A reduction of numbers of which one is NaN is NaN, so that this is the place of one.
            sought = te.any(here == broadcast(best, point), te.isnan(here))
            return te.select(sought, te.const(position, "int32") if isinstance(position, int) else position, none)

        return reduced_over(axes, extents, place, te.max if last else te.min, label(op), shape_of(op.results[0]))

    return lowered


def collapse_sum(op: Operator, x: Tensor, *like: Tensor) -> Tensor:
    kind = type(op)
    assert issubclass(kind, CollapseSumToOp | CollapseSumLikeOp)
    axes, extents, number = kind.axes(op.signature), shape(x), wide(x.dtype)
    result = shape_of(op.results[0])
    before = len(extents) - len(result)
    k = {axis: te.reduce_axis((0, extents[axis]), name=f"k{n}") for n, axis in enumerate(axes)}

    def element(*i: Expr) -> Expr:
        value = x(*(k[axis] if axis in k else i[axis - before] for axis in range(len(extents)))).astype(number)
        if _is_long(number, te.sum, extents, axes):
            value = value.astype("float64")
        return te.sum(value, axis=list(k.values())) if k else value

    return rounded(compute(result, element, label(op), tag="comm_reduce" if k else ""), dtype_of(op))


TABLE = {
    CollapseSumLikeOp: collapse_sum,
    CollapseSumToOp: collapse_sum,
    relay.AllOp: _reduction(te.min),
    relay.AnyOp: _reduction(te.max),
    relay.ArgMaxOp: _arg(te.max),
    relay.ArgMinOp: _arg(te.min),
    relay.MaxOp: _reduction(te.max),
    relay.MeanOp: mean,
    relay.MinOp: _reduction(te.min),
    relay.ProdOp: _reduction(te.prod),
    relay.SumOp: _reduction(te.sum),
    relay.VarianceOp: variance,
}
