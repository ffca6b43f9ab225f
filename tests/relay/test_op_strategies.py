"""Strategies, implementations and declared operators, by TVM's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import whence
from whence import relay, target
from whence import te as tensors
from whence.dialects.relay.dialect import remove_operator
from whence.lowering.relay_to_te.strategies import outside_fingerprint
from whence.relay.backend import te_compiler
from whence.relay.op import op as registry
from whence.relay.op import strategy as wrappers
from whence.relay.testing.temp_op_attr import TempOpAttr
from whence.support.errors import FrontendError, PipelineError, ScheduleError

ops: Any = relay
te: Any = tensors
topi: Any = whence.topi
RNG = np.random.default_rng(0)
COMPILER: Any = te_compiler


def doubled(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
    return [topi.add(inputs[0], inputs[0])]


def tripled(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
    return [topi.add(*doubled(attrs, inputs, out_type), inputs[0])]


def summed(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
    return [topi.add(*inputs)]


def small(attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
    return [te.placeholder((1, 1))]


def nothing(attrs: Any, inputs: Sequence[Any], out_type: Any, machine: Any) -> Any:
    return ops.op.OpStrategy()


def same_type(types: Sequence[Any], attrs: Any) -> Any:
    return types[0]


@target.override_native_generic_func("scaling")
def scaling(attrs: Any, inputs: Sequence[Any], out_type: Any, machine: Any) -> Any:
    strategy = ops.op.OpStrategy()
    strategy.add_implementation(doubled, None, name="doubled", plevel=10)
    with te.SpecializedCondition(inputs[0].shape[0] >= 4):
        strategy.add_implementation(tripled, None, name="tripled", plevel=15)
    return strategy


def implementations(rows: int) -> tuple[list[str], str]:
    x = relay.var("x", shape=(rows, 3))
    out = relay.testing.run_infer_type(ops.nn.relu(x))
    arguments = (
        ops.op.get("nn.relu"),
        out.attrs,
        [te.placeholder((rows, 3))],
        out.checked_type,
        whence.target.Target("llvm"),
    )
    chosen, results = COMPILER.select_implementation(*arguments)
    assert tuple(results[0].shape) == (rows, 3)
    return [one.name for one in COMPILER.get_valid_implementations(*arguments)], chosen.name


def test_a_strategy_computes_an_operator() -> None:
    before = outside_fingerprint()
    with TempOpAttr("nn.relu", "FTVMStrategy", scaling):
        assert outside_fingerprint() != before
        assert implementations(2) == (["doubled"], "doubled")
        assert implementations(4) == (["doubled", "tripled"], "tripled")
        for rows, factor in ((2, 2), (4, 3)):
            x = relay.var("x", shape=(rows, 3))
            data = RNG.standard_normal((rows, 3)).astype(np.float32)
            run = whence.compile(relay.IRModule.from_expr(ops.exp(ops.nn.relu(x))))
            np.testing.assert_allclose(run(data), np.exp(factor * data), rtol=1e-6)
    assert outside_fingerprint() == before
    run = whence.compile(relay.IRModule.from_expr(ops.exp(ops.nn.relu(x))))
    np.testing.assert_allclose(run(data), np.exp(np.maximum(data, 0)), rtol=1e-6)


def test_our_implementations_are_lowerings_with_rows() -> None:
    data, weight = te.placeholder((8, 16)), te.placeholder((12, 16))
    out = relay.testing.run_infer_type(ops.nn.dense(relay.var("x", shape=(8, 16)), relay.var("w", shape=(12, 16))))
    arguments = ops.op.get("nn.dense"), out.attrs, [data, weight], out.checked_type, "llvm"
    names = [one.name for one in COMPILER.get_valid_implementations(*arguments)]
    assert "nn.dense.dense" in names
    chosen, results = COMPILER.select_implementation(*arguments)
    schedule = chosen.schedule(out.attrs, results, "llvm")
    x, w = (RNG.standard_normal(shape).astype(np.float32) for shape in ((8, 16), (12, 16)))
    found = np.zeros((8, 12), np.float32)
    whence.build(schedule)(x, w, found)
    np.testing.assert_allclose(found, x @ w.T, rtol=1e-5, atol=1e-5)


def test_a_convolution_is_computed_by_topi_through_a_wrapper() -> None:
    def conv(data: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, out_dtype: Any) -> Any:
        assert out_dtype == "float32"
        return topi.nn.conv2d(data, kernel, strides=strides, padding=padding, dilation=dilation)

    def strategy(attrs: Any, inputs: Any, out_type: Any, machine: Any) -> Any:
        result = ops.op.OpStrategy()
        result.add_implementation(wrappers.wrap_compute_conv2d(conv), None, name="own")
        return result

    x, w = relay.var("x", shape=(1, 3, 6, 6)), relay.var("w", shape=(4, 3, 3, 3))
    module = relay.IRModule.from_expr(ops.nn.conv2d(x, w, padding=(1, 1)))
    arrays = [RNG.standard_normal(shape).astype(np.float32) for shape in ((1, 3, 6, 6), (4, 3, 3, 3))]
    wanted = whence.compile(module)(*arrays)
    with TempOpAttr("nn.conv2d", "FTVMStrategy", strategy):
        with whence.PassContext(disabled_pass=["AlterOpLayout"]):
            np.testing.assert_allclose(whence.compile(module)(*arrays), wanted, rtol=1e-4, atol=1e-5)


def test_a_declared_operator_is_typed_and_computed() -> None:
    op: Any = registry.register("own_sum", "Sums of elements.")
    try:
        op.set_num_inputs(2)
        op.add_argument("left", "Tensor", "The first.")
        op.add_type_rel("Broadcast")
        assert registry.get("own_sum").num_inputs == 2
        x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(1, 4))
        call = relay.Call(registry.get("own_sum"), [x, y])
        assert str(relay.testing.run_infer_type(call).checked_type) == "Tensor[(3, 4), float32]"
        module = relay.IRModule.from_expr(relay.Function([x, y], call))
        with pytest.raises(FrontendError, match=r"relay\.own_sum: expected an operator with a lowering to te"):
            whence.compile(module)
        ops.op.register_compute("own_sum", summed)
        a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (1, 4)))
        np.testing.assert_allclose(whence.compile(module)(a, b), a + b)
        op.add_type_rel("same", same_type)
        with pytest.raises(FrontendError, match="Operator own_sum is registered before"):
            registry.register("own_sum")
        with pytest.raises(FrontendError, match="expected a function, or a relation among Identity, Broadcast"):
            op.add_type_rel("Mean")
    finally:
        remove_operator("own_sum")
        ops.op.get("nn.relu").reset_attr("FTVMCompute")
        relay.op.op.Op("own_sum").reset_attr("FTVMCompute")


def test_what_serves_nobody_is_refused() -> None:
    with TempOpAttr("nn.relu", "FTVMStrategy", nothing):
        with pytest.raises(ScheduleError, match=r"nn\.relu: expected a strategy with an implementation that serves"):
            implementations(2)
    with TempOpAttr("nn.relu", "FTVMCompute", small):
        x = relay.var("x", shape=(2, 3))
        with pytest.raises(FrontendError, match=r"relay\.nn\.relu: expected tensors of Tensor\[\(2, 3\), float32\]"):
            whence.compile(relay.IRModule.from_expr(ops.nn.relu(x)))


def test_generic_functions_have_variants() -> None:
    @target.generic_func
    def answer() -> str:
        return "generic"

    assert answer() == "generic"
    answer.register(lambda: "cpu", ["cpu", "gpu"])
    assert answer() == "cpu"
    with pytest.raises(PipelineError, match="expected a key without a variant, got cpu"):
        answer.register(lambda: "other", "cpu")
    assert target.get_native_generic_func("scaling") is scaling
    with pytest.raises(PipelineError, match="expected a name among"):
        target.get_native_generic_func("no such")


def test_functions_are_compiled_once() -> None:
    x = relay.var("x", shape=(10,))
    compiler = COMPILER.get()
    function = relay.testing.run_infer_type(relay.Function([x], x + x + x))
    assert compiler.lower(function, "llvm") is compiler.lower(function, "llvm")
    y = whence.nd.array(np.zeros(10, np.float32))
    compiler.jit(function, "llvm")(whence.nd.array(np.ones(10, np.float32)), y)
    np.testing.assert_array_equal(y.numpy(), np.full(10, 3, np.float32))
    compiler.clear()
