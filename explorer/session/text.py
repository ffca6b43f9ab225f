"""Readers of a session document that its views, its report and its tests share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat

from .document import Edit, Runs, Session


def applied(edits: Iterable[Edit], lines: Sequence[str] = ()) -> list[str]:
    """Return the lines of a text after edits."""
    result = list(lines)
    for first, removed, texts in edits:
        result[first : first + removed] = texts
    return result


def text_of_stage(session: Session, k: int) -> list[str]:
    """Return the lines of stage `k`, made of those of the stage that it is stored as edits of."""
    stages: list[int] = []
    while k >= 0:
        stages.append(k)
        k = session.stages[k].body.base
    lines: list[str] = []
    for stage in reversed(stages):
        lines = applied(session.stages[stage].body.edits, lines)
    return lines


def column(runs: Runs) -> list[int]:
    """Return a value per line."""
    return list(chain.from_iterable(map(repeat, runs[::2], runs[1::2])))


def runs_of(values: Iterable[int]) -> Runs:
    """Return a column by run lengths; the other way round than `column`."""
    runs: list[int] = []
    for value in values:
        if runs and runs[-2] == value:
            runs[-1] += 1
        else:
            runs += (value, 1)
    return runs


def layers_of_lines(session: Session, k: int, call: int = -1) -> list[tuple[int, ...]]:
    """Return the rows of layers of each line of stage `k`.

    call: of a kernel's stage the call whose layers are meant; -1, or a call of another kernel: those of all its calls.
    """
    stage = session.stages[k]
    call = call if call >= 0 and session.calls[call].kernel == stage.kernel else -1
    if stage.kernel < 0:
        sets = [tuple(rows) for rows in session.sets]
    else:
        calls = [session.calls[call]] if call >= 0 else [c for c in session.calls if c.kernel == stage.kernel]
        sets = [
            tuple(dict.fromkeys(row for c in calls for slot in slots for row in session.sets[c.layers[slot]]))
            for slots in session.kernels[stage.kernel].slots
        ]
    return [sets[number] if number >= 0 else () for number in column(stage.body.sets)]


def calls_of(session: Session, program: int) -> range:
    """Return the numbers of the calls of a program, which stand together."""
    numbers = [number for number, call in enumerate(session.calls) if call.program == program]
    return range(numbers[0], numbers[-1] + 1) if numbers else range(0)
