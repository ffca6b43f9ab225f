"""The values of a variable for which a comparison holds, whatever some other variables are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from whence.arith.forms import Forms, integer
from whence.arith.int_set import EvalSet, IntervalSet, IntSet, neg_inf, pos_inf
from whence.arith.pattern import coefficients
from whence.dialects.affine import FAR, Linear
from whence.te.language.expr import Axis, Binary, Compare, Const, Expr, ExprLike, Var, binary, constant
from whence.te.language.walks import walk

Domain = Mapping[Any, Any]
"""Variables and the sets, or ranges, that they lie in."""


def deduce_bound(var: Var | Axis, cond: ExprLike, hint_map: Domain, relax_map: Domain) -> IntervalSet:
    """Return an interval of values of a variable, for all of which a comparison holds; nothing where none is known.

    hint_map: the sets of variables in the result, by which signs are known. relax_map: those of variables that are not
    in the result, for all of whose values the comparison holds. The variable may stand in sums, in products with what
    has a known sign, and, except in equations, in quotients by numbers.
    """
    condition = integer(cond)
    if not isinstance(condition, Compare) or condition.op == "ne" or condition.a.dtype == "bool":
        return IntSet.nothing()
    forms = _with_facts({**hint_map, **relax_map})
    a, b = (condition.b, condition.a) if condition.op in ("lt", "le") else (condition.a, condition.b)
    left = binary("sub", a, b)
    if condition.op == "eq":
        return _equal(var, left, relax_map, forms)
    return _at_least(var, binary("sub", left, 1) if condition.op in ("lt", "gt") else left, relax_map, forms)


def _with_facts(domain: Domain) -> Forms:
    forms = Forms()
    for var, interval in domain.items():
        ends = EvalSet(var, {var: interval})
        low = -FAR if ends.min_value is neg_inf() else forms.bounds(ends.min_value)[0]
        high = FAR if ends.max_value is pos_inf() else forms.bounds(ends.max_value)[1]
        forms.facts[forms.number(var)] = low, high
    forms.refresh()
    return forms


def _reads(expr: Expr, variables: Any) -> bool:
    return any(node is variable for node in walk([expr]) for variable in variables)


def _at_least(var: Var | Axis, left: Expr, relaxed: Domain, forms: Forms) -> IntervalSet:
    """The values of a variable for which `left >= 0`."""
    while (parts := _parts(var, left, forms)) is not None:
        target, factor, rest = parts
        low, high = forms.bounds(factor)
        if low <= 0 <= high or _reads(factor, relaxed):
            break
        if low > 0:
            edge = EvalSet(binary("sub", 0, rest), relaxed).max_value
            if edge is pos_inf():
                break
            least = forms.simplify(binary("floordiv", binary("sub", binary("add", edge, factor), 1), factor))
            if target is var:
                return IntervalSet(least, pos_inf())
            inner, divisor = _quotient(target)
            left = binary("sub", inner, binary("mul", least, divisor))
        else:
            edge = EvalSet(rest, relaxed).min_value
            if edge is neg_inf():
                break
            most = forms.simplify(binary("floordiv", edge, binary("sub", 0, factor)))
            if target is var:
                return IntervalSet(neg_inf(), most)
            inner, divisor = _quotient(target)
            left = binary("sub", binary("add", binary("mul", most, divisor), divisor - 1), inner)
    return IntSet.nothing()


def _equal(var: Var | Axis, left: Expr, relaxed: Domain, forms: Forms) -> IntervalSet:
    parts = _parts(var, left, forms)
    if parts is None or parts[0] is not var or _reads(left, relaxed):
        return IntSet.nothing()
    _, factor, rest = parts
    wanted = binary("sub", 0, rest)
    low, high = forms.bounds(factor)
    if low <= 0 <= high or forms.bounds(binary("floormod", wanted, factor)) != (0, 0):
        return IntSet.nothing()
    return IntSet.single_point(forms.simplify(binary("floordiv", wanted, factor)))


def _quotient(target: Expr) -> tuple[Expr, int]:
    quotient = cast("Binary", target)
    return quotient.a, int(cast("Const", quotient.b).value)


def _parts(var: Var | Axis, left: Expr, forms: Forms) -> tuple[Expr, Expr, Expr] | None:
    """The variable, or a quotient with it inside, its factor, and the rest of a sum; None where it is in two parts."""
    form, dtype = forms.form(left), left.dtype
    if (found := coefficients(form, [forms.number(var)], forms)) is not None:
        (factor,), rest = found
        return var, forms.written(factor, dtype), forms.written(rest, dtype)
    inside = [(atom, c) for atom, c in form.terms if _reads(forms.atom(atom, dtype), [var])]
    if len(inside) != 1:
        return None
    atom, c = inside[0]
    target = forms.atom(atom, dtype)
    if not isinstance(target, Binary) or target.op != "floordiv" or not isinstance(target.b, Const):
        return None
    rest = form.plus(Linear(((atom, -c),), 0))
    return target, constant(cast("int", c), dtype), forms.written(rest, dtype)
