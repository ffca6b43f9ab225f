"""Normalisations."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import PowerOp
from ...dialects.relay.logic import NotEqualOp
from ...dialects.relay.nn import BatchNormOp
from ...dialects.relay.norms import GroupNormOp, InstanceNormOp
from ...dialects.relay.reduce import MaxOp, MinOp, SumOp, VarianceOp
from ..importing import norms
from ..importing.converter import Converter, Result
from ..importing.terms import Term, absolute, constant, maximum, ones, sqrt
from .context import Context
from .promotion import FLOAT
from .shaping import of_one_shape
from .tensors import precision

_EPSILON = 1e-5
"""The default of torch."""


def _channels(ctx: Context, name: str, count: int, otherwise: float) -> Term:
    """A vector of the channels; where it is left out, so many times a number."""
    data = ctx.dtype_of("input")
    dtype = FLOAT if data.itemsize < 4 else data
    if not ctx.given(name):
        return constant(ctx, np.full(count, otherwise, dtype), name)
    return ctx.term(name).to(dtype)


def _normalised(ctx: Context) -> Term:
    """nn.batch_norm by the running statistics."""
    if not ctx.given("running_mean") or not ctx.given("running_var"):
        ctx.fail("running statistics", "none (call .eval() on modules that keep them before torch.export)")
    data = ctx.term("input")
    wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
    count = data.shape[1]
    names = (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0))
    operands = [_channels(ctx, name, count, otherwise).value for name, otherwise in names]
    return Term(ctx, ctx.emit(BatchNormOp, wide.value, *operands, epsilon=ctx.float("eps", _EPSILON))).to(data.dtype)


def _batch_norm(ctx: Context) -> SSAValue:
    if ctx.flag("training") and ctx.given("running_mean"):
        ctx.fail("a model in inference mode", "batch_norm in training mode (call .eval() before torch.export)")
    if ctx.flag("training"):
        return _by_own_statistics(ctx).value
    return _normalised(ctx).value


def _by_own_statistics(ctx: Context) -> Term:
    """By the mean and variance of the batch, where nothing is kept."""
    data = ctx.term("input")
    wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
    axes = [axis for axis in range(len(data.shape)) if axis != 1]
    mean = wide.mean(*axes)
    variance = wide.apply(VarianceOp, mean, axis=axes, keepdims=True)
    position = (data.shape[1], *(1,) * (len(data.shape) - 2))
    weight, bias = (
        _channels(ctx, name, data.shape[1], n).reshape(*position) for name, n in (("weight", 1.0), ("bias", 0.0))
    )
    return ((wide - mean) / sqrt(variance + ctx.float("eps", _EPSILON)) * weight + bias).to(data.dtype)


def _batch_norm_in_parts(ctx: Context) -> tuple[Result, ...]:
    """The core operator; its statistics of inference have no elements."""
    empty = ctx.constant(np.zeros(0, FLOAT), "statistics")
    return (_normalised(ctx).value, *[empty] * (ctx.output_count - 1))


def _batch_norm_in_training(ctx: Context) -> tuple[Result, ...]:
    """The core operator of modules that keep no statistics, or use them; with mean and inverse deviation."""
    if ctx.given("running_mean") and ctx.flag("training"):
        ctx.fail("a model in inference mode", "batch_norm in training mode (call .eval() before torch.export)")
    if ctx.given("running_mean"):
        return _batch_norm_in_parts(ctx)
    data = ctx.term("input")
    wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
    axes = [axis for axis in range(len(data.shape)) if axis != 1]
    mean = wide.mean(*axes)
    inverse = 1.0 / sqrt(wide.apply(VarianceOp, mean, axis=axes, keepdims=True) + ctx.float("eps", _EPSILON))
    return _by_own_statistics(ctx).value, *(part.reshape(data.shape[1]).value for part in (mean, inverse))


def _rows(ctx: Context) -> tuple[int, ...]:
    row = ctx.ints("normalized_shape")
    if not row or len(row) > len(ctx.shape_of("input")):
        ctx.fail("1 or more axes of the data as normalized_shape", str(list(row)))
    return row


def layer_norm(ctx: Context) -> Term:
    """nn.layer_norm; without weights, by ones."""
    data, row = ctx.term("input"), _rows(ctx)
    wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
    weight = (
        ctx.term("weight").to(wide.dtype) if ctx.given("weight") else ones(ctx, prod(row), wide.dtype).reshape(*row)
    )
    bias = ctx.term("bias").to(wide.dtype) if ctx.given("bias") else None
    return norms.layer_norm(ctx, wide, row, weight, bias, ctx.float("eps", _EPSILON)).to(data.dtype)


def _layer_norm(ctx: Context) -> SSAValue:
    return layer_norm(ctx).value


def _layer_norm_in_parts(ctx: Context) -> tuple[SSAValue, ...]:
    """The core operator: mean and inverse deviation of each row, too."""
    data, row = ctx.term("input"), _rows(ctx)
    wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
    axes = [len(data.shape) - 1 - axis for axis in reversed(range(len(row)))]
    mean = wide.mean(*axes)
    variance = wide.apply(VarianceOp, mean, axis=axes, keepdims=True)
    inverse = 1.0 / sqrt(variance + ctx.float("eps", _EPSILON))
    return layer_norm(ctx).value, mean.value, inverse.value


def _rms_norm(ctx: Context) -> SSAValue:
    """nn.rms_norm; the default epsilon is that of the type that it is computed in."""
    data, row = ctx.term("input"), _rows(ctx)
    wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
    epsilon = ctx.float("eps", 0.0) if ctx.given("eps") else precision(wide.dtype)
    weight = (
        ctx.term("weight").to(wide.dtype) if ctx.given("weight") else ones(ctx, prod(row), wide.dtype).reshape(*row)
    )
    return norms.rms_norm(ctx, wide, row, weight, epsilon).to(data.dtype).value


def _group_norm(groups: str) -> Converter[Context]:
    """nn.group_norm; the core operator gives the statistics, too, which nobody reads in inference."""

    def convert(ctx: Context) -> SSAValue | tuple[SSAValue, ...]:
        data, count = ctx.term("input"), ctx.int(groups)
        channels = data.shape[1]
        if count < 1 or channels % count:
            ctx.fail(f"groups that divide {channels} channels", str(count))
        wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
        weight, bias = (_channels(ctx, name, channels, n) for name, n in (("weight", 1.0), ("bias", 0.0)))
        image = norms.as_image(wide)
        result = image.apply(GroupNormOp, weight, bias, num_groups=count, epsilon=ctx.float("eps", _EPSILON))
        value = result.reshape(*data.shape).to(data.dtype).value
        if groups == "num_groups":
            return value
        apart = wide.reshape(data.shape[0], count, prod(data.shape[1:]) // count)
        mean = apart.mean(2)
        variance = apart.apply(VarianceOp, mean, axis=[2], keepdims=True)
        inverse = 1.0 / sqrt(variance + ctx.float("eps", _EPSILON))
        return value, *(item.reshape(data.shape[0], count).value for item in (mean, inverse))

    return Converter(convert, unread=dict.fromkeys(("N", "C", "HxW"), "the shape of the input says it"))


def _instance_norm(ctx: Context) -> SSAValue:
    """nn.instance_norm, or nn.batch_norm where running statistics are used."""
    if not ctx.flag("use_input_stats", True):
        return _normalised(ctx).value
    data = ctx.term("input")
    wide = data.to(FLOAT) if data.dtype.itemsize < 4 else data
    weight, bias = (_channels(ctx, name, data.shape[1], n) for name, n in (("weight", 1.0), ("bias", 0.0)))
    result = norms.as_image(wide).apply(InstanceNormOp, weight, bias, epsilon=ctx.float("eps", _EPSILON))
    return result.reshape(*data.shape).to(data.dtype).value


def norm_of(x: Term, p: float, axes: list[int], keepdims: bool) -> Term:
    """The p-norm over axes."""

    def total(y: Term) -> Term:
        return y.apply(SumOp, axis=axes, keepdims=keepdims)

    if not x.shape:
        return absolute(x) if p else x.apply(NotEqualOp, 0.0).to(x.dtype)
    if p == 2.0:
        return sqrt(total(x * x))
    if p == 1.0:
        return total(absolute(x))
    if p == float("inf"):
        return absolute(x).apply(MaxOp, axis=axes, keepdims=keepdims)
    if p == -float("inf"):
        return absolute(x).apply(MinOp, axis=axes, keepdims=keepdims)
    if p == 0.0:
        return total(x.apply(NotEqualOp, 0.0).to(x.dtype))
    return total(absolute(x).apply(PowerOp, p)).apply(PowerOp, 1 / p)


def _vector_norm(power: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        x = ctx.term("self")
        dtype = ctx.element("dtype", None) or x.dtype
        rank = len(x.shape)
        axes = [ctx.axis_in(axis, rank) for axis in ctx.ints("dim", ())] or list(range(rank))
        wide = x.to(FLOAT) if dtype.itemsize < 4 else x.to(dtype)
        return norm_of(wide, ctx.float(power, 2.0), axes, ctx.flag("keepdim")).to(dtype).value

    return Converter(convert)


def _cosine_similarity(ctx: Context) -> SSAValue:
    """The product of two vectors, in the shape in which they meet, over that of their norms of at least `eps`."""
    a, b = (Term(ctx, value) for value in of_one_shape(ctx, "x1", "x2"))
    axis, eps = ctx.axis("dim", len(a.shape), 1), ctx.float("eps", 1e-8)
    dot = (a * b).apply(SumOp, axis=[axis], keepdims=False)
    lengths = [maximum(norm_of(x, 2.0, [axis], False), eps) for x in (a, b)]
    return (dot / (lengths[0] * lengths[1])).value


TABLE: dict[str, Converter[Context]] = {
    "aten.batch_norm.default": Converter(_batch_norm),
    "aten.native_batch_norm.default": Converter(_batch_norm_in_training),
    "aten._native_batch_norm_legit.default": Converter(_batch_norm_in_training),
    "aten._native_batch_norm_legit.no_stats": Converter(_batch_norm_in_training),
    "aten._native_batch_norm_legit_no_training.default": Converter(_batch_norm_in_parts),
    "aten.cosine_similarity.default": Converter(_cosine_similarity),
    "aten.group_norm.default": _group_norm("num_groups"),
    "aten.instance_norm.default": Converter(_instance_norm),
    "aten.layer_norm.default": Converter(_layer_norm),
    "aten.linalg_vector_norm.default": _vector_norm("ord"),
    "aten.native_group_norm.default": _group_norm("group"),
    "aten.native_layer_norm.default": Converter(_layer_norm_in_parts),
    "aten.norm.Scalar": _vector_norm("p"),
    "aten.norm.ScalarOpt_dim": _vector_norm("p"),
    "aten.norm.ScalarOpt_dim_dtype": _vector_norm("p"),
    "aten.rms_norm.default": Converter(_rms_norm),
}
