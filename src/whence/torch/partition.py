# pyright: basic, reportMissingImports=false
"""The parts of a graph that Whence computes; eager PyTorch runs the rest."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

from whence.frontends.torch.load import listed, supported
from whence.support.errors import FrontendError, FrontendWarning
from whence.torch.compiled import Compiled
from whence.torch.graphs import place_of
from whence.torch.options import Options
from whence.torch.tensors import DTYPES

Runs = Callable[[Sequence[Any]], Sequence[Any]]
"""A function of the arguments of a graph."""


def split(
    graph: GraphModule, bindable: Collection[int], names: Mapping[int, str], options: Options
) -> tuple[Runs, list[Compiled]]:
    """Return a function that runs a graph, and the parts of it that Whence computes.

    One warning names all operators that it does not; with the option `fallback="error"` it is a FrontendError.
    """
    reasons = {node: reason for node in graph.graph.nodes if (reason := unsupported(node))}
    if not reasons:
        whole = Compiled(graph, bindable, names, options)
        return whole, [whole]
    _complain(reasons, options)
    weights = {node: at for at, node in enumerate(graph.graph.find_nodes(op="placeholder"))}
    partitioner = CapabilityBasedPartitioner(graph, _Supported(reasons), allows_single_node_partition=True)
    partitions = [partition.nodes for partition in partitioner.propose_partitions()]
    fuse_by_partitions(graph, partitions, prefix="whence_", always_return_tuple=True)
    parts: list[Compiled] = []
    for node in graph.graph.find_nodes(op="call_module"):
        inner = graph.get_submodule(node.target)
        own = {at: weights[value] for at, value in enumerate(node.args) if value in weights}
        part = Compiled(
            inner,
            [at for at, outer in own.items() if outer in bindable],
            {at: names[outer] for at, outer in own.items() if outer in names},
            options,
        )
        setattr(graph, node.target, _Part(part))
        parts.append(part)
    graph.recompile()
    return lambda args: graph(*args), parts


class _Part(torch.nn.Module):
    """A part as a module of the graph."""

    def __init__(self, part: Compiled):
        super().__init__()
        self.part = part

    def forward(self, *args: Any) -> Any:
        return tuple(self.part(args))


class _Supported(OperatorSupportBase):
    """All nodes that compute something, but for some."""

    def __init__(self, reasons: Collection[Node]):
        self._reasons = reasons

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node.op == "call_function" and node not in self._reasons


def unsupported(node: Node) -> str:
    """What of a node has no support: its operator, or the kind of its tensors; "" where all has."""
    if node.op == "call_function":
        if node.target is operator.getitem:
            return unsupported(node.args[0]) if isinstance(node.args[0], Node) else ""
        name = operator_name(node.target)
        if not supported(name):
            return name
        for tensor in _tensors([node.meta.get("val"), *(other.meta.get("val") for other in node.all_input_nodes)]):
            if kind := _kind(tensor):
                return f"{name} of {kind}"
    return ""


def operator_name(target: Any) -> str:
    """The name of an operator in the tables of the frontend."""
    from torch._export.serde.serialize import GraphModuleSerializer

    written = GraphModuleSerializer.serialize_operator(None, target)  # pyright: ignore[reportArgumentType]
    return written.removeprefix("torch.ops.")


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in _tensors(item)] if isinstance(value, list | tuple) else []


def _kind(tensor: torch.Tensor) -> str:
    """The kind of a tensor that Whence does not compute with; "" for any other."""
    if tensor.device.type != "cpu":
        return f"a tensor on {tensor.device.type}"
    if tensor.layout != torch.strided:
        return str(tensor.layout).removeprefix("torch.")
    return "" if tensor.dtype in DTYPES else str(tensor.dtype).removeprefix("torch.")


def _complain(reasons: Mapping[Node, str], options: Options) -> None:
    """Say once which operators run in eager PyTorch, with their layers and lines."""
    places: dict[str, list[str]] = {}
    for node, reason in reasons.items():
        if node.target is not operator.getitem:
            places.setdefault(reason, []).append(place_of(node))
    text = ", ".join(listed(places))
    if options.fallback == "error":
        raise FrontendError(f"The following operators are not supported for frontend PyTorch: {text}")
    warnings.warn(FrontendWarning(f"torch.compile: eager PyTorch runs what is not supported: {text}"), stacklevel=2)
