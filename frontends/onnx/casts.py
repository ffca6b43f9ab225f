"""Casts, with the standard's rules for small floats: saturation by default, a rounding mode for powers of two."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...support.dtypes import GREATEST, SMALL, is_float
from ..importing.converter import Converter
from ..importing.tensor import dtype_of as dtype_of_value
from .context import Context
from .tensors import dtype_of

_POWERS = "float8_e8m0fnu"


def cast_target(ctx: Context) -> np.dtype[np.generic]:
    """The dtype that a Cast asks for; before opset 6 by name."""
    if ctx.opset < 6:
        name = ctx.word("to", "")
        return dtype_of(TensorProto.DataType.Value(name), f"Cast '{ctx.node.output[0]}'")
    return dtype_of(ctx.int("to", 0), f"Cast '{ctx.node.output[0]}'")


def cast(ctx: Context) -> SSAValue:
    return converted(ctx, ctx.value(0), cast_target(ctx).name)


def cast_like(ctx: Context) -> SSAValue:
    return converted(ctx, ctx.value(0), ctx.dtype(1).name)


def bit_cast(ctx: Context) -> SSAValue:
    """The bits of the input as another dtype; of opset 26."""
    target = dtype_of(ctx.int("to", 0), f"BitCast '{ctx.node.output[0]}'").name
    return ctx.emit(ew.ReinterpretOp, ctx.value(0), dtype=target)


def converted(ctx: Context, value: SSAValue, dtype: str) -> SSAValue:
    """`value` as numbers of a dtype, by the node's attributes `saturate` and `round_mode`."""
    mode = ctx.word("round_mode", "up") if dtype == _POWERS else ""
    if mode not in ("", "up", "down", "nearest"):
        ctx.fail("round_mode up, down or nearest", repr(mode))
    if dtype in SMALL and is_float(dtype) and dtype != _POWERS and ctx.int("saturate", 1):
        return saturated(ctx, value, dtype)
    return ctx.emit(ew.CastOp, value, dtype=dtype, round_mode=mode)


def saturated(ctx: Context, value: SSAValue, dtype: str) -> SSAValue:
    """`value` as small floats: what is too large, infinity too, becomes the greatest number; NaN stays."""
    source = dtype_of_value(value)
    if source.name not in ("float32", "float64"):
        value = ctx.emit(ew.CastOp, value, dtype="float32")
    most = GREATEST[dtype]
    return ctx.emit(ew.CastOp, ctx.emit(ew.ClipOp, value, a_min=-most, a_max=most), dtype=dtype)


TABLE = {
    "BitCast": Converter(bit_cast),
    "Cast": Converter(cast),
    "CastLike": Converter(cast_like),
}
