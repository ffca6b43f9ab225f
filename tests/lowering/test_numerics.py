"""Hand-written kernels, compiled for the host, against numpy."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Run = Callable[..., Any]
RNG = np.random.default_rng(0)


def random(*shape: int) -> NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


def test_elementwise_on_vectors(run: Run):
    x, y, out = random(4, 64), random(4, 64), np.zeros((4, 64), np.float32)
    run(
        """
        tir.prim_func @f(%x: !tir.buffer<4x64xf32>, %y: !tir.buffer<4x64xf32>, %o: !tir.buffer<4x64xf32>) outputs 1 {
          %zero = arith.constant dense<0.0> : vector<16xf32>
          tir.for %i in 4 {
            tir.for %j in 4 {
              %a = tir.load %x[%i, %j * 16] : !tir.buffer<4x64xf32> -> vector<16xf32>
              %b = tir.load %y[%i, %j * 16] : !tir.buffer<4x64xf32> -> vector<16xf32>
              %c = arith.addf %a, %b : vector<16xf32>
              %d = arith.maximumf %c, %zero : vector<16xf32>
              tir.store %d, %o[%i, %j * 16] : vector<16xf32>, !tir.buffer<4x64xf32>
            }
          }
        }""",
        *(x, y, out),
    )
    np.testing.assert_array_equal(out, np.maximum(x + y, 0))


def test_guarded_padded_copy(run: Run):
    x, out = random(5, 6), np.full((9, 10), 7, np.float32)
    run(
        """
        tir.prim_func @pad(%x: !tir.buffer<5x6xf32>, %o: !tir.buffer<9x10xf32>) outputs 1 {
          tir.for %i in 9 {
            tir.for %j in 10 {
              %a = tir.load %x[%i - 2, %j - 2] if [%i - 2, 6 - %i, %j - 2, 7 - %j] >= 0 else -1.5 : f32
                : !tir.buffer<5x6xf32> -> f32
              tir.store %a, %o[%i, %j] : f32, !tir.buffer<9x10xf32>
            }
          }
        }""",
        *(x, out),
    )
    np.testing.assert_array_equal(out, np.pad(x, 2, constant_values=-1.5))


def test_a_guarded_load_never_reads_outside(run: Run):
    """The buffer starts at the start of a page before which nothing is mapped."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    raw = np.frombuffer(memory, np.uint8)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(raw.ctypes.data), ctypes.c_size_t(page), 0) == 0
    x = raw[page:].view(np.float32)[:16].reshape(16)
    x[:] = np.arange(16)
    out = np.zeros(32, np.float32)
    run(
        """
        tir.prim_func @shift(%x: !tir.buffer<16xf32>, %o: !tir.buffer<32xf32>) outputs 1 {
          tir.for %i in 32 {
            %a = tir.load %x[%i - 16] if [%i - 16] >= 0 else 3.0 : f32 : !tir.buffer<16xf32> -> f32
            tir.store %a, %o[%i] : f32, !tir.buffer<32xf32>
          }
        }""",
        *(x, out),
    )
    np.testing.assert_array_equal(out, np.concatenate([np.full(16, 3.0), np.arange(16)]))


TILE = """
tir.prim_func @tile(%a: !tir.buffer<12x96xf32>, %b: !tir.buffer<96x32xf32>, %c: !tir.buffer<12x40xf32>) outputs 1 {
  %acc = tir.alloc : !tir.buffer<12x32xf32, local>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  tir.for unrolled %i in 12 {
    tir.for unrolled %j in 2 {
      tir.store %zero, %acc[%i, %j * 16] : vector<16xf32>, !tir.buffer<12x32xf32, local>
    }
  }
  tir.for %k in 96 {
    tir.for unrolled %i in 12 {
      %x = tir.load %a[%i, %k] : !tir.buffer<12x96xf32> -> f32
      %xv = vector.broadcast %x : f32 to vector<16xf32>
      tir.for unrolled %j in 2 {
        %w = tir.load %b[%k, %j * 16] : !tir.buffer<96x32xf32> -> vector<16xf32>
        %s = tir.load %acc[%i, %j * 16] : !tir.buffer<12x32xf32, local> -> vector<16xf32>
        %r = math.fma %xv, %w, %s : vector<16xf32>
        tir.store %r, %acc[%i, %j * 16] : vector<16xf32>, !tir.buffer<12x32xf32, local>
      }
    }
  }
  tir.for unrolled %i in 12 {
    tir.for unrolled %j in 2 {
      %s = tir.load %acc[%i, %j * 16] : !tir.buffer<12x32xf32, local> -> vector<16xf32>
      tir.store %s, %c[%i, %j * 16] : vector<16xf32>, !tir.buffer<12x40xf32>
    }
  }
}"""


def test_gemm_tile(run: Run):
    a, b, c = random(12, 96), random(96, 32), np.full((12, 40), 5, np.float32)
    run(TILE, a, b, c)
    np.testing.assert_allclose(c[:, :32], a @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(c[:, 32:], 5)


@pytest.mark.parametrize("threads", [1, 3, 7])
def test_parallel_loop_with_captured_buffers_workspace_and_loop_variable(run: Run, threads: int):
    x, out = random(3, 7, 8), np.zeros((3, 7, 8), np.float32)
    linked = run(
        """
        tir.prim_func @par(%x: !tir.buffer<3x7x8xf32>, %o: !tir.buffer<3x7x8xf32>) outputs 1 {
          %pad = tir.alloc : !tir.buffer<5xf32>
          %t = tir.alloc : !tir.buffer<3x7x8xf32>
          %two = arith.constant 2.0 : f32
          tir.for %n in 3 {
            %first = tir.load %x[%n, 0, 0] : !tir.buffer<3x7x8xf32> -> f32
            tir.for parallel %i in 7 {
              tir.for parallel %j in 8 {
                %a = tir.load %x[%n, %i, %j] : !tir.buffer<3x7x8xf32> -> f32
                %b = arith.mulf %a, %two : f32
                %c = arith.addf %b, %first : f32
                tir.store %c, %t[%n, %i, %j] : f32, !tir.buffer<3x7x8xf32>
              }
            }
          }
          tir.for parallel %i in 7 {
            tir.for %n in 3 {
              tir.for %j in 8 {
                %a = tir.load %t[%n, 6 - %i, %j] : !tir.buffer<3x7x8xf32> -> f32
                tir.store %a, %o[%n, %i, %j] : f32, !tir.buffer<3x7x8xf32>
              }
            }
          }
        }""",
        *(x, out),
        threads=threads,
    )
    np.testing.assert_array_equal(out, (x * 2 + x[:, :1, :1])[:, ::-1])
    step = -(-7 // threads)
    once = [(begin, min(7, begin + step)) for begin in range(0, 7, step)]
    assert linked.pieces == once * 4


def test_strided_loads_and_stores(run: Run):
    x, out = random(16, 5), np.zeros((5, 16), np.float32)
    run(
        """
        tir.prim_func @t(%x: !tir.buffer<16x5xf32>, %o: !tir.buffer<5x16xf32>) outputs 1 {
          tir.for %j in 5 {
            %a = tir.load %x[0, %j] stride 5 : !tir.buffer<16x5xf32> -> vector<16xf32>
            tir.store %a, %o[%j, 0] : vector<16xf32>, !tir.buffer<5x16xf32>
          }
        }""",
        *(x, out),
    )
    np.testing.assert_array_equal(out, x.T)
    back = np.zeros((16, 5), np.float32)
    run(
        """
        tir.prim_func @u(%x: !tir.buffer<5x16xf32>, %o: !tir.buffer<16x5xf32>) outputs 1 {
          tir.for %j in 5 {
            %a = tir.load %x[%j, 0] : !tir.buffer<5x16xf32> -> vector<16xf32>
            tir.store %a, %o[0, %j] stride 5 : vector<16xf32>, !tir.buffer<16x5xf32>
          }
        }""",
        *(out, back),
    )
    np.testing.assert_array_equal(back, x)


def test_bool_buffers_are_bytes(run: Run):
    x, y, mask, out = random(2, 16), random(2, 16), np.zeros((2, 16), np.bool_), np.zeros((2, 16), np.float32)
    run(
        """
        tir.prim_func @less(%x: !tir.buffer<2x16xf32>, %y: !tir.buffer<2x16xf32>, %m: !tir.buffer<2x16xi1>,
                            %o: !tir.buffer<2x16xf32>) outputs 2 {
          tir.for %i in 2 {
            %a = tir.load %x[%i, 0] : !tir.buffer<2x16xf32> -> vector<16xf32>
            %b = tir.load %y[%i, 0] : !tir.buffer<2x16xf32> -> vector<16xf32>
            %c = tir.compare olt %a, %b : vector<16xf32>
            tir.store %c, %m[%i, 0] : vector<16xi1>, !tir.buffer<2x16xi1>
            tir.for %j in 16 {
              %d = tir.load %m[%i, %j] : !tir.buffer<2x16xi1> -> i1
              %e = tir.load %x[%i, %j] : !tir.buffer<2x16xf32> -> f32
              %f = tir.load %y[%i, %j] : !tir.buffer<2x16xf32> -> f32
              %g = arith.select %d, %e, %f : f32
              tir.store %g, %o[%i, %j] : f32, !tir.buffer<2x16xf32>
            }
          }
        }""",
        *(x, y, mask, out),
    )
    np.testing.assert_array_equal(mask, x < y)
    np.testing.assert_array_equal(out, np.minimum(x, y))


def test_conditions_and_empty_and_single_loops(run: Run):
    out = np.zeros(24, np.int32)
    run(
        """
        tir.prim_func @c(%o: !tir.buffer<24xi32>) outputs 1 {
          %one = arith.constant 1 : i32
          %two = arith.constant 2 : i32
          %big = arith.constant 100 : i32
          tir.for %i in 24 {
            tir.if likely [%i - 3, 20 - %i] >= 0 {
              tir.if [%i floordiv 4 - 3] >= 0 {
                tir.store %one, %o[%i] : i32, !tir.buffer<24xi32>
              } else {
                tir.store %two, %o[%i] : i32, !tir.buffer<24xi32>
              }
            }
            tir.for %k in 0 {
              tir.store %big, %o[%k] : i32, !tir.buffer<24xi32>
            }
            tir.for %k in 1 {
              tir.if [%k - 1] >= 0 {
                tir.store %big, %o[%k] : i32, !tir.buffer<24xi32>
              }
            }
          }
        }""",
        out,
    )
    i = np.arange(24)
    np.testing.assert_array_equal(out, np.where((i >= 3) & (i <= 20), np.where(i >= 12, 1, 2), 0))


def test_index_arithmetic_with_negative_values(run: Run):
    """Division and modulo are floored, whatever the sign; a number from memory has no known range."""
    x = np.array([-9, -8, -7, -1, 0, 1, 6, 7, 8, 100, -100, 3], np.int64)
    out = np.zeros((5, 12), np.int64)
    run(
        """
        tir.prim_func @n(%x: !tir.buffer<12xi64>, %o: !tir.buffer<5x12xi64>) outputs 1 {
          tir.for %i in 12 {
            %a = tir.load %x[%i] : !tir.buffer<12xi64> -> i64
            %v = arith.index_cast %a : i64 to index
            %q = tir.index [%v floordiv 7] : index
            %r = tir.index [%v mod 7] : index
            %s = tir.index [(%i - 6) floordiv 4 + (%i - 6) mod 4 * 100] : index
            %u = tir.index [%i floordiv 5 + (%i * 3) mod 5 * 10 - 2] : index
            %w = tir.index [%v * -3 + %i * 2 + 1] : index
            %q1 = arith.index_cast %q : index to i64
            %r1 = arith.index_cast %r : index to i64
            %s1 = arith.index_cast %s : index to i64
            %u1 = arith.index_cast %u : index to i64
            %w1 = arith.index_cast %w : index to i64
            tir.store %q1, %o[0, %i] : i64, !tir.buffer<5x12xi64>
            tir.store %r1, %o[1, %i] : i64, !tir.buffer<5x12xi64>
            tir.store %s1, %o[2, %i] : i64, !tir.buffer<5x12xi64>
            tir.store %u1, %o[3, %i] : i64, !tir.buffer<5x12xi64>
            tir.store %w1, %o[4, %i] : i64, !tir.buffer<5x12xi64>
          }
        }""",
        *(x, out),
    )
    i = np.arange(12)
    expected = [x // 7, x % 7, (i - 6) // 4 + (i - 6) % 4 * 100, i // 5 + i * 3 % 5 * 10 - 2, x * -3 + i * 2 + 1]
    np.testing.assert_array_equal(out, expected)


def test_gather_by_data(run: Run):
    table, rows, out = random(10, 16), np.array([3, 9, 10, -1], np.int32), np.zeros((4, 16), np.float32)
    run(
        """
        tir.prim_func @g(%t: !tir.buffer<10x16xf32>, %r: !tir.buffer<4xi32>, %o: !tir.buffer<4x16xf32>) outputs 1 {
          tir.for %i in 4 {
            %a = tir.load %r[%i] : !tir.buffer<4xi32> -> i32
            %b = arith.index_cast %a : i32 to index
            %c = tir.load %t[%b, 0] if [%b, 9 - %b] >= 0 else dense<-2.0> : vector<16xf32>
              : !tir.buffer<10x16xf32> -> vector<16xf32>
            tir.store %c, %o[%i, 0] : vector<16xf32>, !tir.buffer<4x16xf32>
          }
        }""",
        *(table, rows, out),
    )
    np.testing.assert_array_equal(out, [table[3], table[9], np.full(16, -2), np.full(16, -2)])


def test_vector_index_and_lanes(run: Run):
    out = np.zeros((3, 8), np.int32)
    run(
        """
        tir.prim_func @v(%o: !tir.buffer<3x8xi32>) outputs 1 {
          tir.for %i in 3 {
            %a = tir.index [%i * 10 + 1] stride 3 : vector<8xindex>
            %b = tir.cast index_cast %a : vector<8xindex> to vector<8xi32>
            %c = vector.extract %b[2] : i32 from vector<8xi32>
            %d = vector.insert %c, %b[0] : i32 into vector<8xi32>
            tir.store %d, %o[%i, 0] : vector<8xi32>, !tir.buffer<3x8xi32>
          }
        }""",
        out,
    )
    expected = np.arange(3)[:, None] * 10 + 1 + np.arange(8) * 3
    expected[:, 0] = expected[:, 2]
    np.testing.assert_array_equal(out, expected)


def test_call_extern_of_the_c_library_and_of_an_intrinsic(run: Run):
    x, out = random(8).astype(np.float64), np.zeros((2, 8))
    run(
        """
        tir.prim_func @e(%x: !tir.buffer<8xf64>, %o: !tir.buffer<2x8xf64>) outputs 1 {
          tir.for %i in 8 {
            %a = tir.load %x[%i] : !tir.buffer<8xf64> -> f64
            %b = tir.call_extern "cbrt"(%a) : (f64) -> f64
            %c = tir.call_extern "llvm.maxnum.f64"(%a, %b) : (f64, f64) -> f64
            tir.store %b, %o[0, %i] : f64, !tir.buffer<2x8xf64>
            tir.store %c, %o[1, %i] : f64, !tir.buffer<2x8xf64>
          }
        }""",
        *(x, out),
    )
    np.testing.assert_allclose(out, [np.cbrt(x), np.maximum(x, np.cbrt(x))], rtol=1e-15)
