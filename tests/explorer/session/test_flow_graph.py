"""Graphs of programs that an interpreter runs: each branch and each body of a loop is a group."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from language_programs import module_of

from whence.explorer.session.document import Graph, Session
from whence.exploring.record import record

TEXT = """<ir_version: 8, opset_import: ["": 17]>
net (float[n, 4] x, int64 trips) => (float[n, 4] y) <float one = {1.0}, bool yes = {1}> {
    [scale] s = Mul(x, one)
    [total] total = ReduceSum <keepdims = 0> (s)
    [test] positive = Greater(total, one)
    [branch] b = If(positive) <
        then_branch = big () => (float[n, 4] t) { [relu] t1 = Relu(s) [tanh] t = Tanh(t1) },
        else_branch = small () => (float[n, 4] e) { [sigmoid] e = Sigmoid(s) }>
    [loop] last = Loop(trips, yes, b) <body = step (int64 i, bool go, float[n, 4] state)
        => (bool on, float[n, 4] next) { [add] next = Add(state, one) [on] on = Identity(go) }>
    [end] y = Exp(last)
}"""


@pytest.fixture(scope="module")
def session() -> Session:
    inputs = {"x": np.ones((3, 4), np.float32), "trips": np.array(2)}
    return record(onnx.parser.parse_model(TEXT), inputs)


def edges(graph: Graph) -> dict[tuple[str, str], str]:
    label = graph.nodes.label
    rows = zip(graph.edges.source, graph.edges.target, graph.edges.text, strict=True)
    return {(label[source], label[target]): text for source, target, text in rows}


def test_branches_and_bodies_are_groups(session: Session):
    graph = session.graphs[0]
    assert (session.programs[graph.program].name, graph.level) == ("main", "model")
    scopes = dict(zip(graph.nodes.label, graph.nodes.scope, strict=True))
    assert {label: scopes[label] for label in ("Relu", "Tanh", "Sigmoid", "If")} == {
        "Relu": "branch/then",
        "Tanh": "branch/then",
        "Sigmoid": "branch/else",
        "If": "branch",
    }
    assert {scopes[label] for label in ("i", "go", "state", "Add", "Identity", "Loop")} == {"loop"}
    assert {scopes[label] for label in ("x", "Mul", "Greater", "Exp", "y")} == {""}


def test_values_flow_through_bodies(session: Session):
    flow = edges(session.graphs[0])
    for pair in (("Mul", "Relu"), ("Mul", "Sigmoid"), ("Greater", "If"), ("Tanh", "If"), ("Sigmoid", "If")):
        assert pair in flow
    for pair in (("If", "state"), ("trips", "i"), ("state", "Add"), ("Add", "Loop"), ("go", "Identity")):
        assert pair in flow
    assert flow["Loop", "Exp"] == flow["Add", "Loop"]
    assert flow["Add", "Loop"].startswith("float32[")
    assert ("If", "Loop") not in flow, "the body gets it"


def test_layers_of_branches_that_were_not_taken_are_layers(session: Session):
    layers = session.layers
    assert layers.type[layers.name.index("branch/sigmoid")] == "Sigmoid"
    assert layers.kind[layers.name.index("branch/sigmoid")] == "layer"
    session_graph = session.graphs[session.sources[0].graph]
    assert session_graph is session.graphs[0]


def test_a_program_of_the_language_has_its_regions(tmp_path: Path):
    text = """
    relay.func @main(%n: $I) -> ($I) {
      %zero = relay.constant dense<0> : $I
      %c = relay.equal %n, %zero : ($I, $I) -> $B
      %r = relay.if %c : $B -> $I {
        %a = relay.negative %n : ($I) -> $I
        relay.yield %a : $I
      } else {
        %s = relay.subtract %n, %n : ($I, $I) -> $I
        %b = relay.abs %s : ($I) -> $I
        relay.yield %b : $I
      }
      relay.return %r : $I
    }
    """
    session = record(module_of(text, tmp_path), {"n": np.array(3, np.int32)})
    graph = session.graphs[0]
    scopes = dict(zip(graph.nodes.label, graph.nodes.scope, strict=True))
    assert scopes["negative"].endswith("/then")
    assert scopes["subtract"] == scopes["abs"] == scopes["negative"].replace("then", "else")
    assert scopes["if"] == scopes["abs"].removesuffix("/else")
    flow = edges(graph)
    for pair in (("n", "equal"), ("equal", "if"), ("negative", "if"), ("abs", "if"), ("if", "output 0")):
        assert flow[pair].endswith("[]")
