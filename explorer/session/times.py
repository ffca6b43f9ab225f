"""Measured times of a program, as those of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...lowering.kernel.record import Kernel
from ...lowering.llvm_to_native.assembly import LOCATION
from ...planning.artifact import Artifact
from ..code import assembly_runs, kernel_of
from ..layers import Layer
from ..samples import CallSamples, Samples
from ..times import Times as Measured
from .builder import Builder
from .document import LineTimes, Roof, Timeline, Times
from .text import calls_of


@dataclass(frozen=True)
class Beside:
    """Measurements beside those of layers; fields as in `document.Times`."""

    roofs: Sequence[Roof] = ()
    walls: Sequence[float] = ()
    taken: float = -1.0
    peer: str = ""
    peers: Sequence[float] = ()


NOTHING = Beside()


def add_times(
    builder: Builder,
    artifact: Artifact,
    program: int,
    measured: Measured,
    samples: Samples | None = None,
    timeline: Sequence[tuple[float, float]] = (),
    beside: Beside = NOTHING,
) -> None:
    """Append the times of a program: what `whence profile` tells of the same measurement.

    The parts of a call's layers add up to the call, and so do the layers' sums to that of all calls. timeline: begin
    and end of each call, as `Runner.timeline` has them.
    """
    calls = calls_of(builder.session, program)
    layers = [(_row(builder, entry.layer), entry.seconds, bool(entry.estimated)) for entry in measured.ranked(artifact)]
    parts = [[(_row(builder, layer), seconds) for layer, seconds in of.items()] for of in measured.layers]
    times = Times(
        program=program,
        runs=samples.runs if samples is not None else 0,
        calls=list(measured.calls),
        layers=layers,
        parts=parts,
        lines=[],
        timeline=Timeline(),
        roofs=list(beside.roofs),
        walls=list(beside.walls),
        taken=beside.taken,
        threads=threads_of(samples) if samples is not None else [],
        outside=sum(call.elsewhere for call in samples.calls) if samples is not None else 0,
        peer=beside.peer,
        peers=list(beside.peers),
    )
    for number, call in enumerate(artifact.calls):
        if samples is None or not samples.calls[number].total:
            continue
        stages = _last_stages(builder, calls[number])
        kernel, of_call = kernel_of(artifact, call.kernel), samples.calls[number]
        for level, counts in (("tir", samples.lines(number)), ("asm", _assembly_samples(kernel, of_call))):
            if level in stages and counts:
                lines = sorted(counts)
                times.lines.append(LineTimes(calls[number], stages[level], lines, [counts[line] for line in lines]))
    _add_timeline(times.timeline, calls, timeline, samples)
    builder.session.times.append(times)


def threads_of(samples: Samples) -> list[int]:
    """Return the samples of each thread in the code of kernels; the calling thread comes first."""
    workers = [sum(column) for column in zip(*(call.workers for call in samples.calls), strict=True)]
    inside = sum(sum(call.runs.values()) for call in samples.calls)
    return [inside - sum(workers), *workers]


def _row(builder: Builder, layer: Layer | None) -> int:
    return builder.layer(layer.leaf) if layer is not None else -1


def _last_stages(builder: Builder, call: int) -> dict[str, int]:
    """Level -> the last stage of the kernel of a call."""
    session = builder.session
    return {session.stages[stage].level: stage for stage in session.kernels[session.calls[call].kernel].stages}


def _assembly_samples(kernel: Kernel, samples: CallSamples) -> Mapping[int, int]:
    """Line of the assembly, without directives of lines -> samples: at the first instruction of each run of one line.

    Empty where the object's line table is not that of the assembly, as of a kernel that others run.
    """
    counts: Counter[int] = Counter()
    runs = assembly_runs(kernel) if kernel.assembly else None
    if runs is None:
        return counts
    line = 0
    for number, text in enumerate(kernel.assembly.splitlines()):
        line += not LOCATION.match(text)
        if number in runs and (count := samples.runs[runs[number]]):
            counts[line] += count
    if rest := samples.total - counts.total():
        counts[0] += rest
    return counts


def _add_timeline(
    timeline: Timeline, calls: range, times: Sequence[tuple[float, float]], samples: Samples | None
) -> None:
    """Thread 0 has what was measured; of workers is drawn how much of the call samples met them in its code."""
    for number, (begin, end) in enumerate(times):
        spans = [end]
        if samples is not None:
            workers = samples.calls[number].workers
            own = samples.calls[number].total - sum(workers)
            spans += [begin + (end - begin) * min(1.0, count / own) if own else begin for count in workers]
        for thread, until in enumerate(spans):
            if until > begin or not thread:
                timeline.begin.append(begin)
                timeline.end.append(until)
                timeline.thread.append(thread)
                timeline.call.append(calls[number])
