"""Quotients, remainders, minima and maxima of polynomials, in a form that equal ones share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd

from .intervals import bounds
from .terms import (
    Atom,
    Factors,
    Polynomial,
    atomic,
    call,
    common,
    constant,
    divided,
    lone,
    number_of,
    plus,
    spell,
    times,
)

ENDLESS = 1 << 62
"""No size is as large; what asks for the first of as many asks for all."""


def floordiv(a: Polynomial, b: Polynomial) -> Polynomial:
    """`a floordiv b`, for values of the atoms for which b is not 0. Raises ZeroDivisionError for a b that is 0."""
    if not a:
        return {}
    if (number := number_of(b)) is not None:
        if number == 0:
            raise ZeroDivisionError(f"{spell(a)} floordiv 0")
        return _by_number(a, number) if number > 0 else _by_number(plus({}, a, -1), -number)
    if (exact := _exact(a, b)) is not None:
        return exact
    whole, rest = _whole(a, b)
    if whole:
        return plus(whole, floordiv(rest, b))
    factor, scale = common([*a, *b]), gcd(*a.values(), *b.values())
    if factor or scale > 1:
        return floordiv(_reduced(a, factor, scale), _reduced(b, factor, scale))
    return call("floordiv", a, b)


def mod(a: Polynomial, b: Polynomial) -> Polynomial:
    """`a mod b`, as Python has it. Raises ZeroDivisionError for a b that is 0."""
    if (number := number_of(b)) is not None:
        return _mod_number(a, number) if number > 0 else plus(a, times(floordiv(a, b), b), -1)
    if _exact(a, b) is not None:
        return {}
    _, rest = _whole(a, b)
    return call("mod", rest, b)


def extreme(kind: str, all_: Sequence[Polynomial]) -> Polynomial:
    """The `min` or `max` of polynomials; what is never the one is left out."""
    flat: dict[str, Polynomial] = {}
    for terms in all_:
        atom = lone(terms)
        for part in atom.args if atom is not None and atom.kind == kind else (terms,):
            flat[spell(part)] = part
    sign = 1 if kind == "min" else -1
    kept: list[Polynomial] = []
    far = [terms for terms in flat.values() if (n := number_of(terms)) is not None and n * sign >= ENDLESS]
    for terms in flat.values():
        if terms in far and len(far) < len(flat):
            continue  # no size is as large
        if any(_at_most_zero(plus(other, terms, -1), sign) for other in kept):
            continue
        kept = [other for other in kept if not _at_most_zero(plus(terms, other, -1), sign)] + [terms]
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=lambda terms: (number_of(terms) is not None, spell(terms)))
    return atomic(Atom(f"{kind}({', '.join(map(spell, kept))})", kind, kept))


def _at_most_zero(difference: Polynomial, sign: int) -> bool:
    low, high = bounds(difference, ())
    return (high is not None and high <= 0) if sign > 0 else (low is not None and low >= 0)


def joined(terms: Polynomial) -> Polynomial:
    """A polynomial in which `c * (x floordiv c) + x mod c` has become x, also where nothing of x is left over c."""
    for factors, coefficient in terms.items():
        for atom in factors:
            if atom.kind == "floordiv" and (divisor := number_of(atom.args[1])) and coefficient % divisor == 0:
                if _has_mod(atom.args[0]) and not mod(*atom.args):
                    rest = {f: c for f, c in terms.items() if f != factors}
                    others = divided(factors, (atom,)) or ()
                    return joined(plus(rest, times({others: coefficient // divisor}, atom.args[0])))
            if atom.kind != "mod":
                continue
            others = divided(factors, (atom,)) or ()
            whole = lone(floordiv(*atom.args))
            divisor = number_of(atom.args[1])
            if whole is None or divisor is None:
                continue
            partner = tuple(sorted((*others, whole)))
            if terms.get(partner) != coefficient * divisor:
                continue
            rest = {f: c for f, c in terms.items() if f not in (factors, partner)}
            return joined(plus(rest, times({others: coefficient}, atom.args[0])))
    return terms


def _has_mod(terms: Polynomial) -> bool:
    """Return whether a term has a remainder, without which nothing that is divided is known to be a multiple."""
    return any(atom.kind == "mod" for factors in terms for atom in factors)


def substituted(terms: Polynomial, values: Mapping[str, Polynomial]) -> Polynomial:
    """A polynomial with others in the place of symbols."""
    total: Polynomial = {}
    for factors, coefficient in terms.items():
        term = constant(coefficient)
        for atom in factors:
            term = times(term, _replaced(atom, values))
        total = plus(total, term)
    return joined(total)


def _replaced(atom: Atom, values: Mapping[str, Polynomial]) -> Polynomial:
    if not atom.kind:
        return values.get(atom.text, atomic(atom))
    args = [substituted(arg, values) for arg in atom.args]
    if atom.kind in ("min", "max"):
        return extreme(atom.kind, args)
    return floordiv(*args) if atom.kind == "floordiv" else mod(*args)


def _exact(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """`a / b` where that is a polynomial."""
    lead = min(b, key=_order)
    rest, quotient = dict(a), dict[Factors, int]()
    while rest:
        top = min(rest, key=_order)
        factors = divided(top, lead)
        if factors is None or rest[top] % b[lead]:
            return None
        quotient[factors] = coefficient = rest[top] // b[lead]
        rest = dict(plus(rest, times({factors: coefficient}, b), -1))
    return quotient


def _order(factors: Factors) -> tuple[int, Factors]:
    """An order of monomials that multiplication keeps, the greatest first."""
    return -len(factors), factors


def _whole(terms: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Divide each term by a monomial, towards zero, a number downwards; return the quotient and what remains."""
    if len(divisor) != 1:
        return {}, terms
    ((factors, scale),) = divisor.items()
    whole: dict[Factors, int] = {}
    for own, c in terms.items():
        quotient = divided(own, factors)
        count = _towards_zero(c, scale) if own else c // scale
        if quotient is not None and count:
            whole[quotient] = count
    return whole, plus(terms, times(whole, divisor), -1)


def _towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if a * b > 0 else -1)


def _reduced(terms: Polynomial, factor: Factors, scale: int) -> Polynomial:
    return {rest: c // scale for factors, c in terms.items() if (rest := divided(factors, factor)) is not None}


@lru_cache(maxsize=1 << 12)
def _split(items: tuple[tuple[Factors, int], ...], b: int) -> tuple[Polynomial, Polynomial]:
    return _whole(dict(items), {(): b})


def _scale(terms: Polynomial, b: int) -> int:
    """Return what divides b and all coefficients but the number's."""
    return gcd(b, *(c for factors, c in terms.items() if factors))


def _within(terms: Polynomial, b: int) -> bool:
    low, high = bounds(terms, ())
    return low is not None and high is not None and 0 <= low and high < b


def _by_number(a: Polynomial, b: int) -> Polynomial:
    if b == 1:
        return a
    whole, rest = _split(tuple(a.items()), b)
    if number_of(rest) is not None or _within(rest, b):
        return whole
    if (scale := _scale(rest, b)) > 1:
        return plus(whole, _by_number({f: c // scale for f, c in rest.items() if c // scale}, b // scale))
    atom = lone({factors: c for factors, c in rest.items() if factors})
    if atom is not None and atom.kind == "floordiv" and (inner := number_of(atom.args[1])) is not None:
        return plus(whole, _by_number(plus(atom.args[0], constant(inner * rest.get((), 0))), inner * b))
    return plus(whole, call("floordiv", rest, constant(b)))


def _mod_number(a: Polynomial, b: int) -> Polynomial:
    plain: Polynomial = {}
    for factors, c in a.items():
        atom = lone({factors: 1})
        modulus = number_of(atom.args[1]) if atom is not None and atom.kind == "mod" else None
        plain = plus(
            plain, {factors: c} if atom is None or not modulus or modulus % b else times(atom.args[0], {(): c})
        )
    _, rest = _split(tuple(plain.items()), b)
    if (scale := _scale(rest, b)) > 1:
        last = constant(rest.get((), 0) % scale)
        inner = {factors: c // scale for factors, c in plus(rest, last, -1).items()}
        return plus(times(_mod_number(inner, b // scale), {(): scale}), last)
    if number_of(rest) is not None or _within(rest, b):
        return rest
    return call("mod", rest, constant(b))
