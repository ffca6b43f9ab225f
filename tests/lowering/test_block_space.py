"""Spaces of kernels of blocks: every candidate computes what the kernel as it is written does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from written_kernels import Written, heat, momentum, scan

from whence.dialects.tir import ForOp, PrimFuncOp
from whence.kernels.building import build_prim_func, parsed_prim_func
from whence.lowering.kernel.block_space import BlockSpace, block_space
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.cost import Rates
from whence.support.errors import ScheduleError
from whence.support.machine import WIDEST

KERNELS = {
    "scan": scan(5, 64),
    "scan of odd size": scan(3, 37),
    "momentum": momentum(3, 12, 80),
    "heat": heat(3, 32),
    "heat of odd size": heat(2, 21),
}
HOST = Target.native().hardware
POINTS = 4


def space(name: str) -> BlockSpace:
    return block_space(KERNELS[name].func, HOST)


def check(written: Written, func: PrimFuncOp, what: object) -> None:
    inputs = written.inputs()
    got = build_prim_func(func, threads=2)(*inputs)
    np.testing.assert_allclose(got, written.reference(*inputs), rtol=2e-5, atol=2e-5, err_msg=str(what))


@pytest.mark.parametrize("name", KERNELS)
def test_candidates_are_right(name: str):
    made = space(name)
    points = made.space.points()
    assert points.decisions(0) == {}
    assert str(made.decided({})) == str(KERNELS[name].func)
    draw = np.random.default_rng(len(name))
    chosen = [{"rules": 1}, *(points.decisions(int(point)) for point in draw.permutation(len(points))[:POINTS])]
    for decisions in chosen:
        check(KERNELS[name], made.decided(decisions), decisions)


def test_a_scan_has_vectors_of_sums_in_an_unrolled_reduction():
    made = block_space(scan(8, 64).func, WIDEST)
    assert {knob.name for knob in made.space.knobs} >= {"rules", "vectors.S", "steps.S", "vectors.H"}
    func = str(made.decided({"rules": 1, "vectors.S": 4, "steps.S": 2}))
    assert "tir.for vectorized %j.2" in func
    assert "tir.for unrolled %k.1 in 2" in func
    assert re.search(r"tir.for unrolled %j\.1\w* in 4 ", func)
    assert "%vectors.S" in str(made.schedule.sequence)


def test_rows_of_a_product_share_what_they_load():
    text = """
tir.prim_func @product(%a: !tir.buffer<16x32xf32>, %b: !tir.buffer<32x64xf32>, %c: !tir.buffer<16x64xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.for %i in 16 {
    tir.for %j in 64 {
      tir.for %k in 32 {
        tir.block "C" (%vi : spatial 16, %vj : spatial 64, %vk : reduce 32) at [%i, %j, %k] {
          tir.init {
            tir.store %zero, %c[%vi, %vj] : f32, !tir.buffer<16x64xf32>
          }
          %0 = tir.load %c[%vi, %vj] : !tir.buffer<16x64xf32> -> f32
          %1 = tir.load %a[%vi, %vk] : !tir.buffer<16x32xf32> -> f32
          %2 = tir.load %b[%vk, %vj] : !tir.buffer<32x64xf32> -> f32
          %3 = arith.mulf %1, %2 : f32
          %4 = arith.addf %0, %3 : f32
          tir.store %4, %c[%vi, %vj] : f32, !tir.buffer<16x64xf32>
        }
      }
    }
  }
}
"""
    made = block_space(parsed_prim_func(text), WIDEST)
    points = made.space.points()
    assert {"rows.C", "vectors.C", "steps.C"} <= points.columns.keys()
    costs = points.costs(Rates())
    by_rules = points.columns["rules"] == 1
    assert costs[by_rules].min() < costs[0] / 4
    rows = next(column for name, column in points.columns.items() if name.startswith("rows"))
    assert costs[by_rules & (rows == rows.max())].min() < costs[by_rules & (rows == 1)].min()
    a, b = np.random.default_rng(1).integers(-4, 5, (2, 32, 64)).astype(np.float32)
    best = points.decisions(int(costs.argmin()))
    func = made.decided(best)
    # Sums start in the tile.
    assert len([op for op in func.block.ops if isinstance(op, ForOp)]) == 1
    got = build_prim_func(func, threads=2)(np.ascontiguousarray(a[:16, :32]), b)
    np.testing.assert_array_equal(got, a[:16, :32] @ b)


def test_kernels_without_blocks_have_no_space():
    text = """
tir.prim_func @plain(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
  tir.for %i in 16 {
    %0 = tir.load %a[%i] : !tir.buffer<16xf32> -> f32
    tir.store %0, %b[%i] : f32, !tir.buffer<16xf32>
  }
}
"""
    assert block_space(parsed_prim_func(text), HOST).space.size == 1


def test_decisions_that_cannot_be_are_refused():
    with pytest.raises(ScheduleError, match=r"knob 'vectors\.S': expected one of"):
        space("scan").decided({"rules": 1, "vectors.S": 7})
