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
from ..importing.terms import Term, absolute, constant, exp, log, maximum, where
from .context import Context
from .promotion import LONG
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


def _mse(ctx: Context) -> SSAValue:
    difference = ctx.term("self") - ctx.term("target")
    return reduced(ctx, difference * difference)


def _l1(ctx: Context) -> SSAValue:
    return reduced(ctx, absolute(ctx.term("self") - ctx.term("target")))


def _huber(name: str, scaled: bool) -> Converter[Context]:
    """Square near 0, straight further out; `smooth_l1` is divided by the place where that changes."""

    def convert(ctx: Context) -> SSAValue:
        bound = ctx.float(name, 1.0)
        distance = absolute(ctx.term("self") - ctx.term("target"))
        if bound == 0.0:
            return reduced(ctx, distance)
        each = where(distance < bound, distance * distance * 0.5, (distance - 0.5 * bound) * bound)
        return reduced(ctx, each / bound if scaled else each)

    return Converter(convert)


def _binary_cross_entropy(ctx: Context) -> SSAValue:
    """Of logits: max(x, 0) - x y + log(1 + exp(-|x|))."""
    x, y = ctx.term("self"), ctx.term("target")
    lower = (exp(-absolute(x)) + 1.0).apply(ew.LogOp)
    if ctx.given("pos_weight"):
        weight = (ctx.term("pos_weight") - 1.0) * y + 1.0
        each = (-y + 1.0) * x + weight * (lower + maximum(-x, 0.0))
    else:
        each = maximum(x, 0.0) - x * y + lower
    return reduced(ctx, each * ctx.term("weight") if ctx.given("weight") else each)


def _kl_div(ctx: Context) -> SSAValue:
    x, y = ctx.term("self"), ctx.term("target")
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
    """Of logits; the targets are classes."""
    if ctx.float("label_smoothing") != 0.0:
        ctx.fail("labels that are not smoothed", str(ctx.float("label_smoothing")))
    logits = ctx.term("self")
    if ctx.dtype_of("target").kind == "f":
        ctx.fail("classes as targets", "probabilities")
    return _negative_likelihood(ctx, logits.apply(LogSoftmaxOp, axis=0 if len(logits.shape) == 1 else 1))


def _nll(ctx: Context) -> SSAValue:
    return _negative_likelihood(ctx, ctx.term("self"))


TABLE: dict[str, Converter[Context]] = {
    "aten.binary_cross_entropy_with_logits.default": Converter(_binary_cross_entropy),
    "aten.cross_entropy_loss.default": Converter(_cross_entropy),
    "aten.huber_loss.default": _huber("delta", scaled=False),
    "aten.kl_div.default": Converter(_kl_div),
    "aten.l1_loss.default": Converter(_l1),
    "aten.mse_loss.default": Converter(_mse),
    "aten.nll_loss_nd.default": Converter(_nll),
    "aten.smooth_l1_loss.default": _huber("beta", scaled=True),
}
