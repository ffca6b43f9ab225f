"""Numbers beside tensors: extents, single elements, and what a program computes of them, as operators on scalars.

Of numbers and sizes the operators are computed at import.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce
from math import prod
from typing import Any, cast

import numpy as np

from ...dialects.relay.division import FloorDivideOp, FloorModOp
from ...dialects.relay.elementwise import (
    AddOp,
    CeilOp,
    CopyOp,
    DivideOp,
    EqualOp,
    FloorOp,
    GreaterOp,
    LessOp,
    LogicalNotOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    NegativeOp,
    PowerOp,
    SubtractOp,
)
from ...dialects.relay.logic import GreaterEqualOp, LessEqualOp, LogicalAndOp, LogicalOrOp, NotEqualOp
from ...dialects.relay.operator import Operator
from ...dialects.sizes import Size, SizeExpr, proves
from ...dialects.sizes.decisions import compared
from ..importing.converter import Converter, Result
from ..importing.sizes import counted, sizes_array
from .calls import At
from .context import Context
from .promotion import LONG, cast_to, kind_of, number_type, operand
from .shaping import shaped

_DOUBLE = np.dtype(np.float64)

ARITHMETIC: Mapping[str, tuple[type[Operator] | None, str]] = {
    "_operator.add": (AddOp, ""),
    "_operator.and_": (LogicalAndOp, "bool"),
    "_operator.eq": (EqualOp, ""),
    "_operator.floordiv": (FloorDivideOp, ""),
    "_operator.ge": (GreaterEqualOp, ""),
    "_operator.gt": (GreaterOp, ""),
    "_operator.le": (LessEqualOp, ""),
    "_operator.lt": (LessOp, ""),
    "_operator.mod": (FloorModOp, ""),
    "_operator.mul": (MultiplyOp, ""),
    "_operator.ne": (NotEqualOp, ""),
    "_operator.neg": (NegativeOp, ""),
    "_operator.or_": (LogicalOrOp, "bool"),
    "_operator.pow": (PowerOp, ""),
    "_operator.sub": (SubtractOp, ""),
    "_operator.truediv": (DivideOp, "float64"),
    "math.ceil": (CeilOp, "float64"),
    "math.floor": (FloorOp, "float64"),
    "math.trunc": (None, "int64"),
    "torch.sym_float": (None, "float64"),
    "torch.sym_int": (None, "int64"),
    "torch.sym_max": (MaximumOp, ""),
    "torch.sym_min": (MinimumOp, ""),
    "torch.sym_not": (LogicalNotOp, "bool"),
}
"""Operator -> that on scalars, None for the number itself, and the type of its operands; "" where they meet."""


def arithmetic(ctx: Context, late: bool = False) -> Result:
    """The result of an operator on numbers.

    late: True where integers that only values decide are no reason to wait; else sizes may follow from them, and only
    floats are computed.
    """
    arguments = ctx.arguments()
    tensors = [ctx.tensor(value.index) for value in arguments.values() if isinstance(value, At)]
    waiting = [tensor.dtype for tensor in tensors if tensor.array is None]
    if waiting and not late and not any(dtype is not None and dtype.kind == "f" for dtype in waiting):
        for name in arguments:
            ctx.number(name)  # raises Undecided of the first one that is not known
    op, wanted = ARITHMETIC[ctx.op_type]
    dtype = np.dtype(wanted) if wanted else _meeting(ctx)
    terms = [operand(ctx, name, dtype) for name in arguments]
    if op is None:
        return terms[0].value
    result = terms[0].apply(op, *terms[1:]).value
    return cast_to(ctx, result, LONG) if ctx.op_type in ("math.ceil", "math.floor") else result


def _meeting(ctx: Context) -> np.dtype[Any]:
    """The element type in which numbers meet: Python's, of 64 bits. A power that may be a fraction is a float."""
    kinds = [
        kind_of(number_type(ctx.number(name, 0)) if not isinstance(value, At) else ctx.dtype(value.index))
        for name, value in ctx.call.arguments.items()
    ]
    if ctx.op_type == "_operator.pow" and max(kinds) < 2 and _is_negative(ctx, [*ctx.call.arguments][1]):
        return _DOUBLE
    return _DOUBLE if max(kinds) == 2 else LONG


def _is_negative(ctx: Context, name: str) -> bool:
    """Return whether a number that is known, or a size, may be below 0."""
    value = ctx.argument(name)
    if isinstance(value, At) and ctx.tensor(value.index).array is None:
        return False
    return not proves(cast(Size, ctx.int(name)), ">=", 0)


def _size(ctx: Context) -> Result:
    """The extent of an axis, or all of them."""
    shape = ctx.shape_of("self")
    return sizes_array(shape[ctx.axis("dim", len(shape))])


def _count(ctx: Context) -> Result:
    return sizes_array(prod(ctx.shape_of("self")))


def _stride(ctx: Context) -> Result:
    """Of elements in row-major order: no other is there."""
    shape = ctx.shape_of("self")
    return sizes_array(reduce(operator.mul, shape[ctx.axis("dim", len(shape)) + 1 :], 1))


def _item(ctx: Context) -> Result:
    """The one element of a tensor; what needs to know it at import asks for it."""
    tensor = ctx.input_tensor("self")
    if tensor.array is not None and tensor.dtype is not None:
        ctx.read.append(tensor)
        return counted(ctx, tensor.array.reshape(()), tensor.dtype)
    return shaped(ctx, ctx.of("self"), ()) if ctx.shape_of("self") else ctx.emit(CopyOp, ctx.of("self"))


def _asserted(ctx: Context) -> tuple[()]:
    """A fact that every call has to keep to: a comparison of sizes that is true, or checked."""
    number = ctx.number("self", True)
    if isinstance(number, SizeExpr):
        ctx.require(number - 1)
    elif not number:
        ctx.fail("what the program asserts", ctx.word("assert_msg", "") or "the contrary")
    return ()


def _nothing(ctx: Context) -> tuple[()]:
    """A condition that nobody waits for."""
    return ()


_BOUNDS: dict[str, str] = dict.fromkeys(("min", "max"), "checked by what needs a number that only values decide")


def _bounded(ctx: Context) -> tuple[()]:
    """The bounds of a number: checked where it is known, and else by what needs it."""
    tensor = ctx.tensor(0) if ctx.inputs else None
    if tensor is not None and tensor.array is None:
        return ()
    number = ctx.number("size", 0)
    for bound, sign in ((ctx.number("min"), "<="), (ctx.number("max"), ">=")):
        if isinstance(bound, int) and not isinstance(number, float | bool):
            holds = compared(bound, sign, number)
            if isinstance(holds, SizeExpr):
                ctx.require(holds - 1)
            elif not holds:
                ctx.fail(f"a number of at {'least' if sign == '<=' else 'most'} {bound}", str(number))
    return ()


# Every value is a storage of its own here, so that `sym_storage_offset` is 0.
TABLE: dict[str, Converter[Context]] = {
    **dict.fromkeys(ARITHMETIC, Converter(arithmetic)),
    "aten._assert_async.msg": Converter(_nothing),
    "aten._assert_scalar.default": Converter(_asserted),
    "aten._local_scalar_dense.default": Converter(_item),
    "aten.item.default": Converter(_item),
    "aten.sym_constrain_range.default": Converter(_bounded, unread=_BOUNDS),
    "aten.sym_constrain_range_for_size.default": Converter(_bounded, unread=_BOUNDS),
    "aten.sym_numel.default": Converter(_count),
    "aten.sym_size.int": Converter(_size),
    "aten.sym_storage_offset.default": Converter(lambda ctx: sizes_array(0)),
    "aten.sym_stride.int": Converter(_stride),
}
