"""Dataflow patterns: matches cut out into functions, and rewritten, with their locations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from whence.dataflow_pattern import (
    DFPatternCallback,
    is_constant,
    is_if,
    is_op,
    is_tuple,
    is_tuple_get_item,
    rewrite,
    wildcard,
)
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import rearrange as r
from whence.dialects.relay import transform as t
from whence.dialects.relay.binding import IfOp
from whence.dialects.relay.core import CallOp, FuncOp
from whence.dialects.relay.functions import YieldOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.tuples import TupleGetItemOp, TupleOp
from whence.provenance.span import layer_location, layer_names
from whence.support.errors import PipelineError

MakeNet = Callable[..., Any]
X = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)


def functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def names(func: FuncOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in func.block.ops][:-1]


def text(func: FuncOp, name: str) -> str:
    value = func.attributes[name]
    return value.data if isinstance(value, StringAttr) else str(value)


def same(module: ModuleOp, other: ModuleOp, *inputs: Any) -> None:
    module.verify()
    for mine, theirs in zip(evaluate_module(module, inputs), evaluate_module(other, inputs), strict=True):
        found: Any = mine
        expected: Any = theirs
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_match_becomes_a_function(make_net: MakeNet):
    net = make_net(X, X)
    weight = net.random(4, 3)
    dense = net(nn.DenseOp, net(e.TanhOp, net.inputs[0]), weight)
    biased = net(nn.BiasAddOp, dense, net.random(4))
    module = net.finish(net(e.NegativeOp, net(e.ReluOp, biased)), net.inputs[1])
    before = str(module)
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.dense")(wildcard(), is_constant()), wildcard()))
    result = pattern.partition(module, {"Composite": "test.dense", "Inline": 1})
    assert str(module) == before
    same(result, module, X, X)
    main, made = functions(result).values()
    assert names(main) == ["tanh", "constant", "call", "negative"]
    assert names(made) == ["constant", "nn.dense", "nn.bias_add", "nn.relu"]
    assert text(made, "PartitionedFromPattern") == "nn.dense_nn.bias_add_nn.relu_"
    assert text(made, "Composite") == "test.dense"
    assert made.attributes["Inline"] == IntegerAttr(1, 64)
    assert made.sym_name.data == "test_dense"
    call = next(op for op in main.block.ops if isinstance(op, CallOp))
    assert layer_names(call.location) == layer_names(made.location) == ("layer4", "layer3", "layer2")
    assert [layer_names(op.location) for op in made.block.ops if op.name != "relay.constant"] == [
        *(("layer2",), ("layer3",), ("layer4",), ("layer4",))
    ]
    assert [layer_names(argument.location) for argument in made.block.args] == [("layer1",), ("layer3.p1",)]


def test_matches_follow_one_another_and_a_check_refuses(make_net: MakeNet):
    net = make_net(X)
    value = net.inputs[0]
    for _ in range(3):
        value = net(e.ReluOp, net(e.TanhOp, value))
    module = net.finish(value)
    pattern = is_op("nn.relu")(is_op("tanh")(wildcard()))
    result = pattern.partition(module)
    assert names(functions(result)["main"]) == ["call"] * 3
    assert list(functions(result)) == ["main", "tanh_nn_relu", "tanh_nn_relu_1", "tanh_nn_relu_2"]
    same(result, module, X)

    def last(root: Any) -> bool:
        return layer_names(root.owner.location) == ("layer6",)

    assert names(functions(pattern.partition(module, check=last))["main"]) == ["tanh", "nn.relu"] * 2 + ["call"]


def test_what_is_used_outside_is_not_cut_out(make_net: MakeNet):
    net = make_net(X)
    inner = net(e.TanhOp, net.inputs[0])
    module = net.finish(net(e.ReluOp, inner), inner)
    assert str(is_op("nn.relu")(is_op("tanh")(wildcard())).partition(module)) == str(module)


def test_matches_do_not_overlap(make_net: MakeNet):
    net = make_net(X)
    value = net.inputs[0]
    for _ in range(5):
        value = net(e.ReluOp, value)
    module = net.finish(value)
    result = is_op("nn.relu")(is_op("nn.relu")(wildcard())).partition(module)
    assert names(functions(result)["main"]) == ["nn.relu", "call", "call"]
    same(result, module, X)


def test_constants_are_inside_where_the_pattern_says_so(make_net: MakeNet):
    net = make_net(X)
    module = net.finish(net(e.AddOp, net.inputs[0], net.random(2, 3)))
    outside = (wildcard() + wildcard()).partition(module)
    inside = (wildcard() + is_constant()).partition(module)
    unmatched = is_op("add")(None).partition(module)
    assert [len(functions(one)["add"].block.args) for one in (outside, inside, unmatched)] == [2, 1, 2]
    assert names(functions(inside)["main"]) == ["call"]
    same(inside, module, X)


def test_diamonds_are_cut_out(make_net: MakeNet):
    net = make_net(X)
    dense = net(nn.DenseOp, net.inputs[0], net.random(3, 3))
    total = net(e.AddOp, net(e.ReluOp, net(e.ReluOp, dense)), net(e.TanhOp, dense))
    module = net.finish(net(e.NegativeOp, total))
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    pattern = (wildcard() + wildcard()).dominates(is_op("nn.dense")(wildcard(), wildcard()), path)
    result = pattern.partition(module)
    assert names(functions(result)["main"]) == ["constant", "call", "negative"]
    assert len(functions(result)["main"].block.args) == 1
    same(result, module, X)


def test_an_op_that_gives_a_tuple_is_cut_out(make_net: MakeNet):
    net = make_net(X)
    parts = net.results(r.SplitOp, net(e.ReluOp, net.inputs[0]), indices_or_sections=(1,), axis=1)
    module = net.finish(net(e.TanhOp, parts[0]), parts[1])
    result = is_op("split")(is_op("nn.relu")(wildcard())).partition(module)
    assert names(functions(result)["main"]) == ["call", "tanh"]
    assert len(functions(result)["nn_relu_split"].function_type.outputs) == 2
    same(result, module, X)
    joined = make_net(X)
    split = joined.results(r.SplitOp, joined.inputs[0], indices_or_sections=(1,), axis=1)
    module = joined.finish(joined(t.ConcatenateOp, split[1], split[0], axis=1))
    is_split = is_op("split")(wildcard())
    pattern = is_op("concatenate")(is_tuple([is_tuple_get_item(is_split, 1), is_tuple_get_item(is_split, 0)]))
    result = pattern.partition(module)
    assert text(list(functions(result).values())[1], "PartitionedFromPattern") == (
        "split_TupleGetItem1_TupleGetItem0_Tuple_concatenate_"
    )
    same(result, module, X)


def test_the_fields_of_any_tuple_are_arguments(make_net: MakeNet):
    net = make_net(X)
    pair = net.builder.add(TupleOp([net(e.ReluOp, net.inputs[0]), net.inputs[0]])).result
    module = net.finish(net.builder.add(TupleGetItemOp(pair, 0)).result)
    result = is_tuple_get_item(is_tuple(None)).partition(module)
    assert names(functions(result)["main"]) == ["nn.relu", "call"]
    assert names(functions(result)["Tuple_TupleGetItem0"]) == ["tuple", "tuple_get_item"]
    same(result, module, X)


def test_a_result_that_nobody_reads_is_no_way_out(make_net: MakeNet):
    net = make_net(X)
    split = net.results(r.SplitOp, net.inputs[0], indices_or_sections=(1,), axis=1)
    module = net.finish(net(e.TanhOp, split[0]))
    result = is_op("tanh")(is_tuple_get_item(is_op("split")(wildcard()), 0)).partition(module)
    assert names(functions(result)["main"]) == ["call"]
    same(result, module, X)


class ReluToTanh(DFPatternCallback):
    """relu(-x) -> tanh(tanh(x))"""

    def __init__(self) -> None:
        super().__init__(require_type=True)
        self.x = wildcard()
        self.pattern = is_op("nn.relu")(is_op("negative")(self.x))

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        assert pre is post
        return e.TanhOp(e.TanhOp(node_map[self.x][0]).result)


def test_a_rewrite_carries_locations(make_net: MakeNet):
    net = make_net(X)
    first = net(e.ReluOp, net(e.NegativeOp, net.inputs[0]))
    module = net.finish(net(e.SinOp, net(e.ReluOp, net(e.NegativeOp, first))))
    result = ReluToTanh().rewrite(module)
    result.verify()
    assert names(functions(module)["main"]) == ["negative", "nn.relu", "negative", "nn.relu", "sin"]
    main = functions(result)["main"]
    assert [(op.name, layer_names(op.location)) for op in list(main.block.ops)[:-1]] == [
        *[("relay.tanh", ("layer2", "layer1"))] * 2,
        *[("relay.tanh", ("layer4", "layer3"))] * 2,
        ("relay.sin", ("layer5",)),
    ]
    found: Any = evaluate_module(result, [X])[0]
    np.testing.assert_allclose(found, np.sin(np.tanh(np.tanh(np.tanh(np.tanh(X))))), rtol=1e-5)


class Shorten(DFPatternCallback):
    """tanh(tanh(x)) -> tanh(x)"""

    def __init__(self, rewrite_once: bool = False):
        super().__init__(rewrite_once=rewrite_once)
        self.x = wildcard()
        self.pattern = is_op("tanh")(is_op("tanh")(self.x))

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return e.TanhOp(node_map[self.x][0])


@pytest.mark.parametrize(("once", "left"), [(False, 1), (True, 2)])
def test_rounds(once: bool, left: int, make_net: MakeNet):
    net = make_net(X)
    value = net.inputs[0]
    for _ in range(4):
        value = net(e.TanhOp, value)
    assert names(functions(rewrite(Shorten(once), net.finish(value)))["main"]) == ["tanh"] * left


def test_several_callbacks_work_together(make_net: MakeNet):
    net = make_net(X)
    module = net.finish(net(e.TanhOp, net(e.ReluOp, net(e.NegativeOp, net.inputs[0]))))
    assert names(functions(rewrite([Shorten(), ReluToTanh()], module))["main"]) == ["tanh"]


class Lambda(DFPatternCallback):
    def __init__(self, pattern: Any, make: Callable[[Any, Any], Any], **options: bool):
        super().__init__(**options)
        self.pattern, self.make = pattern, make

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return self.make(post, node_map)


def test_what_a_callback_may_give(make_net: MakeNet):
    net = make_net(X)
    parts = net.results(r.SplitOp, net.inputs[0], indices_or_sections=(1,), axis=1)
    module = net.finish(net(e.TanhOp, parts[0]), parts[1])
    relu = is_op("tanh")(wildcard())
    assert str(Lambda(relu, lambda post, nodes: post).rewrite(module)) == str(module)
    split = is_op("split")(wildcard())
    swapped = Lambda(split, lambda post, nodes: list(post.results), rewrite_once=True).rewrite(module)
    assert str(swapped) == str(module)

    def halves(post: Operation, nodes: Any) -> list[SSAValue]:
        data = post.operands[0]
        sliced = [t.StridedSliceOp(data, begin=(0, b), end=(2, stop), strides=(1, 1)) for b, stop in ((0, 1), (1, 3))]
        return [one.result for one in sliced]

    same(Lambda(split, halves).rewrite(module), module, X)
    with pytest.raises(PipelineError, match=r"Lambda\.callback: expected 2 values, got .*relay.tanh"):
        Lambda(split, lambda post, nodes: e.TanhOp(post.operands[0])).rewrite(module)
    with pytest.raises(PipelineError, match=r"Lambda\.callback: expected 1 value, got None"):
        Lambda(relu, lambda post, nodes: None).rewrite(module)


def test_types_that_change_reach_the_end(make_net: MakeNet):
    net = make_net(X)
    module = net.finish(net(e.TanhOp, net(e.ReluOp, net.inputs[0])))
    half = Lambda(
        is_op("nn.relu")(wildcard()),
        lambda post, nodes: e.CastOp(post.owner.operands[0], dtype="float16"),
        rewrite_once=True,
    ).rewrite(module)
    half.verify()
    assert str(functions(half)["main"].function_type.outputs.data[0]) == "tensor<2x3xf16>"


def branching(make_net: MakeNet) -> ModuleOp:
    """tanh(relu(x)) where x is, in one branch of an `if`; in the other x."""
    net = make_net(X, np.array(True))
    relu = net(e.ReluOp, net.inputs[0])
    true, false = Block(), Block()
    tanh = e.TanhOp(relu)
    tanh.location = layer_location("inner", "net", 7)
    true.add_ops([tanh, YieldOp(tanh.result, location=tanh.location)])
    false.add_op(YieldOp(net.inputs[0], location=tanh.location))
    with net.builder.located(layer_location("choice", "net", 8)):
        choice = net.builder.add(IfOp(net.inputs[1], true, false, net.inputs[0].type))
    return net.finish(choice.result)


def test_matches_are_found_inside_of_branches(make_net: MakeNet):
    module = branching(make_net)
    pattern = is_op("tanh")(is_op("nn.relu")(wildcard()))
    result = pattern.partition(module)
    result.verify()
    assert names(functions(result)["main"]) == ["if"]
    assert names(functions(result)["nn_relu_tanh"]) == ["nn.relu", "tanh"]
    assert next(op for op in result.walk() if isinstance(op, CallOp)).parent_op() is not None
    sine = Lambda(pattern, lambda post, nodes: e.SinOp(post.owner.operands[0].owner.operands[0])).rewrite(module)
    sine.verify()
    assert [layer_names(op.location) for op in sine.walk() if isinstance(op, e.SinOp)] == [("inner", "layer1")]
    assert not [op for op in sine.walk() if isinstance(op, e.ReluOp | e.TanhOp)]


def test_what_has_regions_is_not_cut_out(make_net: MakeNet):
    module = branching(make_net)
    assert str(is_if(wildcard(), wildcard(), wildcard()).partition(module)) == str(module)
