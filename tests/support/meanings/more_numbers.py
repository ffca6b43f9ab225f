# pyright: basic
"""More functions of numbers: of truth values, of bits, of several tensors, of bounds, of steps of a grid."""

from __future__ import annotations

from math import inf, lgamma
from statistics import NormalDist
from typing import Any

import numpy as np
from special_numbers import Array, tuples

from meanings.formats.torch import DType
from meanings.meaning import Case, Meaning
from meanings.numbers import INTEGERS, MODEST, PAIRS, SPECIAL, two, wide
from meanings.spelled import aten, op, spellings

TRUTHS = tuples("bool", "bool")
_RNG = np.random.default_rng(21)
_X = _RNG.uniform(-3, 3, (2, 6)).astype(np.float32)
_LOGIC = {
    "logical_and": (np.logical_and, "And", "LOGICAL_AND", "LogicalAnd", "and"),
    "logical_or": (np.logical_or, "Or", "LOGICAL_OR", "LogicalOr", "or"),
    "logical_xor": (np.logical_xor, "Xor", "", "", "xor"),
}
_UNSIGNED_SHIFTS = [np.array([1, 255, 129, 7, 128], np.uint8), np.array([1, 4, 7, 0, 3], np.uint8)]
_SHIFTS = [np.array([1, -1, 5, -(2**31), 2**31 - 1, -9], np.int32), np.array([1, 4, 30, 31, 0, 2], np.int32)]


@np.vectorize
def _lgamma(x: float) -> float:
    if np.isnan(x):
        return x
    return inf if np.isinf(x) or (x <= 0 and x == np.floor(x)) else lgamma(x)


@np.vectorize
def _digamma(x: float) -> float:
    """By the recurrence, from where the asymptotic series holds."""
    if np.isnan(x) or x == inf:
        return x
    if x <= 0 and x == np.floor(x):
        return np.nan
    total = 0.0
    while x < 20:
        total, x = total - 1 / x, x + 1
    return total + np.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


@np.vectorize
def _erf_inverse(x: float) -> float:
    if np.isnan(x) or abs(x) > 1:
        return np.nan
    return np.copysign(inf, x) if abs(x) == 1 else NormalDist().inv_cdf((x + 1) / 2) / np.sqrt(2)


_OF_GAMMA = np.array([0, -0.0, -1, -7, np.nan, np.inf, 0.25, -0.25, 0.75, 1.5, 7, 30.5, -3.3, 1e6], np.float32)
_OF_ERF = np.array([0, 1, -1, 1.5, np.nan, 0.5, -0.9, 0.999, 1e-3, -0.25, 0.99999], np.float32)
_HUNDREDS = np.array([0, -1, 50, 149, 150, 250, 255, 256, -351, 123456], np.int32)


def _half(x: Array, low: float, high: float) -> Array:
    return np.minimum(np.maximum(x, np.float32(low)), np.float32(high))


def _clipped(label: str, low: float, high: float) -> Meaning:
    def numbers(net: Any) -> tuple[Any, Any]:
        return net.const(low, "float32"), net.const(high, "float32")

    return Meaning(label, lambda x: _half(x, low, high), [Case("special", [SPECIAL])], {
        "onnx": lambda net, x: net("Clip", x, *numbers(net)), "torch": aten("clamp", min=low, max=high),
        "keras": op("Clip", x_min=low, x_max=high),
        "stablehlo": lambda net, x: net("clamp", numbers(net)[0], x, numbers(net)[1])}, unsigned=True)  # fmt: skip


# Steps of a grid.

_HALVES = np.array([-3e9, -64.25, -64, -1.25, -0.75, -0.25, 0, 0.25, 0.75, 1.25, 2.0, 63.5, 63.75, 64, 3e9, np.inf,
    -np.inf],
                   np.float32)  # fmt: skip


def _quantized(x: Array) -> Array:
    return np.clip(np.rint(x.astype(np.float64) / 0.5) + 3, -128, 127).astype(np.int8)


TABLE = [
    *(
        Meaning(name, function, [Case("all", TRUTHS)], spellings(
            "self other", onnx=onnx, torch=name, keras=name.title().replace("_", ""), tensorflow=tensorflow,
            stablehlo=stablehlo) | ({"tflite": op(tflite, dtypes="bool")} if tflite else {}))
        for name, (function, onnx, tflite, tensorflow, stablehlo) in _LOGIC.items()
    ),
    Meaning("logical_not", np.logical_not, [Case("all", TRUTHS[:1])], spellings(
        onnx="Not", tflite="LOGICAL_NOT", torch="logical_not", keras="LogicalNot", tensorflow="LogicalNot",
        stablehlo="not")),
    Meaning("logical_not_of_numbers", np.logical_not, [Case("special", [SPECIAL])], spellings(
        torch="logical_not", keras="LogicalNot"), note="NaN is true"),
    Meaning("bitwise_not", np.invert, [Case("integers", [INTEGERS])], spellings(
        onnx="BitwiseNot", torch="bitwise_not", keras="BitwiseNot", tensorflow="Invert", stablehlo="not")),
    Meaning("shift_left", np.left_shift, [Case("integers", _SHIFTS)], spellings(
        "self other", torch="bitwise_left_shift.Tensor", keras="LeftShift", tensorflow="LeftShift",
        stablehlo="shift_left")),
    Meaning("shift_right", np.right_shift, [Case("integers", _SHIFTS)], spellings(
        "self other", torch="bitwise_right_shift.Tensor", keras="RightShift", tensorflow="RightShift",
        tflite="RIGHT_SHIFT", stablehlo="shift_right_arithmetic"), note="with the sign"),
    Meaning("shift_right_of_bits", lambda x, n: (x.view(np.uint32) >> n.view(np.uint32)).view(np.int32),
            [Case("integers", _SHIFTS)], spellings(stablehlo="shift_right_logical"), note="without the sign"),
    Meaning("shift_of_bytes", lambda x, n: x >> n, [Case("unsigned", _UNSIGNED_SHIFTS)], spellings(
        "self other", onnx_by=op("BitShift", direction="RIGHT"), torch="bitwise_right_shift.Tensor", keras="RightShift",
        tensorflow="RightShift", stablehlo="shift_right_logical")),
    two("xlogy_of_all", lambda x, y: wide(lambda x, y: np.where(x == 0, 0, x * np.log(y)))(x, y), unsigned=True,
        tensorflow="Xlogy", note="of 0 and NaN 0"),
    two("xlog1py", wide(lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y))), unsigned=True,
        torch="special_xlog1py"),
    two("xlog1py_of_all", wide(lambda x, y: np.where(x == 0, 0, x * np.log1p(y))), unsigned=True, tensorflow="Xlog1py",
        note="of 0 and NaN 0"),
    two("multiply_no_nan", lambda x, y: np.where(y == 0, 0, x * y), unsigned=True, tensorflow="MulNoNan"),
    Meaning("lgamma", wide(_lgamma), [Case("special", [MODEST[:-2]])], spellings(torch="lgamma", stablehlo="lgamma",
        tensorflow="Lgamma"), lost=10.0),
    Meaning("digamma", wide(_digamma), [Case("numbers", [_OF_GAMMA])], spellings(stablehlo="digamma",
        tensorflow="Digamma"), lost=10.0, note="of 0 NaN"),
    Meaning("digamma_infinite_at_zero", wide(lambda x: np.where(x == 0, -np.copysign(inf, x), _digamma(x))),
            [Case("numbers", [_OF_GAMMA])], spellings(torch="digamma"), lost=10.0),
    Meaning("erf_inverse", wide(_erf_inverse), [Case("numbers", [_OF_ERF])], spellings(torch="erfinv", keras="Erfinv",
        tensorflow="Erfinv", stablehlo="erf_inv")),
    two("next_after", np.nextafter, torch="nextafter", keras="Nextafter", tensorflow="NextAfter"),
    Meaning("square_of_truth", lambda x: x.astype(np.int32), [Case("all", TRUTHS[:1])], spellings(
        torch="square", keras="Square"), dtypes={"torch": "int64"}),
    Meaning("ldexp", np.ldexp, [Case("powers", [_X, np.arange(12, dtype=np.int32).reshape(2, 6)]),
        Case("halves", [np.array([0.0, 2.0**-20, np.inf], np.float16), np.array([20, 30, 1], np.int32)])],
        spellings("self other", torch="ldexp.Tensor", keras="Ldexp")),
    *(
        Meaning(f"round_to_{name}", lambda x, d=decimals: np.round(x, d), [Case("numbers", [_X * 100])], {
            "torch": aten("round.decimals", decimals=decimals), "keras": op("Round", decimals=decimals)})
        for name, decimals in (("hundredths", 2), ("hundreds", -2))
    ),
    Meaning("round_integers_to_hundreds", lambda x: np.round(x, -2), [Case("integers", [_HUNDREDS])], {
        "keras": op("Round", decimals=-2)}),
    Meaning("saturated_cast", lambda x: np.clip(np.nan_to_num(x, nan=0), 0, 255).astype(np.uint8), [
        Case("floats", [_HALVES]), Case("integers", [_HUNDREDS])], {"keras": op("SaturateCast", dtype="uint8")},
        dtypes={"keras": "uint8"}),
    Meaning("saturated_cast_to_halves", lambda x: np.clip(x, -65504, 65504).astype(np.float16), [
        Case("floats", [_HALVES])], {"keras": op("SaturateCast", dtype="float16")}),
    Meaning("lerp", lambda x, y: (x + np.float32(0.25) * (y - x)).astype(x.dtype), [Case("pairs", [_X, _X * 2])], {
        "torch": lambda net, x, y: net("aten.lerp.Scalar", self=x, end=y, weight=0.25)}),
    Meaning("is_close", lambda x, y: np.isclose(x, y, 1e-5, 1e-8), [Case("pairs", PAIRS)], {
        "torch": aten("isclose", "self other"), "keras": lambda net, x, y: net("Isclose", x, y, 1e-5, 1e-8,
            equal_nan=False)}),
    Meaning("glu", lambda x: x[:, :3] / (1 + np.exp(-x[:, 3:])), [Case("halves", [_X])], {
        "torch": aten("glu", dim=-1), "keras": op("Glu", axis=-1)}),
    Meaning("degrees", wide(np.rad2deg), [Case("special", [MODEST])], spellings(torch="rad2deg", keras="Rad2deg")),
    Meaning("radians", wide(np.deg2rad), [Case("special", [MODEST])], spellings(torch="deg2rad", keras="Deg2rad")),
    Meaning("power_of_a_number", lambda x: x**3, [Case("special", [MODEST])], {
        "torch": lambda net, x: net("aten.pow.Tensor_Scalar", self=x, exponent=3),
        "onnx": lambda net, x: net("Pow", x, net.const(3.0, "float32")),
        "tflite": lambda net, x: net("POW", x, net.const(3.0, "float32")),
        "tensorflow": lambda net, x: net("Pow", x, net.const(3.0, "float32")), "keras": lambda net, x: net("Power", x,
            3)}),
    Meaning("sum_of_tensors", lambda *xs: sum(xs[1:], xs[0]), [Case("three", [_X, _X * 2, _X - 1])], {
        "onnx": op("Sum"), "tflite": op("ADD_N"), "tensorflow": op("AddN", N=3),
        "keras": lambda net, *xs: net.layer("Add", list(xs))}),
    Meaning("sum_of_one_tensor", lambda x: x, [Case("one", [_X])], {
        "onnx": op("Sum"), "tflite": op("ADD_N"), "tensorflow": op("AddN", N=1)}),
    Meaning("greatest_of_one_tensor", lambda x: x, [Case("one", [_X])], {"onnx": op("Max")}),
    Meaning("mean_of_tensors", lambda *xs: sum(xs[1:], xs[0]) / np.float32(3), [Case("three", [_X, _X * 2, _X - 1])], {
        "onnx": op("Mean"), "keras": lambda net, *xs: net.layer("Average", list(xs))}),
    Meaning("greatest_of_tensors", lambda *xs: np.maximum.reduce(xs), [Case("three", [*PAIRS,
        np.zeros_like(PAIRS[0])])], {
        "onnx": op("Max"), "keras": lambda net, *xs: net.layer("Maximum", list(xs))}, unsigned=True, note="NaN wins"),
    _clipped("clip_to_infinity", -inf, 1.0), _clipped("clip_crossed", 2.0, -1.0),
    Meaning("clip_crossed_to_lower", lambda x: np.where(np.isnan(x), x, np.float32(2)), [Case("special", [SPECIAL])], {
        "tensorflow": lambda net, x: net("ClipByValue", x, net.const(2.0, "float32"), net.const(-1.0, "float32"))}),
    Meaning("quantize", _quantized, [Case("halves", [_HALVES])], {
        "onnx": lambda net, x: net("QuantizeLinear", x, net.const(0.5, "float32"), net.const(3, "int8")),
        "torch": lambda net, x: net("quantized_decomposed.quantize_per_tensor.default", input=x, scale=0.5,
            zero_point=3,
                                    quant_min=-128, quant_max=127, dtype=DType("int8"))},
            note="halves go to even numbers"),
    Meaning("dequantize", lambda x: (x.astype(np.float32) - 3) * np.float32(0.5),
            [Case("all", [np.arange(-128, 128).astype(np.int8)])], {
        "onnx": lambda net, x: net("DequantizeLinear", x, net.const(0.5, "float32"), net.const(3, "int8")),
        "torch": lambda net, x: net("quantized_decomposed.dequantize_per_tensor.default", input=x, scale=0.5,
            zero_point=3,
                                    quant_min=-128, quant_max=127, dtype=DType("int8"))}),
]  # fmt: skip
