"""Courses of passes as rows of a session document: stages, runs of passes, the ledger."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import LocationAttr

from ...provenance.layer_values import LayerValues
from ...provenance.ledger import LayerValue, Ledger
from ..events import told
from .builder import Builder
from .document import Body, Level, PassRun, Stage
from .sources import pass_at, pattern_at
from .watching import Course, Draft

SetOf = Callable[[LocationAttr], int]
"""The set of a location: of layers, or of the slots of a kernel."""


def add_course(
    builder: Builder,
    course: Course,
    level: Level,
    program: int,
    kernel: int,
    set_of: SetOf,
    values: LayerValues[LayerValue] | None = None,
) -> list[int]:
    """Append the stages, runs and events of a course; return the indexes of the stages.

    values: the layers' values as they were imported, to be marked where they are computed.
    """
    course.close()
    names = course.ops.names
    stages: list[int] = []
    for position, draft in enumerate(course.drafts):
        before = stages[-1] if stages else -1
        outputs: list[tuple[int, int]] = []
        if values is not None and course.ledger is not None:
            values.follow(course.ledger, course.drafts[position - 1].entries if position else 0, draft.entries)
            outputs = _outputs(builder, draft, values)
        sets = [number for where, count in draft.locations for number in (set_of(where) if where else -1, count)]
        ops = [number for op, count in draft.ops for number in (builder.op(op, names.get(op, "")), count)]
        body = Body(base=before, edits=draft.edits, sets=sets, ops=ops, outputs=outputs, tir=[], exact=[])
        diff = None
        if (difference := draft.difference) is not None:
            for number in (*difference.new, *difference.gone, *difference.changed, *difference.moved):
                builder.op(number, names.get(number, ""))
            diff = builder.diff(difference.new, difference.gone, difference.changed, difference.moved)
        stages.append(
            builder.stage(
                Stage(
                    name=draft.name,
                    level=level,
                    program=program,
                    kernel=kernel,
                    before=before,
                    lines=draft.lines,
                    diff=diff,
                    body=body,
                )
            )
        )
    runs = _add_runs(builder, course, stages, program, kernel)
    if course.ledger is not None:
        _add_events(builder, course, course.ledger, runs, set_of if kernel < 0 else None)
    _describe_ops(builder, course, set_of if kernel < 0 else None)
    return stages


def _outputs(builder: Builder, draft: Draft, values: LayerValues[LayerValue]) -> list[tuple[int, int]]:
    """Pairs of a line whose op computes a value of a layer, and the layer."""
    outputs: list[tuple[int, int]] = []
    line = 1
    for op, count in draft.ops:
        held = values.held.get(op) if op else None
        if held:
            layers = dict.fromkeys(leaf for of_result in held.values() for leaf, _ in of_result)
            outputs += [(line, builder.layer(leaf)) for leaf in layers]
        line += count
    return outputs


def _add_runs(builder: Builder, course: Course, stages: list[int], program: int, kernel: int) -> list[tuple[int, int]]:
    """Append the runs of passes; return, per run, its index and the entry of the ledger after its last."""
    passes = builder.session.passes
    ends: list[tuple[int, int]] = []
    for run in course.runs:
        info = run.info
        spec, source = info.spec, pass_at(info.name)
        passes.append(
            PassRun(
                name=info.name,
                spec=spec,
                program=program,
                kernel=kernel,
                stage=stages[run.stage],
                changed=run.changed,
                seconds=info.seconds,
                source=source,
            )
        )
        ends.append((len(passes) - 1, run.entries[1]))
    return ends


def _add_events(
    builder: Builder, course: Course, ledger: Ledger, runs: list[tuple[int, int]], set_of: SetOf | None
) -> None:
    events, names = builder.session.events, course.ops.names
    first = len(events.run)
    run_of = dict.fromkeys(range(len(ledger.entries)), -1)
    for (index, _), run in zip(runs, course.runs, strict=True):
        run_of.update(dict.fromkeys(range(*run.entries), index))
    for position, entry in enumerate(ledger.entries):
        pass_name, _, effect = told(entry)
        exact = len(entry.targets) == len(entry.created)
        created = dict(zip(entry.targets, entry.created, strict=False)) if exact else {}
        events.run.append(run_of[position])
        events.pass_name.append(pass_name)
        events.pattern.append(entry.pattern)
        events.pattern_at.append(pattern_at(pass_name, entry.pattern))
        events.reason.append(entry.reason)
        events.what.append(effect)
        events.sources.append([builder.op(number, names.get(number, "")) for number in entry.sources])
        events.targets.append(
            [builder.op(number, names.get(number, created.get(number, ""))) for number in entry.targets]
        )
        events.before.append(_set_of_all(builder, entry.before) if set_of is not None else -1)
        events.after.append(_set_of_all(builder, entry.after) if set_of is not None else -1)
    ops = builder.session.ops
    for copy, (original, count) in ledger.copies.items():
        if copy in names:
            row = builder.op(copy, names[copy])
            ops.copied_from[row] = builder.op(original, names.get(original, ""))
            ops.copied_at[row] = first + count


def _set_of_all(builder: Builder, locations: tuple[LocationAttr, ...]) -> int:
    """The set of all layers behind some locations."""
    sets = dict.fromkeys(map(builder.set_of, locations))
    if len(sets) == 1:
        return next(iter(sets))
    return builder.set_of_rows(row for index in sets for row in builder.session.sets[index])


def _describe_ops(builder: Builder, course: Course, set_of: SetOf | None) -> None:
    """Say of which layers the ops are that have rows."""
    if set_of is None:
        return
    sets = builder.session.ops.set
    for number, location in course.ops.locations.items():
        if (row := builder.row_of_op(number)) is not None:
            sets[row] = set_of(location)
