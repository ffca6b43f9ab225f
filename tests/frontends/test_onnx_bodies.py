"""Graphs inside of If, Loop and Scan that do not fit their node are refused, with the layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper

import whence
from whence.support.errors import FrontendError

FLOAT, BOOL, INT = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def body(inputs: int, outputs: int, first: tuple[int, ...] = ()) -> GraphProto:
    """A graph whose outputs are its first inputs; `first` are element types of these, the others are floats."""
    kinds = [*first, *[FLOAT] * (inputs - len(first))]
    ins = [helper.make_tensor_value_info(f"i{at}", kind, [] if kind != FLOAT else [3]) for at, kind in enumerate(kinds)]
    outs = [helper.make_tensor_value_info(f"o{at}", FLOAT, [3]) for at in range(outputs)]
    nodes = [helper.make_node("Identity", [f"i{min(at, inputs - 1)}"], [f"o{at}"]) for at in range(outputs)]
    return helper.make_graph(nodes, "body", ins, outs)


def model(kind: str, inputs: list[str], **attributes: Any) -> ModelProto:
    values: dict[str, tuple[int, list[int]]] = {
        "x": (FLOAT, [4, 3]),
        "s": (FLOAT, [3]),
        "n": (INT, []),
        "c": (BOOL, []),
    }
    ins = [helper.make_tensor_value_info(name, *values[name]) for name in dict.fromkeys(inputs)]
    node = helper.make_node(kind, inputs, ["y"], "looped", **attributes)
    graph = helper.make_graph([node], "g", ins, [helper.make_tensor_value_info("y", FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "expected"),
    [
        ("Scan", ["x"], {"body": body(2, 2), "num_scan_inputs": 1}, "Scan: expected 1 inputs of 'body', got 2"),
        ("Scan", ["s", "x"], {"body": body(1, 1), "num_scan_inputs": 1}, "Scan: expected 2 inputs of 'body', got 1"),
        ("Scan", ["x"], {"body": body(1, 1), "num_scan_inputs": 2}, "num_scan_inputs from 1 to 1, got 2"),
        ("Scan", ["x"], {"body": body(1, 1), "num_scan_inputs": 0}, "num_scan_inputs from 1 to 1, got 0"),
        (
            "Scan",
            ["x"],
            {"body": body(1, 1), "num_scan_inputs": 1, "scan_input_axes": [0, 0]},
            "expected 1 numbers as scan_input_axes, got 2",
        ),
        (
            "Scan",
            ["x"],
            {"body": body(1, 1), "num_scan_inputs": 1, "scan_output_directions": [0, 0]},
            "expected 1 numbers as scan_output_directions, got 2",
        ),
        ("Loop", ["n", "c", "s"], {"body": body(2, 2)}, "Loop: expected 3 inputs of 'body', got 2"),
        ("Loop", ["n", "c", "s"], {"body": body(3, 1)}, "Loop: expected at least 2 outputs of 'body', got 1"),
        ("If", ["c"], {"then_branch": body(1, 2), "else_branch": body(1, 1)}, "1 outputs of 'then_branch', got 2"),
    ],
)
def test_what_does_not_fit_is_told(kind: str, inputs: list[str], attributes: dict[str, Any], expected: str):
    for use in (whence.load, whence.compile):
        with pytest.raises(FrontendError) as raised:
            use(model(kind, inputs, **attributes))
        text = str(raised.value)
        assert expected in text
        assert "layer 'looped', <memory> node 0" in text


ROWS, COUNT = np.ones((3, 2), np.float32), np.ones(1, np.float32)
SCAN = "body = b (float s, float r) => (t, u) { t = Add (s, r) u = Identity (r) }"
OLD = "body = b (float[1] s, float[2] r) => (float[1] t, float[2] u) { t = Identity (s) u = Identity (r) }"
LOOP = "body = b (int64 i, bool c) => (d, o) { d = Identity (c) e = Add (i, one) o = Slice (x, zero, e) }"
BATCH = (np.ones((2, 3, 2), np.float32), np.ones((2, 1), np.float32))


@pytest.mark.parametrize(
    ("node", "types", "arrays", "expected"),
    [
        (f"Scan <num_scan_inputs = 1, scan_input_axes = [5], {SCAN}> (s, x)", "float[1] s", [COUNT], "an axis 5"),
        (f"Scan <num_scan_inputs = 1, scan_output_axes = [7], {SCAN}> (s, x)", "float[1] s", [COUNT], "an axis 7"),
        (f"Loop <{LOOP}> (n, c)", "int64 n, bool c", [np.int64(3), np.True_], r"one shape, \[1, 2\] of the first"),
        (f"Loop <{LOOP}> (n, c)", "int64[k] n, bool c", [np.array([1, 2]), np.True_], "iterations of one element"),
        (f"Loop <{LOOP}> (n, c)", "float n, bool c", [np.float32(3), np.True_], "whole numbers, got float32"),
    ],
)
def test_what_only_a_call_shows_not_to_fit_is_refused(node: str, types: str, arrays: list[Any], expected: str):
    kept = "t, u" if node.startswith("Scan") else "u"
    initial = "<int64[1] zero = {0}, int64[1] one = {1}>"
    executable = compiled(f"g (float[n, m] x, {types}) => (u) {initial} {{ [steps] {kept} = {node} }}", 18)
    with pytest.raises(FrontendError, match=rf"expected .*{expected}.*\(layer 'steps'\)"):
        executable(ROWS, *arrays)


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ((*BATCH, np.array([9, 1])), r"2 lengths from 0 to 3, got \[9, 1\]"),
        ((*BATCH, np.array([-1, 1])), r"2 lengths from 0 to 3, got \[-1, 1\]"),
        ((*BATCH, np.array([1])), r"2 lengths from 0 to 3, got \[1\]"),
        ((BATCH[0], COUNT[None], np.array([1, 2])), r"states of a batch of 2, got \[1, 1\]"),
    ],
)
def test_a_batch_that_a_scan_of_old_cannot_go_through_is_refused(arrays: tuple[Any, ...], expected: str):
    executable = old_scan()
    with pytest.raises(FrontendError, match=rf"Scan: expected {expected} \(layer 'steps'\)"):
        executable(*arrays)


def test_a_scan_of_old_takes_a_batch_without_entries():
    nothing = old_scan()(*(array[:0] for array in BATCH), np.zeros(0, np.int64))
    assert [array.shape for array in nothing] == [(0, 1), (0, 3, 2)]


def old_scan() -> whence.Executable:
    node = f"[steps] t, u = Scan <num_scan_inputs = 1, {OLD}> (l, s, x)"
    ends = "(float[b, f, 2] x, float[q, 1] s, int64[k] l) => (float[b, 1] t, float[b, f, 2] u)"
    return compiled(f"g {ends} {{ {node} }}", 8)


def compiled(text: str, opset: int) -> whence.Executable:
    return whence.compile(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {text}'), threads=1)
