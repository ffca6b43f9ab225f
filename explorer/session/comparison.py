"""Two sessions side by side, layer by layer: what a layer takes in each of them, and how far its values differ."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TypeAlias

from .alignment import Match, aligned, doubt
from .departure import departure
from .document import ComparedLayer, Comparison, Session, Tensors
from .reasons import LayerCalls, headline, reason
from .text import column

_Values: TypeAlias = tuple[str, list[int], list[float], tuple[int, int]]
"""The identity of a tensor: inputs of the run, shape, some values, and the number of non-finite ones."""


def compare_sessions(a: Session, b: Session) -> Comparison:
    """Compare two sessions, of one model compiled in two ways or of two versions of it; the largest difference first.

    Differences are those of time, where both were measured, else of instructions. What one side lacks counts in full.
    """
    first, second = _Side.of(a), _Side.of(b)
    matches = aligned(a, b)
    compared = [_compared(first, second, match) for match in matches]
    timed = bool(a.times) and bool(b.times)

    def order(layer: ComparedLayer) -> tuple[float, int, str]:
        seconds = abs(_least(layer.seconds[0]) - _least(layer.seconds[1])) if timed else 0.0
        return -seconds, -abs(int(_least(layer.instructions[0]) - _least(layer.instructions[1]))), layer.name

    comparison = Comparison(b.made_by, sorted(compared, key=order), (_total(a), _total(b)), _noise(a, b))
    comparison.doubt = doubt(a, b, matches)
    comparison.departure = departure(a, b, {match.second: match.first for match in matches if match.second >= 0})
    comparison.headline = headline(comparison)
    return comparison


def _total(session: Session) -> float:
    """CPU seconds per run of all kernels; -1.0 where they were not measured."""
    return sum(sum(times.calls) for times in session.times) if session.times else -1.0


def _noise(*sessions: Session) -> float:
    """Seconds by which totals may differ by chance; -1.0 where runs of one session were not timed one by one.

    Each program adds half the distance between the quartiles of its runs, as a part of their median.
    """
    measured = [times for session in sessions for times in session.times]
    if not all(session.times for session in sessions) or any(len(times.walls) < 2 for times in measured):
        return -1.0
    noise = 0.0
    for times in measured:
        low, middle, high = quantiles(times.walls, n=4, method="inclusive")
        noise += (high - low) / 2 / (middle or 1.0) * sum(times.calls)
    return noise


def _least(number: float) -> float:
    return max(number, 0)


@dataclass
class _Side:
    """Facts about the layers of a session, by row."""

    session: Session
    seconds: dict[int, float]
    instructions: Counter[int]
    bytes: Counter[int]
    tensors: dict[int, list[_Values]]
    calls: LayerCalls

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
        return _Side(session, seconds, code.instructions, code.bytes, tensors, LayerCalls(session))

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


def _compared(first: _Side, second: _Side, match: Match) -> ComparedLayer:
    row, other = match.first, match.second
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
        matched=match.how,
        reason=reason(first.calls, second.calls, row, other) if match.how else "",
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
