"""Checks the numbers of inputs and outputs of the graphs that a node has as attributes."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import GraphProto, NodeProto

from ...provenance.diagnostics import message
from ...support.errors import FrontendError
from ..importing.node import Node

_NAMES = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}


def check_bodies(node: Node, proto: NodeProto, opset: int, graphs: Mapping[str, GraphProto]) -> None:
    """Raise FrontendError unless the graphs of an If, Loop or Scan fit its inputs, outputs and attributes."""
    kind = node.op_type
    for name in _NAMES[kind]:
        if name not in graphs:
            _fail(node, f"a graph '{name}'", "none")
        _check(node, proto, opset, name, graphs[name])


def _check(node: Node, proto: NodeProto, opset: int, name: str, graph: GraphProto) -> None:
    kind = node.op_type
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute if not a.HasField("g")}
    if kind == "If":
        if len(graph.output) != len(proto.output):
            _fail(node, f"{len(proto.output)} outputs of '{name}'", str(len(graph.output)))
        return
    batched = kind == "Scan" and opset < 9
    scanned = attributes.get("num_scan_inputs", 0) if kind == "Scan" else 0
    first = 2 if kind == "Loop" else int(batched)
    states = max(len(proto.input) - first, 0) - scanned
    if kind == "Scan" and (not isinstance(scanned, int) or scanned < 1 or states < 0):
        _fail(node, f"num_scan_inputs from 1 to {len(proto.input) - first}", str(scanned))
    inputs = states + scanned + (2 if kind == "Loop" else 0)
    if len(graph.input) != inputs:
        _fail(node, f"{inputs} inputs of '{name}'", str(len(graph.input)))
    outputs = len(graph.output) - (kind == "Loop")
    if outputs < max(states, len(proto.output)):
        least = max(states, len(proto.output)) + (kind == "Loop")
        _fail(node, f"at least {least} outputs of '{name}'", str(len(graph.output)))
    lengths = {"scan_input": scanned, "scan_output": outputs - states}
    for kind_of_scan, count in lengths.items():
        for property_name in ("axes", "directions"):
            numbers = attributes.get(f"{kind_of_scan}_{property_name}")
            if numbers is not None and len(numbers) != count:
                _fail(node, f"{count} numbers as {kind_of_scan}_{property_name}", str(len(numbers)))
    if batched and len(attributes.get("directions", [0] * scanned)) != scanned:
        _fail(node, f"{scanned} numbers as directions", str(len(attributes["directions"])))


def _fail(node: Node, expected: str, actual: str) -> None:
    raise FrontendError(message(node.op_type, expected, actual, node.leaf))
