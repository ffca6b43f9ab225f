"""Views of a whole session: what it is about, its passes, its kernels, and what was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ....support.names import shown
from ...report import count, percent, seconds, some, table
from ..document import Diff, PassRun, Session, Times
from ..text import layers_of_lines
from .choice import Choice, calls_of, kernel_of, names_of, stage_title

_TOP = 5


def summary(session: Session, choice: Choice) -> str:
    """The model, how it was compiled, and how much there is of everything."""
    origin = session.made_by
    kinds = Counter(session.layers.kind)
    changed = sum(run.changed for run in session.passes)
    code = sum(kernel.bytes for kernel in session.kernels)
    instructions = sum(kernel.instructions for kernel in session.kernels)
    levels = Counter(stage.level for stage in session.stages)
    lines = [
        f"{shown(origin.model)}: {count(kinds['layer'], 'layer')}, {count(len(session.calls), 'kernel call')}, "
        f"{count(len(session.kernels), 'kernel')}, {instructions} instructions in {code} bytes",
        table(
            [
                ("made by", shown(f"whence {origin.whence}: {origin.command}")),
                (
                    "target",
                    shown(f"{origin.target}, -O{origin.opt_level}, {count(origin.threads, 'thread')}, {origin.cpu}"),
                ),
                ("compiled in", seconds(origin.compile_seconds)),
                ("stages", ", ".join(f"{number} {level}" for level, number in levels.items())),
                ("passes", f"{len(session.passes)} runs, {changed} of them changed something"),
                ("ledger", count(len(session.events.run), "event")),
                *(("program", shown(f"{each.name}, {each.kind}: {each.about}")) for each in session.programs),
                *(("sizes", shown(f"{each.name} at {each.sizes}")) for each in session.programs if each.sizes),
                *(("note", shown(note)) for note in origin.notes),
            ]
        ),
    ]
    for times in session.times:
        total = sum(times.calls)
        title = f"{seconds(total)} of CPU time per run of {shown(session.programs[times.program].name)}"
        top = sorted(times.layers, key=lambda row: -row[1])[:_TOP]
        rows = [(layer_name(session, layer), seconds(spent), share(spent, total)) for layer, spent, _ in top]
        lines += [f"{title}; the longest:", table(rows)]
        lines += [f"run by {compiler}: {share(spent, total)} of it" for compiler, spent in others(session, times)]
    return "\n".join(lines)


def others(session: Session, times: Times) -> Iterable[tuple[str, float]]:
    """Return the external compilers that ran kernels of a program, with the seconds of these."""
    spent = dict.fromkeys((kernel.compiler for kernel in session.kernels), 0.0)
    calls = [call for call in session.calls if call.program == times.program]
    for call, duration in zip(calls, times.calls, strict=True):
        spent[session.kernels[call.kernel].compiler] += duration
    return [(compiler, total) for compiler, total in spent.items() if compiler]


def layer_name(session: Session, row: int) -> str:
    """Return the name of a layer; of row -1 the words for none."""
    return session.layers.name[row] if row >= 0 else "no known layer"


def share(part: float, total: float) -> str:
    """Return a part of a total in percent."""
    return percent(part / total) if total else percent(0)


def passes(session: Session, choice: Choice) -> str:
    """The passes in order, with what they changed: those of relay, or of a kernel; unchanged ones are folded."""
    kernel = kernel_of(session, choice)
    parts: list[str] = []
    for number, program in enumerate(session.programs):
        runs = [run for run in session.passes if run.program == number and run.kernel == kernel]
        if kernel >= 0 and session.kernels[kernel].program != number:
            continue
        spent = sum(max(run.seconds, 0.0) for run in runs)
        where = f"@{shown(session.kernels[kernel].symbol)}" if kernel >= 0 else f"program {shown(program.name)}"
        title = f"{where}: {count(len(runs), 'run')} of passes in {seconds(spent)}"
        parts += [title, _runs(session, runs, choice.full)]
    return "\n".join(parts)


def _runs(session: Session, runs: Sequence[PassRun], full: bool) -> str:
    rows: list[tuple[object, ...]] = []
    folded: list[PassRun] = []
    for run in [*runs, None]:
        if run is not None and not run.changed and not full:
            folded.append(run)
            continue
        if folded:
            rows.append(
                ("", f"{len(folded)} unchanged: {some((each.name for each in folded), 3)}", "", _took(folded), "")
            )
            folded = []
        if run is not None:
            diff = session.stages[run.stage].diff if run.changed and run.stage >= 0 else None
            rows.append((run.stage if run.changed else "", run.spec, differences(diff), _took([run]), run.source))
    return table(rows, ("stage", "pass", "ops", "time", "source"))


def _took(runs: Sequence[PassRun]) -> str:
    measured = [run.seconds for run in runs if run.seconds >= 0]
    return seconds(sum(measured)) if measured else ""


def differences(diff: Diff | None) -> str:
    """`18 new, 4 gone`."""
    if diff is None:
        return ""
    counts = {"new": diff.new, "gone": diff.gone, "changed": diff.changed, "moved": diff.moved}
    return ", ".join(f"{len(ops)} {name}" for name, ops in counts.items() if ops) or "none"


def kernels(session: Session, choice: Choice) -> str:
    """The kernels with their calls, layers and code; of one kernel its stages, too."""
    chosen = kernel_of(session, choice)
    spent = call_seconds(session)
    rows = [
        (
            number,
            kernel.symbol,
            kernel.compiler or "whence",
            len(calls_of(session, number)),
            names_of(session, _served(session, number), 3),
            kernel.instructions,
            kernel.bytes,
            seconds(sum(spent[row] for row, _ in calls_of(session, number))) if session.times else "",
        )
        for number, kernel in enumerate(session.kernels)
        if chosen in (-1, number)
    ]
    text = table(rows, ("", "kernel", "by", "calls", "layers", "instructions", "bytes", "time"))
    if chosen < 0:
        return text
    stages = [(stage_title(session, k), count(session.stages[k].lines, "line")) for k in session.kernels[chosen].stages]
    calls = [
        (row, call.name, names_of(session, session.sets[call.set]), f"{call.flops} FLOPs", f"{call.bytes} bytes")
        for row, call in calls_of(session, chosen)
    ]
    return "\n".join([text, "calls", table(calls), "stages", table(stages)])


def _served(session: Session, kernel: int) -> Iterable[int]:
    return dict.fromkeys(row for _, call in calls_of(session, kernel) for row in session.sets[call.set])


def call_seconds(session: Session) -> dict[int, float]:
    """Return the measured seconds of each call, 0 where none were."""
    spent = dict.fromkeys(range(len(session.calls)), 0.0)
    for times in session.times:
        rows = [row for row, call in enumerate(session.calls) if call.program == times.program]
        spent.update(zip(rows, times.calls, strict=True))
    return spent


def lost(session: Session, choice: Choice) -> str:
    """The layers that passes lost, with what lost them, and the last lines of every level that serve none."""
    parts: list[str] = []
    events = session.events
    for row, kind in enumerate(session.layers.kind):
        if kind != "lost":
            continue
        parts.append(shown(session.layers.name[row]))
        by = [
            (events.pass_name[n], events.pattern[n], events.what[n], names_of(session, session.sets[before]))
            for n, (before, after) in enumerate(zip(events.before, events.after, strict=True))
            if min(before, after) >= 0 and row in session.sets[after] and row not in session.sets[before]
        ]
        if by:
            parts.append(table(by, ("pass", "pattern", "what", "layers before")))
    later = {stage.before for stage in session.stages}
    bare = [
        (stage_title(session, k), f"{number} of {stage.lines} lines")
        for k, stage in enumerate(session.stages)
        if k not in later and stage.level not in ("model", "schedule") and (number := _bare(session, k))
    ]
    if bare:
        parts += ["lines of ops that no known layer is behind", table(bare)]
    return "\n".join(parts) if parts else "nothing was lost: every line of an op has a layer"


def _bare(session: Session, k: int) -> int:
    """Count the lines of a stage that have a set without a layer; lines of no op have none."""
    sets = session.stages[k].body.sets
    empty = sum(count for number, count in zip(sets[::2], sets[1::2], strict=True) if number >= 0)
    kinds = session.layers.kind
    rows = layers_of_lines(session, k)
    return empty - sum(any(kinds[row] != "lost" for row in behind) for behind in rows)
