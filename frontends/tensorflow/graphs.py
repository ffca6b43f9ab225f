"""Graphs of nodes: the main one of a model and the bodies of its functions, with edges as places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from ...support.errors import FrontendError
from ..importing.frames import Frame

Frames: TypeAlias = "Mapping[str, tuple[Frame, ...]]"
"""Node -> the calls of the source program that made it, the innermost first."""


class Ref(NamedTuple):
    """An output of a node, or an argument of a function."""

    name: str
    slot: int = 0


@dataclass(frozen=True, eq=False)
class NodeInfo:
    """A node."""

    name: str
    op: str
    inputs: Sequence[Ref]
    controls: Sequence[str]
    """Names of nodes that come before it."""
    attributes: Mapping[str, Any]
    """Name -> AttrValue."""
    index: int
    """Its number in the file: the main graph's nodes come first, then those of functions."""
    bodies: Mapping[str, Graph] = field(default_factory=lambda: dict[str, "Graph"]())
    """The graphs of control flow in the form of nodes (Switch, Merge), which no attribute names."""
    frames: tuple[Frame, ...] = ()
    """The calls of the source program that made it, the innermost first, where the model says so."""


@dataclass(frozen=True, eq=False)
class Graph:
    """The main graph, or the body of a function."""

    name: str
    nodes: Mapping[str, NodeInfo]
    arguments: Sequence[str]
    results: Sequence[Ref]
    controls: Sequence[str] = ()
    """Nodes whose effects a call has, whoever reads its results."""

    @cached_property
    def slots(self) -> Mapping[str, int]:
        """Node -> how many of its outputs are read, up to the last one."""
        counts: dict[str, int] = {}
        refs = [*self.results, *(ref for node in self.nodes.values() for ref in node.inputs)]
        for ref in refs:
            counts[ref.name] = max(counts.get(ref.name, 1), ref.slot + 1)
        return counts

    @cached_property
    def argument_set(self) -> frozenset[str]:
        return frozenset(self.arguments)


OUTPUTS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
        ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"),
    ),
    "CombinedNonMaxSuppression": ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
    "LogMatrixDeterminant": ("sign", "log_abs_determinant"),
    "LSTMBlockCell": ("i", "cs", "f", "o", "ci", "co", "h"),
    "GRUBlockCell": ("r", "u", "c", "h"),
    "BlockLSTM": ("i", "cs", "f", "o", "ci", "co", "h"),
    "BlockLSTMV2": ("i", "cs", "f", "o", "ci", "co", "h"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "Merge": ("output", "value_index"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "Switch": ("output_false", "output_true"),
    "TensorListConcatV2": ("tensor", "lengths"),
    "TensorListPopBack": ("output_handle", "tensor"),
    "TensorArrayV3": ("handle", "flow"),
    "TensorArrayConcatV3": ("value", "lengths"),
    "TopKV2": ("values", "indices"),
    "Unique": ("y", "idx"),
    "UniqueV2": ("y", "idx"),
    "UniqueWithCounts": ("y", "idx", "count"),
}
"""The names of outputs of operators that have several: edges inside functions say them."""


def main_graph(graph: Any, file: str, frames: Frames) -> Graph:
    """Return the main graph of a GraphDef, whose results nobody has said yet."""
    nodes: dict[str, NodeInfo] = {}
    for at, node in enumerate(graph.node):
        if not node.name or node.name in nodes:
            raise FrontendError(f"{file}: expected nodes with names of their own, got '{node.name}' for node {at}")
        nodes[node.name] = _node(node, at, file, None, frames)
    return Graph("", nodes, (), ())


def function_graph(function: Any, first: int, file: str, frames: Frames) -> Graph:
    """Return the graph of a FunctionDef; `first` is the number of its first node."""
    name = function.signature.name
    protos = {node.name: node for node in function.node_def}
    operators = {node.name: node.op for node in function.node_def}
    arguments = tuple(argument.name for argument in function.signature.input_arg)
    what = f"{file}: function '{name}'"
    if len(protos) != len(function.node_def) or set(arguments) & protos.keys() or "" in protos:
        raise FrontendError(f"{what}: expected nodes and arguments with names of their own, got two of one name")
    nodes = {n: _node(node, first + at, what, operators, frames) for at, (n, node) in enumerate(protos.items())}
    results: list[Ref] = []
    for argument in function.signature.output_arg:
        if argument.name not in function.ret:
            raise FrontendError(f"{what}: expected a result '{argument.name}', got none")
        results.append(_edge(function.ret[argument.name], operators, what))
    return Graph(name, nodes, arguments, results, tuple(function.control_ret.values()))


def _node(node: Any, index: int, what: str, operators: Mapping[str, str] | None, frames: Frames) -> NodeInfo:
    inputs: list[Ref] = []
    controls: list[str] = []
    for text in node.input:
        if text.startswith("^"):
            controls.append(text[1:])
        else:
            inputs.append(_edge(text, operators, f"{what}: node '{node.name}'"))
    return NodeInfo(node.name, node.op, inputs, controls, node.attr, index, frames=frames.get(node.name, ()))


def _edge(text: str, operators: Mapping[str, str] | None, what: str) -> Ref:
    """Return the place that an edge names: `node:slot`, or inside functions `node:output:number` or an argument."""
    name, *rest = text.split(":")
    try:
        if len(rest) <= 1:
            return Ref(name, int(rest[0]) if rest else 0)
        output, number = rest
        names = OUTPUTS.get((operators or {}).get(name, ""), (output,))
        return Ref(name, names.index(output) + int(number))
    except ValueError as error:
        raise FrontendError(f"{what}: expected an output of a node, got '{text}'") from error


def tensor_ref(text: str, what: str) -> Ref:
    """Return the place that `node` or `node:slot` names."""
    return _edge(text, None, what)
