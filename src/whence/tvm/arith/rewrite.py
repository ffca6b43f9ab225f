"""`rewrite_simplify`: expressions rewritten by the rules of `rules.py`, and by what bounds and divisors say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import gcd, isfinite
from typing import Any, Protocol, cast

from whence.arith.bounds import Ends, truncated
from whence.arith.forms import Forms, Names
from whence.arith.modular import ModularSet
from whence.arith.rule_trees import evaluated, head, matches, table
from whence.support.dtypes import BOOL, element_of, is_float, lanes_of, rounded
from whence.support.errors import FrontendError, ScheduleError, expectation
from whence.te.language.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Not,
    Select,
    compare,
    constant,
)
from whence.te.language.lanes import Let, Ramp
from whence.te.language.walks import children, operands_first, rebuilt, substitution, with_children

_STEPS = 4000
"""The most rules that are applied to one expression."""
_DEEPEST = 40
"""Choices inside one another whose conditions count as facts, and results that are rewritten on inside one another."""
_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")
_BOUNDED = (*_DIVISIONS, "min", "max")
_FLIPPED = {"lt": "le", "le": "lt"}


class Facts(Protocol):
    """The facts about variables."""

    forms: Forms

    def modular_set(self, expr: Any) -> ModularSet: ...
    def constraint_scope(self, constraint: Any) -> AbstractContextManager[None]: ...


class Rewriter:
    """The rewriting of one expression."""

    def __init__(self, facts: Facts):
        self._facts = facts
        self._forms = facts.forms
        self._names = Names()
        self._done: dict[int, Expr] = {}
        """Id of a node -> its result, which is its own."""
        self._kept: list[Expr] = []
        self._steps = _STEPS
        self._depth = self._nested = 0

    def run(self, root: Expr) -> Expr:
        """Return an equal expression; raises FrontendError for a division by the number 0."""
        for node in operands_first([root], self._done, first_parts):
            result = self._settled(self._node(node))
            self._kept += (node, result)
            self._done[id(node)] = self._done[id(result)] = result
        return self._done[id(root)]

    def _node(self, node: Expr) -> Expr:
        """A node of the results of its parts."""
        match node:
            case Select():
                return self._select(node)
            case Let():
                return self.run(rebuilt(node.body, substitution({node.var: self._done[id(node.value)]})))
            case _:
                parts = children(node)
                fresh = [self._done[id(part)] for part in parts]
                if all(a is b for a, b in zip(parts, fresh, strict=True)):
                    return node
                return with_children(node, fresh)

    def _select(self, node: Select) -> Expr:
        condition = self._done[id(node.condition)]
        if isinstance(condition, Const):
            return self.run(node.true_value if condition.value else node.false_value)
        then = self._where(condition, node.true_value)
        otherwise = self._where(self.run(Not(condition)), node.false_value)
        return replace(node, condition=condition, true_value=then, false_value=otherwise)

    def _where(self, condition: Expr, branch: Expr) -> Expr:
        """A branch where a condition holds."""
        if self._depth == _DEEPEST or not children(branch):
            return self.run(branch)
        before = self._done
        self._depth += 1
        try:
            with self._facts.constraint_scope(condition):
                self._done = {}
                return self.run(branch)
        finally:
            self._done = before
            self._depth -= 1

    def _settled(self, expr: Expr) -> Expr:
        """The expression after all rules that apply at its top."""
        while self._steps:
            step = self._step(expr)
            if step is None or step[0] is expr:
                return expr
            self._steps -= 1
            expr, again = step
            if again and self._nested < _DEEPEST:
                self._nested += 1
                try:
                    return self.run(expr)
                finally:
                    self._nested -= 1
        return expr

    def _step(self, expr: Expr) -> tuple[Expr, bool] | None:
        """The result of one rule, and whether to go on with it."""
        if isinstance(expr, Cast):
            return self._cast(expr)
        if isinstance(expr, Call):
            return None
        if (kind := head(expr)) is None and not isinstance(expr, Binary):
            return None
        if isinstance(expr, Binary) and kind in _DIVISIONS and _is_zero(expr.b):
            raise FrontendError(expectation("Analyzer", "a divisor that is not 0", str(expr)))
        if isinstance(expr, Binary | Compare) and (folded := _folded(expr)) is not None:
            return folded, False
        if kind is None or (isinstance(expr, Binary | Compare) and is_float(expr.a.dtype)):
            return None
        if lanes_of(expr.dtype) == 1 and (special := self._special(expr, kind)) is not None:
            return special
        if isinstance(expr, Binary) and isinstance(expr.a, Ramp) and (ramp := self._divided_ramp(expr)) is not None:
            return ramp, True
        return self._by_rule(expr, kind)

    def _by_rule(self, expr: Expr, kind: str) -> tuple[Expr, bool] | None:
        for rule in table().get(kind, ()):
            values: dict[str, Any] = {}
            if not matches(rule.pattern, expr, values, self._same):
                continue
            functions: dict[str, Callable[..., Any]] = {"lo": self._low, "hi": self._high}
            try:
                if rule.condition is not None and not evaluated(rule.condition, values, functions):
                    continue
                result = evaluated(rule.result, values, functions)
                return _as_expr(result, expr.dtype), rule.again
            except (ScheduleError, ZeroDivisionError):  # A number is of no such dtype, or a rest of a division by 0.
                continue
        return None

    def _same(self, a: Expr, b: Expr) -> bool:
        return self._names.of(a) == self._names.of(b)

    def _ends(self, value: Expr | int) -> Ends:
        return (value, value) if isinstance(value, int) else self._forms.bounds(value)

    def _low(self, value: Expr | int) -> int:
        return self._ends(value)[0]

    def _high(self, value: Expr | int) -> int:
        return self._ends(value)[1]

    # Beyond the table

    def _special(self, expr: Expr, kind: str) -> tuple[Expr, bool] | None:
        match expr:
            case Compare():
                return self._comparison(expr)
            case Not(a=Const() as value):
                return Const(not value.value, BOOL), False
            case Select(condition=Const() as condition):
                return (expr.true_value if condition.value else expr.false_value), False
            case Binary() if expr.dtype == BOOL:
                return self._logic(expr)
            case Binary() if kind in _BOUNDED:
                low, high = self._forms.bounds(expr)
                if low == high:
                    return constant(low, expr.dtype), False
                return self._extreme(expr) if kind in ("min", "max") else self._division(expr, kind)
            case _:
                return None

    def _extreme(self, expr: Binary) -> tuple[Expr, bool] | None:
        low, high = self._forms.bounds(Binary("sub", expr.a, expr.b))
        if high <= 0 or low >= 0:
            return (expr.a if (high <= 0) == (expr.op == "min") else expr.b), False
        for outer, inner in ((expr.a, expr.b), (expr.b, expr.a)):
            leaves = _leaves(outer, expr.op)
            if len(leaves) > 1 and any(self._same(leaf, inner) for leaf in leaves):
                return outer, False
        return None

    def _division(self, expr: Binary, kind: str) -> tuple[Expr, bool] | None:
        """Quotients and rests of sums of which some terms are multiples, and the others less than one."""
        if not isinstance(expr.b, Const):
            return None
        divisor = int(expr.b.value)
        if divisor <= 0:
            return None
        if kind in ("floormod", "truncmod"):
            known = self._facts.modular_set(expr.a)
            if known.coeff % divisor == 0 and (kind == "floormod" or self._low(expr.a) >= 0):
                return constant(known.base % divisor, expr.dtype), False
        if kind == "truncdiv" and self._low(expr.a) < 0:
            return None
        if kind not in ("floordiv", "floormod"):
            return None
        terms = _leaves(expr.a, "add")
        factors = sorted({abs(_factor(term)) for term in terms} - {0, 1}, reverse=True)
        for factor in factors:
            if divisor % factor or factor == divisor:
                continue
            whole = [term for term in terms if _factor(term) % factor == 0]
            rest = [term for term in terms if _factor(term) % factor]
            if not rest or not whole:
                continue
            small = _sum(rest)
            low, high = self._forms.bounds(small)
            if 0 <= low <= high < factor:
                quotient = _sum([_without(term, factor) for term in whole])
                if kind == "floordiv":
                    return quotient // (divisor // factor), True
                return quotient % (divisor // factor) * factor + small, True
        return None

    def _divided_ramp(self, expr: Binary) -> Expr | None:
        """A quotient or rest of a ramp whose lanes lie between the same multiples of the divisor."""
        ramp = expr.a
        assert isinstance(ramp, Ramp)
        if head(expr) not in _DIVISIONS or not isinstance(expr.b, Broadcast):
            return None
        is_quotient = expr.op.endswith("div")
        divisor, step = expr.b.value, ramp.stride
        if not isinstance(divisor, Const) or not isinstance(step, Const) or int(divisor.value) <= 0:
            return None
        number, stride = int(divisor.value), int(step.value)
        if expr.op not in ("floordiv", "floormod") and (self._low(ramp.base) < 0 or stride < 0):
            return None
        known = self._facts.modular_set(ramp.base)
        grid = number if known.coeff == 0 else gcd(known.coeff, number)
        ends = [known.base % grid, known.base % grid + stride * (ramp.lanes - 1)]
        if 0 <= min(ends) and max(ends) < grid:
            if is_quotient:
                return Broadcast(Binary(expr.op, ramp.base, divisor), ramp.lanes)
            return Ramp(Binary(expr.op, ramp.base, divisor), step, ramp.lanes)
        if not is_quotient and grid == number and not isinstance(ramp.base, Const):
            base = constant(known.base % number, ramp.base.dtype)
            return Binary(expr.op, Ramp(base, step, ramp.lanes), expr.b)
        return None

    def _comparison(self, expr: Compare) -> tuple[Expr, bool] | None:
        a, b = expr.a, expr.b
        if a.dtype.startswith(BOOL) or is_float(a.dtype):
            return None
        if expr.op in ("gt", "ge"):
            return compare("lt" if expr.op == "gt" else "le", b, a), True
        decided = self._forms.simplify(expr)
        if isinstance(decided, Const):
            return decided, False
        if expr.op in ("le", "ne"):
            return self._negated(expr)
        return None

    def _negated(self, expr: Compare) -> tuple[Expr, bool] | None:
        """The negation of what the opposite comparison becomes."""
        a, b = expr.a, expr.b
        if expr.op == "le":
            # A value that is nowhere less than a number is at most it where it is it.
            for value, number, bound in ((a, b, self._low), (b, a, self._high)):
                if isinstance(number, Const) and bound(value) == number.value:
                    return compare("eq", value, number), True
        wanted = compare("lt", b, a) if expr.op == "le" else compare("eq", a, b)
        opposite = self._by_rule(wanted, wanted.op)
        if opposite is None:
            return None
        result = self.run(opposite[0])
        match result:
            case Const():
                return Const(not result.value, BOOL), False
            case Compare(op="lt" | "le" as op):
                return Compare(_FLIPPED[op], result.b, result.a), False
            case Compare(op="eq" | "ne" as op):
                return Compare("ne" if op == "eq" else "eq", result.a, result.b), False
            case Not():
                return result.a, False
            case _:
                return None

    def _logic(self, expr: Binary) -> tuple[Expr, bool] | None:
        """The conjunction or the disjunction of two conditions of which one decides something about the other."""
        is_and = expr.op == "and"
        for one, other in ((expr.a, expr.b), (expr.b, expr.a)):
            if isinstance(one, Const):
                return (other if bool(one.value) == is_and else one), False
        if self._same(self.run(Not(expr.a)), expr.b) or self._same(self.run(Not(expr.b)), expr.a):
            return Const(not is_and, BOOL), False
        first, second = _numbers_of(expr.a), _numbers_of(expr.b)
        if first is None or second is None or not self._same(first[0], second[0]):
            return None
        if is_and and (_apart(first[1:], second[1:]) or _apart(second[1:], first[1:])):
            return Const(False, BOOL), False
        if not is_and and (_covers(first[1:], second[1:]) or _covers(second[1:], first[1:])):
            return Const(True, BOOL), False
        for one, a, b in ((expr.a, first[1:], second[1:]), (expr.b, second[1:], first[1:])):
            # The stricter one of two is their conjunction, the other their disjunction.
            if _within(a, b) and is_and:
                return one, False
            if _within(b, a) and not is_and:
                return one, False
        return None

    def _cast(self, expr: Cast) -> tuple[Expr, bool] | None:
        value = expr.a
        if isinstance(value, Const) and isfinite(value.value) and lanes_of(expr.dtype) == 1:
            number = value.value
            if expr.dtype == BOOL:
                return Const(bool(number), BOOL), False
            number = float(number) if is_float(expr.dtype) else int(number)
            try:
                return constant(rounded(number, expr.dtype), expr.dtype), False
            except ScheduleError:  # The number wraps round.
                return None
        if isinstance(value, Broadcast) and lanes_of(expr.dtype) == value.lanes:
            return Broadcast(value.value.astype(element_of(expr.dtype)), value.lanes), True
        return None


def first_parts(node: Expr) -> Sequence[Expr]:
    """The parts that are rewritten before a node, where nothing else is known."""
    match node:
        case Select():
            return (node.condition,)
        case Let():
            return (node.value,)
        case _:
            return children(node)


def _as_expr(value: Any, dtype: str) -> Expr:
    if isinstance(value, Expr):
        return value
    number = constant(value, element_of(dtype))
    return number if lanes_of(dtype) == 1 else Broadcast(number, lanes_of(dtype))


def _is_zero(expr: Expr) -> bool:
    number = expr.value if isinstance(expr, Broadcast) else expr
    return isinstance(number, Const) and not is_float(number.dtype) and number.value == 0


_FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "truncdiv": truncated,
    "truncmod": lambda a, b: a - truncated(a, b) * b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _folded(expr: Binary | Compare) -> Expr | None:
    """The number that an operator gives of two numbers."""
    a, b = expr.a, expr.b
    if not isinstance(a, Const) or not isinstance(b, Const) or a.dtype == BOOL:
        return None
    op = "truncdiv" if expr.op == "div" and not is_float(a.dtype) else expr.op
    if (op not in _FOLDED and op != "div") or (op in ("shl", "shr") and not 0 <= b.value < 64):
        return None
    if is_float(a.dtype) and not isinstance(expr, Compare):
        if op == "div" and b.value:
            return constant(rounded(a.value / b.value, a.dtype), a.dtype)
        if op not in ("add", "sub", "mul", "min", "max"):
            return None
    value = _FOLDED[op](a.value, b.value)
    if isinstance(expr, Compare):
        return Const(bool(value), BOOL)
    try:
        return constant(rounded(value, a.dtype), a.dtype)
    except ScheduleError:  # The number wraps round.
        return None


def _leaves(expr: Expr, op: str) -> list[Expr]:
    """The operands of operators of one kind inside one another, from left to right."""
    leaves: list[Expr] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Binary) and node.op == op:
            stack += (node.b, node.a)
        else:
            leaves.append(node)
    return leaves


def _factor(term: Expr) -> int:
    match term:
        case Const(value=int() as value):
            return int(value)
        case Binary(op="mul", b=Const(value=int() as value)):
            return int(value)
        case _:
            return 1


def _without(term: Expr, factor: int) -> Expr:
    """A term divided by a factor of its number."""
    if isinstance(term, Const):
        return constant(cast(int, term.value) // factor, term.dtype)
    assert isinstance(term, Binary)
    return term.a * (_factor(term) // factor)


def _sum(terms: Sequence[Expr]) -> Expr:
    total = terms[0]
    for term in terms[1:]:
        total = Binary("add", total, term)
    return total


_END = 1 << 65
_Numbers = tuple[int, int, bool]
"""The least and the greatest of some numbers, or, if it says so, all but these."""


def _numbers_of(condition: Expr) -> tuple[Expr, int, int, bool] | None:
    """The value that a comparison with a number is about, and for which numbers it holds."""
    if not isinstance(condition, Compare) or is_float(condition.a.dtype):
        return None
    match condition:
        case Compare(op=op, a=a, b=Const(value=int() as number)):
            low, high, beside = {
                "lt": (-_END, number - 1, False),
                "le": (-_END, number, False),
                "gt": (number + 1, _END, False),
                "ge": (number, _END, False),
                "eq": (number, number, False),
                "ne": (number, number, True),
            }[op]
            return a, low, high, beside
        case Compare(op="lt" | "le" as op, a=Const(value=int() as number), b=b):
            return b, number + (op == "lt"), _END, False
        case _:
            return None


def _apart(a: _Numbers, b: _Numbers) -> bool:
    """Return whether no number is in both."""
    if a[2]:
        return False
    return (b[0] <= a[0] and a[1] <= b[1]) if b[2] else (a[1] < b[0] or b[1] < a[0])


def _within(a: _Numbers, b: _Numbers) -> bool:
    """Return whether all numbers of the first are in the second."""
    return _apart(a, (b[0], b[1], not b[2])) if not a[2] or b[2] is False else (b[0] >= a[0] and b[1] <= a[1])


def _covers(a: _Numbers, b: _Numbers) -> bool:
    """Return whether every number is in one of the two."""
    if a[2]:
        return (a[1] < b[0] or b[1] < a[0]) if b[2] else (b[0] <= a[0] and a[1] <= b[1])
    return not b[2] and a[0] == -_END and b[1] == _END and b[0] <= a[1] + 1
