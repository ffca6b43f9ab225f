"""Index expressions and conditions of the te language as affine maps and sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr
from xdsl.ir.affine import (
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineMap,
    AffineSet,
)

from ...dialects.sizes.kernel import at_least, size_of
from ...support.errors import ScheduleError
from .expr import Axis, Binary, Cast, Compare, Const, Expr, ExprLike, convert

AXIS_SEPARATOR = "axis_separator"
"""In the layout that a lambda gives: the dimensions on each side are flattened apart."""


FLOORED = {"div": "floordiv", "truncdiv": "floordiv", "truncmod": "floormod"}
"""For indices, which are not negative, all kinds of division are the same."""

AFFINE = {
    AffineBinaryOpKind.Add: "add",
    AffineBinaryOpKind.Mul: "mul",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.Mod: "floormod",
}
"""The operators of affine expressions."""


def affine_binary(op: str, a: AffineExpr, b: AffineExpr) -> AffineExpr | None:
    """`a op b` by the names of `operators`; None when that is not affine."""
    constant = b.value if isinstance(b, AffineConstantExpr) else None
    match op:
        case "add":
            return a + b
        case "sub":
            return a + b * -1
        case "mul" if constant is not None:
            return a * constant
        case "mul" if isinstance(a, AffineConstantExpr):
            return b * a.value
        case "mul" if not b.used_dims() or not a.used_dims():
            return a * b
        case "floordiv" if constant is not None and constant > 0:
            return a // constant
        case "floormod" if constant is not None and constant > 0:
            return a % constant
        case "floordiv" | "floormod" if constant is None and not b.used_dims() and at_least(size_of(b), 0):
            return a // b if op == "floordiv" else a % b
        case _:
            return None


def affine_expr(expr: Expr, dims: Mapping[Axis, AffineExpr]) -> AffineExpr:
    """Raises ScheduleError when `expr` is no affine function of the axes in `dims`."""
    match expr:
        case Axis() if expr in dims:
            return dims[expr]
        case Const(value=int() as value):
            return AffineConstantExpr(value)
        case Cast(a=a):
            return affine_expr(a, dims)
        case Binary(op=op):
            affine = affine_binary(FLOORED.get(op, op), affine_expr(expr.a, dims), affine_expr(expr.b, dims))
            if affine is not None:
                return affine
        case _:
            pass
    raise ScheduleError(f"expected an affine expression of the stage's axes, got {expr}")


def affine_set(condition: Expr, dims: Mapping[Axis, AffineExpr]) -> AffineSetAttr:
    """A conjunction of affine comparisons; raises ScheduleError for any other condition."""
    parts: list[Expr] = [condition]
    constraints: list[AffineConstraintExpr] = []
    while parts:
        part = parts.pop()
        match part:
            case Binary(op="and"):
                parts += [part.b, part.a]
            case Compare(op=op) if op != "ne":
                a, b = affine_expr(part.a, dims), affine_expr(part.b, dims)
                below = {"lt": b + a * -1 + -1, "le": b + a * -1, "gt": a + b * -1 + -1, "ge": a + b * -1}
                kind = AffineConstraintKind.eq if op == "eq" else AffineConstraintKind.ge
                constraints.append(
                    AffineConstraintExpr(kind, below.get(op, a + b * -1), AffineConstantExpr(0), canonicalize=False)
                )
            case _:
                raise ScheduleError(f"expected comparisons joined by `te.all`, got {part}")
    return AffineSetAttr(AffineSet(len(dims), 0, tuple(constraints)))


def bounds_of(condition: AffineSetAttr) -> list[AffineExpr]:
    """Expressions that are all at least 0 exactly where `condition` holds."""
    exprs: list[AffineExpr] = []
    for constraint in condition.data.constraints:
        difference = constraint.lhs + constraint.rhs * -1
        if constraint.kind is not AffineConstraintKind.le:
            exprs.append(difference)
        if constraint.kind is not AffineConstraintKind.ge:
            exprs.append(difference * -1)
    return exprs


def layout_map(function: Callable[..., Any], names: Sequence[str]) -> tuple[AffineMapAttr, list[int]]:
    """Return the layout that a lambda of the axes defines, and the positions of AXIS_SEPARATOR.

    Parameters by name only are the last axes: `lambda *outer, n: [*outer, n // 4, n % 4]`.
    """
    axes = [Axis(name, 1) for name in names]
    dims: dict[Axis, AffineExpr] = {axis: AffineExpr.dimension(i) for i, axis in enumerate(axes)}
    last = [p.name for p in signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    first = len(axes) - len(last)
    answer: Any = function(*axes[:first], **dict(zip(last, axes[first:], strict=False)))
    results: list[AffineExpr] = []
    separators: list[int] = []
    for item in cast(Sequence[ExprLike | str], answer if isinstance(answer, list | tuple) else [answer]):
        if isinstance(item, str):
            separators.append(len(results))
        else:
            results.append(affine_expr(convert(item), dims))
    return AffineMapAttr(AffineMap(len(axes), 0, tuple(results))), separators
