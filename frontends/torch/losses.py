"""Losses, which are arithmetic here: what evaluates a model computes them, too."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.indexing import GatherOp
from ...dialects.relay.normalization import LogSoftmaxOp
from ...dialects.relay.transform import BroadcastToOp, TakeOp
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, constant, exp, log, log1p, maximum, minimum, sqrt, where
from .context import Context
from .normalization import norm_of
from .promotion import LONG, common_type, floating, operand
from .shaping import shaped


def reduced(ctx: Context, each: Term) -> SSAValue:
    """The losses of all elements as `reduction` says: 0 each, 1 their mean, 2 their sum."""
    how = ctx.int("reduction", 1)
    if how == 0:
        return each.value
    axes = tuple(range(len(each.shape)))
    return (
        each.apply(reduce.MeanOp if how == 1 else reduce.SumOp, axis=axes, keepdims=False).value if axes else each.value
    )


def _meeting(ctx: Context, *names: str) -> list[Term]:
    """Arguments in the element type of floats in which they meet."""
    dtype = floating(common_type(ctx, names))
    return [operand(ctx, name, dtype) for name in names]


def _mse(ctx: Context) -> SSAValue:
    x, y = _meeting(ctx, "self", "target")
    difference = x - y
    return reduced(ctx, difference * difference)


def _l1(ctx: Context) -> SSAValue:
    x, y = _meeting(ctx, "self", "target")
    return reduced(ctx, absolute(x - y))


def _huber(name: str, scaled: bool) -> Converter[Context]:
    """Square near 0, straight further out; `smooth_l1` is divided by the place where that changes."""

    def convert(ctx: Context) -> SSAValue:
        bound = ctx.float(name, 1.0)
        x, y = _meeting(ctx, "self", "target")
        distance = absolute(x - y)
        if bound == 0.0:
            return reduced(ctx, distance)
        each = where(distance < bound, distance * distance * 0.5, (distance - 0.5 * bound) * bound)
        return reduced(ctx, each / bound if scaled else each)

    return Converter(convert)


def _binary_cross_entropy(ctx: Context) -> SSAValue:
    """Of logits: max(x, 0) - x y + log(1 + exp(-|x|))."""
    x, y = _meeting(ctx, "self", "target")
    lower = (exp(-absolute(x)) + 1.0).apply(ew.LogOp)
    if ctx.given("pos_weight"):
        weight = (ctx.term("pos_weight") - 1.0) * y + 1.0
        each = (-y + 1.0) * x + weight * (lower + maximum(-x, 0.0))
    else:
        each = maximum(x, 0.0) - x * y + lower
    return reduced(ctx, each * ctx.term("weight") if ctx.given("weight") else each)


def _of_probabilities(ctx: Context) -> SSAValue:
    """Binary cross entropy; logarithms are at least -100, as torch has it."""
    x, y = _meeting(ctx, "self", "target")
    logs = [maximum(log(part), -100.0) for part in (x, -x + 1.0)]
    each = -(y * logs[0] + (-y + 1.0) * logs[1])
    return reduced(ctx, each * ctx.term("weight") if ctx.given("weight") else each)


def _soft_margin(ctx: Context) -> SSAValue:
    x, y = _meeting(ctx, "self", "target")
    return reduced(ctx, log1p(exp(-(x * y))))


def _margin_ranking(ctx: Context) -> SSAValue:
    """The distance from the order of two inputs that the target, 1 or -1, says, to one at a margin."""
    a, b, y = _meeting(ctx, "input1", "input2", "target")
    return reduced(ctx, maximum(-(y * (a - b)) + ctx.float("margin", 0.0), 0.0))


def _hinge(ctx: Context) -> SSAValue:
    """The input where the target is 1, and what it lacks of a margin where the target is -1."""
    x, y = _meeting(ctx, "self", "target")
    margin = where(y.equal(1.0), 0.0, maximum(-x + ctx.float("margin", 1.0), 0.0))
    return reduced(ctx, margin + where(y.equal(-1.0), 0.0, x))


def _poisson(ctx: Context) -> SSAValue:
    x, y = _meeting(ctx, "input", "target")
    if ctx.flag("full"):
        ctx.fail("a loss without Stirling's term", "full=True")
    eps = ctx.float("eps", 1e-8)
    each = exp(x) - y * x if ctx.flag("log_input", True) else x - y * log(x + eps)
    return reduced(ctx, each)


def _cosine_embedding(ctx: Context) -> SSAValue:
    """1 less the cosine of two vectors where the target is 1, and how far it exceeds a margin where it is -1."""
    a, b, y = _meeting(ctx, "input1", "input2", "target")
    axis = len(a.shape) - 1

    def total(x: Term) -> Term:
        return x.apply(reduce.SumOp, axis=(axis,), keepdims=False)

    # Torch adds this to both squares, and so to the squares of zeros.
    tiny = 1e-12
    cosine = total(a * b) / sqrt((total(a * a) + tiny) * (total(b * b) + tiny))
    near, far = -cosine + 1.0, maximum(cosine - ctx.float("margin", 0.0), 0.0)
    return reduced(ctx, where(y.equal(1.0), near, where(y.equal(-1.0), far, 0.0)))


def _triplet(ctx: Context) -> SSAValue:
    """The excess over a margin of the distance from anchor to positive beyond that to a negative."""
    power, eps = ctx.float("p", 2.0), ctx.float("eps", 1e-6)

    def apart(a: Term, b: Term) -> Term:
        between = a - b + eps
        return norm_of(between, power, [len(between.shape) - 1], False)

    anchor, positive, negative = _meeting(ctx, "anchor", "positive", "negative")
    far = apart(anchor, negative)
    if ctx.flag("swap"):
        far = minimum(far, apart(positive, negative))
    return reduced(ctx, maximum(apart(anchor, positive) - far + ctx.float("margin", 1.0), 0.0))


def _kl_div(ctx: Context) -> SSAValue:
    x, y = _meeting(ctx, "self", "target")
    if ctx.argument("log_target") is True:
        return reduced(ctx, exp(y) * (y - x))
    return reduced(ctx, where(y > 0.0, y * (log(maximum(y, 1e-38)) - x), 0.0))


def _negative_likelihood(ctx: Context, logs: Term) -> SSAValue:
    """The negative of the logarithm of each target's class; classes are axis 1, or the only one."""
    target = ctx.term("target").to(LONG)
    axis = 0 if len(logs.shape) == 1 else 1
    ignored = ctx.int("ignore_index", -100)
    counts = target.equal(float(ignored)).apply(ew.LogicalNotOp)
    inside = where(counts, target, 0.0)
    index = shaped(ctx, inside.value, (*target.shape[:axis], 1, *target.shape[axis:]))
    picked = Term(ctx, shaped(ctx, ctx.emit(GatherOp, logs.value, index, axis=axis), target.shape))
    if ctx.given("weight"):
        weight = Term(ctx, ctx.emit(TakeOp, ctx.of("weight"), inside.value, axis=0))
    else:
        one = constant(ctx, np.ones((), logs.dtype), "weight")
        weight = Term(ctx, ctx.emit(BroadcastToOp, one.value, shape=target.shape)) if target.shape else one
    weight = where(counts, weight, 0.0)
    each = -(picked * weight)
    if ctx.int("reduction", 1) != 1:
        return reduced(ctx, each)
    axes = tuple(range(len(target.shape)))
    if not axes:
        return (each / weight).value
    total, count = (term.apply(reduce.SumOp, axis=axes, keepdims=False) for term in (each, weight))
    return (total / count).value


def _cross_entropy(ctx: Context) -> SSAValue:
    """Of logits; the targets are classes, or a probability of each."""
    logits, smoothing = ctx.term("self"), ctx.float("label_smoothing", 0.0)
    axis = 0 if len(logits.shape) == 1 else 1
    logs = logits.apply(LogSoftmaxOp, axis=axis)
    if ctx.dtype_of("target").kind == "f":
        if ctx.int("ignore_index", -100) >= 0:
            ctx.fail("classes as targets, of which one is ignored", "probabilities")
        return _of_distribution(ctx, logs, axis, smoothing)
    if smoothing != 0.0:
        ctx.fail("labels that are not smoothed, or probabilities as targets", str(smoothing))
    return _negative_likelihood(ctx, logs)


def _of_distribution(ctx: Context, logs: Term, axis: int, smoothing: float) -> SSAValue:
    """The cross entropy of logarithms and probabilities, of which the mean is one over the batch."""
    target, classes = ctx.term("target"), logs.shape[axis]
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / classes
    each = -(logs * target)
    if ctx.given("weight"):
        each = each * ctx.term("weight").reshape(classes, *(1,) * (len(logs.shape) - 1 - axis))
    each = each.apply(reduce.SumOp, axis=(axis,), keepdims=False)
    return reduced(ctx, each)


def _nll(ctx: Context) -> SSAValue:
    return _negative_likelihood(ctx, ctx.term("self"))


TABLE: dict[str, Converter[Context]] = {
    "aten.binary_cross_entropy.default": Converter(_of_probabilities),
    "aten.binary_cross_entropy_with_logits.default": Converter(_binary_cross_entropy),
    "aten.cosine_embedding_loss.default": Converter(_cosine_embedding),
    "aten.cross_entropy_loss.default": Converter(_cross_entropy),
    "aten.hinge_embedding_loss.default": Converter(_hinge),
    "aten.huber_loss.default": _huber("delta", scaled=False),
    "aten.kl_div.default": Converter(_kl_div),
    "aten.l1_loss.default": Converter(_l1),
    "aten.margin_ranking_loss.default": Converter(_margin_ranking),
    "aten.mse_loss.default": Converter(_mse),
    "aten.nll_loss_nd.default": Converter(_nll),
    "aten.poisson_nll_loss.default": Converter(_poisson),
    "aten.smooth_l1_loss.default": _huber("beta", scaled=True),
    "aten.soft_margin_loss.default": Converter(_soft_margin),
    "aten.triplet_margin_loss.default": Converter(_triplet),
}
