"""Session documents in the formats of other tools."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from small_session import named_session, small_session

from whence.explorer.session.exports import EXPORTS
from whence.explorer.session.file import from_json
from whence.explorer.session.views.choice import Choice
from whence.support.errors import PipelineError


def _json(kind: str):
    return json.loads(EXPORTS[kind](small_session(), Choice()))


def test_model_explorer_has_the_graphs_in_folders_of_scopes():
    data = _json("model-explorer")
    assert data["label"] == "m.onnx"
    (graph,) = data["graphs"]
    assert graph["id"] == "model"
    assert [node["namespace"] for node in graph["nodes"]] == ["", "block", "block", ""]
    conv = graph["nodes"][1]
    assert conv["incomingEdges"] == [{"sourceNodeId": "n0", "sourceNodeOutputId": "0", "targetNodeInputId": "0"}]
    assert {"key": "layers", "value": "block/conv1"} in conv["attrs"]
    assert conv["outputsMetadata"] == [{"id": "0", "attrs": [{"key": "tensor_shape", "value": "float32[64]"}]}]


def test_model_explorer_tells_outputs_of_a_node_apart():
    session = small_session()
    session.graphs[0].edges.output[1] = 2
    _, split, reader, _ = json.loads(EXPORTS["model-explorer"](session, Choice()))["graphs"][0]["nodes"]
    assert [row["id"] for row in split["outputsMetadata"]] == ["2"]
    assert reader["incomingEdges"][0]["sourceNodeOutputId"] == "2"


def test_node_data_are_the_times_of_its_nodes():
    results = _json("node-data")["model"]["results"]
    assert {node: row["value"] for node, row in results.items()} == pytest.approx({"n1": 1.5, "n2": 0.5, "n3": 1.0})


def test_a_chrome_trace_has_calls_and_below_them_layers():
    events = [event for event in _json("chrome-trace")["traceEvents"] if event["ph"] == "X"]
    spans = {(event["tid"], event["name"]): (event["ts"], event["dur"]) for event in events}
    assert spans[1, "fused_1"] == pytest.approx((2000, 1000))
    assert spans[2, "block/relu1"] == pytest.approx((1500, 500))
    assert sum(event["dur"] for event in events if event["tid"] == 2) == pytest.approx(3000)


def test_speedscope_and_folded_stacks_add_up_to_a_run():
    data = _json("speedscope")
    (profile,) = data["profiles"]
    names = [frame["name"] for frame in data["shared"]["frames"]]
    assert sum(profile["weights"]) == pytest.approx(profile["endValue"])
    assert profile["endValue"] == pytest.approx(0.003)
    assert [names[frame] for frame in profile["samples"][0]][1:] == ["fused_0", "2: T[i] = conv"]
    folded = EXPORTS["folded"](small_session(), Choice()).splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in folded) == 3_000_000
    assert folded[-1] == "conv2;fused_1 1000000"


def test_drawings_have_every_node_and_edge():
    dot = EXPORTS["dot"](small_session(), Choice(level="model"))
    assert len(re.findall(r"^  n\d+ \[label", dot, re.MULTILINE)) == 5
    assert len(re.findall(r"^  n\d+ -> n\d+ \[label=\"float32\[64\]\"\]", dot, re.MULTILINE)) == 4
    svg = ElementTree.fromstring(EXPORTS["svg"](small_session(), Choice()))
    tags = [element.tag.rpartition("}")[2] for element in svg.iter()]
    assert tags.count("path") == 4
    assert tags.count("title") == 5


def test_the_document_itself_is_an_export():
    assert from_json(_json("json")) == small_session()


@pytest.mark.parametrize("kind", EXPORTS)
def test_names_are_escaped(kind: str):
    text = EXPORTS[kind](named_session('</title><b>"\\\x1b[2J;\u202e\ud800\n'), Choice())
    text.encode()
    if kind in ("svg", "film"):
        ElementTree.fromstring(text)
    elif kind in ("dot", "folded"):
        assert "\x1b" not in text
        assert all(line.isprintable() for line in text.split("\n"))
    else:
        json.loads(text)


@pytest.mark.parametrize("kind", [kind for kind in EXPORTS if kind != "json"])
def test_what_the_document_lacks_is_said(kind: str):
    session = small_session()
    session.times, session.graphs, session.stages = [], [], []
    with pytest.raises(PipelineError, match="expected a document with"):
        EXPORTS[kind](session, Choice())
