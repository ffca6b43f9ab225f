"""Graphs of MSC as data, and their JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from whence.dialects.sizes import Size
from whence.dialects.sizes.text import parse_size
from whence.support.codec import JSON
from whence.support.errors import FrontendError, expectation


@dataclass
class MSCTensor:
    """A value: an output of a node, `<node>:<number>`, or a weight."""

    name: str
    alias: str
    """The layers behind it."""
    dtype: str
    layout: str
    shape: list[int]
    prims: list[str] = field(default_factory=list[str])
    """The extents as texts, `n` or `2*n`, if one is symbolic: that one is -1 in the shape."""

    @property
    def sizes(self) -> list[Size]:
        """The extents as numbers and sizes; raises FrontendError for a text that is no size."""
        if not self.prims:
            return list(self.shape)
        if len(self.prims) != len(self.shape):
            raise FrontendError(expectation(self.name, f"{len(self.shape)} prims", f"{len(self.prims)}"))
        try:
            return [parse_size(text) for text in self.prims]
        except ValueError as error:
            raise FrontendError(expectation(self.name, "sizes as prims", str(error))) from error


@dataclass
class MSCJoint:
    """A node: an operator by its name without a dialect, or `input` or `constant`."""

    index: int
    name: str
    shared_ref: str
    optype: str
    parents: list[str]
    inputs: list[str]
    """The names of tensors."""
    outputs: list[MSCTensor]
    attrs: dict[str, str]
    weights: dict[str, MSCTensor]
    """Constants that it reads, by role."""

    def get_attr(self, key: str, default: str = "") -> str:
        """Return an attribute, or a default."""
        return self.attrs.get(key, default)

    def weight_at(self, role: str) -> MSCTensor:
        """Return the weight of a role; raises FrontendError without one."""
        if role not in self.weights:
            raise FrontendError(expectation(self.name, f"a weight among {', '.join(self.weights) or 'none'}", role))
        return self.weights[role]


@dataclass
class MSCPrim:
    """A symbol of extents, `Var`, with its bounds, or a size that no call may make negative, `Required`."""

    index: int
    name: str
    optype: str
    parents: list[str]
    attrs: dict[str, str]


@dataclass
class MSCGraph:
    """Nodes in order, each after those that it reads."""

    name: str
    inputs: list[str]
    outputs: list[str]
    nodes: list[MSCJoint]
    prims: list[MSCPrim] = field(default_factory=list[MSCPrim])

    def to_json(self) -> str:
        """Return the graph as MSC's JSON."""
        return json.dumps(JSON.encode(self), indent=2)

    @staticmethod
    def from_json(text: str) -> MSCGraph:
        """Return the graph of a JSON text, in which what MSC does not require may be missing.

        Raises FrontendError for what is no graph: the text names the place.
        """
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise FrontendError(expectation("MSCGraph", "JSON", f"{error}")) from error
        if isinstance(data, dict):
            data = _completed(data)  # pyright: ignore[reportUnknownArgumentType]
        return JSON.decode(MSCGraph, data, "MSCGraph")

    def find_node(self, name: str) -> MSCJoint:
        """Return a node by name; raises FrontendError for an unknown one."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise FrontendError(expectation("MSCGraph", "the name of a node", repr(name)))

    def find_tensor(self, name: str) -> MSCTensor:
        """Return an output of a node, or a weight, by name; raises FrontendError for an unknown one."""
        for node in self.nodes:
            for tensor in (*node.outputs, *node.weights.values()):
                if tensor.name == name:
                    return tensor
        raise FrontendError(expectation("MSCGraph", "the name of a tensor", repr(name)))

    def find_producer(self, name: str) -> MSCJoint:
        """Return the node of an output; raises FrontendError for an unknown one."""
        for node in self.nodes:
            if any(tensor.name == name for tensor in node.outputs):
                return node
        raise FrontendError(expectation("MSCGraph", "the name of an output", repr(name)))

    def find_consumers(self, name: str) -> list[MSCJoint]:
        """Return the nodes that read an output."""
        return [node for node in self.nodes if name in node.inputs]

    def get_inputs(self) -> list[MSCTensor]:
        """Return the tensors of the inputs."""
        return [self.find_tensor(name) for name in self.inputs]

    def get_outputs(self) -> list[MSCTensor]:
        """Return the tensors of the outputs."""
        return [self.find_tensor(name) for name in self.outputs]

    def inspect(self) -> dict[str, Any]:
        """Return the numbers of nodes by kind, and the inputs and outputs."""
        kinds: dict[str, int] = {}
        for node in self.nodes:
            kinds[node.optype] = kinds.get(node.optype, 0) + 1
        ends = {"inputs": self.get_inputs(), "outputs": self.get_outputs()}
        shown = {key: [{"name": t.name, "shape": t.shape, "dtype": t.dtype} for t in ts] for key, ts in ends.items()}
        return {**shown, "nodes": {"total": len(self.nodes), **kinds}}


_TENSOR: dict[str, Any] = {"alias": "", "layout": "", "prims": []}
_JOINT: dict[str, Any] = {"shared_ref": "", "parents": [], "inputs": [], "attrs": {}, "weights": {}}


def _completed(data: dict[str, Any]) -> dict[str, Any]:
    """Return a graph with what may be missing in it."""

    def tensors(value: Any) -> Any:
        if isinstance(value, list):
            return [{**_TENSOR, **one} if isinstance(one, dict) else one for one in value]  # pyright: ignore
        if isinstance(value, dict):
            return {key: {**_TENSOR, **one} if isinstance(one, dict) else one for key, one in value.items()}  # pyright: ignore
        return value

    nodes: Any = data.get("nodes")
    if isinstance(nodes, list):
        nodes = [
            {**_JOINT, **one, "outputs": tensors(one.get("outputs")), "weights": tensors(one.get("weights", {}))}  # pyright: ignore
            if isinstance(one, dict)
            else one
            for one in nodes  # pyright: ignore[reportUnknownVariableType]
        ]
    return {"prims": [], **data, **({} if nodes is None else {"nodes": nodes})}
