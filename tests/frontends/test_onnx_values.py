"""Values at the edges, folded and at run time, against the ONNX reference evaluator: powers, slices, empty tensors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import whence
from whence.dialects.relay.core import ConstantOp, FuncOp
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.onnx import from_onnx
from whence.passes.pipelines import relay_pipeline, run_passes

AnyArray = npt.NDArray[Any]


def model(
    op: str, arrays: Sequence[AnyArray], outputs: Sequence[Any], *, known: bool = False, opset: int = 18, **attrs: Any
) -> onnx.ModelProto:
    """One node; its inputs are constants if `known`. outputs: their dtypes."""
    kind = helper.np_dtype_to_tensor_dtype
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [helper.make_tensor_value_info(n, kind(a.dtype), a.shape) for n, a in zip(names, arrays, strict=True)]
    constants = [numpy_helper.from_array(a, n) for n, a in zip(names, arrays, strict=True)]
    results = [helper.make_tensor_value_info(f"y{i}", kind(np.dtype(d)), None) for i, d in enumerate(outputs)]
    node = helper.make_node(op, names, [result.name for result in results], **attrs)
    graph = helper.make_graph([node], "g", [] if known else inputs, results, constants if known else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def expected(found: onnx.ModelProto, arrays: Sequence[AnyArray]) -> list[AnyArray]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        names = [value.name for value in found.graph.input]
        evaluator: Any = ReferenceEvaluator(found)
        return cast(list[AnyArray], evaluator.run(None, dict(zip(names, arrays, strict=False))))


def agree(mine: Sequence[AnyArray], reference: Sequence[AnyArray], tolerance: float = 1e-5) -> None:
    for one, other in zip(mine, reference, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def compiled(found: onnx.ModelProto, *arrays: AnyArray, level: int = 3) -> list[AnyArray]:
    """The outputs of the compiled model."""
    inputs = {f"x{i}": np.asarray(array) for i, array in enumerate(arrays)}
    return [np.asarray(result) for result in whence.compile(found, opt_level=level).run(inputs).values()]


def check(
    op: str, *arrays: AnyArray, outputs: Sequence[Any] = (np.float32,), levels: Sequence[int] = (0, 3), **attrs: Any
):
    """Run time at some opt levels, and folded."""
    found = model(op, arrays, outputs, **attrs)
    reference = expected(found, arrays)
    for level in levels:
        agree(compiled(found, *arrays, level=level), reference)
    agree(evaluate_module(from_onnx(model(op, arrays, outputs, known=True, **attrs)), []), reference)
    return reference


POWERS = [np.float16, np.float32, np.float64, np.int32, np.int64]


@pytest.mark.parametrize("base", POWERS)
def test_powers_of_all_dtypes(base: Any):
    """Exponents of each dtype; half of an integer's square root is cut, not rounded."""
    for exponent in POWERS:
        x = np.array([1, 2, 3, 4, 9, 16], base)
        y = np.array([3, 2, 0, 2, 1, 2] if exponent in POWERS[3:] else [3, 2, 0, 0.5, 0.5, -0.5], exponent)
        for known in (False, True):
            found = model("Pow", [x, y], [base], known=known)
            (mine,) = evaluate_module(from_onnx(found), [] if known else [x, y])
            (reference,) = expected(found, [] if known else [x, y])
            assert mine.dtype == np.dtype(base)
            np.testing.assert_allclose(cast(AnyArray, mine), reference, rtol=1e-3 if base == np.float16 else 1e-6)


def test_integer_powers():
    x = np.array([2, -3, 5, 0, 7, 1, -1, -1, 2, 0, 3], np.int32)
    y = np.array([10, 5, 0, 0, 3, -4, -3, -2, -1, 9, 19], np.int32)
    (found,) = compiled(model("Pow", [x, y], [np.int32]), x, y)
    wanted = [1024, -243, 1, 1, 343, 1, -1, 1, 0, 0, 3**19]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        evaluate_module(from_onnx(model("Pow", [x, y], [np.int32], known=True)), [])[0], wanted
    )


def test_a_root_of_integers():
    x, y = np.array([4, 9, 16, 17], np.int64), np.array(0.5, np.float32)
    (reference,) = check("Pow", x, y, outputs=[np.int64], levels=[3])
    assert reference.tolist() == [2, 3, 4, 4]


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(-100, -200, -1), (-100, 3, -1), (100, -100, -2), (-100, 100, 3), (3, 1, 1), (4, 0, -1), (-1, -4, -2), (9, 9, -1)],
)
def test_slices_clamp_as_the_standard_says(start: int, end: int, step: int):
    """Going backwards from before the first element takes the first; onnxruntime holds it, the reference does not."""
    runtime: Any = import_module("onnxruntime")
    for dtype in (np.float32, np.int64):
        data = np.arange(10).astype(dtype).reshape(5, 2)
        bounds = [np.array([b], np.int64) for b in (start, end, 0, step)]
        known = model("Slice", [data, *bounds], [dtype], known=True)
        session = runtime.InferenceSession(known.SerializeToString(), providers=["CPUExecutionProvider"])
        reference = session.run(None, {})
        agree(evaluate_module(from_onnx(known), []), reference)


def test_gemm_of_integers_with_a_fraction():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-9, 9, shape).astype(np.int32) for shape in ((3, 5), (5, 4), (4,)))
    for alpha, beta in ((0.5, 1.0), (2.0, 0.25), (3.0, 2.0)):
        check("Gemm", a, b, c, outputs=[np.int32], levels=[3], alpha=alpha, beta=beta)


@pytest.mark.parametrize("opset", [9, 12, 13])
def test_the_mask_of_dropout(opset: int):
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
    mask = np.bool_ if opset >= 10 else np.float32
    found = model("Dropout", [x], [np.float32, mask], opset=opset)
    data, kept = compiled(found, x)
    np.testing.assert_array_equal(data, x)
    assert kept.dtype == mask
    assert kept.all()


EMPTY: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    ("Relu", [(0, 4)], {}),
    ("Softmax", [(0, 4)], {"axis": 1}),
    ("Softmax", [(4, 0)], {"axis": 1}),
    ("MatMul", [(0, 3), (3, 4)], {}),
    ("MatMul", [(3, 0), (0, 4)], {}),
    ("MatMul", [(2, 3, 0), (2, 0, 4)], {}),
    ("Gemm", [(2, 0), (0, 4), (4,)], {}),
    ("MaxPool", [(0, 3, 8, 8)], {"kernel_shape": [2, 2]}),
    ("AveragePool", [(0, 3, 8, 8)], {"kernel_shape": [2, 2]}),
    ("Conv", [(0, 3, 8, 8), (4, 3, 3, 3)], {}),
    ("BatchNormalization", [(0, 3, 4, 4), (3,), (3,), (3,), (3,)], {}),
    ("LayerNormalization", [(0, 4), (4,)], {}),
    ("ReduceSum", [(0, 4)], {"keepdims": 0}),
    ("ReduceMean", [(2, 0, 3)], {}),
    ("Concat", [(0, 4), (2, 4), (3, 4)], {"axis": 0}),
    ("Concat", [(2, 4), (0, 4)], {"axis": 0}),
    ("Concat", [(0, 4), (0, 4)], {"axis": 0}),
    ("Add", [(0, 4), (1, 4)], {}),
    ("Transpose", [(0, 4)], {}),
]


@pytest.mark.parametrize(("op", "shapes", "attributes"), EMPTY)
def test_tensors_without_elements(op: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any]):
    rng = np.random.default_rng(0)
    check(op, *(rng.random(shape).astype(np.float32) for shape in shapes), **attributes)


@pytest.mark.parametrize(("op", "identity"), [("ReduceMax", -np.inf), ("ReduceMin", np.inf)])
def test_the_identity_of_a_reduction_over_nothing(op: str, identity: float):
    x = np.zeros((2, 0), np.float32)
    axes = np.array([1], np.int64)
    for level in (0, 3):
        found = model(op, [x], [np.float32], opset=13, axes=axes.tolist(), keepdims=0)
        (mine,) = compiled(found, x, level=level)
        np.testing.assert_array_equal(mine, [identity] * 2)


def test_no_kernel_is_made_for_tensors_without_elements():
    x = np.zeros((0, 4), np.float32)
    module = from_onnx(model("Relu", [x], [np.float32]))
    run_passes(module, relay_pipeline(0))
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    assert [type(op) for op in main.block.ops][:-1] == [ConstantOp]


@pytest.mark.parametrize("attributes", [{"alpha": 0.3}, {}])
def test_an_attribute_is_what_its_32_bits_are_where_it_meets_float64(attributes: dict[str, Any]):
    x = np.linspace(-4, 4, 9)
    (mine,) = evaluate_module(from_onnx(model("LeakyRelu", [x], [np.float64], opset=16, **attributes)), [x])
    alpha = np.float64(np.float32(attributes.get("alpha", 0.01)))
    np.testing.assert_array_equal(mine, np.where(x < 0, x * alpha, x))


def test_one_block_of_one_element():
    x, scale, zero = np.array([9], np.uint8), np.array([0.5], np.float32), np.array([4], np.uint8)
    attributes: dict[str, Any] = {"axis": 0, "block_size": 1}
    back = model("DequantizeLinear", [x, scale, zero], [np.float32], opset=21, **attributes)
    np.testing.assert_array_equal(evaluate_module(from_onnx(back), [x, scale, zero])[0], np.array([2.5], np.float32))


@pytest.mark.parametrize(("op", "width"), [("ScatterND", 1), ("ScatterElements", 3)])
def test_no_updates_leave_what_is_there(op: str, width: int):
    x = np.random.default_rng(0).random((3, 3), np.float32)
    indices, updates = np.zeros((0, width), np.int64), np.zeros((0, 3), np.float32)
    for level in (0, 3):
        (mine,) = compiled(model(op, [x, indices, updates], [np.float32]), x, indices, updates, level=level)
        np.testing.assert_array_equal(mine, x)


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrences_of_no_sequences(op: str, gates: int):
    data, weight = np.zeros((3, 0, 2), np.float32), np.ones((1, 2 * gates, 2), np.float32)
    arrays = [data, weight, weight]
    found = compiled(model(op, arrays, [np.float32, np.float32], opset=14, hidden_size=2), *arrays, level=3)
    assert [one.shape for one in found] == [(3, 1, 0, 2), (1, 0, 2)]
