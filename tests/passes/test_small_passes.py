"""Relay passes of one pattern each: when they fire, when not, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from relay_nets import Net, check, layers, main_of, names
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn, qnn_products
from whence.dialects.relay import transform as t
from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.rearrange import BatchToSpaceNdOp, SpaceToBatchNdOp
from whence.passes.relay.annotate_spans import AnnotateSpansPass
from whence.passes.relay.canonicalize_cast import CanonicalizeCastPass
from whence.passes.relay.capture_postdfsindex_in_spans import CapturePostDfsIndexInSpansPass
from whence.passes.relay.defuse_ops import DefuseOpsPass
from whence.passes.relay.div_to_mul import DivToMulPass
from whence.passes.relay.fast_math import FastMathPass
from whence.passes.relay.flatten_atrous_conv import FlattenAtrousConvPass
from whence.passes.relay.fold_explicit_padding import FoldExplicitPaddingPass
from whence.passes.relay.fuse_ops import FuseOpsPass
from whence.passes.relay.label_ops import LabelOpsPass
from whence.passes.relay.remove_standalone_reshapes import RemoveStandaloneReshapesPass
from whence.passes.relay.simplify_fc_transpose import SimplifyFCTransposePass
from whence.provenance.span import leaves

RNG = np.random.default_rng(11)
F = np.float32
Array = npt.NDArray[Any]
Build = Callable[[Net, SSAValue], SSAValue]


def normal(*shape: int) -> npt.NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(F)


def left(x: Array, build: Build, one: Any, tolerance: float = 1e-5) -> list[str]:
    net = Net(x)
    net.finish(build(net, net.inputs[0]))
    check(net, one, tolerance=tolerance)
    return names(net.module)


def padded(value: float, *width: int, mode: str = "constant") -> Build:
    return lambda n, x: n(t.PadOp, x, np.array(value, F), pad_width=width, pad_mode=mode)


LOWEST = -np.inf
IMAGE = normal(2, 4, 6, 7)
OUTER, SPATIAL = (0, 0, 1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 1, 2, 0, 3)
PADS: dict[str, tuple[Build, type[Operator], dict[str, Any], bool]] = {
    "conv": (padded(0, *SPATIAL), nn.Conv2DOp, {}, True),
    "conv that pads": (padded(0, *SPATIAL), nn.Conv2DOp, {"padding": (1, 0, 0, 2), "strides": (2, 2)}, True),
    "conv, another number": (padded(1, *SPATIAL), nn.Conv2DOp, {}, False),
    "conv, negative zero": (padded(-0.0, *SPATIAL), nn.Conv2DOp, {}, False),
    "conv, edges": (padded(0, *SPATIAL, mode="edge"), nn.Conv2DOp, {}, False),
    "conv, NHWC": (padded(0, 0, 0, 1, 2, 0, 3, 0, 0), nn.Conv2DOp, {"data_layout": "NHWC"}, True),
    "conv, channels": (padded(0, *OUTER), nn.Conv2DOp, {}, False),
    "max": (padded(LOWEST, *SPATIAL), nn.MaxPool2DOp, {"pool_size": (2, 3)}, True),
    "max, dilated": (padded(LOWEST, *SPATIAL), nn.MaxPool2DOp, {"pool_size": (2, 2), "dilation": (2, 2)}, True),
    "max of zeros": (padded(0, *SPATIAL), nn.MaxPool2DOp, {"pool_size": (2, 3)}, False),
    "average": (padded(0, *SPATIAL), nn.AvgPool2DOp, {"pool_size": (2, 3)}, True),
    "average that counts": (
        padded(0, *SPATIAL),
        nn.AvgPool2DOp,
        {"pool_size": (2, 3), "padding": (1, 1), "count_include_pad": True},
        True,
    ),
    "average that does not": (padded(0, *SPATIAL), nn.AvgPool2DOp, {"pool_size": (2, 3), "padding": (1, 1)}, False),
    "average, ceil": (
        padded(0, *SPATIAL),
        nn.AvgPool2DOp,
        {"pool_size": (2, 2), "strides": (3, 3), "ceil_mode": True},
        False,
    ),
}


@pytest.mark.parametrize("case", PADS)
def test_explicit_padding(case: str) -> None:
    pad, cls, attributes, folds = PADS[case]

    def build(n: Net, x: SSAValue) -> SSAValue:
        depth = 7 if "data_layout" in attributes else 5 if "channels" in case else 4
        weights = [n.random(3, depth, 3, 3)] if cls is nn.Conv2DOp else []
        return n(cls, pad(n, x), *weights, **attributes)

    assert ("nn.pad" not in left(IMAGE, build, FoldExplicitPaddingPass())) == folds


def test_padding_that_others_read_stays() -> None:
    net = Net(IMAGE)
    pad = padded(0, *SPATIAL)(net, net.inputs[0])
    net.finish(net(nn.Conv2DOp, pad, net.random(3, 4, 3, 3)), net(e.ReluOp, pad))
    check(net, FoldExplicitPaddingPass())
    assert names(net.module) == ["nn.pad", "nn.conv2d", "nn.relu"]


@pytest.mark.parametrize(("value", "folds"), [(3, True), (0, False)])
def test_padding_by_the_zero_point(value: int, folds: bool) -> None:
    x = RNG.integers(-128, 128, (1, 2, 5, 5)).astype(np.int8)
    scale = np.array(0.1, F)

    def build(n: Net, x: SSAValue) -> SSAValue:
        pad = n(t.PadOp, x, np.array(value, np.int8), pad_width=(0, 0, 0, 0, 1, 1, 1, 1))
        weight = RNG.integers(-128, 128, (3, 2, 3, 3)).astype(np.int8)
        points = np.array(3, np.int32), np.array(0, np.int32)
        return n(qnn_products.Conv2DOp, pad, weight, *points, scale, scale)

    assert ("nn.pad" not in left(x, build, FoldExplicitPaddingPass(), 0)) == folds


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize(
    ("pads", "own", "crops", "folds"),
    [
        ((2, 2, 3, 3), (0, 0), (0, 0, 0, 0), True),
        ((4, 4, 3, 3), (0, 0), (1, 2, 3, 0), True),
        ((0, 0, 0, 0), (1, 1), (0, 0, 0, 0), True),
        ((0, 0, 0, 0), (0, 0), (1, 0, 0, 0), False),
    ],
)
def test_atrous_convolutions(
    layout: str, pads: tuple[int, ...], own: tuple[int, int], crops: tuple[int, ...], folds: bool
) -> None:
    """Blocks of 2 rows and 3 columns."""
    plain = layout == "NCHW"
    extra = {"blocks": (1,), "zeros": (0, 0)} if plain else {"blocks": (), "zeros": ()}
    x = normal(2, 3, 10, 12) if plain else normal(2, 10, 12, 3)

    def build(n: Net, x: SSAValue) -> SSAValue:
        blocks = (*extra["blocks"], 2, 3)
        x = n(SpaceToBatchNdOp, x, block_shape=blocks, paddings=(*extra["zeros"], *pads))
        x = n(nn.Conv2DOp, x, n.random(4, 3, 3, 3), padding=own, data_layout=layout)
        return n(BatchToSpaceNdOp, x, block_shape=blocks, crops=(*extra["zeros"], *crops))

    assert (left(x, build, FlattenAtrousConvPass()) == ["nn.conv2d"]) == folds


@pytest.mark.parametrize(("value", "folds"), [(3, True), (0, False)])
def test_atrous_convolutions_of_bytes_pad_with_the_zero_point(value: int, folds: bool) -> None:
    x = RNG.integers(-128, 128, (1, 5, 5, 4)).astype(np.int8)
    scale = np.array(0.1, F)

    def build(n: Net, x: SSAValue) -> SSAValue:
        x = n(SpaceToBatchNdOp, x, block_shape=(2, 2), paddings=(2, 3, 2, 3), pad_value=float(value))
        weight = RNG.integers(-128, 128, (3, 3, 4, 2)).astype(np.int8)
        points = np.array(3, np.int32), np.array(0, np.int32)
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        x = n(qnn_products.Conv2DOp, x, weight, *points, scale, scale, **layouts)
        return n(BatchToSpaceNdOp, x, block_shape=(2, 2), crops=(0, 1, 0, 1))

    assert (left(x, build, FlattenAtrousConvPass(), 0) == ["qnn.conv2d"]) == folds


@pytest.mark.parametrize(("cls", "attributes"), [(e.NegativeOp, {}), (nn.Conv2DOp, {"strides": (2, 2)})])
def test_other_things_between_batches_stay(cls: type[Operator], attributes: dict[str, Any]) -> None:
    def build(n: Net, x: SSAValue) -> SSAValue:
        x = n(SpaceToBatchNdOp, x, block_shape=(2, 2), paddings=(2, 2, 2, 2))
        weights = [n.random(4, 3, 3, 3)] if cls is nn.Conv2DOp else []
        x = n(cls, x, *weights, **({**attributes, "data_layout": "NHWC"} if weights else {}))
        return n(BatchToSpaceNdOp, x, block_shape=(2, 2), crops=(0, 0, 0, 0))

    assert len(left(normal(1, 8, 8, 3), build, FlattenAtrousConvPass())) == 3


@pytest.mark.parametrize(
    ("start", "to", "casts"), [("int8", "int32", 2), ("int32", "int8", 1), ("int32", "float32", 1)]
)
def test_a_cast_for_each_reader(start: str, to: str, casts: int) -> None:
    def build(n: Net, x: SSAValue) -> SSAValue:
        wide = n(e.CastOp, x, dtype=to)
        one = np.array(1, to)
        return n(e.MultiplyOp, n(e.AddOp, wide, one), n(e.SubtractOp, wide, wide))

    x = RNG.integers(-100, 100, 6).astype(start)
    assert left(x, build, CanonicalizeCastPass(), 0).count("cast") == casts


def test_a_reader_that_takes_in_no_cast_leaves_the_first() -> None:
    net = Net(RNG.integers(-100, 100, (4, 4)).astype(np.int8))
    wide = net(e.CastOp, net.inputs[0], dtype="int32")
    net.finish(net(e.AddOp, wide, np.array(1, np.int32)), wide, net(e.NegativeOp, wide))
    check(net, CanonicalizeCastPass(), tolerance=0)
    assert layers(net.module)["cast"] == [("layer1",)] * 3


@pytest.mark.parametrize(
    ("divisor", "divides"),
    [
        (3.0, False),
        (0.0, False),
        (-0.0, False),
        (np.inf, False),
        (np.nan, False),
        (1e-39, True),
        (3e38, True),
        ([1.0, 2.0, -4.0], False),
        ([1.0, 2.0, 1e-40], True),
    ],
)
def test_divisions_by_constants(divisor: Any, divides: bool) -> None:
    x = np.array([[1e-30, 0, -0.0], [np.inf, np.nan, -3]], F)
    found = left(x, lambda n, x: n(e.DivideOp, x, np.array(divisor, F)), DivToMulPass(), 1e-6)
    assert found == ["divide" if divides else "multiply"]


def test_integers_are_divided() -> None:
    x = RNG.integers(-100, 100, 6).astype(np.int32)
    assert left(x, lambda n, x: n(e.DivideOp, x, np.array(3, np.int32)), DivToMulPass(), 0) == ["divide"]


def test_weights_are_transposed_now() -> None:
    net = Net(normal(2, 4))
    turned = net(t.TransposeOp, net.random(4, 3), axes=(1, 0))
    net.finish(net(nn.DenseOp, net.inputs[0], turned), net(t.TransposeOp, net.random(4, 3)))
    check(net, SimplifyFCTransposePass())
    assert names(net.module) == ["nn.dense", "transpose"]
    assert layers(net.module)["constant"][0] == ("layer1", "layer1.p0")


def test_fast_functions() -> None:
    def build(n: Net, x: SSAValue) -> SSAValue:
        return n(e.ErfOp, n(nn.SoftmaxOp, n(e.TanhOp, n(e.ExpOp, x)), axis=0))

    fast = ["fast_exp", "fast_tanh", "nn.fast_softmax", "fast_erf"]
    assert left(normal(3, 4), build, FastMathPass(), 0) == fast


def network() -> Net:
    net = Net(normal(2, 4))
    (x,) = net.inputs
    shared = net(e.ReluOp, net(nn.DenseOp, x, net.random(4, 4)))
    other = net(e.MultiplyOp, net(nn.DenseOp, shared, net.random(4, 4)), np.array(2, F))
    net.finish(net(t.ConcatenateOp, net(e.AddOp, shared, other), x), other)
    return net


def test_defused_is_what_was_fused() -> None:
    net = network()
    before, where = names(net.module), layers(net.module)
    check(net, FuseOpsPass())
    assert names(net.module) == []
    check(net, DefuseOpsPass())
    assert sorted(names(net.module)) == sorted(before)
    assert {k: sorted(v) for k, v in layers(net.module).items() if k != "constant"} == {
        k: sorted(v) for k, v in where.items() if k != "constant"
    }
    assert [op.sym_name.data for op in net.module.ops if isinstance(op, FuncOp)] == ["main"]


def test_reshapes_go_into_every_kernel_that_reads_them() -> None:
    net = Net(normal(2, 3, 4))
    (x,) = net.inputs
    flat = net(t.ReshapeOp, net(t.ExpandDimsOp, net(nn.SoftmaxOp, x), axis=0), newshape=(6, 4))
    twice = net(nn.BatchMatmulOp, x, x)
    last = net(t.ReshapeOp, net(nn.SoftmaxOp, twice), newshape=(18,))
    net.finish(net(nn.SoftmaxOp, flat), net(nn.DenseOp, flat, flat), last)
    check(net, FuseOpsPass(opt_level=0), RemoveStandaloneReshapesPass())
    kernels = [op.sym_name.data for op in net.module.ops if isinstance(op, FuncOp)][1:]
    assert [name.rstrip("_0123456789") for name in kernels] == [
        "fused_nn_softmax",
        "fused_nn_batch_matmul",
        "fused_nn_softmax",
        "fused_reshape",
        "fused_nn_softmax",
        "fused_nn_dense",
    ]


def hashes(module: ModuleOp) -> list[str]:
    found = [op.attributes.get("hash") for op in module.ops if isinstance(op, FuncOp)]
    return [one.data for one in found if isinstance(one, StringAttr)]


def test_equal_functions_have_equal_hashes() -> None:
    net = Net(normal(2, 4))
    (x,) = net.inputs
    for _ in range(2):
        x = net(e.TanhOp, net(nn.DenseOp, x, net.random(4, 4)))
    net.finish(net(nn.DenseOp, x, net.random(4, 4)))
    check(net, FuseOpsPass(), LabelOpsPass())
    one, two, three = hashes(net.module)
    assert one == two != three
    assert len(one) == 16
    assert int(one, 16)
    check(net, LabelOpsPass())
    assert hashes(net.module) == [one, two, three]


def test_indices_and_places_stand_behind_the_layers() -> None:
    net = network()
    check(net, CapturePostDfsIndexInSpansPass(), AnnotateSpansPass())
    found = [
        [str(leaf) for leaf in leaves(op.location)] for op in main_of(net.module).block.ops if isinstance(op, Operator)
    ]
    assert [len(one) for one in found] == [3] * len(found)
    assert [one[1] for one in found] == [
        *('loc("index":0:1)', 'loc("index":1:0)', 'loc("index":2:3)', 'loc("index":3:0)'),
        *('loc("index":4:5)', 'loc("index":6:0)'),
    ]
    lines = str(net.module).splitlines()
    for op, one in zip((op for op in main_of(net.module).block.ops if isinstance(op, Operator)), found, strict=True):
        line, column = (int(part) for part in one[2].rstrip(")").split(":")[1:])
        assert op.name in lines[line - 1]
        assert lines[line - 1][: column - 1].isspace()
