"""The layers behind the nodes of a graph."""

from __future__ import annotations

from whence.dialects.relay.core import CallOp, ConstantOp
from whence.explorer.layers import functions, owners, snapshot
from whence.explorer.times import shares
from whence.planning.artifact import Artifact
from whence.planning.graph import GraphPlan
from whence.provenance.span import layer_names
from whence.runtime.factory import Origin


def origins(artifact: Artifact, plan: GraphPlan) -> dict[str, Origin]:
    """Node -> the layers behind it: of a call with the part of its work that each is worth, as is estimated."""
    owner = owners(artifact)
    found: dict[str, Origin] = {}
    for name, place in plan.calls.items():
        parts = shares(artifact, artifact.calls[place], owner)
        names: dict[str, float] = {}
        for layer, share in parts.items():
            key = layer.name if layer is not None else ""
            names[key] = names.get(key, 0.0) + share
        found[name] = Origin(tuple(names), tuple(names.values()))
    graph = plan.graph
    calls = [op for op in functions(snapshot(artifact, "fused"))["main"].block.ops if isinstance(op, CallOp)]
    for node in graph.nodes:
        if node.is_argument:
            continue
        place = plan.calls[node.name]
        for ref, value in zip(node.inputs, calls[place].arguments, strict=True):
            if isinstance(value.owner, ConstantOp):
                layers = layer_names(value.owner.location)
                found.setdefault(graph.nodes[ref.node].name, Origin(layers, (1 / len(layers),) * len(layers)))
    return found
