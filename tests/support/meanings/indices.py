# pyright: basic
"""Indices: gathers and scatters, which are first among equal ones, what is out of range, slices, sorts and choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning
from meanings.spelled import aten, hlo_ints, op, spellings

_RNG = np.random.default_rng(11)
X = _RNG.uniform(-2, 2, (3, 4, 5)).astype(np.float32)
_TIES = np.array([[1, 3, 3, 2, 3], [2, -1, 2, 2, -5], [0, -0.0, 0, 7, 7]], np.float32)
_ENDLESS = np.array([[1, np.inf, -np.inf, 2, 3]], np.float32)


def _gathers(dtype: str, negative: bool) -> list[Case]:
    indices = np.array([[2, 0], [1, 1]], dtype)
    cases = [
        Case(f"{dtype} along {axis}", [X, indices], {"axis": axis}) for axis in (0, 1, 2)
    ] + [Case(f"{dtype} one", [X, np.array(1, dtype)], {"axis": 1}), Case(f"{dtype} none", [X, np.zeros(0, dtype)],
                                                                        {"axis": 1})]  # fmt: skip
    return cases + [Case(f"{dtype} from behind", [X, -1 - indices], {"axis": 2})] * negative


def _one_hot(indices: Array, depth: int, on: float, off: float) -> Array:
    result: Array = np.full((*indices.shape, depth), off, np.float32)
    for at in np.ndindex(indices.shape):
        if 0 <= indices[at] < depth:
            result[(*at, indices[at])] = on
    return result


def _gather_nd(x: Array, indices: Array, batch: int = 0) -> Array:
    if batch:
        return np.stack([_gather_nd(row, own, batch - 1) for row, own in zip(x, indices, strict=True)])
    return x[tuple(np.moveaxis(indices, -1, 0))]


_COMBINED: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _put(x: Array, at: Any, updates: Array, how: str) -> Array:
    result = x.copy()
    if how == "none":
        result[at] = updates
    else:
        _COMBINED[how].at(result, at, updates)
    return result


def _scatter_nd(x: Array, indices: Array, updates: Array, how: str) -> Array:
    return _put(x, tuple(np.moveaxis(indices, -1, 0)), updates, how)


def _scatter_elements(x: Array, indices: Array, updates: Array, axis: int, how: str) -> Array:
    places: list[Any] = [*np.indices(indices.shape)]
    places[axis] = indices
    return _put(x, tuple(places), updates, how)


_ND = np.array([[0, 2], [2, 0], [0, 2]], np.int64)
_ND_CASES = [
    Case(f"{how}{' special' * special}", [base, _ND, _RNG.uniform(-2, 2, (3, 5)).astype(np.float32)], {"how": how})
    for how in ("add", "mul", "max", "min")
    for special, base in ((False, X), (True, np.where(X > 1, np.nan, X)))
]
_ND_ONCE = [Case("none", [X, _ND[:2], _RNG.uniform(-2, 2, (2, 5)).astype(np.float32)], {"how": "none"})]
_ELEMENTS = np.array([[[0, 2, 1, 0, 0], [1, 1, 1, 2, 0]]] * 2, np.int64)
_PUT = _RNG.uniform(-2, 2, _ELEMENTS.shape).astype(np.float32)
_ELEMENT_CASES = [Case(f"{how} along 1", [X, _ELEMENTS, _PUT], {"axis": 1, "how": how}) for how in _COMBINED]
_ELEMENTS_ONCE = [Case("none along 0", [X, np.array([[[2] * 5] * 4, [[0] * 5] * 4], np.int64), X[:2] * 2],
                       {"axis": 0, "how": "none"})]  # fmt: skip
_REDUCED = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _elements_torch(net: Any, x: Any, indices: Any, updates: Any, axis: int, how: str) -> Any:
    if how == "none":
        return net("aten.scatter.src", self=x, dim=axis, index=indices, src=updates)
    return net("aten.scatter_reduce.two", self=x, dim=axis, index=indices, src=updates, reduce=_REDUCED[how],
               include_self=True)  # fmt: skip


def _nd_tensorflow(net: Any, x: Any, indices: Any, updates: Any, how: str) -> Any:
    names = {"add": "Add", "max": "Max", "min": "Min", "none": "Update"}
    return net(f"TensorScatter{names[how]}", x, indices, updates, Tindices="int64") if how in names else None


def _nd_stablehlo(net: Any, x: Any, indices: Any, updates: Any, how: str) -> Any:
    body = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}.get(how)
    if body is None:
        return None
    numbers = ("#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], "
               "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>")  # fmt: skip
    return net("scatter", x, indices, updates, regions=net.region(body, x.dtype), scatter_dimension_numbers=numbers,
               indices_are_sorted="false", unique_indices="false")  # fmt: skip


# Slices.

_SLICES = [
    Case(label, [X], {"parts": parts})
    for label, parts in [
        ("middle", [(1, 3, 1), (0, 4, 2), (1, 5, 3)]),
        ("last rows", [(0, 3, 2), (2, 4, 1), (0, 5, 1)]),
        ("nothing", [(0, 3, 1), (2, 2, 1), (0, 5, 1)]),
    ]
]
_BACKWARDS = [
    Case(label, [X], {"parts": parts})
    for label, parts in [
        ("backwards", [(2, -4, -1), (3, 0, -2), (4, -6, -3)]),
        ("from behind", [(-2, 3, 1), (-1, -5, -1), (-5, -1, 2)]),
    ]
]
_BEYOND = [Case("beyond the ends", [X], {"parts": [(-9, 9, 1), (1, 99, 2), (9, 12, 1)]})]


def _sliced(x: Array, parts: Sequence[tuple[int, int, int]]) -> Array:
    return x[
        tuple(slice(a, None if step < 0 and b < -x.shape[at] else b, step) for at, (a, b, step) in enumerate(parts))
    ]


def _columns(parts: Any) -> list[list[int]]:
    return [list(column) for column in zip(*parts, strict=True)]


def _slice_onnx(net: Any, x: Any, parts: Any) -> Any:
    starts, ends, steps = (net.const(column, "int64") for column in _columns(parts))
    return net("Slice", x, starts, ends, net.const([0, 1, 2], "int64"), steps)


def _slice_torch(net: Any, x: Any, parts: Any) -> Any:
    if any(step < 0 for *_, step in parts):
        return None
    for axis, (start, end, step) in enumerate(parts):
        x = net("aten.slice.Tensor", self=x, dim=axis, start=start, end=end, step=step)
    return x


def _slice_keras(net: Any, x: Any, parts: Any) -> Any:
    return net("GetItem", x, [
        slice(a, None if step < 0 and b < -x.shape[at] else b, step) for at, (a, b, step) in enumerate(parts)
    ])  # fmt: skip


def _slice_numbers(op: str) -> Any:
    def spelling(net: Any, x: Any, parts: Any) -> Any:
        names = ("begin", "end", "ellipsis", "newAxis", "shrinkAxis") if op.isupper() else (
            "begin", "end", "ellipsis", "new_axis", "shrink_axis")  # fmt: skip
        more = [f"{name}{'Mask' if op.isupper() else '_mask'}" for name in names]
        masks: dict[str, Any] = dict.fromkeys(more, 0)
        masks[more[1]] = sum(1 << at for at, (_, end, step) in enumerate(parts) if step < 0 and end < -x.shape[at])
        if not op.isupper():
            masks["Index"] = "int32"
        columns = (net.const(column, "int32") for column in _columns(parts))
        return net(op, x, *columns, **masks)

    return spelling


def _slice_stablehlo(net: Any, x: Any, parts: Any) -> Any:
    starts, ends, steps = _columns(parts)
    return net("slice", x, start_indices=hlo_ints(starts), limit_indices=hlo_ints(ends), strides=hlo_ints(steps))


# Orders.


def _top(x: Array, k: int, largest: bool) -> tuple[Array, Array]:
    order = np.argsort(-x if largest else x, -1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int64)


_TOPS = [Case("ties", [_TIES], {"k": 3, "largest": True}), Case("infinities", [_ENDLESS], {"k": 5, "largest": True}),
         Case("least", [_ENDLESS], {"k": 2, "largest": False}),
         Case("none", [_TIES], {"k": 0, "largest": True})]  # fmt: skip


def _first(index: int, name: str, **fields: Any) -> Meaning:
    """Return the meaning of one result of the greatest numbers: these, or their places."""
    by = {
        "onnx": lambda net, x, k, largest: net("TopK", x, net.const([k], "int64"), results=2, largest=int(largest)),
        "tflite": lambda net, x, k, largest: net("TOPK_V2", x, net.const(k, "int32"), dtypes=["float32", "int32"]),
        "torch": lambda net, x, k, largest: net("aten.topk.default", results=2, self=x, k=k, dim=-1, largest=largest),
        "keras": lambda net, x, k, largest: net("TopK", x, k=k, sorted=True, results=2),
        "tensorflow": lambda net, x, k, largest: net("TopKV2", x, net.const(k, "int32"), results=2, sorted=True),
    }

    def chosen(form: str) -> Any:
        def spelling(net: Any, x: Any, k: int, largest: bool) -> Any:
            return by[form](net, x, k, largest)[index] if largest or form in ("onnx", "torch") else None

        return spelling

    return Meaning(name, lambda x, k, largest: _top(x, k, largest)[index], _TOPS, {f: chosen(f) for f in by}, **fields)


_SORTED = [Case("ties", [_TIES]), Case("infinities", [_ENDLESS]), Case("NaN", [np.array([[1, np.nan, -np.inf, 0.5]],
                                                                                        np.float32)])]  # fmt: skip
_CHOICE = [Case("equal shapes", [X > 0, X, X * 2]), Case("broadcast", [X[0] > 0, X, X[:, :1] * 2])]

TABLE = [
    Meaning("gather", lambda x, i, axis: np.take(x, i, axis), [*_gathers("int32", False), *_gathers("int64", False)], {
        "onnx": lambda net, x, i, axis: net("Gather", x, i, axis=axis),
        "tflite": lambda net, x, i, axis: net("GATHER", x, i, axis=axis, batchDims=0),
        "torch": lambda net, x, i, axis: net("aten.index_select.default", self=x, dim=axis, index=i)
        if len(i.shape) == 1 else None,
        "torch index": lambda net, x, i, axis: net("aten.index.Tensor", self=x, indices=[None] * axis + [i]),
        "keras": lambda net, x, i, axis: net("Take", x, i, axis=axis),
        "tensorflow": lambda net, x, i, axis: net("GatherV2", x, i, net.const(axis, "int32"), Tparams="float32",
            Tindices=i.dtype.name,
                                                  Taxis="int32", batch_dims=0)}),
    Meaning("gather_from_behind", lambda x, i, axis: np.take(x, i, axis), _gathers("int64", True)[-1:], {
        "onnx": lambda net, x, i, axis: net("Gather", x, i, axis=axis),
        "keras": lambda net, x, i, axis: net("Take", x, i, axis=axis)}, note="negative indices count from the end"),
    Meaning("take_along_axis", lambda x, i, axis: np.take_along_axis(x, i, axis),
            [Case("along 1", [X, np.broadcast_to(_ELEMENTS[:1], (3, 2, 5)).copy()], {"axis": 1}),
             Case("along -1", [X, np.broadcast_to(np.array([[[2, 0, 4]]]), (3, 4, 3)).copy()], {"axis": -1})], {
        "onnx": lambda net, x, i, axis: net("GatherElements", x, i, axis=axis),
        "torch": lambda net, x, i, axis: net("aten.gather.default", self=x, dim=axis, index=i),
        "keras": lambda net, x, i, axis: net("TakeAlongAxis", x, i, axis=axis)}),
    Meaning("gather_nd", _gather_nd, [Case("pairs", [X, _ND]), Case("rows", [X, _ND[:, 1:]]),
                                      Case("whole", [X, np.array([[[1, 2, 3]], [[0, 0, 4]]])])],
            spellings(onnx="GatherND", tflite="GATHER_ND",
                      tensorflow_by=lambda net, x, i: net("GatherNd", x, i, Tindices="int64", Tparams="float32"))),
    Meaning("gather_nd_of_batches", lambda x, i: _gather_nd(x, i, 1), [Case("batch", [X, np.array([[[1]], [[0]],
        [[3]]])])],
            {"onnx": lambda net, x, i: net("GatherND", x, i, batch_dims=1)}),
    Meaning("scatter_nd", _scatter_nd, [*_ND_CASES, *_ND_ONCE], {
        "onnx": lambda net, x, i, updates, how: net("ScatterND", x, i, updates, reduction=how),
        "keras": lambda net, x, i, updates, how: net("ScatterUpdate", x, i, updates,
                                                     reduction=None if how == "none" else how),
        "tensorflow": _nd_tensorflow, "stablehlo": _nd_stablehlo}),
    Meaning("scatter_elements", _scatter_elements, [*_ELEMENT_CASES, *_ELEMENTS_ONCE], {
        "onnx": lambda net, x, i, updates, axis, how: net("ScatterElements", x, i, updates, axis=axis, reduction=how),
        "torch": _elements_torch,
        "torch add": lambda net, x, i, updates, axis, how: net(
            "aten.scatter_add.default", self=x, dim=axis, index=i, src=updates) if how == "add" else None}),
    Meaning("scatter_into_zeros", lambda i, updates, shape: _scatter_nd(np.zeros(shape, np.float32), i, updates, "add"),
            [Case("sums of equal ones", [_ND.astype(np.int32), _PUT[0, :1].repeat(3, 0)], {"shape": [3, 4, 5]})], {
        "tflite": lambda net, i, updates, shape: net("SCATTER_ND", i, updates, net.const(shape, "int32"),
            dtypes="float32"),
        "keras": lambda net, i, updates, shape: net("Scatter", i, updates, shape=shape),
        "tensorflow": lambda net, i, updates, shape: net("ScatterNd", i, updates, net.const(shape, "int32"),
            T="float32",
                                                         Tindices="int32")}),
    Meaning("one_hot", _one_hot, [Case("inside", [np.array([[0, 2], [3, 1]])], {"depth": 4, "on": 2.0, "off": -1.0}),
                                  Case("beyond", [np.array([4, 7, 1])], {"depth": 4, "on": 1.0, "off": 0.0})], {
        "onnx": lambda net, i, depth, on, off: net("OneHot", i, net.const(depth, "int64"),
                                                   net.const([off, on], "float32")),
        "tflite": lambda net, i, depth, on, off: net("ONE_HOT", i, net.const(depth, "int32"), net.const(on, "float32"),
                                                     net.const(off, "float32"), dtypes="float32", axis=-1),
        "keras": lambda net, i, depth, on, off: net("OneHot", i, num_classes=depth, axis=-1, dtype="float32")
        if (on, off) == (1, 0) else None,
        "tensorflow": lambda net, i, depth, on, off: net("OneHot", i, net.const(depth, "int32"),
                                                         net.const(on, "float32"), net.const(off, "float32"),
                                                         T="float32", TI="int64", axis=-1)}),
    Meaning("one_hot_from_behind", lambda i: _one_hot(np.where(i < 0, i + 4, i), 4, 1, 0),
            [Case("negative", [np.array([-1, 0, -4, -5])])],
            {"onnx": lambda net, i: net("OneHot", i, net.const(4, "int64"), net.const([0, 1], "float32"))},
            note="-1 is the last class"),
    Meaning("one_hot_without_negative", lambda i: _one_hot(i, 4, 1, 0), [Case("negative", [np.array([-1, 0, -4, 3])])],
        {
        "tflite": lambda net, i: net("ONE_HOT", i, net.const(4, "int32"), net.const(1, "float32"),
                                     net.const(0, "float32"), dtypes="float32", axis=-1),
        "keras": lambda net, i: net("OneHot", i, num_classes=4, axis=-1, dtype="float32"),
        "tensorflow": lambda net, i: net("OneHot", i, net.const(4, "int32"), net.const(1, "float32"),
                                         net.const(0, "float32"), T="float32", TI="int64", axis=-1)},
            note="-1 is no class"),
    Meaning("slice", _sliced, _SLICES, {
        "onnx": _slice_onnx, "torch": _slice_torch, "keras": _slice_keras, "tflite": _slice_numbers("STRIDED_SLICE"),
        "tensorflow": _slice_numbers("StridedSlice"), "stablehlo": _slice_stablehlo}),
    Meaning("slice_backwards", _sliced, _BACKWARDS, {
        "onnx": _slice_onnx, "keras": _slice_keras, "tflite": _slice_numbers("STRIDED_SLICE"),
        "tensorflow": _slice_numbers("StridedSlice")}),
    Meaning("slice_beyond", _sliced, _BEYOND, {
        "onnx": _slice_onnx, "torch": _slice_torch, "keras": _slice_keras, "tflite": _slice_numbers("STRIDED_SLICE"),
        "tensorflow": _slice_numbers("StridedSlice")}, note="ends are held to the axis"),
    _first(0, "top_k"),
    _first(1, "top_k_places", dtypes={"tflite": "int32", "keras": "int32", "tensorflow": "int32"},
           note="the first of equal ones"),
    Meaning("sort", lambda x: np.sort(x, -1), _SORTED, {
        "torch": lambda net, x: net("aten.sort.default", results=2, self=x, dim=-1, descending=False)[0],
        "torch stable": lambda net, x: net("aten.sort.stable", results=2, self=x, stable=True, dim=-1,
                                           descending=False)[0],
        "keras": op("Sort", axis=-1)}, unsigned=True, note="NaN is last"),
    Meaning("sort_descending", lambda x: -np.sort(-x, -1), _SORTED[:2], {
        "torch": lambda net, x: net("aten.sort.default", results=2, self=x, dim=-1, descending=True)[0]},
            unsigned=True),
    Meaning("argsort", lambda x: np.argsort(x, -1, kind="stable"), _SORTED, {
        "torch": lambda net, x: net("aten.argsort.stable", self=x, stable=True, dim=-1, descending=False),
        "keras": op("Argsort", axis=-1)}, dtypes={"keras": "int32"}, note="equal ones keep their order"),
    Meaning("where", np.where, _CHOICE[:1], spellings(onnx="Where", torch_by=aten("where.self", "condition self other"),
            keras="Where", tflite_by=op("SELECT_V2", dtypes="float32", options=""),
            tensorflow_by=op("SelectV2", T="float32"), stablehlo="select",
            tensorflow_old_by=op("Select", T="float32"), tflite_old_by=op("SELECT", dtypes="float32", options=""))),
    Meaning("where_broadcast", np.where, _CHOICE[1:], spellings(onnx="Where",
            torch_by=aten("where.self", "condition self other"), keras="Where",
            tflite_by=op("SELECT_V2", dtypes="float32", options=""), tensorflow_by=op("SelectV2", T="float32"))),
    Meaning("reverse", lambda x: np.flip(x, (1, 2)), [Case("two axes", [X])], {
        "torch": lambda net, x: net("aten.flip.default", self=x, dims=[1, 2]), "keras": op("Flip", axis=[1, 2]),
        "tflite": lambda net, x: net("REVERSE_V2", x, net.const([1, 2], "int32")),
        "tensorflow": lambda net, x: net("ReverseV2", x, net.const([1, 2], "int32"), Tidx="int32"),
        "stablehlo": op("reverse", dimensions="array<i64: 1, 2>")}),
    Meaning("reverse_sequence", lambda x, lengths: np.stack([np.concatenate([row[:n][::-1], row[n:]])
                                                             for row, n in zip(x, lengths, strict=True)]),
            [Case("lengths", [X, np.array([0, 2, 4])])], {
        "onnx": lambda net, x, n: net("ReverseSequence", x, n, batch_axis=0, time_axis=1),
        "tflite": lambda net, x, n: net("REVERSE_SEQUENCE", x, n, seqDim=1, batchDim=0),
        "tensorflow": lambda net, x, n: net("ReverseSequence", x, n, seq_dim=1, batch_dim=0, Tlen="int64")}),
    Meaning("roll", lambda x: np.roll(x, (1, -2), (0, 2)), [Case("two axes", [X])], {
        "torch": lambda net, x: net("aten.roll.default", self=x, shifts=[1, -2], dims=[0, 2]),
        "tensorflow": lambda net, x: net("Roll", x, net.const([1, -2], "int32"), net.const([0, 2], "int32"),
                                         Tshift="int32", Taxis="int32"),
        "keras": lambda net, x: net("Roll", net("Roll", x, shift=1, axis=0), shift=-2, axis=2)}),
    Meaning("lower_triangle", lambda x: np.tril(x, -1), [Case("below", [X])], {
        "onnx": lambda net, x: net("Trilu", x, net.const(-1, "int64"), upper=0),
        "torch": lambda net, x: net("aten.tril.default", self=x, diagonal=-1), "keras": op("Tril", k=-1)}),
    Meaning("upper_triangle", lambda x: np.triu(x, 1), [Case("above", [X])], {
        "onnx": lambda net, x: net("Trilu", x, net.const(1, "int64"), upper=1),
        "torch": lambda net, x: net("aten.triu.default", self=x, diagonal=1), "keras": op("Triu", k=1)}),
]  # fmt: skip
