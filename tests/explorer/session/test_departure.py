"""The first step at which two compilations differ: a pass that did not run, an option, a schedule, another model."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper
from small_session import small_session

from whence.explorer.session.check import check
from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import Departure, Session
from whence.exploring.record import record
from whence.support.context import PassContext


def _model() -> ModelProto:
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (float[1, 16, 8, 8] x) => (float[1, 16, 8, 8] y) {
        [conv] c = Conv <pads = [1, 1, 1, 1]> (x, w)
        [bn] b = BatchNormalization (c, scale, shift, mean, var)
        [relu] y = Relu (b)
    }""")
    rng = np.random.default_rng(0)
    for name, shape in (("w", (16, 16, 3, 3)), ("scale", 16), ("shift", 16), ("mean", 16), ("var", 16)):
        model.graph.initializer.append(numpy_helper.from_array(rng.random(shape, np.float32), name))
    return model


@pytest.fixture(scope="module")
def session() -> Session:
    return record(_model())


def _first(a: Session, b: Session) -> Departure:
    a.comparison = compare_sessions(a, b)
    check(a)
    assert a.comparison.departure is not None
    return a.comparison.departure


def test_a_disabled_pass_is_the_first_difference_from_both_sides(session: Session):
    with PassContext(disabled_pass=("FoldScaleAxis",)):
        other = record(_model())
    first = _first(session, other)
    assert (first.name, first.level, first.side) == ("relay-fold-scale-axis", "relay", "here")
    assert first.about == "changed something here, and did not run in the other session"
    assert session.layers.name[first.layer] in ("conv", "bn")
    assert session.stages[first.stage].name == "relay-fold-scale-axis"
    assert first.here != first.there
    back = _first(other, session)
    assert (back.name, back.side) == ("relay-fold-scale-axis", "there")
    assert other.layers.name[back.layer] in ("conv", "bn")
    assert other.stages[back.stage].name == session.stages[session.stages[first.stage].before].name
    assert (back.here, back.there) == (first.there, first.here)


def test_an_option_is_the_first_difference_in_the_kernel_that_it_changes(session: Session):
    with PassContext(config={"tir.disable_vectorize": True}):
        other = record(_model())
    first = _first(session, other)
    assert (first.name, first.level) == ("tir-vectorize", "tir")
    assert session.stages[first.stage].name == "tir-vectorize"
    assert session.layers.name[first.layer] == "conv"
    assert any(re.search(r"vector<\d+xf32>", line) for line in first.here)
    assert not any("vector<" in line for line in first.there)
    reasons = {layer.name: layer.reason for layer in compare_sessions(session, other).layers}
    assert reasons == dict.fromkeys(("conv", "bn", "relu"), "other loops")


def test_equal_compilations_have_no_first_difference(session: Session):
    comparison = compare_sessions(session, record(_model()))
    assert comparison.departure is None
    assert {(layer.matched, layer.reason) for layer in comparison.layers} == {("name", "")}


def test_another_model_differs_as_it_was_imported(session: Session):
    model = _model()
    model.graph.node[0].attribute[0].ints[:] = [0, 0, 2, 2]
    first = _first(session, record(model))
    assert (first.name, first.side) == ("imported", "both")
    assert session.layers.name[first.layer] == "conv"
    assert "padding" in first.here[0]


def test_a_schedule_is_a_difference_and_the_reason_of_one():
    text = "schedule.sequence @fused {{", "%a, %b = schedule.split %i factor {}", "schedule.vectorize %b"
    sessions: list[Session] = []
    for factor in (8, 16):
        session = small_session()
        stage = session.stages[4]
        stage.body.edits = [(0, 0, [line.format(factor) for line in text])]
        stage.lines, stage.body.sets, stage.body.ops = 3, [1, 3], [-1, 3]
        sessions.append(session)
    comparison = compare_sessions(*sessions)
    assert comparison.departure is not None
    assert (comparison.departure.name, comparison.departure.level) == ("schedule", "schedule")
    assert comparison.departure.here[0] == "%a, %b = schedule.split %i factor 8"
    assert comparison.layers[0].reason == "other tile: split factor 8, not split factor 16"


def test_a_layer_in_another_kernel_says_with_which_operators():
    first, second = small_session(), small_session()
    second.calls[0] = replace(second.calls[0], set=1)
    reasons = {layer.name: layer.reason for layer in compare_sessions(first, second).layers}
    assert reasons["block/conv1"] == "other kernel: Conv, Relu, not Conv"
    assert reasons["conv2"] == ""


def test_histories_differ_where_texts_do_not():
    first, second = small_session(), small_session()
    second.events.pattern[2] = "OtherPattern"
    comparison = compare_sessions(first, second)
    assert comparison.departure is not None
    assert comparison.departure.name == "fuse-ops"
    assert first.layers.name[comparison.departure.layer] == "conv2"
    assert comparison.departure.here == []
