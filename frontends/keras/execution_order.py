"""The order in which Keras runs the calls of a model, and which of its tensors lose their masks on the way.

MultiHeadAttention of Keras 3 takes the masks off the tensors that it reads: calls that run after it see none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from .layers import Call, Graph, Tensor, tensors_in

Position: TypeAlias = "tuple[str, int]"
"""A layer and the number of its call."""


def execution_order(graph: Graph) -> dict[Position, int]:
    """Return the position in time of each call that outputs need: calls far from the outputs run first."""
    depths: dict[Position, int] = {}
    of_layers: dict[str, int] = {}
    for position in reversed(list(_traversed(graph))):
        # A layer that is called several times counts as its deepest call.
        depth = max(depths.setdefault(position, 0), of_layers.get(position[0], 0))
        of_layers[position[0]] = depths[position] = depth
        for parent in _parents(graph, position):
            depths[parent] = max(depth + 1, depths.get(parent, 0))
    ordered = sorted(depths, key=lambda position: -depths[position])
    return {position: at for at, position in enumerate(ordered)}


def _call(graph: Graph, position: Position) -> Call | None:
    layer = graph.layers.get(position[0])
    return layer.calls[position[1]] if layer is not None and position[1] < len(layer.calls) else None


def _parents(graph: Graph, position: Position) -> list[Position]:
    call = _call(graph, position)
    return [] if call is None else [(tensor.layer, tensor.call) for tensor in call.tensors()]


def _traversed(graph: Graph) -> Iterator[Position]:
    """Yield the calls that outputs need, depth first, each after the calls that it reads."""
    seen: set[Position] = set()
    for output in tensors_in(graph.outputs):
        stack: list[tuple[Position, bool]] = [((output.layer, output.call), False)]
        while stack:
            position, is_done = stack.pop()
            if is_done:
                yield position
            elif position not in seen:
                seen.add(position)
                stack.append((position, True))
                stack.extend((parent, False) for parent in reversed(_parents(graph, position)))


def removals(graph: Graph, takers: Mapping[Position, list[Tensor]]) -> dict[Tensor, int]:
    """Return, for each tensor that loses its mask, the position in time of the first call that takes it off."""
    if not takers:
        return {}
    order = execution_order(graph)
    removed: dict[Tensor, int] = {}
    for position, tensors in takers.items():
        if (at := order.get(position)) is not None:
            removed |= {tensor: min(at, removed.get(tensor, at)) for tensor in tensors}
    return removed
