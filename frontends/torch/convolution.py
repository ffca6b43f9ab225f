"""Convolutions of one to three spatial axes. Data without a batch axis get one of extent 1 for the convolution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.convolution_transpose import Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp
from ...dialects.relay.matmul import BiasAddOp
from ...dialects.relay.nn import Conv1DOp, Conv2DOp, Conv3DOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp
from ...dialects.relay.window_indices import DeformableConv2DOp
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from .context import Context

CONV: Mapping[int, type[Operator]] = {1: Conv1DOp, 2: Conv2DOp, 3: Conv3DOp}
CONV_TRANSPOSE: Mapping[int, type[Operator]] = {1: Conv1DTransposeOp, 2: Conv2DTransposeOp, 3: Conv3DTransposeOp}


def with_batch(ctx: Context, name: str, rank: int) -> tuple[SSAValue, bool]:
    """Data (batch, channels, ..) of `rank` spatial axes, and whether the batch was added."""
    data = ctx.of(name)
    result = len(shape_of(data))
    if result not in (rank + 1, rank + 2):
        ctx.fail(f"a {rank + 2}-d or {rank + 1}-d input", f"shape {list(shape_of(data))}")
    return (data, False) if result == rank + 2 else (ctx.emit(ExpandDimsOp, data, axis=0), True)


def without_batch(ctx: Context, value: SSAValue, added: bool) -> SSAValue:
    return ctx.emit(SqueezeOp, value, axis=(0,)) if added else value


def _padding(ctx: Context, kernel: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[int, ...]:
    """Before each axis, then after each; `same` puts an odd pixel after."""
    rank = len(kernel)
    operand = ctx.argument("padding")
    if operand == "valid":
        return (0,) * (2 * rank)
    if operand == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return (*(n // 2 for n in total), *(n - n // 2 for n in total))
    return ctx.ints("padding", 0, count=rank) * 2


def _convolved(ctx: Context, transposed: bool) -> SSAValue:
    """nn.conv1d, 2d or 3d or a transposed one, then nn.bias_add if there is a bias."""
    kernel = ctx.shape_of("weight")[2:]
    rank = len(kernel)
    if rank not in CONV:
        ctx.fail("a weight of 3 to 5 dimensions", f"shape {list(ctx.shape_of('weight'))}")
    data, added = with_batch(ctx, "input", rank)
    dilation = ctx.ints("dilation", 1, count=rank)
    strides, groups = ctx.ints("stride", 1, count=rank), ctx.int("groups", 1)
    # Torch looks at it in a transposed convolution only.
    behind = ctx.ints("output_padding", 0, count=rank)
    more = {"output_padding": behind} if transposed else {}
    channels = ctx.shape_of("weight")[1] * groups if transposed else ctx.shape_of("weight")[0]
    result = ctx.emit(
        (CONV_TRANSPOSE if transposed else CONV)[rank],
        data,
        ctx.of("weight"),
        strides=strides,
        padding=_padding(ctx, kernel, dilation),
        dilation=dilation,
        groups=groups,
        channels=channels,
        kernel_size=kernel,
        **more,
    )
    if (bias := ctx.optional("bias")) is not None:
        result = ctx.emit(BiasAddOp, result, bias)
    return without_batch(ctx, result, added)


def _convolution(ctx: Context) -> SSAValue:
    return _convolved(ctx, ctx.flag("transposed"))


def _deformable(ctx: Context) -> SSAValue:
    """torchvision's, whose numbers come apart."""
    mask = ctx.of("mask") if ctx.flag("use_mask") else None
    pads = (ctx.int("pad_h"), ctx.int("pad_w"))
    result = ctx.emit(
        DeformableConv2DOp,
        ctx.of("input"),
        ctx.of("offset"),
        ctx.of("weight"),
        mask,
        strides=(ctx.int("stride_h"), ctx.int("stride_w")),
        padding=pads * 2,
        dilation=(ctx.int("dilation_h"), ctx.int("dilation_w")),
        deformable_groups=ctx.int("offset_groups", 1),
        groups=ctx.int("groups", 1),
    )
    return ctx.emit(BiasAddOp, result, cast(SSAValue, ctx.optional("bias"))) if ctx.given("bias") else result


def _plain(ctx: Context) -> SSAValue:
    return _convolved(ctx, False)


def _transposed(ctx: Context) -> SSAValue:
    return _convolved(ctx, True)


_PLAIN, _TRANSPOSED = Converter(_plain), Converter(_transposed)

TABLE: dict[str, Converter[Context]] = {
    **{f"aten.conv{rank}d.{overload}": _PLAIN for rank in CONV for overload in ("default", "padding")},
    "aten.conv_transpose1d.default": _TRANSPOSED,
    "aten.conv_transpose2d.input": _TRANSPOSED,
    "aten.conv_transpose3d.input": _TRANSPOSED,
    "aten.convolution.default": Converter(_convolution),
    "aten._convolution.default": Converter(_convolution),
    "aten._convolution_mode.default": _PLAIN,
    "torchvision.deform_conv2d.default": Converter(_deformable),
}
