"""Dataflow patterns: what they match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, SSAValue

from whence.dataflow_pattern import (
    DFPattern,
    FunctionPattern,
    has_attr,
    has_shape,
    is_constant,
    is_expr,
    is_if,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import rearrange as r
from whence.dialects.relay import transform as t
from whence.dialects.relay.binding import IfOp
from whence.dialects.relay.core import CallOp, FuncOp, ReturnOp
from whence.dialects.relay.functions import FnOp, InvokeOp, YieldOp
from whence.dialects.relay.tuples import TupleGetItemOp, TupleOp
from whence.support.errors import PipelineError

K_ELEMWISE, K_BROADCAST = 0, 1
X = np.ones((1, 4, 8, 8), np.float32)
W = np.ones((4, 4, 3, 3), np.float32)
MakeNet = Callable[..., Any]


@pytest.fixture
def net(make_net: MakeNet) -> Any:
    return make_net(X, W, X)


@pytest.fixture
def x(net: Any) -> SSAValue:
    return net.inputs[0]


def conv2d(net: Any, data: SSAValue, weight: SSAValue, **attributes: Any) -> SSAValue:
    return net(nn.Conv2DOp, data, weight, padding=(1, 1, 1, 1), **attributes)


def call(name: str, arity: int = 1) -> DFPattern:
    return is_op(name)(*(wildcard() for _ in range(arity)))


def test_leaves(net: Any, x: SSAValue):
    net.func.block.args[0].name_hint = "data"
    constant = net.constant(X, "c")
    total = net(e.AddOp, x, constant)
    assert [is_var().match(v) for v in (x, constant, total)] == [True, False, False]
    assert [is_constant().match(v) for v in (x, constant, total)] == [False, True, False]
    assert all(wildcard().match(v) for v in (x, constant, total))
    assert is_var("data").match(x)
    assert not is_var("other").match(x)
    assert [is_expr(total).match(v) for v in (x, constant, total)] == [False, False, True]
    assert is_expr(net.constant(np.float32(2), "a")).match(net.constant(np.float32(2), "b"))
    assert not is_expr(net.constant(np.float32(2), "a")).match(net.constant(np.float32(3), "b"))
    with pytest.raises(PipelineError, match=r"expected the name of an operator, got 'nn\.conv'"):
        is_op("nn.conv")


def test_calls(net: Any, x: SSAValue):
    y = net.inputs[2]
    total, difference = net(e.AddOp, x, y), net(e.SubtractOp, x, y)
    first, second = is_expr(x), is_expr(y)
    assert (first + second).match(total)
    assert (second + first).match(total)
    assert (first - second).match(difference)
    assert not (second - first).match(difference)
    assert not is_op("add")(first).match(total)
    assert is_op("add")(None).match(total)
    assert wildcard()(None).match(total)
    assert wildcard()(first, second).match(difference)
    assert not wildcard()(None).match(x)
    assert (is_op("add") | is_op("subtract"))(first, second).match(difference)
    assert not (is_op("add") | is_op("multiply"))(first, second).match(difference)
    with pytest.raises(PipelineError, match="expected patterns, got int"):
        is_op("add")(wildcard(), 1)  # pyright: ignore[reportArgumentType]


def test_one_pattern_stands_for_one_expression(net: Any, x: SSAValue):
    same = wildcard()
    assert (same + same).match(net(e.AddOp, x, x))
    assert not (same + same).match(net(e.AddOp, x, net.inputs[2]))
    # What a wrong guess bound is forgotten: the first operand tried is y, the second is right.
    relu = net(e.ReluOp, x)
    pattern = is_op("nn.relu")(same) + same
    assert pattern.match(net(e.AddOp, relu, x))
    assert pattern.match(net(e.AddOp, x, relu))
    assert not pattern.match(net(e.AddOp, relu, net.inputs[2]))


def test_products_and_quotients_associate(net: Any, x: SSAValue):
    a, b, c = net.inputs[0], net.inputs[2], net(e.ReluOp, x)
    pattern = is_expr(a) * is_expr(b) / is_expr(c)
    assert pattern.match(net(e.DivideOp, net(e.MultiplyOp, a, b), c))
    assert pattern.match(net(e.MultiplyOp, net(e.DivideOp, a, c), b))
    assert pattern.match(net(e.MultiplyOp, a, net(e.DivideOp, b, c)))
    assert not pattern.match(net(e.MultiplyOp, net(e.DivideOp, c, a), b))
    other = (is_expr(a) / is_expr(c)) * is_expr(b)
    assert other.match(net(e.DivideOp, net(e.MultiplyOp, a, b), c))
    assert not other.match(net(e.DivideOp, net(e.MultiplyOp, a, c), b))


def test_optional_parts(net: Any, x: SSAValue):
    pattern = call("nn.conv2d", 2).optional(lambda inner: is_op("nn.relu")(inner))
    conv = conv2d(net, x, net.inputs[1])
    assert pattern.match(conv)
    assert pattern.match(net(e.ReluOp, conv))
    assert not pattern.match(net(e.TanhOp, conv))
    bias = call("nn.conv2d", 2).optional(lambda inner: is_op("nn.bias_add")(inner, is_constant()))
    both = bias.optional(lambda inner: is_op("clip")(inner).has_attr({"a_min": 0.0, "a_max": 6.0}))
    biased = net(nn.BiasAddOp, conv, np.ones(4, np.float32))
    for value in (conv, biased):
        assert both.match(value)
        assert both.match(net(e.ClipOp, value, a_min=0.0, a_max=6.0))
        assert not both.match(net(e.ClipOp, value, a_min=0.0, a_max=1.0))


def test_attributes(net: Any, x: SSAValue):
    conv = conv2d(net, x, net.inputs[1], strides=(2, 2))
    pattern = call("nn.conv2d", 2)
    assert pattern.has_attr({"strides": [2, 2], "data_layout": "NCHW"}).match(conv)
    assert not pattern.has_attr({"strides": [1, 1]}).match(conv)
    assert not pattern.has_attr({"kernel": "NCHW"}).match(conv)
    assert has_attr({"groups": 1}).match(conv)
    total = net(e.AddOp, x, x)
    assert is_op("add").has_attr({"TOpPattern": K_BROADCAST})(None).match(total)
    assert not is_op("add").has_attr({"TOpPattern": K_ELEMWISE})(None).match(total)
    assert wildcard().has_attr({"TOpPattern": K_ELEMWISE})(wildcard()).match(net(e.ReluOp, x))


def test_types(net: Any, x: SSAValue):
    assert wildcard().has_type(TensorType(f32, X.shape)).match(x)
    assert not wildcard().has_type(TensorType(f32, [4])).match(x)
    assert wildcard().has_dtype("float32").match(x)
    assert not wildcard().has_dtype("float16").match(x)
    assert wildcard().has_shape((1, 4, 8, 8)).match(x)
    assert has_shape((1, None, 8, 8)).match(x)
    assert not wildcard().has_shape((1, 4, 8)).match(x)
    with pytest.raises(PipelineError, match="expected a dtype among"):
        wildcard().has_dtype("float31")


def test_tuples_and_their_fields(net: Any, x: SSAValue):
    split = net.results(r.SplitOp, x, indices_or_sections=(2,), axis=1)
    op = split[0].owner
    is_split = is_op("split")(wildcard())
    assert is_split.match(op)
    assert not is_split.match(split[0])
    assert is_tuple_get_item(is_split, 1).match(split[1])
    assert not is_tuple_get_item(is_split, 1).match(split[0])
    assert is_tuple_get_item(wildcard()).match(split[0])
    joined = net(t.ConcatenateOp, *split, axis=1)
    first, second = is_tuple_get_item(is_split, 0), is_tuple_get_item(is_split, 1)
    assert is_op("concatenate")(is_tuple([first, second])).match(joined)
    assert not is_op("concatenate")(is_tuple([second, first])).match(joined)
    assert not is_op("concatenate")(is_tuple([first])).match(joined)
    assert is_op("concatenate")(is_tuple(None)).match(joined)
    assert is_op("concatenate")(wildcard()).match(joined)
    assert not is_op("concatenate")(first, second).match(joined)


def test_functions(net: Any, x: SSAValue):
    helper = FuncOp("helper", [x.type], [x.type])
    relu = e.ReluOp(helper.block.args[0])
    helper.block.add_ops([relu, ReturnOp(relu.result)])
    net.module.body.block.add_op(helper)
    value = net.builder.add(CallOp("helper", [x], [x.type])).outputs[0]
    inner = wildcard()
    assert FunctionPattern([inner], is_op("nn.relu")(inner))(wildcard()).match(value)
    assert FunctionPattern(None, call("nn.relu"))(None).match(value)
    assert not FunctionPattern(None, call("tanh"))(None).match(value)
    assert not FunctionPattern([inner, wildcard()], call("nn.relu"))(None).match(value)
    assert not FunctionPattern(None, call("nn.relu"))(None).match(relu.result)


# Dominators: diamonds of a convolution and a sum.

ELEMWISE = {"TOpPattern": K_ELEMWISE}


def diamond() -> DFPattern:
    path = wildcard().has_attr(ELEMWISE)(wildcard())
    return (wildcard() + wildcard()).dominates(call("nn.conv2d", 2), path)


def test_what_dominates(net: Any, x: SSAValue):
    conv = conv2d(net, x, net.inputs[1])
    left = net(e.ReluOp, net(e.ReluOp, conv))
    assert diamond().match(net(e.AddOp, left, net(e.LeakyReluOp, conv)))
    alone = conv2d(net, x, net.inputs[1])
    deep = net(e.TanhOp, net(e.ReluOp, net(e.ReluOp, alone)))
    assert diamond().match(net(e.AddOp, net(e.ReluOp, alone), deep))


def test_a_path_that_may_be_several_things(net: Any, x: SSAValue):
    unary = wildcard().has_attr(ELEMWISE)(wildcard()) | (wildcard() + wildcard())
    pattern = (wildcard() + wildcard()).dominates(call("nn.conv2d", 2), unary)
    conv = conv2d(net, x, net.inputs[1])
    relu = net(e.ReluOp, conv)
    doubled = net(e.AddOp, relu, relu)
    assert pattern.match(net(e.AddOp, net(e.TanhOp, doubled), net(e.LeakyReluOp, conv)))


@pytest.mark.parametrize("fake", ["two parents", "not elementwise", "beside the parent", "no parent", "escapes"])
def test_what_does_not_dominate(fake: str, net: Any, x: SSAValue):
    weight = net.inputs[1]
    conv = conv2d(net, x, weight)
    left, right = net(e.ReluOp, conv), net(e.LeakyReluOp, conv)
    match fake:
        case "two parents":
            right = net(e.LeakyReluOp, conv2d(net, x, weight))
        case "not elementwise":
            left = net(e.AddOp, left, left)
        case "beside the parent":
            left = net(e.ReluOp, x)
        case "no parent":
            left, right = net(e.ReluOp, x), net(e.LeakyReluOp, x)
        case _:
            net(e.TanhOp, net(e.ReluOp, conv))
    assert not diamond().match(net(e.AddOp, left, right))


def test_domination_does_not_recurse(net: Any, x: SSAValue):
    value = conv2d(net, x, net.inputs[1])
    for _ in range(5000):
        value = net(e.ReluOp, value)
    assert diamond().match(net(e.AddOp, value, value))


def test_tuples_that_are_made(net: Any, x: SSAValue):
    y = net.inputs[2]
    pair = net.builder.add(TupleOp([x, y])).result
    second = net.builder.add(TupleGetItemOp(pair, 1)).result
    assert is_tuple([is_expr(x), is_expr(y)]).match(pair)
    assert not is_tuple([is_expr(y), is_expr(x)]).match(pair)
    assert is_tuple(None).match(pair)
    assert is_tuple_get_item(is_tuple(None), 1).match(second)
    assert not is_tuple_get_item(is_tuple(None), 0).match(second)
    assert not is_tuple_get_item(wildcard()).match(pair)


def test_branches(net: Any, x: SSAValue):
    true, false = Block(), Block()
    relu, tanh = e.ReluOp(x), e.TanhOp(x)
    true.add_ops([relu, YieldOp(relu.result)])
    false.add_ops([tanh, YieldOp(tanh.result)])
    value = net.builder.add(IfOp(net.constant(np.array(True), "c"), true, false, x.type)).result
    assert is_if(is_constant(), call("nn.relu"), call("tanh")).match(value)
    assert not is_if(is_constant(), call("tanh"), call("nn.relu")).match(value)
    assert not is_if(wildcard(), wildcard(), wildcard()).match(relu.result)
    data = wildcard()
    assert is_if(wildcard(), is_op("nn.relu")(data), is_op("tanh")(data)).match(value)


def test_functions_that_are_values(net: Any, x: SSAValue):
    fn = FnOp([x.type], x.type)
    relu = e.ReluOp(fn.block.args[0])
    fn.block.add_ops([relu, YieldOp(relu.result)])
    net.builder.add(fn)
    value = net.builder.add(InvokeOp(fn.result, [x], x.type)).result
    inner = wildcard()
    function = FunctionPattern([inner], is_op("nn.relu")(inner))
    assert function.match(fn.result)
    assert function(is_var()).match(value)
    assert not FunctionPattern(None, call("tanh"))(None).match(value)
