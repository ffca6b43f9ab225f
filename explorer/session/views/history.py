"""Views of one line or one layer: why it is there, what became of it, and its line of descent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ....provenance.diagnostics import position
from ....support.errors import PipelineError, expectation
from ....support.names import shown
from ...report import count, seconds, table
from ..document import Call, Session
from ..history import history_of_layer, history_of_op
from ..leads import line_of, serving
from ..text import column, layers_of_lines, text_of_stage
from .choice import Choice, calls_of, kernel_of, layer_of, names_of, rows_of, stage_of, stage_title
from .overview import call_seconds, share

_LINES = 3
"""Lines of a stage that a line of descent shows."""


def _events(session: Session, events: Iterable[int]) -> str:
    """A line per event: the pass, its pattern and where that stands, and what it did."""
    table_of = session.events
    rows = [
        (table_of.pass_name[n], table_of.pattern[n], table_of.pattern_at[n] or _pass_at(session, n), table_of.what[n])
        for n in events
    ]
    return table(rows, ("pass", "pattern", "source", "what it did"), indent="    ")


def _pass_at(session: Session, event: int) -> str:
    run = session.events.run[event]
    return session.passes[run].source if run >= 0 else ""


def why(session: Session, choice: Choice) -> str:
    """The layers behind a line of a stage, and the passes and patterns that made its op.

    By default the line that a layer leads to in the call that has most of it.
    """
    if choice.line is None and choice.layer is not None:
        choice = _led_to(session, choice)
    k = stage_of(session, choice)
    stage = session.stages[k]
    if choice.line is None or not 1 <= choice.line <= stage.lines:
        lines = f"a line of 1 to {stage.lines} of {stage_title(session, k)}"
        raise PipelineError(expectation("--line", lines, "none" if choice.line is None else str(choice.line)))
    lines = [stage_title(session, k), f"{choice.line}: {_shown(text_of_stage(session, k)[choice.line - 1])}"]
    if stage.kernel < 0:
        served = [("", layers_of_lines(session, k)[choice.line - 1])]
    else:
        calls = calls_of(session, stage.kernel)
        served = [(f" in {shown(call.name)}", layers_of_lines(session, k, row)[choice.line - 1]) for row, call in calls]
    lines += [f"  serves {names_of(session, rows) or 'no known layer'}{where}" for where, rows in served]
    outputs = [session.layers.name[layer] for line, layer in stage.body.outputs if line == choice.line]
    lines += [f"  computes the output of {shown(name)}" for name in outputs]
    lines += _machine(session, k, choice.line)
    op = column(stage.body.ops)[choice.line - 1]
    if op < 0:
        return "\n".join([*lines, "  no op is known for the line"])
    events = history_of_op(session, op)
    title = "made by" if events else "unchanged since it was imported" if stage.kernel < 0 else "made by the lowering"
    return "\n".join([*lines, f"  {title}", *([_events(session, events)] if events else [])])


def _led_to(session: Session, choice: Choice) -> Choice:
    """Ask for the line that a layer leads to: of tir, or of the level that is asked for; the same where to none."""
    rows, level = rows_of(session, layer_of(session, choice)), choice.level or "tir"
    wanted = kernel_of(session, choice)
    for call in serving(session.leads, rows):
        kernel = session.calls[call].kernel
        stages = [k for k in session.kernels[kernel].stages if session.stages[k].level == level]
        if wanted in (-1, kernel) and stages and (line := line_of(session.leads, rows, call, level)):
            return replace(choice, stage=str(stages[-1]), line=line)
    return choice


def _shown(text: str) -> str:
    """Return a line of a stage without its indent."""
    return shown(text.strip().expandtabs(4))


def _machine(session: Session, k: int, line: int) -> Iterator[str]:
    """Say what a line of llvm or assembly comes of, and of the last tir what it became."""
    stage = session.stages[k]
    kernel = session.kernels[stage.kernel] if stage.kernel >= 0 else None
    if kernel is None:
        return
    loops = [s for s in kernel.stages if session.stages[s].level == "tir"]
    if stage.body.tir and loops and (source := column(stage.body.tir)[line - 1]):
        exact = not stage.body.exact or column(stage.body.exact)[line - 1]
        text = text_of_stage(session, loops[-1])[source - 1]
        yield f"  {'comes' if exact else 'comes, as far as can be inferred,'} of tir line {source}: {_shown(text)}"
    if loops and k == loops[-1]:
        for below in (s for s in kernel.stages if session.stages[s].body.tir):
            number = column(session.stages[below].body.tir).count(line)
            yield f"  became {count(number, 'line')} of {session.stages[below].level}"


def where(session: Session, choice: Choice) -> str:
    """The fate of a layer: the passes that met it, the lines and calls that serve it at the end, and their time."""
    layer = layer_of(session, choice)
    rows = rows_of(session, layer)
    lines = [_title(session, layer)]
    events = history_of_layer(session, rows)
    lines += ["  met by", _events(session, events)] if events else ["  no pass changed it"]
    calls = _serving(session, layer)
    if not calls:
        lines.append("  no kernel serves it: it was folded, removed, or is no computation")
    for row, call in calls:
        others = [other for other in session.sets[call.set] if other not in rows]
        with_others = f" with {names_of(session, others)}" if others else ""
        lines.append(f"  served by {shown(call.name)}{with_others}{_time(session, row, rows)}")
        lines += [f"    {text}" for text in _shares(session, row, call, rows)]
    return "\n".join(lines)


def _title(session: Session, layer: int) -> str:
    layers = session.layers
    source = layers.source[layer]
    at = f", {position(session.sources[source].file, layers.ordinal[layer])}" if source >= 0 else ""
    return shown(f"{layers.name[layer]} ({layers.type[layer] or layers.kind[layer]}{at})")


def _serving(session: Session, layer: int) -> list[tuple[int, Call]]:
    """Return the calls that serve a layer or its tensors, those with most of it first."""
    return [(row, session.calls[row]) for row in serving(session.leads, rows_of(session, layer))]


def _time(session: Session, row: int, rows: frozenset[int]) -> str:
    """The time of a layer in a call, where it was measured."""
    program = session.calls[row].program
    number = sum(call.program == program for call in session.calls[:row])
    for times in session.times:
        if times.program == program:
            spent = sum(part for layer, part in times.parts[number] if layer in rows)
            return f": {seconds(spent)}, {share(spent, sum(times.calls))} of all kernels"
    return ""


def _shares(session: Session, row: int, call: Call, rows: frozenset[int]) -> Iterator[str]:
    """For each level of a kernel how many lines are of these layers, from te to asm."""
    for k in _last_stages(session, call.kernel):
        stage = session.stages[k]
        behind = layers_of_lines(session, k, row)
        own = [n for n, layers in enumerate(behind) if not rows.isdisjoint(layers)]
        exact = column(stage.body.exact)
        inferred = sum(not exact[n] for n in own) if exact else 0
        more = f", {inferred} of them inferred" if inferred else ""
        yield f"{stage.level:<8} {len(own)} of {count(stage.lines, 'line')}{more} (stage {k})"


def _last_stages(session: Session, kernel: int) -> list[int]:
    """Return the last stage of each level of a kernel."""
    return list({session.stages[k].level: k for k in session.kernels[kernel].stages}.values())


def lineage(session: Session, choice: Choice) -> str:
    """A layer from the model to time: lines of relay, its calls, and of each call the lines of every level below."""
    layer = layer_of(session, choice)
    rows = rows_of(session, layer)
    lines = [_title(session, layer)]
    relay = [k for k, stage in enumerate(session.stages) if stage.level == "relay"]
    before = {stage.before for stage in session.stages}
    for k in relay:
        if session.stages[k].before < 0 or k not in before:
            lines += _excerpt(session, k, -1, rows, 0)
    chosen = kernel_of(session, choice)
    spent = call_seconds(session)
    for row, call in _serving(session, layer):
        if chosen not in (-1, call.kernel):
            continue
        shared = len(calls_of(session, call.kernel))
        lines.append(f"  call {shown(call.name)}, kernel {call.kernel} of {count(shared, 'call')}")
        for k in _last_stages(session, call.kernel):
            begin = line_of(session.leads, rows, row, session.stages[k].level)
            lines += (f"  {text}" for text in _excerpt(session, k, row, rows, begin))
        if session.times:
            lines.append(f"    time     {seconds(spent[row])}{_time(session, row, rows).replace(':', ', of it', 1)}")
    return "\n".join(lines)


def _excerpt(session: Session, k: int, call: int, rows: frozenset[int], begin: int) -> Iterator[str]:
    """The lines of a stage that are of these layers: some from line `begin` on; for line 0 up to their last output."""
    stage = session.stages[k]
    texts = text_of_stage(session, k)
    own = [n for n, behind in enumerate(layers_of_lines(session, k, call)) if not rows.isdisjoint(behind)]
    outputs = [line - 1 for line, layer in stage.body.outputs if layer in rows]
    if begin:
        own_from = [n for n in own if n >= begin - 1]
    else:
        own_from = [n for n in own if n <= outputs[-1]][-_LINES:] if outputs else own
    yield f"  {stage.level:<8} {shown(stage.name)}, {len(own)} of {count(stage.lines, 'line')} (stage {k})"
    yield from (f"    {n + 1}: {_shown(texts[n])}" for n in own_from[:_LINES])
