"""Primitives that are legal after a frame: candidates by rule, each tried on a copy of the schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...dialects.sizes.kernel import nominal
from ...lowering.kernel.printing import printed
from ...support.errors import ScheduleError
from ...te.schedule.bounds import infer_bounds, readings
from ...te.schedule.itervar import IterVar
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage import Stage
from .budget import UNLIMITED, Budget
from .costs import CostModel
from .films import NextPrimitive

_FACTORS = (4, 16, 64)
_UNROLLED = 16
"""The most iterations of a loop that is worth unrolling."""
_PLACES = 4
"""The innermost loops of a reader that a stage may be computed in."""
_TRIED = 40
_ALIKE = 3
"""The most that are kept of one primitive on one stage."""
MOST = 12
"""The number of legal primitives that are kept, the cheapest ones."""


@dataclass(frozen=True)
class _Candidate:
    call: str
    apply: Callable[[Schedule], object]


def next_primitives(
    schedule: Schedule, count: int, model: CostModel, budget: Budget = UNLIMITED
) -> tuple[list[NextPrimitive], bool]:
    """Primitives that can follow the first `count` of a schedule, the cheapest schedule first; False: some more may.

    A primitive is legal when the schedule takes it and the bounds of all loops can still be inferred.
    """
    here = schedule.snapshot(count)
    stem = _lines(here)
    legal: list[NextPrimitive] = []
    complete = True
    for tried, candidate in enumerate(_candidates(here)):
        if tried == _TRIED:
            break
        if not (complete := budget.lasts()):
            break
        copy = schedule.snapshot(count)
        try:
            candidate.apply(copy)
            bounds = infer_bounds(copy)
        except ScheduleError:
            continue
        legal.append(NextPrimitive(candidate.call, _lines(copy)[len(stem) :], model(copy, bounds)))
    legal.sort(key=lambda primitive: primitive.cost.seconds if primitive.cost is not None else 0.0)
    kinds = Counter[str]()
    kept: list[NextPrimitive] = []
    for primitive in legal:
        # `s["C"].split`
        kind = primitive.call.partition("(")[0]
        kinds[kind] += 1
        if kinds[kind] <= _ALIKE:
            kept.append(primitive)
    return kept[:MOST], complete


def _lines(schedule: Schedule) -> list[str]:
    """The lines of a sequence, without the one that closes it."""
    return printed(schedule.sequence).splitlines()[:-1]


def _candidates(schedule: Schedule) -> Iterator[_Candidate]:
    """By kinds of primitives, those of the stages that are computed last first."""
    stages = [stage for stage in reversed(schedule.computes) if not stage.inlined]
    for kind in (_marked, _split, _placed, _swapped):
        for stage in stages:
            yield from kind(schedule, stage)


def _plain(axis: IterVar) -> bool:
    return axis.kind == "serial" and axis.thread is None and axis.sort in ("data", "reduce")


def _of(stage: Stage, primitive: str, *positions: int, **more: int) -> _Candidate:
    """A primitive of a stage's loops."""
    label = stage.label
    names = [stage.leaf[position].name for position in positions]
    arguments = ", ".join([*names, *map(str, more.values())])

    def apply(copy: Schedule) -> None:
        twin = copy[label]
        getattr(twin, primitive)(*(twin.leaf[position] for position in positions), *more.values())

    return _Candidate(f's["{label}"].{primitive}({arguments})', apply)


def _marked(_: Schedule, stage: Stage) -> Iterator[_Candidate]:
    leaf = stage.leaf
    if not leaf:
        return
    last = len(leaf) - 1
    if _plain(leaf[last]) and not leaf[last].reduce:
        yield _of(stage, "vectorize", last)
    for position in range(last, max(last - 3, -1), -1):
        if _plain(leaf[position]) and 1 < nominal(leaf[position].extent) <= _UNROLLED:
            yield _of(stage, "unroll", position)
    if stage.attach is None and _plain(leaf[0]) and not leaf[0].reduce and nominal(leaf[0].extent) > 1:
        yield _of(stage, "parallel", 0)


def _split(_: Schedule, stage: Stage) -> Iterator[_Candidate]:
    long = [i for i, axis in enumerate(stage.leaf) if _plain(axis) and nominal(axis.extent) > _FACTORS[0]]
    for position in long[-3:]:
        for factor in _FACTORS:
            if factor < nominal(stage.leaf[position].extent):
                yield _of(stage, "split", position, factor=factor)


def _placed(schedule: Schedule, stage: Stage) -> Iterator[_Candidate]:
    label = stage.label
    if stage.is_output:
        if stage.compute.reducer is not None:
            yield _Candidate(f's.cache_write("{label}", "local")', lambda copy: copy.cache_write(label, "local"))
        return
    if stage.compute.reducer is None:
        yield _Candidate(f's["{label}"].compute_inline()', lambda copy: copy[label].compute_inline())
    for reader in dict.fromkeys(reader for reader, _ in readings(schedule)[stage]):
        for position in range(len(reader.leaf) - 1, max(len(reader.leaf) - 1 - _PLACES, -1), -1):
            if reader.leaf[position].sort in ("data", "reduce"):
                yield _at(label, reader.label, position, reader.leaf[position].name)


def _at(label: str, host: str, position: int, axis: str) -> _Candidate:
    return _Candidate(
        f's["{label}"].compute_at(s["{host}"], {axis})',
        lambda copy: copy[label].compute_at(copy[host], copy[host].leaf[position]),
    )


def _swapped(_: Schedule, stage: Stage) -> Iterator[_Candidate]:
    for position in range(len(stage.leaf) - 1, 0, -1):
        if all(_plain(axis) and nominal(axis.extent) > 1 for axis in stage.leaf[position - 1 : position + 1]):
            yield _of(stage, "reorder", position, position - 1)
