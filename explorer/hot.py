"""Sampled time as text: the hottest lines of a model, a kernel's TIR line by line, its assembly run by run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..lowering.kernel.record import Kernel
from ..lowering.llvm_to_native.assembly import LOCATION
from ..provenance.span import layer_names
from .calls import find_calls
from .code import assembly_runs, kernel_of, line_location
from .report import percent, some, table
from .samples import Samples

_NAMES = 2
_NOWHERE = "no known line, thread pool, C functions"


class HotLine(NamedTuple):
    """A line of a kernel's TIR in one call of it."""

    call: int
    line: int
    """0: no line is known."""
    samples: int
    seconds: float
    """Its part of the CPU time that the call takes in a run."""
    text: str
    layers: tuple[str, ...]


def hot_lines(samples: Samples) -> list[HotLine]:
    """All lines that were sampled, the one that takes longest first."""
    hottest: list[HotLine] = []
    for number, call in enumerate(samples.artifact.calls):
        kernel = kernel_of(samples.artifact, call.kernel)
        texts = kernel.tir.splitlines()
        each = samples.seconds_of(number) / max(samples.calls[number].total, 1)
        for line, count in samples.lines(number).items():
            text = texts[line - 1].strip() if 0 < line <= len(texts) else _NOWHERE
            layers = layer_names(line_location(kernel, line, call.layers))
            hottest.append(HotLine(number, line, count, count * each, text, layers))
    return sorted(hottest, key=lambda hot_line: (-hot_line.seconds, -hot_line.samples, hot_line.call, hot_line.line))


def hot_table(samples: Samples, top: int = 10) -> str:
    """The hottest lines of all kernels."""
    lines = hot_lines(samples)
    total = sum(line.seconds for line in lines) or 1.0
    rows = [
        (
            f"{1e3 * line.seconds:.3f}",
            percent(line.seconds / total),
            samples.artifact.calls[line.call].name,
            line.line or "",
            some(line.layers, _NAMES),
            line.text if len(line.text) <= 80 else f"{line.text[:77]}...",
        )
        for line in lines[:top]
    ]
    head = f"{samples.total} samples of the program counter in {samples.runs} runs, CPU time of all threads"
    return f"{head}\n" + table(rows, ("ms", "share", "kernel call", "line", "layers", "tir"), indent="")


def _chosen(samples: Samples, kernel: str | int, call: str | None) -> tuple[Kernel, str, list[int]]:
    """A kernel, a title, and the calls whose samples count; errors as `find_calls`."""
    artifact = samples.artifact
    selection = find_calls(artifact, kernel, call)
    names = [kernel_call.name for kernel_call in selection.asked] or [
        kernel_call.name for kernel_call in selection.others
    ]
    numbers = [
        n
        for n, kernel_call in enumerate(artifact.calls)
        if kernel_call.kernel == selection.kernel and kernel_call.name in names
    ]
    code = kernel_of(artifact, selection.kernel)
    total = sum(samples.calls[number].total for number in numbers)
    share = percent(total / max(samples.total, 1))
    return code, f"kernel {code.symbol}\n{total} samples, {share} of the run, in {some(names, 3)}", numbers


@dataclass(frozen=True)
class AnnotatedLine:
    """A line of a kernel's TIR or assembly."""

    line: int
    """The line of TIR; 0 if it is unknown, and within a run of instructions."""
    samples: int
    layers: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Annotated:
    """A kernel's code, beside each line its samples and layers."""

    title: str
    code: str
    """`tir` or `assembly`."""
    samples: int
    lines: tuple[AnnotatedLine, ...]

    def __str__(self) -> str:
        total = max(self.samples, 1)
        rows = [
            (
                line.line or "",
                percent(line.samples / total) if line.samples else "",
                some(line.layers, _NAMES),
                line.text,
            )
            for line in self.lines
        ]
        return f"{self.title}\n\n{table(rows, ('line', 'time', 'layers', self.code), indent='')}"


def annotated_tir(samples: Samples, kernel: str | int, call: str | None = None) -> Annotated:
    """The TIR of a kernel, beside each line its part of the kernel's time and its layers.

    Raises FrontendError for an unknown kernel or call.
    """
    code, title, numbers = _chosen(samples, kernel, call)
    counts: Counter[int] = Counter()
    for number in numbers:
        counts.update(samples.lines(number))
    layers = samples.artifact.calls[numbers[0]].layers if numbers else ()
    lines = [
        AnnotatedLine(line, counts[line], layer_names(line_location(code, line, layers)), text)
        for line, text in enumerate(code.tir.splitlines(), 1)
    ]
    lines.append(AnnotatedLine(0, counts[0], (), _NOWHERE))
    return Annotated(title, "tir", sum(counts.values()), tuple(lines))


def annotated_assembly(samples: Samples, kernel: str | int, call: str | None = None) -> Annotated:
    """The assembly of a kernel, beside the first instruction of each run of one line the run's part of the time.

    The TIR instead, where the object's line table is not that of the assembly. Raises FrontendError for an unknown
    kernel or call.
    """
    code, title, numbers = _chosen(samples, kernel, call)
    counts: Counter[int] = Counter()
    for number in numbers:
        counts.update(samples.calls[number].runs)
    runs = assembly_runs(code)
    if runs is None:
        annotated = annotated_tir(samples, kernel, call)
        return replace(annotated, title=f"the object's line table is not that of the assembly\n{annotated.title}")
    layers = samples.artifact.calls[numbers[0]].layers if numbers else ()
    lines: list[AnnotatedLine] = []
    line = 0
    for number, text in enumerate(code.assembly.splitlines()):
        if (match := LOCATION.match(text)) is not None:
            line = int(match[1])
        elif number in runs:
            names = layer_names(line_location(code, line, layers))
            lines.append(AnnotatedLine(line, counts[runs[number]], names, text.expandtabs(4)))
        else:
            lines.append(AnnotatedLine(0, 0, (), text.expandtabs(4)))
    return Annotated(title, "assembly", sum(samples.calls[number].total for number in numbers), tuple(lines))
