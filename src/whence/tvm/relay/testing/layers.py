"""Layers of networks for tests, whose weights are variables named after the layer; their shapes are inferred."""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.syntax.relay.expr import Expr


def _weight(name: str, expr: Expr | None, suffix: str) -> Expr:
    return expr if expr is not None else relay.var(f"{name}_{suffix}")


def conv2d(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Any:
    """A convolution with the weight `<name>_weight`."""
    return relay.nn.conv2d(data, _weight(name, weight, "weight"), **attrs)


def conv2d_transpose(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Any:
    """A transposed convolution with the weight `<name>_weight`."""
    return relay.nn.conv2d_transpose(data, _weight(name, weight, "weight"), **attrs)


def conv2d_bias(data: Expr, *, name: str, **attrs: Any) -> Any:
    """A convolution with the weight `<name>_weight` and a number for each channel, `<name>_bias`."""
    axis = 3 if attrs.get("data_layout") == "NHWC" else 1
    return relay.nn.bias_add(conv2d(data, name=name, **attrs), _weight(name, None, "bias"), axis=axis)


def dense_add_bias(
    data: Expr, weight: Expr | None = None, bias: Expr | None = None, units: int | None = None, *, name: str
) -> Any:
    """A product with `<name>_weight`, plus `<name>_bias`."""
    product = relay.nn.dense(data, _weight(name, weight, "weight"), units=units)
    return relay.nn.bias_add(product, _weight(name, bias, "bias"), axis=-1)


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    *,
    name: str,
    **attrs: Any,
) -> Any:
    """A batch normalisation with `<name>_gamma`, `_beta`, `_moving_mean` and `_moving_var`; its first result."""
    parameters = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    weights = [_weight(name, weight, suffix) for suffix, weight in parameters.items()]
    return relay.nn.batch_norm(data, *weights, **attrs)[0]


def conv_bn_relu(data: Expr, name: str, axis: int = 1, epsilon: float = 1e-5, **attrs: Any) -> Any:
    """A convolution, a batch normalisation along an axis, and relu."""
    normal = batch_norm_infer(conv2d(data, name=f"{name}_conv", **attrs), name=f"{name}_bn", axis=axis, epsilon=epsilon)
    return relay.nn.relu(normal)


def classifier(data: Expr, classes: int, name: str = "fc") -> Any:
    """The probabilities of classes, of an image per row."""
    return relay.nn.softmax(dense_add_bias(relay.nn.batch_flatten(data), units=classes, name=name))
