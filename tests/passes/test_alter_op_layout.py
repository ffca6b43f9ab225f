"""relay-alter-op-layout: the same numbers before and after, and transforms only at the edges of a blocked region."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

from whence.dialects.relay import elementwise, nn, transform, winograd
from whence.dialects.relay.attributes import Value
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator, shape_of
from whence.dialects.relay.reduce import VarianceOp
from whence.frontends.onnx import from_onnx
from whence.passes.relay.alter_op_layout import AlterOpLayoutPass, panel_width
from whence.passes.relay.canonicalize_ops import CanonicalizeOpsPass
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.passes.relay.simplify_inference import SimplifyInferencePass
from whence.provenance.audit import check_explained, check_located, surviving_leaves
from whence.provenance.dce import eliminate_dead_code
from whence.provenance.ledger import Ledger, recording
from whence.provenance.span import layer_location, layer_names
from whence.support.errors import PipelineError

Array = npt.NDArray[Any]


class Net:
    """Builds a `@main` of one or more inputs; every op is a layer of its own."""

    def __init__(self, *shapes: tuple[int, ...], seed: int = 0):
        self.rng = np.random.default_rng(seed)
        types = [TensorType(f32, shape) for shape in shapes]
        self.func = FuncOp("main", types, [], location=layer_location("main", "net", 0))
        self.module = ModuleOp([self.func])
        self.inputs: list[SSAValue] = list(self.func.block.args)
        self.count = 0

    def constant(self, *shape: int) -> SSAValue:
        array = (self.rng.standard_normal(shape) * 0.2).astype(np.float32)
        op = ConstantOp.of(array, self.module, f"w{self.count}")
        return self._place(op, f"const_{self.count}").results[0]

    def _place(self, op: Any, layer: str) -> Any:
        op.location = layer_location(layer, "net", self.count)
        self.count += 1
        self.func.block.add_op(op)
        return op

    def add(self, kind: type[Operator], *operands: SSAValue, **attributes: Value) -> SSAValue:
        build: Any = kind
        return self._place(build(*operands, **attributes), f"{kind.__name__}_{self.count}").results[0]

    def conv(self, x: SSAValue, outputs: int, size: int = 3, *, groups: int = 1, **attributes: Value) -> SSAValue:
        weight = self.constant(outputs, shape_of(x)[1] // groups, size, size)
        attributes.setdefault("padding", [size // 2, size // 2])
        return self.add(nn.Conv2DOp, x, weight, groups=groups, **attributes)

    def bias(self, x: SSAValue) -> SSAValue:
        return self.add(elementwise.AddOp, x, self.constant(shape_of(x)[1], 1, 1))

    def relu(self, x: SSAValue) -> SSAValue:
        return self.add(elementwise.ReluOp, x)

    def done(self, *values: SSAValue) -> ModuleOp:
        last = ReturnOp(*values)
        last.location = layer_location("return", "net", self.count)
        self.func.block.add_op(last)
        self.func.update_type()
        self.module.verify()
        return self.module


def random_inputs(module: ModuleOp) -> list[Array]:
    rng = np.random.default_rng(1)
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    return [rng.standard_normal(shape_of(arg)).astype(np.float32) for arg in main.block.args]


def transforms(module: ModuleOp) -> list[str]:
    """The transforms that run, as `NCHW->NCHW16c`."""
    found = (op for op in module.walk() if isinstance(op, transform.LayoutTransformOp))
    return [f"{op.src_layout.data}->{op.dst_layout.data}" for op in found]


def ops(module: ModuleOp, kind: type[Operator]) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, kind)]


def alter(module: ModuleOp, lanes: int = 16, vanished: int = 0) -> ModuleOp:
    """Run the pass and fold; check numbers, locations, and that only `vanished` layers went, explained."""
    inputs = random_inputs(module)
    expected: list[Any] = list(evaluate_module(module, inputs))
    before, ledger = surviving_leaves(module), Ledger()
    with recording(ledger, AlterOpLayoutPass.name):
        AlterOpLayoutPass(lanes).apply(Context(), module)
    check_located(module, AlterOpLayoutPass.name)
    check_explained(before, module, AlterOpLayoutPass.name, ledger)
    assert len(before - surviving_leaves(module)) == vanished
    FoldConstantPass().apply(Context(), module)
    module.verify()
    computed: list[Any] = list(evaluate_module(module, inputs))
    for mine, wanted in zip(computed, expected, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-4)
    dead = len(list(module.walk()))
    eliminate_dead_code(module.body)
    assert len(list(module.walk())) == dead, "the passes left dead ops"
    return module


@pytest.mark.parametrize(
    ("channels", "outputs", "attributes", "layouts"),
    [
        (3, 32, {}, ("NCHW3c", "OIHW3i16o", "NCHW16c")),
        (32, 24, {"strides": [2, 2]}, ("NCHW16c", "OIHW16i24o", "NCHW24c")),
        (104, 40, {}, ("NCHW13c", "OIHW13i40o", "NCHW40c")),
        (32, 64, {"groups": 4, "dilation": [2, 1]}, ("NCHW8c", "OIHW8i16o", "NCHW16c")),
        (32, 32, {"groups": 32, "padding": [0, 1, 2, 0]}, ("NCHW16c", "OIHW1i16o", "NCHW16c")),
        (20, 20, {"groups": 20, "channels": 20, "kernel_size": [3, 3]}, ("NCHW20c", "OIHW1i20o", "NCHW20c")),
        (5, 7, {"out_layout": "NCHW"}, ("NCHW5c", "OIHW5i7o", "NCHW7c")),
        (8, 16, {"groups": 8}, ("NCHW1c", "OIHW1i2o", "NCHW2c")),
    ],
)
def test_convolution(channels: int, outputs: int, attributes: dict[str, Any], layouts: tuple[str, str, str]) -> None:
    net = Net((2, channels, 9, 8))
    module = alter(net.done(net.conv(net.inputs[0], outputs, **attributes)))
    depthwise = attributes.get("groups") == channels == outputs
    (conv,) = ops(module, nn.ContribDepthwiseConv2DNCHWcOp if depthwise else nn.ContribConv2DNCHWcOp)
    assert (conv.data_layout.data, conv.kernel_layout.data, conv.out_layout.data) == layouts
    assert isinstance(conv.weight.owner, ConstantOp)
    assert transforms(module) == [f"NCHW->{layouts[0]}", f"{layouts[2]}->NCHW"]
    assert layer_names(conv.location) == (f"Conv2DOp_{net.count - 1}",)


def test_channels_that_no_block_divides() -> None:
    """Filters of zeros fill the last block; what they give is taken away, and nobody reads it."""
    net = Net((1, 6, 7, 5))
    module = alter(net.done(net.conv(net.inputs[0], 67)))
    (conv,) = ops(module, nn.ContribConv2DNCHWcOp)
    assert shape_of(conv.weight) == (5, 1, 3, 3, 6, 16)
    (cut,) = ops(module, transform.StridedSliceOp)
    assert shape_of(cut.results[0]) == (1, 67, 7, 5)
    assert layer_names(cut.location) == layer_names(conv.location) == (f"Conv2DOp_{net.count - 1}",)


def test_fewer_lanes() -> None:
    net = Net((1, 32, 5, 5))
    module = alter(net.done(net.conv(net.inputs[0], 32)), lanes=8)
    assert transforms(module) == ["NCHW->NCHW8c", "NCHW8c->NCHW"]


def test_convolutions_left_alone() -> None:
    net = Net((1, 8, 6, 6), (16, 8, 3, 3))
    x, weight = net.inputs
    variable = net.add(nn.Conv2DOp, x, weight)
    nhwc = net.add(transform.LayoutTransformOp, x, src_layout="NCHW", dst_layout="NHWC")
    other = net.add(nn.Conv2DOp, nhwc, net.constant(3, 3, 8, 4), data_layout="NHWC", kernel_layout="HWIO")
    module = alter(net.done(variable, other))
    assert len(ops(module, nn.Conv2DOp)) == 2
    assert transforms(module) == ["NCHW->NHWC"]


@pytest.mark.parametrize(
    ("rows", "width"),
    [
        (1000, 48),
        (128, 64),
        (96, 48),
        (32, 32),
        (80, 16),
        (48, 48),
        (10, 10),
        (100, 64),
        (17, 17),
        (65, 48),
        (50257, 64),
    ],
)
def test_panel_width(rows: int, width: int) -> None:
    assert panel_width(rows) == width


@pytest.mark.parametrize(("rows", "layout"), [(128, "NC64n"), (1000, "NC48n"), (10, "NC10n"), (17, "NC17n"), (3, None)])
def test_dense(rows: int, layout: str | None) -> None:
    net = Net((4, 12))
    module = alter(net.done(net.add(nn.DenseOp, net.inputs[0], net.constant(rows, 12), units=rows)))
    assert transforms(module) == []
    if layout is None:
        assert len(ops(module, nn.DenseOp)) == 1
    else:
        (dense,) = ops(module, nn.ContribDensePackOp)
        assert dense.weight_layout.data == layout
        assert shape_of(dense.weight) == (-(-rows // int(layout[2:-1])), 12, int(layout[2:-1]))


def residual_block(net: Net, x: SSAValue, inner: int, outputs: int, stride: int) -> SSAValue:
    """A bottleneck of ResNet."""
    y = net.relu(net.bias(net.conv(x, inner, 1)))
    y = net.relu(net.bias(net.conv(y, inner, 3, strides=[stride, stride])))
    y = net.bias(net.conv(y, outputs, 1))
    if stride != 1 or shape_of(x)[1] != outputs:
        x = net.bias(net.conv(x, outputs, 1, strides=[stride, stride]))
    return net.relu(net.add(elementwise.AddOp, y, x))


def test_residual_network_is_one_region() -> None:
    net = Net((1, 3, 32, 32))
    x = net.relu(net.bias(net.conv(net.inputs[0], 32, 7, strides=[2, 2])))
    x = net.add(nn.MaxPool2DOp, x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])
    for outputs, stride in ((64, 1), (64, 1), (128, 2), (128, 1)):
        x = residual_block(net, x, outputs // 4, outputs, stride)
    x = net.add(transform.BatchFlattenOp, net.add(nn.GlobalAvgPool2DOp, x))
    module = alter(net.done(net.add(nn.DenseOp, x, net.constant(10, 128))))
    assert transforms(module) == ["NCHW->NCHW3c", "NCHW16c->NCHW"]
    assert not ops(module, nn.Conv2DOp)
    for op in ops(module, elementwise.ReluOp):
        assert len(layer_names(op.location)) == 1, "a moved op is still one layer"


def test_resnet50_is_one_region() -> None:
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_resnet50.onnx"
    module = from_onnx(path)
    for prepare in (SimplifyInferencePass(), CanonicalizeOpsPass(), FoldConstantPass(), AlterOpLayoutPass()):
        prepare.apply(Context(), module)
    FoldConstantPass().apply(Context(), module)
    module.verify()
    assert transforms(module) == ["NCHW->NCHW3c", "NCHW16c->NCHW"]
    (last,) = (op for op in ops(module, transform.LayoutTransformOp) if op.dst_layout.data == "NCHW")
    (user,) = (use.operation for use in last.result.uses)
    assert isinstance(user, transform.ReshapeOp), "the last one stands before the flattening"
    blocked = [len(ops(module, kind)) for kind in (nn.ContribConv2DNCHWcOp, winograd.WinogradConv2DOp)]
    assert blocked == [42, 11], "all but two of 3x3 at stride 1, whose images are small"
    assert not ops(module, nn.Conv2DOp)


def test_dense_network_concatenates_blocks() -> None:
    net = Net((1, 16, 8, 8))
    x = net.conv(net.inputs[0], 32)
    for _ in range(3):
        y = net.relu(net.bias(net.add(elementwise.MultiplyOp, x, net.constant(1, shape_of(x)[1], 1, 1))))
        x = net.add(transform.ConcatenateOp, x, net.conv(y, 16), axis=1)
    module = alter(net.done(x))
    assert transforms(module) == ["NCHW->NCHW16c", "NCHW16c->NCHW"]


@pytest.mark.parametrize(
    ("branches", "inside"),
    [
        ((32, 16, 48), []),
        ((32, 24), ["NCHW16c->NCHW8c", "NCHW24c->NCHW8c"]),
        ((24, 40), ["NCHW24c->NCHW8c", "NCHW40c->NCHW8c"]),
    ],
)
def test_inception_branches(branches: tuple[int, ...], inside: list[str]) -> None:
    """Branches in unequal blocks meet in a common one, which the next convolution takes as it is."""
    net = Net((1, 16, 8, 8))
    x = net.relu(net.conv(net.inputs[0], 32))
    parts = [net.relu(net.conv(x, outputs)) for outputs in branches]
    x = net.add(transform.ConcatenateOp, *parts, axis=-3)
    x = net.conv(x, 16, 1)
    module = alter(net.done(x))
    assert transforms(module) == ["NCHW->NCHW16c", *inside, "NCHW16c->NCHW"]


def test_concatenation_without_a_common_block_stays() -> None:
    net = Net((1, 16, 4, 4))
    parts = [net.conv(net.inputs[0], 16), net.conv(net.inputs[0], 7)]
    module = alter(net.done(net.add(transform.ConcatenateOp, *parts, axis=1)))
    assert sorted(transforms(module)) == ["NCHW->NCHW16c", "NCHW16c->NCHW", "NCHW7c->NCHW"]
    (joined,) = ops(module, transform.ConcatenateOp)
    assert shape_of(joined.results[0]) == (1, 23, 4, 4)


@pytest.mark.parametrize(("convolutions", "left"), [(2, 3), (1, 2)])
def test_a_plain_part_of_a_concatenation_is_blocked_for_several(convolutions: int, left: int) -> None:
    """One transform for it and one behind, instead of one per part, if there are several."""
    net = Net((2, 16, 4, 4), (2, 16, 4, 4))
    parts = [net.conv(net.inputs[0], 16) for _ in range(convolutions)]
    module = alter(net.done(net.add(transform.ConcatenateOp, *parts, net.inputs[1], axis=1)))
    assert len(transforms(module)) == left
    (joined,) = ops(module, transform.ConcatenateOp)
    assert len(shape_of(joined.results[0])) == (5 if convolutions > 1 else 4)


def test_concatenation_along_rows_and_with_a_constant() -> None:
    net = Net((1, 16, 4, 4))
    x = net.add(transform.ConcatenateOp, net.conv(net.inputs[0], 16), net.constant(1, 16, 2, 4), axis=2)
    x = net.add(transform.ConcatenateOp, x, net.constant(1, 32, 6, 4), axis=1)
    assert transforms(alter(net.done(x))) == ["NCHW->NCHW16c", "NCHW16c->NCHW"]


def test_channel_shuffle_has_one_pair_of_transforms() -> None:
    net = Net((1, 32, 6, 6))
    x = net.relu(net.conv(net.inputs[0], 32, 1, groups=2))
    x = net.add(transform.ReshapeOp, x, newshape=[1, 2, 16, 6, 6])
    x = net.add(transform.ReshapeOp, net.add(transform.TransposeOp, x, axes=[0, 2, 1, 3, 4]), newshape=[1, 32, 6, 6])
    x = net.conv(net.conv(x, 32, groups=32), 32, 1, groups=2)
    module = alter(net.done(x))
    assert transforms(module) == ["NCHW->NCHW16c", "NCHW16c->NCHW"] * 2


def test_squeeze_and_excite() -> None:
    net = Net((1, 16, 8, 8))
    x = net.conv(net.inputs[0], 32)
    x = net.add(elementwise.MultiplyOp, x, net.add(elementwise.SigmoidOp, x))
    gate = net.conv(net.add(nn.GlobalAvgPool2DOp, x), 8, 1)
    gate = net.add(elementwise.SigmoidOp, net.conv(net.relu(gate), 32, 1))
    x = net.conv(net.add(elementwise.MultiplyOp, x, gate), 16)
    assert transforms(alter(net.done(x))) == ["NCHW->NCHW16c", "NCHW16c->NCHW"]


def test_gate_from_a_dense_layer_is_blocked_where_it_is_small() -> None:
    net = Net((2, 16, 8, 8))
    x = net.conv(net.inputs[0], 32)
    gate = net.add(transform.BatchFlattenOp, net.add(nn.GlobalMaxPool2DOp, x))
    gate = net.add(nn.DenseOp, gate, net.constant(32, 32))
    gate = net.add(transform.ReshapeOp, gate, newshape=[2, 32, 1, 1])
    module = alter(net.done(net.add(elementwise.MultiplyOp, x, gate)))
    (product,) = ops(module, elementwise.MultiplyOp)
    assert shape_of(product.results[0]) == (2, 2, 8, 8, 16)


def test_one_channel_operands_broadcast_over_blocks() -> None:
    """A map of one channel (spatial attention), whether computed by a convolution, given, or constant."""
    net = Net((2, 16, 4, 4), (2, 1, 4, 4))
    x = net.conv(net.inputs[0], 32)
    x = net.add(elementwise.MultiplyOp, net.conv(x, 1), x)
    x = net.add(elementwise.SubtractOp, net.inputs[1], x)
    x = net.add(elementwise.AddOp, x, net.constant(4))
    x = net.add(elementwise.AddOp, net.constant(1), x)
    module = alter(net.done(x))
    (product,) = ops(module, elementwise.MultiplyOp)
    assert shape_of(product.results[0]) == (2, 2, 4, 4, 16)
    assert transforms(module) == ["NCHW->NCHW16c", "NCHW->NCHW1c", "NCHW16c->NCHW"]


def test_one_transform_serves_equal_readers() -> None:
    net = Net((1, 16, 4, 4))
    x = net.inputs[0]
    module = alter(net.done(net.conv(x, 16), net.conv(x, 32), net.conv(x, 16, groups=16)))
    (there,) = (op for op in ops(module, transform.LayoutTransformOp) if op.src_layout.data == "NCHW")
    assert len(layer_names(there.location)) == 3, "all three layers asked for it"


def test_operands_in_other_blocks_are_brought_to_the_larger() -> None:
    net = Net((1, 16, 4, 4))
    x = net.conv(net.inputs[0], 32, groups=4)
    y = net.conv(net.inputs[0], 32)
    module = alter(net.done(net.add(elementwise.MaximumOp, x, y)))
    assert sorted(transforms(module)) == ["NCHW->NCHW16c", "NCHW->NCHW4c", "NCHW16c->NCHW", "NCHW8c->NCHW16c"]


def test_bias_add_poolings_padding_slices_and_means() -> None:
    net = Net((2, 16, 12, 12))
    x = net.add(nn.BiasAddOp, net.conv(net.inputs[0], 32), net.constant(32), axis=-3)
    x = net.add(elementwise.ClipOp, x, a_min=0.0, a_max=0.3)
    x = net.add(nn.AvgPool2DOp, x, pool_size=[3, 2], strides=[2, 1], padding=[1, 0], count_include_pad=True)
    x = net.add(nn.MaxPool2DOp, x, pool_size=[2, 2], strides=[2, 2], ceil_mode=True, layout="NCHW", out_layout="NCHW")
    x = net.add(transform.PadOp, x, net.constant(), pad_width=[0, 0, 0, 0, 1, 0, 2, 1])
    x = net.add(transform.StridedSliceOp, x, begin=[16, -3], end=[32, 100], axes=[1, 3])
    x = net.add(transform.StridedSliceOp, x, begin=[-1], end=[-9], strides=[-1], axes=[2])
    kept = net.add(transform.MeanOp, x, axis=[-1, 2], keepdims=True)
    gone = net.add(transform.MaxOp, x, axis=[0, 1], exclude=True)
    mean = net.add(transform.MeanOp, x, axis=[3], keepdims=True)
    spread = net.add(VarianceOp, x, mean, axis=[3])
    module = alter(net.done(kept, gone, spread))
    assert transforms(module) == ["NCHW->NCHW16c", *["NCHW16c->NCHW"] * 3]
    assert not ops(module, nn.BiasAddOp)


def test_what_mixes_channels_stays_plain() -> None:
    net = Net((2, 16, 8, 8), (2, 32, 8, 8))
    x = net.conv(net.inputs[0], 32)
    results = [
        net.add(transform.PadOp, x, net.constant(), pad_width=[0, 0, 0, 1, 0, 0, 0, 0]),
        net.add(transform.StridedSliceOp, x, begin=[4], end=[16], axes=[1]),
        net.add(transform.StridedSliceOp, x, begin=[16], end=[20], axes=[1]),
        net.add(transform.StridedSliceOp, x, begin=[0], end=[32], strides=[2], axes=[1]),
        net.add(transform.StridedSliceOp, x, begin=[31], end=[15], strides=[-1], axes=[1]),
        net.add(transform.SumOp, x, axis=[1]),
        net.add(nn.BiasAddOp, x, net.constant(8), axis=2),
        net.add(nn.LRNOp, x),
        net.add(elementwise.AddOp, x, net.inputs[1]),
    ]
    module = alter(net.done(*results))
    assert transforms(module) == ["NCHW->NCHW16c", "NCHW16c->NCHW"], "one transform serves all of them"


def test_transforms_merge() -> None:
    net = Net((1, 16, 4, 4))
    x = net.add(transform.LayoutTransformOp, net.inputs[0], src_layout="NCHW", dst_layout="NHWC")
    same = net.add(transform.LayoutTransformOp, x, src_layout="NHWC", dst_layout="NHWC")
    blocks = net.add(transform.LayoutTransformOp, same, src_layout="NHWC", dst_layout="NHWC8c")
    module = alter(net.done(blocks), vanished=1)
    assert transforms(module) == ["NCHW->NHWC8c"]
    (merged,) = ops(module, transform.LayoutTransformOp)
    assert len(layer_names(merged.location)) == 2


def test_transforms_are_located_at_who_asked() -> None:
    net = Net((1, 16, 4, 4))
    x = net.add(nn.MaxPool2DOp, net.relu(net.conv(net.inputs[0], 32)), pool_size=[2, 2])
    module = alter(net.done(net.bias(x)))
    (conv,) = ops(module, nn.ContribConv2DNCHWcOp)
    (pool,) = ops(module, nn.MaxPool2DOp)
    assert layer_names(pool.location)[0].startswith(nn.MaxPool2DOp.__name__)
    assert [op.location for op in ops(module, transform.LayoutTransformOp)] == [conv.location] * 2


def test_a_long_chain() -> None:
    net = Net((1, 16, 1, 1))
    x = net.conv(net.inputs[0], 16, 1)
    for _ in range(1200):
        x = net.relu(x)
    module = net.done(net.conv(x, 16, 1))
    AlterOpLayoutPass().apply(Context(), module)
    assert [t for t in transforms(module) if "OIHW" not in t] == ["NCHW->NCHW16c", "NCHW16c->NCHW"]
    assert all(len(layer_names(op.location)) == 1 for op in ops(module, elementwise.ReluOp))


def random_network(seed: int) -> ModuleOp:
    """Thirty random steps, each from the values so far."""
    net = Net((2, 8, 12, 12), seed=seed)
    rng = np.random.default_rng(seed)
    values = [net.conv(net.inputs[0], 16)]

    def pick() -> SSAValue:
        return values[int(rng.integers(max(0, len(values) - 4), len(values)))]

    for _ in range(30):
        x = pick()
        channels, rows = shape_of(x)[1:3]
        match int(rng.integers(9)):
            case 0:
                y = net.relu(net.bias(net.conv(x, int(rng.choice([6, 16, 24, 32])), int(rng.choice([1, 3])))))
            case 1:
                y = net.conv(x, channels, groups=channels)
            case 2:
                y = net.conv(x, 2 * channels if channels < 32 else channels, groups=2)
            case 3:
                mates = [v for v in values if shape_of(v)[2:] == shape_of(x)[2:]]
                y = net.add(transform.ConcatenateOp, x, mates[int(rng.integers(len(mates)))], axis=1)
            case 4:
                mates = [v for v in values if shape_of(v) == shape_of(x)]
                y = net.add(elementwise.AddOp, mates[int(rng.integers(len(mates)))], x)
            case 5 if rows > 4:
                y = net.add(nn.MaxPool2DOp, x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])
            case 6:
                y = net.add(elementwise.MultiplyOp, x, net.add(nn.GlobalAvgPool2DOp, x))
            case 7:
                y = net.add(transform.TransposeOp, x, axes=[0, 1, 3, 2])
            case _:
                y = net.add(elementwise.TanhOp, x)
        if shape_of(y)[1] > 64:
            y = net.conv(y, 16, 1)
        values.append(y)
    return net.done(values[-1], pick())


@pytest.mark.parametrize("seed", range(20))
def test_random_networks(seed: int) -> None:
    module = random_network(seed)
    eliminate_dead_code(module.body)
    alter(module)
    assert not ops(module, nn.Conv2DOp)


def test_needs_a_lane() -> None:
    with pytest.raises(PipelineError, match="relay-alter-op-layout: expected lanes of at least 1, got 0"):
        AlterOpLayoutPass(0).apply(Context(), ModuleOp([]))
