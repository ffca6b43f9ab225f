"""`Analyzer`: facts about variables, and their consequences for expressions."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, cast

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from whence.arith.bounds import ALL, Ends
from whence.arith.canonical import Canonical
from whence.arith.forms import Forms, integer, terms_of
from whence.arith.int_set import IntervalSet, IntSet, eval_set, neg_inf
from whence.arith.iter_affine import normalize_to_iter_sum
from whence.arith.iter_map import normalize_iter_map_to_expr
from whence.arith.modular import ANY, ModularSet, modular_of
from whence.arith.pattern import limits, remainders, sums_at_least_0
from whence.arith.rewrite import Rewriter
from whence.dialects.affine import FAR, Linear, linear
from whence.support.errors import FrontendError, ScheduleError, expectation
from whence.te.language import expr as language
from whence.te.language.expr import Axis, Binary, Const, Expr, ExprLike, Var
from whence.te.language.walks import walk

_FURTHEST = 1 << 30
"""More values than a variable of a known range has."""


class ProofStrength(IntEnum):
    """The means of a proof: numbers between which variables lie, or expressions, too."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


@dataclass(frozen=True)
class ConstIntBound:
    """The least and the greatest value of an expression, or `NEG_INF` and `POS_INF`."""

    min_value: int
    max_value: int
    POS_INF: ClassVar[int] = (1 << 63) - 1
    NEG_INF: ClassVar[int] = -POS_INF

    def __repr__(self) -> str:
        return f"ConstIntBound({self.min_value}, {self.max_value})"


class Analyzer:
    """An analyzer of integer expressions: simplifies them, and derives bounds and divisors from those of variables.

    Integers are unbounded: the analyzer assumes that computations do not overflow.
    """

    def __init__(self) -> None:
        self.forms = Forms()
        """Expressions as polynomials, with the facts about their variables."""
        self._equal: dict[int, ModularSet] = {}
        self._intervals: dict[Var | Axis, IntervalSet] = {}
        """The ranges of variables, whose ends may be expressions."""

    def bind(self, var: Var | Axis, expr: language.Range | ExprLike, allow_override: bool = False) -> None:
        """Set the value of a variable, or its range.

        Raises FrontendError for a variable that is bound to something else, unless it may be overridden.
        """
        if isinstance(expr, language.Range):
            low = self.forms.bounds(integer(expr.min))[0]
            high = self.forms.bounds(integer(cast("int", expr.min) + cast("int", expr.extent)))[1] - 1
            self.update(var, ConstIntBound(low, high), allow_override)
            end = language.binary("sub", language.binary("add", expr.min, expr.extent), 1)
            self._intervals[var] = IntervalSet(expr.min, end)
            return
        value = integer(expr)
        self.update(var, ConstIntBound(*self.forms.bounds(value)), allow_override)
        self._equal[self.forms.number(var)] = self.modular_set(value)

    def update(self, var: Var | Axis, info: ConstIntBound | ModularSet, override: bool = False) -> None:
        """Say between which numbers a variable lies, or of which form it is. Raises FrontendError as `bind`."""
        number = self.forms.number(var)
        if isinstance(info, ModularSet):
            self._equal[number] = info
            return
        before, now = self.forms.facts.get(number), (max(info.min_value, -FAR), min(info.max_value, FAR))
        if not override and before not in (None, now):
            raise FrontendError(expectation("Analyzer", f"{var} as it was bound before, {before}", str(now)))
        self._intervals.pop(var, None)
        self.forms.facts[number] = now
        self.forms.refresh()

    def const_int_bound(self, expr: ExprLike) -> ConstIntBound:
        """The least and the greatest value."""
        low, high = self.forms.bounds(integer(expr))
        half = FAR // 2
        return ConstIntBound(
            ConstIntBound.NEG_INF if low <= -half else low, ConstIntBound.POS_INF if high >= half else high
        )

    def modular_set(self, expr: ExprLike) -> ModularSet:
        """The form `coeff * k + base` of the values."""
        value = integer(expr)
        # Each finds what the other does not see: quotients that cancel, and operators that are not affine.
        return self._modular(self.forms.form(value)).met(self._by_parts(value))

    def _by_parts(self, expr: Expr) -> ModularSet:
        return modular_of(expr, self._of_variable, lambda part: self.forms.bounds(part)[0])

    def _of_variable(self, var: Var | Axis) -> ModularSet:
        number = self.forms.number(var)
        low, high = self.forms.ranges[number]
        known = self._equal.get(number, ANY)
        return known.met(ModularSet(0, low)) if low == high else known

    def _linear(self, expr: AffineExpr) -> Linear:
        return linear(expr, tuple(self.forms.ranges))

    def _modular(self, form: Linear) -> ModularSet:
        modular = ModularSet(0, cast(int, form.constant))
        for atom, factor in form.terms:
            modular = modular.plus(self._of_atom(atom), cast(int, factor))
        return modular

    def _of_atom(self, atom: AffineExpr) -> ModularSet:
        match atom:
            case AffineDimExpr():
                return self._by_parts(self.forms.atoms[atom.position])
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=AffineConstantExpr(value=divisor)):
                inner = self._modular(self._linear(lhs))
                return inner.floormod(divisor) if kind is AffineBinaryOpKind.Mod else inner.floordiv(divisor)
            case _:
                return ANY

    def simplify(self, expr: ExprLike, steps: int = 2) -> Expr:
        """An equal expression in a simpler form."""
        simple = self.forms.simplify(integer(expr))
        for _ in range(steps - 1):
            simple = self.forms.simplify(simple)
        return self._in_digits(integer(expr), simple)

    def _in_digits(self, expr: Expr, simple: Expr) -> Expr:
        """An expression with rests as the sum of digits that it is of variables in known ranges, if that is shorter."""
        nodes = walk([simple])
        if not any(isinstance(node, Binary) and node.op == "floormod" for node in nodes):
            return simple
        ranges = {node: self.forms.ranges[self.forms.number(node)] for node in nodes if isinstance(node, Var | Axis)}
        domain = {
            var: language.Range(low, high - low + 1)
            for var, (low, high) in ranges.items()
            if var.dtype == simple.dtype and _FURTHEST > high - low and abs(low) < _FURTHEST
        }
        try:
            sums = [normalize_iter_map_to_expr(normalize_to_iter_sum(one, domain)) for one in (expr, simple)]
        except ScheduleError:  # The dtype has no number of all iterations.
            return simple
        return min([simple, *sums], key=lambda one: len(walk([one])))

    def rewrite_simplify(self, expr: ExprLike) -> Expr:
        """Return an equal expression, made by the rules of `rules.py`: its sums keep their order.

        Raises FrontendError for a division by the number 0.
        """
        return Rewriter(self).run(integer(expr))

    def canonical_simplify(self, expr: ExprLike) -> Expr:
        """Return an equal expression: sums of digits in a canonical order, all else as by `rewrite_simplify`.

        Raises FrontendError for a division by the number 0.
        """
        return Canonical(self).run(integer(expr))

    def can_prove(self, expr: ExprLike, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """Return whether a condition holds for sure; a strong proof uses ranges whose ends are expressions."""
        simple = self.simplify(expr)
        if isinstance(simple, Const) or strength == ProofStrength.DEFAULT:
            return isinstance(simple, Const) and bool(simple.value)
        return all(self._never_negative(side) for side in sums_at_least_0(simple))

    def _never_negative(self, expr: Expr) -> bool:
        # An end may have a variable whose range has ends itself.
        for _ in range(len(self._intervals) + 1):
            expr = eval_set(expr, self._intervals, self.forms).min_value
            if expr is neg_inf():
                return False
            if self.forms.bounds(expr)[0] >= 0:
                return True
        return False

    def can_prove_equal(self, lhs: ExprLike, rhs: ExprLike) -> bool:
        """Return whether two expressions are equal for sure."""
        a, b = integer(lhs), integer(rhs)
        if "bool" in (a.dtype, b.dtype):
            return self.forms.same(self.simplify(a), self.simplify(b))
        return self.forms.bounds(language.binary("sub", a, b)) == (0, 0)

    def can_prove_greater_equal(self, expr: ExprLike, lower_bound: int) -> bool:
        """Return whether an expression is at least a number for sure."""
        return self.forms.bounds(integer(expr))[0] >= lower_bound

    def can_prove_less(self, expr: ExprLike, upper_bound: int) -> bool:
        """Return whether an expression is less than a number for sure."""
        return self.forms.bounds(integer(expr))[1] < upper_bound

    def int_set(self, expr: ExprLike, dom_map: Mapping[Var | Axis, IntSet] | None = None) -> IntervalSet:
        """The interval that an expression lies in, where variables lie in theirs; without `dom_map`, in those bound."""
        if dom_map is None:
            bound = self.const_int_bound(expr)
            return IntervalSet(bound.min_value, bound.max_value)
        return eval_set(integer(expr), dom_map, self.forms)

    @contextmanager
    def constraint_scope(self, constraint: ExprLike) -> Generator[None]:
        """A scope in which a condition holds."""
        forms = self.forms
        before = dict(forms.facts), dict(forms.limits), dict(forms.sums), dict(self._equal)
        for terms, low, high in limits(integer(constraint), forms):
            atom = terms.terms[0][0]
            known: dict[Any, Ends]
            if len(terms.terms) > 1:
                known, name, now = forms.sums, terms_of(terms), forms.sums.get(terms_of(terms), ALL)
            elif isinstance(atom, AffineDimExpr):
                known, name = forms.facts, atom.position
                now = forms.facts.get(name, forms.ranges[name])
            else:
                known, name, now = forms.limits, atom, forms.limits.get(atom, ALL)
            known[name] = max(now[0], low), min(now[1], high)
        for var, rest in remainders(integer(constraint)):
            number = forms.number(var)
            self._equal[number] = self._equal.get(number, ANY).met(rest)
        forms.refresh()
        try:
            yield
        finally:
            forms.facts, forms.limits, forms.sums, self._equal = before
            forms.refresh()
