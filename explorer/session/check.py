"""The check of a session document: what its types do not say.

The types of the document say which numbers are indexes into what, which columns are of equal length, and how small a
number may be (`ranges`); here is what depends on several of them. `check_texts` holds the texts to their columns.
A document that passes can be shown without further looks: every index leads somewhere, no chain goes round, and all
counts are those of what is in the document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from math import prod
from typing import Any, cast

import numpy as np

from ...support.errors import FrontendError, expectation
from ...support.names import shown
from .address import check_tours
from .check_texts import Refuse, check_texts
from .document import BINS, SAMPLE, Session
from .leads import LEVELS
from .ranges import Least, ranges, tables


def check(session: Session, title: str = "session") -> None:
    """Hold a document to what it promises.

    Raises FrontendError, one sentence that begins with `title`: the path, what was expected there and what there is.
    """

    def refuse(path: str, expected: str, value: object) -> FrontendError:
        return FrontendError(expectation(f"{shown(title)}: {path}", expected, str(value)))

    for path, optional in tables(Session).items():
        _check_columns(session, path, optional, refuse)
    sizes = {"layers": len(session.layers.name), "ops": len(session.ops.name)}
    for path, mark in ranges(Session):
        if isinstance(mark, Least):
            _check_range(session, path, mark.number, None, f"at least {mark.number}", refuse)
            continue
        size = sizes[mark.table] if mark.table in sizes else len(getattr(session, mark.table))
        _check_range(session, path, mark.least, size - 1, f"an index into {size} {mark.table}", refuse)
    _check_range(session, "ops.copied_at[]", -1, len(session.events.run), "a number of events", refuse)
    if not session.sets or session.sets[0]:
        raise refuse("sets", "an empty set first", "others")
    owner = session.layers.owner
    for row, layer in enumerate(owner):
        if layer >= 0 and owner[layer] != layer:
            raise refuse(f"layers.owner[{row}]", "a row that owns itself", layer)
    _check_copies(session.ops.copied_from, refuse)
    _check_graphs(session, refuse)
    _check_calls(session, refuse)
    _check_measured(session, refuse)
    check_texts(session, refuse)
    _check_leads(session, refuse)
    check_tours(session, refuse)


def _steps(path: str) -> list[str]:
    return path.replace("[", ".[").split(".")


def _values(session: Session, path: str) -> list[Any]:
    """Return all that a path leads to: `[]` is each element, `[1]` the one of that number; None ends a path."""
    values: list[Any] = [session]
    for step in _steps(path):
        if step == "[]":
            values = list(chain.from_iterable(values))
        elif step.startswith("["):
            number = int(step[1:-1])
            values = [value[number] for value in values]
        else:
            values = [item for value in values if (item := getattr(value, step)) is not None]
    return values


def _paths(session: Session, path: str) -> list[str]:
    """Return the path of each of `_values`, spelled out."""
    values: list[tuple[str, Any]] = [("", session)]
    for step in _steps(path):
        if step == "[]":
            values = [(f"{at}[{n}]", item) for at, value in values for n, item in enumerate(value)]
        elif step.startswith("["):
            values = [(f"{at}{step}", value[int(step[1:-1])]) for at, value in values]
        else:
            pairs = [(f"{at}.{step}", getattr(value, step)) for at, value in values]
            values = [(at, value) for at, value in pairs if value is not None]
    return [at.removeprefix(".") for at, _ in values]


def _check_range(session: Session, path: str, least: int, most: int | None, expected: str, refuse: Refuse) -> None:
    values = _values(session, path)
    if values and (min(values) < least or (most is not None and max(values) > most)):
        wrong = (n for n, value in enumerate(values) if value < least or (most is not None and value > most))
        number = next(wrong)
        raise refuse(_paths(session, path)[number], expected, values[number])


def _check_columns(session: Session, path: str, optional: Sequence[str], refuse: Refuse) -> None:
    for number, table in enumerate(_values(session, path)):
        values = [(field.name, getattr(table, field.name)) for field in fields(table)]
        rows = {name: len(cast("list[object]", value)) for name, value in values if isinstance(value, list)}
        free = () if any(rows[name] for name in optional) else optional
        first = next(iter(rows))
        for name, size in rows.items():
            if size != rows[first] and name not in free:
                raise refuse(f"{_paths(session, path)[number]}.{name}", f"{rows[first]} rows as in {first}", size)


def _check_copies(copied_from: Sequence[int], refuse: Refuse) -> None:
    """No op is a copy of itself: links are followed twice as far each time, until all should have ended."""
    links = np.array([*copied_from, -1], dtype=np.int64)
    ends = links
    for _ in range(len(links).bit_length()):
        ends = ends[ends]
    if (around := np.flatnonzero(ends != -1)).size:
        row = int(around[0])
        raise refuse(f"ops.copied_from[{row}]", "a chain that ends", "one that goes round")


def _check_graphs(session: Session, refuse: Refuse) -> None:
    for number, graph in enumerate(session.graphs):
        size = len(graph.nodes.label)
        if graph.nodes.x and len(graph.edges.path) != len(graph.edges.source):
            expected = f"{len(graph.edges.source)} rows, as nodes have positions"
            raise refuse(f"graphs[{number}].edges.path", expected, len(graph.edges.path))
        for row, (source, target) in enumerate(zip(graph.edges.source, graph.edges.target, strict=True)):
            if not 0 <= source < target < size:
                ends = f"{source} to {target}"
                raise refuse(f"graphs[{number}].edges[{row}]", f"an edge forwards between {size} nodes", ends)
        for row, path in enumerate(graph.edges.path):
            if len(path) % 4:
                expected = "x and y of two points in each row between"
                raise refuse(f"graphs[{number}].edges.path[{row}]", expected, f"{len(path)} numbers")


def _check_calls(session: Session, refuse: Refuse) -> None:
    """Each call has layers for all slots of its kernel, and measured columns a row for each call."""
    slots = [max(chain.from_iterable(kernel.slots), default=-1) + 1 for kernel in session.kernels]
    for number, call in enumerate(session.calls):
        if len(call.layers) < slots[call.kernel]:
            expected = f"layers of the {slots[call.kernel]} slots of its kernel"
            raise refuse(f"calls[{number}].layers", expected, len(call.layers))
    calls = Counter(call.program for call in session.calls)
    for number, times in enumerate(session.times):
        optional = ("roofs", times.roofs), ("peers", times.peers)
        columns = ("calls", times.calls), ("parts", times.parts), *(pair for pair in optional if pair[1])
        for name, column in columns:
            if len(column) != calls[times.program]:
                path = f"times[{number}].{name}"
                raise refuse(path, f"{calls[times.program]} rows as the program has calls", len(column))
    for number, memory in enumerate(session.memory):
        for name, column in (("first", memory.first), ("last", memory.last)):
            if max(column, default=0) > calls[memory.program]:
                raise refuse(f"memory[{number}].{name}", f"one of {calls[memory.program]} calls", max(column))


def _check_leads(session: Session, refuse: Refuse) -> None:
    for level in LEVELS:
        for row, (line, call) in enumerate(zip(getattr(session.leads, level), session.leads.call, strict=True)):
            stages = [session.stages[stage] for stage in session.kernels[session.calls[call].kernel].stages]
            most = next((stage.lines for stage in reversed(stages) if stage.level == level), 0)
            if line > most:
                raise refuse(f"leads.{level}[{row}]", f"one of {most} lines", line)


def _check_measured(session: Session, refuse: Refuse) -> None:
    for number, times in enumerate(session.times):
        line = times.timeline
        for row, (begin, end) in enumerate(zip(line.begin, line.end, strict=True)):
            if not 0 <= begin <= end:
                raise refuse(f"times[{number}].timeline[{row}]", "an end after the beginning", f"{begin} to {end}")
        for row, sampled in enumerate(times.lines):
            lines = session.stages[sampled.stage].lines
            if max(sampled.line, default=0) > lines:
                raise refuse(f"times[{number}].lines[{row}].line", f"one of {lines} lines", max(sampled.line))
    for number, memory in enumerate(session.memory):
        for row, (offset, size) in enumerate(zip(memory.offset, memory.size, strict=True)):
            if offset + size > memory.arena:
                expected = f"a block in an arena of {memory.arena} bytes"
                raise refuse(f"memory[{number}].offset[{row}]", expected, f"bytes {offset} to {offset + size}")
    for number, tensors in enumerate(session.tensors):
        for row, (shape, counts, sample) in enumerate(
            zip(tensors.shape, tensors.histogram, tensors.sample, strict=True)
        ):
            for name, values, size in (("histogram", counts, BINS), ("sample", sample, min(SAMPLE, prod(shape)))):
                if len(values) not in (0, size):
                    raise refuse(f"tensors[{number}].{name}[{row}]", f"{size} numbers", len(values))
