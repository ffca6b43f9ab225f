"""TVM's names around schedules of blocks: checks for tests, statements of handles, and equality of what comes out."""
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false

from __future__ import annotations

import pytest
from block_kernels import MM

from whence import ir, tir
from whence.kernels.building import parsed_prim_func
from whence.script import tir as T
from whence.support.errors import ScheduleError
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
    made, written = s.mod["main"].without_attr("tir.is_scheduled"), twice_in_parallel.with_attr("global_symbol", "main")
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
