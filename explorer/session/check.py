"""The check of a session document: what its types do not say.

Tables say which numbers are indexes into what, which columns are of equal length, and how small a number may be;
`check_texts` holds the texts to their columns. A document that passes can be shown without further looks: every index
leads somewhere, no chain goes round, and all counts are those of what is in the document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any, cast

import numpy as np

from ...support.errors import FrontendError, expectation
from ...support.names import shown
from .check_texts import Refuse, check_texts
from .document import Session

INDEXES: Mapping[str, tuple[str, int]] = {
    "sources[].stage": ("stages", -1),
    "sources[].graph": ("graphs", -1),
    "layers.source[]": ("sources", -1),
    "layers.owner[]": ("layers", -1),
    "sets[][]": ("layers", 0),
    "kernels[].program": ("programs", 0),
    "kernels[].stages[]": ("stages", 0),
    "kernels[].schedule": ("schedules", -1),
    "calls[].program": ("programs", 0),
    "calls[].kernel": ("kernels", 0),
    "calls[].layers[]": ("sets", 0),
    "calls[].set": ("sets", 0),
    "stages[].program": ("programs", -1),
    "stages[].kernel": ("kernels", -1),
    "stages[].diff.new[]": ("ops", 0),
    "stages[].diff.gone[]": ("ops", 0),
    "stages[].diff.changed[]": ("ops", 0),
    "stages[].diff.moved[]": ("ops", 0),
    "passes[].program": ("programs", -1),
    "passes[].kernel": ("kernels", -1),
    "passes[].stage": ("stages", -1),
    "ops.set[]": ("sets", -1),
    "ops.copied_from[]": ("ops", -1),
    "events.run[]": ("passes", -1),
    "events.sources[][]": ("ops", 0),
    "events.targets[][]": ("ops", 0),
    "events.before[]": ("sets", -1),
    "events.after[]": ("sets", -1),
    "graphs[].program": ("programs", -1),
    "graphs[].nodes.set[]": ("sets", -1),
    "graphs[].nodes.call[]": ("calls", -1),
    "schedules[].kernel": ("kernels", 0),
    "times[].program": ("programs", 0),
    "times[].layers[][0]": ("layers", -1),
    "times[].parts[][][0]": ("layers", -1),
    "times[].lines[].call": ("calls", 0),
    "times[].lines[].stage": ("stages", 0),
    "times[].timeline.call[]": ("calls", -1),
    "memory[].program": ("programs", 0),
    "memory[].set[]": ("sets", -1),
    "tensors[].program": ("programs", -1),
    "tensors[].layer[]": ("layers", -1),
    "comparison.layers[].first": ("layers", -1),
}
"""What is an index: into which table, and the least that it may be (-1: nothing)."""
LEAST: Mapping[str, int] = {
    "made_by.compile_seconds": -1,
    "layers.ordinal[]": -1,
    "kernels[].slots[][]": 0,
    "kernels[].bytes": 0,
    "kernels[].instructions": 0,
    "calls[].flops": -1,
    "calls[].bytes": -1,
    "stages[].lines": 0,
    "passes[].seconds": -1,
    "ops.copied_at[]": -1,
    "graphs[].nodes.flops[]": -1,
    "graphs[].nodes.bytes[]": -1,
    "graphs[].nodes.width[]": 0,
    "graphs[].nodes.height[]": 0,
    "graphs[].edges.output[]": 0,
    "schedules[].stages[].loops[].depth": 0,
    "schedules[].stages[].slots[]": 0,
    "schedules[].frames[].lines": 0,
    "schedules[].frames[].cost.seconds": 0,
    "schedules[].frames[].cost.flops": 0,
    "schedules[].frames[].cost.bytes": 0,
    "schedules[].frames[].next[].cost.seconds": 0,
    "schedules[].frames[].next[].cost.flops": 0,
    "schedules[].frames[].next[].cost.bytes": 0,
    "times[].runs": 0,
    "times[].calls[]": 0,
    "times[].layers[][1]": 0,
    "times[].parts[][][1]": 0,
    "times[].lines[].line[]": 0,
    "times[].lines[].samples[]": 0,
    "times[].timeline.thread[]": 0,
    "memory[].arena": 0,
    "memory[].parameters": 0,
    "memory[].workspace": 0,
    "memory[].offset[]": 0,
    "memory[].size[]": 0,
    "memory[].first[]": -1,
    "memory[].last[]": -1,
    "tensors[].shape[][]": -1,
    "tensors[].nan[]": 0,
    "tensors[].infinite[]": 0,
    "tensors[].histogram[][]": 0,
    "tensors[].error[]": -1,
    "tensors[].tolerance[]": -1,
    "comparison.layers[].second": -1,
    "comparison.layers[].error": -1,
    "comparison.layers[].seconds[]": -1,
    "comparison.layers[].instructions[]": -1,
    "comparison.layers[].bytes[]": -1,
}
"""The least that a number may be."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "layers": (),
    "ops": (),
    "events": (),
    "graphs[].nodes": ("x", "y", "width", "height"),
    "graphs[].edges": ("path",),
    "times[].lines[]": (),
    "times[].timeline": (),
    "memory[]": (),
    "tensors[]": (),
}
"""The tables whose columns have one length, and the columns that may be empty, all of them together."""
_BINS = 32


def check(session: Session, title: str = "session") -> None:
    """Hold a document to what it promises.

    Raises FrontendError, one sentence that begins with `title`: the path, what was expected there and what there is.
    """

    def refuse(path: str, expected: str, value: object) -> FrontendError:
        return FrontendError(expectation(f"{shown(title)}: {path}", expected, str(value)))

    for path, optional in COLUMNS.items():
        _check_columns(session, path, optional, refuse)
    sizes = {"layers": len(session.layers.name), "ops": len(session.ops.name)}
    for path, (table, least) in INDEXES.items():
        if table not in sizes:
            sizes[table] = len(getattr(session, table))
        _check_range(session, path, least, sizes[table] - 1, f"an index into {sizes[table]} {table}", refuse)
    for path, least in LEAST.items():
        _check_range(session, path, least, None, f"at least {least}", refuse)
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
        for name, column in (("calls", times.calls), ("parts", times.parts)):
            if len(column) != calls[times.program]:
                path = f"times[{number}].{name}"
                raise refuse(path, f"{calls[times.program]} rows as the program has calls", len(column))
    for number, memory in enumerate(session.memory):
        for name, column in (("first", memory.first), ("last", memory.last)):
            if max(column, default=0) > calls[memory.program]:
                raise refuse(f"memory[{number}].{name}", f"one of {calls[memory.program]} calls", max(column))


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
        for name, columns in (("histogram", tensors.histogram), ("sample", tensors.sample)):
            for row, values in enumerate(columns):
                if len(values) > _BINS or (name == "histogram" and len(values) not in (0, _BINS)):
                    raise refuse(f"tensors[{number}].{name}[{row}]", f"{_BINS} numbers", len(values))
