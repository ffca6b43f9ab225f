# pyright: basic
"""Rows of ONNX on special numbers, judged by onnxruntime or, where that has no kernel, by the standard's evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import erf
from typing import Any, cast

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from reference_runtime import onnxruntime_outputs
from special_numbers import Array, Rules, castable, dtype_of, rows, tuples

_FLOATS = ("float32", "float64", "float16")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_UNARY = """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN
    LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh
    ThresholdedRelu Swish Identity
""".split()
_BINARY = "Add Sub Mul Div Pow Max Min Mod Equal Less LessOrEqual Greater GreaterOrEqual PRelu Mean Sum".split()
_REDUCING = """
    ReduceSum ReduceProd ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceSumSquare ArgMax ArgMin Softmax LogSoftmax Hardmax CumSum CumProd LpNormalization LayerNormalization
    RMSNormalization MeanVarianceNormalization MaxPool AveragePool GlobalMaxPool LpPool TopK InstanceNormalization
""".split()
_OF_INTEGERS = "Abs Neg Sign BitwiseNot Relu Identity".split()
_OF_TWO_INTEGERS = """
    Add Sub Mul Div Mod Pow Max Min BitwiseAnd BitwiseOr BitwiseXor Equal Less Greater BitShift
""".split()
_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "BitShift": {"direction": "LEFT"}, "MaxPool": {"kernel_shape": [2]}, "AveragePool": {"kernel_shape": [2]},
    "LpPool": {"kernel_shape": [2]}, "Shrink": {"lambd": 0.75, "bias": 0.25},
    "MeanVarianceNormalization": {"axes": [2]},
}  # fmt: skip
_CASTS = (*_FLOATS, *_INTEGERS, "bool")
_UNSIGNED = frozenset(
    """
        ReduceSum ReduceMean CumSum Sign Max Min ReduceMax ReduceMin MaxPool GlobalMaxPool TopK Mod Round
        LayerNormalization Clip Identity Shrink InstanceNormalization MeanVarianceNormalization LpNormalization
    """.split()
)
_CANCELLING = {"Gelu": 1.0, "Elu": 1.0, "Celu": 1.0, "Selu": 1.0}
_OVERFLOWING = frozenset(
    """
        LayerNormalization RMSNormalization ReduceL2 ReduceSumSquare ReduceMean ReduceSum ReduceProd CumSum
        CumProd LpPool LpNormalization MeanVarianceNormalization InstanceNormalization HardSwish Gelu Mean
        ReduceLogSum ReduceL1
    """.split()
)
_SUBNORMAL = frozenset(("Mod", "Div", "MeanVarianceNormalization"))


_OTHERWISE: dict[str, Callable[..., Any]] = {
    "ReduceMax": lambda x: x.max(-1),
    "ReduceMin": lambda x: x.min(-1),
    "ArgMax": lambda x: x.argmax(-1, keepdims=True),
    "ArgMin": lambda x: x.argmin(-1, keepdims=True),
    "TopK": lambda x: np.sort(x)[:, :0:-1],
    "MaxPool": lambda x: np.maximum(x[..., :-1], x[..., 1:]),
    "GlobalMaxPool": lambda x: x.max(-1, keepdims=True),
    "MeanVarianceNormalization": lambda x: (
        (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + x.dtype.type(1e-9))
    ),
    "ReduceLogSumExp": lambda x: np.logaddexp.reduce(x, -1),
}
"""What is right, too: NaN is the largest and the smallest, while onnxruntime skips one that is not the first."""


_erf = np.vectorize(erf, otypes=[np.float64])


def _mean(x: Array) -> Array:
    total = x.sum(-1, dtype=x.dtype)
    return (total - np.fmod(total, x.dtype.type(3))) // x.dtype.type(3) if x.dtype.kind in "iu" else x.mean(-1)


def _whole_power(x: Array, y: Array) -> Array:
    """Of a negative exponent the quotient 1 / x**-y towards 0."""
    unit = np.where(np.abs(x) == 1, np.where(y % 2 == 0, 1, x), 0)
    return np.where(y < 0, unit, x ** np.maximum(y, 0)).astype(x.dtype)


def _soft(x: Array) -> Array:
    less = x - x.max(-1, keepdims=True)
    return less - np.log(np.exp(less).sum(-1, keepdims=True))


_OTHERWISE |= {
    "LogSoftmax": _soft,
    "PRelu": lambda x, slope: np.where(x < 0, x * slope, x),
    "AveragePool": lambda x: (x[..., :-1] + x[..., 1:]) / 2,
    "LpPool": lambda x: np.sqrt(x[..., :-1] ** 2 + x[..., 1:] ** 2),
    "Clip": lambda x: x,
    "Erf": lambda x: _erf(x).astype(x.dtype),
    "Gelu": lambda x: (x * 0.5 * (1 + _erf(x * 0.5**0.5))).astype(x.dtype),
    "HardSwish": lambda x: x * np.clip(x / 6 + x.dtype.type(0.5), 0, 1),
    "Shrink": lambda x: np.where(x < -0.75, x + x.dtype.type(0.25), np.where(x > 0.75, x - x.dtype.type(0.25), 0)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Swish": lambda x: x / (1 + np.exp(-x)),
}
"""Where there is no kernel for float64, or one that computes in float32 or skips NaN."""
_OTHERWISE |= {
    "Pow": lambda x, y: _whole_power(x, y) if x.dtype.kind in "iu" else x**y,
    "ReduceSum": lambda x: x.sum(-1, dtype=x.dtype),
    "ReduceProd": lambda x: x.prod(-1, dtype=x.dtype),
    "ReduceMean": lambda x: _mean(x),
}
"""Integers wrap around; onnxruntime computes some in floats, and stops at the ends."""


def _model(kind: str, inputs: Mapping[str, Array], more: Mapping[str, Array], attributes: Mapping[str, Any]) -> Any:
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    known = [onnx.numpy_helper.from_array(x, name) for name, x in more.items()]
    node = helper.make_node(kind, [*inputs, *more], ["y", "z"] if kind == "TopK" else ["y"], **attributes)
    graph = helper.make_graph([node], "net", declared, [helper.make_empty_tensor_value_info("y")], known)
    opset = onnx.defs.onnx_opset_version()
    schema = onnx.defs.get_schema(kind, opset, "")
    opset = min(opset, max(schema.since_version, 22), 24)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


RULES = Rules(_UNSIGNED, _CANCELLING, _OVERFLOWING, _SUBNORMAL, _OTHERWISE)


def table() -> Iterator[tuple[str, str, Any, list[Array]]]:
    for dtype in _FLOATS:
        for kind in _UNARY:
            yield kind, dtype, (kind, _ATTRIBUTES.get(kind, {}), {}), tuples(dtype)
        for kind in _BINARY:
            attributes = {"fmod": 1} if kind == "Mod" else {}
            yield kind, dtype, (kind, attributes, {}), tuples(dtype, dtype)
        for kind in _REDUCING:
            yield kind, dtype, (kind, *_along(kind, dtype)), [_shaped(kind, rows(dtype))]
        low, high = np.array(-1, dtype_of(dtype)), np.array(2, dtype_of(dtype))
        yield "Clip", dtype, ("Clip", {}, {"low": low, "high": high}), tuples(dtype)
        yield "Clip", dtype, ("Clip", {}, {}), [*tuples(dtype)]
        for other in _CASTS:
            to = helper.np_dtype_to_tensor_dtype(dtype_of(other))
            yield f"Cast to {other}", dtype, ("Cast", {"to": to}, {}), [castable(dtype, other)]
    for dtype in _INTEGERS:
        for kind in _OF_INTEGERS:
            yield kind, dtype, (kind, {}, {}), tuples(dtype)
        for kind in _OF_TWO_INTEGERS:
            a, b = tuples(dtype, dtype)
            if kind in ("Div", "Mod"):
                fit = (b != 0) & ~((b == np.array(-1).astype(b.dtype)) & (a == a.min()) & (a.min() < 0))
                a, b = a[fit], b[fit]
            if kind == "BitShift":
                fit = b < 8 * b.dtype.itemsize
                a, b = a[fit], b[fit]
            yield kind, dtype, (kind, _ATTRIBUTES.get(kind, {}), {}), [a, b]
        for kind in "ReduceSum ReduceProd ReduceMax ReduceMin ArgMax ArgMin CumSum MaxPool TopK ReduceMean".split():
            yield kind, dtype, (kind, *_along(kind, dtype)), [_shaped(kind, rows(dtype))]
        for other in _CASTS:
            to = helper.np_dtype_to_tensor_dtype(dtype_of(other))
            yield f"Cast to {other}", dtype, ("Cast", {"to": to}, {}), [castable(dtype, other)]


def _shaped(kind: str, x: Array) -> Array:
    pools = ("MaxPool", "AveragePool", "GlobalMaxPool", "LpPool", "InstanceNormalization", "MeanVarianceNormalization")
    return x[:, None] if kind in pools else x


def _along(kind: str, dtype: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The attributes, and the inputs that are known, for the last axis."""
    axis, number = np.array([-1]), dtype_of(dtype)
    if kind.startswith("Reduce"):
        return {"keepdims": 0}, {"axes": axis}
    match kind:
        case "ArgMax" | "ArgMin" | "Softmax" | "LogSoftmax" | "Hardmax" | "LpNormalization":
            return {"axis": -1}, {}
        case "CumSum" | "CumProd":
            return {}, {"axis": np.array(-1)}
        case "TopK":
            return {}, {"k": np.array([2])}
        case "LayerNormalization" | "RMSNormalization":
            return {}, {"scale": np.ones(3, number)}
        case "InstanceNormalization":
            return {}, {"scale": np.ones(1, number), "bias": np.zeros(1, number)}
        case _:
            return _ATTRIBUTES.get(kind, {}), {}


def case(function: Any, inputs: list[Array]) -> tuple[Any, Any] | None:
    kind, attributes, more = function
    names = [f"x{at}" for at in range(len(inputs))]
    model = _model(kind, dict(zip(names, inputs, strict=True)), more, attributes)

    def judge(*values: Array) -> Array:
        feeds = dict(zip(names, values, strict=True))
        known = {name: x if x.dtype.kind == "i" else x.astype(values[0].dtype) for name, x in more.items()}
        again = _model(kind, feeds, known, attributes)
        try:
            result = np.asarray(onnxruntime_outputs(again, feeds, quiet=True)[0])
            return result
        except Exception as error:
            if "Exit" in type(error).__name__:
                raise
        with np.errstate(all="ignore"):
            result = np.asarray(cast(Any, ReferenceEvaluator(again)).run(None, feeds)[0])
        return result.reshape(-1, 1, 1) if kind == "GlobalMaxPool" else result

    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        judge(*inputs)
    except Exception:
        return None
    return model, judge
