"""Addresses of the page: what it shows, as the text from `#` on that the page keeps and links have.

The text is base64 of JSON, as page/address.js writes it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, cast

from ...support.codec import Codec, whole
from ...support.errors import FrontendError, WhenceError
from .document import LARGEST, Session

GRAPHS = {"graph": "model", "calls": "calls"}
"""Panes that show a graph, and the level of the graph."""
DIFFERENCE = "diff"
"""The pane that compares two stages."""
HEATS = ("off", "time", "flops", "bytes", "change")
_CODEC = Codec({int: whole(LARGEST)})
_LONGEST = 1 << 16
Refuse = Callable[[str, object], WhenceError]
"""Makes an error of what was expected and what there is."""


class PaneState(NamedTuple):
    """A pane; stages and calls are -1 for none."""

    level: str
    stage: int
    call: int
    top: int = 0
    """The first line in view, from 0."""
    wrap: int = 0
    grow: float = 1.0
    before: int = -1
    """The stage that a difference begins at."""
    id: int = 0
    """The number that other parts of the page know it by; the page gives one for 0."""
    sideways: int = 0


@dataclass
class Pin:
    """Pinned layers, and the line, from 0, where: stage, line, call and line of tir."""

    rows: list[int]
    at: tuple[int, int, int, int] | None = None


@dataclass
class Address:
    """The state of the page that an address holds. A theme and sizes of parts are left to who looks at it."""

    program: int = 0
    panes: list[PaneState] = field(default_factory=list[PaneState])
    focus: int = 0
    """The number of the pane that keys act on."""
    pins: list[Pin | None] = field(default_factory=lambda: [None, None])
    heat: str = "off"
    dock: str = ""
    filter: int = 0
    query: str = ""
    tour: tuple[int, int] | None = None
    """The tour that is under way, and its step."""


def write_address(address: Address) -> str:
    """Return the text of an address, from `#` on."""
    text = json.dumps(asdict(address), separators=(",", ":"))
    return f"#{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"


def read_address(text: str) -> Address:
    """Return what an address holds; raises FrontendError for what is none."""
    try:
        if len(text) > _LONGEST:
            raise ValueError("it is too long")
        data = text.removeprefix("#").encode("ascii")
        value = json.loads(base64.b64decode(data + b"=" * (-len(data) % 4), b"-_", validate=True))
    except (ValueError, RecursionError) as error:
        raise FrontendError(f"address: expected one that the page wrote, got another text: {error}") from None
    if not isinstance(value, dict):
        raise FrontendError("address: expected one that the page wrote, got other JSON")
    return _CODEC.decode(Address, {**asdict(Address()), **cast("dict[str, object]", value)}, "address")


def check_tours(session: Session, refuse: Callable[[str, str, object], WhenceError]) -> None:
    """Hold each step of the tours to the session; refuse: makes an error of a path, what was expected and the value."""
    for number, tour in enumerate(session.tours):
        if not tour.steps:
            raise refuse(f"tours[{number}].steps", "a step", "none")
        for k, step in enumerate(tour.steps):
            path = f"tours[{number}].steps[{k}]"
            check_address(session, step.address, lambda expected, got, path=path: refuse(path, expected, got))


def check_address(session: Session, text: str, refuse: Refuse) -> None:
    """Raise the error that `refuse` makes where an address leads to something that the session does not have."""
    try:
        address = read_address(text)
    except FrontendError:
        raise refuse("an address that the page wrote", repr(text[:40])) from None
    if not address.panes:
        raise refuse("an address with a pane", "none")
    _check_row(address.program, session.programs, "programs", refuse, least=min(0, len(session.programs) - 1))
    for pane in address.panes:
        _check_pane(session, pane, refuse)
    for pin in address.pins:
        for row in pin.rows if pin is not None else ():
            _check_row(row, session.layers.name, "layers", refuse, least=0)
        if pin is not None and pin.at is not None:
            stage, line, call, _ = pin.at
            _check_row(stage, session.stages, "stages", refuse, least=0)
            _check_row(call, session.calls, "calls", refuse)
            if not 0 <= line < session.stages[stage].lines:
                raise refuse(f"a line from 0 to {session.stages[stage].lines - 1}", line)
    _check_choice(address.heat, heats(session), "heat", refuse)
    _check_choice(address.dock, ("", *docks(session)), "tab", refuse)


def heats(session: Session) -> list[str]:
    """Return the heats that the page of a session offers."""
    lacks = {"time": not session.times, "change": session.comparison is None}
    return [heat for heat in HEATS if not lacks.get(heat, False)]


def docks(session: Session) -> list[str]:
    """Return the names of the tabs that a report of a session has."""
    # Of sizes that are open the tabs say how to measure at some.
    sizes = any(program.open for program in session.programs)
    has = {
        **dict.fromkeys(("verdict", "passes", "why", "where"), True),
        "schedule": session.schedules,
        "time": session.times or sizes,
        "timeline": any(times.timeline.call for times in session.times),
        "memory": session.memory or sizes,
        "tensors": session.tensors or sizes,
        "compare": session.comparison is not None,
        "answer": True,
    }
    return [name for name, there in has.items() if there]


def _check_pane(session: Session, pane: PaneState, refuse: Refuse) -> None:
    for stage in (pane.stage, pane.before):
        _check_row(stage, session.stages, "stages", refuse)
    _check_row(pane.call, session.calls, "calls", refuse)
    if pane.level in GRAPHS:
        if all(graph.level != GRAPHS[pane.level] for graph in session.graphs):
            raise refuse(f"a session with a graph for the pane {pane.level}", "one without")
    elif pane.stage < 0:
        raise refuse(f"a stage for the pane {pane.level[:20]}", "none")
    elif pane.level != DIFFERENCE and session.stages[pane.stage].level != pane.level:
        raise refuse(f"a stage of level {pane.level[:20]}", f"one of {session.stages[pane.stage].level}")
    elif not 0 <= pane.top < max(1, session.stages[pane.stage].lines):
        raise refuse(f"a line from 0 to {session.stages[pane.stage].lines - 1}", pane.top)
    elif pane.call >= 0 and session.calls[pane.call].kernel != session.stages[pane.stage].kernel:
        raise refuse("a call of the kernel that the pane shows", pane.call)


def _check_row(row: int, table: Sequence[object], name: str, refuse: Refuse, *, least: int = -1) -> None:
    if not least <= row < len(table):
        raise refuse(f"an index into {len(table)} {name}", row)


def _check_choice(value: str, choices: Iterable[str], name: str, refuse: Refuse) -> None:
    if value not in choices:
        raise refuse(f"one of the {name}s {', '.join(filter(None, choices))}", repr(value[:20]))
