"""Shape arithmetic with symbols: what operators of TensorFlow compute of sizes that only a call decides."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np

from ...dialects.sizes import Size, size_max, size_min
from ..importing.converter import Result
from ..importing.decisions import chosen, compared
from ..importing.sizes import WIDE, Sizes, counted, elementwise, numbers, objects, settled, symbolic_operands
from .context import Context
from .strided import picked

Rule: TypeAlias = "Callable[[Context, list[Sizes]], Any]"
"""The elements of the output for those of the inputs; None where relay operators compute them."""


def folded_sizes(ctx: Context) -> Result | None:
    """The output of an operator that computes with symbolic sizes; None where that is for relay operators to do."""
    rule, operands = TABLE.get(ctx.op_type), symbolic_operands(ctx)
    if rule is None or operands is None:
        return None
    elements = rule(ctx, operands)
    if elements is None:
        return None
    dtype = ctx.element("DstT") if ctx.op_type == "Cast" else next(t.dtype for t in ctx.inputs if t and t.symbolic)
    if dtype not in WIDE and dtype != np.bool_:
        return None
    array = np.asarray(elements, np.object_)
    ctx.read.extend(tensor for tensor in ctx.inputs_from(0) if tensor is not None)
    return counted(ctx, settled(objects(array.reshape(-1).tolist(), array.shape)), cast("np.dtype[Any]", dtype))


def _pairwise(function: Callable[..., Any]) -> Rule:
    return lambda ctx, operands: elementwise(function, operands)


def _compared(relation: str) -> Rule:
    def holds(a: Size, b: Size) -> Any:
        return compared(a, relation, b)

    return _pairwise(holds)


def _packed(ctx: Context, operands: list[Sizes]) -> Any:
    return np.stack(operands, ctx.integer("axis"))


def _joined(ctx: Context, operands: list[Sizes]) -> Any:
    axis = numbers(operands[-1])
    return None if axis is None else np.concatenate(operands[:-1], axis[0])


def _gathered(ctx: Context, operands: list[Sizes]) -> Any:
    places = numbers(operands[1])
    return None if places is None or operands[0].ndim != 1 else operands[0][np.reshape(places, operands[1].shape)]


def _reshaped(ctx: Context, operands: list[Sizes]) -> Any:
    shape = numbers(operands[1])
    return None if shape is None else operands[0].reshape(shape)


def _expanded(ctx: Context, operands: list[Sizes]) -> Any:
    axis = numbers(operands[1])
    return None if axis is None else np.expand_dims(operands[0], axis[0])


def _squeezed(ctx: Context, operands: list[Sizes]) -> Any:
    return np.squeeze(operands[0], ctx.integers("squeeze_dims") or None)


def _sliced(ctx: Context, operands: list[Sizes]) -> Any:
    begin, size = numbers(operands[1]), numbers(operands[2])
    if begin is None or size is None or operands[0].ndim != 1:
        return None
    return operands[0][begin[0] : None if size[0] == -1 else begin[0] + size[0]]


def _strided(ctx: Context, operands: list[Sizes]) -> Any:
    places = [numbers(array) for array in operands[1:]]
    if any(position is None for position in places):
        return None
    begin, end, strides = cast("list[list[int]]", places)
    return operands[0][picked(ctx, begin, end, strides)]


def _product(ctx: Context, operands: list[Sizes]) -> Any:
    if operands[0].ndim != 1 or operands[1].size != 1:
        return None
    total = reduce(operator.mul, operands[0].tolist(), 1)
    return objects([total], (1,) if ctx.flag("keep_dims") else ())


def _sum(ctx: Context, operands: list[Sizes]) -> Any:
    if operands[0].ndim != 1 or operands[1].size != 1:
        return None
    return objects([sum(operands[0].tolist())], (1,) if ctx.flag("keep_dims") else ())


def _cast(ctx: Context, operands: list[Sizes]) -> Any:
    """To integers of at least 32 bits they stay what they are."""
    return operands[0] if ctx.element("DstT") in WIDE else None


def _selected(ctx: Context, operands: list[Sizes]) -> Any:
    whole = np.broadcast_arrays(*operands)
    rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
    return objects([chosen(int(c) if isinstance(c, bool) else c, x, y) for c, x, y in rows], whole[0].shape)


TABLE: dict[str, Rule] = {
    "Add": _pairwise(operator.add),
    "AddV2": _pairwise(operator.add),
    "Cast": _cast,
    "ConcatV2": _joined,
    "Equal": _compared("=="),
    "ExpandDims": _expanded,
    "FloorDiv": _pairwise(cast("Callable[..., Any]", operator.floordiv)),
    "FloorMod": _pairwise(operator.mod),
    "Gather": _gathered,
    "GatherV2": _gathered,
    "Greater": _compared(">"),
    "GreaterEqual": _compared(">="),
    "Less": _compared("<"),
    "LessEqual": _compared("<="),
    "Maximum": _pairwise(size_max),
    "Minimum": _pairwise(size_min),
    "Mul": _pairwise(operator.mul),
    "Pack": _packed,
    "Prod": _product,
    "Reshape": _reshaped,
    "SelectV2": _selected,
    "Slice": _sliced,
    "Squeeze": _squeezed,
    "StridedSlice": _strided,
    "Sub": _pairwise(operator.sub),
    "Sum": _sum,
}
"""Operators of sizes."""
