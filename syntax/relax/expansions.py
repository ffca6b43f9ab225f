"""Operators of relay that Relax does not have, as expressions of operators that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from ...dialects.sizes import same
from ..relay.defaults import completed
from ..relay.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem
from .rows import FOLLOWING
from .terms import (
    axes_of,
    call,
    constant,
    coordinates_first,
    coordinates_last,
    dtype_of,
    infer_shallow,
    rank_of,
    shape_of,
)
from .types import is_unknown


def expanded(node: Call) -> Call | None:
    """Return a call that means the same, with types and the location of the first; None for another operator."""
    op = cast(Op, node.op).name
    if FOLLOWING & node.attrs.keys():
        return without_following(node)
    expand = _EXPANSIONS.get(op)
    other = expand(node) if expand is not None else None
    if other is None:
        return None
    infer_shallow(other)
    other.span = node.span
    return other


def without_following(node: Call) -> Call:
    """Return a call without attributes that follow from the types of its operands."""
    other = replace(node, attrs={key: value for key, value in node.attrs.items() if key not in FOLLOWING})
    other.type = node.type
    return other


def is_same(first: Expr, second: Expr) -> bool:
    """Return whether two expressions are made of the same calls of the same expressions."""
    if first is second:
        return True
    match first, second:
        case Constant(), Constant():
            return first.data.dtype == second.data.dtype and bool(np.array_equal(first.data, second.data))
        case Call(op=Op(name)), Call(op=Op(other)):
            same = name == other and len(first.args) == len(second.args)
            same = same and completed(name, first.attrs) == completed(name, second.attrs)
            return same and all(map(is_same, first.args, second.args))
        case TupleGetItem(), TupleGetItem():
            return first.index == second.index and is_same(first.tuple_value, second.tuple_value)
        case Tuple(), Tuple():
            return len(first.fields) == len(second.fields) and all(map(is_same, first.fields, second.fields))
        case _:
            return False


def contracted(call_: Call, meaning: Expr) -> Call | None:
    """Return a call of an operator that Relax lacks if it means an expression that Relax says; None if it does not."""
    other: Call | None = call_
    while other is not None and not is_same(other, meaning):
        infer_shallow(other)
        other = expanded(other)
    return None if other is None else call_


def _transposed(data: Expr) -> Call:
    rank = rank_of(data)
    return call("transpose", data, axes=[*range(rank - 2), rank - 1, rank - 2])


def _bias_add(node: Call) -> Call:
    data, bias = node.args
    rank = rank_of(data)
    (axis,) = axes_of(node.attrs["axis"], rank)
    if axis == rank - 1:
        return call("add", data, bias)
    return call("add", data, call("reshape", bias, newshape=[shape_of(bias)[0], *[1] * (rank - axis - 1)]))


def _matmul(node: Call) -> Call | None:
    """`nn.matmul` and `nn.batch_matmul` with transposed operands."""
    name = cast(Op, node.op).name
    attrs = completed(name, node.attrs)
    if not attrs["transpose_a"] and not attrs["transpose_b"]:
        return None
    first, second = node.args
    first = _transposed(first) if attrs["transpose_a"] else first
    second = _transposed(second) if attrs["transpose_b"] else second
    plain = {"transpose_a": False, "transpose_b": False, "out_dtype": attrs["out_dtype"] or None}
    return call(name, first, second, **plain)


def _global_avg_pool(node: Call) -> Call | None:
    attrs = completed("nn.global_avg_pool2d", node.attrs)
    return call("nn.adaptive_avg_pool2d", node.args[0], output_size=[1, 1], layout=attrs["layout"])


def _global_max_pool(node: Call) -> Call:
    data = node.args[0]
    layout: str = node.attrs["layout"]
    return call("max", data, axis=[layout.index(axis) for axis in "HW"], keepdims=True)


def _hot(node: Call) -> Call:
    """`one_hot` whose numbers Relax would give another dtype."""
    indices, on, off = node.args
    attrs = node.attrs
    hot = call(
        "one_hot",
        indices,
        constant(1, "int64"),
        constant(0, "int64"),
        depth=attrs["depth"],
        axis=attrs["axis"],
        dtype="int64",
    )
    return call("where", call("cast", hot, dtype="bool"), on, off)


def _like(node: Call) -> Call:
    return call("broadcast_to", node.args[0], shape=list(shape_of(node.args[1])))


def _reshaped_like(node: Call) -> Call | None:
    attrs = completed("reshape_like", node.attrs)
    if any(attrs[key] for key in attrs):
        return None
    return call("reshape", node.args[0], newshape=list(shape_of(node.args[1])))


def _zero_copy(node: Call) -> Call:
    return call("reshape", node.args[0], newshape=list(shape_of(node.args[0])))


def _cast_like(node: Call) -> Call:
    return call("cast", node.args[0], dtype=dtype_of(node.args[1]))


def _moved(node: Call) -> Call | None:
    """`depth_to_space` of images, as a move of its parts."""
    attrs = completed("nn.depth_to_space", node.attrs)
    if attrs["layout"] != "NCHW":
        return None
    data, size = node.args[0], attrs["block_size"]
    n, c, h, w = shape_of(data)
    groups = c // (size * size)
    parts = [n, size, size, groups, h, w] if attrs["mode"] == "DCR" else [n, groups, size, size, h, w]
    axes = [0, 3, 4, 1, 5, 2] if attrs["mode"] == "DCR" else [0, 1, 4, 2, 5, 3]
    moved = call("transpose", call("reshape", data, newshape=parts), axes=axes)
    return call("reshape", moved, newshape=[n, groups, h * size, w * size])


def _place(node: Call) -> Call | None:
    """`argmax` and `argmin`, whose places are int64 in Relax."""
    if node.attrs["select_last_index"]:
        return None
    return call("cast", call("cast", node, dtype="int64"), dtype="int32")


def _reshaped(node: Call) -> Call | None:
    """`reshape` whose shape has numbers that stand for others."""
    extents = shape_of(node)
    if any(is_unknown(extent) or same(extent, 0) for extent in extents):
        return None
    other = call("reshape", node.args[0], newshape=list(extents))
    return None if completed("reshape", node.attrs) == completed("reshape", other.attrs) else other


def _resized(node: Call) -> Call | None:
    """`resize2d` whose scales are the quotients of its sizes."""
    attrs = completed("image.resize2d", node.attrs)
    scales: Sequence[float] | None = attrs.pop("scales", None)
    shape, layout = shape_of(node.args[0]), str(attrs["layout"])
    if scales is None or len(layout) != len(shape):
        return None
    extents = [shape[layout.index(axis)] for axis in "HW"]
    exact = zip(extents, scales, attrs["size"], strict=True)
    if not all(isinstance(extent, int) and extent * scale == size for extent, scale, size in exact):
        return None
    return call("image.resize2d", *node.args, **attrs)


def _points(node: Call) -> Call | None:
    """`gather_nd` and `scatter_nd`, whose coordinates are last in Relax."""
    data, points, *updates = node.args
    if coordinates_last(points) is not None:
        return None
    moved = call("transpose", points, axes=[*range(1, rank_of(points)), 0])
    return call(cast(Op, node.op).name, data, coordinates_first(moved), *updates, **node.attrs)


_EXPANSIONS: Mapping[str, Callable[[Call], Call | None]] = {
    "nn.bias_add": _bias_add,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _matmul,
    "nn.global_avg_pool2d": _global_avg_pool,
    "nn.global_max_pool2d": _global_max_pool,
    "one_hot": _hot,
    "broadcast_to_like": _like,
    "reshape_like": _reshaped_like,
    "copy": _zero_copy,
    "cast_like": _cast_like,
    "nn.depth_to_space": _moved,
    "image.resize2d": _resized,
    "reshape": _reshaped,
    "argmax": _place,
    "argmin": _place,
    "gather_nd": _points,
    "scatter_nd": _points,
}
