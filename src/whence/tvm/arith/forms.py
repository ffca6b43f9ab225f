"""Integer expressions of te as affine maps, and back."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import cast

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from whence.arith.bounds import ALL, Ends, hull, met, of_binary, of_dtype
from whence.dialects.affine import FAR, Linear, bounds, linear
from whence.support.dtypes import is_float
from whence.te.language import expr as language
from whence.te.language.affine_forms import FLOORED, affine_binary
from whence.te.language.expr import (
    Axis,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    ExprLike,
    Not,
    Reinterpret,
    Select,
    SizeVar,
    Var,
    children,
    constant,
    convert,
)

_EXACT = 1 << 24
"""The number up to which float32 has every integer."""
_KINDS = {
    AffineBinaryOpKind.Add: "add",
    AffineBinaryOpKind.Mul: "mul",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.Mod: "floormod",
}


class Range(language.Range):
    """The numbers from `begin` to below `end`; with one argument, from 0 to below it. It has `min` and `extent`."""

    def __new__(cls, begin: ExprLike, end: ExprLike | None = None) -> Range:
        low, high = (0, begin) if end is None else (begin, end)
        return super().__new__(cls, cast("int", low), cast("int", high - low))  # pyright: ignore[reportOperatorIssue]

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike) -> Range:
        """The `extent` numbers from `min_value` on."""
        return Range(min_value, cast("int", min_value) + cast("int", extent))


def key(expr: Expr) -> Hashable:
    """Return a key that is equal for expressions of the same structure."""
    match expr:
        case Const():
            return expr.dtype, expr.value
        case Axis() | Var():
            return id(expr)
        case Binary() | Compare():
            return expr.op, key(expr.a), key(expr.b)
        case Cast():
            return "cast", expr.dtype, key(expr.a)
        case Call():
            return expr.name, key(expr.a)
        case Select():
            return "select", key(expr.condition), key(expr.true_value), key(expr.false_value)
        case Not():
            return "not", key(expr.a)
        case _:
            return id(expr)


class Forms:
    """The variables in expressions, each a dim of the maps, and the known facts about them."""

    def __init__(self) -> None:
        self.atoms: list[Expr] = []
        self.ranges: list[Ends] = []
        self.facts: dict[int, Ends] = {}
        """Dim -> what is known of it beside its parts."""
        self._numbers: dict[Hashable, int] = {}

    def number(self, atom: Expr) -> int:
        """Return the dim of a variable, or of an expression that is not affine."""
        name = key(atom)
        if name not in self._numbers:
            ends = self._ends(atom)
            self._numbers[name] = len(self.atoms)
            self.atoms.append(atom)
            self.ranges.append(ends)
        return self._numbers[name]

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

    def affine(self, expr: Expr) -> AffineExpr:
        """An expression over the dims."""
        match expr:
            case Const(value=int() as value):
                return AffineConstantExpr(int(value))
            case Cast(a=a) if not is_float(expr.dtype) and not is_float(a.dtype):
                ends = self.bounds(a)
                fits = met(ends, of_dtype(expr.dtype)) == ends or ends == of_dtype(a.dtype)
                return self.affine(a) if fits else AffineDimExpr(self.number(expr))
            case Binary() if not is_float(expr.dtype):
                a, b = self.affine(expr.a), self.affine(expr.b)
                if expr.op in ("min", "max") and (chosen := self._chosen(expr.op, a, b)) is not None:
                    return chosen
                op = expr.op
                if op in FLOORED and self._bounds(a)[0] >= 0:
                    op = FLOORED[op]
                form = affine_binary(op, a, b)
                if form is not None and (op not in ("floordiv", "floormod") or isinstance(b, AffineConstantExpr)):
                    return form
                return AffineDimExpr(
                    self.number(Binary(expr.op, self.simplified(a, expr.dtype), self.simplified(b, expr.dtype)))
                )
            case Select():
                parts = [self.simplify(part) for part in children(expr)]
                if isinstance(parts[0], Const):
                    return self.affine(parts[1] if parts[0].value else parts[2])
                return AffineDimExpr(
                    self.number(replace(expr, condition=parts[0], true_value=parts[1], false_value=parts[2]))
                )
            case _:
                return AffineDimExpr(self.number(expr))

    def _chosen(self, op: str, a: AffineExpr, b: AffineExpr) -> AffineExpr | None:
        low, high = self._bounds(a - b)
        if low >= 0:
            return b if op == "min" else a
        if high <= 0:
            return a if op == "min" else b
        return None

    def _bounds(self, expr: AffineExpr) -> Ends:
        low, high = bounds(expr, self.ranges)
        if any(self.ranges[dim][0] <= -FAR or self.ranges[dim][1] >= FAR for dim in expr.used_dims()):
            return self._infinite(linear(expr, tuple(self.ranges)), cast(int, low), cast(int, high))
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
        return self._bounds(self.affine(expr))

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
                return self.simplified(self.affine(expr), expr.dtype)

    def _compared(self, expr: Compare) -> Expr:
        low, high = self._bounds(self.affine(expr.a) - self.affine(expr.b))
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
        return Compare(expr.op, self.simplify(expr.a), self.simplify(expr.b))

    def simplified(self, expr: AffineExpr, dtype: str) -> Expr:
        """The expression of te that an affine one is, in its simplest form."""
        return self.written(linear(expr, tuple(self.ranges)).expr, dtype)

    def written(self, expr: AffineExpr, dtype: str) -> Expr:
        """The expression of te that an affine one is."""
        match expr:
            case AffineConstantExpr():
                return constant(expr.value, dtype)
            case AffineDimExpr():
                return self.atoms[expr.position].astype(dtype)
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add, rhs=AffineConstantExpr(value=value)) if value < 0:
                return language.binary("sub", self.written(expr.lhs, dtype), -value)
            case AffineBinaryOpExpr():
                a, b = self.written(expr.lhs, dtype), self.written(expr.rhs, dtype)
                return language.binary(_KINDS[expr.kind], a, b)
            case _:
                raise AssertionError(f"an expression of dims and numbers, got {expr}")


def _joined(op: str, a: Expr, b: Expr) -> Expr:
    for first, second in ((a, b), (b, a)):
        if isinstance(first, Const):
            return second if bool(first.value) == (op == "and") else first
    return Binary(op, a, b)


def integer(value: ExprLike) -> Expr:
    """An expression of a number or an expression."""
    return convert(value)
