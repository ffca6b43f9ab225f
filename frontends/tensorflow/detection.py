"""Boxes that no better one covers."""

from __future__ import annotations

import numpy as np

from ...dialects.relay import elementwise as ew
from ...dialects.relay.division import FloorDivideOp, FloorModOp
from ...dialects.relay.indexing import GatherNdOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.sorting import TopKOp
from ...dialects.relay.transform import BroadcastToOp, TransposeOp
from ...dialects.sizes import proves
from ..importing.attributes import Flag
from ..importing.converter import Narrowed, Result
from ..importing.rows import row
from ..importing.terms import Term, places, where
from ..meanings.detection import best, best_of_classes, best_softly
from ..meanings.pads import fitted


def _check(boxes: Term, most: int) -> None:
    if proves(most, "<", 0) or len(boxes.shape) != 2:
        boxes.ctx.fail("boxes (n, 4), and a number of them from 0 on", f"{list(boxes.shape)} and {most}")


def _best(boxes: Term, scores: Term, most: int, overlap: Term, least: Term | float) -> tuple[Term, Term]:
    _check(boxes, most)
    boxes, scores, overlap = boxes.to("float32"), scores.to("float32"), overlap.to("float32").reshape()
    threshold = least.to("float32").reshape() if isinstance(least, Term) else overlap.number(least)
    return best(boxes, scores, most, overlap, threshold)


def _suppressed(boxes: Term, scores: Term, most: int, overlap: Term, least: Term | None = None) -> Result:
    """The numbers of boxes; version 3 has a threshold of scores, too."""
    winners, number = _best(boxes, scores, most, overlap, -np.inf if least is None else least)
    return Narrowed(winners.value, number.value)


def _suppressed_v4(
    boxes: Term, scores: Term, most: int, overlap: Term, least: Term, padded: bool
) -> tuple[Term | Result, Term]:
    """The numbers of boxes, with zeros behind them if that is wanted; and how many there are."""
    winners, number = _best(boxes, scores, most, overlap, least)
    total = number.to("int32")
    if not padded:
        return Narrowed(winners.value, number.value), total
    return where(places(boxes.ctx, most) < number, fitted(winners, 0, most), 0.0), total


def _suppressed_v5(boxes: Term, scores: Term, most: int, *numbers: Term, padded: bool) -> tuple[Term | Result, ...]:
    """Scores are lowered by better boxes that cover a box: numbers, lowered scores, and how many there are."""
    _check(boxes, most)
    limits = (number.to("float32").reshape() for number in numbers)
    winners, lowered, total = best_softly(boxes.to("float32"), scores.to("float32"), most, *limits, at_threshold=False)
    if padded:
        return winners, lowered, total
    count = total.to("int64").value
    return Narrowed(winners.value, count), Narrowed(lowered.value, count), total


def _combined(
    boxes: Term,
    scores: Term,
    per_class: int,
    total: int,
    overlap: Term,
    least: Term,
    of_each: bool,
    clips: bool,
) -> tuple[Term, ...]:
    """The best boxes of all classes of each image: corners, scores, classes, and how many there are; zeros behind."""
    ctx = boxes.ctx
    if len(boxes.shape) != 4 or boxes.shape[2] != 1 or len(scores.shape) != 3:
        ctx.fail("boxes (batch, n, 1, 4) that classes share", f"{list(boxes.shape)} and {list(scores.shape)}")
    batch, count, classes = scores.shape
    corners = boxes.reshape(batch, count, 4)
    by_class = scores.apply(TransposeOp, axes=(0, 2, 1))
    points, number = best_of_classes(corners, by_class, per_class, overlap.reshape(), least.reshape())
    valid = (places(ctx, points.shape[0]) < number).to("int32")
    zeros = valid.number(0).apply(BroadcastToOp, shape=(batch, classes, count))
    kept = zeros.apply(ScatterNdOp, points.apply(TransposeOp, axes=(1, 0)), valid, mode="max")
    ranked = where(kept > 0.0, by_class, -np.inf).reshape(batch, classes * count)
    most = min(total, classes * per_class) if of_each else total
    width = min(most, classes * count)
    largest = ctx.emit_all(TopKOp, ranked.value, k=width, axis=-1, ret_type="both", dtype="int32")
    marks, at = (Term(ctx, value) for value in largest)
    chosen = marks.apply(ew.IsFiniteOp)
    which = at.apply(FloorModOp, count).reshape(1, batch, width)
    winners = corners.apply(GatherNdOp, which, batch_dims=1)
    winners = where(chosen.reshape(batch, width, 1), winners.clip(0.0, 1.0) if clips else winners, 0.0)
    kinds = where(chosen, at.apply(FloorDivideOp, count).to("float32"), 0.0)
    length = chosen.to("int32").apply(SumOp, axis=(1,), keepdims=False)
    return *(fitted(part, 1, most) for part in (winners, where(chosen, marks, 0.0), kinds)), length


_PADDED = Flag(False, name="pad_to_max_output_size")
_BOXES = "boxes scores max_output_size:size iou_threshold"
TABLE = {
    "CombinedNonMaxSuppression": row(
        _combined,
        "boxes scores max_output_size_per_class:size max_total_size:size iou_threshold score_threshold",
        of_each=Flag(False, name="pad_per_class"),
        clips=Flag(True, name="clip_boxes"),
    ),
    "NonMaxSuppressionV2": row(_suppressed, _BOXES),
    "NonMaxSuppressionV3": row(_suppressed, f"{_BOXES} score_threshold"),
    "NonMaxSuppressionV4": row(_suppressed_v4, f"{_BOXES} score_threshold", padded=_PADDED),
    "NonMaxSuppressionV5": row(_suppressed_v5, f"{_BOXES} score_threshold soft_nms_sigma", padded=_PADDED),
}
