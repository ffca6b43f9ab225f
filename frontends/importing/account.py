"""The ledger's account of an import: the values of layers, and the nodes that left no op."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from xdsl.dialects.builtin import LocationAttr

from ...provenance.ledger import Ledger
from ...provenance.numbers import value_of
from ...provenance.span import leaves
from .node import Node
from .tensor import Tensor


def note_values(ledger: Ledger, converted: Iterable[tuple[Node, Iterable[str]]], tensors: Mapping[str, Tensor]) -> None:
    """Record the values of nodes' outputs, and the outputs' own names.

    converted: nodes, with the names of their outputs. tensors: the tensors by name.
    """
    for node, outputs in converted:
        for index, name in enumerate(outputs):
            ledger.alias(name, node.leaf)
            tensor = tensors.get(name)
            if tensor is not None and (value := value_of(tensor.value)) is not None:
                ledger.gives[node.leaf, index] = value


def note_evaluated(
    ledger: Ledger,
    nodes: Iterable[Node],
    reads: Iterable[tuple[Tensor, LocationAttr]],
    surviving: Set[LocationAttr],
    prefix: str,
) -> None:
    """Record the nodes that left no op, with the layers that used their values.

    reads: the known tensors whose values were read, and the layers that read them.
    """
    readers: dict[LocationAttr, dict[LocationAttr, None]] = {}
    for tensor, reader in reads:
        for leaf in leaves(tensor.location):
            readers.setdefault(leaf, {})[reader] = None
    for node in nodes:
        if node.leaf not in surviving:
            ledger.note(
                node.op_type,
                removed=[f"{prefix}.{node.op_type}"],
                before=[node.leaf],
                after=list(readers.get(node.leaf, ())),
                reason="evaluated at import",
            )
