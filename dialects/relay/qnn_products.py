"""Products of quantised tensors: sums of int32 of what integers are above their zero points.

Kernels multiply integers in words of 32 bits, two or four at once (te.dot2, te.dot4). The `contrib` operators take
their weights in such words, made by `qnn.pack_words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i16, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def

from ..element_types import dtype_name
from ..sizes.types import extents_of, tensor_of
from . import convolution_transpose, matmul
from .attributes import boolean, integer, ints, optional_integer, optional_ints, string, to_attribute
from .convolution import Conv2D, expand_padding, window_extent
from .layout import layout_view
from .layout_traits import OwnLayouts
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .qnn import parameter, spread
from .traits import INJECTIVE, OUT_ELEMWISE_FUSABLE


def _of_bytes(sig: Signature, *indices: int) -> None:
    for index in indices:
        if dtype_name(sig.types[index].element_type) not in ("int8", "uint8"):
            sig.fail(f"operand {index} of int8 or uint8", str(sig.types[index]))


def _words_signature(sig: Signature) -> Signature:
    """The same of int32 tensors, as what computes in those sees it."""
    types = tuple(tensor_of(i32, extents_of(t)) for t in sig.types[:2])
    return replace(sig, types=types)


def _centred(x: AnyArray, zero_point: AnyArray, axis: int) -> AnyArray:
    """Integers above their zero point; float64 holds all sums of their products."""
    return (x.astype(np.int32) - spread(zero_point, axis, x.ndim)).astype(np.float64)


def wrapped(total: AnyArray) -> AnyArray:
    """Sums as int32, modulo 2^32."""
    return total.astype(np.int64).astype(np.int32)


@irdl_op_definition
class Conv2DOp(Conv2D):
    """2-d convolution, of `data - input_zero_point` with `weight - kernel_zero_point` (one, or one per output)."""

    name = "relay.qnn.conv2d"
    traits = traits_def(OwnLayouts(("data_layout", "kernel_layout"), ("", "")))
    # Own operands come before those of a base.
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    kernel_zero_point = operand_def(TensorType)
    input_scale = operand_def(TensorType)
    kernel_scale = operand_def(TensorType)
    out_dtype = string("int32")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _of_bytes(sig, 0, 1)
        parameter(sig, 2, (), 0)
        parameter(sig, 3, sig.shape(1), 0)
        return super().infer(_words_signature(sig))

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray, *parameters: AnyArray) -> AnyArray:
        x, w = _centred(data, parameters[0], 0), _centred(weight, parameters[1], 0)
        return wrapped(super().evaluate(_words_signature(sig), x, w))


@irdl_op_definition
class Conv2DTransposeOp(convolution_transpose.ConvTranspose):
    """2-d transposed convolution, of `data - input_zero_point` with `weight - kernel_zero_point`."""

    name = "relay.qnn.conv2d_transpose"
    SPATIAL: ClassVar[str] = "HW"
    # Own operands come before those of a base.
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    kernel_zero_point = operand_def(TensorType)
    input_scale = operand_def(TensorType)
    kernel_scale = operand_def(TensorType)
    strides = ints(1, 1)
    padding = ints(0, 0)
    dilation = ints(1, 1)
    groups = integer(1)
    channels = optional_integer()
    kernel_size = optional_ints()
    data_layout = string("NCHW")
    kernel_layout = string("IOHW")
    out_layout = string("")
    output_padding = ints(0, 0)
    out_dtype = string("int32")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _of_bytes(sig, 0, 1)
        parameter(sig, 2, (), 0)
        parameter(sig, 3, (), 0)
        return super().infer(_words_signature(sig))

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray, *parameters: AnyArray) -> AnyArray:
        x, w = _centred(data, parameters[0], 0), _centred(weight, parameters[1], 0)
        return wrapped(convolution_transpose.Conv2DTransposeOp.evaluate(_words_signature(sig), x, w))


@irdl_op_definition
class DenseOp(Operator):
    """`data (m, k)` times the transpose of `weight (n, k)`, each above its zero point.

    The weight's is one number or one per row; beyond TVM, the data's may be one per row, (m, 1).
    """

    name = "relay.qnn.dense"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    kernel_zero_point = operand_def(TensorType)
    input_scale = operand_def(TensorType)
    kernel_scale = operand_def(TensorType)
    result = result_def(TensorType)
    units = optional_integer()
    out_dtype = string("int32")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        (m, k), (n, depth) = sig.rank(0, 2), sig.rank(1, 2)
        _of_bytes(sig, 0, 1)
        if depth != k:
            sig.fail(f"a weight of {k} columns", str(sig.types[1]))
        for index in (2, 3):
            parameter(sig, index, (sig.shape(index - 2)[0], 1), 0)
        return [tensor_of(i32, (m, n))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray, *parameters: AnyArray) -> AnyArray:
        return wrapped(_centred(data, parameters[0], 0) @ _centred(weight, parameters[1], 0).T)


@irdl_op_definition
class BatchMatmulOp(Operator):
    """Per batch `x` times `y`, `y` transposed by default; each above its zero point.

    Beyond TVM, zero points may broadcast to their tensors if they are the same all along the summed axis.
    """

    name = "relay.qnn.batch_matmul"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    x_zero_point = operand_def(TensorType)
    y_zero_point = operand_def(TensorType)
    x_scale = operand_def(TensorType)
    y_scale = operand_def(TensorType)
    result = result_def(TensorType)
    transpose_a = boolean(False)
    transpose_b = boolean(True)
    out_dtype = string("int32")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _of_bytes(sig, 0, 1)
        for index in (2, 3):
            parameter(sig, index, sig.shape(index - 2), 0)
        return matmul.BatchMatmulOp.infer(_words_signature(sig))

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, y: AnyArray, *parameters: AnyArray) -> AnyArray:
        left, right = _centred(x, parameters[0], 0), _centred(y, parameters[1], 0)
        return wrapped(matmul.BatchMatmulOp.evaluate(_words_signature(sig), left, right))


def packed(parts: Sequence[AnyArray], dtype: str = "int32") -> AnyArray:
    """Words of int32 of 2 int16 or 4 int8, or half words of int16 of 2 int8; the first in the low bits."""
    width = (32 if dtype == "int32" else 16) // len(parts)
    total = np.zeros(parts[0].shape, np.int64)
    for position, part in enumerate(parts):
        total |= (part.astype(np.int64) & ((1 << width) - 1)) << (position * width)
    return total.astype(np.uint32).view(np.int32) if dtype == "int32" else total.astype(np.uint16).view(np.int16)


@irdl_op_definition
class PackWordsOp(Operator):
    """Words of `parts` neighbours along `axis`, which are 0 past the end.

    Of 2: what the data are above their zero point (one number, or one per index of axis 0), as int16; of 4: the data.
    dtype: of the words; "int16" for half words of 2 int8, which the data are.
    """

    name = "relay.qnn.pack_words"
    data = operand_def(TensorType)
    zero_point = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    parts = integer(2)
    dtype = string("int32")
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _of_bytes(sig, 0)
        shape = list(sig.shape(0))
        parameter(sig, 1, shape, 0)
        if (dtype := sig.str("dtype")) not in ("int32", "int16") or (dtype == "int16" and sig.int("parts") != 2):
            sig.fail("words of int32, or of int16 with 2 parts", dtype)
        if (parts := sig.int("parts")) not in (2, 4):
            sig.fail("2 or 4 parts", str(parts))
        axis = sig.axis(sig.int("axis"), len(shape))
        shape[axis] = -(-shape[axis] // parts)
        return [tensor_of(i32 if dtype == "int32" else i16, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, zero_point: AnyArray) -> AnyArray:
        axis, parts = sig.int("axis") % x.ndim, sig.int("parts")
        wide = x.astype(np.int32)
        if parts == 2 and sig.str("dtype") == "int32":
            wide = wide - spread(zero_point, 0, x.ndim)
        widths = [(0, 0)] * x.ndim
        widths[axis] = (0, -x.shape[axis] % parts)
        wide = np.moveaxis(np.pad(wide, widths), axis, -1)
        return np.moveaxis(packed([wide[..., part::parts] for part in range(parts)], sig.str("dtype")), -1, axis)


def unpacked(words: AnyArray, parts: int, axis: int, extent: int, signed: bool = True) -> AnyArray:
    """The numbers in words along an axis, of which there are `extent`, as float64."""
    kinds = {2: np.int16, 1: np.int8 if signed else np.uint8}
    last = np.ascontiguousarray(np.moveaxis(words, axis, -1))
    return np.moveaxis(last.view(kinds[words.dtype.itemsize // parts])[..., :extent], -1, axis).astype(np.float64)


_PLAIN = {"data_layout": to_attribute("NCHW"), "kernel_layout": to_attribute("OIHW"), "out_layout": to_attribute("")}


class Blocked(Operator):
    """Shared by the convolutions on NCHW[x]c data whose weights are words.

    correction: for each output channel what is taken off the sum, as (outputs / y, y). Only with 4 parts, of which the
    data's are bytes above the least number of their dtype, and zero points are not taken off.
    """

    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    correction = opt_operand_def(TensorType)
    result = result_def(TensorType)
    strides = ints(1, 1)
    padding = ints(0, 0)
    dilation = ints(1, 1)
    groups = integer(1)
    kernel_size = ints(1, 1)
    parts = integer(2)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _of_bytes(sig, 0)
        n, _, height, width, _ = sig.rank(0, 5)
        outputs, *_, block = sig.rank(1, 6)
        top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
        (kh, kw), (sh, sw), (dh, dw) = (sig.spatial(name, 2) for name in ("kernel_size", "strides", "dilation"))
        oh = window_extent(sig, height, kh, sh, dh, top + bottom, False)
        ow = window_extent(sig, width, kw, sw, dw, left + right, False)
        return [tensor_of(i32, (n, outputs, oh, ow, block))]

    @classmethod
    def kernel(cls, sig: Signature, words: AnyArray) -> AnyArray:
        """The weight in OIHW."""
        raise NotImplementedError

    @classmethod
    def evaluate(
        cls, sig: Signature, data: AnyArray, words: AnyArray, zero_point: AnyArray, correction: AnyArray | None
    ) -> AnyArray:
        x = layout_view(data, f"NCHW{data.shape[-1]}c", "NCHW")
        w = cls.kernel(sig, words)
        # Zero points were not taken off the data: outside of the image they are what stands for 0.
        plain = Signature(
            sig.op,
            tuple(tensor_of(i32, a.shape) for a in (x, w)),
            {**sig.attributes, **_PLAIN},
            sig.location,
            sig.groups,
        )
        total = wrapped(Conv2D.evaluate(plain, _centred(x, zero_point, 0), w))
        return layout_view(total, "NCHW", f"NCHW{words.shape[-1]}c")


@irdl_op_definition
class ContribConv2DNCHWcOp(Blocked):
    """2-d convolution; the weight is OIHW[x/p]i[y]o, words of p input channels.

    along: "C" for that. Of blocks of one channel also "W" for words of 2 neighbours in a row, and "I" for words of all
    channels of a pixel; both OIHW1i[y]o.
    """

    name = "relay.qnn.contrib_conv2d_NCHWc"
    # Own operands and attributes come before those of a base.
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    correction = opt_operand_def(TensorType)
    along = string("C")

    @classmethod
    def kernel(cls, sig: Signature, words: AnyArray) -> AnyArray:
        if sig.str("along") == "W":
            return ContribDepthwiseConv2DNCHWcOp.kernel(sig, words)
        _, chunks, _, _, block = sig.shape(0)
        apart = sig.str("along") == "I"
        w = unpacked(words, sig.int("parts"), 1 if apart else 4, chunks if apart else block)
        o, i, kh, kw, _, ob = w.shape
        return w.transpose(0, 5, 1, 4, 2, 3).reshape(o * ob, i * block, kh, kw)


@irdl_op_definition
class ContribDepthwiseConv2DNCHWcOp(Blocked):
    """Depthwise 2-d convolution; the weight is OIHW1i[x]o, words of neighbours in a row."""

    name = "relay.qnn.contrib_depthwise_conv2d_NCHWc"

    @classmethod
    def kernel(cls, sig: Signature, words: AnyArray) -> AnyArray:
        w = unpacked(words, sig.int("parts"), 3, sig.ints("kernel_size")[1])
        o, i, kh, kw, _, ob = w.shape
        return w.transpose(0, 5, 1, 4, 2, 3).reshape(o * ob, i, kh, kw)


@irdl_op_definition
class ContribDensePackOp(Operator):
    """`data (m, k)` times a weight packed as `(n / b, k / parts, b)` words; zero points as of `Blocked`.

    The words may be half words of int16, of two int8 each. The correction is (n / b, b), or (m, n / b, b) where rows of
    data have a zero point each.
    """

    name = "relay.qnn.contrib_dense_pack"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    correction = opt_operand_def(TensorType)
    result = result_def(TensorType)
    parts = integer(2)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        _of_bytes(sig, 0)
        m, k = sig.rank(0, 2)
        panels, depth, block = sig.rank(1, 3)
        if depth != -(-k // sig.int("parts")):
            sig.fail(f"words of {k} rows", str(sig.types[1]))
        return [tensor_of(i32, (m, panels * block))]

    @classmethod
    def evaluate(
        cls, sig: Signature, data: AnyArray, words: AnyArray, zero_point: AnyArray, correction: AnyArray | None
    ) -> AnyArray:
        w = unpacked(words, sig.int("parts"), 1, data.shape[1])
        panels, depth, block = w.shape
        rows = w.transpose(0, 2, 1).reshape(panels * block, depth)
        return wrapped(_centred(data, zero_point, 0) @ rows.T)
