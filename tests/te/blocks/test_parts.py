"""Partial results, loops side by side, copies by a block's variables: what they make, what is refused."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable

import pytest
from block_kernels import check_values, outline, scheduled

from whence.dialects.tir import SCHEDULED, prim_funcs
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule


def test_partial_sums_by_the_inner_part_of_a_loop():
    s = scheduled("SUM")
    _, k = s.get_loops("S")
    _, lane = s.split(k, [None, 8])
    partial = s.rfactor(lane, 0)
    assert outline(s) == (
        "tir.for %i in 4\n"
        "  tir.for %k.0 in 3\n"
        "    tir.for %k.1 in 8\n"
        '      tir.block "S_rf" (%vk.1 : spatial 8, %vi : spatial 4, %vk.0 : reduce 3) at [%k.1, %i, %k.0]\n'
        "tir.for %i_1 in 4\n"
        "  tir.for %k.1_1 in 8\n"
        '    tir.block "S" (%vk.1_1 : reduce 8, %vi_1 : spatial 4) at [%k.1_1, %i_1]'
    )
    assert "%S_rf = tir.alloc : !tir.buffer<8x4xf32>" in str(s.module)
    s.vectorize(s.get_loops(partial)[2])
    check_values("SUM", s)


@pytest.mark.parametrize(("axis", "shape"), [(0, "3x4"), (1, "4x3"), (-1, "4x3"), (-2, "3x4")])
def test_partial_sums_by_the_outer_part(axis: int, shape: str):
    s = scheduled("SUM")
    part, _ = s.split(s.get_loops("S")[1], [None, 8])
    s.rfactor(part, axis)
    assert f"%S_rf = tir.alloc : !tir.buffer<{shape}xf32>" in str(s.module)
    s.parallel(s.get_loops("S_rf")[1])
    check_values("SUM", s)


def test_an_uneven_part_has_all_its_partial_sums():
    s = scheduled("SUM")
    _, lane = s.split(s.get_loops("S")[1], [None, 5])
    s.rfactor(lane, 0)
    check_values("SUM", s)
    wrong = scheduled("SUM")
    part, _ = wrong.split(wrong.get_loops("S")[1], [None, 100])
    with pytest.raises(ScheduleError, match=r"a term for each pass of k\.1, got a condition"):
        wrong.rfactor(wrong.get_loops("S")[2], 0)
    wrong.rfactor(part, 0)
    check_values("SUM", wrong)


def test_reindexed_copies():
    s = scheduled("MM")
    copy = s.reindex("C", ("read", 1))
    assert s.state.block("test", copy).label.data == "B_reindex_reindex"
    text = str(s.module)
    assert "%B_reindex = tir.alloc : !tir.buffer<4x6xf32>" in text
    assert "tir.load %B[%v1, %v0]" in text
    assert "tir.load %B_reindex[%vj, %vk]" in text
    s.reindex("C", ("write", 0))
    s.reindex("E", "E")
    check_values("MM", s)


def test_a_scope_is_part_of_the_name():
    s = scheduled("MM")
    s.set_scope("C", 0, "shared")
    assert "%C_shared = tir.alloc" in str(s.module)
    check_values("MM", s)


def test_merged_loops():
    s = scheduled("MM")
    s.merge(s.get_loops("C")[0], s.get_loops("E")[0])
    assert outline(s) == (
        "tir.for %i_m in 8\n"
        "  tir.for %j in 4\n"
        "    tir.for %k in 6\n"
        '      tir.block "C" (%vi : spatial 8, %vj : spatial 4, %vk : reduce 6) at [%i_m, %j, %k]\n'
        "  tir.for %j_1 in 4\n"
        '    tir.block "E" (%vi_1 : spatial 8, %vj_1 : spatial 4) at [%i_m, %j_1]'
    )
    check_values("MM", s)
    deep = scheduled("MM")
    inner = deep.merge(deep.get_loops("C")[1], deep.get_loops("E")[1])
    assert [deep.state.loop("test", loop).var.name_hint for loop in deep.get_loops("E")] == ["i_m", "j_m"]
    deep.parallel(inner)
    check_values("MM", deep)


def test_a_merge_that_needs_later_iterations_names_two():
    s = scheduled("STENCIL")
    first, _ = s.loop_partition(s.get_loops("Y")[0], [16, None])
    s.reorder(first)
    with pytest.raises(ScheduleError, match="expected i right behind i0, got it elsewhere"):
        s.merge(first, s.get_loops("Z")[0])
    other = scheduled("SHIFT")
    with pytest.raises(ScheduleError, match=r"got iteration i=8 writes %Y\[8\] that i=7 reads"):
        other.merge(other.get_loops("Y")[0], other.get_loops("Z")[0])


@pytest.mark.parametrize("factors", [[3, None], [3, 4], [None, 1]])
@pytest.mark.parametrize("number", [0, 2])
def test_parts_of_a_loop_one_behind_the_other(factors: list[int | None], number: int):
    s = scheduled("MM")
    extent = [8, 4, 6][number]
    parts = s.loop_partition(s.get_loops("C")[number], [f if f != 4 or number == 0 else 2 for f in factors])
    counts = [s.state.loop("test", loop).trip_count for loop in parts]
    assert sum(counts) == extent
    labels = [s.state.block("test", block).label.data for block in s.get_child_blocks("root")]
    assert labels == ["C", *(f"C_{n}" for n in range(1, len(parts))), "E"]
    check_values("MM", s)


def test_output_blocks_and_the_root():
    s = scheduled("MM")
    assert [s.state.block("test", block).label.data for block in s.get_output_blocks("root")] == ["E"]
    root = s.get_sblock("root")
    s.annotate(root, "unit", 1)
    assert s.get_loops(root) == []
    assert s.snapshot().module.is_structurally_equivalent(s.module)
    with pytest.raises(ScheduleError, match="expected a block in the kernel, got its root"):
        s.compute_inline(root)


def test_a_primitive_marks_its_kernel_and_a_refused_one_does_not():
    s = scheduled("MM")
    (func,) = prim_funcs(s.module)
    with pytest.raises(ScheduleError):
        s.rfactor(s.get_loops("C")[0], 0)
    assert SCHEDULED not in func.attributes
    s.unroll(s.get_loops("C")[2])
    (func,) = prim_funcs(s.module)
    assert SCHEDULED in func.attributes


REFUSED: list[tuple[str, str, Callable[[BlockSchedule], object], str]] = [
    ("of data", "SUM", lambda s: s.rfactor(s.get_loops("S")[0], 0), "reduction alone, got i, one of data"),
    ("axis", "SUM", lambda s: s.rfactor(s.get_loops("S")[1], 5), r"factor_axis in \[-2, 1\] for S, got 5"),
    ("no reduction", "EW", lambda s: s.rfactor(s.get_loops("Y")[1], 0), "starts with tir.init"),
    ("a start of one", "ONE", lambda s: s.rfactor(s.get_loops("S")[1], 0), "expected a start of 0"),
    ("several places", "STENCIL", lambda s: s.reindex("Z", ("read", 0)), "Y to be accessed at one place, got 3"),
    ("in place", "SCAN", lambda s: s.reindex("next", ("write", 0)), "got a store to it by another block"),
    ("no buffer", "MM", lambda s: s.reindex("C", ("read", 4)), r"reads \(0 A, 1 B\), got 4"),
    ("no pair", "MM", lambda s: s.reindex("C", 4), 'expected \\("read", number\\)'),  # type: ignore[arg-type]
    ("scope of an output", "MM", lambda s: s.set_scope("E", 0, "local"), "got E, an argument"),
    ("one loop", "MM", lambda s: s.merge(s.get_loops("C")[0]), "expected two distinct loops"),
    ("unequal", "STENCIL", lambda s: s.merge(s.get_loops("Y")[0], s.get_loops("Z")[0]), r"got \[18\] and \[16\]"),
    ("nested", "MM", lambda s: s.merge(*s.get_loops("C")[:2]), "expected loops side by side"),
    ("too long", "MM", lambda s: s.loop_partition(s.get_loops("C")[0], [4, 4]), "above 0 and below 8, got"),
    ("open twice", "MM", lambda s: s.loop_partition(s.get_loops("C")[0], [None, None]), "at most one open factor"),
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
