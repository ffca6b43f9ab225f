"""Computes of the operators that read at indices which are data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ... import te
from ...dialects.relay import indexing as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import SizeExpr
from ...te import Expr, Tensor
from . import scatter_scripts as scripts
from .stages import broadcast, compute, dtype_of, label, shape
from .transform import unflatten


def inside(index: Expr, extent: int) -> Expr:
    """An index of an axis: one below 0 counts from the end, one outside is brought to the nearest inside."""
    wide = index.astype("int64")
    return te.minimum(
        te.maximum(te.select(wide < 0, wide + extent, wide), 0),
        extent - 1 if isinstance(extent, SizeExpr) else max(extent - 1, 0),
    )


def gather(op: Operator, x: Tensor, indices: Tensor) -> Tensor:
    axis = op.signature.int("axis") % len(shape(x))
    extent = shape(x)[axis]

    def element(*i: Expr) -> Expr:
        return x(*i[:axis], inside(indices(*i), extent), *i[axis + 1 :])

    return compute(shape(indices), element, label(op))


def gather_nd(op: Operator, x: Tensor, indices: Tensor) -> Tensor:
    batch, (count, *rest) = op.signature.int("batch_dims"), shape(indices)

    def element(*i: Expr) -> Expr:
        position, slices = i[: len(rest)], i[len(rest) :]
        point = [inside(indices(m, *position), shape(x)[batch + m]) for m in range(count)]
        return x(*position[:batch], *point, *slices)

    return compute(shape_of(op.results[0]), element, label(op))


def one_hot(op: Operator, indices: Tensor, on_value: Tensor, off_value: Tensor) -> Tensor:
    axis = op.signature.int("axis") % (len(shape(indices)) + 1)
    dtype = dtype_of(op)

    def element(*i: Expr) -> Expr:
        hot = indices(*i[:axis], *i[axis + 1 :]).astype("int64").equal(i[axis].astype("int64"))
        on, off = (value(*[0] * len(shape(value))).astype(dtype) for value in (on_value, off_value))
        return te.select(hot, on, off)

    return compute(shape_of(op.results[0]), element, label(op))


def adv_index(op: Operator, inputs: Sequence[Tensor]) -> Tensor:
    x, *indices = inputs
    extents = shape_of(op.results[0])
    rank = len(extents) - (len(shape(x)) - len(indices))

    def element(*i: Expr) -> Expr:
        point = [inside(broadcast(row, i[:rank]), extent) for row, extent in zip(indices, shape(x), strict=False)]
        return x(*point, *i[rank:])

    return compute(extents, element, label(op))


def argwhere(op: Operator, condition: Tensor) -> tuple[Tensor, Tensor]:
    extents = shape(condition) or (1,)
    places, number = scripts.nonzero(condition, prod(extents))

    def element(*i: Expr) -> Expr:
        coordinates = unflatten(places(i[0]), extents)
        point = coordinates[0]
        for axis in range(1, len(extents)):
            point = te.select(i[1].equal(axis), coordinates[axis], point)
        return te.select(i[0].astype("int64") < number(), point, te.const(0, "int64"))

    return compute(shape_of(op.results[0]), element, label(op)), number


def unravel_index(op: Operator, x: Tensor, extents: Tensor) -> Tensor:
    (rank,) = shape(extents)

    def element(*i: Expr) -> Expr:
        sizes = [extents(axis).astype("int64") for axis in range(rank)]
        strides: list[Expr] = [te.const(1, "int64")] * rank
        for axis in reversed(range(rank - 1)):
            strides[axis] = strides[axis + 1] * sizes[axis + 1]
        last = strides[0] * sizes[0] - 1
        position = te.minimum(te.maximum(x(*i[1:]).astype("int64"), 0), last)
        coordinate = te.truncdiv(position, strides[0])
        for axis in range(1, rank):
            coordinate = te.select(
                i[0].equal(axis), te.truncmod(te.truncdiv(position, strides[axis]), sizes[axis]), coordinate
            )
        return coordinate.astype(dtype_of(op))

    return compute(shape_of(op.results[0]), element, label(op))


def sequence_mask(op: Operator, x: Tensor, length: Tensor) -> Tensor:
    axis = op.signature.int("axis")
    masked = te.const(op.signature.get("mask_value"), x.dtype)

    def element(*i: Expr) -> Expr:
        return te.select(i[axis].astype("int64") < length(i[1 - axis]).astype("int64"), x(*i), masked)

    return compute(shape(x), element, label(op))


def reverse_sequence(op: Operator, x: Tensor, lengths: Tensor) -> Tensor:
    time, batch = relay.ReverseSequenceOp.axes(op.signature)
    extent = shape(x)[time]

    def element(*i: Expr) -> Expr:
        length = te.minimum(lengths(i[batch]).astype("int64"), extent)
        at = i[time].astype("int64")
        return x(*i[:time], te.select(at < length, length - 1 - at, at), *i[time + 1 :])

    return compute(shape(x), element, label(op))


TABLE = {
    relay.GatherOp: gather,
    relay.GatherNdOp: gather_nd,
    relay.OneHotOp: one_hot,
    relay.AdvIndexOp: adv_index,
    relay.ArgwhereOp: argwhere,
    relay.UnravelIndexOp: unravel_index,
    relay.SequenceMaskOp: sequence_mask,
    relay.ReverseSequenceOp: reverse_sequence,
}
