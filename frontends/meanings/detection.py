"""Boxes that no better one covers."""

from __future__ import annotations

import numpy as np

from ...dialects.relay.elementwise import ReinterpretOp
from ...dialects.relay.vision import AllClassNonMaxSuppressionOp, SoftNonMaxSuppressionOp
from ..importing.terms import Term, constant
from .slices import cut


def best_of_classes(boxes: Term, scores: Term, most: int, overlap: Term, least: Term) -> tuple[Term, Term]:
    """The best boxes, `most` of each class at most, by scores (batch, classes, n): (image, class, box), in the
    order of images, classes and descending scores; and how many they are, both int64.

    A box that shares more than `overlap` of the union with a better one of its class is out, and what has no score
    above `least`.
    """
    points, number = boxes.ctx.emit_all(
        AllClassNonMaxSuppressionOp,
        boxes.value,
        scores.value,
        constant(boxes.ctx, np.asarray(most, np.int64), "most").value,
        overlap.value,
        least.value,
        max_output_size=most,
    )
    return Term(boxes.ctx, points), Term(boxes.ctx, number).reshape()


def best(boxes: Term, scores: Term, most: int, overlap: Term, least: Term) -> tuple[Term, Term]:
    """The numbers of the best boxes (n, 4), int32, as `best_of_classes` of one image and class has them."""
    count = boxes.shape[0]
    points, number = best_of_classes(boxes.reshape(1, count, 4), scores.reshape(1, 1, count), most, overlap, least)
    return cut(points, 1, 2, 3).reshape(points.shape[0]).to("int32"), number


def best_softly(
    boxes: Term, scores: Term, most: int, overlap: Term, least: Term, sigma: Term, *, at_threshold: bool
) -> tuple[Term, Term, Term]:
    """The numbers of the best boxes (n, 4), their scores, both with zeros behind, and how many they are; int32.

    A better box lowers the scores of those that share something with it, the more the smaller `sigma` is, unless it
    is 0. at_threshold: a box that shares just `overlap` with a better one is out, too.
    """
    if not at_threshold:
        # The operator takes out from its threshold on: of the next number.
        overlap = (overlap.apply(ReinterpretOp, dtype="int32") + 1).apply(ReinterpretOp, dtype="float32")
    numbers = (term.value for term in (boxes, scores, overlap, least, sigma))
    results = boxes.ctx.emit_all(SoftNonMaxSuppressionOp, *numbers, max_output_size=most)
    winners, lowered, count = (Term(boxes.ctx, result) for result in results)
    return winners.to("int32"), lowered, count.to("int32")
