"""Convolutions and poolings of one to three spatial axes, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_cases import Cases, Check, MakeNet

import whence
from whence.dialects.relay import nn
from whence.dialects.relay.convolution_transpose import (
    Conv1DTransposeOp,
    Conv2DTransposeOp,
    Conv3DTransposeOp,
    ConvTranspose,
)
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.window_indices import DeformableConv2DOp, MaxPoolWithArgmaxOp
from whence.dialects.relay.winograd import WinogradConv2DOp, WinogradWeightTransformOp

CASES = Cases()
CASES.add(nn.Conv1DOp, "2x6x17", "8x6x3", constants=1, padding=(1, 0), strides=(2,))
CASES.add(nn.Conv1DOp, "1x4x9 float64", "6x2x3 float64", groups=2, dilation=(2,))
CASES.add(nn.Conv1DOp, "1x8x20", "8x1x5", constants=1, groups=8, padding=(2,))
CASES.add(nn.Conv1DOp, "1x3x7 float16", "3x1x3 float16", groups=3, padding=(1,))
CASES.add(nn.Conv1DOp, "1x3x7", "9x1x3", constants=1, groups=3)
for layouts in ({"data_layout": "NHWC", "kernel_layout": "HWIO"}, {"data_layout": "HWNC", "kernel_layout": "HWIO"}):
    nhwc = layouts["data_layout"] == "NHWC"
    CASES.add(nn.Conv2DOp, "1x9x7x4" if nhwc else "9x7x1x4", "3x3x4x8", constants=1, padding=(1, 0), **layouts)
    CASES.add(
        nn.Conv2DOp, "1x9x7x4" if nhwc else "9x7x1x4", "3x3x2x6", constants=0, groups=2, out_layout="NCHW", **layouts
    )
CASES.add(nn.Conv2DOp, "1x6x5x8", "3x3x8x1", groups=8, data_layout="NHWC", kernel_layout="HWOI", strides=(2, 1))
CASES.add(nn.Conv2DOp, "1x8x6x5", "3x3x8x1", groups=8, kernel_layout="HWOI", padding=(1, 1))
CASES.add(WinogradWeightTransformOp, "5x6x3x3", constants=1)
CASES.add(WinogradConv2DOp, "2x6x7x10", "4x4x20x6", constants=1, padding=(1, 0, 2, 1))
CASES.add(WinogradConv2DOp, "1x9x8x16", "4x4x4x16", padding=(1, 1), data_layout="NHWC", out_layout="NCHW")
CASES.add(nn.Conv1DOp, "2x9x4 float16", "3x4x5 float16", data_layout="NWC", kernel_layout="WIO")
CASES.add(nn.Conv3DOp, "1x4x5x6x7", "8x4x3x3x3", constants=1, padding=(1, 1, 1), strides=(1, 2, 1))
CASES.add(nn.Conv3DOp, "1x1x6x1x4 float64", "2x1x1x1x1 float64")
CASES.add(nn.Conv3DOp, "2x3x4x4x4", "5x3x2x1x3", padding=(0, 0, 1, 1, 0, 1), dilation=(1, 1, 2))
CASES.add(nn.Conv3DOp, "1x16x3x5x5", "16x1x3x3x3", constants=1, groups=16, padding=(1,))
CASES.add(Conv1DTransposeOp, "2x4x7", "4x3x4", constants=1, strides=(3,), padding=(2, 1), dilation=(2,))
CASES.add(Conv1DTransposeOp, "1x2x4 float16", "2x1x2 float16", strides=(3,), output_padding=(2,))
CASES.add(Conv2DTransposeOp, "1x6x5x4", "6x2x3x4", groups=2, strides=(2, 1), padding=(1, 0), output_padding=(1, 0))
CASES.add(Conv2DTransposeOp, "1x16x6x6", "16x16x4x4", constants=1, strides=(2, 2), padding=(1, 1))
CASES.add(Conv2DTransposeOp, "1x1x5x5", "1x1x2x2", constants=1, strides=(2, 2), padding=(4, 3))
CASES.add(Conv3DTransposeOp, "1x2x2x3x3", "2x2x2x3x1", constants=1, strides=(2, 1, 2), dilation=(1, 2, 1))
for max_pool, avg_pool, image in (
    (nn.MaxPool1DOp, nn.AvgPool1DOp, (13,)),
    (nn.MaxPool3DOp, nn.AvgPool3DOp, (3, 4, 6)),
):
    rank = len(image)
    text = "x".join(map(str, (2, 3, *image)))
    window: dict[str, Any] = {"pool_size": (3,) * rank, "strides": (2,) * rank, "padding": (1,) * rank}
    CASES.add(max_pool, f"{text} int8", **window, ceil_mode=True)
    CASES.add(avg_pool, text, **window, ceil_mode=True)
    # A dtype or an attribute is the same along more axes.
    if rank == 1:
        CASES.add(max_pool, text, **window)
        CASES.add(avg_pool, f"{text} float16", **window, count_include_pad=True)
    else:
        CASES.add(avg_pool, text, pool_size=(2,) * rank, dilation=(2,) * rank)
# Wide windows that overlap are reduced one axis at a time.
WIDE: dict[str, Any] = {"pool_size": (7, 6), "dilation": (1, 2), "padding": (3, 5, 2, 5), "ceil_mode": True}
CASES.add(nn.MaxPool2DOp, "1x3x12x19", **WIDE)
CASES.add(nn.MaxPool2DOp, "1x2x12x15x8 int8", **WIDE, layout="NCHW8c")
CASES.add(nn.AvgPool2DOp, "2x2x11x14 float16", **WIDE)
CASES.add(nn.AvgPool2DOp, "1x13x12x5", pool_size=(7, 7), padding=(3,), layout="NHWC", count_include_pad=True)
CASES.add(nn.MaxPool3DOp, "1x2x6x7x9", pool_size=(3, 4, 4), padding=(1,))
CASES.add(nn.MaxPool3DOp, "1x2x4x5x6x8", pool_size=(2, 2, 2), layout="NCDHW8c")
for kind in (nn.AdaptiveMaxPool1DOp, nn.AdaptiveAvgPool1DOp):
    CASES.add(kind, "2x3x10", output_size=(4,))
    CASES.add(kind, "2x3x5", output_size=(7,))
for kind in (nn.AdaptiveMaxPool2DOp, nn.AdaptiveAvgPool2DOp):
    CASES.add(kind, "1x3x7x12", output_size=(3, 4))
    CASES.add(kind, "1x3x6x6 float16", output_size=(1,))
    CASES.add(kind, "1x2x5x4", output_size=())
for kind in (nn.AdaptiveMaxPool3DOp, nn.AdaptiveAvgPool3DOp):
    CASES.add(kind, "1x2x5x4x6", output_size=(2, 3, 4))
for storage_order in (0, 1):
    CASES.add(
        MaxPoolWithArgmaxOp,
        "2x3x7x6",
        pool_size=(3, 2),
        strides=(2, 1),
        dilation=(1, 2),
        padding=(1, 0, 1, 1),
        storage_order=storage_order,
    )
INT8 = np.full((1, 1, 5), -128, np.int8)
CASES.add(MaxPoolWithArgmaxOp, INT8, pool_size=(3,), strides=(1,), dilation=(1,), padding=(1, 1))
CASES.add(
    DeformableConv2DOp, "1x4x6x5", "1x36x6x5", "6x2x3x3", "1x18x6x5", padding=(1, 1), groups=2, deformable_groups=2
)
CASES.add(DeformableConv2DOp, "2x3x7x7", "2x8x3x3", "5x3x2x2", None, strides=(2, 2), dilation=(2, 2))


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


def test_transposed_convolutions_as_they_are_declared(make_net: MakeNet, check_model: Check):
    """At opt level 0, which makes no convolutions of them."""
    cases = [case for kind in CASES.kinds if issubclass(kind, ConvTranspose) for case in CASES.by_kind[kind]]
    inputs = [array for case in cases for array in case.inputs]
    net = make_net(*inputs)
    values = iter(net.inputs)
    results = [net.add(case.kind, next(values), next(values), **case.attributes) for case in cases]
    check_model(net.finish(*results), *inputs, levels=(0,))


@pytest.mark.parametrize(("size", "strides", "stages"), [((9, 9), (1, 1), 2), ((9, 9), (9, 9), 1), ((3, 3), (1, 1), 1)])
def test_only_wide_windows_that_overlap_are_reduced_one_axis_at_a_time(
    size: tuple[int, int], strides: tuple[int, int], stages: int, make_net: MakeNet
):
    x = np.zeros((1, 2, 30, 30), np.float32)
    net = make_net(x)
    exe = whence.compile(net.finish(net.add(nn.MaxPool2DOp, net.inputs[0], pool_size=size, strides=strides)))
    assert exe.get_source(0, "te").count("pool_max") == stages
