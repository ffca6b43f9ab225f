"""Quantised tensors of the default domain: to and from floats, and products of integers."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import qnn, qnn_products
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.reduce import MaxOp, MinOp
from ...dialects.relay.transform import BroadcastToOp, ExpandDimsOp, ReshapeOp, SqueezeOp, StridedSliceOp, TransposeOp
from ...dialects.sizes import broadcast_sizes, ceil_div, same, same_shape
from ...support.dtypes import SMALL, is_float
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term
from ..meanings.products import matrices
from .context import Context
from .quantized_windows import convolution
from .tensors import dtype_of as dtype_of_code


def scale_of(ctx: Context, index: int) -> SSAValue:
    """Input `index` as scales of float32."""
    value = ctx.value(index)
    return value if dtype_of(value) == np.float32 else ctx.emit(ew.CastOp, value, dtype="float32")


def zero_point_of(ctx: Context, index: int) -> SSAValue:
    """Input `index` as zero points of int32; 0 if it is not given, or of floats, which have no other."""
    if not ctx.has(index) or is_float(ctx.dtype(index).name):
        return ctx.constant(np.zeros((), np.int32), "zero_point")
    known = ctx.known(index)
    if known is not None:
        return ctx.constant(known.astype(np.int32), "zero_point")
    value = ctx.value(index)
    return value if dtype_of(value) == np.int32 else ctx.emit(ew.CastOp, value, dtype="int32")


def _code(ctx: Context, name: str) -> str | None:
    """The dtype that an attribute names, if any."""
    code = ctx.int(name, 0)
    return dtype_of_code(code, f"{ctx.node.op_type} '{ctx.node.output[0]}'").name if code else None


def _axis(ctx: Context) -> int:
    """The axis that scales go along."""
    rank, axis = len(ctx.shape(0)), ctx.int("axis", 1)
    own = ctx.shape(1)
    if (not own or same_shape(own, (1,))) and not ctx.int("block_size", 0):
        return -1
    if not -rank <= axis < rank:
        ctx.fail(f"an axis in [{-rank}, {rank})", str(axis))
    return axis % rank


class _Blocks:
    """Scales for blocks of elements along an axis: the data with an axis more, and the parameters with one of 1."""

    def __init__(self, ctx: Context, axis: int):
        self.ctx, self.axis, self.size = ctx, axis, ctx.int("block_size", 0)
        self.shape, own = ctx.shape(0), ctx.shape(1)
        count = cast("int", ceil_div(self.shape[axis], self.size)) if self.size > 0 else 0
        wanted = (*self.shape[:axis], count, *self.shape[axis + 1 :])
        if len(own) == len(wanted):
            for mine, other in zip(own, wanted, strict=True):
                ctx.require_equal(mine, other)
        if not same_shape(own, wanted):
            data, found = (f"[{', '.join(map(str, shape))}]" for shape in (self.shape, own))
            ctx.fail(f"scales for blocks of {self.size} along axis {axis} of {data}", f"shape {found}")
        self.whole = same(self.shape[axis] % self.size, 0)

    def data(self, value: SSAValue) -> SSAValue:
        if not self.whole:
            return value
        before, extent, after = self.shape[: self.axis], self.shape[self.axis], self.shape[self.axis + 1 :]
        return self.ctx.emit(ReshapeOp, value, newshape=(*before, extent // self.size, self.size, *after))

    def parameter(self, value: SSAValue) -> SSAValue:
        if shape_of(value) == ():
            return value
        wide = self.ctx.emit(ExpandDimsOp, value, axis=self.axis + 1)
        if self.whole:
            return wide
        # The last block is cut off: every element gets its own.
        own = list(shape_of(wide))
        own[self.axis + 1] = self.size
        repeated = self.ctx.emit(BroadcastToOp, wide, shape=own)
        own[self.axis : self.axis + 2] = [own[self.axis] * self.size]
        return cut(self.ctx, self.ctx.emit(ReshapeOp, repeated, newshape=own), self.axis, self.shape[self.axis])

    def back(self, value: SSAValue) -> SSAValue:
        return self.ctx.emit(ReshapeOp, value, newshape=self.shape) if self.whole else value


def cut(ctx: Context, value: SSAValue, axis: int, extent: int) -> SSAValue:
    """The first elements along an axis."""
    return ctx.emit(StridedSliceOp, value, begin=(0,), end=(extent,), strides=(1,), axes=(axis,))


def quantize_linear(ctx: Context) -> SSAValue:
    """qnn.quantize, of uint8 when nothing says otherwise."""
    stated = _code(ctx, "output_dtype")
    dtype = ctx.dtype(2).name if ctx.has(2) else stated or "uint8"
    if stated is not None and stated != dtype:
        ctx.fail(f"output_dtype {dtype} as the zero point has", stated)
    value, scale, zero = ctx.value(0), scale_of(ctx, 1), zero_point_of(ctx, 2)
    axis = _axis(ctx)
    if dtype in SMALL and is_float(dtype) and not ctx.int("saturate", 1):
        steps = ctx.emit(ew.DivideOp, ctx.emit(ew.CastOp, value, dtype="float32"), _column(ctx, scale, axis))
        return ctx.emit(ew.CastOp, steps, dtype=dtype)
    if not ctx.int("block_size", 0):
        return ctx.emit(qnn.QuantizeOp, value, scale, zero, axis=axis, out_dtype=dtype)
    if ctx.has(2):
        ctx.require_shape(2, ctx.shape(1), "zero points")
    blocks = _Blocks(ctx, axis)
    parameters = [blocks.parameter(p) for p in (scale, zero)]
    return blocks.back(ctx.emit(qnn.QuantizeOp, blocks.data(value), *parameters, out_dtype=dtype))


def _column(ctx: Context, scale: SSAValue, axis: int) -> SSAValue:
    trailing = len(ctx.shape(0)) - 1 - axis
    if len(shape_of(scale)) != 1 or axis < 0 or not trailing:
        return scale
    return ctx.emit(ExpandDimsOp, scale, axis=1, num_newaxis=trailing)


def dequantize_linear(ctx: Context) -> SSAValue:
    """qnn.dequantize, to the dtype of the scale."""
    dtype = _code(ctx, "output_dtype") or ctx.dtype(1).name
    value, scale, zero = ctx.value(0), scale_of(ctx, 1), zero_point_of(ctx, 2)
    axis = _axis(ctx)
    if not ctx.int("block_size", 0):
        return ctx.emit(qnn.DequantizeOp, value, scale, zero, axis=axis, out_dtype=dtype)
    if ctx.has(2):
        ctx.require_shape(2, ctx.shape(1), "zero points")
    blocks = _Blocks(ctx, axis)
    parameters = [blocks.parameter(p) for p in (scale, zero)]
    return blocks.back(ctx.emit(qnn.DequantizeOp, blocks.data(value), *parameters, out_dtype=dtype))


def dynamic_quantize(ctx: Context, value: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """`value` as uint8, its scale, and its zero point as int32, for the range of all its elements and 0."""
    zero = ctx.scalar(0, value)
    low = ctx.emit(ew.MinimumOp, ctx.emit(MinOp, value), zero)
    high = ctx.emit(ew.MaximumOp, ctx.emit(MaxOp, value), zero)
    scale = ctx.emit(ew.DivideOp, ctx.emit(ew.SubtractOp, high, low), ctx.scalar(255, value))
    # All elements may be 0: any scale serves.
    none = ctx.emit(ew.CastOp, ctx.emit(ew.EqualOp, scale, zero), dtype="float32")
    scale = ctx.emit(ew.AddOp, scale, none)
    start = ctx.emit(ew.RoundOp, ctx.emit(ew.DivideOp, ctx.emit(ew.NegativeOp, low), scale))
    start = ctx.emit(ew.CastOp, ctx.emit(ew.ClipOp, start, a_min=0.0, a_max=255.0), dtype="int32")
    return ctx.emit(qnn.QuantizeOp, value, scale, start, out_dtype="uint8"), scale, start


def dynamic_quantize_linear(ctx: Context) -> tuple[SSAValue, SSAValue, SSAValue]:
    value, scale, start = dynamic_quantize(ctx, ctx.value(0))
    return value, scale, ctx.emit(ew.CastOp, start, dtype="uint8")


def requantized(
    ctx: Context, total: SSAValue, scale: SSAValue, new_scale: SSAValue, zero: SSAValue, dtype: str, axis: int = -1
) -> SSAValue:
    """Sums of int32 in steps of `scale` as integers of a dtype, by a quotient of floats."""
    none = ctx.constant(np.zeros((), np.int32), "zero_point")
    attributes = {"axis": axis, "rounding": "TOEVEN", "compute_dtype": "float32", "out_dtype": dtype}
    return ctx.emit(qnn.RequantizeOp, total, scale, none, new_scale, zero, **attributes)


def qlinear_conv(ctx: Context) -> SSAValue:
    """qnn.conv2d, the bias of int32, and qnn.requantize."""
    data_scale, weight_scale = scale_of(ctx, 1), scale_of(ctx, 4)
    total = convolution(ctx, 0, 3, zero_point_of(ctx, 2), zero_point_of(ctx, 5), data_scale, weight_scale)
    if ctx.has(8):
        total = ctx.emit(BiasAddOp, total, ctx.value(8))
    scale = ctx.emit(ew.MultiplyOp, data_scale, weight_scale)
    dtype = ctx.dtype(7).name if ctx.has(7) else ctx.dtype(0).name
    return requantized(ctx, total, scale, scale_of(ctx, 6), zero_point_of(ctx, 7), dtype, axis=1)


def conv_integer(ctx: Context) -> SSAValue:
    unit = ctx.constant(np.ones((), np.float32), "scale")
    return convolution(ctx, 0, 1, zero_point_of(ctx, 2), zero_point_of(ctx, 3), unit, unit)


def product(ctx: Context, left: SSAValue, right: SSAValue, left_zero: SSAValue, right_zero: SSAValue) -> SSAValue:
    """numpy's matmul of integers above their zero points, one number each or one per row of the left, column of the
    right: qnn.dense on the transposed weight when that is 2-d, else qnn.batch_matmul."""
    a, b, gone = matrices(Term(ctx, left), Term(ctx, right))
    left, right = a.value, b.value
    unit = ctx.constant(np.ones((), np.float32), "scale")
    *batch, m, k = shape_of(left)
    n = shape_of(right)[-1]
    if len(shape_of(right)) == 2:
        weight = ctx.emit(TransposeOp, right, axes=(1, 0))
        rows = Term(ctx, left).reshape(prod(batch) * m, k).value
        rows_zero = _per_row(ctx, left_zero, (*batch, m), prod(batch) * m)
        columns = shape_of(right_zero)
        columns_zero = right_zero if same(prod(columns), 1) else Term(ctx, right_zero).reshape(n).value
        result = ctx.emit(qnn_products.DenseOp, rows, weight, rows_zero, columns_zero, unit, unit)
        result = Term(ctx, result).reshape(*batch, m, n).value
    else:
        result = _batch_product(ctx, left, right, left_zero, right_zero, unit)
    return ctx.emit(SqueezeOp, result, axis=gone) if gone else result


def _per_row(ctx: Context, zero: SSAValue, rows: tuple[int, ...], count: int) -> SSAValue:
    """A zero point of the left operand: one number, or one per row, (count, 1)."""
    own = shape_of(zero)
    if same(prod(own), 1):
        return Term(ctx, zero).reshape().value if own else zero
    if len(own) == 1:
        zero = ctx.emit(ExpandDimsOp, zero, axis=1)
    whole = ctx.emit(BroadcastToOp, zero, shape=(*rows, 1))
    return Term(ctx, whole).reshape(count, 1).value


def _batch_product(
    ctx: Context, left: SSAValue, right: SSAValue, left_zero: SSAValue, right_zero: SSAValue, one: SSAValue
) -> SSAValue:
    (*left_batch, m, _), (*right_batch, _, n) = shape_of(left), shape_of(right)
    found = broadcast_sizes(left_batch, right_batch)
    if found is None:
        ctx.fail("batch dimensions that broadcast", f"{left_batch} and {right_batch}")
    batch = cast("tuple[int, ...]", found)

    def flat(value: SSAValue) -> SSAValue:
        *own, rows, columns = shape_of(value)
        if not same(prod(own), 1) and not same_shape(own, batch):
            value, own = ctx.emit(BroadcastToOp, value, shape=(*batch, rows, columns)), list(batch)
        return Term(ctx, value).reshape(prod(own), rows, columns).value

    def zeros(value: SSAValue, column: bool) -> SSAValue:
        own = shape_of(value)
        if same(prod(own), 1):
            return Term(ctx, value).reshape().value
        if len(own) == 1:
            value = Term(ctx, value).reshape(*((own[0], 1) if column else (1, own[0]))).value
        if len(shape_of(value)) == 2:
            return ctx.emit(ExpandDimsOp, value, axis=0)
        return flat(value)

    operands = (flat(left), flat(right), zeros(left_zero, True), zeros(right_zero, False))
    result = ctx.emit(qnn_products.BatchMatmulOp, *operands, one, one, transpose_b=False)
    return Term(ctx, result).reshape(*batch, m, n).value


def matmul_integer(ctx: Context) -> SSAValue:
    return product(ctx, ctx.value(0), ctx.value(1), zero_point_of(ctx, 2), zero_point_of(ctx, 3))


def rows_and_columns(ctx: Context, left: SSAValue, right: SSAValue) -> SSAValue:
    """The product of scales: one number each, or one per row of the left and column of the right operand."""
    if len(shape_of(left)) == 1 and shape_of(left) != (1,):
        left = ctx.emit(ExpandDimsOp, left, axis=1)
    return ctx.emit(ew.MultiplyOp, left, right)


def qlinear_matmul(ctx: Context) -> SSAValue:
    total = product(ctx, ctx.value(0), ctx.value(3), zero_point_of(ctx, 2), zero_point_of(ctx, 5))
    scale = rows_and_columns(ctx, scale_of(ctx, 1), scale_of(ctx, 4))
    return requantized(ctx, total, scale, scale_of(ctx, 6), zero_point_of(ctx, 7), ctx.dtype(7).name)


TABLE = {
    "ConvInteger": Converter(conv_integer),
    "DequantizeLinear": Converter(dequantize_linear),
    "DynamicQuantizeLinear": Converter(dynamic_quantize_linear),
    "MatMulInteger": Converter(matmul_integer),
    "QLinearConv": Converter(qlinear_conv),
    "QLinearMatMul": Converter(qlinear_matmul),
    "QuantizeLinear": Converter(quantize_linear),
}
