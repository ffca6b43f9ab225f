"""The network of deep Q-learning: how good each action is, of four frames of a game.

Mnih and others: Human-level control through deep reinforcement learning.
"""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.testing import layers
from whence.relay.testing.init import workload_of
from whence.syntax.relay.expr import Function


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """`data` [batch_size, *image_shape] -> [batch_size, num_actions]."""
    body: Any = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    layouts: dict[str, Any] = {"data_layout": layout, "kernel_layout": "OIHW" if layout == "NCHW" else "HWIO"}
    for number, (channels, size, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 1):
        window: dict[str, Any] = {
            "channels": channels,
            "kernel_size": (size, size),
            "strides": (stride, stride),
            **layouts,
        }
        body = relay.nn.relu(layers.conv2d_bias(body, name=f"conv{number}", **window))
    body = relay.nn.relu(layers.dense_add_bias(relay.nn.batch_flatten(body), units=512, name="dense1"))
    body = layers.dense_add_bias(body, units=num_actions, name="dense2")
    return Function(relay.analysis.free_vars(body), body)


get_workload = workload_of(get_net)
