"""Computes of the operators that carry a sum or product along an axis."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ... import te
from ...dialects.relay import cumulative as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import same, size_min
from ...te import Expr, Tensor
from . import cumulative_scripts as scripts
from .stages import ROWS_APART, dtype_of, rounded, shape, wide


def _carried(function: Callable[[Expr, Expr], Expr], neutral: int) -> Callable[[Operator, Tensor], Tensor]:
    def lowered(op: Operator, x: Tensor) -> Tensor:
        sig, extents = op.signature, shape(x)
        axis = sig.get("axis")
        dims = (prod(extents),) if axis is None else extents
        at = (axis or 0) % len(dims)
        outer, extent, inner = prod(dims[:at]), dims[at], prod(dims[at + 1 :])
        number = wide(dtype_of(op))
        first, step = (extent - 1, -1) if sig.get("reverse") else (0, 1)

        def combine(total: Expr, element: Expr) -> Expr:
            return function(total, element.astype(number))

        def begin(element: Expr) -> Expr:
            return start if sig.get("exclusive") else element.astype(number)

        def chosen(total: Expr, following: Expr) -> Expr:
            return total if sig.get("exclusive") else following

        start, result = te.const(neutral, number), shape_of(op.results[0])
        common = {"first": first, "step": step, "dtype": number, "combine": combine}
        with te.tag_scope(ROWS_APART):
            if same(inner, 1):
                carried = scripts.along_rows(x, result, outer, extent, start=start, chosen=chosen, **common)
            else:
                late, begins = int(sig.get("exclusive")), size_min(extent, 1)
                carried = scripts.across_rows(x, result, outer, extent, inner, begins, late=late, begin=begin, **common)
        return rounded(carried, dtype_of(op))

    return lowered


TABLE = {
    relay.CumsumOp: _carried(lambda total, x: total + x, 0),
    relay.CumprodOp: _carried(lambda total, x: total * x, 1),
}
