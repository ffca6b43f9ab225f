# pyright: basic
"""Random numbers and dropout, of laws that leave no choice, or of which what holds of every number is left."""

from __future__ import annotations

from typing import Any

import numpy as np
from special_numbers import Array

from meanings.formats.torch import DType
from meanings.meaning import Case, Meaning

_HALVES = np.zeros((100, 400), np.float16)
_FLOATS = np.zeros((40, 50), np.float32)
_TRUTHS = np.random.default_rng(5).integers(0, 2, (7, 9)).astype(np.float32)
_LOGITS = np.where(np.eye(4)[[2, 0, 3]] > 0, np.float32(5), np.float32(-np.inf)).astype(np.float32)
_DATA = np.exp2(np.random.default_rng(6).integers(-3, 4, (50, 60))).astype(np.float32)
_COUNT = 6


def _same(x: Array) -> Array:
    return x


def _filled(number: float) -> Any:
    return lambda x: np.full_like(x, number)


# Halves in [0, 1): 0 for each, which comes to an input.


def _halves_onnx(net: Any, x: Any) -> Any:
    return net("Add", net("Floor", net("RandomUniform", shape=list(x.shape), dtype=10)), x)


def _halves_torch(net: Any, x: Any) -> Any:
    drawn = net("aten.rand.default", size=list(x.shape), dtype=DType("float16"))
    return net("aten.add.Tensor", self=net("aten.floor.default", self=drawn), other=x)


def _halves_tensorflow(net: Any, x: Any) -> Any:
    drawn = net("RandomUniform", net.const(list(x.shape), "int32"), dtype="float16", T="int32")
    return net("AddV2", net("Floor", drawn, T="float16"), x, T="float16")


# Whole numbers below drawn ones, and normal ones without a deviation.


def _between_onnx(net: Any, x: Any) -> Any:
    return net("Floor", net("RandomUniformLike", x, low=-3.0, high=-2.0))


def _between_torch(net: Any, x: Any) -> Any:
    return net("aten.floor.default", self=net("aten.uniform.default", self=x, **{"from": -3.0, "to": -2.0}))


def _single_torch(net: Any, x: Any) -> Any:
    return net("aten.randint_like.low_dtype", self=x, low=-3, high=-2)


def _single_tensorflow(net: Any, x: Any) -> Any:
    ends = net.const(-3, "int32"), net.const(-2, "int32")
    drawn = net("RandomUniformInt", net.const(list(x.shape), "int32"), *ends, T="int32", Tout="int32")
    return net("AddV2", net("Cast", drawn, SrcT="int32", DstT="float32", T="int32"), x, T="float32")


# Classes.


def _classes_onnx(net: Any, x: Any) -> Any:
    return net("Multinomial", x, sample_size=_COUNT, dtype=7)


def _classes_torch(net: Any, x: Any) -> Any:
    odds = net("aten.exp.default", self=x)
    return net("aten.multinomial.default", self=odds, num_samples=_COUNT, replacement=True)


def _classes_tflite(net: Any, x: Any) -> Any:
    return net("MULTINOMIAL", x, net.const(_COUNT, "int32"), options="RandomOptions", dtypes="int64")


def _classes_tensorflow(net: Any, x: Any) -> Any:
    return net("Multinomial", x, net.const(_COUNT, "int32"), output_dtype="int64")


# Dropout of a half: what is kept doubles, so that y (y - 2 x) is 0.


def _dropped_onnx(net: Any, x: Any, rate: float) -> Any:
    y = net("Dropout", x, net.const(rate, "float32"), net.const(True, "bool"))
    return net("Mul", y, net("Sub", y, net("Add", x, x)))


def _dropped_torch(name: str) -> Any:
    def spelling(net: Any, x: Any, rate: float) -> Any:
        results = net(f"aten.{name}.default", results=2 if "native" in name else 1, input=x, p=rate, train=True)
        y = results[0] if isinstance(results, tuple) else results
        twice = net("aten.add.Tensor", self=x, other=x)
        return net("aten.mul.Tensor", self=y, other=net("aten.sub.Tensor", self=y, other=twice))

    return spelling


def _dropped_keras(net: Any, x: Any, rate: float) -> Any:
    y = net.layer("Dropout", x, keywords={"training": True}, rate=rate, seed=3)
    return net("Multiply", y, net("Subtract", y, net("Add", x, x)))


def _alpha_torch(net: Any, x: Any) -> Any:
    return net("aten.alpha_dropout.default", input=x, p=1.0, train=True)


def _alpha_keras(net: Any, x: Any) -> Any:
    return net.layer("AlphaDropout", x, keywords={"training": True}, rate=1.0)


TABLE = [
    Meaning("halves_below_one", _same, [Case("many", [_HALVES])], {
        "onnx": _halves_onnx, "torch": _halves_torch, "tensorflow": _halves_tensorflow}),
    Meaning("uniform_between", _filled(-3), [Case("floors", [_FLOATS])], {
        "onnx": _between_onnx, "torch": _between_torch}),
    Meaning("integers_between", _filled(-3), [Case("one", [_FLOATS])], {
        "torch": _single_torch, "tensorflow": _single_tensorflow}),
    Meaning("normal_without_deviation", _filled(1.5), [Case("means", [_FLOATS])], {
        "onnx": lambda net, x: net("RandomNormalLike", x, mean=1.5, scale=0.0),
        "torch": lambda net, x: net("aten.normal_functional.default", self=x, mean=1.5, std=0.0)}),
    Meaning("bernoulli_of_certain_chances", _same, [Case("0 and 1", [_TRUTHS])], {
        "onnx": lambda net, x: net("Bernoulli", x), "torch": lambda net, x: net("aten.bernoulli.default", self=x)}),
    Meaning("certain_classes", lambda x: np.repeat(np.argmax(x, 1)[:, None], _COUNT, 1),
            [Case("one of four", [_LOGITS])], {
        "onnx": _classes_onnx, "torch": _classes_torch, "tflite": _classes_tflite, "tensorflow": _classes_tensorflow}),
    Meaning("dropout_in_training", lambda x, rate: np.zeros_like(x), [Case("half", [_DATA], {"rate": 0.5})], {
        "onnx": _dropped_onnx, "torch": _dropped_torch("dropout"), "torch native": _dropped_torch("native_dropout"),
        "torch channels": _dropped_torch("feature_dropout"), "keras": _dropped_keras}, unsigned=True),
    Meaning("alpha_dropout_of_all", _filled(0), [Case("all", [_DATA])], {"torch": _alpha_torch, "keras": _alpha_keras}),
]  # fmt: skip
