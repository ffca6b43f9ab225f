"""Primitives drawn at random: every one of Stage and Schedule, with arguments that are often legal and often not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from whence import te
from whence.dialects import te as te_dialect
from whence.te.schedule.group import Group, ScanGroup
from whence.te.schedule.itervar import IterVar
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.stage import Stage

Dice = random.Random
Step = Callable[[Dice, Schedule, Stage], object]


def _axis(r: Dice, stage: Stage) -> IterVar:
    """A loop of the stage; now and then an axis that is none any more, or of another stage."""
    if r.random() < 0.04:
        return r.choice(r.choice(stage.record.table.stages).all_iter_vars or stage.all_iter_vars)
    return r.choice(stage.leaf)


def _extent(r: Dice) -> int:
    return r.choice((1, 2, 3, 4, 4, 5, 7, 8, 8, 16, 32)) if r.random() < 0.98 else r.choice((0, -1))


def _scope(r: Dice) -> str:
    return r.choice(("global", "local", "shared")) if r.random() < 0.97 else "texture"


def _readers(s: Schedule, tensor: SSAValue) -> list[Stage]:
    return [stage for stage in s.stages if tensor in stage.inputs]


def _host(r: Dice, s: Schedule, stage: Stage) -> Stage:
    """A stage to be computed in: mostly one that reads it."""
    readers = [reader for output in stage.outputs for reader in _readers(s, output) if reader.leaf]
    return r.choice(readers if readers and r.random() < 0.9 else [other for other in s.stages if other.leaf])


def _fuse(r: Dice, _: Schedule, stage: Stage) -> object:
    first = r.randrange(len(stage.leaf))
    axes = stage.leaf[first : first + r.randint(1, 3)]
    return stage.fuse(*(reversed(axes) if r.random() < 0.1 else axes))


def _reorder(r: Dice, _: Schedule, stage: Stage) -> None:
    axes = r.sample(stage.leaf, r.randint(1, len(stage.leaf)))
    stage.reorder(*axes, *(axes[:1] if r.random() < 0.03 else ()))


def _tile(r: Dice, _: Schedule, stage: Stage) -> object:
    return stage.tile(_axis(r, stage), _axis(r, stage), _extent(r), _extent(r))


def _compute_at(r: Dice, s: Schedule, stage: Stage) -> None:
    host = _host(r, s, stage)
    stage.compute_at(host, r.choice(host.leaf))


def _tensor(r: Dice, s: Schedule, stage: Stage) -> SSAValue:
    """A tensor that the stage reads, or any."""
    given = [*s.func.block.args, *(output for other in s.stages for output in other.outputs)]
    return r.choice(list(stage.inputs)) if stage.inputs and r.random() < 0.95 else r.choice(given)


def _cache_read(r: Dice, s: Schedule, stage: Stage) -> object:
    tensor = _tensor(r, s, stage)
    readers = _readers(s, tensor)
    some = r.sample(readers, r.randint(1, len(readers))) if readers and r.random() < 0.9 else [r.choice(s.stages)]
    return s.cache_read(tensor, _scope(r), some)


def _layout(r: Dice, s: Schedule, stage: Stage) -> None:
    if s.placeholders and r.random() < 0.3:
        stage = r.choice(list(s.placeholders.values()))
    rank = len(stage.shape)
    factor, order = r.randint(1, 4), r.sample(range(rank), rank)
    draw = r.random()

    def layout(*axes: Any) -> list[Any]:
        first, *others = (axes[i] for i in order)
        if draw < 0.1:
            return [te.floordiv(first, factor), *others]
        if draw < 0.3:
            return [first, te.AXIS_SEPARATOR, *others]
        return [te.floordiv(first, factor), *others, te.floormod(first, factor)]

    stage.transform_layout(layout)


def _create_group(r: Dice, s: Schedule, stage: Stage) -> object:
    sources = [_tensor(r, s, r.choice(s.stages)) for _ in range(r.randint(1, 2))]
    return s.create_group([stage], sources, r.random() < 0.5)


def _group(r: Dice, s: Schedule) -> Group | ScanGroup | None:
    groups = [group for group in s.groups if isinstance(group, Group | ScanGroup)]
    return r.choice(groups) if groups else None


def _group_at(r: Dice, s: Schedule, stage: Stage) -> object:
    if (group := _group(r, s)) is None:
        return _create_group(r, s, stage)
    host = _host(r, s, s[r.choice(group.members)])
    return group.compute_at(host, r.choice(host.leaf))


def _group_root(r: Dice, s: Schedule, stage: Stage) -> object:
    group = _group(r, s)
    return group.compute_root() if group is not None else _create_group(r, s, stage)


def _pragma(r: Dice, _: Schedule, stage: Stage) -> None:
    key, value = r.choice((("auto_unroll_max_step", 4), ("unroll", None), ("vectorize", None), ("note", "text")))
    stage.pragma(_axis(r, stage), key, value)


def _bind(r: Dice, _: Schedule, stage: Stage) -> None:
    stage.bind(_axis(r, stage), te.thread_axis(r.choice(("blockIdx.x", "threadIdx.x", "threadIdx.y"))))


def _rfactor(r: Dice, s: Schedule, stage: Stage) -> object:
    reduce = [axis for axis in stage.leaf if axis.reduce]
    axis = r.choice(reduce) if reduce and r.random() < 0.9 else _axis(r, stage)
    return s.rfactor(stage, axis, r.randint(-1, len(stage.axes)))


def _split(r: Dice, _: Schedule, stage: Stage) -> object:
    return stage.split(_axis(r, stage), _extent(r))


def _split_by_nparts(r: Dice, _: Schedule, stage: Stage) -> object:
    return stage.split(_axis(r, stage), nparts=_extent(r))


def _vectorize(r: Dice, _: Schedule, stage: Stage) -> None:
    stage.vectorize(r.choice(stage.leaf[-2:]))


def _predicate(_: Dice, __: Schedule, stage: Stage) -> None:
    """One that holds everywhere, in a way that has to be computed."""
    stage.set_store_predicate(lambda *axes: te.all(axes[0] >= 0, axes[-1] < 1 << 20))


STEPS: dict[str, tuple[int, Step]] = {
    "split": (6, _split),
    "split_by_nparts": (3, _split_by_nparts),
    "fuse": (4, _fuse),
    "singleton": (1, lambda _, __, stage: stage.fuse()),
    "reorder": (5, _reorder),
    "tile": (2, _tile),
    "unroll": (2, lambda r, _, stage: stage.unroll(_axis(r, stage))),
    "vectorize": (4, _vectorize),
    "parallel": (3, lambda r, _, stage: stage.parallel(_axis(r, stage))),
    "bind": (1, _bind),
    "pragma": (1, _pragma),
    "prefetch": (1, lambda r, s, stage: stage.prefetch(_tensor(r, s, stage), _axis(r, stage), r.randint(0, 3))),
    "compute_at": (9, _compute_at),
    "compute_inline": (2, lambda _, __, stage: stage.compute_inline()),
    "compute_root": (1, lambda _, __, stage: stage.compute_root()),
    "set_scope": (2, lambda r, _, stage: stage.set_scope(_scope(r))),
    "cache_read": (3, _cache_read),
    "cache_write": (4, lambda r, s, stage: s.cache_write(stage, _scope(r))),
    "rfactor": (3, _rfactor),
    "create_group": (1, _create_group),
    "group.compute_at": (2, _group_at),
    "group.compute_root": (1, _group_root),
    "storage_align": (1, lambda r, _, s: s.storage_align(_axis(r, s), r.randint(1, 8), r.choice((0, 0, 1, 3)))),
    "double_buffer": (1, lambda _, __, stage: stage.double_buffer()),
    "rolling_buffer": (3, lambda _, __, stage: stage.rolling_buffer()),
    "transform_layout": (3, _layout),
    "set_store_predicate": (1, _predicate),
    "set_axis_separators": (1, lambda r, _, s: s.set_axis_separators([r.randint(0, len(s.axes) + 1)])),
}
"""Name -> how often it is drawn, and what it does to a stage."""
_NAMES = list(STEPS)
_WEIGHTS = [weight for weight, _ in STEPS.values()]


def draw(r: Dice, schedule: Schedule) -> tuple[str, Callable[[], object]]:
    """A primitive's name, and what applies it."""
    (name,) = r.choices(_NAMES, _WEIGHTS)
    stages = [stage for stage in schedule.stages if stage.leaf and isinstance(stage.producer, te_dialect.ComputeOp)]
    stage = r.choice(stages)
    return name, lambda: STEPS[name][1](r, schedule, stage)
