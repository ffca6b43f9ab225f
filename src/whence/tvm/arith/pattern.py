"""Facts about variables in conditions and expressions: coefficients, and limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from xdsl.ir.affine import AffineDimExpr

from whence.arith.forms import Forms, integer
from whence.arith.modular import ModularSet
from whence.dialects.affine import FAR, Linear, linear
from whence.te.language.expr import Axis, Binary, Compare, Const, Expr, ExprLike, Var, constant
from whence.te.language.walks import walk


def detect_linear_equation(expr: ExprLike, var_list: Sequence[Var | Axis]) -> list[Expr]:
    """Return the coefficients of variables in an expression, and the constant term; [] if it is not linear in them.

    >>> detect_linear_equation(x * 3 + y + 1, [x])
    [3, y + 1]
    """
    forms = Forms()
    value = integer(expr)
    form = forms.form(value)
    dims = [forms.number(var) for var in var_list]
    inside = {dim for dim in range(len(forms.atoms)) if _reads(forms.atoms[dim], var_list) and dim not in dims}
    coefficients = [form.coefficient(dim) for dim in dims]
    used = {dim for atom, _ in form.terms for dim in atom.used_dims()}
    if None in coefficients or used & inside:
        return []
    rest = Linear(
        tuple((atom, c) for atom, c in form.terms if not (isinstance(atom, AffineDimExpr) and atom.position in dims)),
        form.constant,
    )
    numbers = [constant(cast(int, coefficient), value.dtype) for coefficient in coefficients]
    return [*numbers, forms.written(rest, value.dtype)]


def _reads(expr: Expr, variables: Sequence[Any]) -> bool:
    return any(node is variable for node in walk([expr]) for variable in variables)


def limits(condition: Expr, forms: Forms) -> Iterator[tuple[Expr, int, int]]:
    """For each comparison of a conjunction that limits one variable: it, and the least and the greatest value."""
    match condition:
        case Binary(op="and"):
            yield from limits(condition.a, forms)
            yield from limits(condition.b, forms)
        case Compare(op="lt" | "le" | "gt" | "ge" | "eq" as op):
            form = linear(
                forms.form(condition.a).plus(forms.form(condition.b), -1).expr, tuple((-FAR, FAR) for _ in forms.atoms)
            )
            if len(form.terms) != 1 or not isinstance(form.terms[0][0], AffineDimExpr):
                return
            atom, factor, number = form.terms[0][0], cast(int, form.terms[0][1]), cast(int, form.constant)
            # factor * x + number op 0
            low, high = -FAR, FAR
            if op in ("ge", "gt", "eq"):
                edge = (1 if op == "gt" else 0) - number
                low, high = (-(-edge // factor), high) if factor > 0 else (low, -(edge // -factor))
            if op in ("le", "lt", "eq"):
                edge = (-1 if op == "lt" else 0) - number
                if factor > 0:
                    high = min(high, edge // factor)
                else:
                    low = max(low, -(edge // -factor))
            yield forms.atoms[atom.position], low, high
        case _:
            return


def remainders(condition: Expr) -> Iterator[tuple[Expr, ModularSet]]:
    """For each equation of a conjunction about the rest of a variable by a number: it, and its form."""
    match condition:
        case Binary(op="and"):
            yield from remainders(condition.a)
            yield from remainders(condition.b)
        case Compare(
            op="eq",
            a=Binary(op="floormod" | "truncmod", a=Var() | Axis() as variable, b=Const(value=int() as divisor)),
            b=Const(value=int() as rest),
        ) if divisor:
            yield variable, ModularSet.of(divisor, rest)
        case _:
            return


def detect_clip_bound(expr: ExprLike, var_list: Sequence[Var | Axis]) -> list[Expr | None]:
    """The least and the greatest value of each variable that a conjunction of comparisons allows; None for no limit.

    [] where a comparison is about something else.
    """
    condition, forms = integer(expr), Forms()
    ranges: dict[Any, tuple[int, int]] = dict.fromkeys(var_list, (-FAR, FAR))
    limited = list(limits(condition, forms))
    if len(limited) != _comparisons(condition) or any(var not in ranges for var, _, _ in limited):
        return []
    for var, low, high in limited:
        ranges[var] = max(ranges[var][0], low), min(ranges[var][1], high)
    ends = [end for var in var_list for end in ranges[var]]
    return [None if abs(end) >= FAR else constant(end, "int32") for end in ends]


def _comparisons(condition: Expr) -> int:
    if isinstance(condition, Binary) and condition.op == "and":
        return _comparisons(condition.a) + _comparisons(condition.b)
    return 1
