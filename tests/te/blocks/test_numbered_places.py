"""The places of blocks in loops by the numbers of statements."""
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false

from __future__ import annotations

import numpy as np
import pytest

import whence
from whence import tir
from whence.script import tir as T
from whence.support.errors import ScheduleError
from whence.tir.schedule import testing


@T.prim_func
def three_steps(A: T.Buffer((8, 4), "float32"), D: T.Buffer((8, 4), "float32"), E: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((8, 4))
    C = T.alloc_buffer((8, 4))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i in T.serial(8):
        for j in T.serial(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + 1.0
        for j in T.serial(4):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 4):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj] - 3.0


def test_the_place_of_a_block_in_a_loop_has_a_number():
    a = np.arange(32, dtype="float32").reshape(8, 4)
    orders = {-2: "BCD", 0: "BCD", 1: "CBD", -1: "CBD"}
    for index, order in orders.items():
        s = tir.Schedule(three_steps)
        s.compute_at("B", s.get_loops("D")[0], index=index)
        assert [s.get(block).name_hint for block in s.get_child_blocks(s.get_block("root"))] == [*order, "E"]
        testing.verify_trace_roundtrip(s, three_steps)
        for mine, expected in zip(whence.build_prim_func(s.mod["main"])(a), (a * 2 * a, a - 2), strict=True):
            np.testing.assert_array_equal(mine, expected)
    for index, order in {-2: "CED", 1: "CED", 2: "CDE", -1: "CDE"}.items():
        s = tir.Schedule(three_steps)
        s.reverse_compute_at("E", s.get_loops("C")[0], index=index)
        assert [s.get(block).name_hint for block in s.get_child_blocks(s.get_block("root"))] == ["B", *order]
        for mine, expected in zip(whence.build_prim_func(s.mod["main"])(a), (a * 2 * a, a - 2), strict=True):
            np.testing.assert_array_equal(mine, expected)
    s = tir.Schedule(three_steps)
    before = str(s.module)
    for index in (2, -3):
        with pytest.raises(
            ScheduleError, match=f"compute_at: expected an index from 0 to 1 in i, -1 or -2, got {index}"
        ):
            s.compute_at("B", s.get_loops("D")[0], index=index)
    with pytest.raises(ScheduleError, match="reverse_compute_at: expected an index from 1 to 2 in i, -1 or -2, got 0"):
        s.reverse_compute_at("E", s.get_loops("C")[0], index=0)
    assert str(s.module) == before
