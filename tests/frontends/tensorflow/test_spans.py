"""Layers are nodes: everything that a node becomes has its name, and nothing else depends on names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensorflow_graphs import Net
from xdsl.dialects.builtin import ModuleOp

import whence
from whence import relay
from whence.frontends.tensorflow import from_tensorflow
from whence.provenance.span import layer_names
from whence.relay.spans import set_span
from whence.syntax.relay.equal import structural_equal
from whence.transform import PassContext

rng = np.random.default_rng(0)


def reals(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def operators(module: ModuleOp) -> list[tuple[str, str]]:
    """Each operator and its layer."""
    return [
        (op.name.removeprefix("relay."), ", ".join(layer_names(op.location)))
        for op in module.walk()
        if op.name not in ("builtin.module", "relay.func", "relay.return")
    ]


def pack() -> Net:
    net = Net()
    net.op("Pack", "stack", *(net.placeholder(name, (2,)) for name in "abc"), axis=0)
    return net


def conv2d_bias_add() -> Net:
    net = Net()
    image = net.placeholder("input", (1, 5, 5, 3))
    weight = net.const("filter_weight", reals(2, 2, 3, 15))
    conv = net.op("Conv2D", "conv2d", image, weight, strides=[1, 1, 1, 1], padding="VALID", T="float32")
    net.op("BiasAdd", "bias_add", conv, net.const("conv2d_bias", reals(15)), T="float32")
    return net


def matmul() -> Net:
    net = Net()
    x = net.placeholder("input", (3, 5))
    dense = net.op("MatMul", "dense", x, net.const("dense_weight", reals(5, 7)), T="float32")
    net.op("BiasAdd", "bias_add", dense, net.const("dense_bias", reals(7)), T="float32")
    return net


def reshape() -> Net:
    net = Net()
    net.op("Reshape", "reshape", net.placeholder("input", (1, 3, 4)), net.const("shape", [3, 2, 2], "int32"))
    return net


def fused_batch_norm() -> Net:
    net = Net()
    operands = [net.placeholder("input", (1, 12, 12, 32))]
    operands += [net.const(name, reals(32)) for name in ("scale", "offset")]
    operands += [net.const(name, np.zeros(0, np.float32)) for name in ("mean", "variance")]
    net.op("FusedBatchNorm", "bn", *operands, is_training=True)
    return net


GRAPHS = {net.__name__: net for net in (pack, conv2d_bias_add, matmul, reshape, fused_batch_norm)}


def test_a_pack_is_several_operators_of_one_layer():
    assert operators(from_tensorflow(pack().build())) == [*[("expand_dims", "stack")] * 3, ("concatenate", "stack")]


def test_sizes_that_a_call_decides_keep_the_layers_that_computed_them():
    """The example of TVM's RFC: a shape, a slice of it, and a Pack of that and numbers."""
    net = Net()
    image = net.placeholder("input", (-1, -1, 3, 1))
    shape = net.op("Shape", "Shape", image, out_type="int32")
    places = [net.const(f"strided_slice/{name}", [at], "int32") for name, at in (("a", 0), ("b", 1), ("c", 1))]
    first = net.op("StridedSlice", "strided_slice", shape, *places, shrink_axis_mask=1)
    net.op("Pack", "stack", first, *(net.const(f"stack/{k}", 3, "int32") for k in (1, 2)), axis=0)
    found = operators(whence.load(net.build(), "input:[n,m,3,1]"))
    assert [name for name, _ in found] == ["sizes"]
    assert set(found[0][1].split(", ")) >= {"stack", "strided_slice", "Shape"}


def test_convolution_and_bias():
    assert operators(from_tensorflow(conv2d_bias_add().build())) == [
        ("constant", "filter_weight"),
        ("nn.conv2d", "conv2d"),
        ("constant", "conv2d_bias"),
        ("add", "bias_add"),
    ]


def test_a_depthwise_kernel_keeps_its_layer_in_another_shape():
    net = Net()
    kernel = net.const("kernel", reals(2, 2, 3, 2))
    options = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    net.op("DepthwiseConv2dNative", "conv", net.placeholder("input", (1, 5, 5, 3)), kernel, **options)
    assert operators(from_tensorflow(net.build())) == [("constant", "kernel"), ("nn.conv2d", "conv")]


def test_a_product_is_a_transpose_and_a_dense_layer():
    assert operators(from_tensorflow(matmul().build())) == [
        ("constant", "dense_weight"),
        ("transpose", "dense"),
        ("nn.dense", "dense"),
        ("constant", "dense_bias"),
        ("add", "bias_add"),
    ]


def test_a_reshape():
    assert operators(from_tensorflow(reshape().build())) == [("reshape", "reshape")]


def test_batch_normalisation_computes_its_own_statistics():
    found = operators(from_tensorflow(fused_batch_norm().build()))
    assert [pair for pair in found if pair[0] != "constant"] == [
        *[("mean", "bn")] * 2,
        ("variance", "bn"),
        ("nn.batch_norm", "bn"),
    ]


@pytest.mark.parametrize("name", GRAPHS)
def test_structure_is_the_same_without_spans(name: str):
    graph = GRAPHS[name]().build()
    with PassContext(config={"relay.frontend.fill_span": True}):
        filled, _ = relay.frontend.from_tensorflow(graph)
    with PassContext(config={"relay.frontend.fill_span": False}):
        bare, _ = relay.frontend.from_tensorflow(graph)
    assert structural_equal(filled["main"], bare["main"])
    assert not structural_equal(filled["main"], bare["main"], spans=True)


def spans(function: relay.Function) -> list[str]:
    """The spans of a program in the order of its text."""
    return re.findall(r"span=([^:]+):", str(function))


def variable(name: str, *shape: int) -> relay.Var:
    return relay.var(name, shape=shape, span=relay.Span(relay.SourceName(name), 0, 0, 0, 0))


def golden_convolution() -> relay.Function:
    image, weight, bias = (
        variable("input", 1, 5, 5, 3),
        variable("filter_weight", 2, 2, 3, 15),
        variable("conv2d_bias", 15),
    )
    conv = relay.nn.conv2d(image, weight, channels=15, kernel_size=(2, 2), data_layout="NHWC", kernel_layout="HWIO")
    set_span(conv, "conv2d")
    result = relay.add(conv, bias)
    set_span(result, "bias_add")
    return relay.Function([image, weight, bias], result, relay.TensorType((1, 4, 4, 15)))


def golden_product() -> relay.Function:
    image, weight, bias = variable("input", 3, 5), variable("dense_weight", 5, 7), variable("dense_bias", 7)
    turned = relay.transpose(weight, axes=[1, 0])
    set_span(turned, "dense")
    dense = relay.nn.dense(image, turned)
    set_span(dense, "dense")
    result = relay.add(dense, bias)
    set_span(result, "bias_add")
    return relay.Function([image, weight, bias], result, relay.TensorType((3, 7)))


def golden_reshape() -> relay.Function:
    image = variable("input", 1, 3, 4)
    result = relay.reshape(image, newshape=[3, 2, 2])
    set_span(result, "reshape")
    return relay.Function([image], result, relay.TensorType((3, 2, 2)))


def golden_batch_norm() -> relay.Function:
    image, scale, offset = variable("input", 1, 12, 12, 32), variable("scale", 32), variable("offset", 32)
    mean = relay.mean(image, axis=[3], exclude=True)
    variance = relay.variance(image, axis=[3], exclude=True)
    whole = relay.nn.batch_norm(image, scale, offset, mean, variance, axis=3, epsilon=1e-4)
    result = whole[0]
    set_span(result, "bn")
    return relay.Function([image, scale, offset], result, relay.TensorType((1, 12, 12, 32)))


def golden_pack() -> relay.Function:
    parts = [variable(name, 2) for name in "abc"]
    result = relay.concatenate([relay.expand_dims(part, axis=0) for part in parts], axis=0)
    set_span(result, "stack")
    return relay.Function(parts, result, relay.TensorType((3, 2)))


@pytest.mark.parametrize(
    ("graph", "golden"),
    [
        (conv2d_bias_add, golden_convolution),
        (matmul, golden_product),
        (reshape, golden_reshape),
        (fused_batch_norm, golden_batch_norm),
        (pack, golden_pack),
    ],
)
def test_relay_as_tvm_has_it(graph: Callable[[], Net], golden: Callable[[], relay.Function]):
    """The programs of TVM's own tests of spans: constants are parameters of the names of their nodes."""
    net = graph()
    module, params = relay.frontend.from_tensorflow(net.graph)
    main, expected = module["main"], golden()
    assert structural_equal(main, expected)
    assert [span for span in spans(main) if span != "main"] == spans(expected)
    inputs = {node.name for node in net.graph.node if node.op == "Placeholder"}
    assert params.keys() == {str(param.name_hint) for param in main.params} - inputs


def test_the_frontend_for_graphs_of_tensorflow_2_has_its_name():
    module, params = relay.frontend.tensorflow2.from_tensorflow(matmul().graph, outputs=["dense"])
    whole, _ = relay.frontend.from_tensorflow(matmul().graph, outputs=["dense"])
    assert structural_equal(module["main"], whole["main"])
    assert list(params) == ["dense_weight"]


def test_layouts_and_outputs_that_the_user_wants():
    net = conv2d_bias_add()
    module, _ = relay.frontend.from_tensorflow(net.graph, layout="NCHW", outputs=["conv2d"])
    text = str(module)
    assert text.count("transpose(") == 2
    assert "add(" not in text
    plain, _ = relay.frontend.from_tensorflow(matmul().graph, convert_config={"use_dense": False})
    assert "nn.matmul(" in str(plain)
    assert "transpose(" not in str(plain)
