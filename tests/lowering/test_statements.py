"""Statements of tir beside loops, branches and accesses, run on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import whence

Run: TypeAlias = Callable[..., Any]
Array: TypeAlias = NDArray[Any]


def test_while_runs_as_long_as_its_condition_holds(run: Run):
    """The greatest common divisor by Euclid's algorithm, per element."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(1, 5000, 16).astype(np.int32) for _ in range(2))
    out = np.zeros(16, np.int32)
    run(
        """
        tir.prim_func @gcd(%a: !tir.buffer<16xi32>, %b: !tir.buffer<16xi32>, %o: !tir.buffer<16xi32>) outputs 1 {
          %zero = arith.constant 0 : i32
          tir.for parallel %i in 16 {
            %x = tir.alloc : !tir.buffer<2xi32, local>
            %0 = tir.load %a[%i] : !tir.buffer<16xi32> -> i32
            %1 = tir.load %b[%i] : !tir.buffer<16xi32> -> i32
            tir.store %0, %x[0] : i32, !tir.buffer<2xi32, local>
            tir.store %1, %x[1] : i32, !tir.buffer<2xi32, local>
            tir.while {
              %rest = tir.load %x[1] : !tir.buffer<2xi32, local> -> i32
              %go = arith.cmpi ne, %rest, %zero : i32
              tir.condition %go
            } do {
              %2 = tir.load %x[0] : !tir.buffer<2xi32, local> -> i32
              %3 = tir.load %x[1] : !tir.buffer<2xi32, local> -> i32
              %4 = arith.remsi %2, %3 : i32
              tir.store %3, %x[0] : i32, !tir.buffer<2xi32, local>
              tir.store %4, %x[1] : i32, !tir.buffer<2xi32, local>
            }
            %5 = tir.load %x[0] : !tir.buffer<2xi32, local> -> i32
            tir.store %5, %o[%i] : i32, !tir.buffer<16xi32>
          }
        }""",
        *(a, b, out),
    )
    np.testing.assert_array_equal(out, np.gcd(a, b))


def test_constant_buffers(run: Run):
    x = np.random.default_rng(4).standard_normal(18).astype(np.float32)
    out = np.zeros(16, np.float32)
    kernel = run(
        """
        tir.prim_func @smooth(%x: !tir.buffer<18xf32>, %o: !tir.buffer<16xf32>) outputs 1 {
          %taps = tir.alloc_const dense<[0.25, 0.5, 0.125]> : tensor<3xf32> : !tir.buffer<3xf32>
          %order = tir.alloc_const dense<[2, 0, 1]> : tensor<3xi32> : !tir.buffer<3xi32>
          %zero = arith.constant 0.0 : f32
          tir.for parallel %i in 16 {
            tir.store %zero, %o[%i] : f32, !tir.buffer<16xf32>
            tir.for %k in 3 {
              %0 = tir.load %order[%k] : !tir.buffer<3xi32> -> i32
              %at = arith.index_cast %0 : i32 to index
              %1 = tir.load %taps[%at] : !tir.buffer<3xf32> -> f32
              %2 = tir.load %x[%i + %at] : !tir.buffer<18xf32> -> f32
              %3 = arith.mulf %1, %2 : f32
              %4 = tir.load %o[%i] : !tir.buffer<16xf32> -> f32
              %5 = arith.addf %3, %4 : f32
              tir.store %5, %o[%i] : f32, !tir.buffer<16xf32>
            }
          }
        }""",
        *(x, out),
    )
    assert len(kernel.pieces) == 3
    np.testing.assert_allclose(out, np.convolve(x, [0.125, 0.5, 0.25], "valid"), rtol=1e-5, atol=1e-6)


def test_shuffles(run: Run):
    x, out = np.arange(16, dtype=np.int32), np.zeros(8, np.int32)
    run(
        """
        tir.prim_func @s(%x: !tir.buffer<16xi32>, %o: !tir.buffer<8xi32>) outputs 1 {
          %0 = tir.load %x[0] : !tir.buffer<16xi32> -> vector<8xi32>
          %1 = tir.load %x[8] : !tir.buffer<16xi32> -> vector<8xi32>
          %2 = vector.shuffle %0, %1 [0, 8, 1, 9, 2, 10, 15, 7] : vector<8xi32>, vector<8xi32>
          tir.store %2, %o[0] : vector<8xi32>, !tir.buffer<8xi32>
        }""",
        *(x, out),
    )
    np.testing.assert_array_equal(out, [0, 8, 1, 9, 2, 10, 15, 7])


COUNTDOWN = """
tir.prim_func @countdown(%n: !tir.buffer<i32>, %y: !tir.buffer<4xi32>) outputs 1 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = tir.load %n[] : !tir.buffer<i32> -> i32
  %ok = arith.cmpi sge, %first, %zero : i32
  tir.assert %ok, "n: expected at least 0" loc("check"("net.onnx":7:0))
  tir.for %i in 4 {
    tir.block "B" (%v : spatial 4, %k : reduce 1) at [%i, 0] {
      tir.init {
        tir.store %first, %y[%v] : i32, !tir.buffer<4xi32>
      }
      %cell = tir.decl_buffer %y[%v] : !tir.buffer<4xi32> -> !tir.buffer<i32>
      tir.while {
        %0 = tir.load %cell[] : !tir.buffer<i32> -> i32
        %go = arith.cmpi sgt, %0, %one : i32
        tir.condition %go
      } do {
        %1 = tir.load %cell[] : !tir.buffer<i32> -> i32
        %half = arith.shrsi %1, %one : i32
        tir.store %half, %cell[] : i32, !tir.buffer<i32>
      }
    }
  }
}
"""


def test_a_prim_func_of_all_of_them_runs_through_every_pass():
    function = whence.build_prim_func(COUNTDOWN)
    np.testing.assert_array_equal(function(np.array(77, np.int32)), [1] * 4)
    np.testing.assert_array_equal(function(np.array(0, np.int32)), [0] * 4)


def test_an_assertion_that_fails_names_its_layer_and_only_once():
    function = whence.build_prim_func(COUNTDOWN)
    with pytest.raises(whence.WhenceError) as error:
        function(np.array(-5, np.int32))
    assert str(error.value) == "countdown: n: expected at least 0 (layer 'check', net.onnx node 7)"
    np.testing.assert_array_equal(function(np.array(3, np.int32)), [1] * 4)


GATHER = """
tir.prim_func @gather(%i: !tir.buffer<4xi32>, %x: !tir.buffer<8xf32>, %y: !tir.buffer<4xf32>) outputs 1 {
  tir.for %k in 4 {
    %0 = tir.load %i[%k] : !tir.buffer<4xi32> -> i32
    %at = arith.index_cast %0 : i32 to index
    %1 = tir.load %x[%at] : !tir.buffer<8xf32> -> f32 loc("take"("net.onnx":3:0))
    tir.store %1, %y[%k] : f32, !tir.buffer<4xf32>
  }
}
"""


def test_bound_checks_name_buffer_index_and_layer():
    x = np.arange(8, dtype=np.float32)
    with whence.PassContext(config={"tir.instrument_bound_checkers": True}):
        function = whence.build_prim_func(GATHER)
    np.testing.assert_array_equal(function(np.array([3, 1, 7, 0], np.int32), x), [3, 1, 7, 0])
    with pytest.raises(whence.WhenceError) as error:
        function(np.array([3, 1, 8, 0], np.int32), x)
    expected = "gather: expected an index inside dimension 0 of buffer 'x', got 8 (layer 'take')"
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("text", "error", "expected"),
    [
        ("tir.prim_func @f(", whence.FrontendError, "build_prim_func: "),
        ("builtin.module {\n}", whence.PipelineError, "expected one tir.prim_func, got 0"),
        ("tir.prim_func @f() outputs 1 {\n}", whence.FrontendError, "outputs that are among its 0 arguments"),
    ],
)
def test_text_that_is_no_kernel(text: str, error: type[Exception], expected: str):
    with pytest.raises(error, match=expected):
        whence.build_prim_func(text)
