"""Schedules to look at: gemm, softmax, and the kernels of a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from whence.dialects import te, tir
from whence.dialects.relay.core import FuncOp
from whence.dialects.schedule import Schedule as Sequences
from whence.frontends.onnx import from_onnx
from whence.kernels import lower
from whence.lowering.kernel.printing import printed
from whence.lowering.kernel.slots import anonymous
from whence.lowering.relay_to_te.lower import lower_function
from whence.lowering.relay_to_te.strategy import schedule_function
from whence.lowering.te_to_tir.schedule_apply import ScheduleApplyPass
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.support.machine import Machine
from whence.te.schedule.schedule import Schedule

MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


GEMM = """
te.func @gemm(%A: tensor<1024x1024xf32>, %B: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>) {
  %C = te.compute "C" (%m in 1024, %n in 1024) sum(%k in 1024) : tensor<1024x1024xf32> {
    %0 = te.read %A[%m, %k] : tensor<1024x1024xf32>
    %1 = te.read %B[%k, %n] : tensor<1024x1024xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %C : tensor<1024x1024xf32>
}"""

SOFTMAX = """
te.func @softmax(%X: tensor<8x100xf32>) -> (tensor<8x100xf32>) {
  %maxelem = te.compute "maxelem" (%i in 8) max(%k in 100) : tensor<8xf32> {
    %0 = te.read %X[%i, %k] : tensor<8x100xf32>
    te.yield %0 : f32
  } loc("rows")
  %exp = te.compute "exp" (%i in 8, %j in 100) : tensor<8x100xf32> {
    %0 = te.read %X[%i, %j] : tensor<8x100xf32>
    %1 = te.read %maxelem[%i] : tensor<8xf32>
    %2 = arith.subf %0, %1 : f32
    %3 = math.exp %2 : f32
    te.yield %3 : f32
  }
  %expsum = te.compute "expsum" (%i in 8) sum(%k in 100) : tensor<8xf32> {
    %0 = te.read %exp[%i, %k] : tensor<8x100xf32>
    te.yield %0 : f32
  }
  %norm = te.compute "norm" (%i in 8, %j in 100) : tensor<8x100xf32> {
    %0 = te.read %exp[%i, %j] : tensor<8x100xf32>
    %1 = te.read %expsum[%i] : tensor<8xf32>
    %2 = arith.divf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %norm : tensor<8x100xf32>
}"""


ARGMAX = """
te.func @argmax(%x: tensor<4x8xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %at, %best = te.compute "argmax" (%i in 4) reduce "later"(%k in 8) : tensor<4xi32>, tensor<4xf32> {
    %0 = te.index [%k]
    %1 = arith.index_cast %0 : index to i32
    %2 = te.read %x[%i, %k] : tensor<4x8xf32>
    te.yield %1, %2 : i32, f32
  } combine(%x0: i32, %x1: f32, %y0: i32, %y1: f32) from(-1 : i32, -1.0e38 : f32) {
    %0 = arith.cmpf ogt, %x1, %y1 : f32
    %1 = arith.select %0, %x0, %y0 : i32
    %2 = arith.select %0, %x1, %y1 : f32
    te.yield %1, %2 : i32, f32
  }
  %index = te.compute "index" (%i in 4) : tensor<4xi32> {
    %0 = te.read %at[%i] : tensor<4xi32>
    te.yield %0 : i32
  }
  %value = te.compute "value" (%i in 4) : tensor<4xf32> {
    %0 = te.read %best[%i] : tensor<4xf32>
    te.yield %0 : f32
  }
  te.return %index, %value : tensor<4xi32>, tensor<4xf32>
}"""


def _schedule(text: str) -> Schedule:
    context = Context()
    for dialect in (Builtin, te.Te, arith.Arith, math.Math):
        context.load_dialect(dialect)
    func = Parser(context, text).parse_module().body.block.first_op
    assert isinstance(func, te.FuncOp)
    func.verify()
    func.detach()
    return Schedule(func)


@pytest.fixture
def replayed() -> Callable[[Schedule], None]:
    """Checks that the text of a schedule says all: read again it is the same, and gives the same loops."""

    def check(schedule: Schedule) -> None:
        text = str(schedule.module())
        context = Context()
        for dialect in (Builtin, te.Te, Sequences, arith.Arith, math.Math, tir.Tir):
            context.load_dialect(dialect)
        module = Parser(context, text).parse_module()
        module.verify()
        assert str(module) == text
        ScheduleApplyPass().apply(context, module)
        assert str(module) == str(ModuleOp([lower(schedule, schedule.func.sym_name.data, simple_mode=True)]))

    return check


@pytest.fixture
def scheduled() -> Callable[[str], Schedule]:
    """The schedule of a te.func from text, nothing done yet."""
    return _schedule


@pytest.fixture
def gemm() -> Schedule:
    """`C = A B` of 1024: tiled, split, reordered, vectorised and parallel, in 7 primitives."""
    schedule = _schedule(GEMM)
    stage = schedule["C"]
    (m, n), (k,) = stage.axes, stage.reduce_axes
    m_outer, n_outer, m_inner, n_inner = stage.tile(m, n, 32, 32)
    k_outer, k_inner = stage.split(k, 8)
    stage.reorder(m_outer, k_outer, n_outer, m_inner, k_inner, n_inner)
    stage.vectorize(n_inner)
    stage.parallel(m_outer)
    return schedule


@pytest.fixture
def softmax() -> Schedule:
    """maxelem, exp, expsum and norm over rows of 100, not scheduled."""
    return _schedule(SOFTMAX)


@pytest.fixture
def argmax() -> Schedule:
    """A reduction of two results, each read by a stage of its own."""
    return _schedule(ARGMAX)


@pytest.fixture(scope="session")
def kernels() -> list[Schedule]:
    """The default schedules of the distinct kernels of light squeezenet. Only to be looked at."""
    module = from_onnx(MODELS / "light_squeezenet.onnx")
    run_passes(module, relay_pipeline(3))
    functions = [f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data != "main"]
    distinct = {printed(anonymous(f)): f for f in functions}
    return [schedule_function(lower_function(f), Machine.x86(512)) for f in distinct.values()]
