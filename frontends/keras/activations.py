"""Activations: functions that a layer names, and the layers that are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import LeakyReluOp
from ..importing.attributes import Attribute, Flag, Float, Int, Stated
from ..importing.node_parts import Asked
from ..importing.rows import row
from ..importing.terms import Term, exp, minimum, sigmoid, tanh, where
from ..meanings import activations
from .context import Config, Context
from .masks import KEPT, Masks
from .nests import entries_of
from .rows import Row, own


@dataclass(frozen=True)
class Function:
    """A function of a tensor, and the options that it reads of its configuration."""

    computed: Callable[..., Term]
    options: Mapping[str, Attribute[Any]] = field(default_factory=dict[str, Attribute[Any]])

    def __call__(self, ctx: Context, x: Term, config: Config) -> Term:
        own = replace(ctx.inside("", ctx.op_type, config), asked=Asked())
        return self.computed(x, **{name: option.read(own, name) for name, option in self.options.items()})


def _function(computed: Callable[..., Term], **options: Attribute[Any]) -> Function:
    return Function(computed, options)


def _relu(x: Term, max_value: float | None, negative_slope: float, threshold: float) -> Term:
    """Up to `max_value`; below `threshold` with a slope."""
    if threshold:
        low = (x - threshold) * negative_slope if negative_slope else 0.0
        x = where(x < threshold, low, x)
    elif negative_slope:
        x = x.apply(LeakyReluOp, alpha=negative_slope)
    elif max_value is None:
        return activations.relu(x)
    else:
        return x.clip(0.0, max_value)
    return x if max_value is None else minimum(x, max_value)


def _soft_shrink(x: Term, bound: float) -> Term:
    return activations.shrink(x, bound, bound)


def _slope(default: float) -> Float:
    """The slope was called `alpha` in Keras 2."""
    return Float(lambda ctx: ctx.float("alpha", default), name="negative_slope")


_HARD = {"alpha": Float(lambda ctx: 1 / 6 if ctx.node.major >= 3 else 0.2)}
"""The slope is 1 / 6 since Keras 3; before, 0.2."""
_AXIS = Stated(-1)
FUNCTIONS: Mapping[str, Function] = {
    "celu": _function(activations.celu, alpha=Float(1.0)),
    "elu": _function(activations.elu, alpha=Float(1.0)),
    "exponential": _function(exp),
    "gelu": _function(activations.gelu, approximate=Flag(False)),
    "glu": _function(activations.glu, axis=Int(-1)),
    "hard_shrink": _function(partial(activations.shrink, bias=0.0), bound=Float(0.5, name="threshold")),
    "hard_sigmoid": _function(activations.hard_sigmoid, **_HARD),
    "hard_silu": _function(activations.hard_swish, **_HARD),
    "hard_swish": _function(activations.hard_swish, **_HARD),
    "hard_tanh": _function(activations.clipped(-1.0, 1.0)),
    "leaky_relu": _function(activations.leaky_relu, alpha=_slope(0.2)),
    "linear": _function(activations.linear),
    "log_sigmoid": _function(activations.log_sigmoid),
    "log_softmax": _function(activations.log_softmax, axis=_AXIS),
    "mish": _function(activations.mish),
    "relu": _function(_relu, max_value=Float(None), negative_slope=Float(0.0), threshold=Float(0.0)),
    "relu6": _function(activations.clipped(0.0, 6.0)),
    "selu": _function(activations.selu),
    "sigmoid": _function(sigmoid),
    "silu": _function(activations.swish),
    "soft_shrink": _function(_soft_shrink, bound=Float(0.5, name="threshold")),
    "softmax": _function(activations.softmax, axis=_AXIS),
    "softplus": _function(activations.softplus),
    "softsign": _function(activations.softsign),
    "sparse_plus": _function(activations.sparse_plus),
    "sparse_sigmoid": _function(activations.sparse_sigmoid),
    "squareplus": _function(activations.squareplus, b=Float(4.0)),
    "swish": _function(activations.swish),
    "tanh": _function(tanh),
    "tanh_shrink": _function(activations.tanh_shrink),
    "threshold": _function(activations.above, threshold=Float(0.0), value=Float(0.0, name="default_value")),
}
"""The activations of Keras by name."""
_LAYERS = {
    "ELU": "elu",
    "LeakyReLU": "leaky_relu",
    "ReLU": "relu",
    "Softmax": "softmax",
}
"""Layers that are a function of their configuration; also as activations of other layers."""


def function_of(activation: Any) -> tuple[str, Config] | None:
    """Return the name of an activation and its options; None for one that is not known."""
    if activation is None:
        return "linear", {}
    options: Config = {}
    name: object = activation
    if (entries := entries_of(activation)) is not None:
        kind, config = entries.get("class_name"), entries.get("config")
        options = entries_of(config) or {}
        name = config if kind == "function" else _LAYERS.get(str(kind), kind)
    if not isinstance(name, str):
        return None
    name = name.rpartition(">")[2] if name.startswith("keras") else name
    return (name, options) if name in FUNCTIONS else None


def applied(ctx: Context, name: str, value: SSAValue, options: Config) -> SSAValue:
    """An activation of a value."""
    return FUNCTIONS[name](ctx, Term(ctx, value), options).value


def activated(ctx: Context, value: SSAValue, option: str = "activation") -> SSAValue:
    """The activation that a layer names, of a value."""
    function = ctx.option(option)
    named = function_of(function)
    if named is None:
        ctx.fail(f"an activation of Keras as '{option}'", repr(function)[:80])
    return applied(ctx, named[0], value, named[1])


def activation(ctx: Context) -> SSAValue:
    return activated(ctx, ctx.data())


def _layer(name: str) -> Row:
    return Row(lambda ctx: applied(ctx, name, ctx.data(), ctx.config), masks=KEPT)


def prelu(ctx: Context) -> SSAValue:
    """Axes that share slopes have one of 1 there."""
    x = Term(ctx, ctx.data())
    shared = {ctx.axis(axis, len(x.shape)) for axis in (ctx.option("shared_axes") or ())}
    extents = tuple(1 if at in shared else extent for at, extent in enumerate(x.shape))[1:]
    return activations.prelu(x, Term(ctx, ctx.weight("alpha", extents))).value


def softmax_layer(ctx: Context) -> SSAValue:
    """A mask as second argument leaves out where it is false."""
    x, mask, axis = Term(ctx, ctx.data()), ctx.mask(1), ctx.option("axis", -1)
    if mask is None:
        return activations.softmax(x, axis).value
    seen = Term(ctx, mask)
    weights = activations.softmax(where(seen, x, -3e4 if x.dtype == np.float16 else -1e9), axis)
    return where(seen, weights, 0.0).value


TABLE = {
    "Activation": Row(activation, masks=KEPT),
    "ELU": _layer("elu"),
    "LeakyReLU": Row(row(activations.leaky_relu, "inputs", alpha=_slope(0.3)).convert, masks=KEPT),
    "PReLU": Row(prelu, own("alpha"), KEPT),
    "ReLU": _layer("relu"),
    "Softmax": Row(softmax_layer, masks=Masks({"mask": 1}, kept=lambda config: 1)),
    "ThresholdedReLU": Row(row(activations.threshold, "inputs", threshold=Float(1.0, name="theta")).convert),
}
