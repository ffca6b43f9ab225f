"""What was measured of a program: times, memory and values, as `whence profile`, numpy and onnxruntime have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

import whence
from whence.executables.executable import Executable
from whence.explorer.code import assembly_runs, kernel_of
from whence.explorer.hot import hot_lines
from whence.explorer.reference import layer_tensors, onnxruntime_tensors
from whence.explorer.references import References
from whence.explorer.samples import CallSamples, Samples
from whence.explorer.session.alignment import layer_rows
from whence.explorer.session.builder import Builder
from whence.explorer.session.check import check
from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import MadeBy, Session, Tensors, Timeline
from whence.explorer.session.record import record_program
from whence.explorer.session.tensors import add_tensors, first_departure
from whence.explorer.session.text import text_of_stage
from whence.explorer.session.times import add_times
from whence.explorer.times import Times
from whence.exploring.exploration import Exploration
from whence.support.dtypes import Array


def begun(executable: Executable) -> Builder:
    builder = Builder(MadeBy("1", "", "m.onnx", "", "native", 3, 1, "", {}, 0.0, []))
    record_program(builder, executable.artifact, None, "main", "static", "")
    return builder


def samples_of(executable: Executable) -> Samples:
    """Samples made up: some at every run of instructions, others outside, and of two workers."""
    artifact, rng = executable.artifact, np.random.default_rng(4)
    calls: list[CallSamples] = []
    for call in artifact.calls:
        numbers = list((assembly_runs(kernel_of(artifact, call.kernel)) or {}).values())
        runs = Counter({run: int(rng.integers(1, 50)) for run in numbers[::2]})
        calls.append(CallSamples(runs, int(rng.integers(1, 9)), (3, 0)))
    return Samples(artifact, tuple(calls), 7, tuple(float(number) for number in rng.random(len(calls))))


@pytest.fixture(scope="module")
def session(compiled: Executable) -> Session:
    builder = begun(compiled)
    samples = samples_of(compiled)
    seconds = [0.25 * (number + 1) for number in range(len(compiled.kernels))]
    times = Times.of(compiled.artifact, seconds, samples)
    spans = [(float(number), number + 0.5) for number in range(len(seconds))]
    add_times(builder, compiled.artifact, 0, times, samples, spans)
    return builder.finish()


def test_times_add_up_and_are_those_of_the_profile(session: Session, compiled: Executable):
    check(session)
    (times,) = session.times
    total = sum(times.calls)
    assert sum(seconds for _, seconds, _ in times.layers) == pytest.approx(total)
    for call, parts in zip(times.calls, times.parts, strict=True):
        assert sum(seconds for _, seconds in parts) == pytest.approx(call)
    samples = samples_of(compiled)
    ranked = Times.of(compiled.artifact, times.calls, samples).ranked(compiled.artifact)
    assert [entry.seconds for entry in ranked] == [seconds for _, seconds, _ in times.layers]
    names = [session.layers.name[row] if row >= 0 else None for row, _, _ in times.layers]
    assert names == [entry.layer.name if entry.layer is not None else None for entry in ranked]
    assert times.runs == samples.runs == 7


def test_samples_of_lines_are_those_of_the_profile(session: Session, compiled: Executable):
    (times,) = session.times
    samples = samples_of(compiled)
    rows = [row for row in times.lines if session.stages[row.stage].level == "tir"]
    tir = {(row.call, line): count for row in rows for line, count in zip(row.line, row.samples, strict=True)}
    assert tir == {(line.call, line.line): line.samples for line in hot_lines(samples)}
    for row in times.lines:
        assert sum(row.samples) == samples.calls[row.call].total
        text = text_of_stage(session, row.stage)
        assert all(line == 0 or text[line - 1].strip() for line in row.line)
        if session.stages[row.stage].level == "asm":
            assert all(line == 0 or text[line - 1].startswith("\t") for line in row.line)
    assert {session.stages[row.stage].level for row in times.lines} == {"tir", "asm"}


def test_the_timeline_has_the_caller_and_workers_that_samples_met(session: Session, compiled: Executable):
    timeline, samples = session.times[0].timeline, samples_of(compiled)
    spans = list(zip(timeline.call, timeline.thread, timeline.begin, timeline.end, strict=True))
    assert [span for span in spans if not span[1]] == [
        (number, 0, float(number), number + 0.5) for number in range(len(session.calls))
    ]
    assert {thread for _, thread, _, _ in spans} == {0, 1}
    for call, thread, begin, end in spans:
        if thread == 1:
            own = samples.calls[call].total - 3
            assert end - begin == pytest.approx(0.5 * min(1.0, 3 / own))


def test_blocks_of_the_arena_do_not_overlap(session: Session):
    (memory,) = session.memory
    blocks = list(zip(memory.offset, memory.size, memory.first, memory.last, strict=True))
    assert blocks
    for number, (offset, size, first, last) in enumerate(blocks):
        assert 0 <= offset
        assert offset + size <= memory.arena
        for other, extent, begin, end in blocks[:number]:
            apart = offset + size <= other or other + extent <= offset
            assert apart or last < begin or end < first
    assert memory.parameters > 0


def values(
    executable: Executable, inputs: Mapping[str, Array], references: References | None
) -> tuple[Session, Tensors]:
    builder = begun(executable)
    add_tensors(builder, executable.artifact, 0, executable.runner, executable.pool, inputs, references)
    session = builder.finish()
    check(session)
    return session, session.tensors[0]


@pytest.fixture(scope="module")
def inputs() -> dict[str, Array]:
    return {"x": np.random.default_rng(1).standard_normal((1, 16, 8, 8), np.float32)}


@pytest.fixture(scope="module")
def references(source: ModelProto, inputs: dict[str, Array]) -> References:
    return References(onnxruntime_tensors(source, inputs), layer_tensors(source), "onnxruntime")


def test_statistics_are_those_of_onnxruntimes_values(
    compiled: Executable, inputs: dict[str, Array], references: References
):
    _, tensors = values(compiled, inputs, references)
    assert first_departure(tensors) == -1
    assert {"r1", "r2", "y"} <= set(tensors.name)
    for number, name in enumerate(tensors.name):
        array = references.tensors[name]
        assert tensors.shape[number] == list(array.shape)
        assert tensors.dtype[number] == "float32"
        assert tensors.minimum[number] == pytest.approx(float(array.min()), abs=1e-4)
        assert tensors.maximum[number] == pytest.approx(float(array.max()), abs=1e-4)
        assert tensors.mean[number] == pytest.approx(float(array.mean()), abs=1e-5)
        counts = np.histogram(array, bins=32)[0]
        assert sum(tensors.histogram[number]) == array.size
        assert np.abs(np.array(tensors.histogram[number]) - counts).sum() <= 8
        assert tensors.sample[number][0] == pytest.approx(float(array.ravel()[0]), abs=1e-4)
        assert tensors.sample[number][-1] == pytest.approx(float(array.ravel()[-1]), abs=1e-4)
        assert 0 <= tensors.error[number] < tensors.tolerance[number]
    assert tensors.nan == tensors.infinite == [0] * len(tensors.name)


def test_the_first_layer_that_departs_is_the_one_that_was_changed(
    source: ModelProto, inputs: dict[str, Array], references: References
):
    changed = ModelProto()
    changed.CopyFrom(source)
    shift = next(tensor for tensor in changed.graph.initializer if tensor.name == "shift2")
    shift.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(shift) + 1, "shift2"))
    session, tensors = values(whence.compile(changed, opt_level=0), inputs, references)
    row = first_departure(tensors)
    assert session.layers.name[tensors.layer[row]] == "bn2"
    assert tensors.error[row] == pytest.approx(1.0, rel=1e-3)
    assert tensors.reference == "onnxruntime"


def test_what_is_not_finite_is_counted(inputs: dict[str, Array], source: ModelProto):
    array = inputs["x"].copy()
    array[0, 0, 0, 0], array[0, 1, 0, 0] = np.nan, np.inf
    _, tensors = values(whence.compile(source, opt_level=0), {"x": array}, None)
    assert tensors.nan[-1] + tensors.infinite[-1] > 0
    assert max(tensors.nan) > 0
    assert tensors.reference == ""
    assert set(tensors.error) == {-1.0}
    assert sum(tensors.histogram[0]) == int(np.prod(tensors.shape[0])) - tensors.nan[0] - tensors.infinite[0]


def test_sessions_are_compared_by_layer(source: ModelProto, compiled: Executable, session: Session):
    plain = begun(whence.compile(source, opt_level=0)).finish()
    (times,) = session.times
    rows = layer_rows(plain)
    slow = [(row, 2.0 if plain.layers.name[row] == "conv2" else 0.5, False) for row in rows]
    calls, parts = [1.0] * len(plain.calls), [list[tuple[int, float]]() for _ in plain.calls]
    plain.times.append(replace(times, layers=slow, calls=calls, parts=parts, lines=[], timeline=Timeline()))
    check(plain)
    comparison = compare_sessions(session, plain)
    gaps = [abs(layer.seconds[0] - layer.seconds[1]) for layer in comparison.layers]
    assert gaps == sorted(gaps, reverse=True)
    by_name = {layer.name: layer for layer in comparison.layers}
    assert len(by_name) == len(comparison.layers) == len(rows)
    expected = {session.layers.name[row]: seconds for row, seconds, _ in session.times[0].layers if row >= 0}
    for name, layer in by_name.items():
        assert session.layers.name[layer.first] == plain.layers.name[layer.second] == name
        assert layer.seconds == (expected.get(name, 0.0), 2.0 if name == "conv2" else 0.5)
    assert by_name["conv1"].instructions[0] > 0
    assert by_name["conv1"].bytes[1] > by_name["conv1"].instructions[1]


def test_layers_of_other_names_are_aligned_by_their_place(source: ModelProto, compiled: Executable):
    renamed = ModelProto()
    renamed.CopyFrom(source)
    for node in renamed.graph.node:
        if node.name in ("bn1", "relu2"):
            node.name = f"other_{node.name}"
    comparison = compare_sessions(begun(compiled).finish(), begun(whence.compile(renamed)).finish())
    assert not [layer for layer in comparison.layers if min(layer.first, layer.second) < 0]
    short = ModelProto()
    short.CopyFrom(source)
    del short.graph.node[-1]
    short.graph.output[0].name = "r2"
    short.graph.output[0].type.tensor_type.shape.dim[2].dim_value = 8
    short.graph.output[0].type.tensor_type.shape.dim[3].dim_value = 8
    comparison = compare_sessions(begun(compiled).finish(), begun(whence.compile(short)).finish())
    (alone,) = [layer for layer in comparison.layers if min(layer.first, layer.second) < 0]
    assert (alone.name, alone.second, alone.seconds, alone.instructions[1]) == ("pool", -1, (-1.0, -1.0), -1)


def test_values_of_two_sessions_are_compared(source: ModelProto, compiled: Executable, inputs: dict[str, Array]):
    changed = ModelProto()
    changed.CopyFrom(source)
    weights = next(tensor for tensor in changed.graph.initializer if tensor.name == "w2")
    weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights) * 2, "w2"))
    first, _ = values(compiled, inputs, None)
    second, _ = values(whence.compile(changed), inputs, None)
    errors = {layer.name: layer.error for layer in compare_sessions(first, second).layers}
    assert errors["relu1"] == 0
    assert errors["relu2"] > 0.1
    other, _ = values(compiled, {"x": np.add(inputs["x"], 1)}, None)
    assert {layer.error for layer in compare_sessions(first, other).layers} == {-1.0}


@pytest.mark.parametrize(("off", "departs"), [(0.05, False), (0.1, False), (0.11, True)])
def test_differences_of_quantised_tensors_are_in_steps_of_their_scale(off: float, departs: bool):
    source = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[64] x) => (float[64] y) <float s = {0.1}, int8 z = {3}> {
            a = Relu(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) y = Tanh(d) }""")
    inputs = {"x": np.linspace(-4, 8, 64, dtype=np.float32)}
    right = References(onnxruntime_tensors(source, inputs), layer_tensors(source), "onnxruntime")
    _, tensors = values(whence.compile(source, opt_level=0), inputs, right)
    assert dict(zip(tensors.name, tensors.step, strict=True)) == pytest.approx({"a": 0.1, "q": 1, "d": 0.1, "y": 0})
    assert first_departure(tensors) == -1
    moved: dict[str, Array] = {name: np.add(right.tensors[name], np.float32(off)) for name in ("a", "d")}
    wrong = right._replace(tensors={**right.tensors, **moved})
    session, tensors = values(whence.compile(source, opt_level=0), inputs, wrong)
    assert (first_departure(tensors) >= 0) == departs
    assert f"{off / 0.1:.3g} steps" in Exploration(session).text("tensors")
