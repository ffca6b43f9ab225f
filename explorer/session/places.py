"""Places of a tour by names: layers, calls, stages and tabs, made an address of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from ...support.codec import types_of
from ...support.errors import PipelineError, WhenceError, expectation
from ..report import some
from .address import DIFFERENCE, GRAPHS, Address, PaneState, Pin, check_address, read_address, write_address
from .document import Session
from .leads import LEVELS, line_of, serving
from .query.answer import answer
from .text import calls_of, column
from .tours import Tour, TourStep
from .views.choice import Choice, call_of, kernel_of, layer_of
from .views.choice import calls_of as calls_of_kernel

_ABOVE = 6
"""Lines that a pane shows above the one that it is about."""
_QUERIES = "answer"
"""The tab of answers."""
_SEVERAL = ("panes", "layer", "beside")
"""The options that may have several names."""
Step: TypeAlias = tuple[str, "Mapping[str, object] | str"]
"""A sentence, and the options of `Place` or an address that the page had."""


@dataclass(frozen=True)
class Place:
    """Options of a step, by names as `whence explore --text` takes them; errors are PipelineErrors."""

    panes: str | Sequence[str] = ("graph", "relay", "tir")
    """Levels, `relay:simplify-inference` for another stage than the last; `diff:..` is what a pass changed."""
    layer: str | Sequence[str] = ()
    """Layers to pin as A."""
    beside: str | Sequence[str] = ()
    """Layers to pin as B."""
    kernel: str | None = None
    """A kernel, or a call by its name; by default the call that has most of the layers, or does most."""
    program: str | None = None
    """The program whose calls are meant, by its name; by default any."""
    heat: str = "off"
    dock: str = ""
    """The tab that is open."""
    query: str = ""
    """The query of the tab of answers."""
    only: bool = False
    """Show the lines of the pins only."""


def with_tour(session: Session, title: str, steps: Sequence[Step]) -> Session:
    """Return the session with a tour more; raises PipelineError that names the step where something is not there."""
    if not steps:
        raise PipelineError(expectation(f"tour {title!r}", "a step", "none"))
    made: list[TourStep] = []
    for number, (text, place) in enumerate(steps, 1):
        where = f"tour {title!r}, step {number}"

        def refuse(expected: str, got: object, where: str = where) -> PipelineError:
            return PipelineError(expectation(where, expected, str(got)))

        try:
            address = place if isinstance(place, str) else address_of(session, _place(place))
            # Without the theme, and what else is the reader's own.
            check_address(session, address, refuse)
            parsed = read_address(address)
            if parsed.query:
                answer(session, parsed.query)
        except WhenceError as error:
            raise PipelineError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from None
        made.append(TourStep(write_address(replace(parsed, tour=None)), text))
    return replace(session, tours=[*session.tours, Tour(title, made)])


def _place(options: Mapping[str, object]) -> Place:
    names = types_of(Place)
    if unknown := [name for name in options if name not in names]:
        raise PipelineError(expectation("place", f"options of {', '.join(names)}", repr(unknown[0])))
    for name, value in options.items():
        got = repr(value)
        texts = cast("Sequence[object]", value if name in _SEVERAL and isinstance(value, list | tuple) else [value])
        expected = bool if name == "only" else str
        if not all(isinstance(text, expected) for text in texts):
            raise PipelineError(expectation(name, f"a {expected.__name__}", got))
    return Place(**options)  # type: ignore[reportArgumentType]


def address_of(session: Session, place: Place) -> str:
    """Return the address of a place; raises PipelineError for a name that the session does not have."""
    pins = [[layer_of(session, Choice(layer=name)) for name in _names(names)] for names in (place.layer, place.beside)]
    call = _call(session, place, pins[0] or pins[1])
    program = session.calls[call].program if call >= 0 else _programs(session, place)[0] if session.programs else 0
    rows = pins[0] or pins[1] or (session.sets[session.calls[call].set] if call >= 0 else [])
    panes = [_pane(session, text, number, call, program, rows) for number, text in enumerate(_names(place.panes), 1)]
    marks = [Pin(rows, _at(session, place, call, rows)) if rows else None for rows in pins]
    dock = place.dock or (_QUERIES if place.query else "")
    return write_address(Address(program, panes, 0, marks, place.heat, dock, filter=int(place.only), query=place.query))


def _names(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def _call(session: Session, place: Place, rows: Sequence[int]) -> int:
    """Return the call that a place is about; -1 for none."""
    own = [row for row, call in enumerate(session.calls) if call.program in _programs(session, place)]
    if place.kernel is not None:
        choice = Choice(kernel=place.kernel)
        named, kernel = call_of(session, choice), kernel_of(session, choice)
        return named if named >= 0 else next((row for row, _ in calls_of_kernel(session, kernel) if row in own), -1)
    if rows:
        return next((call for call in serving(session.leads, set(rows)) if call in own), -1)
    weights = {row: float(max(session.calls[row].flops, 0)) for row in own}
    for times in session.times:
        weights |= dict(zip(calls_of(session, times.program), times.calls, strict=True))
    return max(own, key=weights.__getitem__, default=-1)


def _programs(session: Session, place: Place) -> Sequence[int]:
    """Return the programs that a place may be about."""
    names = [program.name for program in session.programs]
    if place.program is None:
        return range(len(names))
    if place.program not in names:
        raise PipelineError(expectation("program", f"one of {some(names)}", repr(place.program)))
    return [names.index(place.program)]


def _at(session: Session, place: Place, call: int, rows: Sequence[int]) -> tuple[int, int, int, int] | None:
    """Return the line of tir where layers are pinned: of a call that a place names."""
    if place.kernel is None or call < 0:
        return None
    tir = _last(session, "tir", session.calls[call].kernel, session.calls[call].program, "")
    line = line_of(session.leads, set(rows), call, "tir")
    return (tir, line - 1, call, 0) if tir >= 0 and line else None


def _pane(session: Session, text: str, number: int, call: int, program: int, rows: Sequence[int]) -> PaneState:
    level, _, name = text.partition(":")
    if level in GRAPHS:
        return PaneState(level, -1, -1, id=number)
    kernel = session.calls[call].kernel if call >= 0 and level in LEVELS else -1
    shown = "relay" if level == DIFFERENCE else level
    stage = _last(session, shown, kernel, program, name)
    if stage < 0:
        named = (row.name if name else row.level for row in session.stages if not name or row.level == shown)
        expected = f"one of the {'stages' if name else 'levels'} {some(dict.fromkeys(named))}"
        raise PipelineError(expectation(f"pane {text!r}", expected, repr(name or level)))
    before = session.stages[stage].before if level == DIFFERENCE else -1
    if level == DIFFERENCE and before < 0:
        raise PipelineError(expectation(f"pane {text!r}", "a stage with one before it", "the first"))
    several = kernel >= 0 and len(calls_of_kernel(session, kernel)) > 1
    line = 0 if level == DIFFERENCE else _line(session, stage, call, rows)
    return PaneState(level, stage, call if several else -1, max(0, line - 1 - _ABOVE), before=before, id=number)


def _last(session: Session, level: str, kernel: int, program: int, name: str) -> int:
    """Return the last stage of a level, a kernel and a program that has a name, if one is given; -1 for none."""
    rows = [
        row
        for row, stage in enumerate(session.stages)
        if (stage.level, stage.kernel) == (level, kernel)
        and (stage.program in (-1, program))
        and (not name or name in (stage.name, stage.name.partition("-")[2]))
    ]
    return rows[-1] if rows else -1


def _line(session: Session, stage: int, call: int, rows: Sequence[int]) -> int:
    """Return the line of a stage to begin at for some layers, from 1; 0 for none."""
    row = session.stages[stage]
    if row.kernel >= 0:
        same = _last(session, row.level, row.kernel, row.program, "") == stage
        return line_of(session.leads, set(rows), call, row.level) if same else 0
    outputs = [line for line, layer in row.body.outputs if layer in rows]
    own = {number for number, behind in enumerate(session.sets) if not set(rows).isdisjoint(behind)}
    first = (line for line, number in enumerate(column(row.body.sets), 1) if number in own)
    return outputs[0] if outputs else next(first, 0)
