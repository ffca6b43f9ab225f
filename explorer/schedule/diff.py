"""The differences between two schedules, as between two snapshots.

```
stage relu
  - place: root
  + place: @ dense.i.outer
  - for i in 64
  + for i.outer in 16
  + for i.inner in 4  # unrolled
    for j in 32
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from ...dialects.sizes import Size
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage import Stage
from ...te.schedule.view import Loop, loops, place, shown_extents, what

Sign: TypeAlias = Literal[" ", "-", "+"]


@dataclass(frozen=True)
class AttributeChange:
    """A property of a stage (`place`, `scope`, `compute`, `storage`) that changed; None on the side that lacks it."""

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        sides: tuple[tuple[Sign, str | None], ...] = (("-", self.before), ("+", self.after))
        return "\n".join(f"{sign} {self.name}: {value}" for sign, value in sides if value is not None)


@dataclass(frozen=True)
class LoopChange:
    """A loop that only the first schedule has (`-`), only the second (`+`), or both."""

    sign: Sign
    loop: Loop

    def __str__(self) -> str:
        return f"{self.sign} {self.loop}"


@dataclass(frozen=True)
class StageDiff:
    """A stage that only one schedule has, or that differs."""

    label: str
    change: Literal["added", "removed", "changed"]
    attributes: tuple[AttributeChange, ...]
    loops: tuple[LoopChange, ...]
    """All loops of both sides in order, outermost first; none when they are the same."""

    def __str__(self) -> str:
        head = f"stage {self.label}" if self.change == "changed" else f"stage {self.label}, {self.change}"
        lines = [line for part in (*self.attributes, *self.loops) for line in str(part).splitlines()]
        return "\n".join([head, *(f"  {line}" for line in lines)])


@dataclass(frozen=True)
class ScheduleDiff:
    """The stages that differ; those only in the first schedule come first."""

    stages: tuple[StageDiff, ...]

    def __bool__(self) -> bool:
        return bool(self.stages)

    def __str__(self) -> str:
        return "\n".join(map(str, self.stages)) if self.stages else "no difference"


@dataclass(frozen=True)
class _Side:
    """The facts of a stage that are compared; empty for a stage that is not there."""

    attributes: dict[str, str]
    loops: Sequence[Loop]


_ABSENT = _Side({}, ())


def diff(a: Schedule, b: Schedule) -> ScheduleDiff:
    """Return what has to change in `a` to get `b`.

    Stages are the same when their labels are. Loops are the same when name, kind, extent and notes are, taken in order;
    so two loops of one name are told apart. An inlined stage has no loops.
    """
    before, after = _sides(a), _sides(b)
    labels = [*(label for label in before if label not in after), *after]
    changes = [_compare(label, before.get(label), after.get(label)) for label in labels]
    return ScheduleDiff(tuple(stage for stage in changes if stage.attributes or stage.loops))


def _sides(schedule: Schedule) -> dict[str, _Side]:
    extents = shown_extents(schedule)
    return {
        stage.label: _Side(_attributes(stage), () if stage.inlined else loops(schedule, stage, extents))
        for stage in schedule.stages
    }


def _attributes(stage: Stage) -> dict[str, str]:
    attributes = {"place": place(stage), "scope": stage.scope, "compute": what(stage)}
    storage = str(stage.storage)
    return attributes | {"storage": storage} if storage else attributes


def _compare(label: str, before: _Side | None, after: _Side | None) -> StageDiff:
    old, new = before or _ABSENT, after or _ABSENT
    attributes = tuple(
        AttributeChange(name, old.attributes.get(name), new.attributes.get(name))
        for name in old.attributes | new.attributes
        if old.attributes.get(name) != new.attributes.get(name)
    )
    change = "added" if before is None else "removed" if after is None else "changed"
    return StageDiff(label, change, attributes, _compare_loops(old.loops, new.loops))


def _compare_loops(before: Sequence[Loop], after: Sequence[Loop]) -> tuple[LoopChange, ...]:
    def keys(loops: Sequence[Loop]) -> list[tuple[str, str, bool, Size, tuple[str, ...]]]:
        return [(loop.name, loop.kind, loop.reduce, loop.extent, loop.notes) for loop in loops]

    changes: list[LoopChange] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, keys(before), keys(after), autojunk=False).get_opcodes():
        if tag == "equal":
            changes += [LoopChange(" ", loop) for loop in after[j:j_end]]
        else:
            changes += [LoopChange("-", loop) for loop in before[i:i_end]]
            changes += [LoopChange("+", loop) for loop in after[j:j_end]]
    return tuple(changes) if any(change.sign != " " for change in changes) else ()
