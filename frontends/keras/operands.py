"""Operands of operations of `keras.ops`: tensors, and Python's numbers beside them, in a common dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...dialects.relay.numerics import is_float
from ...dialects.relay.operator import Operator
from ...support.dtypes import Array
from ..importing.attributes import Element
from ..importing.terms import Term
from .context import Context, Reference
from .layers import Numbers
from .nests import items_of, whole, wholes
from .rows import Row, declared

Dtype = np.dtype[Any]
FLOAT = np.dtype(np.float32)


def wider(a: Dtype, b: Dtype) -> Dtype:
    """The dtype that Keras computes in where two meet: of floats and integers the floats' own."""
    if a == b:
        return a
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if is_float(a):
        return FLOAT if a.itemsize == b.itemsize else max(a, b, key=lambda dtype: dtype.itemsize)
    return np.result_type(a, b)


def array_of(ctx: Context, argument: Any) -> Array | None:
    """The numbers of an argument that is no tensor of the model; None where it is one."""
    match argument:
        case Reference():
            return None
        case Numbers(value, dtype):
            try:
                return np.asarray(value, dtype)
            except (ValueError, TypeError):
                ctx.fail(f"numbers of {dtype}", repr(value)[:60])
        case bool() | int() | float():
            return np.asarray(argument)
        case _:
            items = items_of(argument)
            if items is not None and all(isinstance(item, bool | int | float) for item in items):
                return np.asarray(items)
    ctx.fail("a tensor or numbers", repr(argument)[:60])


def _weak(array: Array, dtypes: Sequence[Dtype]) -> Dtype:
    """The dtype of Python's numbers beside tensors: theirs, unless floats are beside integers."""
    common = reduce(wider, dtypes) if dtypes else None
    if array.dtype.kind == "f":
        return common if common is not None and is_float(common) else FLOAT
    if array.dtype.kind == "b":
        return common if common is not None else np.dtype(np.bool_)
    return common if common is not None and common.kind != "b" else np.dtype(np.int32)


def operands(ctx: Context, *argument: Any, floats: bool = False) -> list[Term]:
    """Arguments in the dtype that they have in common; `floats` makes integers float32."""
    arrays = [array_of(ctx, item) for item in argument]
    own = [ctx.value(item.index) for item in argument if isinstance(item, Reference)]
    dtypes: list[Dtype] = [Term(ctx, value).dtype for value in own]
    dtypes += [a.dtype for a, g in zip(arrays, argument, strict=True) if a is not None and isinstance(g, Numbers)]
    for array, item in zip(arrays, argument, strict=True):
        if array is not None and not isinstance(item, Numbers):
            dtypes.append(_weak(array, dtypes))
    common = reduce(wider, dtypes)
    if floats and not is_float(common):
        common = FLOAT
    values = iter(own)
    terms: list[Term] = []
    for array in arrays:
        if array is None:
            terms.append(Term(ctx, next(values)).to(common))
        else:
            terms.append(Term(ctx, ctx.constant(array.astype(common), "number")))
    return terms


def argument_term(ctx: Context, index: int = 0, name: str = "x", floats: bool = False) -> Term:
    """One argument as a tensor."""
    return operands(ctx, ctx.argument(index, name), floats=floats)[0]


def floating(x: Term) -> Term:
    """The term in floats, float32 of integers."""
    return x if is_float(x.dtype) else x.to(FLOAT)


def axes_option(ctx: Context, rank: int, name: str = "axis") -> tuple[int, ...]:
    """The axes of an option; all where it is left out."""
    argument = ctx.option(name)
    if argument is None:
        return tuple(range(rank))
    axes = [number] if (number := whole(argument)) is not None else wholes(argument)
    if axes is None:
        ctx.fail(f"axes as '{name}'", repr(argument))
    return tuple(sorted({ctx.axis(axis, rank) for axis in axes}))


def dtype_option(ctx: Context, name: str = "dtype") -> str | None:
    """A dtype in the configuration; None where it is left out."""
    dtype = Element(None).read(ctx, name)
    return None if dtype is None else dtype.name


def meeting(
    function: Callable[..., Term] | type[Operator], names: str = "x1 x2", floats: bool = False, **attributes: Any
) -> Row:
    """The row of a function of arguments, tensors or numbers, in the dtype that they have in common."""

    def computed(ctx: Context, **options: Any) -> Term:
        arguments = (ctx.argument(at, name) for at, name in enumerate(names.split()))
        terms = operands(ctx, *arguments, floats=floats)
        return terms[0].apply(function, *terms[1:]) if isinstance(function, type) else function(*terms, **options)

    return declared(computed, "", **attributes)
