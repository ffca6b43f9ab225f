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
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp, PadOp, TakeOp, TransposeOp
from ...dialects.relay.vision import AllClassNonMaxSuppressionOp, SoftNonMaxSuppressionOp
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, exp, minimum, term, where
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


def _suppressed(ctx: Context, sigma: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The numbers of boxes, their scores, zeros behind both, and how many they are."""
    (most,) = ctx.known_ints(2, "a number of boxes") or (0,)
    if most < 1 or len(ctx.shape(0)) != 2:
        ctx.fail("boxes (n, 4), and at least one wanted", f"{list(ctx.shape(0))} and {most}")
    numbers = (term(ctx, index).reshape().value for index in (3, 4))
    found, scores, total = ctx.emit_all(
        SoftNonMaxSuppressionOp, ctx.value(0), ctx.value(1), *numbers, sigma, max_output_size=most
    )
    return Term(ctx, found).to("int32").value, scores, Term(ctx, total).to("int32").value


def non_max_suppression_v4(ctx: Context) -> tuple[SSAValue, ...]:
    found, _, total = _suppressed(ctx, ctx.number(0, "float32"))
    return found, total


def non_max_suppression_v5(ctx: Context) -> tuple[SSAValue, ...]:
    """With the scores of what is found, which others lower."""
    return _suppressed(ctx, term(ctx, 5).reshape().value)


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


def _taken(ctx: Context, of: Term, at: Term) -> Term:
    return Term(ctx, ctx.emit(TakeOp, of.value, at.value, axis=0))


def _resized(ctx: Context, of: Term, axis: int, most: int) -> Term:
    """`most` along an axis, the first or with zeros behind."""
    found, short = Term(ctx, cut(ctx, of.value, axis, 0, min(of.shape[axis], most))), most - of.shape[axis]
    if short <= 0:
        return found
    width = [0] * (2 * len(of.shape))
    width[2 * axis + 1] = short
    return found.apply(PadOp, 0, pad_width=width)


def _together(
    ctx: Context, boxes: Term, scores: Term, most: int, classes: int, limits: Sequence[SSAValue]
) -> tuple[Term, ...]:
    """The best boxes by the scores (n, classes) of their best classes: boxes, classes and scores, (most, `classes`, ..)
    of each; how many, and which places are taken."""
    kept = min(classes, scores.shape[1])
    values, which = ctx.emit_all(TopKOp, scores.value, k=kept, axis=1, ret_type="both", dtype="int32")
    best = Term(ctx, cut(ctx, values, 1, 0, 1)).reshape(scores.shape[0])
    found, total, taken = _best(ctx, boxes, best, most, *limits)
    each = [
        _resized(ctx, _taken(ctx, Term(ctx, tensor), found).to("float32"), 1, classes) for tensor in (which, values)
    ]
    repeated = _taken(ctx, boxes, found).reshape(most, 1, 4)
    repeated = Term(ctx, ctx.emit(BroadcastToOp, repeated.value, shape=(most, classes, 4)))
    return repeated, *each, total, taken


def _by_class(
    ctx: Context, boxes: Term, scores: Term, most: int, each: int, limits: Sequence[SSAValue]
) -> tuple[Term, ...]:
    """The same of boxes that none of their own class covers, at most `each` of a class. Of equals the later class is
    first."""
    count, kinds = scores.shape
    order = ctx.emit(TransposeOp, scores.value, axes=(1, 0))
    backward = Term(ctx, ctx.emit(ReverseOp, order, axis=(0,)))
    points, number = ctx.emit_all(
        AllClassNonMaxSuppressionOp,
        boxes.reshape(1, count, 4).value,
        backward.reshape(1, kinds, count).value,
        ctx.number(each, "int64"),
        *limits,
        max_output_size=each,
    )
    rows = shape_of(points)[0]
    kind, box = (Term(ctx, cut(ctx, points, 1, at, at + 1)).reshape(rows).to("int32") for at in (1, 2))
    marks = _taken(ctx, backward.reshape(kinds * count), kind * count + box)
    places = Term(ctx, ctx.constant(np.arange(rows, dtype=np.int32), "places"))
    marks = where(places < Term(ctx, number).to("int32"), marks, -np.inf)
    first = Term(ctx, ctx.emit(ArgsortOp, marks.value, axis=0, is_ascend=False, dtype="int32"))
    first = _resized(ctx, first, 0, most)
    total = minimum(Term(ctx, number).to("int32").reshape(), most)
    taken = Term(ctx, ctx.constant(np.arange(most, dtype=np.int32), "places")) < total
    found = _taken(ctx, boxes, _taken(ctx, box, first)).reshape(most, 1, 4)
    which = (-_taken(ctx, kind, first) + (kinds - 1)).to("float32").reshape(most, 1)
    return found, which, _taken(ctx, marks, first).reshape(most, 1), total, taken


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
    own = Term(ctx, cut(ctx, every.value, 1, every.shape[1] - kinds, every.shape[1]))
    threshold = np.nextafter(np.float32(options.get("nms_score_threshold", 0.0)), np.float32(-np.inf))
    limits = [ctx.number(value, "float32") for value in (options.get("nms_iou_threshold", 0.0), float(threshold))]
    if options.get("use_regular_nms", 0.0):
        *found, total, taken = _by_class(ctx, boxes, own, most, min(each, most), limits)
        rows = most
    else:
        *found, total, taken = _together(ctx, boxes, own, most, classes, limits)
        rows = most * classes

    def whole(of: Term) -> SSAValue:
        kept = where(taken.reshape(most, *[1] * (len(of.shape) - 1)), of, 0.0).reshape(rows, *of.shape[2:])
        return _resized(ctx, kept, 0, most * classes).reshape(1, most * classes, *of.shape[2:]).value

    return *map(whole, found), ctx.emit(ew.CastOp, total.reshape(1).value, dtype="float32")


QUANTIZED: dict[str, Converter[Context]] = {
    "CUSTOM TFLite_Detection_PostProcess": Converter(detection_postprocess),
}
"""Operators that take floats or quantised numbers."""
TABLE = {
    **QUANTIZED,
    "NON_MAX_SUPPRESSION_V4": Converter(non_max_suppression_v4),
    "NON_MAX_SUPPRESSION_V5": Converter(non_max_suppression_v5),
}
