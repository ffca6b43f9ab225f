"""What becomes of TFLite models: names of layers and weights, structures as TVM's, control flow, errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged_tflite import damaged, outcome, sources
from tflite_builder import Net, Quant, litert, random_inputs
from tflite_networks import mobilenet
from xdsl.dialects.builtin import ModuleOp

import whence
from whence import relay
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.tflite import from_tflite
from whence.provenance.span import layer_names
from whence.support.errors import FrontendError

RELU6 = 3
rng = np.random.default_rng(3)


def network() -> bytes:
    """A convolution with an activation in it, and a fully connected layer."""
    net = Net()
    x = net.input("image", (1, 4, 4, 3))
    w = net.const("filter_weight", rng.standard_normal((2, 3, 3, 3)).astype(np.float32))
    b = net.const("conv2d_bias", rng.standard_normal(2).astype(np.float32))
    conv = net.tensor("net/conv2d", (1, 4, 4, 2))
    net.op("CONV_2D", [x, w, b], [conv], "Conv2DOptions", strideH=1, strideW=1, fusedActivationFunction=RELU6)
    weight = net.const("dense/w", rng.standard_normal((5, 32)).astype(np.float32))
    bias = net.const("dense/b", rng.standard_normal(5).astype(np.float32))
    dense = net.tensor("dense", (1, 5))
    net.op("FULLY_CONNECTED", [conv, weight, bias], [dense], "FullyConnectedOptions")
    return net.build([dense])


def operators(module: ModuleOp) -> list[tuple[str, str]]:
    """Each operator and its layer."""
    return [
        (op.name.removeprefix("relay."), ", ".join(layer_names(op.location)))
        for op in module.walk()
        if op.name not in ("builtin.module", "relay.func", "relay.return")
    ]


def test_layers_are_called_what_their_outputs_are():
    assert operators(from_tflite(network())) == [
        ("constant", "filter_weight"),
        ("nn.conv2d", "net/conv2d"),
        ("constant", "conv2d_bias"),
        ("nn.bias_add", "net/conv2d"),
        ("clip", "net/conv2d"),
        ("constant", "dense/w"),
        ("constant", "dense/b"),
        ("reshape", "dense"),
        ("nn.dense", "dense"),
        ("nn.bias_add", "dense"),
    ]


def test_several_outputs_are_one_layer():
    net = Net()
    x = net.input("x", (4,))
    axis = net.const("axis", np.array(0, np.int32))
    parts = [net.tensor("left", (2,)), net.tensor("right", (2,))]
    net.op("SPLIT", [axis, x], parts, "SplitOptions", numSplits=2)
    found = operators(from_tflite(net.build(parts)))
    assert {layer for _, layer in found} == {"left, right"}


def test_weights_are_parameters_for_relay():
    module, params = relay.frontend.from_tflite(network(), {"image": (1, 4, 4, 3)}, {"image": "float32"})
    main = module["main"]
    assert [param.name_hint for param in main.params] == ["image", *(f"_param_{k}" for k in (1, 2, 3, 4))]
    assert [str(param.span.source_name.name) for param in main.params if param.span][1:3] == [
        "filter_weight",
        "conv2d_bias",
    ]
    assert {name: value.shape for name, value in params.items()} == {
        "_param_1": (3, 3, 3, 2),
        "_param_2": (2,),
        "_param_3": (5, 32),
        "_param_4": (5,),
    }
    assert list(main.attrs["output_tensor_names"]) == ["dense"]


def test_a_dtype_that_the_model_has_not_is_refused():
    with pytest.raises(FrontendError, match="expected float32 as the model has, got int8"):
        relay.frontend.from_tflite(network(), {}, {"image": "int8"})


def choice() -> bytes:
    net = Net()
    p, x = net.input("p", [1], "bool"), net.input("x", [3])
    branches: list[int] = []
    for op, options in (("EXP", "ExpOptions"), ("NEG", "NegOptions")):
        inner = net.subgraph()
        given, left = inner.input("given", [3]), inner.tensor(op.lower(), [3])
        inner.op(op, [given], [left], options)
        inner.outputs = [left]
        branches.append(inner.finish())
    y = net.tensor("y", [3])
    net.op("IF", [p, x], [y], "IfOptions", thenSubgraphIndex=branches[0], elseSubgraphIndex=branches[1])
    return net.build([y])


def loop() -> bytes:
    """Doubles x while i is below 5."""
    net = Net()
    i, x = net.input("i", [], "int32"), net.input("x", [3])
    cond = net.subgraph()
    a, _ = cond.input("a", [], "int32"), cond.input("b", [3])
    going = cond.tensor("going", [], "bool")
    cond.op("LESS", [a, cond.const("limit", np.array(5, np.int32))], [going], "LessOptions")
    cond.outputs = [going]
    first = cond.finish()
    body = net.subgraph()
    a, b = body.input("a", [], "int32"), body.input("b", [3])
    more, twice = body.tensor("more", [], "int32"), body.tensor("twice", [3])
    body.op("ADD", [a, body.const("one", np.array(1, np.int32))], [more], "AddOptions")
    body.op("ADD", [b, b], [twice], "AddOptions")
    body.outputs = [more, twice]
    outs = [net.tensor("count", [], "int32"), net.tensor("grown", [3])]
    net.op("WHILE", [i, x], outs, "WhileOptions", condSubgraphIndex=first, bodySubgraphIndex=body.finish())
    return net.build(outs)


X = np.array([0.5, -1.0, 2.0], np.float32)


@pytest.mark.parametrize("way", [True, False])
def test_a_condition_chooses_a_subgraph(way: bool):
    inputs = {"p": np.array([way]), "x": X}
    exe = whence.compile(choice(), threads=1)
    np.testing.assert_allclose(exe.run(inputs)["y"], litert(choice(), inputs)[0], rtol=1e-6)
    assert exe.layers == ("y", "y/exp", "y/neg")


def test_a_loop_runs_its_body_while_its_condition_holds():
    inputs = {"i": np.array(2, np.int32), "x": X}
    found = whence.compile(loop(), threads=1).run(inputs)
    assert found["count"] == 5
    np.testing.assert_array_equal(found["grown"], litert(loop(), inputs)[1])
    np.testing.assert_array_equal(found["grown"], 8 * X)


def calls() -> tuple[Net, Net]:
    net = Net()
    x, inner = net.input("x", [3]), net.subgraph()
    given, left = inner.input("given", [3]), inner.tensor("inner", [3])
    inner.op("EXP", [given], [left], "ExpOptions")
    inner.outputs = [left]
    number = inner.finish()
    first, second = net.tensor("first", [3]), net.tensor("second", [3])
    net.op("CALL", [x], [first], "CallOptions", subgraph=number)
    net.op("CALL", [first], [second], "CallOptions", subgraph=number)
    net.outputs = [second]
    return net, inner


def test_calls_are_put_in_their_place():
    module = from_tflite(calls()[0].build())
    assert operators(module) == [("exp", "first/inner"), ("exp", "second/inner")]
    np.testing.assert_allclose(np.asarray(evaluate_module(module, [X])[0], np.float32), np.exp(np.exp(X)), rtol=1e-5)


def test_a_subgraph_that_calls_itself_is_refused():
    net, inner = calls()
    inner.op("CALL", [inner.inputs[0]], [inner.tensor("again", [3])], "CallOptions", subgraph=1)
    with pytest.raises(FrontendError, match="subgraphs that do not run themselves"):
        from_tflite(net.build())


def test_a_quantised_network_equals_litert_in_every_bit():
    net = Net()
    x = net.input("x", (1, 8, 8, 3), "int8", Quant(0.02, 5))
    q = Quant(0.05, -10)
    scales = rng.uniform(0.005, 0.02, 16).astype(np.float32)
    w = net.const("w", rng.integers(-127, 128, (16, 3, 3, 3)).astype(np.int8), Quant(scales.tolist(), [0] * 16))
    b = net.const("b", rng.integers(-500, 500, 16).astype(np.int32), Quant((scales * 0.02).tolist(), [0] * 16))
    conv, total = net.tensor("conv", (1, 8, 8, 16), "int8", q), net.tensor("total", (1, 8, 8, 16), "int8", q)
    net.op("CONV_2D", [x, w, b], [conv], "Conv2DOptions", 3, strideH=1, strideW=1, fusedActivationFunction=1)
    net.op("ADD", [conv, conv], [total], "AddOptions", 2)
    data = net.build([total])
    given = rng.integers(-128, 128, (1, 8, 8, 3)).astype(np.int8)
    exe = whence.compile(data, threads=1)
    np.testing.assert_array_equal(exe(given), litert(data, {"x": given})[0])
    assert exe.coverage()["relay"] == 1.0


def test_an_input_takes_another_shape():
    exe = whence.compile(choice(), input_shapes="x:[2]", threads=1)
    assert exe.run({"p": np.array([False]), "x": np.ones(2, np.float32)})["y"].tolist() == [-1, -1]
    with pytest.raises(FrontendError, match="weren't found in the graph: z"):
        from_tflite(choice(), shapes={"z": (2,)})


def test_unsupported_operators_are_listed_at_once():
    net = Net()
    x = net.input("x", [3])
    parts = [net.tensor(name, [3]) for name in ("a", "b", "c")]
    net.op("CUSTOM", [x], [parts[0]], custom=("FlexFoo", b""))
    net.op("HASHTABLE_FIND", [x], [parts[1]])
    net.op("CUSTOM", [x], [parts[2]], custom=("FlexFoo", b""))
    with pytest.raises(FrontendError) as error:
        from_tflite(net.build(parts))
    assert str(error.value) == (
        "<memory>: The following operators are not supported for frontend TFLite: FlexFoo (2 layers: a, c), "
        'HASHTABLE_FIND (1 layer: b); custom_ops={"FlexFoo": function, ..} has functions of yours compute them'
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes without the identifier TFL3"),
        (b"\x08\0\0\0TFL3", "damaged or cut short"),
        (b"\xff\xff\xff\xffTFL3" + b"\0" * 40, "a table Model at byte 4294967295"),
    ],
)
def test_what_is_no_model_is_refused(data: bytes, message: str):
    with pytest.raises(FrontendError, match=message):
        from_tflite(data)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FrontendError, match="got no such file"):
        from_tflite(tmp_path / "none.tflite")


def test_damaged_files_are_refused_or_read():
    random = np.random.default_rng(11)
    files = sources(random)
    found = {outcome(damaged(files[at % len(files)], random)) for at in range(60)}
    assert found == {"read", "refused"}


def _odd(**odd: Any) -> bytes:
    """A GATHER of quantised rows with one thing that is not as it should be."""
    net = Net()
    quant = Quant(0.1, odd.get("zero_point", 0))
    x = net.input("x", [3, 2], odd.get("type", "int8"), quant)
    points = net.const("points", np.array([0, odd.get("point", 2)], np.int32))
    parts = [net.tensor(name, [2, 2], odd.get("out", "int8"), quant) for name in odd.get("results", "y")]
    net.op("GATHER", [x, points], parts, "GatherOptions", odd.get("version", 2))
    if odd.get("again"):
        net.operators[0].outputs = [parts[0], x]
    if "bytes" in odd:
        net.buffers[1].data = net.buffers[1].data[: odd["bytes"]]
    return net.build(parts)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"version": 9}, r"GATHER: expected a version from 1 to 8, got version 9 \(layer 'y', <memory> node 0\)"),
        ({"point": 3}, r"expected indices in \[0, 3\), got 0 to 3"),
        ({"results": "yz"}, "expected 1 outputs, got 2"),
        ({"zero_point": []}, "as many zero points as scales of tensor 'x', got 0, 1"),
        ({"bytes": 7}, "tensor 'points': expected a buffer of 8 bytes, got 7"),
        ({"again": True}, "expected distinct outputs, none of which is an input"),
    ],
)
def test_what_litert_refuses_is_refused(odd: dict[str, Any], message: str):
    with pytest.raises((RuntimeError, ValueError)):
        litert(_odd(**odd), {"x": np.zeros((3, 2), np.int8)})
    with pytest.raises(FrontendError, match=message):
        from_tflite(_odd(**odd))


def test_an_output_has_the_type_that_the_file_says():
    with pytest.raises(FrontendError, match=r"expected a result of uint8\[2, 2\], as the model says, got int8\[2, 2\]"):
        from_tflite(_odd(out="uint8"))


def test_what_that_differs_from_is_read():
    x = rng.integers(-128, 128, (3, 2)).astype(np.int8)
    np.testing.assert_array_equal(evaluate_module(from_tflite(_odd()), [x])[0], litert(_odd(), {"x": x})[0])


def test_constants_of_four_bits_are_unpacked():
    net = Net()
    x = net.input("x", [3, 3], "int8", Quant(0.1, 0))
    values = np.array([[-8, 7, 1], [2, -3, 4], [5, -6, 0]], np.int8)
    c = net.const("c", values, Quant(0.1, 0), "int4")
    y = net.tensor("y", [3, 3], "int8", Quant(0.1, 0))
    net.op("MAXIMUM", [x, c], [y], "MaximumMinimumOptions", 2)
    found = evaluate_module(from_tflite(net.build([y])), [np.full((3, 3), -128, np.int8)])[0]
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("integers", [False, True])
def test_a_mobilenet_equals_litert(integers: bool):
    data = mobilenet(32, 0.25, integers, [(1, 64), (2, 128)], 10)
    inputs = random_inputs(data, np.random.default_rng(0), -1, 1)
    found = np.asarray(evaluate_module(from_tflite(data), list(inputs.values()))[0])
    expected = litert(data, inputs)[0]
    if integers:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found.astype(np.float32), expected, rtol=1e-4, atol=1e-6)


SNIPPET = """
# load TFLite model
tflite_model_buf = open('mobilenet.tflite', "rb").read()
model = tflite.Model.GetRootAsModel(tflite_model_buf, 0)
input_shape = {'input': (1, 224, 224, 3)}
mod, params = relay.frontend.from_tflite(model, input_shape)

# invoke build process
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, 'llvm', params=params)

# (new API) get schedule from 17th node in TVM graph
sch = lib.build_module.get_node_schedule(17)
# (new API) get schedule record (snapshots of schedule)
schs = sch.schedule_record

# the second to last schedule
ori_dot = tedd.viz_schedule_tree(schs[-2].normalize(), dot_file_path="ori.dot")
# the last schedule with all the optimization strategies
cmp_dot = tedd.viz_schedule_tree(schs[-1].normalize(), dot_file_path="cmp.dot")
"""
"""As the proposal of the Explorer prints it."""


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # which the snippet leaves
def test_the_snippet_of_the_explorers_proposal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import tflite

    from whence import tedd

    (tmp_path / "mobilenet.tflite").write_bytes(mobilenet(32, 0.25, False, [(1, 64), (2, 128)], 10))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"tvm": whence, "relay": relay, "tflite": tflite, "tedd": tedd}
    exec(SNIPPET, names)
    ori, cmp = (Path(name).read_text() for name in ("ori.dot", "cmp.dot"))
    assert ori != cmp
    assert "mean" in names["lib"].graph.nodes[17].name
    assert ori.startswith("digraph")


def added(first: Quant, second: str = "int8") -> bytes:
    net = Net()
    inputs = [net.input("x", [3], "int8", first), net.input("z", [3], second, Quant(0.1))]
    y = net.tensor("y", [3], "int8", Quant(0.1))
    net.op("ADD", inputs, [y], "AddOptions", 2)
    return net.build([y])


def convolved(weight_zero: int = 0, bias_zero: int = 0, stride: int = 1) -> bytes:
    net = Net()
    x = net.input("x", [1, 2, 2, 1], "int8", Quant(0.1))
    w = net.const("w", np.ones((1, 1, 1, 1), np.int8), Quant(0.1, weight_zero))
    b = net.const("b", np.ones(1, np.int32), Quant(0.01, bias_zero))
    y = net.tensor("y", [], "int8", Quant(0.1))
    net.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", 3, strideH=stride, strideW=1)
    return net.build([y])


def soft(scale: float, zero: int = 0) -> bytes:
    net = Net()
    x, y = net.input("x", [4], "int16", Quant(0.1)), net.tensor("y", [4], "int16", Quant(scale, zero))
    net.op("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)
    return net.build([y])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (added(Quant(0.1), "uint8"), "operands of one type, got int8 and uint8"),
        (convolved(weight_zero=1), r"weights whose zero points are 0, got \[1\]"),
        (convolved(bias_zero=1), r"a bias whose zero point is 0, got \[1\]"),
        (convolved(stride=1 << 15), r"strides up to 32767, got \[32768, 1\]"),
        (soft(1 / 256), "an output in steps of 1 / 32768, got"),
        (soft(1 / 32768, 1), "a zero point of 0 of tensor 'y'"),
    ],
)
def test_what_litert_does_not_prepare_is_refused(data: bytes, expected: str):
    with pytest.raises(RuntimeError, match="failed to prepare"):
        litert(data, random_inputs(data, np.random.default_rng(0)))
    with pytest.raises(FrontendError, match=expected):
        from_tflite(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (added(Quant(0.1, 128)), r"zero points of tensor 'x' in \[-128, 127\], got \[128\]"),
        (added(Quant(1e20)), r"scales whose quotient is below 2\^30, got"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(data: bytes, expected: str):
    """LiteRT reads the first, and ends the process at the second."""
    with pytest.raises(FrontendError, match=expected):
        from_tflite(data)


def test_a_softmax_without_options_is_flat_as_litert_has_it():
    net = Net()
    x, y = net.input("x", [4]), net.tensor("y", [4])
    net.op("SOFTMAX", [x], [y])
    data = net.build([y])
    inputs = random_inputs(data, np.random.default_rng(0))
    found = np.asarray(evaluate_module(from_tflite(data), [inputs["x"]])[0], np.float32)
    np.testing.assert_allclose(found, litert(data, inputs)[0])


def test_an_input_or_option_that_no_converter_reads_is_refused():
    net = Net()
    x = net.input("x", (2, 3))
    w = net.const("w", np.ones(3, np.float32))
    y = net.tensor("y", (2, 3))
    net.op("LOG_SOFTMAX", [x, w], [y])
    text = "LOG_SOFTMAX: expected no input 1, which is not supported, got 'w' (layer 'y', <memory> node 0)"
    with pytest.raises(FrontendError, match=re.escape(text)):
        from_tflite(net.build([y]))
    net.operators.clear()
    net.op("LOG_SOFTMAX", [x], [y], "AddOptions", fusedActivationFunction=RELU6)
    with pytest.raises(FrontendError, match=r"LOG_SOFTMAX: expected no option 'FusedActivationFunction', .* got 3"):
        from_tflite(net.build([y]))
