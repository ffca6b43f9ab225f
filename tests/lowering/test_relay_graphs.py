"""Small random networks: whatever the passes fuse, fold and lay out anew, the numbers stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from whence.dialects.relay import elementwise as ew
from whence.dialects.relay import nn
from whence.dialects.relay import transform as tr
from whence.dialects.relay.operator import Operator, shape_of

Array = NDArray[Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

# Operators that keep numbers of a size near 1.
_UNARY: tuple[tuple[type[Operator], dict[str, Any]], ...] = (
    (ew.AbsOp, {}),
    (ew.ClipOp, {"a_min": -0.5, "a_max": 0.7}),
    (ew.LeakyReluOp, {"alpha": 0.1}),
    (ew.NegativeOp, {}),
    (ew.ReluOp, {}),
    (ew.SigmoidOp, {}),
    (ew.TanhOp, {}),
    (ew.CopyOp, {}),
)
_BINARY = (ew.AddOp, ew.SubtractOp, ew.MultiplyOp, ew.MaximumOp, ew.MinimumOp)
_CHANNELS = (1, 3, 8, 16, 20, 32)


class Grower:
    """Adds drawn layers to a network; `values` are the tensors that it has so far."""

    def __init__(self, net: Any, draw: Draw):
        self.net, self.draw = net, draw
        self.values: list[SSAValue] = list(net.inputs)
        self.rng = np.random.default_rng(0)

    def pick(self, options: Any) -> Any:
        # Drawn by number: hypothesis prints what it draws, and a tensor prints the whole network.
        return options[self.draw(st.integers(0, len(options) - 1))]

    def weight(self, *shape: int, scale: float = 1.0) -> Array:
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def grow(self) -> None:
        x = self.pick(self.values)
        rank = len(shape_of(x))
        makers = [self.unary, self.binary, self.combine, self.reduce, self.reshape, self.slice, self.join, self.softmax]
        makers += [self.conv, self.conv, self.conv, self.pool, self.batch_norm, self.bias] if rank == 4 else []
        makers += [self.dense, self.dense, self.bias] if rank == 2 else []
        makers += [self.transpose] if rank > 1 else []
        self.values.append(self.pick(makers)(x, shape_of(x)))

    def unary(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        kind, attributes = self.pick(_UNARY)
        return self.net.add(kind, x, **attributes)

    def binary(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        kept = [extent if self.draw(st.booleans()) else 1 for extent in shape]
        constant = self.weight(*self.pick(([*kept], [], [*shape][1:])))
        return self.net.add(self.pick(_BINARY), *self.pick(((x, constant), (constant, x))))

    def combine(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        return self.net.add(self.pick(_BINARY), x, self.pick([y for y in self.values if shape_of(y) == shape]))

    def reduce(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        axis = self.draw(st.integers(0, len(shape) - 1)) if shape else None
        kind = self.pick((tr.MeanOp, tr.MaxOp, tr.MinOp))
        return self.net.add(kind, x, axis=None if axis is None else (axis,), keepdims=self.draw(st.booleans()))

    def reshape(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        size = int(np.prod(shape))
        rows = self.pick([rows for rows in (1, 2, 3, size) if size % rows == 0])
        return self.net.add(tr.ReshapeOp, x, newshape=(rows, size // rows))

    def slice(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        if not shape:
            return self.net.add(tr.ExpandDimsOp, x, axis=0, num_newaxis=2)
        begin, stride = self.draw(st.integers(0, shape[-1] - 1)), self.draw(st.integers(1, 2))
        return self.net.add(tr.StridedSliceOp, x, begin=(begin,), end=(shape[-1],), strides=(stride,), axes=(-1,))

    def join(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        if not shape:
            return self.net.add(tr.BroadcastToOp, x, shape=(3, 4))
        axis = self.draw(st.integers(0, len(shape) - 1))
        fits = [
            y
            for y in self.values
            if len(shape_of(y)) == len(shape)
            and shape_of(y)[:axis] + shape_of(y)[axis + 1 :] == shape[:axis] + shape[axis + 1 :]
        ]
        return self.net.add(tr.ConcatenateOp, x, self.pick(fits), axis=axis)

    def transpose(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        return self.net.add(tr.TransposeOp, x, axes=self.draw(st.permutations(range(len(shape)))))

    def softmax(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        if not shape:
            return self.net.add(ew.TanhOp, x)
        return self.net.add(nn.SoftmaxOp, x, axis=self.draw(st.integers(-len(shape), len(shape) - 1)))

    def conv(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        channels = shape[1]
        kernel = self.pick((1, 2, 3))
        pads = self.draw(st.tuples(*[st.integers(0, 1)] * 4))
        pads = tuple(max(pad, kernel - min(shape[2:])) for pad in pads)
        groups = self.pick([groups for groups in (1, 2, channels) if channels % groups == 0])
        outputs = groups * self.pick((1, 2)) if groups > 2 else groups * self.pick(_CHANNELS)
        weight = self.weight(outputs, channels // groups, kernel, kernel, scale=(kernel**2 * channels / groups) ** -0.5)
        strides = self.pick(((1, 1), (2, 2), (1, 2)))
        return self.net.add(nn.Conv2DOp, x, weight, strides=strides, padding=pads, groups=groups)

    def pool(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        kind = self.pick((nn.MaxPool2DOp, nn.AvgPool2DOp, nn.GlobalAvgPool2DOp, nn.GlobalMaxPool2DOp))
        if not issubclass(kind, nn.WindowedPool):
            return self.net.add(kind, x)
        size = min(self.pick((1, 2, 3)), *shape[2:])
        pads = self.draw(st.tuples(*[st.integers(0, size // 2)] * 4))
        ceil = self.draw(st.booleans())
        return self.net.add(
            kind, x, pool_size=(size, size), strides=(self.pick((1, 2)),) * 2, padding=pads, ceil_mode=ceil
        )

    def batch_norm(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        gamma, beta, mean, variance = (self.weight(shape[1], scale=0.3) for _ in range(4))
        return self.net.add(nn.BatchNormOp, x, np.abs(gamma) + 0.5, beta, mean, np.abs(variance) + 0.5)

    def bias(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        return self.net.add(nn.BiasAddOp, x, self.weight(shape[1]), axis=1)

    def dense(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        outputs = self.pick((1, 5, 16, 48, 64))
        return self.net.add(nn.DenseOp, x, self.weight(outputs, shape[1], scale=shape[1] ** -0.5))


@settings(
    max_examples=9,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_random_networks(data: st.DataObject, make_net: Callable[..., Any], check_model: Callable[..., None]):
    channels, side = data.draw(st.sampled_from(_CHANNELS)), data.draw(st.integers(1, 9))
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((1, channels, side, side)).astype(np.float32)]
    net = make_net(*inputs)
    grower = Grower(net, data.draw)
    for _ in range(data.draw(st.integers(3, 8))):
        grower.grow()
    # The last layer, and sometimes another one or the input itself.
    results = [grower.values[-1]]
    if data.draw(st.booleans()):
        results.append(grower.pick(grower.values))
    check_model(net.finish(*results), *inputs)
