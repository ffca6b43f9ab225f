"""The layers behind the nodes of a graph."""

from __future__ import annotations

from whence.dialects.relay.core import CallOp, ConstantOp
from whence.explorer.layers import functions, owners, snapshot
from whence.explorer.results import results
from whence.explorer.samples import Samples
from whence.explorer.times import shares
from whence.planning.artifact import Artifact
from whence.planning.graph import GraphPlan
from whence.provenance.span import layer_names
from whence.runtime.program.factory import Origin


def origins(artifact: Artifact, plan: GraphPlan, samples: Samples | None = None) -> dict[str, Origin]:
    """Node -> the layers behind it: of a call with the part of its time that each is worth, by samples or estimated."""
    owner, producers = owners(artifact), results(artifact)
    by_node: dict[str, Origin] = {}
    for name, number in plan.calls.items():
        sampled = samples.shares(number, owner) if samples is not None else None
        parts = sampled or shares(artifact, artifact.calls[number], owner)
        names: dict[str, float] = {}
        for layer, share in parts.items():
            key = layer.name if layer is not None else ""
            names[key] = names.get(key, 0.0) + share
        values = {owner[leaf].name: move for (leaf, _), move in producers.get((number, 0), {}).items()}
        by_node[name] = Origin(
            tuple(names), tuple(names.values()), tuple(values), sampled is not None, tuple(values.values())
        )
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
