"""Losses, which are arithmetic here: what evaluates a model computes them, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.relay import reduce
from ...dialects.relay.indexing import GatherOp
from ...dialects.relay.normalization import LogSoftmaxOp
from ...dialects.relay.transform import BroadcastToOp, TakeOp
from ..importing.attributes import Flag, Float, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, absolute, exp, log, log1p, maximum, minimum, sqrt, where
from ..meanings.elementwise import squared_difference
from ..meanings.reductions import norm
from .context import Context
from .promotion import LONG, floating, meeting

_REDUCTION = Int(1)


def reduced(each: Term, reduction: int) -> Term:
    """The losses of all elements as `reduction` says: 0 each, 1 their mean, 2 their sum."""
    axes = tuple(range(len(each.shape)))
    if not reduction or not axes:
        return each
    return each.apply(reduce.MeanOp if reduction == 1 else reduce.SumOp, axis=axes, keepdims=False)


def _loss(
    function: Callable[..., Term], names: str = "self target", beside: str = "", **attributes: Any
) -> Converter[Context]:
    """The row of a loss of arguments in the element type of floats in which they meet."""

    def computed(*operands: Term | None, reduction: int, **options: Any) -> Term:
        return reduced(function(*operands, **options), reduction)

    return meeting(computed, names, beside=beside, dtype=floating, reduction=_REDUCTION, **attributes)


def _l1(x: Term, y: Term) -> Term:
    return absolute(x - y)


def _huber(x: Term, y: Term, bound: float) -> Term:
    """Square near 0, straight further out."""
    distance = absolute(x - y)
    return where(distance < bound, distance * distance * 0.5, (distance - 0.5 * bound) * bound)


def _smooth_l1(x: Term, y: Term, bound: float) -> Term:
    """The Huber loss divided by the place where it becomes straight."""
    return absolute(x - y) if bound == 0.0 else _huber(x, y, bound) / bound


def _binary_cross_entropy(x: Term, y: Term, weight: Term | None, of_positives: Term | None) -> Term:
    """Of logits: max(x, 0) - x y + log(1 + exp(-|x|))."""
    lower = log(exp(-absolute(x)) + 1.0)
    if of_positives is not None:
        each = (-y + 1.0) * x + ((of_positives - 1.0) * y + 1.0) * (lower + maximum(-x, 0.0))
    else:
        each = maximum(x, 0.0) - x * y + lower
    return each if weight is None else each * weight


def _of_probabilities(x: Term, y: Term, weight: Term | None) -> Term:
    """Binary cross entropy; logarithms are at least -100, as torch has it."""
    logs = [maximum(log(part), -100.0) for part in (x, -x + 1.0)]
    each = -(y * logs[0] + (-y + 1.0) * logs[1])
    return each if weight is None else each * weight


def _soft_margin(x: Term, y: Term) -> Term:
    return log1p(exp(-(x * y)))


def _margin_ranking(a: Term, b: Term, y: Term, margin: float) -> Term:
    """The distance from the order of two inputs that the target, 1 or -1, says, to one at a margin."""
    return maximum(-(y * (a - b)) + margin, 0.0)


def _hinge(x: Term, y: Term, margin: float) -> Term:
    """The input where the target is 1, and what it lacks of a margin where the target is -1."""
    return where(y.equal(1.0), 0.0, maximum(-x + margin, 0.0)) + where(y.equal(-1.0), 0.0, x)


def _poisson(x: Term, y: Term, logarithms: bool, full: bool, eps: float) -> Term:
    if full:
        x.ctx.fail("a loss without Stirling's term", "full=True")
    return exp(x) - y * x if logarithms else x - y * log(x + eps)


def _cosine_embedding(a: Term, b: Term, y: Term, bound: float) -> Term:
    """1 less the cosine of two vectors where the target is 1, and how far it exceeds a margin where it is -1."""
    axis = len(a.shape) - 1

    def total(x: Term) -> Term:
        return x.apply(reduce.SumOp, axis=(axis,), keepdims=False)

    # Torch adds this to both squares, and so to the squares of zeros.
    tiny = 1e-12
    cosine = total(a * b) / sqrt((total(a * a) + tiny) * (total(b * b) + tiny))
    near, far = -cosine + 1.0, maximum(cosine - bound, 0.0)
    return where(y.equal(1.0), near, where(y.equal(-1.0), far, 0.0))


def _triplet(anchor: Term, positive: Term, negative: Term, margin: float, p: float, eps: float, swap: bool) -> Term:
    """The excess over a margin of the distance from anchor to positive beyond that to a negative."""

    def apart(a: Term, b: Term) -> Term:
        between = a - b + eps
        return norm(between, p, (-1,))

    far = apart(anchor, negative)
    if swap:
        far = minimum(far, apart(positive, negative))
    return maximum(apart(anchor, positive) - far + margin, 0.0)


def _kl_div(x: Term, y: Term, of_logarithms: bool) -> Term:
    if of_logarithms:
        return exp(y) * (y - x)
    return where(y > 0.0, y * (log(maximum(y, 1e-38)) - x), 0.0)


def _negative_likelihood(logs: Term, target: Term, weight: Term | None, ignored: int, reduction: int) -> Term:
    """The negative of the logarithm of each target's class; classes are axis 1, or the only one."""
    target = target.to(LONG)
    axis = 0 if len(logs.shape) == 1 else 1
    counts = ~target.equal(ignored)
    inside = where(counts, target, 0)
    index = inside.reshape(*target.shape[:axis], 1, *target.shape[axis:])
    picked = logs.apply(GatherOp, index, axis=axis).reshape(*target.shape)
    if weight is not None:
        weight = weight.apply(TakeOp, inside, axis=0)
    else:
        weight = logs.number(1.0)
        weight = weight.apply(BroadcastToOp, shape=target.shape) if target.shape else weight
    weight = where(counts, weight, 0.0)
    each = -(picked * weight)
    if reduction != 1:
        return reduced(each, reduction)
    return reduced(each, 2) / reduced(weight, 2)


def _cross_entropy(
    ctx: Context, logits: Term, target: Term, weight: Term | None, ignored: int, smoothing: float, reduction: int
) -> Term:
    """Of logits; the targets are classes, or a probability of each."""
    axis = 0 if len(logits.shape) == 1 else 1
    logs = logits.apply(LogSoftmaxOp, axis=axis)
    if target.dtype.kind != "f":
        if smoothing != 0.0:
            ctx.fail("labels that are not smoothed, or probabilities as targets", str(smoothing))
        return _negative_likelihood(logs, target, weight, ignored, reduction)
    if ignored >= 0:
        ctx.fail("classes as targets, of which one is ignored", "probabilities")
    classes = logs.shape[axis]
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / classes
    each = -(logs * target)
    if weight is not None:
        each = each * weight.reshape(classes, *(1,) * (len(logs.shape) - 1 - axis))
    # The mean is one over the batch.
    return reduced(each.apply(reduce.SumOp, axis=(axis,), keepdims=False), reduction)


_IGNORED = Int(-100, name="ignore_index")

TABLE: dict[str, Converter[Context]] = {
    "aten.binary_cross_entropy.default": _loss(_of_probabilities, beside="weight?"),
    "aten.binary_cross_entropy_with_logits.default": _loss(_binary_cross_entropy, beside="weight? pos_weight?"),
    "aten.cosine_embedding_loss.default": _loss(
        _cosine_embedding, "input1 input2 target", bound=Float(0.0, name="margin")
    ),
    "aten.cross_entropy_loss.default": row(
        _cross_entropy,
        "self target weight?",
        ignored=_IGNORED,
        smoothing=Float(0.0, name="label_smoothing"),
        reduction=_REDUCTION,
    ),
    "aten.hinge_embedding_loss.default": _loss(_hinge, margin=Float(1.0)),
    "aten.huber_loss.default": _loss(_huber, bound=Float(1.0, name="delta")),
    "aten.kl_div.default": _loss(_kl_div, of_logarithms=Flag(False, name="log_target")),
    "aten.l1_loss.default": _loss(_l1),
    "aten.margin_ranking_loss.default": _loss(_margin_ranking, "input1 input2 target", margin=Float(0.0)),
    "aten.mse_loss.default": _loss(squared_difference),
    "aten.nll_loss_nd.default": row(
        _negative_likelihood, "self target weight?", ignored=_IGNORED, reduction=_REDUCTION
    ),
    "aten.poisson_nll_loss.default": _loss(
        _poisson, "input target", logarithms=Flag(True, name="log_input"), full=Flag(False), eps=Float(1e-8)
    ),
    "aten.smooth_l1_loss.default": _loss(_smooth_l1, bound=Float(1.0, name="beta")),
    "aten.soft_margin_loss.default": _loss(_soft_margin),
    "aten.triplet_margin_loss.default": _loss(
        _triplet, "anchor positive negative", margin=Float(1.0), p=Float(2.0), eps=Float(1e-6), swap=Flag(False)
    ),
}
