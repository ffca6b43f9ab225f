"""MobileNet: depthwise convolutions, each with one of 1x1 behind it.

Howard and others: MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications.
"""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.testing import layers
from whence.relay.testing.init import workload_of
from whence.syntax.relay.expr import Expr, Function

_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
"""Channels and stride of each block."""


def separable_conv_block(
    data: Expr, name: str, depthwise_channels: int, pointwise_channels: int, stride: int, layout: str = "NCHW"
) -> Any:
    """A depthwise convolution and one that mixes channels, each with a batch normalisation and relu."""
    axis = layout.index("C")
    depthwise, pointwise = ("OIHW", "OIHW") if layout == "NCHW" else ("HWOI", "HWIO")
    body = layers.conv_bn_relu(
        data,
        f"{name}_depthwise",
        axis,
        channels=depthwise_channels,
        groups=depthwise_channels,
        kernel_size=(3, 3),
        strides=(stride, stride),
        padding=(1, 1),
        data_layout=layout,
        kernel_layout=depthwise,
    )
    mixing: dict[str, Any] = {
        "channels": pointwise_channels,
        "kernel_size": (1, 1),
        "data_layout": layout,
        "kernel_layout": pointwise,
    }
    return layers.conv_bn_relu(body, f"{name}_pointwise", axis, **mixing)


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """`data` [batch_size, *image_shape] -> softmax [batch_size, num_classes]."""
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    kernel_layout = "OIHW" if layout == "NCHW" else "HWIO"
    first: dict[str, Any] = {
        "kernel_size": (3, 3),
        "strides": (2, 2),
        "padding": (1, 1),
        "kernel_layout": kernel_layout,
    }
    body = layers.conv_bn_relu(data, "conv_block_1", layout.index("C"), channels=32, data_layout=layout, **first)
    channels = 32
    for number, (wider, stride) in enumerate(_BLOCKS, 1):
        body = separable_conv_block(body, f"separable_conv_block_{number}", channels, wider, stride, layout)
        channels = wider
    body = layers.classifier(relay.nn.global_avg_pool2d(body, layout=layout), num_classes)
    return Function(relay.analysis.free_vars(body), body)


get_workload = workload_of(get_net)
