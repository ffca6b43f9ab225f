"""SqueezeNet: few channels, then convolutions of 1x1 and 3x3 side by side.

Iandola and others: SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB model size.
"""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.module import IRModule
from whence.relay.testing import layers
from whence.relay.testing.init import create_workload
from whence.syntax.relay.expr import Expr, Function

_SQUEEZED = (16, 16, 32, 32, 48, 48, 64, 64)
"""The numbers of channels in the middle of each fire module, which returns eight times as many."""
_VERSIONS = {"1.0": (96, (7, 7), (3, 3), (3, 7)), "1.1": (64, (3, 3), (1, 1), (2, 4))}
"""First channels, kernel and padding, and behind how many fire modules there are pools, by version."""


def _conv(data: Expr, channels: int, size: int, name: str) -> Any:
    window: dict[str, Any] = {"channels": channels, "kernel_size": (size, size), "padding": (size // 2, size // 2)}
    return relay.nn.relu(layers.conv2d_bias(data, name=name, **window))


def _pool(data: Expr) -> Any:
    return relay.nn.max_pool2d(data, pool_size=(3, 3), strides=(2, 2))


def get_net(
    batch_size: int, image_shape: tuple[int, ...], num_classes: int, version: str, dtype: str = "float32"
) -> Function:
    """`data` [batch_size, *image_shape] -> softmax [batch_size, num_classes]. Raises ValueError for other versions."""
    if version not in _VERSIONS:
        raise ValueError(f"squeezenet: expected version 1.0 or 1.1, got {version}")
    channels, kernel, padding, pools = _VERSIONS[version]
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    window: dict[str, Any] = {"channels": channels, "kernel_size": kernel, "strides": (2, 2), "padding": padding}
    body = _pool(relay.nn.relu(layers.conv2d_bias(data, name="conv1", **window)))
    for number, squeezed in enumerate(_SQUEEZED, 1):
        middle = _conv(body, squeezed, 1, f"fire{number}_squeeze")
        sides = [_conv(middle, squeezed * 4, size, f"fire{number}_expand{size}x{size}") for size in (1, 3)]
        body = relay.concatenate(sides, axis=1)
        body = _pool(body) if number in pools else body
    body = _conv(relay.nn.dropout(body, rate=0.5), num_classes, 1, "conv_final")
    body = relay.nn.softmax(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(body)))
    return Function(relay.analysis.free_vars(body), body)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, Any]:
    """The network as a module, and its weights."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
