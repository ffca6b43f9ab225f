"""Import as the ledger learns of it: the values of layers, and the nodes that left no op."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from xdsl.dialects.builtin import LocationAttr

from ...provenance.ledger import Ledger
from ...provenance.numbers import value_of
from ...provenance.span import leaves
from .node import Node
from .tensor import Tensor


def note_values(ledger: Ledger, converted: Iterable[tuple[Node, Iterable[str]]], tensors: Mapping[str, Tensor]) -> None:
    """Write down which results are the outputs of nodes, and that outputs have names of their own.

    converted: nodes, with the names of their outputs. tensors: what the names stand for.
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
    """Write down which nodes left no op, with the layers that took up their values.

    reads: known tensors whose values were looked at, and the layers that did.
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
