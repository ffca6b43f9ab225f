"""Semantics of the elementwise operators against onnxruntime, and against plain numpy written another way."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from one_operator import close, ort, random, rng, run

from whence.dialects.relay import elementwise
from whence.dialects.relay.operator import Operator


@pytest.mark.parametrize(
    ("cls", "onnx_name"),
    [
        (elementwise.AbsOp, "Abs"),
        (elementwise.AsinhOp, "Asinh"),
        (elementwise.AtanOp, "Atan"),
        (elementwise.CeilOp, "Ceil"),
        (elementwise.CosOp, "Cos"),
        (elementwise.CoshOp, "Cosh"),
        (elementwise.ErfOp, "Erf"),
        (elementwise.ExpOp, "Exp"),
        (elementwise.FloorOp, "Floor"),
        (elementwise.NegativeOp, "Neg"),
        (elementwise.ReluOp, "Relu"),
        (elementwise.RoundOp, "Round"),
        (elementwise.SigmoidOp, "Sigmoid"),
        (elementwise.SignOp, "Sign"),
        (elementwise.SinOp, "Sin"),
        (elementwise.SinhOp, "Sinh"),
        (elementwise.TanOp, "Tan"),
        (elementwise.TanhOp, "Tanh"),
        (elementwise.CopyOp, "Identity"),
    ],
)
def test_unary(cls: type[Operator], onnx_name: str) -> None:
    x = np.concatenate([random(100) * 3, np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.0], np.float32)])
    close(run(cls, x)[0], ort(onnx_name, x), 1e-6)


@pytest.mark.parametrize(
    ("cls", "onnx_name"),
    [(elementwise.AcosOp, "Acos"), (elementwise.AsinOp, "Asin"), (elementwise.AtanhOp, "Atanh")],
)
def test_unary_between_minus_1_and_1(cls: type[Operator], onnx_name: str) -> None:
    x = rng.uniform(-1, 1, 60).astype(np.float32)
    close(run(cls, x)[0], ort(onnx_name, x), 1e-6)


def test_acosh_and_other_logarithms() -> None:
    x = 1 + np.abs(random(50))
    close(run(elementwise.AcoshOp, x)[0], ort("Acosh", x), 1e-6)
    assert run(elementwise.Log2Op, np.array([0.25, 1, 8], np.float32))[0].tolist() == [-2, 0, 3]
    close(run(elementwise.Log10Op, np.array([0.01, 1, 1000], np.float32))[0], np.array([-2, 0, 3]), 1e-6)


def test_predicates() -> None:
    x = np.array([-np.inf, -1.5, -0.0, 3e38, np.inf, np.nan], np.float32)
    for cls, name in ((elementwise.IsInfOp, "IsInf"), (elementwise.IsNanOp, "IsNaN")):
        assert (run(cls, x)[0] == ort(name, x)).all()
    assert run(elementwise.IsFiniteOp, x)[0].tolist() == [False, True, True, True, False, False]
    assert run(elementwise.IsFiniteOp, np.array([5, -7], np.int8))[0].tolist() == [True, True]


def test_not() -> None:
    b, i = np.array([True, False]), np.array([0, 5, -7], np.int8)
    assert (run(elementwise.LogicalNotOp, b)[0] == ort("Not", b)).all()
    assert (run(elementwise.BitwiseNotOp, i)[0] == ort("BitwiseNot", i)).all()
    assert run(elementwise.BitwiseNotOp, b)[0].tolist() == [False, True]


def test_likes_and_trunc() -> None:
    x = np.array([-1.7, -0.2, 2.9], np.float32)
    assert run(elementwise.ZerosLikeOp, x)[0].tolist() == [0, 0, 0]
    assert run(elementwise.OnesLikeOp, x)[0].tolist() == [1, 1, 1]
    assert run(elementwise.TruncOp, x)[0].tolist() == [-1, 0, 2]


@pytest.mark.parametrize(("cls", "onnx_name"), [(elementwise.LogOp, "Log"), (elementwise.SqrtOp, "Sqrt")])
def test_unary_of_positive(cls: type[Operator], onnx_name: str) -> None:
    x = np.abs(random(3, 40)) + np.float32(0.01)
    close(run(cls, x)[0], ort(onnx_name, x), 1e-6)


def test_rsqrt() -> None:
    x = np.abs(random(50)) + np.float32(0.01)
    close(run(elementwise.RsqrtOp, x)[0], np.array([1 / math.sqrt(v) for v in x]), 1e-6)


def test_large_arguments_do_not_warn() -> None:
    x = np.array([-1000, 1000, np.inf, -np.inf], np.float32)
    assert run(elementwise.SigmoidOp, x)[0].tolist() == [0, 1, 1, 0]
    assert run(elementwise.ErfOp, x)[0].tolist() == [-1, 1, 1, -1]
    assert run(elementwise.DivideOp, x, np.zeros(4, np.float32))[0].tolist() == [-np.inf, np.inf, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_float_types_are_rounded_once(dtype: Any) -> None:
    x = (rng.standard_normal(64) * 2).astype(dtype)
    wide = x.astype(np.float64)
    expected = (1 / (1 + np.exp(-wide))).astype(dtype)
    close(run(elementwise.SigmoidOp, x)[0].astype(np.float64), expected.astype(np.float64), 1e-12)
    expected = np.array([math.erf(float(v)) for v in wide]).astype(dtype)
    assert (run(elementwise.ErfOp, x)[0] == expected).all()
    assert (run(elementwise.ClipOp, x, a_min=-0.5, a_max=0.5)[0] == np.clip(wide, -0.5, 0.5).astype(dtype)).all()


@pytest.mark.parametrize(
    ("cls", "onnx_name"),
    [
        (elementwise.AddOp, "Add"),
        (elementwise.SubtractOp, "Sub"),
        (elementwise.MultiplyOp, "Mul"),
        (elementwise.DivideOp, "Div"),
        (elementwise.MaximumOp, "Max"),
        (elementwise.MinimumOp, "Min"),
        (elementwise.EqualOp, "Equal"),
        (elementwise.LessOp, "Less"),
        (elementwise.GreaterOp, "Greater"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
def test_binary_broadcasts(cls: type[Operator], onnx_name: str, dtype: Any) -> None:
    x = rng.integers(-20, 20, (3, 1, 5)).astype(dtype)
    y = rng.integers(1, 9, (4, 1)).astype(dtype) * rng.choice([-1, 1], (4, 1)).astype(dtype)
    close(run(cls, x, y)[0], ort(onnx_name, x, y), 1e-6)


def test_integer_division_is_towards_zero() -> None:
    x = np.array([7, -7, 7, -7, 6, -6], np.int32)
    y = np.array([2, 2, -2, -2, 3, 3], np.int32)
    assert run(elementwise.DivideOp, x, y)[0].tolist() == [math.trunc(a / b) for a, b in zip(x, y, strict=True)]


def test_power() -> None:
    x, y = np.abs(random(20)) + np.float32(0.1), random(20)
    close(run(elementwise.PowerOp, x, y)[0], ort("Pow", x, y), 1e-5)
    base = np.array([2, -2, 1, -1, -1, 3], np.int64)
    exponent = np.array([5, -3, -4, -3, -2, 0], np.int64)
    assert run(elementwise.PowerOp, base, exponent)[0].tolist() == [32, 0, 1, -1, 1, 1]


def test_clip() -> None:
    x = random(40)
    x[3] = np.nan
    close(run(elementwise.ClipOp, x, a_min=-0.5, a_max=0.25)[0], np.clip(x, -0.5, 0.25))
    ints = np.array([-9, -1, 0, 5, 127], np.int8)
    assert run(elementwise.ClipOp, ints, a_min=-math.inf, a_max=3.5)[0].tolist() == [-9, -1, 0, 3, 3]
    assert run(elementwise.ClipOp, ints, a_min=0.5, a_max=1e30)[0].tolist() == [1, 1, 1, 5, 127]


def test_leaky_relu() -> None:
    x = random(40)
    close(run(elementwise.LeakyReluOp, x, alpha=0.125)[0], ort("LeakyRelu", x, alpha=0.125))


def test_cast() -> None:
    x = np.array([-1.7, 1.7, 0.0, 300.2], np.float32)
    assert run(elementwise.CastOp, x, dtype="int32")[0].tolist() == [-1, 1, 0, 300]
    assert run(elementwise.CastOp, x, dtype="bool")[0].tolist() == [True, True, False, True]
    assert run(elementwise.CastOp, x, dtype="bfloat16")[0].dtype == ml_dtypes.bfloat16


def test_elementwise_on_repeated_values_stays_small() -> None:
    weight = np.broadcast_to(np.float32(2), (64, 32, 3, 3))
    scale = random(64, 1, 1, 1)
    (scaled,) = run(elementwise.MultiplyOp, weight, scale)
    assert (scaled == weight * scale).all()
    assert scaled.strides[1:] == (0, 0, 0)
    (clipped,) = run(elementwise.ClipOp, weight, a_min=0.0, a_max=1.0)
    assert (clipped == 1).all()
    assert not any(clipped.strides)
