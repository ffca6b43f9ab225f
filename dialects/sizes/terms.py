"""Polynomials with integer coefficients over atoms: what sizes with symbols are made of (`dialects/sizes.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ...provenance.undecided import UndecidedSize

Factors: TypeAlias = "tuple[Atom, ...]"
"""A monomial: its atoms in order, each as often as it is a factor."""
Polynomial: TypeAlias = "Mapping[Factors, int]"
"""Monomials and their coefficients, which are never 0."""

MOST_TERMS = 512
"""The most terms of a polynomial; a product of sums has as many as the product of their numbers."""
MOST_TEXT = 1 << 13
"""Characters of a polynomial, those inside of its atoms included."""

TIGHT = ("", "min", "max")
"""Kinds of atoms whose text needs no brackets as a factor."""


class Atom:
    """A symbol (`kind` is ""), or a `floordiv`, `mod`, `min` or `max` of polynomials. Atoms of one text are equal."""

    __slots__ = ("args", "kind", "text")

    def __init__(self, text: str, kind: str = "", args: Sequence[Polynomial] = ()):
        self.text, self.kind, self.args = text, kind, tuple(args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.text == other.text

    def __lt__(self, other: Atom) -> bool:
        return self.text < other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


def constant(number: int) -> Polynomial:
    return {(): number} if number else {}


def number_of(terms: Polynomial) -> int | None:
    """The number that a polynomial is; None where atoms remain."""
    return terms.get((), 0) if len(terms) == (() in terms) else None


def atomic(atom: Atom) -> Polynomial:
    return {(atom,): 1}


def lone(terms: Polynomial) -> Atom | None:
    """The atom that a polynomial is, if it is one."""
    if len(terms) != 1:
        return None
    ((factors, coefficient),) = terms.items()
    return factors[0] if coefficient == 1 and len(factors) == 1 else None


def names_in(terms: Polynomial) -> set[str]:
    """The symbols of a polynomial."""
    names: set[str] = set()
    stack = [terms]
    while stack:
        for factors in stack.pop():
            for atom in factors:
                stack += atom.args
                if not atom.kind:
                    names.add(atom.text)
    return names


def plus(a: Polynomial, b: Polynomial, scale: int = 1) -> Polynomial:
    """`a + scale * b`."""
    total = dict(a)
    for factors, coefficient in b.items():
        total[factors] = total.get(factors, 0) + coefficient * scale
    return {factors: c for factors, c in total.items() if c}


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """`a * b`; raises UndecidedSize where that is too long to work with."""
    product: dict[Factors, int] = {}
    for left, x in a.items():
        if len(product) > MOST_TERMS:
            raise UndecidedSize(f"expected sizes of at most {MOST_TERMS} terms, got a product of more")
        for right, y in b.items():
            factors = _counted(tuple(sorted(left + right))) if left and right else left or right
            product[factors] = product.get(factors, 0) + x * y
    return {factors: c for factors, c in product.items() if c}


def _counted(factors: Factors) -> Factors:
    """A monomial without `min(n*m, 1)` where it is 0 anyway if that is, as `n*m` divides the rest."""
    for at, atom in enumerate(factors):
        if atom.kind != "min" or len(atom.args) != 2 or constant(1) not in atom.args:
            continue
        other = next(arg for arg in atom.args if arg != constant(1))
        rest = (*factors[:at], *factors[at + 1 :])
        if len(other) == 1 and all(
            c > 0 and not any(a.kind for a in f) and set(f) <= set(rest) for f, c in other.items()
        ):
            return _counted(rest)
    return factors


def divided(factors: Factors, divisor: Factors) -> Factors | None:
    """A monomial divided by another; None where it is no multiple."""
    rest = list(factors)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def common(monomials: Sequence[Factors]) -> Factors:
    """The greatest monomial that divides all."""
    rests = [list(m) for m in monomials]
    shared: list[Atom] = []
    for atom in monomials[0] if monomials else ():
        if all(atom in rest for rest in rests):
            shared.append(atom)
            for rest in rests:
                rest.remove(atom)
    return tuple(shared)


def spell(terms: Polynomial) -> str:
    """The text of a polynomial, terms of many factors first, the number last: `2*batch*seq + past + 1`.

    Raises UndecidedSize for one of more than MOST_TERMS terms or MOST_TEXT characters: each step of `s = s*s + s` makes
    a size twice as long, and what is that long is decided at the call.
    """
    parts: list[str] = []
    if len(terms) > MOST_TERMS:
        raise UndecidedSize(f"expected sizes of at most {MOST_TERMS} terms, got one of {len(terms)}")
    for factors in sorted(terms, key=lambda factors: (-len(factors), factors)):
        coefficient = terms[factors]
        single = len(terms) == len(factors) == 1 and coefficient == 1
        shown = [a.text if single or a.kind in TIGHT else f"({a.text})" for a in factors]
        if abs(coefficient) != 1 or not factors:
            shown.insert(0, str(abs(coefficient)))
        sign = ("-" if coefficient < 0 else "") if not parts else (" - " if coefficient < 0 else " + ")
        parts.append(sign + "*".join(shown))
    if sum(map(len, parts)) > MOST_TEXT:
        raise UndecidedSize(f"expected sizes of at most {MOST_TEXT} characters, got one of more")
    return "".join(parts) or "0"


def call(kind: str, a: Polynomial, b: Polynomial) -> Polynomial:
    """A `floordiv` or `mod` as it is."""
    return atomic(Atom(f"{_bracketed(a)} {kind} {_bracketed(b)}", kind, (a, b)))


def _bracketed(terms: Polynomial) -> str:
    text, atom = spell(terms), lone(terms)
    plain = atom is not None and atom.kind in TIGHT
    return text if plain or text.isdecimal() else f"({text})"
