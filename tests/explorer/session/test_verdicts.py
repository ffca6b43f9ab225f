"""Verdicts against the columns of the document, computed in another way, and against kernels of a known kind."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper
from recorded_sessions import MODELS, recorded
from small_session import small_session

import whence
from whence.explorer.peer import PeerTimes, peers_of_calls
from whence.explorer.probe import measured_rates
from whence.explorer.roof import Start, roofs
from whence.explorer.session.answers_data import answers_data
from whence.explorer.session.attempts import attempts
from whence.explorer.session.bounding import bound_of
from whence.explorer.session.bounds import Roof, Term
from whence.explorer.session.builder import Builder
from whence.explorer.session.document import DOCUMENT, MadeBy, Session
from whence.explorer.session.judgement import Verdict
from whence.explorer.session.knobs import add_knobs
from whence.explorer.session.parts import head
from whence.explorer.session.record import record_program
from whence.explorer.session.text import layers_of_lines
from whence.explorer.session.times import Beside, add_times
from whence.explorer.session.verdicts import verdicts
from whence.explorer.times import Times
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.cost import Rates
from whence.tuning.tasks import tasks_of


def answers(verdict: Verdict) -> dict[str, str]:
    return {answer.about: answer.text for answer in verdict.answers}


@pytest.mark.parametrize("name", MODELS)
def test_times_and_calls_are_those_of_the_columns(name: str):
    session = recorded(name)
    judged = verdicts(session)
    document: Any = json.loads(head(session))
    (times,) = document["times"]
    owner, total = document["layers"]["owner"], sum(times["calls"])
    by_call = np.zeros((len(times["calls"]), len(owner)))
    for number, parts in enumerate(times["parts"]):
        for row, seconds in parts:
            if row >= 0:
                by_call[number, owner[row]] += seconds
    run, *layers = judged
    assert run.layer == -1
    assert run.seconds == pytest.approx(total)
    assert [each.seconds for each in layers] == sorted((each.seconds for each in layers), reverse=True)
    for each in layers:
        assert each.seconds == pytest.approx(by_call[:, each.layer].sum())
        assert each.share == pytest.approx(each.seconds / total)
        calls = [phrase[4] for answer in each.answers if answer.about == "where" for phrase in answer.phrases]
        longest = int(by_call[:, each.layer].argmax())
        named = [call for call in calls if call >= 0]
        if named and by_call[:, each.layer].any():
            assert isclose(by_call[named[0], each.layer], by_call[longest, each.layer])
    assert sum(each.share for each in layers) == pytest.approx(by_call.sum() / total)
    assert document["verdicts"] == json.loads(DOCUMENT.text(judged))


@pytest.mark.parametrize("name", MODELS)
def test_lines_hold_most_of_the_samples_of_a_layer(name: str):
    session = recorded(name)
    (times,) = session.times
    owner = session.layers.owner
    said = 0
    for each in verdicts(session)[1:]:
        (lines,) = [answer for answer in each.answers if answer.about == "lines"] or [None]
        counts: dict[str, dict[tuple[int, int], int]] = defaultdict(dict)
        for of in times.lines:
            behind = layers_of_lines(session, of.stage, of.call)
            for line, samples in zip(of.line, of.samples, strict=True):
                if line and any(owner[row] == each.layer for row in behind[line - 1]):
                    counts[session.stages[of.stage].level][of.call, line] = samples
        if lines is None:
            assert not counts
            continue
        links = [phrase for phrase in lines.phrases if phrase[3]]
        for level in {session.stages[stage].level for _, _, stage, _, _ in links}:
            of_level = counts[level]
            named = [(call, line) for _, _, stage, line, call in links if session.stages[stage].level == level]
            held = sum(of_level[key] for key in named)
            # The next line is not needed, and those that are named are those with the most samples.
            if len(named) < 6:
                assert held >= 0.9 * sum(of_level.values()) > held - of_level[named[-1]]
            least = min(of_level[key] for key in named)
            assert all(samples <= least for key, samples in of_level.items() if key not in named)
            said += len(named)
    assert said


def model(body: str, inputs: str, output: str, weights: dict[str, tuple[int, ...]] | None = None) -> ModelProto:
    parsed = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> g ({inputs}) => ({output}) {{{body}}}')
    rng = np.random.default_rng(2)
    for name, shape in (weights or {}).items():
        array = rng.standard_normal(shape).astype(np.float32)
        parsed.graph.initializer.append(numpy_helper.from_array(array, name))
    return parsed


def judged(source: ModelProto, rates: Rates, factor: float = 1.25, start: Start = Start()) -> tuple[Session, Verdict]:
    """The verdict on the longest layer, had each call taken so many times its roof."""
    compiled = whence.compile(source, threads=1)
    builder = Builder(MadeBy("1", "whence explore m.onnx", "m.onnx", "", "native", 3, 1, "", {}, 0.0, []))
    record_program(builder, compiled.artifact, None, "main", "static", "")
    least = roofs(compiled.artifact, rates, start)
    seconds = [factor * roof.seconds + 1e-9 for roof in least]
    add_times(builder, compiled.artifact, 0, Times.of(compiled.artifact, seconds), None, (), Beside(least))
    add_knobs(builder.session, compiled.artifact, range(len(compiled.artifact.kernels)), seconds, rates)
    session = builder.finish()
    return session, verdicts(session)[1]


def test_kernels_of_a_known_kind_get_the_right_word_by_the_rates_of_this_machine():
    rates = measured_rates(1)
    sizes = "float[4096, 4096]"
    adding = model("[add] y = Add(x, z)", f"{sizes} x, {sizes} z", f"{sizes} y")
    moving = model("[move] y = Transpose<perm = [1, 0]>(x)", f"{sizes} x", f"{sizes} y")
    held = Target.native().hardware.l3
    for source, tensors in (adding, 3), (moving, 2):
        _, verdict = judged(source, rates)
        assert verdict.bound == ("L3" if tensors * 4 * 4096**2 <= held else "memory")
        assert verdict.reached == pytest.approx(0.8, abs=0.01)
    product = model("[fc] y = MatMul(x, w)", "float[768, 768] x", "float[768, 768] y", {"w": (768, 768)})
    session, verdict = judged(product, rates)
    assert verdict.bound == "products"
    # Two operations for each product: 2 * 768 ** 3.
    (roof,) = [roof for roof in session.times[0].roofs if roof.operations.amount > 1e6]
    assert roof.operations.amount == 2 * 768**3
    rate = 2 * 768**3 / (1.25 * roof.seconds)
    assert (
        f"at 80.0 % of the roof of products: {rate / 1e9:.3g} of {rate * 1.25 / 1e9:.3g} GFLOP/s"
        in answers(verdict)["bound by"]
    )
    small = model("[act] y = Relu(x)", "float[64] x", "float[64] y")
    _, verdict = judged(small, rates, 10.0, Start(1e-7, 1e-7))
    assert verdict.bound == "overhead"
    assert "overhead: a call takes 0.1 us before any work" in answers(verdict)["bound by"]
    _, verdict = judged(adding, rates, 4.0)
    assert verdict.bound == "neither"


def test_the_bound_is_the_roof_or_the_beginning_or_neither():
    roof = Roof(Term("products", 1e9, 1e9), [Term("L2", 4.0, 2.0), Term("memory", 1.0, 1.0)], 5.0)
    assert roof.seconds == 3
    assert bound_of(roof, 6.0) == ("L2", 0.5)
    assert bound_of(roof, 12.9)[0] == "overhead"
    assert bound_of(roof, 13.1)[0] == "neither"
    assert bound_of(replace(roof, operations=Term("products", 4e9, 1e9)), 6.0)[0] == "products"
    assert bound_of(roof, 0.0) == ("", 0.0)


def test_what_to_try_names_others_and_choices():
    session = small_session()
    conv = verdicts(session)[1]
    said = answers(conv)["to try"]
    assert "onnxruntime takes 1.50 ms for the layers of this call, on one thread: that is 1.33 times as fast" in said
    assert "the other build takes 3.00 ms for these layers: this is 2.00 times as fast" in said
    assert "rows = 4 would take 75.0 % of its time by estimate; whence tune m.onnx measures" in said
    kernel = session.kernels[0]
    for change, text in (
        ({"refusal": "no fit"}, "it has the plain schedule, as no strategy could make another: no fit"),
        ({"tuned": "rows = 8 (exact)"}, "tuned: rows = 8 (exact)"),
        ({"knobs": None}, "no choice of its schedule was estimated"),
    ):
        session.kernels[0] = replace(kernel, **change)
        assert text in attempts(session, session.times[0], 0, 0.002, 0).text


def test_primitives_that_are_better_have_both_terms_of_the_estimate():
    session = small_session()
    first = session.schedules[0].frames[0]
    assert first.cost is not None
    slow = replace(first.cost, seconds=2e-6, computing=2e-6)
    session.schedules[0].frames = [replace(first, cost=slow)]
    said = attempts(session, None, 0, 0.0, 0).text
    assert 's["R"].vectorize(i) by estimate: 1.0 us of instructions and 0.1 us of bytes' in said
    assert "instead of 2.0 us of instructions" in said
    session.schedules[0].frames = [first]
    assert "none of 1 primitive that may come next is better by estimate" in attempts(session, None, 0, 0.0, 0).text


def test_choices_are_estimated_as_the_tuner_does():
    rates = Rates()
    product = model("[fc] y = MatMul(x, w)", "float[256, 300] x", "float[256, 200] y", {"w": (300, 200)})
    session, _ = judged(product, rates)
    compiled = whence.compile(product, threads=1)
    for task in tasks_of(compiled.artifact, None, None, {}):
        costs = task.space.points().costs(rates)
        knobs = session.kernels[task.number].knobs
        if costs[0] > 0:
            assert knobs is not None
            assert (knobs.seconds, knobs.best) == (costs[0], costs.min())


def test_nodes_of_another_runtime_are_those_of_calls():
    source = model(
        "[fc] a = MatMul(x, w) [act] b = Relu(a) [move] y = Transpose<perm = [1, 0]>(b)",
        "float[6, 40] x",
        "float[24, 6] y",
        {"w": (40, 24)},
    )
    compiled = whence.compile(source, threads=1)
    times = Times.of(compiled.artifact, [1.0] * len(compiled.kernels))
    of_layer = {layer.name: n for n, parts in enumerate(times.layers) for layer in parts if layer is not None}
    nodes = [("b_nchwc", 2.0), ("Reorder", 0.5), ("move", 4.0)]
    peers = peers_of_calls(times, PeerTimes("other", nodes, {"a": "fc", "b": "act", "y": "move"}))
    wanted: Sequence[float] = [0.0] * len(compiled.kernels)
    expected = dict.fromkeys(range(len(wanted)), -1.0)
    for layer, seconds in (("act", 2.5), ("move", 4.0)):
        expected[of_layer[layer]] = max(expected[of_layer[layer]], 0.0) + seconds
    assert list(peers) == list(expected.values())


def test_a_session_without_times_says_so():
    session = replace(small_session(), times=[])
    run, *layers = verdicts(session)
    assert answers(run)["time"] == "not measured"
    assert {each.seconds for each in layers} == {-1.0}
    assert all(answers(each)["time"] == "not measured" for each in layers)


def test_data_has_the_numbers_of_the_verdicts():
    session = recorded("twins")
    data = answers_data(session)
    run, *layers = verdicts(session)
    assert data["runs"][0]["seconds"] == run.seconds
    assert data["runs"][0]["wall_seconds"] == session.times[0].walls != []
    assert [(row["layer"], row["share"]) for row in data["layers"]] == [
        (session.layers.name[each.layer], each.share) for each in layers
    ]
    assert data["overview"]["kernels"] == len(session.kernels)
    assert data["layers"][0]["answers"] == answers(layers[0])


def test_a_layer_that_is_gone_names_the_pass_that_met_it_last():
    (gone,) = [
        each
        for each in verdicts(recorded("twins"))
        if each.layer >= 0 and recorded("twins").layers.name[each.layer] == "dropout"
    ]
    assert answers(gone)["time"].startswith("no time: no kernel serves it: relay-simplify-inference")
