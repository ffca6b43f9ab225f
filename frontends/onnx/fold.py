"""What is evaluated at import: sources of known values, and integer arithmetic on shapes.

A fold gets a node whose inputs are all known and returns its output as a numpy array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...support.dtypes import Array
from .context import Context
from .elementwise import cast_target
from .shaping import new_axes, new_shape, old_axes, slices

Fold = Callable[[Context], Array]

FOLD_LIMIT = 1024
"""Only integers and booleans of at most this many elements are evaluated; FoldConstant takes care of the others."""

Numbers = npt.NDArray[Any]


def foldable(ctx: Context) -> bool:
    """Whether all inputs are known, few, and integers or booleans."""
    arrays = [tensor.array for tensor in ctx.inputs if tensor is not None]
    return bool(arrays) and all(a is not None and a.size <= FOLD_LIMIT and a.dtype.kind in "iub" for a in arrays)


def _inputs(ctx: Context) -> list[Numbers]:
    return [cast(Numbers, ctx.array(index, "an input")) for index in range(len(ctx.inputs))]


# Sources: converters whose result is a known value.


def constant(ctx: Context) -> Array:
    """The tensor of a Constant, whichever attribute holds it."""
    if (array := ctx.tensor_attribute("value")) is not None:
        return array
    if ctx.has_attribute("value_float"):
        return np.asarray(ctx.float("value_float", 0.0), np.float32)
    if (floats := ctx.floats("value_floats")) is not None:
        return np.asarray(floats, np.float32)
    if ctx.has_attribute("value_int"):
        return np.asarray(ctx.int("value_int", 0), np.int64)
    if (ints := ctx.ints("value_ints")) is not None:
        return np.asarray(ints, np.int64)
    ctx.fail("a value, value_float(s) or value_int(s)", ", ".join(a.name for a in ctx.node.attribute) or "no attribute")


def constant_of_shape(ctx: Context) -> Array:
    """One element seen at every index: no memory is taken."""
    value = ctx.tensor_attribute("value")
    if value is None:
        value = np.zeros(1, np.float32)
    shape = ctx.known_ints(0, "a shape")
    if value.size != 1 or any(extent < 0 for extent in shape):
        ctx.fail("a value of one element and extents of at least 0", f"{value.size} elements, shape {list(shape)}")
    ctx.fits(shape, value.dtype)
    return np.broadcast_to(value.reshape(()), shape)


def shape(ctx: Context) -> Array:
    """The extents of a tensor, from `start` to `end` (opset 15)."""
    extents = np.asarray(ctx.shape(0), np.int64)
    end = ctx.int("end", len(extents))
    return extents[ctx.int("start", 0) : end]


# Folds.


def binary(function: Callable[[Numbers, Numbers], Numbers]) -> Fold:
    """The fold of an operator on any number of operands, from left to right."""
    return lambda ctx: np.asarray(reduce(function, _inputs(ctx)))


def divide(left: Numbers, right: Numbers) -> Numbers:
    """Integers divided towards zero."""
    quotient = np.floor_divide(np.abs(left), np.abs(right))
    return (quotient * np.sign(left) * np.sign(right)).astype(left.dtype)


def negative(ctx: Context) -> Array:
    return np.negative(_inputs(ctx)[0])


def to_dtype(ctx: Context) -> Array:
    return _inputs(ctx)[0].astype(cast_target(ctx))


def concat(ctx: Context) -> Array:
    return np.concatenate(_inputs(ctx), axis=ctx.int("axis", 0))


def gather(ctx: Context) -> Array:
    data, indices = _inputs(ctx)
    return np.asarray(np.take(data, indices, axis=ctx.int("axis", 0)))


def unsqueeze(ctx: Context) -> Array:
    data = ctx.array(0, "data")
    return np.expand_dims(data, tuple(new_axes(ctx, data.ndim)))


def squeeze(ctx: Context) -> Array:
    data = ctx.array(0, "data")
    return np.squeeze(data, old_axes(ctx, data.ndim))


def slice_(ctx: Context) -> Array:
    data = ctx.array(0, "data")
    for axis, positions in slices(ctx, data.shape).items():
        data = np.take(data, list(positions), axis)
    return np.asarray(data)


def reshape(ctx: Context) -> Array:
    data, wanted = ctx.array(0, "data"), new_shape(ctx)
    if not ctx.int("allowzero", 0):
        wanted = tuple(data.shape[i] if extent == 0 else extent for i, extent in enumerate(wanted))
    return data.reshape(wanted)
