"""Relay values in other shapes."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.transform import ReshapeOp
from ...dialects.sizes import holds_zero, same_shape
from .context import Context
from .tensor import shape_of


def reshaped(ctx: Context, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    return (
        value
        if same_shape(shape_of(value), shape)
        else ctx.emit(ReshapeOp, value, newshape=shape, allowzero=int(holds_zero(shape)))
    )
