# pyright: basic
"""Moves of elements, products, casts and fresh tensors: order of axes, words for what is left, blocks, ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from special_numbers import Array, castable

from meanings.formats.torch import DType
from meanings.meaning import Case, Meaning
from meanings.spelled import hlo_ints, op, spellings

_RNG = np.random.default_rng(19)


def _random(*shape: int) -> Array:
    return _RNG.uniform(-2, 2, shape).astype(np.float32)


X = _random(2, 3, 4)
_EMPTY = np.zeros((2, 0, 4), np.float32)
_LAST = ("tflite", "keras", "tensorflow")


def _numbers(name: str, key: str = "", dtype: str = "int32", **fixed: Any) -> Any:
    """Return the spelling whose list of numbers is a second operand. key: the attribute that says its type."""

    def spelling(net: Any, x: Any, numbers: Sequence[int]) -> Any:
        return net(name, x, net.const(numbers, dtype), **({key: dtype} if key else {}), **fixed)

    return spelling


def _listed(name: str, argument: str) -> Any:
    return lambda net, x, numbers: net(f"aten.{name}", self=x, **{argument: list(numbers)})


def _axes(cases: dict[str, tuple[Array, Sequence[int]]]) -> list[Case]:
    return [Case(label, [x], {"numbers": list(numbers)}) for label, (x, numbers) in cases.items()]


# Products.

_PRODUCTS = {
    "matrices": (_random(3, 4), _random(4, 5)), "batches": (_random(2, 3, 4), _random(2, 4, 5)),
    "broadcast batches": (_random(2, 1, 3, 4), _random(5, 4, 2)), "a batch by a matrix": (_random(2, 3, 4), _random(4,
        5)),
    "no inner element": (_random(3, 0), _random(0, 5)),
}  # fmt: skip
_VECTORS = {"two vectors": (_random(4), _random(4)), "a matrix by a vector": (_random(3, 4), _random(4)),
            "a vector by batches": (_random(4), _random(2, 4, 3))}  # fmt: skip


def _dot_stablehlo(net: Any, a: Any, b: Any) -> Any:
    if len(a.shape) != len(b.shape) or a.shape[:-2] != b.shape[:-2]:
        return None
    rank = len(a.shape)
    batch = list(range(rank - 2))
    numbers = (f"#stablehlo.dot<lhs_batching_dimensions = {batch}, rhs_batching_dimensions = {batch}, "
               f"lhs_contracting_dimensions = [{rank - 1}], rhs_contracting_dimensions = [{rank - 2}]>")  # fmt: skip
    return net("dot_general", a, b, dot_dimension_numbers=numbers)


def _matmul_core(net: Any, a: Any, b: Any) -> Any:
    ranks = len(a.shape), len(b.shape)
    if ranks == (2, 2):
        return net("aten.mm.default", self=a, mat2=b)
    return net("aten.bmm.default", self=a, mat2=b) if ranks == (3, 3) else None


def _einsum(text: str, a: Array, b: Array) -> Meaning:
    return Meaning(f"einsum {text}", lambda a, b: np.einsum(text, a, b), [Case("random", [a, b])], {
        "onnx": op("Einsum", equation=text), "torch": lambda net, a, b: net("aten.einsum.default", equation=text,
            tensors=[a, b]),
        "keras": op("Einsum", subscripts=text), "tensorflow": op("Einsum", equation=text, N=2)}, lost=10.0)  # fmt: skip


# Blocks.


def _depth_to_space(x: Array, block: int, columns_first: bool) -> Array:
    batch, channels, height, width = x.shape
    if columns_first:
        parts = x.reshape(batch, channels // block**2, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    else:
        parts = x.reshape(batch, block, block, channels // block**2, height, width).transpose(0, 3, 4, 1, 5, 2)
    return parts.reshape(batch, channels // block**2, height * block, width * block)


def _space_to_depth(x: Array, block: int) -> Array:
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, channels, height // block, block, width // block, block).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(batch, channels * block**2, height // block, width // block)


_DEEP, _LARGE = Case("blocks of 2", [_random(2, 12, 2, 3)]), Case("blocks of 2", [_random(2, 3, 4, 6)])

# Casts.

_FLOATS = castable("float32", "int32")
_NARROW = np.array([-1.9, -0.5, 0.0, 0.5, 1.5, 127.9, 3.0], np.float32)


def _cast(name: str, x: Array, dtype: str, expected: Any = None) -> Meaning:
    number = {"int32": 6, "float32": 1, "bool": 9, "int8": 3, "int64": 7, "float16": 10}[dtype]
    return Meaning(name, expected or (lambda x: x.astype(dtype)), [Case(x.dtype.name, [x])], {
        "onnx": op("Cast", to=number), "tflite": op("CAST", dtypes=dtype, options=""),
        "torch": lambda net, x: net("aten.to.dtype", self=x, dtype=DType(dtype)), "keras": op("Cast", dtype=dtype),
        "tensorflow": lambda net, x: net("Cast", x, SrcT=x.dtype.name, DstT=dtype, T=x.dtype.name),
        "stablehlo": op("convert")})  # fmt: skip


TABLE = [
    Meaning("reshape", lambda x, numbers: x.reshape(numbers), _axes({"known": (X, [4, 6]), "the rest": (X, [2, -1]),
                                                                    "of nothing": (_EMPTY, [4, 0, 2])}), {
        "onnx": lambda net, x, numbers: net("Reshape", x, net.const(numbers, "int64"), allowzero=1),
        "tflite": _numbers("RESHAPE"), "torch": _listed("reshape.default", "shape"),
        "torch view": _listed("view.default", "size"),
        "keras": lambda net, x, numbers: net("Reshape", x, newshape=list(numbers)),
        "tensorflow": _numbers("Reshape", "Tshape"),
        "stablehlo": lambda net, x, numbers: net("reshape", x)}),
    Meaning("reshape_copies", lambda x: x.reshape(2, 12), [Case("0 and -1", [X])], {
        "onnx": lambda net, x: net("Reshape", x, net.const([0, -1], "int64"))}, note="0 is the extent of the input"),
    Meaning("transpose", lambda x, numbers: x.transpose(numbers), _axes({"turned": (X, [2, 0, 1]), "same": (X, [0, 1,
        2]),
                                                                        "empty": (_EMPTY, [1, 2, 0])}), {
        "onnx": lambda net, x, numbers: net("Transpose", x, perm=numbers), "tflite": _numbers("TRANSPOSE"),
        "torch": _listed("permute.default", "dims"), "keras": lambda net, x, numbers: net("Transpose", x, axes=numbers),
        "tensorflow": _numbers("Transpose", "Tperm"),
        "stablehlo": lambda net, x, numbers: net("transpose", x, permutation=hlo_ints(numbers))}),
    Meaning("tile", lambda x, numbers: np.tile(x, numbers), _axes({"two axes": (X, [2, 1, 3]), "none": (X, [1, 0,
        1])}), {
        "onnx": lambda net, x, numbers: net("Tile", x, net.const(numbers, "int64")), "tflite": _numbers("TILE"),
        "torch": _listed("repeat.default", "repeats"), "tensorflow": _numbers("Tile", "Tmultiples"),
        "keras": lambda net, x, numbers: net("Tile", x, repeats=numbers)}),
    Meaning("repeat", lambda x: np.repeat(x, 2, 1), [Case("along 1", [X])], {
        "torch": lambda net, x: net("aten.repeat_interleave.self_int", self=x, repeats=2, dim=1),
        "keras": op("Repeat", repeats=2, axis=1)}),
    Meaning("broadcast", lambda x, numbers: np.broadcast_to(x, numbers), _axes({"up": (X[:, :1], [5, 2, 3, 4])}), {
        "onnx": lambda net, x, numbers: net("Expand", x, net.const(numbers, "int64")),
            "tflite": _numbers("BROADCAST_TO"),
        "torch": _listed("expand.default", "size"), "keras": lambda net, x, numbers: net("BroadcastTo", x,
            shape=numbers),
        "tensorflow": _numbers("BroadcastTo", "Tidx"),
        "stablehlo": lambda net, x, numbers: net("broadcast_in_dim", x, broadcast_dimensions=hlo_ints([1, 2, 3]))}),
    Meaning("expand_both_ways", lambda x: x * np.ones((1, 3, 1), np.float32), [Case("a smaller shape", [X])], {
        "onnx": lambda net, x: net("Expand", x, net.const([1, 3, 1], "int64"))},
            note="extents of the input may be greater"),
    Meaning("concatenate", lambda *xs: np.concatenate(xs, -1), [Case("three", [X, X[..., :1] * 2, X[..., :0]])], {
        "onnx": op("Concat", axis=-1), "tflite": op("CONCATENATION", axis=-1),
        "torch": lambda net, *xs: net("aten.cat.default", tensors=list(xs), dim=-1),
        "keras": lambda net, *xs: net("Concatenate", list(xs), axis=-1),
        "tensorflow": lambda net, *xs: net("ConcatV2", *xs, net.const(-1, "int32"), N=3, Tidx="int32"),
        "stablehlo": op("concatenate", dimension="2 : i64")}),
    Meaning("stack", lambda *xs: np.stack(xs, 1), [Case("two", [X, X * 2])], {
        "tflite": op("PACK", axis=1, valuesCount=2),
        "torch": lambda net, *xs: net("aten.stack.default", tensors=list(xs), dim=1),
        "keras": lambda net, *xs: net("Stack", list(xs), axis=1), "tensorflow": op("Pack", axis=1, N=2)}),
    Meaning("split", lambda x: tuple(np.split(x, [1, 3], 2)), [Case("sizes", [X])], {
        "onnx": lambda net, x: net("Split", x, net.const([1, 2, 1], "int64"), axis=2, results=3),
        "tflite": lambda net, x: net("SPLIT_V", x, net.const([1, 2, 1], "int32"), net.const(2, "int32"),
                                     dtypes=["float32"] * 3, options="SplitVOptions", numSplits=3),
        "torch": lambda net, x: net("aten.split_with_sizes.default", results=[3], self=x, split_sizes=[1, 2, 1], dim=2),
        "keras": op("Split", results=3, indices_or_sections=[1, 3], axis=2),
        "tensorflow": lambda net, x: net("SplitV", x, net.const([1, 2, 1], "int32"), net.const(2, "int32"), results=3,
                                         num_split=3, Tlen="int32")}),
    Meaning("unstack", lambda x: (x[:, 0], x[:, 1], x[:, 2]), [Case("along 1", [X])], {
        "tflite": op("UNPACK", dtypes=["float32"] * 3, axis=1, num=3),
        "torch": lambda net, x: net("aten.unbind.int", results=[3], self=x, dim=1),
        "keras": op("Unstack", results=3, num=3, axis=1), "tensorflow": op("Unpack", results=3, axis=1, num=3)}),
    Meaning("squeeze", lambda x: x.squeeze((1, 3)), [Case("two axes", [X[:, None, :, None]])], {
        "onnx": lambda net, x: net("Squeeze", x, net.const([1, 3], "int64")), "tflite": op("SQUEEZE", squeezeDims=[1,
            3]),
        "torch": lambda net, x: net("aten.squeeze.dims", self=x, dim=[1, 3]), "keras": op("Squeeze", axis=[1, 3]),
        "tensorflow": op("Squeeze", squeeze_dims=[1, 3]), "stablehlo": op("reshape")}),
    Meaning("expand_dims", lambda x: x[:, :, None], [Case("at 2", [X])], {
        "onnx": lambda net, x: net("Unsqueeze", x, net.const([2], "int64")),
        "tflite": lambda net, x: net("EXPAND_DIMS", x, net.const(2, "int32")),
        "torch": lambda net, x: net("aten.unsqueeze.default", self=x, dim=2), "keras": op("ExpandDims", axis=2),
        "tensorflow": lambda net, x: net("ExpandDims", x, net.const(2, "int32"), Tdim="int32"),
        "stablehlo": op("reshape")}),
    Meaning("depth_to_space_of_blocks", lambda x: _depth_to_space(x, 2, False), [_DEEP], {
        "onnx": op("DepthToSpace", blocksize=2), "tflite": op("DEPTH_TO_SPACE", blockSize=2),
        "tensorflow": op("DepthToSpace", block_size=2, data_format="NHWC")}, channels_last=_LAST,
        note="channels are (block, block, rest)"),
    Meaning("depth_to_space_of_channels", lambda x: _depth_to_space(x, 2, True), [_DEEP], {
        "onnx": op("DepthToSpace", blocksize=2, mode="CRD"),
        "torch": lambda net, x: net("aten.pixel_shuffle.default", self=x, upscale_factor=2)},
        note="channels are (rest, block, block)"),
    Meaning("space_to_depth", lambda x: _space_to_depth(x, 2), [_LARGE], {
        "onnx": op("SpaceToDepth", blocksize=2), "tflite": op("SPACE_TO_DEPTH", blockSize=2),
        "tensorflow": op("SpaceToDepth", block_size=2, data_format="NHWC")}, channels_last=_LAST),
    Meaning("space_to_depth_of_channels", lambda x: _space_to_depth(x, 2).reshape(2, 4, 3, 2, 3).swapaxes(1, 2).reshape(
        2, 12, 2, 3), [_LARGE], {
        "torch": lambda net, x: net("aten.pixel_unshuffle.default", self=x, downscale_factor=2)}),
    Meaning("matmul", np.matmul, [Case(label, pair) for label, pair in _PRODUCTS.items()], spellings(
        onnx="MatMul", tflite="BATCH_MATMUL", torch="matmul", names="self other", keras="Matmul",
        tensorflow="BatchMatMulV2", stablehlo_by=_dot_stablehlo, torch_core_by=_matmul_core,
        tensorflow_new_by=op("BatchMatMulV3", Ta="float32", Tb="float32", Tout="float32")), lost=10.0),
    Meaning("matmul_of_vectors", np.matmul, [Case(label, pair) for label, pair in _VECTORS.items()], spellings(
        onnx="MatMul", torch="matmul", names="self other", keras="Matmul"), lost=10.0),
    Meaning("dense", lambda x, w, b: x @ w.T + b, [Case("matrix", [_random(3, 4)], {}, [_random(5, 4), _random(5)])], {
        "onnx": lambda net, x, w, b: net("Gemm", x, net.const(w), net.const(b), transB=1),
        "tflite": lambda net, x, w, b: net("FULLY_CONNECTED", x, net.const(w), net.const(b)),
        "torch": lambda net, x, w, b: net("aten.linear.default", input=x, weight=net.const(w), bias=net.const(b)),
        "torch core": lambda net, x, w, b: net("aten.addmm.default", self=net.const(b), mat1=x, mat2=net.const(w.T)),
        "keras": lambda net, x, w, b: net.layer("Dense", x, weights={"": [w.T, b]}, units=5, activation="linear",
                                                use_bias=True),
        "tensorflow": lambda net, x, w, b: net("BiasAdd", net("MatMul", x, net.const(w), transpose_b=True),
            net.const(b))},
        lost=10.0),
    _einsum("bij,bjk->bik", _random(2, 3, 4), _random(2, 4, 5)),
    _einsum("bhqd,bkhd->bqhk", _random(2, 3, 4, 5), _random(2, 6, 3, 5)),
    _einsum("ij,kj->ki", _random(3, 4), _random(5, 4)),
    _cast("cast_to_integers", _FLOATS, "int32"), _cast("cast_to_bytes", _NARROW, "int8"),
    _cast("cast_to_floats", np.array([-(2**31), -1, 0, 2**24 + 1, 2**31 - 1], np.int32), "float32"),
    _cast("cast_to_halves", np.array([65504, 65520, 1e-8, -0.0, np.nan, np.inf, 2049, 2051], np.float32), "float16"),
    _cast("cast_to_truth", np.array([0, -0.0, np.nan, 0.5, np.inf], np.float32), "bool"),
    _cast("cast_of_truth", np.array([True, False]), "float32"),
    Meaning("range", lambda x: x + np.arange(2.0, 11.0, 3.0).astype(np.float32), [Case("steps", [_random(3)])], {
        "onnx": lambda net, x: net("Add", x, net("Range", *(net.const(n, "float32") for n in (2, 11, 3)))),
        "tflite": lambda net, x: net("ADD", x, net("RANGE", *(net.const(n, "float32") for n in (2, 11, 3)),
            options="")),
        "tensorflow": lambda net, x: net("AddV2", x, net("Range", *(net.const(n, "float32") for n in (2, 11, 3)),
                                                        Tidx="float32"))}),
]  # fmt: skip
