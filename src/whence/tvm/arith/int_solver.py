"""Integer solutions of linear equations between expressions, by new variables that are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.arith.analyzer import Analyzer
from whence.arith.forms import Range
from whence.arith.int_set import EvalSet, neg_inf, pos_inf
from whence.arith.pattern import detect_linear_equation
from whence.support.dtypes import BOOL
from whence.te.language import expr as language
from whence.te.language.expr import Compare, Const, Expr, ExprLike, Var, binary, compare, constant
from whence.te.language.walks import rebuilt, substitution, walk

Row = list[int]


@dataclass
class IntConstraints:
    """Variables, ranges of some variables, and conditions that hold between them."""

    variables: Sequence[Var]
    ranges: Mapping[Var, language.Range] = field(default_factory=dict[Var, language.Range])
    relations: Sequence[Expr] = ()

    def __post_init__(self) -> None:
        self.variables, self.ranges, self.relations = list(self.variables), dict(self.ranges), list(self.relations)


@dataclass
class IntConstraintsTransform:
    """Two systems of constraints, and the variables of each as expressions of those of the other."""

    src: IntConstraints
    dst: IntConstraints
    src_to_dst: Mapping[Var, Expr]
    dst_to_src: Mapping[Var, Expr]


def solve_linear_equations(
    equations: IntConstraints | Sequence[Expr],
    variables: Sequence[Var] | None = None,
    ranges: Mapping[Var, language.Range] | None = None,
) -> IntConstraintsTransform:
    """Return the system whose variables are free in the equations; other conditions, and ranges, are over these.

    The equations become diagonal by row and column operations over integers (Smith's form without its divisors). A
    system without solution has the one relation False, and no variables. Variables that are not listed are parameters:
    what they have to fulfil for a solution to exist is among the relations.
    """
    if isinstance(equations, IntConstraints):
        src = equations
    else:
        src = IntConstraints(variables or (), ranges or {}, list(equations))
    if not src.variables:
        return IntConstraintsTransform(src, src, {}, {})
    return _Solver(src).solve()


class _Solver:
    """The equations `rows * variables == sides`, and the variables as sums of new ones, and back."""

    def __init__(self, src: IntConstraints):
        self.src = src
        self.analyzer = Analyzer()
        count = len(src.variables)
        self.dtype = src.variables[0].dtype
        self.rows: list[Row] = []
        self.sides: list[Expr] = []
        self.others: list[Expr] = []
        self.by_new = [[int(i == j) for j in range(count)] for i in range(count)]
        """Variable `i` is the sum of `by_new[i][j]` times the new one `j`."""
        self.by_old = [[*row] for row in self.by_new]
        for relation in src.relations:
            self._add(relation)

    def _add(self, relation: Expr) -> None:
        found: list[Expr] = []
        if isinstance(relation, Compare) and relation.op == "eq":
            found = detect_linear_equation(binary("sub", relation.a, relation.b), self.src.variables)
        factors = [one.value for one in found[:-1] if isinstance(one, Const)]
        if not found or len(factors) != len(found) - 1:
            self.others.append(relation)
            return
        self.rows.append([int(factor) for factor in factors])
        self.sides.append(self._simple(binary("mul", found[-1], -1)))

    def _simple(self, expr: ExprLike) -> Expr:
        return self.analyzer.canonical_simplify(expr)

    def solve(self) -> IntConstraintsTransform:
        rank = self._diagonal()
        conditions: list[Expr] = []
        values: list[Expr] = []
        for at, side in enumerate(self.sides):
            if at >= rank:
                conditions.append(compare("eq", side, 0))
                continue
            divisor = self.rows[at][at]
            conditions.append(compare("eq", self._simple(binary("floormod", side, abs(divisor))), 0))
            values.append(self._simple(binary("floordiv", binary("mul", side, 1 if divisor > 0 else -1), abs(divisor))))
        held = [self._simple(condition) for condition in conditions]
        if any(isinstance(one, Const) and not one.value for one in held):
            return IntConstraintsTransform(self.src, IntConstraints([], {}, [Const(False, BOOL)]), {}, {})
        fresh = [Var(f"n{number}", self.dtype) for number in range(len(self.src.variables) - rank)]
        src_to_dst = {
            var: self._weighted(row, [*values, *fresh])
            for var, row in zip(self.src.variables, self.by_new, strict=True)
        }
        dst_to_src = {
            var: self._weighted(row, self.src.variables) for var, row in zip(fresh, self.by_old[rank:], strict=True)
        }
        found = {var: _range_of(expr, self.src.ranges) for var, expr in dst_to_src.items()}
        ranges = {var: one for var, one in found.items() if one is not None}
        relations = [one for one in held if not isinstance(one, Const)]
        relations += self._relations(src_to_dst, ranges)
        if any(isinstance(one, Const) for one in relations):
            return IntConstraintsTransform(self.src, IntConstraints([], {}, [Const(False, BOOL)]), {}, {})
        return IntConstraintsTransform(self.src, IntConstraints(fresh, ranges, relations), src_to_dst, dst_to_src)

    def _weighted(self, factors: Row, parts: Sequence[Expr]) -> Expr:
        total: Expr = constant(0, self.dtype)
        for factor, part in zip(factors, parts, strict=True):
            total = binary("add", total, binary("mul", part, factor))
        return self._simple(total)

    def _relations(self, src_to_dst: Mapping[Var, Expr], ranges: Mapping[Var, language.Range]) -> list[Expr]:
        """The other conditions, and the ranges of the variables as far as they do not follow, over the new ones."""
        known = Analyzer()
        for var, one in {**self.src.ranges, **ranges}.items():
            known.bind(var, one)
        change = substitution(src_to_dst)
        conditions = [rebuilt(one, change) for one in self.others]
        for var in self.src.variables:
            if var in self.src.ranges:
                one = self.src.ranges[var]
                end = binary("sub", binary("add", one.min, one.extent), 1)
                conditions += [compare("le", one.min, src_to_dst[var]), compare("le", src_to_dst[var], end)]
        relations: list[Expr] = []
        for condition in conditions:
            simple = known.canonical_simplify(condition)
            if not isinstance(simple, Const):
                relations.append(simple)
            elif not simple.value:
                return [simple]
        return relations

    # Row and column operations

    def _diagonal(self) -> int:
        """Make the rows diagonal; return how many of them are not 0, which come first."""
        width = len(self.src.variables)
        for at in range(min(len(self.rows), width)):
            places = [(i, j) for i in range(at, len(self.rows)) for j in range(at, width) if self.rows[i][j]]
            if not places:
                return at
            row, column = places[0]
            self.rows[at], self.rows[row] = self.rows[row], self.rows[at]
            self.sides[at], self.sides[row] = self.sides[row], self.sides[at]
            if column != at:
                self._columns(at, column, (0, 1, 1, 0))
            while not self._cleared(at):
                pass
        return min(len(self.rows), width)

    def _cleared(self, at: int) -> bool:
        """Clear a column and a row beside the diagonal; return False where the one filled the other again."""
        rows = self.rows
        for i in range(at + 1, len(rows)):
            if rows[i][at]:
                a, b, c, d = _unimodular(rows[at][at], rows[i][at])
                first, second = rows[at], rows[i]
                rows[at] = [a * x + b * y for x, y in zip(first, second, strict=True)]
                rows[i] = [c * x + d * y for x, y in zip(first, second, strict=True)]
                self.sides[at], self.sides[i] = (
                    self._simple(self.sides[at] * left + self.sides[i] * right) for left, right in ((a, b), (c, d))
                )
        for j in range(at + 1, len(rows[at])):
            if rows[at][j]:
                self._columns(at, j, _unimodular(rows[at][at], rows[at][j]))
        return not any(rows[i][at] for i in range(at + 1, len(rows)))

    def _columns(self, i: int, j: int, by: tuple[int, int, int, int]) -> None:
        """Replace column `i` by `a * i + b * j`, and `j` by `c * i + d * j`, where `a * d - b * c` is 1 or -1."""
        a, b, c, d = by
        for row in (*self.rows, *self.by_new):
            row[i], row[j] = a * row[i] + b * row[j], c * row[i] + d * row[j]
        sign = a * d - b * c
        # The inverse acts on the rows.
        old, other = self.by_old[i], self.by_old[j]
        self.by_old[i] = [sign * (d * x - c * y) for x, y in zip(old, other, strict=True)]
        self.by_old[j] = [sign * (a * y - b * x) for x, y in zip(old, other, strict=True)]


def _unimodular(x: int, y: int) -> tuple[int, int, int, int]:
    """Factors with `a * x + b * y` the common divisor, `c * x + d * y == 0` and `a * d - b * c == -1`."""
    if y % x == 0:
        return 1, 0, y // x, -1
    (a, b, rest), (c, d, other) = (1, 0, x), (0, 1, y)
    while other:
        quotient = rest // other
        (a, b, rest), (c, d, other) = (c, d, other), (a - quotient * c, b - quotient * d, rest - quotient * other)
    return a, b, y // rest, -(x // rest)


def _range_of(expr: Expr, ranges: Mapping[Any, language.Range]) -> language.Range | None:
    """The range of an expression of variables in theirs, if it has one."""
    found = EvalSet(expr, ranges)
    if found.min_value is neg_inf() or found.max_value is pos_inf():
        return None
    ends = (found.min_value, found.max_value)
    unknown = [node for end in ends for node in walk([end]) if isinstance(node, Var) and node in walk([expr])]
    if unknown:
        return None
    return Range.from_min_extent(
        ends[0], Analyzer().canonical_simplify(binary("add", binary("sub", ends[1], ends[0]), 1))
    )
