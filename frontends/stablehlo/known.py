"""Values that are known at import to be one number everywhere, or to count along an axis."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.canonicalization.constant_operands import constant_value
from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.transform import BroadcastToOp, ReshapeOp
from ...dialects.sizes import Size, SizeExpr
from ..importing.context import Context
from ..importing.tensor import shape_of


def uniform(ctx: Context, index: int) -> float | None:
    """The number that all elements of input `index` are; None where they are not known, or differ."""
    tensor = ctx.tensor(index)
    if tensor.symbolic:
        return None
    if (array := tensor.array) is None and tensor.value is not None:
        array = constant_value(source(tensor.value), ctx.module)
    if array is None or array.size == 0:
        return None
    first = array.reshape(-1)[0]
    if array.size > 1 and not (array == first).all():
        return None
    return first.item()


def source(value: SSAValue) -> SSAValue:
    """The value whose elements a broadcast one has."""
    while isinstance(op := value.owner, BroadcastToOp | ReshapeOp | CopyOp):
        value = op.operands[0]
    return value


def counts_along(ctx: Context, index: int, axis: int) -> bool:
    """Return whether elements of input `index` are their places along an axis, as `iota` makes them."""
    tensor = ctx.tensor(index)
    shape = ctx.shape(index)
    if tensor.symbolic or isinstance(cast(Size, shape[axis]), SizeExpr):
        return False
    row = np.arange(shape[axis]).reshape([-1 if at == axis else 1 for at in range(len(shape))])
    if tensor.array is not None:
        return bool((tensor.array == row).all())
    if tensor.value is None or not isinstance(op := tensor.value.owner, BroadcastToOp):
        return False
    array = constant_value(source(op.data), ctx.module)
    wide = shape_of(op.data)
    return (
        array is not None
        and array.size == row.size
        and wide == row.shape
        and bool((array.ravel() == row.ravel()).all())
    )
