"""Kernels of blocks, and what they compute by numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.tir import prim_funcs
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.te.blocks.schedule import BlockSchedule

MM = """
tir.prim_func @main(%A: !tir.buffer<8x6xf32>, %B: !tir.buffer<6x4xf32>, %E: !tir.buffer<8x4xf32>) outputs 1 {
  %C = tir.alloc : !tir.buffer<8x4xf32>
  %zero = arith.constant 0.0 : f32
  tir.for %i in 8 {
    tir.for %j in 4 {
      tir.for %k in 6 {
        tir.block "C" (%vi : spatial 8, %vj : spatial 4, %vk : reduce 6) at [%i, %j, %k] {
          tir.init {
            tir.store %zero, %C[%vi, %vj] : f32, !tir.buffer<8x4xf32>
          }
          %0 = tir.load %C[%vi, %vj] : !tir.buffer<8x4xf32> -> f32
          %1 = tir.load %A[%vi, %vk] : !tir.buffer<8x6xf32> -> f32
          %2 = tir.load %B[%vk, %vj] : !tir.buffer<6x4xf32> -> f32
          %3 = arith.mulf %1, %2 : f32
          %4 = arith.addf %0, %3 : f32
          tir.store %4, %C[%vi, %vj] : f32, !tir.buffer<8x4xf32>
        }
      }
    }
  }
  tir.for %i in 8 {
    tir.for %j in 4 {
      tir.block "E" (%vi : spatial 8, %vj : spatial 4) at [%i, %j] {
        %0 = tir.load %C[%vi, %vj] : !tir.buffer<8x4xf32> -> f32
        %1 = arith.maximumf %0, %zero : f32
        tir.store %1, %E[%vi, %vj] : f32, !tir.buffer<8x4xf32>
      }
    }
  }
}
"""

EW = """
tir.prim_func @main(%X: !tir.buffer<8x6xf32>, %Z: !tir.buffer<8x6xf32>) outputs 1 {
  %Y = tir.alloc : !tir.buffer<8x6xf32>
  %two = arith.constant 2.0 : f32
  %one = arith.constant 1.0 : f32
  tir.for %i in 8 {
    tir.for %j in 6 {
      tir.block "Y" (%vi : spatial 8, %vj : spatial 6) at [%i, %j] {
        %0 = tir.load %X[%vi, %vj] : !tir.buffer<8x6xf32> -> f32
        %1 = arith.mulf %0, %two : f32
        tir.store %1, %Y[%vi, %vj] : f32, !tir.buffer<8x6xf32>
      }
    }
  }
  tir.for %i in 8 {
    tir.for %j in 6 {
      tir.block "Z" (%vi : spatial 8, %vj : spatial 6) at [%i, %j] {
        %0 = tir.load %Y[%vi, %vj] : !tir.buffer<8x6xf32> -> f32
        %1 = arith.addf %0, %one : f32
        tir.store %1, %Z[%vi, %vj] : f32, !tir.buffer<8x6xf32>
      }
    }
  }
}
"""

STENCIL = """
tir.prim_func @main(%X: !tir.buffer<20xf32>, %Z: !tir.buffer<16xf32>) outputs 1 {
  %Y = tir.alloc : !tir.buffer<18xf32>
  tir.for %i in 18 {
    tir.block "Y" (%v : spatial 18) at [%i] {
      %0 = tir.load %X[%v] : !tir.buffer<20xf32> -> f32
      %1 = tir.load %X[%v + 2] : !tir.buffer<20xf32> -> f32
      %2 = arith.addf %0, %1 : f32
      tir.store %2, %Y[%v] : f32, !tir.buffer<18xf32>
    }
  }
  tir.for %i in 16 {
    tir.block "Z" (%v : spatial 16) at [%i] {
      %0 = tir.load %Y[%v] : !tir.buffer<18xf32> -> f32
      %1 = tir.load %Y[%v + 1] : !tir.buffer<18xf32> -> f32
      %2 = tir.load %Y[%v + 2] : !tir.buffer<18xf32> -> f32
      %3 = arith.addf %0, %1 : f32
      %4 = arith.addf %3, %2 : f32
      tir.store %4, %Z[%v] : f32, !tir.buffer<16xf32>
    }
  }
}
"""

SUM = """
tir.prim_func @main(%X: !tir.buffer<4x24xf32>, %S: !tir.buffer<4xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.for %i in 4 {
    tir.for %k in 24 {
      tir.block "S" (%vi : spatial 4, %vk : reduce 24) at [%i, %k] {
        tir.init {
          tir.store %zero, %S[%vi] : f32, !tir.buffer<4xf32>
        }
        %0 = tir.load %S[%vi] : !tir.buffer<4xf32> -> f32
        %1 = tir.load %X[%vi, %vk] : !tir.buffer<4x24xf32> -> f32
        %2 = arith.addf %0, %1 : f32
        tir.store %2, %S[%vi] : f32, !tir.buffer<4xf32>
      }
    }
  }
}
"""

SCAN = """
tir.prim_func @main(%X: !tir.buffer<5x7xf32>, %Y: !tir.buffer<5x8xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.for %c in 5 {
    tir.block "first" (%v : spatial 5) at [%c] {
      tir.store %zero, %Y[%v, 0] : f32, !tir.buffer<5x8xf32>
    }
  }
  tir.for %t in 7 {
    tir.for %c in 5 {
      tir.block "next" (%vt : opaque 7, %vc : spatial 5) at [%t, %c] {
        %0 = tir.load %Y[%vc, %vt] : !tir.buffer<5x8xf32> -> f32
        %1 = tir.load %X[%vc, %vt] : !tir.buffer<5x7xf32> -> f32
        %2 = arith.addf %0, %1 : f32
        tir.store %2, %Y[%vc, %vt + 1] : f32, !tir.buffer<5x8xf32>
      }
    }
  }
}
"""

SHIFT = """
tir.prim_func @main(%X: !tir.buffer<16xf32>, %Z: !tir.buffer<16xf32>) outputs 1 {
  %Y = tir.alloc : !tir.buffer<17xf32>
  tir.for %i in 16 {
    tir.block "Y" (%v : spatial 16) at [%i] {
      %0 = tir.load %X[%v] : !tir.buffer<16xf32> -> f32
      tir.store %0, %Y[%v] : f32, !tir.buffer<17xf32>
    }
  }
  tir.for %i in 16 {
    tir.block "Z" (%v : spatial 16) at [%i] {
      %0 = tir.load %Y[%v * -1 + 15] : !tir.buffer<17xf32> -> f32
      tir.store %0, %Z[%v] : f32, !tir.buffer<16xf32>
    }
  }
}
"""

PAD = """
tir.prim_func @main(%X: !tir.buffer<12xf32>, %Z: !tir.buffer<16xf32>) outputs 1 {
  tir.for %i in 16 {
    tir.block "pad" (%v : spatial 16) at [%i] {
      %0 = tir.load %X[%v - 2] if [%v - 2, 13 - %v] >= 0 else 0.0 : f32 : !tir.buffer<12xf32> -> f32
      tir.store %0, %Z[%v] : f32, !tir.buffer<16xf32>
    }
  }
}
"""

PAD2 = """
tir.prim_func @main(%X: !tir.buffer<4x6xf32>, %Z: !tir.buffer<7x8xf32>) outputs 1 {
  tir.for %i in 7 {
    tir.for %j in 8 {
      tir.block "pad" (%u : spatial 7, %v : spatial 8) at [%i, %j] {
        %0 = tir.load %X[%u - 1, %v - 1] if [%u - 1, 4 - %u, %v - 1, 6 - %v] >= 0 else 1.0 : f32
          : !tir.buffer<4x6xf32> -> f32
        tir.store %0, %Z[%u, %v] : f32, !tir.buffer<7x8xf32>
      }
    }
  }
}
"""

ONE = SUM.replace("%zero = arith.constant 0.0", "%zero = arith.constant 1.0")

Array = NDArray[Any]


def _product(a: Array, b: Array) -> Array:
    return np.maximum(a @ b, 0)


def _elementwise(x: Array) -> Array:
    return x * 2 + 1


def _sum(x: Array) -> Array:
    return x.sum(1)


def _shift(x: Array) -> Array:
    return x[::-1]


def _pad(x: Array) -> Array:
    return np.pad(x, 2)


def _pad2(x: Array) -> Array:
    return np.pad(x, ((1, 2), (1, 1)), constant_values=1)


def _one(x: Array) -> Array:
    return x.sum(1) + 1


def _scan(x: Array) -> Array:
    return np.concatenate([np.zeros((5, 1), np.float32), np.cumsum(x, 1)], 1)


def _stencil(x: Array) -> Array:
    y = x[:18] + x[2:]
    return y[:16] + y[1:17] + y[2:]


SOURCES: dict[str, tuple[str, Sequence[tuple[int, ...]], Callable[..., Array]]] = {
    "MM": (MM, [(8, 6), (6, 4)], _product),
    "EW": (EW, [(8, 6)], _elementwise),
    "STENCIL": (STENCIL, [(20,)], _stencil),
    "SHIFT": (SHIFT, [(16,)], _shift),
    "PAD": (PAD, [(12,)], _pad),
    "PAD2": (PAD2, [(4, 6)], _pad2),
    "ONE": (ONE, [(4, 24)], _one),
    "SUM": (SUM, [(4, 24)], _sum),
    "SCAN": (SCAN, [(5, 7)], _scan),
}
"""Kernels by name: text, shapes of the inputs, and the result."""


def scheduled(name: str) -> BlockSchedule:
    """A new schedule of a kernel."""
    return BlockSchedule(ModuleOp([parsed_prim_func(SOURCES[name][0]).clone()]))


def outline(schedule: BlockSchedule) -> str:
    """The loops and blocks of a kernel, one a line without the bodies, indented by two."""
    lines = [line[4:] for line in str(schedule.module).splitlines() if "tir.for" in line or "tir.block" in line]
    return "\n".join(line.removesuffix(" {") for line in lines)


def check_values(name: str, schedule: BlockSchedule, seed: int = 0) -> None:
    """Run a schedule's kernel on integers, whose sums are exact in any order, and compare with numpy."""
    _, shapes, reference = SOURCES[name]
    draw = np.random.default_rng(seed)
    arrays = [draw.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    (func,) = prim_funcs(schedule.module)
    result = build_prim_func(func)(*arrays)
    np.testing.assert_array_equal(np.asarray(result), reference(*arrays))
