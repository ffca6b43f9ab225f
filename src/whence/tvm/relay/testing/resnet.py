"""Residual networks, of 18 to 269 layers for large images and of others for small ones.

He, Zhang, Ren, Sun: Identity Mappings in Deep Residual Networks. Activations come before the convolutions.
"""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.module import IRModule
from whence.relay.testing import layers
from whence.relay.testing.init import create_workload
from whence.syntax.relay.expr import Expr, Function

_UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
"""Units in each stage, by the number of layers."""


def residual_unit(
    data: Expr,
    num_filter: int,
    stride: tuple[int, int],
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
) -> Any:
    """Return the sum of the data, convolved unless `dim_match`, and two or three convolutions of it."""
    layouts: dict[str, Any] = {"data_layout": data_layout, "kernel_layout": kernel_layout}
    axis = data_layout.index("C")
    one, three = (1, 1), (3, 3)
    steps = [(num_filter, three, stride), (num_filter, three, one)]
    if bottle_neck:
        steps = [(num_filter // 4, one, one), (num_filter // 4, three, stride), (num_filter, one, one)]
    body: Any = data
    first: Any = None
    for number, (channels, size, strides) in enumerate(steps, 1):
        normal = layers.batch_norm_infer(body, name=f"{name}_bn{number}", axis=axis, epsilon=2e-5)
        active = relay.nn.relu(normal)
        first = active if first is None else first
        body = layers.conv2d(
            active,
            name=f"{name}_conv{number}",
            channels=channels,
            kernel_size=size,
            strides=strides,
            padding=(size[0] // 2, size[1] // 2),
            **layouts,
        )
    shortcut: Any = data
    if not dim_match:
        short: dict[str, Any] = {"channels": num_filter, "kernel_size": (1, 1), "strides": stride, **layouts}
        shortcut = layers.conv2d(first, name=f"{name}_sc", **short)
    return body + shortcut


def _stages(num_layers: int, small: bool) -> tuple[list[int], list[int], bool]:
    """Units and filters of each stage, and whether units are bottlenecks."""
    if small:
        bottle_neck = (num_layers - 2) % 9 == 0 and num_layers >= 164
        per_stage = 9 if bottle_neck else 6
        if (num_layers - 2) % per_stage or (not bottle_neck and num_layers >= 164):
            raise ValueError(f"no experiments done on num_layers {num_layers}")
        filters = [16, 64, 128, 256] if bottle_neck else [16, 16, 32, 64]
        return [(num_layers - 2) // per_stage] * 3, filters, bottle_neck
    if num_layers not in _UNITS:
        raise ValueError(f"no experiments done on num_layers {num_layers}")
    bottle_neck = num_layers >= 50
    filters = [64, 256, 512, 1024, 2048] if bottle_neck else [64, 64, 128, 256, 512]
    return list(_UNITS[num_layers]), filters, bottle_neck


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """`data` [batch_size, *image_shape] -> softmax [batch_size, num_classes]. Raises ValueError for other depths."""
    height = image_shape[layout.index("H") - 1]
    units, filters, bottle_neck = _stages(num_layers, height <= 32)
    axis, kernel_layout = layout.index("C"), "OIHW" if layout == "NCHW" else "HWIO"
    layouts: dict[str, Any] = {"data_layout": layout, "kernel_layout": kernel_layout}
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = layers.batch_norm_infer(data, name="bn_data", axis=axis, epsilon=2e-5, scale=False)
    if height <= 32:
        small: dict[str, Any] = {"channels": filters[0], "kernel_size": (3, 3), "padding": (1, 1), **layouts}
        body = layers.conv2d(body, name="conv0", **small)
    else:
        large: dict[str, Any] = {
            "channels": filters[0],
            "kernel_size": (7, 7),
            "strides": (2, 2),
            "padding": (3, 3),
            **layouts,
        }
        body = layers.conv2d(body, name="conv0", **large)
        body = relay.nn.relu(layers.batch_norm_infer(body, name="bn0", axis=axis, epsilon=2e-5))
        body = relay.nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for stage, count in enumerate(units, 1):
        for unit in range(1, count + 1):
            stride = (2, 2) if stage > 1 and unit == 1 else (1, 1)
            name = f"stage{stage}_unit{unit}"
            body = residual_unit(body, filters[stage], stride, unit > 1, name, bottle_neck, **layouts)
    body = relay.nn.relu(layers.batch_norm_infer(body, name="bn1", axis=axis, epsilon=2e-5))
    body = layers.classifier(relay.nn.global_avg_pool2d(body, layout=layout), num_classes, "fc1")
    return Function(relay.analysis.free_vars(body), body)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, Any]:
    """The network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
