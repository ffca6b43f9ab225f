"""Views of texts: a stage with its layers, and the difference between two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....support.errors import PipelineError, expectation
from ....support.names import shown
from ...report import count
from ..difference import Pair, difference
from ..document import Session
from ..text import column, layers_of_lines, text_of_stage
from .choice import Choice, call_of, names_of, stage_of, stage_title

_MARKS = {"same": ("  ", "  "), "changed": ("~-", "~+"), "new": ("", "+ "), "gone": ("- ", ""), "moved": (">-", ">+")}
"""The marks of a line on the left and on the right."""
_CONTEXT = 2
"""Lines around a difference that are shown."""
_WIDE = 100


def stage(session: Session, choice: Choice) -> str:
    """A stage, line by line, with the layers of each; `o` marks a line that computes a layer's output."""
    k = stage_of(session, choice)
    body = session.stages[k].body
    outputs = {line for line, _ in body.outputs}
    exact = column(body.exact) or [1] * session.stages[k].lines
    lines = [stage_title(session, k)]
    digits = len(str(session.stages[k].lines))
    rows = zip(text_of_stage(session, k), layers_of_lines(session, k, call_of(session, choice)), exact, strict=True)
    for number, (text, layers, certain) in enumerate(rows, 1):
        mark = "o" if number in outputs else " "
        lines.append(f"{number:>{digits}} {mark} {_with_layers(session, text, layers, bool(certain))}".rstrip())
    return "\n".join(lines)


def _with_layers(session: Session, text: str, layers: Sequence[int], exact: bool = True) -> str:
    """A line of text and the names of its layers; those of an inferred line after a `~`."""
    text = shown(text.expandtabs(4))
    if not layers:
        return text
    return f"{text:<{_WIDE}}  ; {'' if exact else '~ '}{names_of(session, layers, 4)}"


def diff(session: Session, choice: Choice) -> str:
    """The lines that differ between two stages: `-` gone, `+` new, `~` changed, `>` moved."""
    second = stage_of(session, choice)
    first = session.stages[second].before if choice.against is None else stage_of(session, choice, choice.against)
    if first < 0:
        raise PipelineError(expectation("diff", "a stage that came of another", stage_title(session, second)))
    result = difference(session, first, second)
    layers = [layers_of_lines(session, k, call_of(session, choice)) for k in (first, second)]
    kinds = [pair.kind for pair in result.pairs]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in _MARKS if kind in kinds)
    lines = [f"{stage_title(session, first)} -> {stage_title(session, second)}", f"lines: {counts}"]
    for pair, skipped in _near(result.pairs, choice.full):
        if skipped:
            lines.append(f"  .. {count(skipped, 'line')} the same")
        if pair is None:
            continue
        old, new = _MARKS[pair.kind]
        if pair.left >= 0 and pair.kind != "same":
            lines.append(f"{old} {_with_layers(session, result.left[pair.left], layers[0][pair.left])}")
        if pair.right >= 0:
            text = result.right[pair.right]
            shown_text = shown(text) if pair.kind == "same" else _with_layers(session, text, layers[1][pair.right])
            lines.append(f"{new} {shown_text}".rstrip())
    return "\n".join(lines)


def _near(pairs: Sequence[Pair], full: bool) -> Iterator[tuple[Pair | None, int]]:
    """The pairs that differ or are near one that does, each with how many were left out before it."""
    differs = [row for row, pair in enumerate(pairs) if pair.kind != "same"]
    near = {at for row in differs for at in range(row - _CONTEXT, row + _CONTEXT + 1)}
    skipped = 0
    for row, pair in enumerate(pairs):
        if full or row in near:
            yield pair, skipped
            skipped = 0
        else:
            skipped += 1
    if skipped:
        yield None, skipped
