"""The way from a layer down: the calls that serve it, those with most of it first, and a line of each level.

The line of tir is the one with most samples of those that compute the layer in the call, and where none was sampled
the first in the innermost loop. At the other levels it is what this line came of or became: the last compute (te), its
stage (schedule), and an instruction (llvm, asm: the one with most samples). Headers of functions and loops,
allocations and constants come last.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .document import Leads, Session
from .text import calls_of, column, text_of_stage

LEVELS = ("te", "schedule", "tir", "llvm", "asm")
"""The levels of a kernel, each with a column in `Leads`."""
_TIR = LEVELS.index("tir")
_WORKS = 3
"""The rank of lines that do something."""
_COMPUTE = re.compile(r'te\.\w+ "([^"]+)"')
_FRAME = re.compile(r"^\s*(?:te\.func|te\.return|te\.yield|schedule\.sequence|tir\.prim_func)\b")
_LOOP = re.compile(r"^\s*(?:tir\.)?(?:for|while)\b")
_NOTHING = re.compile(r"\b(?:tir\.alloc|arith\.constant)\b")
Parts = Mapping[int, Mapping[int, float]]
"""Call -> layer -> its part of the call."""


def add_leads(session: Session, work: Parts) -> None:
    """Fill `Session.leads`; work: the parts of layers in calls of programs whose time was not measured."""
    leads, owner = session.leads, session.layers.owner
    parts: dict[int, Mapping[int, float]] = {**work, **dict(_measured(session))}
    kernels = [_Kernel(session, number) for number in range(len(session.kernels))]
    samples = {
        (of.call, of.stage): dict(zip(of.line, of.samples, strict=True)) for t in session.times for of in t.lines
    }
    rows: list[tuple[int, float, int, list[int]]] = []
    for number, call in enumerate(session.calls):
        part, kernel = parts.get(number, {}), kernels[call.kernel]
        slots: dict[int, set[int]] = {row: set() for row in session.sets[call.set]}
        for slot, behind in enumerate(call.layers):
            for row in session.sets[behind]:
                slots.setdefault(row, set()).add(slot)
        for row, own in slots.items():
            sampled = [samples.get((number, stage), {}) for stage in kernel.stages]
            lines = kernel.lines(frozenset(own), sampled)
            rows.append((row, part.get(owner[row], 0.0), number, lines))
    for row, weight, number, lines in sorted(rows, key=lambda lead: (lead[0], -lead[1], lead[2])):
        leads.layer.append(row)
        leads.call.append(number)
        leads.weight.append(weight)
        for level, line in zip(LEVELS, lines, strict=True):
            getattr(leads, level).append(line)


def serving(leads: Leads, rows: Container[int]) -> list[int]:
    """Return the calls that serve one of some layers, those with most of one of them first."""
    weights: dict[int, float] = {}
    for layer, call, weight in zip(leads.layer, leads.call, leads.weight, strict=True):
        if layer in rows:
            weights[call] = max(weight, weights.get(call, 0.0))
    return sorted(weights, key=lambda call: (-weights[call], call))


def line_of(leads: Leads, rows: Container[int], call: int, level: str) -> int:
    """Return the line of a level to begin at for the heaviest of some layers in a call, from 1; 0 for none."""
    if level not in LEVELS:
        return 0
    places = zip(leads.layer, leads.call, leads.weight, getattr(leads, level), strict=True)
    own = [(weight, line) for layer, at, weight, line in places if at == call and line and layer in rows]
    return max(own, key=lambda place: place[0], default=(0.0, 0))[1]


def _measured(session: Session) -> Iterator[tuple[int, dict[int, float]]]:
    for times in session.times:
        for number, parts in zip(calls_of(session, times.program), times.parts, strict=True):
            yield number, dict(parts)


@dataclass(frozen=True)
class _Text:
    """The last stage of a level of a kernel."""

    lines: list[str]
    slots: list[frozenset[int]]
    tir: list[int]
    exact: list[int]

    @cached_property
    def _of_slot(self) -> dict[int, list[int]]:
        lines: dict[int, list[int]] = {}
        for line, behind in enumerate(self.slots):
            for slot in behind:
                lines.setdefault(slot, []).append(line)
        return lines

    def own(self, slots: frozenset[int]) -> list[int]:
        """Return the lines, from 0, that serve one of some slots."""
        return sorted({line for slot in slots for line in self._of_slot.get(slot, ())})

    def rank(self, line: int) -> tuple[int, int]:
        """Return the order of lines of tir to begin at: what they do, and the depth of their loop; larger is better."""
        text = self.lines[line]
        kind = next((k for k, pattern in enumerate((_FRAME, _NOTHING, _LOOP)) if pattern.search(text)), _WORKS)
        return kind, len(text) - len(text.lstrip())


class _Kernel:
    """The texts of a kernel."""

    def __init__(self, session: Session, number: int):
        self._session = session
        self._number = number
        last = {session.stages[stage].level: stage for stage in session.kernels[number].stages}
        self.stages = [last.get(level, -1) for level in LEVELS]
        """The last stage of each level; -1 for none."""
        self._known: dict[tuple[frozenset[int], int], list[int]] = {}

    @cached_property
    def _texts(self) -> list[_Text | None]:
        sets = [frozenset(slots) for slots in self._session.kernels[self._number].slots]
        return [self._text(stage, sets) if stage >= 0 else None for stage in self.stages]

    def _text(self, stage: int, sets: Sequence[frozenset[int]]) -> _Text:
        body = self._session.stages[stage].body
        slots = [sets[value] if value >= 0 else frozenset[int]() for value in column(body.sets)]
        return _Text(text_of_stage(self._session, stage), slots, column(body.tir), column(body.exact))

    def lines(self, slots: frozenset[int], sampled: Sequence[Mapping[int, int]]) -> list[int]:
        """Return a line of each level, from 1, to begin at for some slots; 0 for none.

        sampled: per level line -> samples.
        """
        hot = [0] * len(LEVELS)
        tir = self._texts[_TIR]
        for level, (text, counts) in enumerate(zip(self._texts, sampled, strict=True)):
            if text is None or tir is None:
                continue
            for line, count in counts.items():
                if not line or slots.isdisjoint(text.slots[line - 1]):
                    continue
                at = text.tir[line - 1] if text.tir else line
                works = at and tir.rank(at - 1)[0] == _WORKS
                if works and count > (counts[hot[level]] if hot[level] else 0):
                    hot[level] = line
        key = slots, hot[_TIR]
        if key not in self._known:
            self._known[key] = self._plain(*key)
        return [line or plain for line, plain in zip(hot, self._known[key], strict=True)]

    def _plain(self, slots: frozenset[int], hot: int) -> list[int]:
        """Return the lines as if nothing but a line of tir was sampled, 0 for none."""
        te, schedule, tir, llvm, asm = self._texts
        label = ""
        lines = [0] * len(LEVELS)
        if tir is not None:
            lines[2] = hot or 1 + max(tir.own(slots), key=lambda line: (*tir.rank(line), -line), default=-1)
        own = slots & tir.slots[lines[2] - 1] if tir is not None and lines[2] else slots
        if te is not None:
            computes = [line for line in te.own(own) if _COMPUTE.search(te.lines[line])]
            lines[0] = 1 + (computes[-1] if computes else _first(te, te.own(slots)))
            label = match[1] if computes and (match := _COMPUTE.search(te.lines[computes[-1]])) else ""
        if schedule is not None:
            of_stage = (line for line, text in enumerate(schedule.lines) if f'stage "{label}"' in text)
            lines[1] = 1 + next(of_stage, _first(schedule, schedule.own(slots)))
        for number, text in ((3, llvm), (4, asm)):
            if text is not None:
                lines[number] = 1 + _made_of(text, tir, lines[2], text.own(slots))
        return lines


def _first(text: _Text, own: Sequence[int]) -> int:
    """Return the first line that is no header, else the first; -1 for none."""
    return next((line for line in own if not _FRAME.match(text.lines[line])), own[0] if own else -1)


def _made_of(text: _Text, tir: _Text | None, wanted: int, own: Sequence[int]) -> int:
    """Return the line that a line of tir became, else that of the deepest loop; -1 for none.

    Of several exact ones it is the middle one: copies of a loop for its first and last passes stand around the loop.
    """
    if tir is None or not text.tir:
        return _first(text, own)
    exact = [line for line in own if not text.exact or text.exact[line]] or own
    same = [line for line in exact if text.tir[line] == wanted]
    if not same:
        ranks = {line: tir.rank(text.tir[line] - 1) for line in exact if text.tir[line]}
        best = max(ranks.values(), default=None)
        same = [line for line, rank in ranks.items() if rank == best]
    if not same:
        return _first(text, own)
    return same[len(same) // 2] if text.exact else same[-1]
