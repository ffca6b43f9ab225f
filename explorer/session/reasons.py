"""Reasons for a difference between two sessions: what is other about a layer's code, and a headline for all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..report import percent, seconds, tally
from .alignment import layer_rows
from .document import ComparedLayer, Comparison, Session
from .text import text_of_stage

_TOP = 5
"""Layers of a headline."""
_PRIMITIVE = re.compile(r"schedule\.(\w+)(?:.* (factor|nparts|by) (\d+))?")
_LEVELS = {"te": "other expressions", "schedule": "other schedule", "tir": "other loops", "asm": "other instructions"}


class LayerCalls:
    """The call of each layer that has most of it, and the texts of its kernel."""

    def __init__(self, session: Session):
        self.session = session
        self.call: dict[int, int] = {}
        self._rows = layer_rows(session)
        self._texts: dict[tuple[int, str], list[str]] = {}
        owner, leads = session.layers.owner, session.leads
        weights: dict[int, float] = {}
        for layer, call, weight in zip(leads.layer, leads.call, leads.weight, strict=True):
            row = owner[layer]
            if row >= 0 and weight > weights.get(row, -1.0):
                weights[row], self.call[row] = weight, call

    def operators(self, call: int) -> list[str]:
        """Return the operators of the layers that a call serves, in the order of their sources."""
        session = self.session
        served = {session.layers.owner[row] for row in session.sets[session.calls[call].set]}
        return [session.layers.type[row] for row in self._rows if row in served]

    def text(self, call: int, level: str) -> list[str]:
        """Return the last text of a level of a call's kernel, with one word for its symbol."""
        number = self.session.calls[call].kernel
        if (number, level) not in self._texts:
            kernel = self.session.kernels[number]
            stages = [k for k in kernel.stages if self.session.stages[k].level == level]
            lines = text_of_stage(self.session, stages[-1]) if stages else []
            symbol = kernel.symbol or "kernel"
            self._texts[number, level] = [line.replace(symbol, "kernel") for line in lines]
        return self._texts[number, level]


def reason(a: LayerCalls, b: LayerCalls, row: int, other: int) -> str:
    """Return what is other about the code of a layer, in the call that has most of it: fusion, schedule, loops.

    It names operators and primitives, no layers. "" if the code is the same, or no session has a call of the layer.
    """
    calls = a.call.get(row, -1), b.call.get(other, -1)
    if min(calls) < 0:
        return "" if calls[0] == calls[1] else f"no kernel {'here' if calls[0] < 0 else 'in the other session'}"
    fused = a.operators(calls[0]), b.operators(calls[1])
    if fused[0] != fused[1]:
        return f"other kernel: {tally(fused[0])}, not {tally(fused[1])}"
    for level, words in _LEVELS.items():
        texts = a.text(calls[0], level), b.text(calls[1], level)
        if texts[0] != texts[1]:
            return _schedules(*texts) if level == "schedule" else words
    return ""


def _schedules(first: Sequence[str], second: Sequence[str]) -> str:
    """Say which primitives one schedule has and the other has not; sizes of splits are tiles."""
    counts = [Counter(map(_primitive, lines)) for lines in (first, second)]
    here, there = (tally(filter(None, (a - b).elements())) for a, b in (counts, counts[::-1]))
    if not here and not there:
        return "other schedule: the same primitives on other axes"
    tiles = all(text.startswith("split") for text in ((counts[0] - counts[1]) + (counts[1] - counts[0])) if text)
    return f"other {'tile' if tiles else 'schedule'}: {here or 'fewer primitives'}, not {there or 'more'}"


def _primitive(line: str) -> str:
    match = _PRIMITIVE.search(line)
    return " ".join(filter(None, match.groups())) if match and match[1] not in ("sequence", "stage", "axes") else ""


def headline(comparison: Comparison) -> str:
    """Return in a sentence how much slower or faster this session is than the other, and by which layers.

    There is no verdict where the difference is within noise, or the noise unknown.
    """
    here, there = comparison.seconds
    if here < 0 or there <= 0:
        totals = [sum(max(layer.instructions[side], 0) for layer in comparison.layers) for side in (0, 1)]
        return f"No times: layers have {totals[0]} instructions, {totals[1]} in the other session."
    part, figures = (here - there) / there, f"{seconds(here)} per run, {seconds(there)} in the other session"
    if comparison.noise < 0:
        return f"No verdict, as the noise is unknown: {figures}."
    figures += f", noise {percent(comparison.noise / there)}"
    if abs(here - there) <= comparison.noise:
        return f"No difference beyond noise: {figures}."
    layers = [text for layer in comparison.layers[:_TOP] if (text := _change(layer, here - there))]
    word = "slower" if part > 0 else "faster"
    return f"{percent(abs(part))} {word}: {', '.join([*layers, figures])}."


def _change(layer: ComparedLayer, total: float) -> str:
    """`conv3 +0.40 ms (other tile: ..)`; "" for a layer that changes against the total."""
    change = max(layer.seconds[0], 0.0) - max(layer.seconds[1], 0.0)
    if change * total <= 0:
        return ""
    because = f" ({layer.reason})" if layer.reason else ""
    return f"{layer.name} {'+' if change > 0 else '-'}{seconds(abs(change))}{because}"
