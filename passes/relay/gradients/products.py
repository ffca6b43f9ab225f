"""Gradients of matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.relay.convolution import Conv2DOp, expand_padding
from ....dialects.relay.convolution_transpose import Conv2DTransposeOp
from ....dialects.relay.matmul import BatchMatmulOp, BiasAddOp, DenseOp, MatmulOp
from ....dialects.relay.operator import Operator, shape_of
from ....dialects.relay.reduce import SumOp
from .site import Gradients, Rule, Site


def _dense(s: Site, g: Sequence[SSAValue]) -> Gradients:
    data, weight = s.op.operands
    return [s.add(MatmulOp(g[0], weight)), s.add(MatmulOp(g[0], data, transpose_a=True))]


def _products(
    kind: type[MatmulOp | BatchMatmulOp], s: Site, g: SSAValue, a: SSAValue, b: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """For c = A B, where either may be what is given turned over."""
    turned_a, turned_b = bool(s.sig.get("transpose_a")), bool(s.sig.get("transpose_b"))

    def times(x: SSAValue, turn_x: bool, y: SSAValue, turn_y: bool) -> SSAValue:
        return s.add(kind(x, y, transpose_a=turn_x, transpose_b=turn_y))

    by_a = times(b, turned_b, g, True) if turned_a else times(g, False, b, not turned_b)
    by_b = times(g, True, a, turned_a) if turned_b else times(a, not turned_a, g, False)
    return by_a, by_b


def _matmul(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    return _products(MatmulOp, s, g[0], a, b)


def _batch_matmul(s: Site, g: Sequence[SSAValue]) -> Gradients:
    a, b = s.op.operands
    by_a, by_b = _products(BatchMatmulOp, s, g[0], a, b)
    return [s.collapse(by_a, a), s.collapse(by_b, b)]


def _bias_add(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axis = s.sig.int("axis") % len(shape_of(s.x))
    return [g[0], s.add(SumOp(g[0], axis=[axis], exclude=True))]


def _conv2d(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """The data's is a transposed convolution; the weight's a convolution of the data by the gradient, which trade
    strides for dilations, images for channels.
    """
    sig = s.sig
    layouts = [sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or "NCHW"]
    if layouts != ["NCHW", "OIHW", "NCHW"]:
        sig.fail("layouts NCHW and OIHW, to take a gradient", ", ".join(layouts))
    data, weight = s.op.operands
    (n, channels, *image), (outputs, depth, *window) = shape_of(data), shape_of(weight)
    groups, strides, dilation = sig.int("groups"), sig.pair("strides"), sig.pair("dilation")
    pads = expand_padding(sig, sig.ints("padding"))
    rest = [(image[i] + pads[i] + pads[i + 2] - dilation[i] * (window[i] - 1) - 1) % strides[i] for i in range(2)]
    by_data = s.add(
        Conv2DTransposeOp(
            g[0],
            weight,
            channels=channels,
            kernel_size=window,
            strides=strides,
            padding=pads,
            output_padding=rest,
            dilation=dilation,
            groups=groups,
        )
    )
    spatial = list(shape_of(g[0])[2:])
    images = s.transpose(s.reshape(data, [n, groups, depth, *image]), [2, 1, 0, 3, 4])
    kernels = s.transpose(s.reshape(g[0], [n, groups, outputs // groups, *spatial]), [1, 2, 0, 3, 4])
    swapped = s.add(
        Conv2DOp(
            s.reshape(images, [depth, groups * n, *image]),
            s.reshape(kernels, [outputs, n, *spatial]),
            strides=dilation,
            dilation=strides,
            padding=pads,
            groups=groups,
            channels=outputs,
            kernel_size=spatial,
        )
    )
    if shape_of(swapped)[2:] != tuple(window):
        swapped = s.cut(swapped, [0, 0, 0, 0], [depth, outputs, *window])
    return [by_data, s.transpose(swapped, [1, 0, 2, 3])]


RULES: dict[type[Operator], Rule] = {
    DenseOp: _dense,
    MatmulOp: _matmul,
    BatchMatmulOp: _batch_matmul,
    BiasAddOp: _bias_add,
    Conv2DOp: _conv2d,
}
