# pyright: basic
"""Boxes: those that no better one covers, and those that are cut out of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning

_RNG = np.random.default_rng(23)
_LOW = _RNG.uniform(0, 4, (9, 2))
_BOXES = np.concatenate([_LOW, _LOW + _RNG.uniform(2, 4, (9, 2))], 1).astype(np.float32)
_SCORES = np.linspace(0.9, 0.1, 9).astype(np.float32)[_RNG.permutation(9)]
_HALVES = np.array([[0, 0, 1, 2], [0, 0, 1, 1], [5, 5, 6, 6]], np.float32), np.array([0.9, 0.8, 0.7], np.float32)


def _overlap(a: Array, b: Array) -> Any:
    """Return the part of the union of two boxes that they share."""
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.prod(np.maximum(high - low, 0))
    return shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)


def _best(at_threshold: bool) -> Any:
    def expected(boxes: Array, scores: Array, most: int, limit: float, least: float, sigma: float) -> Any:
        scores, kept = scores.astype(np.float64).copy(), list[tuple[int, float]]()
        left = list(range(len(scores)))
        while left and len(kept) < most:
            best = max(left, key=scores.__getitem__)
            if not scores[best] > least:
                break
            left.remove(best)
            kept.append((best, scores[best]))
            for other in [*left]:
                overlap = _overlap(boxes[best], boxes[other])
                if overlap > limit or (at_threshold and overlap == limit):
                    left.remove(other)
                elif sigma:
                    scores[other] *= np.exp(-(overlap**2) / (2 * sigma))
        numbers = [number for number, _ in kept] + [0] * (most - len(kept))
        lowered = [score for _, score in kept] + [0.0] * (most - len(kept))
        return np.asarray(numbers, np.int32), np.asarray(lowered, np.float32), np.asarray(len(kept), np.int32)

    return expected


def _tensorflow(net: Any, boxes: Any, scores: Any, most: int, **limits: float) -> Any:
    numbers = [net.const(limit, "float32") for limit in limits.values()]
    return net("NonMaxSuppressionV5", boxes, scores, net.const(most, "int32"), *numbers, results=3,
               pad_to_max_output_size=True)  # fmt: skip


def _tflite(net: Any, boxes: Any, scores: Any, most: int, **limits: float) -> Any:
    numbers = [net.const(limit, "float32") for limit in limits.values()]
    return net("NON_MAX_SUPPRESSION_V5", boxes, scores, net.const(most, "int32"), *numbers,
               dtypes=["int32", "float32", "int32"])  # fmt: skip


def _case(name: str, boxes: Array = _BOXES, scores: Array = _SCORES, **limits: Any) -> Case:
    return Case(name, [boxes, scores], {"most": 5, "limit": 0.4, "least": 0.05, "sigma": 0.0, **limits})


_SOFTLY = [_case("plain"), _case("few", least=0.55), _case("lowered", sigma=0.5, limit=0.7), _case("most", most=2)]
_AT_THRESHOLD = [_case("half", *_HALVES, limit=0.5), _case("lowered", *_HALVES, limit=0.5, sigma=0.5)]

_IMAGES = _RNG.uniform(-2, 2, (2, 3, 5, 6)).astype(np.float32)
_REGIONS = np.array([[0, 0, 1, 1], [0.2, 0.12, 0.7, 0.85], [-0.2, 0.31, 0.5, 1.3]], np.float32)
_WHOSE = np.array([1, 0, 1], np.int32)


def _cropped(images: Array, size: Any, nearest: bool) -> Array:
    """Return boxes of images (batch, channels, height, width) in one size; -1 where they are outside."""
    result = np.full((len(_REGIONS), images.shape[1], *size), -1.0)
    for at, (box, image) in enumerate(zip(_REGIONS.astype(np.float64), images[_WHOSE], strict=True)):
        ys, xs = ((box[k] + np.arange(n) * (box[k + 2] - box[k]) / (n - 1)) * (image.shape[k + 1] - 1)
                  for k, n in enumerate(size))  # fmt: skip
        for row, y in enumerate(ys):
            for column, x in enumerate(xs):
                if not (0 <= y <= image.shape[1] - 1 and 0 <= x <= image.shape[2] - 1):
                    continue
                down, across = (np.maximum(1 - np.abs(np.arange(n) - place), 0) for n, place in
                                zip(image.shape[1:], (np.floor(y + 0.5), np.floor(x + 0.5)) if nearest else (y, x),
                                    strict=True))  # fmt: skip
                result[at, :, row, column] = down @ image @ across
    return result.astype(np.float32)


def _of_box(op: str, method: str, **more: Any) -> Any:
    def spelling(net: Any, images: Any, size: Any, nearest: bool) -> Any:
        numbers = net.const(_REGIONS), net.const(_WHOSE), net.const(size, "int32")
        how = {method: "nearest" if nearest else "bilinear", "extrapolation_value": -1.0, **more}
        return net(op, images, *numbers, **how)

    return spelling


_CROPS = [Case(f"{'nearest' if nearest else 'bilinear'} {size}", [_IMAGES], {"size": size, "nearest": nearest})
          for size in ([4, 3], [6, 7]) for nearest in (False, True)]  # fmt: skip
TABLE = [
    Meaning("best_boxes_softly", _best(False), _SOFTLY, {"tensorflow": _tensorflow, "tflite": _tflite}, lost=1.0),
    Meaning("best_boxes_up_to_a_threshold", _best(False), _AT_THRESHOLD, {"tensorflow": _tensorflow}, lost=1.0,
            note="an overlap that is the threshold is not too much"),
    Meaning("best_boxes_below_a_threshold", _best(True), _AT_THRESHOLD, {"tflite": _tflite}, lost=1.0,
            note="an overlap that is the threshold is too much"),
    Meaning("boxes_in_one_size", _cropped, _CROPS, {
        "onnx microsoft": _of_box("CropAndResize", "mode", domain="com.microsoft"),
        "tensorflow": _of_box("CropAndResize", "method")}, lost=4.0, channels_last=("tensorflow",)),
]  # fmt: skip
