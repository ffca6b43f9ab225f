"""Operators on quantised tensors that onnxruntime's quantiser writes, of the domain com.microsoft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import qnn_elementwise as qe
from ...dialects.relay.attributes import Value
from ...dialects.relay.logic import WhereOp
from ...dialects.relay.nn import SoftmaxOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp
from ...dialects.relay.reduce import MaxOp, MeanOp
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ..importing.converter import Converter, Result, convert_all_parts
from ..importing.rows import row
from ..importing.tensor import Tensor, shape_of
from ..importing.terms import Term, places, term
from .activations import along_axis
from .attention_microsoft import OF_ATTENTION, projected_attention
from .context import Context
from .quantization import (
    dequantize_linear,
    dynamic_quantize,
    product,
    qlinear_conv,
    quantize_linear,
    requantized,
    rows_and_columns,
    scale_of,
    zero_point_of,
)
from .quantized_windows import window
from .recurrent import lstm

Attributes = Callable[[Context], dict[str, Value]]


def _one(ctx: Context, value: SSAValue) -> SSAValue:
    return ctx.emit(ReshapeOp, value, newshape=()) if shape_of(value) == (1,) else value


def _parameters(ctx: Context, *indices: int) -> list[SSAValue]:
    """Scale and zero point at each of the indices."""
    return [_one(ctx, of(ctx, i + k)) for i in indices for k, of in enumerate((scale_of, zero_point_of))]


def binary(op: type[Operator]) -> Converter[Context]:
    """A, its scale and zero point, B, its own, those of the result."""
    return Converter(lambda ctx: ctx.emit(op, ctx.value(0), ctx.value(3), *_parameters(ctx, 1, 4, 6)))


def unary(op: type[Operator], attributes: Attributes = lambda ctx: {}) -> Converter[Context]:
    """X, its scale and zero point, those of the result."""
    return Converter(lambda ctx: ctx.emit(op, ctx.value(0), *_parameters(ctx, 1, 3), **attributes(ctx)))


def softmax(ctx: Context) -> SSAValue:
    """Of the opset that an attribute names; 1 is a whole number of steps, as onnxruntime has it."""
    scale, zero, new_scale, new_zero = (Term(ctx, value) for value in _parameters(ctx, 1, 3))
    one, dtype = (1.0 / new_scale).apply(ew.FloorOp), ctx.dtype(0).name

    def rows(x: Term, axis: int) -> Term:
        parts = x.apply(DequantizeOp, scale, zero).apply(SoftmaxOp, axis=axis)
        return (parts * one).apply(QuantizeOp, new_scale.number(1.0), new_zero, out_dtype=dtype)

    return along_axis(rows, Term(ctx, ctx.value(0)), ctx.int("axis", -1), ctx.int("opset", 13)).value


def reduce_mean(ctx: Context) -> SSAValue:
    """The mean of the real numbers along `axes`, or along all."""
    real = ctx.emit(DequantizeOp, ctx.value(0), *_parameters(ctx, 1))
    axes = ctx.ints("axes", None) or tuple(range(len(ctx.shape(0))))
    mean = ctx.emit(MeanOp, real, axis=axes, keepdims=ctx.is_one("keepdims", True))
    return ctx.emit(QuantizeOp, mean, *_parameters(ctx, 3), out_dtype=ctx.dtype(0).name)


def concat(ctx: Context) -> SSAValue:
    """The scale and zero point of the result, then each tensor with its own."""
    starts = range(2, len(ctx.inputs), 3)
    parts = [ctx.value(i) for i in starts]
    scales = [_one(ctx, scale_of(ctx, i + 1)) for i in starts]
    zeros = [_one(ctx, zero_point_of(ctx, i + 2)) for i in starts]
    op = qe.ConcatenateOp(parts, scales, zeros, *_parameters(ctx, 0), axis=ctx.int("axis", 0))
    ctx.builder.add(op)
    return op.result


def _pooled(ctx: Context, data: SSAValue, **attributes: Value) -> SSAValue:
    """qnn.avg_pool2d, of which one of NHWC is one of NCHW between transpositions."""
    last = ctx.flag("channels_last")
    if last:
        data = ctx.emit(TransposeOp, data, axes=(0, 3, 1, 2))
    result = ctx.emit(qe.AvgPool2DOp, data, *_parameters(ctx, 1, 3), **attributes)
    return ctx.emit(TransposeOp, result, axes=(0, 2, 3, 1)) if last else result


def _image(ctx: Context) -> tuple[int, int]:
    shape = ctx.shape(0)
    if len(shape) != 4:
        ctx.fail("a 4-d input", f"shape {list(shape)}")
    return (shape[1], shape[2]) if ctx.int("channels_last", 0) else (shape[2], shape[3])


def average_pool(ctx: Context) -> SSAValue:
    image = _image(ctx)
    kernel = ctx.ints("kernel_shape", None) or ()
    if len(kernel) != 2:
        ctx.fail("a kernel_shape of two numbers", str(list(kernel)))
    found = window(ctx, image, kernel)
    return _pooled(
        ctx,
        ctx.value(0),
        pool_size=kernel,
        strides=found.strides,
        padding=(*found.before, *found.after),
        ceil_mode=ctx.is_one("ceil_mode"),
        count_include_pad=ctx.flag("count_include_pad"),
    )


def global_average_pool(ctx: Context) -> SSAValue:
    return _pooled(ctx, ctx.value(0), pool_size=_image(ctx))


def qgemm(ctx: Context) -> SSAValue:
    """The sums and a bias of int32, in the steps of the result, or as floats if it has none."""
    left, right = ctx.value(0), ctx.value(3)
    if ctx.int("transA", 0):
        left = ctx.emit(TransposeOp, left, axes=(1, 0))
    if ctx.int("transB", 0):
        right = ctx.emit(TransposeOp, right, axes=(1, 0))
    total = product(ctx, left, right, zero_point_of(ctx, 2), zero_point_of(ctx, 5))
    if ctx.has(6):
        total = ctx.emit(ew.AddOp, total, ctx.value(6))
    scale = ctx.emit(ew.MultiplyOp, scale_of(ctx, 1), scale_of(ctx, 4))
    if (alpha := ctx.float("alpha", 1.0)) != 1.0:
        scale = ctx.emit(ew.MultiplyOp, scale, ctx.scalar(alpha, scale))
    if not ctx.has(7):
        return ctx.emit(ew.MultiplyOp, ctx.emit(ew.CastOp, total, dtype="float32"), scale)
    dtype = ctx.dtype(8).name if ctx.has(8) else ctx.dtype(0).name
    return requantized(ctx, total, scale, _one(ctx, scale_of(ctx, 7)), _one(ctx, zero_point_of(ctx, 8)), dtype)


def _as_floats(ctx: Context, total: SSAValue, scale: SSAValue, bias: int) -> SSAValue:
    result = ctx.emit(ew.MultiplyOp, ctx.emit(ew.CastOp, total, dtype="float32"), scale)
    return ctx.emit(ew.AddOp, result, ctx.value(bias)) if ctx.has(bias) else result


def matmul_integer_to_float(ctx: Context) -> SSAValue:
    total = product(ctx, ctx.value(0), ctx.value(1), zero_point_of(ctx, 4), zero_point_of(ctx, 5))
    return _as_floats(ctx, total, rows_and_columns(ctx, scale_of(ctx, 2), scale_of(ctx, 3)), 6)


def dynamic_quantize_matmul(ctx: Context) -> SSAValue:
    left, scale, start = dynamic_quantize(ctx, ctx.value(0))
    total = product(ctx, left, ctx.value(1), start, zero_point_of(ctx, 3))
    return _as_floats(ctx, total, ctx.emit(ew.MultiplyOp, scale, scale_of(ctx, 2)), 4)


def qattention(ctx: Context, **attributes: Any) -> tuple[Term, ...]:
    """Attention whose input and weight, of query, key and value at once, are quantised."""
    total = product(ctx, ctx.value(0), ctx.value(1), zero_point_of(ctx, 6), zero_point_of(ctx, 7))
    scale = ctx.emit(ew.MultiplyOp, _one(ctx, scale_of(ctx, 3)), _one(ctx, scale_of(ctx, 4)))
    total = _as_floats(ctx, total, scale, 2)
    mask, past = (term(ctx, index) if ctx.has(index) else None for index in (5, 8))
    return projected_attention(Term(ctx, total), mask, past, None, **attributes)


def convolution(ctx: Context) -> SSAValue:
    """QLinearConv, of which channels may come last."""
    if not ctx.int("channels_last", 0):
        return qlinear_conv(ctx)
    rank = len(ctx.shape(0))
    first = ctx.emit(TransposeOp, ctx.value(0), axes=(0, rank - 1, *range(1, rank - 1)))
    inputs = [Tensor(ctx.tensor(0).name, value=first), *ctx.inputs_from(1)]
    return ctx.emit(TransposeOp, convert_all_parts(qlinear_conv, ctx.with_inputs(inputs)), axes=(0, *range(2, rank), 1))


def where(ctx: Context) -> SSAValue:
    """Condition, X, its scale and zero point, Y, its own, those of the result: chosen among the real numbers."""
    reals = [ctx.emit(DequantizeOp, ctx.value(i), *_parameters(ctx, i + 1)) for i in (1, 4)]
    chosen = ctx.emit(WhereOp, ctx.value(0), *reals)
    return ctx.emit(QuantizeOp, chosen, *_parameters(ctx, 7), out_dtype=ctx.dtype(1).name)


def _recurrent_weights(ctx: Context, index: int, scale: int) -> Tensor:
    """Weights (directions, features, gates) as floats, features last; scales are of each direction or gate."""

    def spread(value: SSAValue) -> SSAValue:
        own = shape_of(value)
        return ctx.emit(ReshapeOp, value, newshape=(own[0], 1, own[1] if len(own) == 2 else 1))

    parameters = (spread(scale_of(ctx, scale)), spread(zero_point_of(ctx, scale + 1)))
    real = ctx.emit(DequantizeOp, ctx.value(index), *parameters)
    return Tensor(ctx.tensor(index).name, value=ctx.emit(TransposeOp, real, axes=(0, 2, 1)))


def dynamic_quantize_lstm(ctx: Context) -> Result | tuple[Result, ...]:
    """LSTM on the real numbers that the weights stand for: the input is quantised for the range of all steps that
    any sequence has, and states for the range of each row, step by step."""
    data, scale, start = dynamic_quantize(ctx, _within_longest(ctx))
    inputs = [ctx.input(index) for index in range(8)]
    inputs[0] = Tensor(ctx.tensor(0).name, value=ctx.emit(DequantizeOp, data, scale, start))
    inputs[1], inputs[2] = _recurrent_weights(ctx, 1, 8), _recurrent_weights(ctx, 2, 10)
    return lstm(quantized_state=True).apply(ctx.with_inputs(inputs))


def _within_longest(ctx: Context) -> SSAValue:
    """The data (time, batch, features), zeros from where the longest of its sequences ends."""
    data, (time, _, _) = ctx.value(0), ctx.shape(0)
    if not ctx.has(4):
        return data
    longest = ctx.emit(MaxOp, ctx.value(4))
    inside = ctx.emit(ew.LessOp, places(ctx, time, 3, 0, dtype=ctx.dtype(4).name).value, longest)
    return ctx.emit(WhereOp, inside, data, ctx.scalar(0.0, data))


MICROSOFT = {
    "DequantizeLinear": Converter(dequantize_linear),
    "DynamicQuantizeLSTM": Converter(dynamic_quantize_lstm),
    "DynamicQuantizeMatMul": Converter(dynamic_quantize_matmul),
    "MatMulIntegerToFloat": Converter(matmul_integer_to_float),
    "QAttention": row(qattention, **OF_ATTENTION),
    "QGemm": Converter(qgemm),
    "QLinearAdd": binary(qe.AddOp),
    "QLinearAveragePool": Converter(average_pool),
    "QLinearConcat": Converter(concat),
    "QLinearConv": Converter(convolution),
    "QLinearGlobalAveragePool": Converter(global_average_pool),
    "QLinearLeakyRelu": unary(qe.LeakyReluOp, lambda ctx: {"alpha": ctx.float("alpha", 0.01)}),
    "QLinearMul": binary(qe.MulOp),
    "QLinearSigmoid": unary(qe.SigmoidOp),
    "QLinearReduceMean": Converter(reduce_mean),
    "QLinearSoftmax": Converter(softmax),
    "QLinearWhere": Converter(where),
    "QuantizeLinear": Converter(quantize_linear),
}
