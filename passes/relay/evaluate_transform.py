"""What the data movements and reductions mean, in numpy. Movements are views wherever numpy allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...dialects.relay import transform as ops
from ...dialects.relay.layout import Axis, parse_layout
from ...dialects.relay.operator import Operator, Signature
from .evaluate_elementwise import AnyArray, Evaluator, divide, is_float, widened

ALIGNMENT = 64
"""Bytes; what kernels expect of the arrays they get."""


def aligned_empty(shape: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    """An uninitialised array, contiguous and on a 64-byte boundary."""
    size = prod(shape) * dtype.itemsize
    buffer = np.empty(size + ALIGNMENT, np.uint8)
    start = -buffer.ctypes.data % ALIGNMENT
    return buffer[start : start + size].view(dtype).reshape(shape)


def layout_view(x: AnyArray, src_layout: str, dst_layout: str) -> AnyArray:
    """`x` brought from one layout to another, as a view if the blocks allow it."""
    src, dst = parse_layout(src_layout), parse_layout(dst_layout)
    in_src = {axis.letter: axis.factor for axis in src if axis.factor}
    in_dst = {axis.letter: axis.factor for axis in dst if axis.factor}
    if any(in_src[letter] != in_dst[letter] for letter in in_src.keys() & in_dst.keys()):
        plain = "".join(axis.letter for axis in src if not axis.factor)
        return layout_view(layout_view(x, src_layout, plain), plain, dst_layout)
    # Split what becomes blocked, permute, merge what was blocked.
    shape: list[int] = []
    names: list[Axis] = []
    for axis, extent in zip(src, x.shape, strict=True):
        factor = in_dst.get(axis.letter, 0)
        if not axis.factor and factor and axis.letter not in in_src:
            shape += [extent // factor, factor]
            names += [axis, Axis(axis.letter, factor)]
        else:
            shape.append(extent)
            names.append(axis)
    order: list[int] = []
    merged: list[int] = []
    for axis in dst:
        parts = [names.index(axis)]
        if not axis.factor and axis.letter in in_src and axis.letter not in in_dst:
            parts.append(names.index(Axis(axis.letter, in_src[axis.letter])))
        order += parts
        merged.append(prod(shape[part] for part in parts))
    return x.reshape(shape).transpose(order).reshape(merged)


def layout_transform(sig: Signature, x: AnyArray) -> AnyArray:
    """A dense, aligned array; one value repeated (a broadcast view) stays a view."""
    view = layout_view(x, sig.str("src_layout"), sig.str("dst_layout"))
    if x.size and not any(x.strides):
        return view
    out = aligned_empty(view.shape, view.dtype)
    out[...] = view
    return out


def reshape(sig: Signature, x: AnyArray) -> AnyArray:
    return x.reshape(tuple(ops.ReshapeOp.shape(sig)))


def transpose(sig: Signature, x: AnyArray) -> AnyArray:
    return x.transpose(sig.get("axes"))


def squeeze(sig: Signature, x: AnyArray) -> AnyArray:
    return x.reshape(tuple(ops.SqueezeOp.shape(sig)))


def expand_dims(sig: Signature, x: AnyArray) -> AnyArray:
    return x.reshape(tuple(ops.ExpandDimsOp.shape(sig)))


def concatenate(sig: Signature, *parts: AnyArray) -> AnyArray:
    return np.concatenate(parts, axis=sig.int("axis"))


def strided_slice(sig: Signature, x: AnyArray) -> AnyArray:
    def taken(indices: range) -> slice:
        if not indices:
            return slice(0, 0)
        return slice(indices.start, indices.stop if indices.stop >= 0 else None, indices.step)

    return x[tuple(map(taken, ops.StridedSliceOp.ranges(sig)))]


def take(sig: Signature, x: AnyArray, indices: AnyArray) -> AnyArray:
    mode = "wrap" if sig.str("mode") == "wrap" else "clip"
    return np.take(x, indices, axis=sig.int("axis"), mode=mode)


def broadcast_to(sig: Signature, x: AnyArray) -> AnyArray:
    return np.broadcast_to(x, sig.ints("new_shape"))


def pad(sig: Signature, x: AnyArray, value: AnyArray) -> AnyArray:
    width = sig.ints("pad_width")
    pairs = list(zip(width[::2], width[1::2], strict=True))
    match sig.str("pad_mode"):
        case "edge":
            return np.pad(x, pairs, mode="edge")
        case "reflect":
            return np.pad(x, pairs, mode="reflect")
        case _:
            return np.pad(x, pairs, mode="constant", constant_values=value.reshape(())[()])


def batch_flatten(sig: Signature, x: AnyArray) -> AnyArray:
    return x.reshape(x.shape[0], -1) if x.size else x.reshape(tuple(ops.BatchFlattenOp.shape(sig)))


def _sum(x: AnyArray, axis: tuple[int, ...], keepdims: bool) -> AnyArray:
    return np.sum(widened(x), axis=axis, keepdims=keepdims, dtype=widened(x).dtype)


def _mean(x: AnyArray, axis: tuple[int, ...], keepdims: bool) -> AnyArray:
    if is_float(x.dtype):
        return np.mean(widened(x), axis=axis, keepdims=keepdims)
    count = np.asarray(prod(x.shape[i] for i in axis), x.dtype)
    return divide(_sum(x, axis, keepdims), count)


def _max(x: AnyArray, axis: tuple[int, ...], keepdims: bool) -> AnyArray:
    return np.max(x, axis=axis, keepdims=keepdims)


def _min(x: AnyArray, axis: tuple[int, ...], keepdims: bool) -> AnyArray:
    return np.min(x, axis=axis, keepdims=keepdims)


def _single(function: Callable[..., AnyArray]) -> Evaluator:
    return lambda sig, inputs: (function(sig, *inputs),)


def _reduction(function: Callable[[AnyArray, tuple[int, ...], bool], AnyArray]) -> Evaluator:
    return lambda sig, inputs: (function(inputs[0], ops.Reduce.axes(sig), bool(sig.get("keepdims"))),)


TABLE: dict[type[Operator], Evaluator] = {
    ops.ReshapeOp: _single(reshape),
    ops.TransposeOp: _single(transpose),
    ops.SqueezeOp: _single(squeeze),
    ops.ExpandDimsOp: _single(expand_dims),
    ops.ConcatenateOp: _single(concatenate),
    ops.StridedSliceOp: _single(strided_slice),
    ops.TakeOp: _single(take),
    ops.BroadcastToOp: _single(broadcast_to),
    ops.LayoutTransformOp: _single(layout_transform),
    ops.PadOp: _single(pad),
    ops.BatchFlattenOp: _single(batch_flatten),
    ops.SumOp: _reduction(_sum),
    ops.MeanOp: _reduction(_mean),
    ops.MaxOp: _reduction(_max),
    ops.MinOp: _reduction(_min),
}
