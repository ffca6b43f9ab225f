"""Samples of kernels, joined with lines and layers; what becomes of them as text and in other tools' formats."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.executables.executable import Executable
from whence.executables.origins import origins
from whence.explorer.code import assembly_runs, kernel_of, machine_code, run_lines
from whence.explorer.exports import chrome_trace, folded_stacks, node_data, sample_stacks, traced_calls
from whence.explorer.hot import annotated_assembly, annotated_tir, hot_lines, hot_table
from whence.explorer.layer_table import layer_times
from whence.explorer.layers import Layer, owners
from whence.explorer.samples import CallSamples, Samples
from whence.explorer.times import Times
from whence.lowering.llvm_to_native.line_table import line_table
from whence.lowering.llvm_to_native.sampler import can_sample
from whence.planning.graph import graph_plan
from whence.provenance.span import layer_names
from whence.runtime.program.factory import Origin
from whence.support.errors import FrontendError


@pytest.fixture(scope="module")
def network() -> Executable:
    x, w = relay.var("x", shape=(64, 64)), relay.const(np.ones((64, 64), np.float32))
    body = relay.nn.softmax(relay.tanh(relay.nn.dense(x, w)))
    return whence.compile(relay.IRModule.from_expr(relay.Function([x], body)), threads=1)


def made(network: Executable, per_line: dict[int, int], elsewhere: int = 0) -> Samples:
    """Samples of the first call: so many of each line of its TIR."""
    artifact = network.artifact
    kernel = kernel_of(artifact, artifact.calls[0].kernel)
    lines = run_lines(kernel)
    runs = Counter({lines.index(line): count for line, count in per_line.items()})
    calls = (CallSamples(runs, elsewhere), *(CallSamples() for _ in artifact.calls[1:]))
    return Samples(artifact, calls, 1, (1.0,) * len(calls))


def lines_of_one(network: Executable, layer: str) -> list[int]:
    """The lines of the first call's TIR that machine code came of, and that serve one layer alone."""
    artifact = network.artifact
    call, owner = artifact.calls[0], owners(artifact)
    kernel = kernel_of(artifact, call.kernel)
    found: list[int] = []
    for line in sorted(set(run_lines(kernel)) - {0}):
        slots = kernel.lines[line - 1]
        layers = {owner[call.layers[slot]].name for slot in slots if call.layers[slot] in owner}
        if layers == {layer} and len(slots) == 1:
            found.append(line)
    return found


def test_a_run_without_a_line_has_that_of_what_reads_its_results(network: Executable):
    kernel = kernel_of(network.artifact, network.artifact.calls[0].kernel)
    said, lines, begins = line_table(kernel.object).lines, run_lines(kernel), assembly_runs(kernel)
    assert begins is not None
    code, run = iter(machine_code(kernel)), -1
    behind: dict[int, set[int]] = {}
    for number, text in enumerate(kernel.assembly.splitlines()):
        if text.startswith("\t") and ".loc" not in text:
            run = begins.get(number, run)
            behind.setdefault(run, set()).add(next(code).line)
    assert all(lines[run] == max(said[run], 0) for run in range(len(said)) if said[run])
    unsaid = {run: some for run, some in behind.items() if not said[run]}
    assert all(lines[run] in some or not lines[run] for run, some in unsaid.items())
    assert any(lines[run] for run in unsaid)
    assert not any(lines[run] for run, some in unsaid.items() if 0 in some)


def test_time_is_shared_out_by_samples(network: Executable):
    dense, tanh = lines_of_one(network, "nn.dense_0")[0], lines_of_one(network, "tanh_0")[0]
    samples = made(network, {dense: 30, tanh: 90}, elsewhere=50)
    shares = samples.shares(0, owners(network.artifact))
    assert shares is not None
    assert {layer.name: share for layer, share in shares.items() if layer} == {"nn.dense_0": 0.25, "tanh_0": 0.75}
    times = network.times({"x": np.ones((64, 64), np.float32)}, 1, samples)
    assert [times.estimated(call) for call in range(2)] == [False, False]
    names = {layer.name: taken for layer, taken in times.layers[0].items() if layer}
    assert names["tanh_0"] == pytest.approx(0.75 * times.calls[0])
    assert sum(sum(parts.values()) for parts in times.layers) == pytest.approx(sum(times.calls))


def test_nodes_of_a_graph_share_their_time_by_samples(network: Executable):
    artifact = network.artifact
    plan = graph_plan(artifact)
    dense, tanh = lines_of_one(network, "nn.dense_0")[0], lines_of_one(network, "tanh_0")[0]
    first, second = plan.calls
    estimated = origins(artifact, plan)
    assert estimated[first].layers == ("nn.dense_0", "tanh_0")
    assert [estimated[name].estimated for name in (first, second)] == [True, False]
    sampled = origins(artifact, plan, made(network, {dense: 30, tanh: 90}))
    assert sampled[first] == Origin(("nn.dense_0", "tanh_0"), (0.25, 0.75), ("tanh_0",), True, ((),))
    assert sampled[second].shares == (1.0,)


def test_a_line_of_several_layers_is_shared_out_by_lines_of_one(network: Executable):
    kernel = kernel_of(network.artifact, network.artifact.calls[0].kernel)
    both = next(line for line in run_lines(kernel) if line and len(kernel.lines[line - 1]) > 1)
    dense, tanh = lines_of_one(network, "nn.dense_0")[0], lines_of_one(network, "tanh_0")[0]
    shares = made(network, {dense: 30, tanh: 90, both: 500}).shares(0, owners(network.artifact))
    assert shares is not None
    found = {layer.name: share for layer, share in shares.items() if layer}
    assert found == {"nn.dense_0": pytest.approx(0.25), "tanh_0": pytest.approx(0.75)}


def test_few_samples_tell_nothing(network: Executable):
    samples = made(network, {lines_of_one(network, "tanh_0")[0]: 19})
    assert samples.shares(0, owners(network.artifact)) is None
    times = network.times({"x": np.ones((64, 64), np.float32)}, 1, samples)
    assert times.estimated(0)
    assert layer_times(network.artifact, times, 3).endswith("estimated from work")


def test_annotated_code_has_all_samples(network: Executable):
    dense, tanh = lines_of_one(network, "nn.dense_0")[0], lines_of_one(network, "tanh_0")[0]
    samples = made(network, {dense: 25, tanh: 75})
    name = network.kernels[0]
    text = str(annotated_tir(samples, name)).splitlines()
    rows = {line.split()[0]: line for line in text[4:]}
    assert "25.0 %  nn.dense_0" in rows[str(dense)]
    assert "75.0 %  tanh_0" in rows[str(tanh)]
    assembly = str(annotated_assembly(samples, name))
    assert assembly.count("25.0 %") == assembly.count("75.0 %") == 1
    assert hot_lines(samples)[0][:3] == (0, tanh, 75)
    assert "75.0 %" in hot_table(samples).splitlines()[2]
    with pytest.raises(FrontendError, match="unknown kernel 'no'"):
        annotated_tir(samples, "no")


@pytest.mark.parametrize("number", [0, 1])
def test_annotated_code_names_the_layers_of_its_own_calls_and_counts_what_has_no_line(network: Executable, number: int):
    dense = lines_of_one(network, "nn.dense_0")[0]
    samples = made(network, {dense: 25}, elsewhere=50)
    call = network.artifact.calls[number]
    own = {name for location in call.layers for name in layer_names(location)}
    for annotated in (annotated_tir(samples, call.name), annotated_assembly(samples, call.name)):
        assert {name for line in annotated.lines for name in line.layers} == own
    tir = annotated_tir(samples, call.name)
    assert sum(line.samples for line in tir.lines) == tir.samples == samples.calls[number].total
    assert samples.calls[0].total > 25


def test_the_estimated_time_of_a_layer_is_that_of_all_its_calls(network: Executable):
    artifact = network.artifact
    first, second = list(dict.fromkeys(owners(artifact).values()))[:2]
    parts: tuple[dict[Layer | None, float], ...] = ({first: 0.5, second: 1.5}, {first: 0.25, second: 0.75})
    times = Times((2.0, 1.0), parts, (False, False))
    ranked = {entry.layer: (entry.seconds, entry.estimated) for entry in times.ranked(artifact)}
    assert ranked == {second: (2.25, 2.25), first: (0.75, 0.75)}
    partly = Times((2.0, 1.0), parts, (True, False))
    assert [entry.estimated for entry in partly.ranked(artifact)] == [0.75, 0.25]


def test_assembly_and_line_table_agree(network: Executable):
    """They are read from text and from DWARF."""
    for index in range(len(network.artifact.kernels)):
        kernel = kernel_of(network.artifact, index)
        runs = assembly_runs(kernel)
        assert runs is not None
        assert len(runs) == sum(line >= 0 for line in line_table(kernel.object).lines)


def test_other_tools_read_it(network: Executable):
    tanh = lines_of_one(network, "tanh_0")[0]
    samples = made(network, {tanh: 75}, elsewhere=5)
    stacks = folded_stacks(sample_stacks(samples)).splitlines()
    assert [line.rpartition(" ")[2] for line in stacks] == ["75", "5"]
    assert stacks[0].startswith(f"tanh_0;{network.kernels[0]};{tanh}: ")
    assert all(line.count(";") == 2 for line in stacks)
    times = network.times({"x": np.ones((64, 64), np.float32)}, 1, samples)
    events: list[dict[str, Any]] = json.loads(chrome_trace(traced_calls(network.artifact, times)))["traceEvents"]
    kernels = [event for event in events if event["ph"] == "X" and event["tid"] == 1]
    layers = [event for event in events if event["ph"] == "X" and event["tid"] == 2]
    assert [event["name"] for event in kernels] == list(network.kernels)
    assert sum(event["dur"] for event in layers) == pytest.approx(1e6 * sum(times.calls))
    assert kernels[1]["ts"] == pytest.approx(kernels[0]["dur"])
    data = json.loads(node_data({"net": [("a", 0.002)]}))
    assert data["net"]["results"] == {"a": {"value": 2.0}}


@pytest.mark.skipif(not can_sample(), reason="no sampler for this system")
def test_a_run_is_sampled(network: Executable):
    samples = network.sample({"x": np.ones((64, 64), np.float32)}, 0.1, 1e-4)
    assert len(samples.timed) == len(network.artifact.calls)
    assert min(samples.timed) > 0
    assert samples.runs > 0
    assert len(samples.calls) == len(network.kernels)
    assert samples.total > 0
    assert sum(samples.lines(0).values()) == samples.calls[0].total
    assert sum(line.seconds for line in hot_lines(samples)) == pytest.approx(sum(samples.timed) / samples.runs)
