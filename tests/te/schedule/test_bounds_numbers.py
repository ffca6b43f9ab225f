"""The numbers of bound inference: extents of splits, regions of attached stages, threads and storage scopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.dialects import tir
from whence.dialects.sizes import Size
from whence.kernels import build_schedule, lower
from whence.support.context import PassContext
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.bounds import infer_bounds, infer_ranges
from whence.te.schedule.itervar import IterVar
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.stage import Stage


def copies(*shape: Any) -> tuple[Tensor, Tensor, Tensor]:
    """An input and two stages that add one to it."""
    a = te.placeholder(shape, name="A")

    def more(tensor: Tensor, name: str) -> Tensor:
        def body(*i: Any) -> Any:
            return tensor(*i) + 1.0

        return te.compute(shape, body, name=name)

    b = more(a, "B")
    return a, b, more(b, "C")


def extents(s: Schedule, *axes: IterVar) -> list[Size]:
    ranges = infer_ranges(s)
    return [ranges[axis].extent for axis in axes]


def region(s: Schedule, stage: Stage) -> list[str]:
    ranges = infer_ranges(s)
    return [str(ranges[axis]) for axis in stage.axes]


def path(s: Schedule) -> list[str]:
    """The ops from the outermost loop to the innermost place, first child by first child."""
    op = next(op for op in lower(s, simple_mode=True).block.ops if not isinstance(op, tir.AllocOp))
    found: list[str] = []
    while op is not None:
        found.append(op.name)
        op = op.regions[0].block.first_op if op.regions else None
    return found


def branches(s: Schedule) -> list[tir.IfOp]:
    return [op for op in lower(s, simple_mode=True).walk() if isinstance(op, tir.IfOp)]


@pytest.mark.parametrize(
    ("extent", "factor", "nparts", "wanted"),
    [
        (16, 4, None, [4, 4]),
        (13, 4, None, [4, 4]),
        (8, 32, None, [1, 8]),
        (13, None, 4, [4, 4]),
        (8, None, 32, [8, 1]),
    ],
)
def test_extents_of_a_split(extent: int, factor: int | None, nparts: int | None, wanted: list[int]) -> None:
    """The outer extent is the axis by the factor, rounded up; no part is larger than the axis."""
    *_, c = copies(extent)
    s = te.create_schedule(c)
    outer, inner = s[c].split(s[c].axes[0], factor, nparts=nparts)
    assert extents(s, outer, inner) == wanted


def test_a_split_without_rest_has_no_guard() -> None:
    m = te.var("m")
    _, _, c = copies(m * 8)
    s = te.create_schedule(c, sizes={"m": 5})
    outer, inner = s[c].split(s[c].axes[0], 8)
    assert extents(s, outer, inner) == [5, 8]
    assert not branches(s)


def test_a_split_with_a_rest_has_one_guard_inside_both_loops() -> None:
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b)
    s[b].split(s[b].axes[0], factor=5)
    assert path(s)[:3] == ["tir.for", "tir.for", "tir.if"]
    (branch,) = branches(s)
    assert branch.likely is not None
    assert len(branch.guard.data.results) == 1


def test_a_condition_that_two_splits_need_is_there_once() -> None:
    """All of C's tile is behind the end of B when it is behind the end of C."""
    _, b, c = copies(16)
    s = te.create_schedule(c)
    outer, _ = s[c].split(s[c].axes[0], factor=5)
    s[b].compute_at(s[c], outer)
    s[b].split(s[b].axes[0], nparts=1)
    assert [len(branch.guard.data.results) for branch in branches(s)] == [1, 1]


def test_a_fused_and_split_axis() -> None:
    """Rows of 6, three points at a time: each pass is in one row, from its first or fourth point on."""
    _, b, c = copies(7, 6)
    s = te.create_schedule(c)
    outer, _ = s[c].split(s[c].fuse(*s[c].axes), 3)
    s[b].compute_at(s[c], outer)
    bounds = infer_bounds(s)[s[b]]
    starts = [interval.start.eval([5], []) for interval in bounds.region]
    assert bounds.around == (outer,)
    assert starts == [2, 3]
    assert extents(s, *s[b].axes) == [1, 3]


@pytest.mark.parametrize("rows", range(1, 7))
@pytest.mark.parametrize("width", range(1, 7))
@pytest.mark.parametrize("factor", range(1, 7))
def test_rows_that_a_split_of_a_fused_axis_touches(rows: int, width: int, factor: int) -> None:
    """The region is as high as the pass that touches most rows needs, and starts in its first row."""
    _, b, c = copies(rows, width)
    s = te.create_schedule(c)
    outer, _ = s[c].split(s[c].fuse(*s[c].axes), factor)
    s[b].compute_at(s[c], outer)
    bounds = infer_bounds(s)[s[b]]
    row = bounds.region[0]
    factor = min(factor, rows * width)
    most = 0
    for step in range(-(-rows * width // factor)):
        first, last = step * factor // width, (step * factor + factor - 1) // width
        start = row.start.eval([step], [])
        assert start <= first
        assert start + row.extent > min(last, rows - 1)
        most = max(most, last - first + 1)
    assert row.extent == min(most, rows)


@pytest.mark.parametrize(
    ("scope", "wanted"),
    [
        ("local", ["range(min=i0.outer * 4, ext=4)", "range(min=i1, ext=1)"]),
        ("shared", ["range(min=i0.outer * 4, ext=4)", "range(min=0, ext=12)"]),
        ("global", ["range(min=0, ext=16)", "range(min=0, ext=12)"]),
    ],
)
def test_a_buffer_holds_what_all_threads_that_reach_it_read(scope: str, wanted: list[str]) -> None:
    """A block shares `shared` memory, a thread keeps `local` memory to itself, everybody reaches `global` memory."""
    a, b, c = copies(16, 12)
    s = te.create_schedule(c)
    i, j = s[c].axes
    outer, inner = s[c].split(i, 4)
    s[c].reorder(outer, j, inner)
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[c].bind(j, te.thread_axis("threadIdx.x"))
    s[b].set_scope(scope)
    s[b].compute_at(s[c], j)
    assert region(s, s[b]) == wanted
    x = np.random.default_rng(0).standard_normal((16, 12)).astype("float32")
    np.testing.assert_array_equal(build_schedule(s, threads=2)(x), x + np.float32(1) + np.float32(1))
    assert a.shape == (16, 12)


def test_a_cache_in_shared_memory() -> None:
    a, b, c = copies(16, 12)
    s = te.create_schedule(c)
    s[b].compute_inline()
    cache = s.cache_read(a, "shared", s[b])
    s[c].bind(s[c].axes[0], te.thread_axis("blockIdx.x"))
    s[c].bind(s[c].axes[1], te.thread_axis("threadIdx.x"))
    cache.compute_at(s[c], s[c].axes[1])
    assert region(s, cache) == ["range(min=i0, ext=1)", "range(min=0, ext=12)"]


def test_the_start_of_a_reduction_is_at_its_first_loop() -> None:
    """Outside of the loops of the reduction, and of the data loops inside those."""
    a = te.placeholder((6, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    b = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b)
    outer, inner = s[b].split(s[b].axes[0], 3)
    s[b].reorder(outer, s[b].reduce_axes[0], inner)
    (first,) = [op for op in lower(s, simple_mode=True).block.ops if isinstance(op, tir.ForOp)]
    start, update = [op for op in first.block.ops if isinstance(op, tir.ForOp)]
    assert (first.var.name_hint, start.var.name_hint, update.var.name_hint) == ("i.outer", "i.inner", "k")
    assert not any(isinstance(op, tir.LoadOp) for op in start.walk())


def test_stages_inside_one_another_are_refused() -> None:
    _, b, c = copies(4)
    d = te.compute((4,), lambda i: c[i] + 1.0, name="D")
    s = te.create_schedule(d)
    with pytest.raises(ScheduleError, match="Find loop in compute_at attach group"):
        s[b].compute_at(s[b], s[b].axes[0])
    s[b].compute_at(s[c], s[c].axes[0])
    with pytest.raises(ScheduleError, match="Find loop in compute_at attach group"):
        s[c].compute_at(s[b], s[b].axes[0])


def test_loops_of_one_pass_are_kept_on_request() -> None:
    _, b, c = copies(1, 8)
    s = te.create_schedule(c)
    s[c].split(s[c].axes[1], 8)
    s[b].compute_at(s[c], s[c].axes[0])
    assert sum(name == "tir.for" for name in path(s)) == 1
    with PassContext(config={"tir.debug_keep_trivial_loop": True}):
        kept = lower(s, simple_mode=True)
    counts = [op.trip_count for op in kept.walk() if isinstance(op, tir.ForOp)]
    assert sorted(counts) == [1, 1, 1, 8, 8]


@pytest.mark.parametrize("order", [1, -1])
def test_the_region_of_several_readers_is_the_union_of_theirs(order: int) -> None:
    """Rows i and i + 1 for one reader, columns 2 to 6 for another: 2 rows of 5 columns, whichever comes first."""
    a = te.placeholder((10, 8), name="A")
    b = te.compute((10, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[i, 2] + b[i + 1, 3], name="C")
    d = te.compute((8,), lambda i: b[i, 6] * 2.0, name="D")
    first, second = (c, d)[::order]
    e = te.compute((8,), lambda i: first[i] - second[i], name="E")
    s = te.create_schedule(e)
    for tensor in (b, c, d):
        s[tensor].compute_at(s[e], s[e].axes[0])
    assert region(s, s[b]) == ["range(min=i, ext=2)", "range(min=2, ext=5)"]
    x = np.random.default_rng(0).normal(size=(10, 8)).astype(np.float32)
    wanted = (x[:8, 2] + x[1:9, 3] + 2) - (x[:8, 6] + 1) * 2
    np.testing.assert_allclose(build_schedule(s)(x), wanted * order, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("parts", "factor", "size"), [(1, 32, 97), (2, 20, 49), (1, 96, 97), (4, 9, 25)])
def test_a_tile_is_as_large_as_what_it_holds_not_as_loops_that_run_past_it(parts: int, factor: int, size: int) -> None:
    a = te.placeholder((1000,), name="A")
    b = te.compute((1000,), lambda i: a[i] + 1, name="B")
    c = te.compute((97,), lambda i: b[i] * 2, name="C")
    s = te.create_schedule(c)
    outer, inner = s[c].split(c.op.axis[0], nparts=parts)
    s[c].split(inner, factor)
    s[b].compute_at(s[c], outer)
    assert [interval.extent for interval in infer_bounds(s)[s[b]].region] == [size]
    x = np.random.default_rng(0).standard_normal(1000).astype("float32")
    np.testing.assert_allclose(build_schedule(s)(x), (x[:97] + 1) * 2, rtol=1e-6)
