# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A graph of ATen operators in memory as a program: torch serialises the graph, and its weights stay in memory.

It is a graph of torch.fx whose nodes have example results in `meta["val"]`, as in graphs of `aot_autograd`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...support.dtypes import Array


@dataclass(frozen=True, eq=False)
class Captured:
    """A graph in memory, and the values that some of its inputs have in every call."""

    graph: Any
    """A `torch.fx.GraphModule` without side effects, whose placeholders are tensors."""
    weights: Mapping[str, Array] = field(default_factory=dict)
    """The values of weights, by their names in the module."""
    targets: Mapping[str, str] = field(default_factory=dict)
    """Placeholder that is a weight -> its name among `weights`."""
    file: str = "<memory>"

    def document(self) -> Mapping[str, Any]:
        """Return the graph as the JSON document of an archive."""
        import torch
        from torch._export.serde import schema, serialize
        from torch.export import graph_signature as signature

        inputs, outputs = [], []
        for node in self.graph.graph.nodes:
            if node.op == "placeholder":
                target = self.targets.get(node.name)
                kind = signature.InputKind.USER_INPUT if target is None else signature.InputKind.PARAMETER
                inputs.append(signature.InputSpec(kind, signature.TensorArgument(node.name), target))
            elif node.op == "output":
                outputs = [
                    signature.OutputSpec(signature.OutputKind.USER_OUTPUT, _argument(signature, value), None)
                    for value in node.args[0]
                ]
        writer = serialize.GraphModuleSerializer(signature.ExportGraphSignature(inputs, outputs), [])
        written = serialize._dataclass_to_dict(writer.serialize(self.graph))
        major, minor = schema.SCHEMA_VERSION
        return {
            "graph_module": json.loads(json.dumps(written, cls=serialize.EnumEncoder)),
            "range_constraints": _ranges(self.graph),
            "schema_version": {"major": major, "minor": minor},
            "torch_version": torch.__version__,
        }


def _argument(signature: Any, node: Any) -> Any:
    """Return the output spec's argument for a node."""
    import torch

    kinds = {torch.SymInt: signature.SymIntArgument, torch.SymBool: signature.SymBoolArgument}
    return kinds.get(type(node.meta["val"]), signature.TensorArgument)(node.name)


def _ranges(graph: Any) -> dict[str, dict[str, int | None]]:
    """Return the least and the greatest value of each symbol in the sizes of a graph's inputs."""
    import torch

    ranges: dict[str, dict[str, int | None]] = {}
    for node in graph.graph.nodes:
        value: Any = node.meta.get("val") if node.op == "placeholder" else None
        for size in value.size() if isinstance(value, torch.Tensor) else ():
            if not isinstance(size, torch.SymInt):
                continue
            bounds = size.node.shape_env.var_to_range
            for symbol in size.node.expr.free_symbols:
                low, high = bounds[symbol].lower, bounds[symbol].upper
                ranges[str(symbol)] = {"min_val": int(low), "max_val": _bounded(high)}
    return ranges


def _bounded(high: Any) -> int | None:
    """Return the greatest value of a symbol; None if it does not fit in 64 bits."""
    finite = getattr(high, "is_finite", False) and getattr(high, "is_Integer", False)
    return int(high) if finite and int(high) < 1 << 62 else None
