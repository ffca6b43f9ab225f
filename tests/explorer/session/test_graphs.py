"""The graphs of a session: edges go forwards, weights are in boxes, and what is known of calls is theirs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import onnx.parser
import pytest
from onnx import ModelProto
from tflite_networks import mobilenet

from whence.explorer.layers import scope_of
from whence.explorer.layout import GAP
from whence.explorer.session.document import Graph, Session
from whence.exploring.record import record


@pytest.fixture(scope="module")
def session(source: ModelProto) -> Session:
    return record(source)


def labels(graph: Graph, kind: str) -> list[str]:
    return [label for label, each in zip(graph.nodes.label, graph.nodes.kind, strict=True) if each == kind]


def names(session: Session, graph: Graph) -> list[tuple[str, ...]]:
    return [tuple(session.layers.name[row] for row in session.sets[number]) for number in graph.nodes.set]


def test_a_box_per_layer_with_edges_of_types(session: Session):
    graph = session.graphs[0]
    nodes = graph.nodes
    assert labels(graph, "input") == ["x"]
    assert labels(graph, "output") == ["y"]
    expected = ["Conv", "BatchNormalization", "Relu", "Dropout", "Conv", "BatchNormalization", "Relu"]
    assert labels(graph, "node") == [*expected, "GlobalAveragePool"]
    assert labels(graph, "constant") == ["ConstantOfShape"]
    by_name = {name: number for number, (name, *_) in enumerate(names(session, graph)) if nodes.kind[number] == "node"}
    edges = {(s, t): text for s, t, text in zip(graph.edges.source, graph.edges.target, graph.edges.text, strict=True)}
    for before, after in pairwise(["conv1", "bn1", "relu1", "dropout", "conv2", "bn2", "relu2", "pool"]):
        assert edges[by_name[before], by_name[after]] == "float32[1, 16, 8, 8]"
    assert nodes.about[by_name["conv1"]] == "conv1, W 16x16x3x3"
    assert nodes.about[by_name["bn2"]] == "bn2, scale 16, B 16, mean 16, var 16"
    attributes = dict(nodes.attributes[by_name["conv1"]])
    assert attributes["pads"] == attributes["nn.conv2d.padding"] == "[1, 1, 1, 1]"
    assert attributes["W"].startswith("float32[16, 16, 3, 3] ")
    assert attributes["W"].endswith("w1")
    assert nodes.flops[by_name["conv1"]] >= 2 * 16 * 64 * 16 * 9


def test_the_graph_of_calls_has_every_call_once(session: Session):
    graph = session.graphs[1]
    nodes = graph.nodes
    calls = [call for call in nodes.call if call >= 0]
    assert calls == list(range(len(session.calls)))
    for node, call in enumerate(nodes.call):
        if call >= 0:
            row = session.calls[call]
            assert (nodes.set[node], nodes.flops[node], nodes.bytes[node]) == (row.set, row.flops, row.bytes)
    assert sum(nodes.flops) == sum(call.flops for call in session.calls)


def test_boxes_do_not_overlap_and_edges_go_down(session: Session):
    for graph in session.graphs:
        nodes = graph.nodes
        assert all(nodes.y[s] < nodes.y[t] for s, t in zip(graph.edges.source, graph.edges.target, strict=True))
        rows: dict[float, list[tuple[float, float]]] = {}
        for x, y, width in zip(nodes.x, nodes.y, nodes.width, strict=True):
            rows.setdefault(y, []).append((x - width / 2, x + width / 2))
        for row in rows.values():
            assert all(b[0] - a[1] > GAP - 1 for a, b in pairwise(sorted(row)))


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("/layer1/block0/conv", "layer1/block0"),
        ("layer1.block0.conv", "layer1/block0"),
        ("a/b.1/c", "a/b.1"),
        ("conv1", ""),
        ("net.relay:7:9", ""),
    ],
)
def test_scopes(name: str, scope: str):
    assert scope_of(name) == scope


def test_weights_made_of_weights_are_constants():
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[1,8] x) => (float[1,4] y)
    <int8[8,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
     float scale = {0.5}, float step = {0.1}, int8 zero = {0}> {
        [q] q = QuantizeLinear(x, step, zero) [dq] d = DequantizeLinear(q, step, zero)
        [wdq] v = DequantizeLinear(w, scale) [turn] t = Neg(v)
        [product] y = MatMul(d, t)
    }"""
    graph = record(onnx.parser.parse_model(text)).graphs[0]
    assert labels(graph, "constant") == ["DequantizeLinear", "Neg"]
    assert labels(graph, "node") == ["QuantizeLinear", "DequantizeLinear", "MatMul"]
    assert roles(graph)["Neg", "MatMul"] == "B"


def roles(graph: Graph) -> dict[tuple[str, str], str]:
    label = graph.nodes.label
    rows = zip(graph.edges.source, graph.edges.target, graph.edges.role, strict=True)
    return {(label[source], label[target]): role for source, target, role in rows}


def test_inputs_have_the_names_of_the_operators_schema():
    body = "a = Relu(x) b = Tanh(x) c = Sub(a, b) d, e = Split <axis = 1, num_outputs = 2> (c) y = Pow(e, d)"
    text = f'<ir_version: 8, opset_import: ["": 18]> g (float[4,8] x) => (float[4,4] y) {{ {body} }}'
    graph = record(onnx.parser.parse_model(text)).graphs[0]
    names = roles(graph)
    assert (names["Relu", "Sub"], names["Tanh", "Sub"], names["Sub", "Split"]) == ("A", "B", "input")
    power = [k for k, target in enumerate(graph.edges.target) if graph.nodes.label[target] == "Pow"]
    assert [graph.edges.role[k] for k in power] == ["X", "Y"]


@pytest.mark.parametrize("integers", [False, True])
def test_inputs_have_the_names_that_rows_of_tflite_declare(integers: bool):
    graph = record(mobilenet(8, 0.125, integers=integers, stages=(), classes=2)).graphs[0]
    nodes = graph.nodes
    about = {label: nodes.about[k].split(", ")[1:] for k, label in enumerate(nodes.label) if nodes.kind[k] == "node"}
    assert about["CONV_2D"][0].startswith("filter ")
    assert about["CONV_2D"][1].startswith("bias ")
    assert about["FULLY_CONNECTED"][0].startswith("weights ")
    assert roles(graph)["input", "CONV_2D"] == "input"
    assert ("StrideH", "2") in nodes.attributes[nodes.label.index("CONV_2D")]


_TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("model", "edges", "weights"),
    [
        (
            "exports/pytorch/cnn.pt2",
            {("aten.relu.default", "aten.add.Tensor"): "other", ("image", "aten.conv2d.default"): "input"},
            {
                "aten.conv2d.default": ["weight 8x3x3x3"],
                "aten.batch_norm.default": ["weight 8", "bias 8", "running_mean 8", "running_var 8"],
            },
        ),
        (
            "frontends/tensorflow/data/cnn_saved",
            {("Relu", "DepthwiseConv2dNative"): "input", ("Reshape", "MatMul"): "a", ("MaxPool", "Reshape"): "tensor"},
            {"Conv2D": ["filter 3x3x3x8"], "DepthwiseConv2dNative": ["filter 3x3x8x1"], "MatMul": ["b 128x10"]},
        ),
        (
            "frontends/keras/models/cnn.keras",
            {("ReLU", "MaxPooling2D"): "inputs"},
            {},
        ),
    ],
)
def test_inputs_have_the_names_that_other_formats_declare(
    model: str, edges: dict[tuple[str, str], str], weights: dict[str, list[str]]
):
    graph = record(_TESTS / model).graphs[0]
    assert edges.items() <= roles(graph).items()
    about: dict[str, list[str]] = {}
    for label, text in zip(graph.nodes.label, graph.nodes.about, strict=True):
        about.setdefault(label, text.split(", ")[1:])
    assert weights.items() <= about.items()


def test_a_part_that_an_external_compiler_runs_is_a_box():
    body = "a = Relu(x) y = Tanh(a)"
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[4,8] x) => (float[4,8] y) {{ {body} }}'
    model = onnx.parser.parse_model(text)
    session = record(model, target="onnxruntime, llvm")
    assert labels(session.graphs[0], "node") == ["Relu", "Tanh"]
    assert labels(session.graphs[1], "node") == ["onnxruntime_main_0"]
