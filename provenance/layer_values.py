"""Values of layers: which result of which op is what a layer gives, followed through the passes by the ledger.

A layer's value is where its op is until a match puts another result in the place of that one. It is what another op
reads, moved, when an op goes that only moved elements. It ends where a match says that results have another value
(`has_new_value`), and where nothing computes it any more: what stands for two layers gives the value of one of them, as
a rule of the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from ..runtime.values.moves import Move
from .ledger import Ledger
from .numbers import Value

LayerT = TypeVar("LayerT")


class LayerValues(Generic[LayerT]):
    """Whose values results of ops are, as entry after entry is told."""

    def __init__(self, values: Iterable[tuple[Value, LayerT]]):
        self.held: dict[int, dict[int, dict[LayerT, Move]]] = {}
        """Number of an op -> which result -> the layers whose value it is, and how it has to be moved to be that."""
        for (op, index), layer in values:
            self.held.setdefault(op, {}).setdefault(index, {})[layer] = ()

    def follow(self, ledger: Ledger, first: int = 0, last: int | None = None) -> None:
        """Go on by the entries of a ledger from number `first` on, up to `last` or to the end."""
        copied: dict[int, list[tuple[int, int]]] = {}
        for copy, (original, position) in ledger.copies.items():
            copied.setdefault(position, []).append((copy, original))
        last = len(ledger.entries) if last is None else last
        for position in range(first, last):
            self._copy(copied.get(position, ()))
            for old, new, move in ledger.entries[position].moves:
                self._move(old, new, move)
        self._copy(copied.get(last, ()))

    def of(self, op: int, index: int = 0) -> Mapping[LayerT, Move]:
        """The layers whose value a result is, and how it has to be moved to be that."""
        return self.held.get(op, {}).get(index, {})

    def _copy(self, pairs: Iterable[tuple[int, int]]) -> None:
        for copy, original in pairs:
            for index, layers in self.held.get(original, {}).items():
                self.held.setdefault(copy, {}).setdefault(index, {}).update(layers)

    def _move(self, old: Value, new: Value | None, move: Move) -> None:
        layers = self.held.get(old[0], {}).pop(old[1], None)
        if layers and new is not None:
            moved = {layer: (*move, *further) for layer, further in layers.items()}
            self.held.setdefault(new[0], {}).setdefault(new[1], {}).update(moved)
