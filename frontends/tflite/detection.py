"""Boxes: those that no better one covers, and the last step of detectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from flatbuffers import flexbuffers
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.rearrange import ReverseOp
from ...dialects.relay.sorting import ArgsortOp, TopKOp
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp, TakeOp, TransposeOp
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, exp, minimum, places, term, where
from ..meanings.detection import best, best_of_classes, best_softly
from ..meanings.pads import fitted
from ..meanings.slices import cut
from .context import Context

_flexbuffers: Any = flexbuffers
"""It states no types."""


def _suppressed(boxes: Term, scores: Term, most: Sequence[int], *numbers: Term) -> tuple[Term, Term, Term]:
    """The numbers of boxes, their scores, zeros behind both, and how many they are."""
    if len(most) != 1 or most[0] < 1 or len(boxes.shape) != 2:
        boxes.ctx.fail("boxes (n, 4), and at least one wanted", f"{list(boxes.shape)} and {list(most)}")
    limits = (number.reshape() for number in numbers)
    return best_softly(boxes, scores, most[0], *limits, at_threshold=True)


def _non_max_suppression_v4(
    boxes: Term, scores: Term, most: Sequence[int], overlap: Term, least: Term
) -> tuple[Term, Term]:
    winners, _, total = _suppressed(boxes, scores, most, overlap, least, overlap.number(0.0))
    return winners, total


def _options(ctx: Context) -> dict[str, float]:
    """The custom options: a map of numbers."""
    try:
        found = cast(object, _flexbuffers.Loads(ctx.custom_options))
    except (AttributeError, TypeError, KeyError) as error:
        ctx.fail("custom options", str(error))
    if not isinstance(found, dict):
        ctx.fail("custom options that are a map", type(found).__name__)
    numbers = cast("dict[str, object]", found)
    return {key: float(value) for key, value in numbers.items() if isinstance(value, int | float)}


def _real(ctx: Context, index: int) -> Term:
    """Input `index` as floats."""
    found = term(ctx, index)
    if not ctx.quantized(index):
        return found
    scale = float(ctx.quantization(index).scale[0])
    return (found.to("float32") - float(ctx.quantization(index).zero_point[0])) * scale


def _decoded(ctx: Context, options: dict[str, float]) -> Term:
    """Corners (n, 4) of what is encoded against anchors: centres, then logarithms of sizes."""
    count = ctx.shape(0)[1]
    codes, anchors = (_real(ctx, index).reshape(count, 4) for index in (0, 2))

    def column(of: Term, at: int) -> Term:
        return cut(of, 1, at, at + 1)

    low: list[Term] = []
    high: list[Term] = []
    for at, (place, size) in enumerate((("y_scale", "h_scale"), ("x_scale", "w_scale"))):
        extent = column(anchors, at + 2)
        centre = column(codes, at) / options.get(place, 1.0) * extent + column(anchors, at)
        half = exp(column(codes, at + 2) / options.get(size, 1.0)) * extent * 0.5
        low.append(centre - half)
        high.append(centre + half)
    return Term(ctx, ctx.emit(ConcatenateOp, [part.value for part in (*low, *high)], axis=1))


def _taken(ctx: Context, of: Term, at: Term) -> Term:
    return Term(ctx, ctx.emit(TakeOp, of.value, at.value, axis=0))


def _together(
    ctx: Context, boxes: Term, scores: Term, most: int, classes: int, limits: Sequence[Term]
) -> tuple[Term, ...]:
    """The best boxes by the scores (n, classes) of their best classes: boxes, classes and scores, (most, `classes`, ..)
    of each; and how many."""
    kept = min(classes, scores.shape[1])
    values, which = ctx.emit_all(TopKOp, scores.value, k=kept, axis=1, ret_type="both", dtype="int32")
    highest = cut(Term(ctx, values), 1, 0, 1).reshape(scores.shape[0])
    found, number = best(boxes, highest, most, *limits)
    found, total = fitted(found, 0, most), number.to("int32")
    each = [fitted(_taken(ctx, Term(ctx, tensor), found).to("float32"), 1, classes) for tensor in (which, values)]
    repeated = _taken(ctx, boxes, found).reshape(most, 1, 4)
    repeated = Term(ctx, ctx.emit(BroadcastToOp, repeated.value, shape=(most, classes, 4)))
    return repeated, *each, total


def _by_class(
    ctx: Context, boxes: Term, scores: Term, most: int, each: int, limits: Sequence[Term]
) -> tuple[Term, ...]:
    """The same of boxes that none of their own class covers, at most `each` of a class. Of equals the later class is
    first."""
    count, kinds = scores.shape
    backward = scores.apply(TransposeOp, axes=(1, 0)).apply(ReverseOp, axis=(0,))
    points, number = best_of_classes(boxes.reshape(1, count, 4), backward.reshape(1, kinds, count), each, *limits)
    rows, number = points.shape[0], number.to("int32")
    kind, box = (cut(points, 1, at, at + 1).reshape(rows).to("int32") for at in (1, 2))
    marks = _taken(ctx, backward.reshape(kinds * count), kind * count + box)
    marks = where(places(ctx, rows, dtype="int32") < number, marks, -np.inf)
    first = Term(ctx, ctx.emit(ArgsortOp, marks.value, axis=0, is_ascend=False, dtype="int32"))
    first = fitted(first, 0, most)
    total = minimum(number, most)
    found = _taken(ctx, boxes, _taken(ctx, box, first)).reshape(most, 1, 4)
    which = (-_taken(ctx, kind, first) + (kinds - 1)).to("float32").reshape(most, 1)
    return found, which, _taken(ctx, marks, first).reshape(most, 1), total


def detection_postprocess(ctx: Context) -> tuple[SSAValue, ...]:
    """The best boxes, of all classes together or class by class: boxes, classes, scores, how many."""
    options = _options(ctx)
    most, kinds = int(options.get("max_detections", 0)), int(options.get("num_classes", 0))
    classes, each = int(options.get("max_classes_per_detection", 1)), int(options.get("detections_per_class", 100))
    if len(ctx.shape(0)) != 3 or ctx.shape(0)[0] != 1 or min(most, classes, each) < 1:
        ctx.fail("boxes (1, n, 4), and some detections", f"{list(ctx.shape(0))}, {options}")
    if ctx.shape(1)[:2] != ctx.shape(0)[:2] or not 0 < kinds <= ctx.shape(1)[-1] <= kinds + 1:
        ctx.fail(f"scores of {kinds} classes, perhaps of the background", f"shape {list(ctx.shape(1))}")
    boxes = _decoded(ctx, options)
    every = _real(ctx, 1).reshape(*ctx.shape(1)[1:])
    # Class 0 is the background, if there is one more.
    own = cut(every, 1, every.shape[1] - kinds, every.shape[1])
    threshold = np.nextafter(np.float32(options.get("nms_score_threshold", 0.0)), np.float32(-np.inf))
    limits = [
        Term(ctx, ctx.number(value, "float32")) for value in (options.get("nms_iou_threshold", 0.0), float(threshold))
    ]
    if options.get("use_regular_nms", 0.0):
        *found, total = _by_class(ctx, boxes, own, most, min(each, most), limits)
        rows = most
    else:
        *found, total = _together(ctx, boxes, own, most, classes, limits)
        rows = most * classes

    taken = places(ctx, most, dtype="int32") < total

    def whole(of: Term) -> SSAValue:
        kept = where(taken.reshape(most, *[1] * (len(of.shape) - 1)), of, 0.0).reshape(rows, *of.shape[2:])
        return fitted(kept, 0, most * classes).reshape(1, most * classes, *of.shape[2:]).value

    return *map(whole, found), ctx.emit(ew.CastOp, total.reshape(1).value, dtype="float32")


_BOXES = "boxes scores max_output_size:ints iou_threshold score_threshold"
QUANTIZED: dict[str, Converter[Context]] = {
    "CUSTOM TFLite_Detection_PostProcess": Converter(detection_postprocess),
}
"""Operators that take floats or quantised numbers."""
TABLE = {
    **QUANTIZED,
    "NON_MAX_SUPPRESSION_V4": row(_non_max_suppression_v4, _BOXES),
    "NON_MAX_SUPPRESSION_V5": row(_suppressed, f"{_BOXES} sigma"),
}
