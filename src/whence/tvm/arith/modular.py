"""Sets of integers `coeff * k + base`, and those of the values of expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd, lcm

from whence.support.dtypes import is_float
from whence.te.language.expr import Axis, Binary, Cast, Const, Expr, Select, Var
from whence.te.language.walks import operands_first


@dataclass(frozen=True)
class ModularSet:
    """Numbers `coeff * k + base`; with `coeff` 0 the one number `base`."""

    coeff: int
    base: int

    @staticmethod
    def of(coeff: int, base: int) -> ModularSet:
        """The set with its least base that is not negative."""
        return ModularSet(abs(coeff), base % abs(coeff) if coeff else base)

    def plus(self, other: ModularSet, factor: int = 1) -> ModularSet:
        """The sums of the numbers and `factor` times others."""
        return ModularSet.of(gcd(self.coeff, factor * other.coeff), self.base + factor * other.base)

    def times(self, other: ModularSet) -> ModularSet:
        """The products of the numbers and others."""
        coeff = gcd(self.coeff * other.coeff, self.coeff * other.base, self.base * other.coeff)
        return ModularSet.of(coeff, self.base * other.base)

    def joined(self, other: ModularSet) -> ModularSet:
        """The least set with the numbers and others."""
        return ModularSet.of(gcd(self.coeff, other.coeff, self.base - other.base), self.base)

    def met(self, other: ModularSet) -> ModularSet:
        """The numbers that are in both; this set where there are none."""
        if self.coeff == 0 or other.coeff == 0:
            return self if self.coeff == 0 else other
        step = gcd(self.coeff, other.coeff)
        if (other.base - self.base) % step:
            return self
        modulus = other.coeff // step
        times = (other.base - self.base) // step * pow(self.coeff // step, -1, modulus) if modulus > 1 else 0
        return ModularSet.of(lcm(self.coeff, other.coeff), self.base + self.coeff * (times % modulus if modulus else 0))

    def floordiv(self, divisor: int) -> ModularSet:
        """The quotients by a positive number, rounded down."""
        return ModularSet.of(self.coeff // divisor, self.base // divisor) if self.coeff % divisor == 0 else ANY

    def floormod(self, divisor: int) -> ModularSet:
        """The rests by a positive number, from 0 on."""
        if self.coeff == 0:
            return ModularSet(0, self.base % divisor)
        return ModularSet.of(gcd(self.coeff, divisor), self.base)


ANY = ModularSet(1, 0)


def modular_of(root: Expr, variable: Callable[[Var | Axis], ModularSet], least: Callable[[Expr], int]) -> ModularSet:
    """Return the form of an expression's values.

    variable: the form of a variable. least: the least value of an expression, for quotients that round towards 0.
    """
    done: dict[int, Expr] = {}
    forms: dict[int, ModularSet] = {}
    for node in operands_first([root], done):
        done[id(node)] = node
        forms[id(node)] = _form(node, forms, variable, least)
    return forms[id(root)]


def _form(
    node: Expr,
    forms: dict[int, ModularSet],
    variable: Callable[[Var | Axis], ModularSet],
    least: Callable[[Expr], int],
) -> ModularSet:
    match node:
        case Const(value=bool() | int() as value):
            return ModularSet(0, int(value))
        case Var() | Axis():
            return variable(node)
        case Cast():
            return forms[id(node.a)]
        case Select():
            return forms[id(node.true_value)].joined(forms[id(node.false_value)])
        case Binary() if not is_float(node.dtype):
            return _binary(node, forms[id(node.a)], forms[id(node.b)], least)
        case _:
            return ANY


def _binary(node: Binary, a: ModularSet, b: ModularSet, least: Callable[[Expr], int]) -> ModularSet:
    number = b.base if b.coeff == 0 else 0
    match node.op:
        case "add":
            return a.plus(b)
        case "sub":
            return a.plus(b, -1)
        case "mul":
            return a.times(b)
        case "min" | "max":
            return a.joined(b)
        case "floordiv" if number > 0:
            return a.floordiv(number)
        case "shr" if b.coeff == 0 and 0 <= b.base < 64:
            return a.floordiv(1 << b.base)
        case "shl" if b.coeff == 0 and 0 <= b.base < 64:
            return a.times(ModularSet(0, 1 << b.base))
        case "truncdiv" | "div" if number > 0 and (least(node.a) >= 0 or (a.base == 0 and a.coeff % number == 0)):
            return a.floordiv(number)
        case "floormod" if number > 0:
            return a.floormod(number)
        case "truncmod" if number > 0 and least(node.a) >= 0:
            return a.floormod(number)
        case "truncmod" if number > 0 and a.base % gcd(a.coeff, number) == 0:
            return ModularSet.of(gcd(a.coeff, number), 0)
        case "and" if number > 0 and number & (number + 1) == 0:
            return a.floormod(number + 1)
        case _:
            return ANY
