"""The verdict on each layer and on each run: a pure function of the document, which the page and the terminal show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import isfinite
from statistics import median

from ...runtime.loading.disturbance import SHARE
from ...support.names import shown
from ..report import count, percent, seconds, some
from .attempts import attempts, tune_command
from .bounding import bound_of, described
from .document import Call, Session, Times
from .judgement import Answer, Verdict
from .text import calls_of, column

_TOP = 3
"""Calls and layers that an answer names."""
_LINES = 6
"""Lines that an answer names."""
_MOST = 0.9
"""The part of the samples that the named lines hold."""
_LEVELS = ("tir", "asm")
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def verdicts(session: Session) -> list[Verdict]:
    """Return the verdict on the run of each program, each followed by those on its layers; the longest layers first."""
    return [verdict for number in range(len(session.programs)) for verdict in _Judge(session, number).verdicts()]


class _Judge:
    """A program, with what is asked of it often."""

    def __init__(self, session: Session, program: int):
        self.session, self.program = session, program
        self.times = next((times for times in session.times if times.program == program), None)
        self.calls = calls_of(session, program)
        self.owner = session.layers.owner
        self._columns: dict[int, list[int]] = {}

    def verdicts(self) -> Iterator[Verdict]:
        yield self._run()
        layers = self.session.layers
        rows = [row for row, kind in enumerate(layers.kind) if kind in ("layer", "unknown") and self.owner[row] == row]
        yield from (self._layer(row) for row in sorted(rows, key=lambda row: -self.spent.get(row, 0.0)))

    # Facts.

    @cached_property
    def total(self) -> float:
        """CPU seconds of a run."""
        return sum(self.times.calls) if self.times is not None else 0.0

    @cached_property
    def spent(self) -> dict[int, float]:
        """Layer -> its CPU seconds per run, those of its tensors included; -1 for time without a layer."""
        spent: dict[int, float] = defaultdict(float)
        for row, took, _ in self.times.layers if self.times is not None else ():
            spent[self._own(row)] += took
        return dict(spent)

    @cached_property
    def guessed(self) -> set[int]:
        """Layers of whose time a part is an estimate."""
        rows = self.times.layers if self.times is not None else ()
        return {self._own(row) for row, _, estimated in rows if estimated}

    @cached_property
    def parts(self) -> dict[int, dict[int, float]]:
        """Layer -> each call that it has a part of, and that part in seconds."""
        parts: dict[int, dict[int, float]] = defaultdict(dict)
        for call, of in zip(self.calls, self.times.parts if self.times is not None else (), strict=False):
            for row, took in of:
                own = parts[self._own(row)]
                own[call] = own.get(call, 0.0) + took
        return dict(parts)

    @cached_property
    def serving(self) -> dict[int, list[int]]:
        """Layer -> the calls behind which it is."""
        serving: dict[int, dict[int, None]] = defaultdict(dict)
        for number in self.calls:
            call = self.session.calls[number]
            for row in {row for behind in {call.set, *call.layers} for row in self.session.sets[behind]}:
                serving[self.owner[row]][number] = None
        return {row: list(numbers) for row, numbers in serving.items()}

    @cached_property
    def last_event(self) -> dict[int, int]:
        """Layer -> the last event of the ledger that met it."""
        last: dict[int, int] = {}
        events, sets = self.session.events, self.session.sets
        for event, (before, after) in enumerate(zip(events.before, events.after, strict=True)):
            for row in (row for number in (before, after) if number >= 0 for row in sets[number]):
                last[self.owner[row]] = event
        return last

    def _own(self, row: int) -> int:
        return self.owner[row] if row >= 0 else -1

    def _of_call(self, number: int) -> tuple[float, int]:
        """The CPU seconds of a call, and its place among the calls of the program."""
        place = number - self.calls.start
        return (self.times.calls[place] if self.times is not None else 0.0), place

    def _name(self, row: int) -> str:
        return shown(self.session.layers.name[row]) if row >= 0 else "no known layer"

    def _lines(self, layer: int, calls: Iterable[int], level: str) -> Counter[tuple[int, int, int]]:
        """Call, stage and line -> its samples, of the lines of a level that serve a layer."""
        counts: Counter[tuple[int, int, int]] = Counter()
        wanted = set(calls)
        for of in self.times.lines if self.times is not None else ():
            if of.call not in wanted or self.session.stages[of.stage].level != level:
                continue
            values = self._column(of.stage)
            meets = self._meets(self.session.calls[of.call], layer)
            for line, samples in zip(of.line, of.samples, strict=True):
                if line and samples and (value := values[line - 1]) >= 0 and meets[value]:
                    counts[of.call, of.stage, line] += samples
        return counts

    def _column(self, stage: int) -> list[int]:
        if (values := self._columns.get(stage)) is None:
            values = self._columns[stage] = column(self.session.stages[stage].body.sets)
        return values

    def _meets(self, call: Call, layer: int) -> list[bool]:
        """Return, for each value of the column of sets, whether it stands for the layer in a call."""
        sets = self.session.sets
        own = [any(self.owner[row] == layer for row in sets[number]) for number in call.layers]
        return [any(own[slot] for slot in slots) for slots in self.session.kernels[call.kernel].slots]

    # A layer.

    def _layer(self, row: int) -> Verdict:
        spent = self.spent.get(row, 0.0)
        parts = self.parts.get(row, {})
        calls = sorted(self.serving.get(row, ()), key=lambda number: -parts.get(number, 0.0))
        verdict = Verdict(
            program=self.program,
            layer=row,
            seconds=_finite(spent) if self.times is not None else -1.0,
            share=_finite(spent / self.total) if self.total else 0.0,
            estimated=row in self.guessed,
            bound="",
            reached=0.0,
        )
        say = verdict.answers.append
        say(self._time_of(row, verdict, calls))
        if not calls:
            return verdict
        say(self._calls_of(row, calls, parts))
        first = calls[0]
        say(self._bound_of(verdict, first, len(calls)))
        if self.times is not None:
            say(self._lines_of(row, calls))
        say(attempts(self.session, self.times, first, *self._of_call(first)))
        return verdict

    def _time_of(self, row: int, verdict: Verdict, calls: Sequence[int]) -> Answer:
        answer = Answer("time")
        if not calls:
            event = self.last_event.get(row, -1)
            events = self.session.events
            fate = f": {events.pass_name[event]}, {shown(events.what[event])}" if event >= 0 else ""
            return answer.say(f"no time: no kernel serves it{fate}")
        if self.times is None:
            return answer.say("not measured")
        order = sorted((seconds for row, seconds in self.spent.items() if row >= 0), reverse=True)
        place = order.index(verdict.seconds) + 1 if verdict.seconds in order else len(order)
        parts = [self.times.parts[self._of_call(number)[1]] for number in calls]
        alone = all({self._own(other) for other, _ in of} == {row} for of in parts)
        how = "an estimate by work" if verdict.estimated else "measured alone" if alone else "by samples"
        text = f"{seconds(verdict.seconds)} of CPU time per run, {percent(verdict.share)} of {seconds(self.total)}"
        return answer.say(f"{text}, number {place} of {count(len(order), 'layer')}; {how}")

    def _calls_of(self, row: int, calls: Sequence[int], parts: dict[int, float]) -> Answer:
        answer = Answer("where")
        for position, number in enumerate(calls[:_TOP]):
            call = self.session.calls[number]
            spent, _ = self._of_call(number)
            answer.say("; " if position else "").link(shown(call.name), stage=self._stage(call), call=number)
            if self.times is not None:
                answer.say(f", {seconds(parts.get(number, 0.0))} of its {seconds(spent)}")
            others = dict.fromkeys(self.owner[other] for other in self.session.sets[call.set])
            others.pop(row, None)
            if others:
                answer.say(" with ")
                for at, other in enumerate(list(others)[:_TOP]):
                    answer.say(", " if at else "").link(self._name(other), layer=other)
                answer.say(f" and {len(others) - _TOP} more" if len(others) > _TOP else "")
        return answer.say(f"; and {count(len(calls) - _TOP, 'more call')}" if len(calls) > _TOP else "")

    def _stage(self, call: Call) -> int:
        """The last loops of a call's kernel; of another compiler's none."""
        stages = [k for k in self.session.kernels[call.kernel].stages if self.session.stages[k].level == "tir"]
        return stages[-1] if stages else -1

    def _bound_of(self, verdict: Verdict, number: int, calls: int) -> Answer:
        answer = Answer("bound by")
        spent, place = self._of_call(number)
        kernel = self.session.kernels[self.session.calls[number].kernel]
        if kernel.compiler:
            return answer.say(f"not known: {shown(kernel.compiler)} runs it")
        if self.times is None or not self.times.roofs:
            return answer.say("not measured")
        roof = self.times.roofs[place]
        bound = bound_of(roof, spent)
        verdict.bound, verdict.reached = bound.word, _finite(bound.reached)
        name = shown(self.session.calls[number].name)
        return answer.say(f"{name} is " if calls > 1 else "").say(described(roof, spent))

    def _lines_of(self, row: int, calls: Sequence[int]) -> Answer:
        answer = Answer("lines")
        said = False
        for level in _LEVELS:
            counts = self._lines(row, calls, level)
            if not counts:
                continue
            every, held, lines = counts.total(), 0, list[tuple[tuple[int, int, int], int]]()
            for key, samples in counts.most_common():
                if held >= _MOST * every:
                    break
                lines.append((key, samples))
                held += samples
            begin = "; " if said else f"of {count(every, 'sample')} of its lines, "
            answer.say(f"{begin}{percent(held / every)} are in {level} {'line' if len(lines) == 1 else 'lines'} ")
            for position, ((call, stage, line), samples) in enumerate(lines[:_LINES]):
                answer.say(", " if position else "")
                answer.link(str(line), stage=stage, line=line, call=call).say(f" ({percent(samples / every)})")
            answer.say(f" and {len(lines) - _LINES} more" if len(lines) > _LINES else "")
            said = True
        return answer if said else answer.say("no samples were taken in its lines")

    # A run.

    def _run(self) -> Verdict:
        verdict = Verdict(
            self.program, -1, _finite(self.total) if self.times else -1.0, 1.0, bool(self.guessed), "", 0.0
        )
        if self.times is None:
            verdict.answers.append(Answer("time").say("not measured"))
        else:
            times = self.times
            verdict.answers += [self._time(times), self._longest(), self._bounds(times, verdict), self._threads(times)]
        verdict.answers += self._memory()
        if self.times is not None:
            verdict.answers.append(self._gains(self.times))
        return verdict

    def _time(self, times: Times) -> Answer:
        threads = count(self.session.made_by.threads, "thread")
        answer = Answer("time").say(f"{seconds(self.total)} of CPU time per run on {threads}")
        if times.walls:
            typical = median(times.walls)
            runs = count(len(times.walls), "run")
            answer.say(
                f"; on the wall's clock {seconds(min(times.walls))} at best, {seconds(typical)} typically ({runs})"
            )
        return answer

    def _longest(self) -> Answer:
        answer = Answer("where").say("the longest layers: ")
        ranked = sorted(((took, row) for row, took in self.spent.items() if row >= 0), reverse=True)
        for position, (took, row) in enumerate(ranked[:_TOP]):
            answer.say(", " if position else "").link(self._name(row), layer=row)
            answer.say(f" {seconds(took)} ({percent(took / self.total if self.total else 0.0)})")
        lost = self.spent.get(-1, 0.0)
        none = f"{seconds(lost)} ({percent(lost / self.total)}) has no known layer" if lost and self.total else ""
        return answer.say(f"; {none or 'all of it has known layers'}")

    def _bounds(self, times: Times, verdict: Verdict) -> Answer:
        answer = Answer("bound by")
        if not times.roofs or not self.total:
            return answer.say("not measured")
        by: dict[str, float] = defaultdict(float)
        for roof, spent in zip(times.roofs, times.calls, strict=True):
            by[bound_of(roof, spent).word] += spent
        by.pop("", None)
        ranked = sorted(by.items(), key=lambda pair: -pair[1])
        least = sum(roof.seconds for roof in times.roofs)
        verdict.bound, verdict.reached = ranked[0][0] if ranked else "", _finite(least / self.total)
        parts = ", ".join(f"{percent(spent / self.total)} by {word}" for word, spent in ranked)
        text = f"calls are bound, by their time, {parts}" if parts else "no call takes as long as the clock shows"
        return answer.say(f"{text}; the machine needs {seconds(least)} at least, {percent(verdict.reached)}")

    def _threads(self, times: Times) -> Answer:
        answer = Answer("threads")
        inside = sum(times.threads)
        parts = [
            f"thread {number} {percent(samples / inside)}" for number, samples in enumerate(times.threads) if inside
        ]
        if len(parts) > 1:
            answer.say(f"of the work in kernels, {some(parts, 8)}; ")
        if own := (times.threads[0] + times.outside if times.threads else 0):
            waits = percent(times.outside / own)
            answer.say(
                f"thread 0 is outside of kernels for {waits} of its samples: it wakes others, waits, or runs C; "
            )
        if times.roofs:
            answer.say(f"to begin calls takes {seconds(sum(roof.start for roof in times.roofs))}; ")
        if times.taken < 0:
            return answer.say("what other processes used of the processors is not known")
        taken = percent(times.taken)
        if times.taken > SHARE:
            return answer.say(
                f"other processes took the processors away for {taken}: times on the wall's clock are too long"
            )
        return answer.say(f"other processes used {taken} of the processors")

    def _memory(self) -> Iterator[Answer]:
        for plan in self.session.memory:
            if plan.program == self.program:
                arena, params = _bytes(plan.arena), _bytes(plan.parameters)
                yield Answer("memory").say(f"{arena} for tensors of a run, {params} of parameters")

    def _gains(self, times: Times) -> Answer:
        """The calls that are farthest above their roofs."""
        answer = Answer("to try")
        above = [
            (spent - roof.seconds, number)
            for number, spent, roof in zip(self.calls, times.calls, times.roofs, strict=False)
            if spent > roof.seconds
        ]
        if above:
            answer.say("most is to gain in ")
        for position, (gain, number) in enumerate(sorted(above, reverse=True)[:_TOP]):
            call = self.session.calls[number]
            answer.say(", " if position else "").link(shown(call.name), stage=self._stage(call), call=number)
            answer.say(f" ({seconds(gain)} above its roof)")
        return answer.say(f"{'; ' if above else ''}{tune_command(self.session)} measures other schedules")


def _finite(number: float) -> float:
    """Return a number that JSON has; documents may have such large ones that their sums are infinite."""
    return number if isfinite(number) else 0.0


def _bytes(size: int) -> str:
    unit, scale = next(((unit, scale) for unit, scale in _UNITS if size >= scale), ("bytes", 1))
    return f"{size / scale:.3g} {unit}" if scale > 1 else f"{size} bytes"
