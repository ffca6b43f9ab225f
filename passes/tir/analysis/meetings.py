"""Two iterations in which affine accesses touch one element: found, excluded, or left undecided.

A variable that both accesses have is `p` in the first iteration and `p + d` in the second, so that an index that moves
with it cancels but for `d`; equal quotients of floordiv and mod are one variable. Each dimension is an equation of its
own. Sizes that only a call knows are variables, too; their products are new ones, of which little is known.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineDimExpr, AffineExpr

from ....dialects.affine import Linear, Range, hull, linear
from ....dialects.sizes import Size, SizeExpr, evaluate, symbols_of
from ....dialects.sizes.kernel import at_least, number_of, size_of
from ....dialects.sizes.terms import Atom, Polynomial
from .integer_systems import FAR, Form, System, TooMuch, variable

Variable: TypeAlias = Hashable
"""A loop variable, or another value that indices use."""

Clause: TypeAlias = "tuple[tuple[AffineExpr, ...], ...]"
"""Alternatives, in one of which all expressions are at least 0."""

DATA, EFFORT, SIZES = "data", "effort", "sizes"
"""The reasons for which a question stays undecided: data, the budget, products of sizes."""

MOST_CASES = 64
"""Combinations of alternatives that are looked at for one question."""


@dataclass(frozen=True)
class Access:
    """The element `map`, touched for all values of `variables` for which each clause holds; dim i is variable i."""

    variables: tuple[Variable, ...]
    map: tuple[AffineExpr, ...]
    clauses: tuple[Clause, ...] = ()
    writes: bool = True


class Witness(NamedTuple):
    """Two iterations that touch one element: the values of the variables in each, the element, and the sizes."""

    earlier: Mapping[Variable, int]
    later: Mapping[Variable, int]
    element: tuple[int, ...]
    sizes: Mapping[str, int]


class Undecided(NamedTuple):
    """No answer, because of `DATA`, `EFFORT` or `SIZES`."""

    reason: str


Answer: TypeAlias = Witness | Undecided | None
"""None: no two such iterations touch one element."""

Apart: TypeAlias = Mapping[Variable, tuple[int, int]]
"""The smallest and largest value of `later - earlier` of some variables."""

AFTER = (1, FAR)
BEFORE = (-FAR, -1)
EQUAL = (0, 0)


class _Both(NamedTuple):
    """An expression in the first and in the second iteration."""

    first: Form
    second: Form

    def plus(self, other: _Both, factor: int = 1) -> _Both:
        return _Both(self.first.plus(other.first, factor), self.second.plus(other.second, factor))

    def times(self, factor: int) -> _Both:
        return _Both(self.first.times(factor), self.second.times(factor))


class _Case(NamedTuple):
    """An alternative: forms that are 0, and forms that are at least 0."""

    zero: tuple[Form, ...]
    not_negative: tuple[Form, ...]


_NOTHING = Form({}, 0)


class Pair:
    """Two accesses of one buffer, about which questions are asked."""

    def __init__(
        self,
        first: Access,
        second: Access,
        ranges: Mapping[Variable, Range],
        fixed: Collection[Variable] = (),
        data: Collection[Variable] = (),
    ):
        """ranges: of the variables that have ends.

        fixed: variables that have one value in both iterations. data: variables of which only data decides the values
        that they take.
        """
        self.first, self.second = first, second
        self._ranges, self._fixed, self._data = ranges, fixed, data
        self._system = System()
        self._variables: dict[Variable, _Both] = {}
        self._moved: dict[Variable, int] = {}
        self._quotients: dict[object, _Both] = {}
        self._sizes: dict[str, int] = {}
        self._products: dict[tuple[str, int], int] = {}
        self._cases: list[list[_Case]] = []
        for name in (*first.variables, *second.variables):
            self._variable(name)
        mine, theirs = (self._forms(access) for access in (first, second))
        for left, right in zip(mine, theirs, strict=True):
            self._system.zero(left.first.plus(right.second, -1))
        for access, side in ((first, 0), (second, 1)):
            for clause in access.clauses:
                self._clause(access, clause, side)
        used = {number for form in (*self._system.equations, *self._system.inequalities) for number in form.terms}
        used |= {n for cases in self._cases for case in cases for form in (*case[0], *case[1]) for n in form.terms}
        own = [self._variables[name] for name in data if name in self._variables]
        self._by_data = any(used & {*both.first.terms, *both.second.terms} for both in own)
        self._alternatives = self._reduced()

    def meet(self, apart: Apart) -> Answer:
        """Return two iterations, `apart` so far, of which the first access's touches what the second access's does."""
        if isinstance(self._alternatives, Undecided):
            return self._alternatives
        undecided: Undecided | None = None
        for system in self._alternatives:
            answer = self._answer(system, apart)
            if isinstance(answer, Witness):
                return answer
            undecided = undecided or answer
        return undecided

    def _answer(self, system: System, apart: Apart) -> Answer:
        asked = system.copy()
        for name, (low, high) in apart.items():
            moved = self._moved.get(name)
            if moved is None:
                # A variable that only one access has is free to differ.
                if name in self._fixed and (low > 0 or high < 0):
                    return None
            elif not asked.between(moved, low, high):
                return None
        try:
            values = asked.solve()
        except TooMuch:
            return Undecided(EFFORT)
        if values is None:
            return None
        if self._by_data:
            return Undecided(DATA)
        return self._witness(values)

    def _witness(self, values: tuple[int, ...]) -> Answer:
        """The iterations that a solution is, if they do touch one element: a product of sizes may have any value."""
        sizes = {name: values[number] for name, number in self._sizes.items()}
        ends: list[dict[Variable, int]] = []
        elements: list[tuple[int, ...]] = []
        for access, side in ((self.first, 0), (self.second, 1)):
            where = {name: self._variables[name][side].value(values) for name in access.variables}
            dims = [where[name] for name in access.variables]
            symbols = [sizes.get(f"s{i}", 1) for i in range(max((number_of(name) + 1 for name in sizes), default=0))]
            holds = all(
                any(all(expr.eval(dims, symbols) >= 0 for expr in exprs) for exprs in clause)
                for clause in access.clauses
            )
            inside = all(
                _number(low, sizes) <= where[name] <= _number(high, sizes)
                for name in access.variables
                if name in self._ranges
                for low, high in [self._ranges[name]]
            )
            if not holds or not inside:
                return Undecided(SIZES)
            ends.append(where)
            elements.append(tuple(expr.eval(dims, symbols) for expr in access.map))
        if elements[0] != elements[1]:
            return Undecided(SIZES)
        return Witness(ends[0], ends[1], elements[0], sizes)

    def _reduced(self) -> list[System] | Undecided:
        """The systems of all alternatives that may have solutions, with their equations solved."""
        if not self._system.reduce():
            return []
        systems = [self._system]
        for cases in self._cases:
            systems = [asked for system in systems for case in cases for asked in self._with(system, case)]
            if len(systems) > MOST_CASES:
                return Undecided(EFFORT)
        return systems

    def _with(self, system: System, case: _Case) -> Iterator[System]:
        asked = system.copy()
        for form in case.zero:
            asked.zero(form)
        for form in case.not_negative:
            asked.not_negative(form)
        if asked.reduce():
            yield asked

    def _forms(self, access: Access) -> list[_Both]:
        return [self._expr(access, expr) for expr in access.map]

    def _clause(self, access: Access, clause: Clause, side: int) -> None:
        forms = [[self._expr(access, expr)[side] for expr in exprs] for exprs in clause]
        if len(forms) == 1:
            for form in forms[0]:
                self._system.not_negative(form)
        else:
            self._cases.append([_Case((), tuple(alternative)) for alternative in forms])

    def _expr(self, access: Access, expr: AffineExpr) -> _Both:
        ranges = tuple(self._ranges.get(name, (-FAR, FAR)) for name in access.variables)
        return self._linear(access, linear(expr, ranges), ranges)

    def _linear(self, access: Access, form: Linear, ranges: tuple[Range, ...]) -> _Both:
        constant = self._size(form.constant)
        total = _Both(constant, constant)
        for atom, factor in form.terms:
            total = total.plus(self._scaled(factor, self._atom(access, atom, ranges)))
        return total

    def _atom(self, access: Access, atom: AffineExpr, ranges: tuple[Range, ...]) -> _Both:
        if isinstance(atom, AffineDimExpr):
            return self._variables[access.variables[atom.position]]
        assert isinstance(atom, AffineBinaryOpExpr)
        inner, divisor = self._linear(access, linear(atom.lhs, ranges), ranges), size_of(atom.rhs)
        quotient = self._quotient(inner, divisor)
        if atom.kind is AffineBinaryOpKind.FloorDiv:
            return quotient
        return inner.plus(self._scaled(divisor, quotient), -1)

    def _variable(self, name: Variable) -> None:
        if name in self._variables:
            return
        low, high = self._ranges.get(name, (-FAR, FAR))
        first, last = hull((low, high))
        number = self._system.variable(first, last)
        mine = variable(number)
        self._inside(mine, low, high)
        moves = name in self.first.variables and name in self.second.variables and name not in self._fixed
        if not moves:
            self._variables[name] = _Both(mine, mine)
            return
        far = abs(first) >= FAR or abs(last) >= FAR
        moved = self._moved[name] = self._system.variable(*((-FAR, FAR) if far else (first - last, last - first)))
        theirs = mine.plus(variable(moved))
        self._variables[name] = _Both(mine, theirs)
        if not far:
            self._system.not_negative(theirs.shifted(-first))
            self._system.not_negative(theirs.times(-1).shifted(last))
        elif first > -FAR:
            self._system.not_negative(theirs.shifted(-first))
        self._inside(theirs, low, high)

    def _inside(self, form: Form, low: Size, high: Size) -> None:
        """The ends of a range that are sizes."""
        if isinstance(low, SizeExpr):
            self._system.not_negative(form.plus(self._size(low), -1))
        if isinstance(high, SizeExpr):
            self._system.not_negative(self._size(high).plus(form, -1))

    def _quotient(self, inner: _Both, divisor: Size) -> _Both:
        """`inner floordiv divisor` as a variable, one for equal numerators."""
        key = tuple(sorted(inner.first.terms.items())), inner.first.constant, str(divisor)
        moves = inner.first != inner.second
        quotient = self._quotients.get((key, moves))
        if quotient is not None:
            return quotient
        still = self._quotients.get((key, False))
        if still is None:
            number = self._system.variable(*_quotients(self._system.reach(inner.first), divisor))
            still = self._quotients[key, False] = _Both(variable(number), variable(number))
            self._remainder(inner.first, still.first, divisor)
        if moves:
            apart = self._system.reach(inner.second.plus(inner.first, -1))
            low, high = _quotients(apart, divisor)
            moved = self._system.variable(low, high + 1 if high < FAR else FAR)
            second = still.first.plus(variable(moved))
            self._quotients[key, True] = _Both(still.first, second)
            self._remainder(inner.second, second, divisor)
        return self._quotients[key, moves]

    def _remainder(self, inner: Form, quotient: Form, divisor: Size) -> None:
        """The rest of a division lies in [0, divisor)."""
        rest = inner.plus(self._scaled(divisor, _Both(quotient, quotient)).first, -1)
        self._system.not_negative(rest)
        self._system.not_negative(self._size(divisor).plus(rest, -1).shifted(-1))

    def _scaled(self, factor: Size, both: _Both) -> _Both:
        if isinstance(factor, int):
            return both.times(factor)
        return _Both(self._product(factor, both.first), self._product(factor, both.second))

    def _product(self, factor: SizeExpr, form: Form) -> Form:
        """A form times a size: each product of the size and a variable is a variable."""
        total = self._size(factor).times(form.constant)
        for number, count in form.terms.items():
            total = total.plus(variable(self._product_of(factor, number)), count)
        return total

    def _product_of(self, factor: SizeExpr, number: int) -> int:
        key = str(factor), number
        if (known := self._products.get(key)) is not None:
            return known
        low, high = self._system.low[number], self._system.high[number]
        product = self._products[key] = self._system.variable(-FAR, FAR)
        if at_least(factor, 0):
            mine, size, whole = variable(number), self._size(factor), variable(product)
            # The product has the sign of the variable, and is as large as the size, or more.
            some, back = size.shifted(-1), mine.times(-1)
            above = _Case((), (some, mine.shifted(-1), whole.plus(size, -1), whole.plus(mine, -1)))
            under = _Case((), (some, back.shifted(-1), whole.plus(size).times(-1), mine.plus(whole, -1)))
            cases = [_Case((mine, whole), ())]
            cases += [] if at_least(factor, 1) else [_Case((size, whole), ())]
            cases += [above] if high > 0 else []
            cases += [under] if low < 0 else []
            self._cases.append(cases)
        return product

    def _size(self, size: Size) -> Form:
        return Form({}, size) if isinstance(size, int) else self._polynomial(size.terms)

    def _polynomial(self, terms: Polynomial) -> Form:
        total = _NOTHING
        for factors, coefficient in terms.items():
            if not factors:
                total = total.shifted(coefficient)
            else:
                total = total.plus(variable(self._monomial(factors)), coefficient)
        return total

    def _monomial(self, factors: tuple[Atom, ...]) -> int:
        text = "*".join(atom.text for atom in factors)
        key, size = ("", text), SizeExpr({factors: 1})
        if len(factors) == 1 and not factors[0].kind:
            if text not in self._sizes:
                self._sizes[text] = self._system.variable(*hull((size, size)))
            return self._sizes[text]
        if (known := self._quotients.get(key)) is not None:
            return next(iter(known.first.terms))
        for atom in factors:
            for name in symbols_of(SizeExpr({(atom,): 1})):
                self._monomial((Atom(name),))
        number = self._system.variable(*hull((size, size)))
        self._quotients[key] = _Both(variable(number), variable(number))
        if len(factors) == 1 and factors[0].kind in ("floordiv", "mod"):
            self._divided(factors[0], number)
        return number

    def _divided(self, atom: Atom, number: int) -> None:
        """A quotient, or the rest, of a size and a number."""
        numerator, divisor = (self._polynomial(terms) for terms in atom.args)
        if divisor.terms or divisor.constant < 1:
            return
        quotient = self._quotient(_Both(numerator, numerator), divisor.constant).first
        value = quotient if atom.kind == "floordiv" else numerator.plus(quotient, -divisor.constant)
        self._system.zero(value.plus(variable(number), -1))


def _number(size: Size, sizes: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else evaluate(size, {name: 1 for name in symbols_of(size)} | dict(sizes))


def _quotients(reach: tuple[int, int], divisor: Size) -> tuple[int, int]:
    """The range of the quotients of numbers in a range."""
    low, high = reach
    if not isinstance(divisor, int):
        return (0 if low >= 0 else -FAR), FAR
    return (low // divisor if low > -FAR else -FAR), (high // divisor if high < FAR else FAR)
