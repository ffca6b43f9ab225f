"""Shape arithmetic with symbols: what nodes compute of sizes that only a call decides, as arrays of objects.

Such an array holds ints and SizeExprs. What the arithmetic of sizes cannot say becomes operators.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np
import onnx

from ...dialects.sizes import Size, SizeExpr, decide, proves, size_max, size_min
from ...support.dtypes import Array
from ..importing.converter import Result
from ..importing.decisions import chosen, compared, decided
from ..importing.sizes import LIMIT, WIDE, Sizes, counted, elementwise, exact, numbers, objects, settled
from ..importing.sizes import sizes_array as sizes_array
from ..importing.tensor import TRUTH, Undecided, is_symbolic
from .context import Context
from .shaping import axis_of, new_axes

Rule: TypeAlias = "Callable[[Context, list[Sizes | None]], Array | None]"


def folded_sizes(ctx: Context) -> Result | None:
    """The output of a node that computes with symbolic sizes; None where that is for operators to do."""
    arrays = [None if tensor is None else tensor.array for tensor in ctx.inputs]
    rule = TABLE.get(ctx.node.op_type)
    if rule is None or not any(map(is_symbolic, arrays)):
        return None
    if any(tensor is not None and (tensor.array is None or tensor.array.size > LIMIT) for tensor in ctx.inputs):
        return None
    given = [None if array is None else exact(array) for array in arrays]
    if any(array is not None and exact is None for array, exact in zip(arrays, given, strict=True)):
        return None
    found = rule(ctx, given)
    if found is None:
        return None
    ctx.read.extend(tensor for tensor in ctx.inputs_from(0) if tensor is not None)
    return counted(ctx, found, _dtype(ctx))


def _dtype(ctx: Context) -> np.dtype[Any]:
    """Of the output of a node that computes with sizes, if that is no comparison."""
    if ctx.op_type == "Cast":
        return onnx.helper.tensor_dtype_to_np_dtype(ctx.int("to", 0))
    return ctx.dtype(ctx.op_type == "Where")


def _elementwise(function: Callable[..., Any]) -> Rule:
    """A function of sizes, of each element; shapes broadcast."""

    def rule(ctx: Context, given: list[Sizes | None]) -> Array:
        return elementwise(function, [array for array in given if array is not None])

    return rule


def _elementwise_of_one(function: Callable[[Any], Any]) -> Rule:
    def rule(ctx: Context, given: list[Sizes | None]) -> Array:
        data = cast(Sizes, given[0])
        return settled(objects([function(value) for value in data.reshape(-1).tolist()], data.shape))

    return rule


def _asked(relation: str) -> Rule:
    """A comparison: what is not one way for all values of the symbols, the call decides."""

    def rule(ctx: Context, given: list[Sizes | None]) -> Array:
        whole = np.broadcast_arrays(*[array for array in given if array is not None])
        rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
        return settled(objects([compared(a, relation, b) for a, b in rows], whole[0].shape))

    return rule


def _logical(function: Callable[..., Size]) -> Rule:
    """A function of truth values, as numbers."""

    def rule(ctx: Context, given: list[Sizes | None]) -> Array:
        whole = np.broadcast_arrays(*[array for array in given if array is not None])
        rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
        return settled(objects([decided(function(*map(_plain, row))) for row in rows], whole[0].shape))

    return rule


def _plain(value: Size) -> Size:
    """A number or a size, also of a truth value."""
    return value + 0


def _negated(a: Size) -> Size:
    return 1 - a


def _either(a: Size, b: Size) -> Size:
    return a + b - a * b


def _quotient(a: Size, b: Size) -> Size:
    """Towards zero."""
    if proves(a, ">=", 0) and proves(b, ">", 0):
        return a // b
    if proves(a, ">=", 0) and isinstance(b, SizeExpr):
        return a // b  # 0 divides nothing
    raise Undecided(f"Div: {a} divided by {b} depends on the signs of sizes", None)


def _mod(ctx: Context, given: list[Sizes | None]) -> Array | None:
    """With the sign of the divisor, or by `fmod` that of the dividend: here both are those of sizes."""
    arrays = [array for array in given if array is not None]
    pairs = zip(*(array.reshape(-1).tolist() for array in np.broadcast_arrays(*arrays)), strict=True)
    if all((proves(a, ">=", 0) or not ctx.zero_or_one("fmod")) and proves(b, ">", 0) for a, b in pairs):
        return elementwise(operator.mod, arrays)
    return None


def _absolute(a: Size) -> Size:
    if decide(0, "<=", a) is None:
        raise Undecided(f"Abs: {a} may be either side of 0", None)
    return a if proves(a, ">=", 0) else -a


def _where(ctx: Context, given: list[Sizes | None]) -> Array:
    condition, x, y = (cast(Sizes, array) for array in given)
    if any(isinstance(value, SizeExpr) for value in condition.reshape(-1)):
        whole = np.broadcast_arrays(condition, x, y)
        rows = zip(*(array.reshape(-1).tolist() for array in whole), strict=True)
        values = [chosen(c, a, b) for c, a, b in rows]
        return settled(objects([decided(v) for v in values] if ctx.dtype(1) == TRUTH else values, whole[0].shape))
    return settled(cast(Sizes, np.where(condition.astype(np.bool_), x, y)))


def _gather(ctx: Context, given: list[Sizes | None]) -> Array | None:
    data, indices = cast(Sizes, given[0]), cast(Sizes, given[1])
    if any(isinstance(value, SizeExpr) for value in indices.reshape(-1)):
        return None
    places = indices.astype(np.int64)
    found = np.take(data, places, axis=ctx.int("axis", 0))
    return settled(objects(np.asarray(found, np.object_).reshape(-1).tolist(), np.shape(found)))


def _concat(ctx: Context, given: list[Sizes | None]) -> Array:
    return settled(np.concatenate([cast(Sizes, array) for array in given], axis=ctx.int("axis", 0)))


def _slice(ctx: Context, given: list[Sizes | None]) -> Array | None:
    data, (starts, ends) = cast(Sizes, given[0]), (numbers(array) for array in given[1:3])
    if not starts or not ends:
        return None
    axes = numbers(given[3]) if len(given) > 3 and given[3] is not None else list(range(len(starts)))
    steps = numbers(given[4]) if len(given) > 4 and given[4] is not None else [1] * len(starts)
    if axes is None or steps is None:
        return None
    places = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        places[axis_of(ctx, axis, data.ndim)] = slice(start, end if end > -(1 << 62) else None, step)
    return settled(data[tuple(places)])


def _squeeze(ctx: Context, given: list[Sizes | None]) -> Array:
    data, axes = cast(Sizes, given[0]), ctx.ints_since(13, "axes", 1)
    return settled(data.squeeze(None if axes is None else tuple(axis_of(ctx, axis, data.ndim) for axis in axes)))


def _unsqueeze(ctx: Context, given: list[Sizes | None]) -> Array:
    data = cast(Sizes, given[0])
    return settled(np.expand_dims(data, tuple(new_axes(ctx, data.ndim))))


def _transpose(ctx: Context, given: list[Sizes | None]) -> Array:
    return settled(cast(Sizes, given[0]).transpose(ctx.ints("perm")))


def _clip(ctx: Context, given: list[Sizes | None]) -> Array:
    found = cast(Sizes, given[0])
    for function, bound in zip((size_max, size_min), given[1:], strict=False):
        if bound is not None:
            found = elementwise(function, [found, bound]).astype(np.object_)
    return settled(found)


def _reshape(ctx: Context, given: list[Sizes | None]) -> Array | None:
    data, shape = cast(Sizes, given[0]), numbers(given[1]) if len(given) > 1 else None
    return None if shape is None or 0 in shape else settled(data.reshape(shape))


def _cast(ctx: Context, given: list[Sizes | None]) -> Array | None:
    """To integers of at least 32 bits they stay what they are; a truth value is one of what is not 0."""
    data, to = cast(Sizes, given[0]), ctx.int("to", 0)
    flat = [_plain(value) for value in data.reshape(-1).tolist()]
    if to == 9 and all(proves(value, ">=", 0) for value in flat):
        return settled(objects([compared(value, ">", 0) for value in flat], data.shape))
    return settled(objects(flat, data.shape)) if _dtype(ctx) in WIDE else None


def _same(ctx: Context, given: list[Sizes | None]) -> Array:
    return settled(cast(Sizes, given[0]))


def _expand(ctx: Context, given: list[Sizes | None]) -> Array | None:
    shape = numbers(given[1])
    if shape is None:
        return None
    data = cast(Sizes, given[0])
    return settled(np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(shape))))


def _folded_along(function: Callable[[Any, Any], Any], start: int | None) -> Rule:
    """A fold of all elements; `start` is that of none."""

    def rule(ctx: Context, given: list[Sizes | None]) -> Array | None:
        data = cast(Sizes, given[0])
        if data.ndim != 1 or (start is None and not data.size):
            return None
        total = reduce(function, data.tolist() if start is None else [start, *data.tolist()])
        return settled(objects([total], (1,) if ctx.is_one("keepdims", True) else ()))

    return rule


TABLE: dict[str, Rule] = {
    "Abs": _elementwise_of_one(_absolute),
    "And": _logical(operator.mul),
    "Add": _elementwise(operator.add),
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Div": _elementwise(_quotient),
    "Equal": _asked("=="),
    "Expand": _expand,
    "Gather": _gather,
    "Greater": _asked(">"),
    "GreaterOrEqual": _asked(">="),
    "Identity": _same,
    "Less": _asked("<"),
    "LessOrEqual": _asked("<="),
    "Max": _elementwise(size_max),
    "Min": _elementwise(size_min),
    "Mod": _mod,
    "Mul": _elementwise(operator.mul),
    "Neg": _elementwise_of_one(operator.neg),
    "ReduceMax": _folded_along(size_max, None),
    "ReduceMin": _folded_along(size_min, None),
    "ReduceProd": _folded_along(operator.mul, 1),
    "ReduceSum": _folded_along(operator.add, 0),
    "Not": _logical(_negated),
    "Or": _logical(_either),
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _elementwise(operator.sub),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
"""Operators of sizes."""
