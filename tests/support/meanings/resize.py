# pyright: basic
"""Resized images: which pixel a result is at, how numbers round, kernels, what shrinking averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning

_RNG = np.random.default_rng(17)
_X = _RNG.uniform(-2, 2, (2, 3, 4, 5)).astype(np.float32)
_LAST = ("tflite", "keras", "tensorflow")
_CASES = [Case(f"to {height}x{width}", [_X], {"size": [height, width]})
          for height, width in ((8, 10), (7, 12), (3, 2), (2, 9), (4, 5))]  # fmt: skip
_ONE = Case("of one pixel", [_X[:, :, :1, :1].copy()], {"size": [3, 4]})

PLACES: dict[str, Callable[[Array, int, int], Array]] = {
    "half_pixel": lambda i, old, new: (i + 0.5) * (old / new) - 0.5,
    "align_corners": lambda i, old, new: i * ((old - 1) / max(new - 1, 1)),
    "asymmetric": lambda i, old, new: i * (old / new),
}
ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}


def _linear(x: Array) -> Array:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(a: float) -> Callable[[Array], Array]:
    def weight(x: Array) -> Array:
        x = np.abs(x)
        near = (a + 2) * x**3 - (a + 3) * x**2 + 1
        return np.where(x < 1, near, np.where(x < 2, a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a, 0))

    return weight


def _matrix(old: int, new: int, places: str, how: Any, wide: bool, outside: bool) -> Array:
    """Return the weights of old pixels (new, old). wide: shrinking averages; outside: ends stand for what is beyond."""
    at = PLACES[places](np.arange(new, dtype=np.float64), old, new)
    if isinstance(how, str):
        chosen = np.clip(ROUNDINGS[how](at), 0, old - 1).astype(int)
        return np.eye(old)[chosen]
    stretch = max(old / new, 1.0) if wide else 1.0
    reach = int(np.ceil(2 * stretch)) + 1
    matrix = np.zeros((new, old))
    for row, place in enumerate(at):
        for column in range(int(np.floor(place)) - reach, int(np.floor(place)) + reach + 1):
            weight = float(how(np.asarray((column - place) / stretch)))
            if outside or 0 <= column < old:
                matrix[row, min(max(column, 0), old - 1)] += weight
    return matrix / matrix.sum(1, keepdims=True)


def resized(places: str, how: Any, wide: bool = False, outside: bool = True) -> Any:
    def expected(x: Array, size: list[int]) -> Array:
        rows, columns = (
            _matrix(old, new, places, how, wide, outside) for old, new in zip(x.shape[2:], size, strict=True)
        )
        return (rows @ x.astype(np.float64) @ columns.T).astype(x.dtype)

    return expected


def _onnx(mode: str, places: str, **fields: Any) -> Any:
    def spelling(net: Any, x: Any, size: Any) -> Any:
        sizes = net.const([*x.shape[:2], *size], "int64")
        return net("Resize", x, None, None, sizes, mode=mode, coordinate_transformation_mode=places, **fields)

    return spelling


def _torch(op: str, **fields: Any) -> Any:
    return lambda net, x, size: net(f"aten.{op}.vec", input=x, output_size=size, **fields, scale_factors=None)


def _core(op: str, **fields: Any) -> Any:
    return lambda net, x, size: net(f"aten.{op}.default", self=x, output_size=size, **fields)


def _tensorflow(op: str, corners: bool = False, half: bool = False) -> Any:
    return lambda net, x, size: net(op, x, net.const(size, "int32"), align_corners=corners, half_pixel_centers=half)


def _tflite(op: str, corners: bool = False, half: bool = False) -> Any:
    return lambda net, x, size: net(op, x, net.const(size, "int32"), alignCorners=corners, halfPixelCenters=half,
                                    options=f"{op.title().replace('_', '')}Options")  # fmt: skip


def _keras(how: str, antialias: bool = False) -> Any:
    return lambda net, x, size: net(
        "Resize", x, size=size, interpolation=how, antialias=antialias, data_format="channels_last"
    )


def _up(how: str) -> Any:
    def spelling(net: Any, x: Any, size: Any) -> Any:
        height, width = x.shape[1:3]
        if size[0] % height or size[1] % width:
            return None
        return net.layer("UpSampling2D", x, size=[size[0] // height, size[1] // width], interpolation=how,
                         data_format="channels_last")  # fmt: skip

    return spelling


_NEAREST = "ResizeNearestNeighbor", "RESIZE_NEAREST_NEIGHBOR"
_BILINEAR = "ResizeBilinear", "RESIZE_BILINEAR"


def _row(name: str, expected: Any, cases: list[Case], **by: Any) -> Meaning:
    note, lost = by.pop("note", ""), by.pop("lost", 4.0)
    by = {form.replace("_", " "): spelling for form, spelling in by.items()}
    return Meaning(name, expected, cases, by, lost=lost, channels_last=_LAST, note=note)


TABLE = [
    _row("nearest_from_the_corner", resized("asymmetric", "floor"), [*_CASES, _ONE],
         onnx=_onnx("nearest", "asymmetric", nearest_mode="floor"), torch=_torch("upsample_nearest2d"),
             torch_core=_core("upsample_nearest2d"),
         tensorflow=_tensorflow(_NEAREST[0]), tflite=_tflite(_NEAREST[1]), keras=_up("nearest")),
    _row("nearest_half_pixel", resized("half_pixel", "round_prefer_ceil"), [*_CASES, _ONE],
         onnx=_onnx("nearest", "half_pixel", nearest_mode="round_prefer_ceil"),
         torch=_torch("_upsample_nearest_exact2d"), torch_core=_core("_upsample_nearest_exact2d"),
             tensorflow=_tensorflow(_NEAREST[0], half=True),
         tflite=_tflite(_NEAREST[1], half=True), keras=_keras("nearest")),
    _row("nearest_half_pixel_down", resized("half_pixel", "round_prefer_floor"), _CASES, onnx=_onnx("nearest",
        "half_pixel"),
         note="the default of ONNX"),
    _row("nearest_align_corners", resized("align_corners", "round_prefer_ceil"), _CASES,
         onnx=_onnx("nearest", "align_corners", nearest_mode="round_prefer_ceil"),
         tensorflow=_tensorflow(_NEAREST[0], True), tflite=_tflite(_NEAREST[1], True)),
    _row("linear_half_pixel", resized("half_pixel", _linear), [*_CASES, _ONE], onnx=_onnx("linear", "half_pixel"),
         torch=_torch("upsample_bilinear2d", align_corners=False),
         torch_core=_core("upsample_bilinear2d", align_corners=False), tensorflow=_tensorflow(_BILINEAR[0], half=True),
         tflite=_tflite(_BILINEAR[1], half=True), keras=_keras("bilinear")),
    _row("linear_align_corners", resized("align_corners", _linear), [*_CASES, _ONE],
         onnx=_onnx("linear", "align_corners"), torch=_torch("upsample_bilinear2d", align_corners=True),
         torch_core=_core("upsample_bilinear2d", align_corners=True),
         tensorflow=_tensorflow(_BILINEAR[0], True), tflite=_tflite(_BILINEAR[1], True)),
    _row("linear_from_the_corner", resized("asymmetric", _linear), [*_CASES, _ONE], onnx=_onnx("linear", "asymmetric"),
         tensorflow=_tensorflow(_BILINEAR[0]), tflite=_tflite(_BILINEAR[1])),
    _row("linear_averaged", resized("half_pixel", _linear, True, False), _CASES,
         onnx=_onnx("linear", "half_pixel", antialias=1, exclude_outside=1), keras=_keras("bilinear", True),
         torch=_torch("_upsample_bilinear2d_aa", align_corners=False)),
    _row("cubic_half_pixel", resized("half_pixel", _cubic(-0.75)), _CASES, onnx=_onnx("cubic", "half_pixel"),
         torch=_torch("upsample_bicubic2d", align_corners=False),
         torch_core=_core("upsample_bicubic2d", align_corners=False), note="a = -0.75"),
    _row("cubic_align_corners", resized("align_corners", _cubic(-0.75)), _CASES, onnx=_onnx("cubic", "align_corners"),
         torch=_torch("upsample_bicubic2d", align_corners=True),
         torch_core=_core("upsample_bicubic2d", align_corners=True)),
    _row("cubic_half_pixel_inside", resized("half_pixel", _cubic(-0.5), outside=False), _CASES,
         onnx=_onnx("cubic", "half_pixel", cubic_coeff_a=-0.5, exclude_outside=1),
         keras=_keras("bicubic"),
         note="a = -0.5; pixels outside weigh nothing"),
    _row("cubic_of_a_table", resized("half_pixel", _cubic(-0.5), outside=False), _CASES,
         tensorflow=_tensorflow("ResizeBicubic", half=True), lost=100.0,
         note="weights are those of the next 1024th of a pixel"),
    _row("linear_averaged_with_edges", resized("half_pixel", _linear, True), _CASES,
         onnx=_onnx("linear", "half_pixel", antialias=1)),
    _row("cubic_averaged", resized("half_pixel", _cubic(-0.5), True, False), _CASES,
         onnx=_onnx("cubic", "half_pixel", antialias=1, cubic_coeff_a=-0.5, exclude_outside=1),
         torch=_torch("_upsample_bicubic2d_aa", align_corners=False), keras=_keras("bicubic", True)),
]  # fmt: skip
