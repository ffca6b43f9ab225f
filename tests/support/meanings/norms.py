# pyright: basic
"""Normalisations: what they are over, where epsilon is, rows without variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning
from meanings.spelled import LAST

_RNG = np.random.default_rng(13)


def _random(*shape: int, low: float = -2) -> Array:
    return _RNG.uniform(low, 2, shape).astype(np.float32)


IMAGE = _random(2, 6, 3, 4)
_FLAT = IMAGE.copy()
_FLAT[0], _FLAT[1, 2] = 0.25, 7.0
_FAR = IMAGE + np.float32(100)
_WEIGHTS = [_random(6, low=0.5), _random(6)]
_CHANNELS = [("random", IMAGE), ("no variance", _FLAT), ("far from 0", _FAR)]


def _normalised(x: Array, axes: Sequence[int], epsilon: float) -> Array:
    wide = x.astype(np.float64)
    mean, variance = wide.mean(tuple(axes), keepdims=True), wide.var(tuple(axes), keepdims=True)
    return (wide - mean) / np.sqrt(variance + epsilon)


def _by_channel(array: Array, rank: int) -> Array:
    return array.reshape(-1, *[1] * (rank - 2))


def _batch(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float) -> Array:
    scale, bias, mean, variance = (_by_channel(part, x.ndim) for part in (scale, bias, mean, variance))
    return ((x - mean) / np.sqrt(variance + np.float32(epsilon)) * scale + bias).astype(x.dtype)


def _layer(x: Array, scale: Array, bias: Array, epsilon: float) -> Array:
    return (_normalised(x, range(x.ndim - scale.ndim, x.ndim), epsilon) * scale + bias).astype(x.dtype)


def _rms(x: Array, scale: Array, epsilon: float) -> Array:
    wide = x.astype(np.float64)
    return (wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + epsilon) * scale).astype(x.dtype)


def _group(x: Array, scale: Array, bias: Array, groups: int, epsilon: float) -> Array:
    parts = x.reshape(x.shape[0], groups, -1)
    result = _normalised(parts, (2,), epsilon).reshape(x.shape)
    return (result * _by_channel(scale, x.ndim) + _by_channel(bias, x.ndim)).astype(x.dtype)


def _local(x: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
    squares = np.pad(x.astype(np.float64) ** 2, [(0, 0), (radius, radius), (0, 0), (0, 0)])
    sums = sum(squares[:, at : at + x.shape[1]] for at in range(2 * radius + 1))
    return (x / (bias + alpha * sums) ** beta).astype(x.dtype)


_ROWS = [
    ("random", _random(3, 4, 6)),
    ("no variance", np.full((2, 6), 3, np.float32)),
    ("far from 0", _random(2, 6) + 100),
]
_STATISTICS = [_random(6), _random(6, low=0.25)]
_TWO = [Case("two axes", [_random(2, 3, 4, 6)], {"epsilon": 1e-5}, [_random(4, 6), _random(4, 6)])]


def _batch_stablehlo(net: Any, x: Any, *arrays: Array, epsilon: float) -> Any:
    return net("batch_norm_inference", x, *map(net.const, arrays), epsilon=f"{epsilon} : f32",
               feature_index="1 : i64")  # fmt: skip


def _torch(target: str, *names: str, **fixed: Any) -> Any:
    """Return the spelling by an operator whose weights have names. fixed: functions of a case's options, or values."""

    def spelling(net: Any, x: Any, *arrays: Array, **options: Any) -> Any:
        weights = dict(zip(names, map(net.const, arrays), strict=True))
        more = {key: value(arrays, **options) if callable(value) else value for key, value in fixed.items()}
        result = net(f"aten.{target}.default", input=x, **more, **weights, eps=options["epsilon"])
        return result[0] if isinstance(result, tuple) else result

    return spelling


def _shape(arrays: Sequence[Array], **options: Any) -> list[int]:
    return list(arrays[0].shape)


TABLE = [
    Meaning("batch_norm", _batch, [Case(name, [x], {"epsilon": 1e-3}, [*_WEIGHTS, *_STATISTICS]) for name,
        x in _CHANNELS], {
        "onnx": lambda net, x, *arrays, epsilon: net("BatchNormalization", x, *map(net.const, arrays), epsilon=epsilon),
        "torch": _torch("batch_norm", "weight", "bias", "running_mean", "running_var", training=False, momentum=0.1,
                        cudnn_enabled=False),
        "torch core": _torch("_native_batch_norm_legit_no_training", "weight", "bias", "running_mean", "running_var",
                             momentum=0.1, results=3),
        "keras": lambda net, x, *arrays, epsilon: net.layer("BatchNormalization", x, weights={"": arrays}, axis=-1,
                                                            epsilon=epsilon, center=True, scale=True),
        "tensorflow": lambda net, x, *arrays, epsilon: net(
            "FusedBatchNormV3", x, *map(net.const, arrays), results=6, epsilon=epsilon, is_training=False,
            data_format="NHWC", U="float32")[0],
        "stablehlo": _batch_stablehlo}, lost=100.0, channels_last=LAST),
    Meaning("layer_norm", _layer, [*(Case(name, [x], {"epsilon": 1e-5}, _WEIGHTS) for name, x in _ROWS), *_TWO], {
        "onnx": lambda net, x, scale, bias, epsilon: net(
            "LayerNormalization", x, net.const(scale), net.const(bias), axis=-scale.ndim, epsilon=epsilon),
        "torch": _torch("layer_norm", "weight", "bias", normalized_shape=_shape),
        "torch core": _torch("native_layer_norm", "weight", "bias", normalized_shape=_shape, results=3),
        "keras": lambda net, x, scale, bias, epsilon: net.layer(
            "LayerNormalization", x, weights={"": [scale, bias]}, axis=list(range(-scale.ndim, 0)), epsilon=epsilon,
            center=True, scale=True)}, lost=10.0),
    Meaning("rms_norm", _rms, [Case(name, [x], {"epsilon": 1e-5}, _WEIGHTS[:1]) for name, x in [*_ROWS,
                               ("zeros", np.zeros((2, 6), np.float32))]], {
        "onnx": lambda net, x, scale, epsilon: net("RMSNormalization", x, net.const(scale), axis=-1, epsilon=epsilon),
        "torch": _torch("rms_norm", "weight", normalized_shape=_shape),
        "keras": lambda net, x, scale, epsilon: net.layer("RMSNormalization", x, weights={"": [scale]}, axis=-1,
                                                          epsilon=epsilon)}),
    Meaning("group_norm", _group, [Case(f"{name} {groups}", [x], {"groups": groups, "epsilon": 1e-3}, _WEIGHTS)
                                   for name, x in _CHANNELS for groups in (1, 2, 6)], {
        "onnx": lambda net, x, scale, bias, groups, epsilon: net(
            "GroupNormalization", x, net.const(scale), net.const(bias), num_groups=groups, epsilon=epsilon),
        "torch": lambda net, x, scale, bias, groups, epsilon: net(
            "aten.group_norm.default", input=x, num_groups=groups, weight=net.const(scale), bias=net.const(bias),
            eps=epsilon),
        "keras": lambda net, x, scale, bias, groups, epsilon: net.layer(
            "GroupNormalization", x, weights={"": [scale, bias]}, groups=groups, axis=-1, epsilon=epsilon, center=True,
            scale=True)}, lost=20.0, channels_last=LAST),
    Meaning("instance_norm", lambda x, scale, bias, epsilon: _group(x, scale, bias, x.shape[1], epsilon),
            [Case(name, [x], {"epsilon": 1e-3}, _WEIGHTS) for name, x in _CHANNELS], {
        "onnx": lambda net, x, scale, bias, epsilon: net("InstanceNormalization", x, net.const(scale), net.const(bias),
                                                         epsilon=epsilon),
        "torch": _torch("instance_norm", "weight", "bias", running_mean=None, running_var=None, use_input_stats=True,
                        momentum=0.1, cudnn_enabled=False)}, lost=20.0),
    Meaning("unit_norm", lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)), [Case("rows", [_random(3, 6)])], {
        "onnx": lambda net, x: net("LpNormalization", x, axis=-1, p=2),
        "tflite": lambda net, x: net("L2_NORMALIZATION", x, options="L2NormOptions"),
        "keras": lambda net, x: net.layer("UnitNormalization", x, axis=-1)},
            note="of zeros each has a rule of its own"),
    Meaning("local_response_norm", _local, [
        Case("radius 2", [IMAGE], {"radius": 2, "bias": 1.0, "alpha": 0.1, "beta": 0.75}),
        Case("radius 1", [IMAGE], {"radius": 1, "bias": 2.0, "alpha": 0.5, "beta": 0.5})], {
        "onnx": lambda net, x, radius, bias, alpha, beta: net("LRN", x, size=2 * radius + 1, bias=bias, beta=beta,
                                                              alpha=alpha * (2 * radius + 1)),
        "tflite": lambda net, x, radius, **options: net("LOCAL_RESPONSE_NORMALIZATION", x, radius=radius, **options,
                                                        options="LocalResponseNormalizationOptions"),
        "tensorflow": lambda net, x, radius, **options: net("LRN", x, depth_radius=radius, **options)},
        channels_last=LAST,
            note="alpha of ONNX is that of the others times the size; plain kernels of LiteRT lack a channel"),
]  # fmt: skip
