"""The passes that make one operator of several that read the same data: what is left, where, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from relay_nets import Net, check, layers, names
from xdsl.ir import SSAValue

from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import transform as t
from whence.passes.relay.combine_parallel_batch_matmul import CombineParallelBatchMatmulPass
from whence.passes.relay.combine_parallel_conv2d import CombineParallelConv2DPass
from whence.passes.relay.combine_parallel_dense import CombineParallelDensePass
from whence.support.errors import PipelineError

RNG = np.random.default_rng(3)
F = np.float32


def image() -> Net:
    return Net(RNG.standard_normal((2, 4, 5, 5)).astype(F))


def test_branches_of_convolutions_with_what_follows() -> None:
    """Bias, batch norm's factor per channel, a relu; one branch goes on."""
    net = image()
    (x,) = net.inputs
    ends: list[SSAValue] = []
    for channels in (2, 3, 5):
        y = net(nn.Conv2DOp, x, net.random(channels, 4, 3, 3), padding=(1, 1), channels=channels)
        y = net(nn.BiasAddOp, y, net.random(channels))
        y = net(e.MultiplyOp, net.random(channels, 1, 1), y)
        y = net(e.AddOp, net(e.ReluOp, y), np.array(0.5, F))
        ends.append(net(e.TanhOp, y) if channels == 3 else y)
    net.finish(*ends)
    check(net, CombineParallelConv2DPass())
    left = names(net.module)
    assert [left.count(f"nn.{name}") for name in ("conv2d", "bias_add", "relu")] == [1, 1, 1]
    assert [left.count(name) for name in ("multiply", "add", "strided_slice", "tanh")] == [1, 1, 3, 1]
    found = layers(net.module)
    assert found["nn.conv2d"] == [("layer1", "layer6", "layer12")]
    assert found["nn.relu"] == [("layer4", "layer9", "layer15")] or found["nn.relu"] == [
        ("layer4", "layer9", "layer15")
    ]
    assert found["strided_slice"] == [("layer5",), ("layer10",), ("layer16",)]


UNLIKE: list[Callable[[Net, SSAValue], SSAValue]] = [
    lambda n, x: n(nn.Conv2DOp, x, n.random(3, 4, 1, 1)),
    lambda n, x: n(nn.Conv2DOp, x, n.random(3, 4, 3, 3), padding=(0, 0)),
    lambda n, x: n(nn.Conv2DOp, x, n.random(4, 1, 3, 3), padding=(1, 1), groups=4),
    lambda n, x: n(nn.Conv2DOp, n(e.ReluOp, x), n.random(3, 4, 3, 3), padding=(1, 1)),
]


@pytest.mark.parametrize("other", UNLIKE)
def test_unlike_convolutions_stay(other: Callable[[Net, SSAValue], SSAValue]) -> None:
    net = image()
    (x,) = net.inputs
    same = [net(nn.Conv2DOp, x, net.random(channels, 4, 3, 3), padding=(1, 1)) for channels in (2, 3)]
    net.finish(*same, other(net, x))
    before = names(net.module)
    check(net, CombineParallelConv2DPass())
    assert names(net.module) == before
    check(net, CombineParallelConv2DPass(min_num_branches=2))
    assert names(net.module).count("nn.conv2d") == 2


def test_a_branch_that_needs_another_s_result_stays() -> None:
    """Its bias is made of the other's output: both at once is impossible."""
    net = image()
    (x,) = net.inputs
    first = net(nn.Conv2DOp, x, net.random(2, 4, 1, 1))
    weight = net(t.StridedSliceOp, net(t.ReshapeOp, first, newshape=(-1,)), begin=(0,), end=(12,))
    second = net(nn.Conv2DOp, x, net(t.ReshapeOp, weight, newshape=(3, 4, 1, 1)))
    third = net(nn.Conv2DOp, x, net.random(2, 4, 1, 1))
    net.finish(net(e.AddOp, first, np.ones((1, 2, 1, 1), F)), second, net(e.AddOp, third, first))
    check(net, CombineParallelConv2DPass(min_num_branches=2))
    assert names(net.module).count("nn.conv2d") == 2


def test_operands_that_are_made_late_come_earlier() -> None:
    net = Net(RNG.standard_normal((2, 4)).astype(F), RNG.standard_normal((5, 4)).astype(F))
    x, w = net.inputs
    first = net(e.ReluOp, net(nn.DenseOp, x, net.random(3, 4)))
    used = net(e.TanhOp, first)
    second = net(e.ReluOp, net(nn.DenseOp, x, net(e.NegativeOp, net(e.ExpOp, w))))
    net.finish(used, second)
    check(net, CombineParallelDensePass(2, to_batch=False))
    assert names(net.module) == [
        *("exp", "negative", "concatenate", "nn.dense", "nn.relu", "strided_slice", "strided_slice", "tanh")
    ]


@pytest.mark.parametrize("to_batch", [True, False])
@pytest.mark.parametrize("shapes", [[(3,)] * 3, [(1, 3)] * 3, [()] * 3, [(2, 3)] * 3, [(2, 1)] * 3, [(3,), (), (1,)]])
def test_dense_layers_and_their_biases(to_batch: bool, shapes: list[tuple[int, ...]]) -> None:
    net = Net(RNG.standard_normal((2, 4)).astype(F))
    (x,) = net.inputs
    ends = [net(e.AddOp, net(nn.DenseOp, x, net.random(3, 4), units=3), net.random(*shape)) for shape in shapes]
    net.finish(*(net(e.ReluOp, end) for end in ends))
    check(net, CombineParallelDensePass(to_batch=to_batch))
    left = names(net.module)
    assert left.count("nn.batch_matmul" if to_batch else "nn.dense") == 1
    apart = to_batch and len(set(shapes)) > 1
    assert (left.count("add"), left.count("nn.relu")) == ((3, 3) if apart else (1, 1))


@pytest.mark.parametrize("axis", [1, -1])
def test_biases_along_the_units_are_one_addition(axis: int) -> None:
    net = Net(RNG.standard_normal((2, 4)).astype(F))
    (x,) = net.inputs
    net.finish(*(net(nn.BiasAddOp, net(nn.DenseOp, x, net.random(3, 4)), net.random(3), axis=axis) for _ in range(3)))
    check(net, CombineParallelDensePass())
    left = names(net.module)
    assert [left.count(name) for name in ("nn.batch_matmul", "add", "nn.bias_add")] == [1, 1, 0]


def test_dense_layers_of_different_units() -> None:
    def made() -> Net:
        net = Net(RNG.standard_normal((2, 4)).astype(F))
        (x,) = net.inputs
        ends = [net(nn.BiasAddOp, net(nn.DenseOp, x, net.random(n, 4)), net.random(n), axis=-1) for n in (3, 4, 5)]
        net.finish(*ends)
        return net

    net = made()
    before = names(net.module)
    check(net, CombineParallelDensePass())
    assert names(net.module) == before
    check(net, CombineParallelDensePass(to_batch=False))
    assert names(net.module).count("nn.dense") == names(net.module).count("nn.bias_add") == 1


@pytest.mark.parametrize("transpose_b", [True, False])
def test_batched_products(transpose_b: bool) -> None:
    net = Net(RNG.standard_normal((2, 3, 4)).astype(F))
    (x,) = net.inputs
    ends: list[SSAValue] = []
    for n in (5, 6, 7):
        y = net.random(2, n, 4) if transpose_b else net.random(2, 4, n)
        ends.append(net(e.AddOp, net(nn.BatchMatmulOp, x, y, transpose_b=transpose_b), net.random(1, 1, n)))
    net.finish(*ends)
    check(net, CombineParallelBatchMatmulPass())
    assert names(net.module) == [*("concatenate", "nn.batch_matmul", "concatenate", "add"), *["strided_slice"] * 3]


@pytest.mark.parametrize("one", [CombineParallelConv2DPass, CombineParallelDensePass, CombineParallelBatchMatmulPass])
def test_one_branch_is_none(one: Any) -> None:
    net = image()
    net.finish(net.inputs[0])
    with pytest.raises(PipelineError, match="expected min-num-branches of at least 2, got 1"):
        check(net, one(min_num_branches=1))


def test_groups_in_a_row() -> None:
    """What one group makes is the data of the next."""
    net = image()
    (x,) = net.inputs
    for _ in range(3):
        parts = [net(e.ReluOp, net(nn.Conv2DOp, x, net.random(n, 4, 1, 1))) for n in (1, 1, 2)]
        x = net(t.ConcatenateOp, *parts, axis=1)
    net.finish(x)
    check(net, CombineParallelConv2DPass())
    assert names(net.module).count("nn.conv2d") == 3
