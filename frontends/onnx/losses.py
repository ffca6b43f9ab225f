"""Losses of classifiers."""

from __future__ import annotations

from ...dialects.relay.loss import NLLLossOp
from ...dialects.relay.nn import LogSoftmaxOp
from ..importing.converter import Converter, Result
from ..importing.terms import Term, ones, term
from ..meanings.indices import check_indices
from .context import Context


def _loss(ctx: Context, predictions: Term) -> Term:
    """nn.nll_loss, with weights of 1 if there are none; targets that count are classes, so that no other is ignored."""
    targets, classes = term(ctx, 1), predictions.shape[1] if len(predictions.shape) > 1 else 0
    weights = term(ctx, 2) if ctx.has(2) else ones(ctx, classes, predictions.dtype)
    reduction = ctx.word("reduction", "mean")
    # Without ignore_index all targets count: no class is -1.
    ignored = ctx.int("ignore_index", -1)
    if len(predictions.shape) > 1:
        check_indices(targets, [classes], (ignored,) if ctx.has_attribute("ignore_index") else ())
    return predictions.apply(NLLLossOp, targets, weights, reduction=reduction, ignore_index=ignored)


def negative_log_likelihood(ctx: Context) -> Result:
    return _loss(ctx, term(ctx, 0)).value


def softmax_cross_entropy(ctx: Context) -> tuple[Result, Result]:
    """The loss of the logarithms of the softmax over the classes, and those."""
    logarithms = term(ctx, 0).apply(LogSoftmaxOp, axis=1)
    return _loss(ctx, logarithms).value, logarithms.value


TABLE = {
    "NegativeLogLikelihoodLoss": Converter(negative_log_likelihood),
    "SoftmaxCrossEntropyLoss": Converter(softmax_cross_entropy),
}
