# pyright: basic
"""Picks: rows of batches, of segments and of bags, quantiles, areas, and places among what is sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning
from meanings.spelled import aten, op

_RNG = np.random.default_rng(31)


def _random(*shape: int) -> Array:
    return _RNG.uniform(-2, 2, shape).astype(np.float32)


X, ROWS = _random(3, 4, 5), _random(6, 4)
_SPECIAL = np.where(ROWS > 1, np.inf, ROWS)
_SPECIAL[2, 1] = -np.inf
_NAN = np.where(ROWS > 1.5, np.nan, ROWS)
_OF_BATCH = np.array([[0, 2], [1, 1], [2, 0]], np.int32)
_LONG = _random(200)
_BYTES = np.array([-1, 3, -128, 127], np.int8)

# Segments.

_IDS = np.array([2, 0, 2, 3, 0, 1], np.int32)
_UFUNCS: dict[str, Any] = {"max": np.maximum, "min": np.minimum, "mul": np.multiply, "add": np.add}
_NAMES = {"max": "Max", "min": "Min", "mul": "Prod"}


def _segments(x: Array, ids: Array, how: str) -> Array:
    parts = [_UFUNCS[how].reduce(x[ids == at], axis=0) for at in range(4)]
    return np.stack(parts).astype(x.dtype)


_SEGMENT_CASES = [
    Case(f"{how} {label}", [x], {"how": how}, [_IDS])
    for how in _NAMES
    for label, x in (("reals", ROWS), ("NaN", _NAN), ("integers", (ROWS * 9).astype(np.int32)))
]
_OUTSIDE = np.array([2, -1, 0, 2, -1, 2], np.int32)


def _some_segments(x: Array, ids: Array) -> Array:
    low = np.full((4, x.shape[1]), np.finfo(np.float32).min, np.float32)
    np.maximum.at(low, ids[ids >= 0], x[ids >= 0])
    return low


def _unsorted(net: Any, x: Any, ids: Array, how: str) -> Any:
    types = {"Tindices": "int32", "Tnumsegments": "int32"}
    return net(f"UnsortedSegment{_NAMES[how]}", x, net.const(ids), net.const(4, "int32"), **types)


# Bags: rows of a table, brought together.

_PICKED = np.array([5, 0, 2, 2, 1, 4, 3], np.int64)
_BAGS = np.array([0, 0, 0, 1, 2, 2, 2])


def _bags(table: Array, indices: Array, how: str) -> Array:
    rows = [table[indices[_BAGS == at]] for at in range(3)]
    return np.stack([{"sum": np.sum, "mean": np.mean, "max": np.max}[how](row, axis=0) for row in rows]).astype(
        np.float32
    )


def _bags_torch(net: Any, table: Any, indices: Any, how: str) -> Any:
    mode = ("sum", "mean", "max").index(how)
    offsets = net.const([0, 3, 4], "int64")
    return net("aten._embedding_bag.default", results=4, weight=table, indices=indices, offsets=offsets, mode=mode)[0]


def _bags_tensorflow(net: Any, table: Any, indices: Any, how: str) -> Any:
    name = {"sum": "SparseSegmentSum", "mean": "SparseSegmentMean"}.get(how)
    types = {"Tidx": "int64", "Tsegmentids": "int32"}
    return None if name is None else net(name, table, indices, net.const(_BAGS.astype(np.int32)), **types)


# Quantiles.

_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def _quantile(x: Array, q: Any, axis: int | None, method: str, kept: bool) -> Array:
    options: Any = {"axis": axis, "method": method, "keepdims": kept}
    return np.quantile(x.astype(np.float64), q, **options).astype(np.float32)


def _quantile_torch(net: Any, x: Any, q: Any, axis: int | None, method: str, kept: bool) -> Any:
    more = {"self": x, "dim": axis, "keepdim": kept, "interpolation": method}
    if isinstance(q, float):
        return net("aten.quantile.scalar", q=q, **more)
    return net("aten.quantile.default", q=net.const(q, "float32"), **more)


_QUANTILES = [
    Case(f"{method} along {axis}{' kept' * kept}", [x], {"q": q, "axis": axis, "method": method, "kept": kept})
    for method in _METHODS
    for x, q, axis, kept in (
        (X, 0.3, 1, False),
        (X, [0.0, 0.75, 1.0], 2, True),
        (X, [0.1], None, False),
        (X, 0.5, None, True),
    )
] + [
    Case("NaN", [_NAN], {"q": 0.4, "axis": 0, "method": "linear", "kept": False}),
    Case(
        "at elements",
        [np.arange(11, dtype=np.float32)],
        {"q": [0.1, 0.3, 0.7], "axis": 0, "method": "higher", "kept": False},
    ),
]
_GAP = np.array([0, np.inf, 1, -np.inf, 5], np.float32)

# Places among what is sorted.

_EDGES = np.array([-1.0, 0.0, 0.0, 2.5, np.inf], np.float32)
_NUMBERS = np.array([[-1.0, 0.0, 0.5], [2.5, 9.0, np.inf], [-np.inf, -0.0, 2.0]], np.float32)
_SIDES = [Case(side, [_EDGES, _NUMBERS], {"side": side}) for side in ("left", "right")]


def _in(x: Array, others: Array, invert: bool) -> Array:
    return np.isin(x, others, invert=invert)


_MEMBERS = [
    Case(f"{label}{' not' * invert}", [x, others], {"invert": invert})
    for invert in (False, True)
    for label, x, others in (
        ("integers", np.arange(12, dtype=np.int32).reshape(3, 4), np.array([[3, 5], [11, 40]], np.int32)),
        ("NaN", np.array([0.0, np.nan, 1.0], np.float32), np.array([np.nan, -0.0], np.float32)),
    )
]


def _hot(indices: Array, axis: int) -> Array:
    return np.moveaxis(np.eye(4, dtype=np.float32)[indices], -1, axis)


def _hot_by(name: str, depth: str, **types: str) -> Any:
    return lambda net, i, axis: net(name, i, net.const(4, depth), net.const(1, "float32"), net.const(0, "float32"),
                                    axis=axis, **types)  # fmt: skip


def _dense(points: Array, values: Array, default: float) -> Array:
    result = np.full((3, 4), default, np.float32)
    result[tuple(points.T)] = values
    return result


def _areas(y: Array, dx: float, axis: int) -> Array:
    return np.asarray(np.trapezoid(y.astype(np.float64), dx=dx, axis=axis), np.float32)


def _areas_at(y: Array, x: Array, axis: int) -> Array:
    return np.asarray(np.trapezoid(y.astype(np.float64), x.astype(np.float64), axis=axis), np.float32)


TABLE = [
    Meaning("gather_of_batches", lambda x, i: np.stack([row[:, at] for row, at in zip(x, i, strict=True)]),
            [Case("behind an axis", [X, _OF_BATCH])], {
        "tflite": op("GATHER", axis=2, batchDims=1),
        "tensorflow": lambda net, x, i: net("GatherV2", x, i, net.const(2, "int32"), Tparams="float32", Taxis="int32",
                                            Tindices="int32", batch_dims=1)}),
    Meaning("take_of_all", lambda x, i: np.take(x, i), [Case("from both ends", [X, np.array([[0, -1], [-60, 59]])])], {
        "torch": aten("take", "self index"), "keras": op("Take", axis=None)}),
    Meaning("take_by_bytes", lambda x, i: x[i], [Case("long", [_LONG, _BYTES])], {"keras": op("Take", axis=0)},
            note="an extent is more than a byte"),
    Meaning("one_hot_by_bytes", lambda i: np.eye(200, dtype=np.float32)[i], [Case("long", [_BYTES])], {
        "onnx": lambda net, i: net("OneHot", i, net.const(200, "int64"), net.const([0, 1], "float32"))}),
    Meaning("one_hot_along", _hot, [Case(f"axis {axis}", [np.array([[0, 3, 1], [2, 2, 0]])], {"axis": axis})
                                    for axis in (0, 1, -1)], {
        "onnx": lambda net, i, axis: net("OneHot", i, net.const(4, "int64"), net.const([0, 1], "float32"), axis=axis),
        "tflite": _hot_by("ONE_HOT", "int32", dtypes="float32"),
        "keras": lambda net, i, axis: net("OneHot", i, num_classes=4, axis=axis, dtype="float32"),
        "tensorflow": _hot_by("OneHot", "int32", T="float32", TI="int64")}),
    Meaning("take_along_broadcast", lambda x, i: np.take_along_axis(x, i, 1),
            [Case("rows", [X, np.array([[[2], [0]]])]), Case("data", [X[:1, :, :1], np.array([[[0, 3]]] * 3)])], {
        "torch": aten("take_along_dim", "self indices", dim=1), "keras": op("TakeAlongAxis", axis=1)}),
    Meaning("segments", _segments, _SEGMENT_CASES, {
        "tflite": lambda net, x, ids, how: net(f"UNSORTED_SEGMENT_{_NAMES[how].upper()}", x, net.const(ids),
                                               net.const(4, "int32")),
        "tensorflow": _unsorted,
        "keras": lambda net, x, ids, how: net(f"Segment{_NAMES[how]}", x, ids.tolist(), num_segments=4)}),
    Meaning("segments_without_rows", _some_segments, [Case("infinities", [_SPECIAL], {}, [_OUTSIDE])], {
        "tflite": lambda net, x, ids: net("UNSORTED_SEGMENT_MAX", x, net.const(ids), net.const(4, "int32")),
        "tensorflow": lambda net, x, ids: _unsorted(net, x, ids, "max")}, note="the least finite number"),
    Meaning("bags", _bags, [Case(how, [ROWS, _PICKED], {"how": how}) for how in ("sum", "mean", "max")],
            {"torch": _bags_torch, "tensorflow": _bags_tensorflow}),
    Meaning("quantile", _quantile, _QUANTILES, {
        "torch": _quantile_torch,
        "keras": lambda net, x, q, axis, method, kept: net("Quantile", x, q, axis=axis, method=method, keepdims=kept)},
            lost=2.0),
    Meaning("quantile_by_weights", lambda x: np.array([-np.inf, 3, np.inf], np.float32), [Case("infinities", [_GAP])], {
        "keras": lambda net, x: net("Quantile", x, [0.125, 0.625, 0.875], axis=0, method="linear", keepdims=False)},
            note="an infinite end is all of the mean"),
    Meaning("quantile_from_the_nearer", lambda x: np.array([-np.inf, 3, np.nan], np.float32),
            [Case("infinities", [_GAP])], {
        "torch": lambda net, x: net("aten.quantile.default", self=x, q=net.const([0.125, 0.625, 0.875], "float32"),
                                    dim=0)}, note="half the way to an infinite end there is no number"),
    Meaning("median", lambda x: np.median(x), [Case("even", [X]), Case("NaN", [_NAN])], {"keras": op("Median")}),
    Meaning("median_lower", lambda x: np.quantile(x, 0.5, method="lower"),
            [Case("even", [X]), Case("NaN", [_NAN]), Case("integers", [np.array([[4, 1], [9, 7]])])],
            {"torch": aten("median")}, note="the lower of the two in the middle"),
    Meaning("median_lower_along", lambda x: np.quantile(x, 0.5, 0, method="lower"),
            [Case("even", [ROWS]), Case("NaN", [_NAN])], {
        "torch": lambda net, x: net("aten.median.dim", results=2, self=x, dim=0, keepdim=False)[0]}),
    Meaning("trapezoid", _areas, [Case(f"along {axis}", [X], {"dx": 0.5, "axis": axis}) for axis in (0, 1, -1)], {
        "torch": lambda net, y, dx, axis: net("aten.trapezoid.dx", y=y, dx=dx, dim=axis),
        "keras": op("Trapezoid", x=None)}, lost=4.0),
    Meaning("trapezoid_at", _areas_at, [
        Case("a vector", [X], {"axis": 1}, [np.array([0, 1, 4, 4.5], np.float32)]),
        Case("fewer axes", [X], {"axis": -1}, [np.cumsum(np.abs(_random(4, 5)), -1)])], {
        "torch": lambda net, y, x, axis: net("aten.trapezoid.x", y=y, x=net.const(x), dim=axis),
        "keras": lambda net, y, x, axis: net("Trapezoid", y, x=x.tolist(), dx=1.0, axis=axis) if x.ndim == 1 else None},
            lost=8.0),
    Meaning("search_sorted", lambda edges, x, side: np.searchsorted(edges, x, side), _SIDES, {
        "torch": lambda net, edges, x, side: net("aten.searchsorted.Tensor", sorted_sequence=edges, self=x, side=side),
        "keras": lambda net, edges, x, side: net("SearchSorted", edges, x, side=side)}, dtypes={"keras": "int32"}),
    Meaning("search_by_order", lambda edges, order, x: np.searchsorted(edges, x, sorter=order),
            [Case("reversed", [_EDGES[::-1].copy(), np.array([4, 3, 2, 1, 0]), _NUMBERS])], {
        "torch": aten("searchsorted.Tensor", "sorted_sequence sorter self")}),
    Meaning("is_in", _in, _MEMBERS, {
        "torch": aten("isin.Tensor_Tensor", "elements test_elements"), "keras": op("IsIn", assume_unique=False)}),
    Meaning("argsort_of_scalar", lambda x: np.zeros((), np.int64), [Case("one", [np.array(3, np.float32)])], {
        "torch": lambda net, x: net("aten.argsort.default", self=x, dim=-1, descending=False),
        "torch stable": lambda net, x: net("aten.argsort.stable", self=x, stable=True, dim=0, descending=True)}),
    Meaning("sort_of_truths", lambda x: np.sort(x, -1), [Case("truths", [X > 0])], {
        "torch": lambda net, x: net("aten.sort.default", results=2, self=x, dim=-1, descending=False)[0],
        "keras": op("Sort", axis=-1)}),
    Meaning("scatter_of_scalar", lambda x, i, u: np.add(x, u), [Case("add", [X[0, 0, 0], np.array(0), X[0, 0, 1]])], {
        "torch": lambda net, x, i, u: net("aten.scatter_add.default", self=x, dim=0, index=i, src=u),
        "torch reduce": lambda net, x, i, u: net("aten.scatter_reduce.two", self=x, dim=0, index=i, src=u,
                                                 reduce="sum")}),
    Meaning("sparse_to_dense", _dense, [Case("points", [], {"default": 0.5}, [np.array([[0, 1], [2, 3]], np.int32),
                                                                             np.array([1, 2], np.float32)])], {
        "tflite": lambda net, points, values, default: net(
            "SPARSE_TO_DENSE", net.const(points), net.const([3, 4], "int32"), net.const(values),
            net.const(default, "float32"), dtypes="float32"),
        "tensorflow": lambda net, points, values, default: net(
            "SparseToDense", net.const(points), net.const([3, 4], "int32"), net.const(values),
            net.const(default, "float32"), T="float32", Tindices="int32")}),
]  # fmt: skip
