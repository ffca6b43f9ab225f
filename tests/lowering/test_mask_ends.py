"""Masks whose first lane is far from 0: compared in 32 bits only where all numbers fit."""

from __future__ import annotations

import numpy as np
import pytest

from whence.kernels import build_prim_func

LANES = 8
FAR = 1 << 31


@pytest.mark.parametrize(
    "start", [FAR - 10, FAR - 9, FAR - 2, FAR - 1, FAR, 3 * FAR, -FAR - 3, -FAR, -FAR + 7, -2 * FAR, -3]
)
@pytest.mark.parametrize("step", [1, -1])
def test_first_lanes_far_from_nothing(start: int, step: int):
    function = build_prim_func(f"""
    tir.prim_func @f(%a: !tir.buffer<8xf32>, %b: !tir.buffer<16xf32>) outputs 1 {{
      %all = tir.mask [] steps [] >= 0 : vector<8xi1>
      %0 = tir.masked_load %all, %a[0] else dense<0.0> : vector<8xf32> : !tir.buffer<8xf32> -> vector<8xf32>
      %zero = arith.constant dense<0.0> : vector<8xf32>
      tir.for %i in 2 {{
        tir.masked_store %zero, %all, %b[%i * 8] : vector<8xf32>, !tir.buffer<16xf32>
        %m = tir.mask [%i + {start}] steps [{step}] >= 0 : vector<8xi1>
        tir.masked_store %0, %m, %b[%i * 8] : vector<8xf32>, !tir.buffer<16xf32>
      }}
    }}""")
    expected = [float(i + start + step * lane >= 0) for i in range(2) for lane in range(LANES)]
    np.testing.assert_array_equal(function(np.ones(LANES, np.float32)), expected)


@pytest.mark.parametrize("extent", [14, 15, 16])
def test_lanes_beyond_a_local_buffer_are_never_touched(extent: int):
    """Where all lanes lie inside, LLVM keeps the buffer in a register; where the last does not, masks stay."""
    function = build_prim_func(f"""
    tir.prim_func @f(%a: !tir.buffer<{extent}xf32>, %b: !tir.buffer<{extent}xf32>) outputs 1 {{
      %t = tir.alloc : !tir.buffer<{extent}xf32, local>
      tir.for %i in 2 {{
        %m = tir.mask [%i * -8 + {extent - 1}] steps [-1] >= 0 : vector<8xi1>
        %0 = tir.masked_load %m, %a[%i * 8] else dense<0.0> : vector<8xf32> : !tir.buffer<{extent}xf32> -> vector<8xf32>
        tir.masked_store %0, %m, %t[%i * 8] : vector<8xf32>, !tir.buffer<{extent}xf32, local>
      }}
      tir.for %i in {extent} {{
        %1 = tir.load %t[{extent - 1} - %i] : !tir.buffer<{extent}xf32, local> -> f32
        tir.store %1, %b[%i] : f32, !tir.buffer<{extent}xf32>
      }}
    }}""")
    assert ("llvm.masked.store" in function.llvm) == (extent < 16)
    x = np.arange(extent, dtype=np.float32)
    np.testing.assert_array_equal(function(x), x[::-1])
