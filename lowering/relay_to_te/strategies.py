"""The registry of schedules: rows that say which stages a schedule is for, on which machine, and how much it is wanted.

A kernel engineer adds a row from outside:

    @whence.strategy(tag="dense", when=lambda stage, machine: stage.compute.shape[0] == 1, plevel=15)
    def schedule_gemv(work, stage): ...

Of the rows whose tag is the stage's and whose predicate holds, that of the highest `plevel` counts; of equals the one
registered last. Those of the compiler have 10, as TVM's have.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from ...provenance.diagnostics import describe, message
from ...support.doors import find_with
from ...support.errors import ScheduleError
from ...support.machine import Machine
from ...syntax.relay.op_attrs import COMPUTE, STRATEGY, operators_with

if TYPE_CHECKING:
    from ...te.schedule.stage import Stage
    from .schedules.common import Scheduling

Schedules = Callable[["Scheduling", "Stage"], None]
"""Schedules a stage, and puts it, and those it took along, into `Scheduling.done`."""
When = Callable[["Stage", Machine], bool]


def always(stage: Stage, machine: Machine) -> bool:
    """Accept every stage and machine."""
    return True


@dataclass(frozen=True)
class Strategy:
    """A row of the registry."""

    name: str
    tag: str
    """The tag of the stage, which is the kind of its operator; empty for stages without another row."""
    schedule: Schedules
    when: When = always
    plevel: int = 10
    group: bool = False
    """True when it schedules all stages of the function of which one, perhaps inlined, has the tag."""

    @property
    def text(self) -> str:
        """Return everything that its effect depends on: names, and hashes of the sources of its two functions."""
        return f"{self.name} {self.tag} {self.plevel} {self.group} {_hash(self.schedule)} {_hash(self.when)}"


_OUTSIDE: dict[str, Strategy] = {}
"""Rows that users registered, by name, in that order."""
_LOWERINGS: dict[str, str] = {}
"""Operators that users registered -> hashes of the sources of their lowerings."""


def strategy(
    *, tag: str, when: When = always, plevel: int = 10, name: str | None = None, group: bool = False
) -> Callable[[Schedules], Schedules]:
    """Return a decorator that registers a schedule for stages with a tag: `(work, stage) -> None`.

    work: the schedule in the making (`work.schedule`) and the machine (`work.machine`), with helpers; name: of the row,
    the function's by default. Returns the function as it is. Raises ScheduleError as `register_schedule` does.
    """

    def registered(schedule: Schedules) -> Schedules:
        label = name if name is not None else getattr(schedule, "__name__", "")
        register_schedule(Strategy(label, tag, schedule, when, plevel, group))
        return schedule

    return registered


def register_schedule(row: Strategy) -> None:
    """Add a row, or replace one of the same name. Raises ScheduleError for an invalid row."""
    if not row.name:
        raise ScheduleError(message("register_schedule", "a row with a name", repr(row.name)))
    for what, function in (("schedule", row.schedule), ("when", row.when)):
        try:
            inspect.signature(function).bind(None, None)
        except TypeError as error:
            wanted = f"a function of two arguments for {what} of '{row.name}'"
            raise ScheduleError(message("register_schedule", wanted, str(error))) from error
    _OUTSIDE.pop(row.name, None)
    _OUTSIDE[row.name] = row


def unregister_schedule(name: str) -> None:
    """Remove a registered row. Raises ScheduleError for an unknown name."""
    if name not in _OUTSIDE:
        names = ", ".join(_OUTSIDE) or "none"
        raise ScheduleError(message("unregister_schedule", f"a registered row ({names})", repr(name)))
    del _OUTSIDE[name]


def outside_fingerprint() -> str:
    """Return the text that kernels depend on besides the compiler's own sources: of rows and operators from outside."""
    own = [(op, _hash(function)) for key in (STRATEGY, COMPUTE) for op, function in operators_with(key).items()]
    return "\n".join(
        [*(row.text for row in _OUTSIDE.values()), *(f"{op} {text}" for op, text in (*_LOWERINGS.items(), *own))]
    )


@find_with
def _strategy_at(frame: FrameType) -> tuple[str, str]:
    """The row that a frame schedules by with its kernel, and the layers of the stage."""
    row, work, stage = (frame.f_locals.get(name) for name in ("row", "work", "stage"))
    if not isinstance(row, Strategy) or work is None or frame.f_globals.get("Strategy") is not Strategy:
        return "", ""
    layers = describe(stage.compute.location) if stage is not None else ""
    return f"strategy '{row.name}' of kernel '{work.schedule.func.sym_name.data}'", layers


def note_lowering(op: str, lowering: Callable[..., Any] | None) -> None:
    """Have kernels depend on the lowering of an operator from outside; None: no longer."""
    _LOWERINGS.pop(op, None)
    if lowering is not None:
        _LOWERINGS[op] = _hash(lowering)


def all_rows(own: tuple[Strategy, ...]) -> tuple[Strategy, ...]:
    """The compiler's `own` rows, then those registered."""
    return (*own, *_OUTSIDE.values())


def rows_for(tag: str, own: tuple[Strategy, ...]) -> list[Strategy]:
    """The compiler's `own` rows and those registered for a tag, the most wanted first."""
    return sorted((row for row in reversed(all_rows(own)) if row.tag == tag), key=lambda row: -row.plevel)


def _hash(function: Callable[..., Any]) -> str:
    return hashlib.sha256("\n".join(_texts(function, set())).encode()).hexdigest()


def _texts(function: Callable[..., Any], seen: set[object]) -> Iterator[str]:
    """Yield the texts of a function and of those of its own module that it names."""
    where = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    code = getattr(function, "__code__", None)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    bound = (getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None), cells)
    body = _spelled(code) if isinstance(code, CodeType) else repr(function)
    yield f"{where}\n{body}\n{bound!r}"
    seen.add(function)
    for name in code.co_names if isinstance(code, CodeType) else ():
        other = getattr(function, "__globals__", {}).get(name)
        if isinstance(other, FunctionType) and other.__module__ == function.__module__ and other not in seen:
            yield from _texts(other, seen)


def _spelled(code: CodeType) -> str:
    """Return the behaviour of a code object as text; the place where it was written is no part of it."""
    constants = [
        _spelled(constant) if isinstance(constant, CodeType) else repr(constant) for constant in code.co_consts
    ]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} {code.co_freevars}"
