"""Each primitive: what it computes, what it records, and what it refuses without a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import whence
from whence import te
from whence.dialects import tir
from whence.kernels import lower
from whence.support.context import PassContext
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.tensor_intrin import TensorIntrin

Array = NDArray[Any]
RNG = np.random.default_rng(3)
A, B, X = RNG.standard_normal((16, 26)), RNG.standard_normal((26, 12)), RNG.standard_normal((42, 16))


def matmul() -> tuple[Schedule, Tensor, Tensor]:
    """`C = A B`, and A."""
    a, b = te.placeholder((16, 26), "float64", name="A"), te.placeholder((26, 12), "float64", name="B")
    k = te.reduce_axis((0, 26), name="k")
    c = te.compute((16, 12), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c), c, a


def stencil() -> tuple[Schedule, Tensor, Tensor]:
    """`Q[i] = P[i] + P[i + 2]` of `P = 2 X`."""
    x = te.placeholder((42, 16), "float64", name="X")
    p = te.compute((42, 16), lambda i, j: x[i, j] * 2.0, name="P")
    q = te.compute((40, 16), lambda i, j: p[i, j] + p[i + 2, j], name="Q")
    return te.create_schedule(q), p, q


def gemv(rows: int, length: int) -> TensorIntrin:
    a, b = te.placeholder((rows, length), "float64", name="a"), te.placeholder((length,), "float64", name="b")

    def dot(x: Tensor, y: Tensor) -> Tensor:
        k = te.reduce_axis((0, length), name="k")
        return te.compute((rows,), lambda i: te.sum(x[i, k] * y[k], axis=k), name="c")

    def body(ins: Any, outs: Any) -> Schedule:
        del outs
        schedule = te.create_schedule(dot(*ins), list(ins))
        stage = schedule["c"]
        stage.reorder(stage.reduce_axes[0], stage.axes[0])
        return schedule

    return te.decl_tensor_intrin(dot(a, b), body, name="gemv")


def _tensorize(s: Schedule, c: Tensor, whole: bool) -> None:
    (i, j), (k,) = c.op.axis, c.op.reduce_axis
    outer, inner = s[c].split(i, 8)
    if whole:
        s[c].reorder(outer, j, inner, k)
        return s[c].tensorize(inner, gemv(8, 26))
    k_outer, k_inner = s[c].split(k, 13)
    s[c].reorder(outer, j, k_outer, inner, k_inner)
    s[c].tensorize(inner, gemv(8, 13))


def _rfactor(s: Schedule, c: Tensor, which: int, at: int) -> None:
    stage = s.rfactor(c, s[c].split(c.op.reduce_axis[0], 4)[which], at)
    stage.parallel(stage.op.axis[0])


def _cache_read(s: Schedule, c: Tensor, a: Tensor) -> None:
    s.cache_read(a, "local", c).compute_at(s[c], s[c].split(c.op.axis[0], nparts=5)[0])


def _bind(s: Schedule, c: Tensor) -> None:
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(c.op.axis[1], te.thread_axis((0, 12), "threadIdx.x"))
    s[c].bind(c.op.reduce_axis[0], te.thread_axis("threadIdx.y"))


MATMUL: dict[str, tuple[Callable[[Schedule, Tensor, Tensor], object], list[str]]] = {
    "nparts": (lambda s, c, _: s[c].split(c.op.axis[0], nparts=5), ["split_by_nparts"]),
    "fuse": (lambda s, c, _: s[c].fuse(*c.op.axis), ["fuse", "fuse"]),
    "fuse reversed": (lambda s, c, _: s[c].fuse(*reversed(c.op.axis)), ["fuse", "fuse"]),
    "fuse one": (lambda s, c, _: s[c].fuse(c.op.axis[0]), ["fuse"]),
    "fuse none": (lambda s, c, _: s[c].fuse(), ["fuse"]),
    "cache_read": (_cache_read, ["set_scope", "split_by_nparts", "compute_at"]),
    "rfactor inner": (lambda s, c, _: _rfactor(s, c, 1, 0), ["split", "parallel"]),
    "rfactor outer": (lambda s, c, _: _rfactor(s, c, 0, -1), ["split", "parallel"]),
    "bind": (lambda s, c, _: _bind(s, c), ["bind", "bind", "bind"]),
    "pragma": (lambda s, c, _: s[c].pragma(c.op.axis[0], "novector"), ["pragma"]),
    "pragma unroll": (lambda s, c, _: s[c].pragma(c.op.axis[0], "unroll"), ["unroll"]),
    "pragma vectorize": (lambda s, c, _: s[c].pragma(c.op.axis[1], "vectorize"), ["vectorize"]),
    "prefetch": (lambda s, c, a: s[c].prefetch(a, c.op.axis[0], 1), ["prefetch"]),
    "tensorize": (lambda s, c, _: _tensorize(s, c, True), ["split", "reorder", "tensorize"]),
    "tensorize part": (lambda s, c, _: _tensorize(s, c, False), ["split", "split", "reorder", "tensorize"]),
    "predicate": (lambda s, c, _: s[c].set_store_predicate(c.op.axis[0] < 16), ["set_store_predicate"]),
}


@pytest.mark.parametrize("case", MATMUL)
def test_on_matmul(case: str):
    s, c, a = matmul()
    change, names = MATMUL[case]
    change(s, c, a)
    assert s.primitive_record == ["vanilla", *names]
    assert len(s.schedule_record) == len(names) + 1
    assert str(s.snapshot().sequence) == str(s.sequence)
    s.sequence.verify()
    np.testing.assert_allclose(whence.build_schedule(s, threads=2)(A, B), A @ B, rtol=1e-12)


def blocked(i: Any, j: Any) -> list[Any]:
    return [j // 4, te.AXIS_SEPARATOR, i, j % 4]


def rows_of_four(i: Any, j: Any) -> list[Any]:
    return [i // 4, j, i % 4]


def second_first(a: Any, b: Any, c: Any) -> list[Any]:
    return [b, a, c]


def one_row(i: Any, j: Any) -> list[Any]:
    del j
    return [i]


def backwards(i: Any, j: Any) -> list[Any]:
    return [i, j * -1]


def product(i: Any, j: Any) -> list[Any]:
    return [i * j]


def of_one_axis(i: Any) -> list[Any]:
    return [i]


STENCIL: dict[str, Callable[[Schedule, Tensor, Tensor], object]] = {
    "align": lambda s, p, _: s[p].storage_align(p.op.axis[0], 8, 3),
    "align the last": lambda s, p, _: s[p].storage_align(p.op.axis[1], 4, 3),
    "layout": lambda s, p, _: s[p].transform_layout(blocked),
    "separators": lambda s, p, _: s[p].set_axis_separators([1]),
    "double": lambda s, p, q: (s[p].compute_at(s[q], q.op.axis[0]), s[p].double_buffer()),
    "rolling": lambda s, p, q: (s[p].compute_at(s[q], q.op.axis[0]), s[p].rolling_buffer()),
    "rolling local": lambda s, p, q: (
        s[p].compute_at(s[q], s[q].split(q.op.axis[0], 7)[1]),
        s[p].set_scope("local"),
        s[p].rolling_buffer(),
    ),
    "group": lambda s, p, q: s.create_group([p], p.op.input_tensors).compute_at(s[q], q.op.axis[0]),
}


@pytest.mark.parametrize("case", STENCIL)
def test_on_a_stencil(case: str):
    s, p, q = stencil()
    STENCIL[case](s, p, q)
    assert str(s.snapshot().sequence) == str(s.sequence)
    s.sequence.verify()
    np.testing.assert_allclose(whence.build_schedule(s, threads=2)(X), 2 * (X[:-2] + X[2:]), rtol=1e-12)


def test_rolling_computes_each_row_once():
    s, p, q = stencil()
    s[p].compute_at(s[q], q.op.axis[0])
    s[p].rolling_buffer()
    (alloc,) = [op for op in lower(s, simple_mode=True).walk() if isinstance(op, tir.AllocOp)]
    assert alloc.result.type.get_shape() == (3, 16)
    (branch,) = [op for op in lower(s, simple_mode=True).walk() if isinstance(op, tir.IfOp)]
    assert branch.orelse is not None
    first, others = ([op.trip_count for op in r.walk() if isinstance(op, tir.ForOp)] for r in branch.regions)
    assert (first, others) == ([3, 16], [16])


def test_a_false_predicate_stores_nothing():
    x = te.placeholder((8,), name="x")
    p = te.compute((8,), lambda i: x[i] + 1.0, name="P")
    q = te.compute((8,), lambda i: te.if_then_else(i < 3, p[i], 0.0), name="Q")
    s = te.create_schedule(q)
    s[p].set_store_predicate(te.all(p.op.axis[0] < 3, p.op.axis[0] >= 0))
    data = np.arange(8, dtype=np.float32)
    want = np.where(np.arange(8) < 3, data + 1, 0)
    np.testing.assert_array_equal(whence.build_schedule(s)(data), want)
    guards = [op for op in lower(s, simple_mode=True).walk() if isinstance(op, tir.IfOp)]
    assert guards


REFUSED: dict[str, tuple[Callable[[Schedule, Tensor, Tensor], object], str]] = {
    "both": (lambda s, c, _: s[c].split(c.op.axis[0], 2, nparts=2), "split: expected either factor or nparts"),
    "twice": (lambda s, c, _: s[c].fuse(c.op.axis[0], c.op.axis[0]), "consecutive between each other"),
    "no thread": (lambda s, c, _: s[c].bind(c.op.axis[0], "x"), "Cannot rebase by x, only thread axis is allowed"),  # pyright: ignore[reportArgumentType]
    "blocks of a sum": (
        lambda s, c, _: s[c].bind(c.op.reduce_axis[0], te.thread_axis("blockIdx.x")),
        "Cannot bind CommReduce axis k",
    ),
    "env_threads": (
        lambda s, c, _: s[c].env_threads([te.thread_axis("blockIdx.x")]),
        "env_threads is only valid for composite ops such as ScanOp",
    ),
    "no reader": (lambda s, c, a: s.cache_read(c, "local", c), "Cannot find C in the inputs of C"),
    "scope": (lambda s, c, a: s.cache_read(a, "texture", c), "cache_read: expected a scope among"),
    "factor a data axis": (lambda s, c, _: s.rfactor(c, c.op.axis[0]), "Can only factor CommReduce axis"),
    "factor axis": (lambda s, c, _: s.rfactor(c, c.op.reduce_axis[0], 3), "expected a factor axis from 0 to 2, got 3"),
    "align an output": (lambda s, c, _: s[c].storage_align(c.op.axis[0], 8, 0), "Cannot apply storage align on output"),
    "align a sum": (lambda s, c, _: s[c].storage_align(c.op.reduce_axis[0], 8, 0), "expected a data axis"),
    "double an output": (lambda s, c, _: s[c].double_buffer(), "Cannot apply double buffer on output"),
    "roll an output": (lambda s, c, _: s[c].rolling_buffer(), "Cannot apply rolling buffer on output"),
    "separators": (lambda s, c, _: s[c].set_axis_separators([2, 1]), "expected increasing axis separators from 0 to 2"),
    "predicate": (
        lambda s, c, _: s[c].set_store_predicate(c.op.axis[0] * c.op.axis[1] < 3),
        "expected an affine expression",
    ),
    "pragma": (lambda s, c, _: s[c].pragma(c.op.axis[0], "a b"), "expected the name of a pragma"),
    "prefetch": (lambda s, c, _: s[c].prefetch("nothing", c.op.axis[0], 1), "Cannot find the operation nothing"),
    "tile of another size": (lambda s, c, _: s[c].tensorize(c.op.axis[1], gemv(8, 26)), "tensorize: expected a tile"),
    "no stages": (lambda s, c, a: s.create_group([a], [c]), "create_group: expected stages"),
    "key": (lambda s, c, _: s[3], "Expect schedule key to be Tensor or Operation"),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_no_trace(case: str):
    s, c, a = matmul()
    change, text = REFUSED[case]
    before = str(s), s.primitive_record, str(s.func)
    with pytest.raises(ScheduleError, match=text):
        change(s, c, a)
    assert (str(s), s.primitive_record, str(s.func)) == before


NO_LAYOUTS: list[tuple[Callable[..., Any], str]] = [
    (one_row, "a place of its own"),
    (backwards, "indices of at least 0"),
    (product, "expected an affine expression"),
    (of_one_axis, "positional argument"),
]


@pytest.mark.parametrize(("layout", "text"), NO_LAYOUTS)
def test_layouts_that_are_none(layout: Callable[..., Any], text: str):
    s, p, _ = stencil()
    with pytest.raises(ScheduleError, match=text):
        s[p].transform_layout(layout)
    assert s.primitive_record == ["vanilla"]


def test_threads_have_one_extent():
    s, p, q = stencil()
    thread = te.thread_axis("threadIdx.x")
    s[p].bind(p.op.axis[0], thread)
    s[q].bind(q.op.axis[0], thread)
    with pytest.raises(ScheduleError, match=r"bind: expected the extent 42 of threadIdx.x, got 40 of i .stage 'Q'"):
        lower(s)


def test_a_second_thread_warns():
    s, c, _ = matmul()
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.warns(UserWarning, match="i was bound to threadIdx.x"):
        s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.y"))


def test_a_tile_of_another_body_is_refused():
    x, y = te.placeholder((16, 8), "float64", name="x"), te.placeholder((16, 8), "float64", name="y")
    z = te.compute((16, 8), lambda i, j: x[i, j] - y[i, j], name="z")
    a, b = te.placeholder((8,), "float64", name="a"), te.placeholder((8,), "float64", name="b")
    add = te.compute((8,), lambda i: a[i] + b[i], name="c")
    intrin = te.decl_tensor_intrin(add, lambda ins, _: te.compute((8,), lambda i: ins[0][i] + ins[1][i]), name="vadd")
    s = te.create_schedule(z)
    with pytest.raises(ScheduleError, match=r"tensorize: expected arith.addf, got arith.subf .intrinsic 'vadd'"):
        s[z].tensorize(z.op.axis[1], intrin)
    assert s.primitive_record == ["vanilla"]


def test_a_replacement_must_look_like_its_pattern():
    a = te.placeholder((8,), name="a")
    with pytest.raises(ScheduleError, match="decl_tensor_intrin: expected a replacement of"):
        te.decl_tensor_intrin(
            te.compute((8,), lambda i: a[i] + 1.0), lambda ins, _: te.compute((4,), lambda i: ins[0][i] + 1.0)
        )


def test_groups():
    s, p, q = stencil()
    s[p].compute_at(s[q], q.op.axis[0])
    with pytest.warns(UserWarning, match="stage 'P' was computed inside a loop across the group's border"):
        group = s.create_group([p], p.op.input_tensors)
    assert s[p].attach is None
    assert s.primitive_record == ["vanilla", "compute_at", "compute_root"]
    with pytest.raises(ScheduleError, match="Can only assign compute_at to stages within the same group"):
        s[p].compute_at(s[q], q.op.axis[0])
    group.compute_at(s[q], q.op.axis[1])
    assert s[p].attach is not None
    group.compute_root()
    assert s[p].attach is None


def test_normalize_leaves_the_original():
    s, p, q = stencil()
    s[p].compute_at(s[q], q.op.axis[0])
    _, inner = s[q].split(q.op.axis[0], 4)
    fused = s[q].fuse(inner, q.op.axis[1])
    n = s.normalize()
    attach = n["P"].attach
    assert attach is not None
    assert attach.axis.name == fused.name
    mine = s[p].attach
    assert mine is not None
    assert mine.axis is s[q].axes[0]
    s[p].compute_inline()
    assert [stage.label for stage in s.normalize().stages] == ["Q"]
    assert [stage.label for stage in s.stages] == ["P", "Q"]


def test_the_record_can_be_left_out():
    with PassContext(config={"te.keep_schedule_record": False}):
        s, c, _ = matmul()
    s[c].unroll(c.op.axis[0])
    assert s.primitive_record == s.schedule_record == []
    np.testing.assert_allclose(whence.build_schedule(s)(A, B), A @ B, rtol=1e-12)


def test_a_reader_outside_the_loop_is_named():
    x = te.placeholder((8,), name="x")
    p = te.compute((8,), lambda i: x[i] + 1.0, name="P")
    q = te.compute((8,), lambda i: p[i] * 2.0, name="Q")
    r = te.compute((8,), lambda i: q[i] + p[i], name="R")
    s = te.create_schedule(r)
    s[p].compute_at(s[q], q.op.axis[0])
    with pytest.raises(ScheduleError, match="stage 'P' is computed inside 'Q', but read outside by 'R'"):
        lower(s)


def test_layouts_follow_each_other():
    s, p, _ = stencil()
    s[p].transform_layout(rows_of_four)
    s[p].transform_layout(second_first)
    (alloc,) = [op for op in lower(s, simple_mode=True).walk() if isinstance(op, tir.AllocOp)]
    assert alloc.result.type.get_shape() == (16, 11, 4)
    assert str(s.snapshot()) == str(s)
    np.testing.assert_allclose(whence.build_schedule(s, threads=2)(X), 2 * (X[:-2] + X[2:]), rtol=1e-12)
    with pytest.raises(ScheduleError, match="takes 2 positional arguments but 3 were given"):
        s[p].transform_layout(blocked)


ROLLING: dict[str, tuple[Callable[[Schedule, Tensor, Tensor], object], str]] = {
    "root": (lambda s, p, q: s[p].rolling_buffer(), "expected a stage that is computed in a loop, got one at the root"),
    "parallel": (
        lambda s, p, q: (
            s[p].compute_at(s[q], q.op.axis[0]),
            s[q].parallel(q.op.axis[0]),
            s[p].rolling_buffer(),
        ),
        "expected a serial loop along one axis of the stage, got i",
    ),
    "two axes": (
        lambda s, p, q: (s[p].compute_at(s[q], s[q].fuse(*q.op.axis)), s[p].rolling_buffer()),
        "expected a serial loop along one axis of the stage, got i.j.fused",
    ),
    "double": (lambda s, p, q: (s[p].double_buffer(), s[p].rolling_buffer()), "exists once, got a double buffer"),
    "double after": (lambda s, p, q: (s[p].rolling_buffer(), s[p].double_buffer()), "got one that is rolling"),
    "aligned": (
        lambda s, p, q: (s[p].rolling_buffer(), s[p].storage_align(p.op.axis[0], 8, 3)),
        "got one with a layout or rolling",
    ),
    "layout": (lambda s, p, q: (s[p].rolling_buffer(), s[p].transform_layout(blocked)), "aligned or rolling"),
    "layout before": (lambda s, p, q: (s[p].transform_layout(blocked), s[p].rolling_buffer()), "one with a layout"),
}


@pytest.mark.parametrize("case", ROLLING)
def test_what_cannot_roll(case: str):
    s, p, q = stencil()
    change, text = ROLLING[case]

    def attempt() -> None:
        change(s, p, q)
        lower(s)

    with pytest.raises(ScheduleError, match=text):
        attempt()
