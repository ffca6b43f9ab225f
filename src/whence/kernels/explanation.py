"""Explanations of schedules: for each primitive the loops before and after, its cost, and what may come next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from whence.explorer.report import seconds
from whence.explorer.session.block_films import block_film
from whence.explorer.session.schedules import film
from whence.kernels.building import build_prim_func, build_schedule, only_kernel
from whence.kernels.schedule_text import random_inputs
from whence.lowering.llvm_to_native.target import Target
from whence.runtime.program.timing import Timing
from whence.support.doors import door
from whence.support.errors import PipelineError, ScheduleError, expectation
from whence.support.markup import folded, html_table, preformatted
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.view import trees as block_trees
from whence.te.schedule.create import with_sizes
from whence.te.schedule.schedule import Schedule

_OPEN = 64
"""The value of sizes that are open, where a schedule is measured."""
_BATCH_MS = 2.0
_REPEATS = 5
_NEXT = 4
"""Primitives that the text shows, of those that may come next."""
_WIDTH = 58


@dataclass(frozen=True)
class Next:
    """A primitive that is legal after a step."""

    call: str
    """The call in Python, `s["C"].split(i, 16)`."""
    estimate: float | None
    """Seconds of a call of the kernel then, by rule."""


@dataclass(frozen=True)
class Step:
    """A schedule after one more primitive; the first step is that before any."""

    primitive: str
    at: str
    """`file.py:12`, the line that issued it, if the schedule keeps these (`te.keep_primitive_lines`)."""
    before: tuple[str, ...]
    """The loops of the stages that it changes."""
    after: tuple[str, ...]
    estimate: float | None
    """Seconds of a call by rule (`explorer/session/costs.py`); None where no rule fits."""
    measured: float | None
    """The median seconds of a call; None where it was not measured, or cannot be carried out as it is."""
    error: str
    """The reason why it cannot be carried out as it is; "" where it can."""
    next: tuple[Next, ...]
    """Legal primitives, those of the least estimate first."""


@dataclass(frozen=True)
class Explanation:
    """The steps of a schedule, as text, and in a notebook as a table."""

    name: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n\n".join([f"schedule @{self.name}", *("\n".join(self._lines(at)) for at in range(len(self.steps)))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row per primitive, and behind each the loops and the next primitives."""
        header = ("", "primitive", "estimate", "measured")
        rows = [(at, self._title(step), *_costs(step)) for at, step in enumerate(self.steps)]
        details = [
            folded(
                f"{at}. {self._title(step)}", preformatted("\n".join([*_beside(step.before, step.after), *_next(step)]))
            )
            for at, step in enumerate(self.steps)
        ]
        return html_table(rows, header) + "".join(details)

    def _lines(self, at: int) -> list[str]:
        step = self.steps[at]
        estimate, measured = _costs(step)
        head = f"{at}. {self._title(step)}"
        lines = [head, f"   estimate {estimate}, measured {measured}{self._gain(at)}"]
        if step.error:
            lines.append(f"   not as it is: {step.error}")
        return lines + [f"   {line}" for line in (*_beside(step.before, step.after), *_next(step))]

    def _title(self, step: Step) -> str:
        return (step.primitive or "no primitive yet") + (f"  ({step.at})" if step.at else "")

    def _gain(self, at: int) -> str:
        """The speed relative to the last step that was measured."""
        now = self.steps[at].measured
        before = next((step.measured for step in reversed(self.steps[:at]) if step.measured), None)
        return f", {before / now:.2f} times as fast as before" if now and before else ""


@door()
def explain(
    schedule: Schedule | BlockSchedule,
    *,
    target: str | Target = "native",
    threads: int | None = 1,
    measure: bool = True,
    seed: int = 0,
) -> Explanation:
    """Explain a schedule, which stays as it is: what each of its primitives did, and what may come next.

    measure: build and run the kernel after each primitive, on random inputs; open sizes are 64. target, threads: of the
    estimate and the kernels. Raises PipelineError for a target that does not run here and is to be measured.
    """
    machine = target if isinstance(target, Target) else Target.parse(target)
    if measure and not machine.host:
        raise PipelineError(expectation("explain", "measure=False, as the target is another machine", "measure=True"))
    if isinstance(schedule, BlockSchedule):
        name, frames = schedule.sequence.target.data, block_film(schedule).frames
    else:
        name = schedule.func.sym_name.data
        frames = film(schedule, machine.hardware, threads or machine.hardware.cores).frames
    steps: list[Step] = []
    before: dict[str, list[str]] = {}
    for number, frame in enumerate(frames):
        now = schedule.snapshot(number)
        trees = block_trees(now.module) if isinstance(now, BlockSchedule) else _trees(now)
        changed = [label for label in {**before, **trees} if before.get(label) != trees.get(label)]
        steps.append(
            Step(
                primitive=frame.primitive,
                at=frame.at,
                before=tuple(line for label in changed for line in before.get(label, ())),
                after=tuple(line for label in changed for line in trees.get(label, ())),
                estimate=frame.cost.seconds if frame.cost is not None else None,
                measured=_measured(now, machine, threads, seed) if measure and not frame.error else None,
                error=frame.error,
                next=tuple(Next(one.call, one.cost.seconds if one.cost is not None else None) for one in frame.next),
            )
        )
        before = trees
    return Explanation(name, tuple(steps))


def _trees(schedule: Schedule) -> dict[str, list[str]]:
    """The lines of each stage in the text of a schedule, by the first of them."""
    trees: dict[str, list[str]] = {}
    for line in str(schedule).splitlines()[1:]:
        if line.startswith("stage "):
            label = line.split()[1]
            trees[label] = []
        trees[label].append(line)  # pyright: ignore[reportPossiblyUnboundVariable]
    return trees


def _measured(schedule: Schedule | BlockSchedule, target: Target, threads: int | None, seed: int) -> float | None:
    """The median seconds of a call; None for a schedule that cannot be carried out."""
    try:
        if isinstance(schedule, BlockSchedule):
            function = build_prim_func(only_kernel(schedule.module), target=target, threads=threads)
        else:
            if schedule.open is not None:
                schedule = with_sizes(schedule, dict.fromkeys(schedule.open.names, _OPEN))
            function = build_schedule(schedule, target=target, threads=threads)
    except ScheduleError:
        return None
    if function.sizes:
        function = function.at((_OPEN,) * len(function.sizes))
    inputs = random_inputs(function, np.random.default_rng(seed))
    timing = Timing(number=1, repeat=_REPEATS, min_repeat_ms=_BATCH_MS)
    return float(np.median(timing.measure(lambda: function(*inputs)).results))


def _costs(step: Step) -> tuple[str, str]:
    estimate, measured = ("none" if value is None else seconds(value) for value in (step.estimate, step.measured))
    return estimate, measured


def _beside(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Two texts in columns."""
    width = min(_WIDTH, max(map(len, before), default=0))
    return [
        f"{left[:width].ljust(width)}  ->  {right}".rstrip() if before else right
        for left, right in zip_longest(before, after, fillvalue="")
    ]


def _next(step: Step) -> list[str]:
    shown = [one.call + (f" ({seconds(one.estimate)})" if one.estimate is not None else "") for one in step.next]
    more = f", and {len(shown) - _NEXT} more" if len(shown) > _NEXT else ""
    return [f"next: {'; '.join(shown[:_NEXT])}{more}"] if shown else []
