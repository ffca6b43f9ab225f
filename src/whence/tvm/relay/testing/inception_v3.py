"""Inception v3: convolutions of several kernels side by side.

Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for Computer Vision.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from whence import relay
from whence.relay.module import IRModule
from whence.relay.testing import layers
from whence.relay.testing.init import create_workload
from whence.syntax.relay.expr import Expr, Function

_Kernel: TypeAlias = "tuple[int, int]"
_Step: TypeAlias = "tuple[int, _Kernel]"
"""Channels and kernel of a convolution, which keeps height and width."""

_1X1, _3X3, _5X5 = (1, 1), (3, 3), (5, 5)
_1X7, _7X1, _1X3, _3X1 = (1, 7), (7, 1), (1, 3), (3, 1)


def _conv(data: Expr, channels: int, kernel: _Kernel, name: str, stride: int = 1, padding: _Kernel = (0, 0)) -> Any:
    window: dict[str, Any] = {
        "channels": channels,
        "kernel_size": kernel,
        "strides": (stride, stride),
        "padding": padding,
    }
    return layers.conv_bn_relu(data, name, epsilon=2e-5, **window)


def _tower(data: Expr, steps: list[_Step], name: str) -> Any:
    """Convolutions one after the other."""
    for number, (channels, kernel) in enumerate(steps):
        data = _conv(data, channels, kernel, f"{name}_conv_{number}", 1, (kernel[0] // 2, kernel[1] // 2))
    return data


def _average(data: Expr) -> Any:
    return relay.nn.avg_pool2d(data, pool_size=(3, 3), strides=(1, 1), padding=(1, 1), count_include_pad=True)


def _largest(data: Expr) -> Any:
    return relay.nn.max_pool2d(data, pool_size=(3, 3), strides=(2, 2))


def _side_by_side(data: Expr, name: str, towers: list[list[_Step]], pooled: int) -> Any:
    """Towers, and `pooled` channels of averages."""
    parts = [_tower(data, steps, f"{name}_tower_{number}") for number, steps in enumerate(towers)]
    parts.append(_tower(_average(data), [(pooled, _1X1)], f"{name}_pooled"))
    return relay.concatenate(parts, axis=1)


def _halved(data: Expr, name: str, towers: list[list[_Step]]) -> Any:
    """Towers that end in a convolution of stride 2, and the greatest of 3x3."""
    parts: list[Any] = []
    for number, steps in enumerate(towers):
        (channels, kernel), before = steps[-1], steps[:-1]
        inner = _tower(data, before, f"{name}_tower_{number}")
        parts.append(_conv(inner, channels, kernel, f"{name}_tower_{number}_last", 2))
    return relay.concatenate([*parts, _largest(data)], axis=1)


def _widest(data: Expr, name: str) -> Any:
    """The block that ends the network, whose towers fork."""
    forks = {"tower": [(384, _1X1)], "tower_1": [(448, _1X1), (384, _3X3)]}
    parts: list[Any] = [_tower(data, [(320, _1X1)], f"{name}_conv")]
    for tower, steps in forks.items():
        inner = _tower(data, steps, f"{name}_{tower}")
        parts += [
            _tower(inner, [(384, kernel)], f"{name}_{tower}_{k}") for k, kernel in (("row", _1X3), ("column", _3X1))
        ]
    parts.append(_tower(_average(data), [(192, _1X1)], f"{name}_pooled"))
    return relay.concatenate(parts, axis=1)


def get_net(batch_size: int, num_classes: int, image_shape: tuple[int, ...], dtype: str) -> Function:
    """`data` [batch_size, *image_shape] -> softmax [batch_size, num_classes]."""
    body: Any = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = _conv(body, 32, _3X3, "conv", 2)
    body = _conv(body, 32, _3X3, "conv_1")
    body = _largest(_conv(body, 64, _3X3, "conv_2", padding=(1, 1)))
    body = _conv(body, 80, _1X1, "conv_3")
    body = _largest(_conv(body, 192, _3X3, "conv_4"))
    for name, pooled in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        towers = [[(64, _1X1)], [(48, _1X1), (64, _5X5)], [(64, _1X1), (96, _3X3), (96, _3X3)]]
        body = _side_by_side(body, name, towers, pooled)
    body = _halved(body, "mixed_3", [[(384, _3X3)], [(64, _1X1), (96, _3X3), (96, _3X3)]])
    for name, inner in (("mixed_4", 128), ("mixed_5", 160), ("mixed_6", 160), ("mixed_7", 192)):
        short = [(inner, _1X1), (inner, _1X7), (192, _7X1)]
        long = [(inner, _1X1), (inner, _7X1), (inner, _1X7), (inner, _7X1), (192, _1X7)]
        body = _side_by_side(body, name, [[(192, _1X1)], short, long], 192)
    body = _halved(body, "mixed_8", [[(192, _1X1), (320, _3X3)], [(192, _1X1), (192, _1X7), (192, _7X1), (192, _3X3)]])
    body = _widest(_widest(body, "mixed_9"), "mixed_10")
    body = layers.classifier(relay.nn.global_avg_pool2d(body), num_classes, "fc1")
    return Function(relay.analysis.free_vars(body), body)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, Any]:
    """The network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
