"""The distribution of time within kernels: samples of the program counter, joined with debug info.

A sample has the kernel call that it was taken in. Its program counter leads to a run of instructions in the kernel's
object, that to a line of the kernel's TIR, and that, by the call, to layers.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import LocationAttr

from ..lowering.kernel.record import Kernel
from ..lowering.kernel.work import Work
from ..lowering.llvm_to_native.line_table import code_range, line_table
from ..lowering.llvm_to_native.sampler import Sampler
from ..planning.artifact import Artifact, Call
from ..provenance.span import leaves
from ..runtime.program.executor import Runner
from ..runtime.program.threads import ThreadPool
from ..support.dtypes import Array
from .code import kernel_of, run_lines
from .layers import Layer
from .shares import Shares

ENOUGH = 20
"""A call with fewer samples shares its time out by estimates."""


@dataclass(frozen=True)
class CallSamples:
    """The samples of one kernel call."""

    runs: Counter[int] = field(default_factory=Counter[int])
    """By the number of the run of instructions in the object's line table."""
    elsewhere: int = 0
    """Samples of the calling thread outside the kernel's code: in the thread pool, in C functions, in the system."""
    workers: tuple[int, ...] = ()
    """The samples of `runs` in each other thread of the pool."""

    @cached_property
    def total(self) -> int:
        """The number of samples of all threads."""
        return sum(self.runs.values()) + self.elsewhere


@dataclass(frozen=True)
class Samples:
    """The samples of some runs of a model."""

    artifact: Artifact
    calls: tuple[CallSamples, ...]
    """Per call of the artifact."""
    runs: int
    timed: tuple[float, ...]
    """Per call the CPU seconds of all runs together, as `Runner.repeat` has them."""

    @property
    def total(self) -> int:
        """The samples of all calls, in all threads."""
        return sum(call.total for call in self.calls)

    def seconds_of(self, call: int) -> float:
        """The CPU seconds per run of a call."""
        return self.timed[call] / max(self.runs, 1)

    def lines(self, call: int) -> Counter[int]:
        """Line of the kernel's TIR -> samples of a call; line 0 where no line is known, in the kernel or elsewhere.

        A run of instructions without a line, such as spills, counts for the line that is inferred for it.
        """
        kernel = kernel_of(self.artifact, self.artifact.calls[call].kernel)
        line_of_run = run_lines(kernel)
        counts: Counter[int] = Counter()
        for number, count in self.calls[call].runs.items():
            counts[line_of_run[number]] += count
        if self.calls[call].elsewhere:
            counts[0] += self.calls[call].elsewhere
        return counts

    def kernel_lines(self, kernel: int) -> Counter[int]:
        """Return the result of `lines` for all calls of a kernel."""
        counts: Counter[int] = Counter()
        for number, call in enumerate(self.artifact.calls):
            if call.kernel == kernel:
                counts.update(self.lines(number))
        return counts

    def shares(self, number: int, owner: Mapping[LocationAttr, Layer]) -> Shares | None:
        """The part of each layer in a call, by its samples; None where these are too few.

        A line that serves several ops is shared out over them by the samples of lines that serve one alone, where there
        are any, else by their estimated work.
        """
        call = self.artifact.calls[number]
        kernel = kernel_of(self.artifact, call.kernel)
        slots = slot_samples(kernel, self.lines(number))
        total = sum(slots.values())
        if total < ENOUGH:
            return None
        return layer_shares(call, [slots.get(slot, 0.0) / total for slot in range(len(call.layers))], owner)


def layer_shares(call: Call, parts: Sequence[float], owner: Mapping[LocationAttr, Layer]) -> Shares:
    """Layer -> its part, of the parts of slots; an op that several layers became is each one's evenly."""
    totals: Shares = {}
    for part, location in zip(parts, call.layers, strict=True):
        behind = tuple(dict.fromkeys(owner.get(leaf) for leaf in leaves(location))) or (None,)
        for layer in behind:
            totals[layer] = totals.get(layer, 0.0) + part / len(behind)
    return {layer: share for layer, share in totals.items() if share or layer is not None}


def slot_samples(kernel: Kernel, lines: Mapping[int, int]) -> dict[int, float]:
    """Slot -> samples of the lines that it is behind."""
    alone: Counter[int] = Counter()
    several: list[tuple[tuple[int, ...], int]] = []
    for line, count in lines.items():
        slots = kernel.lines[line - 1] if 0 < line <= len(kernel.lines) else ()
        slots = tuple(slot for slot in slots if slot < len(kernel.work))
        if len(slots) == 1:
            alone[slots[0]] += count
        elif slots:
            several.append((slots, count))
    samples: dict[int, float] = {slot: float(count) for slot, count in alone.items()}
    for slots, count in several:
        weights = [float(alone[slot]) for slot in slots]
        if not sum(weights):
            weights = [float(Work(*kernel.work[slot]).weight) for slot in slots]
        if not sum(weights):
            weights = [1.0] * len(slots)
        for slot, weight in zip(slots, weights, strict=True):
            samples[slot] = samples.get(slot, 0.0) + count * weight / sum(weights)
    return samples


def sample(
    artifact: Artifact,
    runner: Runner,
    pool: ThreadPool,
    inputs: Mapping[str, Array],
    *,
    seconds: float,
    period: float,
    runs: int,
) -> Samples:
    """The samples of so many runs at least, for so many seconds at least, one run that warms up left out."""
    runner.run(inputs, pool)
    with Sampler(period, pool.workers()) as sampler:
        start = time.perf_counter()
        done, timed = runner.repeat(
            inputs,
            pool,
            sampler.tag,
            lambda n: not sampler.full and (n < max(runs, 1) or time.perf_counter() - start < seconds),
        )
    return Samples(artifact, _sorted(artifact, runner, sampler), done, tuple(timed))


def _sorted(artifact: Artifact, runner: Runner, sampler: Sampler) -> tuple[CallSamples, ...]:
    """The samples of each call; of other threads those in the code of the call alone, as elsewhere they wait for
    work.
    """
    places: dict[int, tuple[int, int, int]] = {}

    def run_of(number: int, counter: int) -> int:
        """The run of instructions of a call's kernel, -1 for a place outside it."""
        if number < 0:
            return -1
        index = artifact.calls[number].kernel
        kernel = kernel_of(artifact, index)
        if index not in places:
            places[index] = code_range(kernel.object, kernel.symbol, runner.code[kernel.symbol])
        begin, end, section = places[index]
        return line_table(kernel.object).run(section, counter - begin) if begin <= counter < end else -1

    runs: dict[int, Counter[int]] = {number: Counter() for number in range(len(artifact.calls))}
    elsewhere, met = Counter[int](), Counter[tuple[int, int]]()
    for worker, table in enumerate((sampler.samples, *sampler.others), -1):
        rows: list[tuple[int, int]] = table.tolist()
        for (number, counter), count in Counter((tag, counter) for tag, counter in rows).items():
            run = run_of(number, counter)
            if run >= 0:
                runs[number][run] += count
                met[number, worker] += count
            elif worker < 0:
                elsewhere[number] += count
    workers = range(len(sampler.others))
    return tuple(
        CallSamples(counts, elsewhere[number], tuple(met[number, worker] for worker in workers))
        for number, counts in runs.items()
    )
