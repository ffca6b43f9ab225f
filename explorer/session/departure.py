"""The first step at which two compilations differ, by the texts of stages and the histories of their ops."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from typing import Literal, TypeAlias

from .document import Departure, Session
from .text import layers_of_lines, text_of_stage

_LINES = 3
"""Lines of an excerpt."""
_Course: TypeAlias = Sequence[int]
"""The stages of a program or of a kernel, in order."""
_History: TypeAlias = Mapping[int, Sequence[int]]
"""Stage -> the events of the passes that made it."""


def departure(a: Session, b: Session, rows: Mapping[int, int]) -> Departure | None:
    """Return the first step at which two compilations differ: of their programs, then of their kernels in order.

    Texts differ by more than the symbol of their kernel, histories by patterns and what these did. rows: the layers
    of `b` -> those of `a`.
    """
    histories = _history(a), _history(b)
    for first, second in zip_longest(_courses(a), _courses(b), fillvalue=()):
        for number, (x, y) in enumerate(zip_longest(first, second, fillvalue=-1)):
            if x < 0 or y < 0 or not _same(a, b, x, y, histories):
                return _departure(a, b, first[number:], second[number:], first[:number], histories, rows)
    return None


def _courses(session: Session) -> Iterator[_Course]:
    """The stages of each program, and of each of its kernels."""
    for program in range(len(session.programs)):
        stages = enumerate(session.stages)
        yield [k for k, stage in stages if stage.program == program and stage.kernel < 0 and stage.level == "relay"]
        yield from (kernel.stages for kernel in session.kernels if kernel.program == program)


def _history(session: Session) -> _History:
    events: dict[int, list[int]] = defaultdict(list)
    for event, run in enumerate(session.events.run):
        if run >= 0 and session.passes[run].changed:
            events[session.passes[run].stage].append(event)
    return events


def _same(a: Session, b: Session, x: int, y: int, histories: tuple[_History, _History]) -> bool:
    first, second = a.stages[x], b.stages[y]
    return (
        (first.name, first.level) == (second.name, second.level)
        and _first_event(a, b, x, y, histories) is None
        and _text(a, x) == _text(b, y)
    )


def _text(session: Session, k: int) -> list[str]:
    """Return the lines of a stage, with one word for the symbol of its kernel: options are in its hash."""
    lines = text_of_stage(session, k)
    if (kernel := session.stages[k].kernel) < 0 or not (symbol := session.kernels[kernel].symbol):
        return lines
    return [line.replace(symbol, "kernel") if symbol in line else line for line in lines]


def _first_event(a: Session, b: Session, x: int, y: int, histories: tuple[_History, _History]) -> int | None:
    """Return the position of the first event of two passes that is not the same, None where all are."""
    texts = [
        [(session.events.pattern[event], session.events.what[event]) for event in history.get(k, ())]
        for session, k, history in ((a, x, histories[0]), (b, y, histories[1]))
    ]
    pairs = enumerate(zip_longest(*texts))
    return next((number for number, (left, right) in pairs if left != right), None)


def _departure(
    a: Session,
    b: Session,
    first: _Course,
    second: _Course,
    both: _Course,
    histories: tuple[_History, _History],
    rows: Mapping[int, int],
) -> Departure:
    """Describe the difference between what is left of two courses of stages."""
    last = both[-1] if both else -1
    side = _side([a.stages[k].name for k in first], [b.stages[k].name for k in second])
    name = b.stages[second[0]].name if side == "there" else a.stages[first[0]].name
    level = b.stages[second[0]].level if side == "there" else a.stages[first[0]].level
    before = _text(a, last) if last >= 0 and a.stages[last].level == level else []
    here = before if side == "there" else _text(a, first[0])
    there = before if side == "here" else _text(b, second[0])
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    if side == "there":
        layer = rows.get(_layer(b, second[0], at, 0, histories[1]), -1)
    else:
        event = _first_event(a, b, first[0], second[0], histories) if side == "both" else 0
        layer = _layer(a, first[0], at, event, histories[0])
    return Departure(
        name=name,
        level=level,
        side=side,
        about=_about(a, b, first, second, side),
        layer=layer,
        stage=last if side == "there" else first[0],
        here=here[at : at + _LINES],
        there=there[at : at + _LINES],
    )


def _side(first: Sequence[str], second: Sequence[str]) -> Literal["both", "here", "there"]:
    """Return which of two lists of steps has a first one that the other lacks."""
    if not first:
        return "there"
    if not second or Counter(first)[first[0]] > Counter(second)[first[0]]:
        return "here"
    if Counter(second)[second[0]] > Counter(first)[second[0]]:
        return "there"
    return "both"


def _layer(session: Session, k: int, line: int, event: int | None, history: _History) -> int:
    """Return the first layer of an event of the pass, else of a line or those after it; -1 for none."""
    events = history.get(k, ())
    for number in events[event:] if event is not None else ():
        for set_ in (session.events.before[number], session.events.after[number]):
            if set_ >= 0 and session.sets[set_]:
                return session.sets[set_][0]
    return next((rows[0] for rows in layers_of_lines(session, k)[line:] if rows), -1)


def _about(a: Session, b: Session, first: _Course, second: _Course, side: str) -> str:
    """Say in a sentence what is different about a step."""
    if side == "both":
        x, y = a.stages[first[0]], b.stages[second[0]]
        if x.name != y.name:
            return f"stands where the other session has {y.name}"
        specs = [_spec(session, course[0]) for session, course in ((a, first), (b, second))]
        if specs[0] != specs[1]:
            return f"ran as {specs[0]}, and as {specs[1]} in the other session"
        return "gives something else in the other session"
    whole, session, k = (b, a, first[0]) if side == "here" else (a, b, second[0])
    stage = session.stages[k]
    ran = any(run.name == stage.name for run in whole.passes if (run.kernel < 0) == (stage.kernel < 0))
    where, other = ("here", "in the other session") if side == "here" else ("in the other session", "here")
    return f"changed something {where}, and {'nothing' if ran else 'did not run'} {other}"


def _spec(session: Session, k: int) -> str:
    specs = [run.spec for run in session.passes if run.stage == k and run.changed]
    return specs[-1] if specs else ""
