"""Primitives that mark loops and buffers, from the schedule to the machine code: what they do, and the same numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from whence import te
from whence.dialects.tir import AllocOp, ForOp
from whence.kernels import Function, build_schedule, lower
from whence.support.context import PassContext
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule

ROWS, COLUMNS = 32, 256


def stages() -> tuple[Tensor, Tensor, Tensor]:
    """`c = 2 (a + 1) + 1`, by way of `b`."""
    a = te.placeholder((ROWS, COLUMNS), "float32", "A")
    b = te.compute((ROWS, COLUMNS), lambda i, j: a[i, j] + 1.0, "B")
    c = te.compute((ROWS, COLUMNS), lambda i, j: b[i, j] * 2.0 + 1.0, "C")
    return a, b, c


def check(function: Function) -> None:
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    np.testing.assert_array_equal(function(x), (x + np.float32(1)) * np.float32(2) + np.float32(1))


def vectorized(schedule: Schedule, c: Tensor) -> None:
    _, inner = schedule[c].split(c.op.axis[1], factor=16)
    schedule[c].vectorize(inner)


def test_prefetch_is_an_instruction_one_per_vector():
    a, b, c = stages()
    schedule = te.create_schedule(c.op)
    schedule[b].compute_inline()
    vectorized(schedule, c)
    schedule[c].prefetch(a, c.op.axis[0], 2)
    function = build_schedule(schedule, threads=1)
    hints = re.findall(r"tir\.prefetch .*", function.tir)
    assert hints == ["tir.prefetch %A[%i + 2, %j.outer * 16] locality 2 : !tir.buffer<32x256xf32>"]
    assert "prefetch" in function.assembly
    check(function)


def test_no_prefetch_without_the_primitive():
    _, b, c = stages()
    schedule = te.create_schedule(c.op)
    schedule[b].compute_inline()
    assert "prefetch" not in build_schedule(schedule, threads=1).assembly


def double(split: int = 1) -> Function:
    _, b, c = stages()
    schedule = te.create_schedule(c.op)
    schedule[b].compute_at(schedule[c], c.op.axis[0])
    schedule[b].double_buffer()
    with PassContext(config={"tir.InjectDoubleBuffer.split_loop": split}):
        return build_schedule(schedule, threads=1)


@pytest.mark.parametrize("split", [1, 2, 4])
def test_double_buffer_has_two_halves(split: int):
    function = double(split)
    allocs = re.findall(r"tir\.alloc.*", function.tir)
    assert allocs == ["tir.alloc : !tir.buffer<2x1x256xf32>"]
    # The turn is an index, unless the loop is written out.
    assert ("mod 2" in function.tir) == (split == 1)
    check(function)


def test_storage_align_moves_rows_apart():
    _, b, c = stages()
    schedule = te.create_schedule(c.op)
    schedule[b].storage_align(b.op.axis[0], 64, 8)
    function = build_schedule(schedule, threads=1)
    # Rows of 256 elements start 264 apart, which is 8 modulo 64.
    assert f"tir.alloc : !tir.buffer<{ROWS}x264xf32>" in function.tir
    check(function)


def unrolled(*pragmas: tuple[str, int]) -> Function:
    _, b, c = stages()
    schedule = te.create_schedule(c.op)
    schedule[b].compute_inline()
    outer, inner = schedule[c].split(c.op.axis[1], factor=4)
    del inner
    for key, value in pragmas:
        schedule[c].pragma(outer, key, value)
    return build_schedule(schedule, threads=1)


def loops(function: Function) -> list[tuple[str, str]]:
    """Kind and name of each loop."""
    return re.findall(r"tir\.for (\w*) ?%(\S+) in", function.tir)


def stores(function: Function) -> int:
    return function.tir.count("tir.store")


def test_auto_unroll_marks_what_comes_to_few_steps():
    assert unrolled(("auto_unroll_max_step", 3)).tir == unrolled().tir
    function = unrolled(("auto_unroll_max_step", 4))
    assert re.findall(r"tir\.for (\w*) ?%(\S+) in", function.tir) == [
        ("", "i"),
        ("", "j.outer"),
        ("unrolled", "j.inner"),
    ]
    assert "pragma" not in function.tir
    assert stores(function) == 1
    check(function)
    # All of the 64 x 4 steps below the pragma, and no more.
    function = unrolled(("auto_unroll_max_step", 256))
    assert loops(function) == [("", "i"), ("unrolled", "j.outer"), ("unrolled", "j.inner")]
    check(function)


def test_unroll_explicit_writes_copies():
    function = unrolled(("auto_unroll_max_step", 4), ("unroll_explicit", 1))
    assert stores(function) == 4
    assert "unrolled" not in function.tir
    check(function)
    with PassContext(config={"tir.UnrollLoop.explicit_unroll": True}):
        assert stores(unrolled(("auto_unroll_max_step", 4))) == 4
        assert stores(unrolled(("auto_unroll_max_step", 4), ("unroll_explicit", 0))) == 1


def test_marks_are_gone_from_the_loops():
    a, b, c = stages()
    schedule = te.create_schedule(c.op)
    schedule[b].compute_at(schedule[c], c.op.axis[0])
    schedule[b].double_buffer()
    schedule[c].prefetch(a, c.op.axis[0], 1)
    schedule[c].pragma(c.op.axis[1], "auto_unroll_max_step", 8)
    func = lower(schedule)
    assert not [op for op in func.walk() if isinstance(op, AllocOp | ForOp) and op.attributes]
