"""Blocks computed elsewhere: inlined, in the loops of others, through caches, and starts of reductions apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from block_kernels import check_values, outline, scheduled
from random_blocks import check
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.tir import AllocOp, prim_funcs
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.passes.tir import compact_buffers
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.state import LoopRV


def test_compute_inline():
    for name, stores in (("EW", 1), ("STENCIL", 1)):
        s = scheduled(name)
        s.compute_inline("Y")
        assert str(s.module).count("tir.store") == stores
        assert "tir.alloc" not in str(s.module)
        check_values(name, s)


def test_reverse_compute_inline():
    s = scheduled("EW")
    block = s.get_sblock("Z")
    s.reverse_compute_inline(block)
    assert (
        outline(s)
        == 'tir.for %i in 8\n  tir.for %j in 6\n    tir.block "Y" (%vi : spatial 8, %vj : spatial 6) at [%i, %j]'
    )
    check_values("EW", s)
    with pytest.raises(ScheduleError, match="got one that reverse_compute_inline did away with"):
        s.get_loops(block)


def test_a_producer_is_computed_as_far_as_one_pass_reads():
    s = scheduled("STENCIL")
    outer, _ = s.split(s.get_loops("Z")[0], [None, 5])
    s.compute_at("Y", outer)
    assert outline(s) == (
        "tir.for %i.0 in 4\n"
        "  tir.for %ax0 in 7\n"
        '    tir.block "Y" (%v : spatial 18) at [%i.0 * 5 + %ax0] where [%i.0 * -5 + %ax0 * -1 + 17] >= 0\n'
        "  tir.for %i.1 in 5\n"
        '    tir.block "Z" (%v_1 : spatial 16) at [%i.0 * 5 + %i.1] where [%i.0 * -5 + %i.1 * -1 + 15] >= 0'
    )
    check_values("STENCIL", s)
    with pytest.raises(ScheduleError, match=r"got iterations .* write %Y"):
        s.vectorize(outer)
    s.parallel(outer)
    assert "%i.0 in 4 {\n      %Y = tir.alloc : !tir.buffer<18xf32, local>" in str(s.module)
    check_values("STENCIL", s)
    assert str(s.snapshot().module) == str(s.module)
    with pytest.raises(ScheduleError, match=r"a buffer of the whole kernel, got Y, one of each pass of i\.0"):
        s.cache_read("Z", "Y", "local")


def test_a_buffer_is_of_each_pass_of_a_parallel_loop():
    s = scheduled("STENCIL")
    outer, _ = s.split(s.get_loops("Z")[0], [None, 5])
    s.parallel(outer)
    s.compute_at("Y", outer)
    assert "%Y = tir.alloc : !tir.buffer<18xf32, local>" in str(s.module)
    check_values("STENCIL", s)
    t = scheduled("MM")
    t.reverse_compute_at("E", t.get_loops("C")[0])
    t.parallel(t.get_loops("C")[0])
    assert "%C = tir.alloc : !tir.buffer<8x4xf32>" in str(t.module)
    check_values("MM", t)


def test_a_consumer_is_computed_as_far_as_one_pass_completes():
    s = scheduled("MM")
    outer, _ = s.split(s.get_loops("C")[0], [None, 4])
    s.parallel(outer)
    s.reverse_compute_at("E", outer)
    assert outline(s).endswith(
        "  tir.for %ax0 in 4\n"
        "    tir.for %ax1 in 4\n"
        '      tir.block "E" (%vi_1 : spatial 8, %vj_1 : spatial 4) at [%i.0 * 4 + %ax0, %ax1]'
    )
    check_values("MM", s)


def test_unfinished_sums_are_not_read_and_the_remedy_works():
    s = scheduled("MM")
    _, j, k = s.get_loops("C")
    before = str(s.module)
    with pytest.raises(
        ScheduleError, match=r"one pass of k, got iterations i=0, j=0, k=0 and i=0, j=0, k=1 write"
    ) as error:
        s.reverse_compute_at("E", k)
    assert str(s.module) == before
    assert str(error.value).endswith('would work: s.reverse_compute_at("E", s.get_loops("C")[1])')
    s.reverse_compute_at("E", j)
    check_values("MM", s)


def test_a_reader_in_place_is_not_moved_before_another_writer():
    s = scheduled("PAD")
    s.cache_read("pad", 0, "local")
    s.decompose_padding("pad", s.get_loops("pad")[0])
    with pytest.raises(ScheduleError, match="expected Z to be unused before, got it used"):
        s.reverse_compute_inline("pad")


def test_caches():
    s = scheduled("MM")
    read = s.cache_read("C", "B", "local")
    i, *_ = s.get_loops("C")
    s.compute_at(read, i)
    write = s.cache_write("C", 0, "local")
    s.reverse_compute_at(write, i)
    text = str(s.module)
    assert 'tir.block "B_local"' in text
    assert 'tir.block "C_local"' in text
    assert text.index('"B_local"') < text.index('tir.block "C"') < text.index('"C_local" (')
    check_values("MM", s)


def test_the_start_of_a_sum_is_a_block_of_its_own():
    s = scheduled("MM")
    *_, k = s.get_loops("C")
    update = s.get_sblock("C")
    start = s.decompose_reduction(update, k)
    assert s.state.block("test", start).label.data == "C_init"
    assert s.state.block("test", update).label.data == "C_update"
    check_values("MM", s)
    other = scheduled("MM")
    other.decompose_reduction("C", other.get_loops("C")[0])
    assert outline(other).startswith('tir.for %i_init in 8\n  tir.for %j_init in 4\n    tir.block "C_init"')
    check_values("MM", other)


def test_a_start_has_loops_of_one_pass_of_its_own():
    s = scheduled("MM")
    _, j, _ = s.get_loops("C")
    _, one = s.split(j, [None, 1])
    s.decompose_reduction("C", one)
    assert "tir.for %j.1_init in 1" in outline(s)
    check_values("MM", s)


REFUSED: list[tuple[str, str, Callable[[BlockSchedule], object], str]] = [
    ("inline a sum", "MM", lambda s: s.compute_inline("C"), "stores each element once, got a reduction"),
    ("inline an output", "MM", lambda s: s.compute_inline("E"), "expected an intermediate buffer, got E"),
    ("inline into a sum", "MM", lambda s: s.reverse_compute_inline("E"), "got the reduction C\n(.*\n)*.*would work"),
    ("place an output", "MM", lambda s: s.compute_at("E", s.get_loops("C")[0]), "expected an intermediate buffer"),
    ("in its own loop", "MM", lambda s: s.compute_at("C", s.get_loops("C")[0]), "expected a loop of another block"),
    ("decompose no sum", "MM", lambda s: s.decompose_reduction("E", s.get_loops("E")[0]), "starts with tir.init"),
    ("foreign loop", "MM", lambda s: s.decompose_reduction("C", s.get_loops("E")[0]), "expected a loop around"),
    ("no such read", "MM", lambda s: s.cache_read("C", 7, "local"), r"reads \(0 A, 1 B\), got 7"),
    ("no such scope", "MM", lambda s: s.cache_read("C", 0, "l2"), "among global, shared, local, got l2"),
    ("parts", "SCAN", lambda s: s.cache_write("first", 0, "local"), "got a store to it by another block"),
    ("itself", "SCAN", lambda s: s.cache_read("next", "Y", "local"), "expected Y to be complete before"),
]


@pytest.mark.parametrize(("name", "call", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_primitives_change_nothing(name: str, call: Callable[[BlockSchedule], object], text: str):
    s = scheduled(name)
    before = str(s.module)
    with pytest.raises(ScheduleError, match=text) as error:
        call(s)
    assert str(s.module) == before
    assert s.primitives == []
    assert len(str(error.value).splitlines()) <= 6


def test_random_primitives_keep_the_values():
    counts: Counter[str] = Counter()
    for seed in range(4):
        check(seed, counts)
    assert counts["sequences"] == 16
    assert sum(count for name, count in counts.items() if "refused" not in name) > 40


LARGE = """
tir.prim_func @main(%X: !tir.buffer<300x300xf32>, %Z: !tir.buffer<300x300xf32>) outputs 1 {
  %Y = tir.alloc : !tir.buffer<300x300xf32>
  tir.for %i in 300 {
    tir.for %j in 300 {
      tir.block "Y" (%u : spatial 300, %v : spatial 300) at [%i, %j] {
        %0 = tir.load %X[%u, %v] : !tir.buffer<300x300xf32> -> f32
        tir.store %0, %Y[%u, %v] : f32, !tir.buffer<300x300xf32>
      }
    }
  }
  tir.for %i in 300 {
    tir.for %j in 300 {
      tir.block "Z" (%u : spatial 300, %v : spatial 300) at [%i, %j] {
        %0 = tir.load %Y[ROW, %v] : !tir.buffer<300x300xf32> -> f32
        tir.store %0, %Z[%u, %v] : f32, !tir.buffer<300x300xf32>
      }
    }
  }
}
"""


def at_passes_of_i(row: str) -> tuple[BlockSchedule, LoopRV]:
    s = BlockSchedule(ModuleOp([parsed_prim_func(LARGE.replace("ROW", row)).clone()]))
    s.explains = False
    loop = s.get_loops("Z")[0]
    s.compute_at("Y", loop)
    return s, loop


def test_a_buffer_of_each_pass_is_no_larger_than_a_stack_holds():
    s, loop = at_passes_of_i("%v")
    before = str(s.module)
    with pytest.raises(ScheduleError, match="at most 262144 bytes of Y in each pass, got 360000"):
        s.parallel(loop)
    assert str(s.module) == before


def test_each_pass_of_a_parallel_loop_has_the_rows_that_it_uses():
    s, loop = at_passes_of_i("299 - %u")
    s.parallel(loop)
    (func,) = prim_funcs(s.module)
    x = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
    np.testing.assert_array_equal(build_prim_func(func, threads=2)(x), x[::-1])
    compact_buffers.run(func)
    assert [str(op.result.type) for op in func.walk() if isinstance(op, AllocOp)] == ["!tir.buffer<1x300xf32, local>"]
