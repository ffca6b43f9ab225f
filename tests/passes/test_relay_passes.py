"""Every relay pass keeps what a network computes, locates all it makes, and explains what it drops."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from relay_nets import Net, check, names
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import transform as t
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator, shape_of
from whence.passes.pipelines import available_passes
from whence.passes.relay.canonicalize_ops import CanonicalizeOpsPass
from whence.passes.relay.dead_code_elimination import DeadCodeEliminationPass
from whence.passes.relay.eliminate_common_subexpr import EliminateCommonSubexprPass
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.passes.relay.fold_scale_axis import FoldScaleAxisPass
from whence.passes.relay.remove_unused_functions import RemoveUnusedFunctionsPass
from whence.passes.relay.simplify_expr import SimplifyExprPass
from whence.passes.relay.simplify_inference import SimplifyInferencePass
from whence.provenance.rewrite import rewrite
from whence.provenance.span import layer_location, layer_names

Array: TypeAlias = npt.NDArray[Any]


MakeNet = Callable[..., Net]


ALL = (
    RemoveUnusedFunctionsPass(),
    SimplifyInferencePass(),
    EliminateCommonSubexprPass(),
    FoldConstantPass(),
    FoldScaleAxisPass(),
    SimplifyExprPass(),
    CanonicalizeOpsPass(),
    FoldConstantPass(),
    DeadCodeEliminationPass(),
)


def batch_norm(net: Net, x: SSAValue, channels: int, **attributes: Any) -> SSAValue:
    statistics = [net.random(channels), net.random(channels), net.random(channels), net.positive(channels)]
    return net(nn.BatchNormOp, x, *statistics, **attributes)


def convolutional(net: Net) -> ModuleOp:
    """Convolutions with and without bias, batch norms, a residual, pools, dropout and a classifier."""
    (x,) = net.inputs
    x = net(nn.Conv2DOp, x, net.random(8, 3, 3, 3), padding=(1, 1))
    x = skip = net(e.ReluOp, batch_norm(net, x, 8))
    x = net(nn.Conv2DOp, x, net.random(8, 1, 3, 3), padding=(1, 1), groups=8)
    x = net(nn.BiasAddOp, x, net.random(8))
    x = net(e.LeakyReluOp, batch_norm(net, x, 8, epsilon=1e-3), alpha=0.1)
    x = net(e.AddOp, x, skip)
    x = net(nn.MaxPool2DOp, x, pool_size=(2, 2), strides=(2, 2))
    x = net(nn.LRNOp, x, size=3)
    x = net(nn.GlobalAvgPool2DOp, x)
    x = net(t.BatchFlattenOp, x)
    x = net.results(nn.DropoutOp, x)[0]
    x = net(nn.BiasAddOp, net(nn.DenseOp, x, net.random(5, 8)), net.random(5), axis=-1)
    return net.finish(net(nn.SoftmaxOp, x))


def test_convolutional_network_becomes_few_ops(make_net: MakeNet) -> None:
    net = make_net(np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(np.float32))
    convolutional(net)
    check(net, *ALL)
    assert names(net.module) == [
        *("nn.conv2d", "add", "nn.relu", "nn.conv2d", "add", "add", "nn.leaky_relu", "add"),
        *("nn.max_pool2d", "nn.lrn", "nn.global_avg_pool2d", "nn.batch_flatten", "nn.dense", "add", "nn.softmax"),
    ]


@pytest.mark.parametrize("one", [one for one in ALL if one is not ALL[0]], ids=lambda one: one.name)
def test_each_pass_alone(make_net: MakeNet, one: ModulePass) -> None:
    net = make_net(np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(np.float32))
    convolutional(net)
    check(net, one)


UNARY = [e.AbsOp, e.ErfOp, e.NegativeOp, e.ReluOp, e.SigmoidOp, e.TanhOp]
BINARY = [e.AddOp, e.SubtractOp, e.MultiplyOp, e.MaximumOp]


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(make_net: MakeNet, seed: int) -> None:
    """Random DAGs with constants, neutral elements, twins, dead ends, reshapes and convolutions."""
    start = np.random.default_rng(seed).standard_normal((1, 4, 4, 4)).astype(np.float32)
    net = make_net(start, seed=seed)
    rng = np.random.default_rng(seed + 1000)
    alive: list[SSAValue | Array] = [net.inputs[0], start * 2, start.mean(axis=(2, 3), keepdims=True)]

    def value(operand: SSAValue | Array) -> SSAValue:
        return net(e.CopyOp, operand) if isinstance(operand, np.ndarray) else operand

    for _ in range(30):
        a, b = (alive[int(rng.integers(max(0, len(alive) - 6), len(alive)))] for _ in range(2))
        match int(rng.integers(9)):
            case 0:
                made = net(UNARY[int(rng.integers(len(UNARY)))], a)
            case 1:
                made = net(BINARY[int(rng.integers(len(BINARY)))], a, b)
            case 2:
                made = net(e.AddOp, a, np.zeros((1, 1, 1), np.float32))
            case 3:
                factor = net.positive(4, 1, 1) if rng.integers(2) else net.random(1)
                made = net(e.MultiplyOp, net(e.ReluOp, a), factor)
            case 4:
                flat = net(t.ReshapeOp, net(t.ReshapeOp, a, newshape=(-1,)), newshape=(1, -1))
                made = net(t.ReshapeOp, flat, newshape=shape_of(value(a)))
            case 5:
                made = net(t.TransposeOp, net(t.TransposeOp, a, axes=(0, 2, 3, 1)), axes=(0, 3, 1, 2))
            case 6 if shape_of(x := value(a)) == (1, 4, 4, 4):
                made = net(nn.Conv2DOp, x, net.random(4, 4, 1, 1) / np.float32(2))
                made = net(e.AddOp, made, net.random(4, 1, 1))
            case 7:
                made = batch_norm(net, value(a), 4)
            case _:
                x = value(a)
                net(e.SubtractOp, net(e.TanhOp, x), x)
                made = net(e.SubtractOp, net(e.TanhOp, x), x)
        alive.append(made)
    net.finish(*[value for value in alive[-3:] if isinstance(value, SSAValue)])
    check(net, *ALL, tolerance=2e-3)


@dataclass
class Scale:
    """Where a factor stands and whether it can move."""

    layout: str
    kernel: str
    groups: int
    before: bool
    relu: bool
    positive: bool
    folds: bool


SCALES = [
    Scale("NCHW", "OIHW", 1, False, False, False, True),
    Scale("NCHW", "OIHW", 2, False, True, True, True),
    Scale("NCHW", "OIHW", 2, False, True, False, False),
    Scale("NHWC", "HWIO", 1, False, True, True, True),
    Scale("NCHW", "OIHW", 1, True, False, False, True),
    Scale("NHWC", "HWIO", 1, True, True, True, True),
    Scale("NHWC", "HWIO", 1, True, True, False, False),
    Scale("NCHW", "OIHW", 4, True, True, True, True),
    Scale("NCHW", "OIHW", 2, True, True, True, False),
]


@pytest.mark.parametrize("case", SCALES, ids=str)
def test_fold_scale_axis(make_net: MakeNet, case: Scale) -> None:
    shape = (1, 4, 5, 5) if case.layout == "NCHW" else (1, 5, 5, 4)
    kernel = (4, 4 // case.groups, 3, 3) if case.kernel == "OIHW" else (3, 3, 4 // case.groups, 4)
    net = make_net(np.random.default_rng(2).standard_normal(shape).astype(np.float32))
    factor = net.positive(4) if case.positive else net.random(4)
    if case.layout == "NCHW":
        factor = factor.reshape(4, 1, 1)

    def conv(x: SSAValue) -> SSAValue:
        layouts = {"data_layout": case.layout, "kernel_layout": case.kernel, "groups": case.groups}
        return net(nn.Conv2DOp, x, net.random(*kernel), padding=(1, 0, 1, 2), **layouts)

    x = net.inputs[0]
    if case.before:
        x = net(e.MultiplyOp, factor, x)
        x = conv(net(e.ReluOp, x) if case.relu else x)
    else:
        x = net(nn.BiasAddOp, conv(x), net.random(4), axis=1 if case.layout == "NCHW" else -1)
        x = net(e.SubtractOp, net.random(1), x)
        x = net(e.MultiplyOp, net(e.ReluOp, x) if case.relu else x, factor)
    net.finish(x)
    check(net, FoldScaleAxisPass())
    assert ("multiply" in names(net.module)) != case.folds


def test_factors_in_a_row_fold_in_one_run(make_net: MakeNet) -> None:
    net = make_net(np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32))
    x = net(nn.DenseOp, net.inputs[0], net.random(6, 4))
    for _ in range(3):
        x = net(e.AddOp, net(e.MultiplyOp, x, net.random(6)), net.random(6))
    net.finish(x)
    check(net, FoldScaleAxisPass())
    assert names(net.module) == ["nn.dense", "add", "add", "add"]
    (dense,) = [op for op in net.module.walk() if isinstance(op, nn.DenseOp)]
    assert layer_names(dense.location) == ("layer1",)
    assert isinstance(weight := dense.weight.owner, ConstantOp)
    assert {name.split(".")[0] for name in layer_names(weight.location)} == {"layer1", "layer2", "layer4", "layer6"}


def test_folding_repeated_weights_keeps_them_small(make_net: MakeNet) -> None:
    net = make_net(np.ones((1, 32, 4, 4), np.float32))
    weight = np.broadcast_to(np.float32(0.5), (64, 32, 3, 3))
    net.finish(batch_norm(net, net(nn.Conv2DOp, net.inputs[0], weight), 64))
    check(net, *ALL)
    (conv,) = [op for op in net.module.walk() if isinstance(op, nn.Conv2DOp)]
    assert isinstance(constant := conv.weight.owner, ConstantOp)
    assert constant.value(net.module).strides[1:] == (0, 0, 0)
    assert constant.key is not None
    assert constant.key.data.startswith("layer1.p1")


def test_dropped_layers_have_a_reason(make_net: MakeNet) -> None:
    net = make_net(np.ones((2, 3), np.float32))
    x = net.results(nn.DropoutOp, net.inputs[0])[0]
    net(e.ExpOp, x)
    net.finish(net(e.AddOp, net(e.ReluOp, x), np.zeros(3, np.float32)))
    ledger = check(net, *ALL)
    assert names(net.module) == ["nn.relu"]
    reasons = [
        (1, "DropDropout", "inference lets the data through"),
        (2, "DeadCode", "nobody reads its result"),
        (4, "DropNeutralOperand", "its constant operand is neutral"),
    ]
    for index, pattern, reason in reasons:
        (entry,) = ledger.fate(layer_location(f"layer{index}", "net", index))
        assert entry.pattern == pattern
        assert entry.reason == reason


def test_unused_functions_take_their_layers_into_the_ledger(make_net: MakeNet) -> None:
    net = make_net(np.ones((2, 3), np.float32))
    main = net.finish(net(e.ReluOp, net.inputs[0]))
    other = FuncOp("other", [net.inputs[0].type], [net.inputs[0].type], location=layer_location("other", "net", 50))
    relu = e.ReluOp(other.block.args[0], location=layer_location("lost", "net", 51))
    returned = ReturnOp(relu)
    returned.location = layer_location("lost", "net", 51)
    other.block.add_ops([relu, returned])
    main.body.block.add_op(other)
    ledger = check(net, RemoveUnusedFunctionsPass())
    assert [op.sym_name.data for op in main.ops if isinstance(op, FuncOp)] == ["main"]
    (entry,) = ledger.fate(layer_location("lost", "net", 51))
    assert entry.reason == "@main does not reach @other"


def test_calls_are_evaluated(make_net: MakeNet) -> None:
    net = make_net(np.array([[-1, 2]], np.float32))
    x = net.inputs[0]
    square = FuncOp("square", [x.type], [x.type])
    product = e.MultiplyOp(square.block.args[0], square.block.args[0])
    square.block.add_ops([product, ReturnOp(product)])
    net.module.body.block.add_op(square)
    call = CallOp("square", [x], [x.type])
    main = next(op for op in net.module.ops if isinstance(op, FuncOp))
    main.block.add_op(call)
    net.finish(net(e.NegativeOp, call.outputs[0]))
    (result,) = evaluate_module(net.module, net.arrays)
    assert result.tolist() == [[-1, -4]]


def test_long_chains(make_net: MakeNet) -> None:
    """Deeper than the recursion limit, which is low here: no pass may recurse, nor look back at all it has done.

    All but the first chain go as passes fold them; that one all of them meet.
    """
    net = make_net(np.ones((1, 2), np.float32))
    x = y = net.inputs[0]
    c: SSAValue = net(e.CopyOp, np.ones(2, np.float32))
    for i in range(420):
        x = net(e.AddOp, x, np.full(2, i // 2 % 2, np.float32)) if i % 2 else net(e.ReluOp, x)
        y = net(t.ReshapeOp, y, newshape=(2, 1) if i % 2 else (1, 2))
        c = net(e.NegativeOp, c)
    net.finish(x, net(t.ReshapeOp, y, newshape=(1, 2)), c)
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        check(net, *ALL)
    finally:
        sys.setrecursionlimit(usual)


class SubtractToAdd(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: e.SubtractOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, [negative := e.NegativeOp(op.rhs), e.AddOp(op.lhs, negative)])


@dataclass(frozen=True)
class SubtractToAddPass(ModulePass):
    name = "subtract-to-add"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [SubtractToAdd()])


def test_a_new_pass_carries_locations_without_a_word_about_them(make_net: MakeNet) -> None:
    net = make_net(np.ones((1, 2), np.float32))
    x = net.inputs[0]
    net.finish(net(e.ReluOp, net(e.SubtractOp, x, net(e.ExpOp, x))))
    check(net, SubtractToAddPass())
    located = {op.name: layer_names(op.location) for op in net.module.walk() if isinstance(op, Operator)}
    assert located == {
        "relay.exp": ("layer1",),
        "relay.negative": ("layer2",),
        "relay.add": ("layer2",),
        "relay.nn.relu": ("layer3",),
    }


def test_every_pass_is_called_what_the_table_says() -> None:
    for one in ALL:
        assert available_passes()[one.name]() is type(one)
