"""Integer systems of linear inequalities as ranges of their variables, by Fourier-Motzkin elimination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from math import gcd
from typing import Literal, NamedTuple, cast, overload

from whence.arith.analyzer import Analyzer
from whence.arith.forms import Forms, Range
from whence.arith.int_solver import IntConstraints, IntConstraintsTransform
from whence.arith.pattern import coefficients
from whence.dialects.affine import Linear, linear_bounds
from whence.support.dtypes import BOOL, is_float, limits
from whence.te.language import expr as language
from whence.te.language.expr import Binary, Compare, Const, Expr, ExprLike, Var, binary, compare, convert
from whence.te.language.walks import rebuilt, substitution

_MOST = 200
"""The most inequalities that an elimination leaves; more would say nothing that bounds do not say already."""


@overload
def solve_linear_inequalities(
    equations: IntConstraints | Sequence[Expr],
    variables: Sequence[Var] | None = ...,
    ranges: Mapping[Var, language.Range] | None = ...,
    deskew_range: Literal[False] = ...,
) -> IntConstraints: ...
@overload
def solve_linear_inequalities(
    equations: IntConstraints | Sequence[Expr],
    variables: Sequence[Var] | None = ...,
    ranges: Mapping[Var, language.Range] | None = ...,
    *,
    deskew_range: Literal[True],
) -> IntConstraintsTransform: ...
def solve_linear_inequalities(
    equations: IntConstraints | Sequence[Expr],
    variables: Sequence[Var] | None = None,
    ranges: Mapping[Var, language.Range] | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """The system with the same solutions whose variables have ranges, each over those that come later in the list.

    A range may be wider than the solutions; what it does not say is among the relations, as is what is not linear.
    A system that is seen to have no solution has the one relation False, and no variables. Variables that are not
    listed are parameters. deskew_range: the system of new variables, whose ranges begin at 0, and the way to and from
    these; a variable with one value has none, and one without a range stays.
    """
    src = (
        equations if isinstance(equations, IntConstraints) else IntConstraints(variables or (), ranges or {}, equations)
    )
    solved = _solved(src)
    return _deskewed(src, solved) if deskew_range else solved


def solve_inequalities_as_condition(
    variables: Sequence[Var], ranges: Mapping[Var, language.Range], inequalities: Sequence[Expr]
) -> list[Expr]:
    """The conditions of the solved system: of each variable, over those that come later; then the others."""
    elimination = _Elimination(IntConstraints(variables, ranges, inequalities))
    if not elimination.run():
        return [Const(False, BOOL)]
    bounds = [condition for number in range(len(variables)) for condition in elimination.conditions(number, None)]
    return [*bounds, *elimination.others]


def _solved(src: IntConstraints) -> IntConstraints:
    elimination = _Elimination(src)
    if not elimination.run():
        return IntConstraints([], {}, [Const(False, BOOL)])
    ranges: dict[Var, language.Range] = {}
    relations: list[Expr] = []
    values: dict[Var, Expr] = {}
    spans = {number: elimination.span(number) for number in range(len(src.variables))}
    for number, var in reversed(list(enumerate(src.variables))):
        if (span := spans[number]) is None:
            continue
        begin = _simple(rebuilt(span.begin, substitution(values)))
        ranges[var] = Range.from_min_extent(begin, span.extent)
        if span.exact and isinstance(span.extent, Const) and span.extent.value == 1:
            values[var] = begin
    for number in range(len(src.variables)):
        relations += elimination.conditions(number, spans[number])
    return IntConstraints(
        src.variables, {var: ranges[var] for var in src.variables if var in ranges}, [*relations, *elimination.others]
    )


def _deskewed(src: IntConstraints, solved: IntConstraints) -> IntConstraintsTransform:
    if src.variables and not solved.variables:
        return IntConstraintsTransform(src, solved, {}, {})
    src_to_dst: dict[Var, Expr] = {}
    dst_to_src: dict[Var, Expr] = {}
    ranges: dict[Var, language.Range] = {}
    fresh: dict[Var, Var] = {}
    for var in reversed(src.variables):
        if (given := solved.ranges.get(var)) is None:
            src_to_dst[var] = dst_to_src[var] = fresh[var] = var
            continue
        begin = _simple(rebuilt(convert(given.min), substitution(src_to_dst)))
        extent = convert(given.extent)
        if isinstance(extent, Const) and extent.value == 1:
            src_to_dst[var] = begin
            continue
        new = fresh[var] = Var(f"{var.name}.shifted", var.dtype)
        src_to_dst[var] = _simple(binary("add", new, begin))
        dst_to_src[new] = _simple(binary("sub", var, given.min))
        ranges[new] = Range.from_min_extent(0, given.extent)
    order = [fresh[var] for var in src.variables if var in fresh]
    known = Analyzer()
    for var, given in ranges.items():
        known.bind(var, given)
    simple = [known.canonical_simplify(rebuilt(one, substitution(src_to_dst))) for one in solved.relations]
    if any(isinstance(one, Const) and not one.value for one in simple):
        return IntConstraintsTransform(src, IntConstraints([], {}, [Const(False, BOOL)]), {}, {})
    dst = IntConstraints(
        order,
        {var: ranges[var] for var in order if var in ranges},
        [one for one in simple if not isinstance(one, Const)],
    )
    return IntConstraintsTransform(src, dst, src_to_dst, dst_to_src)


def _simple(expr: ExprLike) -> Expr:
    return Analyzer().canonical_simplify(expr)


class _Bound(NamedTuple):
    """A bound of a variable: `factor * variable + rest >= 0` from below, `rest - factor * variable >= 0` from above."""

    factor: int
    rest: Linear

    def implies(self, other: _Bound, box: tuple[tuple[int, int], ...]) -> bool:
        """Return whether the other bound, of the same side, holds where this one does."""
        slack = other.rest.times(self.factor).plus(self.rest, -other.factor)
        return linear_bounds(slack, box)[0] >= 0  # pyright: ignore[reportOperatorIssue]


class _Span(NamedTuple):
    """The numbers from `begin` on that a variable may be; `exact`: up to the bound `high`, which needs no relation."""

    low: _Bound
    high: _Bound
    begin: Expr
    extent: Expr
    exact: bool


@dataclass
class _Sides:
    """The bounds of a variable over those that come later."""

    below: list[_Bound] = field(default_factory=list[_Bound])
    above: list[_Bound] = field(default_factory=list[_Bound])


class _Elimination:
    """The bounds of each variable over later ones, and what bounds none."""

    def __init__(self, src: IntConstraints):
        self.src = src
        self.forms = Forms()
        self.dims = [self.forms.number(var) for var in src.variables]
        self.dtype = src.variables[0].dtype if src.variables else "int32"
        self.others: list[Expr] = []
        self._given = list(self._inequalities())
        self.sides = [_Sides() for _ in self.dims]
        self.known: dict[int, tuple[int, int]] = {}
        """Dim -> numbers between which it lies."""

    def _inequalities(self) -> Iterator[Linear]:
        """The forms that are not negative; other conditions are put aside."""
        for relation in self.src.relations:
            for part in _conjuncts(relation):
                if not isinstance(part, Compare) or part.op == "ne" or is_float(part.a.dtype):
                    self.others.append(part)
                    continue
                a, b = self.forms.form(part.a), self.forms.form(part.b)
                strict = Linear((), -1 if part.op in ("lt", "gt") else 0)
                if part.op in ("ge", "gt", "eq"):
                    yield a.plus(b, -1).plus(strict)
                if part.op in ("le", "lt", "eq"):
                    yield b.plus(a, -1).plus(strict)
        for var in self.src.variables:
            if var in self.src.ranges:
                begin, count = map(convert, self.src.ranges[var])
                start, form = self.forms.form(begin), self.forms.form(var)
                yield form.plus(start, -1)
                yield start.plus(self.forms.form(count)).plus(form, -1).plus(Linear((), -1))

    def box(self) -> tuple[tuple[int, int], ...]:
        """Numbers between which each dim lies."""
        return tuple(self.known.get(dim, ends) for dim, ends in enumerate(self.forms.ranges))

    def run(self) -> bool:
        """Return False if there is no solution; True does not say that there is one."""
        for var, (begin, count) in self.src.ranges.items():
            if isinstance(begin, int | Const) and isinstance(count, int | Const):
                low, length = (cast(int, getattr(end, "value", end)) for end in (begin, count))
                if length < 1:
                    return False
                self.known[self.forms.number(var)] = low, low + length - 1
        left = self._reduced(self._given)
        for dim, sides in zip(self.dims, self.sides, strict=True):
            if left is None:
                return False
            left = self._eliminated(dim, sides, left)
        if left is None:
            return False
        self.others += [self._written_condition(form) for form in left]
        return all(self._settled(number) for number in reversed(range(len(self.dims))))

    def _eliminated(self, dim: int, sides: _Sides, forms: Sequence[Linear]) -> list[Linear] | None:
        """The inequalities without a variable, whose bounds go to its sides; None if one of them never holds."""
        kept: list[Linear] = []
        for form in forms:
            found = coefficients(form, [dim], self.forms)
            if found is None or found[0][0].terms:
                self.others.append(self._written_condition(form))
                continue
            factor, rest = cast(int, found[0][0].constant), found[1]
            if not factor:
                kept.append(form)
            else:
                (sides.below if factor > 0 else sides.above).append(_Bound(abs(factor), rest))
        derived = self._reduced(
            low.rest.times(high.factor).plus(high.rest, low.factor) for low, high in product(sides.below, sides.above)
        )
        if derived is None:
            return None
        box = self.box()
        new = [form for form in derived if not linear_bounds(form, box)[0] >= 0]  # pyright: ignore
        new.sort(key=lambda form: len(form.terms))
        return self._reduced([*kept, *new[: max(0, _MOST - len(kept))]])

    def _reduced(self, forms: Sequence[Linear] | Iterator[Linear]) -> list[Linear] | None:
        """The inequalities by their common divisors, of equal sums the strictest; None if one never holds."""
        found: dict[frozenset[object], Linear] = {}
        for form in forms:
            constant, terms = cast(int, form.constant), cast("tuple[tuple[object, int], ...]", form.terms)
            if not terms:
                if constant < 0:
                    return None
                continue
            divisor = reduce(gcd, (factor for _, factor in terms), 0)
            key = frozenset((atom, factor // divisor) for atom, factor in terms)
            least = constant // divisor
            if key not in found or least < cast(int, found[key].constant):
                found[key] = Linear(tuple((atom, cast(int, f) // divisor) for atom, f in form.terms), least)
        return list(found.values())

    def _settled(self, number: int) -> bool:
        """Leave out bounds that others imply, and note between which numbers a variable lies; False for none."""
        dim, sides, box = self.dims[number], self.sides[number], self.box()
        for bounds in (sides.below, sides.above):
            for bound in list(bounds):
                if any(other is not bound and other.implies(bound, box) for other in bounds):
                    bounds.remove(bound)
        low, high = self.known.get(dim, self.forms.ranges[dim])
        for bound in sides.below:
            low = max(low, -(cast(int, linear_bounds(bound.rest, box)[1]) // bound.factor))
        for bound in sides.above:
            high = min(high, cast(int, linear_bounds(bound.rest, box)[1]) // bound.factor)
        self.known[dim] = low, high
        return low <= high

    # What is found

    def span(self, number: int) -> _Span | None:
        """The shortest range between two bounds of a variable, if there is one."""
        sides, box = self.sides[number], self.box()
        best: tuple[tuple[bool, int, bool], _Span] | None = None
        for low, high in product(sides.below, sides.above):
            count = low.rest.times(high.factor).plus(high.rest, low.factor)
            open_ = any(dim in self.dims for atom, _ in count.terms for dim in self._read(atom))
            factor = low.factor * high.factor
            begin, end = self._edge(low, 1), self._edge(high, -1)
            if not open_ and (factor == 1 or not (low.rest.terms or high.rest.terms)):
                extent = _simple(binary("add", binary("sub", end, begin), 1))
                exact = True
            else:
                most = cast(int, linear_bounds(count, box)[1])
                if most // factor >= limits(self.dtype)[1]:
                    continue
                extent, exact = convert(most // factor + 1).astype(self.dtype), False
            size = extent.value if isinstance(extent, Const) else 0
            cost = not isinstance(extent, Const), int(size), not exact
            if best is None or cost < best[0]:
                best = cost, _Span(low, high, begin, extent, exact)
        return None if best is None else best[1]

    def _read(self, atom: object) -> Iterator[int]:
        yield from self.forms.factors(atom)  # pyright: ignore[reportArgumentType]

    def _edge(self, bound: _Bound, side: int) -> Expr:
        """The least (side 1) or greatest (-1) number that a bound allows."""
        value = self.forms.written(bound.rest.times(-side), self.dtype)
        if bound.factor == 1:
            return value
        rounded = binary("add", value, bound.factor - 1) if side > 0 else value
        return _simple(binary("floordiv", rounded, bound.factor))

    def conditions(self, number: int, span: _Span | None) -> list[Expr]:
        """The bounds of a variable that its range does not say."""
        var, sides = self.src.variables[number], self.sides[number]
        below = [bound for bound in sides.below if span is None or bound is not span.low]
        above = [bound for bound in sides.above if span is None or bound is not span.high or not span.exact]
        equal = [
            (low, high)
            for low, high in product(below, above)
            if low.factor == high.factor and low.rest.plus(high.rest) == Linear((), 0)
        ]
        found = [self._compared("eq", var, high.factor, high.rest) for _, high in equal]
        pairs = [bound for pair in equal for bound in pair]
        found += [
            self._compared("ge", var, bound.factor, bound.rest.times(-1)) for bound in below if bound not in pairs
        ]
        return found + [self._compared("le", var, bound.factor, bound.rest) for bound in above if bound not in pairs]

    def _compared(self, op: str, var: Var, factor: int, form: Linear) -> Expr:
        left = var if factor == 1 else binary("mul", var, factor)
        return compare(op, left, self.forms.written(form, self.dtype))

    def _written_condition(self, form: Linear) -> Expr:
        return compare("le", self.forms.written(form.times(-1), self.dtype), 0)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, Binary) and condition.op == "and":
        yield from _conjuncts(condition.a)
        yield from _conjuncts(condition.b)
    else:
        yield condition
