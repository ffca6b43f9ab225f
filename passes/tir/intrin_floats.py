"""Writes f32 arithmetic as ops, for scalars and vectors alike."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack, unpack

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import UNKNOWN_LOC, FloatAttr, IntegerAttr, VectorType, f32, f64, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.tir_lanes import CastOp, CompareOp, SelectOp, lanes
from .common import constant

LN2_HIGH = 0.693145751953125
"""The first bits of ln(2): as few as make its products with exponents exact."""
LN2_LOW = 1.4286067653301635e-06
# Added to a small number, it leaves the nearest integer in the low bits of the sum.
_ROUNDER = 1.5 * 2**23
_LOG2_E = 1.4426950408889634


class Floats:
    """Ops on numbers of one shape, in order; constants are made once."""

    ops: list[Operation]

    def __init__(self, like: Attribute):
        self.ops = []
        self._shape = lanes(like)
        self._type = self.type(f32)
        self._integer = self.type(i32)
        self._known: dict[tuple[float, Attribute], SSAValue] = {}

    def type(self, scalar: Attribute) -> Attribute:
        return VectorType(scalar, self._shape) if self._shape else scalar

    def add_op(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def number(self, value: float, scalar: Attribute = f32) -> SSAValue:
        if (known := self._known.get((value, scalar))) is not None:
            return known
        if scalar == f32 and not abs(value) < 1 << 23:
            # By its bits: the text of a vector of these spells bits, too, and is read back as integers.
            (bits,) = unpack("<i", pack("<f", value))
            self._known[value, scalar] = made = self.from_bits(self.integer(bits))
            return made
        number = IntegerAttr(int(value), i32) if scalar == i32 else FloatAttr(value, f64 if scalar == f64 else f32)
        made = self.add_op(constant(number, self.type(scalar), UNKNOWN_LOC))
        self._known[value, scalar] = made
        return made

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add_op(arith.AddfOp(a, b))

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add_op(arith.SubfOp(a, b))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add_op(arith.MulfOp(a, b))

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add_op(arith.DivfOp(a, b))

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        return self.add_op(math.FmaOp(a, b, c))

    def negative(self, a: SSAValue) -> SSAValue:
        return self.add_op(arith.NegfOp(a))

    def magnitude(self, a: SSAValue) -> SSAValue:
        return self.add_op(math.AbsFOp(a))

    def with_sign(self, a: SSAValue, sign: SSAValue) -> SSAValue:
        return self.add_op(math.CopySignOp(a, sign))

    def sqrt(self, a: SSAValue) -> SSAValue:
        return self.add_op(math.SqrtOp(a))

    def nearest(self, a: SSAValue) -> SSAValue:
        return self.add_op(math.RoundEvenOp(a))

    def convert(self, a: SSAValue, scalar: Attribute) -> SSAValue:
        """f32 as f64, or the other way."""
        kind = arith.ExtFOp if scalar == f64 else arith.TruncFOp
        return self.add_op(kind(a, self.type(scalar)))

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """Horner's scheme, lowest power first."""
        *rest, total = [self.number(c) for c in coefficients]
        for coefficient in reversed(rest):
            total = self.fma(total, x, coefficient)
        return total

    def choose(self, predicate: str, a: SSAValue, b: SSAValue, then: SSAValue, orelse: SSAValue) -> SSAValue:
        """In each lane `then` where the comparison of a and b holds, else `orelse`."""
        condition = self.add_op(CompareOp.make(predicate, a, b))
        return self.add_op(SelectOp.make(condition, then, orelse))

    # Integers

    def bits(self, a: SSAValue) -> SSAValue:
        return self.add_op(arith.BitcastOp(a, self._integer))

    def from_bits(self, a: SSAValue) -> SSAValue:
        return self.add_op(arith.BitcastOp(a, self._type))

    def to_float(self, a: SSAValue) -> SSAValue:
        return self.add_op(CastOp.make("sitofp", a, self._type))

    def integer(self, value: int) -> SSAValue:
        return self.number(value, i32)

    def plus(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        return self.add_op(arith.AddiOp(a, self.integer(b) if isinstance(b, int) else b))

    def minus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add_op(arith.SubiOp(a, b))

    def times(self, a: SSAValue, b: int) -> SSAValue:
        return self.add_op(arith.MuliOp(a, self.integer(b)))

    def masked(self, a: SSAValue, mask: int) -> SSAValue:
        return self.add_op(arith.AndIOp(a, self.integer(mask)))

    def left(self, a: SSAValue, by: int) -> SSAValue:
        return self.add_op(arith.ShLIOp(a, self.integer(by)))

    def right(self, a: SSAValue, by: int) -> SSAValue:
        """The sign moves in."""
        return self.add_op(arith.ShRSIOp(a, self.integer(by)))

    def smaller(self, a: SSAValue, b: int) -> SSAValue:
        return self.add_op(arith.MinSIOp(a, self.integer(b)))

    def power_of_two(self, exponent: SSAValue) -> SSAValue:
        """2^n for an integer n from -127, which gives 0, to 128, which gives infinity."""
        return self.from_bits(self.left(self.plus(exponent, 127), 23))

    def split_exponential(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The integer n nearest to x / ln(2), and r: `x = n ln(2) + r`. For |x| below 2^21."""
        rounder = self.number(_ROUNDER)
        shifted = self.fma(x, self.number(_LOG2_E), rounder)
        n = self.sub(shifted, rounder)
        r = self.fma(n, self.number(-LN2_HIGH), x)
        r = self.fma(n, self.number(-LN2_LOW), r)
        return self.minus(self.bits(shifted), self.bits(rounder)), r
