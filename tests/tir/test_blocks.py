"""Blocks as statements: of ops, to ops, and as TVMScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence import tir
from whence.dialects.tir.block import BlockOp
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.provenance.span import layer_location
from whence.support.errors import ScheduleError
from whence.te.language.locations import located
from whence.tir.function import PrimFunc

ROWS = """
tir.prim_func @rows(%a: !tir.buffer<?x16xf32, [s0]>, %s: !tir.buffer<?xf32, [s0]>) outputs 1 sizes ["n"] {
  %zero = arith.constant 0.0 : f32
  tir.for %o in s0 {
    tir.for %i in 4 {
      tir.for %k in 16 {
        tir.block "S" (%v : spatial s0, %r : reduce 16) at [%o * 4 + %i, %k] where [s0 - 1 - %o * 4 - %i] >= 0 {
          tir.init {
            tir.store %zero, %s[%v] : f32, !tir.buffer<?xf32, [s0]>
          }
          %0 = tir.load %a[%v, %r] : !tir.buffer<?x16xf32, [s0]> -> f32
          %1 = tir.load %s[%v] : !tir.buffer<?xf32, [s0]> -> f32
          %2 = arith.addf %1, %0 : f32
          tir.store %2, %s[%v] : f32, !tir.buffer<?xf32, [s0]>
        }
      }
    }
  }
}"""


def test_a_block_of_ops_is_one_of_statements_and_again_of_ops() -> None:
    func = PrimFunc.of(parsed_prim_func(ROWS))
    again = func.with_body(func.body).op
    before, after = (next(each for each in op.walk() if isinstance(each, BlockOp)) for op in (func.op, again))
    assert (before.label, before.kinds, before.domain) == (after.label, after.kinds, after.domain)
    assert before.map == after.map
    array = np.random.default_rng(0).integers(-3, 4, (7, 16)).astype(np.float32)
    np.testing.assert_array_equal(build_prim_func(again)(array), array.sum(1))


def test_a_block_is_printed() -> None:
    lines = PrimFunc.of(parsed_prim_func(ROWS)).script("0.14").splitlines()
    start = next(number for number, line in enumerate(lines) if "T.block" in line)
    assert [line.strip() for line in lines[start:]] == [
        "with T.block('S'):",
        "v = T.axis.spatial(n, o * 4 + i)",
        "r = T.axis.reduce(16, k)",
        "T.where(o * 4 + i < n)",
        "T.reads(a[v, r])",
        "T.writes(s[v])",
        "with T.init():",
        "s[v] = T.float32(0)",
        "s[v] = s[v] + a[v, r]",
    ]


def squares(condition: Callable[[tir.Var, tir.Buffer], Any]) -> tir.PrimFunc:
    """The squares of the elements for which a condition holds, elsewhere 0."""
    A, B = tir.decl_buffer((8,), name="A"), tir.decl_buffer((8,), name="B")
    i, v = tir.Var("i"), tir.Var("v")
    with located(layer_location("square", "a.py", 3)):
        store = tir.BufferStore(B, A[v] * A[v], [v])
        block = tir.Block([tir.IterVar((0, 8), v, 0)], None, None, "square", store)
        stmts = [tir.BufferStore(B, 0.0, [i]), tir.BlockRealize([i], condition(i, A), block)]
        return tir.PrimFunc([A, B], tir.For(i, 0, 8, "serial", tir.SeqStmt(stmts)))


CONDITIONS: list[tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = [
    (lambda i, A: tir.Or(i < 1, i >= 5), lambda i, a: (i < 1) | (i >= 5)),
    (lambda i, A: tir.Not(tir.And(i >= 1, i < 5)), lambda i, a: ~((i >= 1) & (i < 5))),
    (
        lambda i, A: tir.And(tir.Or(i < 2, i > 5), tir.Or(tir.NE(i, 6), i < 2)),
        lambda i, a: ((i < 2) | (i > 5)) & ((i != 6) | (i < 2)),
    ),
    (lambda i, A: tir.Not(tir.EQ(i, 3)), lambda i, a: i != 3),
    (lambda i, A: tir.Or(A[i] > 0.0, i < 2), lambda i, a: (a > 0) | (i < 2)),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS)
def test_a_condition_may_have_alternatives(condition: Callable[..., Any], expected: Callable[..., Any]) -> None:
    func = squares(condition)
    array = np.random.default_rng(7).integers(-3, 4, 8).astype(np.float32)
    wanted = np.where(expected(np.arange(8), array), array * array, 0)
    viewed = PrimFunc.of(func.op)
    for one in (func, viewed.with_body(viewed.body)):
        np.testing.assert_array_equal(build_prim_func(one.op)(array), wanted)
    assert not [op.name for op in list(func.op.walk())[1:] if "a.py" not in str(op.location)]


def test_a_domain_may_begin_elsewhere_and_a_view_has_the_strides_of_its_source() -> None:
    A, B = tir.decl_buffer((8, 6), name="A"), tir.decl_buffer((8,), name="B")
    stride = tir.Var("s")
    part = tir.decl_buffer((3, 6), name="part", strides=[stride, 1])
    i, v = tir.Var("i"), tir.Var("v")
    view = tir.MatchBufferRegion(part, tir.BufferRegion(A, (tir.Range(v - 2, 3), tir.Range(0, 6))))
    store = tir.BufferStore(B, part[1, 4] + stride.astype("float32"), [v])
    block = tir.Block([tir.IterVar((2, 7), v, 0)], None, None, "b", store, match_buffers=[view])
    zero = tir.For(i, 0, 8, "serial", tir.BufferStore(B, 0.0, [i]))
    func = tir.PrimFunc([A, B], tir.SeqStmt([zero, tir.For(i, 2, 5, "serial", tir.BlockRealize([i], True, block))]))
    assert "v = T.axis.spatial((2, 7), i)" in func.script()
    assert "part = T.match_buffer(A[v - 2:v - 2 + 3, 0:6], (3, 6), 'float32', strides=('s', 1)" in func.script()
    array = np.random.default_rng(1).integers(-3, 4, (8, 6)).astype(np.float32)
    wanted = np.zeros(8, np.float32)
    wanted[2:7] = array[1:6, 4] + 6
    np.testing.assert_array_equal(build_prim_func(func.op)(array), wanted)


def test_mistakes_in_blocks() -> None:
    v = tir.Var("v")
    block = tir.Block([tir.IterVar((0, 8), v, 0)], None, None, "b", tir.Evaluate(0))
    with pytest.raises(ScheduleError, match="expected 1 values for the variables of 'b', got 2"):
        tir.BlockRealize([0, 1], True, block)
    with pytest.raises(ScheduleError, match="expected an iter_type among 0, 2, 3, 4, got 7"):
        tir.IterVar((0, 8), v, 7)
    with pytest.raises(ScheduleError, match=r"got the thread 'threadIdx\.x'"):
        tir.IterVar((0, 8), v, 0, "threadIdx.x")
