"""What each condition of a primitive is for: kernels of which it is the one that keeps the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import whence
from whence.dialects.tir import buffer_of, prim_funcs
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.support.context import PassContext
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule

BODIES: dict[str, tuple[str, str]] = {
    "GAPS": (
        "X[8], Y[5]",
        """
        for i, j in T.grid(2, 2):
            with T.block("Y"):
                v = T.axis.spatial(5, i * 3 + j)
                Y[v] = X[v]
        """,
    ),
    "SHIFTED": (
        "X[8], Y[8]",
        """
        for i in range(7):
            with T.block("Y"):
                v = T.axis.spatial(8, i + 1)
                Y[v] = X[v]
        """,
    ),
    "LAST": (
        "X[8,4], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i, j in T.grid(8, 4):
            with T.block("Y"):
                v, w = T.axis.remap("SS", [i, j])
                Y[v] = X[v, w]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    # T changes in the nest in which Y reads it, or in one behind.
    "CHANGED": (
        "X[8], Z[8]",
        """
        W = T.alloc_buffer((8,), "float32")
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("W"):
                v = T.axis.spatial(8, i)
                W[v] = X[v]
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = W[v]
            with T.block("W2"):
                v = T.axis.spatial(8, i)
                W[v] = W[v] + T.float32(1)
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v] + W[v]
        """,
    ),
    "CHANGED_BEHIND": (
        "X[8], Z[8]",
        """
        W = T.alloc_buffer((8,), "float32")
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("W"):
                v = T.axis.spatial(8, i)
                W[v] = X[v]
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = W[v] * T.float32(2)
        for i in range(8):
            with T.block("W2"):
                v = T.axis.spatial(8, i)
                W[v] = W[v] + T.float32(1)
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v] + W[v]
        """,
    ),
    # W is made beside the loop that makes Y.
    "SIBLINGS": (
        "X[8,4], Z[8,4]",
        """
        W = T.alloc_buffer((8, 4), "float32")
        Y = T.alloc_buffer((8, 4), "float32")
        for i in range(8):
            for j in range(4):
                with T.block("Y"):
                    v, w = T.axis.remap("SS", [i, j])
                    Y[v, w] = X[v, w]
            for j in range(4):
                with T.block("W"):
                    v, w = T.axis.remap("SS", [i, j])
                    W[v, w] = X[v, w] + T.float32(1)
        for i, j in T.grid(8, 4):
            with T.block("Z"):
                v, w = T.axis.remap("SS", [i, j])
                Z[v, w] = Y[v, w] + W[v, w]
        """,
    ),
    # The old Z is read behind the loop that makes Y.
    "OLD": (
        "X[8], U[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("old"):
                v = T.axis.spatial(8, i)
                Z[v] = X[v]
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v] + T.float32(1)
        for i in range(8):
            with T.block("U"):
                v = T.axis.spatial(8, i)
                U[v] = Z[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    "PART": (
        "X[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(7):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    "WIDER": (
        "X[10], Z[8]",
        """
        Y = T.alloc_buffer((10,), "float32")
        for i in range(10):
            with T.block("Y"):
                v = T.axis.spatial(10, i)
                Y[v] = X[v] + T.float32(1)
        for i, k in T.grid(8, 3):
            with T.block("Z"):
                v, r = T.axis.remap("SR", [i, k])
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + Y[v] * Y[v + r]
        """,
    ),
    "HALVED": (
        "X[8], Z[4]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v // 2] = Y[v]
        """,
    ),
    "ROW": (
        "X[8,4], Z[4]",
        """
        Y = T.alloc_buffer((8, 4), "float32")
        for i, j in T.grid(8, 4):
            with T.block("Y"):
                v, w = T.axis.remap("SS", [i, j])
                Y[v, w] = X[v, w]
        for i, j in T.grid(8, 4):
            with T.block("Z"):
                v, w = T.axis.remap("SS", [i, j])
                Z[w] = Y[v, w]
        """,
    ),
    "GOES_ON": (
        "X[8,4], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i, k in T.grid(8, 4):
            with T.block("Y"):
                v, r = T.axis.remap("SR", [i, k])
                Y[v] = Y[v] + X[v, r]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    "FIRST": (
        "X[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = T.if_then_else(v >= 1, Y[v - 1], T.float32(1))
        """,
    ),
    "BESIDE": (
        "X[8], Z[8]",
        """
        Y = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = X[v]
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = Y[v]
        """,
    ),
    "PRODUCT": (
        "X[4,6], W[4], Z[4]",
        """
        for i, k in T.grid(4, 6):
            with T.block("Z"):
                v, r = T.axis.remap("SR", [i, k])
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + X[v, r] * W[v]
        """,
    ),
    "TERMS": (
        "X[4,6], W[4,6], Z[4]",
        """
        for i, k in T.grid(4, 6):
            with T.block("Z"):
                v, r = T.axis.remap("SR", [i, k])
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + (X[v, r] + W[v, r])
        """,
    ),
    "SUM": (
        "X[4,12], Z[4]",
        """
        for i, k in T.grid(4, 12):
            with T.block("Z"):
                v, r = T.axis.remap("SR", [i, k])
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + X[v, r]
        """,
    ),
    "GRAM": (
        "X[3,4], Z[3,3]",
        """
        for i, j, k in T.grid(3, 3, 4):
            with T.block("Z"):
                v, w, r = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Z[v, w] = T.float32(0)
                Z[v, w] = Z[v, w] + X[v, r] * X[w, r]
        """,
    ),
    # The sum goes on from what is there, as its first term is never run.
    "NEVER": (
        "X[4,8], Z[4]",
        """
        for i, k in T.grid(4, 5):
            with T.block("Z"):
                v = T.axis.spatial(4, i)
                r = T.axis.reduce(8, k + 3)
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + X[v, r]
        """,
    ),
    "ONE_TERM": (
        "X[4,1], Z[4]",
        """
        for i, k in T.grid(4, 1):
            with T.block("Z"):
                v, r = T.axis.remap("SR", [i, k])
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + X[v, r]
        """,
    ),
    # The sum begins with its last term, and loses those before.
    "BACK": (
        "X[4,6], Z[4]",
        """
        for i, k in T.grid(4, 6):
            with T.block("Z"):
                v = T.axis.spatial(4, i)
                r = T.axis.reduce(6, 5 - k)
                with T.init():
                    Z[v] = T.float32(2)
                Z[v] = Z[v] + X[v, r]
        """,
    ),
    "ROUND": (
        "X[4,6], Z[4]",
        """
        for i, k in T.grid(4, 6):
            with T.block("Z"):
                v = T.axis.spatial(4, i)
                r = T.axis.reduce(6, (k + 2) % 6)
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + X[v, r]
        """,
    ),
    "TWICE": (
        "X[4,6], Z[4]",
        """
        for r, i, k in T.grid(2, 4, 6):
            with T.block("Z"):
                v, w = T.axis.remap("SR", [i, k])
                with T.init():
                    Z[v] = T.float32(0)
                Z[v] = Z[v] + X[v, w]
        """,
    ),
    "DOUBLED": (
        "X[4,6], Z[4]",
        """
        for i in range(4):
            for k in range(6):
                with T.block("Z"):
                    v, w = T.axis.remap("SR", [i, k])
                    with T.init():
                        Z[v] = T.float32(0)
                    Z[v] = Z[v] + X[v, w]
            with T.block("double"):
                v = T.axis.spatial(4, i)
                Z[v] = Z[v] * T.float32(2)
        """,
    ),
    "OFFSET": (
        "X[12], Z[12]",
        """
        for i in range(12):
            with T.block("zero"):
                v = T.axis.spatial(12, i)
                Z[v] = T.float32(0)
        for i, j in T.grid(2, 4):
            with T.block("Z"):
                v = T.axis.spatial(12, i * 4 + j + 2)
                Z[v] = X[v]
        """,
    ),
    "TEN": (
        "X[10], Z[10]",
        """
        for i in range(10):
            with T.block("zero"):
                v = T.axis.spatial(10, i)
                Z[v] = T.float32(0)
        for i, j in T.grid(2, 4):
            with T.block("Z"):
                v = T.axis.spatial(10, i * 4 + j)
                Z[v] = X[v]
        """,
    ),
    "SLOW": (
        "X[4], Z[8]",
        """
        for i, j in T.grid(2, 4):
            with T.block("Z"):
                v, w = T.axis.remap("SS", [i, j])
                Z[v * 4 + w] = X[w // 2]
        """,
    ),
    # Each pass reads the row of the pass before.
    "BEFORE": (
        "X[8,4], Z[8,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(8):
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = T.if_then_else(v >= 1, Y[w], T.float32(0))
            for j in range(4):
                with T.block("Y"):
                    v = T.axis.opaque(8, i)
                    w = T.axis.spatial(4, j)
                    Y[w] = X[v, w]
        """,
    ),
    # Each pass leaves an element as the first pass stored it.
    "SOME": (
        "X[8,4], Z[8,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(8):
            for j in range(4):
                with T.block("Y"):
                    v = T.axis.opaque(8, i)
                    w = T.axis.spatial(4, j)
                    T.where(j * -8 - i + 24 >= 0)
                    Y[w] = X[v, w]
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = Y[w]
        """,
    ),
    "FROM_ONE": (
        "X[8,4], Z[8,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(8):
            for j in range(3):
                with T.block("Y"):
                    v = T.axis.opaque(8, i)
                    w = T.axis.spatial(4, j + 1)
                    Y[w] = X[v, w]
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = Y[w]
        """,
    ),
    # An element above the diagonal is of the pass before.
    "TURNED": (
        "X[2,4,4], Z[2,4,4]",
        """
        Y = T.alloc_buffer((4, 4), "float32")
        for i in range(2):
            for j, k in T.grid(4, 4):
                with T.block("Y"):
                    u = T.axis.opaque(2, i)
                    v, w = T.axis.remap("SS", [j, k])
                    with T.init():
                        Y[v, w] = T.float32(0)
                    Y[v, w] = Y[w, v] + X[u, v, w]
            for j, k in T.grid(4, 4):
                with T.block("Z"):
                    u, v, w = T.axis.remap("SSS", [i, j, k])
                    Z[u, v, w] = Y[v, w]
        """,
    ),
    "PARTIAL": (
        "X[8,4], Z[2,4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(2):
            for k, j in T.grid(4, 4):
                with T.block("Y"):
                    w = T.axis.spatial(4, j)
                    r = T.axis.reduce(8, i * 4 + k)
                    with T.init():
                        Y[w] = T.float32(0)
                    Y[w] = Y[w] + X[r, w]
            for j in range(4):
                with T.block("Z"):
                    v, w = T.axis.remap("SS", [i, j])
                    Z[v, w] = Y[w]
        """,
    ),
    "THREE": (
        "X[9], Z[8]",
        """
        Y = T.alloc_buffer((9,), "float32")
        W = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(9, i)
                Y[v] = X[v]
        for i in range(8):
            with T.block("W"):
                v = T.axis.spatial(8, i)
                W[v] = X[v]
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                Z[v] = W[v] + Y[7 - v]
        """,
    ),
    "FROM_BEHIND": (
        "X[8], Z[8]",
        """
        for i in range(8):
            with T.block("zero"):
                v = T.axis.spatial(8, i)
                Z[v] = T.float32(0)
        for i in range(8):
            with T.block("Z"):
                v = T.axis.spatial(8, i)
                T.where(i >= 1)
                Z[v] = X[v - 1]
        """,
    ),
    "TWO_AT_ONE": (
        "X[8], Z[4]",
        """
        Y = T.alloc_buffer((4,), "float32")
        for i in range(8):
            with T.block("Y"):
                v = T.axis.spatial(8, i)
                Y[v // 2] = X[v]
        for i in range(4):
            with T.block("Z"):
                v = T.axis.spatial(4, i)
                Z[v] = Y[v]
        """,
    ),
    # A sum and a maximum take turns.
    "TURNS": (
        "X[4,4], Z[1]",
        """
        with T.block("zero"):
            Z[0] = T.float32(0)
        for i, j in T.grid(4, 4):
            with T.block("sum"):
                v, w = T.axis.remap("RR", [i, j])
                Z[0] = Z[0] + X[v, w]
            with T.block("most"):
                v, w = T.axis.remap("RR", [i, j])
                Z[0] = T.max(Z[0], X[w, v])
        """,
    ),
    "SQUARED": (
        "X[4,4], Z[1]",
        """
        with T.block("one"):
            Z[0] = T.float32(1)
        for i, j in T.grid(4, 4):
            with T.block("Z"):
                v, w = T.axis.remap("RR", [i, j])
                Z[0] = Z[0] + Z[0] * X[v, w]
        """,
    ),
}


def _function(name: str) -> str:
    """A kernel of `BODIES` as TVMScript."""
    buffers, body = BODIES[name]
    parameters = ", ".join(
        f'{each.partition("[")[0]}: T.Buffer(({each.partition("[")[2]},), "float32")'
        for each in buffers.replace("], ", "]|").replace("]", "").split("|")
    )
    return f"@T.prim_func\ndef main({parameters}):{body.replace(chr(10) + '        ', chr(10) + '    ')}"


TEXTS: dict[str, str] = {
    # A number is computed between the loops.
    "BETWEEN": """
tir.prim_func @main(%X: !tir.buffer<7x3xf32>, %Z: !tir.buffer<4x3xf32>) outputs 1 {
  tir.for %i in 4 {
    %n = tir.index [%i * 2] : index
    tir.for %j in 3 {
      tir.block "Z" (%v : spatial 7, %w : spatial 3) at [%n, %j] {
        %0 = tir.load %X[%v, %w] : !tir.buffer<7x3xf32> -> f32
        tir.store %0, %Z[%v floordiv 2, %w] : f32, !tir.buffer<4x3xf32>
      }
    }
  }
}""",
    "EITHER": """
tir.prim_func @main(%X: !tir.buffer<8xf32>, %Z: !tir.buffer<8xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.for %i in 8 {
    tir.block "zero" (%v : spatial 8) at [%i] {
      tir.store %zero, %Z[%v] : f32, !tir.buffer<8xf32>
    }
  }
  tir.for %i in 8 {
    tir.block "Z" (%v : spatial 8) at [%i] where [%i * -1 + 2] >= 0 or [%i - 6] >= 0 {
      %0 = tir.load %X[%v] : !tir.buffer<8xf32> -> f32
      tir.store %0, %Z[%v] : f32, !tir.buffer<8xf32>
    }
  }
}""",
    # A statement beside the loop of padding.
    "STATEMENT": """
tir.prim_func @main(%X: !tir.buffer<4x6xf32>, %W: !tir.buffer<7xf32>, %Z: !tir.buffer<7x6xf32>) outputs 2 {
  %zero = arith.constant 0.0 : f32
  tir.for %i in 7 {
    tir.store %zero, %W[%i] : f32, !tir.buffer<7xf32>
    tir.for %j in 6 {
      tir.block "Z" (%u : spatial 7, %v : spatial 6) at [%i, %j] {
        %0 = tir.load %X[%u - 1, %v] if [%u - 1, 4 - %u] >= 0 else 1.0 : f32 : !tir.buffer<4x6xf32> -> f32
        tir.store %0, %Z[%u, %v] : f32, !tir.buffer<7x6xf32>
      }
    }
  }
}""",
    # The sum runs twice, once for each alternative.
    "AGAIN": """
tir.prim_func @main(%X: !tir.buffer<4x6xf32>, %Z: !tir.buffer<4xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.for %r in 2 {
    tir.for %i in 4 {
      tir.for %k in 6 {
        tir.block "Z" (%v : spatial 4, %w : reduce 6) at [%i, %k] where [%r * -1] >= 0 or [%r - 1] >= 0 {
          tir.init {
            tir.store %zero, %Z[%v] : f32, !tir.buffer<4xf32>
          }
          %0 = tir.load %Z[%v] : !tir.buffer<4xf32> -> f32
          %1 = tir.load %X[%v, %w] : !tir.buffer<4x6xf32> -> f32
          %2 = arith.addf %0, %1 : f32
          tir.store %2, %Z[%v] : f32, !tir.buffer<4xf32>
        }
      }
    }
  }
}""",
    "SHARED": """
tir.prim_func @main(%X: !tir.buffer<4x4xf32>, %Z: !tir.buffer<4x4xf32>) outputs 1 {
  tir.for %i in 4 {
    %Y = tir.alloc : !tir.buffer<4xf32, local>
    tir.for %j in 4 {
      tir.block "Z" (%v : spatial 4, %w : spatial 4) at [%i, %j] {
        %0 = tir.load %X[%v, %w] : !tir.buffer<4x4xf32> -> f32
        tir.store %0, %Y[%w] : f32, !tir.buffer<4xf32, local>
        %1 = tir.load %Y[%w] : !tir.buffer<4xf32, local> -> f32
        tir.store %1, %Z[%v, %w] : f32, !tir.buffer<4x4xf32>
      }
    }
  }
}""",
    # The element is read where a condition holds, else the sum begins anew.
    "ANEW": """
tir.prim_func @main(%X: !tir.buffer<4x4xf32>, %Z: !tir.buffer<1xf32>) outputs 1 {
  %zero = arith.constant 0.0 : f32
  tir.block "zero" () at [] {
    tir.store %zero, %Z[0] : f32, !tir.buffer<1xf32>
  }
  tir.for %i in 4 {
    tir.for %j in 4 {
      tir.block "Z" (%v : reduce 4, %w : reduce 4) at [%i, %j] {
        %0 = tir.load %Z[0] if [%v + %w * 2 - 5] >= 0 else 0.0 : f32 : !tir.buffer<1xf32> -> f32
        %1 = tir.load %X[%v, %w] : !tir.buffer<4x4xf32> -> f32
        %2 = arith.addf %0, %1 : f32
        tir.store %2, %Z[0] : f32, !tir.buffer<1xf32>
      }
    }
  }
}""",
    "PREFIX": """
tir.prim_func @main(%X: !tir.buffer<4x4xf32>, %S: !tir.buffer<4x4xf32>, %Z: !tir.buffer<1xf32>) outputs 2 {
  %zero = arith.constant 0.0 : f32
  tir.block "zero" () at [] {
    tir.store %zero, %Z[0] : f32, !tir.buffer<1xf32>
  }
  tir.for %i in 4 {
    tir.for %j in 4 {
      tir.block "Z" (%v : reduce 4, %w : reduce 4) at [%i, %j] {
        %0 = tir.load %Z[0] : !tir.buffer<1xf32> -> f32
        %1 = tir.load %X[%v, %w] : !tir.buffer<4x4xf32> -> f32
        %2 = arith.addf %0, %1 : f32
        tir.store %2, %S[%v, %w] : f32, !tir.buffer<4x4xf32>
        tir.store %2, %Z[0] : f32, !tir.buffer<1xf32>
      }
    }
  }
}""",
    "OPEN": """
tir.prim_func @main(%X: !tir.buffer<?xf32, [s0]>, %Z: !tir.buffer<?xf32, [s0]>) outputs 1 sizes ["n"] {
  tir.for %i in s0 {
    tir.block "Z" (%v : spatial s0) at [%i] {
      %0 = tir.load %X[%v] : !tir.buffer<?xf32, [s0]> -> f32
      tir.store %0, %Z[%v] : f32, !tir.buffer<?xf32, [s0]>
    }
  }
}""",
}


def scheduled(name: str) -> BlockSchedule:
    """A new schedule of a kernel."""
    text = TEXTS.get(name)
    op = parsed_prim_func(text) if text else whence.script.from_source(_function(name), file=f"{name}.py").op
    return BlockSchedule(ModuleOp([op.clone()]))


def results(module: ModuleOp) -> list[Any]:
    """What the kernel computes of integers, where an access beyond a buffer is an error."""
    (func,) = prim_funcs(module)
    draw = np.random.default_rng(0)
    inputs = func.block.args[: len(func.block.args) - func.outputs.value.data]
    shapes = [[extent if isinstance(extent, int) else 5 for extent in buffer_of(each).get_shape()] for each in inputs]
    arrays = [draw.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    with PassContext(config={"tir.instrument_bound_checkers": True}):
        found = build_prim_func(func)(*arrays)
    return [np.asarray(each) for each in (found if isinstance(found, list | tuple) else [found])]


def loop(s: BlockSchedule, block: str, number: int) -> Any:
    return s.get_loops(block)[number]


def split_mixed(s: BlockSchedule) -> Any:
    """A loop of data and terms, in which another of terms is."""
    i, k = s.get_loops("Z")
    outer, inner = s.split(k, [None, 2])
    return s.fuse(i, outer), inner


def in_threads(s: BlockSchedule, block: str, then: Callable[[Any], object]) -> object:
    """Do something with the loop around a block, which is parallel."""
    i = loop(s, block, 0)
    s.parallel(i)
    return then(i)


def in_part(s: BlockSchedule, then: Callable[[], object]) -> object:
    """Do something behind an uneven split of the last block."""
    s.split(loop(s, "Z", 0), [None, 3])
    return then()


def second_part(s: BlockSchedule) -> object:
    """A block of a part of a sum, in which not all of a row is."""
    i, k = s.get_loops("Z")
    _, part = s.loop_partition(s.fuse(i, k), [1, None])
    return s.blockize(part)


REFUSED: list[tuple[str, str, Callable[[BlockSchedule], object], str]] = [
    ("one too few", "HALVED", lambda s: s.split(loop(s, "Y", 0), [7, 1]), r"at least 8, got \[7, 1\] of 7"),
    ("open lanes", "OPEN", lambda s: s.vectorize(loop(s, "Z", 0)), "a loop of a known extent, got one of s0"),
    ("inlined before a change", "CHANGED", lambda s: s.compute_inline("Y"), "expected W to be complete before"),
    ("inlined over a change", "CHANGED_BEHIND", lambda s: s.compute_inline("Y"), "expected W to be complete before"),
    ("a gap", "GAPS", lambda s: s.cache_write("Y", 0, "local"), "stores all of Y, got one of parts"),
    ("from 1 on", "SHIFTED", lambda s: s.cache_write("Y", 0, "local"), "stores all of Y, got one of parts"),
    ("the last of a row", "LAST", lambda s: s.compute_inline("Y"), "a store to all of Y at distinct variables"),
    (
        "padding beside a statement",
        "STATEMENT",
        lambda s: s.decompose_padding("Z", loop(s, "Z", 0)),
        "loops without other statements around the block",
    ),
    (
        "threads that write one element",
        "HALVED",
        lambda s: in_threads(s, "Y", lambda i: s.reverse_compute_at("Z", i)),
        r"iterations i=0 and i=1 write %Z\[0\]",
    ),
    (
        "in a loop of threads around",
        "ROW",
        lambda s: in_threads(s, "Y", lambda _: s.reverse_compute_at("Z", loop(s, "Y", 1))),
        r"iterations i=0, j=0 and i=1, j=0 write %Z\[0\]",
    ),
    (
        "computed behind a change",
        "CHANGED_BEHIND",
        lambda s: s.compute_at("Y", loop(s, "Z", 0)),
        "expected W to be complete before",
    ),
    (
        "a sum that goes on",
        "GOES_ON",
        lambda s: s.compute_at("Y", loop(s, "Z", 0)),
        "does not begin with what is in Y",
    ),
    (
        "made before the old is read",
        "OLD",
        lambda s: s.reverse_compute_at("Z", loop(s, "Y", 0)),
        "expected Z to be unused from i on",
    ),
    (
        "inlined before the old is read",
        "OLD",
        lambda s: s.reverse_compute_inline("Z"),
        "expected Z to be unused before",
    ),
    (
        "made before a term is",
        "SIBLINGS",
        lambda s: s.reverse_compute_at("Z", loop(s, "Y", 1)),
        "expected W to be complete before",
    ),
    (
        "inlined before a term changes",
        "CHANGED_BEHIND",
        lambda s: s.reverse_compute_inline("Z"),
        "expected W to be complete before",
    ),
    (
        "of a part",
        "PART",
        lambda s: s.reverse_compute_at("Z", loop(s, "Y", 0)),
        "a producer that stores all of Y",
    ),
    ("inlined under a condition", "ROW", lambda s: part_of_y(s), "a block without a condition"),
    (
        "inlined where it may not be read",
        "FIRST",
        lambda s: s.compute_inline("Y"),
        "plain loads of Y, got one with a c",
    ),
    (
        "inlined into a part",
        "HALVED",
        lambda s: in_part(s, lambda: s.reverse_compute_inline("Z")),
        "run once at each element, without conditions",
    ),
    ("copied before it is made", "BESIDE", lambda s: s.cache_read("Z", 0, "local"), "complete before it is read first"),
    ("stored behind its reader", "BESIDE", lambda s: s.cache_write("Y", 0, "local"), "a read of it in the nest"),
    ("a copy of what goes on", "GOES_ON", lambda s: s.cache_write("Y", 0, "local"), "does not begin with what is in Y"),
    (
        "points in another order",
        "HALVED",
        lambda s: s.transform_block_layout("Z", lambda v: (v % 2, v // 2)),  # type: ignore[no-any-return]
        "points that run in any order",
    ),
    (
        "data and terms in one",
        "SUM",
        lambda s: s.transform_block_layout("Z", lambda v, r: (v * 12 + r,)),  # type: ignore[no-any-return]
        "variables of one kind",
    ),
    ("a factor without padding", "PRODUCT", lambda s: s.pad_einsum("Z", [1, 4]), "expected r in all factors"),
    ("padding of terms", "TERMS", lambda s: s.pad_einsum("Z", [3, 1]), r"a sum of products, got arith\.addf"),
    ("partial sums of both", "SUM", lambda s: s.rfactor(split_mixed(s)[1], 0), "got i_k.0_fused for both"),
    (
        "the start of both",
        "SUM",
        lambda s: s.decompose_reduction("Z", split_mixed(s)[0]),
        "loops of the reduction alone, got i_k.0_fused for both",
    ),
    (
        "the start of a sum that runs twice",
        "TWICE",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "run the block once at each point",
    ),
    (
        "the start of a sum that runs by either condition",
        "AGAIN",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "run the block once at each point",
    ),
    (
        "a start beside another writer",
        "DOUBLED",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "expected Z to be accessed by this block alone",
    ),
    (
        "a start that none has",
        "NEVER",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 0)),
        "the first term, r=0, first, got none of it",
    ),
    (
        "a start before terms that are lost",
        "BACK",
        lambda s: s.decompose_reduction("Z", loop(s, "Z", 1)),
        "the first term, r=0, first, got i=0, k=4 before i=0, k=5",
    ),
    (
        "a block that starts in between",
        "ROUND",
        lambda s: s.blockize(loop(s, "Z", 1)),
        "the first term, r=0, first, got i=0, k=0 before i=0, k=4",
    ),
    ("a block that begins between", "OFFSET", lambda s: s.blockize(loop(s, "Z", 1)), "whole parts of what is in j"),
    ("a block that ends between", "TEN", lambda s: s.blockize(loop(s, "Z", 1)), "whole parts of what is in j"),
    ("a block of a part of a sum", "SUM", second_part, "a reduction at each of 48 points, got 47 passes"),
    ("the row of the pass before", "BEFORE", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("an element of an earlier pass", "SOME", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("an element of no pass", "FROM_ONE", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("a turned row of a pass", "TURNED", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    ("a sum over passes", "PARTIAL", lambda s: s.parallel(loop(s, "Z", 0)), "do not depend on each other"),
    (
        "nests with another between",
        "THREE",
        lambda s: s.merge(loop(s, "Y", 0), loop(s, "Z", 0)),
        "expected i right behind i",
    ),
    (
        "the third of the first",
        "THREE",
        lambda s: s.merge(loop(s, "Y", 0), loop(s, "W", 0), loop(s, "Z", 0)),
        r"got iteration i=4 writes %Y\[4\] that i=3 reads",
    ),
    ("a copy from before the first", "FROM_BEHIND", lambda s: s.reindex("Z", ("read", 0)), r"in \[0, 8\) of dim 0"),
    ("two points of one element", "TWO_AT_ONE", lambda s: s.reindex("Y", ("write", 0)), "each element of Y at one"),
    (
        "a buffer of each pass",
        "SHARED",
        lambda s: s.reorder(loop(s, "Z", 1), loop(s, "Z", 0)),
        "no buffer that is allocated between the loops",
    ),
    ("two ways to combine", "TURNS", lambda s: s.reorder(*s.get_loops("sum")[::-1]), "an order that keeps all values"),
    ("a sum begun anew", "ANEW", lambda s: s.reorder(*s.get_loops("Z")[::-1]), "an order that keeps all values"),
    ("a term of the sum so far", "SQUARED", lambda s: s.reorder(*s.get_loops("Z")[::-1]), "an order that keeps all"),
    ("sums on the way", "PREFIX", lambda s: s.reorder(*s.get_loops("Z")[::-1]), "an order that keeps all values"),
]


def part_of_y(s: BlockSchedule) -> object:
    """Inline a block behind an uneven split."""
    s.split(loop(s, "Y", 0), [None, 3])
    return s.compute_inline("Y")


@pytest.mark.parametrize(("name", "call", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_would_change_values_is_refused(name: str, call: Callable[[BlockSchedule], object], text: str):
    s = scheduled(name)
    with pytest.raises(ScheduleError, match=text):
        call(s)
    assert str(s.snapshot().module) == str(s.module)


def uneven_parts(s: BlockSchedule) -> None:
    """The start of a sum before uneven parts."""
    i, k = s.get_loops("Z")
    first, second = s.split(k, [3, 5])
    s.decompose_reduction("Z", first)
    s.unroll(second)
    s.parallel(i)


KEPT: list[tuple[str, str, Callable[[BlockSchedule], object]]] = [
    ("a number between loops", "BETWEEN", lambda s: s.reorder(*s.get_loops("Z")[::-1])),
    ("either condition in parts", "EITHER", lambda s: s.split(loop(s, "Z", 0), [None, 3])),
    ("a wider read behind a narrow one", "WIDER", lambda s: s.compute_at("Y", loop(s, "Z", 0))),
    ("a start before uneven parts", "SUM", uneven_parts),
    (
        "a start before passes of none",
        "SUM",
        lambda s: s.decompose_reduction("Z", s.split(loop(s, "Z", 1), [12, 2])[0]),
    ),
    (
        "a start before a loop of one term in parts",
        "ONE_TERM",
        lambda s: (s.split(loop(s, "Z", 1), [None, 5]), s.decompose_reduction("Z", loop(s, "Z", 0))),
    ),
    ("partial sums of uneven parts", "SUM", lambda s: in_part(s, lambda: s.rfactor(loop(s, "Z", 2), 0))),
    ("partial sums by an axis from behind", "SUM", lambda s: s.rfactor(loop(s, "Z", 1), -1)),
    ("two places of one buffer padded", "GRAM", lambda s: s.pad_einsum("Z", [1, 4, 5])),
    ("two places of one buffer padded alike", "GRAM", lambda s: s.pad_einsum("Z", [2, 1, 1])),
    ("a cache in a loop", "HALVED", lambda s: s.compute_at(s.cache_read("Z", 0, "local"), loop(s, "Z", 0))),
]


@pytest.mark.parametrize(("name", "call"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_is_done_keeps_values(name: str, call: Callable[[BlockSchedule], object]):
    s = scheduled(name)
    call(s)
    for one, other in zip(results(scheduled(name).module), results(s.module), strict=True):
        np.testing.assert_array_equal(one, other)
    assert str(s.snapshot().module) == str(s.module)


def test_a_refused_primitive_leaves_the_handles_of_loops_that_it_took_away():
    s = scheduled("HALVED")
    own, i = loop(s, "Z", 0), loop(s, "Y", 0)
    s.parallel(i)
    with pytest.raises(ScheduleError, match="do not depend on each other"):
        s.reverse_compute_at("Z", i)
    s.unroll(own)
    assert "tir.for unrolled" in str(s.module)
