"""The check of the texts in a session document: their edits apply, and their columns have a value for every line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...support.errors import FrontendError
from .document import Edit, Schedule, Session, Stage

Refuse = Callable[[str, str, object], FrontendError]
"""Makes the error of a path, what was expected there, and what there is."""


def check_texts(session: Session, refuse: Refuse) -> None:
    """Hold stages and films to the edits and run lengths in them; raises what `refuse` makes."""
    _check_kernels(session, refuse)
    for number, stage in enumerate(session.stages):
        path = f"stages[{number}]"
        _check_links(session, number, stage, path, refuse)
        base = session.stages[stage.body.base].lines if stage.body.base >= 0 else 0
        lines = _lines(stage.body.edits, base, f"{path}.body.edits", refuse)
        if lines != stage.lines:
            raise refuse(f"{path}.lines", f"{lines} lines as its text has", stage.lines)
        _check_columns(session, stage, f"{path}.body", refuse)
    for number, schedule in enumerate(session.schedules):
        _check_film(schedule, f"schedules[{number}]", refuse)


def _check_film(schedule: Schedule, path: str, refuse: Refuse) -> None:
    for number, stage in enumerate(schedule.stages):
        used = [loop.variable for loop in stage.loops]
        for relation in stage.relations:
            used += [*relation.parents, *relation.children]
        if used and not 0 <= min(used) <= max(used) < len(stage.variables):
            expected = f"indexes into {len(stage.variables)} variables"
            raise refuse(f"{path}.stages[{number}]", expected, f"{min(used)} to {max(used)}")
    lines, most = 0, len(schedule.text.split("\n"))
    for number, frame in enumerate(schedule.frames):
        lines = _lines(frame.tir, lines, f"{path}.frames[{number}].tir", refuse)
        if frame.lines > most:
            raise refuse(f"{path}.frames[{number}].lines", f"at most {most} lines", frame.lines)
        if frame.tree and not 0 <= min(frame.tree) <= max(frame.tree) < len(schedule.stages):
            rows = f"indexes into {len(schedule.stages)} stages"
            raise refuse(f"{path}.frames[{number}].tree", rows, frame.tree)


def _check_kernels(session: Session, refuse: Refuse) -> None:
    for number, kernel in enumerate(session.kernels):
        for stage in kernel.stages:
            if session.stages[stage].kernel != number:
                raise refuse(f"kernels[{number}].stages", "stages of this kernel", f"stage {stage}")


def _check_links(session: Session, number: int, stage: Stage, path: str, refuse: Refuse) -> None:
    """Stages lead back only, so that no chain of them goes round."""
    for name, link in (("before", stage.before), ("body.base", stage.body.base)):
        if not -1 <= link < number:
            raise refuse(f"{path}.{name}", "an earlier stage or -1", link)
    if stage.before >= 0 and session.stages[stage.before].level != stage.level:
        raise refuse(f"{path}.before", f"a stage of level {stage.level}", session.stages[stage.before].level)


def _lines(edits: Sequence[Edit], lines: int, path: str, refuse: Refuse) -> int:
    """Return how many lines a text of so many has after edits."""
    for number, (first, removed, texts) in enumerate(edits):
        if not (0 <= first <= lines and 0 <= removed <= lines - first):
            raise refuse(f"{path}[{number}]", f"lines of the {lines} that there are", f"{removed} from {first}")
        lines += len(texts) - removed
    return lines


def _check_columns(session: Session, stage: Stage, path: str, refuse: Refuse) -> None:
    body, lines = stage.body, stage.lines
    kernel = session.kernels[stage.kernel] if stage.kernel >= 0 else None
    sets = len(session.sets if kernel is None else kernel.slots)
    stages = [session.stages[k] for k in kernel.stages] if kernel is not None else []
    tir = next((other.lines for other in reversed(stages) if other.level == "tir"), 0)
    for name, runs, most in (("sets", body.sets, sets - 1), ("ops", body.ops, len(session.ops.name) - 1)):
        _check_runs(runs, lines, -1, most, f"{path}.{name}", refuse)
    for name, runs, most in (("tir", body.tir, tir), ("exact", body.exact, 1)):
        _check_runs(runs, lines if runs else 0, 0, most, f"{path}.{name}", refuse)
    for number, (line, layer) in enumerate(body.outputs):
        if not (1 <= line <= lines and 0 <= layer < len(session.layers.name)):
            expected = f"one of {lines} lines and {len(session.layers.name)} layers"
            raise refuse(f"{path}.outputs[{number}]", expected, f"{line} and {layer}")


def _check_runs(runs: Sequence[int], lines: int, least: int, most: int, path: str, refuse: Refuse) -> None:
    values, counts = runs[::2], runs[1::2]
    if len(values) != len(counts):
        raise refuse(path, "pairs of a value and a count", f"{len(runs)} numbers")
    if counts and min(counts) < 1:
        raise refuse(path, "counts of at least 1", min(counts))
    if sum(counts) != lines:
        raise refuse(path, f"counts that add up to {lines} lines", sum(counts))
    if values and (min(values) < least or max(values) > most):
        wrong = next(value for value in values if not least <= value <= most)
        raise refuse(path, f"values from {least} to {most}", wrong)
