# pyright: basic
"""Moves beside those of `shapes`: turned and rolled axes, parts, several axes at once, triangles, numbers in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from meanings.meaning import Case, Meaning
from meanings.shapes import X
from meanings.spelled import aten, hlo_ints, op

_ONES = X[:, None, :1]
_ROW, _MATRIX = X[0, 0], X[0]
_SQUARE = np.arange(-12, 12, dtype=np.float32).reshape(4, 6)


def _int(net: Any, number: int) -> Any:
    return net.const(number, "int32")


def _ints(net: Any, *numbers: int) -> Any:
    return net.const(numbers, "int32")


# Rolls.


def _rolled(x: Any, shifts: list[int], axes: list[int]) -> Any:
    return np.roll(x, shifts, axes) if axes else np.roll(x, shifts[0])


def _roll_tensorflow(net: Any, x: Any, shifts: list[int], axes: list[int]) -> Any:
    if not axes:
        return None
    return net("Roll", x, _ints(net, *shifts), _ints(net, *axes), Tshift="int32", Taxis="int32")


_ROLLS = [
    Case(label, [X], {"shifts": shifts, "axes": axes})
    for label, shifts, axes in (
        ("one axis", [1], [2]), ("backwards", [-1], [1]), ("further than the axis", [7, -9], [1, 2]),
        ("an axis twice", [1, 1], [2, 2]), ("by nothing", [0, 4], [0, 2]), ("all elements", [5], []),
    )
]  # fmt: skip

# Numbers in order, added to an input of as many elements.


def _range_tflite(dtype: str) -> Any:
    def spelling(net: Any, x: Any, start: Any, limit: Any, step: Any) -> Any:
        return net("ADD", x, net("RANGE", *(net.const(n, dtype) for n in (start, limit, step)), options=""))

    return spelling


def _range_tensorflow(dtype: str) -> Any:
    def spelling(net: Any, x: Any, start: Any, limit: Any, step: Any) -> Any:
        return net("AddV2", x, net("Range", *(net.const(n, dtype) for n in (start, limit, step)), Tidx=dtype))

    return spelling


def _range_onnx(dtype: str) -> Any:
    def spelling(net: Any, x: Any, start: Any, limit: Any, step: Any) -> Any:
        return net("Add", x, net("Range", *(net.const(n, dtype) for n in (start, limit, step))))

    return spelling


def _range_torch(net: Any, x: Any, start: Any, limit: Any, step: Any) -> Any:
    row = net("aten.arange.start_step", start=start, end=limit, step=step)
    return net("aten.add.Tensor", self=x, other=row)


def _range(x: Any, start: Any, limit: Any, step: Any) -> Any:
    return (x + (start + np.arange(len(x)) * step).astype(x.dtype)).astype(x.dtype)


def _range_case(label: str, dtype: str, count: int, start: Any, limit: Any, step: Any) -> Case:
    return Case(label, [np.arange(count).astype(dtype)], {"start": start, "limit": limit, "step": step})


_LARGE = 2**53
_WHOLE = [
    _range_case("far out", "int64", 5, _LARGE, _LARGE + 5, 1), _range_case("backwards", "int64", 4, 7, -1, -2),
    _range_case("none", "int64", 0, 3, 3, 1),
]  # fmt: skip
_TENTHS: Any = {"start": 0.0, "limit": 0.3, "step": 0.1}


# Columns that windows of 2 x 3, of every second row, go back from, in a border of 1 row.

_COLUMNS = np.arange(2 * 12 * 8, dtype=np.float32).reshape(2, 12, 8) / 7


def _of_columns(x: Any) -> Any:
    batches = x if x.ndim == 3 else x[None]
    image = np.zeros((len(batches), 2, 5, 6), np.float32)
    windows = batches.reshape(-1, 2, 2, 3, 2, 4)
    for row, column, down, right in np.ndindex(2, 3, 2, 4):
        image[:, :, row + 2 * down, column + right] += windows[:, :, row, column, down, right]
    result = image[:, :, 1:4]
    return result if x.ndim == 3 else result[0]


def _of_columns_onnx(net: Any, x: Any) -> Any:
    if len(x.shape) == 2:
        return None
    sizes = (net.const(numbers, "int64") for numbers in ([3, 6], [2, 3]))
    return net("Col2Im", x, *sizes, pads=[1, 0, 1, 0], strides=[2, 1])


TABLE = [
    Meaning("reverse", lambda x, axes: np.flip(x, axes), [Case("one axis", [X], {"axes": [1]}),
                                                          Case("two axes", [X], {"axes": [0, 2]})], {
        "tflite": lambda net, x, axes: net("REVERSE_V2", x, _ints(net, *axes)),
        "torch": lambda net, x, axes: net("aten.flip.default", self=x, dims=axes),
        "keras": lambda net, x, axes: net("Flip", x, axis=axes),
        "tensorflow": lambda net, x, axes: net("ReverseV2", x, _ints(net, *axes), Tidx="int32"),
        "stablehlo": lambda net, x, axes: net("reverse", x, dimensions=hlo_ints(axes))}),
    Meaning("roll", _rolled, _ROLLS, {
        "torch": lambda net, x, shifts, axes: net("aten.roll.default", self=x, shifts=shifts, dims=axes),
        "keras": lambda net, x, shifts, axes: net("Roll", x, shift=shifts if axes else shifts[0], axis=axes or None),
        "tensorflow": _roll_tensorflow}),
    Meaning("swap_axes", lambda x: x.swapaxes(0, 2), [Case("the outer ones", [X])], {
        "torch": aten("transpose.int", dim0=0, dim1=-1), "torch axes": aten("swapaxes.default", axis0=0, axis1=-1),
        "torch dims": aten("swapdims.default", dim0=2, dim1=0), "keras": op("Swapaxes", axis1=0, axis2=-1)}),
    Meaning("move_axes", lambda x: np.moveaxis(x, [2, 0], [0, 1]), [Case("two of three", [X])], {
        "torch": aten("movedim.intlist", source=[2, 0], destination=[0, 1]),
        "keras": op("Moveaxis", source=[2, 0], destination=[0, 1])}),
    Meaning("squeeze_all", np.squeeze, [Case("some", [_ONES[:1]]), Case("none", [X])], {
        "onnx": op("Squeeze"), "tflite": op("SQUEEZE", squeezeDims=[]), "torch": aten("squeeze"),
        "keras": op("Squeeze", axis=None), "tensorflow": op("Squeeze", squeeze_dims=[])}),
    Meaning("squeeze_ones", lambda x: x.reshape(2, 3, 4), [Case("one of two", [X[:, None]])], {
        "torch": aten("squeeze.dims", dim=[1, 2])}, note="axes of more elements stay"),
    Meaning("expand_dims_twice", lambda x: x[None, ..., None], [Case("both ends", [X])], {
        "onnx": lambda net, x: net("Unsqueeze", x, net.const([-1, 0], "int64")), "keras": op("ExpandDims",
            axis=[-1, 0])}),
    Meaning("flatten", lambda x: x.reshape(2, 12), [Case("behind the batch", [X])], {
        "onnx": op("Flatten"), "torch": aten("flatten.using_ints", start_dim=1),
        "keras layer": lambda net, x: net.layer("Flatten", x, data_format="channels_last")}),
    Meaning("flat", np.ravel, [Case("three axes", [X])], {
        "torch": aten("ravel"), "keras": op("Ravel"), "onnx": lambda net, x: net("Reshape", x, net.const([-1],
            "int64"))}),
    Meaning("repeat_flat", lambda x: np.repeat(x, 3), [Case("three axes", [X])], {
        "torch": aten("repeat_interleave.self_int", repeats=3), "keras": op("Repeat", repeats=3, axis=None)}),
    Meaning("split_equal", lambda x: tuple(np.split(x, 2, 2)), [Case("two", [X])], {
        "onnx": op("Split", axis=2, num_outputs=2, results=2),
        "tflite": lambda net, x: net("SPLIT", _int(net, 2), x, dtypes=["float32"] * 2, numSplits=2),
        "torch": aten("split.Tensor", split_size=2, dim=2, results=[2]),
        "torch chunk": aten("chunk", chunks=2, dim=2, results=[2]),
        "keras": op("Split", results=2, indices_or_sections=2, axis=2),
        "tensorflow": lambda net, x: net("Split", _int(net, 2), x, results=2, num_split=2, T="float32")}),
    Meaning("split_with_rest", lambda x: tuple(np.split(x, [1, 3], 2)), [Case("the second", [X])], {
        "tflite": lambda net, x: net("SPLIT_V", x, _ints(net, 1, -1, 1), _int(net, 2), dtypes=["float32"] * 3,
                                     options="SplitVOptions", numSplits=3),
        "tensorflow": lambda net, x: net("SplitV", x, _ints(net, 1, -1, 1), _int(net, 2), results=3, num_split=3,
                                         Tlen="int32")}),
    Meaning("split_unevenly", lambda x: tuple(np.array_split(x, 3, 2)), [Case("four in three", [X])], {
        "torch": aten("tensor_split.sections", sections=3, dim=2, results=[3]),
        "keras": op("ArraySplit", results=3, indices_or_sections=3, axis=2)}),
    Meaning("slice_of_sizes", lambda x: x[1:, :2, 1:3], [Case("the rest of one", [X])], {
        "tflite": lambda net, x: net("SLICE", x, _ints(net, 1, 0, 1), _ints(net, -1, 2, 2)),
        "tensorflow": lambda net, x: net("Slice", x, _ints(net, 1, 0, 1), _ints(net, -1, 2, 2), Index="int32"),
        "keras": lambda net, x: net("Slice", x, [1, 0, 1], shape=[-1, 2, 2])}),
    Meaning("index_of_all_kinds", lambda x: x[..., None, 1, ::-2], [Case("dots, new, one, backwards", [X])], {
        "tflite": lambda net, x: net("STRIDED_SLICE", x, _ints(net, 0, 0, 1, 0), _ints(net, 0, 0, 2, 0),
            _ints(net, 1, 1, 1, -2), beginMask=8, endMask=8, ellipsisMask=1, newAxisMask=2, shrinkAxisMask=4),
        "tensorflow": lambda net, x: net("StridedSlice", x, _ints(net, 0, 0, 1, 0), _ints(net, 0, 0, 2, 0),
            _ints(net, 1, 1, 1, -2), Index="int32", begin_mask=8, end_mask=8, ellipsis_mask=1, new_axis_mask=2,
            shrink_axis_mask=4)}),
    Meaning("stack_of_rows", lambda *xs: np.vstack(xs), [Case("vectors", [_ROW, -_ROW]),
                                                         Case("matrices", [_MATRIX, -_MATRIX])], {
        "torch": lambda net, *xs: net("aten.vstack.default", tensors=list(xs)),
        "keras": lambda net, *xs: net("Vstack", list(xs))}),
    Meaning("stack_of_columns", lambda *xs: np.hstack(xs), [Case("vectors", [_ROW, -_ROW]),
                                                            Case("matrices", [_MATRIX, -_MATRIX])], {
        "torch": lambda net, *xs: net("aten.hstack.default", tensors=list(xs)),
        "keras": lambda net, *xs: net("Hstack", list(xs))}),
    Meaning("stack_in_depth", lambda *xs: np.dstack(xs), [Case("vectors", [_ROW, -_ROW]),
                                                          Case("matrices", [_MATRIX, -_MATRIX]),
                                                          Case("deep", [X, X])], {
        "torch": lambda net, *xs: net("aten.dstack.default", tensors=list(xs)),
        "keras": lambda net, *xs: net("Dstack", list(xs))}),
    *(Meaning(f"triangle_{name}", lambda x, f=function: f(x, 1), [Case("wide", [_SQUARE]), Case("batch", [X]),
                                                                   Case("truth", [_SQUARE > -8])], {
        "onnx": lambda net, x, u=int(name == "upper"): net("Trilu", x, net.const(1, "int64"), upper=u),
        "torch": aten("triu" if name == "upper" else "tril", diagonal=1),
        "keras": op("Triu" if name == "upper" else "Tril", k=1)})
      for name, function in (("upper", np.triu), ("lower", np.tril))),
    Meaning("diagonal", lambda x, k: np.diagonal(x, k, 1, 2), [Case("above", [X], {"k": 1}),
                                                               Case("below", [X], {"k": -2}),
                                                               Case("outside", [X], {"k": 4})], {
        "torch": lambda net, x, k: net("aten.diagonal.default", self=x, offset=k, dim1=1, dim2=2),
        "keras": lambda net, x, k: net("Diagonal", x, offset=k, axis1=1, axis2=2)}),
    Meaning("columns_to_images", _of_columns, [Case("two", [_COLUMNS]), Case("one", [_COLUMNS[0]])], {
        "onnx": _of_columns_onnx,
        "torch": aten("col2im", output_size=[3, 6], kernel_size=[2, 3], dilation=[1, 1], padding=[1, 0],
            stride=[2, 1])}),
    Meaning("common_shape", lambda x: np.broadcast_to(x, (2, 3, 4)), [Case("of two", [X[:, :1]])], {
        "tflite": lambda net, x: net("BROADCAST_TO", x, net("BROADCAST_ARGS", _ints(net, 3, 1), _ints(net, 2, 1, 4))),
        "tensorflow": lambda net, x: net("BroadcastTo", x, net("BroadcastArgs", _ints(net, 3, 1), _ints(net, 2, 1, 4)),
                                         Tidx="int32")}),
    Meaning("fill", lambda x: np.full((2, 3), x), [Case("a scalar", [np.array(0.3, np.float32)])], {
        "tflite": lambda net, x: net("FILL", _ints(net, 2, 3), x, dtypes="float32"),
        "tensorflow": lambda net, x: net("Fill", _ints(net, 2, 3), x, T="float32", index_type="int32"),
        "torch": lambda net, x: net("aten.fill.Tensor", self=net.const(np.zeros((2, 3)), "float32"), value=x)}),
    Meaning("range_of_integers", _range, _WHOLE, {
        "onnx": _range_onnx("int64"), "tflite": _range_tflite("int64"), "torch": _range_torch,
        "tensorflow": _range_tensorflow("int64")}),
    Meaning("range_of_few", _range, [Case("tenths", [np.zeros(3, np.float32)], _TENTHS)], {
        "tflite": _range_tflite("float32"), "tensorflow": _range_tensorflow("float32")},
        note="0.3 / 0.1 is rounded to float32, which is 3"),
    Meaning("range_of_more", _range, [Case("tenths", [np.zeros(4, np.float32)], _TENTHS)], {
        "onnx": _range_onnx("float32")}, note="0.3 / 0.1 of float32 is more than 3 in float64"),
    Meaning("numbers_between", lambda x: x + np.linspace(-1, 2, 7).astype(np.float32), [Case("seven", [np.zeros(7,
                                                                                         np.float32)])], {
        "torch": lambda net, x: net("aten.add.Tensor", self=x, other=net("aten.linspace.default", start=-1, end=2,
            steps=7)),
        "tensorflow": lambda net, x: net("AddV2", x, net("LinSpace", net.const(-1, "float32"), net.const(2, "float32"),
            _int(net, 7), Tidx="int32"))}),
]  # fmt: skip
