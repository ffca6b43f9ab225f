"""Views of what was measured or planned: times, hot lines, the timeline, memory, tensors, another session."""

from __future__ import annotations

from ....support.names import shown
from ...report import seconds, table
from ..document import Session, Tensors
from ..text import layers_of_lines, text_of_stage
from .choice import Choice, kernel_of, missing, names_of
from .overview import layer_name, share

_TOP = 40
"""Rows of long tables that are shown where not all are asked for."""
_BAR = 50
_SHADES = " .:-=+*#%@"


def times(session: Session, choice: Choice) -> str:
    """CPU seconds per run: of layers, the longest first, and of kernel calls in order."""
    parts: list[str] = []
    for data in session.times:
        total = sum(data.calls)
        title = f"program {shown(session.programs[data.program].name)}: {seconds(total)} of CPU time per run"
        layers = [
            (layer_name(session, layer), seconds(spent), share(spent, total), "estimated" if guessed else "")
            for layer, spent, guessed in sorted(data.layers, key=lambda row: -row[1])
        ]
        own = [call for call in session.calls if call.program == data.program]
        calls = [
            (call.name, seconds(spent), share(spent, total), names_of(session, session.sets[call.set], 3))
            for call, spent in zip(own, data.calls, strict=True)
        ]
        parts += [f"{title}, mean of {data.runs}", _cut(layers, choice), "calls", _cut(calls, choice)]
    if not parts:
        raise missing(session, "times")
    return "\n".join(parts)


def _cut(rows: list[tuple[str, ...]], choice: Choice) -> str:
    """Return the first rows of a table, and how many more there are."""
    if choice.full or len(rows) <= _TOP:
        return table(rows)
    return f"{table(rows[:_TOP])}\n  and {len(rows) - _TOP} more"


def lines(session: Session, choice: Choice) -> str:
    """The lines of code in which samples were taken, the most first: of TIR, or of the level that is asked for."""
    rows: list[tuple[int, tuple[str, ...]]] = []
    kernel, level = kernel_of(session, choice), choice.level or "tir"
    sampled = [of for data in session.times for of in data.lines if session.stages[of.stage].level == level]
    total = sum(sum(of.samples) for of in sampled)
    for of in sampled:
        if kernel >= 0 and session.stages[of.stage].kernel != kernel:
            continue
        texts, behind = text_of_stage(session, of.stage), layers_of_lines(session, of.stage, of.call)
        name = session.calls[of.call].name
        for line, samples in zip(of.line, of.samples, strict=True):
            text = f"{line}: {texts[line - 1].strip()}" if line else "no line is known"
            layers = names_of(session, behind[line - 1], 3) if line else ""
            rows.append((samples, (share(samples, total), name, layers, text)))
    if not rows:
        raise missing(session, "samples of lines")
    return _cut([row for _, row in sorted(rows, key=lambda row: -row[0])], choice)


def timeline(session: Session, choice: Choice) -> str:
    """One run: a row per call and thread, from its beginning to its end."""
    parts: list[str] = []
    for data in session.times:
        line = data.timeline
        end = max(line.end, default=0.0)
        if not end:
            continue
        rows: list[tuple[str, ...]] = []
        for begin, until, thread, call in sorted(zip(line.begin, line.end, line.thread, line.call, strict=True)):
            first = int(begin / end * _BAR)
            last = max(int(until / end * _BAR), first + 1)
            bar = " " * first + "=" * (last - first)
            name = session.calls[call].name if call >= 0 else "no kernel"
            rows.append((f"|{bar:<{_BAR}}|", seconds(begin), seconds(until - begin), f"thread {thread}", name))
        parts += [f"program {shown(session.programs[data.program].name)}: {seconds(end)}", _cut(rows, choice)]
    if not parts:
        raise missing(session, "a timeline")
    return "\n".join(parts)


def memory(session: Session, choice: Choice) -> str:
    """The memory plan: blocks of the arena with their layers, and the calls from which to which they are in use."""
    parts: list[str] = []
    for plan in session.memory:
        name = shown(session.programs[plan.program].name)
        title = f"program {name}: arena {plan.arena} bytes, parameters {plan.parameters}, workspace {plan.workspace}"
        rows = [
            (
                plan.name[n],
                plan.offset[n],
                plan.size[n],
                f"calls {plan.first[n]} to {plan.last[n]}",
                names_of(session, session.sets[plan.set[n]] if plan.set[n] >= 0 else (), 3),
            )
            for n in range(len(plan.name))
        ]
        parts += [title, table(rows, ("block", "offset", "bytes", "in use", "layers"))]
    if not parts:
        raise missing(session, "a memory plan")
    return "\n".join(parts)


def tensors(session: Session, choice: Choice) -> str:
    """Statistics of the layers' values in one run; the first that departs from the reference is marked."""
    parts: list[str] = []
    for data in session.tensors:
        departs = [
            n for n, (error, most) in enumerate(zip(data.error, data.tolerance, strict=True)) if error > most >= 0
        ]
        rows = [_tensor(session, data, n, bool(departs) and n == departs[0]) for n in range(len(data.name))]
        header = ("tensor", "layer", "type", "least", "most", "mean", "not finite", "histogram", "error", "")
        parts.append(table(rows, header))
    if not parts:
        raise missing(session, "statistics of tensors")
    return "\n".join(parts)


def _tensor(session: Session, data: Tensors, n: int, departs: bool) -> tuple[str, ...]:
    most = max(data.histogram[n], default=0) or 1
    bars = "".join(_SHADES[-(-number * (len(_SHADES) - 1) // most)] for number in data.histogram[n])
    bad = [(data.nan[n], "NaN"), (data.infinite[n], "infinite")]
    return (
        data.name[n],
        layer_name(session, data.layer[n]),
        f"{data.dtype[n]}[{', '.join(map(str, data.shape[n]))}]",
        *(f"{value:.6g}" for value in (data.minimum[n], data.maximum[n], data.mean[n])),
        ", ".join(f"{number} {name}" for number, name in bad if number),
        f"|{bars}|" if bars else "",
        _gap(data.error[n], data.step[n]) if data.error[n] >= 0 else "",
        f"<- departs first: more than {_gap(data.tolerance[n], data.step[n])}" if departs else "",
    )


def _gap(gap: float, step: float) -> str:
    """Return a difference as text, of quantised tensors in steps of their scale."""
    return f"{gap / step:.3g} steps" if step else f"{gap:.3g}"
