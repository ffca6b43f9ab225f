"""The tables of a session document that queries ask, each made when it is asked for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property

from ..comparison import LayerCode, code_of_layers
from ..document import Session
from ..text import text_of_stage
from .code_tables import Stages, lines, loops, opcode, ops
from .rows import Rows, number, owners

_TYPE = re.compile(r"[x<](bf|f|u?i|si)([0-9]+)>")
_DTYPES = {"bf": "bfloat", "f": "float", "ui": "uint", "si": "int", "i": "int"}
_FRAME = ("relay.constant", "relay.call", "relay.func", "relay.return", "relay.tuple")
"""Ops of relay that compute nothing."""


class Tables:
    """The tables of a session, each made once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.stages = Stages(session)
        self._made: dict[str, Rows] = {}

    def __getitem__(self, name: str) -> Rows:
        """Return a table by the name of its subject."""
        if name not in self._made:
            self._made[name] = _MAKERS[name](self)
        return self._made[name]

    def lines(self, after: str) -> Rows:
        """Return the lines after a pass; "" for those of the last stages."""
        return lines(self.stages, after) if after else self["lines"]

    @cached_property
    def passes(self) -> list[str]:
        """The names that `after` knows: the steps that stages are from, and the passes that ran."""
        stages = (stage.name for stage in self.session.stages if stage.level != "model")
        return list(dict.fromkeys([*stages, *(run.name for run in self.session.passes)]))

    @cached_property
    def call_seconds(self) -> Mapping[int, float]:
        """The measured seconds of calls."""
        spent: dict[int, float] = {}
        for times in self.session.times:
            spent.update(zip(self.stages.program_calls(times.program), times.calls, strict=True))
        return spent

    @cached_property
    def code(self) -> LayerCode:
        """The machine code of layers."""
        return code_of_layers(self.session)

    def symbol(self, kernel: int) -> str:
        """Return the symbol of a kernel; "" for none."""
        return self.session.kernels[kernel].symbol if kernel >= 0 else ""

    def rows_of_call(self, call: int) -> list[int]:
        """Return the rows of layers that a call serves."""
        of = self.session.calls[call]
        return sorted({row for number in (of.set, *of.layers) for row in self.session.sets[number]})


def _layers(tables: Tables) -> Rows:
    session = tables.session
    layers, result = session.layers, Rows("layers")
    seconds: dict[int, float] = defaultdict(float)
    for times in session.times:
        for row, spent, _ in times.layers:
            seconds[layers.owner[row] if row >= 0 else -1] += spent
    total = sum(seconds.values())
    work, dtypes, serving, errors = _work(session), _dtypes(tables), _serving(tables), _errors(session)
    for row, owner in enumerate(layers.owner):
        if owner != row:
            continue
        spent = seconds.get(row, 0.0) if session.times and layers.kind[row] == "layer" else seconds.get(row)
        instructions, exact = tables.code.instructions[row], tables.code.exact[row]
        error, departs = errors.get(row, (None, None))
        flops, size = work.flops.get(row), work.bytes.get(row)
        calls = serving.get(row, [])
        if layers.kind[row] == "model" and not (spent or instructions):
            continue
        result.add(
            [row],
            None,
            layer=layers.name[row],
            op=layers.type[row],
            kind=layers.kind[row],
            scope=layers.scope[row],
            dtype=tuple(sorted(dtypes.get(row, ()))),
            output=tuple(dict.fromkeys(work.outputs.get(row, ()))),
            time=spent,
            share=spent / total if spent is not None and total else None,
            flops=flops,
            bytes=size,
            instructions=instructions or None,
            code=tables.code.bytes[row] or None,
            exact=exact / instructions if instructions else None,
            error=error,
            departs=departs,
            call=tuple(session.calls[call].name for call in calls),
            python=(layers.code[row] or [""])[0],
            kernel=tuple(dict.fromkeys(tables.symbol(session.calls[call].kernel) for call in calls)),
        )
    if spent := seconds.get(-1):
        result.add([], None, kind="none", time=spent, share=spent / total)
    return result


class _Work:
    """The work of layers as the graphs of the model have it: of a node, each of its layers does an equal part."""

    def __init__(self) -> None:
        self.flops: dict[int, float] = {}
        self.bytes: dict[int, float] = {}
        self.outputs: dict[int, list[str]] = {}


def _work(session: Session) -> _Work:
    work = _Work()
    for graph in session.graphs:
        if graph.level != "model":
            continue
        texts: dict[int, list[str]] = defaultdict(list)
        for source, text in zip(graph.edges.source, graph.edges.text, strict=True):
            texts[source].append(text)
        for node, kind in enumerate(graph.nodes.kind):
            rows = owners(session, session.sets[graph.nodes.set[node]]) if graph.nodes.set[node] >= 0 else []
            if kind == "input":
                continue
            for row in rows:
                for mine, value in ((work.flops, graph.nodes.flops[node]), (work.bytes, graph.nodes.bytes[node])):
                    if value >= 0:
                        mine[row] = mine.get(row, 0) + value / len(rows)
                work.outputs.setdefault(row, []).extend(text for text in texts[node] if text)
    return work


def _dtypes(tables: Tables) -> Mapping[int, set[str]]:
    """Return layer -> element types in the lines of its ops in the last relay; constants and calls are none."""
    found: dict[int, set[str]] = defaultdict(set)
    for k in tables.stages.last:
        if tables.session.stages[k].level != "relay":
            continue
        for text, rows in zip(text_of_stage(tables.session, k), tables.stages.layers(k), strict=True):
            if rows and opcode(text) not in _FRAME:
                types = {_dtype(kind, bits) for kind, bits in _TYPE.findall(text)}
                for row in owners(tables.session, rows):
                    found[row] |= types
    return found


def _dtype(kind: str, bits: str) -> str:
    return "bool" if (kind, bits) == ("i", "1") else f"{_DTYPES[kind]}{bits}"


def _serving(tables: Tables) -> Mapping[int, list[int]]:
    """Return layer -> the calls that serve it."""
    found: dict[int, list[int]] = defaultdict(list)
    for call in range(len(tables.session.calls)):
        for row in owners(tables.session, tables.rows_of_call(call)):
            found[row].append(call)
    return found


def _errors(session: Session) -> Mapping[int, tuple[float, int]]:
    """Return layer -> the largest error of its tensors, and 1 where one of them departs."""
    found: dict[int, tuple[float, int]] = {}
    for data in session.tensors:
        for row, error, tolerance in zip(data.layer, data.error, data.tolerance, strict=True):
            if row >= 0 and error >= 0:
                (owner,) = owners(session, [row])
                before = found.get(owner, (0.0, 0))
                found[owner] = max(before[0], error), max(before[1], int(error > tolerance >= 0))
    return found


def _calls(tables: Tables) -> Rows:
    session, result = tables.session, Rows("calls")
    for number_, call in enumerate(session.calls):
        rows = tables.rows_of_call(number_)
        types = sorted({session.layers.type[row] for row in owners(session, rows)} - {""})
        result.add(
            rows,
            _last_tir(tables, call.kernel),
            call=call.name,
            kernel=tables.symbol(call.kernel),
            program=session.programs[call.program].name,
            layer=tables.stages.names(rows),
            op=tuple(types),
            time=tables.call_seconds.get(number_),
            flops=number(call.flops),
            bytes=number(call.bytes),
            instructions=session.kernels[call.kernel].instructions,
        )
    return result


def _last_tir(tables: Tables, kernel: int) -> tuple[int, int] | None:
    stages = [k for k in tables.session.kernels[kernel].stages if tables.session.stages[k].level == "tir"]
    return (stages[-1], -1) if stages else None


def _kernels(tables: Tables) -> Rows:
    session, result = tables.session, Rows("kernels")
    calls: dict[int, list[int]] = defaultdict(list)
    for number_, call in enumerate(session.calls):
        calls[call.kernel].append(number_)
    for number_, kernel in enumerate(session.kernels):
        own = calls[number_]
        spent = [tables.call_seconds[call] for call in own if call in tables.call_seconds]
        rows = sorted({row for call in own for row in tables.rows_of_call(call)})
        result.add(
            rows,
            _last_tir(tables, number_),
            kernel=kernel.symbol,
            compiler=kernel.compiler or "whence",
            calls=len(own),
            layer=tables.stages.names(rows),
            time=sum(spent) if spent else None,
            instructions=kernel.instructions,
            code=kernel.bytes,
            tuned=kernel.tuned,
        )
    return result


def _passes(tables: Tables) -> Rows:
    session, result = tables.session, Rows("passes")
    for run in session.passes:
        words = Counter(
            word
            for each in (tables.stages.changes(run.stage).values() if run.changed and run.stage >= 0 else ())
            for word in each
        )
        result.add(
            [],
            (run.stage, -1) if run.stage >= 0 else None,
            **{"pass": run.name},
            kernel=tables.symbol(run.kernel),
            program=session.programs[run.program].name if run.program >= 0 else "",
            changed=int(run.changed),
            time=number(run.seconds),
            source=run.source,
            edited=words["changed"],
            **{word: words[word] for word in ("new", "gone", "moved", "lost")},
        )
    return result


def _tensors(tables: Tables) -> Rows:
    session, result = tables.session, Rows("tensors")
    for data in session.tensors:
        for n, row in enumerate(data.layer):
            error = number(data.error[n])
            result.add(
                [row] if row >= 0 else [],
                None,
                tensor=data.name[n],
                layer=tables.stages.names([row] if row >= 0 else []),
                dtype=data.dtype[n],
                shape="x".join(map(str, data.shape[n])),
                min=data.minimum[n],
                max=data.maximum[n],
                mean=data.mean[n],
                nan=data.nan[n],
                infinite=data.infinite[n],
                error=error,
                tolerance=number(data.tolerance[n]),
                departs=int(error > data.tolerance[n] >= 0) if error is not None else None,
            )
    return result


def _blocks(tables: Tables) -> Rows:
    session, result = tables.session, Rows("blocks")
    for plan in session.memory:
        for n, set_ in enumerate(plan.set):
            rows = session.sets[set_] if set_ >= 0 else []
            result.add(
                rows,
                None,
                block=plan.name[n],
                kind=plan.kind[n],
                offset=plan.offset[n],
                bytes=plan.size[n],
                first=number(plan.first[n]),
                last=number(plan.last[n]),
                layer=tables.stages.names(rows),
            )
    return result


def _compared(tables: Tables) -> Rows:
    session, result = tables.session, Rows("compared")
    dtypes = _dtypes(tables)
    for each in session.comparison.layers if session.comparison else ():
        row = each.first
        numbers = {
            name: number(value)
            for noun, pair in (("time", each.seconds), ("instructions", each.instructions), ("code", each.bytes))
            for name, value in ((noun, pair[0]), (f"old_{noun}", pair[1]))
        }
        result.add(
            [row] if row >= 0 else [],
            None,
            layer=each.name,
            op=session.layers.type[row] if row >= 0 else "",
            scope=session.layers.scope[row] if row >= 0 else "",
            dtype=tuple(sorted(dtypes.get(row, ()))),
            side="there" if row < 0 else "here" if each.second < 0 else "both",
            error=number(each.error),
            **numbers,
        )
    return result


_MAKERS: Mapping[str, Callable[[Tables], Rows]] = {
    "layers": _layers,
    "calls": _calls,
    "kernels": _kernels,
    "lines": lambda tables: lines(tables.stages, ""),
    "loops": lambda tables: loops(tables.stages),
    "ops": lambda tables: ops(tables.stages),
    "passes": _passes,
    "tensors": _tensors,
    "blocks": _blocks,
    "compared": _compared,
}
