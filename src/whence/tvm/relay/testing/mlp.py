"""A perceptron of three layers."""

from __future__ import annotations

from math import prod
from typing import Any

from whence import relay
from whence.relay.testing.init import workload_of
from whence.syntax.relay.expr import Function


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """`data` [batch_size, *image_shape] -> softmax [batch_size, num_classes], by layers of 128 and 64 between."""
    body: Any = relay.nn.batch_flatten(relay.var("data", shape=(batch_size, *image_shape), dtype=dtype))
    width = prod(image_shape)
    for number, units in enumerate((128, 64, num_classes), 1):
        weight = relay.var(f"fc{number}_weight", shape=(units, width), dtype=dtype)
        bias = relay.var(f"fc{number}_bias", shape=(units,), dtype=dtype)
        body = relay.nn.bias_add(relay.nn.dense(body, weight, units=units), bias, axis=-1)
        body = relay.nn.relu(body) if number < 3 else relay.nn.softmax(body)
        width = units
    return Function(relay.analysis.free_vars(body), body)


get_workload = workload_of(get_net)
