"""Products of floats with weights of 8 bits: the data are quantised on the way, rows or images on scales of their own.

As the kernels do it, so that results are theirs: the integers that the data become depend on the range of all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.qnn_products import Conv2DOp as QnnConv2DOp
from ...dialects.relay.qnn_products import DenseOp as QnnDenseOp
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, term, where
from .activations import fused
from .context import Context
from .products import rows_of, shaped_back
from .quantized_elementwise import nearest
from .windows import conv2d, depthwise_conv2d, with_bias

_MOST = 127.0


def symmetric(rows: Term) -> tuple[Term, Term]:
    """Rows (n, k) as int8 around 0, and their scales (n, 1)."""
    most = absolute(rows).apply(reduce.MaxOp, axis=[1], keepdims=True)
    # A row of zeros has any scale.
    most = where(most > 0, most, most.number(1.0))
    steps = nearest(rows * (most.number(_MOST) / most)).clip(-_MOST, _MOST)
    return steps.to("int8"), most / _MOST


def asymmetric(rows: Term) -> tuple[Term, Term, Term]:
    """Rows (n, k) as int32 from -128 to 127, their scales, and their zero points, of float32 (n, 1)."""
    low = rows.apply(reduce.MinOp, axis=[1], keepdims=True).to("float64").apply(ew.MinimumOp, 0.0)
    high = rows.apply(reduce.MaxOp, axis=[1], keepdims=True).to("float64").apply(ew.MaximumOp, 0.0)
    flat = high.equal(low)
    wide = where(flat, high.number(255.0), (high - low))
    scale = wide / 255.0
    from_low, from_high = -(low / scale) - 128.0, -(high / scale) + 127.0
    nearer_low = absolute(low / scale) + 128.0 < absolute(high / scale) + 127.0
    zero = nearest(where(nearer_low, from_low, from_high).clip(-128.0, 127.0))
    zero = where(flat, zero.number(0.0), zero).to("float32")
    single = scale.to("float32")
    steps = nearest(zero + rows * (1.0 / single)).clip(-128.0, 127.0)
    return steps.to("int32"), single, zero


def _scales(ctx: Context, rank: int) -> Term:
    """The weights' scales, as they go along the last axis."""
    scale = ctx.quantization(1).scale
    shape = () if len(scale) == 1 else (*[1] * (rank - 1), len(scale))
    return Term(ctx, ctx.constant(scale.reshape(shape), "scale"))


def fully_connected(ctx: Context) -> SSAValue:
    rows = Term(ctx, rows_of(ctx))
    none, one = ctx.number(0, "int32"), ctx.number(1, "float32")
    if ctx.flag("AsymmetricQuantizeInputs"):
        steps, scale, zero = asymmetric(rows)
        parameters = (zero.to("int32").value, none, one, one)
        total = ctx.emit(QnnDenseOp, steps.to("int8").value, ctx.value(1), *parameters)
    else:
        steps, scale = symmetric(rows)
        total = ctx.emit(QnnDenseOp, steps.value, ctx.value(1), none, none, one, one)
    result = (Term(ctx, total).to("float32") * (scale * _scales(ctx, 2))).value
    if ctx.has(2):
        result = ctx.emit(BiasAddOp, result, ctx.value(2))
    return shaped_back(ctx, fused(ctx, result))


def _convolution(of: Callable[..., Term], axis: int) -> Converter[Context]:
    """Each image on its own scale: around 0 for weights of one scale, else with a zero point."""

    def convert(ctx: Context) -> SSAValue:
        shape = ctx.shape(0)
        if len(shape) != 4:
            ctx.fail("a 4-d input (batch, height, width, channels)", f"shape {list(shape)}")
        rows = term(ctx, 0).reshape(shape[0], int(np.prod(shape[1:])))
        if axis == 0 and len(ctx.quantization(1).scale) != ctx.shape(1)[axis]:
            steps, scale = symmetric(rows)
            none, one = (Term(ctx, ctx.number(at, dtype)) for at, dtype in enumerate(("int32", "float32")))
            total = of(ctx, steps.reshape(*shape), none, none, one, one, op=QnnConv2DOp)
        else:
            steps, scale, zero = asymmetric(rows)
            total = of(ctx, (steps - zero.to("int32")).reshape(*shape))
        scale = scale.reshape(shape[0], 1, 1, 1)
        result = total.to("float32") * scale * _scales(ctx, len(total.shape))
        return fused(ctx, with_bias(ctx, result).value)

    return Converter(convert)


HYBRID = {
    "CONV_2D": _convolution(conv2d, 0),
    "DEPTHWISE_CONV_2D": _convolution(depthwise_conv2d, 3),
    "FULLY_CONNECTED": Converter(fully_connected),
}
