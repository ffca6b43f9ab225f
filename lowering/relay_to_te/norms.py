"""Computes of the normalisations of images and groups of channels, and of those without a mean.

The last stage is tagged as that of a layer_norm, so that rows that fit are normalised one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import te
from ...dialects.relay import norms as relay
from ...dialects.relay.operator import Operator
from ...dialects.sizes import product
from ...te import Expr, Tensor
from .reduce import reduced_over
from .stages import compute, label, shape, share_of, wide

_Point = Sequence[Expr]


def _affine(op: Operator, value: Expr, axis: int, point: _Point, gamma: Tensor, beta: Tensor) -> Expr:
    if op.signature.get("scale"):
        value = value * gamma(point[axis]).astype(value.dtype)
    return value + beta(point[axis]).astype(value.dtype) if op.signature.get("center") else value


def _normalized(
    op: Operator,
    data: Tensor,
    rows: tuple[int, ...],
    axes: Sequence[int],
    whole: Callable[[_Point], _Point],
    row: Callable[[_Point], _Point],
) -> Callable[[_Point], Expr]:
    """An element less the mean of its row, divided by the deviation.

    rows: the shape of the data with rows apart, over `axes` of which means are taken; whole: a point of that -> the
    point of `data`; row: a point of `data` -> its point among the means.
    """
    number = wide(data.dtype)
    share = share_of(product(rows[axis] for axis in axes), number)
    kept = tuple(extent for axis, extent in enumerate(rows) if axis not in axes)

    def value(point: _Point) -> Expr:
        return data(*point).astype(number)

    def centred(point: _Point) -> Expr:
        return value(point) - total(*row(point)) * share

    def term(point: list[Expr], position: Expr | int) -> Expr:
        return value(whole(point))

    def square(point: list[Expr], position: Expr | int) -> Expr:
        difference = centred(whole(point))
        return difference * difference

    total = reduced_over(axes, rows, term, te.sum, f"{label(op)}_sum", kept)
    squares = reduced_over(axes, rows, square, te.sum, f"{label(op)}_variance", kept)

    def result(point: _Point) -> Expr:
        variance = squares(*row(point)) * share
        return centred(point) * (1.0 / te.sqrt(variance + op.signature.get("epsilon")))

    return result


def instance_norm(op: Operator, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    extents = shape(data)
    axis = op.signature.int("axis") % len(extents)
    axes = [i for i in range(1, len(extents)) if i != axis]
    normalized = _normalized(op, data, extents, axes, list, lambda point: [point[i] for i in sorted({0, axis})])

    def element(*i: Expr) -> Expr:
        return _affine(op, normalized(i), axis, i, gamma, beta).astype(data.dtype)

    return compute(extents, element, label(op), tag="layer_norm")


def group_norm(op: Operator, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    extents, groups = shape(data), op.signature.int("num_groups")
    axis = op.signature.int("axis") % len(extents)
    size = extents[axis] // groups
    rows = (*extents[:axis], groups, size, *extents[axis + 1 :])
    axes = [i for i in range(1, len(rows)) if i != axis]

    def whole(point: _Point) -> _Point:
        return [*point[:axis], point[axis] * size + point[axis + 1], *point[axis + 2 :]]

    def row(point: _Point) -> _Point:
        group = point[axis] // size if size > 1 else point[axis]
        return [point[0], group] if axis else [group]

    normalized = _normalized(op, data, rows, axes, whole, row)

    def element(*i: Expr) -> Expr:
        return _affine(op, normalized(i), axis, i, gamma, beta).astype(data.dtype)

    return compute(extents, element, label(op), tag="layer_norm")


def rms_norm(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    extents, number = shape(data), wide(data.dtype)
    axis = op.signature.int("axis") % len(extents)
    total = _squares(data, [axis], f"{label(op)}_sum")
    share = share_of(extents[axis], number)

    def element(*i: Expr) -> Expr:
        square = total(*i[:axis], *i[axis + 1 :]) * share + op.signature.get("epsilon")
        value = data(*i).astype(number) * (1.0 / te.sqrt(square))
        return (value * weight(i[axis]).astype(number)).astype(data.dtype)

    return compute(extents, element, label(op), tag="layer_norm")


def l2_normalize(op: Operator, data: Tensor) -> Tensor:
    extents, number = shape(data), wide(data.dtype)
    axes = relay.L2NormalizeOp.axes(op.signature)
    total = _squares(data, axes, f"{label(op)}_sum")

    def element(*i: Expr) -> Expr:
        square = total(*(index for axis, index in enumerate(i) if axis not in axes))
        root = te.sqrt(te.maximum(square, te.const(op.signature.get("eps"), number)))
        return (data(*i).astype(number) * (1.0 / root)).astype(data.dtype)

    return compute(extents, element, label(op), tag="layer_norm")


def _squares(data: Tensor, axes: Sequence[int], name: str) -> Tensor:
    """The sums of the squares over `axes`, which are gone."""
    extents, number = shape(data), wide(data.dtype)

    def square(point: list[Expr], position: Expr | int) -> Expr:
        value = data(*point).astype(number)
        return value * value

    kept = tuple(extent for axis, extent in enumerate(extents) if axis not in axes)
    return reduced_over(axes, extents, square, te.sum, name, kept)


TABLE = {
    relay.GroupNormOp: group_norm,
    relay.InstanceNormOp: instance_norm,
    relay.L2NormalizeOp: l2_normalize,
    relay.RMSNormOp: rms_norm,
}
