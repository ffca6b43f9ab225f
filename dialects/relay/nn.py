"""Neural network operators: convolution, dense, normalisation, softmax, pooling."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import boolean, integer, ints, optional_integer, optional_ints, real, string
from .layout import axes_of, logical_shape
from .operator import (
    BROADCAST,
    OPAQUE,
    OUT_ELEMWISE_FUSABLE,
    Operator,
    Signature,
    Tensor,
)


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


@irdl_op_definition
class DenseOp(Operator):
    """`data (m, k)` times the transpose of `weight (n, k)`."""

    name = "relay.nn.dense"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    units = optional_integer()
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        n, depth = sig.rank(1, 2)
        if depth != k:
            sig.fail(f"a weight of {k} columns", str(sig.types[1]))
        if (units := sig.get("units")) is not None and units != n:
            sig.fail(f"units = {n} as the weight has rows", str(units))
        return [TensorType(sig.same_element(), (m, n))]


@irdl_op_definition
class ContribDensePackOp(Operator):
    """`data (m, k)` times a weight packed as `(n / b, k, b)`; `weight_layout` names the block, `NC16n`."""

    name = "relay.nn.contrib_dense_pack"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    weight_layout = string("NC")
    units = optional_integer()
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        panels, depth, block = sig.rank(1, 3)
        if depth != k:
            sig.fail(f"a packed weight of {k} rows", str(sig.types[1]))
        return [TensorType(sig.same_element(), (m, panels * block))]


@irdl_op_definition
class BatchMatmulOp(Operator):
    """Per batch `x` times `y`, either transposed if said so; `transpose_b` is the default, as in TVM."""

    name = "relay.nn.batch_matmul"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    result = result_def(TensorType)
    transpose_a = boolean(False)
    transpose_b = boolean(True)
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        (bx, *x), (by, *y) = sig.rank(0, 3), sig.rank(1, 3)
        m, k = reversed(x) if sig.get("transpose_a") else x
        depth, n = reversed(y) if sig.get("transpose_b") else y
        if depth != k or (bx != by and 1 not in (bx, by)):
            sig.fail("operands that multiply", f"{sig.types[0]} and {sig.types[1]}")
        return [TensorType(sig.same_element(), (max(bx, by), m, n))]


@irdl_op_definition
class BiasAddOp(Operator):
    """Adds the 1-d `bias` along `axis`."""

    name = "relay.nn.bias_add"
    data = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(1)
    traits = traits_def(BROADCAST)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(shape))
        if sig.rank(1, 1) != (shape[axis],):
            sig.fail(f"a bias of {shape[axis]} elements", str(sig.types[1]))
        sig.same_element()
        return [sig.types[0]]


@irdl_op_definition
class BatchNormOp(Operator):
    """Results: the normalised data, the moving mean and the moving variance."""

    name = "relay.nn.batch_norm"
    data = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    moving_mean = operand_def(TensorType)
    moving_var = operand_def(TensorType)
    result = result_def(TensorType)
    new_mean = result_def(TensorType)
    new_var = result_def(TensorType)
    axis = integer(1)
    epsilon = real(1e-5)
    center = boolean(True)
    scale = boolean(True)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(shape))
        for index in range(1, 5):
            if sig.rank(index, 1) != (shape[axis],):
                sig.fail(f"operand {index} of {shape[axis]} elements", str(sig.types[index]))
        return [sig.types[0], sig.types[3], sig.types[4]]


@irdl_op_definition
class LayerNormOp(Operator):
    """`(data - mean) / sqrt(variance + epsilon) * gamma + beta`, of every row along `axis`; TVM's LayerNormAttrs."""

    name = "relay.nn.layer_norm"
    data = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    epsilon = real(1e-5)
    center = boolean(True)
    scale = boolean(True)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(shape))
        for index in (1, 2):
            if sig.rank(index, 1) != (shape[axis],):
                sig.fail(f"operand {index} of {shape[axis]} elements", str(sig.types[index]))
        sig.same_element()
        return [sig.types[0]]


@irdl_op_definition
class DropoutOp(Operator):
    """Results: the data and the mask. Inference lets the data through."""

    name = "relay.nn.dropout"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    mask = result_def(TensorType)
    rate = real(0.5)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [sig.types[0], sig.types[0]]


class SameType(Operator):
    data = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.axis(sig.int("axis"), len(sig.shape(0)))
        return [sig.types[0]]


@irdl_op_definition
class LRNOp(SameType):
    """`data / (bias + alpha / size * sum of squares over size neighbours along axis) ** beta`."""

    name = "relay.nn.lrn"
    size = integer(5)
    axis = integer(1)
    bias = real(2.0)
    alpha = real(0.00001)
    beta = real(0.75)
    traits = traits_def(OPAQUE)


@irdl_op_definition
class SoftmaxOp(SameType):
    name = "relay.nn.softmax"
    axis = integer(-1)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)


@irdl_op_definition
class LogSoftmaxOp(SameType):
    name = "relay.nn.log_softmax"
    axis = integer(-1)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)


class Pool2D(Operator):
    """Shared by the 2-d poolings; the bare form pools the whole image."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    layout = string("NCHW")
    out_layout = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def image_axes(cls, sig: Signature) -> tuple[int, int]:
        """The positions of H and W."""
        axes = axes_of(sig, "layout", "NCHW")
        sig.rank(0, len(axes))
        letters = [axis.letter for axis in axes]
        return letters.index("H"), letters.index("W")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        axes = cls.image_axes(sig)
        shape = [1 if i in axes else extent for i, extent in enumerate(sig.shape(0))]
        return [TensorType(sig.types[0].element_type, shape)]


class WindowedPool2D(Pool2D):
    """Shared by the poolings over a sliding window."""

    pool_size = ints(1, 1)
    strides = ints(1, 1)
    dilation = ints(1, 1)
    padding = ints(0, 0)
    ceil_mode = boolean(False)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = list(sig.shape(0))
        top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
        window, strides, dilation = sig.pair("pool_size"), sig.pair("strides"), sig.pair("dilation")
        ceil = bool(sig.get("ceil_mode"))
        for i, (axis, pads) in enumerate(zip(cls.image_axes(sig), (top + bottom, left + right), strict=True)):
            shape[axis] = window_extent(sig, shape[axis], window[i], strides[i], dilation[i], pads, ceil)
        return [TensorType(sig.types[0].element_type, shape)]


@irdl_op_definition
class MaxPool2DOp(WindowedPool2D):
    name = "relay.nn.max_pool2d"


@irdl_op_definition
class AvgPool2DOp(WindowedPool2D):
    """Divides by the number of elements inside the image, with `count_include_pad` inside the padded image."""

    name = "relay.nn.avg_pool2d"
    count_include_pad = boolean(False)


@irdl_op_definition
class GlobalMaxPool2DOp(Pool2D):
    name = "relay.nn.global_max_pool2d"


@irdl_op_definition
class GlobalAvgPool2DOp(Pool2D):
    name = "relay.nn.global_avg_pool2d"


OPERATORS: list[type[Operator]] = [
    Conv2DOp,
    ContribConv2DNCHWcOp,
    ContribDepthwiseConv2DNCHWcOp,
    DenseOp,
    ContribDensePackOp,
    BatchMatmulOp,
    BiasAddOp,
    BatchNormOp,
    LayerNormOp,
    DropoutOp,
    LRNOp,
    SoftmaxOp,
    LogSoftmaxOp,
    MaxPool2DOp,
    AvgPool2DOp,
    GlobalMaxPool2DOp,
    GlobalAvgPool2DOp,
]
