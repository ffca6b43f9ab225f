"""cache_write: the loops of the stage become the axes of the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence import te
from whence.kernels import build_schedule
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
RNG = np.random.default_rng(13)
A, B = RNG.standard_normal((10, 7)).astype("float32"), RNG.standard_normal((7, 6)).astype("float32")


def matmul() -> tuple[Schedule, Tensor]:
    a, b = te.placeholder((10, 7), name="A"), te.placeholder((7, 6), name="B")
    k = te.reduce_axis((0, 7), name="k")
    c = te.compute((10, 6), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((10, 6), lambda i, j: c[i, j] + 1.0, name="D")
    return te.create_schedule(d, [a, b]), c


def _tile(s: Schedule, c: Tensor) -> None:
    s[c].tile(c.op.axis[0], c.op.axis[1], 4, 3)


def _fuse(s: Schedule, c: Tensor) -> None:
    s[c].split(s[c].fuse(c.op.axis[0], c.op.axis[1]), 7)


LAYOUTS: dict[str, tuple[Callable[[Schedule, Tensor], object], list[str], tuple[int, ...]]] = {
    "plain": (lambda s, c: None, ["i", "j", "k"], (10, 6)),
    "split": (lambda s, c: s[c].split(c.op.axis[1], 2), ["i.c", "j.outer.c", "j.inner.c", "k"], (10, 3, 2)),
    "uneven": (lambda s, c: s[c].split(c.op.axis[0], 4), ["i.outer.c", "i.inner.c", "j.c", "k"], (3, 4, 6)),
    "parts": (lambda s, c: s[c].split(c.op.axis[0], nparts=3), ["i.outer.c", "i.inner.c", "j.c", "k"], (3, 4, 6)),
    "reorder": (lambda s, c: s[c].reorder(c.op.axis[1], c.op.axis[0]), ["j.c", "i.c", "k"], (6, 10)),
    "tile": (_tile, ["i.outer.c", "j.outer.c", "i.inner.c", "j.inner.c", "k"], (3, 2, 4, 3)),
    "fuse": (_fuse, ["i.j.fused.outer.c", "i.j.fused.inner.c", "k"], (9, 7)),
    "singleton": (lambda s, c: s[c].fuse(), ["singleton.c", "i.c", "j.c", "k"], (1, 10, 6)),
    "vectorize": (lambda s, c: s[c].vectorize(c.op.axis[1]), ["i", "j", "k"], (10, 6)),
    "attach": (lambda s, c: s[c].compute_at(s["D"], s["D"].axes[0]), ["i", "j", "k"], (10, 6)),
}


@pytest.mark.parametrize("placed", ["root", "inside", "inlined"])
@pytest.mark.parametrize("case", LAYOUTS)
def test_axes_are_laid_out_anew(replayed: Callable[[Schedule], None], case: str, placed: str) -> None:
    s, c = matmul()
    change, names, shape = LAYOUTS[case]
    change(s, c)
    before = [axis.kind for axis in s[c].axes]
    cache = s.cache_write(c, "local")
    assert cache.label == "C.local"
    assert [axis.name for axis in cache.leaf_iter_vars] == names
    assert cache.compute.shape == shape
    assert [(axis.name, axis.kind) for axis in s["C"].leaf_iter_vars] == [("i", before[0]), ("j", before[1])]
    assert s["C"].relations == []
    if placed == "inside":
        cache.compute_at(s["C"], s["C"].axes[0])
    if placed == "inlined":
        s["C"].compute_inline()
    s.func.verify()
    assert str(s.snapshot().sequence) == str(s.sequence)
    replayed(s)
    np.testing.assert_allclose(build_schedule(s, threads=1)(A, B), A @ B + 1, rtol=1e-4, atol=1e-5)


def test_elementwise_and_custom_reductions() -> None:
    a = te.placeholder((10, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")
    least = te.comm_reducer(
        lambda x, y: (te.select(x[1] <= y[1], x[0], y[0]), te.minimum(x[1], y[1])),
        lambda p, q: (te.const(-1, p), te.max_value(q)),
        name="least",
    )
    twice = te.compute((10, 7), lambda i, j: a[i, j] / (a[i, j] * a[i, j] + 1.0), name="twice")
    at, best = te.compute((10,), lambda i: least((k, twice[i, k]), axis=k), name="best")
    s = te.create_schedule([at, best])
    s[twice].split(twice.op.axis[0], 3)
    s.cache_write(twice, "global")
    s[at].split(at.op.axis[0], 4)
    cache = s.cache_write([at, best], "local")
    assert [output.name_hint for output in cache.compute.results] == ["best.local.v0", "best.local.v1"]
    s.func.verify()
    assert str(s.snapshot().sequence) == str(s.sequence)
    values = A / (A * A + 1)
    found = build_schedule(s, threads=1)(A)
    np.testing.assert_array_equal(found[0], values.argmin(1))
    np.testing.assert_allclose(found[1], values.min(1), rtol=1e-5)
    with pytest.raises(
        ScheduleError, match=r"expected all of the stage's 2 tensors, got 1|expected tensors of one stage"
    ):
        s.cache_write([at, twice], "local")


REFUSED: dict[str, tuple[Callable[[Schedule, Tensor], object], str]] = {
    "reduction": (
        lambda s, c: s[c].split(c.op.reduce_axis[0], 2),
        "cache_write: Can only relayout with in data parallel dimensions",
    ),
    "marked": (
        lambda s, c: s[c].unroll(s[c].split(c.op.axis[0], 2)[1]),
        "cache_write: expected a plain loop, as the cache gets others, got i.inner in 2 # unrolled",
    ),
    "marked reduction": (lambda s, c: s[c].unroll(c.op.reduce_axis[0]), "expected a plain loop"),
    "host": (lambda s, c: s.cache_write(c, "local").compute_at(s[c], s[c].axes[0]), "expected no stage inside 'C'"),
    "scope": (lambda s, c: s.cache_write(c, "texture"), "cache_write: expected a scope among"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_no_trace(case: str) -> None:
    s, c = matmul()
    change, text = REFUSED[case]
    if case == "scope":
        with pytest.raises(ScheduleError, match=text):
            change(s, c)
        return
    change(s, c)
    before = str(s), s.primitive_record, str(s.func)
    with pytest.raises(ScheduleError, match=text):
        s.cache_write(c, "local")
    assert (str(s), s.primitive_record, str(s.func)) == before


def test_a_store_predicate_does_not_reach_past_the_end() -> None:
    s, c = matmul()
    s[c].split(s[c].op.axis[0], factor=4)
    cache = s.cache_write(c, "global")

    def wanted(outer: Any, inner: Any, j: Any) -> Any:
        return te.all(outer >= 0, inner >= 0, j < 6)

    s[cache].set_store_predicate(wanted)
    np.testing.assert_allclose(build_schedule(s)(A, B), A @ B + 1, rtol=1e-5)


def test_a_cache_of_an_uneven_cache_keeps_its_end() -> None:
    a = te.placeholder((1, 7), name="a")
    b = te.compute((1, 7), lambda i, j: a[i, j] + 1.0, name="b")
    c = te.compute((1, 7), lambda i, j: b[i, j] * 2.0, name="c")
    s = te.create_schedule(c.op)
    outer, inner = s[b].split(b.op.axis[1], 3)
    s[b].reorder(outer, b.op.axis[0], inner)
    first = s.cache_write(b, "global")
    second = s.cache_write(first, "global")
    s.cache_read(a, "global", [second])
    x = np.arange(7, dtype=np.float32).reshape(1, 7)
    np.testing.assert_array_equal(build_schedule(s)(x), (x + 1) * 2)
