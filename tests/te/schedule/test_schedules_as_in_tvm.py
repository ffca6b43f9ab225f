"""Schedules as in TVM: several outputs, empty axes, axes of the te language as loops, chains of inlined stages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import te
from whence.dialects import tir
from whence.kernels import lower
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule


def test_two_outputs_of_one_operation_are_two() -> None:
    a = te.placeholder((8,), name="A")
    c, d = te.compute((8,), lambda i: (a[i] + 1.0, a[i] * 2.0), name="both")
    x = np.random.default_rng(0).normal(size=8).astype(np.float32)
    for named in ([c.op, d.op], [c.op], [c, d], [c, d.op]):
        s = te.create_schedule(named)
        assert len(s.func.return_op.values) == 2
        one, two = whence.build_schedule(s)(x)
        np.testing.assert_allclose(one, x + 1, rtol=1e-6)
        np.testing.assert_allclose(two, x * 2, rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
@pytest.mark.parametrize("sizes", [{"factor": 3}, {"nparts": 3}])
def test_empty_axes_fuse_and_split(shape: tuple[int, int], sizes: dict[str, int]) -> None:
    b = te.compute(shape, lambda i, j: i * 1.0 + j, name="B")
    s = te.create_schedule(b)
    s[b].split(s[b].fuse(*b.op.axis), factor=sizes.get("factor"), nparts=sizes.get("nparts"))
    result: Any = whence.build_schedule(s)()
    assert result.shape == shape


@pytest.mark.parametrize("sizes", [{"factor": 3}, {"nparts": 3}])
def test_an_empty_reduction_splits(sizes: dict[str, int]) -> None:
    k = te.reduce_axis((0, 0), name="k")
    a = te.placeholder((4, 0), name="A")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b)
    s[b].split(s[b].fuse(*s[b].split(k, factor=sizes.get("factor"), nparts=sizes.get("nparts"))), 2)
    np.testing.assert_array_equal(whence.build_schedule(s)(np.zeros((4, 0), np.float32)), np.zeros(4))


@pytest.mark.parametrize("vectorized", [False, True])
def test_masked_terms_are_skipped_whatever_the_reduction_starts_from(vectorized: bool) -> None:
    """Ten is not neutral: added for each masked term it would be in the sum several times."""
    k = te.reduce_axis((0, 6), name="k")
    a = te.placeholder((6, 8), name="A")
    total = te.comm_reducer(lambda x, y: x + y, lambda dtype: te.const(10.0, dtype), name="total")
    b = te.compute((8,), lambda i: total(a[k, i], axis=k, where=te.any(k < 2, i == 3)), name="B")
    s = te.create_schedule(b)
    if vectorized:
        s[b].reorder(k, b.op.axis[0])
        s[b].vectorize(b.op.axis[0])
    x = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
    wanted = 10 + x[:2].sum(0)
    wanted[3] = 10 + x[:, 3].sum()
    np.testing.assert_allclose(whence.build_schedule(s)(x), wanted, rtol=1e-5)


def gemm(m: int, n: int, k: int) -> tuple[Tensor, Tensor, Tensor]:
    axis = te.reduce_axis((0, k), name="k")
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    return a, b, te.compute((m, n), lambda i, j: te.sum(a[i, axis] * b[axis, j], axis=axis), name="C")


def test_axes_of_the_language_are_among_the_loops() -> None:
    _, _, c = gemm(8, 8, 8)
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    assert j in s[c].leaf_iter_vars
    assert c.op.reduce_axis[0] in s[c].leaf_iter_vars
    assert s[c].leaf_iter_vars.index(j) == 1
    outer, _ = s[c].split(i, 4)
    assert i not in s[c].leaf_iter_vars
    assert outer in s[c].leaf_iter_vars
    _, _, other = gemm(8, 8, 8)
    assert other.op.axis[1] not in s[c].leaf_iter_vars


def test_the_blocked_gemm_of_the_tutorial() -> None:
    _, _, c = gemm(70, 50, 30)
    s = te.create_schedule(c.op)
    (k,) = c.op.reduce_axis
    cc = s.cache_write(c, "global")
    with pytest.raises(ScheduleError, match=r"axis k .* cache_write made it s\['C.global'\].op.reduce_axis\[0\]"):
        s[c].reorder(k, c.op.axis[0])
    mo, no, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], 16, 16)
    s[cc].compute_at(s[c], no)
    mc, nc = s[cc].op.axis
    (kaxis,) = s[cc].op.reduce_axis
    ko, ki = s[cc].split(kaxis, factor=4)
    s[cc].reorder(ko, mc, ki, nc)
    s[cc].vectorize(nc)
    s[cc].unroll(ki)
    s[c].parallel(mo)
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((70, 30), (30, 50)))
    np.testing.assert_allclose(whence.build_schedule(s)(x, y), x @ y, rtol=1e-4, atol=1e-4)


def chained(count: int, shifted: bool = False) -> Schedule:
    """Stages of which each reads the one before twice, all but the last inlined."""

    def reader(source: Tensor, name: str) -> Tensor:
        return te.compute((8,), lambda i: source[i] * 0.25 + source[i + 1 if shifted else i], name=name)

    tensors: list[Any] = [te.placeholder((8 + count * shifted,), name="A")]
    for number in range(count):
        tensors.append(reader(tensors[-1], f"B{number}"))
    s = te.create_schedule(tensors[-1])
    for tensor in tensors[1:-1]:
        s[tensor].compute_inline()
    return s


def ops_of(s: Schedule) -> int:
    return sum(not isinstance(op, tir.ForOp | tir.PrimFuncOp) for op in lower(s, simple_mode=True).walk())


def test_a_chain_of_inlined_stages_grows_by_what_a_stage_has() -> None:
    few, more = ops_of(chained(8)), ops_of(chained(64))
    assert more - few == 56 * 3


def test_shared_reads_compute_the_same_and_keep_their_stages() -> None:
    x = np.random.default_rng(0).normal(size=8).astype(np.float32)
    np.testing.assert_allclose(whence.build_schedule(chained(16))(x), x * 1.25**16, rtol=1e-5)
    func = lower(chained(3), simple_mode=True)
    found = [str(op.location) for op in func.walk() if op.name == "arith.addf"]
    assert [next(name for name in ("B0", "B1", "B2") if name in text) for text in found] == ["B0", "B1", "B2"]


def test_nested_groups() -> None:
    """A group in a group, placed in a stage of the outer one, which is placed in a stage outside."""

    def more(source: Tensor, name: str) -> Tensor:
        return te.compute((16, 8), lambda i, j: source[i, j] + 1.0, name=name)

    tensors: list[Tensor] = [te.placeholder((16, 8), name="A")]
    for name in "BCDEF":
        tensors.append(more(tensors[-1], name))
    _, b, c, d, e, f = tensors
    s = te.create_schedule(f)
    outer = s.create_group(e, b, include_inputs=True)
    inner = s.create_group(c, b, include_inputs=True)
    assert inner.parent is outer
    assert s[b].group is inner
    assert s[d].group is outer
    with pytest.raises(ScheduleError, match="Can only assign compute_at to stages within the same group"):
        inner.compute_at(s[f], f.op.axis[0])
    outer.compute_at(s[f], f.op.axis[0])
    assert [s[t].attach_stage for t in (b, c, d, e)] == [s[f]] * 4
    inner.compute_at(s[e], e.op.axis[1])
    assert [s[t].attach_stage for t in (b, c, d, e)] == [s[e], s[e], s[f], s[f]]
    inner.compute_root()
    assert s[b].attach_stage is s[f]
    with pytest.raises(ScheduleError, match="Trying to group region that intersect"):
        s.create_group(d, c, include_inputs=True)
    assert str(s.snapshot().sequence) == str(s.sequence)
    assert str(s.snapshot()) == str(s)
    x = np.random.default_rng(0).normal(size=(16, 8)).astype(np.float32)
    np.testing.assert_allclose(whence.build_schedule(s)(x), x + 5, rtol=1e-6)


def test_the_bounds_of_a_gemm_on_a_grid() -> None:
    """The reduction's axis names the loop of what computes it now; axes from before count after normalize."""
    a, b, c = gemm(1024, 1024, 1024)
    (k,) = c.op.reduce_axis
    s = te.create_schedule(c.op)
    cc = s.cache_write(c, "local")
    aa, bb = s.cache_read(a, "shared", [cc]), s.cache_read(b, "shared", [cc])
    grid = [te.thread_axis(tag) for tag in ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")]
    loops: list[Any] = []
    for axis in c.op.axis:
        outer, inner = s[c].split(axis, factor=64)
        loops.append((outer, *s[c].split(inner, nparts=8)))
    order = [loop for level in zip(*loops, strict=True) for loop in level]
    s[c].reorder(*order)
    for loop, thread in zip(order, grid, strict=False):
        s[c].bind(loop, thread)
    s[cc].compute_at(s[c], order[3])
    s[cc].reorder(k, *cc.op.axis)
    s[aa].compute_at(s[cc], k)
    s[bb].compute_at(s[cc], k)
    for bounds in (te.schedule.InferBound(s), te.schedule.InferBound(s.normalize())):
        found = [bounds[axis].extent for axis in (*aa.op.axis, *bb.op.axis, *cc.op.axis, *c.op.axis)]
        assert found == [64, 1, 1, 64, 8, 8, 1024, 1024]
        assert bounds[order[3]].min == 0


def test_a_normalized_schedule_is_built_with_the_same_arguments() -> None:
    a = te.placeholder((5,), name="A")
    b = te.compute((5,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((5,), lambda i: b[i] + 1.0, name="C")
    s = te.create_schedule(c)
    s[b].compute_inline()
    s = s.normalize()
    out = np.zeros(5, np.float32)
    whence.build(s, [a, c])(np.ones(5, np.float32), out)
    np.testing.assert_array_equal(out, np.full(5, 3))


@pytest.mark.parametrize("init", [0, 77])
def test_a_loop_over_data_and_terms(init: int) -> None:
    """What the sums start from is stored for all of its data, before the first term of any."""
    k = te.reduce_axis((0, 5), name="k")
    a, b = te.placeholder((8, 5), "int32", name="A"), te.placeholder((5, 9), "int32", name="B")
    c = te.compute((8, 9), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k, init=init), name="C")
    s = te.create_schedule(c)
    _, inner = s[c].split(s[c].fuse(c.op.axis[1], k), 2)
    with pytest.raises(ScheduleError, match=r"rfactor: expected loops over data or over terms, got .* over both"):
        s.rfactor(c, inner)
    s[c].vectorize(c.op.axis[0])
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, shape).astype(np.int32) for shape in ((8, 5), (5, 9)))
    np.testing.assert_array_equal(whence.build_schedule(s)(x, y), x @ y + init)


def test_terms_that_an_axis_counts() -> None:
    a = te.placeholder((10,), name="A")

    def before(i: Any) -> Any:
        k = te.reduce_axis((0, i), name="k")
        return te.sum(a[k], axis=k)

    x = np.random.default_rng(0).normal(size=10).astype(np.float32)
    found = whence.build_schedule(te.create_schedule(te.compute((10,), before, name="B")))(x)
    np.testing.assert_allclose(found, [x[:i].sum() for i in range(10)], rtol=1e-5, atol=1e-6)


def test_new_stages_look_like_their_tensors() -> None:
    a = te.placeholder((6, 8), name="A")
    c0, c1 = te.compute((6, 8), lambda i, j: (a[i, j] + 1.0, a[i, j] * 2.0), name="C")
    s = te.create_schedule([c0, c1])
    one, two = s.cache_write([c0, c1], "local")
    assert one is two is s["C.local"]
    k = te.reduce_axis((0, 8), name="k")
    total = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="total")
    s = te.create_schedule(total)
    factored = s.rfactor(total, s[total].split(k, 4)[1], 1)
    assert (factored.shape, factored.dtype, factored.name) == ((6, 4), "float32", "total.rf")


def test_marks_by_tvms_numbers() -> None:
    k = te.reduce_axis((0, 8), name="k")
    b = te.compute((8, 8), lambda i, j: te.sum(te.const(1.0) * (i + j + k), axis=k), name="B")
    s = te.create_schedule(b)
    i, j = b.op.axis
    s[b].parallel(i)
    s[b].vectorize(j)
    s[b].unroll(k)
    kinds = te.schedule.IterVar
    assert s[b].iter_var_attrs[i].iter_type == kinds.Parallelized
    assert s[b].iter_var_attrs[j].iter_type == kinds.Vectorized
    assert s[b].iter_var_attrs[k].iter_type == kinds.Unrolled
    assert (b.op.axis[0].iter_type, k.iter_type) == (kinds.DataPar, kinds.CommReduce)
