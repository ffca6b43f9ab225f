"""Single passes on kernels made for them, in the interpreter or by what is left of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_contracts import parse
from tir_interpreter import Interpreter, Step
from xdsl.dialects import arith
from xdsl.ir import Operation

from whence.dialects import tir
from whence.dialects.tir import lanes as tir_lanes
from whence.dialects.tir.prefetch import PrefetchOp
from whence.passes.tir import (
    inject_prefetch,
    instrument_bound_checkers,
    loop_partition,
    narrow_datatype,
    rewrite_unsafe_select,
    simplify,
)
from whence.passes.tir.instrument_bound_checkers import Site, sites_of


class Machine(Interpreter):
    """Notes what is told by calls and prefetches; knows integers of 64 bits."""

    def __init__(self, func: tir.PrimFuncOp, *arrays: NDArray[Any]):
        self.calls: list[tuple[int, ...]] = []
        self.hints: list[list[int]] = []
        super().__init__(func, arrays)

    def step(self, op: Operation) -> Step:
        values = self.values
        match op:
            case tir.CallExternOp():
                arguments = op.arguments
                return lambda: self.calls.append(tuple(int(values[argument]) for argument in arguments))
            case PrefetchOp():
                point = self.point(op.map.data, op.indices)
                return lambda: self.hints.append(point())
            case arith.ExtUIOp() | arith.ExtSIOp() | arith.TruncIOp():
                return self.sets(op.results[0], np.int64, op.operands[0])
            case arith.DivSIOp():
                return self.sets(op.result, _quotient, op.lhs, op.rhs)
            case arith.MuliOp():
                return self.sets(op.result, _product, op.lhs, op.rhs)
            case arith.CmpiOp():
                return self.sets(op.result, {2: np.less, 4: np.greater}[op.predicate.value.data], op.lhs, op.rhs)
            case _:
                return super().step(op)


def _product(a: Any, b: Any) -> Any:
    return np.int64(a) * np.int64(b)


def _quotient(a: Any, b: Any) -> Any:
    assert b != 0
    return a // b


def kernel(text: str) -> tir.PrimFuncOp:
    module = parse(text)
    module.verify()
    func = module.body.block.first_op
    assert isinstance(func, tir.PrimFuncOp)
    return func


def count(func: tir.PrimFuncOp, kind: type[Operation]) -> int:
    return sum(isinstance(op, kind) for op in func.walk())


CONVOLUTION = """
tir.prim_func @f(%x: !tir.buffer<10x10xf32>, %w: !tir.buffer<3x3xf32>, %y: !tir.buffer<10x10xf32>) outputs 1 {
  tir.for %i in 10 {
    tir.for %j in 10 {
      %zero = arith.constant 0.0 : f32
      tir.store %zero, %y[%i, %j] : f32, !tir.buffer<10x10xf32>
      tir.for %k in 3 {
        tir.for %l in 3 {
          %a = tir.load %x[%i + %k - 1, %j + %l - 1]
            if [%i + %k - 1, 10 - %i - %k, %j + %l - 1, 10 - %j - %l] >= 0 else 0.0 : f32
            : !tir.buffer<10x10xf32> -> f32
          %b = tir.load %w[%k, %l] : !tir.buffer<3x3xf32> -> f32
          %c = arith.mulf %a, %b : f32
          %d = tir.load %y[%i, %j] : !tir.buffer<10x10xf32> -> f32
          %e = arith.addf %c, %d : f32
          tir.store %e, %y[%i, %j] : f32, !tir.buffer<10x10xf32>
        }
      }
    }
  }
}
"""


def test_partition_leaves_no_guard_in_a_padded_convolution():
    func = kernel(CONVOLUTION)
    rng = np.random.default_rng(0)
    x, w = rng.integers(-4, 5, (10, 10)).astype(np.float32), rng.integers(-4, 5, (3, 3)).astype(np.float32)
    expected = np.zeros((10, 10), np.float32)
    padded = np.pad(x, 1)
    for k in range(3):
        for j in range(3):
            expected += padded[k : k + 10, j : j + 10] * w[k, j]
    loop_partition.run(func, const_loops=True)
    simplify.run(func)
    assert not [op for op in func.walk() if isinstance(op, tir.LoadOp) and op.guard is not None]
    assert {op.trip_count for op in func.walk() if isinstance(op, tir.ForOp)} == {8, 3, 2}
    found = Machine(func, x, w, np.zeros((10, 10), np.float32)).arrays[2]
    np.testing.assert_array_equal(found.reshape(10, 10), expected)


def test_partition_leaves_two_guards_that_exclude_each_other():
    """No pass is free of both; the second one stays in each."""
    func = kernel("""
    tir.prim_func @f(%y: !tir.buffer<8xf32>) outputs 1 {
      %c = arith.constant 1.0 : f32
      tir.for %i in 8 {
        tir.if likely [%i - 4] >= 0 {
          tir.store %c, %y[%i] : f32, !tir.buffer<8xf32>
        }
        tir.if likely [3 - %i] >= 0 {
          tir.store %c, %y[%i] : f32, !tir.buffer<8xf32>
        }
      }
    }""")
    loop_partition.run(func, const_loops=True)
    simplify.run(func)
    assert count(func, tir.IfOp) == 0
    assert Machine(func, np.zeros(8, np.float32)).arrays[0].tolist() == [1.0] * 8


def test_bound_checkers_report_and_skip():
    func = kernel("""
    tir.prim_func @f(%n: !tir.buffer<4xi32>, %x: !tir.buffer<3xf32>, %y: !tir.buffer<4xf32>) outputs 1 {
      tir.for %i in 4 {
        %0 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
        %1 = arith.index_cast %0 : i32 to index
        %2 = tir.load %x[%1] : !tir.buffer<3xf32> -> f32 loc("take1")
        tir.store %2, %y[%1 + 1] : f32, !tir.buffer<4xf32> loc(fused["a", "b"])
      }
    }""")
    instrument_bound_checkers.run(func)
    simplify.run(func)
    assert sites_of(func) == (Site("x", ("take1",)), Site("y", ("a", "b")))
    numbers = np.array([1, -2, 3, 0], np.int32)
    machine = Machine(func, numbers, np.array([5, 6, 7], np.float32), np.full(4, 9, np.float32))
    assert machine.calls == [(0, 0, -2), (1, 0, -1), (0, 0, 3), (1, 0, 4)]
    assert machine.arrays[2].tolist() == [9, 5, 6, 9]


def test_bound_checkers_see_the_last_lane():
    func = kernel("""
    tir.prim_func @f(%x: !tir.buffer<10xf32>, %y: !tir.buffer<3x4xf32>) outputs 1 {
      tir.for %i in 3 {
        %0 = tir.load %x[%i * 4] : !tir.buffer<10xf32> -> vector<4xf32>
        tir.store %0, %y[%i, 0] : vector<4xf32>, !tir.buffer<3x4xf32>
      }
    }""")
    instrument_bound_checkers.run(func)
    machine = Machine(func, np.arange(10, dtype=np.float32), np.zeros(12, np.float32))
    assert machine.calls == [(0, -1, 11)]
    assert machine.arrays[1].tolist() == [*range(8), 0, 0, 0, 0]


UNSAFE = """
tir.prim_func @f(%n: !tir.buffer<4xi32>, %x: !tir.buffer<3xf32>, %y: !tir.buffer<4xf32>) outputs 1 {
  %three = arith.constant 3 : i32
  %other = arith.constant -1.0 : f32
  tir.for %i in 4 {
    %0 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
    %1 = arith.index_cast %0 : i32 to index
    %2 = tir.load %x[%1] : !tir.buffer<3xf32> -> f32
    %3 = arith.addf %2, %2 : f32
    %4 = arith.cmpi slt, %0, %three : i32
    %5 = arith.select %4, %3, %other : f32
    tir.store %5, %y[%i] : f32, !tir.buffer<4xf32>
  }
}
"""


def test_a_load_that_is_not_selected_does_not_happen():
    numbers, x, y = np.array([1, 7, 2, 3], np.int32), np.array([5, 6, 7], np.float32), np.zeros(4, np.float32)
    func = kernel(UNSAFE)
    with pytest.raises(AssertionError):
        Machine(func, numbers, x, y)
    rewrite_unsafe_select.run(func)
    func.verify()
    assert Machine(func, numbers, x, y).arrays[2].tolist() == [12, -1, 14, -1]


def test_the_second_value_of_a_select_is_guarded_too():
    func = kernel(
        UNSAFE.replace("slt", "sgt").replace("%4, %3, %other", "%4, %other, %3").replace("3 : i32", "2 : i32")
    )
    rewrite_unsafe_select.run(func)
    func.verify()
    numbers, x, y = np.array([1, 7, 2, 3], np.int32), np.array([5, 6, 7], np.float32), np.zeros(4, np.float32)
    assert Machine(func, numbers, x, y).arrays[2].tolist() == [12, -1, 14, -1]


def test_a_load_that_others_need_stays():
    text = UNSAFE.replace("tir.store %5, %y[%i]", "tir.store %3, %y[%i]")
    func = kernel(text)
    rewrite_unsafe_select.run(func)
    assert str(func) == str(kernel(text))


def test_no_load_moves_past_a_store():
    text = UNSAFE.replace("%5 = arith", "tir.store %other, %x[0] : f32, !tir.buffer<3xf32>\n    %5 = arith")
    func = kernel(text)
    rewrite_unsafe_select.run(func)
    assert str(func) == str(kernel(text))


def test_a_division_that_is_not_selected_is_one_by_1():
    func = kernel("""
    tir.prim_func @f(%n: !tir.buffer<4xi32>, %y: !tir.buffer<4xi32>) outputs 1 {
      %zero = arith.constant 0 : i32
      %twelve = arith.constant 12 : i32
      tir.for %i in 4 {
        %0 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
        %1 = arith.divsi %twelve, %0 : i32
        %2 = arith.cmpi sgt, %0, %zero : i32
        %3 = arith.select %2, %1, %zero : i32
        tir.store %3, %y[%i] : i32, !tir.buffer<4xi32>
      }
    }""")
    numbers, y = np.array([3, 0, 4, 0], np.int32), np.zeros(4, np.int32)
    with pytest.raises(AssertionError):
        Machine(func, numbers, y)
    rewrite_unsafe_select.run(func)
    func.verify()
    assert Machine(func, numbers, y).arrays[1].tolist() == [4, 0, 3, 0]


def test_prefetches_run_ahead():
    func = kernel("""
    tir.prim_func @f(%x: !tir.buffer<4x8xf32>, %w: !tir.buffer<8xf32>, %y: !tir.buffer<4x8xf32>) outputs 1 {
      tir.for %i in 4 attributes {prefetch = [["x", 2]]} {
        tir.for %j in 2 {
          %0 = tir.load %x[%i, %j * 4] : !tir.buffer<4x8xf32> -> vector<4xf32>
          %1 = tir.load %x[%j * 2 - %j - %j + %i, 4 * %j] : !tir.buffer<4x8xf32> -> vector<4xf32>
          %2 = tir.load %w[%j * 4] : !tir.buffer<8xf32> -> vector<4xf32>
          %3 = arith.addf %0, %2 : vector<4xf32>
          %4 = arith.addf %3, %1 : vector<4xf32>
          tir.store %4, %y[%i, %j * 4] : vector<4xf32>, !tir.buffer<4x8xf32>
        }
      }
    }""")
    inject_prefetch.run(func)
    func.verify()
    machine = Machine(func, np.zeros((4, 8), np.float32), np.zeros(8, np.float32), np.zeros((4, 8), np.float32))
    assert machine.hints == [[i + 2, j * 4] for i in range(4) for j in range(2)]


def test_narrow_vectors_of_positions():
    func = kernel("""
    tir.prim_func @f(%y: !tir.buffer<64xf32>) outputs 1 {
      %c = arith.constant dense<3> : vector<8xi64>
      tir.for %i in 8 {
        %0 = tir.index [%i * 8] stride 1 : vector<8xindex>
        %1 = tir.cast index_cast %0 : vector<8xindex> to vector<8xi64>
        %2 = arith.addi %1, %c : vector<8xi64>
        %3 = tir.cast sitofp %2 : vector<8xi64> to vector<8xf32>
        tir.store %3, %y[%i * 8] : vector<8xf32>, !tir.buffer<64xf32>
      }
    }""")
    narrow_datatype.run(func)
    func.verify()
    casts = [op for op in func.walk() if isinstance(op, tir_lanes.CastOp)]
    assert [str(op.source.type) for op in casts] == ["vector<8xindex>", "vector<8xi32>"]
    assert "i64" not in str(func).replace("prefetch = 2 : i64", "")
    np.testing.assert_array_equal(Machine(func, np.zeros(64, np.float32)).arrays[0], np.arange(64) + 3)


@pytest.mark.parametrize("number", ["3000000000", "-3000000000", "700000000"])
def test_what_may_not_fit_stays_wide(number: str):
    text = f"""
    tir.prim_func @f(%y: !tir.buffer<8xf32>) outputs 1 {{
      %c = arith.constant {number} : i64
      tir.for %i in 8 {{
        %0 = arith.index_cast %i : index to i64
        %1 = arith.muli %0, %c : i64
        %2 = arith.sitofp %1 : i64 to f32
        tir.store %2, %y[%i] : f32, !tir.buffer<8xf32>
      }}
    }}"""
    func = kernel(text)
    narrow_datatype.run(func)
    assert str(func) == str(kernel(text))
