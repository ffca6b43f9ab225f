"""Where time goes within kernels: samples of the program counter, joined with debug info.

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
from ..runtime.executor import Runner
from ..runtime.threads import ThreadPool
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
    """Of the calling thread outside the kernel's code: in the thread pool, in C functions, in the system."""
    helped: int = 0
    """Those of `runs` that were taken in other threads than the calling one."""
    missed: int = 0
    """Ticks at which the calling thread did not run, as it waited for others, or they had its CPU: time as well."""

    @cached_property
    def total(self) -> int:
        """Of all threads."""
        return sum(self.runs.values()) + self.elsewhere

    @property
    def own(self) -> int:
        """Ticks of the calling thread, sampled or missed: what tells how long the call takes."""
        return self.total - self.helped + self.missed


@dataclass(frozen=True)
class Samples:
    """The samples of some runs of a model."""

    artifact: Artifact
    calls: tuple[CallSamples, ...]
    """Per call of the artifact."""
    between: int
    """Ticks of the calling thread outside all calls."""
    lost: int
    """Ticks of the calling thread at which it did not run."""
    runs: int
    seconds: float
    """Of all runs together."""
    timed: tuple[float, ...] = ()
    """Per call the seconds of all runs together, by the clock."""

    @property
    def total(self) -> int:
        """The samples of all calls, in all threads."""
        return sum(call.total for call in self.calls)

    @cached_property
    def own(self) -> int:
        """The ticks of the calling thread."""
        return sum(call.own for call in self.calls)

    def seconds_of(self, call: int) -> float:
        """Estimated seconds per run of a call: its part of the calling thread's ticks."""
        return self.calls[call].own / max(self.own + self.between, 1) * self.seconds / max(self.runs, 1)

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
        """As `lines`, of all calls of a kernel."""
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
        elapsed = time.perf_counter() - start
    by_call = _sorted(artifact, runner, sampler.samples.tolist(), sampler.others.tolist())
    calls = tuple(by_call[number] for number in range(len(artifact.calls)))
    return Samples(artifact, calls, by_call[-1].own, sampler.lost, done, elapsed, tuple(timed))


def _sorted(
    artifact: Artifact, runner: Runner, own: Sequence[Sequence[int]], others: Sequence[Sequence[int]]
) -> dict[int, CallSamples]:
    """The samples of each call, and under -1 those of none; of other threads those in the code of the call alone, as
    elsewhere they wait for work.
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

    runs: dict[int, Counter[int]] = {number: Counter() for number in range(-1, len(artifact.calls))}
    elsewhere, helped, missed = Counter[int](), Counter[int](), Counter[int]()
    for number, _, ticks in own:
        missed[number] += ticks
    for rows, around, inside in ((own, elsewhere, Counter[int]()), (others, Counter[int](), helped)):
        for (number, counter), count in Counter((tag, counter) for tag, counter, _ in rows).items():
            run = run_of(number, counter)
            if run >= 0:
                runs[number][run] += count
                inside[number] += count
            else:
                around[number] += count
    return {
        number: CallSamples(counts, elsewhere[number], helped[number], missed[number])
        for number, counts in runs.items()
    }
