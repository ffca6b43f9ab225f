"""Dataflow patterns on Relay as it is written, typed or not."""

from __future__ import annotations

from typing import Any

import pytest

from whence import relay
from whence.dataflow_pattern import (
    DFPattern,
    DFPatternCallback,
    FunctionPattern,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite,
    wildcard,
)
from whence.syntax.relay.equal import structural_equal

K_ELEMWISE, K_BROADCAST = 0, 1
ops: Any = relay
x, y, w, z = (relay.var(name) for name in "xywz")


def test_leaves_and_calls():
    assert is_expr(x).match(x)
    assert not is_expr(x).match(y)
    assert is_var("x").match(x)
    assert is_var().match(x)
    assert not is_var("x").match(y)
    assert is_constant().match(ops.const(5))
    assert not is_constant().match(x)
    assert is_expr(ops.const(5)).match(ops.const(5))
    assert not is_expr(ops.const(5)).match(ops.const(6))
    assert is_op("add")(is_expr(x), is_expr(y)).match(x + y)
    assert (is_expr(y) + is_expr(x)).match(x + y)
    assert not (is_expr(y) - is_expr(x)).match(x - y)
    assert wildcard()(wildcard(), wildcard()).match(x + y)
    assert is_op("add")(None).match(x + y)
    assert (is_op("add") | is_op("subtract"))(wildcard(), wildcard()).match(x - y)
    assert (is_expr(x) * is_expr(y) / is_expr(z)).match(x * (y / z))
    relu = is_op("nn.relu")(wildcard())
    assert relu.optional(lambda inner: is_op("tanh")(inner)).match(ops.tanh(ops.nn.relu(x)))


def test_attributes_and_types():
    conv = ops.nn.conv2d(x, w, strides=(2, 2), channels=8)
    pattern = is_op("nn.conv2d")(wildcard(), wildcard())
    assert pattern.has_attr({"strides": [2, 2], "data_layout": "NCHW"}).match(conv)
    assert not pattern.has_attr({"strides": [1, 1]}).match(conv)
    assert is_op("add").has_attr({"TOpPattern": K_BROADCAST})(None).match(x + y)
    assert not is_op("add").has_attr({"TOpPattern": K_ELEMWISE})(None).match(x + y)
    function: Any = relay.Function([x], x, attrs={"Composite": "add"})
    assert wildcard().has_attr({"Composite": "add"}).match(function)
    typed = relay.var("t", shape=(10, 10), dtype="float32")
    other = relay.var("u", shape=(10, 1), dtype="float32")
    assert has_type(relay.TensorType((10, 10), "float32")).match(typed)
    assert has_shape((10, 10)).match(ops.add(typed, other))
    assert not has_shape((10, 1)).match(ops.add(typed, other))
    assert has_dtype("float32").match(typed + other)
    assert not has_dtype("float16").match(typed)


def test_tuples_functions_branches_and_lets():
    pair = relay.Tuple([x, y])
    assert is_tuple([is_expr(x), wildcard()]).match(pair)
    assert not is_tuple([is_expr(y), wildcard()]).match(pair)
    assert is_tuple_get_item(is_tuple(None), 1).match(relay.TupleGetItem(pair, 1))
    assert not is_tuple_get_item(is_tuple(None), 0).match(relay.TupleGetItem(pair, 1))
    function = relay.Function([x, y], x + y)
    assert FunctionPattern([wildcard(), wildcard()], wildcard() + wildcard()).match(function)
    assert not FunctionPattern([wildcard()], wildcard() + wildcard()).match(function)
    assert FunctionPattern(None, wildcard() + wildcard())(None).match(relay.Call(function, [z, w]))
    choice = relay.If(z, x, y)
    assert is_if(is_var("z"), is_var("x"), is_var("y")).match(choice)
    assert not is_if(is_var("z"), is_var("y"), is_var("x")).match(choice)
    let = relay.Let(x, y + z, x * x)
    assert is_let(is_var("x"), wildcard() + wildcard(), wildcard() * wildcard()).match(let)
    assert not is_let(is_var("x"), is_var(), wildcard()).match(let)


def diamond() -> DFPattern:
    path = wildcard().has_attr({"TOpPattern": K_ELEMWISE})(wildcard())
    return (wildcard() + wildcard()).dominates(is_op("nn.conv2d")(is_var(), is_var()), path)


def test_dominators():
    conv = ops.nn.conv2d(x, w)
    left, right = ops.nn.relu(ops.nn.relu(conv)), ops.nn.leaky_relu(conv)
    assert diamond().match(left + right)
    assert not diamond().match(left + ops.nn.leaky_relu(ops.nn.conv2d(x, w)))
    assert not diamond().match(ops.nn.relu(x) + right)
    assert not diamond().match((left + left) + right)


@pytest.mark.parametrize("depth", [20_000])
def test_depth(depth: int):
    value: Any = ops.nn.conv2d(x, w)
    for _ in range(depth):
        value = ops.nn.relu(value)
    assert diamond().match(value + value)


class TwiceToProduct(DFPatternCallback):
    """x + x -> x * 2"""

    def __init__(self) -> None:
        super().__init__()
        self.x = wildcard()
        self.pattern = self.x + self.x

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return node_map[self.x][0] * ops.const(2.0)


def test_expressions_are_rewritten():
    relu = ops.nn.relu(x)
    result = rewrite(TwiceToProduct(), ops.tanh(relu + relu) + (y + y))
    assert structural_equal(result, ops.tanh(ops.nn.relu(x) * ops.const(2.0)) + y * ops.const(2.0))
    untouched = x + y
    assert TwiceToProduct().rewrite(untouched) is untouched
    inner = x + x
    nested = rewrite(TwiceToProduct(), inner + inner)
    assert structural_equal(nested, x * ops.const(2.0) * ops.const(2.0))
    shared = ops.nn.relu(x) + ops.nn.relu(x)
    assert rewrite(TwiceToProduct(), shared) is shared


def test_spans_of_what_is_rewritten():
    total: Any = x + x
    total.span = relay.Span(relay.SourceName("sum"), 1, 1, 1, 1)
    result: Any = rewrite(TwiceToProduct(), total)
    assert result.span == total.span
    assert result.args[1].span == total.span


def test_expressions_are_partitioned():
    value = ops.nn.relu(ops.nn.bias_add(ops.nn.conv2d(x, w), y))
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()))
    result: Any = pattern.partition(ops.tanh(value), {"Composite": "conv"})
    a, b, c = (relay.var(name) for name in "abc")
    body = ops.nn.relu(ops.nn.bias_add(ops.nn.conv2d(a, b), c))
    attrs = {"PartitionedFromPattern": "nn.conv2d_nn.bias_add_nn.relu_", "Composite": "conv"}
    expected = ops.tanh(relay.Call(relay.Function([a, b, c], body, attrs=attrs), [x, w, y]))
    assert structural_equal(result, expected)
    used_outside = ops.nn.bias_add(ops.nn.conv2d(x, w), y)
    both = relay.Tuple([ops.nn.relu(used_outside), used_outside])
    assert pattern.partition(both) is both
    assert pattern.partition(value, check=lambda root: False) is value
    constant = ops.const(1.0)
    embedded: Any = (wildcard() + is_constant()).partition(x + constant)
    assert embedded.args == [x]
    chain: Any = x
    for _ in range(5):
        chain = ops.nn.relu(chain)
    cut: Any = is_op("nn.relu")(is_op("nn.relu")(wildcard())).partition(chain)
    assert isinstance(cut.op, relay.Function)
    assert isinstance(cut.args[0].op, relay.Function)
    assert cut.args[0].args[0].args == [x]


def test_functions_of_a_module():
    given = relay.var("x", shape=(2,))
    mod = relay.IRModule({"main": relay.Function([given], given + given), "g": relay.Function([y], ops.nn.relu(y))})
    product: Any = rewrite(TwiceToProduct(), mod, mod)
    assert product["main"].body.op.name == "multiply"
    assert structural_equal(product["g"], mod["g"])
    assert "add" in str(mod["main"].body)
    cut: Any = is_op("nn.relu")(wildcard()).partition(mod, {"Composite": "act"})
    assert cut["g"].body.op.attrs["Composite"] == "act"
    assert [key.name_hint for key in cut.get_global_vars()] == ["main", "g"]


def test_what_no_part_of_a_pattern_stands_for_is_an_argument():
    inner, constant = ops.nn.relu(x), ops.const(1.0)
    cut: Any = is_op("add")(None).partition(inner + constant)
    assert cut.args == [inner, constant]
    assert cut.op.attrs["PartitionedFromPattern"] == "add_"
    joined: Any = is_op("concatenate")(is_tuple(None)).partition(ops.concatenate([x, inner], axis=0))
    assert joined.args == [x, inner]
    assert joined.op.attrs["PartitionedFromPattern"] == "Tuple_concatenate_"
    whole = relay.Tuple([x, y])
    other: Any = is_op("concatenate")(wildcard()).partition(ops.concatenate(whole, axis=0))
    assert other.args == [whole]
