"""Schedules as text: one loop tree per stage.

```
schedule @dense_relu, 9 primitives
stage dense  (local)   @ relu.j.outer  layers: fc1
  for k in 64
    for i in 4        # unrolled
      for j in 16     # vectorized
        dense[i, j] += p0[i, k] * p1[j, k]
```
A loop of one iteration is left out unless it is marked or computes a stage. Extents are those of the loops that run: an
attached stage computes only what its place needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import BlockArgument

from ...dialects.sizes import Size, same
from ...provenance.span import layer_names
from ...support.errors import ScheduleError
from .bounds import attach_axis, infer_ranges
from .itervar import IterVar
from .loops import LoopPrimitives
from .spelling import expression as expression
from .spelling import formula
from .stage_state import StageState
from .stage_table import StageTable

_WIDTH = 120
_LAYERS = 3


@dataclass(frozen=True)
class Loop:
    """A loop of a stage for display."""

    name: str
    extent: Size
    kind: str
    reduce: bool
    computes: tuple[str, ...]
    """The stages computed in it."""
    notes: tuple[str, ...] = ()
    """Its thread, intrinsic, pragmas and prefetches."""
    depth: int | None = None
    """The number of loops around it, of a hybrid script; None: all before it are."""

    @property
    def marks(self) -> str:
        kind = (*(() if self.kind == "serial" else (self.kind,)), *self.notes)
        inner = (f"computes {', '.join(self.computes)}",) if self.computes else ()
        return ", ".join((*kind, *inner))

    def __str__(self) -> str:
        marks = self.marks
        return f"for {self.name} in {self.extent}" + (f"  # {marks}" if marks else "")


def shown_extents(schedule: StageTable[StageState]) -> Mapping[IterVar, Size]:
    """The extent of every loop; those of whole tensors when the schedule cannot be carried out as it is."""
    try:
        ranges = infer_ranges(schedule)
    except ScheduleError:
        return {axis: axis.extent for stage in schedule.stages for axis in stage.all_iter_vars}
    return {axis: bounds.extent for axis, bounds in ranges.items()}


def loops(schedule: StageTable[StageState], stage: StageState, extents: Mapping[IterVar, Size]) -> list[Loop]:
    """The loops of a stage, outermost first; those of one iteration too, but not what no compute has."""
    inside: dict[IterVar, list[str]] = {}
    for other in schedule.stages:
        if other.attach is not None and other.attach.stage is stage:
            axis = attach_axis(other.attach)
            if axis is not None:
                inside.setdefault(axis, []).append(other.label)
    shown = [axis for axis in stage.leaf if stage.is_compute or axis.sort != "opaque"]
    steps = [axis for axis in shown if axis.sort == "ordered"]
    if steps:
        groups = [group for group in schedule.scan_groups if group.scan is stage.producer]
        inside[steps[-1]] = [s.label for group in groups for s in group.members if s.attach is None and not s.inlined]
    return [
        Loop(
            name=axis.name,
            extent=extents[axis],
            kind=axis.kind,
            reduce=axis.reduce,
            computes=tuple(inside.get(axis, ())),
            notes=_notes(axis),
            depth=depth,
        )
        for axis in shown
        for depth in [stage.script.depth(axis) if isinstance(stage, LoopPrimitives) and stage.script else None]
    ]


def _notes(axis: IterVar) -> tuple[str, ...]:
    thread = (axis.thread.tag,) if axis.thread is not None else ()
    intrin = (axis.intrin.name,) if axis.intrin is not None else ()
    hints = (key if isinstance(value, UnitAttr) else f"{key} = {value}" for key, value in axis.hints.items())
    return (*thread, *intrin, *hints)


def what(stage: StageState) -> str:
    """Return the formula of a stage, in one line."""
    return "" if isinstance(stage.producer, BlockArgument) else "; ".join(formula(stage.producer))


def place(stage: StageState) -> str:
    """Return where a stage is computed: `root`, `inlined`, `@ relu.i.outer`, or `@ total.idx` in the steps of a scan.

    A loop whose name the host has twice is told by its position: `@ relu.i#1`.
    """
    if stage.inlined:
        return "inlined"
    if stage.attach is None:
        return "root" if stage.scan is None else f"@ {stage.scan.label.data}.idx"
    host = stage.attach.stage
    axis = attach_axis(stage.attach) or stage.attach.axis
    twins = [loop.name for loop in host.leaf].count(axis.name) > 1
    return f"@ {host.label}.{axis.name}" + (f"#{host.leaf.index(axis)}" if twins else "")


def show(schedule: StageTable[StageState], count: int) -> str:
    """The number of primitives, and the stages in order, each with its place, scope, layers and loops."""
    extents = shown_extents(schedule)
    lines = [f"schedule @{schedule.func.sym_name.data}, {count} primitive{'s' * (count != 1)}"]
    heads = [_head(stage) for stage in schedule.stages]
    widths = [max(len(head[column]) for head in heads) for column in range(3)] if heads else []
    for stage, head in zip(schedule.stages, heads, strict=True):
        columns = [text.ljust(width) for text, width in zip(head, widths, strict=True) if width]
        line = "  ".join([*columns, _layers(stage)]).rstrip()
        lines.append(f"{line}  {_cut(expression(stage.compute), _WIDTH - len(line))}" if stage.inlined else line)
        if not stage.inlined:
            lines += _tree(schedule, stage, extents)
    return "\n".join(lines)


def _head(stage: StageState) -> tuple[str, str, str]:
    if stage.inlined:
        return f"stage {stage.label}", "inlined", ""
    where = place(stage)
    return f"stage {stage.label}", f"({stage.scope})", "" if where == "root" else where


def _layers(stage: StageState) -> str:
    names = layer_names(stage.location)
    if not names:
        return ""
    more = f", and {len(names) - _LAYERS} more" if len(names) > _LAYERS else ""
    return f"layers: {', '.join(names[:_LAYERS])}{more}"


def _tree(schedule: StageTable[StageState], stage: StageState, extents: Mapping[IterVar, Size]) -> list[str]:
    found = loops(schedule, stage, extents)
    shown = [loop for loop in found if not same(loop.extent, 1) or loop.marks or loop.depth is not None]
    depths = [i if loop.depth is None else loop.depth for i, loop in enumerate(shown)]
    heads = [f"{'  ' * (depth + 1)}for {loop.name} in {loop.extent}" for depth, loop in zip(depths, shown, strict=True)]
    width = max(map(len, heads), default=0)
    lines = [
        f"{head.ljust(width)}  # {loop.marks}" if loop.marks else head for head, loop in zip(heads, shown, strict=True)
    ]
    indent = "  " * (depths[-1] + 2 if depths else 1)
    assert not isinstance(stage.producer, BlockArgument)
    return lines + [indent + _cut(line, _WIDTH - len(indent)) for line in formula(stage.producer)]


def _cut(text: str, width: int) -> str:
    width = max(width, 40)
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."
