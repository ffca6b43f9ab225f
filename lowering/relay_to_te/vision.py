"""Computes of the operators of detectors."""

from __future__ import annotations

from ... import te
from ...dialects.relay import vision as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import same
from ...te import Expr, Tensor
from . import vision_scripts as scripts
from .sorting import descending
from .stages import ROWS_APART, as_vector, compute, dtype_of, in_dtype, label, shape, wide
from .transform import blocked_point


def _lesser(a: Expr, b: Expr) -> Expr:
    """The minimum of what is not NaN, in one instruction."""
    return te.select(a < b, a, b)


def _greater(a: Expr, b: Expr) -> Expr:
    return te.select(a > b, a, b)


def _back(op: Operator, x: Tensor) -> Tensor:
    dtype = dtype_of(op)
    return x if x.dtype == dtype else compute(shape(x), lambda *i: x(*i).astype(dtype), "rounded")


def roi_align(op: Operator, data: Tensor, rois: Tensor) -> Tensor:
    sig = op.signature
    aligned, ratio = bool(sig.get("aligned")), max(0, sig.int("sample_ratio"))
    images, regions = in_dtype(data, "float32", "data"), in_dtype(rois, "float32", "rois")
    layout = sig.str("layout")
    if layout != "NHWC":
        stored, extents = images, [shape(images)[layout.index(letter)] for letter in "NHWC"]
        images = compute(extents, lambda *i: stored(*blocked_point(i, layout, "NHWC")), "images", keep=True)
    with te.tag_scope(ROWS_APART):
        pooled = scripts.roi_align(
            images,
            regions,
            sig.spatial("pooled_size", 2),
            ratio=ratio,
            scale=sig.get("spatial_scale"),
            half=0.5 if aligned else 0.0,
            narrowest=-1e30 if aligned else 1.0,
            average=sig.str("mode") == "avg",
            whole=sig.str("mode") != "max_weighted",
        )
    if layout == "NHWC":
        return _back(op, pooled)
    dtype = dtype_of(op)
    return compute(
        shape_of(op.results[0]), lambda *i: pooled(*blocked_point(i, "NHWC", layout)).astype(dtype), label(op)
    )


def roi_pool(op: Operator, data: Tensor, rois: Tensor) -> Tensor:
    sig = op.signature
    images, regions = in_dtype(data, "float32", "data"), in_dtype(rois, "float32", "rois")
    with te.tag_scope(ROWS_APART):
        pooled = scripts.roi_pool(images, regions, sig.spatial("pooled_size", 2), sig.get("spatial_scale"))
    return _back(op, pooled)


def _corners(boxes: Tensor, centred: bool) -> Tensor:
    """Return lower and upper corners and areas (b, 5, n) of boxes (b, n, 4)."""
    number = wide(boxes.dtype)

    def corner(b: Expr, side: Expr | int, at: int, box: Expr) -> Expr:
        """The lower (0) or upper (1) end of a box along an axis."""
        first, second = boxes(b, box, at).astype(number), boxes(b, box, at + 2).astype(number)
        if centred:
            return first - second / 2 if side == 0 else first + second / 2
        return te.minimum(first, second) if side == 0 else te.maximum(first, second)

    def element(*i: Expr) -> Expr:
        b, channel, box = i
        ends = [corner(b, side, at, box) for side in (0, 1) for at in (0, 1)]
        value = (ends[2] - ends[0]) * (ends[3] - ends[1])
        for position, end in enumerate(ends):
            value = te.select(channel.equal(position), end, value)
        return value

    batch, count, _ = shape(boxes)
    return compute((batch, 5, count), element, "corners", keep=True)


def all_class_non_max_suppression(
    op: Operator, boxes: Tensor, scores: Tensor, most: Tensor, iou: Tensor, least: Tensor
) -> tuple[Tensor, ...]:
    sig = op.signature
    batch = shape(boxes)[0]
    bound = relay.AllClassNonMaxSuppressionOp.bound(sig)
    if same(bound * shape(scores)[1] * batch, 0):
        none = te.const(0, "int64")
        return compute((0, 3), lambda *i: none, "points"), compute((), lambda *i: none, "number")
    number, corners = wide(boxes.dtype), _corners(boxes, bool(sig.get("center_point_box")))

    def overlaps(own: Tensor, chosen: Tensor, row: Expr, at: Expr, limit: Tensor) -> Expr:
        a, b = [own(k) for k in range(5)], [chosen(row, k, at) for k in range(5)]
        zero = te.const(0, number)
        sides = [_lesser(a[2 + k], b[2 + k]) - _greater(a[k], b[k]) for k in (0, 1)]
        shared = _greater(sides[0], zero) * _greater(sides[1], zero)
        union = a[4] + b[4] - shared
        much = te.all(shared > 0, union > 0, shared / union > limit(0))
        return te.select(much, te.const(1, "float32"), te.const(0, "float32"))

    marks = in_dtype(scores, wide(scores.dtype), "scores")
    order = descending(marks, 2)
    with te.tag_scope(ROWS_APART):
        kept, counts = scripts.suppress(
            corners,
            marks,
            order,
            most=as_vector(most, "int64"),
            iou=as_vector(iou, number),
            least=as_vector(least, marks.dtype),
            bound=bound,
            overlaps=overlaps,
        )
    points, number_of = scripts.gathered(kept, counts, shape(scores)[1])
    return points, number_of


def soft_non_max_suppression(
    op: Operator, boxes: Tensor, scores: Tensor, iou: Tensor, least: Tensor, sigma: Tensor
) -> tuple[Tensor, ...]:
    count, most = shape(boxes)[0], op.signature.int("max_output_size")
    number, dtype = te.const(0, "int64"), wide(scores.dtype)
    nothing = te.const(0, scores.dtype)
    if same(count * most, 0):
        empty = compute((most,), lambda *i: number, "taken"), compute((most,), lambda *i: nothing, "lowered")
        return *empty, compute((), lambda *i: number, "number")
    spread, zero = as_vector(sigma, dtype), te.const(0, dtype)

    def wide_box(*i: Expr) -> Expr:
        return boxes(*i[1:]).astype(dtype)

    def factor(*i: Expr) -> Expr:
        return te.select(spread(*i) > zero, te.const(-0.5, dtype) / spread(*i), zero)

    corners = _corners(compute((1, count, 4), wide_box, "boxes", keep=True), False)
    limits = as_vector(iou, dtype), as_vector(least, dtype), compute((1,), factor, "factor", keep=True)
    selected, lowered, valid = scripts.suppress_softly(corners, in_dtype(scores, dtype, "scores"), *limits, most)
    return selected, in_dtype(lowered, scores.dtype, "lowered"), valid


TABLE = {
    relay.RoiAlignOp: roi_align,
    relay.RoiPoolOp: roi_pool,
    relay.SoftNonMaxSuppressionOp: soft_non_max_suppression,
    relay.AllClassNonMaxSuppressionOp: all_class_non_max_suppression,
}
