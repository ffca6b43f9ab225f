"""A small network with a product, a convolution and a sum of both."""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.testing.init import workload_of
from whence.syntax.relay.expr import Function

_SHAPE = (1, 3, 24, 12)


def get_net(input_shape: tuple[int, ...] = _SHAPE, dtype: str = "float32", wtype: str | None = None) -> Function:
    """`data` [n, c, h, w] -> relu(relu(dense of its rows) + softmax(conv2d 3x3)), of the same shape."""
    channels, columns = input_shape[1], input_shape[3]
    data = relay.var("data", shape=input_shape, dtype=dtype)
    weight = relay.var("dense_weight", shape=(columns, columns), dtype=wtype or dtype)
    dense = relay.nn.relu(relay.nn.dense(relay.reshape(data, (-1, columns)), weight))
    kernel = relay.var("conv_weight", shape=(channels, channels, 3, 3), dtype=wtype or dtype)
    conv = relay.nn.softmax(relay.nn.conv2d(data, kernel, padding=1, kernel_size=3))
    body: Any = relay.nn.relu(relay.add(relay.reshape_like(dense, data), conv))
    return Function(relay.analysis.free_vars(body), body)


get_workload = workload_of(get_net)
