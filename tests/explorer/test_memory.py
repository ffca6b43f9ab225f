"""The memory report, against a count of its own over the program's calls."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

import whence
from whence.executables.executable import Executable
from whence.explorer.memory import MemoryReport, memory_report
from whence.explorer.memory_picture import memory_svg
from whence.provenance.span import layer_names

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def executable() -> Executable:
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (float[1, 16, 20, 20] x) => (float[1, 16, 1, 1] y) {
        [left] a = Conv <kernel_shape = [1, 1]> (x, u)
        [right] b = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, v)
        [join] c = Concat <axis = 1> (a, b)
        [down] d = Conv <kernel_shape = [1, 1]> (c, w)
        [act] e = Relu (d)
        [pool] y = GlobalAveragePool (e)
    }""")
    rng = np.random.default_rng(0)
    for name, shape in (("u", (16, 16, 1, 1)), ("v", (16, 16, 3, 3)), ("w", (16, 32, 1, 1))):
        model.graph.initializer.append(numpy_helper.from_array(rng.standard_normal(shape, np.float32), name))
    return whence.compile(model)


@pytest.fixture(scope="module")
def report(executable: Executable) -> MemoryReport:
    return memory_report(executable.artifact)


def test_lives_never_overlap_and_hold_what_is_read(executable: Executable, report: MemoryReport):
    for number, one in enumerate(report.lives):
        for other in report.lives[:number]:
            at_once = one.first <= other.last and other.first <= one.last
            apart = one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
            assert not at_once or apart, (one, other)
    for number, call in enumerate(executable.artifact.program.calls):
        for slot in (*call.inputs, *call.outputs):
            if slot.kind == "arena":
                (life,) = (x for x in report.at(number) if x.kind == "tensor" and x.offset == slot.place)
                assert life.first < number or slot in call.outputs
        if call.workspace is not None:
            assert any(x.kind == "workspace" and x.offset == call.workspace.place for x in report.at(number))


def test_each_life_ends_with_its_last_reader(executable: Executable, report: MemoryReport):
    calls = executable.artifact.program.calls
    for life in report.lives:
        if life.kind == "tensor" and life.last > life.first:
            assert life.offset in [slot.place for slot in calls[life.last].inputs if slot.kind == "arena"]


def test_the_peak_is_the_plans(executable: Executable, report: MemoryReport):
    assert max(report.live_bytes) == report.info.peak_bytes == executable.memory.peak_bytes
    assert report.live_bytes[report.peak_call] == report.info.peak_bytes
    assert all(life.offset + life.bytes <= report.info.workspace_bytes for life in report.lives)


def test_tensors_are_their_last_layers(report: MemoryReport):
    layers = {one.layer: one for one in report.layers}
    image = 16 * 20 * 20 * 4
    # `act` is fused with `down`: what leaves the kernel is what `act` computes.
    assert layers["act"].activations == image
    # The result is brought back from the layout that `down` wanted.
    assert layers["down"].activations == 16 * 4
    assert layers["down"].parameters == 16 * 32 * 4
    assert layers["right"].parameters == 16 * 16 * 9 * 4
    assert layers["join"].activations == 2 * image
    assert sum(one.parameters for one in report.layers) == report.info.constant_bytes


def test_storage_ids_are_the_graphs(executable: Executable, report: MemoryReport):
    from whence.planning.graph import graph_plan

    graph = graph_plan(executable.artifact).graph
    assert [one.id for one in report.storages] == sorted({entry.storage for entry in graph.entries})
    for one in report.storages:
        entries = [entry for entry in graph.entries if entry.storage == one.id]
        assert one.bytes == max(prod(entry.shape) * 4 for entry in entries)
        if one.kind == "tensor":
            ends = [(first, last) for _, first, last in one.lives]
            assert all(last < first for (_, last), (first, _) in pairwise(ends))


def test_the_picture_has_a_bar_for_each_life(report: MemoryReport):
    root: Any = ElementTree.fromstring(memory_svg(report, "net & more"))
    bars = [bar for bar in root.iter(f"{_SVG}rect") if bar.find(f"{_SVG}title") is not None]
    assert len(bars) == len(report.lives)
    heights = [float(bar.get("height")) for bar in bars]
    sizes = [life.bytes for life in report.lives]
    assert np.argmax(heights) == np.argmax(sizes)
    texts = "\n".join(bar.find(f"{_SVG}title").text for bar in bars)
    for life in report.lives:
        assert all(layer in texts for layer in layer_names(life.layers))
    right = max(float(bar.get("x")) + float(bar.get("width")) for bar in bars)
    assert right <= float(root.get("width"))
