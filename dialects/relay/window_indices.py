"""Windows that say where: poolings with the places of what they found, convolutions at places that are data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def

from ..sizes.types import extents_of, tensor_of
from .attributes import integer, ints, optional_integer, optional_ints, required_ints, string
from .convolution import expand_padding, window_extent
from .numerics import AnyArray, lowest, widened
from .operator import Operator, Signature, Tensor
from .pooling import Window, taps
from .traits import OPAQUE, OUT_ELEMWISE_FUSABLE


@irdl_op_definition
class MaxPoolWithArgmaxOp(Operator):
    """The largest element of each window of `(n, c, ..)`, and where it is; the first of equals.

    Places count the elements of the whole operand in row-major order; with `storage_order` 1 those of an image in
    column-major order. TVM has no such operator.
    """

    name = "relay.nn.max_pool_with_argmax"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    places = result_def(TensorType)
    pool_size = required_ints()
    strides = required_ints()
    dilation = required_ints()
    padding = required_ints()
    storage_order = integer(0)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        windows = cls.windows(sig)
        shape = (*sig.shape(0)[:2], *(w.count for w in windows))
        return [tensor_of(sig.types[0].element_type, shape), tensor_of(i64, shape)]

    @classmethod
    def windows(cls, sig: Signature) -> list[Window]:
        """Return the way the window slides along each spatial axis."""
        _, _, *image = sig.rank(0, 3, 4, 5)
        rank = len(image)
        size, strides, dilation = (sig.spatial(name, rank) for name in ("pool_size", "strides", "dilation"))
        pads = expand_padding(sig, sig.ints("padding"), rank)
        windows: list[Window] = []
        for i, extent in enumerate(image):
            sig.require(extent - 1, "an image of some pixels", str(sig.types[0]))
            around = pads[i], pads[i + rank]
            count = window_extent(sig, extent, size[i], strides[i], dilation[i], sum(around), False, none=True)
            windows.append(Window(i + 2, size[i], strides[i], dilation[i], *around, count))
        return windows

    @classmethod
    def steps(cls, sig: Signature) -> tuple[int, ...]:
        """Return the distance, in counted places, of neighbours along each spatial axis."""
        image = sig.shape(0)[2:]
        if sig.int("storage_order"):
            return tuple(prod(image[:axis]) for axis in range(len(image)))
        return tuple(prod(image[axis + 1 :]) for axis in range(len(image)))

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        windows, image = cls.windows(sig), x.shape[2:]
        images: AnyArray = np.array(range(x.shape[0] * x.shape[1])) * prod(image)
        places = np.zeros(x.shape, np.int64) + images.reshape(*x.shape[:2], *[1] * len(image))
        for axis, step in enumerate(cls.steps(sig)):
            shape = [extent if at == axis else 1 for at, extent in enumerate(image)]
            places += np.array(range(0, image[axis] * step, step)).reshape(shape)
        values = np.stack(taps(windows, x, lowest(x.dtype)))
        at = np.stack(taps(windows, places, -1))
        # Elements outside lose against all elements inside.
        inside = at >= 0
        best: AnyArray = np.argmax(np.where(inside, values, lowest(x.dtype)), axis=0, keepdims=True)
        first: AnyArray = np.argmax(inside, axis=0, keepdims=True)
        best = np.where(np.take_along_axis(inside, best, 0), best, first)
        return np.take_along_axis(values, best, 0)[0], np.take_along_axis(at, best, 0)[0]


def _line(count: int, step: int, start: int = 0) -> AnyArray:
    return np.array([start + i * step for i in range(count)])


@irdl_op_definition
class DeformableConv2DOp(Operator):
    """A convolution whose taps are moved by `offset`, and scaled by `mask` if there is one; TVM's has no mask.

    Data (n, c, y, x), offset (n, deformable_groups * ky * kx * 2, y, x) in rows and columns, weight (outputs,
    c / groups, ky, kx), mask (n, deformable_groups * ky * kx, y, x). Between elements, the four around a place count by
    how near they are; those outside of the image are 0.
    """

    name = "relay.nn.deformable_conv2d"
    SPATIAL: ClassVar[str] = "HW"
    data = operand_def(TensorType)
    offset = operand_def(TensorType)
    weight = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)
    strides = ints(1, 1)
    padding = ints(0, 0)
    dilation = ints(1, 1)
    deformable_groups = integer(1)
    groups = integer(1)
    channels = optional_integer()
    kernel_size = optional_ints()
    data_layout = string("NCHW")
    kernel_layout = string("OIHW")
    out_layout = string("")
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        (n, c, *image), (o, depth, *kernel) = sig.rank(0, 4), sig.rank(2, 4)
        layouts = sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or "NCHW"
        if layouts != ("NCHW", "OIHW", "NCHW"):
            sig.fail("layouts NCHW and OIHW", ", ".join(layouts))
        groups, moved = sig.int("groups"), sig.int("deformable_groups")
        if groups < 1 or c != depth * groups or o % groups or moved < 1 or c % moved:
            sig.fail(f"{c} input channels in groups={groups} and deformable_groups={moved}", str(sig.types[2]))
        pads = expand_padding(sig, sig.ints("padding"))
        columns = zip(
            image, kernel, *(sig.spatial(name, 2) for name in ("strides", "dilation")), pads[:2], pads[2:], strict=True
        )
        out = [window_extent(sig, e, k, s, d, a + b, False) for e, k, s, d, a, b in columns]
        sig.require_source(0, image, out)
        channels = moved * prod(kernel)
        for name, rows in (("offset", 2 * channels), ("mask", channels)):
            for operand in sig.operand(name):
                if extents_of(operand) != (n, rows, *out):
                    sig.fail(f"{name} of shape {[n, rows, *out]}", str(operand))
        return [tensor_of(sig.same_element(), (n, o, *out))]

    @classmethod
    def evaluate(
        cls, sig: Signature, data: AnyArray, offset: AnyArray, weight: AnyArray, mask: AnyArray | None
    ) -> AnyArray:
        """Sample all taps, then compute one product per group."""
        x, w = widened(data), widened(weight)
        (n, c, height, width), (o, depth, kh, kw) = x.shape, w.shape
        groups, moved = sig.int("groups"), sig.int("deformable_groups")
        (sy, sx), (dy, dx) = sig.ints("strides"), sig.ints("dilation")
        top, left, _, _ = expand_padding(sig, sig.ints("padding"))
        _, _, oh, ow = offset.shape
        shifts = widened(offset).reshape(n, moved, kh, kw, 2, oh, ow)
        rows = _line(kh, dy)[:, None, None, None] + _line(oh, sy, -top)[:, None] + shifts[:, :, :, :, 0]
        columns = _line(kw, dx)[:, None, None] + _line(ow, sx, -left) + shifts[:, :, :, :, 1]
        part = np.ones((), x.dtype) if mask is None else widened(mask).reshape(n, moved, kh, kw, oh, ow)
        sampled = np.zeros((n, c, kh, kw, oh, ow), x.dtype)
        batch = _line(n, 1)[:, None, None, None, None, None]
        per_moved = c // moved
        for group in range(moved):
            channel = _line(per_moved, 1, group * per_moved)[:, None, None, None, None]
            total = np.zeros((n, per_moved, kh, kw, oh, ow), x.dtype)
            for right, below in np.ndindex(2, 2):
                y, z = np.floor(rows[:, group]) + below, np.floor(columns[:, group]) + right
                near = (1 - np.abs(rows[:, group] - y)) * (1 - np.abs(columns[:, group] - z))
                inside = (y >= 0) & (y < height) & (z >= 0) & (z < width)
                at = [np.clip(p, 0, extent - 1).astype(np.int64)[:, None] for p, extent in ((y, height), (z, width))]
                total += np.where(inside, near, 0)[:, None] * x[batch, channel, *at]
            sampled[:, group * per_moved : (group + 1) * per_moved] = total * (
                part if mask is None else part[:, group][:, None]
            )
        left_side = w.reshape(groups, o // groups, depth * kh * kw)
        return np.matmul(left_side, sampled.reshape(n, groups, depth * kh * kw, oh * ow)).reshape(n, o, oh, ow)
