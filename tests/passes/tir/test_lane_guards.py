"""Conditions without which vectors would do what some lanes must not."""

from __future__ import annotations

import pytest
from test_further_passes import kernel

from whence.dialects import tir
from whence.passes.tir import unroll, vectorize


@pytest.mark.parametrize("end", [5, 6, 7])
@pytest.mark.parametrize("sign", [1, -1])
def test_vectors_run_where_all_lanes_take_the_branch(sign: int, end: int):
    """A division has no masked form: its vectors are for iterations in which no lane is left out."""
    guard = f"{end} - %i * 4 - %j" if sign < 0 else f"%i * 4 + %j - {end - 3}"
    func = kernel(f"""
    tir.prim_func @f(%a: !tir.buffer<12xi32>, %b: !tir.buffer<12xi32>) outputs 1 {{
      tir.for %i in 3 {{ tir.for vectorized %j in 4 {{
        tir.if [{guard}] >= 0 {{
          %0 = tir.load %a[%i * 4 + %j] : !tir.buffer<12xi32> -> i32
          %1 = arith.divsi %0, %0 : i32
          tir.store %1, %b[%i * 4 + %j] : i32, !tir.buffer<12xi32>
        }}
      }} }}
    }}""")
    vectorize.run(func)
    func.verify()
    (choice,) = (op for op in func.walk() if isinstance(op, tir.IfOp) and op.orelse is not None)
    for i in range(3):
        (value,) = choice.guard.data.eval([i], [])
        lanes = [end - i * 4 - j if sign < 0 else i * 4 + j - (end - 3) for j in range(4)]
        assert (value >= 0) == all(lane >= 0 for lane in lanes)


def test_loops_that_come_to_too_much_code_stay_rolled():
    body = "tir.store %c, %b[%i, %j] : i32, !tir.buffer<100x100xi32>"
    func = kernel(f"""
    tir.prim_func @f(%b: !tir.buffer<100x100xi32>) outputs 1 {{
      %c = arith.constant 1 : i32
      tir.for unrolled %i in 100 {{ tir.for unrolled %j in 100 {{ {body} }} }}
    }}""")
    unroll.run(func)
    assert [op.kind.data for op in func.walk() if isinstance(op, tir.ForOp)] == ["serial", "unrolled"]
