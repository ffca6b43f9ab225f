"""Transposed convolutions of one to three spatial axes: what the gradient of a convolution is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import integer, ints, optional_integer, optional_ints, string
from .convolution import CONV_LAYOUTS, expand_padding
from .layout import axes_of, layout_view, logical_shape, parse_layout, shape_in
from .numerics import AnyArray, factor
from .operator import Operator, Signature, Tensor
from .pooling import SPATIAL
from .traits import OUT_ELEMWISE_FUSABLE


class ConvTranspose(Operator):
    """Shared by the transposed convolutions: TVM's Conv2DTransposeAttrs.

    Data `(n, c, y, x)`, weight `(c, outputs / groups, ky, kx)`, or in other layouts; I is the axis of the data's
    channels in all of a kernel's, as in TVM, OIHW too. Element y of the image adds, times tap k of the kernel,
    to element `y * stride + k * dilation - padding` of the result, which has `output_padding` more at its end.
    """

    SPATIAL: ClassVar[str]
    """The letters of the spatial axes."""
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        rank, letters = len(cls.SPATIAL), "NC" + cls.SPATIAL
        data_axes, kernel_axes = axes_of(sig, "data_layout", letters), axes_of(sig, "kernel_layout", "IO" + cls.SPATIAL)
        out_axes = axes_of(sig, "out_layout" if sig.str("out_layout") else "data_layout", letters)
        sig.rank(0, len(data_axes))
        sig.rank(1, len(kernel_axes))
        data, weight = logical_shape(sig.shape(0), data_axes), logical_shape(sig.shape(1), kernel_axes)
        batch, channels, *image = (data[letter] for letter in letters)
        depth, per_group, *kernel = (weight[letter] for letter in "IO" + cls.SPATIAL)
        groups = sig.int("groups")
        if groups < 1 or channels % groups or depth != channels:
            sig.fail(f"a weight of {channels} input channels in {groups} groups", str(sig.types[1]))
        if (declared := sig.get("channels")) is not None and declared != per_group * groups:
            sig.fail(f"channels = {per_group * groups} as the kernel has", str(declared))
        if (size := sig.get("kernel_size")) is not None and list(size) != kernel:
            sig.fail(f"kernel_size {kernel} as the kernel has", str(list(size)))
        pads = expand_padding(sig, sig.ints("padding"), rank)
        columns = [sig.spatial(name, rank) for name in ("strides", "dilation", "output_padding")]
        full = {"N": batch, "C": per_group * groups}
        rows = zip(cls.SPATIAL, image, kernel, *columns, pads[:rank], pads[rank:], strict=True)
        for letter, extent, k, s, d, more, before, after in rows:
            out = (extent - 1) * s + d * (k - 1) + 1 - before - after + more
            expected, actual = "strides and dilation >= 1, and a result", f"stride {s}, dilation {d}, extent {out}"
            if min(s, d) < 1:
                sig.fail(expected, actual)
            sig.require(out - 1, expected, actual)
            full[letter] = out
        return [tensor_of(sig.product_element(), shape_in(sig, full, out_axes))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        """Compute a matrix product per tap of the kernel, and add it at its position."""
        plain, result = "NC" + cls.SPATIAL, sig.str("out_layout") or sig.str("data_layout")
        x = factor(layout_view(data, sig.str("data_layout"), plain), sig.str("out_dtype"))
        w = factor(layout_view(weight, sig.str("kernel_layout"), "IO" + cls.SPATIAL), sig.str("out_dtype"))
        (n, channels, *image), (_, per_group, *kernel) = x.shape, w.shape
        rank, groups = len(image), sig.int("groups")
        strides, dilation = sig.ints("strides"), sig.ints("dilation")
        extents = logical_shape(cls.infer(sig)[0].get_shape(), parse_layout(result))
        shape = [extents[letter] for letter in plain]
        pads = expand_padding(sig, sig.ints("padding"), rank)
        sizes = zip(image, kernel, strides, dilation, shape[2:], pads, strict=False)
        full = [max((e - 1) * s + d * (k - 1) + 1, before + out) for e, k, s, d, out, before in sizes]
        total = np.zeros((n, groups, per_group, *full), x.dtype)
        grouped = x.reshape(n, groups, channels // groups, -1)
        w = w.reshape(groups, channels // groups, per_group, *kernel)
        for position in np.ndindex(*kernel):
            part = np.matmul(w[..., *position].transpose(0, 2, 1), grouped).reshape(n, groups, per_group, *image)
            slices = [
                slice(at * d, at * d + (e - 1) * s + 1, s)
                for at, d, e, s in zip(position, dilation, image, strides, strict=True)
            ]
            total[..., *slices] += part
        cut = [slice(before, before + out) for before, out in zip(pads, shape[2:], strict=False)]
        return layout_view(total.reshape(n, groups * per_group, *full)[..., *cut], plain, result)


def _transpose(rank: int) -> type[ConvTranspose]:
    @irdl_op_definition
    class Row(ConvTranspose):
        name = f"relay.nn.conv{rank}d_transpose"
        SPATIAL: ClassVar[str] = SPATIAL[rank]
        channels = optional_integer()
        kernel_size = optional_ints()
        strides = ints(*[1] * rank)
        output_padding = ints(*[0] * rank)
        padding = ints(*[0] * rank)
        dilation = ints(*[1] * rank)
        groups = integer(1)
        data_layout = string(f"NC{SPATIAL}")
        kernel_layout = string(f"IO{SPATIAL}")
        out_layout = string("")
        out_dtype = string("")
        traits = traits_def(CONV_LAYOUTS)

    return Row


Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp = map(_transpose, (1, 2, 3))
