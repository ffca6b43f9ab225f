"""relay-convert-layout: which transforms are left, where, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from relay_nets import Net, check, layers, main_of, names
from xdsl.ir import SSAValue

from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn, qnn_products
from whence.dialects.relay import transform as t
from whence.dialects.relay.activation import PReluOp
from whence.dialects.relay.convolution_transpose import Conv2DTransposeOp
from whence.dialects.relay.operator import Operator, shape_of
from whence.dialects.relay.qnn import RequantizeOp
from whence.dialects.relay.rearrange import DepthToSpaceOp, SplitOp
from whence.dialects.relay.reduce import ArgMaxOp, VarianceOp
from whence.dialects.relay.resize import Resize2DOp, UpsamplingOp
from whence.dialects.relay.vision import RoiAlignOp
from whence.passes.relay.convert_layout import ConvertLayoutPass
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.support.errors import PipelineError

RNG = np.random.default_rng(8)
F = np.float32
NHWC = ConvertLayoutPass.of({"nn.conv2d": ["NHWC", "default"]})


def image(*shape: int) -> Net:
    return Net(RNG.standard_normal(shape or (1, 4, 6, 6)).astype(F))


def conv(n: Net, x: SSAValue, outputs: int = 8, size: int = 3, **attributes: Any) -> SSAValue:
    inputs = shape_of(x)[1]
    return n(nn.Conv2DOp, x, n.random(outputs, inputs, size, size), padding=(size // 2,) * 2, **attributes)


def converted(net: Net, one: ConvertLayoutPass = NHWC) -> list[str]:
    """The operators that are left, those on constants folded, after the numbers were compared."""
    check(net, one, FoldConstantPass())
    return names(net.module)


THROUGH: dict[str, Callable[[Net, SSAValue], SSAValue]] = {
    "relu": lambda n, x: n(e.ReluOp, x),
    "bias_add": lambda n, x: n(nn.BiasAddOp, x, n.random(8)),
    "a term per channel": lambda n, x: n(e.AddOp, n.random(8, 1, 1), x),
    "a factor per pixel": lambda n, x: n(e.MultiplyOp, x, n.random(6, 6)),
    "a scalar": lambda n, x: n(e.MultiplyOp, x, np.array(2, F)),
    "itself": lambda n, x: n(e.MultiplyOp, x, n(e.SigmoidOp, x)),
    "prelu": lambda n, x: n(PReluOp, x, n.random(8)),
    "batch_norm": lambda n, x: n(nn.BatchNormOp, x, n.random(8), n.random(8), n.random(8), n.positive(8)),
    "dropout": lambda n, x: n(nn.DropoutOp, x),
    "lrn": lambda n, x: n(nn.LRNOp, x, size=3),
    "softmax": lambda n, x: n(nn.SoftmaxOp, x, axis=1),
    "max_pool2d": lambda n, x: n(nn.MaxPool2DOp, x, pool_size=(2, 3), strides=(1, 2), padding=(1, 0)),
    "avg_pool2d": lambda n, x: n(nn.AvgPool2DOp, x, pool_size=(2, 2), out_layout="NCHW"),
    "resize2d": lambda n, x: n(Resize2DOp, x, size=(9, 7)),
    "upsampling": lambda n, x: n(UpsamplingOp, x, scale_h=2.0, scale_w=3.0),
    "depth_to_space": lambda n, x: n(DepthToSpaceOp, x, block_size=2),
    "concatenate": lambda n, x: n(t.ConcatenateOp, x, n(e.TanhOp, x), n.random(1, 2, 6, 6), axis=1),
    "split": lambda n, x: n.results(SplitOp, x, indices_or_sections=(2,), sections=True, axis=1)[1],
    "pad": lambda n, x: n(t.PadOp, x, np.array(1, F), pad_width=(0, 0, 1, 2, 3, 0, 0, 4)),
    "strided_slice": lambda n, x: n(t.StridedSliceOp, x, begin=(1, 5), end=(7, 0), strides=(2, -1), axes=(1, 3)),
    "mean": lambda n, x: n(t.MeanOp, x, axis=(2, 3), keepdims=True),
    "variance": lambda n, x: n(VarianceOp, x, n(t.MeanOp, x, axis=(3,), keepdims=True), axis=(3,), keepdims=True),
    "clip and cast": lambda n, x: n(e.CastOp, n(e.ClipOp, x, a_min=-1.0, a_max=1.0), dtype="float64"),
}


@pytest.mark.parametrize("case", THROUGH)
def test_transforms_sink_through(case: str) -> None:
    """One transform at the beginning, one behind what follows the convolution, where the function ends."""
    net = image()
    x = THROUGH[case](net, conv(net, net.inputs[0]))
    net.finish(x)
    left = converted(net)
    assert left.count("layout_transform") == 2
    assert (left[0], left[-1]) == ("layout_transform", "layout_transform")


@pytest.mark.parametrize("case", THROUGH)
def test_transforms_cancel(case: str) -> None:
    net = image()
    x = THROUGH[case](net, conv(net, net.inputs[0]))
    if case == "clip and cast":
        x = net(e.CastOp, x, dtype="float32")
    net.finish(conv(net, x))
    left = converted(net)
    assert left.count("layout_transform") == 2


ENDS: dict[str, tuple[Callable[[Net, SSAValue], SSAValue], int]] = {
    "mean of pixels": (lambda n, x: n(t.MeanOp, x, axis=(2, 3)), 1),
    "mean of channels": (lambda n, x: n(t.MeanOp, x, axis=(1,)), 1),
    "mean of columns": (lambda n, x: n(t.MeanOp, x, axis=(3,)), 2),
    "largest channel": (lambda n, x: n(ArgMaxOp, x, axis=(1,)), 1),
    "largest pixel": (lambda n, x: n(ArgMaxOp, x, axis=(2, 3)), 1),
    "largest of a column": (lambda n, x: n(ArgMaxOp, x, axis=(1, 2)), 2),
    "pooled and flat": (lambda n, x: n(t.BatchFlattenOp, n(nn.GlobalAvgPool2DOp, x)), 1),
    "flat": (lambda n, x: n(t.BatchFlattenOp, x), 2),
    "squeezed": (lambda n, x: n(t.SqueezeOp, n(nn.GlobalMaxPool2DOp, x), axis=(-1, 2)), 1),
}


@pytest.mark.parametrize("case", ENDS)
def test_ends(case: str) -> None:
    """Where the order of the axes that are left is the same, no transform is."""
    build, count = ENDS[case]
    net = image()
    net.finish(build(net, conv(net, net.inputs[0])))
    assert converted(net).count("layout_transform") == count


def test_a_residual_network() -> None:
    """A transform at the beginning and none at the end; each names the layer that asked."""
    net = image(2, 3, 8, 8)
    x = skip = net(e.ReluOp, conv(net, net.inputs[0]))
    for _ in range(2):
        x = net(e.ReluOp, net(nn.BiasAddOp, conv(net, x), net.random(8)))
        x = skip = net(e.AddOp, net(nn.BatchNormOp, conv(net, x), *[net.positive(8) for _ in range(4)]), skip)
    x = net(nn.DenseOp, net(t.BatchFlattenOp, net(nn.GlobalAvgPool2DOp, x)), net.random(5, 8))
    net.finish(net(nn.SoftmaxOp, x))
    assert converted(net).count("layout_transform") == 1
    assert layers(net.module)["layout_transform"] == [("layer1",)]


def test_an_operand_that_is_dear_to_move_holds_the_transform() -> None:
    net = Net(RNG.standard_normal((1, 4, 6, 6)).astype(F), RNG.standard_normal((1, 8, 6, 6)).astype(F))
    x, y = net.inputs
    net.finish(net(e.AddOp, conv(net, x), y))
    assert converted(net) == ["layout_transform", "nn.conv2d", "layout_transform", "add"]


def test_there_and_back() -> None:
    """NHWC to NCHW gives what NCHW was, but for transforms at the ends."""
    net = image()
    net.finish(conv(net, net(e.ReluOp, conv(net, net.inputs[0], groups=1)), 8, 1))
    before = names(net.module)
    converted(net)
    converted(net, ConvertLayoutPass("nn.conv2d:NCHW"))
    assert names(net.module) == before


@pytest.mark.parametrize(
    ("groups", "layouts", "kernel"),
    [
        (1, "NHWC", "HWIO"),
        (4, "NHWC", "HWOI"),
        (2, "NHWC", "HWIO"),
        (1, "NHWC,OHWI", "OHWI"),
        (1, "NCHW,HWIO", "HWIO"),
        (1, "HWNC,HWOI", "HWOI"),
    ],
)
def test_kernel_layouts(groups: int, layouts: str, kernel: str) -> None:
    net = image()
    weight = net.random(4, 4 // groups, 3, 3)
    net.finish(net(nn.Conv2DOp, net.inputs[0], weight, groups=groups))
    converted(net, ConvertLayoutPass(f"nn.conv2d:{layouts}"))
    (found,) = (op for op in main_of(net.module).block.ops if isinstance(op, nn.Conv2DOp))
    assert found.signature.str("kernel_layout") == kernel


def test_other_operators_than_convolutions() -> None:
    net = image()
    net.finish(net(nn.MaxPool2DOp, net.inputs[0], pool_size=(2, 2)), net(Resize2DOp, net.inputs[0], size=(3, 3)))
    left = converted(net, ConvertLayoutPass("nn.max_pool2d:NHWC;image.resize2d:NHWC"))
    assert left.count("layout_transform") == 3


def test_one_and_three_spatial_axes() -> None:
    for shape, cls, layout in (((1, 4, 9), nn.Conv1DOp, "NWC"), ((1, 4, 3, 4, 5), nn.Conv3DOp, "NDHWC")):
        net = image(*shape)
        net.finish(net(e.ReluOp, net(cls, net.inputs[0], net.random(2, 4, *[1] * (len(shape) - 2)))))
        name = cls.name.removeprefix("relay.")
        left = converted(net, ConvertLayoutPass(f"{name}:{layout}"))
        assert left == ["layout_transform", name, "nn.relu", "layout_transform"]


@pytest.mark.parametrize("channels", [(), (3,)])
def test_quantised_convolutions(channels: tuple[int, ...]) -> None:
    net = Net(RNG.integers(-128, 128, (1, 2, 5, 5)).astype(np.int8))
    weight = RNG.integers(-128, 128, (3, 2, 3, 3)).astype(np.int8)
    points = np.array(3, np.int32), RNG.integers(-5, 5, channels).astype(np.int32)
    scale = np.array(0.01, F)
    x = net(qnn_products.Conv2DOp, net.inputs[0], weight, *points, scale, scale)
    zero = np.array(0, np.int32)
    net.finish(net(RequantizeOp, x, np.full(3, 0.5, F), zero, scale, zero, axis=1))
    left = converted(net, ConvertLayoutPass("qnn.conv2d:NHWC"))
    assert left == ["layout_transform", "qnn.conv2d", "qnn.requantize", "layout_transform"]


def test_two_readers_of_one_value_share_a_transform() -> None:
    net = image()
    (x,) = net.inputs
    net.finish(net(e.AddOp, conv(net, x), conv(net, x, size=1)))
    assert converted(net).count("layout_transform") == 2
    assert layers(net.module)["layout_transform"][0] == ("layer1", "layer2")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nn.conv2d", "expected desired-layouts as in nn.conv2d:NHWC,HWIO, got 'nn.conv2d'"),
        ("nn.conv2d:NHW", "expected a data layout of the axes N, C, H, W for nn.conv2d, got NHW"),
        ("nn.conv2d:NCHW16h", "expected a data layout of the axes N, C, H, W for nn.conv2d, got NCHW16h"),
        ("nn.conv2d:NCHW4c,OIHW4h", "expected a kernel layout of the axes O, I, H, W for nn.conv2d, got OIHW4h"),
        ("image.resize2d:NCHW4c", "expected a data layout of the axes N, C, H, W for image.resize2d, got NCHW4c"),
        ("nn.conv2d:NHWC,HWI", "expected a kernel layout of the axes O, I, H, W for nn.conv2d, got HWI"),
        ("nn.relu:NHWC", "expected an operator that takes layouts, among .*, got 'nn.relu'"),
    ],
)
def test_bad_layouts(text: str, error: str) -> None:
    net = image()
    net.finish(net.inputs[0])
    with pytest.raises(PipelineError, match=error):
        converted(net, ConvertLayoutPass(text))


@pytest.mark.parametrize("cls", [e.ReluOp, nn.GlobalAvgPool2DOp])
def test_without_a_named_operator_nothing_changes(cls: type[Operator]) -> None:
    net = image()
    net.finish(net(cls, net.inputs[0]))
    before = str(net.module)
    converted(net)
    assert str(net.module) == before


@pytest.mark.parametrize("kernel", ["OIHW4i4o", "default"])
def test_blocks_of_channels(kernel: str) -> None:
    net = image(1, 8, 6, 6)
    y = net(e.ReluOp, net(nn.BiasAddOp, conv(net, net.inputs[0]), net.random(8)))
    pooled = net(nn.MaxPool2DOp, y, pool_size=(2, 2))
    net.finish(net(e.AddOp, conv(net, pooled), pooled))
    left = converted(net, ConvertLayoutPass.of({"nn.conv2d": ["NCHW4c", kernel]}))
    assert left[0] == left[-1] == "layout_transform"
    assert left.count("layout_transform") == 2
    (first, *_) = (op for op in net.module.walk() if isinstance(op, nn.Conv2DOp))
    assert (first.data_layout.data, first.kernel_layout.data) == ("NCHW4c", "OIHW4i4o")


def test_channels_that_blocks_do_not_divide_stay() -> None:
    net = image(1, 6, 6, 6)
    y = conv(net, net.inputs[0])
    net.finish(net(nn.Conv2DOp, y, net.random(8, 1, 3, 3), groups=8))
    assert converted(net, ConvertLayoutPass.of({"nn.conv2d": ["NCHW4c", "OIHW4i4o"]})) == ["nn.conv2d", "nn.conv2d"]
    net = image(1, 8, 6, 6)
    net.finish(net(nn.Conv2DOp, net.inputs[0], net.random(8, 1, 3, 3), groups=8))
    left = converted(net, ConvertLayoutPass.of({"nn.conv2d": ["NCHW4c", "default"]}))
    assert left == ["layout_transform", "nn.conv2d", "layout_transform"]


REGIONS = np.array([[0, 0, 0, 4, 3], [0, 1, 1.5, 5, 5]], F)


@pytest.mark.parametrize("desired", ["nn.conv2d:NHWC", "vision.roi_align:NHWC", "nn.conv2d:NHWC;vision.roi_align:NHWC"])
def test_regions_of_images(desired: str) -> None:
    net = image()
    y = net(RoiAlignOp, conv(net, net.inputs[0]), REGIONS, pooled_size=(3, 2), sample_ratio=2)
    net.finish(net(e.ReluOp, y))
    left = converted(net, ConvertLayoutPass(desired))
    assert left.count("layout_transform") == 2
    assert left[-3:] == ["vision.roi_align", "nn.relu", "layout_transform"]


def test_transposed_convolutions() -> None:
    net = image()
    y = net(Conv2DTransposeOp, conv(net, net.inputs[0]), net.random(8, 3, 2, 2), strides=(2, 2), groups=2)
    net.finish(net(e.ReluOp, y))
    left = converted(net, ConvertLayoutPass("nn.conv2d:NHWC;nn.conv2d_transpose:NHWC"))
    assert left == ["layout_transform", "nn.conv2d", "nn.conv2d_transpose", "nn.relu", "layout_transform"]
