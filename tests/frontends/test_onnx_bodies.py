"""Graphs inside of If, Loop and Scan that do not fit their node are refused, with the layer."""

from __future__ import annotations

from typing import Any

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
