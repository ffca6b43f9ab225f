"""Hints for a kernel call: what others take, choices that tuning has, and primitives that may come next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...support.names import shown
from ..report import count, percent, seconds
from .costs import BANDWIDTH
from .document import Kernel, Session, Times
from .films import Cost
from .judgement import Answer

_BETTER = 0.98
"""The part of an estimate from which on another one counts as better."""
_SHOWN = 2
"""Primitives that an answer names."""


def attempts(session: Session, times: Times | None, number: int, spent: float, place: int) -> Answer:
    """Say what to try with call `number`, which takes `spent` CPU seconds and is at a place among its program's."""
    kernel = session.kernels[session.calls[number].kernel]
    texts = [*_others(session, times, number, spent, place), *_choices(session, kernel), *_primitives(session, kernel)]
    return Answer("to try").say("; ".join(texts))


def tune_command(session: Session) -> str:
    """Return the command that tunes the model of a session."""
    try:
        model = shlex.split(session.made_by.command)[2]
    except (ValueError, IndexError):  # no command that a shell takes
        model = session.made_by.model
    return f"whence tune {shlex.quote(shown(model))}"


def _others(session: Session, times: Times | None, number: int, spent: float, place: int) -> Iterator[str]:
    """Say what another runtime and another build take for the layers of a call."""
    if times is not None and times.peers and (peer := times.peers[place]) >= 0 and spent:
        text = f"{times.peer} takes {seconds(peer)} for the layers of this call, on one thread"
        yield f"{text}: {_ratio(spent, peer)}"
    if session.comparison is None:
        return
    rows = set(session.sets[session.calls[number].set])
    pairs = [layer.seconds for layer in session.comparison.layers if layer.first in rows and min(layer.seconds) >= 0]
    here, there = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    if here and there:
        yield f"the other build takes {seconds(there)} for these layers: {_ratio(here, there)}"


def _ratio(here: float, there: float) -> str:
    faster, slower = sorted((here, there))
    word = "that is" if there < here else "this is"
    return f"{word} {slower / faster:.2f} times as fast" if faster else "that is no time"


def _choices(session: Session, kernel: Kernel) -> Iterator[str]:
    """Say what tuning decided, or has to decide."""
    command = tune_command(session)
    if kernel.compiler:
        yield f"{shown(kernel.compiler)} decides how it runs"
    elif kernel.refusal:
        yield f"it has the plain schedule, as no strategy could make another: {shown(kernel.refusal)}"
    elif kernel.tuned:
        yield f"tuned: {shown(kernel.tuned)}"
    elif kernel.knobs is not None:
        knobs = kernel.knobs
        if knobs.best < _BETTER * knobs.seconds:
            part = percent(knobs.best / knobs.seconds)
            yield f"{knobs.decisions} would take {part} of its time by estimate; {command} measures"
        else:
            yield f"none of {count(knobs.points, 'choice')} of its schedule is better by estimate; {command} measures"
    else:
        yield f"no choice of its schedule was estimated; {command} lists those that there are"


def _primitives(session: Session, kernel: Kernel) -> Iterator[str]:
    """Name the primitives that may come next and are estimated to be better, with both terms of the estimates."""
    if kernel.schedule < 0 or not (frames := session.schedules[kernel.schedule].frames):
        return
    now, following = frames[-1].cost, frames[-1].next
    if now is None or not following:
        return
    better = [each for each in following if each.cost is not None and each.cost.seconds < _BETTER * now.seconds]
    if not better:
        yield f"none of {count(len(following), 'primitive')} that may come next is better by estimate"
    for each in better[:_SHOWN]:
        assert each.cost is not None
        yield f"{each.call} by estimate: {_terms(each.cost)} instead of {_terms(now)}"


def _terms(cost: Cost) -> str:
    return f"{seconds(cost.computing)} of instructions and {seconds(cost.bytes / BANDWIDTH)} of bytes"
