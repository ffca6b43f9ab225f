"""Activations: functions that a layer names, and the layers that are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.activation import PReluOp
from ...dialects.relay.elementwise import LeakyReluOp, ReluOp
from ...dialects.relay.normalization import LogSoftmaxOp, SoftmaxOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.rearrange import SplitOp
from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes import same
from ..importing import activations
from ..importing.activations import gelu_erf, gelu_tanh, logarithm_of_1_and_exp
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from ..importing.terms import Term, absolute, exp, maximum, minimum, sigmoid, tanh, where
from ..importing.terms import sqrt as root
from .context import Config, Context
from .masks import KEPT, Masks
from .nests import entries_of, wholes
from .rows import Row, own

Function = Callable[[Context, Term, Config], Term]
"""A function of a tensor, by the options that its configuration has."""


def number(options: Config, name: str, default: float) -> float:
    value = options.get(name, default)
    if (numpy := entries_of(value)) is not None:  # numbers of numpy are saved as tensors
        value = (entries_of(numpy.get("config")) or {}).get("value")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _relu(ctx: Context, x: Term, options: Config) -> Term:
    """Up to `max_value`; below `threshold` with a slope."""
    slope, threshold = number(options, "negative_slope", 0.0), number(options, "threshold", 0.0)
    if threshold:
        low = (x - threshold) * slope if slope else 0.0
        x = where(x < threshold, low, x)
    elif slope:
        x = x.apply(LeakyReluOp, alpha=slope)
    elif options.get("max_value") is None:
        return x.apply(ReluOp)
    else:
        return x.clip(0.0, number(options, "max_value", 0.0))
    return x if options.get("max_value") is None else minimum(x, number(options, "max_value", 0.0))


def _leaky_relu(ctx: Context, x: Term, options: Config) -> Term:
    """The slope was called `alpha` in Keras 2, where the layer had 0.3, too."""
    return x.apply(LeakyReluOp, alpha=number(options, "negative_slope", number(options, "alpha", 0.2)))


def _elu(ctx: Context, x: Term, options: Config) -> Term:
    return activations.elu(x, number(options, "alpha", 1.0))


def _celu(ctx: Context, x: Term, options: Config) -> Term:
    return activations.celu(x, number(options, "alpha", 1.0))


def _selu(ctx: Context, x: Term, options: Config) -> Term:
    return activations.selu(x)


def _gelu(ctx: Context, x: Term, options: Config) -> Term:
    """x times the part of a normal distribution that lies below it, or its approximation."""
    return gelu_tanh(x) if options.get("approximate", False) else gelu_erf(x)


def _hard_sigmoid(ctx: Context, x: Term, options: Config) -> Term:
    """Its slope is 1 / 6 since Keras 3; before, 0.2."""
    return (x * (1 / 6 if ctx.node.major >= 3 else 0.2) + 0.5).clip(0.0, 1.0)


def _hard_silu(ctx: Context, x: Term, options: Config) -> Term:
    return x * _hard_sigmoid(ctx, x, options)


def _threshold(ctx: Context, x: Term, options: Config) -> Term:
    return where(x <= number(options, "threshold", 0.0), number(options, "default_value", 0.0), x)


def _squareplus(ctx: Context, x: Term, options: Config) -> Term:
    return (x + root(x * x + number(options, "b", 4.0))) * 0.5


def _sparse_plus(ctx: Context, x: Term, options: Config) -> Term:
    return where(x < 1.0, maximum(x + 1.0, 0.0) * maximum(x + 1.0, 0.0) * 0.25, x)


def _glu(ctx: Context, x: Term, options: Config) -> Term:
    """The first half along an axis times the sigmoid of the second."""
    axis = ctx.axis(int(number(options, "axis", -1)), len(x.shape))
    if x.shape[axis] % 2:
        ctx.fail("an axis of two halves", str(x.shape[axis]))
    halves = ctx.emit_all(SplitOp, x.value, indices_or_sections=(2,), sections=True, axis=axis)
    return Term(ctx, halves[0]) * sigmoid(Term(ctx, halves[1]))


def _softmax(op: type[Operator]) -> Function:
    def function(ctx: Context, x: Term, options: Config) -> Term:
        return Term(ctx, along(ctx, op, x.value, options.get("axis", -1)))

    return function


def along(ctx: Context, op: type[Operator], value: SSAValue, axis: Any) -> SSAValue:
    """A softmax along an axis, or along several as one: these have to be neighbours at the end or in order."""
    shape = shape_of(value)
    if isinstance(axis, int):
        return ctx.emit(op, value, axis=ctx.axis(axis, len(shape)))
    several = wholes(axis)
    if not several:
        ctx.fail("an axis, or a list of them", repr(axis))
    axes = sorted(ctx.axis(at, len(shape)) for at in several)
    others = [at for at in range(len(shape)) if at not in axes]
    order = (*others, *axes)
    moved = value if order == tuple(range(len(shape))) else ctx.emit(TransposeOp, value, axes=order)
    rows = reshaped(ctx, moved, (*(shape[at] for at in others), prod(shape[at] for at in axes)))
    result = reshaped(ctx, ctx.emit(op, rows, axis=-1), shape_of(moved))
    back = tuple(order.index(at) for at in range(len(shape)))
    return result if moved is value else ctx.emit(TransposeOp, result, axes=back)


FUNCTIONS: Mapping[str, Function] = {
    "celu": _celu,
    "elu": _elu,
    "exponential": lambda ctx, x, options: exp(x),
    "gelu": _gelu,
    "glu": _glu,
    "hard_shrink": lambda ctx, x, options: activations.hard_shrink(x, number(options, "threshold", 0.5)),
    "hard_sigmoid": _hard_sigmoid,
    "hard_silu": _hard_silu,
    "hard_swish": _hard_silu,
    "hard_tanh": lambda ctx, x, options: x.clip(-1.0, 1.0),
    "leaky_relu": _leaky_relu,
    "linear": lambda ctx, x, options: x,
    "log_sigmoid": lambda ctx, x, options: activations.log_sigmoid(x),
    "log_softmax": _softmax(LogSoftmaxOp),
    "mish": lambda ctx, x, options: x * tanh(logarithm_of_1_and_exp(x)),
    "relu": _relu,
    "relu6": lambda ctx, x, options: x.clip(0.0, 6.0),
    "selu": _selu,
    "sigmoid": lambda ctx, x, options: sigmoid(x),
    "silu": lambda ctx, x, options: x * sigmoid(x),
    "soft_shrink": lambda ctx, x, options: activations.soft_shrink(x, number(options, "threshold", 0.5)),
    "softmax": _softmax(SoftmaxOp),
    "softplus": lambda ctx, x, options: logarithm_of_1_and_exp(x),
    "softsign": lambda ctx, x, options: x / (absolute(x) + 1.0),
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": lambda ctx, x, options: ((x + 1.0) * 0.5).clip(0.0, 1.0),
    "squareplus": _squareplus,
    "swish": lambda ctx, x, options: x * sigmoid(x),
    "tanh": lambda ctx, x, options: tanh(x),
    "tanh_shrink": lambda ctx, x, options: x - tanh(x),
    "threshold": _threshold,
}
"""The activations of Keras by name."""
_LAYERS = {
    "ELU": "elu",
    "LeakyReLU": "leaky_relu",
    "ReLU": "relu",
    "Softmax": "softmax",
}
"""Layers that are a function of their configuration; also as activations of other layers."""
_NARROW = ("relu", "relu6", "leaky_relu", "linear", "hard_tanh", "softmax", "log_softmax", "threshold", "hard_shrink")
"""Functions whose results are right in half precision."""


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
    """An activation of a value, which is computed in float32 or wider and rounded once."""
    x = Term(ctx, value)
    own_dtype = x.dtype
    if own_dtype.itemsize < 4 and name not in _NARROW:
        x = x.to("float32")
    return FUNCTIONS[name](ctx, x, options).to(own_dtype).value


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


def _leaky(ctx: Context) -> SSAValue:
    slope = number(ctx.config, "negative_slope", number(ctx.config, "alpha", 0.3))
    return ctx.emit(LeakyReluOp, ctx.data(), alpha=slope)


def prelu(ctx: Context) -> SSAValue:
    """nn.prelu when the slopes lie along one axis, else a choice between the input and its product with them."""
    data = ctx.data()
    shape = shape_of(data)
    shared = {ctx.axis(axis, len(shape)) for axis in (ctx.option("shared_axes") or ())}
    extents = tuple(1 if at in shared else shape[at] for at in range(1, len(shape)))
    slopes = ctx.weight("alpha", extents)
    several = [at for at, extent in enumerate(extents) if not same(extent, 1)]
    if len(several) == 1:
        vector = reshaped(ctx, slopes, (extents[several[0]],))
        return ctx.emit(PReluOp, data, vector, axis=several[0] + 1)
    x = Term(ctx, data)
    return where(x < 0.0, x * Term(ctx, slopes), x).value


def softmax_layer(ctx: Context) -> SSAValue:
    """A mask as second argument leaves out where it is false."""
    x, mask, axis = Term(ctx, ctx.data()), ctx.mask(1), ctx.option("axis", -1)
    if mask is None:
        return along(ctx, SoftmaxOp, x.value, axis)
    seen = Term(ctx, mask)
    weights = along(ctx, SoftmaxOp, where(seen, x, -3e4 if x.dtype == np.float16 else -1e9).value, axis)
    return where(seen, Term(ctx, weights), 0.0).value


TABLE = {
    "Activation": Row(activation, masks=KEPT),
    "ELU": _layer("elu"),
    "LeakyReLU": Row(_leaky, masks=KEPT),
    "PReLU": Row(prelu, own("alpha"), KEPT),
    "ReLU": _layer("relu"),
    "Softmax": Row(softmax_layer, masks=Masks({"mask": 1}, kept=lambda config: 1)),
    "ThresholdedReLU": Row(
        lambda ctx: applied(ctx, "threshold", ctx.data(), {"threshold": number(ctx.config, "theta", 1.0)})
    ),
}
