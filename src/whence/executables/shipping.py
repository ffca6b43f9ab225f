"""Programs in which values decide, as files: what the compiled code in them is for, and what it lacks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from whence.executables.executable import Executable
from whence.executables.interpreted import InterpretedExecutable
from whence.planning.program_archive import export_program
from whence.runtime.interpreting.control import NEVER_COMPILED
from whence.runtime.interpreting.flow import Step
from whence.runtime.interpreting.interpreter import Interpreter
from whence.runtime.interpreting.language import Native
from whence.runtime.interpreting.language_program import LanguageProgram
from whence.runtime.interpreting.shape_patterns import Kept
from whence.runtime.interpreting.written import LanguageSteps, ModelSteps
from whence.support.errors import FrontendWarning, PipelineError, expectation


def export_model(
    executable: InterpretedExecutable,
    interpreter: Interpreter,
    steps: Callable[[Sequence[Kept]], ModelSteps],
    path: Path,
) -> None:
    """Write a model that an interpreter runs; see `DynamicExecutable.export_library`.

    steps: returns the model as a file has it, with stretches.
    """
    entries = interpreter.entries
    if not entries:
        expected = "a call before it, as calls decide what is compiled"
        raise PipelineError(expectation("export_library", expected, "none"))
    kept, parts = _numbered(entries)
    missing = [f"layer '{step.layer}': none, as no call came to it" for step in not_reached(interpreter)]
    limits = [*_fixed_stretches(executable, interpreter, entries), *missing]
    _export(executable, steps(kept), parts, limits, path)


def export_language(
    executable: InterpretedExecutable, program: LanguageProgram, native: Sequence[Native], path: Path
) -> None:
    """Write a program of the language; see `VirtualExecutable.export_library`.

    native: the runs of tensor operators in it.
    """
    kept, parts = _numbered(program.machine.entries)
    steps = LanguageSteps(dict(program.functions), dict(program.constructors), tuple(kept), program.machine.max_depth)
    limits = [_limit(executable, step, None) for step in native if not step.compiled]
    limits += [_limit(executable, entry.step, entry) for entry in kept if _is_narrow(entry, kept)]
    _export(executable, steps, parts, limits, path)


def _export(
    executable: InterpretedExecutable,
    steps: ModelSteps | LanguageSteps,
    parts: Sequence[Executable],
    limits: Iterable[str],
    path: Path,
) -> None:
    limited = tuple(dict.fromkeys(limits))
    export_program(
        *(steps, [part.export_library for part in parts], limited, executable.seed, executable.fates()),
        target=executable.target,
        path=path,
    )
    if limited:
        text = f"{path}: the file has no code for other sizes or steps than came: {'; '.join(limited)}"
        warnings.warn(FrontendWarning(text), stacklevel=3)


def _numbered(entries: Sequence[Kept]) -> tuple[list[Kept], list[Executable]]:
    """Return the entries with the numbers of their native programs, and these."""
    numbers: dict[Executable, int] = {}
    kept: list[Kept] = []
    for entry in entries:
        part = entry.stretch.report
        number = numbers.setdefault(part, len(numbers)) if isinstance(part, Executable) else None
        kept.append(replace(entry, program=number))
    return kept, list(numbers)


def _is_narrow(entry: Kept, entries: Sequence[Kept]) -> bool:
    """Return whether an entry is for some sizes only, with no other for these and more."""
    return (
        isinstance(entry.key, tuple)
        and bool(entry.key)
        and not any(
            other.pattern is not None
            and (other.kind, other.step) == (entry.kind, entry.step)
            and other.pattern.fits(entry.key)
            for other in entries
        )
    )


def _fixed_stretches(
    executable: InterpretedExecutable, interpreter: Interpreter, entries: Sequence[Kept]
) -> Iterable[str]:
    """Yield a line for each stretch that is for some sizes only, though others may come."""
    for entry in entries:
        if (
            entry.stretch.runner is not None
            and _is_narrow(entry, entries)
            and not interpreter.is_settled(entry.stretch)
        ):
            yield _limit(executable, _first(entry), entry)


def _limit(executable: InterpretedExecutable, step: Step | None, entry: Kept | None) -> str:
    """Return the line about code that is for some sizes only, or that is missing."""
    assert step is not None
    reason = (entry.stretch.reason if entry is not None else "") or executable.reason(step)
    because = f" ({reason})" if reason else ""
    if entry is None:
        return f"layer '{step.layer}': none{because}"
    part = entry.stretch.report
    sizes = ", ".join(map(str, part.inputs)) if isinstance(part, Executable) else str(entry.key)
    return f"from layer '{step.layer}' on: for {sizes}{because}"


def ends_of(interpreter: Interpreter) -> Mapping[Step, Sequence[Step | None]]:
    """Return, for each step with which a stretch begins, the steps behind its stretches.

    A step behind a stretch that begins with it is one that the interpreter does; None is the end of a region.
    """
    ends: dict[Step, list[Step | None]] = {}
    for entry in interpreter.entries:
        ends.setdefault(_first(entry), []).append(entry.stretch.next)
    return ends


def not_reached(interpreter: Interpreter) -> Iterable[Step]:
    """Yield each step that no compiled stretch has, and that is not reached in one that runs."""
    behind = ends_of(interpreter)
    regions = [interpreter.region]
    for one in regions:
        done = 0
        for at, step in enumerate(one.steps):
            ends = [len(one.steps) if end is None else one.steps.index(end) for end in behind.get(step, ())]
            if step.kind in NEVER_COMPILED or at in ends:
                regions += step.bodies.values()
                ends.append(at + 1)
            done = max([done, *ends])
            if done <= at:
                yield step


def _first(entry: Kept) -> Step:
    """Return the step with which a stretch of a model begins."""
    kind = entry.kind
    assert isinstance(kind, tuple)
    step = cast("tuple[object, ...]", kind)[0]
    assert isinstance(step, Step)
    return step
