"""Casts, with the standard's rules for small floats: saturation by default, a rounding mode for powers of two."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...dialects.relay import elementwise as ew
from ...support.dtypes import SMALL, is_float
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term
from ..meanings import elementwise
from .context import Context
from .tensors import dtype_of

_POWERS = "float8_e8m0fnu"


def cast_target(ctx: Context) -> np.dtype[np.generic]:
    """The dtype that a Cast asks for; before opset 6 by name."""
    number = TensorProto.DataType.Value(ctx.word("to", "")) if ctx.opset < 6 else ctx.int("to", 0)
    return dtype_of(number, f"{ctx.op_type} '{ctx.node.output[0]}'")


def _cast(ctx: Context, x: Term) -> Term:
    return converted(ctx, x, cast_target(ctx))


def _cast_like(ctx: Context, x: Term, like: Tensor) -> Term:
    assert like.dtype is not None
    return converted(ctx, x, like.dtype)


def _bit_cast(ctx: Context, x: Term) -> Term:
    """The bits of the input as another dtype; of opset 26."""
    return x.apply(ew.ReinterpretOp, dtype=cast_target(ctx).name)


def converted(ctx: Context, x: Term, dtype: np.dtype[np.generic]) -> Term:
    """`x` as numbers of a dtype, by the node's attributes `saturate` and `round_mode`."""
    name = dtype.name
    mode = ctx.word("round_mode", "up") if name == _POWERS else ""
    if mode not in ("", "up", "down", "nearest"):
        ctx.fail("round_mode up, down or nearest", repr(mode))
    if name in SMALL and is_float(name) and name != _POWERS and ctx.int("saturate", 1):
        return elementwise.saturated(x, dtype)
    return x.apply(ew.CastOp, dtype=name, round_mode=mode)


TABLE = {
    "BitCast": row(_bit_cast, "input"),
    "Cast": row(_cast, "input"),
    "CastLike": row(_cast_like, "input target_type:tensor"),
}
