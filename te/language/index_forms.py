"""Arithmetic of axes as affine expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import Range, bounds, is_long
from ...dialects.sizes import Size, SizeExpr, same
from ...dialects.sizes.kernel import at_least, lifted
from ...support.dtypes import bits, fail, is_float
from .affine_forms import FLOORED, affine_binary
from .expr import Axis, Binary, Cast, Const, Expr, SizeNumber, Var
from .extents import Sizes, evaluate, size_in, size_of
from .walks import operands_first, walk

_MANY = 1 << 40
"""More iterations than an axis of open extent has."""


class IndexForms:
    """The affine expressions of a stage's indices; `dims` are those of its axes.

    scalars: the variables that are values of the function, of which there are no affine expressions.
    """

    def __init__(self, stage: str, axes: Sequence[Axis], sizes: Sizes, scalars: Mapping[Var, object]):
        self.stage = stage
        self.sizes = sizes
        self.dims: dict[Axis, AffineExpr] = {
            axis: AffineDimExpr(i)
            if same(start := evaluate(axis.start, sizes), 0)
            else AffineDimExpr(i) + lifted(start)
            for i, axis in enumerate(axes)
        }
        self._scalars = scalars
        self._forms: dict[int, AffineExpr | None] = {}
        self.kept: list[Expr] = []
        """Expressions of which results are known by their ids, which no other one may get."""

    def affine(self, expr: Expr) -> AffineExpr | None:
        """`expr` as an affine expression of the axes; None when it is none, or one too long to work with."""
        if isinstance(expr, Axis | Const | Var | SizeNumber):
            return self._form(expr)
        self.kept.append(expr)
        for node in operands_first([expr], self._forms, _operands):
            form = self._form(node)
            self._forms[id(node)] = None if form is None or is_long(form) else form
        return self._forms[id(expr)]

    def _form(self, expr: Expr) -> AffineExpr | None:
        match expr:
            case Axis():
                if expr not in self.dims:
                    fail(f"te.compute '{self.stage}': axis {expr.name} belongs to no axis of this stage")
                return self.dims[expr]
            case Const(value=int() as value):
                return AffineConstantExpr(int(value))
            case Var() if not is_float(expr.dtype) and expr not in self._scalars:
                value = size_of(expr, self.sizes)
                return lifted(value) if isinstance(value, SizeExpr) else AffineConstantExpr(int(value))
            case SizeNumber() if not is_float(expr.dtype):
                return lifted(size_in(expr.value, self.sizes))
            case Cast(a=a) if _operands(expr):
                return self._forms[id(a)]
            case Binary(op=op) if _operands(expr):
                a, b = self._forms[id(expr.a)], self._forms[id(expr.b)]
                if a is None or b is None:
                    return None
                return self._chosen(op, a, b) if op in ("min", "max") else affine_binary(self._floored(op, a), a, b)
            case _:
                return None

    def _floored(self, op: str, a: AffineExpr) -> str:
        """The name of a division that does as `op` does where `a` is not negative, if that is never so."""
        if op not in FLOORED:
            return op
        return FLOORED[op] if at_least(bounds(a, self._ranges())[0], 0) else op

    def _chosen(self, op: str, a: AffineExpr, b: AffineExpr) -> AffineExpr | None:
        """Return the operand that is the minimum or maximum at all points, or None if that depends on the point."""
        low, high = bounds(a - b, self._ranges())
        if at_least(low, 0):
            return b if op == "min" else a
        if at_least(0 - high, 0):
            return a if op == "min" else b
        return None

    def _ranges(self) -> list[Range]:
        """Return the range between the ends of each axis, counted from its start."""
        return [(0, self._last(axis)) for axis in self.dims]

    def _last(self, axis: Axis) -> Size:
        extent = axis.extent
        if isinstance(extent, Expr) and any(isinstance(node, Axis) for node in walk([extent])):
            return _MANY
        return evaluate(extent, self.sizes) - 1


def _operands(expr: Expr) -> Sequence[Expr]:
    """The operands of which the affine expression of a cast that keeps numbers, or of arithmetic, is made."""
    match expr:
        case Cast(a=a) if not is_float(expr.dtype) and not is_float(a.dtype) and bits(expr.dtype) >= bits(a.dtype):
            return [a]
        case Binary() if not is_float(expr.dtype):
            return [expr.a, expr.b]
        case _:
            return []
