# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The parts of a graph that Whence computes; eager PyTorch runs the rest."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

from whence.frontends.importing.unsupported import Call, refusal
from whence.frontends.torch.dropout import TABLE as DROPS
from whence.frontends.torch.load import overloads, supported, without_overload
from whence.frontends.torch.random import TABLE as DRAWS
from whence.frontends.torch.unsupported import reason_of
from whence.support.errors import FrontendWarning, WhenceError
from whence.torch.compiled import Compiled, Runs
from whence.torch.graphs import layer_of, line_of, tensors_in
from whence.torch.options import Options
from whence.torch.tensors import DTYPES


def split(
    graph: GraphModule,
    bindable: Collection[int],
    names: Mapping[int, str],
    options: Options,
    parts: list[Compiled],
    apart: Collection[Node],
) -> Runs:
    """Return a function that runs a graph, and add the parts of it that Whence computes to `parts`.

    apart: nodes that it does not compute.
    """
    if not apart:
        return _part(graph, bindable, names, options, parts)
    weights = {node: at for at, node in enumerate(graph.graph.find_nodes(op="placeholder"))}
    partitioner = CapabilityBasedPartitioner(graph, _Supported(apart), allows_single_node_partition=True)
    partitions = [partition.nodes for partition in partitioner.propose_partitions()]
    fuse_by_partitions(graph, partitions, prefix="whence_", always_return_tuple=True)
    for node in graph.graph.find_nodes(op="call_module"):
        own = {at: weights[value] for at, value in enumerate(node.args) if value in weights}
        bound = [at for at, outer in own.items() if outer in bindable]
        named = {at: names[outer] for at, outer in own.items() if outer in names}
        setattr(graph, node.target, _Part(_part(graph.get_submodule(node.target), bound, named, options, parts)))
    graph.recompile()
    return lambda args: graph(*args)


def _part(
    graph: GraphModule, bindable: Collection[int], names: Mapping[int, str], options: Options, parts: list[Compiled]
) -> Compiled:
    """A graph of operators that have support, some of whose arguments may have none."""

    def refused(error: WhenceError) -> Runs:
        parts.remove(part)
        warnings.warn(
            FrontendWarning(f"torch.compile: eager PyTorch runs what does not compile: {error}"), stacklevel=2
        )
        culprits = _culprits(graph, error)
        if not culprits:
            return lambda args: graph(*args)
        return split(graph, bindable, names, options, parts, culprits)

    part = Compiled(graph, bindable, names, options, refused)
    parts.append(part)
    return part


def _culprits(graph: GraphModule, error: WhenceError) -> list[Node]:
    """The nodes whose layers an error names."""
    layers = set(re.findall(r"layer '([^']*)'", str(error)))
    culprits = [node for node in graph.graph.nodes if node.op == "call_function" and layer_of(node) in layers]
    return culprits + [
        node
        for node in graph.graph.nodes
        if node.target is operator.getitem and node.args[0] in culprits and node not in culprits
    ]


class _Part(torch.nn.Module):
    """A part as a module of the graph."""

    def __init__(self, part: Compiled):
        super().__init__()
        self.part = part

    def forward(self, *args: Any) -> Any:
        return tuple(self.part(args))


class _Supported(OperatorSupportBase):
    """Return all nodes that compute something, except some."""

    def __init__(self, apart: Collection[Node]):
        self._apart = frozenset(apart)

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        # A graph that a node runs is no argument that a part could have.
        return node.op == "call_function" and node not in self._apart and not _graphs_of(node)


def without_support(graph: GraphModule, options: Options) -> list[Node]:
    """The nodes of a graph that Whence does not compute.

    One warning names all their operators; with the option `fallback="error"` it is a FrontendError.
    """
    reasons = {node: reason for node in graph.graph.nodes if (reason := _unsupported(node))}
    if reasons:
        _complain(reasons, options)
    return list(reasons)


def _unsupported(node: Node) -> str:
    """The part of a node that has no support: its operator, or the kind of its tensors; "" where all has."""
    if node.op == "call_function":
        if node.target is operator.getitem:
            return _unsupported(node.args[0]) if isinstance(node.args[0], Node) else ""
        name = operator_name(node.target)
        if not supported(name) or _draws(node, name):
            return name
        if inner := [other for graph in _graphs_of(node) for other in graph.graph.nodes if _unsupported(other)]:
            return f"{name} of {_unsupported(inner[0])}"
        for tensor in tensors_in([node.meta.get("val"), *(other.meta.get("val") for other in node.all_input_nodes)]):
            if kind := _kind(tensor):
                return f"{kind} {name}"
    return ""


def _draws(node: Node, name: str) -> bool:
    """Return whether an operator draws random numbers: in a call of eager PyTorch, they are of torch's generator."""
    return name in DRAWS or (name in DROPS and False not in node.args)


def _reason(name: str) -> str:
    return "torch's generator gives the numbers" if name in DRAWS or name in DROPS else reason_of(name)


def _graphs_of(node: Node) -> list[GraphModule]:
    """The graphs that a node runs."""
    owner = node.graph.owning_module
    values = [getattr(owner, str(other.target), None) for other in node.all_input_nodes if other.op == "get_attr"]
    return [value for value in values if isinstance(value, GraphModule)]


def operator_name(target: Any) -> str:
    """The name of an operator in the tables of the frontend."""
    from torch._export.serde.serialize import GraphModuleSerializer

    written = GraphModuleSerializer.serialize_operator(None, target)  # pyright: ignore[reportArgumentType]
    return written.removeprefix("torch.ops.")


def _kind(tensor: torch.Tensor) -> str:
    """The kind of a tensor that Whence does not compute with; "" for any other."""
    if tensor.device.type != "cpu":
        return f"a tensor on {tensor.device.type}"
    if tensor.layout != torch.strided:
        return str(tensor.layout).removeprefix("torch.")
    return "" if tensor.dtype in DTYPES else str(tensor.dtype).removeprefix("torch.")


def _complain(reasons: Mapping[Node, str], options: Options) -> None:
    """Say once which operators run in eager PyTorch, with their layers and lines."""
    calls = [
        Call(reason, layer_of(node), line_of(node))
        for node, reason in reasons.items()
        if node.target is not operator.getitem
    ]
    instead = "eager PyTorch runs them" if options.fallback == "eager" else ""
    error = refusal("torch.compile", "PyTorch", calls, overloads(), without_overload, instead, _reason)
    if not instead:
        raise error
    warnings.warn(FrontendWarning(str(error)), stacklevel=2)
