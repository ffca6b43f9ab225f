"""Kernels of blocks of which one condition of a primitive is what keeps the values, schedules of them, and results."""

from __future__ import annotations

from typing import Any

import numpy as np
from legality_places import PLACES
from xdsl.dialects.builtin import ModuleOp

import whence
from whence.dialects.tir import buffer_of, prim_funcs
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.support.context import PassContext
from whence.te.blocks.schedule import BlockSchedule

BODIES: dict[str, tuple[str, str]] = {
    **PLACES,
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
        function = build_prim_func(func)
        # What buffers have from before is of other inputs.
        function(*(3 - array for array in arrays))
        found = function(*arrays)
    return [np.asarray(each) for each in (found if isinstance(found, list | tuple) else [found])]
