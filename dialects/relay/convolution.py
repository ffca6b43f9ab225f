"""Convolutions, and the sliding window that they share with the poolings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import integer, ints, optional_integer, optional_ints, string
from .layout import axes_of, layout_view, logical_shape
from .numerics import AnyArray, strided, widened
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE


def expand_padding(sig: Signature, padding: Sequence[int]) -> tuple[int, int, int, int]:
    """TVM's 1, 2 or 4 pad widths as (top, left, bottom, right)."""
    match tuple(padding):
        case (p,):
            return p, p, p, p
        case (h, w):
            return h, w, h, w
        case (top, left, bottom, right):
            return top, left, bottom, right
        case _:
            sig.fail("1, 2 or 4 pad widths", str(list(padding)))


def window_extent(sig: Signature, extent: int, window: int, stride: int, dilation: int, pads: int, ceil: bool) -> int:
    """How many windows fit along one axis."""
    span = extent + pads - (dilation * (window - 1) + 1)
    if span < 0 or stride < 1 or dilation < 1:
        sig.fail(
            f"a window that fits the padded extent {extent + pads}, stride and dilation >= 1",
            f"window {window}, stride {stride}, dilation {dilation}",
        )
    return (span + stride - 1 if ceil else span) // stride + 1


class Conv2D(Operator):
    """Shared by the 2-d convolutions: TVM's Conv2DAttrs."""

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

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        data_axes, kernel_axes = axes_of(sig, "data_layout", "NCHW"), axes_of(sig, "kernel_layout", "OIHW")
        out_axes = axes_of(sig, "out_layout" if sig.str("out_layout") else "data_layout", "NCHW")
        sig.rank(0, len(data_axes))
        sig.rank(1, len(kernel_axes))
        data, kernel = logical_shape(sig.shape(0), data_axes), logical_shape(sig.shape(1), kernel_axes)
        groups = sig.int("groups")
        if groups < 1 or data["C"] != kernel["I"] * groups:
            sig.fail(f"{data['C']} input channels = kernel input channels x groups", f"{kernel['I']} x {groups}")
        if kernel["O"] % groups:
            sig.fail(f"output channels divisible by groups={groups}", str(kernel["O"]))
        if (channels := sig.get("channels")) is not None and channels != kernel["O"]:
            sig.fail(f"channels = {kernel['O']} as the kernel has", str(channels))
        if (size := sig.get("kernel_size")) is not None and size != (kernel["H"], kernel["W"]):
            sig.fail(f"kernel_size [{kernel['H']}, {kernel['W']}] as the kernel has", str(list(size)))
        top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
        (sh, sw), (dh, dw) = sig.pair("strides"), sig.pair("dilation")
        full = {
            "N": data["N"],
            "C": kernel["O"],
            "H": window_extent(sig, data["H"], kernel["H"], sh, dh, top + bottom, False),
            "W": window_extent(sig, data["W"], kernel["W"], sw, dw, left + right, False),
        }
        block = {axis.letter: axis.factor for axis in out_axes if axis.factor}
        shape = [axis.factor or full[axis.letter] // block.get(axis.letter, 1) for axis in out_axes]
        return [TensorType(sig.same_element(), shape)]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        """In NCHW and OIHW: one matrix product per tap of the kernel, summed."""
        x = widened(layout_view(data, sig.str("data_layout"), "NCHW"))
        w = widened(layout_view(weight, sig.str("kernel_layout"), "OIHW"))
        top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
        strides, dilation, groups = sig.ints("strides"), sig.ints("dilation"), sig.int("groups")
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
        (n, _, height, width), (channels, depth, kh, kw) = x.shape, w.shape
        oh = (height - dilation[0] * (kh - 1) - 1) // strides[0] + 1
        ow = (width - dilation[1] * (kw - 1) - 1) // strides[1] + 1
        w = w.reshape(groups, channels // groups, depth, kh, kw)
        total = np.zeros((n, groups, channels // groups, oh * ow), x.dtype)
        for y, z in np.ndindex(kh, kw):
            tap = strided(x, (2, 3), (y * dilation[0], z * dilation[1]), (oh, ow), strides)
            tap = tap.reshape(n, groups, depth, oh * ow)
            total += w[..., y, z] * tap if depth == 1 else np.matmul(w[..., y, z], tap)
        out = total.reshape(n, channels, oh, ow)
        return layout_view(out, "NCHW", sig.str("out_layout") or sig.str("data_layout"))


@irdl_op_definition
class Conv2DOp(Conv2D):
    """2-d convolution (cross-correlation), NCHW and OIHW by default."""

    name = "relay.nn.conv2d"


@irdl_op_definition
class ContribConv2DNCHWcOp(Conv2D):
    """2-d convolution on blocked layouts such as NCHW16c and OIHW16i16o."""

    name = "relay.nn.contrib_conv2d_NCHWc"


@irdl_op_definition
class ContribDepthwiseConv2DNCHWcOp(Conv2D):
    """Depthwise 2-d convolution on blocked layouts such as NCHW16c and OIHW1i16o."""

    name = "relay.nn.contrib_depthwise_conv2d_NCHWc"
