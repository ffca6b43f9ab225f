"""Gradients of operators on each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, pi, sqrt
from typing import TypeAlias

from xdsl.ir import SSAValue

from ....dialects.relay import elementwise as e
from ....dialects.relay.logic import WhereOp
from ....dialects.relay.operator import Operator
from .site import Gradients, Rule, Site

Derivative: TypeAlias = Callable[[Site, SSAValue], SSAValue]
"""The gradient of the one operand for that of the result."""


def _clip(s: Site, g: SSAValue) -> SSAValue:
    low, high = s.sig.get("a_min"), s.sig.get("a_max")
    inside = s.where(s.less(s.x, low), s.zeros(g), g)
    return s.where(s.less(s.scalar(high, s.x), s.x), s.zeros(g), inside)


def _relu(s: Site, g: SSAValue) -> SSAValue:
    return s.where(s.less(s.x, 0.0), s.zeros(g), g)


def _leaky(s: Site, g: SSAValue) -> SSAValue:
    return s.where(s.less(s.x, 0.0), s.mul(g, s.sig.get("alpha")), g)


def _tan(s: Site, g: SSAValue) -> SSAValue:
    return s.mul(g, s.plus(s.mul(s.y, s.y), 1.0))


def _square(s: Site) -> SSAValue:
    return s.mul(s.x, s.x)


def _rooted(s: Site, inside: SSAValue) -> SSAValue:
    return s.add(e.RsqrtOp(inside))


UNARY: dict[type[Operator], Derivative] = {
    e.NegativeOp: lambda s, g: s.neg(g),
    e.ExpOp: lambda s, g: s.mul(g, s.y),
    e.Exp2Op: lambda s, g: s.mul(s.mul(g, s.y), log(2)),
    e.Expm1Op: lambda s, g: s.mul(g, s.plus(s.y, 1.0)),
    e.CbrtOp: lambda s, g: s.div(s.mul(s.mul(g, 1 / 3), s.y), s.x),
    e.LogOp: lambda s, g: s.div(g, s.x),
    e.Log2Op: lambda s, g: s.div(g, s.mul(s.x, log(2))),
    e.Log10Op: lambda s, g: s.div(g, s.mul(s.x, log(10))),
    e.Log1pOp: lambda s, g: s.div(g, s.plus(s.x, 1.0)),
    e.SqrtOp: lambda s, g: s.div(s.mul(g, 0.5), s.y),
    e.RsqrtOp: lambda s, g: s.div(s.mul(s.mul(g, -0.5), s.y), s.x),
    e.TanhOp: lambda s, g: s.mul(g, s.sub(1.0, s.mul(s.y, s.y))),
    e.SigmoidOp: lambda s, g: s.mul(g, s.mul(s.y, s.sub(1.0, s.y))),
    e.ReluOp: _relu,
    e.LeakyReluOp: _leaky,
    e.ClipOp: _clip,
    e.AbsOp: lambda s, g: s.where(s.less(s.x, 0.0), s.neg(g), g),
    e.ErfOp: lambda s, g: s.mul(g, s.mul(s.add(e.ExpOp(s.neg(_square(s)))), 2 / sqrt(pi))),
    e.SinOp: lambda s, g: s.mul(g, s.add(e.CosOp(s.x))),
    e.CosOp: lambda s, g: s.neg(s.mul(g, s.add(e.SinOp(s.x)))),
    e.TanOp: _tan,
    e.SinhOp: lambda s, g: s.mul(g, s.add(e.CoshOp(s.x))),
    e.CoshOp: lambda s, g: s.mul(g, s.add(e.SinhOp(s.x))),
    e.AsinOp: lambda s, g: s.mul(g, _rooted(s, s.sub(1.0, _square(s)))),
    e.AcosOp: lambda s, g: s.neg(s.mul(g, _rooted(s, s.sub(1.0, _square(s))))),
    e.AtanOp: lambda s, g: s.div(g, s.plus(_square(s), 1.0)),
    e.AsinhOp: lambda s, g: s.mul(g, _rooted(s, s.plus(_square(s), 1.0))),
    e.AcoshOp: lambda s, g: s.mul(g, _rooted(s, s.plus(_square(s), -1.0))),
    e.AtanhOp: lambda s, g: s.div(g, s.sub(1.0, _square(s))),
    e.CopyOp: lambda s, g: g,
    e.CastOp: lambda s, g: s.cast(g, s.x),
}
"""Operators of one operand."""


def _add(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.collapse(g[0], value) for value in s.op.operands]


def _subtract(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    return [s.collapse(g[0], a), s.collapse(s.neg(g[0]), b)]


def _multiply(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    return [s.collapse(s.mul(g[0], b), a), s.collapse(s.mul(g[0], a), b)]


def _divide(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    part = s.div(g[0], b)
    return [s.collapse(part, a), s.collapse(s.neg(s.mul(part, s.y)), b)]


def _power(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    lower = s.add(e.PowerOp(a, s.plus(b, -1.0)))
    by_base = s.mul(s.mul(g[0], b), lower)
    by_exponent = s.mul(s.mul(g[0], s.y), s.add(e.LogOp(a)))
    return [s.collapse(by_base, a), s.collapse(by_exponent, b)]


def _maximum(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    other, zeros = s.less(a, b), s.zeros(g[0])
    return [s.collapse(s.where(other, zeros, g[0]), a), s.collapse(s.where(other, g[0], zeros), b)]


def _minimum(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    other, zeros = s.less(b, a), s.zeros(g[0])
    return [s.collapse(s.where(other, zeros, g[0]), a), s.collapse(s.where(other, g[0], zeros), b)]


def _atan2(s: Site, g: Sequence[SSAValue]) -> Gradients:
    y, x = s.op.operands
    part = s.div(g[0], s.add(e.AddOp(s.mul(x, x), s.mul(y, y))))
    return [s.collapse(s.mul(part, x), y), s.collapse(s.neg(s.mul(part, y)), x)]


def _hypot(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.collapse(s.mul(g[0], s.div(value, s.y)), value) for value in s.op.operands]


def _copysign(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    kept = s.add(e.EqualOp(s.y, a))
    return [s.collapse(s.where(kept, g[0], s.neg(g[0])), a), s.collapse(s.zeros(g[0]), b)]


def _where(s: Site, g: Sequence[SSAValue]) -> Gradients:
    condition, a, b = s.op.operands
    zeros = s.zeros(g[0])
    return [None, s.collapse(s.where(condition, g[0], zeros), a), s.collapse(s.where(condition, zeros, g[0]), b)]


def _cast_like(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.cast(g[0], s.x), None]


def _only(derivative: Derivative) -> Rule:
    return lambda s, g: [derivative(s, g[0])]


RULES: dict[type[Operator], Rule] = {
    **{op: _only(derivative) for op, derivative in UNARY.items()},
    e.AddOp: _add,
    e.Atan2Op: _atan2,
    e.CopysignOp: _copysign,
    e.HypotOp: _hypot,
    e.SubtractOp: _subtract,
    e.MultiplyOp: _multiply,
    e.DivideOp: _divide,
    e.PowerOp: _power,
    e.MaximumOp: _maximum,
    e.MinimumOp: _minimum,
    e.CastLikeOp: _cast_like,
    WhereOp: _where,
}
