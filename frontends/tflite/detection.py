"""Boxes: those that no better one covers, and the last step of detectors."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from flatbuffers import flexbuffers
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.transform import ConcatenateOp, PadOp, TakeOp
from ...dialects.relay.vision import AllClassNonMaxSuppressionOp
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, exp, term, where
from .context import Context
from .shaping import cut

_flexbuffers: Any = flexbuffers
"""It states no types."""


def _best(
    ctx: Context, boxes: Term, scores: Term, most: int, iou: SSAValue, least: SSAValue
) -> tuple[Term, Term, Term]:
    """Of boxes (n, 4) with scores (n): the numbers of at most `most` in descending order, zeros behind them, int32;
    how many there are; and which of `most` places are taken."""
    count = boxes.shape[0]
    limit = ctx.number(most, "int64")
    points, number = ctx.emit_all(
        AllClassNonMaxSuppressionOp,
        boxes.reshape(1, count, 4).value,
        scores.reshape(1, 1, count).value,
        limit,
        iou,
        least,
        max_output_size=most,
    )
    found = Term(ctx, cut(ctx, points, 1, 2, 3)).reshape(shape_of(points)[0]).to("int32")
    if (short := most - found.shape[0]) > 0:
        found = Term(ctx, ctx.emit(PadOp, found.value, ctx.number(0, "int32"), pad_width=[0, short]))
    found = Term(ctx, cut(ctx, found.value, 0, 0, most))
    total = Term(ctx, number).to("int32").reshape()
    return found, total, Term(ctx, ctx.constant(np.arange(most, dtype=np.int32), "places")) < total


def _suppressed(ctx: Context) -> tuple[Term, Term, Term]:
    (most,) = ctx.known_ints(2, "a number of boxes") or (0,)
    if most < 1 or len(ctx.shape(0)) != 2:
        ctx.fail("boxes (n, 4), and at least one wanted", f"{list(ctx.shape(0))} and {most}")
    iou, least = (term(ctx, index).reshape().value for index in (3, 4))
    return _best(ctx, term(ctx, 0), term(ctx, 1), most, iou, least)


def non_max_suppression_v4(ctx: Context) -> tuple[SSAValue, ...]:
    found, total, _ = _suppressed(ctx)
    return found.value, total.value


def non_max_suppression_v5(ctx: Context) -> tuple[SSAValue, ...]:
    """With the scores of what is found; none is lowered."""
    if float(ctx.array(5, "a sigma").reshape(-1)[0]):
        ctx.fail("a sigma of 0", "scores that are lowered")
    found, total, taken = _suppressed(ctx)
    scores = Term(ctx, ctx.emit(TakeOp, ctx.value(1), found.value, axis=0))
    return found.value, where(taken, scores, 0.0).value, total.value


def _options(ctx: Context) -> dict[str, float]:
    """The custom options: a map of numbers."""
    try:
        found = cast(object, _flexbuffers.Loads(ctx.node.operator.custom))
    except (AttributeError, TypeError, KeyError) as error:
        ctx.fail("custom options", str(error))
    if not isinstance(found, dict):
        ctx.fail("custom options that are a map", type(found).__name__)
    numbers = cast("dict[str, object]", found)
    return {key: float(value) for key, value in numbers.items() if isinstance(value, int | float)}


def _decoded(ctx: Context, options: dict[str, float]) -> Term:
    """Corners (n, 4) of what is encoded against anchors: centres, then logarithms of sizes."""
    count = ctx.shape(0)[1]
    codes, anchors = term(ctx, 0).reshape(count, 4), term(ctx, 2).reshape(count, 4)

    def column(of: Term, at: int) -> Term:
        return Term(ctx, cut(ctx, of.value, 1, at, at + 1))

    low: list[Term] = []
    high: list[Term] = []
    for at, (place, size) in enumerate((("y_scale", "h_scale"), ("x_scale", "w_scale"))):
        extent = column(anchors, at + 2)
        centre = column(codes, at) / options.get(place, 1.0) * extent + column(anchors, at)
        half = exp(column(codes, at + 2) / options.get(size, 1.0)) * extent * 0.5
        low.append(centre - half)
        high.append(centre + half)
    return Term(ctx, ctx.emit(ConcatenateOp, [part.value for part in (*low, *high)], axis=1))


def detection_postprocess(ctx: Context) -> tuple[SSAValue, ...]:
    """The best boxes of all classes together, each with its best class: boxes, classes, scores, how many."""
    options = _options(ctx)
    most, classes = int(options.get("max_detections", 0)), int(options.get("num_classes", 0))
    if options.get("use_regular_nms", 0.0) or int(options.get("max_classes_per_detection", 1)) != 1:
        ctx.fail("suppression over all classes, one class for a box", "another kind")
    if len(ctx.shape(0)) != 3 or ctx.shape(0)[0] != 1 or most < 1 or not 0 < classes <= ctx.shape(1)[-1]:
        ctx.fail("boxes (1, n, 4), scores of all classes, and some detections", f"{list(ctx.shape(0))}, {options}")
    boxes = _decoded(ctx, options)
    every = term(ctx, 1).reshape(*ctx.shape(1)[1:])
    # Class 0 is the background, if there is one more.
    own = Term(ctx, cut(ctx, every.value, 1, every.shape[1] - classes, every.shape[1]))
    best, which = own.apply(reduce.MaxOp, axis=[1]), own.apply(reduce.ArgMaxOp, axis=[1])
    threshold = np.nextafter(np.float32(options.get("nms_score_threshold", 0.0)), np.float32(-np.inf))
    numbers = (ctx.number(value, "float32") for value in (options.get("nms_iou_threshold", 0.0), float(threshold)))
    found, total, taken = _best(ctx, boxes, best, most, *numbers)

    def chosen(of: Term) -> Term:
        picked = Term(ctx, ctx.emit(TakeOp, of.value, found.value, axis=0))
        return where(taken.reshape(most, *[1] * (len(of.shape) - 1)), picked, 0.0)

    return (
        chosen(boxes).reshape(1, most, 4).value,
        chosen(which.to("float32")).reshape(1, most).value,
        chosen(best).reshape(1, most).value,
        ctx.emit(ew.CastOp, total.reshape(1).value, dtype="float32"),
    )


TABLE = {
    "CUSTOM TFLite_Detection_PostProcess": Converter(detection_postprocess),
    "NON_MAX_SUPPRESSION_V4": Converter(non_max_suppression_v4),
    "NON_MAX_SUPPRESSION_V5": Converter(non_max_suppression_v5),
}
