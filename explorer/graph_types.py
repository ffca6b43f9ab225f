"""Types of the tensors in a runtime graph, as graphs show them."""

from __future__ import annotations

from ..runtime.program.graph import Entry, Graph, Ref


def ref_type(graph: Graph, ref: Ref) -> str:
    """The type of what is referred to."""
    return entry_type(graph.entries[graph.entry(ref)])


def entry_type(entry: Entry) -> str:
    """The type of an output of a node, `float32[1, 3, 224, 224]`."""
    return f"{entry.dtype}[{', '.join(entry.texts or map(str, entry.shape))}]"
