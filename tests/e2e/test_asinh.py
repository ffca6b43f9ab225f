"""One operator from the top to the bottom: asinh at every level, and right values over the whole float range.

A layer `Asinh` of a model becomes `relay.asinh`, a compute of `math.asinh`, the same in a loop, arithmetic, and LLVM
that calls nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from xdsl.context import Context
from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import whence
from whence import te
from whence.dialects.relay.elementwise import AsinhOp
from whence.dialects.te import ComputeOp
from whence.dialects.tir import PrimFuncOp, StoreOp
from whence.frontends.onnx import from_onnx
from whence.kernels import build_schedule, create_prim_func
from whence.lowering.kernel.record import Kernel
from whence.lowering.relay_to_te.convert_relay_to_te import ConvertRelayToTePass
from whence.lowering.te_to_tir.convert_te_to_tir import ConvertTeToTirPass
from whence.lowering.tir_to_llvm.convert_tir_to_llvm import ConvertTirToLlvmPass
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.passes.tir.elementary.formulas import FORMULAS
from whence.passes.tir.lower_intrin import TirLowerIntrinPass
from whence.passes.tir.pipeline import TirPipelinePass
from whence.provenance.span import layer_names

Array = np.ndarray[Any, Any]
LAYER = "squash"


def numbers() -> Array:
    """Every 1021st float of all there are, and edges."""
    bits = np.arange(0, 1 << 32, 1021, dtype=np.uint32).view(np.float32)
    edges = [0.0, -0.0, 1.0, -1.0, 2**-149, -(2**-149), 2**-126, 3.4028235e38, -3.4028235e38, np.inf, -np.inf, np.nan]
    return np.concatenate([np.array(edges, np.float32), bits])


def model(count: int) -> ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Asinh", ["x"], ["y"], name=LAYER)],
        "one_layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [count])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [count])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def only(module: ModuleOp, kind: type[Operation]) -> Operation:
    """The one op of a kind."""
    (op,) = (op for op in module.walk() if isinstance(op, kind))
    return op


def layers(ops: Iterable[Operation]) -> set[str]:
    return {name for op in ops for name in layer_names(op.location)}


def check(found: Array, x: Array) -> None:
    """Within the bound that the formula states of what float64 says, or 0 below normal numbers; the rest exactly."""
    with np.errstate(invalid="ignore"):
        exact = np.arcsinh(x.astype(np.float64))
    rounded = exact.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    error = np.abs(found[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite])).astype(np.float64)
    flushed = (found[finite] == 0) & (np.abs(rounded[finite]) < np.finfo(np.float32).tiny)
    assert error[~flushed].max() <= FORMULAS[math.AsinhOp].error
    np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(rounded[finite]))


def test_each_level_is_located_at_the_layer():
    context = Context()
    module = from_onnx(model(1 << 12))
    assert layers([only(module, AsinhOp)]) == {LAYER}

    run_passes(module, relay_pipeline(3), audit=True)
    ConvertRelayToTePass().apply(context, module)
    compute = only(module, ComputeOp)
    assert [type(op) for op in compute.walk()].count(math.AsinhOp) == 1
    assert layers([compute, only(module, math.AsinhOp)]) == {LAYER}

    ConvertTeToTirPass().apply(context, module)
    kernel = only(module, PrimFuncOp)
    assert only(module, math.AsinhOp).parent_op() is only(module, StoreOp).parent_op()
    assert layers([only(module, math.AsinhOp)]) == {LAYER}

    alone = module.clone()
    before = {op.name for op in alone.walk()}
    TirLowerIntrinPass().apply(context, alone)
    written = {op.name for op in alone.walk()} - before
    assert {"math.sqrt", "math.fma", "arith.divf", "arith.bitcast", "tir.select", "math.copysign"} <= written
    assert not any(isinstance(op, math.AsinhOp) for op in alone.walk())
    assert layers(op for op in alone.walk() if op.name in written) == {LAYER}

    TirPipelinePass().apply(context, module)
    module.verify()
    assert re.search(r"math\.copysign .* : vector<\d+xf32>", str(kernel))
    assert "asinh" not in re.sub(r"@\w+", "", str(kernel))
    assert layers(kernel.walk()) == {LAYER}

    ConvertTirToLlvmPass().apply(context, module)
    functions = [op for op in module.walk() if isinstance(op, llvm.FuncOp)]
    inner = [op for function in functions if function.body.blocks for op in function.body.walk()]
    called = {op.callee.string_value() for op in inner if isinstance(op, llvm.CallOp) and op.callee is not None}
    assert called <= {"whence_parallel_for"}
    assert any(op.name == "llvm.fdiv" for op in inner)
    assert layers(inner) == {LAYER}


def test_a_model_gives_the_right_values():
    x = numbers()
    executable = whence.compile(model(len(x)), threads=1)
    found = executable(x)
    assert isinstance(found, np.ndarray)
    check(found, x)
    (kernel,) = executable.artifact.kernels
    assert isinstance(kernel, Kernel)
    assert "math.asinh" in kernel.te
    assert "math.asinh" not in kernel.tir
    assert "asinhf" not in kernel.assembly
    assert LAYER in str(executable.why(0))


@pytest.mark.parametrize("lanes", [1, 16])
def test_the_te_language_gives_the_same(lanes: int):
    x = numbers()[: -(len(numbers()) % 16)]
    a = te.placeholder((len(x),), name="a")
    y = te.compute(a.shape, lambda i: te.asinh(a[i]), name="y")
    assert "math.asinh %" in str(create_prim_func([a, y]))
    schedule = te.create_schedule(y)
    if lanes > 1:
        stage = schedule[y]
        _, inner = stage.split(stage.op.axis[0], factor=lanes)
        stage.vectorize(inner)
    function = build_schedule(schedule, threads=1)
    found = function(x)
    assert "math.asinh" not in function.tir
    assert "asinhf" not in function.assembly
    check(cast(Array, found), x)
    modelled = whence.compile(model(len(x)), threads=1)(x)
    np.testing.assert_array_equal(cast(Array, found), cast(Array, modelled))
