"""Where stages are computed: inside loops of every kind, steps of scans, beside tiles; stages of several tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.dialects import tir
from whence.dialects.sizes import Size
from whence.kernels import build_schedule, lower
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.bounds import infer_ranges
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.tensor_intrin import TensorIntrin

Array = np.ndarray[Any, Any]


def normal(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def buffers(s: Schedule) -> dict[str | None, tuple[tuple[Size, ...], str, str]]:
    """Of each buffer by its name the shape, the scope, and the kinds of the loops around it."""
    found: dict[str | None, tuple[tuple[Size, ...], str, str]] = {}
    for op in lower(s, simple_mode=True).walk():
        if isinstance(op, tir.AllocOp):
            kinds: list[str] = []
            at = op.parent_op()
            while isinstance(at, tir.ForOp):
                kinds.insert(0, at.kind.data)
                at = at.parent_op()
            type_ = tir.buffer_of(op.result)
            found[op.result.name_hint] = (type_.get_shape(), type_.scope.data, " ".join(kinds))
    return found


def close(s: Schedule, wanted: Array, *inputs: Array) -> None:
    found = build_schedule(s, threads=3)(*inputs)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-6)


def windows() -> tuple[Tensor, Tensor, Schedule]:
    """`C[i, j] = B[i, j] - B[i + 2, j]`, where B is twice A."""
    a = te.placeholder((22, 8), name="A")
    b = te.compute((22, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((20, 8), lambda i, j: b[i, j] - b[i + 2, j], name="C")
    return b, c, te.create_schedule(c)


@pytest.mark.parametrize(
    ("kind", "depth", "wanted"),
    [
        ("vectorize", 0, ((3, 8), "global", "")),
        ("vectorize", 1, ((3, 1), "global", "")),
        ("parallel", 0, ((3, 8), "local", "parallel")),
        ("parallel", 1, ((3, 1), "local", "serial parallel")),
        ("unroll", 0, ((3, 8), "global", "")),
        ("unroll", 1, ((3, 1), "global", "")),
    ],
)
def test_a_stage_in_a_loop_of_each_kind(kind: str, depth: int, wanted: object) -> None:
    """Passes that run in parallel have buffers of their own."""
    b, c, s = windows()
    axis = s[c].axes[depth]
    getattr(s[c], kind)(axis)
    s[b].compute_at(s[c], axis)
    assert buffers(s)["B"] == wanted
    a = normal(22, 8)
    close(s, 2 * a[:20] - 2 * a[2:], a)


def test_a_stage_inside_a_part_of_a_vector_loop() -> None:
    """The loop around it is parallel, the one inside it a vector: each row of the tile once, as vectors."""
    b, c, s = windows()
    i, j = s[c].axes
    i_outer, j_outer, _, j_inner = s[c].tile(i, j, 6, 4)
    s[c].parallel(s[c].fuse(i_outer, j_outer))
    s[c].vectorize(j_inner)
    s[b].compute_at(s[c], s[c].leaf[0])
    s[b].vectorize(s[b].axes[1])
    assert buffers(s)["B"] == ((8, 4), "local", "parallel")
    a = normal(22, 8)
    close(s, 2 * a[:20] - 2 * a[2:], a)


def recurrence() -> tuple[Schedule, dict[str, Tensor]]:
    """`h[t, i] = sum_k x[t, k] w[k, i] + h[t - 1, i]`, with the product in a stage that runs step by step."""
    x, w = te.placeholder((7, 5), name="x"), te.placeholder((5, 6), name="w")
    h = te.placeholder((7, 6), name="h")
    k = te.reduce_axis((0, 5), name="k")
    init = te.compute((1, 6), lambda t, i: te.const(0.0), name="init")
    old = te.compute((7, 6), lambda t, i: h[t - 1, i] * 0.5, name="old")
    new = te.compute((7, 6), lambda t, i: te.sum(x[t, k] * w[k, i], axis=k), name="new")
    update = te.compute((7, 6), lambda t, i: old[t, i] + new[t, i], name="update")
    scan = te.scan(init, update, h, inputs=[x], name="scan")
    out = te.compute((7, 6), lambda t, i: scan[t, i] + 1.0, name="out")
    return te.create_schedule(out, inputs=[x, w]), {"old": old, "new": new, "update": update, "out": out}


def recurrent(x: Array, w: Array) -> Array:
    rows = [np.zeros(w.shape[1], np.float32)]
    for row in x[1:]:
        rows.append(rows[-1] * np.float32(0.5) + row @ w)
    return np.stack(rows) + 1


@pytest.mark.parametrize(("attached", "wanted"), [(False, (1, 6)), (True, (1, 2))])
def test_a_stage_in_the_steps_of_a_scan(attached: bool, wanted: tuple[int, int]) -> None:
    """A row at a time; inside a loop of the update only what that needs of the row."""
    s, tensors = recurrence()
    update, old = s[tensors["update"]], s[tensors["old"]]
    outer, inner = update.split(update.axes[1], 2)
    update.vectorize(inner)
    if attached:
        old.compute_at(update, outer)
        ranges = infer_ranges(s)
        assert [str(ranges[axis]) for axis in old.axes] == [
            "range(min=scan.idx, ext=1)",
            "range(min=i.outer * 2, ext=2)",
        ]
    assert buffers(s)["old"][0] == wanted
    x, w = normal(7, 5), normal(5, 6)
    close(s, recurrent(x, w), x, w)


def test_a_stage_of_two_tensors_inside_its_reader() -> None:
    """Both get buffers, of as much as one pass reads of either."""
    a = te.placeholder((9, 12), name="A")
    half, square = te.compute((9, 12), lambda i, j: (a[i, j] * 0.5, a[i, j] * a[i, j]), name="B")
    c = te.compute((9, 10), lambda i, j: half[i, j] + square[i, j + 2], name="C")
    s = te.create_schedule(c)
    outer, _ = s[c].split(s[c].axes[1], 4)
    s[half].compute_at(s[c], outer)
    assert [shape for shape, *_ in buffers(s).values()] == [(1, 6), (1, 6)]
    x = normal(9, 12)
    close(s, x[:, :10] * 0.5 + x[:, 2:] ** 2, x)


def test_a_reduction_of_two_tensors_inside_its_reader() -> None:
    a = te.placeholder((9, 12), name="A")
    k = te.reduce_axis((0, 12), name="k")

    def both(x: Any, y: Any) -> Any:
        return x[0] + y[0], te.maximum(x[1], y[1])

    def start(first: str, second: str) -> Any:
        return te.const(0.0, first), te.min_value(second)

    reduce = te.comm_reducer(both, start, name="sum_and_max")
    total, top = te.compute((9,), lambda i: reduce((a[i, k], a[i, k]), axis=k), name="B")
    c = te.compute((9,), lambda i: total[i] - top[i], name="C")
    s = te.create_schedule(c)
    outer, _ = s[c].split(s[c].axes[0], 4)
    s[c].parallel(outer)
    s[total].compute_at(s[c], outer)
    s[total].split(s[total].reduce_axes[0], 5)
    assert [(shape, scope) for shape, scope, _ in buffers(s).values()] == [((4,), "local")] * 2
    x = normal(9, 12)
    close(s, x.sum(1) - x.max(1), x)


def gemv(length: int) -> TensorIntrin:
    """Four rows of a matrix by a vector."""
    a, b = te.placeholder((4, length), name="a"), te.placeholder((length,), name="b")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((4,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="c")

    def body(inputs: Any, _: Any) -> Tensor:
        x, y = inputs
        q = te.reduce_axis((0, length), name="q")
        return te.compute((4,), lambda i: te.sum(x[i, q] * y[q], axis=q), name="rows")

    return te.decl_tensor_intrin(c, body, name="gemv")


def product() -> tuple[Schedule, Tensor, Tensor, Tensor]:
    """`D = |2 A v|`, A of 16 x 6."""
    a, v = te.placeholder((16, 6), name="A"), te.placeholder((6,), name="v")
    k = te.reduce_axis((0, 6), name="k")
    b = te.compute((16, 6), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((16,), lambda i: te.sum(b[i, k] * v[k], axis=k), name="C")
    d = te.compute((16,), lambda i: te.abs(c[i]), name="D")
    return te.create_schedule(d, inputs=[a, v]), b, c, d


def test_a_tile_with_its_input_beside_it_inside_its_reader() -> None:
    s, b, c, d = product()
    outer, _ = s[d].split(s[d].axes[0], 8)
    s[d].parallel(outer)
    s[c].compute_at(s[d], outer)
    rows, tile = s[c].split(s[c].axes[0], 4)
    s[b].compute_at(s[c], rows)
    s[c].tensorize(tile, gemv(6))
    found = buffers(s)
    assert (found["B"][:2], found["C"][:2]) == (((4, 6), "local"), ((8,), "local"))
    a, v = normal(16, 6), normal(6)
    close(s, np.abs(2 * a @ v), a, v)


def test_no_stage_inside_a_tile() -> None:
    s, b, c, _ = product()
    _, tile = s[c].split(s[c].axes[0], 4)
    s[b].compute_at(s[c], tile)
    s[c].tensorize(tile, gemv(6))
    with pytest.raises(ScheduleError, match="tensorize: expected no stage inside the tile, got B"):
        lower(s)


def test_a_group_inside_a_stage_that_joins_another() -> None:
    """What is computed in a member stays there, as in TVM."""
    b, c, s = windows()
    first = s.create_group([s[b]], [s.func.block.args[0]])
    cache = s.cache_write(s[c], "global")
    first.compute_at(cache, cache.axes[0])
    s.create_group([s[c]], [cache], include_inputs=True)
    assert s[b].attach_stage is cache
    assert s.primitive_record == ["vanilla", "set_scope", "compute_at"]
    assert str(s.snapshot().sequence) == str(s.sequence)
    a = normal(22, 8)
    close(s, 2 * a[:20] - 2 * a[2:], a)
