"""Convolutions of one to three spatial axes, and the sliding window that they share with the poolings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import integer, ints, optional_integer, optional_ints, string
from .channels import CONV_CHANNELS
from .layout import axes_of, layout_view, logical_shape, shape_in
from .layout_traits import OwnLayouts
from .numerics import AnyArray, factor, strided
from .operator import Operator, Signature, Tensor
from .pairs import parts_of, unpacked
from .traits import OUT_ELEMWISE_FUSABLE

CONV_LAYOUTS = OwnLayouts(("data_layout", "kernel_layout"), ("C", "OI"))


def expand_padding(sig: Signature, padding: Sequence[int], rank: int = 2) -> tuple[int, ...]:
    """TVM's 1, `rank` or twice as many pad widths as those before each spatial axis, then those after."""
    pads = tuple(padding)
    if len(pads) == 1:
        return pads * (2 * rank)
    if len(pads) == rank:
        return pads * 2
    if len(pads) == 2 * rank:
        return pads
    counts = ", ".join(map(str, sorted({1, rank})))
    sig.fail(f"{counts} or {2 * rank} pad widths", str(list(pads)))


def window_extent(
    sig: Signature, extent: int, window: int, stride: int, dilation: int, pads: int, ceil: bool, *, none: bool = False
) -> int:
    """Return the number of windows that fit along one axis.

    none: whether it may be none at all, where less than a stride, or one, is missing: then the formula gives 0.
    """
    span = extent + pads - (dilation * (window - 1) + 1)
    expected = f"a window that fits the padded extent {extent + pads}, stride and dilation >= 1"
    actual = f"window {window}, stride {stride}, dilation {dilation}"
    if stride < 1 or dilation < 1:
        sig.fail(expected, actual)
    sig.require(span + stride if none else span, expected, actual)
    return (span + stride - 1 if ceil else span) // stride + 1


class Conv(Operator):
    """Shared by the convolutions: TVM's Conv1DAttrs, Conv2DAttrs and Conv3DAttrs, but for defaults."""

    SPATIAL: ClassVar[str] = "HW"
    """The letters of the spatial axes."""

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        letters = "NC" + cls.SPATIAL
        data_axes = axes_of(sig, "data_layout", letters)
        kernel_axes = axes_of(sig, "kernel_layout", "OI" + cls.SPATIAL)
        out_axes = axes_of(sig, "out_layout" if sig.str("out_layout") else "data_layout", letters)
        sig.rank(0, len(data_axes))
        sig.rank(1, len(kernel_axes))
        data, kernel = logical_shape(sig.shape(0), data_axes), logical_shape(sig.shape(1), kernel_axes)
        groups, depth = sig.int("groups"), kernel["I"] * parts_of(sig)
        if groups < 1 or data["C"] != depth * groups:
            sig.fail(f"{data['C']} input channels = kernel input channels x groups", f"{depth} x {groups}")
        if kernel["O"] % groups:
            sig.fail(f"output channels divisible by groups={groups}", str(kernel["O"]))
        if (channels := sig.get("channels")) is not None and channels != kernel["O"]:
            sig.fail(f"channels = {kernel['O']} as the kernel has", str(channels))
        window = cls.window(sig, kernel)
        if (size := sig.get("kernel_size")) is not None and list(size) != window:
            sig.fail(f"kernel_size {window} as the kernel has", str(list(size)))
        rank = len(cls.SPATIAL)
        padding = expand_padding(sig, sig.ints("padding"), rank)
        strides, dilation = sig.spatial("strides", rank), sig.spatial("dilation", rank)
        full = {"N": data["N"], "C": kernel["O"]}
        for i, letter in enumerate(cls.SPATIAL):
            pads = padding[i] + padding[i + rank]
            full[letter] = window_extent(sig, data[letter], window[i], strides[i], dilation[i], pads, False)
        return [tensor_of(sig.product_element(), shape_in(sig, full, out_axes))]

    @classmethod
    def window(cls, sig: Signature, kernel: Mapping[str, int]) -> list[int]:
        """The extents of a window; `kernel` has those of the weight by the letters of its axes."""
        return [kernel[letter] for letter in cls.SPATIAL]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        """In NCHW and OIHW: one matrix product per tap of the kernel, summed."""
        plain = "NC" + cls.SPATIAL
        x = factor(layout_view(data, sig.str("data_layout"), plain), sig.str("out_dtype"))
        weight = layout_view(weight, sig.str("kernel_layout"), "OI" + cls.SPATIAL)
        w = factor(unpacked(weight, 1) if parts_of(sig) > 1 else weight, sig.str("out_dtype"))
        rank = len(cls.SPATIAL)
        pads = expand_padding(sig, sig.ints("padding"), rank)
        strides, dilation, groups = sig.ints("strides"), sig.ints("dilation"), sig.int("groups")
        x = np.pad(x, ((0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)))
        n, (channels, depth, *window) = x.shape[0], w.shape
        sizes = zip(x.shape[2:], window, dilation, strides, strict=True)
        image = [(extent - d * (k - 1) - 1) // s + 1 for extent, k, d, s in sizes]
        w = w.reshape(groups, channels // groups, depth, *window)
        total = np.zeros((n, groups, channels // groups, prod(image)), x.dtype)
        for position in np.ndindex(*window):
            starts = [at * d for at, d in zip(position, dilation, strict=True)]
            tap = strided(x, range(2, 2 + rank), starts, image, strides).reshape(n, groups, depth, prod(image))
            total += w[..., *position] * tap if depth == 1 else np.matmul(w[..., *position], tap)
        out = total.reshape(n, channels, *image)
        return layout_view(out, plain, sig.str("out_layout") or sig.str("data_layout"))


class Conv2D(Conv):
    """Shared by the 2-d convolutions."""

    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    strides = ints(1, 1)
    padding = ints(0, 0)
    dilation = ints(1, 1)
    groups = integer(1)
    channels = optional_integer()
    kernel_size = optional_ints()
    data_layout = string("NCHW")
    kernel_layout = string("OIHW")
    out_layout = string("")
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)


@irdl_op_definition
class Conv1DOp(Conv):
    """1-d convolution (cross-correlation), NCW and OIW by default; blocks as in NCW16c and OIW16i16o, too."""

    name = "relay.nn.conv1d"
    SPATIAL: ClassVar[str] = "W"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    strides = ints(1)
    padding = ints(0)
    dilation = ints(1)
    groups = integer(1)
    channels = optional_integer()
    kernel_size = optional_ints()
    data_layout = string("NCW")
    kernel_layout = string("OIW")
    out_layout = string("")
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE, CONV_LAYOUTS, CONV_CHANNELS)


@irdl_op_definition
class Conv2DOp(Conv2D):
    """2-d convolution (cross-correlation), NCHW and OIHW by default."""

    name = "relay.nn.conv2d"
    traits = traits_def(CONV_LAYOUTS, CONV_CHANNELS)


@irdl_op_definition
class ContribConv2DNCHWcOp(Conv2D):
    """2-d convolution on blocked layouts such as NCHW16c and OIHW16i16o.

    partial: so many products each, those of a block of input channels, are summed in the dtype of the operands first; 0
    for none.
    """

    name = "relay.nn.contrib_conv2d_NCHWc"
    partial = integer(0)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        results = super().infer(sig)
        block = sig.shape(1)[-2]
        if (partial := sig.int("partial")) not in (0, block):
            sig.fail(f"partial sums of the {block} products of a block", str(partial))
        return results


@irdl_op_definition
class ContribDepthwiseConv2DNCHWcOp(Conv2D):
    """Depthwise 2-d convolution on blocked layouts such as NCHW16c and OIHW1i16o."""

    name = "relay.nn.contrib_depthwise_conv2d_NCHWc"


@irdl_op_definition
class Conv3DOp(Conv):
    """3-d convolution (cross-correlation), NCDHW and OIDHW by default; blocks as in NCDHW16c and OIDHW16i16o, too."""

    name = "relay.nn.conv3d"
    SPATIAL: ClassVar[str] = "DHW"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    strides = ints(1, 1, 1)
    padding = ints(0, 0, 0)
    dilation = ints(1, 1, 1)
    groups = integer(1)
    channels = optional_integer()
    kernel_size = optional_ints()
    data_layout = string("NCDHW")
    kernel_layout = string("OIDHW")
    out_layout = string("")
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE, CONV_LAYOUTS, CONV_CHANNELS)
