"""Makes a region of steps of a model's graph and its subgraphs; functions are expanded when they are reached.

A layer in a subgraph or in the body of a function is called `<outer>/<inner>`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, TypeProto
from xdsl.dialects.builtin import LocationAttr, NameLoc, StringAttr

from ...provenance.span import layer_location
from ...runtime.interpreting.flow import Region, Step
from ...support.context import spans_enabled
from ...support.dtypes import Array
from ..importing.constants import Constants
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.frames import frames_location
from ..importing.node import Node as ModelNode
from .bodies import check_bodies
from .convert import operator_names
from .exporter_metadata import Origin, origin_of
from .host import Hosts, texts_of
from .tensors import dense, dtype_of, to_array

CONTROL = ("If", "Loop", "Scan")


@dataclass(frozen=True, eq=False, kw_only=True)
class Node(ModelNode):
    """The node of the model that a step comes from."""

    proto: NodeProto
    opsets: Mapping[str, int]
    """Domain -> version."""

    @property
    def opset(self) -> int:
        """The version of its domain."""
        return self.opsets.get(canonical(self.proto.domain), 1)


def canonical(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def node_of(step: Step) -> Node:
    return cast(Node, step.source)


def layer_names(nodes: Sequence[NodeProto]) -> tuple[str, ...]:
    """Return `node.name`, else `<op_type>_<k>`, where k counts the unnamed nodes of that type (as in TVM)."""
    unnamed: dict[str, int] = {}
    names: list[str] = []
    for node in nodes:
        if not node.name:
            unnamed[node.op_type] = unnamed.get(node.op_type, -1) + 1
        names.append(node.name or f"{node.op_type}_{unnamed[node.op_type]}")
    return tuple(names)


def constants_of(graph: GraphProto, folder: Path | None, file: str) -> Constants:
    """Return the initializers of a graph; external data may lie in the folder, if there is one."""

    def decoder(name: str, tensor: TensorProto | SparseTensorProto) -> Callable[[], Array]:
        description = f"{file}: initializer '{name}'"
        if isinstance(tensor, SparseTensorProto):
            return lambda: dense(tensor, folder, description)
        if tensor.data_type == TensorProto.STRING:
            return lambda: texts_of(tensor, description)
        return lambda: to_array(tensor, folder, description)

    tensors = {tensor.name: tensor for tensor in graph.initializer}
    tensors |= {tensor.values.name: tensor for tensor in graph.sparse_initializer}
    return Constants({name: decoder(name, tensor) for name, tensor in tensors.items()})


@dataclass(frozen=True, eq=False)
class Builder:
    """Makes regions of graphs."""

    file: str
    folder: Path | None
    hosts: dict[Region, Hosts] = field(default_factory=lambda: dict[Region, Hosts]())
    """The values of each region that only the interpreter handles."""
    types: dict[str, TypeProto] = field(default_factory=lambda: dict[str, TypeProto]())
    """The types of results, where the model states them."""
    custom_ops: CustomOps = NO_CUSTOM_OPS

    def region(self, graph: GraphProto, opsets: Mapping[str, int], outer: Node | None, parent: Region | None) -> Region:
        """Return the region of a graph: the main graph, or an attribute of node `outer`."""
        constants = constants_of(graph, self.folder, self.file)
        for value in (*graph.value_info, *graph.output):
            self.types.setdefault(value.name, value.type)
        inputs = tuple(value.name for value in graph.input if value.name not in constants or outer is not None)
        outputs = tuple(value.name for value in graph.output)
        region = Region(inputs, outputs, [], constants, parent)
        self.hosts[region] = Hosts.of(graph, None if parent is None else self.hosts[parent])
        region.steps += self.steps(graph.node, opsets, outer, region)
        return region

    def steps(
        self, nodes: Sequence[NodeProto], opsets: Mapping[str, int], outer: Node | None, region: Region
    ) -> list[Step]:
        """Return the steps of nodes; `outer` is the node whose body they are."""
        steps: list[Step] = []
        names, traced = layer_names(nodes), spans_enabled()
        # Layers that share a name are distinguished by their numbers in the model.
        count = Counter(names)
        for at, (proto, name) in enumerate(zip(nodes, names, strict=True)):
            layer = name if outer is None else f"{outer.layer}/{name}"
            index = at if outer is None else outer.index
            origin = origin_of(proto) if traced and count[name] == 1 else Origin()
            node = Node(
                op_type=proto.op_type,
                leaf=self._leaf(layer, index, origin, outer),
                layer=layer,
                index=index,
                module=origin.module or (outer.module if outer is not None else ""),
                frames=origin.frames,
                proto=proto,
                opsets=opsets,
            )
            steps += self._steps(node, region)
        return steps

    def _leaf(self, layer: str, index: int, origin: Origin, outer: Node | None) -> LocationAttr:
        """Return the layer at the exporter's line of Python, else at the place of node `outer`, else in the model."""
        if origin.frames:
            return frames_location(layer, origin.frames)
        if outer is not None and isinstance(outer.leaf, NameLoc):
            return NameLoc(StringAttr(layer), outer.leaf.location)
        return layer_location(layer, self.file, index)

    def _steps(self, node: Node, region: Region) -> list[Step]:
        """Return the steps that a node becomes."""
        proto = node.proto
        kind = proto.op_type if canonical(proto.domain) == "" and proto.op_type in CONTROL else ""
        graphs = {a.name: a.g for a in proto.attribute if a.type == AttributeProto.GRAPH}
        bodies = {name: self.region(graph, node.opsets, node, region) for name, graph in graphs.items()}
        attributes: dict[str, object] = {}
        hosts = self.hosts[region]
        if kind:
            check_bodies(node, proto, node.opset, graphs)
            inner = {name: self.hosts[body] for name, body in bodies.items()}
            hosts.leave(bodies, inner, proto.output)
        if kind in ("Loop", "Scan"):
            attributes |= {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute if a.name not in graphs}
            batched = kind == "Scan" and node.opset < 9
            states = len(proto.input) - (
                2 if kind == "Loop" else cast(int, attributes.get("num_scan_inputs", 0)) + batched
            )
            attributes["batched"] = batched
            scan_outputs = graphs["body"].output[states + (kind == "Loop") :] if "body" in graphs else []
            attributes["scan_types"] = [_open_type(value) for value in scan_outputs]
        custom = self.custom_ops.has(*operator_names(canonical(proto.domain), proto.op_type))
        renames = proto.op_type == "Identity" and canonical(proto.domain) == "" and not custom
        inputs, outputs = tuple(proto.input), tuple(proto.output)
        step = Step(inputs, outputs, node.layer, kind, bodies, attributes, node, renames=renames)
        if kind or custom:
            return [step]
        return hosts.steps(step, proto, (canonical(proto.domain), node.opset), node.leaf, partial(replace, node))


def _open_type(value: onnx.ValueInfoProto) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Return the shape and dtype of an output after zero iterations: an unknown extent is 0."""
    tensor = value.type.tensor_type
    shape = tuple(dim.dim_value for dim in tensor.shape.dim)
    return shape, dtype_of(tensor.elem_type or TensorProto.FLOAT, f"output '{value.name}'")
