"""Boxes that no better one covers."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.division import FloorDivideOp, FloorModOp
from ...dialects.relay.indexing import GatherNdOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.scatter import ScatterNdOp
from ...dialects.relay.sorting import TopKOp
from ...dialects.relay.transform import BroadcastToOp, PadOp, TransposeOp
from ...dialects.relay.vision import AllClassNonMaxSuppressionOp, SoftNonMaxSuppressionOp
from ...dialects.sizes import proves
from ..importing.converter import Converter, Narrowed, Result
from ..importing.tensor import shape_of
from ..importing.terms import Term, places, term, where
from .context import Context
from .shaping import cut


def _most(ctx: Context) -> int:
    """The number of boxes that are wanted."""
    most = ctx.one(2, "a number of boxes")
    if proves(most, "<", 0) or len(ctx.shape(0)) != 2:
        ctx.fail("boxes (n, 4), and a number of them from 0 on", f"{list(ctx.shape(0))} and {most}")
    return most


def _best(ctx: Context, least: SSAValue) -> tuple[Term, Term]:
    """The numbers of at most as many boxes as are wanted, by descending scores; and how many there are, int64.

    A box that shares more than the threshold in input 3 with a better one is out, and what has no score above `least`.
    """
    most, boxes, scores = _most(ctx), term(ctx, 0).to("float32"), term(ctx, 1).to("float32")
    count = boxes.shape[0]
    points, number = ctx.emit_all(
        AllClassNonMaxSuppressionOp,
        boxes.reshape(1, count, 4).value,
        scores.reshape(1, 1, count).value,
        ctx.number(most, "int64"),
        term(ctx, 3).to("float32").reshape().value,
        least,
        max_output_size=most,
    )
    winners = Term(ctx, cut(ctx, points, 1, 2, 3)).reshape(shape_of(points)[0]).to("int32")
    return winners, Term(ctx, number).reshape()


def suppressed(ctx: Context) -> Result:
    """The numbers of boxes; version 3 has a threshold of scores, too."""
    threshold = term(ctx, 4).to("float32").reshape().value if len(ctx.inputs) > 4 else ctx.number(-np.inf, "float32")
    winners, number = _best(ctx, threshold)
    return Narrowed(winners.value, number.value)


def _padded(ctx: Context, winners: Term, most: int) -> Term:
    """A vector with zeros behind it, `most` long."""
    short = most - winners.shape[0]
    if proves(short, ">", 0):
        winners = Term(ctx, ctx.emit(PadOp, winners.value, ctx.number(0, winners.dtype.name), pad_width=[0, short]))
    return Term(ctx, cut(ctx, winners.value, 0, 0, most))


def suppressed_v4(ctx: Context) -> tuple[Result, ...]:
    """The numbers of boxes, with zeros behind them if that is wanted; and how many there are."""
    winners, number = _best(ctx, term(ctx, 4).to("float32").reshape().value)
    total = number.to("int32").value
    if not ctx.flag("pad_to_max_output_size"):
        return Narrowed(winners.value, number.value), total
    most = _most(ctx)
    whole = _padded(ctx, winners, most)
    return where(places(ctx, most) < number, whole, 0.0).value, total


def suppressed_v5(ctx: Context) -> tuple[Result, ...]:
    """Scores are lowered by better boxes that cover a box: numbers, lowered scores, and how many there are."""
    boxes, scores = term(ctx, 0).to("float32"), term(ctx, 1).to("float32")
    numbers = [term(ctx, index).to("float32").reshape().value for index in (3, 4, 5)]
    winners, lowered, total = ctx.emit_all(
        SoftNonMaxSuppressionOp, boxes.value, scores.value, *numbers, max_output_size=_most(ctx)
    )
    which, count = Term(ctx, winners).to("int32").value, Term(ctx, total)
    if ctx.flag("pad_to_max_output_size"):
        return which, lowered, count.to("int32").value
    return Narrowed(which, count.value), Narrowed(lowered, count.value), count.to("int32").value


def combined(ctx: Context) -> tuple[Result, ...]:
    """The best boxes of all classes of each image: corners, scores, classes, and how many there are; zeros behind."""
    boxes, scores = term(ctx, 0), term(ctx, 1)
    per_class, total = ctx.one(2, "a number of boxes"), ctx.one(3, "a number of boxes")
    if len(boxes.shape) != 4 or boxes.shape[2] != 1 or len(scores.shape) != 3:
        ctx.fail("boxes (batch, n, 1, 4) that classes share", f"{list(boxes.shape)} and {list(scores.shape)}")
    batch, count, classes = scores.shape
    corners = boxes.reshape(batch, count, 4)
    by_class = scores.apply(TransposeOp, axes=(0, 2, 1))
    iou, least = (term(ctx, index).reshape().value for index in (4, 5))
    points, number = ctx.emit_all(
        AllClassNonMaxSuppressionOp,
        corners.value,
        by_class.value,
        ctx.number(per_class, "int64"),
        iou,
        least,
        max_output_size=per_class,
    )
    rows = shape_of(points)[0]
    valid = (places(ctx, rows) < Term(ctx, number).reshape()).to("int32")
    zeros = ctx.emit(BroadcastToOp, ctx.number(0, "int32"), shape=(batch, classes, count))
    kept = Term(ctx, ctx.emit(ScatterNdOp, zeros, ctx.emit(TransposeOp, points, axes=(1, 0)), valid.value, mode="max"))
    ranked = where(kept > 0.0, by_class, -np.inf).reshape(batch, classes * count)
    most = min(total, classes * per_class) if ctx.flag("pad_per_class") else total
    width = min(most, classes * count)
    largest = ctx.emit_all(TopKOp, ranked.value, k=width, axis=-1, ret_type="both", dtype="int32")
    best, at = (Term(ctx, value) for value in largest)
    chosen = best.apply(ew.IsFiniteOp)
    which = at.apply(FloorModOp, count).reshape(1, batch, width)
    corners_kept = Term(ctx, ctx.emit(GatherNdOp, corners.value, which.value, batch_dims=1))
    if ctx.flag("clip_boxes", True):
        corners_kept = corners_kept.clip(0.0, 1.0)
    corners_kept = where(chosen.reshape(batch, width, 1), corners_kept, 0.0)
    kinds = where(chosen, at.apply(FloorDivideOp, count).to("float32"), 0.0)
    length = chosen.to("int32").apply(SumOp, axis=(1,), keepdims=False)
    more = most - width
    pads = [(0, 0, 0, more, 0, 0), (0, 0, 0, more), (0, 0, 0, more)]
    parts = [corners_kept, where(chosen, best, 0.0), kinds]
    padded = [
        ctx.emit(PadOp, part.value, ctx.number(0, "float32"), pad_width=list(pad)) if more else part.value
        for part, pad in zip(parts, pads, strict=True)
    ]
    return (*padded, length.value)


TABLE = {
    "CombinedNonMaxSuppression": Converter(combined),
    "NonMaxSuppressionV2": Converter(suppressed),
    "NonMaxSuppressionV3": Converter(suppressed),
    "NonMaxSuppressionV4": Converter(suppressed_v4),
    "NonMaxSuppressionV5": Converter(suppressed_v5),
}
