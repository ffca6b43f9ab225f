"""Layouts of several blocks of one axis, and convolutions whose operands are in blocks of different kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_cases import Check, MakeNet, random
from xdsl.context import Context

from whence.dialects.relay import nn
from whence.dialects.relay.convolution_transpose import Conv2DTransposeOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.transform import LayoutTransformOp
from whence.dialects.relay.vision import RoiAlignOp
from whence.passes.relay.analysis.mac_count import get_total_mac_number
from whence.passes.relay.legalize import LegalizePass
from whence.provenance.audit import check_located
from whence.runtime.values.layouts import layout_view


def test_several_blocks_of_one_axis(make_net: MakeNet, check_model: Check):
    weight = random((4, 64, 3, 2))
    blocks = weight.reshape(2, 2, 2, 16, 2, 3, 2).transpose(0, 5, 6, 2, 3, 1, 4)
    np.testing.assert_array_equal(layout_view(weight, "OIHW", "OHWI16i2o2i"), blocks)
    net = make_net(weight)
    there = net.add(LayoutTransformOp, net.inputs[0], src_layout="OIHW", dst_layout="OHWI16i2o2i")
    other = net.add(LayoutTransformOp, there, src_layout="OHWI16i2o2i", dst_layout="IOHW8i4i")
    module = net.finish(there, other)
    check_model(module, weight)
    found: Any = evaluate_module(module, [weight])
    np.testing.assert_array_equal(found[0], blocks)
    np.testing.assert_array_equal(found[1], weight.reshape(4, 2, 8, 4, 3, 2).transpose(1, 0, 4, 5, 2, 3))


@pytest.mark.parametrize(
    ("data", "kernel", "result", "groups"),
    [
        ("NCHW16c", "OIHW16i", "", 1),
        ("NCHW4c", "OIHW4i4o", "NCHW", 1),
        ("NCHW", "OIHW8i8o", "NCHW8c", 1),
        ("NHWC4c", "OHWI2i4o2i", "NHWC", 2),
        ("NCHW4c", "OIHW4o", "NCHW8c", 16),
    ],
)
def test_a_convolution_of_other_blocks(
    data: str, kernel: str, result: str, groups: int, make_net: MakeNet, check_model: Check
):
    x, weight = random((1, 16, 5, 6)), random((16, 16 // groups, 3, 3))
    net = make_net(x)
    plain = net.add(nn.Conv2DOp, net.inputs[0], weight, padding=[1, 1], groups=groups)
    wanted: Any = evaluate_module(net.finish(plain), [x])[0]
    blocked = make_net(there := np.ascontiguousarray(layout_view(x, "NCHW", data)))
    filters = np.ascontiguousarray(layout_view(weight, "OIHW", kernel))
    layouts: dict[str, Any] = {"data_layout": data, "kernel_layout": kernel, "out_layout": result}
    y = blocked.add(nn.Conv2DOp, blocked.inputs[0], filters, padding=[1, 1], groups=groups, **layouts)
    module = blocked.finish(y)
    check_model(module, there)
    found: Any = evaluate_module(module, [there])[0]
    np.testing.assert_allclose(layout_view(found, result or data, "NCHW"), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("data", "kernel", "result", "groups"),
    [
        ("NHWC", "HWIO", "", 1),
        ("NHWC", "HWOI", "NCHW", 2),
        ("NCHW", "OIHW", "NHWC", 2),
        ("NCHW4c", "OIHW4i3o", "NCHW2c", 1),
    ],
)
def test_a_transposed_convolution_in_other_layouts(
    data: str, kernel: str, result: str, groups: int, make_net: MakeNet, check_model: Check
):
    x, weight = random((2, 8, 4, 5)), random((8, 6, 3, 2))
    attributes: dict[str, Any] = {
        "strides": [2, 1],
        "padding": [1, 0, 0, 1],
        "dilation": [1, 2],
        "output_padding": [1, 0],
        "groups": groups,
    }
    net = make_net(x)
    plain = net.add(Conv2DTransposeOp, net.inputs[0], weight, **attributes)
    wanted: Any = evaluate_module(net.finish(plain), [x])[0]
    moved = make_net(there := np.ascontiguousarray(layout_view(x, "NCHW", data)))
    filters = np.ascontiguousarray(layout_view(weight, "IOHW", kernel))
    layouts: dict[str, Any] = {"data_layout": data, "kernel_layout": kernel, "out_layout": result}
    module = moved.finish(moved.add(Conv2DTransposeOp, moved.inputs[0], filters, **attributes, **layouts))
    check_model(module, there)
    found: Any = evaluate_module(module, [there])[0]
    np.testing.assert_allclose(layout_view(found, result or data, "NCHW"), wanted, rtol=1e-4, atol=1e-4)
    assert get_total_mac_number(module) == get_total_mac_number(net.module)
    LegalizePass().apply(Context(), module)
    check_located(module, LegalizePass.name)
    assert not any(isinstance(op, Conv2DTransposeOp) for op in module.walk())
    found = evaluate_module(module, [there])[0]
    np.testing.assert_allclose(layout_view(found, result or data, "NCHW"), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_of_images_whose_channels_are_last(mode: str, make_net: MakeNet, check_model: Check):
    x = random((2, 3, 7, 6))
    regions = np.array([[0, 0, 0, 4, 3], [1, 1, 1.5, 5, 5], [1, 2, 0, 3.5, 6]], np.float32)
    attributes: dict[str, Any] = {"pooled_size": [3, 2], "spatial_scale": 0.9, "mode": mode}
    net = make_net(x)
    plain = net.add(RoiAlignOp, net.inputs[0], regions, **attributes)
    wanted: Any = evaluate_module(net.finish(plain), [x])[0]
    moved = make_net(there := np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    module = moved.finish(moved.add(RoiAlignOp, moved.inputs[0], regions, layout="NHWC", **attributes))
    check_model(module, there)
    found: Any = evaluate_module(module, [there])[0]
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), wanted, rtol=1e-5, atol=1e-5)
