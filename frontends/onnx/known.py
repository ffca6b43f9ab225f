"""Sources of values that are known at import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.creation import FullOp
from ...dialects.sizes import Size
from ...support.dtypes import Array
from ..importing.attributes import Int
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.tensor import SIZE
from ..meanings import creation
from .context import Context


def constant(ctx: Context) -> Array:
    """The tensor of a Constant, whichever attribute holds it."""
    if (array := ctx.tensor_attribute("value")) is not None:
        return array
    if ctx.has_attribute("value_float"):
        return np.asarray(ctx.float("value_float", 0.0), np.float32)
    if (floats := ctx.floats("value_floats", None)) is not None:
        return np.asarray(floats, np.float32)
    if ctx.has_attribute("value_int"):
        return np.asarray(ctx.int("value_int", 0), np.int64)
    if (ints := ctx.ints("value_ints", None)) is not None:
        return np.asarray(ints, np.int64)
    if (sparse := ctx.sparse_attribute("sparse_value")) is not None:
        return sparse
    ctx.fail(
        "a value, sparse_value, value_float(s) or value_int(s)",
        ", ".join(a.name for a in ctx.node.attribute) or "no attribute",
    )


def _constant_of_shape(ctx: Context, shape: Sequence[int]) -> Array | SSAValue:
    """One element seen at every index: no memory is taken. Where only a call decides the shape, an operator."""
    value = ctx.tensor_attribute("value")
    value = np.zeros(1, np.float32) if value is None else value
    if value.size != 1:
        ctx.fail("a value of one element", f"{value.size} elements")
    creation.check_extents(ctx, shape, value.dtype)
    return filled(ctx, value.reshape(()), shape)


def filled(ctx: Context, value: Array, shape: Sequence[int]) -> Array | SSAValue:
    """A tensor of one number, a scalar: known where its shape is."""
    if not all(isinstance(extent, int) for extent in cast("Sequence[Size]", shape)):
        return ctx.emit(FullOp, ctx.constant(value, "value"), shape=shape, dtype=value.dtype.name)
    ctx.fits(shape, value.dtype)
    return np.broadcast_to(value, tuple(shape))


def filled_value(ctx: Context, value: Array, shape: Sequence[int], hint: str) -> SSAValue:
    """`filled` as a relay value."""
    found = filled(ctx, value, shape)
    return found if isinstance(found, SSAValue) else ctx.constant(found, hint)


def _shape(ctx: Context, shape: Sequence[int], start: int, end: int | None) -> Result:
    """The extents of a tensor, from `start` to `end` (opset 15)."""
    return creation.extents(ctx, shape[start:end], SIZE)


def _size(ctx: Context, shape: Sequence[int]) -> Result:
    return creation.size(ctx, shape, SIZE)


TABLE = {
    "Constant": Converter(constant),
    "ConstantOfShape": row(_constant_of_shape, "input:ints"),
    "Shape": row(_shape, "data:shape", start=Int(0), end=Int(None)),
    "Size": row(_size, "data:shape"),
}
