"""Arithmetic on affine index expressions: linear form, simplification and bounds under known ranges of the dims.

Index arithmetic is an attribute at every level (reads, loads, stores hold an affine map); this module is the one place
that knows how such expressions behave. Division and modulo are floored and by positive constants, or by sizes.

Coefficients, constants and bounds are sizes: ints, or expressions of the symbols of the kernel (`sizes/kernel.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import gcd
from typing import TypeAlias, cast

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from .sizes import Size, SizeExpr, common_divisor, proves, same
from .sizes import bounds as size_bounds
from .sizes.kernel import kernel_size, lifted, nominal, size_of

Range: TypeAlias = tuple[Size, Size]
"""Smallest and largest value, both included."""

FAR = 1 << 62
"""Further than any index is from 0."""

LONGEST = 64
"""Operations, operands included, in an index that stays an expression; one of more becomes a computed number."""

ZERO = AffineExpr.constant(0)


@dataclass(frozen=True)
class Linear:
    """`constant + sum(coefficient * atom)`; an atom is a dim, or a floordiv or mod by a constant."""

    terms: tuple[tuple[AffineExpr, Size], ...]
    constant: Size

    @staticmethod
    def of(terms: Mapping[AffineExpr, Size], constant: Size) -> Linear:
        return Linear(tuple((atom, c) for atom, c in terms.items() if c.__class__ is SizeExpr or c), constant)

    @property
    def expr(self) -> AffineExpr:
        """The expression, terms in order, constant last."""
        total: AffineExpr | None = None
        for atom, coefficient in self.terms:
            term = atom if same(coefficient, 1) else _binary(AffineBinaryOpKind.Mul, atom, coefficient)
            total = term if total is None else AffineBinaryOpExpr(AffineBinaryOpKind.Add, total, term)
        if total is None:
            return lifted(self.constant)
        return total if same(self.constant, 0) else _binary(AffineBinaryOpKind.Add, total, self.constant)

    def plus(self, other: Linear, factor: Size = 1) -> Linear:
        terms = dict(self.terms)
        for atom, coefficient in other.terms:
            terms[atom] = terms.get(atom, 0) + factor * coefficient
        return Linear.of(terms, self.constant + factor * other.constant)

    def times(self, factor: Size) -> Linear:
        if same(factor, 0):
            return Linear((), 0)
        return Linear(tuple((atom, c * factor) for atom, c in self.terms), self.constant * factor)

    @property
    def plain(self) -> bool:
        """Return whether all numbers in it are known."""
        return self.constant.__class__ is not SizeExpr and all(c.__class__ is not SizeExpr for _, c in self.terms)

    def coefficient(self, dim: int) -> Size | None:
        """The coefficient of a dim; None when the dim also occurs inside a floordiv or mod."""
        total: Size = 0
        for atom, c in self.terms:
            if isinstance(atom, AffineDimExpr):
                total += c if atom.position == dim else 0
            elif dim in atom.used_dims():
                return None
        return total


def _binary(kind: AffineBinaryOpKind, lhs: AffineExpr, rhs: Size) -> AffineExpr:
    return AffineBinaryOpExpr(kind, lhs, lifted(rhs))


def linear(expr: AffineExpr, ranges: tuple[Range, ...]) -> Linear:
    """The simplified linear form of `expr`, where dim i lies in `ranges[i]`.

    Two forms of the same floordiv and mod agree in their atoms, so that a sum that takes an index apart and puts it
    together again ends as that index: `((i*7 + j) floordiv 7)*7 + (i*7 + j) mod 7` is `i*7 + j`, for any `j`.

    Raises ValueError when `expr` is `malformed`.
    """
    # Most arguments are leaves, which are cheaper than a cache.
    kind = expr.__class__
    if kind is AffineConstantExpr:
        return Linear((), cast(AffineConstantExpr, expr).value)
    if kind is AffineDimExpr:
        low, high = ranges[cast(AffineDimExpr, expr).position]
        return Linear((), low) if same(low, high) else Linear(((expr, 1),), 0)
    if kind is AffineSymExpr:
        return Linear((), kernel_size(cast(AffineSymExpr, expr).position))
    return _linear(expr, ranges)


@lru_cache(maxsize=1 << 14)
def _linear(expr: AffineExpr, ranges: tuple[Range, ...]) -> Linear:
    match expr:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            return recombined(linear(expr.lhs, ranges).plus(linear(expr.rhs, ranges)), ranges)
        case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=factor)):
            inner = linear(expr.lhs, ranges)
            if expr.kind is AffineBinaryOpKind.Mul:
                return inner.times(factor)
            if factor < 1:
                raise ValueError(f"expected a divisor of at least 1, got {expr}")
            match expr.kind:
                case AffineBinaryOpKind.FloorDiv:
                    return _floordiv(inner, factor, ranges)
                case AffineBinaryOpKind.Mod:
                    return _mod(inner, factor, ranges)
                case _:
                    return _floordiv(inner.plus(Linear((), factor - 1)), factor, ranges)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, lhs=AffineConstantExpr(value=factor)):
            return linear(expr.rhs, ranges).times(factor)
        case AffineBinaryOpExpr():
            return _semi_affine(expr, ranges)
        case _:
            raise ValueError(f"expected an affine expression of dims and constants, got {expr}")


def _semi_affine(expr: AffineBinaryOpExpr, ranges: tuple[Range, ...]) -> Linear:
    """A product with, or a quotient by, an expression of sizes."""
    inner, other = linear(expr.lhs, ranges), linear(expr.rhs, ranges)
    if expr.kind is AffineBinaryOpKind.Mul and other.terms:
        inner, other = other, inner
    if other.terms:
        raise ValueError(f"expected a factor or divisor that is a number or a size, got {expr}")
    factor = other.constant
    match expr.kind:
        case AffineBinaryOpKind.Mul:
            return inner.times(factor)
        case AffineBinaryOpKind.FloorDiv:
            return _floordiv(inner, factor, ranges)
        case AffineBinaryOpKind.Mod:
            return _mod(inner, factor, ranges)
        case _:
            return _floordiv(inner.plus(Linear((), factor - 1)), factor, ranges)


def _split(inner: Linear, factor: Size) -> tuple[Linear, Linear]:
    """`inner = factor * quotient + rest`, the rest's constant in [0, factor) where both are known."""
    quotient: dict[AffineExpr, Size] = {}
    rest: dict[AffineExpr, Size] = {}
    for atom, c in inner.terms:
        if isinstance(c, int) and isinstance(factor, int):
            # 9 i is 8 i + i; a negative coefficient stays as it is.
            multiple, remainder = divmod(c, factor) if c > 0 or c % factor == 0 else (0, c)
        else:
            multiple, remainder = _multiples(c, factor)
        quotient[atom] = multiple
        rest[atom] = remainder
    if isinstance(inner.constant, int) and isinstance(factor, int):
        q, r = divmod(inner.constant, factor)
    else:
        q, r = _multiples(inner.constant, factor)
    return Linear.of(quotient, q), Linear.of(rest, r)


def _multiples(size: Size, factor: Size) -> tuple[Size, Size]:
    """`(multiples, rest)`: `size = multiples * factor + rest`; `factor` divides the terms in `multiples`."""
    multiples: Size = 0
    rest: Size = 0
    terms = [SizeExpr({f: c}) if f else c for f, c in size.terms.items()] if isinstance(size, SizeExpr) else [size]
    for term in terms:
        quotient = term // factor
        if same(quotient * factor, term):
            multiples = multiples + quotient
        else:
            rest = rest + term
    return multiples, rest


def _quotient_of(low: Size, high: Size, factor: Size) -> Size | None:
    """Return the quotient of all numbers of a range by `factor`; None if they differ, or may."""
    if isinstance(low, int) and isinstance(high, int) and isinstance(factor, int):
        first = low // factor
        return first if first == high // factor else None
    return 0 if proves(low, ">=", 0) and proves(high, "<", factor) else None


def _scales(rest: Linear, factor: Size) -> Sequence[Size]:
    """Divisors of `factor` above 1 that coefficients of `rest` have in common with it, the greatest first."""
    if isinstance(factor, int) and rest.plain:
        numbers = {factor}
        for _, c in rest.terms:
            numbers |= {gcd(scale, cast(int, c)) for scale in numbers}
        return sorted(numbers - {1, factor}, reverse=True)
    sizes = {str(factor): factor}
    for _, c in rest.terms:
        sizes |= {str(divisor): divisor for scale in list(sizes.values()) for divisor in [common_divisor(scale, c)]}
    del sizes[str(factor)]
    return sorted((size for size in sizes.values() if not same(size, 1)), key=nominal, reverse=True)


def _scaled(rest: Linear, factor: Size, ranges: tuple[Range, ...]) -> tuple[Size, Linear, Linear] | None:
    """`(scale, big, small)`: `rest = scale * big + small`, `scale` divides `factor`, `small` lies in [0, scale).

    Then `rest floordiv factor` is `big floordiv (factor / scale)`, and `rest mod factor` is
    `(big mod (factor / scale)) * scale + small`. None when there is no such scale above 1.
    """
    for scale in _scales(rest, factor):
        big, small = _split(rest, scale)
        if not big.terms:
            continue
        if (shift := _quotient_of(*linear_bounds(small, ranges), scale)) is not None:
            return scale, big.plus(Linear((), shift)), small.plus(Linear((), -shift * scale))
    return None


def _floordiv(inner: Linear, factor: Size, ranges: tuple[Range, ...]) -> Linear:
    if same(factor, 1):
        return inner
    quotient, rest = _split(inner, factor)
    if (number := _quotient_of(*linear_bounds(rest, ranges), factor)) is not None:
        return quotient.plus(Linear((), number))
    if not rest.terms:
        return quotient.plus(Linear((), rest.constant // factor))
    if (scaled := _scaled(rest, factor, ranges)) is not None:
        scale, big, _ = scaled
        return quotient.plus(_floordiv(big, factor // scale, ranges))
    if not isinstance(factor, int) or not rest.plain:
        return quotient.plus(Linear(((_binary(AffineBinaryOpKind.FloorDiv, rest.expr, factor), 1),), 0))
    if len(rest.terms) == 1 and same(rest.terms[0][1], 1):
        match rest.terms[0][0]:
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.FloorDiv, lhs=lhs, rhs=AffineConstantExpr(value=first)):
                # floor((floor(x / a) + b) / c) = floor((x + a b) / (a c))
                dividend = linear(lhs, ranges).plus(Linear((), rest.constant * first))
                return quotient.plus(_floordiv(dividend, first * factor, ranges))
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, lhs=lhs, rhs=AffineConstantExpr(value=first)) if (
                first % factor == 0 and same(rest.constant, 0)
            ):
                # floor((x mod (a b)) / b) = floor(x / b) mod a
                dividend = _floordiv(linear(lhs, ranges), factor, ranges)
                return quotient.plus(_mod(dividend, first // factor, ranges))
            case _:
                pass
    return quotient.plus(Linear(((_binary(AffineBinaryOpKind.FloorDiv, rest.expr, factor), 1),), 0))


def _mod(inner: Linear, factor: Size, ranges: tuple[Range, ...]) -> Linear:
    if same(factor, 1):
        return Linear((), 0)
    _, rest = _split(inner, factor)
    if (number := _quotient_of(*linear_bounds(rest, ranges), factor)) is not None:
        return rest.plus(Linear((), -number * factor))
    if not rest.terms:
        return Linear((), rest.constant % factor)
    if (scaled := _scaled(rest, factor, ranges)) is not None:
        scale, big, small = scaled
        return _mod(big, factor // scale, ranges).times(scale).plus(small)
    if not isinstance(factor, int) or not rest.plain:
        return Linear(((_binary(AffineBinaryOpKind.Mod, rest.expr, factor), 1),), 0)
    for atom, c in rest.terms:
        match atom:
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, lhs=lhs, rhs=AffineConstantExpr(value=first)) if (
                cast(int, c) * first % factor == 0
            ):
                # x mod a differs from x by a multiple of a.
                whole = rest.plus(Linear(((atom, -c),), 0)).plus(linear(lhs, ranges), c)
                return _mod(whole, factor, ranges)
            case _:
                pass
    return Linear(((_binary(AffineBinaryOpKind.Mod, rest.expr, factor), 1),), 0)


def recombined(form: Linear, ranges: tuple[Range, ...]) -> Linear:
    """`(x floordiv c) * (k c) + (x mod c) * k` is `x * k`; with `(x floordiv c) mod d` it is `(x mod (c d)) * k`."""
    terms = dict(form.terms)
    for atom, k in form.terms:
        match atom:
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, lhs=lhs, rhs=rhs):
                factor = size_of(rhs)
                whole = linear(lhs, ranges)
                quotient = _floordiv(whole, factor, ranges)
                if len(quotient.terms) == 1 and same(quotient.terms[0][1], 1):
                    partner = quotient.terms[0][0]
                    if partner in terms and same(terms[partner], k * factor):
                        shift = Linear(((atom, -k), (partner, -k * factor)), -quotient.constant * k * factor)
                        return recombined(form.plus(shift).plus(whole, k), ranges)
                    for partner, multiple in form.terms:
                        match partner:
                            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, lhs=upper, rhs=turns) if (
                                upper == quotient.expr and same(multiple, k * factor)
                            ):
                                rest = form.plus(Linear(((atom, -k), (partner, -multiple)), 0))
                                return recombined(rest.plus(_mod(whole, factor * size_of(turns), ranges), k), ranges)
                            case _:
                                pass
                # A rest forgets the modulo that a dividend had of a multiple: the quotient's dividend has it still.
                for partner, c in form.terms:
                    match partner:
                        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.FloorDiv, lhs=dividend, rhs=other) if (
                            other == rhs and same(c, k * factor)
                        ):
                            whole = linear(dividend, ranges)
                            rest = _mod(whole, factor, ranges)
                            if rest.terms == ((atom, 1),):
                                shift = Linear(((atom, -k), (partner, -c)), -rest.constant * k)
                                return recombined(form.plus(shift).plus(whole, k), ranges)
                        case _:
                            pass
            case _:
                pass
    return form


def linear_bounds(form: Linear, ranges: tuple[Range, ...]) -> Range:
    """Smallest and largest value of a linear form (exact when its atoms are independent)."""
    low = high = form.constant
    for atom, c in form.terms:
        a, b = _atom_bounds(atom, ranges)
        if (ends := scaled(c, a, b)) is None:
            return -FAR, FAR
        low, high = low + ends[0], high + ends[1]
    return low, high


def scaled(factor: Size, low: Size, high: Size) -> Range | None:
    """The least and the most of `factor` times what lies from `low` to `high`; None where the sign depends on sizes."""
    first, second = factor * low, factor * high
    if isinstance(first, int) and isinstance(second, int):
        return min(first, second), max(first, second)
    if proves(factor, ">=", 0):
        return first, second
    return (second, first) if proves(factor, "<=", 0) else None


def _atom_bounds(atom: AffineExpr, ranges: tuple[Range, ...]) -> Range:
    match atom:
        case AffineDimExpr():
            return ranges[atom.position]
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            factor = rhs.value if isinstance(rhs, AffineConstantExpr) else size_of(rhs)
            low, high = bounds(lhs, ranges)
            if kind is AffineBinaryOpKind.FloorDiv:
                return low // factor, high // factor
            if (number := _quotient_of(low, high, factor)) is not None:
                return low - number * factor, high - number * factor
            return 0, factor - 1
        case _:
            raise ValueError(f"not an atom: {atom}")


def bounds(expr: AffineExpr, ranges: Sequence[Range]) -> Range:
    """Smallest and largest value of `expr`, where dim i lies in `ranges[i]`."""
    fixed = tuple(ranges)
    return linear_bounds(linear(expr, fixed), fixed)


def simplify(expr: AffineExpr, ranges: Sequence[Range]) -> AffineExpr:
    """An equal expression, where dim i lies in `ranges[i]`: linear, divisions and modulos by ranges resolved."""
    return linear(expr, tuple(ranges)).expr


def flatten(exprs: Sequence[AffineExpr], strides: Sequence[Size]) -> AffineExpr:
    """The one index of a row-major array, `strides` elements between neighbours along each dimension."""
    total: AffineExpr = ZERO
    for expr, stride in zip(exprs, strides, strict=True):
        total = total + expr * (stride if isinstance(stride, int) else lifted(stride))
    return total


def hull(ends: Range) -> tuple[int, int]:
    """Numbers between which a range lies, whatever the sizes."""
    low, high = (end if isinstance(end, int) else size_bounds(end)[side] for side, end in enumerate(ends))
    return -FAR if low is None else low, FAR if high is None else high


def below(a: Size, b: Size) -> bool:
    """Return whether `a < b`, for sure."""
    return a < b if isinstance(a, int) and isinstance(b, int) else proves(a, "<", b)


def malformed(expr: AffineExpr) -> str | None:
    """Return the part of `expr` that this module cannot work with (a divisor below 1 or of dims, a product of dims)."""
    for part in expr.dfs():
        match part:
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
                pass
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, lhs=lhs, rhs=rhs):
                if lhs.used_dims() and rhs.used_dims():
                    return f"the product {part}"
            case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=divisor)) if divisor > 0:
                pass
            case AffineBinaryOpExpr(rhs=rhs) if not isinstance(rhs, AffineConstantExpr) and not rhs.used_dims():
                pass
            case AffineBinaryOpExpr():
                return f"the divisor {part.rhs} in {part}"
            case _:
                pass
    return None


def is_long(expr: AffineExpr) -> bool:
    """Return whether an expression has too many operations to work with: each of them counts wherever it stands.

    An expression is a tree: of two that are each made of the one before twice, the second is twice as long.
    """
    return next(islice(expr.dfs(), LONGEST, None), None) is not None


def substitute(expr: AffineExpr, dims: Sequence[AffineExpr]) -> AffineExpr:
    """`expr` with dim i replaced by `dims[i]`."""
    return expr.replace_dims_and_symbols(dims, ())


def spell(expr: AffineExpr, names: Sequence[str]) -> str:
    """The text of `expr`, dim i spelled `names[i]`; what xDSL's affine parser reads back."""
    match expr:
        case AffineConstantExpr():
            return str(expr.value)
        case AffineDimExpr():
            return names[expr.position]
        case AffineSymExpr():
            return str(expr)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add, lhs=lhs, rhs=AffineConstantExpr(value=value)):
            return f"{spell(lhs, names)} {'-' if value < 0 else '+'} {abs(value)}"
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            return f"{spell(expr.lhs, names)} + {spell(expr.rhs, names)}"
        case AffineBinaryOpExpr():
            left = spell(expr.lhs, names)
            if isinstance(expr.lhs, AffineBinaryOpExpr):
                left = f"({left})"
            right = spell(expr.rhs, names)
            if isinstance(expr.rhs, AffineBinaryOpExpr):
                right = f"({right})"
            return f"{left} {expr.kind.get_token()} {right}"
        case _:
            raise ValueError(f"not an affine expression: {expr}")
