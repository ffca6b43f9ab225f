"""Finds the tensor of the checkpoint that a variable's value is, in the graph's own function for restoring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from .graphs import Graph, NodeInfo, Ref

Key: TypeAlias = "tuple[str, str]"
"""The container and the shared name of a variable."""
HANDLES = ("VarHandleOp", "VariableV2", "Variable")
CALLS = ("PartitionedCall", "StatefulPartitionedCall")
ASSIGN = ("AssignVariableOp", "Assign")
_PASSING = ("Identity", "Reshape", "Cast", "IdentityN")


def variable_key(node: NodeInfo) -> Key:
    """Return the key of the variable whose handle a node is."""
    container, shared = (
        node.attributes[name].s.decode(errors="replace") if name in node.attributes else ""
        for name in ("container", "shared_name")
    )
    return container, shared or node.name


def restored_keys(main: Graph, function: Callable[[str], Graph], restore: str) -> dict[Key, str]:
    """Return the key in the checkpoint for each variable that the node `restore`, or all nodes without one, assigns."""
    keys: dict[Key, str] = {}
    waiting: list[tuple[Graph, Mapping[str, Key], str]] = [(main, {}, restore)]
    seen: set[tuple[Graph, frozenset[tuple[str, Key]]]] = set()
    while waiting:
        graph, handles, root = waiting.pop()
        if (graph, frozenset(handles.items())) in seen:
            continue
        seen.add((graph, frozenset(handles.items())))
        nodes = _before(graph, root) if root in graph.nodes else graph.nodes
        for node in nodes.values():
            if node.op in ASSIGN and len(node.inputs) > 1:
                variable, key = _handle(graph, handles, node.inputs[0]), _restored(graph, node.inputs[1])
                if variable is not None and key is not None:
                    keys.setdefault(variable, key)
            elif node.op in CALLS and "f" in node.attributes and (root or graph is not main):
                inner = function(node.attributes["f"].func.name)
                operand_keys = (_handle(graph, handles, ref) for ref in node.inputs)
                bound = {name: key for name, key in zip(inner.arguments, operand_keys, strict=False) if key is not None}
                waiting.append((inner, bound, ""))
    return keys


def _before(graph: Graph, root: str) -> dict[str, NodeInfo]:
    """Return a node and all nodes that it depends on."""
    nodes: dict[str, NodeInfo] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name in graph.nodes and name not in nodes:
            node = nodes[name] = graph.nodes[name]
            waiting += [*node.controls, *(ref.name for ref in node.inputs)]
    return nodes


def _handle(graph: Graph, handles: Mapping[str, Key], ref: Ref) -> Key | None:
    if ref.name in handles:
        return handles[ref.name]
    node = graph.nodes.get(ref.name)
    return variable_key(node) if node is not None and node.op in HANDLES else None


def _restored(graph: Graph, ref: Ref) -> str | None:
    """Return the key that a value is restored from."""
    for _ in range(len(graph.nodes)):
        node = graph.nodes.get(ref.name)
        if node is None or node.op not in (*_PASSING, "RestoreV2") or not node.inputs:
            return None
        if node.op == "RestoreV2":
            break
        ref = node.inputs[ref.slot if node.op == "IdentityN" else 0]
    else:
        return None
    names = graph.nodes.get(node.inputs[1].name) if len(node.inputs) > 1 else None
    if names is None or "value" not in names.attributes:
        return None
    texts = names.attributes["value"].tensor.string_val
    return texts[ref.slot].decode(errors="replace") if ref.slot < len(texts) else None
