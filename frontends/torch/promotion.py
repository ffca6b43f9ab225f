"""The element types in which torch computes: of tensors, of numbers beside them, and of scalars that are tensors.

Kinds rank: truth values, integers, floats. A tensor of dimensions decides unless a scalar or number is of a higher
kind; then it is that of the scalar, or of a number torch's default (float32, int64).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.creation import SizesOp
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.operator import Operator
from ...dialects.sizes import Size, SizeExpr
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.tensor import dtype_of
from ..importing.terms import Term
from .calls import At
from .context import Context

FLOAT, LONG, BOOL = np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def kind_of(dtype: np.dtype[Any]) -> int:
    """0 for truth values, 1 for integers, 2 for floats."""
    return {"b": 0, "i": 1, "u": 1}.get(dtype.kind, 2)


def promoted(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The element type in which two tensors of equal standing meet."""
    if a == b:
        return a
    if kind_of(a) != kind_of(b):
        return max(a, b, key=kind_of)
    if kind_of(a) == 2:
        return FLOAT if a.itemsize == b.itemsize else max(a, b, key=lambda dtype: dtype.itemsize)
    return np.promote_types(a, b)


@dataclass(frozen=True)
class Standing:
    """An operand as the rules look at it."""

    dtype: np.dtype[Any]
    rank: int
    """2 for a tensor of dimensions, 1 for a scalar that is one, 0 for a number."""


def result_type(operands: Iterable[Standing]) -> np.dtype[Any]:
    """The element type in which operands meet."""
    value: list[np.dtype[Any] | None] = [None, None, None]
    for operand in operands:
        before = value[operand.rank]
        value[operand.rank] = operand.dtype if before is None else promoted(before, operand.dtype)
    result: np.dtype[Any] | None = None
    for dtype in value:
        result = _combined(dtype, result)
    assert result is not None
    return result


def _combined(higher: np.dtype[Any] | None, lower: np.dtype[Any] | None) -> np.dtype[Any] | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    return promoted(higher, lower) if kind_of(lower) > kind_of(higher) else higher


def number_type(number: Size | float) -> np.dtype[Any]:
    if isinstance(number, bool):
        return BOOL
    return FLOAT if isinstance(number, float) else LONG


def is_tensor(ctx: Context, name: str) -> bool:
    """Return whether an argument is a tensor, and no number."""
    operand = ctx.argument(name)
    return isinstance(operand, At) and not operand.number


def standing(ctx: Context, name: str) -> Standing:
    if not is_tensor(ctx, name):
        late = _late(ctx, name)
        return Standing(number_type(ctx.number(name, 0)) if late is None else dtype_of(late), 0)
    return Standing(ctx.dtype_of(name), 2 if ctx.shape_of(name) else 1)


def common_type(ctx: Context, names: Iterable[str]) -> np.dtype[Any]:
    """The element type in which arguments meet."""
    return result_type(standing(ctx, name) for name in names)


def operand(ctx: Context, name: str, dtype: np.dtype[Any]) -> Term:
    """An argument, a tensor or a number, as a value of an element type."""
    if is_tensor(ctx, name):
        return Term(ctx, cast_to(ctx, ctx.of(name), dtype))
    if (late := _late(ctx, name)) is not None:
        return Term(ctx, cast_to(ctx, late, dtype))
    return number_term(ctx, ctx.number(name, 0), dtype)


def _late(ctx: Context, name: str) -> SSAValue | None:
    """An argument that is a number which the program computes of values."""
    operand = ctx.argument(name)
    return ctx.tensor(operand.index).value if isinstance(operand, At) and operand.number else None


def number_term(ctx: Context, number: Size | float, dtype: np.dtype[Any]) -> Term:
    """A scalar of an element type."""
    if isinstance(number, SizeExpr):
        result = ctx.emit(SizesOp, values=[cast("int", number)], shape=(), dtype="int64")
        return Term(ctx, cast_to(ctx, result, dtype))
    return Term(ctx, ctx.constant(np.asarray(number).astype(dtype), "scalar"))


def cast_to(ctx: Context, value: SSAValue, dtype: np.dtype[Any]) -> SSAValue:
    """A value in an element type; as truth values, what is not 0."""
    own = dtype_of(value)
    if own == dtype:
        return value
    return ctx.emit(CastOp, value, dtype=dtype.name)


def floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The element type in which functions of floats take integers and truth values."""
    return dtype if kind_of(dtype) == 2 else FLOAT


def meeting(
    function: Callable[..., Term] | type[Operator],
    names: str = "self other",
    *,
    truths: str = "",
    beside: str = "",
    dtype: Callable[[np.dtype[Any]], np.dtype[Any]] = lambda common: common,
    **attributes: Any,
) -> Converter[Context]:
    """The row of a function of arguments, tensors or numbers, in the element type in which they meet.

    truths: arguments before them, which are truth values. beside: arguments behind, which take the type and do not
    decide it. dtype: the type to compute in, by that where they meet. The function gets None for an argument marked by
    `?` that is left out.
    """

    def computed(ctx: Context, **options: Any) -> Term:
        deciding = [name.rstrip("?") for name in names.split()]
        common = dtype(common_type(ctx, filter(ctx.given, deciding)))
        kinds = ((truths, BOOL), (names, common), (beside, common))
        operands: list[Any] = [
            None if name.endswith("?") and not ctx.given(name[:-1]) else operand(ctx, name.rstrip("?"), kind)
            for text, kind in kinds
            for name in text.split()
        ]
        if isinstance(function, type):
            return operands[0].apply(function, *operands[1:])
        return function(*operands, **options)

    return row(computed, **attributes)
