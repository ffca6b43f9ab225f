"""The view of another session beside this one: a headline, the first step that differs, and layers side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....support.names import shown
from ...report import count, table
from ..document import ComparedLayer, Departure, Session
from .choice import Choice, missing, stage_title
from .overview import layer_name

_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "us"))
_TOP = 40
"""Layers that are shown where not all are asked for."""


def compare(session: Session, choice: Choice) -> str:
    """Layers of this and another session side by side, the largest difference first; differences are this less that."""
    other = session.comparison
    if other is None:
        raise missing(session, "a comparison")
    scale, unit = _unit(other.layers)
    rows = [_row(layer, scale) for layer in other.layers]
    times = (f"time, {unit}", f"other, {unit}", f"difference, {unit}")
    header = ("layer", *times, "instructions", "other", "bytes", "other", "error", "match", "code")
    first, second = (f"{each.model}, {each.target}, -O{each.opt_level}" for each in (session.made_by, other.other))
    lines = [shown(text) for text in (f"this: {first}; other: {second}", other.headline, other.doubt) if text]
    lines += _departure(session, other.departure)
    cut = rows if choice.full else rows[:_TOP]
    lines.append(table(cut, header))
    return "\n".join(
        [*lines, *([f"  and {count(len(rows) - len(cut), 'more layer')}"] if len(cut) < len(rows) else ())]
    )


def _unit(layers: Sequence[ComparedLayer]) -> tuple[float, str]:
    """Return the one unit of all times, and how many of it a second has: the largest that the longest time fills."""
    most = max((max(layer.seconds) for layer in layers), default=0.0)
    return next((row for row in _UNITS if most * row[0] >= 1), _UNITS[-1])


def _row(layer: ComparedLayer, scale: float) -> tuple[str, ...]:
    matched = f"guessed by {layer.matched}" if layer.matched in ("position", "shape") else layer.matched
    return (
        layer.name,
        *(f"{value * scale:.3f}" if value >= 0 else "" for value in layer.seconds),
        f"{(layer.seconds[0] - layer.seconds[1]) * scale:+.3f}" if min(layer.seconds) >= 0 else "",
        *(str(value) if value >= 0 else "" for value in (*layer.instructions, *layer.bytes)),
        f"{layer.error:.3g}" if layer.error >= 0 else "",
        matched if min(layer.first, layer.second) >= 0 else "here alone" if layer.first >= 0 else "there alone",
        layer.reason,
    )


def _departure(session: Session, found: Departure | None) -> Iterator[str]:
    """Say which step is the first that differs, where, and how to see it."""
    if found is None:
        return
    layer = f", layer {shown(layer_name(session, found.layer))}" if found.layer >= 0 else ""
    yield f"first difference: {found.level} {shown(found.name)} {shown(found.about)}{layer}"
    for title, lines in (("here", found.here), ("there", found.there)):
        yield from (f"  {title:<5} {shown(line.strip())}" for line in lines)
    if found.stage >= 0:
        view = "diff" if found.side != "there" and session.stages[found.stage].before >= 0 else "stage"
        yield f"  --text {view} --stage {found.stage} shows {stage_title(session, found.stage)}"
