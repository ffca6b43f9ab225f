"""Layouts, padding, blocks of loops and intrinsics: what primitives make of them, and what they refuse."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from block_kernels import MM, check_values, outline, scheduled

import whence
from whence import tir
from whence.dialects.tir import BlockOp, DeclBufferOp, prim_funcs
from whence.kernels.building import parsed_prim_func
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule

DOT = """
tir.prim_func @desc(%A: !tir.buffer<6xf32>, %B: !tir.buffer<6x4xf32>, %C: !tir.buffer<4xf32>) outputs 1 {
  tir.for %j in 4 {
    tir.for %k in 6 {
      tir.block "dot" (%vj : spatial 4, %vk : reduce 6) at [%j, %k] {
        %0 = tir.load %C[%vj] : !tir.buffer<4xf32> -> f32
        %1 = tir.load %A[%vk] : !tir.buffer<6xf32> -> f32
        %2 = tir.load %B[%vk, %vj] : !tir.buffer<6x4xf32> -> f32
        %3 = arith.mulf %1, %2 : f32
        %4 = arith.addf %0, %3 : f32
        tir.store %4, %C[%vj] : f32, !tir.buffer<4xf32>
      }
    }
  }
}
"""
LANES = """
tir.prim_func @impl(%A: !tir.buffer<6xf32>, %B: !tir.buffer<6x4xf32>, %C: !tir.buffer<4xf32>) outputs 1 {
  tir.for %k in 6 {
    %0 = tir.load %C[0] : !tir.buffer<4xf32> -> vector<4xf32>
    %1 = tir.load %A[%k] : !tir.buffer<6xf32> -> f32
    %2 = tir.load %B[%k, 0] : !tir.buffer<6x4xf32> -> vector<4xf32>
    %3 = vector.broadcast %1 : f32 to vector<4xf32>
    %4 = arith.mulf %3, %2 : vector<4xf32>
    %5 = arith.addf %0, %4 : vector<4xf32>
    tir.store %5, %C[0] : vector<4xf32>, !tir.buffer<4xf32>
  }
}
"""


def labels(schedule: BlockSchedule) -> list[str]:
    """The names of all blocks, outer ones first."""
    return [op.label.data for op in schedule.module.walk() if isinstance(op, BlockOp)]


def test_a_layout_of_tiles():
    s = scheduled("MM")
    s.transform_layout("C", ("write", 0), lambda i, j: (i // 4, j, i % 4))
    text = str(s.module)
    assert "%C = tir.alloc : !tir.buffer<2x4x4xf32>" in text
    assert text.count("%C[%vi floordiv 4, %vj, %vi mod 4]") == 3
    assert "%C[%vi_1 floordiv 4, %vj_1, %vi_1 mod 4]" in text
    check_values("MM", s)
    assert str(s.snapshot().module) == text
    s.transform_layout("E", "C", tir.IndexMap.from_func(lambda a, b, c: (a * 4 + c, b)))
    assert "%C = tir.alloc : !tir.buffer<8x4xf32>" in str(s.module)
    check_values("MM", s)


def test_places_of_no_element_are_filled():
    s = scheduled("MM")
    with pytest.raises(ScheduleError, match=r"fills \[3, 4, 3\] with the elements of C, got \[8, 4\](.*\n)*.*, 0\)"):
        s.transform_layout("C", ("write", 0), lambda i, j: (i // 3, j, i % 3))
    s.transform_layout("C", ("write", 0), lambda i, j: (i // 3, j, i % 3), pad_value=0)
    assert 'tir.block "C_pad" (%v0 : spatial 3, %v1 : spatial 4, %v2 : spatial 3)' in outline(s)
    assert "where [%ax2 + %ax0 * 3 - 8] >= 0" in outline(s)
    check_values("MM", s)


LAYOUTS: list[tuple[str, Callable[..., Any], str]] = [
    ("E", lambda i, j: (i * 4 + j,), "(%v0 : spatial 32) at [%ax0]"),
    ("C", lambda i, j, k: (i * 4 + j, k), "(%v0 : spatial 32, %v1 : reduce 6) at [%ax0, %ax1]"),
    (
        "C",
        lambda i, j, k: (k // 2, j, k % 2, i),
        "(%v0 : reduce 3, %v1 : spatial 4, %v2 : reduce 2, %v3 : spatial 8)",
    ),
]


@pytest.mark.parametrize(("block", "layout", "head"), LAYOUTS)
def test_other_variables_of_a_block(block: str, layout: Callable[..., Any], head: str):
    s = scheduled("MM")
    s.transform_block_layout(block, layout)
    assert f'tir.block "{block}" {head}' in outline(s)
    check_values("MM", s)
    assert str(s.snapshot().module) == str(s.module)


def test_a_sum_of_rounded_extents():
    s = scheduled("MM")
    s.pad_einsum("C", [3, 1, 4])
    text = str(s.module)
    for line in ("%A_pad = tir.alloc : !tir.buffer<9x8xf32>", "%B_pad = tir.alloc : !tir.buffer<8x4xf32>"):
        assert line in text
    assert "%C_pad = tir.alloc : !tir.buffer<9x4xf32>" in text
    assert "tir.load %A[%v0, %v1] if [%v0 * -1 + 7, %v1 * -1 + 5] >= 0 else 0.0" in text
    assert labels(s) == ["A_pad", "B_pad", "C", "C_pad", "E"]
    i, _, _ = s.get_loops("C")
    s.split(i, [3, 3])
    check_values("MM", s)


@pytest.mark.parametrize(("name", "number"), [("PAD", 0), ("PAD2", 0)])
def test_padding_apart(name: str, number: int):
    s = scheduled(name)
    filled = s.decompose_padding("pad", s.get_loops("pad")[number])
    assert s.state.block("test", filled).label.data == "pad_pad_const"
    assert " if [" not in str(s.module)
    check_values(name, s)
    s.vectorize(s.get_loops("pad")[-1])
    check_values(name, s)


def test_padding_along_one_loop():
    s = scheduled("PAD")
    s.decompose_padding("pad", s.get_loops("pad")[0])
    assert outline(s) == (
        "tir.for %i in 16\n"
        '  tir.block "pad_pad_const" (%v : spatial 16) at [%i]\n'
        "tir.for %i_1 in 12\n"
        '  tir.block "pad" (%v_1 : spatial 12) at [%i_1]'
    )
    assert "%Z[%v_1 + 2]" in str(s.module)


def test_a_block_of_loops():
    s = scheduled("MM")
    i, j, k = s.get_loops("C")
    k_0, k_1 = s.split(k, [None, 2])
    i_0, i_1 = s.split(i, [None, 4])
    s.reorder(i_0, j, k_0, i_1, k_1)
    outer = s.blockize(i_1)
    assert labels(s) == ["C_o", "C_init", "C", "E"]
    assert '"C_o" (%vi_o : spatial 2, %vj_o : spatial 4, %vk_o : reduce 3) at [%i.0, %j, %k.0]' in outline(s)
    assert '"C" (%vi_i_1 : spatial 4, %vk_i : reduce 2) at [%i.1, %k.1]' in outline(s)
    check_values("MM", s)
    s.decompose_reduction(outer, s.get_loops(outer)[1])
    s.parallel(s.get_loops(outer)[0])
    s.unroll(s.get_loops("C")[1])
    check_values("MM", s)
    assert str(s.snapshot().module) == str(s.module)


def test_a_block_of_nothing_but_its_point():
    s = scheduled("EW")
    s.blockize(s.get_loops("Y")[0])
    assert '"Y_o" (%vi_o : spatial 1, %vj_o : spatial 1) at [0, 0]' in outline(s)
    check_values("EW", s)


def test_what_is_in_a_block_that_is_made_anew_keeps_its_handles():
    s = scheduled("EW")
    inner, (i, j) = s.get_sblock("Y"), s.get_loops("Y")
    outer = s.blockize(j)
    s.transform_block_layout(outer, lambda i, j: (j, i))
    s.annotate(inner, "note", 1)
    s.unroll(j)
    s.blockize(s.get_loops(outer)[1])
    s.annotate(inner, "more", 1)
    with pytest.raises(ScheduleError, match="got one that transform_block_layout did away with"):
        s.unroll(i)
    check_values("EW", s)
    t = scheduled("MM")
    outer = t.blockize(t.get_loops("C")[1])
    start = t.get_sblock("C_init")
    t.blockize(t.get_loops(outer)[0])
    t.annotate(start, "note", 1)
    t.decompose_reduction("C_o_o", t.add_unit_loop("C_o_o"))
    t.annotate(start, "more", 1)
    check_values("MM", t)


@pytest.fixture
def dot():
    """The intrinsic `test.dot`: four sums of six products, in vectors of four lanes."""
    desc, impl = (tir.PrimFunc.of(parsed_prim_func(text)) for text in (DOT, LANES))
    return tir.TensorIntrin.register("test.dot", desc, impl, override=True)


def started() -> tuple[BlockSchedule, Any]:
    """The matrix product with its start apart, and the loop over what `test.dot` computes."""
    s = scheduled("MM")
    update = s.get_sblock("C")
    s.decompose_reduction(update, s.get_loops(update)[1])
    return s, s.get_loops(update)[1]


def test_an_intrinsic_computes_a_loop(dot: tir.TensorIntrin):
    s, loop = started()
    s.tensorize(loop, "test.dot")
    text = str(s.module)
    assert "%A_1 = tir.decl_buffer %A[%vi_o, 0] strides [1]" in text
    assert "%B_1 = tir.decl_buffer %B[0, 0] strides [4, 1]" in text
    assert "tir.load %C_1[0] : !tir.buffer<4xf32> -> vector<4xf32>" in text
    check_values("MM", s)
    with pytest.raises(ScheduleError, match="got one that tensorize did away with"):
        s.unroll(loop)
    views = [op for op in s.module.walk() if isinstance(op, DeclBufferOp)]
    func = next(iter(s.module.ops))
    assert [op.name for op in func.walk() if str(op.location) == "loc(unknown)"] == []
    assert len(views) == 3
    assert str(s.snapshot().module) == text


@pytest.mark.parametrize("extent", [1, 3])
def test_a_variable_of_one_value_is_an_index_like_others(extent: int):
    source = f"!tir.buffer<{extent}x6xf32>"
    text = f"""
tir.prim_func @main(%X: {source}, %Z: !tir.buffer<{extent}x8xf32>) outputs 1 {{
  %Y = tir.alloc : !tir.buffer<{extent}x8xf32>
  tir.for %n in {extent} {{
    tir.for %i in 8 {{
      tir.block "Y" (%vn : spatial {extent}, %vi : spatial 8) at [%n, %i] {{
        %0 = tir.load %X[%vn, %vi - 1] if [%vi - 1, %vi * -1 + 6] >= 0 else 2.0 : f32 : {source} -> f32
        tir.store %0, %Y[%vn, %vi] : f32, !tir.buffer<{extent}x8xf32>
      }}
    }}
  }}
  tir.for %n in {extent} {{
    tir.for %i in 8 {{
      tir.block "Z" (%vn : spatial {extent}, %vi : spatial 8) at [%n, %i] {{
        %0 = tir.load %Y[%vn, %vi] : !tir.buffer<{extent}x8xf32> -> f32
        %1 = arith.addf %0, %0 : f32
        tir.store %1, %Z[%vn, %vi] : f32, !tir.buffer<{extent}x8xf32>
      }}
    }}
  }}
}}
"""
    calls: list[Callable[[BlockSchedule], object]] = [
        lambda s: s.compute_inline("Y"),
        lambda s: s.reverse_compute_inline("Z"),
        lambda s: s.compute_at("Y", s.get_loops("Z")[0]),
        lambda s: s.reverse_compute_at("Z", s.get_loops("Y")[1]),
        lambda s: s.decompose_padding("Y", s.get_loops("Y")[0]),
        lambda s: s.cache_write("Z", 0, "local"),
    ]
    x = np.random.default_rng(0).integers(-4, 5, (extent, 6)).astype(np.float32)
    for call in calls:
        s = BlockSchedule(tir.PrimFunc.of(parsed_prim_func(text)).module)
        call(s)
        made = whence.build_prim_func(next(iter(prim_funcs(s.module))))(x)
        np.testing.assert_array_equal(made, 2 * np.pad(x, ((0, 0), (1, 1)), constant_values=2))


def test_what_an_intrinsic_accesses_by_views_is_the_buffer_behind(dot: tir.TensorIntrin):
    s, loop = started()
    s.tensorize(loop, "test.dot")
    before = str(s.module)
    (consumer,) = s.get_consumers("C_update_o")
    assert s.state.block("test", consumer).label.data == "E"
    calls: list[Callable[[], object]] = [
        lambda: s.cache_write("C_update_o", 0, "local"),
        lambda: s.cache_read("E", 0, "local"),
        lambda: s.transform_layout("C_update_o", ("write", 0), lambda i, j: (j, i)),
    ]
    for call in calls:
        with pytest.raises(ScheduleError, match="expected accesses of C itself, got a view of it"):
            call()
    with pytest.raises(ScheduleError, match="expected C to have one writer, got 2"):
        s.reverse_compute_at("E", s.get_loops("C_update_o")[0])
    assert str(s.module) == before
    check_values("MM", s)


def test_an_intrinsic_of_something_else_is_refused(dot: tir.TensorIntrin):
    s = scheduled("MM")
    before = str(s.module)
    with pytest.raises(ScheduleError, match=r"expected loops of \[4, 6\], as test.dot has, got loops of \[6\]"):
        s.tensorize(s.get_loops("C")[2], "test.dot")
    s, loop = started()
    with pytest.raises(ScheduleError, match=r"got test\.dott .did you mean test\.dot"):
        s.tensorize(loop, "test.dott")
    other = BlockSchedule(
        whence.ir.IRModule.from_expr(tir.PrimFunc.of(parsed_prim_func(MM.replace("mulf", "subf")))).module
    )
    update = other.get_sblock("C")
    other.decompose_reduction(update, other.get_loops(update)[1])
    before = str(other.module)
    with pytest.raises(ScheduleError, match=r"expected .*arith.mulf, .* as test.dot has, got .*arith.subf"):
        other.tensorize(other.get_loops(update)[1], "test.dot")
    assert str(other.module) == before


def test_intrinsics_by_name(dot: tir.TensorIntrin):
    found = tir.TensorIntrin.get("test.dot")
    assert found is not None
    a, b = np.arange(6, dtype=np.float32), np.arange(24, dtype=np.float32).reshape(6, 4)
    assert found.desc.op.is_structurally_equivalent(dot.desc.op)
    np.testing.assert_array_equal(b.T @ a, a @ b)
    assert tir.TensorIntrin.get("test.none", allow_missing=True) is None
    with pytest.raises(ScheduleError, match="expected a new name, or override"):
        tir.TensorIntrin.register("test.dot", dot.desc, dot.impl)


REFUSED: list[tuple[str, str, Callable[[BlockSchedule], object], str]] = [
    ("an argument", "MM", lambda s: s.transform_layout("C", "A", lambda i, j: (j, i)), "got A, an argument"),
    (
        "two at one place",
        "MM",
        lambda s: s.transform_layout("C", "C", lambda i, j: (i // 2, j)),
        r"a place of its own for each of the elements of C, got \[0, 0\] and \[1, 0\] at \[0, 0\]",
    ),
    ("no function of two", "MM", lambda s: s.transform_layout("C", "C", lambda i: (i,)), "a function of 2 indices"),
    ("not affine", "MM", lambda s: s.transform_layout("C", "C", lambda i, j: (i * j, j)), "expected an affine"),
    ("a pad of text", "MM", lambda s: s.transform_layout("C", "C", lambda i, j: (j, i), "0"), "a number as pad_value"),
    ("a variable lost", "EW", lambda s: s.transform_block_layout("Z", lambda i, j: (i,)), "a place of its own"),
    (
        "mixed",
        "MM",
        lambda s: s.transform_block_layout("C", lambda i, j, k: (i, j * 6 + k)),
        "one kind .* reduce, spatial",
    ),
    ("in order", "SCAN", lambda s: s.transform_block_layout("next", lambda t, c: (c, t)), "variables of one kind"),
    ("short", "MM", lambda s: s.pad_einsum("C", [3]), "for each of 3 variables, got \\[3\\]"),
    ("no sum", "MM", lambda s: s.pad_einsum("E", [3, 3]), "expected a sum that starts with tir.init"),
    ("one factor", "SUM", lambda s: s.pad_einsum("S", [1, 0]), "expected a positive number"),
    ("no padding", "EW", lambda s: s.decompose_padding("Y", s.get_loops("Y")[0]), "stores a load with a condition"),
    ("padding outside", "PAD2", lambda s: s.decompose_padding("pad", s.get_loops("pad")[1]), "no padding along loops"),
    (
        "a block twice",
        "MM",
        lambda s: (s.merge(s.get_loops("C")[0], s.get_loops("E")[0]), s.blockize(s.get_loops("E")[0])),
        "expected a loop of one block, got one of 2",
    ),
    ("unaligned", "STENCIL", lambda s: s.blockize(s.split(s.get_loops("Y")[0], [None, 4])[1]), "got a condition"),
    ("no such intrinsic", "MM", lambda s: s.tensorize(s.get_loops("C")[2], "nope"), "a registered intrinsic, got nope"),
]


@pytest.mark.parametrize(("name", "call", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_primitives_change_nothing(name: str, call: Callable[[BlockSchedule], object], text: str):
    s = scheduled(name)
    with pytest.raises(ScheduleError, match=text) as error:
        call(s)
    assert len(str(error.value).splitlines()) <= 6
    assert str(s.module) == str(s.snapshot().module)
