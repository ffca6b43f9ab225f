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
