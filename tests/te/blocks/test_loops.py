"""Loops of blocks: what primitives make of them, what they refuse, and that a refused one changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from block_kernels import check_values, scheduled
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from whence.dialects.schedule import Schedule
from whence.dialects.schedule.blocks import KINDS
from whence.dialects.tir import BlockOp
from whence.support.context import PassContext
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule


def loops(schedule: BlockSchedule, block: str) -> list[str]:
    """The loops around a block, as `parallel i.0 in 2`."""
    ops = [schedule.state.loop("test", loop) for loop in schedule.get_loops(block)]
    marks = ["" if op.kind.data == "serial" else f"{op.kind.data} " for op in ops]
    return [f"{mark}{op.var.name_hint} in {op.trip_count}" for mark, op in zip(marks, ops, strict=True)]


def block_line(schedule: BlockSchedule, name: str) -> str:
    """The head of a block."""
    return next(line.strip() for line in str(schedule.module).splitlines() if f'tir.block "{name}"' in line)


def test_an_uneven_split_has_a_condition():
    s = scheduled("MM")
    i, *_ = s.get_loops("C")
    s.split(i, [3, None])
    assert loops(s, "C") == ["i.0 in 3", "i.1 in 3", "j in 4", "k in 6"]
    assert "at [%i.0 * 3 + %i.1, %j, %k] where [%i.0 * -3 + %i.1 * -1 + 7] >= 0" in block_line(s, "C")
    check_values("MM", s)


def test_an_even_split_has_none():
    s = scheduled("MM")
    s.split(s.get_loops("C")[0], [2, 2, 2])
    assert "where" not in block_line(s, "C")
    assert "at [%i.0 * 4 + %i.1 * 2 + %i.2, " in block_line(s, "C")
    check_values("MM", s)


def test_an_error_about_a_loop_that_is_gone_says_what_is_in_its_place():
    s = scheduled("MM")
    i, j, _ = s.get_loops("C")
    outer, inner = s.split(i, [None, 2])
    s.reorder(inner, outer)
    s.fuse(outer, j)
    text = 'in its place: s.get_loops("C")[1], s.get_loops("C")[0]'
    with pytest.raises(ScheduleError, match=re.escape(text)):
        s.unroll(i)
    check_values("MM", s)


def test_fused_loops_are_taken_apart_by_quotient_and_rest():
    s = scheduled("MM")
    i, j, _ = s.get_loops("C")
    s.fuse(i, j)
    assert loops(s, "C") == ["i_j_fused in 32", "k in 6"]
    assert "at [%i_j_fused floordiv 4, %i_j_fused mod 4, %k]" in block_line(s, "C")
    check_values("MM", s)
    with pytest.raises(ScheduleError, match=r"that fuse did away with\n  in its place: .*C.*0.$"):
        s.parallel(i)
    s.parallel(s.get_loops("C")[0])
    check_values("MM", s)


def test_a_tile_in_vectors_and_threads():
    s = scheduled("MM")
    i, j, k = s.get_loops("C")
    i_0, i_1 = s.split(i, [None, 3])
    s.reorder(i_0, k, i_1, j)
    s.parallel(i_0)
    s.vectorize(j)
    s.unroll(i_1)
    assert loops(s, "C") == ["parallel i.0 in 3", "k in 6", "unrolled i.1 in 3", "vectorized j in 4"]
    check_values("MM", s)


def test_a_scan_is_parallel_along_its_rows_though_not_a_complete_block():
    s = scheduled("SCAN")
    t, c = s.get_loops("next")
    with pytest.raises(ScheduleError, match=r"got iteration t=0, c=0 writes %Y\[0, 1\] that t=1, c=0 reads"):
        s.parallel(t)
    s.reorder(c, t)
    s.parallel(c)
    assert loops(s, "next") == ["parallel c in 5", "t in 7"]
    check_values("SCAN", s)


def test_producers_and_consumers():
    s = scheduled("MM")
    names = {"C": [], "E": ["C"]}
    for name, wanted in names.items():
        assert [s.state.block("test", b).label.data for b in s.get_producers(name)] == wanted
    assert [s.state.block("test", b).label.data for b in s.get_consumers("C")] == ["E"]
    assert s.get_consumers("E") == []


REFUSED: list[tuple[str, Callable[[BlockSchedule], object], str]] = [
    ("no block", lambda s: s.get_sblock("D"), "expected one block of name 'D', got none; there are C, E"),
    ("two open", lambda s: s.split(s.get_loops("C")[0], [None, None]), "at most one open factor"),
    ("too small", lambda s: s.split(s.get_loops("C")[0], [2, 2]), "a product of at least 8, got \\[2, 2\\] of 4"),
    ("zero", lambda s: s.split(s.get_loops("C")[0], [0, None]), "positive factors, got 0 at position 0"),
    ("not nested", lambda s: s.fuse(s.get_loops("C")[0], s.get_loops("C")[2]), "expected k directly in i"),
    ("two nests", lambda s: s.fuse(s.get_loops("C")[0], s.get_loops("E")[1]), "expected j directly in i"),
    ("twice", lambda s: s.reorder(*[s.get_loops("C")[0]] * 2), "expected distinct loops"),
    ("apart", lambda s: s.reorder(s.get_loops("C")[0], s.get_loops("E")[1]), "expected loops in one nest"),
    (
        "a sum at once",
        lambda s: s.parallel(s.get_loops("C")[2]),
        r"got iteration i=0, j=0, k=0 writes %C\[0, 0\] that i=0, j=0, k=1 reads",
    ),
    ("lanes of a sum", lambda s: s.vectorize(s.get_loops("C")[2]), "do not depend on each other"),
    ("threads", lambda s: s.bind(s.get_loops("C")[0], "threadIdx.x"), r"would work: s\.parallel"),
    ("no note", lambda s: s.unannotate("C", "key"), "expected a note among none, got key"),
    ("a block", lambda s: s.parallel(s.get_sblock("C")), "expected a loop of the schedule, got a block"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "text"), [(call, text) for _, call, text in REFUSED], ids=[n for n, *_ in REFUSED])
def test_refused_primitives_change_nothing(call: Callable[[BlockSchedule], object], text: str):
    s = scheduled("MM")
    before = str(s.module)
    with pytest.raises(ScheduleError, match=text) as error:
        call(s)
    assert str(s.module) == before
    assert s.primitives == []
    assert len(str(error.value).splitlines()) <= 6


def test_the_record_is_read_replayed_and_told_by_line():
    with PassContext(config={"te.keep_primitive_lines": True}):
        s = scheduled("MM")
    i, *_ = s.get_loops(s.get_sblock("C"))
    s.parallel(s.split(i, [None, 4])[0])
    s.annotate("C", "key", [1, 2])
    context = Context()
    for dialect in (Builtin, Schedule):
        context.load_dialect(dialect)
    text = str(s.sequence)
    assert "%i.0, %i.1 = schedule.block.split(%i, none, 4)" in text
    assert str(next(iter(Parser(context, text).parse_module().ops))) == text
    again = s.snapshot()
    assert str(again.module) == str(s.module)
    assert str(again.sequence) == text
    assert loops(s.snapshot(1), "C") == ["i.0 in 2", "i.1 in 4", "j in 4", "k in 6"]
    assert s.record.lines is not None
    assert {line.partition(":")[0] for line in s.record.lines.values()} == {"test_loops.py"}


def test_a_consumed_loop_is_no_operand_in_a_text():
    s = scheduled("MM")
    s.split(s.get_loops("C")[0], [None, 4])
    text = str(s.sequence)
    context = Context()
    for dialect in (Builtin, Schedule):
        context.load_dialect(dialect)
    wrong = text[: text.rindex("}")] + "  schedule.block.parallel(%i)\n}"
    with pytest.raises(Exception, match=r"expected a live handle, got %i that schedule\.block\.split did away with"):
        Parser(context, wrong).parse_module().verify()


def test_every_op_keeps_a_location():
    s = scheduled("MM")
    i, _, k = s.get_loops("C")
    s.reorder(k, s.split(i, [None, 3])[1])
    s.fuse(*s.get_loops("E"))
    s.add_unit_loop("E")
    func = next(iter(s.module.ops))
    assert [op.name for op in func.walk() if str(op.location) == "loc(unknown)"] == []
    assert {op.label.data for op in func.walk() if isinstance(op, BlockOp)} == {"C", "E"}


def test_the_door():
    from block_kernels import MM

    from whence import tir
    from whence.kernels.building import parsed_prim_func

    s = tir.Schedule(tir.PrimFunc.of(parsed_prim_func(MM)))
    assert isinstance(s, tir.schedule.Schedule)
    s.parallel(s.get_loops(s.get_block("C"))[0])
    assert "T.parallel(8)" in s.mod.script()
    copy = s.copy()
    copy.unroll(copy.get_loops("E")[0])
    assert "T.unroll(8)" in copy.mod.script()
    assert "T.unroll(8)" not in s.mod.script()
    with pytest.raises(tir.schedule.ScheduleError, match="expected a PrimFunc or an IRModule, got str"):
        tir.Schedule("text")  # type: ignore[arg-type]


def test_the_kernel_of_a_function_is_main():
    from block_kernels import MM

    from whence import tir
    from whence.kernels.building import parsed_prim_func

    func = tir.PrimFunc.of(parsed_prim_func(MM.replace("@main", "@other")))
    s = tir.Schedule(func, error_render_level="fast")
    s.parallel(s.get_loops("C")[0])
    assert "T.parallel(8)" in s.mod["main"].script()
    assert func.op.sym_name.data == "other"
    with pytest.raises(tir.ScheduleError) as error:
        s.parallel(s.get_loops("C")[2])
    assert "would work" not in str(error.value)


def test_every_primitive_of_the_table_is_a_method():
    assert [kind.name for kind in KINDS if not hasattr(BlockSchedule, kind.name)] == []
