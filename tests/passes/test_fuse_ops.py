"""relay-fuse-ops: TVM's groups and names, the same numbers, and the layers of each kernel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from fusion_nets import Net, functions, fuse, operators
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i32
from xdsl.ir import Operation, SSAValue

from whence.dialects.relay import elementwise as ew
from whence.dialects.relay import nn
from whence.dialects.relay import transform as tr
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.operator import Operator, OpPattern
from whence.passes.relay.fuse_ops import FuseOpsPass, kernel_name
from whence.passes.relay.fusion_graph import FusionGraph, PostDominators
from whence.provenance.ledger import Ledger, recording
from whence.provenance.span import layer_names
from whence.support.context import PassContext
from whence.support.errors import PipelineError


def test_convolution_takes_bias_and_activation() -> None:
    net = Net((1, 4, 5, 5))
    x = net.add(ew.AddOp, net.conv(net.inputs[0]), net.weight(4, 1, 1))
    module = net.done(net.add(ew.ReluOp, x))
    assert fuse(module) == ["fused_nn_conv2d_add_nn_relu"]
    kernel = functions(module)["fused_nn_conv2d_add_nn_relu"]
    assert layer_names(kernel.location) == ("relu_0", "add_0", "conv2d_0"), "the output first, then what it reads"
    assert [layer_names(arg.location) for arg in kernel.block.args] == [("input_0",), ("constant_0",), ("constant_1",)]
    assert [layer_names(op.location) for op in operators(kernel)] == [("conv2d_0",), ("add_0",), ("relu_0",)]


def test_parameters_are_located_at_who_computes_them() -> None:
    net = Net((1, 4, 5, 5))
    x = net.add(ew.ReluOp, net.conv(net.inputs[0]))
    module = net.done(net.add(ew.TanhOp, net.conv(x)))
    assert fuse(module) == ["fused_nn_conv2d_nn_relu", "fused_nn_conv2d_tanh"]
    kernel = functions(module)["fused_nn_conv2d_tanh"]
    assert layer_names(kernel.block.args[0].location) == ("relu_0",), "not the whole group of the relu"


def test_residual_addition_joins_the_first_operand() -> None:
    """The sum goes to one convolution only: the one its first operand leads to, whichever was computed first."""
    for swap in (False, True):
        net = Net((1, 4, 5, 5))
        a = net.conv(net.inputs[0])
        b = net.add(ew.TanhOp, net.conv(net.inputs[0]))
        module = net.done(net.add(ew.ReluOp, net.add(ew.AddOp, *((b, a) if swap else (a, b)))))
        wanted = {"fused_nn_conv2d_tanh", "fused_nn_conv2d_add_nn_relu"}
        if swap:
            wanted = {"fused_nn_conv2d", "fused_nn_conv2d_tanh_add_nn_relu"}
        assert set(fuse(module)) == wanted


def test_convolution_read_twice() -> None:
    """Branches that meet again in an elementwise operator are one group; those that do not are none."""
    net = Net((1, 4, 5, 5))
    x = net.conv(net.inputs[0])
    x = net.add(ew.MultiplyOp, x, net.add(ew.SigmoidOp, x))
    a, b = net.add(ew.TanhOp, net.conv(x)), net.conv(x)
    assert fuse(net.done(a, b)) == ["fused_nn_conv2d_sigmoid_multiply", "fused_nn_conv2d_tanh", "fused_nn_conv2d"]


def test_convolution_does_not_take_what_broadcasts_it() -> None:
    net = Net((1, 4, 1, 1), (1, 4, 5, 5))
    x = net.add(ew.AddOp, net.conv(net.inputs[0]), net.inputs[1])
    assert fuse(net.done(x)) == ["fused_nn_conv2d", "fused_add"]


def test_elementwise_goes_into_reductions_and_nothing_comes_after() -> None:
    net = Net((2, 6))
    x = net.add(tr.SumOp, net.add(ew.ExpOp, net.inputs[0]), axis=[1])
    assert fuse(net.done(net.add(ew.LogOp, x))) == ["fused_exp_sum", "fused_log"]


def test_convolution_and_reduction_stay_apart() -> None:
    net = Net((1, 4, 5, 5))
    x = net.add(tr.MeanOp, net.add(ew.ReluOp, net.conv(net.inputs[0])), axis=[2, 3])
    assert fuse(net.done(x)) == ["fused_nn_conv2d_nn_relu", "fused_mean"]


def test_elementwise_before_a_convolution_stays_out() -> None:
    net = Net((1, 4, 5, 5))
    assert fuse(net.done(net.conv(net.add(ew.ReluOp, net.inputs[0])))) == ["fused_nn_relu", "fused_nn_conv2d"]


def test_other_operand_of_a_sum_is_computed_in_the_convolution() -> None:
    net = Net((1, 4, 5, 5), (1, 4, 5, 5))
    x = net.add(ew.AddOp, net.conv(net.inputs[0]), net.add(ew.ReluOp, net.inputs[1]))
    assert fuse(net.done(x)) == ["fused_nn_conv2d_nn_relu_add"]


def test_injective_chain_waits_for_the_convolution() -> None:
    net = Net((1, 4, 5, 5))
    x = net.add(ew.ReluOp, net.conv(net.inputs[0]))
    x = net.add(tr.TransposeOp, net.add(tr.ReshapeOp, x, newshape=[4, 25]), axes=[1, 0])
    x = net.add(ew.TanhOp, x)
    assert fuse(net.done(x)) == ["fused_nn_conv2d_nn_relu", "fused_reshape_transpose_tanh"]


def test_injective_does_not_go_into_a_reduction() -> None:
    net = Net((2, 6))
    x = net.add(tr.SumOp, net.add(tr.TransposeOp, net.inputs[0]), axis=[1])
    assert fuse(net.done(x)) == ["fused_transpose", "fused_sum"]


def test_concatenation_takes_injective_producers_but_no_convolution() -> None:
    net = Net((1, 4, 5, 5), (1, 4, 5, 5))
    parts = [
        net.add(ew.ReluOp, net.inputs[0]),
        net.add(ew.ReluOp, net.conv(net.inputs[0])),
        net.add(tr.TransposeOp, net.inputs[1], axes=[0, 1, 3, 2]),
    ]
    x = net.add(ew.TanhOp, net.add(tr.ConcatenateOp, *parts, axis=1))
    assert fuse(net.done(x)) == ["fused_nn_conv2d_nn_relu", "fused_nn_relu_transpose_concatenate_tanh"]


def test_concatenation_takes_nothing_around_a_loop() -> None:
    """The relu reaches the concatenation through a softmax, too, which may not go in."""
    net = Net((2, 3))
    x = net.add(ew.ReluOp, net.inputs[0])
    x = net.add(tr.ConcatenateOp, x, net.add(nn.SoftmaxOp, x))
    assert fuse(net.done(x)) == ["fused_nn_relu", "fused_nn_softmax", "fused_concatenate"]


def test_convolution_gets_the_sum_before_an_injective_operand() -> None:
    net = Net((1, 4, 5, 5), (1, 4, 5, 5))
    x = net.add(tr.TransposeOp, net.inputs[1], axes=[0, 1, 3, 2])
    x = net.add(ew.AddOp, x, net.conv(net.inputs[0]))
    assert fuse(net.done(x)) == ["fused_transpose", "fused_nn_conv2d_add"]


def test_returned_tuple_fields_and_concatenations_stay_outputs() -> None:
    net = Net((2, 3))
    a = net.add(ew.ExpOp, net.inputs[0])
    b = net.add(ew.TanhOp, a)
    c = net.add(tr.ConcatenateOp, a, b)
    assert fuse(net.done(b, c)) == ["fused_exp", "fused_tanh", "fused_concatenate"]


def test_value_returned_and_read_on() -> None:
    net = Net((2, 3))
    x = net.add(ew.ExpOp, net.inputs[0])
    assert fuse(net.done(x, net.add(ew.TanhOp, x))) == ["fused_exp", "fused_tanh"]


def test_opaque_stays_alone() -> None:
    net = Net((1, 4, 5, 5))
    x = net.add(nn.LRNOp, net.add(ew.ReluOp, net.inputs[0]))
    assert fuse(net.done(net.add(ew.ReluOp, x))) == ["fused_nn_relu", "fused_nn_lrn", "fused_nn_relu_1"]


def test_multiple_results_are_a_group_of_their_own() -> None:
    net = Net((1, 4, 5, 5))
    statistics = [net.constant(np.ones(4, np.float32)) for _ in range(4)]
    x, mean, _ = net.all(nn.BatchNormOp, net.conv(net.inputs[0]), *statistics)
    module = net.done(net.add(ew.ReluOp, x), mean)
    assert fuse(module) == ["fused_nn_conv2d", "fused_nn_batch_norm", "fused_nn_relu"]
    assert len(functions(module)["fused_nn_batch_norm"].function_type.outputs) == 3


def test_multiple_results_of_which_one_is_read() -> None:
    net = Net((1, 4, 5, 5))
    x = net.all(nn.DropoutOp, net.add(ew.ReluOp, net.inputs[0]))[0]
    statistics = [net.constant(np.ones(4, np.float32)) for _ in range(4)]
    x = net.all(nn.BatchNormOp, x, *statistics)[0]
    wanted = ["fused_nn_relu", "fused_nn_dropout", "fused_nn_batch_norm", "fused_tanh"]
    assert fuse(net.done(net.add(ew.TanhOp, x))) == wanted


def test_scalars_go_inside_and_weights_do_not() -> None:
    net = Net((2, 3))
    half, weight, cut = net.scalar(0.5), net.weight(3), net.constant(np.full((1, 1), 2, np.float32))
    x = net.add(ew.MultiplyOp, net.add(ew.AddOp, net.inputs[0], half), weight)
    y = net.add(tr.SumOp, net.add(ew.MinimumOp, net.add(ew.SubtractOp, x, half), cut), axis=[0])
    module = net.done(net.add(ew.AddOp, y, half))
    assert fuse(module) == ["fused_add_multiply_subtract_minimum_sum", "fused_add"]
    kernel = functions(module)["fused_add_multiply_subtract_minimum_sum"]
    inside = [op for op in kernel.block.ops if isinstance(op, ConstantOp)]
    assert [layer_names(op.location) for op in inside] == [("constant_0",), ("constant_2",)], "each once"
    assert len(kernel.block.args) == 2
    left = [op for op in functions(module)["main"].block.ops if isinstance(op, ConstantOp)]
    assert [layer_names(op.location) for op in left] == [("constant_1",)]


def test_scalars_of_uncommon_types_are_parameters() -> None:
    net = Net((2, 3))
    x = net.add(ew.CastOp, net.inputs[0], dtype="int8")
    x = net.add(ew.AddOp, x, net.constant(np.int8(1)))
    module = net.done(net.add(ew.CastOp, x, dtype="float32"))
    assert fuse(module) == ["fused_cast_add_cast"]
    assert len(functions(module)["fused_cast_add_cast"].block.args) == 2


def test_returned_scalar_and_unread_constant_stay_in_main() -> None:
    net = Net((2, 3))
    one, unread = net.scalar(1), net.scalar(2)
    module = net.done(net.add(ew.AddOp, net.inputs[0], one), one)
    assert fuse(module) == ["fused_add"]
    left = [op for op in functions(module)["main"].block.ops if isinstance(op, ConstantOp)]
    assert [op.result for op in left] == [one, unread]


def test_parameters_come_in_the_order_they_are_read_and_once() -> None:
    net = Net((2, 3), (2, 3), (2, 3))
    a, b, c = net.inputs
    x = net.add(ew.AddOp, net.add(ew.MultiplyOp, c, a), net.add(ew.SubtractOp, a, b))
    module = net.done(x)
    fuse(module)
    (call,) = (op for op in functions(module)["main"].block.ops if isinstance(op, CallOp))
    assert list(call.arguments) == [c, a, b]


def test_equal_groups_are_numbered_and_equal_groups_look_equal() -> None:
    net = Net((1, 4, 5, 5))
    x = net.inputs[0]
    for _ in range(3):
        x = net.add(ew.ReluOp, net.conv(x))
    module = net.done(x)
    names = fuse(module)
    assert names == ["fused_nn_conv2d_nn_relu", "fused_nn_conv2d_nn_relu_1", "fused_nn_conv2d_nn_relu_2"]
    for a, b in pairwise(functions(module)[name] for name in names):
        assert a.body.is_structurally_equivalent(b.body)


def test_names_already_taken() -> None:
    net = Net((2, 3))
    module = net.done(net.add(ew.ReluOp, net.inputs[0]))
    for name in ("fused_nn_relu", "fused_nn_relu_1"):
        other = FuncOp(name, [], [], primitive=True)
        other.block.add_op(ReturnOp())
        module.body.block.add_op(other)
    FuseOpsPass().apply(Context(), module)
    assert list(functions(module)) == ["main", "fused_nn_relu_2", "fused_nn_relu", "fused_nn_relu_1"]


def test_long_names_are_cut() -> None:
    net = Net((2, 3))
    x = net.inputs[0]
    for _ in range(12):
        x = net.add(ew.ReluOp, x)
    (name,) = fuse(net.done(x))
    assert name.startswith("fused" + "_nn_relu" * 9)
    assert name[80] == "_"
    assert name.endswith("_")
    assert len(name) == 98
    y = net.inputs[0]
    ops: list[Operator] = []
    for _ in range(11):
        op = ew.ReluOp(y)
        ops.append(op)
        y = op.result
    assert kernel_name(ops) != name, "names that differ past the cut differ in the hash"


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_groups_have_at_most_max_depth_operators(limit: int) -> None:
    net = Net((2, 3))
    x = net.inputs[0]
    for _ in range(10):
        x = net.add(ew.TanhOp, x)
    assert len(fuse(net.done(x), max_depth=limit)) == 10 // limit


def test_opt_level_0_leaves_every_operator_alone() -> None:
    net = Net((1, 4, 5, 5))
    x = net.add(tr.ConcatenateOp, net.add(ew.ReluOp, net.conv(net.inputs[0])), net.inputs[0], axis=1)
    alone = ["fused_nn_conv2d", "fused_nn_relu", "fused_concatenate"]
    module = net.done(x)
    again = module.clone()
    assert fuse(module, opt_level=0) == alone
    with PassContext(opt_level=0):
        assert fuse(again) == alone


def test_fusing_twice_changes_nothing() -> None:
    net = Net((1, 4, 5, 5))
    module = net.done(net.add(ew.ReluOp, net.conv(net.inputs[0])))
    fuse(module)
    before = str(module)
    FuseOpsPass().apply(Context(), module)
    assert str(module) == before


def test_a_model_without_operators() -> None:
    net = Net((2, 3))
    assert fuse(net.done(net.inputs[0])) == []


def test_max_depth_must_be_positive() -> None:
    with pytest.raises(PipelineError, match="relay-fuse-ops: expected max-depth of at least 1, got 0"):
        FuseOpsPass(max_depth=0).apply(Context(), ModuleOp([]))


def test_ledger_tells_which_kernel_a_layer_went_to() -> None:
    net = Net((2, 3))
    module = net.done(net.add(ew.TanhOp, net.add(ew.ReluOp, net.inputs[0])))
    relu = next(op for op in functions(module)["main"].block.ops).location
    ledger = Ledger()
    with recording(ledger, FuseOpsPass.name):
        FuseOpsPass().apply(Context(), module)
    assert [entry.reason for entry in ledger.fate(relu)] == ["one kernel: @fused_nn_relu_tanh"]


def test_a_long_chain_with_long_bridges() -> None:
    """Every tenth value is read again at the far end: post-dominators are found without walking the chain for each."""
    net = Net((1, 2))
    x: SSAValue = net.inputs[0]
    block = net.func.block
    early: list[SSAValue] = []
    for index in range(6_000):
        op: Operation = ew.ReluOp(x)
        block.add_op(op)
        x = op.results[0]
        if index % 10 == 0:
            early.append(x)
    for value in reversed(early):
        op = ew.AddOp(x, value)
        block.add_op(op)
        x = op.results[0]
    module = net.done(x)
    FuseOpsPass().apply(Context(), module)
    kernels = [func for func in functions(module).values() if func.primitive is not None]
    assert sum(len(operators(kernel)) for kernel in kernels) == 6_600
    assert max(len(operators(kernel)) for kernel in kernels) <= 256


def random_module(seed: int, steps: int = 40) -> ModuleOp:
    """Operators of every pattern on 4x4 values, each reading some of the latest."""
    rng = np.random.default_rng(seed)
    net = Net((4, 4), (4, 4))
    values = list(net.inputs)

    def pick() -> SSAValue:
        return values[-1 - int(rng.integers(min(len(values), 5)))]

    for _ in range(steps):
        match int(rng.integers(9)):
            case 0:
                x = net.add(nn.DenseOp, pick(), net.weight(4, 4))
            case 1:
                x = net.add(tr.TransposeOp, pick())
            case 2:
                x = net.add(ew.AddOp, net.add(tr.SumOp, pick(), axis=[1], keepdims=True), pick())
            case 3:
                joined = net.add(tr.ConcatenateOp, pick(), pick(), axis=0)
                x = net.add(tr.StridedSliceOp, joined, begin=[2], end=[6], axes=[0])
            case 4:
                x = net.add(nn.SoftmaxOp, pick())
            case 5:
                x = net.add(ew.MultiplyOp, pick(), net.scalar(0.5))
            case 6:
                x = net.add(ew.MaximumOp, pick(), net.weight(4))
            case 7:
                x = net.add(ew.TanhOp, pick())
            case _:
                x = net.add(ew.SubtractOp, pick(), pick())
        values.append(x)
    return net.done(values[-1], pick())


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs(seed: int) -> None:
    limit = (256, 7, 3)[seed % 3]
    fuse(random_module(seed), max_depth=limit)


@pytest.mark.parametrize("seed", range(15))
def test_post_dominators_against_all_paths(seed: int) -> None:
    """By the definition: the nearest node that all paths to an exit go through, and the strongest edge on the way."""
    (main,) = functions(random_module(seed, steps=25)).values()
    graph = FusionGraph.of(main.block)
    tree = PostDominators(graph)
    size = len(graph)
    everything = set(range(size))
    dominators: list[set[int]] = [set() for _ in range(size)]
    for node in reversed(range(size)):
        through = set(everything)
        for consumer, _ in graph.consumers[node]:
            through &= dominators[consumer]
        exits = graph.external[node] or not graph.consumers[node]
        dominators[node] = {node} if exits else through | {node}
    for node in range(size):
        rest = dominators[node] - {node}
        if not rest:
            assert tree.parent[node] == tree.root
            continue
        nearest = min(rest)
        assert tree.parent[node] == nearest
        strongest, stack, seen = OpPattern.ELEMWISE, [node], {node}
        while stack:
            for consumer, edge in graph.consumers[stack.pop()]:
                strongest = max(strongest, edge)
                if consumer != nearest and consumer not in seen:
                    seen.add(consumer)
                    stack.append(consumer)
        assert tree.pattern[node] == strongest


@pytest.mark.parametrize("position", range(40))
def test_post_dominator_far_away(position: int) -> None:
    """A value is read at both ends of a chain with one transposition in it, which the far edge must not forget."""
    net = Net((4, 4))
    first = x = net.add(ew.TanhOp, net.inputs[0])
    for index in range(40):
        x = net.add(tr.TransposeOp if index == position else ew.ReluOp, x)
    net.done(net.add(ew.AddOp, net.add(ew.AddOp, x, first), net.inputs[0]))
    graph = FusionGraph.of(net.func.block)
    tree = PostDominators(graph)
    start = next(node for node, op in enumerate(graph.ops) if op is not None and op.results[0] is first)
    end = graph.ops[tree.parent[start]]
    assert end is not None
    assert end.operands[1] is first
    assert tree.pattern[start] == OpPattern.INJECTIVE


def test_element_types_may_change_inside_a_group() -> None:
    net = Net((2, 3))
    module = net.done(net.add(ew.CastOp, net.add(ew.ReluOp, net.inputs[0]), dtype="int32"))
    assert fuse(module) == ["fused_nn_relu_cast"]
    (output,) = functions(module)["fused_nn_relu_cast"].function_type.outputs
    assert output == TensorType(i32, (2, 3))
