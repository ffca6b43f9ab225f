# pyright: basic
"""Lookups, segments, diagonals, blocks of batches, parts at places of a call, samples of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning
from meanings.references import pooled
from meanings.spelled import LAST, hlo_ints, op

_RNG = np.random.default_rng(23)


def _random(*shape: int) -> Array:
    return _RNG.uniform(-2, 2, shape).astype(np.float32)


ROWS, IMAGE = _random(6, 4), _random(2, 3, 6, 5)
_SEGMENTS = np.array([0, 0, 2, 2, 2, 3], np.int32)
_SCATTERED = np.array([2, 0, 2, 3, 0, 2], np.int32)
_NUMBERS = np.array([-1.0, 0.0, 0.5, 1.0, 2.5, 9.0, np.inf, -np.inf], np.float32)
_EDGES = [0.0, 1.0, 2.5]


def _segments(x: Array, ids: Array) -> Array:
    result = np.zeros((4, x.shape[1]), np.float32)
    np.add.at(result, ids, x)
    return result


def _in_ids(net: Any, name: str, x: Any, ids: Array, **types: str) -> Any:
    return net(name, x, net.const(ids), **types)


# Parts at places that a call gives, held inside.


def _held(x: Array, starts: Array, sizes: list[int]) -> tuple[slice, ...]:
    begins = [int(np.clip(a, 0, n - size)) for a, n, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(a, a + size) for a, size in zip(begins, sizes, strict=True))


def _updated(x: Array, update: Array, starts: Array) -> Array:
    result = x.copy()
    result[_held(x, starts, list(update.shape))] = update
    return result


_STARTS = [("inside", [1, 2]), ("beyond", [5, 3]), ("before", [-2, -1])]


def _scalars(net: Any, starts: Any) -> list[Any]:
    """Return the elements of a vector as numbers of StableHLO."""
    one, none = np.zeros(1, np.int32), np.zeros((), np.int32)
    parts = [net("slice", starts, types=one, start_indices=hlo_ints([at]), limit_indices=hlo_ints([at + 1]),
                 strides=hlo_ints([1])) for at in range(2)]  # fmt: skip
    return [net("reshape", part, types=none) for part in parts]


# Samples of images at places between pixels.


def _sampled(x: Array, grid: Array, mode: str, corners: bool, edges: str) -> Array:
    batch, channels, height, width = x.shape
    sizes = np.array([width, height])
    places = (grid + 1) / 2 * (sizes - 1) if corners else ((grid + 1) * sizes - 1) / 2
    if edges == "border":
        places = np.clip(places, 0, sizes - 1)
    result = np.zeros((batch, channels, *grid.shape[1:3]))

    def pixel(b: int, row: int, column: int) -> Array:
        inside = 0 <= row < height and 0 <= column < width
        return x[b, :, row, column].astype(np.float64) if inside else np.zeros(channels)

    for b, i, j in np.ndindex(grid.shape[:3]):
        column, row = places[b, i, j]
        if mode == "nearest":
            result[b, :, i, j] = pixel(b, round(float(row)), round(float(column)))
            continue
        top, left = int(np.floor(row)), int(np.floor(column))
        for r, c in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
            result[b, :, i, j] += pixel(b, r, c) * (1 - abs(row - r)) * (1 - abs(column - c))
    return result.astype(np.float32)


_GRID = _RNG.uniform(-1.3, 1.3, (2, 4, 3, 2)).astype(np.float32)
_SAMPLES = [
    Case(f"{mode}, {edges}{', corners' * corners}", [IMAGE, _GRID], {"mode": mode, "corners": corners, "edges": edges})
    for mode in ("linear", "nearest") for edges in ("zeros", "border") for corners in (False, True)
]  # fmt: skip

# Means of parts of any size.


def _adaptive(x: Array, size: list[int], kind: str) -> Array:
    result = np.zeros((*x.shape[:2], *size))
    for i, j in np.ndindex(*size):
        rows = slice(i * x.shape[2] // size[0], -((i + 1) * -x.shape[2] // size[0]))
        columns = slice(j * x.shape[3] // size[1], -((j + 1) * -x.shape[3] // size[1]))
        part = x[:, :, rows, columns].astype(np.float64)
        result[:, :, i, j] = part.mean((2, 3)) if kind == "mean" else part.max((2, 3))
    return result.astype(np.float32)


_PARTS = [Case(f"to {size}", [IMAGE], {"size": size}) for size in ([2, 5], [4, 3], [1, 1])]


def _lp(x: Array) -> Array:
    means = pooled(x.astype(np.float64) ** 2, "mean", [2, 2], [2, 1], "VALID", [1, 1])
    return np.sqrt(means).astype(np.float32)


def _diagonal(x: Array) -> Array:
    result = np.zeros((*x.shape, x.shape[-1]), np.float32)
    result[..., np.arange(x.shape[-1]), np.arange(x.shape[-1])] = x
    return result


_BATCHES = {"block_shape": [2, 2], "pads": [[0, 0], [2, 1]]}


def _to_batch(x: Array, block_shape: list[int], pads: list[list[int]]) -> Array:
    wide = np.pad(x, [(0, 0), *pads, (0, 0)])
    n, h, w, c = wide.shape
    a, b = block_shape
    return wide.reshape(n, h // a, a, w // b, b, c).transpose(2, 4, 0, 1, 3, 5).reshape(n * a * b, h // a, w // b, c)


def _from_batch(x: Array, block_shape: list[int], pads: list[list[int]]) -> Array:
    a, b = block_shape
    n, h, w, c = x.shape
    wide = x.reshape(a, b, n // (a * b), h, w, c).transpose(2, 3, 0, 4, 1, 5).reshape(n // (a * b), h * a, w * b, c)
    (top, bottom), (left, right) = pads
    return wide[:, top : h * a - bottom, left : w * b - right]


def _blocks(net: Any, name: str, x: Any, block_shape: Any, pads: Any, **types: str) -> Any:
    return net(name, x, net.const(block_shape, "int32"), net.const(pads, "int32"), **types)


TABLE = [
    Meaning("embedding", lambda i, w: w[i], [Case("rows", [np.array([[5, 0], [2, 2]], np.int32)], {}, [ROWS])], {
        "torch": lambda net, i, w: net("aten.embedding.default", weight=net.const(w), indices=i),
        "keras": lambda net, i, w: net.layer("Embedding", i, weights={"": [w]}, input_dim=6, output_dim=4,
            mask_zero=False),
        "tensorflow": lambda net, i, w: net("GatherV2", net.const(w), i, net.const(0, "int32"), Tparams="float32",
                                            Tindices="int32", Taxis="int32", batch_dims=0),
        "tflite": lambda net, i, w: net("EMBEDDING_LOOKUP", i, net.const(w), dtypes="float32"),
        "onnx": lambda net, i, w: net("Gather", net.const(w), i)}),
    Meaning("segment_sum", _segments, [Case("in order", [ROWS], {}, [_SEGMENTS])], {
        "tflite": lambda net, x, ids: _in_ids(net, "SEGMENT_SUM", x, ids),
        "tensorflow": lambda net, x, ids: _in_ids(net, "SegmentSum", x, ids, Tindices="int32"),
        "keras": lambda net, x, ids: net("SegmentSum", x, ids.tolist(), num_segments=None, sorted=True)}),
    Meaning("unsorted_segment_sum", _segments, [Case("in any order", [ROWS], {}, [_SCATTERED])], {
        "tflite": lambda net, x, ids: net("UNSORTED_SEGMENT_SUM", x, net.const(ids), net.const(4, "int32")),
        "tensorflow": lambda net, x, ids: net("UnsortedSegmentSum", x, net.const(ids), net.const(4, "int32"),
                                              Tindices="int32", Tnumsegments="int32"),
        "torch": lambda net, x, ids: net("aten.index_add.default", self=net.const(np.zeros((4, 4), np.float32)), dim=0,
                                         index=net.const(ids), source=x)}),
    Meaning("bucket_left_open", lambda x: np.searchsorted(_EDGES, x, "left"), [Case("at edges", [_NUMBERS])], {
        "torch": lambda net, x: net("aten.bucketize.Tensor", self=x, boundaries=net.const(_EDGES, "float32"),
                                    out_int32=False, right=False)}, note="an edge is in the bucket below"),
    Meaning("bucket_right_open", lambda x: np.searchsorted(_EDGES, x, "right").astype(np.int32),
            [Case("at edges", [_NUMBERS])], {
        "torch": lambda net, x: net("aten.bucketize.Tensor", self=x, boundaries=net.const(_EDGES, "float32"),
                                    out_int32=True, right=True),
        "tflite": op("BUCKETIZE", dtypes="int32", boundaries=_EDGES),
        "tensorflow": op("Bucketize", boundaries=_EDGES),
        "keras": lambda net, x: net.layer("Discretization", x, bin_boundaries=_EDGES, output_mode="int", sparse=False)},
            note="an edge is in the bucket above"),
    Meaning("dynamic_slice", lambda x, starts: x[_held(x, starts, [2, 3])],
            [Case(label, [ROWS, np.array(starts, np.int32)]) for label, starts in _STARTS], {
        "stablehlo": lambda net, x, starts: net("dynamic_slice", x, *_scalars(net, starts), slice_sizes=hlo_ints([2,
            3]))},
            note="starts are held inside"),
    Meaning("dynamic_update_slice", _updated, [Case(label, [ROWS, _random(2, 3), np.array(starts, np.int32)])
                                               for label, starts in _STARTS], {
        "tflite": op("DYNAMIC_UPDATE_SLICE"),
        "keras": lambda net, x, update, starts: net("SliceUpdate", x, starts, update),
        "stablehlo": lambda net, x, update, starts: net("dynamic_update_slice", x, update, *_scalars(net, starts))},
            note="starts are held inside"),
    Meaning("grid_sample", _sampled, _SAMPLES, {
        "onnx": lambda net, x, grid, mode, corners, edges: net("GridSample", x, grid, mode=mode, padding_mode=edges,
                                                               align_corners=int(corners)),
        "torch": lambda net, x, grid, mode, corners, edges: net(
            "aten.grid_sampler.default", input=x, grid=grid, interpolation_mode=("linear", "nearest").index(mode),
            padding_mode=("zeros", "border").index(edges), align_corners=corners)}, lost=4.0),
    Meaning("global_mean", lambda x: x.mean((2, 3)), [Case("image", [IMAGE])], {
        "keras": lambda net, x: net.layer("GlobalAveragePooling2D", x, data_format="channels_last", keepdims=False),
        "tensorflow": lambda net, x: net("Mean", x, net.const([1, 2], "int32"), Tidx="int32"),
        "tflite": lambda net, x: net("MEAN", x, net.const([1, 2], "int32"), options="ReducerOptions")},
            channels_last=LAST),
    Meaning("global_mean_kept", lambda x: x.mean((2, 3), keepdims=True), [Case("image", [IMAGE])], {
        "onnx": op("GlobalAveragePool"),
        "torch": lambda net, x: net("aten.adaptive_avg_pool2d.default", self=x, output_size=[1, 1]),
        "keras": lambda net, x: net.layer("GlobalAveragePooling2D", x, data_format="channels_last", keepdims=True)},
            channels_last=LAST),
    Meaning("global_max", lambda x: x.max((2, 3), keepdims=True), [Case("NaN", [np.where(IMAGE > 1.9, np.nan,
        IMAGE)])], {
        "onnx": op("GlobalMaxPool"),
        "keras": lambda net, x: net.layer("GlobalMaxPooling2D", x, data_format="channels_last", keepdims=True)},
            channels_last=LAST),
    Meaning("adaptive_mean", lambda x, size: _adaptive(x, size, "mean"), _PARTS, {
        "torch": lambda net, x, size: net("aten.adaptive_avg_pool2d.default", self=x, output_size=size),
        "keras": lambda net, x, size: net.layer("AdaptiveAveragePooling2D", x, output_size=size,
                                                data_format="channels_last")}, lost=4.0, channels_last=LAST),
    Meaning("adaptive_max", lambda x, size: _adaptive(x, size, "max"), _PARTS, {
        "torch": lambda net, x, size: net("aten.adaptive_max_pool2d.default", results=2, self=x, output_size=size)[0],
        "keras": lambda net, x, size: net.layer("AdaptiveMaxPooling2D", x, output_size=size,
                                                data_format="channels_last")}, channels_last=LAST),
    Meaning("root_of_mean_squares", _lp, [Case("2x2", [IMAGE])], {
        "tflite": op("L2_POOL_2D", options="Pool2DOptions", padding=1, strideH=2, strideW=1, filterHeight=2,
                     filterWidth=2)}, channels_last=LAST, note="the mean"),
    Meaning("root_of_sum_of_squares", lambda x: _lp(x) * 2, [Case("2x2", [IMAGE])], {
        "onnx": op("LpPool", kernel_shape=[2, 2], strides=[2, 1], p=2)}, note="the sum"),
    Meaning("diagonal_matrix", _diagonal, [Case("rows", [ROWS])], {
        "tflite": op("MATRIX_DIAG"), "tensorflow": op("MatrixDiag"),
        "torch": lambda net, x: net("aten.diag_embed.default", self=x)}),
    Meaning("diagonal", lambda x: np.diagonal(x, axis1=-2, axis2=-1), [Case("wide", [IMAGE])], {
        "tensorflow": op("MatrixDiagPart"), "keras": op("Diagonal", offset=0, axis1=-2, axis2=-1),
        "torch": lambda net, x: net("aten.diagonal.default", self=x, offset=0, dim1=-2, dim2=-1)}),
    Meaning("space_to_batch", _to_batch, [Case("pads", [_random(1, 4, 3, 2)], _BATCHES)], {
        "tflite": lambda net, x, **options: _blocks(net, "SPACE_TO_BATCH_ND", x, **options),
        "tensorflow": lambda net, x, **options: _blocks(net, "SpaceToBatchND", x, **options, Tblock_shape="int32",
                                                        Tpaddings="int32")}),
    Meaning("batch_to_space", _from_batch, [Case("cuts", [_random(4, 2, 3, 2)], _BATCHES)], {
        "tflite": lambda net, x, **options: _blocks(net, "BATCH_TO_SPACE_ND", x, **options),
        "tensorflow": lambda net, x, **options: _blocks(net, "BatchToSpaceND", x, **options, Tblock_shape="int32",
                                                        Tcrops="int32")}),
]  # fmt: skip
