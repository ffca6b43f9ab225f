"""Formulas of computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from whence.te.schedule.schedule import Schedule
from whence.te.schedule.view import expression

Make: TypeAlias = Callable[[str], Schedule]

READS = """
  %0 = te.read %A[%i, %j] : tensor<16x16xf32>
  %1 = te.read %B[%j] : tensor<16xf32>
  %2 = te.read %B[%i] : tensor<16xf32>
"""


@pytest.mark.parametrize(
    ("body", "formula"),
    [
        ("%3 = arith.addf %0, %1 : f32 %9 = arith.mulf %3, %2 : f32", "(A[i, j] + B[j]) * B[i]"),
        ("%3 = arith.mulf %0, %1 : f32 %9 = arith.addf %3, %2 : f32", "A[i, j] * B[j] + B[i]"),
        ("%3 = arith.subf %1, %2 : f32 %9 = arith.subf %0, %3 : f32", "A[i, j] - (B[j] - B[i])"),
        ("%3 = arith.subf %0, %1 : f32 %9 = arith.subf %3, %2 : f32", "A[i, j] - B[j] - B[i]"),
        ("%3 = arith.negf %1 : f32 %9 = arith.divf %0, %3 : f32", "A[i, j] / -B[j]"),
        ("%3 = arith.addf %0, %1 : f32 %9 = arith.negf %3 : f32", "-(A[i, j] + B[j])"),
        ("%3 = arith.constant -1.5 : f32 %9 = arith.maximumf %0, %3 : f32", "max(A[i, j], -1.5)"),
        ("%3 = arith.constant 0.1 : f32 %9 = arith.mulf %0, %3 : f32", "A[i, j] * 0.1"),
        ("%3 = math.absf %0 : f32 %9 = math.powf %3, %1 : f32", "pow(abs(A[i, j]), B[j])"),
        ("%3 = arith.cmpf olt, %1, %2 : f32 %9 = arith.select %3, %1, %2 : f32", "select(B[j] < B[i], B[j], B[i])"),
        ("%3 = arith.cmpf ord, %1, %2 : f32 %9 = arith.select %3, %1, %2 : f32", "select(ord(B[j], B[i]), B[j], B[i])"),
        ("%3 = arith.fptosi %0 : f32 to i32 %9 = arith.sitofp %3 : i32 to f32", "float32(int32(A[i, j]))"),
        ("%9 = te.read %A[%i * 2 + 1, %j floordiv 4] : tensor<16x16xf32>", "A[i * 2 + 1, j // 4]"),
        (
            "%3 = te.index [%i + %j] %4 = arith.index_cast %3 : index to i64 %9 = arith.sitofp %4 : i64 to f32",
            "float32(i + j)",
        ),
    ],
)
def test_expression(scheduled: Make, body: str, formula: str) -> None:
    schedule = scheduled(f"""
      te.func @f(%A: tensor<16x16xf32>, %B: tensor<16xf32>) -> (tensor<8x8xf32>) {{
        %y = te.compute "y" (%i in 8, %j in 8) : tensor<8x8xf32> {{
          {READS} {body}
          te.yield %9 : f32
        }}
        te.return %y : tensor<8x8xf32>
      }}""")
    assert expression(schedule["y"].compute) == f"y[i, j] = {formula}"


@pytest.mark.parametrize(
    ("reducer", "formula"),
    [
        ("sum", "y += x[k]"),
        ("prod", "y *= x[k]"),
        ("max", "y = max(y, x[k])"),
        ("min", "y = min(y, x[k])"),
    ],
)
def test_expression_of_reductions(scheduled: Make, reducer: str, formula: str) -> None:
    schedule = scheduled(f"""
      te.func @f(%x: tensor<8xf32>) -> (tensor<f32>) {{
        %y = te.compute "y" () {reducer}(%k in 8) : tensor<f32> {{
          %0 = te.read %x[%k] : tensor<8xf32>
          te.yield %0 : f32
        }}
        te.return %y : tensor<f32>
      }}""")
    assert expression(schedule["y"].compute) == formula


def test_several_results_and_a_reducer_of_ones_own(argmax: Schedule) -> None:
    assert [expression(stage.compute) for stage in argmax.stages] == [
        "(argmax.v0[i], argmax.v1[i]) = later((argmax.v0[i], argmax.v1[i]), (k, x[i, k]))",
        "index[i] = argmax.v0[i]",
        "value[i] = argmax.v1[i]",
    ]


def test_padding_computed_indices_and_scalars(scheduled: Make) -> None:
    schedule = scheduled("""
      te.func @f(%x: tensor<8xf32>, %at: tensor<4xi64>, %s: tensor<f32>) -> (tensor<4xf32>) {
        %y = te.compute "y" (%i in 4) : tensor<4xf32> {
          %0 = te.read %at[%i] : tensor<4xi64>
          %1 = arith.index_cast %0 : i64 to index
          %2 = te.read %x[%1 * 2 - 1] else 0.5 : f32 : tensor<8xf32>
          %3 = te.read %s[] : tensor<f32>
          %4 = arith.mulf %2, %3 : f32
          te.yield %4 : f32
        }
        te.return %y : tensor<4xf32>
      }""")
    assert expression(schedule["y"].compute) == "y[i] = (x[at[i] * 2 - 1] else 0.5) * s"


def test_a_value_used_often_is_spelled_once(scheduled: Make) -> None:
    """Without names for them the text of 64 squarings would have 2^64 factors."""
    squares = "\n".join(f"%{n + 1} = arith.mulf %{n}, %{n} : f32" for n in range(64))
    schedule = scheduled(f"""
      te.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>) {{
        %y = te.compute "y" (%i in 4) : tensor<4xf32> {{
          %0 = te.read %x[%i] : tensor<4xf32>
          {squares}
          te.yield %64 : f32
        }}
        te.return %y : tensor<4xf32>
      }}""")
    text = expression(schedule["y"].compute)
    assert text.startswith("t0 = x[i] * x[i]; t1 = t0 * t0 * (t0 * t0); ")
    assert "; y[i] = " in text
    assert len(text) < 2000
