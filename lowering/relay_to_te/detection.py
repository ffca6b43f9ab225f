"""Computes of the operators of single-shot detectors."""

from __future__ import annotations

from ... import te
from ...dialects.element_types import dtype_name
from ...dialects.relay import detection as relay
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.sizes import same
from ...te import Expr, Tensor
from . import detection_scripts as scripts
from .sorting import descending
from .stages import ROWS_APART, as_vector, compute, dtype_of, in_dtype, label, shape, wide
from .transform import flat_index, unflatten


def get_valid_counts(op: Operator, data: Tensor, least: Tensor) -> tuple[Tensor, ...]:
    sig = op.signature
    kind, score = sig.int("id_index"), sig.int("score_index")

    def holds(x: Tensor, limit: Tensor, b: Expr, n: Expr) -> Expr:
        above = x(b, n, score) > limit(0)
        return te.all(above, x(b, n, kind) >= te.const(0, data.dtype)) if kind >= 0 else above

    with te.tag_scope(ROWS_APART):
        return tuple(scripts.valid_boxes(data, as_vector(least, data.dtype), holds))


def non_max_suppression(
    op: Operator, data: Tensor, valid: Tensor, indices: Tensor, most: Tensor, iou: Tensor
) -> Tensor | tuple[Tensor, ...]:
    sig = op.signature
    batch, count, _ = shape(data)
    score, kind, start = sig.int("score_index"), sig.int("id_index"), sig.int("coord_start")
    if same(batch * count, 0):
        return tuple(te.full(shape_of(result), 0, dtype_name(element_of(result))) for result in op.results)
    rows = in_dtype(data, wide(data.dtype), "rows")
    lowest = te.const(float("-inf"), rows.dtype)

    def ranked(b: Expr, n: Expr) -> Expr:
        return te.select(n < valid(b).astype("int64"), rows(b, n, score), lowest)

    def covers(x: Tensor, b: Expr, other: Expr, box: Expr) -> Expr:
        """Return whether a kept box may cover another one."""
        scored = x(b, other, score) > te.const(0, x.dtype)
        if kind < 0:
            return scored
        classed = te.all(scored, x(b, other, kind) >= te.const(0, x.dtype))
        return classed if sig.get("force_suppress") else te.all(classed, x(b, other, kind).equal(x(b, box, kind)))

    order = descending(compute((batch, count), ranked, "scores", keep=True), 1)
    limits = as_vector(most, "int64"), as_vector(iou, rows.dtype)
    with te.tag_scope(ROWS_APART):
        places = scripts.surviving(rows, order, valid, *limits, (score, start, sig.int("top_k")), covers)

    if sig.get("return_indices"):

        def own(b: Expr, n: Expr) -> Expr:
            number = indices(b, te.maximum(places(b, n), 0)).astype("int32")
            return te.select(places(b, n) >= 0, number, te.const(-1, "int32"))

        with te.tag_scope(ROWS_APART):
            return tuple(scripts.compacted(compute((batch, count), own, "numbers", keep=True)))
    if sig.get("invalid_to_bottom"):

        def upper(b: Expr, n: Expr) -> Expr:
            first = rows(b, te.maximum(places(b, n), 0), 0)
            return te.select(
                te.all(places(b, n) >= 0, first >= te.const(0, rows.dtype)), places(b, n), te.const(-1, "int64")
            )

        with te.tag_scope(ROWS_APART):
            last = scripts.compacted(compute((batch, count), upper, "upper", keep=True))[0]
    else:
        last = places

    def element(b: Expr, n: Expr, k: Expr) -> Expr:
        return te.select(last(b, n) >= 0, data(b, te.maximum(last(b, n), 0), k), te.const(-1, data.dtype))

    return compute(shape(data), element, label(op))


def multibox_prior(op: Operator, data: Tensor) -> Tensor:
    sig, dtype = op.signature, dtype_of(op)
    number = wide(dtype)
    halves = relay.MultiboxPriorOp.halves(sig)
    height, width = shape(data)[2:]

    def chosen(which: Expr | int, values: list[float]) -> Expr:
        """The value of a box of a pixel."""
        picked: Expr = te.const(values[0], number)
        for index, value in enumerate(values[1:], 1):
            picked = te.select(te.cast("int64", which).equal(index), te.const(value, number), picked)
        return picked

    def element(_: Expr, box: Expr, side: Expr) -> Expr:
        row, column, which = unflatten(box, (height, width, len(halves)))
        centres: list[Expr] = []
        for index, extent, offset, step in zip(
            (row, column), (height, width), sig.get("offsets"), sig.get("steps"), strict=True
        ):
            position = te.cast(number, index) + te.const(offset, number)
            centres.append(position * te.const(step, number) if step > 0 else position / te.cast(number, extent))
        across = chosen(which, [half for half, _ in halves]) * te.cast(number, height) / te.cast(number, width)
        down = chosen(which, [half for _, half in halves])
        vertical = (side % 2).equal(1)
        centre, half = te.select(vertical, centres[0], centres[1]), te.select(vertical, down, across)
        value = te.select(side < 2, centre - half, centre + half)
        if sig.get("clip"):
            value = te.minimum(te.maximum(value, te.const(0, number)), te.const(1, number))
        return value.astype(dtype)

    return compute(shape_of(op.results[0]), element, label(op))


def multibox_transform_loc(op: Operator, likely: Tensor, moves: Tensor, anchors: Tensor) -> tuple[Tensor, ...]:
    sig, dtype = op.signature, dtype_of(op)
    batch, classes, count = shape(likely)
    number = wide(dtype)
    if same(batch * count, 0) or classes == 1:
        return te.full((batch, count, 6), -1, dtype), te.full((batch,), 0, "int32")

    def end(b: Expr, box: Expr, side: int) -> Expr:
        """Return a side of a moved box."""
        axis = side % 2
        lower, upper = anchors(0, box, axis).astype(number), anchors(0, box, axis + 2).astype(number)
        shift, stretch = (
            moves(b, box * 4 + k).astype(number) * te.const(sig.get("variances")[k], number) for k in (axis, axis + 2)
        )
        centre = shift * (upper - lower) + (lower + upper) / 2
        half = te.exp(stretch) * (upper - lower) / 2
        value = centre - half if side < 2 else centre + half
        if sig.get("clip"):
            value = te.minimum(te.maximum(value, te.const(0, number)), te.const(1, number))
        return value

    def element(b: Expr, box: Expr, side: Expr) -> Expr:
        value = end(b, box, 3)
        for k in range(3):
            value = te.select(side.equal(k), end(b, box, k), value)
        return value

    boxes = compute((batch, count, 4), element, "moved", keep=True)
    chances = in_dtype(likely, number, "chances")
    with te.tag_scope(ROWS_APART):
        rows, counts = scripts.likeliest(chances, boxes, sig.get("threshold"))
    return in_dtype(rows, dtype, "boxes"), counts


def yolo_reorg(op: Operator, x: Tensor) -> Tensor:
    images, channels, height, width = shape(x)
    stride, extents = op.signature.int("stride"), shape_of(op.results[0])
    apart = images, stride, stride, channels // (stride * stride), height, width

    def element(*i: Expr) -> Expr:
        image, y, x_, channel, row, column = unflatten(flat_index(i, extents), apart)
        interleaved = [images, channels // (stride * stride), height, stride, width, stride]
        return x(*unflatten(flat_index([image, channel, row, y, column, x_], interleaved), shape(x)))

    return compute(extents, element, label(op))


TABLE = {
    relay.GetValidCountsOp: get_valid_counts,
    relay.NonMaxSuppressionOp: non_max_suppression,
    relay.MultiboxPriorOp: multibox_prior,
    relay.MultiboxTransformLocOp: multibox_transform_loc,
    relay.YoloReorgOp: yolo_reorg,
}
