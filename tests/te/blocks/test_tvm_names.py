"""TVM's names around schedules of blocks: checks for tests, statements of handles, and equality of what comes out."""
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from block_kernels import MM

import whence
from whence import ir, tir
from whence.kernels.building import parsed_prim_func
from whence.script import from_source
from whence.script import tir as T
from whence.support.errors import ScheduleError
from whence.te.blocks.trace import Trace
from whence.te.language.statements import For, ForKind
from whence.testing import as_tvm
from whence.tir.schedule import testing


@T.prim_func
def twice(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0


@T.prim_func
def twice_in_parallel(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i in T.parallel(8):
        for j in range(4):
            with T.block("named otherwise"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * 2.0


def test_kernels_of_schedules_are_compared_with_those_that_somebody_wrote():
    s = tir.Schedule(twice)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        testing.assert_structural_equal_ignore_global_symbol(s.mod["main"], twice_in_parallel)
    s.parallel(s.get_loops("B")[0])
    testing.assert_structural_equal_ignore_global_symbol(s.mod["main"], twice_in_parallel)
    assert not ir.structural_equal(s.mod["main"], twice_in_parallel)
    made, written = s.mod["main"], twice_in_parallel.with_attr("global_symbol", "twice")
    assert ir.structural_equal(made, written)
    assert ir.structural_hash(made) == ir.structural_hash(written)


def test_traces_go_round_through_both_texts():
    kernel = tir.PrimFunc.of(parsed_prim_func(MM))
    s = tir.Schedule(kernel)
    i, _, k = s.get_loops("C")
    outer, _ = s.split(i, s.sample_perfect_tile(i, 2, decision=[2, 4]))
    s.reorder(outer, k)
    made = testing.verify_trace_roundtrip(s, kernel)
    assert made.trace.as_python() == s.trace.as_python()
    assert str(made.module) == str(s.module)
    with pytest.raises(ScheduleError, match=r"expected one block of name 'C', got none"):
        testing.verify_trace_roundtrip(s, twice, text_format="python")
    with pytest.raises(ScheduleError, match="expected formats among json, python, got yaml"):
        testing.verify_trace_roundtrip(s, kernel, text_format="yaml")


def test_handles_give_statements():
    s = tir.Schedule(twice)
    block = s.get_block("B")
    i, j = s.get_loops(block)
    s.vectorize(j)
    loop = s.get(j)
    assert isinstance(loop, For)
    assert (loop.kind, loop.extent.value) == (ForKind.VECTORIZED, 4)
    assert s.get(block).name_hint == "B"
    root = s.get(s.get_block("root"))
    assert root.name_hint == "root"
    assert ir.structural_equal(root.body, s.mod["main"].body, map_free_vars=True)
    assert s.get(s.knob("n", (2, 4), 4)) == 4
    s.split(i, [2, None])
    with pytest.raises(ScheduleError, match="get: expected a loop that is there, got one that split did away with"):
        s.get(i)


def test_modules_of_tvm_are_found_by_name():
    as_tvm()
    from tvm.tir.schedule.schedule import ScheduleError as Error  # type: ignore[import-not-found]
    from tvm.tir.schedule.testing import verify_trace_roundtrip  # type: ignore[import-not-found]
    from tvm.tir.schedule.trace import Trace  # type: ignore[import-not-found]

    assert Error is ScheduleError
    assert verify_trace_roundtrip is testing.verify_trace_roundtrip
    assert Trace is tir.schedule.Trace


@T.prim_func
def twice_by_copies(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        A_shared = T.alloc_buffer((8, 4), scope="shared")
        B_local = T.alloc_buffer((8, 4), scope="local")
        for i, j in T.grid(8, 4):
            with T.block("A_shared"):
                vi, vj = T.axis.remap("SS", [i, j])
                A_shared[vi, vj] = A[vi, vj]
        for i, j in T.grid(8, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_local[vi, vj] = A_shared[vi, vj] * 2.0
        for i, j in T.grid(8, 4):
            with T.block("B_local"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = B_local[vi, vj]


def test_copies_have_the_scope_that_somebody_asked_for():
    s = tir.Schedule(twice)
    s.cache_read("B", "A", "shared")
    s.cache_write("B", "B", "local")
    testing.assert_structural_equal_ignore_global_symbol(s.mod["main"], twice_by_copies)
    assert 'tir.alloc : !tir.buffer<8x4xf32> in "shared"' in str(s.module)
    assert 'tir.alloc : !tir.buffer<8x4xf32> in "local"' in str(s.module)
    assert str(parsed_prim_func(str(s.mod["main"]))) == str(s.mod["main"])
    again = from_source(s.mod["main"].script()).without_attr("tir.noalias").without_attr("num_outputs")
    testing.assert_structural_equal_ignore_global_symbol(again, s.mod["main"])
    t = tir.Schedule(twice)
    t.cache_read("B", "A", "global")
    t.cache_write("B", "B", "local")
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        testing.assert_structural_equal_ignore_global_symbol(t.mod["main"], twice_by_copies)
    a = np.arange(32, dtype="float32").reshape(8, 4)
    np.testing.assert_array_equal(whence.build_prim_func(s.mod["main"])(a), a * 2)
    instruction = next(each for each in s.trace.as_json()[0] if each[0] == "CacheRead")
    assert instruction[2] == [0, "shared"]


def test_a_local_buffer_that_no_stack_holds_is_memory_of_the_kernel():
    @T.prim_func
    def far(A: T.Buffer((1024, 256), "float32"), B: T.Buffer((1024, 256), "float32")):
        C = T.alloc_buffer((1024, 256), scope="local")
        for i, j in T.grid(1024, 256):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + 1.0
        for i, j in T.grid(1024, 256):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] * 2.0

    assert '%C = tir.alloc : !tir.buffer<1024x256xf32> in "local"' in str(far)
    assert "scope='local'" in tir.PrimFunc.of(far.op).script()
    a = np.ones((1024, 256), "float32")
    np.testing.assert_array_equal(whence.build_prim_func(far)(a), a * 4)


def test_indices_are_compared_as_affine_ones():
    @T.prim_func
    def shifted(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.parallel(T.int64(8)):
            with T.block("B"):
                vi = T.axis.spatial(16, 8 + i)
                B[vi] = A[vi - 8]

    @T.prim_func
    def other(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.parallel(T.int64(8)):
            with T.block("B"):
                vi = T.axis.spatial(16, 7 + i)
                B[vi] = A[vi - 7]

    s = tir.Schedule(shifted)
    testing.assert_structural_equal_ignore_global_symbol(s.mod["main"], shifted)
    assert ir.structural_hash(s.mod["main"]) == ir.structural_hash(shifted)
    assert not ir.structural_equal(s.mod["main"], other.with_attr("global_symbol", "shifted"))


def test_a_schedule_keeps_the_name_of_its_function():
    s = tir.Schedule(twice)
    s.parallel(s.get_loops("B")[0])
    assert s.mod["main"].attrs["global_symbol"] == "twice"
    assert ir.structural_equal(s.mod["main"], twice_in_parallel.with_attr("global_symbol", "twice"))
    assert not ir.structural_equal(s.mod["main"], twice_in_parallel)


def test_loops_of_one_iteration_stay_in_indices_unless_they_are_to_go():
    @T.prim_func
    def kept(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, one, j in T.grid(8, 1, 4):
            with T.block("B"):
                vi = T.axis.spatial(8, i + one)
                vj = T.axis.spatial(4, j)
                B[vi, vj] = A[vi, vj] * 2.0

    @T.prim_func
    def gone(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, _, j in T.grid(8, 1, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    for preserved, expected in ((True, kept), (False, gone)):
        s = tir.Schedule(twice)
        s.split(s.get_loops("B")[0], [8, 1], preserve_unit_iters=preserved)
        testing.assert_structural_equal_ignore_global_symbol(s.mod["main"], expected)


def test_places_of_statements():
    s = tir.Schedule(twice)
    block = s.get_block("B")
    i, j = s.get_loops(block)
    place = s.get_sref(block)
    assert place.stmt is s.get(block)
    assert place.parent is not None
    assert place.parent.same_as(s.get_sref(j))
    assert place.parent.parent is not None
    assert place.parent.parent.stmt is s.get(i)
    root = place.parent.parent.parent
    assert root is not None
    assert root.same_as(s.get_sref(s.get_block("root")))
    assert root.parent is None
    gone = s.get_sref(i)
    s.split(i, [2, None])
    assert gone.stmt is None
    assert gone.parent is None
    assert place.stmt is s.get(s.get_block("B"))
    with pytest.raises(ScheduleError, match="get_sref: expected a block of this schedule, got one of another"):
        tir.Schedule(twice).get_sref(block)


def test_a_copy_has_the_handles():
    s = tir.Schedule(twice)
    i, j = s.get_loops("B")
    t = s.copy()
    s.split(i, [2, None])
    t.vectorize(j)
    loops = [one.get(handle) for one, handle in ((t, i), (t, j), (s, j))]
    assert all(isinstance(loop, For) for loop in loops)
    assert [loop.kind for loop in loops if isinstance(loop, For)] == [
        ForKind.SERIAL,
        ForKind.VECTORIZED,
        ForKind.SERIAL,
    ]
    assert len(s.primitives) == len(t.primitives) == 1
    for one in (s, t):
        testing.verify_trace_roundtrip(one, twice)


def test_layouts_and_notes_go_round_as_texts():
    s = tir.Schedule(twice)
    copy = s.cache_read("B", 0, "global")
    s.transform_layout(copy, "A_global", lambda i, j: [i // 2, j, i % 2])
    s.annotate(copy, "note", {"sizes": [0, 0], "deep": {"key": 3}})
    assert "index_map=lambda i0, i1: [i0 // 2, i1, i0 % 2]" in s.as_python()
    made = testing.verify_trace_roundtrip(s, twice)
    assert str(made.module) == str(s.module)
    with pytest.raises(ScheduleError, match=r"expected strings as keys of a dictionary, got \{1: 2\}"):
        s.annotate(copy, "wrong", {1: 2})


@T.prim_func
def reshaped(
    A: T.Buffer((8, 12), "float32"), D: T.Buffer((2, 4, 12, 1), "float32"), E: T.Buffer((4, 2, 12), "float32")
):
    B = T.alloc_buffer((8, 12))
    C = T.alloc_buffer((2, 4, 12))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j, k in T.grid(2, 4, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = B[vi * 4 + vj, vk] + T.Cast("float32", vk)
    for i, j, k, u in T.grid(2, 4, 12, 1):
        with T.block("D"):
            vi, vj, vk, vu = T.axis.remap("SSSS", [i, j, k, u])
            D[vi, vj, vk, vu] = C[vi, vj, vk] * C[vi, vj, vk]
    for i, j, k in T.grid(4, 2, 12):
        with T.block("E"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            E[vi, vj, vk] = D[vj, vi, vk, 0] - 1.0


def test_a_block_that_reads_each_element_at_one_point_becomes_part_of_its_producer():
    a = np.random.default_rng(2).integers(-9, 9, (8, 12)).astype("float32")
    expected = whence.build_prim_func(reshaped)(a)
    for order in (("C", "D"), ("D", "C")):
        s = tir.Schedule(reshaped)
        for name in order:
            s.reverse_compute_inline(name)
        assert "D[vi // 4, vi % 4, vj, 0] = " in s.mod["main"].script()
        for mine, other in zip(whence.build_prim_func(s.mod["main"])(a), expected, strict=True):
            np.testing.assert_array_equal(mine, other)
        testing.verify_trace_roundtrip(s, reshaped)


def test_a_block_that_reads_elements_twice_or_not_at_all_is_no_part_of_its_producer():
    @T.prim_func
    def diagonal(A: T.Buffer((8, 8), "float32"), C: T.Buffer((2, 4, 8), "float32")):
        B = T.alloc_buffer((8, 8))
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j, k in T.grid(2, 4, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[vi * 4 + vj, vi * 4 + vj]

    @T.prim_func
    def part(A: T.Buffer((8, 8), "float32"), C: T.Buffer((2, 2, 8), "float32")):
        B = T.alloc_buffer((8, 8))
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j, k in T.grid(2, 2, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[vi * 4 + vj, vk]

    for kernel in (diagonal, part):
        s = tir.Schedule(kernel)
        before = str(s.module)
        with pytest.raises(ScheduleError, match="expected one producer that stores all that it reads, got 0"):
            s.reverse_compute_inline("C")
        assert str(s.module) == before


@T.prim_func
def side_by_side(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((8, 4))
    D = T.alloc_buffer((8, 4))
    for i in T.serial(8):
        for j in T.serial(4):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = A[vi, vj] - 1.0
        for j in T.serial(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0


def test_blocks_of_one_nest_become_part_of_each_other_and_unread_ones_go():
    a = np.arange(32, dtype="float32").reshape(8, 4)
    for name, left in (("B", ["D", "C"]), ("C", ["D", "B"])):
        s = tir.Schedule(side_by_side)
        if name == "B":
            s.compute_inline(name)
        else:
            s.reverse_compute_inline(name)
        np.testing.assert_array_equal(whence.build_prim_func(s.mod["main"])(a), a * 2 + 1)
        s.compute_inline("D")
        assert [s.get(block).name_hint for block in s.get_child_blocks(s.get_block("root"))] == left[1:]
        np.testing.assert_array_equal(whence.build_prim_func(s.mod["main"])(a), a * 2 + 1)


def test_the_start_of_a_reduction_keeps_marks_and_notes_and_one_term_needs_none():
    @T.prim_func
    def sums(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8,), "float32")):
        for k in T.serial(6):
            for i in T.vectorized(8):
                with T.block("B"):
                    vk, vi = T.axis.remap("RS", [k, i])
                    T.block_attr({"note": 3})
                    with T.init():
                        B[vi] = 0.0
                    B[vi] = B[vi] + A[vk, vi]

    a = np.arange(48, dtype="float32").reshape(6, 8)
    s = tir.Schedule(sums)
    start = s.decompose_reduction("B", s.get_loops("B")[0])
    (loop,) = s.get_loops(start)
    made = s.get(loop)
    assert isinstance(made, For)
    assert made.kind == ForKind.VECTORIZED
    assert dict(s.get(start).annotations) == {"note": 3}
    np.testing.assert_array_equal(whence.build_prim_func(s.mod["main"])(a), a.sum(0))
    t = tir.Schedule(sums.with_attr("global_symbol", "sums"))
    partial = t.rfactor(t.get_loops("B")[0], 0)
    assert t.get(partial).init is None
    assert dict(t.get(partial).annotations) == {"note": 3}
    np.testing.assert_array_equal(whence.build_prim_func(t.mod["main"])(a), a.sum(0))


def test_traces_have_numbers_for_names_of_buffers():
    s = tir.Schedule(twice)
    s.reindex("B", "A")
    s.cache_write("B", "B", "global")
    rows = {row[0]: row[2] for row in s.trace.as_json()[0]}
    assert rows["ReIndex"] == [0, 0]
    assert rows["CacheWrite"] == [0, "global"]


@T.prim_func
def product(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j, k in T.grid(8, 4, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def product_of_copies(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    A_shared = T.alloc_buffer((6, 4, 2), scope="shared")
    C_local = T.alloc_buffer((4, 8), scope="local")
    for i, k in T.grid(8, 6):
        with T.block("A_shared"):
            vi, vk = T.axis.remap("SS", [i, k])
            A_shared[vk, vi // 2, vi % 2] = A[vi, vk]
    for i, j, k in T.grid(8, 4, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_local[vj, vi] = 0.0
            C_local[vj, vi] = C_local[vj, vi] + A_shared[vk, vi // 2, vi % 2] * B[vk, vj]
    for i, j in T.grid(8, 4):
        with T.block("C_local"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C_local[vj, vi]


def test_copies_in_a_layout():
    s = tir.Schedule(product)
    assert s.get(s.reindex_cache_read("C", "A", "shared", lambda i, j, k: (k, i // 2, i % 2))).name_hint == "A_shared"
    assert s.get(s.reindex_cache_write("C", 0, "local", lambda i, j, k: [j, i])).name_hint == "C_local"
    testing.assert_structural_equal_ignore_global_symbol(s.mod["main"], product_of_copies)
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 8, 6)).astype("float32")
    np.testing.assert_array_equal(whence.build_prim_func(s.mod["main"])(a, b[:6, :4].copy()), a @ b[:6, :4])
    made = testing.verify_trace_roundtrip(s, product)
    assert str(made.module) == str(s.module)
    assert str(s.snapshot().module) == str(s.module)
    assert [op.location for op in s.module.walk()] == [op.location for op in made.module.walk()]


def test_copies_in_a_layout_that_cannot_be():
    s = tir.Schedule(product)
    before = str(s.module)
    cases: list[tuple[Any, str]] = [
        (lambda i, j, k: (i, j, k), "a layout of the variables of the indices, vi, vk, got one of vi, vj, vk"),
        (lambda i, j, k: i, "a layout of the variables of the indices, vi, vk, got one of vi"),
        (lambda i, j, k: i + k, r"each element of the copy of A at one point, got \[1\] at "),
        (lambda i, j, k: (i - k, i), "indices of 0 and more, got -5 to 7"),
    ]
    for layout, text in cases:
        with pytest.raises(ScheduleError, match=rf"reindex_cache_read: expected {text}"):
            s.reindex_cache_read("C", 0, "shared", layout)
    with pytest.raises(ScheduleError, match="expected a storage scope among global, shared, local, got l2"):
        s.reindex_cache_write("C", 0, "l2", lambda i, j, k: (i, j))
    assert str(s.module) == before


def test_copies_in_a_layout_are_in_traces_as_in_those_of_tvm():
    s = tir.Schedule(product)
    s.reindex_cache_read("C", "A", "shared", lambda i, j, k: (k, i))
    row = next(each for each in s.trace.as_json()[0] if each[0] == "ReindexCacheRead")
    assert row[1][0] == "b0"
    assert '"type":"tirx.IndexMap"' in row[1][1].replace(" ", "")
    assert row[2] == [0, "shared"]
    made = tir.Schedule(product)
    Trace.apply_json_to_schedule(json.dumps(s.trace.as_json()), made)
    assert str(made.module) == str(s.module)


def test_a_trace_is_the_same_until_something_is_recorded():
    s = tir.Schedule(twice)
    i, j = s.get_loops("B")
    s.split(i, s.sample_perfect_tile(i, 2, decision=[2, 4]))
    assert [s.trace.decisions[inst] for inst in s.trace.insts if inst in s.trace.decisions] == [[2, 4]]
    trace, copy = s.trace, s.copy()
    assert s.trace is trace
    assert copy.trace is not trace
    s.vectorize(j)
    assert s.trace is not trace
    assert len(s.trace.insts) == len(trace.insts) + 1
