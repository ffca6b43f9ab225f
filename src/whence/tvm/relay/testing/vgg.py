"""Networks of 3x3 convolutions, of 11 to 19 layers.

Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition.
"""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.module import IRModule
from whence.relay.testing import layers
from whence.relay.testing.init import create_workload
from whence.syntax.relay.expr import Function

_COUNTS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""Convolutions before each pool, by the number of layers."""
_CHANNELS = (64, 128, 256, 512, 512)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...],
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """`data` [batch_size, *image_shape] -> softmax [batch_size, num_classes]. Raises ValueError for other depths."""
    if num_layers not in _COUNTS:
        raise ValueError(f"vgg: expected one of {', '.join(map(str, _COUNTS))} layers, got {num_layers}")
    body: Any = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for stage, (count, channels) in enumerate(zip(_COUNTS[num_layers], _CHANNELS, strict=True), 1):
        for number in range(1, count + 1):
            window: dict[str, Any] = {"channels": channels, "kernel_size": (3, 3), "padding": (1, 1)}
            body = layers.conv2d_bias(body, name=f"conv{stage}_{number}", **window)
            body = layers.batch_norm_infer(body, name=f"bn{stage}_{number}") if batch_norm else body
            body = relay.nn.relu(body)
        body = relay.nn.max_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    body = relay.nn.batch_flatten(body)
    for name in ("fc6", "fc7"):
        body = relay.nn.dropout(relay.nn.relu(layers.dense_add_bias(body, units=4096, name=name)), rate=0.5)
    body = relay.nn.softmax(layers.dense_add_bias(body, units=num_classes, name="fc8"))
    return Function(relay.analysis.free_vars(body), body)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> tuple[IRModule, Any]:
    """The network as a module, and its weights."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
