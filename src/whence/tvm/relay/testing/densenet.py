"""Densely connected networks: every layer of a block reads all before it.

Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks.
"""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.testing import layers
from whence.relay.testing.init import workload_of
from whence.syntax.relay.expr import Expr, Function

_SPECS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
"""First channels, channels that each layer adds, and layers per block, by the number of layers."""
_BOTTLENECK = 4


def _normal(data: Expr, name: str) -> Any:
    return relay.nn.relu(layers.batch_norm_infer(data, name=name))


def _dense_layer(data: Expr, growth: int, name: str) -> Any:
    """The data, and `growth` channels that are made of it."""
    inner = _normal(data, f"{name}_batch_norm1")
    inner = layers.conv2d(inner, name=f"{name}_conv1", channels=_BOTTLENECK * growth, kernel_size=(1, 1))
    inner = _normal(inner, f"{name}_batch_norm2")
    inner = layers.conv2d(inner, name=f"{name}_conv2", channels=growth, kernel_size=(3, 3), padding=(1, 1))
    return relay.concatenate([data, inner], axis=1)


def get_net(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Function:
    """`data` [batch_size, *image_shape] -> [batch_size, classes]. Raises ValueError for other numbers of layers."""
    if densenet_size not in _SPECS:
        raise ValueError(f"densenet: expected one of {', '.join(map(str, _SPECS))} layers, got {densenet_size}")
    channels, growth, blocks = _SPECS[densenet_size]
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    window: dict[str, Any] = {"channels": channels, "kernel_size": (7, 7), "strides": (2, 2), "padding": (3, 3)}
    body = _normal(layers.conv2d(data, name="conv1", **window), "batch_norm1")
    body = relay.nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for block, count in enumerate(blocks, 1):
        for layer in range(1, count + 1):
            body = _dense_layer(body, growth, f"block{block}_layer{layer}")
            channels += growth
        if block < len(blocks):
            channels //= 2
            body = _normal(body, f"t{block}_batch_norm")
            body = layers.conv2d(body, name=f"t{block}_conv", channels=channels, kernel_size=(1, 1))
            body = relay.nn.avg_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = relay.nn.global_avg_pool2d(_normal(body, "batch_norm5"))
    body = layers.dense_add_bias(relay.nn.batch_flatten(body), units=classes, name="dense1")
    return Function(relay.analysis.free_vars(body), body)


get_workload = workload_of(get_net)
