"""Kernels of blocks whose buffers are compacted, against the same kernels without that."""

from __future__ import annotations

import numpy as np
import pytest
from random_blocks import sample

from whence.dialects.tir import AllocOp, PrimFuncOp
from whence.kernels import build_prim_func
from whence.passes.tir import compact_buffers
from whence.support.context import PassContext
from whence.support.errors import ScheduleError

NAMES = ("compute_at", "compute_at", "reverse_compute_at", "split", "reorder", "parallel", "rfactor", "cache_read")


def sizes(func: PrimFuncOp) -> list[str]:
    return [str(op.result.type.get_shape()) for op in func.walk() if isinstance(op, AllocOp)]


def test_random_kernels_keep_their_bits() -> None:
    compacted = 0
    for seed in range(60):
        func, arrays = sample(seed, NAMES, 6)
        small = func.clone()
        compact_buffers.run(small)
        small.verify()
        if sizes(small) == sizes(func):
            continue
        compacted += 1
        with PassContext(disabled_pass=["tir-compact-buffers"]):
            wanted, found = (np.asarray(build_prim_func(each, threads=2)(*arrays)) for each in (func, small))
        assert wanted.tobytes() == found.tobytes(), seed
    assert compacted > 3


TURNED = """
tir.prim_func @main(%x: !tir.buffer<300x300xf32>, %z: !tir.buffer<4x300x300xf32>) outputs 1 {
  tir.for parallel %i in 4 {
    %y = tir.alloc : !tir.buffer<300x300xf32, local>
    tir.for %j in 300 {
      tir.for %k in 300 {
        tir.block "Y" (%u : spatial 300, %v : spatial 300) at [%j, %k] {
          %0 = tir.load %x[%u, %v] : !tir.buffer<300x300xf32> -> f32
          tir.store %0, %y[%u, %v] : f32, !tir.buffer<300x300xf32, local>
        }
      }
    }
    tir.for %j in 300 {
      tir.for %k in 300 {
        tir.block "Z" (%b : spatial 4, %u : spatial 300, %v : spatial 300) at [%i, %j, %k] {
          %0 = tir.load %y[%v, %u] : !tir.buffer<300x300xf32, local> -> f32
          tir.store %0, %z[%b, %u, %v] : f32, !tir.buffer<4x300x300xf32>
        }
      }
    }
  }
}
"""


def test_passes_at_once_use_no_more_than_a_stack_holds() -> None:
    wanted = r"expected at most 262144 bytes of %y in each pass of a parallel loop, got 360000 \(.*:4"
    with pytest.raises(ScheduleError, match=wanted):
        build_prim_func(TURNED)
