"""Loops whose lengths are values: compiled once, however long they run, against onnxruntime."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter as _Interpreter
from loop_models import LOOPS, CallableModel
from numpy.typing import NDArray
from tflite_builder import Net

import whence
from whence.executables.dynamic import DynamicExecutable

Array = NDArray[Any]
Interpreter: Any = _Interpreter
ort: Any = import_module("onnxruntime")


def expected(loop: CallableModel, inputs: dict[str, Array]) -> list[Array]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(loop.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return cast("list[Array]", session.run(None, inputs))


def agree(exe: whence.Executable, loop: CallableModel, steps: int) -> None:
    inputs = loop.inputs(steps)
    found, wanted = exe.run(inputs), expected(loop, inputs)
    for (name, mine), theirs in zip(found.items(), wanted, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), (steps, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


PROGRAMS = {"nested": 4, "sliced": 4, "grown": 3, "choosing": 6, "appended": 6}
"""How many stretches there are, where they are not one before the loop and one in it."""
SAMPLE = [
    *("counted", "nested", "sliced", "grown", "choosing", "until float", "appended"),
    *("lstm int32 int32 scan", "lstm int32 float scatter", "lstm int64 int64 scan"),
]


@pytest.mark.usefixtures("no_programs_beside_calls")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_loop_is_compiled_once_however_long_it_is(name: str) -> None:
    loop = LOOPS[name]()
    exe = whence.compile(loop.model)
    assert isinstance(exe, DynamicExecutable)
    agree(exe, loop, 3)
    agree(exe, loop, 10)
    compiled = exe.specializations
    assert len(compiled) <= PROGRAMS.get(name, 2)
    for steps in (90, 1, 0, 2):
        agree(exe, loop, steps)
    assert exe.specializations == compiled


def test_a_scan_counts_with_32_bits() -> None:
    loop = LOOPS["scanned"]()
    exe = whence.compile(loop.model)
    for steps in (3, 70, 1):
        agree(exe, loop, steps)
    assert isinstance(exe, DynamicExecutable)
    assert len(exe.specializations) == 1


def test_what_a_loop_does_not_change_stays_known() -> None:
    (step,) = (step for step in LOOPS["lstm int32 float scan"]().model.graph.node if step.op_type == "Loop")
    assert step.attribute[0].g.output[2].name == "n1"
    exe = whence.compile(LOOPS["lstm int32 float scan"]().model)
    assert isinstance(exe, DynamicExecutable)
    steps = exe._source.region.steps  # pyright: ignore[reportPrivateUsage]
    (loop,) = (step for step in steps if step.kind == "Loop")
    assert loop.unchanged == {1}


def tflite_rows() -> bytes:
    """Sums rows that a WHILE gathers, as many as there are; its state is what the file says of 7 rows."""
    net = Net()
    x = net.input("x", (7, 4))
    net.tensors[x].shapeSignature = [-1, 4]
    shape, count = net.tensor("shape", (2,), "int32"), net.tensor("count", (1,), "int32")
    net.op("SHAPE", [x], [shape], "ShapeOptions", outType=2)
    parts = [net.const(name, np.array([at], np.int32)) for name, at in (("from", 0), ("many", 1))]
    net.op("SLICE", [shape, *parts], [count], "SliceOptions")
    states = [("i", (), "int32"), ("s", (1, 4), "float32"), ("x", (7, 4), "float32"), ("n", (1,), "int32")]
    cond, body = net.subgraph(), net.subgraph()
    i, _, _, n = (cond.input(*state) for state in states)
    less, going = cond.tensor("less", (1,), "bool"), cond.tensor("going", (), "bool")
    cond.op("LESS", [i, n], [less], "LessOptions")
    cond.op("RESHAPE", [less, cond.const("scalar", np.zeros(0, np.int32))], [going], "ReshapeOptions")
    cond.outputs = [going]
    i, s, rows, n = (body.input(*state) for state in states)
    later, row, total = body.tensor("later", (), "int32"), body.tensor("row", (4,)), body.tensor("total", (1, 4))
    body.op("ADD", [i, body.const("one", np.array(1, np.int32))], [later], "AddOptions")
    body.op("GATHER", [rows, i], [row], "GatherOptions", axis=0)
    body.op("ADD", [s, row], [total], "AddOptions")
    body.outputs = [later, total, rows, n]
    start = [net.const("i0", np.array(0, np.int32)), net.const("s0", np.zeros((1, 4), np.float32)), x, count]
    left = [net.tensor(f"{name}_end", extents, dtype) for name, extents, dtype in states]
    first, second = cond.finish(), body.finish()
    net.op("WHILE", start, left, "WhileOptions", condSubgraphIndex=first, bodySubgraphIndex=second)
    return net.build(left[:2])


def test_a_tflite_loop_over_an_open_length_is_compiled_once():
    model = tflite_rows()
    exe = whence.compile(model)
    assert isinstance(exe, DynamicExecutable)
    for steps in (3, 70, 1, 9):
        x = np.random.default_rng(steps).standard_normal((steps, 4)).astype(np.float32)
        judge = Interpreter(model_content=model)
        judge.resize_tensor_input(0, x.shape)
        judge.allocate_tensors()
        judge.set_tensor(0, x)
        judge.invoke()
        for mine, detail in zip(exe.run({"x": x}).values(), judge.get_output_details(), strict=True):
            np.testing.assert_allclose(mine, judge.get_tensor(detail["index"]), rtol=1e-4, atol=1e-5)
    # One before the loop, one for its condition, one for its body.
    assert len(exe.specializations) == 3
