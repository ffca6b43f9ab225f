"""What the memory of a program for all sizes is for: formulas, and numbers that its own code computes, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx.parser
import pytest

import whence
from whence.dialects.sizes import evaluate
from whence.dialects.sizes.text import parse_size
from whence.executables.origins import origins
from whence.executables.sized import SizedExecutable
from whence.explorer.memory_picture import memory_svg
from whence.explorer.open_memory import at_sizes, open_memory_report
from whence.explorer.session.model_graph import graph_dot, plan_graph
from whence.planning.graph import graph_plan
from whence.support.errors import PipelineError

MODEL = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
sums (float[batch, n] x, float[batch, m] y) => (float[batch, n] z, float[batch, m] w) {
    [left] a = CumSum (x, axis)
    [right] b = CumSum (y, axis)
    [top] t = CumSum (a, axis)
    [low] u = CumSum (b, axis)
    [end] z = CumSum (t, axis)
    [last] w = CumSum (u, axis)
}""")
MODEL.graph.initializer.append(onnx.helper.make_tensor("axis", onnx.TensorProto.INT64, (), [1]))


@pytest.fixture(scope="module")
def executable() -> SizedExecutable:
    found = whence.compile(MODEL, input_shapes="n<=40", threads=1)
    assert isinstance(found, SizedExecutable)
    return found


@pytest.mark.parametrize(("batch", "n", "m"), [(1, 1, 1), (3, 40, 7), (2, 9, 100), (0, 4, 4)])
def test_numbers_are_those_that_a_call_computes(executable: SizedExecutable, batch: int, n: int, m: int):
    artifact = executable.artifact
    values = {"batch": batch, "n": n, "m": m}
    inputs = {"x": np.zeros((batch, n), np.float32), "y": np.zeros((batch, m), np.float32)}
    runner, _ = executable.runner.at(inputs)
    found = at_sizes(artifact, values).program
    assert found.arena_bytes == runner.program.arena_bytes
    for mine, theirs in zip(found.calls, runner.program.calls, strict=True):
        assert (mine.inputs, mine.outputs, mine.workspace) == (theirs.inputs, theirs.outputs, theirs.workspace)
    report = open_memory_report(artifact, values)
    assert report.numbers is not None
    assert sum(-(-evaluate(parse_size(b.bytes), values) // 64) * 64 for b in report.blocks) == found.arena_bytes
    assert evaluate(parse_size(report.io), values) == report.numbers.info.io_bytes == 8 * batch * (n + m)
    assert report.numbers.info.peak_bytes == max(report.numbers.live_bytes) <= found.arena_bytes
    assert f"for batch = {batch}, n = {n}, m = {m}" in str(report) or f"n = {n}" in str(report)
    assert memory_svg(report.numbers, "sums").count("<rect") > len(report.numbers.lives)


def test_without_numbers_there_are_formulas(executable: SizedExecutable):
    report = open_memory_report(executable.artifact)
    assert report.numbers is None
    assert set(report.bounds) == {"batch", "n <= 40", "m"}
    assert report.io == "8*batch*m + 8*batch*n"
    assert {b.bytes for b in report.blocks} & {"4*batch*n", "4*batch*m", "max(4*batch*m, 4*batch*n)"}
    for at, message in (
        ({"batch": 1, "m": 2}, "expected a number for each of batch, n, m, got batch, m: n is missing"),
        ({"batch": 1, "m": 2, "n": 41}, "expected n <= 40, got n = 41"),
        ({"batch": 1, "m": 2, "n": 1, "k": 3}, "got batch, m, n, k: unknown k"),
    ):
        with pytest.raises(PipelineError, match=message):
            open_memory_report(executable.artifact, at)


def test_the_graph_shows_sizes(executable: SizedExecutable):
    plan = graph_plan(executable.artifact)
    text = graph_dot(plan_graph(plan, origins(executable.artifact, plan)))
    assert '[label="float32[batch, n]"]' in text
    assert "left" in text
    bound = at_sizes(executable.artifact, {"batch": 2, "n": 3, "m": 5})
    entries = graph_plan(bound).graph.entries
    assert {replace(entry, storage=0).shape for entry in entries} >= {(2, 3), (2, 5)}
