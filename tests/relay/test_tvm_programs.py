"""Programs as TVM's own tests of Relay build them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import whence
from whence import ir, relay
from whence.contrib import graph_executor
from whence.relay import analysis, testing
from whence.relay import dataflow_pattern as dfp
from whence.support.errors import WhenceError
from whence.syntax.relay.op_attrs import reset_op_attr

ops: Any = relay
transform: Any = relay.transform
X = relay.var("x", shape=(4, 8))


@pytest.mark.parametrize(
    ("shape", "newshape", "wanted"),
    [
        ((2, 3, 4), (0, -3), (2, 12)),
        ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)),
        ((2, 3, 4, 5), (-3, -3), (6, 20)),
        ((2, 3, 4), (-3, -2), (6, 4)),
        ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
    ],
)
def test_codes_of_reshape(shape: tuple[int, ...], newshape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    data = np.arange(prod(shape), dtype=np.float32).reshape(shape)
    func = relay.Function([x := relay.var("x", shape=shape)], ops.reshape(x, newshape))
    found = relay.create_executor("debug").evaluate(func)(data)
    np.testing.assert_array_equal(found, data.reshape(wanted))


@pytest.mark.parametrize("newshape", [(-3, 4, 4), (-4, 3, 2, -2), (-4, 2), (2, 12, -3), (-5, 24)])
def test_codes_of_reshape_that_do_not_fit(newshape: tuple[int, ...]) -> None:
    with pytest.raises(WhenceError, match=r"relay\.reshape: expected"):
        testing.run_infer_type(ops.reshape(relay.var("x", shape=(2, 3, 4)), newshape))


def test_types_of_functions_variables_and_calls() -> None:
    main: Any = testing.run_infer_type(relay.Function([X], ops.add(X, relay.const(1.0))))
    assert main.ret_type.concrete_shape == (4, 8)
    assert main.params[0].type_annotation.dtype == "float32"
    assert [one.concrete_shape for one in main.body.type_args] == [(4, 8), ()]
    assert str(main.ret_type) == "Tensor[(4, 8), float32]"
    one, other = (relay.var(name, shape=(relay.Any(), width)) for name, width in (("a", 1), ("b", relay.Any())))
    condition = relay.var("c", "bool")
    branching: Any = testing.run_infer_type(relay.Function([condition, one, other], relay.If(condition, one, other)))
    assert str(branching.ret_type) == "Tensor[(?, ?), float32]"


def test_composite_functions_are_where_they_are_called() -> None:
    pattern: Any = dfp.is_op("nn.relu")(dfp.is_op("add")(dfp.wildcard(), dfp.wildcard()))
    func = relay.Function([X], ops.nn.relu(ops.nn.relu(X + X)))
    merged = testing.run_opt_pass(func, transform.MergeComposite([("abc.add_relu", pattern)]))
    inner = relay.Function([p := relay.var("p", shape=(4, 8))], ops.nn.relu(p + p))
    inner = inner.with_attr({"Composite": "abc.add_relu", "PartitionedFromPattern": "add_nn.relu_"})
    wanted = relay.IRModule.from_expr(relay.Function([X], ops.nn.relu(relay.Call(inner, [X]))))
    assert ir.structural_equal(merged, transform.InferType()(wanted)["main"])
    names = [op.properties["sym_name"].data for op in wanted.module.ops]  # type: ignore[attr-defined]
    assert names == ["main", "abc_add_relu"]


def test_kernels_are_seen_again_by_passes() -> None:
    func = relay.Function([X], ops.squeeze(ops.exp(X + relay.const(1.0))))
    fused = testing.run_opt_pass(func, transform.FuseOps())
    assert str(fused).count("Primitive=1") == 1
    again = testing.run_opt_pass(fused, transform.DefuseOps())
    assert ir.structural_equal(again, testing.run_infer_type(func))


def test_labels_of_partitioned_functions() -> None:
    x, w, b = (relay.var(name) for name in "xwb")
    x1, w1 = relay.var("x1"), relay.var("w1")
    left, right = dfp.wildcard(), dfp.wildcard()
    called: Any = dfp.FunctionPattern([left, right], dfp.is_op("nn.conv2d")(left, right))
    pattern: Any = called(dfp.wildcard(), dfp.wildcard()) + dfp.wildcard()
    expr = relay.Function([x1, w1], ops.nn.conv2d(x1, w1))(x, w) + b
    assert pattern.partition(expr).op.attrs["PartitionedFromPattern"] == "nn.conv2d_FunctionCall_add_"
    assert dfp.is_op("add").match(relay.op.op.get("add"))
    assert not dfp.is_op("add").match(relay.op.get("subtract"))


def test_rules_of_users_for_quantised_operators() -> None:
    x = relay.var("x", shape=(2, 8), dtype="int8")
    real = ops.qnn.op.dequantize(x, relay.const(0.05), relay.const(3))
    net = ops.qnn.op.quantize(ops.nn.leaky_relu(real, alpha=0.25), relay.const(0.04), relay.const(-5))

    def rule(call: Any, types: Any) -> Any:
        known = types[call.args[0]]
        assert (known.dtype, known.axis, call.attrs.alpha) == ("int8", -1, 0.25)
        least = ops.maximum(call.args[0], ops.cast(known.zero_point, known.dtype))
        return [least, ir.TensorAffineType(known.scale, known.zero_point, known.dtype)]

    def no_rule(call: Any, types: Any) -> Any:
        return call.args[0]

    try:
        relay.op.register_fake_quantization_to_integer("nn.leaky_relu", rule)
        made = transform.FakeQuantizationToInteger()(relay.IRModule.from_expr(net))
        assert list(analysis.list_op_freqs(made)) == ["cast", "maximum", "qnn.requantize"]
        relay.op.register_fake_quantization_to_integer("nn.leaky_relu", no_rule)
        with pytest.raises(WhenceError, match="expected an expression and its type"):
            transform.FakeQuantizationToInteger()(relay.IRModule.from_expr(net))
    finally:
        reset_op_attr("nn.leaky_relu", "FTVMFakeQuantizationToInteger")


def test_rules_of_users_for_sums_of_a_value_and_itself() -> None:
    real = ops.qnn.op.dequantize(relay.var("x", shape=(2, 8), dtype="int8"), relay.const(0.05), relay.const(3))
    net = ops.qnn.op.quantize(real + real, relay.const(0.04), relay.const(-5))

    def rule(call: Any, types: Any) -> Any:
        left, right = call.args
        affine = types[left]
        return [ops.maximum(left, right), ir.TensorAffineType(affine.scale, affine.zero_point, affine.dtype)]

    try:
        relay.op.register_fake_quantization_to_integer("add", rule)
        integers = transform.FakeQuantizationToInteger(hard_fail=True)(relay.IRModule.from_expr(net))
    finally:
        reset_op_attr("add", "FTVMFakeQuantizationToInteger")
    assert list(analysis.list_op_freqs(integers)) == ["maximum", "qnn.requantize"]


def test_transposed_convolutions_of_bytes() -> None:
    x = relay.var("x", shape=(1, 2, 3, 3), dtype="int8")
    weight = ops.qnn.op.dequantize(relay.const(np.ones((2, 3, 2, 2), np.int8)), relay.const(0.5), relay.const(0))
    conv = ops.nn.conv2d_transpose(ops.qnn.op.dequantize(x, relay.const(0.5), relay.const(1)), weight, strides=2)
    net = relay.IRModule.from_expr(ops.qnn.op.quantize(conv, relay.const(0.25), relay.const(0)))
    made = transform.FakeQuantizationToInteger(hard_fail=True)(net)
    assert list(analysis.list_op_freqs(made)) == ["qnn.conv2d_transpose", "qnn.requantize"]
    data = np.arange(18, dtype=np.int8).reshape(1, 2, 3, 3)
    wanted = np.repeat(np.repeat(data.sum(1, keepdims=True) - 2, 2, 2), 2, 3)
    found = relay.create_executor("debug", made).evaluate()(data)
    np.testing.assert_array_equal(found, np.broadcast_to(wanted, (1, 3, 6, 6)))


def test_recast() -> None:
    x, w = relay.var("x", shape=(1, 8, 8, 8)), relay.var("w", shape=(8, 8, 3, 3))
    first = ops.nn.conv2d(x, w, padding=(1, 1))
    func = relay.Function([x, w], ops.nn.conv2d(first, w, padding=(1, 1)))

    def narrow(data: Any) -> Any:
        made = ops.nn.conv2d(ops.cast(data, "int8"), ops.cast(w, "int8"), padding=(1, 1), out_dtype="int32")
        return ops.cast(made, "float32")

    last = relay.Function([x, w], narrow(first))
    begin = relay.Function([x, w], ops.nn.conv2d(narrow(x), w, padding=(1, 1)))
    assert ir.structural_equal(transform.recast(func, "int8", "int32", skip_layers=[0]), last)
    assert ir.structural_equal(transform.recast(func, "int8", "int32", skip_layers=[-1]), begin)
    assert len(transform.recast(relay.IRModule.from_expr(func), "int8", "int32").functions) == 1


def test_layouts_of_some_convolutions() -> None:
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    func = relay.Function([x, w], ops.nn.conv2d(ops.nn.conv2d(x, w), w))
    with transform.LayoutConfig(skip_layers=[0]):
        some = testing.run_opt_pass(func, transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}))
    every = testing.run_opt_pass(func, transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}))
    assert [str(one).count('data_layout="NHWC"') for one in (some, every)] == [1, 2]


def test_regions_between_marks() -> None:
    begin, end = ops.annotation.compiler_begin, ops.annotation.compiler_end
    first = begin(X, compiler="t")
    inner = ops.abs(first)
    ends = [end(inner, compiler="t"), end(inner, compiler="t")]
    left, right = begin(ops.tanh(ends[0]), compiler="t"), begin(ends[1], compiler="t")
    total = left + right
    last = end(total, compiler="t")
    marks = [relay.op.get(f"annotation.compiler_{kind}") for kind in ("begin", "end")]
    regions = analysis.AnnotatedRegionSet(relay.Function([X], last), *marks)
    assert len(regions) == 2
    found: Any = regions.get_region(right)
    assert (set(found.args), set(found.nodes), found.rets) == ({left, right}, {left, right, total, last}, [last])
    assert set(regions.get_region(inner).nodes) == {first, inner, *ends}  # type: ignore[union-attr]
    with pytest.raises(WhenceError, match="behind a region"):
        analysis.AnnotatedRegionSet(end(X, compiler="t"), *marks)


def test_attributes_of_modules() -> None:
    mod = relay.IRModule.from_expr(relay.Function([X], X + X)).with_attr("mine", 3)
    assert transform.InferType()(mod).get_attr("mine") == 3
    assert mod.without_attr("mine").get_attr("mine") is None
    assert mod.attrs == {"mine": 3}


NETS: list[tuple[Any, tuple[Any, ...], tuple[int, ...], float]] = [
    (testing.resnet, (1, 10, 20, (3, 32, 32)), (1, 10), 0.2742),
    (testing.resnet, (1, 1000, 50), (1, 1000), 25.61),
    (testing.mobilenet, (1,), (1, 1000), 4.254),
    (testing.dqn, (2,), (2, 18), 1.693),
    (testing.dcgan, (1,), (1, 3, 64, 64), 12.67),
    (testing.squeezenet, (1, (3, 224, 224), 1000, "1.1"), (1, 1000), 1.235),
    (testing.vgg, (1, (3, 224, 224), 1000, "float32", 16), (1, 1000), 138.36),
    (testing.lstm, (2, 8, 3), (3, 8), 0.00115),
]


@pytest.mark.parametrize(("net", "arguments", "shape", "millions"), NETS)
def test_networks(net: Any, arguments: tuple[Any, ...], shape: tuple[int, ...], millions: float) -> None:
    """Their results' shapes, and as many weights as published (batch normalisations counted with four)."""
    main: Any = transform.InferType()(relay.IRModule.from_expr(net.get_net(*arguments)))["main"]
    assert main.ret_type.concrete_shape == shape
    weights = sum(prod(param.checked_type.concrete_shape) for param in main.params[1:])
    assert weights / 1e6 == pytest.approx(millions, rel=0.002)


def test_gradients_against_differences() -> None:
    x = relay.var("x", shape=(2, 3), dtype="float64")
    testing.check_grad(relay.Function([x], ops.tanh(x * x)))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        testing.check_grad(relay.Function([x], ops.tanh(x * x)), [np.full((2, 3), 0.5)], eps=10.0)


def test_gradients_are_held_against_differences_beside_zero() -> None:
    """By default inputs lie so close to `mean` that even a steep function is nearly straight there."""
    x = relay.var("x", shape=(2, 3), dtype="float64")
    testing.check_grad(relay.Function([x], ops.exp(relay.const(50.0, "float64") * x)))
    testing.check_grad(relay.Function([x], ops.log(x)), mean=1.0, scale=0.1)
    # Beside 1 a float32 has too few digits for the step.
    single = relay.Function([y := relay.var("y", shape=(2, 3))], ops.sin(y))
    testing.check_grad(single)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        testing.check_grad(single, scale=1.0)


@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
@pytest.mark.parametrize("made", ["zeros", "ones", "arange", "full"])
def test_gradients_go_past_what_is_made_of_nothing(made: str, mode: str) -> None:
    x = relay.var("x", shape=(3,), dtype="float64")
    other = {
        "zeros": lambda: ops.zeros((3,), "float64"),
        "ones": lambda: ops.ones((3,), "float64"),
        "arange": lambda: ops.arange(relay.const(3.0, "float64"), dtype="float64"),
        "full": lambda: ops.full(relay.const(2.0, "float64"), (3,), "float64"),
    }[made]()
    testing.check_grad(relay.Function([x], x * other + x * x), mode=mode)


@pytest.mark.parametrize("kind", ["graph", "vm", "debug"])
@pytest.mark.parametrize(("low", "high"), [(-3.4e38, 3.4e38), (0.0, 1e6), (-1e39, 0.5)])
def test_limits_beyond_a_half_do_not_bind(kind: str, low: float, high: float) -> None:
    x = relay.var("x", shape=(5,), dtype="float16")
    mod = relay.IRModule.from_expr(relay.Function([x], ops.clip(x, low, high)))
    data = np.array([1.25, -2, np.inf, -np.inf, 65504], np.float16)
    with np.errstate(over="ignore"):
        wanted = np.clip(data, np.float16(low), np.float16(high))
    np.testing.assert_array_equal(relay.create_executor(kind, mod).evaluate()(data), wanted)


def test_a_graph_has_an_output_for_each_tensor_in_its_tuples() -> None:
    x = relay.var("x", shape=(3,))
    inner = relay.Tuple([x + x, relay.Tuple([ops.tanh(x)]), relay.Tuple([])])
    mod = relay.IRModule.from_expr(relay.Function([x], relay.Tuple([ops.exp(x), inner])))
    data = np.linspace(-1, 1, 3, dtype=np.float32)
    graph = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](whence.cpu()))
    graph.set_input("x", data)
    graph.run()
    assert graph.get_num_outputs() == 3
    for index, wanted in enumerate((np.exp(data), data + data, np.tanh(data))):
        np.testing.assert_allclose(graph.get_output(index).numpy(), wanted, rtol=1e-5)


def test_a_size_computed_from_scales_is_whole() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    scaled = ops.shape_of(x, dtype="float32") * relay.const(np.array([1, 1, 2.2, 2], np.float32))
    size = ops.strided_slice(scaled, [2], [4])
    resized = ops.dyn.image.resize2d(x, size, relay.const(np.zeros(4, np.float32)), "NCHW", "nearest_neighbor")
    static = transform.DynamicToStatic()(relay.IRModule.from_expr(relay.Function([x], resized)))["main"]
    assert static.ret_type.concrete_shape == (1, 4, 17, 16)


def test_a_builder_may_have_another_default_than_the_attribute() -> None:
    """As in TVM: alpha is 1e-5 in Python, and 1e-4 where a text says nothing."""
    x = relay.var("x", shape=(1, 3, 4, 4))
    assert "alpha=1e-05f" in relay.nn.lrn(x, axis=2).astext()
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 3, 4, 4), float32]) { nn.lrn(%x) }'
    assert relay.fromtext(text)["main"].body.attrs.alpha == 1e-4


def test_passes_that_have_nothing_to_do_say_why() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'PlanDevices': all runs on one CPU"):
        _ = relay.transform.PlanDevices
