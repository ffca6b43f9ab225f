"""Arithmetic of numbers that only values decide, as operators on scalars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.division import FloorDivideOp, FloorModOp
from ...dialects.relay.elementwise import (
    AddOp,
    CeilOp,
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
from .calls import At
from .context import Context
from .promotion import LONG, cast_to, kind_of, number_type, operand

_DOUBLE = np.dtype(np.float64)

LATE: Mapping[str, tuple[type[Operator] | None, str]] = {
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


def late_number(ctx: Context, whole: bool) -> SSAValue | None:
    """The result of an operator on numbers of which only values decide one; None where all are known, or sizes.

    whole: True where integers are no reason to wait; else sizes may follow from them, and only floats are computed.
    """
    arguments = ctx.arguments()
    late = [ctx.tensor(value.index) for value in arguments.values() if isinstance(value, At)]
    late = [tensor for tensor in late if tensor.array is None]
    if ctx.op_type not in LATE or not late:
        return None
    if not whole and not any(tensor.dtype is not None and tensor.dtype.kind == "f" for tensor in late):
        return None
    op, wanted = LATE[ctx.op_type]
    dtype = np.dtype(wanted) if wanted else _meeting(ctx)
    terms = [operand(ctx, name, dtype) for name in arguments]
    if op is None:
        return terms[0].value
    result = terms[0].apply(op, *terms[1:]).value
    return cast_to(ctx, result, LONG) if ctx.op_type in ("math.ceil", "math.floor") else result


def _meeting(ctx: Context) -> np.dtype[Any]:
    """The element type in which numbers meet: Python's, of 64 bits."""
    kinds = [
        kind_of(number_type(ctx.number(name, 0)) if not isinstance(value, At) else ctx.dtype(value.index))
        for name, value in ctx.call.arguments.items()
    ]
    return _DOUBLE if max(kinds) == 2 else LONG
