"""Exact dependences between iterations: against all iterations of random nests, and on kernels."""

from __future__ import annotations

import random

import pytest
from random_dependence import differences, random_nest
from test_further_passes import kernel

from whence.dialects.tir import ForOp
from whence.passes.tir.analysis.dependence import carried, distributed, elementwise, fused, reordered
from whence.passes.tir.analysis.integer_systems import FAR, Form, System
from whence.passes.tir.analysis.meetings import DATA

NESTS = 150


@pytest.mark.parametrize("seed", range(3))
def test_random_nests(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(NESTS):
        nest = random_nest(draw)
        assert differences(nest) == [], nest


def loops(body: str, buffers: str = "%a: !tir.buffer<64x48xf32>", sizes: str = "") -> list[ForOp]:
    func = kernel(f"""
    tir.prim_func @f({buffers}) outputs 1 {sizes} {{
      %c = arith.constant 1.0 : f32
      {body}
    }}""")
    return [op for op in func.walk() if isinstance(op, ForOp)]


SCAN = """
tir.for %i in 63 {
  tir.for %j in 47 {
    %0 = tir.load %a[%i, %j + 1] : !tir.buffer<64x48xf32> -> f32
    tir.store %0, %a[%i + 1, %j] : f32, !tir.buffer<64x48xf32>
  }
}"""


def test_a_scan_is_carried_by_one_loop() -> None:
    i, j = loops(SCAN)
    assert str(carried(i).conflict) == "iteration i=0, j=1 writes %a[1, 1] that i=1, j=0 reads"
    assert carried(j)
    assert str(reordered([i, j], [j, i]).conflict) == "iteration i=0, j=1 writes %a[1, 1] that i=1, j=0 reads"
    (i, j) = loops(SCAN.replace("%j + 1]", "%j]"))
    assert reordered([i, j], [j, i])


def test_sums_may_be_added_up_in_another_order() -> None:
    sums = """
    tir.for %k in 64 {
      tir.for %l in 48 {
        %0 = tir.load %a[%k, %l] : !tir.buffer<64x48xf32> -> f32
        %1 = tir.load %s[0] : !tir.buffer<1xf32> -> f32
        %2 = arith.OP %1, %0 : f32
        tir.store %2, %s[0] : f32, !tir.buffer<1xf32>
      }
    }"""
    for name, reassociates in (("addf", True), ("maximumf", False)):
        k, m = loops(sums.replace("OP", name), "%a: !tir.buffer<64x48xf32>, %s: !tir.buffer<1xf32>")
        verdict = reordered([k, m], [m, k])
        assert verdict
        assert verdict.reassociates == reassociates
        assert not carried(k)
    k, m = loops(sums.replace("OP", "subf"), "%a: !tir.buffer<64x48xf32>, %s: !tir.buffer<1xf32>")
    assert not reordered([k, m], [m, k])


@pytest.mark.parametrize(("offset", "holds"), [(0, True), (-1, True), (1, False)])
def test_loops_that_become_one_and_two(offset: int, holds: bool) -> None:
    """A consumer may be fused with its producer if it reads nothing of later iterations."""
    store = "tir.store %c, %t[%{} + 1] : f32, !tir.buffer<66xf32>"
    load = f"""
    %0 = tir.load %t[%{{}} + {1 + offset}] : !tir.buffer<66xf32> -> f32
    tir.store %0, %b[%{{}}] : f32, !tir.buffer<64xf32>"""
    buffers = "%t: !tir.buffer<66xf32>, %b: !tir.buffer<64xf32>"
    body = f"tir.for %i in 64 {{ {store.format('i')} }} tir.for %j in 64 {{ {load.format('j', 'j')} }}"
    first, second = loops(body, buffers)
    verdict = fused([first], [second])
    assert bool(verdict) == holds
    if not holds:
        assert str(verdict.conflict) == "iteration i=1 writes %t[2] that i=0 reads"
    (both,) = loops(f"tir.for %i in 64 {{ {store.format('i')} {load.format('i', 'i')} }}", buffers)
    # The store alone first: wrong where an iteration reads what a later one writes.
    assert bool(distributed([both], [next(iter(both.block.ops))])) == holds


OPEN = "%b: !tir.buffer<?x?xf32, [s0, s1]>", 'sizes ["n", "m"]'


@pytest.mark.parametrize(
    ("extent", "index", "found"),
    [
        ("s0", "%i, 0", None),
        ("s0 * s1", "%i floordiv s1, %i mod s1", None),
        ("s0", "%i floordiv 2, 0", "iterations i=0 and i=1 write %b[0, 0] with s0 = 2"),
        ("s0", "s0 - 1 - %i, 0", None),
        ("s0", "%i mod 8, 0", "iterations i=0 and i=8 write %b[0, 0] with s0 = 9"),
    ],
)
def test_open_sizes(extent: str, index: str, found: str | None) -> None:
    (loop,) = loops(f"tir.for %i in {extent} {{ tir.store %c, %b[{index}] : f32, {OPEN[0][4:]} }}", *OPEN)
    verdict = carried(loop)
    assert verdict.undecided is None
    assert (verdict.conflict and str(verdict.conflict)) == found


def test_rows_of_an_open_size() -> None:
    i, j = loops(
        f"tir.for %i in s0 {{ tir.for %j in s1 {{ tir.store %c, %b[0, %i * s1 + %j] : f32, {OPEN[0][4:]} }} }}", *OPEN
    )
    assert carried(i)
    assert carried(j)


def test_data_leave_it_undecided() -> None:
    scatter = """
    tir.for %i in 4 {
      %k = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
      %l = arith.index_cast %k : i32 to index
      tir.store %c, %a[%l, ROW] : f32, !tir.buffer<64x48xf32>
    }"""
    buffers = "%n: !tir.buffer<4xi32>, %a: !tir.buffer<64x48xf32>"
    (loop,) = loops(scatter.replace("ROW", "0"), buffers)
    verdict = carried(loop)
    assert verdict.undecided is not None
    assert verdict.undecided.reason == DATA
    (loop,) = loops(scatter.replace("ROW", "%i"), buffers)
    assert carried(loop)


def test_branches_and_views_are_seen() -> None:
    body = """
    %v = tir.decl_buffer %a[0, 24] : !tir.buffer<64x48xf32> -> !tir.buffer<24xf32>
    tir.for %i in 24 {
      tir.store %c, %v[%i] : f32, !tir.buffer<24xf32>
      tir.if [11 - %i] >= 0 {
        %0 = tir.load %a[0, %i + OFFSET] : !tir.buffer<64x48xf32> -> f32
        tir.store %0, %a[1, %i] : f32, !tir.buffer<64x48xf32>
      }
    }"""
    (loop,) = loops(body.replace("OFFSET", "12"))
    assert carried(loop)
    (loop,) = loops(body.replace("OFFSET", "13"))
    assert str(carried(loop).conflict) == "iteration i=0 writes %a[0, 24] that i=11 reads"


def test_elements_of_one_iteration_each() -> None:
    body = """
    tir.for %i in 16 {
      tir.for %j in 4 {
        %0 = tir.load %a[0, INDEX] : !tir.buffer<64x48xf32> -> f32
        tir.store %0, %a[0, OTHER] : f32, !tir.buffer<64x48xf32>
      }
    }"""
    for index, other, holds in (
        ("%i * 3 + %j", "%i * 3 + %j", False),
        ("%i + %j * 16", "%j * 16 + %i", True),
        ("%i + %j * 16", "%j * 16 + %i + 1", False),
        ("%i", "%i", False),
        ("(%i floordiv 4) * 16 + %j * 4 + %i mod 4", "(%i floordiv 4) * 16 + %i mod 4 + %j * 4", True),
    ):
        outer, inner = loops(body.replace("INDEX", index).replace("OTHER", other))
        load, store = inner.block.ops
        assert elementwise([load, store], outer) == holds, index  # pyright: ignore[reportArgumentType]


def test_variables_without_ends() -> None:
    """Solutions of 6 x + 10 y - 15 z = 1 with x > y > z, and no solution of 6 x + 10 y = 5."""
    system = System()
    x, y, z = (system.variable(-FAR, FAR) for _ in range(3))
    system.zero(Form({x: 6, y: 10, z: -15}, -1))
    system.not_negative(Form({x: 1, y: -1}, -1))
    system.not_negative(Form({y: 1, z: -1}, -1))
    values = system.solve()
    assert values is not None
    assert 6 * values[x] + 10 * values[y] - 15 * values[z] == 1
    assert values[x] > values[y] > values[z]
    system.zero(Form({x: 6, y: 10}, -5))
    assert system.solve() is None


@pytest.mark.parametrize(
    ("index", "met"), [("%i mod 12", "i=0 and i=12 write %a[0, 0]"), ("%i mod 11 + %i - %i", None)]
)
def test_the_other_branch_of_two_conditions(index: str, met: str | None) -> None:
    """It runs where one of them does not hold: at 0 to 3 and at 12 to 15."""
    (loop,) = loops(f"""
    tir.for %i in 16 {{
      tir.if [%i - 4, 11 - %i] >= 0 {{
        tir.store %c, %a[1, %i] : f32, !tir.buffer<64x48xf32>
      }} else {{
        tir.store %c, %a[0, {index}] : f32, !tir.buffer<64x48xf32>
      }}
    }}""")
    verdict = carried(loop)
    assert verdict.undecided is None
    found = "iterations i=1 and i=12 write %a[0, 1]" if met is None else f"iterations {met}"
    assert str(verdict.conflict) == found


def test_blocks_run_where_they_are_bound() -> None:
    """A block that starts sums where its reduce variable is 0, in iterations that a condition leaves."""
    body = """
    tir.for %i in 8 {
      tir.for %k in 4 {
        tir.block "s" (%v : spatial 16, %r : reduce 4) at [%i * 2 + OFFSET, %k] where [3 - %i] >= 0 or [%i - 6] >= 0 {
          tir.init {
            tir.store %c, %s[%v] : f32, !tir.buffer<16xf32>
          }
          %0 = tir.load %s[%v] : !tir.buffer<16xf32> -> f32
          %1 = tir.load %a[%v, %r] : !tir.buffer<64x48xf32> -> f32
          %2 = arith.addf %0, %1 : f32
          tir.store %2, %s[%v] : f32, !tir.buffer<16xf32>
        }
      }
    }"""
    buffers = "%a: !tir.buffer<64x48xf32>, %s: !tir.buffer<16xf32>"
    i, k = loops(body.replace("OFFSET", "1"), buffers)
    assert carried(i)
    assert reordered([i, k], [k, i])
    assert str(carried(k).conflict) == "iteration i=0, k=0 writes %s[1] that i=0, k=1 reads"
    i, _ = loops(body.replace("%i * 2 + OFFSET", "%i floordiv 2"), buffers)
    assert str(carried(i).conflict) == "iterations i=0, k=0 and i=1, k=0 write %s[0]"
    # Iterations 3 and 4 alone would meet, but 4 does not run.
    body = body.replace("%i * 2 + OFFSET", "%i - %i floordiv 4")
    i, _ = loops(body, buffers)
    assert carried(i)
    i, _ = loops(body.replace("[%i - 6]", "[%i - 4]"), buffers)
    assert str(carried(i).conflict) == "iterations i=3, k=0 and i=4, k=0 write %s[3]"
