"""relay-alter-op-layout where a user's function gives convolutions other layouts: the same numbers, all located."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from relay_nets import Net, check, layers, names
from xdsl.ir import SSAValue

from whence import relay
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.passes.relay.alter_op_layout import AlterOpLayoutPass
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.relay.testing.temp_op_attr import TempOpAttr


def conv(net: Net, x: SSAValue) -> SSAValue:
    return net(nn.Conv2DOp, x, net.random(16, 16, 3, 3), padding=(1, 1))


@pytest.mark.parametrize(
    ("data", "kernel", "result", "transforms"),
    [
        ("NCHW16c", "OIHW16i", "", 2),
        ("NCHW4c", "OIHW4i4o", "", 2),
        ("NHWC", "HWIO", "", 2),
        ("NCHW", "OIHW16o", "NCHW8c", 2),
        ("NCHW", "OHWI4i8o2i", "", 0),
    ],
)
def test_the_layouts_of_a_new_call(data: str, kernel: str, result: str, transforms: int) -> None:
    def altered(attrs: Any, inputs: Any, types: Any, out: Any) -> Any:
        layouts = {"data_layout": data, "kernel_layout": kernel, "out_layout": result}
        return relay.nn.conv2d(*inputs, **dict(attrs) | layouts)

    net = Net(np.random.default_rng(3).standard_normal((1, 16, 6, 6)).astype(np.float32))
    y = net(e.ReluOp, net(nn.BiasAddOp, conv(net, net.inputs[0]), net.random(16)))
    y = net(nn.MaxPool2DOp, net(e.AddOp, y, net.random(16, 1, 1)), pool_size=(2, 2))
    net.finish(net(e.TanhOp, conv(net, y)))
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", altered):
        check(net, AlterOpLayoutPass(), FoldConstantPass())
    left = names(net.module)
    assert left.count("layout_transform") == transforms
    convolutions = [op for op in net.module.walk() if isinstance(op, nn.Conv2DOp)]
    assert [(op.data_layout.data, op.kernel_layout.data) for op in convolutions] == [(data, kernel)] * 2
    assert layers(net.module)["nn.conv2d"] == [("layer1",), ("layer6",)]
    assert all(of in (("layer1",), ("layer6",)) for of in layers(net.module).get("layout_transform", ()))
