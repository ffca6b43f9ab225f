"""The shape of what the ONNX frontend makes: ops, layer names, tensor names, what was evaluated at import."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from xdsl.dialects.builtin import ArrayAttr, LocationAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation

import whence
from whence import relay
from whence.dialects.relay.constants import pool_of
from whence.dialects.relay.core import ConstantOp, FuncOp
from whence.frontends.onnx import from_onnx
from whence.provenance.audit import check_explained, check_located, surviving_leaves
from whence.provenance.ledger import Ledger, recording
from whence.provenance.span import layer_location, layer_names
from whence.support.context import PassContext

LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))


def parse(text: str, opset: int = 13, ir_version: int = 8) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["": {opset}]> net {text}')


def main_of(module: ModuleOp) -> FuncOp:
    return cast(FuncOp, module.body.block.first_op)


def ops_of(module: ModuleOp) -> list[tuple[str, tuple[str, ...]]]:
    """Name and layers of each op of @main, without the prefix `relay.`."""
    return [(op.name.removeprefix("relay."), layer_names(op.location)) for op in main_of(module).block.ops]


def named(module: ModuleOp, name: str) -> Operation:
    (found,) = (op for op in main_of(module).block.ops if op.name == f"relay.{name}")
    return found


def test_conv_with_bias_is_conv2d_then_bias_add():
    text = """(float[1,3,8,8] x) => (float[1,4,4,5] y) <float[4,3,3,2] w, float[4] b>
    { [conv2d] y = Conv <pads = [0, 1, 1, 0], strides = [2, 2]> (x, w, b) }"""
    model = parse(text)
    for name, shape in (("w", (4, 3, 3, 2)), ("b", (4,))):
        model.graph.initializer.append(numpy_helper.from_array(np.ones(shape, np.float32), name))
    module = from_onnx(model)
    assert ops_of(module) == [
        ("constant", ("conv2d.w",)),
        ("constant", ("conv2d.b",)),
        ("nn.conv2d", ("conv2d",)),
        ("nn.bias_add", ("conv2d",)),
        ("return", ("conv2d",)),
    ]
    conv = named(module, "nn.conv2d")
    assert "strides = [2, 2], padding = [0, 1, 1, 0]" in str(conv)
    assert list(pool_of(module)) == ["w"]
    assert layer_names(main_of(module).block.args[0].location) == ("conv2d.x",)


def test_matmul_of_an_input_is_one():
    module = from_onnx(parse("(float[2,3] x, float[3,4] w) => (float[2,4] y) { [matmul] y = MatMul (x, w) }"))
    assert ops_of(module) == [("nn.matmul", ("matmul",)), ("return", ("matmul",))]


def test_matmul_of_a_weight_is_a_transpose_and_a_dense():
    weight = ", ".join(map(str, range(12)))
    text = f"(float[2,3] x) => (float[2,4] y) <float[3,4] w = {{{weight}}}> {{ [matmul] y = MatMul (x, w) }}"
    module = from_onnx(parse(text))
    assert ops_of(module) == [
        ("constant", ("matmul.w",)),
        ("transpose", ("matmul",)),
        ("nn.dense", ("matmul",)),
        ("return", ("matmul",)),
    ]
    assert "axes = [1, 0]" in str(named(module, "transpose"))


def test_matmul_of_batches():
    module = from_onnx(parse("(float[5,2,3] x, float[5,3,4] w) => (float[5,2,4] y) { y = MatMul (x, w) }"))
    assert [name for name, _ in ops_of(module)] == ["nn.batch_matmul", "return"]
    assert "transpose_b = false" in str(named(module, "nn.batch_matmul"))


def test_gemm_keeps_a_transposed_weight():
    text = "(float[2,3] x, float[4,3] w, float[4] b) => (float[2,4] y) { y = Gemm <transB = 1> (x, w, b) }"
    assert [name for name, _ in ops_of(from_onnx(parse(text)))] == ["nn.dense", "nn.bias_add", "return"]


def test_batch_norm():
    text = """(float[1,3,4,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[1,3,4,4] y)
    { [bn] y = BatchNormalization <epsilon = 0.00001> (x, s, b, m, v) }"""
    module = from_onnx(parse(text, 9))
    assert ops_of(module) == [("nn.batch_norm", ("bn",)), ("return", ("bn",))]
    norm = named(module, "nn.batch_norm")
    assert len(norm.results) == 3
    assert "epsilon" not in str(norm), "the 32-bit 1e-05 is the default"


def test_unnamed_nodes_are_counted_per_type():
    text = """(float[2] x) => (float[2] y)
    { a = Relu (x) [mine] b = Relu (a) c = Exp (b) y = Relu (c) }"""
    assert [layers for _, layers in ops_of(from_onnx(parse(text)))] == [
        ("Relu_0",),
        ("mine",),
        ("Exp_0",),
        ("Relu_1",),
        ("Relu_1",),
    ]


def test_leaves_are_unique_though_names_are_not():
    text = "(float[2] x) => (float[2] y) { [same] a = Relu (x) [same] y = Relu (a) }"
    first, second, _ = main_of(from_onnx(parse(text))).block.ops
    assert layer_names(first.location) == layer_names(second.location)
    assert first.location != second.location


def test_locations_hold_file_and_node_index(tmp_path: Path):
    path = tmp_path / "net.onnx"
    model = parse("(float[2] x) => (float[2] y) { a = Relu (x) [last] y = Exp (a) }")
    path.write_bytes(model.SerializeToString())
    module = from_onnx(path)
    assert named(module, "exp").location == layer_location("last", "net.onnx", 1)
    assert main_of(module).location == layer_location("net", "net.onnx", 0)


def test_shared_inputs_are_named_after_their_first_consumer_and_constants_after_each():
    numbers = ", ".join(map(str, range(16)))
    text = f"""(float[16] x) => (float[16] y) <float[16] w = {{{numbers}}}>
    {{ [one] a = Mul (x, w) [two] b = Add (x, w) [three] y = Sub (a, b) }}"""
    module = from_onnx(parse(text))
    assert layer_names(main_of(module).block.args[0].location) == ("one.x",)
    constants = [op for op in main_of(module).block.ops if isinstance(op, ConstantOp)]
    assert [layer_names(op.location) for op in constants] == [("one.w",), ("two.w",)]
    assert len({op.key for op in constants}) == 1
    executable = whence.compile(parse(text))
    assert [param.name for layer in ("one", "two") for param in executable.where(layer).params] == ["w", "w"]
    assert not executable.where("three").params


def test_weights_become_parameters_with_tvms_switch():
    text = """(float[2, 3] x) => (float[2, 2] y)
    <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {7, 8}, int64[2] shape = {2, 2}>
    { [one] a = MatMul (x, w) [two] c = Add (a, b) [three] d = Reshape (c, shape) [four] y = Mul (d, b) }"""
    module, params = relay.frontend.from_onnx(parse(text), freeze_params=False)
    arguments = main_of(module.module).block.args
    assert [layer_names(argument.location) for argument in arguments] == [("one.x",), ("one.w",), ("two.b",)]
    assert {name: array.tolist() for name, array in params.items()} == {"w": [[1, 2], [3, 4], [5, 6]], "b": [7, 8]}
    x = np.ones((2, 3), np.float32)
    executor = relay.create_executor("graph", module, params=params)
    np.testing.assert_array_equal(executor.evaluate()(x), [[(9 + 7) * 7, (12 + 8) * 8]] * 2)
    with pytest.warns(UserWarning, match="opset"):
        relay.frontend.from_onnx(parse(text), opset=99)


def test_main_keeps_tensor_names():
    model = parse("(float[2] a, float[2] b) => (float[2] y, float[2] s) { y = Add (a, b) s = Sub (a, b) }")
    renamed = {"a": "a/b:0", "b": "1x_7", "y": "out 1"}
    for value in [*model.graph.input, *model.graph.output]:
        value.name = renamed.get(value.name, value.name)
    for node in model.graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    main = main_of(from_onnx(model))
    names = {key: [n.data for n in cast(ArrayAttr[StringAttr], main.attributes[key])] for key in main.attributes}
    assert names == {"input_names": ["a/b:0", "1x_7"], "output_names": ["out 1", "s"]}
    assert [argument.name_hint for argument in main.block.args] == ["a_b", "v1x"]
    assert [value.name_hint for value in main.return_op.operands] == ["out", "s"]


def test_several_outputs_fuse_in_the_return():
    text = "(float[2] x) => (float[2] y, float[2] z) { [one] y = Relu (x) [two] z = Exp (x) }"
    assert ops_of(from_onnx(parse(text)))[-1] == ("return", ("one", "two"))


def test_an_input_may_be_an_output():
    module = from_onnx(parse("(float[2] x) => (float[2] x, float[2] y) { [one] y = Relu (x) }"))
    assert ops_of(module)[-1] == ("return", ("one.x", "one"))


def test_inputs_with_initializers_are_constants():
    text = "(float[2] x, float[2] w) => (float[2] y) { y = Add (x, w) }"
    model = parse(text, 9, ir_version=3)
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    main = main_of(from_onnx(model))
    assert len(main.block.args) == 1
    assert cast(ArrayAttr[StringAttr], main.attributes["input_names"]).data == (StringAttr("x"),)


def test_constant_of_shape_takes_no_memory():
    text = """(float[1] x) => (float[4000,40000] y) <int64[2] s = {4000, 40000}>
    { [fill] c = ConstantOfShape <value = float[1] {2.5}> (s) [add] y = Add (x, c) }"""
    module = from_onnx(parse(text))
    constant = cast(ConstantOp, named(module, "constant"))
    assert layer_names(constant.location) == ("fill", "fill.s")
    array = constant.value(module)
    assert array.shape == (4000, 40000)
    assert array.strides == (0, 0)
    assert array[3999, 7] == np.float32(2.5)


def test_nan_weights_are_no_error():
    model = parse("(float[2] x) => (float[2] y) <float[2] w> { y = Add (x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([np.nan, np.inf], np.float32), "w"))
    module = from_onnx(model)
    np.testing.assert_array_equal(cast(ConstantOp, named(module, "constant")).value(module), [np.nan, np.inf])


SHAPES = """(float[2,3,4] x) => (float[24] y) <int64 zero = {0}, int64[1] rest = {-1}, float[1] dead = {1.0}>
{
    [shape] s = Shape (x)
    [gather] d = Gather (s, zero)
    [axes] a = Constant <value_ints = [0]> ()
    [grow] u = Unsqueeze (d, a)
    [join] t = Concat <axis = 0> (u, rest)
    [cut] r = Reshape (x, t)
    [flat] y = Reshape (r, rest)
}"""


def test_evaluated_layers_are_in_the_ledger():
    ledger = Ledger()
    with recording(ledger, "from_onnx"):
        module = from_onnx(parse(SHAPES))
    assert [name for name, _ in ops_of(module)] == ["reshape", "reshape", "return"]
    assert [layer_names(entry.before[0])[0] for entry in ledger.entries] == ["shape", "gather", "axes", "grow", "join"]
    for entry in ledger.entries:
        assert entry.reason == "evaluated at import"
        assert [layer_names(place) for place in entry.after] == [("cut",)]


def test_an_evaluated_tensor_that_is_needed_names_what_it_was_made_of():
    text = """(int64[2] x) => (int64[2] y) <int64[2] w = {5, 6}>
    { [twice] d = Add (w, w) [use] y = Mul (x, d) }"""
    assert ops_of(from_onnx(parse(text)))[0] == ("constant", ("twice", "twice.w"))


def test_spans_can_be_switched_off():
    with PassContext(config={"relay.frontend.fill_span": False}):
        module = from_onnx(parse(SHAPES))
    assert all(isinstance(op.location, UnknownLoc) for op in module.walk())
    assert all(isinstance(argument.location, UnknownLoc) for argument in main_of(module).block.args)
    assert str(module) == str(from_onnx(parse(SHAPES)))


def test_dynamic_dimensions_take_the_given_shape():
    model = parse("(float[N,3] x, float[N,3] z, float[2,3] k) => (float[N,3] y) { a = Add (x, z) y = Add (a, k) }")
    main = main_of(from_onnx(model, shapes={"x": (2, 3)}))
    assert [str(argument.type) for argument in main.block.args] == ["tensor<2x3xf32>"] * 3


def test_the_model_is_not_changed():
    model = parse(SHAPES)
    before = model.SerializeToString(deterministic=True)
    from_onnx(model)
    assert model.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("offset", [0, 64, 3])
def test_external_data_is_mapped(tmp_path: Path, offset: int):
    weight = np.arange(200, dtype=np.float32)
    model = parse("(float[200] x) => (float[200] y) <float[200] w> { y = Add (x, w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[200], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "net.data"), ("offset", str(offset)), ("length", "800")):
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "net.data").write_bytes(bytes(offset) + weight.tobytes())
    array = pool_of(from_onnx(tmp_path / "net.onnx"))["w"]
    assert isinstance(array.base, np.memmap) == (offset % 4 == 0), "mapped if the elements are aligned"
    np.testing.assert_array_equal(array, weight)


def test_a_long_chain_is_imported_without_recursion():
    model = parse("(float[2] x) => (float[2] y) { y = Relu (x) }")
    del model.graph.node[:]
    count = 1500
    for index in range(count):
        inner, outer = f"t{index}" if index else "x", f"t{index + 1}" if index + 1 < count else "y"
        model.graph.node.append(onnx.helper.make_node("Relu", [inner], [outer]))
    assert len(main_of(from_onnx(model)).block.ops) == count + 1


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: cast(Path, path).stem)
def test_light_networks(path: Path):
    ledger = Ledger()
    with recording(ledger, "from_onnx"):
        module = from_onnx(path)
    module.verify()
    check_located(module, "from_onnx")
    nodes = ModelProto.FromString(path.read_bytes()).graph.node
    counts: dict[str, int] = {}
    names: list[str] = []
    for node in nodes:
        names.append(node.name or f"{node.op_type}_{counts.get(node.op_type, 0)}")
        counts[node.op_type] = counts.get(node.op_type, 0) + (not node.name)
    layers: set[LocationAttr] = {layer_location(name, path.name, index) for index, name in enumerate(names)}
    assert len(layers) == len(nodes)
    check_explained(layers, module, "from_onnx", ledger)
    assert layers <= surviving_leaves(module) | ledger.explained()
