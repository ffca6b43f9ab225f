"""Two documents side by side: which layers are the same, and all that each takes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_session import small_session

from whence.cli.main import main
from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import Edges, Events, Graph, Leads, Nodes, Session
from whence.explorer.session.file import read, to_json, write
from whence.explorer.session.strip import stripped


def _layers(*layers: tuple[str, str]) -> Session:
    """Return a document of layers, by name and operator, in this order."""
    session = small_session()
    session.sets, session.calls, session.times, session.tensors = [[]], [], [], []
    session.leads, session.events, session.graphs = Leads(), Events(), []
    of = session.layers
    of.name, of.type = [name for name, _ in layers], [kind for _, kind in layers]
    of.kind, of.source = ["layer"] * len(layers), [0] * len(layers)
    of.ordinal, of.owner = list(range(len(layers))), list(range(len(layers)))
    return session


def _pairs(a: Session, b: Session) -> set[tuple[int, int]]:
    return {(layer.first, layer.second) for layer in compare_sessions(a, b).layers}


def test_the_time_of_a_layer_is_that_of_all_programs_and_all_its_tensors():
    first, second = small_session(), small_session()
    (times,) = first.times
    # Row 4 is a tensor of layer 0.
    first.times = [
        replace(times, layers=[(0, 0.5, False), (4, 0.25, False), (0, 1.0, True), (-1, 9.0, False)]),
        replace(times, layers=[(0, 2.0, False), (2, 0.125, False)]),
    ]
    seconds = {layer.first: layer.seconds[0] for layer in compare_sessions(first, second).layers}
    assert seconds == {0: 3.75, 1: 0.0, 2: 0.125, 3: 0.0}


def test_layers_without_a_name_are_those_of_their_operator_between_the_same_neighbours():
    a = _layers(("a", "Conv"), ("", "Relu"), ("", "Add"), ("", "Relu"), ("b", "Conv"), ("", "Relu"))
    b = _layers(("a", "Conv"), ("", "Add"), ("", "Relu"), ("b", "Conv"), ("", "Add"), ("", "Relu"))
    assert _pairs(a, b) == {(0, 0), (1, 2), (2, 1), (3, -1), (4, 3), (5, 5), (-1, 4)}


def test_of_layers_of_one_name_the_first_are_the_same_and_others_by_their_place():
    a = _layers(("r", "Relu"), ("c", "Conv"), ("r", "Relu"), ("r", "Relu"))
    b = _layers(("r", "Relu"), ("r", "Relu"), ("c", "Conv"), ("r", "Relu"))
    assert _pairs(a, b) == {(0, 0), (1, 2), (2, 3), (3, -1), (-1, 1)}


def test_layers_stand_in_the_order_of_their_sources():
    a = _layers(("x", "Relu"), ("a", "Conv"), ("y", "Relu"))
    b = _layers(("u", "Relu"), ("v", "Relu"), ("a", "Conv"))
    b.layers.ordinal = [2, 0, 1]
    assert _pairs(a, b) == {(0, 1), (1, 2), (2, 0)}


@pytest.mark.parametrize(("inputs", "error"), [("6f1d", 0.75), ("", -1.0), ("other", -1.0)])
def test_values_are_compared_where_both_are_of_the_same_inputs(inputs: str, error: float):
    first, second = small_session(), small_session()
    second.tensors[0].inputs = inputs
    first.tensors[0].inputs = inputs if inputs != "other" else "6f1d"
    second.tensors[0].sample[0][5] += 0.75
    second.tensors[0].nan[1] += 1
    errors = {layer.name: layer.error for layer in compare_sessions(first, second).layers}
    assert errors["block/relu1"] == error
    assert errors["conv2"] == -1.0


def test_a_session_without_values_is_compared_with_one_that_has_them():
    session = small_session()
    assert {layer.error for layer in compare_sessions(stripped(session), stripped(session)).layers} == {-1.0}
    bare = small_session()
    bare.tensors[0].sample = [[], []]
    assert {layer.error for layer in compare_sessions(session, bare).layers} == {-1.0}


def test_guesses_are_marked_and_few_common_names_are_doubted():
    a = _layers(("a", "Conv"), ("b", "Relu"), ("c", "Add"), ("d", "Add"), ("e", "Add"))
    b = _layers(("a", "Conv"), ("x", "Relu"), ("y", "Mul"), ("z", "Mul"))
    comparison = compare_sessions(a, b)
    matched = {layer.name: layer.matched for layer in comparison.layers}
    assert matched == {"a": "name", "b": "position", "c": "", "d": "", "e": "", "y": "", "z": ""}
    assert comparison.doubt == "25.0 % of the layers have a common name: are these other models?"
    assert compare_sessions(a, a).doubt == ""


def test_layers_elsewhere_are_matched_by_their_shapes():
    a = _layers(("a", "Conv"), ("b", "Relu"), ("c", "Relu"), ("d", "Conv"))
    b = _layers(("a", "Conv"), ("d", "Conv"), ("x", "Relu"), ("y", "Relu"))
    for session, shapes in ((a, ["f", "f[8]", "f[4]", "f"]), (b, ["f", "f", "f[4]", "f[9]"])):
        session.sets = [[], [0], [1], [2], [3]]
        nodes = Nodes(shapes, [""] * 4, ["node"] * 4, [""] * 4, [1, 2, 3, 4], [-1] * 4)
        nodes.attributes = [[("gives", shape)] for shape in shapes]
        session.graphs = [Graph("m", "model", 0, nodes, Edges())]
    matched = {(layer.first, layer.second): layer.matched for layer in compare_sessions(a, b).layers}
    assert matched == {(0, 0): "name", (3, 1): "name", (2, 2): "shape", (1, -1): "", (-1, 3): ""}


def _timed(seconds: float, noise: float) -> Session:
    """Return a document whose first call takes so many seconds, all in its first layer."""
    session = small_session()
    (times,) = session.times
    walls = [seconds * (1 + k * noise) for k in range(-2, 3)] if noise >= 0 else []
    layers = [(0, seconds, False), (2, 0.001, False)]
    session.times = [replace(times, calls=[seconds, 0.001], layers=layers, walls=walls)]
    return session


def test_the_headline_has_a_verdict_beyond_noise_only():
    def headline(here: float, there: float, noise: float) -> str:
        return compare_sessions(_timed(here, noise), _timed(there, noise)).headline

    slower = headline(0.005, 0.003, 0.01)
    assert slower == "50.0 % slower: block/conv1 +2.00 ms, 6.00 ms per run, 4.00 ms in the other session, noise 2.5 %."
    assert headline(0.003, 0.005, 0.01).startswith("33.3 % faster: block/conv1 -2.00 ms, ")
    assert headline(0.005, 0.003, 0.2) == (
        "No difference beyond noise: 6.00 ms per run, 4.00 ms in the other session, noise 50.0 %."
    )
    assert headline(0.005, 0.003, -1.0).startswith("No verdict, as the noise is unknown: 6.00 ms per run, ")
    bare = small_session()
    bare.times = []
    assert compare_sessions(bare, _timed(1.0, 0.01)).headline.startswith("No times: layers have ")


def test_a_stripped_comparison_has_no_name_of_either_session():
    first, second = _timed(0.005, 0.01), _timed(0.003, 0.01)
    second.layers.name[0] = "secret_layer"
    second.stages[2].body.edits = [(0, 4, ["%0 = secret(%x)", "%1 = fused(%0)"])]
    first.comparison = compare_sessions(first, second)
    assert first.comparison.departure is not None
    assert "block/conv1" in first.comparison.headline
    assert first.comparison.departure.there == ["%0 = secret(%x)", "%1 = fused(%0)"]
    text = json.dumps(to_json(stripped(first)))
    assert "conv1" not in text
    assert "secret" not in text


def test_the_report_of_a_comparison_prints_its_headline(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, second = _timed(0.005, 0.01), _timed(0.003, 0.01)
    for name, session in (("new.json", first), ("old.json", second)):
        write(tmp_path / name, session)
    report = tmp_path / "r.html"
    words = ["explore", tmp_path / "new.json", "--compare", tmp_path / "old.json", "--report", report]
    assert main([str(word) for word in words]) == 0
    comparison = compare_sessions(first, second)
    headline = comparison.headline
    assert capsys.readouterr().out == f"{headline}\n"
    shown = read(report).comparison
    assert shown is not None
    assert shown.headline == headline
