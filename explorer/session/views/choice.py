"""The stage, kernel, layer or line of a session that a view is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....support.errors import PipelineError, expectation
from ....support.names import shown
from ...report import some
from ..document import Call, Session, Stage


@dataclass(frozen=True)
class Choice:
    """The options of `whence explore --text`; None where nothing was asked for."""

    stage: str | None = None
    """The number of a stage, or its name; of a schedule the number of a frame."""
    against: str | None = None
    """The stage that a difference begins at; by default the one before."""
    kernel: str | None = None
    """The number of a kernel, its symbol, or the name of a call of it."""
    level: str | None = None
    layer: str | None = None
    line: int | None = None
    """The number of a line, from 1."""
    query: str | None = None
    """A question to the tables of the session, `time by op`."""
    full: bool = False
    """Show what is otherwise folded."""


def kernel_of(session: Session, choice: Choice) -> int:
    """Return the row of the kernel that is asked for, -1 where none is; raises PipelineError for an unknown one."""
    name = choice.kernel
    if name is None:
        return -1
    calls = {call.name: call.kernel for call in reversed(session.calls)}
    symbols = {kernel.symbol: row for row, kernel in enumerate(session.kernels)}
    row = calls.get(name, symbols.get(name, _number(name, len(session.kernels))))
    if row < 0:
        raise _unknown("--kernel", "a kernel", (call.name for call in session.calls), name)
    return row


def call_of(session: Session, choice: Choice) -> int:
    """Return the row of the one call that is asked for by its name, -1 for all."""
    rows = [row for row, call in enumerate(session.calls) if call.name == choice.kernel]
    return rows[0] if len(rows) == 1 else -1


def layer_of(session: Session, choice: Choice) -> int:
    """Return the row of the layer that is asked for; raises PipelineError for an unknown one, and where none is."""
    if choice.layer is None:
        raise PipelineError(expectation("--layer", "the name of a layer", "none"))
    names = session.layers.name
    if choice.layer in names:
        return names.index(choice.layer)
    row = _number(choice.layer, len(names))
    if row < 0:
        raise _unknown("--layer", "a layer", names, choice.layer)
    return row


def rows_of(session: Session, layer: int) -> frozenset[int]:
    """Return the rows of a layer and of its tensors."""
    return frozenset({layer, *(row for row, owner in enumerate(session.layers.owner) if owner == layer)})


def calls_of(session: Session, kernel: int) -> list[tuple[int, Call]]:
    """Return the calls of a kernel, with their rows."""
    return [(row, call) for row, call in enumerate(session.calls) if call.kernel == kernel]


def stage_of(session: Session, choice: Choice, name: str | None = None) -> int:
    """Return the stage that is asked for: by its number, or the last that has the name, the kernel and the level.

    name: of the stage, if not `choice.stage`. Raises PipelineError where there is none.
    """
    name = choice.stage if name is None else name
    if name is not None and (number := _number(name, len(session.stages))) >= 0:
        return number
    kernel = kernel_of(session, choice)
    level = choice.level or ("tir" if kernel >= 0 else "relay")
    stages = [
        (row, stage)
        for row, stage in enumerate(session.stages)
        if (choice.kernel is None or stage.kernel == kernel)
        and (stage.level == level or (name is not None and choice.level is None))
    ]
    rows = [row for row, stage in stages if name is None or name in (stage.name, stage.name.partition("-")[2])]
    if not rows:
        if name is None:
            raise _unknown("--level", "a level", (stage.level for stage in session.stages), level)
        raise _unknown("--stage", "a stage", (stage.name for _, stage in stages), name)
    return rows[-1]


def stage_title(session: Session, k: int) -> str:
    """`tir 15: tir-simplify of @fused_conv2d`."""
    stage = session.stages[k]
    return f"{stage.level} {k}: {shown(stage.name)}{_owner(session, stage)}"


def _owner(session: Session, stage: Stage) -> str:
    if stage.kernel >= 0:
        return f" of @{shown(session.kernels[stage.kernel].symbol)}"
    if stage.program >= 0 and len(session.programs) > 1:
        return f" of program {shown(session.programs[stage.program].name)}"
    return ""


def names_of(session: Session, rows: Iterable[int], limit: int = 6) -> str:
    """Return the names of layers, of many the first."""
    return some((session.layers.name[row] for row in rows), limit)


def missing(session: Session, what: str) -> PipelineError:
    """Return the error for a table that a document has no rows of."""
    notes = "; ".join(session.made_by.notes)
    return PipelineError(expectation(what, f"a document with {what}", f"one without{f' ({notes})' if notes else ''}"))


def _number(text: str, size: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) < size else -1


def _unknown(option: str, kind: str, names: Iterable[str], value: str) -> PipelineError:
    choices = list(dict.fromkeys(names))
    return PipelineError(expectation(option, f"{kind}: {some(choices)}" if choices else kind, repr(value)))
