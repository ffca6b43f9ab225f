"""Shape arithmetic with symbols: what operators of StableHLO compute of sizes that only a call decides."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np

from ...dialects.sizes import Size, size_max, size_min
from ..importing.converter import Result
from ..importing.decisions import chosen, compared
from ..importing.sizes import LIMIT, WIDE, Sizes, counted, elementwise, objects, settled, symbolic_operands
from .context import Context

Rule: TypeAlias = "Callable[[Context, list[Sizes]], Any]"
"""The elements of the output for those of the inputs; None where relay operators compute them."""


def folded_sizes(ctx: Context) -> Result | None:
    """The output of an operator that computes with symbolic sizes; None where that is for relay operators to do."""
    rule, operands = TABLE.get(ctx.op_type), symbolic_operands(ctx)
    if rule is None or operands is None:
        return None
    elements = rule(ctx, operands)
    dtype = cast("np.dtype[Any]", ctx.result_dtype())
    if elements is None or (dtype not in WIDE and dtype != np.bool_):
        return None
    array = np.asarray(elements, np.object_)
    ctx.read.extend(tensor for tensor in ctx.inputs_from(0) if tensor is not None)
    return counted(ctx, settled(objects(array.reshape(-1).tolist(), array.shape)), dtype)


def _pairwise(function: Callable[..., Any]) -> Rule:
    return lambda ctx, operands: elementwise(function, operands)


_RELATIONS = {"EQ": "==", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}


def _compared(ctx: Context, operands: list[Sizes]) -> Any:
    relation = _RELATIONS.get(ctx.text("comparison_direction"))

    def holds(a: Size, b: Size) -> Any:
        return compared(a, cast("str", relation), b)

    return None if relation is None else elementwise(holds, operands)


def _joined(ctx: Context, operands: list[Sizes]) -> Any:
    return np.concatenate(operands, ctx.integer("dimension"))


def _reshaped(ctx: Context, operands: list[Sizes]) -> Any:
    return operands[0].reshape(ctx.static_shape())


def _spread(ctx: Context, operands: list[Sizes]) -> Any:
    shape, axes = ctx.static_shape(), ctx.ints("broadcast_dimensions")
    if np.prod(shape, dtype=np.int64) > LIMIT or len(axes) != operands[0].ndim or list(axes) != sorted(axes):
        return None
    wide = [1] * len(shape)
    for axis, extent in zip(axes, operands[0].shape, strict=True):
        wide[axis] = extent
    return np.broadcast_to(operands[0].reshape(wide), shape)


def _sliced(ctx: Context, operands: list[Sizes]) -> Any:
    names = ("start_indices", "limit_indices", "strides")
    begin, end, strides = (ctx.ints(name, operands[0].ndim) for name in names)
    return operands[0][tuple(slice(*bounds) for bounds in zip(begin, end, strides, strict=True))]


def _same(ctx: Context, operands: list[Sizes]) -> Any:
    """To integers of at least 32 bits they stay what they are."""
    return operands[0]


def _selected(ctx: Context, operands: list[Sizes]) -> Any:
    whole = np.broadcast_arrays(*operands)
    rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
    return objects([chosen(int(c) if isinstance(c, bool) else c, x, y) for c, x, y in rows], whole[0].shape)


def _between(low: Size, x: Size, high: Size) -> Size:
    return size_min(size_max(x, low), high)


def _clamped(ctx: Context, operands: list[Sizes]) -> Any:
    whole = np.broadcast_arrays(*operands)
    rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
    return objects([_between(low, x, high) for low, x, high in rows], whole[0].shape)


TABLE: dict[str, Rule] = {
    "add": _pairwise(operator.add),
    "broadcast_in_dim": _spread,
    "clamp": _clamped,
    "compare": _compared,
    "concatenate": _joined,
    "convert": _same,
    "divide": _pairwise(cast("Callable[..., Any]", operator.floordiv)),
    "maximum": _pairwise(size_max),
    "minimum": _pairwise(size_min),
    "multiply": _pairwise(operator.mul),
    "remainder": _pairwise(operator.mod),
    "reshape": _reshaped,
    "select": _selected,
    "slice": _sliced,
    "subtract": _pairwise(operator.sub),
}
"""Operators of sizes."""
