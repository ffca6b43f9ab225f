"""Integer expressions of te as affine maps, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import gcd
from typing import Any, cast

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from whence.arith.bounds import ALL, Ends, hull, met, of_binary, of_dtype
from whence.dialects.affine import FAR, Linear, bounds, linear, linear_bounds, recombined
from whence.support.dtypes import is_float
from whence.support.errors import ScheduleError
from whence.te.language import expr as language
from whence.te.language.affine_forms import FLOORED
from whence.te.language.expr import (
    Axis,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    ExprLike,
    Joint,
    Not,
    Read,
    Reinterpret,
    Select,
    SizeVar,
    Var,
    constant,
    convert,
)
from whence.te.language.walks import children, operands_first

_EXACT = 1 << 24
"""The number up to which float32 has every integer."""
_MOST = 64
"""The most terms of a product of sums that is multiplied out."""
_KINDS = {
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.Mod: "floormod",
}


class Range(language.Range):
    """The numbers from `begin` to below `end`; with one argument, from 0 to below it. It has `min` and `extent`."""

    def __new__(cls, begin: ExprLike, end: ExprLike | None = None) -> Range:
        low, high = (0, begin) if end is None else (begin, end)
        return Range.from_min_extent(low, cast("Any", high) - low)

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike) -> Range:
        """The `extent` numbers from `min_value` on."""
        return cast("Any", tuple).__new__(Range, (min_value, extent))


class Names:
    """Numbers of expressions, equal for those of the same structure."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._nodes: dict[int, int] = {}
        self._kept: list[Expr] = []

    def of(self, root: Expr) -> int:
        """Return the number of an expression."""
        for node in operands_first([root], self._nodes):
            name = _kind(node), tuple(self._nodes[id(part)] for part in children(node))
            self._nodes[id(node)] = self._numbers.setdefault(name, len(self._numbers))
            self._kept.append(node)  # An id is used again as soon as its object is gone.
        return self._nodes[id(root)]


def _kind(node: Expr) -> Hashable:
    """All of a node but its children."""
    match node:
        case Const():
            return node.dtype, node.value
        case Binary() | Compare():
            return type(node), node.op
        case Cast() | Reinterpret():
            return type(node), node.dtype
        case Call():
            return Call, node.name
        case Select():
            return Select, node.guarded
        case Not():
            return Not
        case Joint(op=str()):
            return Joint, node.op, node.dtype
        case Read(otherwise=None):
            return Read, id(node.tensor)
        case _:
            return id(node)


class Forms:
    """Polynomials: sums of atoms, with the known facts about these.

    Each atom is a dim of the maps: a variable, a product of such, or an expression that is not affine.
    """

    def __init__(self) -> None:
        self.atoms: list[Expr] = []
        self.ranges: list[Ends] = []
        self.facts: dict[int, Ends] = {}
        """Dim -> what is known of it beside its parts."""
        self.limits: dict[AffineExpr, Ends] = {}
        """Bounds of quotients and rests that do not follow from their parts."""
        self.sums: dict[frozenset[tuple[AffineExpr, int]], Ends] = {}
        """Bounds of several terms together."""
        self._factors: dict[int, tuple[int, ...]] = {}
        """Dim of a product -> the dims of its factors, in order."""
        self._names = Names()
        self._numbers: dict[int, int] = {}
        self._dims: dict[int, int] = {}
        """Id of an atom -> its dim."""

    def number(self, atom: Expr, ends: Ends | None = None) -> int:
        """Return the dim of a variable, or of an expression that is not affine, with its bounds if they are known."""
        name = self._names.of(atom)
        if name not in self._numbers:
            ends = ends or self._ends(atom)
            self._numbers[name] = self._dims[id(atom)] = len(self.atoms)
            self.atoms.append(atom)
            self.ranges.append(ends)
        return self._numbers[name]

    def same(self, a: Expr, b: Expr) -> bool:
        """Return whether two expressions have one structure."""
        return self._names.of(a) == self._names.of(b)

    def factors(self, atom: AffineExpr) -> tuple[int, ...]:
        """Return the dims of which an atom is a product; a quotient or a rest becomes a dim."""
        dim = atom.position if isinstance(atom, AffineDimExpr) else self.number(self.atom(atom, "int64"))
        return self._factors.get(dim, (dim,))

    def product_of(self, factors: Sequence[int], dtype: str) -> Linear:
        """Return the product of dims as a form."""
        if not factors:
            return Linear((), 1)
        if len(factors) == 1:
            return self._linear(AffineDimExpr(factors[0]))
        order = tuple(sorted(factors))
        parts = [self.atoms[dim].astype(dtype) for dim in order]
        dim = self.number(reduce(lambda a, b: Binary("mul", a, b), parts))
        self._factors[dim] = order
        return self._linear(AffineDimExpr(dim))

    def refresh(self) -> None:
        """Bring the ranges of all dims in line with the facts."""
        for number, atom in enumerate(self.atoms):
            # The atoms inside another come before it.
            fact = self.facts.get(number)
            if fact is not None and isinstance(atom, Var | Axis):
                self.ranges[number] = fact
            else:
                self.ranges[number] = met(self._ends(atom), fact or ALL)

    def _ends(self, atom: Expr) -> Ends:
        """Return the bounds of an atom, as far as its parts determine them."""
        match atom:
            case Axis(start=int() as start, extent=int() as extent):
                return start, start + max(extent, 1) - 1
            case SizeVar():
                return 0, FAR
            case Axis() | Var() if not is_float(atom.dtype):
                return of_dtype(atom.dtype)
            case Binary() if not is_float(atom.dtype):
                return of_binary(atom.op, self.bounds(atom.a), self.bounds(atom.b))
            case Select():
                return hull(self.bounds(atom.true_value), self.bounds(atom.false_value))
            case Cast(dtype="float16" | "bfloat16") | Reinterpret():
                return ALL
            case Cast():
                ends = self._ends(atom.a) if is_float(atom.a.dtype) else self.bounds(atom.a)
                # Float32 counts as far; nothing overflows.
                exact = -_EXACT <= ends[0] <= ends[1] <= _EXACT
                return (ends if exact else ALL) if is_float(atom.dtype) else met(ends, of_dtype(atom.dtype))
            case Call(name="abs"):
                low, high = self.bounds(atom.a)
                return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
            case Compare() | Not():
                return 0, 1
            case _:
                return ALL

    def form(self, root: Expr) -> Linear:
        """Return an expression as a sum over the dims."""
        done: dict[int, Linear] = {}
        for node in operands_first([root], done, self._operands):
            done[id(node)] = self._form(node, done)
        return done[id(root)]

    def _operands(self, node: Expr) -> Sequence[Expr]:
        parted = isinstance(node, Binary | Cast) and id(node) not in self._dims and _is_whole(node)
        return children(node) if parted else ()

    def _linear(self, expr: AffineExpr) -> Linear:
        return linear(expr, tuple(self.ranges))

    def _form(self, node: Expr, done: Mapping[int, Linear]) -> Linear:
        match node:
            case _ if id(node) in self._dims:
                return self._linear(AffineDimExpr(self._dims[id(node)]))
            case Const(value=int() as value):
                return Linear((), int(value))
            case Cast() if _is_whole(node):
                ends = self._bounds(done[id(node.a)])
                fits = met(ends, of_dtype(node.dtype)) == ends or ends == of_dtype(node.a.dtype)
                return done[id(node.a)] if fits else self._linear(AffineDimExpr(self.number(node)))
            case Binary() if _is_whole(node):
                a, b = done[id(node.a)], done[id(node.b)]
                return self._operated(node.op, a, b, node.dtype)
            case Select():
                parts = [self.simplify(part) for part in children(node)]
                if isinstance(parts[0], Const):
                    return self.form(parts[1] if parts[0].value else parts[2])
                same = replace(node, condition=parts[0], true_value=parts[1], false_value=parts[2])
                return self._linear(AffineDimExpr(self.number(same)))
            case _:
                return self._linear(AffineDimExpr(self.number(node)))

    def _operated(self, op: str, a: Linear, b: Linear, dtype: str) -> Linear:
        form = self._binary(op, a, b, dtype)
        if form is None:
            atom = Binary(op, self.written(a, dtype), self.written(b, dtype))
            form = self._linear(AffineDimExpr(self.number(atom, of_binary(op, self._bounds(a), self._bounds(b)))))
        return form

    def _binary(self, op: str, a: Linear, b: Linear, dtype: str) -> Linear | None:
        """The form of an operator's result, None where it is an atom of its own."""
        match op:
            case "add" | "sub":
                return recombined(a.plus(b, 1 if op == "add" else -1), tuple(self.ranges))
            case "mul":
                return self._product(a, b, dtype)
            case "min" | "max":
                low, high = self._bounds(a.plus(b, -1))
                if low < 0 < high:
                    return None
                return b if (low >= 0) == (op == "min") else a
            case _:
                pass
        op = FLOORED.get(op, op) if self._bounds(a)[0] >= 0 and self._bounds(b)[0] > 0 else op
        if op in ("truncdiv", "div", "truncmod") and not b.terms and _divides(b, a):
            op = FLOORED[op]
        if op not in ("floordiv", "floormod"):
            return None
        if (b.terms[0][1] if b.terms else b.constant) < 0:
            # floor(a / -b) = floor(-a / b), and the rest changes its sign with both.
            positive = self._operated(op, a.times(-1), b.times(-1), dtype)
            return positive if op == "floordiv" else positive.times(-1)
        if b.terms:
            return self._by_product(op, a, b, dtype)
        divisor = cast("int", b.constant)
        if divisor < 1:
            return None
        return self._linear(a.expr // divisor if op == "floordiv" else a.expr % divisor)

    def _product(self, a: Linear, b: Linear, dtype: str) -> Linear | None:
        if not a.terms or not b.terms:
            return b.times(a.constant) if not a.terms else a.times(b.constant)
        if len(a.terms) * len(b.terms) > _MOST:
            return None
        total = Linear((), 0)
        for left, x in a.terms:
            for right, y in b.terms:
                factors = (*self.factors(left), *self.factors(right))
                total = total.plus(self.product_of(factors, dtype), cast("int", x) * cast("int", y))
        return total.plus(Linear(a.terms, 0), b.constant).plus(b, a.constant)

    def _by_product(self, op: str, a: Linear, b: Linear, dtype: str) -> Linear | None:
        """The quotient or the rest by a product of atoms, as far as the terms have its factors."""
        if len(b.terms) != 1 or b.constant != 0 or b.terms[0][1] == 0:
            return None
        atom, number = b.terms[0][0], cast("int", b.terms[0][1])
        wanted = Counter(self.factors(atom))
        quotient, rest = Linear((), 0), Linear((), a.constant)
        for left, c in a.terms:
            factors = Counter(self.factors(left))
            if wanted <= factors and cast("int", c) % number == 0:
                quotient = quotient.plus(self.product_of(list((factors - wanted).elements()), dtype), c // number)
            else:
                rest = rest.plus(Linear(((left, c),), 0))
        if not rest.terms and rest.constant == 0:
            return quotient if op == "floordiv" else Linear((), 0)
        if len(rest.terms) == len(a.terms):
            return None
        written = Binary(op, self.written(rest, dtype), self.written(b, dtype))
        remaining = self._linear(AffineDimExpr(self.number(written)))
        return quotient.plus(remaining) if op == "floordiv" else remaining

    def _bounds(self, form: Linear) -> Ends:
        low, high = met(self._unlimited(form), self._of_sum(form))
        for atom, c in form.terms:
            if atom in self.limits:
                # The others have their bounds beside the narrower ones of this one.
                rest = self._unlimited(form.plus(Linear(((atom, -c),), 0)))
                own = [cast(int, c) * end for end in met(self._unlimited(Linear(((atom, 1),), 0)), self.limits[atom])]
                low = max(low, rest[0] + min(own)) if rest[0] > -FAR else low
                high = min(high, rest[1] + max(own)) if rest[1] < FAR else high
        return low, high

    def _of_sum(self, form: Linear) -> Ends:
        """The bounds that are known of the terms of a form together."""
        number = cast("int", form.constant)
        for sign in (1, -1) if self.sums else ():
            known = self.sums.get(terms_of(form.times(sign)))
            if known is not None:
                ends = [end * sign if abs(end) >= FAR else end * sign + number for end in known]
                return min(ends), max(ends)
        return ALL

    def _unlimited(self, form: Linear) -> Ends:
        low, high = linear_bounds(form, tuple(self.ranges))
        used = {dim for atom, _ in form.terms for dim in atom.used_dims()}
        if any(self.ranges[dim][0] <= -FAR or self.ranges[dim][1] >= FAR for dim in used):
            return self._infinite(form, cast(int, low), cast(int, high))
        return cast(int, low), cast(int, high)

    def _infinite(self, form: Linear, low: int, high: int) -> Ends:
        """The bounds of a sum of which some term has none: infinities do not cancel."""
        for atom, factor in form.terms:
            ends = [cast(int, end) * cast(int, factor) for end in bounds(atom, self.ranges)]
            low, high = (-FAR if min(ends) <= -FAR else low), (FAR if max(ends) >= FAR else high)
        return low, high

    def bounds(self, expr: Expr) -> Ends:
        """The least and the greatest value; `FAR` and beyond is no bound."""
        if isinstance(expr, Compare):
            simple = self.simplify(expr)
            return (int(simple.value), int(simple.value)) if isinstance(simple, Const) else (0, 1)
        return self._bounds(self.form(expr))

    def simplify(self, expr: Expr) -> Expr:
        """An equal expression: sums in one order, divisions resolved, comparisons decided, as far as ranges tell."""
        match expr:
            case Compare() if not is_float(expr.a.dtype):
                return self._compared(expr)
            case Not():
                inner = self.simplify(expr.a)
                return Const(not inner.value, "bool") if isinstance(inner, Const) else Not(inner)
            case Binary(op="and" | "or" as op) if expr.dtype == "bool":
                return _joined(op, self.simplify(expr.a), self.simplify(expr.b))
            case _ if is_float(expr.dtype) or expr.dtype == "bool":
                return expr
            case _:
                return self.written(self.form(expr), expr.dtype)

    def _compared(self, expr: Compare) -> Expr:
        difference = self.form(expr.a).plus(self.form(expr.b), -1)
        low, high = self._bounds(recombined(difference, tuple(self.ranges)))
        decided = {
            "lt": (high < 0, low >= 0),
            "le": (high <= 0, low > 0),
            "gt": (low > 0, high <= 0),
            "ge": (low >= 0, high < 0),
            "eq": (low == high == 0, low > 0 or high < 0),
            "ne": (low > 0 or high < 0, low == high == 0),
        }[expr.op]
        if any(decided):
            return Const(decided[0], "bool")
        try:
            return self._balanced(expr.op, difference, expr.a.dtype)
        except ScheduleError:  # The dtype has no number on one side alone.
            return Compare(expr.op, self.simplify(expr.a), self.simplify(expr.b))

    def _balanced(self, op: str, form: Linear, dtype: str) -> Expr:
        """`form op 0` with terms that are added on the left, the others on the right, and no common divisor."""
        number = cast("int", form.constant)
        divisor = gcd(*(cast("int", c) for _, c in form.terms))
        if op in ("eq", "ne") and number % divisor:
            return Const(op == "ne", "bool")
        # For `x >= -n / d` the edge is rounded up, as for `x < -n / d`; else down.
        edge = -(number // divisor) if op in ("ge", "lt") else -number // divisor
        terms = [(atom, cast("int", c) // divisor) for atom, c in form.terms]
        left, right = (Linear(tuple((atom, c * sign) for atom, c in terms if c * sign > 0), 0) for sign in (1, -1))
        if left.terms:
            return Compare(op, self.written(left, dtype), self.written(right.plus(Linear((), edge)), dtype))
        return Compare(op, constant(-edge, dtype), self.written(right, dtype))

    def written(self, form: Linear, dtype: str) -> Expr:
        """The expression of te that a form is: first what is added, then what is subtracted."""
        constant_term = cast("int", form.constant)
        terms = [(self.atom(atom, dtype), cast("int", c)) for atom, c in form.terms]
        total: Expr | None = None
        for atom, c in terms:
            if c > 0:
                term = language.binary("mul", atom, c)
                total = term if total is None else language.binary("add", total, term)
        if constant_term > 0:
            total = constant(constant_term, dtype) if total is None else language.binary("add", total, constant_term)
        for atom, c in terms:
            if c < 0:
                negative = language.binary("mul", atom, c if total is None else -c)
                total = negative if total is None else language.binary("sub", total, negative)
        if total is None:
            return constant(constant_term, dtype)
        return language.binary("sub", total, -constant_term) if constant_term < 0 else total

    def atom(self, expr: AffineExpr, dtype: str) -> Expr:
        """The expression of te that a term of a form is, without its factor."""
        match expr:
            case AffineDimExpr():
                return self.atoms[expr.position].astype(dtype)
            case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=divisor)):
                inner = self.written(self._linear(expr.lhs), dtype)
                return language.binary(_KINDS[expr.kind], inner, divisor)
            case _:
                raise AssertionError(f"a dim, a quotient or a rest, got {expr}")


def terms_of(form: Linear) -> frozenset[tuple[AffineExpr, int]]:
    """The terms of a form, without its number."""
    return frozenset((atom, cast("int", c)) for atom, c in form.terms)


def _is_whole(node: Binary | Cast) -> bool:
    """Return whether an operator is on whole numbers."""
    return (
        not is_float(node.dtype)
        and node.dtype != "bool"
        and not any(is_float(part.dtype) or part.dtype == "bool" for part in children(node))
    )


def _divides(b: Linear, a: Linear) -> bool:
    number = cast("int", b.constant)
    return number > 0 and all(cast("int", c) % number == 0 for c in (a.constant, *(c for _, c in a.terms)))


def _joined(op: str, a: Expr, b: Expr) -> Expr:
    for first, second in ((a, b), (b, a)):
        if isinstance(first, Const):
            return second if bool(first.value) == (op == "and") else first
    return Binary(op, a, b)


def integer(value: ExprLike) -> Expr:
    """An expression of a number or an expression."""
    return convert(value)
