"""What no strategy can schedule has the plain schedule, and says so; odd and huge shapes have strategies."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import pytest
from compiled_kernels import kernels_of
from numpy.typing import NDArray
from odd_shapes import Case, cases, check
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

import whence
from whence import te
from whence.dialects.relay.operator import Operator, Signature
from whence.frontends.importing.converter import Converter
from whence.frontends.onnx import activations
from whence.lowering.relay_to_te import lower
from whence.lowering.relay_to_te.schedules import reduction
from whence.lowering.relay_to_te.strategies import unregister_schedule
from whence.support.errors import ScheduleError, ScheduleWarning

Array = NDArray[Any]
ort: Any = import_module("onnxruntime")
PLANE = (1, 3, 263, 263)
"""Odd planes of more elements than a local buffer may have."""


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> net {text}')


def plane(call: str, dtype: str = "float") -> Case:
    return Case(f"(float[1, 3, 263, 263] x) => ({dtype}[a, b, c, d] y) {{ {call} }}", (PLANE,), "native")


@pytest.mark.parametrize(
    "case",
    [
        plane("y = Softmax <axis = 1> (x)"),
        plane("y = ArgMax <axis = 1> (x)", "int64"),
        plane("a = Constant <value_ints = [1]> () y = ReduceLogSumExp (x, a)"),
        Case(
            "(float[1, 47, 27, 100] x, float[47, 1, 13, 3] w) => (float[1, 47, 27, 100] y) {"
            " y = Conv <group = 47, dilations = [2, 2], pads = [12, 2, 12, 2]> (x, w) }",
            ((1, 47, 27, 100), (47, 1, 13, 3)),
            "native",
        ),
    ],
    ids=["softmax", "argmax", "logsumexp", "depthwise"],
)
def test_large_odd_shapes_have_schedules(case: Case) -> None:
    assert check(case) == ""


def test_a_sample_of_odd_shapes() -> None:
    for case in cases(6, 5):
        assert check(case, run=1 << 16) == "", case


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the strategy for reductions ask for more local memory than there is, and keep no kernels."""
    monkeypatch.setattr(reduction, "_SHORT_ROW", 1 << 30)
    monkeypatch.setenv("WHENCE_CACHE_DIR", "")


@pytest.mark.usefixtures("refused")
def test_what_no_strategy_schedules_is_computed_and_told() -> None:
    model = parsed("(float[2, 263, 263] x) => (float[1, 263, 263] y) { [top] y = ReduceMax <axes = [0]> (x) }")
    model.opset_import[0].version = 13
    with pytest.warns(ScheduleWarning, match=r"plain schedule; of others: .* at most 262144 bytes .*\(layer 'top'"):
        compiled = whence.compile(model)
    (kernel,) = kernels_of(compiled)
    assert kernel.refusal.startswith("set_scope: expected at most 262144 bytes in a local buffer, got 276676")
    assert f"of which {kernel.symbol} with the plain schedule" in compiled.report()
    assert "vectorize" not in kernel.schedule
    x = np.random.default_rng(0).standard_normal((2, 263, 263)).astype("f4")
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], x.max(0, keepdims=True))


@pytest.mark.usefixtures("refused")
def test_a_registered_strategy_that_fails_is_an_error() -> None:
    @whence.strategy(tag="comm_reduce", plevel=15, name="too much")
    def schedule(work: Any, stage: Any) -> None:
        reduction.schedule_reduction(work, stage)

    model = parsed("(float[2, 263, 263] x) => (float[1, 263, 263] y) { y = ReduceMax (x, a) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "a"))
    try:
        with pytest.raises(ScheduleError, match="at most 262144 bytes in a local buffer"):
            whence.compile(model)
    finally:
        unregister_schedule("too much")


@irdl_op_definition
class SquareOp(Operator):
    """x @ x, of a matrix."""

    name = "relay.square_of_test"
    data = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, sig: Signature) -> list[Any]:
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: Array) -> Array:
        return x @ x


@pytest.mark.parametrize("tag", ["", "of their own"])
@pytest.mark.parametrize("size", [1, 5, 17, 64])
def test_a_reduction_needs_no_tag(size: int, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def square(op: Operator, x: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, size), name="k")
        total = te.compute((size, size), lambda i, j: te.sum(x(i, k) * x(k, j), axis=k), "total", tag)
        return te.compute((size, size), lambda i, j: te.maximum(total[i, j], te.const(0.0, "float32")), "result")

    monkeypatch.setenv("WHENCE_CACHE_DIR", "")
    monkeypatch.setitem(lower.TABLE, SquareOp, square)
    monkeypatch.setitem(activations.TABLE, "Shrink", Converter(lambda ctx: ctx.emit(SquareOp, ctx.value(0))))
    model = parsed(f"(float[{size}, {size}] x) => (float[{size}, {size}] y) {{ y = Shrink (x) }}")
    x = np.random.default_rng(0).integers(-2, 3, (size, size)).astype("f4")
    np.testing.assert_array_equal(whence.compile(model).run({"x": x})["y"], np.maximum(x @ x, 0))
