"""Random primitives on random graphs: a schedule changes how a function is computed, never what."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import whence
from whence import te
from whence.provenance.diagnostics import ScheduleError
from whence.te.itervar import IterVar
from whence.te.schedule import Schedule
from whence.te.stage import Stage
from whence.te.tensor import Tensor

CASES = 60
PRIMITIVES = 12
Chance = random.Random


def matmul(r: Chance) -> Tensor:
    m, n, k = (r.randint(1, 19) for _ in range(3))
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    axis = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, axis] * b[axis, j], axis=axis), name="C")
    bias = te.compute((m, n), lambda i, j: c[i, j] + b[0, j], name="D")
    return te.compute((m, n), lambda i, j: te.maximum(bias[i, j], 0.0), name="E")


def convolution(r: Chance) -> Tensor:
    channels, filters, size, kernel = r.randint(1, 3), r.randint(1, 4), r.randint(3, 9), r.randint(1, 3)
    stride, pad = r.randint(1, 2), r.randint(0, 1)
    x = te.placeholder((channels, size, size), name="X")
    w = te.placeholder((filters, channels, kernel, kernel), name="W")
    length = size + 2 * pad
    out = (length - kernel) // stride + 1

    def padded(c: Any, i: Any, j: Any) -> Any:
        inside = te.all(i >= pad, i < size + pad, j >= pad, j < size + pad)
        return te.if_then_else(inside, x[c, i - pad, j - pad], 0.0)

    p = te.compute((channels, length, length), padded, name="pad")
    c, u, v = (te.reduce_axis((0, n), name=name) for n, name in ((channels, "c"), (kernel, "u"), (kernel, "v")))
    y = te.compute(
        (filters, out, out),
        lambda f, i, j: te.sum(p[c, i * stride + u, j * stride + v] * w[f, c, u, v], axis=[c, u, v]),
        name="Y",
    )
    return te.compute((filters, out, out), lambda f, i, j: y[f, i, j] * 0.5, name="Z")


def pooling(r: Chance) -> Tensor:
    n, window = r.randint(4, 17), r.randint(1, 4)
    x = te.placeholder((n, n), name="X")
    y = te.compute((n, n), lambda i, j: x[i, j] + 1.0, name="Y")
    u, v = te.reduce_axis((0, window), name="u"), te.reduce_axis((0, window), name="v")
    rest = n - window + 1
    return te.compute((rest, rest), lambda i, j: te.max(y[i + u, j + v], axis=[u, v]), name="P")


def chain(r: Chance) -> Tensor:
    m, n = r.randint(1, 20), r.randint(3, 20)
    x = te.placeholder((m, n), name="X")
    a = te.compute((m, n), lambda i, j: x[i, j] * 2.0, name="A")
    b = te.compute((m, n - 2), lambda i, j: a[i, j] + a[i, j + 1] + a[i, j + 2], name="B")
    c = te.compute((n - 2, m), lambda i, j: b[j, i] - 1.0, name="C")
    return te.compute((n - 2, m), lambda i, j: c[i, j] * c[i, j] + x[j, i], name="D")


def normalised(r: Chance) -> Tensor:
    m, n = r.randint(1, 12), r.randint(1, 25)
    x = te.placeholder((m, n), name="X")
    k = te.reduce_axis((0, n), name="k")
    total = te.compute((m,), lambda i: te.sum(te.abs(x[i, k]), axis=k), name="T")
    y = te.compute((m, n), lambda i, j: x[i, j] / (total[i] + 1.0), name="Y")
    q = te.reduce_axis((0, m), name="q")
    return te.compute((n,), lambda j: te.sum(y[q, j], axis=q), name="R")


GRAPHS: tuple[Callable[[Chance], Tensor], ...] = (matmul, convolution, pooling, chain, normalised)
Step = Callable[[Chance, Schedule, Stage], object]


def _axis(r: Chance, stage: Stage) -> IterVar:
    return r.choice(stage.leaf)


def _fuse(r: Chance, _: Schedule, stage: Stage) -> object:
    first = r.randrange(len(stage.leaf))
    return stage.fuse(*stage.leaf[first : first + r.randint(1, 3)])


def _reorder(r: Chance, _: Schedule, stage: Stage) -> None:
    stage.reorder(*r.sample(stage.leaf, r.randint(1, len(stage.leaf))))


def _tile(r: Chance, _: Schedule, stage: Stage) -> object:
    return stage.tile(_axis(r, stage), _axis(r, stage), r.randint(1, 5), r.randint(1, 5))


def _compute_at(r: Chance, s: Schedule, stage: Stage) -> None:
    host = r.choice(s.stages)
    stage.compute_at(host, _axis(r, host))


def _cache_read(r: Chance, s: Schedule, stage: Stage) -> object:
    tensor = r.choice(stage.compute.reads).tensor
    readers = [other for other in s.stages if any(read.tensor is tensor for read in other.compute.reads)]
    cache = s.cache_read(tensor, r.choice(("global", "local")), r.sample(readers, r.randint(1, len(readers))))
    host = r.choice(s.stages)
    return cache.compute_at(host, _axis(r, host)) if r.random() < 0.6 else None


def _layout(r: Chance, _: Schedule, stage: Stage) -> None:
    factor, order = r.randint(1, 4), r.sample(range(len(stage.axes)), len(stage.axes))

    def layout(*axes: Any) -> list[Any]:
        first, *others = (axes[i] for i in order)
        return [te.floordiv(first, factor), *others, te.floormod(first, factor)]

    stage.transform_layout(layout)


def _group(r: Chance, s: Schedule, stage: Stage) -> None:
    sources = [read.tensor for read in r.choice(s.stages).compute.reads]
    group = s.create_group([stage], sources, r.random() < 0.5)
    host = r.choice(s.stages)
    group.compute_at(host, _axis(r, host))


STEPS: dict[str, Step] = {
    "split": lambda r, _, stage: stage.split(_axis(r, stage), r.randint(1, 6)),
    "split_by_nparts": lambda r, _, stage: stage.split(_axis(r, stage), nparts=r.randint(1, 6)),
    "fuse": _fuse,
    "singleton": lambda _, __, stage: stage.fuse(),
    "reorder": _reorder,
    "tile": _tile,
    "unroll": lambda r, _, stage: stage.unroll(_axis(r, stage)),
    "vectorize": lambda r, _, stage: stage.vectorize(_axis(r, stage)),
    "parallel": lambda r, _, stage: stage.parallel(_axis(r, stage)),
    "bind": lambda r, _, stage: stage.bind(_axis(r, stage), te.thread_axis(f"{r.choice(('block', 'thread'))}Idx.x")),
    "pragma": lambda r, _, stage: stage.pragma(_axis(r, stage), "auto_unroll_max_step", 4),
    "prefetch": lambda r, _, stage: stage.prefetch(stage.compute.reads[0].tensor, _axis(r, stage), 1),
    "compute_at": _compute_at,
    "compute_inline": lambda _, __, stage: stage.compute_inline(),
    "compute_root": lambda _, __, stage: stage.compute_root(),
    "set_scope": lambda r, _, stage: stage.set_scope(r.choice(("global", "local"))),
    "cache_read": _cache_read,
    "cache_write": lambda r, s, stage: s.cache_write(stage, r.choice(("global", "local"))),
    "rfactor": lambda r, s, stage: s.rfactor(stage, _axis(r, stage), r.randint(0, len(stage.axes))),
    "create_group": _group,
    "storage_align": lambda r, _, stage: stage.storage_align(r.choice(stage.axes), r.randint(1, 8), 0),
    "double_buffer": lambda _, __, stage: stage.double_buffer(),
    "rolling_buffer": lambda _, __, stage: stage.rolling_buffer(),
    "transform_layout": _layout,
    "store_predicate": lambda _, __, stage: stage.set_store_predicate(lambda *axes: axes[0] < 1 << 20),
    "set_axis_separators": lambda r, _, stage: stage.set_axis_separators([r.randint(0, len(stage.axes))]),
}


def scheduled(r: Chance, schedule: Schedule) -> tuple[Schedule, list[str]]:
    """Up to PRIMITIVES legal primitives, each tried on a copy."""
    names: list[str] = []
    for _ in range(3 * PRIMITIVES):
        if len(names) == PRIMITIVES:
            break
        trial = schedule.snapshot()
        name = r.choice(list(STEPS))
        before = str(trial.sequence)
        try:
            STEPS[name](r, trial, r.choice(trial.stages))
        except ScheduleError:
            # Several primitives in one step may have gone half way; a single one may not.
            assert name in ("cache_read", "create_group") or _primitives(str(trial.sequence)) == _primitives(before)
            continue
        try:
            whence.lower(trial, simple_mode=True)
        except ScheduleError:
            continue
        schedule = trial
        names.append(name)
    return schedule, names


def _primitives(text: str) -> list[str]:
    naming = ("schedule.stage ", "schedule.axes ", "schedule.argument ", "schedule.thread ")
    return [line for line in text.splitlines() if not any(name in line for name in naming)]


def check(seed: int) -> None:
    """One random graph, as it is and scheduled, on the same data."""
    r = Chance(seed)
    output = GRAPHS[seed % len(GRAPHS)](r)
    plain = te.create_schedule(output)
    final, names = scheduled(r, plain)
    data = np.random.default_rng(seed)
    shapes = [cast(Any, value.type).get_shape() for value in plain.func.block.args]
    arrays: list[NDArray[Any]] = [data.standard_normal(shape, dtype=np.float32) for shape in shapes]
    wanted = whence.build_schedule(plain, threads=1)(*arrays)
    found = whence.build_schedule(final, threads=2)(*arrays)
    text = f"seed {seed}: {names}\n{final.sequence}"
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=2e-5, atol=2e-5, err_msg=text)


@pytest.mark.filterwarnings("ignore:create_group|bind")
@pytest.mark.parametrize("seed", range(CASES))
def test_a_schedule_changes_no_result(seed: int):
    check(seed)
