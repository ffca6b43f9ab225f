"""Shape arithmetic with symbols: what operators of TFLite compute of sizes that only a call decides."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np

from ...dialects.sizes import size_max, size_min
from ...support.dtypes import Array
from ..importing.converter import Result
from ..importing.sizes import Sizes, counted, elementwise, numbers, objects, settled, symbolic_operands
from .context import Context
from .values import dtype_of

Rule: TypeAlias = "Callable[[Context, list[Sizes]], Array | None]"
_INTEGERS = ("INT32", "UINT32", "INT64", "UINT64")


def folded_sizes(ctx: Context) -> Result | None:
    """The output of an operator that computes with symbolic sizes; None where that is for relay operators to do."""
    rule, operands = TABLE.get(ctx.op_type), symbolic_operands(ctx)
    if rule is None or operands is None:
        return None
    results = rule(ctx, operands)
    if results is None:
        return None
    ctx.read.extend(tensor for tensor in ctx.inputs_from(0) if tensor is not None)
    return counted(ctx, results, dtype_of(ctx.out()))


def _pairwise(function: Callable[..., Any]) -> Rule:
    def rule(ctx: Context, given: list[Sizes]) -> Array:
        return elementwise(function, given)

    return rule


def _moved(function: Callable[[Context, list[Sizes]], Any]) -> Rule:
    """Elements in other places; None where the places are no numbers."""

    def rule(ctx: Context, given: list[Sizes]) -> Array | None:
        sizes = function(ctx, given)
        if sizes is None:
            return None
        array = np.asarray(sizes, np.object_)
        return settled(objects(array.reshape(-1).tolist(), array.shape))

    return rule


def _pack(ctx: Context, given: list[Sizes]) -> Any:
    return np.stack(given, ctx.option("Axis", 0))


def _concatenated(ctx: Context, given: list[Sizes]) -> Any:
    return np.concatenate(given, ctx.option("Axis", 0))


def _gathered(ctx: Context, given: list[Sizes]) -> Any:
    places = numbers(given[1])
    return None if places is None or given[0].ndim != 1 else given[0][np.reshape(places, given[1].shape)]


def _reshaped(ctx: Context, given: list[Sizes]) -> Any:
    shape = numbers(given[1]) if len(given) > 1 else list(ctx.ints_option("NewShape"))
    return None if shape is None or 0 in shape else given[0].reshape(shape)


def _expanded(ctx: Context, given: list[Sizes]) -> Any:
    axis = numbers(given[1])
    return None if axis is None else np.expand_dims(given[0], axis[0])


def _squeezed(ctx: Context, given: list[Sizes]) -> Any:
    return np.squeeze(given[0], tuple(ctx.ints_option("SqueezeDims")) or None)


def _sliced(ctx: Context, given: list[Sizes]) -> Any:
    begin, size = numbers(given[1]), numbers(given[2])
    if begin is None or size is None or given[0].ndim != 1:
        return None
    return given[0][begin[0] : None if size[0] == -1 else begin[0] + size[0]]


def _strided(ctx: Context, given: list[Sizes]) -> Any:
    """Of a vector: a part of it, or one of its elements."""
    places = [numbers(array) for array in given[1:]]
    if given[0].ndim != 1 or any(place is None or len(place) != 1 for place in places):
        return None
    ((begin,), (end,), (step,)) = cast("list[list[int]]", places)
    if ctx.option("EllipsisMask", 0) or ctx.option("NewAxisMask", 0) or ctx.option("Offset", False):
        return None
    if ctx.option("ShrinkAxisMask", 0):
        return given[0][begin]
    return given[0][None if ctx.option("BeginMask", 0) else begin : None if ctx.option("EndMask", 0) else end : step]


def _product(ctx: Context, given: list[Sizes]) -> Any:
    if given[0].ndim != 1:
        return None
    total = reduce(operator.mul, given[0].tolist(), 1)
    return objects([total], (1,) if ctx.option("KeepDims", False) else ())


def _cast(ctx: Context, given: list[Sizes]) -> Any:
    """To integers of at least 32 bits they stay what they are."""
    return given[0] if ctx.out().type in _INTEGERS else None


TABLE: dict[str, Rule] = {
    "ADD": _pairwise(operator.add),
    "CAST": _moved(_cast),
    "CONCATENATION": _moved(_concatenated),
    "EXPAND_DIMS": _moved(_expanded),
    "FLOOR_DIV": _pairwise(cast("Callable[..., Any]", operator.floordiv)),
    "FLOOR_MOD": _pairwise(operator.mod),
    "GATHER": _moved(_gathered),
    "MAXIMUM": _pairwise(size_max),
    "MINIMUM": _pairwise(size_min),
    "MUL": _pairwise(operator.mul),
    "PACK": _moved(_pack),
    "REDUCE_PROD": _moved(_product),
    "RESHAPE": _moved(_reshaped),
    "SLICE": _moved(_sliced),
    "SQUEEZE": _moved(_squeezed),
    "STRIDED_SLICE": _moved(_strided),
    "SUB": _pairwise(operator.sub),
}
"""Operators of sizes."""
