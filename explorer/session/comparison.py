"""Two sessions side by side, layer by layer: what a layer takes in each of them, and how far its values differ."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .document import ComparedLayer, Comparison, Session, Tensors
from .text import column

_NO_LAYER = -1
_Values: TypeAlias = tuple[str, list[int], list[float], tuple[int, int]]
"""The identity of a tensor: inputs of the run, shape, some values, and the number of non-finite ones."""


def compare_sessions(a: Session, b: Session) -> Comparison:
    """Compare two sessions, of one model compiled in two ways or of two versions of it; the largest difference first.

    Layers of one name are the same; of the others those of one operator that stand at the same place between them.
    Differences are those of time, where both were measured, else of instructions. What one side lacks counts in full.
    """
    first, second = _Side.of(a), _Side.of(b)
    compared = [_compared(first, second, *pair) for pair in _aligned(a, b)]
    timed = bool(a.times) and bool(b.times)

    def order(layer: ComparedLayer) -> tuple[float, int, str]:
        seconds = abs(_least(layer.seconds[0]) - _least(layer.seconds[1])) if timed else 0.0
        return -seconds, -abs(int(_least(layer.instructions[0]) - _least(layer.instructions[1]))), layer.name

    return Comparison(b.made_by, sorted(compared, key=order))


def _least(number: float) -> float:
    return max(number, 0)


def layer_rows(session: Session) -> list[int]:
    """Return the rows of layers, in the order of their sources; tensors belong to theirs."""
    layers = session.layers
    rows = [row for row, owner in enumerate(layers.owner) if owner == row and layers.kind[row] in ("layer", "unknown")]
    return sorted(rows, key=lambda row: (layers.source[row], layers.ordinal[row], row))


def _aligned(a: Session, b: Session) -> list[tuple[int, int]]:
    """Pairs of rows, -1 for what the other session lacks."""
    names = _rows_by_name(a), _rows_by_name(b)
    pairs = [(row, names[1][name]) for name, row in names[0].items() if name in names[1]]
    first, second = _places(a, {row for row, _ in pairs}), _places(b, {row for _, row in pairs})
    pairs += [(row, second.pop(key, _NO_LAYER)) for key, row in first.items()]
    return pairs + [(_NO_LAYER, row) for row in second.values()]


def _rows_by_name(session: Session) -> dict[str, int]:
    """Return the first layer of each name."""
    names = session.layers.name
    return {names[row]: row for row in reversed(layer_rows(session)) if names[row]}


def _places(session: Session, aligned: set[int]) -> dict[tuple[str, str, int], int]:
    """Place of a layer that no name aligns -> its row: the aligned layer before it, its operator, and its number."""
    places: dict[tuple[str, str, int], int] = {}
    numbers: Counter[tuple[str, str]] = Counter()
    before, layers = "", session.layers
    for row in layer_rows(session):
        if row in aligned:
            before = layers.name[row]
            continue
        key = before, layers.type[row]
        places[*key, numbers[key]] = row
        numbers[key] += 1
    return places


@dataclass
class _Side:
    """Facts about the layers of a session, by row."""

    session: Session
    seconds: dict[int, float]
    instructions: Counter[int]
    bytes: Counter[int]
    tensors: dict[int, list[_Values]]

    @staticmethod
    def of(session: Session) -> _Side:
        owner = session.layers.owner
        seconds: dict[int, float] = {}
        for times in session.times:
            for row, spent, _ in times.layers:
                if row >= 0:
                    seconds[owner[row]] = seconds.get(owner[row], 0.0) + spent
        tensors: dict[int, list[_Values]] = {}
        for table in session.tensors:
            for number, row in enumerate(table.layer):
                if row >= 0:
                    tensors.setdefault(owner[row], []).append(_values(table, number))
        code = code_of_layers(session)
        return _Side(session, seconds, code.instructions, code.bytes, tensors)

    def numbers(self, row: int) -> tuple[float, int, int]:
        """Seconds, instructions and bytes of a layer."""
        if row < 0:
            return -1.0, -1, -1
        seconds = self.seconds.get(row, 0.0) if self.session.times else -1.0
        return seconds, self.instructions[row], self.bytes[row]


def _values(table: Tensors, number: int) -> _Values:
    return table.inputs, table.shape[number], table.sample[number], (table.nan[number], table.infinite[number])


@dataclass
class LayerCode:
    """The machine code of layers, by row."""

    instructions: Counter[int]
    """Instructions that serve a layer, in all kernels."""
    exact: Counter[int]
    """Those whose link is exact."""
    bytes: Counter[int]
    """The kernels' bytes, by its part of their instructions."""


def code_of_layers(session: Session) -> LayerCode:
    """Return the machine code of layers; that of a layer's tensors is its own."""
    instructions: Counter[int] = Counter()
    certain: Counter[int] = Counter()
    size: dict[int, float] = {}
    owner = session.layers.owner
    calls: dict[int, list[Sequence[int]]] = {}
    for call in session.calls:
        calls.setdefault(call.kernel, []).append(call.layers)
    for number, kernel in enumerate(session.kernels):
        counts: Counter[int] = Counter()
        exact: Counter[int] = Counter()
        for body in (session.stages[index].body for index in kernel.stages if session.stages[index].level == "asm"):
            sets = column(body.sets)
            counts.update(sets)
            exact.update(value for value, fits in zip(sets, column(body.exact) or [1] * len(sets), strict=True) if fits)
        for value, count in counts.items():
            slots = kernel.slots[value] if value >= 0 else []
            rows = {
                owner[row]
                for layers in calls.get(number, ())
                for slot in slots
                for row in session.sets[layers[slot]]
                if owner[row] >= 0
            }
            for row in rows:
                instructions[row] += count
                certain[row] += exact[value]
                size[row] = size.get(row, 0.0) + kernel.bytes * count / (kernel.instructions or 1)
    return LayerCode(instructions, certain, Counter({row: round(count) for row, count in size.items()}))


def _compared(first: _Side, second: _Side, row: int, other: int) -> ComparedLayer:
    name = first.session.layers.name[row] if row >= 0 else second.session.layers.name[other]
    a, b = first.numbers(row), second.numbers(other)
    error = _error(first.tensors.get(row, []), second.tensors.get(other, []))
    return ComparedLayer(
        name=name,
        first=row,
        second=other,
        seconds=(a[0], b[0]),
        instructions=(a[1], b[1]),
        bytes=(a[2], b[2]),
        error=error,
    )


def _error(first: Sequence[_Values], second: Sequence[_Values]) -> float:
    """The largest difference between values of the same inputs and shapes; -1.0 where there are none."""
    errors = [-1.0]
    for (inputs, shape, values, odd), (others, extents, those, strange) in zip(first, second, strict=False):
        if inputs and inputs == others and shape == extents:
            # Stripped sessions have no values.
            errors += [abs(value - other) for value, other in zip(values, those, strict=False)]
            errors += [sys.float_info.max] if odd != strange else []
    return min(max(errors), sys.float_info.max)
