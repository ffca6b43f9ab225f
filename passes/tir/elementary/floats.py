"""Writes arithmetic on floats and on their bits as ops, for scalars and vectors alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from struct import pack, unpack
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.tir.lanes import CastOp, CompareOp, SelectOp, lanes, scalar_type
from ..rewriting.constants import splat

LN2_HIGH = 0.693145751953125
"""The first bits of ln(2): as few as make its products with exponents exact."""
LN2_LOW = 1.4286067653301635e-06
ROUNDERS: dict[Attribute, float] = {f32: 1.5 * 2**23, f64: 1.5 * 2**52}
"""Added to a smaller number, it leaves the nearest integer in the low bits of the sum."""
EXPONENT_BIAS = 127
"""What is added to the exponent of an f32 in its bits."""
_LOG2_E = 1.4426950408889634
_BITS: dict[Attribute, IntegerType] = {f32: i32, f64: i64}
_FAST: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}
_WRAP: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}


@cache
def _shaped(scalar: Attribute, shape: tuple[int, ...]) -> Attribute:
    return VectorType(scalar, shape) if shape else scalar


@cache
def _number(value: float, scalar: Attribute, shape: tuple[int, ...]) -> dict[str, Attribute]:
    """The properties of a constant. Functions have the same few."""
    if scalar in _BITS:
        number = FloatAttr(value, cast(AnyFloat, scalar))
    else:
        number = IntegerAttr(int(value), cast(IntegerType, scalar))
    return {"value": splat(number, _shaped(scalar, shape))}


@cache
def _predicate(predicate: str) -> dict[str, Attribute]:
    return {"predicate": StringAttr(predicate)}


class Floats:
    """Ops on numbers of one shape, in order; constants are made once.

    Numbers are f32 unless said otherwise; the second operand of an op may be a number of the first one's type.
    """

    ops: list[Operation]

    def __init__(self, like: Attribute, flushes: bool = False):
        self.ops = []
        self.flushes = flushes
        """True if results of f32 smaller than the smallest normal number may be 0."""
        self._shape = lanes(like)
        self._known: dict[tuple[float, Attribute], SSAValue] = {}

    def type(self, scalar: Attribute) -> Attribute:
        return _shaped(scalar, self._shape)

    def _add(
        self, kind: type[Operation], operands: Sequence[SSAValue], properties: dict[str, Attribute], result: Attribute
    ) -> SSAValue:
        op = kind.create(operands=operands, result_types=[result], properties=properties)
        self.ops.append(op)
        return op.results[0]

    def _float(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        return self._add(kind, operands, _FAST, operands[0].type)

    def number(self, value: float, scalar: Attribute = f32) -> SSAValue:
        if (cached := self._known.get((value, scalar))) is not None:
            return cached
        if scalar not in _BITS or abs(value) < 1e5:
            constant = self._add(arith.ConstantOp, [], _number(value, scalar, self._shape), self.type(scalar))
        else:
            # By its bits: the text of a vector of large or infinite numbers spells them, too, and is read as integers.
            (bits,) = unpack("<i", pack("<f", value)) if scalar == f32 else unpack("<q", pack("<d", value))
            constant = self.from_bits(self.number(bits, _BITS[scalar]))
        self._known[value, scalar] = constant
        return constant

    def like(self, value: SSAValue | float, other: SSAValue) -> SSAValue:
        """A number of the type of another."""
        return value if isinstance(value, SSAValue) else self.number(value, scalar_type(other.type))

    def add(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._float(arith.AddfOp, a, self.like(b, a))

    def sub(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._float(arith.SubfOp, a, self.like(b, a))

    def mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._float(arith.MulfOp, a, self.like(b, a))

    def div(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._float(arith.DivfOp, a, self.like(b, a))

    def fma(self, a: SSAValue, b: SSAValue | float, c: SSAValue | float) -> SSAValue:
        """`a b + c`, rounded once."""
        return self._float(math.FmaOp, a, self.like(b, a), self.like(c, a))

    def negative(self, a: SSAValue) -> SSAValue:
        return self._float(arith.NegfOp, a)

    def magnitude(self, a: SSAValue) -> SSAValue:
        return self._float(math.AbsFOp, a)

    def with_sign(self, a: SSAValue, sign: SSAValue) -> SSAValue:
        return self._float(math.CopySignOp, a, sign)

    def signed(self, a: SSAValue, sign: SSAValue) -> SSAValue:
        """A number whose own sign is not set, with the sign of another: an operation less than `with_sign`."""
        return self.from_bits(self.either(self.bits(a), self.masked(self.bits(sign), -(1 << 31))))

    def sqrt(self, a: SSAValue) -> SSAValue:
        return self._float(math.SqrtOp, a)

    def nearest(self, a: SSAValue) -> SSAValue:
        return self._float(math.RoundEvenOp, a)

    def widen(self, a: SSAValue, scalar: Attribute = f64) -> SSAValue:
        return self._add(arith.ExtFOp, [a], {}, self.type(scalar))

    def narrow(self, a: SSAValue, scalar: Attribute = f32) -> SSAValue:
        return self._add(arith.TruncFOp, [a], {}, self.type(scalar))

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """Horner's scheme, lowest power first."""
        *rest, total = [self.like(c, x) for c in coefficients]
        for coefficient in reversed(rest):
            total = self.fma(total, x, coefficient)
        return total

    # Choices

    def holds(self, predicate: str, a: SSAValue, b: SSAValue | float) -> SSAValue:
        """In each lane whether the comparison of a and b holds."""
        return self._add(CompareOp, [a, self.like(b, a)], _predicate(predicate), self.type(i1))

    def select(self, condition: SSAValue, then: SSAValue, orelse: SSAValue) -> SSAValue:
        return self._add(SelectOp, [condition, then, orelse], {}, then.type)

    def choose(
        self, predicate: str, a: SSAValue, b: SSAValue | float, then: SSAValue | float, orelse: SSAValue | float
    ) -> SSAValue:
        """In each lane `then` where the comparison of a and b holds, else `orelse`."""
        return self.select(self.holds(predicate, a, b), self.like(then, a), self.like(orelse, a))

    def between(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """`x`, or the bound it exceeds; NaN stays."""
        # The comparisons are false for NaN.
        x = self.choose("olt", x, low, low, x)
        return self.choose("ogt", x, high, high, x)

    # Integers

    def bits(self, a: SSAValue) -> SSAValue:
        return self._add(arith.BitcastOp, [a], {}, self.type(_BITS[scalar_type(a.type)]))

    def from_bits(self, a: SSAValue) -> SSAValue:
        return self._add(arith.BitcastOp, [a], {}, self.type(f64 if scalar_type(a.type) == i64 else f32))

    def to_float(self, a: SSAValue) -> SSAValue:
        op = CastOp.make("sitofp", a, self.type(f32))
        self.ops.append(op)
        return op.result

    def integer(self, value: int) -> SSAValue:
        return self.number(value, i32)

    def _integer(
        self, kind: type[Operation], a: SSAValue, b: SSAValue | int, properties: dict[str, Attribute] | None = None
    ) -> SSAValue:
        return self._add(kind, [a, self.like(b, a)], properties or {}, a.type)

    def plus(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        return self._integer(arith.AddiOp, a, b, _WRAP)

    def minus(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        return self._integer(arith.SubiOp, a, b, _WRAP)

    def times(self, a: SSAValue, b: int) -> SSAValue:
        return self._integer(arith.MuliOp, a, b, _WRAP)

    def masked(self, a: SSAValue, mask: int) -> SSAValue:
        return self._integer(arith.AndIOp, a, mask)

    def either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._integer(arith.OrIOp, a, b)

    def xor(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._integer(arith.XOrIOp, a, b)

    def left(self, a: SSAValue, by: int) -> SSAValue:
        return self._integer(arith.ShLIOp, a, by, _WRAP)

    def right(self, a: SSAValue, by: int) -> SSAValue:
        """The sign moves in."""
        return self._integer(arith.ShRSIOp, a, by)

    def smaller(self, a: SSAValue, b: int) -> SSAValue:
        return self._integer(arith.MinSIOp, a, b)

    # Numbers as powers of two times something

    def power_of_two(self, exponent: SSAValue) -> SSAValue:
        """2^n for an integer n from -127, which gives 0, to 128, which gives infinity."""
        return self.from_bits(self.left(self.plus(exponent, EXPONENT_BIAS), 23))

    def as_exponent(self, shifted: SSAValue) -> SSAValue:
        """The number whose sign and exponent are the low bits of a rounder's sum: 2^n for a bias of EXPONENT_BIAS."""
        return self.from_bits(self.left(self.bits(shifted), 23))

    def rounded(self, x: SSAValue, factor: float = 1.0, bias: int = 0) -> tuple[SSAValue, SSAValue]:
        """x factor + a rounder, whose low bits are the nearest integer + bias, and that integer as a float."""
        rounder = ROUNDERS[scalar_type(x.type)] + bias
        shifted = self.add(x, rounder) if factor == 1.0 else self.fma(x, factor, rounder)
        return shifted, self.sub(shifted, rounder)

    def split_exponential(self, x: SSAValue, bias: int = 0) -> tuple[SSAValue, SSAValue]:
        """n + a rounder for the integer n nearest to x / ln(2), and r: `x = n ln(2) + r`. For |x| below 2^21."""
        shifted, n = self.rounded(x, _LOG2_E, bias)
        return shifted, self._rest(x, n)

    def split_exponential_above(self, x: SSAValue, bias: int = 0) -> tuple[SSAValue, SSAValue]:
        """The same for the next integer n above x / ln(2), so that r is between -ln(2) and 0."""
        shifted, n = self.rounded(self.fma(x, _LOG2_E, 0.5), bias=bias)
        return shifted, self._rest(x, n)

    def _rest(self, x: SSAValue, n: SSAValue) -> SSAValue:
        return self.fma(n, -LN2_LOW, self.fma(n, -LN2_HIGH, x))

    def split_power(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The integer n and m, sqrt(1/2) to sqrt(2): `x = 2^n m` for a normal x > 0. m is 1 for 0 and infinity."""
        bits = self.bits(x)
        n = self.right(self.minus(bits, 0x3F3504F3), 23)
        return n, self.from_bits(self.minus(bits, self.left(n, 23)))
