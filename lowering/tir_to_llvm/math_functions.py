"""exp, tanh and erf of f32 as arithmetic, for scalars and vectors alike.

LLVM would call the C library once per lane. The coefficients are minimax fits for the given ranges. exp is within 1
unit in the last place, the others within 2; infinities, NaN, overflow and gradual underflow are those of IEEE 754.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log2

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .arithmetic import fcmp, overloaded, select
from .builder import NO_FLAGS
from .context import Lowering
from .types import like

# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, lowest power first; error 2e-10.
_EXP = (
    0.50000000136242,
    0.16666666757481577,
    0.04166646335940854,
    0.008333285648646643,
    0.0013933822723125066,
    0.0001990783539734618,
)
# (tanh(x) / x - 1) / x^2 in x^2, for |x| <= 0.625; error 2e-8 of x.
_TANH = (-0.3333332925014229, 0.1333279456508599, -0.05385407123658467, 0.021010086012391613, -0.0061131963712741984)
_TANH_SPLIT = 0.625
# erf(x) / x - 1 in x^2, for |x| <= 1; error 1e-9.
_ERF = (
    0.1283791659137516,
    -0.3761262713596564,
    0.1128360017625509,
    -0.026854444591804784,
    0.005189535339140128,
    -0.0008020841278019592,
    7.889119526153653e-05,
)
# log(1 - erf(x)) for 1 <= x <= 4; error of erf 1e-9. Beyond 4, erf is 1 in f32.
_ERF_TAIL = (
    -0.00035370891048014386,
    -1.1270400800531581,
    -0.6382256022402066,
    -0.10303743563331734,
    0.021805351212464127,
    -0.002939615750253607,
    0.00018557489475207423,
)
_ERF_SPLIT, _ERF_END = 1.0, 4.0

# Beyond these e^x is 0 or infinite; within them 2^n has an exponent that two factors can hold.
_EXP_LOW, _EXP_HIGH = -104.0, 89.0
# Added to a small number, it leaves the nearest integer in the low bits of the sum.
_ROUNDER = 1.5 * 2**23
# ln(2), the first part short enough that n times it is exact.
_LN2_HIGH = 0.693145751953125
_LN2_LOW = log(2) - _LN2_HIGH


class _Floats:
    """Arithmetic on f32 values of one shape."""

    def __init__(self, ctx: Lowering, shape: SSAValue):
        self.ctx = ctx
        self.type = shape.type
        self.integer = like(shape.type, i32)

    def number(self, value: float) -> SSAValue:
        return self.ctx.number(value, self.type)

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.ctx.value(llvm.FAddOp, (lhs, rhs), self.type)

    def sub(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.ctx.value(llvm.FSubOp, (lhs, rhs), self.type)

    def mul(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.ctx.value(llvm.FMulOp, (lhs, rhs), self.type)

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        return overloaded(self.ctx, "fma", [a, b, c], NO_FLAGS)

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """Horner's scheme, lowest power first."""
        *rest, total = [self.number(c) for c in coefficients]
        for coefficient in reversed(rest):
            total = self.fma(total, x, coefficient)
        return total

    def choose(self, predicate: str, lhs: SSAValue, rhs: SSAValue, then: SSAValue, orelse: SSAValue) -> SSAValue:
        return select(self.ctx, fcmp(self.ctx, predicate, lhs, rhs), then, orelse)

    def magnitude(self, x: SSAValue) -> SSAValue:
        return overloaded(self.ctx, "fabs", [x], NO_FLAGS)

    def with_sign(self, x: SSAValue, sign: SSAValue) -> SSAValue:
        return overloaded(self.ctx, "copysign", [x, sign], NO_FLAGS)

    def power_of_two(self, exponent: SSAValue) -> SSAValue:
        """2^n for an integer n of a normal float."""
        ctx = self.ctx
        biased = ctx.value(llvm.AddOp, (exponent, ctx.number(127, self.integer)), self.integer)
        bits = ctx.value(llvm.ShlOp, (biased, ctx.number(23, self.integer)), self.integer)
        return ctx.value(llvm.BitcastOp, (bits,), self.type)


def exp(ctx: Lowering, x: SSAValue) -> SSAValue:
    """`e^x = 2^n e^r`, n the integer nearest to x / ln(2)."""
    f = _Floats(ctx, x)
    # The comparisons are false for NaN, which so stays what it is.
    low, high = f.number(_EXP_LOW), f.number(_EXP_HIGH)
    x = f.choose("olt", x, low, low, x)
    x = f.choose("ogt", x, high, high, x)
    rounder = f.number(_ROUNDER)
    shifted = f.fma(x, f.number(log2(2.718281828459045)), rounder)
    n = f.sub(shifted, rounder)
    r = f.fma(n, f.number(-_LN2_HIGH), x)
    r = f.fma(n, f.number(-_LN2_LOW), r)
    one = f.number(1.0)
    mantissa = f.add(f.fma(f.mul(r, r), f.polynomial(r, _EXP), r), one)
    # 2^n in two factors: n may be below the least normal exponent, or one above the greatest.
    bits = ctx.value(llvm.BitcastOp, (shifted,), f.integer)
    exponent = ctx.value(llvm.SubOp, (bits, ctx.value(llvm.BitcastOp, (rounder,), f.integer)), f.integer)
    half = ctx.value(llvm.AShrOp, (exponent, ctx.number(1, f.integer)), f.integer)
    rest = ctx.value(llvm.SubOp, (exponent, half), f.integer)
    return f.mul(f.mul(mantissa, f.power_of_two(half)), f.power_of_two(rest))


def tanh(ctx: Lowering, x: SSAValue) -> SSAValue:
    """`1 - 2 / (e^2|x| + 1)` with the sign of x; a polynomial where that would cancel."""
    f = _Floats(ctx, x)
    magnitude = f.magnitude(x)
    one = f.number(1.0)
    power = exp(ctx, f.add(magnitude, magnitude))
    quotient = ctx.value(llvm.FDivOp, (f.number(2.0), f.add(power, one)), f.type)
    square = f.mul(x, x)
    small = f.fma(f.mul(magnitude, square), f.polynomial(square, _TANH), magnitude)
    result = f.choose("olt", magnitude, f.number(_TANH_SPLIT), small, f.sub(one, quotient))
    return f.with_sign(result, x)


def erf(ctx: Lowering, x: SSAValue) -> SSAValue:
    """`1 - e^p(|x|)` with the sign of x for |x| >= 1, `x + x q(x^2)` below."""
    f = _Floats(ctx, x)
    magnitude, end, one = f.magnitude(x), f.number(_ERF_END), f.number(1.0)
    clamped = f.choose("ogt", magnitude, end, end, magnitude)
    tail = f.sub(one, exp(ctx, f.polynomial(clamped, _ERF_TAIL)))
    small = f.fma(magnitude, f.polynomial(f.mul(x, x), _ERF), magnitude)
    result = f.choose("olt", magnitude, f.number(_ERF_SPLIT), small, tail)
    return f.with_sign(result, x)
