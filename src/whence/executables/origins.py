"""The layers behind the nodes of a graph."""

from __future__ import annotations

from whence.dialects.relay.core import CallOp, ConstantOp
from whence.explorer.layers import functions, owners, snapshot
from whence.explorer.results import results
from whence.explorer.samples import Samples
from whence.explorer.times import shares
from whence.explorer.value_layouts import call_layouts
from whence.planning.artifact import Artifact
from whence.planning.graph import GraphPlan
from whence.provenance.span import layer_names
from whence.runtime.factory import Origin


def origins(artifact: Artifact, plan: GraphPlan, samples: Samples | None = None) -> dict[str, Origin]:
    """Node -> the layers behind it: of a call with the part of its time that each is worth, by samples or estimated."""
    owner, producers, layouts_by_call = owners(artifact), results(artifact), call_layouts(artifact)
    by_node: dict[str, Origin] = {}
    for name, number in plan.calls.items():
        sampled = samples.shares(number, owner) if samples is not None else None
        parts = sampled or shares(artifact, artifact.calls[number], owner)
        names: dict[str, float] = {}
        for layer, share in parts.items():
            key = layer.name if layer is not None else ""
            names[key] = names.get(key, 0.0) + share
        values = tuple(dict.fromkeys(owner[leaf].name for leaf, _ in producers.get((number, 0), ())))
        layouts = layouts_by_call.get(number, ("", ""))
        by_node[name] = Origin(tuple(names), tuple(names.values()), values, sampled is not None, *layouts)
    graph = plan.graph
    calls = [op for op in functions(snapshot(artifact, "fused"))["main"].block.ops if isinstance(op, CallOp)]
    for node in graph.nodes:
        if node.is_argument:
            continue
        number = plan.calls[node.name]
        for ref, value in zip(node.inputs, calls[number].arguments, strict=True):
            if isinstance(value.owner, ConstantOp):
                layers = layer_names(value.owner.location)
                by_node.setdefault(graph.nodes[ref.node].name, Origin(layers, (1 / len(layers),) * len(layers)))
    return by_node
