"""Facts about variables in conditions and expressions: coefficients, and limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any, cast

from whence.arith.forms import Forms, integer
from whence.arith.modular import ModularSet
from whence.dialects.affine import FAR, Linear, linear
from whence.te.language.expr import Axis, Binary, Compare, Const, Expr, ExprLike, Not, Var, binary, constant
from whence.te.language.walks import walk


def detect_linear_equation(expr: ExprLike, var_list: Sequence[Var | Axis]) -> list[Expr]:
    """Return the coefficients of variables in an expression, and the rest; [] if it is not linear in them.

    >>> detect_linear_equation(x * 3 + x * n + y + 1, [x])
    [n + 3, y + 1]
    """
    forms = Forms()
    value = integer(expr)
    found = coefficients(forms.form(value), [forms.number(var) for var in var_list], forms)
    if found is None:
        return []
    # A negative number is of no unsigned dtype.
    dtype = value.dtype.removeprefix("u")
    return [*(forms.written(factor, dtype) for factor in found[0]), forms.written(found[1], value.dtype)]


def coefficients(form: Linear, dims: Sequence[int], forms: Forms) -> tuple[list[Linear], Linear] | None:
    """Return the factors of dims of variables in a form, and the rest; None if it is not linear in them."""
    factors = [Linear((), 0) for _ in dims]
    rest = Linear((), form.constant)
    variables = [forms.atoms[dim] for dim in dims]
    for atom, c in form.terms:
        parts = forms.factors(atom)
        own = [part for part in parts if part in dims]
        others = list(parts)
        for part in own:
            others.remove(part)
        if len(own) > 1 or any(_reads(forms.atoms[part], variables) for part in others):
            return None
        if own:
            position = dims.index(own[0])
            product = forms.product_of(others, variables[position].dtype)
            factors[position] = factors[position].plus(product, c)
        else:
            rest = rest.plus(Linear(((atom, c),), 0))
    return factors, rest


def _reads(expr: Expr, variables: Sequence[Any]) -> bool:
    return any(node is variable for node in walk([expr]) for variable in variables)


def limits(condition: Expr, forms: Forms) -> Iterator[tuple[Linear, int, int]]:
    """For each comparison of a conjunction: its terms without the number, and their least and greatest value."""
    match condition:
        case Binary(op="and"):
            yield from limits(condition.a, forms)
            yield from limits(condition.b, forms)
        case Compare(op="lt" | "le" | "gt" | "ge" | "eq" as op):
            form = linear(
                forms.form(condition.a).plus(forms.form(condition.b), -1).expr, tuple((-FAR, FAR) for _ in forms.atoms)
            )
            if not form.terms:
                return
            # terms * factor + number op 0
            number, factor = cast(int, form.constant), gcd(*(cast(int, c) for _, c in form.terms))
            factor = -factor if len(form.terms) == 1 and cast(int, form.terms[0][1]) < 0 else factor
            terms = Linear(tuple((atom, cast(int, c) // factor) for atom, c in form.terms), 0)
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
            yield terms, low, high
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

    [] where a comparison is about none of them, about several, or about a multiple of one that no number is.
    """
    forms = Forms()
    ends: dict[int, list[Expr | None]] = {position: [None, None] for position in range(len(var_list))}
    dims = [forms.number(var) for var in var_list]
    for left in sums_at_least_0(integer(expr)):
        found = coefficients(forms.form(left), dims, forms)
        if found is None:
            return []
        own = [number for number, factor in enumerate(found[0]) if factor.terms or factor.constant != 0]
        if not own and forms.bounds(left)[0] >= 0:
            continue
        if len(own) != 1 or found[0][own[0]].terms:
            return []
        factor, rest = cast(int, found[0][own[0]].constant), forms.written(found[1], left.dtype)
        side = 0 if factor > 0 else 1
        # factor * x + rest >= 0
        edge = binary("sub", factor - 1, rest) if factor > 0 else rest
        edge = forms.simplify(binary("floordiv", edge, abs(factor)))
        before = ends[own[0]][side]
        ends[own[0]][side] = edge if before is None else forms.simplify(binary(("max", "min")[side], before, edge))
    return [end for position in range(len(var_list)) for end in ends[position]]


_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def sums_at_least_0(condition: Expr) -> Iterator[Expr]:
    """Yield expressions that are all at least 0 where a conjunction of comparisons holds; -1 for other parts."""
    pending = [condition]
    while pending:
        match pending.pop():
            case Binary(op="and") as both:
                pending += [both.b, both.a]
            case Not(a=Compare() as inner):
                pending.append(Compare(_NEGATED[inner.op], inner.a, inner.b))
            case Compare(op="gt" | "ge" as op, a=Binary(op="min") as least, b=b):
                pending += [Compare(op, least.b, b), Compare(op, least.a, b)]
            case Compare(op="lt" | "le" as op, a=Binary(op="max") as most, b=b):
                pending += [Compare(op, most.b, b), Compare(op, most.a, b)]
            case Compare(op="eq") as equal:
                pending += [Compare("le", equal.a, equal.b), Compare("ge", equal.a, equal.b)]
            case Compare(op="lt" | "le" as op) as below:
                yield binary("sub", binary("sub", below.b, below.a), int(op == "lt"))
            case Compare(op="gt" | "ge" as op) as above:
                yield binary("sub", binary("sub", above.a, above.b), int(op == "gt"))
            case _:
                yield constant(-1, "int32")
