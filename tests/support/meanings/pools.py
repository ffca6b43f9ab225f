# pyright: basic
"""Pools and pads: ends of windows, what counts in a mean, modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning
from meanings.references import padded, pads_of, pooled, windows
from meanings.spelled import LAST, SAME, even_pads, hlo_ints, hlo_pairs, onnx_padding

_RNG = np.random.default_rng(7)


def _random(*shape: int) -> Array:
    return _RNG.uniform(-2, 2, shape).astype(np.float32)


def _pool(label: str, space: Sequence[int], kernel: Sequence[int], strides: int | Sequence[int] = 1,
          padding: Any = "VALID", dilations: int = 1, x: Any = None, **more: Any) -> Case:  # fmt: skip
    rank = len(space)
    options = {
        "kernel": list(kernel), "strides": [strides] * rank if isinstance(strides, int) else list(strides),
        "padding": padding, "dilations": [dilations] * rank, **more,
    }  # fmt: skip
    return Case(f"{rank}d {label}", [_random(2, 3, *space) if x is None else x], options)


_SPECIAL = _random(2, 3, 4, 5)
_SPECIAL[0, 0, 1, 1], _SPECIAL[0, 1, 2, 2], _SPECIAL[1, 0] = np.nan, np.inf, -np.inf
_POOLS = [
    _pool("valid", [7], [3], 2),
    _pool("same", [7], [2], 2, "SAME_UPPER"),
    _pool("valid", [6, 7], [2, 3]),
    _pool("same", [6, 7], [2, 2], padding="SAME_UPPER"),
    _pool("same, strides", [7, 8], [3, 2], [2, 3], "SAME_UPPER"),
    _pool("same, lower", [7, 8], [2, 4], 2, "SAME_LOWER"),
    _pool("pads", [6, 7], [3, 3], 2, [(1, 1), (1, 1)]),
    _pool("uneven pads", [6, 7], [3, 3], 2, [(0, 1), (1, 0)]),
    _pool("up to the end", [6, 6], [3, 3], 2, [(1, 1), (0, 0)], ceil_mode=True),
    _pool("end in pads", [5, 5], [2, 2], 3, [(1, 1), (1, 1)], ceil_mode=True),
    _pool("special", [4, 5], [2, 2], 1, x=_SPECIAL),
    _pool("valid", [4, 5, 4], [2, 2, 2], 2),
]
_DILATED_POOLS = [
    _pool("dilated", [7, 8], [2, 3], dilations=2),
    _pool("dilated, pads", [7, 8], [3, 2], 2, [(1, 1), (1, 1)], 2),
]
_COUNTED = [
    _pool("pads", [6, 7], [3, 3], 2, [(1, 1), (1, 1)], count_include_pad=True),
    _pool("uneven pads", [6, 7], [3, 3], 2, [(0, 1), (1, 0)], count_include_pad=True),
    _pool("up to the end", [6, 6], [3, 3], 2, [(1, 1), (0, 0)], ceil_mode=True, count_include_pad=True),
]


def _pool_onnx(kind: str) -> Any:
    def spelling(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, **more: bool) -> Any:
        fields = {key: int(value) for key, value in more.items()}
        op = "MaxPool" if kind == "max" else "AveragePool"
        return net(op, x, kernel_shape=kernel, strides=strides, dilations=dilations, **onnx_padding(padding), **fields)

    return spelling


def _pool_torch(kind: str) -> Any:
    def spelling(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, ceil_mode: bool = False,
                 count_include_pad: bool = False) -> Any:  # fmt: skip
        rank, pads = len(kernel), even_pads(padding)
        if pads is None:
            return None
        fields: dict[str, Any] = {"kernel_size": kernel, "stride": strides, "padding": pads or [0] * rank}
        if kind == "max":
            return net(f"aten.max_pool{rank}d.default", self=x, **fields, dilation=dilations, ceil_mode=ceil_mode)
        fields |= {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
        return net(f"aten.avg_pool{rank}d.default", self=x, **fields)

    return spelling


def _pool_tflite(kind: str) -> Any:
    def spelling(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, **more: bool) -> Any:
        if len(kernel) != 2 or str(padding) not in SAME or more or set(dilations) != {1}:
            return None
        return net("MAX_POOL_2D" if kind == "max" else "AVERAGE_POOL_2D", x, options="Pool2DOptions",
                   padding=SAME[padding], strideH=strides[0], strideW=strides[1], filterHeight=kernel[0],
                   filterWidth=kernel[1])  # fmt: skip

    return spelling


def _pool_keras(kind: str) -> Any:
    def spelling(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, **more: bool) -> Any:
        if str(padding) not in SAME or more or set(dilations) != {1}:
            return None
        return net.layer(f"{'Max' if kind == 'max' else 'Average'}Pooling{len(kernel)}D", x, pool_size=kernel,
                         strides=strides, padding=padding[:5].lower().rstrip("_"),
                         data_format="channels_last")  # fmt: skip

    return spelling


def _pool_keras_op(kind: str) -> Any:
    def spelling(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, **more: bool) -> Any:
        if str(padding) not in SAME or more or set(dilations) != {1}:
            return None
        return net(f"{'Max' if kind == 'max' else 'Average'}Pool", x, pool_size=kernel, strides=strides,
                   padding=padding[:5].lower().rstrip("_"), data_format="channels_last")  # fmt: skip

    return spelling


def _pool_places(
    net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, ceil_mode: bool = False
) -> Any:
    if len(kernel) == 1 or (pads := even_pads(padding)) is None:
        return None
    return net(f"aten.max_pool{len(kernel)}d_with_indices.default", results=2, self=x, kernel_size=kernel,
               stride=strides, padding=pads or [0] * len(kernel), dilation=dilations,
                   ceil_mode=ceil_mode)[0]  # fmt: skip


def _pool_tensorflow(kind: str) -> Any:
    def spelling(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, **more: bool) -> Any:
        rank = len(kernel)
        if str(padding) not in SAME or more or set(dilations) != {1} or rank == 1:
            return None
        op, layout = (
            f"{'Max' if kind == 'max' else 'Avg'}Pool{'3D' if rank == 3 else ''}",
            "NHWC" if rank == 2 else "NDHWC",
        )
        return net(op, x, ksize=[1, *kernel, 1], strides=[1, *strides, 1], padding=padding.removesuffix("_UPPER"),
                   data_format=layout)  # fmt: skip

    return spelling


def _pool_stablehlo(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, **more: bool) -> Any:
    if more:
        return None
    pads = pads_of(padding, x.shape[2:], kernel, strides, dilations)
    return net("reduce_window", x, net.const(-np.inf, "float32"), regions=net.region("maximum", x.dtype),
               window_dimensions=hlo_ints([1, 1, *kernel]), window_strides=hlo_ints([1, 1, *strides]),
               window_dilations=hlo_ints([1, 1, *dilations]), padding=hlo_pairs([(0, 0), (0, 0), *pads]))  # fmt: skip


def _pools(kind: str) -> dict[str, Any]:
    by = {
        "onnx": _pool_onnx,
        "torch": _pool_torch,
        "tflite": _pool_tflite,
        "keras": _pool_keras,
        "keras op": _pool_keras_op,
    }
    return {form: make(kind) for form, make in by.items()} | {"tensorflow": _pool_tensorflow(kind)}


# Pads.

_X = _random(2, 3, 4, 5)
_EDGES = [
    Case("two axes", [_X], {"pads": [(0, 0), (0, 0), (1, 2), (3, 0)]}),
    Case("one axis", [_X], {"pads": [(0, 0), (0, 0), (0, 0), (2, 1)]}),
    Case("three axes", [_X], {"pads": [(0, 0), (2, 1), (1, 0), (0, 3)]}),
]


def _edged(mode: str, value: float = 0.0) -> Any:
    more = {"constant_values": value} if mode == "constant" else {}
    return lambda x, pads: np.pad(x, pads, mode, **more)  # pyright: ignore[reportCallIssue, reportArgumentType]


def _edges_onnx(mode: str, value: float | None = None) -> Any:
    def spelling(net: Any, x: Any, pads: Any) -> Any:
        numbers = net.const([*(a for a, _ in pads), *(b for _, b in pads)], "int64")
        more = [] if value is None else [net.const(value, "float32")]
        return net("Pad", x, numbers, *more, mode=mode)

    return spelling


def _edges_torch(mode: str, value: float | None = None) -> Any:
    def spelling(net: Any, x: Any, pads: Any) -> Any:
        flat = [number for pair in reversed(pads[1:] if any(pads[1]) else pads[2:]) for number in pair]
        if mode == "constant":
            return net("aten.constant_pad_nd.default", self=x, pad=flat, value=value)
        return net("aten.pad.default", self=x, pad=flat, mode=mode) if len(flat) == 4 or mode != "circular" else None

    return spelling


def _edges_keras(mode: str, value: float | None = None) -> Any:
    def spelling(net: Any, x: Any, pads: Any) -> Any:
        more = [] if value is None else [value]
        return net("Pad", x, *more, pad_width=[list(pair) for pair in pads], mode=mode)

    return spelling


def _edges_numbers(op: str, dtype: str = "int32", value: float | None = None, **fixed: Any) -> Any:
    """Return the spelling of TFLite and TensorFlow: pads are a matrix."""

    def spelling(net: Any, x: Any, pads: Any) -> Any:
        more = [] if value is None else [net.const(value, "float32")]
        return net(op, x, net.const([list(pair) for pair in pads], dtype), *more, **fixed)

    return spelling


def _edges_stablehlo(value: float) -> Any:
    def spelling(net: Any, x: Any, pads: Any) -> Any:
        low, high = zip(*pads, strict=True)
        return net("pad", x, net.const(value, "float32"), edge_padding_low=hlo_ints(low),
                   edge_padding_high=hlo_ints(high),
                   interior_padding=hlo_ints([0] * len(pads)))  # fmt: skip

    return spelling


# Widths below 0.

_CUTS = [
    Case("one end", [_X], {"pads": [(0, 0), (0, 0), (0, 0), (-1, 2)]}),
    Case("both axes", [_X], {"pads": [(0, 0), (0, 0), (1, -2), (-2, 3)]}),
    Case("nothing added", [_X], {"pads": [(0, 0), (0, 0), (0, -1), (-1, -1)]}),
]


def _cut(mode: str, value: float = 0.0) -> Any:
    """Return what cuts off first, so that no border repeats what is cut off."""

    def expected(x: Array, pads: Any) -> Array:
        for axis, (before, after) in enumerate(pads):
            x = x.take(range(max(-before, 0), x.shape[axis] + min(after, 0)), axis)
        return _edged(mode, value)(x, [(max(before, 0), max(after, 0)) for before, after in pads])

    return expected


def _sum_torch(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, **more: Any) -> Any:
    pads = even_pads(padding) or [0] * len(kernel)
    return net(f"aten.avg_pool{len(kernel)}d.default", self=x, kernel_size=kernel, stride=strides, padding=pads,
               divisor_override=1)  # fmt: skip


def _sum_stablehlo(net: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any) -> Any:
    pads = pads_of(padding, x.shape[2:], kernel, strides, dilations)
    return net("reduce_window", x, net.const(0.0, "float32"), regions=net.region("add", x.dtype),
               window_dimensions=hlo_ints([1, 1, *kernel]), window_strides=hlo_ints([1, 1, *strides]),
               padding=hlo_pairs([(0, 0), (0, 0), *pads]))  # fmt: skip


def _summed(x: Array, kernel: Any, strides: Any, padding: Any, dilations: Any) -> Array:
    wide = padded(x.astype(np.float64), pads_of(padding, x.shape[2:], kernel, strides, dilations))
    axes = tuple(range(-len(kernel), 0))
    return windows(wide, kernel, strides, dilations).sum(axes).astype(x.dtype)


TABLE = [
    Meaning("max_pool", lambda x, **options: pooled(x, "max", **options), [*_POOLS, *_DILATED_POOLS],
            {**_pools("max"), "torch with places": _pool_places, "stablehlo": _pool_stablehlo}, channels_last=LAST,
                note="NaN wins"),
    Meaning("average_pool", lambda x, **options: pooled(x, "mean", **options), _POOLS, _pools("mean"), lost=2.0,
            channels_last=LAST, note="pads do not count"),
    Meaning("average_pool_of_pads", lambda x, **options: pooled(x, "mean", **options), _COUNTED,
            {"onnx": _pool_onnx("mean"), "torch": _pool_torch("mean")}, lost=2.0, note="pads count"),
    Meaning("pad_constant", _edged("constant", -np.inf), _EDGES, {
        "onnx": _edges_onnx("constant", -np.inf), "torch": _edges_torch("constant", -np.inf),
        "tflite": _edges_numbers("PADV2", value=-np.inf), "tensorflow": _edges_numbers("PadV2", value=-np.inf),
        "stablehlo": _edges_stablehlo(-np.inf)}),
    Meaning("pad_zeros", _edged("constant"), _EDGES, {
        "onnx": _edges_onnx("constant"), "torch": _edges_torch("constant", 0.0), "tflite": _edges_numbers("PAD"),
        "keras": _edges_keras("constant"), "tensorflow": _edges_numbers("Pad"), "stablehlo": _edges_stablehlo(0.0)}),
    Meaning("pad_reflect", _edged("reflect"), _EDGES, {
        "onnx": _edges_onnx("reflect"), "torch": _edges_torch("reflect"), "keras": _edges_keras("reflect"),
        "tflite": _edges_numbers("MIRROR_PAD", mode=0), "tensorflow": _edges_numbers("MirrorPad", mode="REFLECT")},
        note="without the edge"),
    Meaning("pad_symmetric", _edged("symmetric"), _EDGES, {
        "keras": _edges_keras("symmetric"), "tflite": _edges_numbers("MIRROR_PAD", mode=1),
        "tensorflow": _edges_numbers("MirrorPad", mode="SYMMETRIC")}, note="with the edge"),
    Meaning("pad_edge", _edged("edge"), _EDGES, {"onnx": _edges_onnx("edge"), "torch": _edges_torch("replicate")}),
    Meaning("sum_pool", _summed, [_pool("valid", [6, 7], [2, 3]), _pool("pads", [6, 7], [3, 3], 2, [(1, 1), (1, 1)]),
                                  _pool("pads", [4, 5, 4], [2, 2, 2], 2, [(1, 1), (0, 0), (1, 1)])],
            {"torch": _sum_torch, "stablehlo": _sum_stablehlo}, lost=20.0),
    Meaning("pad_cuts_off", _cut("constant", 1.5), _CUTS, {
        "onnx": _edges_onnx("constant", 1.5), "torch": _edges_torch("constant", 1.5),
        "stablehlo": _edges_stablehlo(1.5)}),
    Meaning("pad_wrap_cuts_off", _cut("wrap"), _CUTS, {
        "onnx": _edges_onnx("wrap"), "torch": _edges_torch("circular")}, note="what is cut off does not come back"),
    Meaning("pad_wrap", _edged("wrap"), _EDGES, {"onnx": _edges_onnx("wrap"), "torch": _edges_torch("circular")}),
]  # fmt: skip
