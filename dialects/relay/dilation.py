"""Dilations: of a tensor by what comes between its elements, and the morphological one of an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..element_types import DTYPES, numpy_dtype
from ..sizes.types import tensor_of
from .attributes import ints, real, required_ints, string
from .convolution import expand_padding, window_extent
from .numerics import AnyArray, strided
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE
from .transform import Injective


@irdl_op_definition
class DilateOp(Injective):
    """The elements `strides[i]` apart along each axis, and `dilation_value` between them."""

    name = "relay.nn.dilate"
    strides = required_ints()
    dilation_value = real(0.0)

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, strides = sig.shape(0), sig.ints("strides")
        if len(strides) != len(old) or any(stride < 1 for stride in strides):
            sig.fail(f"{len(old)} strides of at least 1", str(list(strides)))
        return [max(0, (extent - 1) * stride + 1) for extent, stride in zip(old, strides, strict=True)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        out = np.full(cls.extents(sig), sig.get("dilation_value")).astype(x.dtype)
        out[tuple(slice(None, None, stride) for stride in sig.ints("strides"))] = x
        return out


LAYOUTS = {"NCHW": "IHW", "NHWC": "HWI"}
"""Layouts of an image, each with that of a kernel."""


@irdl_op_definition
class Dilation2DOp(Operator):
    """The greatest sum of a window's elements and `weight`'s, one kernel for each channel (grey-scale morphology).

    Behind the edges, `padding` (top, left, bottom, right) far, the image is 0.
    """

    name = "relay.image.dilation2d"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    strides = ints(1, 1)
    padding = ints(0, 0, 0, 0)
    dilations = ints(1, 1)
    data_layout = string("NCHW")
    kernel_layout = string("IHW")
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        layout, kernel_layout = sig.str("data_layout"), sig.str("kernel_layout")
        if LAYOUTS.get(layout) != kernel_layout:
            sig.fail("layouts NCHW and IHW, or NHWC and HWI", f"{layout} and {kernel_layout}")
        sig.same_element()
        data, kernel = dict(zip(layout, sig.rank(0, 4), strict=True)), cls.kernel(sig)
        if kernel["I"] != data["C"]:
            sig.fail(f"a kernel for each of {data['C']} channels", str(sig.types[1]))
        if (dtype := sig.str("out_dtype")) and dtype not in DTYPES:
            sig.fail(f"an out_dtype among {', '.join(DTYPES)}", repr(dtype))
        pads = expand_padding(sig, sig.ints("padding"))
        strides, dilations = sig.pair("strides"), sig.pair("dilations")
        for at, axis in enumerate("HW"):
            around = pads[at] + pads[at + 2]
            data[axis] = window_extent(sig, data[axis], kernel[axis], strides[at], dilations[at], around, False)
        return [tensor_of(DTYPES[dtype] if dtype else sig.types[0].element_type, [data[axis] for axis in layout])]

    @classmethod
    def kernel(cls, sig: Signature) -> dict[str, int]:
        """The extents of the kernel by their letters."""
        return dict(zip(sig.str("kernel_layout"), sig.rank(1, 3), strict=True))

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, weight: AnyArray) -> AnyArray:
        (result,) = cls.infer(sig)
        last = sig.str("data_layout") == "NHWC"
        axes = (1, 2) if last else (2, 3)
        counts = [result.get_shape()[axis] for axis in axes]
        top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
        widths = {axes[0]: (top, bottom), axes[1]: (left, right)}
        dtype = numpy_dtype(result.element_type)
        padded = np.pad(x, [widths.get(axis, (0, 0)) for axis in range(4)]).astype(dtype)
        kernel, dilations = cls.kernel(sig), sig.pair("dilations")
        sums: list[AnyArray] = []
        for offset in np.ndindex(kernel["H"], kernel["W"]):
            starts = [o * d for o, d in zip(offset, dilations, strict=True)]
            window = strided(padded, axes, starts, counts, sig.pair("strides"))
            number = weight[offset] if last else weight[(slice(None), *offset, None, None)]
            sums.append(window + number.astype(dtype))
        return np.max(np.stack(sums), axis=0)
