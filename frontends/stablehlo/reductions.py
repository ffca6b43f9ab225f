"""Reductions by operators that are recognised in their regions."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic, reduce
from ...dialects.relay.indexing import GatherOp
from ...dialects.relay.operator import Operator
from ...support.dtypes import limits
from ..importing.converter import Converter
from ..importing.terms import Term
from ..meanings.reductions import reduced
from .context import Context
from .known import counts_along, uniform

REDUCTIONS: dict[str, tuple[type[Operator], type[Operator]]] = {
    "add": (reduce.SumOp, ew.AddOp),
    "multiply": (reduce.ProdOp, ew.MultiplyOp),
    "maximum": (reduce.MaxOp, ew.MaximumOp),
    "minimum": (reduce.MinOp, ew.MinimumOp),
}
"""The function of a region -> the reduction, and the operator of two operands."""
_OF_TRUTHS: dict[str, tuple[type[Operator], type[Operator]]] = {
    **dict.fromkeys(("and", "minimum", "multiply"), (reduce.AllOp, logic.LogicalAndOp)),
    **dict.fromkeys(("or", "maximum", "add"), (reduce.AnyOp, logic.LogicalOrOp)),
}


def neutral(body: str, dtype: np.dtype[np.generic]) -> float:
    """The start of a reduction that changes nothing."""
    if dtype == np.bool_:
        return body in ("and", "minimum", "multiply")
    if body in ("add", "multiply"):
        return float(body == "multiply")
    low, high = limits(dtype.name)
    return low if body in ("maximum", "logaddexp") else high


def operator_of(ctx: Context, what: str) -> tuple[type[Operator], type[Operator]]:
    """The reduction, and the operator of two operands, that the region computes."""
    rows = _OF_TRUTHS if ctx.dtype(0) == np.bool_ else REDUCTIONS
    if ctx.node.body not in rows:
        ctx.fail(f"{what} by one operator among {', '.join(rows)}", ctx.node.body or ctx.node.body_text or "another")
    return rows[ctx.node.body]


def _reduce(ctx: Context) -> SSAValue | tuple[SSAValue, ...]:
    if len(ctx.inputs) == 4 and ctx.node.body in ("argmax", "argmin"):
        return _with_places(ctx)
    if len(ctx.inputs) != 2:
        ctx.fail("one operand, or values with their places", f"{len(ctx.inputs) // 2} and {ctx.node.body_text}")
    reduction, op = operator_of(ctx, "a reduction")
    axes = ctx.axes("dimensions", len(ctx.shape(0)))
    result = reduced(reduction, ctx.term(0), axes).value
    start = uniform(ctx, 1)
    if start is not None and start == neutral(ctx.node.body, ctx.dtype(0)):
        return result
    return ctx.emit(op, result, Term(ctx, ctx.value(1)).reshape().value)


def _with_places(ctx: Context) -> tuple[SSAValue, ...]:
    """The greatest or least value along an axis, and its place; of what is no number the first."""
    axes = ctx.axes("dimensions", len(ctx.shape(0)))
    if len(axes) != 1:
        ctx.fail("one axis to look along", str(list(axes)))
    (axis,) = axes
    data = ctx.term(0)
    greatest = ctx.node.body == "argmax"
    start, first = uniform(ctx, 2), uniform(ctx, 3)
    if start != neutral("maximum" if greatest else "minimum", data.dtype) or first is None or first < 0:
        ctx.fail("a start that any value replaces, and a place of at least 0", f"{start} and {first}")
    op = reduce.ArgMaxOp if greatest else reduce.ArgMinOp
    places = data.apply(op, axis=[axis], keepdims=True)
    values = ctx.emit(GatherOp, data.value, places.value, axis=axis)
    if counts_along(ctx, 1, axis):
        labels = places.to(ctx.dtype(1)).value
    else:
        labels = ctx.emit(GatherOp, ctx.value(1), places.value, axis=axis)
    shape = tuple(extent for at, extent in enumerate(data.shape) if at != axis)
    return Term(ctx, values).reshape(*shape).value, Term(ctx, labels).reshape(*shape).value


TABLE: dict[str, Converter[Context]] = {"reduce": Converter(_reduce)}
