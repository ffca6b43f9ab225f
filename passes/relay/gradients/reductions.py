"""Gradients of reductions, of what normalises along an axis, and of losses."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ....dialects.relay.elementwise import CastLikeOp, EqualOp, ExpOp, LogOp
from ....dialects.relay.loss import CrossEntropyOp, CrossEntropyWithLogitsOp
from ....dialects.relay.normalization import DropoutOp, LogSoftmaxOp, SoftmaxOp
from ....dialects.relay.operator import Operator, shape_of
from ....dialects.relay.reduce import MaxOp, MeanOp, MinOp, ProdOp, Reduce, SumOp, VarianceOp
from .site import Gradients, Rule, Site


def _kept(s: Site) -> list[int]:
    """The shape of the result with an extent of 1 where it was reduced."""
    axes = Reduce.axes(s.sig)
    return [1 if i in axes else extent for i, extent in enumerate(shape_of(s.x))]


def spread(s: Site, value: SSAValue) -> SSAValue:
    """A value of the result's shape repeated to the operand's."""
    return s.broadcast(s.reshape(value, _kept(s)), shape_of(s.x))


def _count(s: Site) -> int:
    return prod(shape_of(s.x)[axis] for axis in Reduce.axes(s.sig))


def _sum(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [spread(s, g[0])]


def _mean(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.div(spread(s, g[0]), float(_count(s)))]


def _variance(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """Return the gradients of the data, and of the mean operand."""
    count = _count(s) - bool(s.sig.get("unbiased"))
    part = s.mul(s.mul(spread(s, g[0]), s.sub(s.x, s.op.operands[1])), 2.0 / count)
    return [part, s.neg(s.collapse(part, s.op.operands[1]))]


def _extreme(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """Elements that are all the greatest share the gradient."""
    hits = s.add(CastLikeOp(s.add(EqualOp(s.x, spread(s, s.y))), s.x))
    number = s.add(SumOp(hits, axis=list(Reduce.axes(s.sig)), keepdims=True))
    return [s.div(s.mul(hits, spread(s, g[0])), number)]


def _prod(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.div(spread(s, s.mul(g[0], s.y)), s.x)]


def _softmax(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axis = s.sig.int("axis")
    part = s.mul(g[0], s.y)
    total = s.add(SumOp(part, axis=[axis], keepdims=True))
    return [s.sub(part, s.mul(s.y, total))]


def _log_softmax(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axis = s.sig.int("axis")
    total = s.add(SumOp(g[0], axis=[axis], keepdims=True))
    return [s.sub(g[0], s.mul(s.add(ExpOp(s.y)), total))]


def _cross_entropy(s: Site, g: Sequence[SSAValue]) -> Gradients:
    predictions, targets = s.op.operands
    part = s.div(s.neg(g[0]), float(shape_of(predictions)[0]))
    by_predictions = s.div(s.mul(targets, part), predictions)
    return [by_predictions, s.mul(s.add(LogOp(predictions)), part)]


def _cross_entropy_with_logits(s: Site, g: Sequence[SSAValue]) -> Gradients:
    predictions, targets = s.op.operands
    part = s.div(s.neg(g[0]), float(shape_of(predictions)[0]))
    return [s.mul(targets, part), s.mul(predictions, part)]


def _dropout(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.mul(g[0], s.op.results[1])]


RULES: dict[type[Operator], Rule] = {
    SumOp: _sum,
    MeanOp: _mean,
    VarianceOp: _variance,
    MaxOp: _extreme,
    MinOp: _extreme,
    ProdOp: _prod,
    SoftmaxOp: _softmax,
    LogSoftmaxOp: _log_softmax,
    CrossEntropyOp: _cross_entropy,
    CrossEntropyWithLogitsOp: _cross_entropy_with_logits,
    DropoutOp: _dropout,
}
