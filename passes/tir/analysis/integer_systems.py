"""Integer solutions of linear equations and inequalities over variables with ranges, exactly.

Equations are solved by substitution (Euclid's algorithm makes a unit coefficient where there is none), inequalities by
bounds, and by Fourier-Motzkin elimination where it is exact for integers: W. Pugh, The Omega Test (1991). Where it is
not, the range of a variable is halved; for variables without ends, the dark and the real shadow are tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import NamedTuple

FAR = 1 << 62
"""A range that ends at FAR or -FAR has no end."""

STEPS = 2000
"""Systems that are looked at for one question."""

MOST = 300
"""Inequalities of a system; one of more is given up."""

GROWTH = 2
"""Inequalities that an elimination may add; rather than to add more, the range of a variable is halved."""

ROUNDS = 8
"""Rounds in which bounds are narrowed; elimination does what is left."""


class TooMuch(Exception):
    """A question that the budget does not suffice to answer."""


class Form(NamedTuple):
    """`constant + sum(factor * variable)`."""

    terms: Mapping[int, int]
    constant: int

    def plus(self, other: Form, factor: int = 1) -> Form:
        terms = dict(self.terms)
        for variable, coefficient in other.terms.items():
            total = terms.get(variable, 0) + factor * coefficient
            if total:
                terms[variable] = total
            else:
                terms.pop(variable, None)
        return Form(terms, self.constant + factor * other.constant)

    def times(self, factor: int) -> Form:
        terms = {variable: factor * coefficient for variable, coefficient in self.terms.items()} if factor else {}
        return Form(terms, factor * self.constant)

    def shifted(self, constant: int) -> Form:
        return Form(self.terms, self.constant + constant)

    def value(self, values: Sequence[int]) -> int:
        return self.constant + sum(factor * values[variable] for variable, factor in self.terms.items())


def variable(number: int) -> Form:
    """The form that is a variable."""
    return Form({number: 1}, 0)


class _Step(NamedTuple):
    """An eliminated variable: equal to `definition`, or between bounds: `factor * variable + form >= 0`."""

    variable: int
    definition: Form | None
    limits: tuple[tuple[int, Form], ...] = ()


class System:
    """Variables with ranges, equations `form == 0` and inequalities `form >= 0`."""

    def __init__(self) -> None:
        self.low: list[int] = []
        self.high: list[int] = []
        self.equations: list[Form] = []
        self.inequalities: list[Form] = []
        self._trail: list[_Step] = []

    def copy(self) -> System:
        other = System()
        other.low, other.high = [*self.low], [*self.high]
        other.equations, other.inequalities = [*self.equations], [*self.inequalities]
        other._trail = [*self._trail]
        return other

    def variable(self, low: int, high: int) -> int:
        """Add a variable in [low, high] and return its number."""
        self.low.append(max(low, -FAR))
        self.high.append(min(high, FAR))
        return len(self.low) - 1

    def zero(self, form: Form) -> None:
        """Add the equation that `form` is 0."""
        self.equations.append(self.reduced(form))

    def not_negative(self, form: Form) -> None:
        """Add the inequality that `form` is at least 0."""
        self.inequalities.append(self.reduced(form))

    def between(self, number: int, low: int, high: int) -> bool:
        """Narrow a variable to [low, high]; return False if no value is left."""
        low, high = max(low, self.low[number]), min(high, self.high[number])
        if low > high:
            return False
        form = self.reduced(variable(number))
        if form.terms == {number: 1} and not form.constant:
            self.low[number], self.high[number] = low, high
        elif low == high:
            self.equations.append(form.shifted(-low))
        else:
            if low > -FAR:
                self.inequalities.append(form.shifted(-low))
            if high < FAR:
                self.inequalities.append(form.times(-1).shifted(high))
        return True

    def reduced(self, form: Form) -> Form:
        """Return `form` over the variables that equations leave."""
        for step in self._trail:
            if step.variable in form.terms and step.definition is not None:
                form = _substituted(form, step.variable, step.definition)
        return form

    def reach(self, form: Form) -> tuple[int, int]:
        """Return bounds of `form` over the box of the variables."""
        low = high = form.constant
        for number, factor in form.terms.items():
            first, last = self.low[number], self.high[number]
            if factor < 0:
                first, last = last, first
            low = -FAR if low <= -FAR or abs(first) >= FAR else low + factor * first
            high = FAR if high >= FAR or abs(last) >= FAR else high + factor * last
        return low, high

    def reduce(self) -> bool:
        """Solve the equations and narrow the ranges, in place; return False if there is no solution for sure."""
        while True:
            if not self._narrow() or not self._tidy():
                return False
            if not self.equations:
                return True
            self._solve_equation()

    def solve(self) -> tuple[int, ...] | None:
        """Return a value of each variable, near 0 where that is free; None if there is no solution.

        Raises TooMuch if the budget does not suffice.
        """
        return _search(self.copy(), [STEPS])

    def _narrow(self) -> bool:
        for _ in range(ROUNDS):
            changed = False
            for form in self.equations:
                one, other = self._narrow_by(form), self._narrow_by(form.times(-1))
                if one is None or other is None:
                    return False
                changed |= one | other
            for form in self.inequalities:
                if (one := self._narrow_by(form)) is None:
                    return False
                changed |= one
            if not changed:
                return True
        return True

    def _narrow_by(self, form: Form) -> bool | None:
        """Narrow the ranges where `form` is at least 0; return if one changed, None if none is left."""
        low, high, most, endless = self.low, self.high, form.constant, -1
        for number, factor in form.terms.items():
            end = high[number] if factor > 0 else low[number]
            if -FAR < end < FAR:
                most += factor * end
            elif endless >= 0:
                return False
            else:
                endless = number
        if endless < 0 and most < 0:
            return None
        changed = False
        for number, factor in form.terms.items():
            if endless >= 0 and number != endless:
                continue
            end = high[number] if factor > 0 else low[number]
            rest = most if endless >= 0 else most - factor * end
            # factor * variable + rest >= 0
            if factor > 0:
                if (first := -(rest // factor)) > low[number]:
                    low[number], changed = first, True
            elif (last := rest // -factor) < high[number]:
                high[number], changed = last, True
            if low[number] > high[number]:
                return None
        return changed

    def _tidy(self) -> bool:
        """Put in the variables with one value; drop, merge and tighten the rest. Return False if one cannot hold."""
        equations: list[Form] = []
        for form in self.equations:
            form = self._known(form)
            divisor = gcd(*form.terms.values())
            if form.constant % divisor if divisor else form.constant:
                return False
            if divisor:
                equations.append(_divided(form, divisor))
        tightest: dict[tuple[tuple[int, int], ...], Form] = {}
        for form in self.inequalities:
            form = self._known(form)
            divisor = gcd(*form.terms.values())
            if not divisor:
                if form.constant < 0:
                    return False
                continue
            form = _divided(form, divisor)
            low, high = self.reach(form)
            if high < 0:
                return False
            if low >= 0:
                continue
            key = tuple(sorted(form.terms.items()))
            if (other := tightest.get(key)) is None or other.constant > form.constant:
                tightest[key] = form
        for key, form in [*tightest.items()]:
            opposite = tuple((number, -factor) for number, factor in key)
            if key in tightest and (other := tightest.get(opposite)) is not None:
                if (room := form.constant + other.constant) < 0:
                    return False
                if not room:
                    equations.append(form)
                    del tightest[key], tightest[opposite]
        self.equations, self.inequalities = equations, list(tightest.values())
        return True

    def _known(self, form: Form) -> Form:
        low, high = self.low, self.high
        if all(low[number] != high[number] for number in form.terms):
            return form
        terms: dict[int, int] = {}
        constant = form.constant
        for number, factor in form.terms.items():
            if low[number] == high[number]:
                constant += factor * low[number]
            else:
                terms[number] = factor
        return Form(terms, constant)

    def _solve_equation(self) -> None:
        """Take one variable out by an equation."""
        unit = [form for form in self.equations if any(abs(factor) == 1 for factor in form.terms.values())]
        form = min(unit or self.equations, key=lambda form: len(form.terms))
        least = min(map(abs, form.terms.values()))
        number = max(
            (number for number, factor in form.terms.items() if abs(factor) == least),
            key=lambda number: self.high[number] - self.low[number],
        )
        if form.terms[number] < 0:
            form = form.times(-1)
        rest = Form({other: factor for other, factor in form.terms.items() if other != number}, form.constant)
        if least == 1:
            self._define(number, rest.times(-1))
            return
        # least * number + rest = 0: with `new`, the number of times that `least` is in all, the rest is smaller.
        quotient = Form({i: f // least for i, f in rest.terms.items() if f // least}, rest.constant // least)
        new = self.variable(-FAR, FAR)
        self.low[new], self.high[new] = self.reach(variable(number).plus(quotient))
        self._define(number, variable(new).plus(quotient, -1))

    def _define(self, number: int, definition: Form) -> None:
        self._trail.append(_Step(number, definition))
        self.equations = [_substituted(form, number, definition) for form in self.equations]
        self.inequalities = [_substituted(form, number, definition) for form in self.inequalities]
        low, high = self.reach(definition)
        if low < self.low[number]:
            self.inequalities.append(definition.shifted(-self.low[number]))
        if high > self.high[number]:
            self.inequalities.append(definition.times(-1).shifted(self.high[number]))

    def _limits(self, number: int) -> tuple[list[tuple[int, Form]], list[tuple[int, Form]]]:
        """The inequalities `factor * variable + form >= 0` that bound a variable from below and from above."""
        below: list[tuple[int, Form]] = []
        above: list[tuple[int, Form]] = []
        for form in self.inequalities:
            if factor := form.terms.get(number, 0):
                rest = Form({other: f for other, f in form.terms.items() if other != number}, form.constant)
                (below if factor > 0 else above).append((factor, rest))
        if self.low[number] > -FAR:
            below.append((1, Form({}, -self.low[number])))
        if self.high[number] < FAR:
            above.append((-1, Form({}, self.high[number])))
        return below, above

    def choice(self) -> tuple[int, bool, int]:
        """Return the variable to eliminate, if that is exact, and how many inequalities more there are then."""
        best: tuple[tuple[bool, int], int] | None = None
        for number in sorted({number for form in self.inequalities for number in form.terms}):
            below, above = self._limits(number)
            exact = all(f == 1 for f, _ in below) or all(f == -1 for f, _ in above)
            exact = exact or all(f == 1 or g == -1 for f, _ in below for g, _ in above)
            cost = (not exact, len(below) * len(above) - len(below) - len(above))
            if best is None or cost < best[0]:
                best = cost, number
        assert best is not None
        return best[1], not best[0][0], best[0][1]

    def eliminate(self, number: int, dark: bool = False) -> None:
        """Take a variable out of the inequalities: what is left has a solution if the system has.

        dark: and only if it has; but it may have none although the system has.
        """
        below, above = self._limits(number)
        kept = [form for form in self.inequalities if number not in form.terms]
        for factor, low in below:
            for other, high in above:
                form = low.times(-other).plus(high, factor)
                kept.append(form.shifted(-(factor - 1) * (-other - 1)) if dark else form)
        if len(kept) > MOST:
            raise TooMuch
        self.inequalities = kept
        self._trail.append(_Step(number, None, (*below, *above)))

    def values(self) -> tuple[int, ...]:
        """Return a value of each variable, once no equations and inequalities are left."""
        values = [min(max(0, low), high) for low, high in zip(self.low, self.high, strict=True)]
        for step in reversed(self._trail):
            if step.definition is not None:
                values[step.variable] = step.definition.value(values)
                continue
            low = max((-(form.value(values) // factor) for factor, form in step.limits if factor > 0), default=-FAR)
            high = min((form.value(values) // -factor for factor, form in step.limits if factor < 0), default=FAR)
            values[step.variable] = min(max(0, low), high)
        return tuple(values)

    def halves(self) -> tuple[System, System] | None:
        """Return the systems with the lower and the upper half of the shortest range; None if all are endless."""
        used = {number for form in self.inequalities for number in form.terms}
        number = min(used, key=lambda number: self.high[number] - self.low[number])
        low, high = self.low[number], self.high[number]
        if low <= -FAR or high >= FAR:
            return None
        lower, upper = self.copy(), self.copy()
        lower.high[number] = (low + high) // 2
        upper.low[number] = (low + high) // 2 + 1
        return lower, upper


def _search(system: System, left: list[int]) -> tuple[int, ...] | None:
    while True:
        left[0] -= 1
        if left[0] < 0:
            raise TooMuch
        if not system.reduce():
            return None
        if not system.inequalities:
            return system.values()
        number, exact, more = system.choice()
        if not exact or more > GROWTH:
            break
        system.eliminate(number)
    if (halves := system.halves()) is None:
        return _by_shadows(system, number, exact, left)
    for half in halves:
        if (values := _search(half, left)) is not None:
            return values
    return None


def _by_shadows(system: System, number: int, exact: bool, left: list[int]) -> tuple[int, ...] | None:
    """Solve a system whose variables have no ends."""
    dark = system.copy()
    dark.eliminate(number, dark=True)
    if (values := _search(dark, left)) is not None or exact:
        return values
    system.eliminate(number)
    if _search(system, left) is None:
        return None
    raise TooMuch


def _substituted(form: Form, number: int, definition: Form) -> Form:
    factor = form.terms.get(number, 0)
    if not factor:
        return form
    rest = Form({other: f for other, f in form.terms.items() if other != number}, form.constant)
    return rest.plus(definition, factor)


def _divided(form: Form, divisor: int) -> Form:
    """`form / divisor`, the constant rounded down, as an inequality of integers allows."""
    if divisor == 1:
        return form
    terms = {number: factor // divisor for number, factor in form.terms.items()}
    return Form(terms, form.constant // divisor)
