"""Tables of code: lines of all levels, loops of TIR, and what passes did with ops."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from ..document import Session
from ..text import calls_of, column, layers_of_lines, text_of_stage
from .rows import Rows, owners

_OPCODE = re.compile(r"[ \t]*(?:%[^=]*= )?(?:tail )?([A-Za-z_][A-Za-z0-9_.]*)")
_LOOP = re.compile(r"[ \t]*tir\.for (?:([a-z]+) )?%([^ ]+) in ([^ {]+)")
"""A loop of TIR: kind, variable and extent."""
_LEVELS = ("relay", "te", "schedule", "tir", "llvm", "asm")


def opcode(text: str) -> str:
    """Return the instruction of a line, or the name of its op; "" for labels, directives and braces."""
    match = _OPCODE.match(text)
    return match[1] if match and text[match.end() : match.end() + 1] != ":" else ""


class Stages:
    """The stages of a session, with what several tables ask of them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.layers = cache(self._layers)
        self.changes = cache(self._changes)

    def _layers(self, k: int) -> list[tuple[int, ...]]:
        """Return the rows of layers of each line of a stage, in all calls of its kernel."""
        made: dict[tuple[int, ...], tuple[int, ...]] = {}
        return [made.setdefault(rows, tuple(sorted(rows))) for rows in layers_of_lines(self.session, k)]

    def program_calls(self, program: int) -> range:
        return calls_of(self.session, program)

    def names(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return the names of layers; tensors have their layer's."""
        return tuple(self.session.layers.name[row] for row in owners(self.session, rows))

    @cached_property
    def last(self) -> list[int]:
        """The last stages of programs and kernels at each level below the model."""
        stages = self.session.stages
        later = {stage.before for stage in stages}
        return [k for k, stage in enumerate(stages) if k not in later and stage.level in _LEVELS]

    def symbol(self, k: int) -> str:
        kernel = self.session.stages[k].kernel
        return self.session.kernels[kernel].symbol if kernel >= 0 else ""

    @cached_property
    def samples(self) -> Mapping[int, Mapping[int, tuple[int, float]]]:
        """Stage -> line (from 1) -> its samples, and their part of the seconds of the calls."""
        found: dict[int, dict[int, tuple[int, float]]] = defaultdict(dict)
        for times in self.session.times:
            spent = dict(zip(self.program_calls(times.program), times.calls, strict=True))
            for of in times.lines:
                total = sum(of.samples) or 1
                lines = found[of.stage]
                for line, count in zip(of.line, of.samples, strict=True):
                    before = lines.get(line, (0, 0.0))
                    lines[line] = before[0] + count, before[1] + spent.get(of.call, 0.0) * (count / total)
        return found

    def is_lost(self, rows: Iterable[int]) -> bool:
        """Return whether no layer is among rows, or a lost mark."""
        kinds = [self.session.layers.kind[row] for row in rows]
        return not kinds or "lost" in kinds

    def lost(self, k: int) -> dict[int, frozenset[int]]:
        """Return op of a stage -> the lost marks behind its lines; -1 where no layer is."""
        body, kinds = self.session.stages[k].body, self.session.layers.kind
        behind: dict[int, set[int]] = defaultdict(set)
        for op, number, rows in zip(column(body.ops), column(body.sets), self.layers(k), strict=True):
            if op >= 0 and number >= 0:
                behind[op] |= set(rows)
        return {
            op: frozenset(row for row in rows or [-1] if row < 0 or kinds[row] == "lost") for op, rows in behind.items()
        }

    def _changes(self, k: int) -> Mapping[int, list[str]]:
        """Return op -> what the step before a stage did with it; ops that are gone are those of the stage before."""
        stage = self.session.stages[k]
        found: dict[int, list[str]] = defaultdict(list)
        if stage.diff is None or stage.before < 0:
            return found
        for word, rows in (
            ("new", stage.diff.new),
            ("gone", stage.diff.gone),
            ("changed", stage.diff.changed),
            ("moved", stage.diff.moved),
        ):
            for op in rows:
                found[op].append(word)
        # A stage is taken down before what its pass lost is marked: the next one has the marks, with the pass's name.
        before, names = self.lost(stage.before), self.session.layers.name
        for op, marks in self.lost(k).items():
            own = {mark for mark in marks if mark < 0 or names[mark].split(" ")[-1] == stage.name}
            if own - before.get(op, frozenset()):
                found[op].append("lost")
        return found

    def after(self, name: str) -> list[int]:
        """Return the stages after the runs of a pass, or from a step of this name."""
        session = self.session
        named = {k for k, stage in enumerate(session.stages) if stage.name == name and stage.level in _LEVELS}
        return sorted(named | {run.stage for run in session.passes if run.name == name and run.stage >= 0})


def lines(stages: Stages, after: str) -> Rows:
    """Return lines of code: of the last stages, or of those after a pass with the lines that it removed."""
    result = Rows("lines")
    for k in stages.after(after) if after else stages.last:
        stage = stages.session.stages[k]
        if not after or stage.name != after:
            _add_lines(result, stages, k, {}, lost=not after)
            continue
        changes = stages.changes(k)
        gone = {op: ("gone",) for op, words in changes.items() if "gone" in words}
        if gone:
            _add_lines(result, stages, stage.before, gone, only=True)
        stay = {op: tuple(word for word in words if word != "gone") for op, words in changes.items()}
        _add_lines(result, stages, k, stay)
    return result


def _add_lines(
    result: Rows,
    stages: Stages,
    k: int,
    changes: Mapping[int, Sequence[str]],
    *,
    only: bool = False,
    lost: bool = False,
) -> None:
    """Add the lines of a stage. only: those that changed. lost: say which lines are lost."""
    session, stage, layers = stages.session, stages.session.stages[k], stages.layers(k)
    samples = stages.samples.get(k, {})
    ops, sets, exact = column(stage.body.ops), column(stage.body.sets), column(stage.body.exact)
    names = {rows: stages.names(rows) for rows in set(layers)}
    symbol = stages.symbol(k)
    for n, text in enumerate(text_of_stage(session, k)):
        words = tuple(changes.get(ops[n], ())) if ops[n] >= 0 else ()
        if only and not words:
            continue
        if lost and sets[n] >= 0 and stages.is_lost(layers[n]):
            words = ("lost",)
        count, spent = samples.get(n + 1, (None, None))
        result.add(
            layers[n],
            (k, n),
            kernel=symbol,
            level=stage.level,
            line=n + 1,
            text=text.strip(" \t"),
            opcode=opcode(text),
            op=session.ops.name[ops[n]] if ops[n] >= 0 else "",
            layer=names[layers[n]],
            exact=exact[n] if exact else None,
            samples=count,
            time=spent,
            change=words,
        )


def loops(stages: Stages) -> Rows:
    """Return the loops of the last TIR of kernels."""
    result = Rows("loops")
    session = stages.session
    for k in stages.last:
        if session.stages[k].level != "tir":
            continue
        texts, samples = text_of_stage(session, k), stages.samples.get(k, {})
        for first, last, depth, inner, (kind, name, extent) in _nests(texts):
            rows = {row for behind in stages.layers(k)[first : last + 1] for row in behind}
            inside = [samples[line][0] for line in range(first + 1, last + 2) if line in samples]
            result.add(
                sorted(rows),
                (k, first),
                kernel=stages.symbol(k),
                loop=name,
                line=first + 1,
                kind=kind or "serial",
                extent=int(extent) if extent.isascii() and extent.isdecimal() else None,
                depth=depth,
                inner=int(inner),
                layer=stages.names(rows),
                samples=sum(inside) if samples else None,
            )
    return result


def _nests(texts: Sequence[str]) -> Iterator[tuple[int, int, int, bool, tuple[str, str, str]]]:
    """Yield loops in order: first and last line from 0, the number of loops around, whether none is in it, parts."""
    ends: dict[int, tuple[int, bool]] = {}
    open_: list[tuple[int, int]] = []
    starts: list[tuple[int, int, tuple[str, str, str]]] = []
    for n, text in enumerate(texts):
        indent = len(text) - len(text.lstrip(" "))
        while open_ and indent <= open_[-1][0]:
            first = open_.pop()[1]
            ends[first] = n, ends.get(first, (n, True))[1]
        if match := _LOOP.match(text):
            for _, outer in open_:
                ends[outer] = n, False
            starts.append((n, len(open_), (match[1] or "", match[2], match[3])))
            open_.append((indent, n))
    for _, first in open_:
        ends[first] = len(texts) - 1, ends.get(first, (0, True))[1]
    for first, depth, parts in starts:
        yield first, ends[first][0], depth, ends[first][1], parts


def ops(stages: Stages) -> Rows:
    """Return the changes of ops by passes, a row for each of what a pass did with an op."""
    result = Rows("ops")
    session = stages.session
    for k, stage in enumerate(session.stages):
        changes = stages.changes(k)
        if not changes:
            continue
        where = {k: _lines_of_ops(stages, k), stage.before: _lines_of_ops(stages, stage.before)}
        for op, words in changes.items():
            for word in words:
                at = stage.before if word == "gone" else k
                numbers = where[at].get(op, [])
                rows = {row for n in numbers for row in stages.layers(at)[n]}
                result.add(
                    sorted(rows),
                    (at, numbers[0]) if numbers else None,
                    op=session.ops.name[op],
                    change=word,
                    **{"pass": stage.name},
                    level=stage.level,
                    kernel=stages.symbol(k),
                    layer=stages.names(rows),
                )
    return result


def _lines_of_ops(stages: Stages, k: int) -> Mapping[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for n, op in enumerate(column(stages.session.stages[k].body.ops)):
        if op >= 0:
            found[op].append(n)
    return found
