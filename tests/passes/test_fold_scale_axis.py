"""relay-fold-scale-axis leaves alone what it would change: signs under a relu, second readers, biases on other axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay.interpret import evaluate_module
from whence.passes.pipelines import run_passes
from whence.passes.relay.fold_scale_axis import FoldScaleAxisPass

MakeNet = Callable[..., Any]

POSITIVE = np.array([2, 3, 0.5, 4], np.float32).reshape(4, 1, 1)
NEGATIVE = np.array([2, -3, 0.5, 4], np.float32).reshape(4, 1, 1)


def multiplications(net: Any) -> int:
    """How many are left after the pass, which must not change a result."""
    expected = evaluate_module(net.module, net.arrays)
    run_passes(net.module, [FoldScaleAxisPass()], audit=True)
    net.module.verify()
    for mine, reference in zip(evaluate_module(net.module, net.arrays), expected, strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-4, atol=1e-4)
    return sum(isinstance(op, e.MultiplyOp) for op in net.module.walk())


def net_of(make_net: MakeNet) -> Any:
    return make_net(np.random.default_rng(3).standard_normal((1, 4, 4, 4)).astype(np.float32))


def conv(net: Any, x: Any) -> Any:
    return net(nn.Conv2DOp, x, net.random(4, 4, 3, 3), padding=(1, 1))


@pytest.mark.parametrize("activation", [e.ReluOp, e.LeakyReluOp])
@pytest.mark.parametrize(("factor", "left"), [(POSITIVE, 0), (NEGATIVE, 1)], ids=["positive", "negative"])
@pytest.mark.parametrize("after", [True, False])
def test_only_a_positive_factor_passes_a_relu(
    make_net: MakeNet, activation: type[e.ReluOp | e.LeakyReluOp], factor: Any, left: int, after: bool
):
    net = net_of(make_net)
    attributes = {"alpha": 0.25} if activation is e.LeakyReluOp else {}
    if after:
        net.finish(net(e.MultiplyOp, net(activation, conv(net, net.inputs[0]), **attributes), factor))
    else:
        net.finish(conv(net, net(activation, net(e.MultiplyOp, net.inputs[0], factor), **attributes)))
    assert multiplications(net) == left


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize(("kind", "spatial"), [(nn.Conv1DOp, (6,)), (nn.Conv3DOp, (3, 4, 2))])
def test_convolutions_of_any_rank_take_factors(
    make_net: MakeNet, kind: type[nn.Conv1DOp | nn.Conv3DOp], spatial: tuple[int, ...], after: bool
):
    net = make_net(np.random.default_rng(3).standard_normal((2, 4, *spatial)).astype(np.float32))
    factor = NEGATIVE.reshape(4, *[1] * len(spatial))
    data = net.inputs[0] if after else net(e.MultiplyOp, net.inputs[0], factor)
    x = net(kind, data, net.random(4, 4, *[1] * len(spatial)))
    net.finish(net(e.MultiplyOp, x, factor) if after else x)
    assert multiplications(net) == 0


AFTER = ["nobody", "conv", "bias", "relu"]


@pytest.mark.parametrize("read", AFTER)
def test_what_somebody_else_reads_is_not_scaled(make_net: MakeNet, read: str):
    """The factor stands after conv, bias and relu."""
    net = net_of(make_net)
    values = {"conv": conv(net, net.inputs[0])}
    values["bias"] = net(nn.BiasAddOp, values["conv"], net.random(4), axis=1)
    values["relu"] = net(e.ReluOp, values["bias"])
    product = net(e.MultiplyOp, values["relu"], POSITIVE)
    net.finish(product, *(value for name, value in values.items() if name == read))
    assert multiplications(net) == (0 if read == "nobody" else 1)


@pytest.mark.parametrize("read", ["nobody", "product", "relu"])
def test_what_somebody_else_reads_stays_scaled(make_net: MakeNet, read: str):
    """The factor stands before relu and conv."""
    net = net_of(make_net)
    values = {"product": net(e.MultiplyOp, net.inputs[0], POSITIVE)}
    values["relu"] = net(e.ReluOp, values["product"])
    net.finish(conv(net, values["relu"]), *(value for name, value in values.items() if name == read))
    assert multiplications(net) == (0 if read == "nobody" else 1)


@pytest.mark.parametrize(("axis", "left"), [(1, 0), (-3, 0), (2, 1), (3, 1), (-1, 1)])
def test_a_bias_on_another_axis_is_in_the_way(make_net: MakeNet, axis: int, left: int):
    """All axes are of one length, so that only numbers tell."""
    net = net_of(make_net)
    biased = net(nn.BiasAddOp, conv(net, net.inputs[0]), net.random(4), axis=axis)
    net.finish(net(e.MultiplyOp, biased, POSITIVE))
    assert multiplications(net) == left
