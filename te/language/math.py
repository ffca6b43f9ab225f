"""The functions of the te language: mathematics, choices, casts and logic."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.sizes import SizeExpr
from ...support.dtypes import (
    BOOL,
    INT,
    bits,
    check_dtype,
    check_lanes,
    element_of,
    fail,
    is_float,
    is_unsigned,
    lanes_of,
    limits,
    natural_dtype,
    with_lanes,
)
from .expr import (
    Binary,
    Call,
    CallExtern,
    Const,
    Expr,
    ExprLike,
    Joint,
    Not,
    Reinterpret,
    Select,
    SizeNumber,
    SizeVar,
    Var,
    binary,
    compare,
    constant,
    convert,
    operate,
    pair,
)
from .operators import BITS, MATH, ROUNDING
from .whole_tensors import Operand, Unary, WholeTensor, pairwise, unary

_BYTES = 4
"""In a word."""


def _function(name: str) -> Unary:
    integer = name in BITS

    def apply(x: ExprLike) -> Expr:
        value = convert(x)
        if name in ROUNDING and not is_float(value.dtype):
            return value
        if is_float(value.dtype) == integer or value.dtype == BOOL:
            fail(f"te.{name}: expected {'an integer' if integer else 'a float'}, got {value.dtype}; use astype")
        # How many bits it is says an int32, whatever the number is.
        return Call(name, value).astype(INT) if name == "clz" else Call(name, value)

    apply.__name__ = name
    apply.__doc__ = f"{name} of {'an integer' if integer else 'a float'}."
    return unary(apply)


FUNCTIONS: dict[str, Unary] = {name: _function(name) for name in (*MATH, *BITS)}
"""Every function of one number, by TVM's name."""


def const(value: float | SizeExpr, dtype: str | None = None) -> Const | SizeNumber:
    """A number; of int32, float32 or bool by its type when no dtype is given."""
    if isinstance(value, SizeExpr):
        return SizeNumber(value, dtype or INT)
    if dtype is None:
        dtype = str(value.dtype) if isinstance(value, np.generic) else natural_dtype(value)
    return constant(value, check_dtype(dtype, "te.const"))


def var(name: str = "tindex", dtype: str = "int32") -> Var:
    """A scalar that stays open until a schedule is made with `sizes={name: value}`; or a vector, of `int32x4`."""
    return Var(name, check_lanes(dtype, "te.var"))


def size_var(name: str = "size", dtype: str = "int32") -> Var:
    """A size of tensors that stays open until a schedule is made with `sizes={name: value}`."""
    if is_float(check_dtype(dtype, "te.size_var")) or dtype == BOOL:
        fail(f"te.size_var: expected an integer dtype, got {dtype}")
    return SizeVar(name, dtype)


def min_value(dtype: str) -> Const:
    """The least number of a dtype."""
    return _limit(dtype, 0)


def max_value(dtype: str) -> Const:
    """The greatest number of a dtype."""
    return _limit(dtype, 1)


def _limit(dtype: str, end: int) -> Const:
    if not is_float(check_dtype(dtype, "te.min_value")):
        return constant(limits(dtype)[end], dtype)
    greatest = {"float16": 65504.0, "bfloat16": (2 - 2**-7) * 2.0**127, "float32": (2 - 2**-23) * 2.0**127}
    number = greatest.get(dtype, (2 - 2**-52) * 2.0**1023)
    return constant(number if end else -number, dtype)


def infinity(dtype: str) -> Const:
    """Infinity of a float dtype."""
    if not is_float(check_dtype(dtype, "te.infinity")):
        fail(f"te.infinity: expected a float dtype, got {dtype}")
    return Const(float("inf"), dtype)


@unary
def abs(x: ExprLike) -> Expr:
    """The absolute value."""
    value = convert(x)
    if value.dtype == BOOL:
        fail("te.abs: expected a number, got bool; use astype")
    return value if is_unsigned(value.dtype) else Call("abs", value)


@unary
def sigmoid(x: ExprLike) -> Expr:
    """`1 / (1 + exp(-x))`, or, below 0, `exp(x) / (1 + exp(x))`, which is right where `exp(-x)` is infinite."""
    value = convert(x)
    power = FUNCTIONS["exp"](-abs(value))
    return select(value < 0, power, 1.0) / (1.0 + power)


@pairwise
def power(x: ExprLike, y: ExprLike) -> Expr:
    return binary("pow", x, y)


@pairwise
def maximum(x: ExprLike, y: ExprLike) -> Expr:
    return binary("max", x, y)


@pairwise
def minimum(x: ExprLike, y: ExprLike) -> Expr:
    return binary("min", x, y)


@pairwise
def div(x: ExprLike, y: ExprLike) -> Expr:
    """The quotient; integers divide towards zero."""
    return binary("div", x, y)


def ceildiv(x: ExprLike, y: ExprLike) -> Expr:
    """The quotient of integers, rounded up."""
    return binary("floordiv", convert(x) + y - 1, y)


@pairwise
def add(x: ExprLike, y: ExprLike) -> Expr:
    return binary("add", x, y)


@pairwise
def subtract(x: ExprLike, y: ExprLike) -> Expr:
    return binary("sub", x, y)


@pairwise
def multiply(x: ExprLike, y: ExprLike) -> Expr:
    return binary("mul", x, y)


@pairwise
def divide(x: ExprLike, y: ExprLike) -> Expr:
    """The quotient of floats, as of `/`."""
    return operate("/", x, y)


@pairwise
def fmod(x: ExprLike, y: ExprLike) -> Expr:
    """The rest of a division of floats towards zero; it has the sign of `x`."""
    value = binary("copysign", x, y)
    assert isinstance(value, Binary)
    if value.dtype not in ("float32", "float64"):
        fail(f"te.fmod: expected float32 or float64, got {value.dtype}; use astype")
    name = "fmodf" if value.dtype == "float32" else "fmod"
    return CallExtern(value.dtype, name, (value.a, value.b))


@pairwise
def ldexp(x: ExprLike, y: ExprLike) -> Expr:
    """`x * 2^y` of a float and an integer."""
    value, exponent = convert(x), convert(y)
    if value.dtype not in ("float32", "float64"):
        fail(f"te.ldexp: expected float32 or float64, got {value.dtype}; use astype")
    if is_float(exponent.dtype) or exponent.dtype == BOOL:
        fail(f"te.ldexp: expected an integer as exponent, got {exponent.dtype}; use astype")
    name = "ldexpf" if value.dtype == "float32" else "ldexp"
    return CallExtern(value.dtype, name, (value, exponent.astype("int32")))


@pairwise
def nextafter(x: ExprLike, y: ExprLike) -> Expr:
    """The next number after `x` towards `y`."""
    value = binary("copysign", x, y)
    assert isinstance(value, Binary)
    if value.dtype not in ("float32", "float64"):
        fail(f"te.nextafter: expected float32 or float64, got {value.dtype}; use astype")
    name = "nextafterf" if value.dtype == "float32" else "nextafter"
    return CallExtern(value.dtype, name, (value.a, value.b))


@pairwise
def atan2(x: ExprLike, y: ExprLike) -> Expr:
    """The angle of the point (y, x): `x` is the height."""
    return binary("atan2", x, y)


@pairwise
def copysign(x: ExprLike, y: ExprLike) -> Expr:
    """`x` with the sign of `y`."""
    return binary("copysign", x, y)


@pairwise
def hypot(x: ExprLike, y: ExprLike) -> Expr:
    """`sqrt(x^2 + y^2)`, of the larger one and a share of at most 1, so that no square overflows.

    Infinite where one of them is, also beside NaN, as in C.
    """
    a, b = abs(x), abs(y)
    large, small = maximum(a, b), minimum(a, b)
    share = small / select(large.equal(0.0), 1.0, large)
    length = large * FUNCTIONS["sqrt"](1.0 + share * share)
    return select(any(isinf(a), isinf(b)), infinity(a.dtype), length)


@unary
def exp10(x: ExprLike) -> Expr:
    """10 to the power of a float."""
    return binary("pow", 10.0, x)


@pairwise
def bitwise_and(x: ExprLike, y: ExprLike) -> Expr:
    return binary("and", x, y)


@pairwise
def bitwise_or(x: ExprLike, y: ExprLike) -> Expr:
    return binary("or", x, y)


@pairwise
def bitwise_xor(x: ExprLike, y: ExprLike) -> Expr:
    return binary("xor", x, y)


@unary
def bitwise_not(x: ExprLike) -> Expr:
    return ~convert(x)


@pairwise
def shift_left(x: ExprLike, y: ExprLike) -> Expr:
    return binary("shl", x, y)


@pairwise
def shift_right(x: ExprLike, y: ExprLike) -> Expr:
    """Shift right; a signed integer keeps its sign."""
    return binary("shr", x, y)


def _words(op: str, x: ExprLike, y: ExprLike) -> Expr:
    a, b = convert(x), convert(y)
    if (a.dtype, b.dtype) != ("int32", "int32"):
        fail(f"te.{op}: expected words of int32, got {a.dtype} and {b.dtype}")
    return binary(op, a, b)


def dot2(x: ExprLike, y: ExprLike) -> Expr:
    """The sum of products of the two int16 in each of two words, which are int32."""
    return _words("dot2", x, y)


def dot4(x: ExprLike, y: ExprLike) -> Expr:
    """The sum of products of the four uint8 in one word and the four int8 in the other, which are int32."""
    return _words("dot4", x, y)


def dot2_bf16(x: ExprLike, y: ExprLike) -> Expr:
    """The sum of products of the two bfloat16 in each of two words, which are int32; in float32."""
    a, b = convert(x), convert(y)
    if (a.dtype, b.dtype) != ("int32", "int32"):
        fail(f"te.dot2_bf16: expected words of int32, got {a.dtype} and {b.dtype}")
    return Joint("float32", "dot2_bf16", (a, b))


def widen_pairs(x: ExprLike) -> Expr:
    """A word of two int16, an int32, out of half a word of the same two numbers as int8, an int16."""
    half = convert(x)
    if half.dtype != "int16":
        fail(f"te.widen_pairs: expected half a word, of int16, got {half.dtype}")
    return Joint("int32", "widen_pairs", (half,))


def call_pure_extern(dtype: str, callee: str, *arguments: ExprLike) -> Expr:
    """The result of a C function without side effects on numbers: `call_pure_extern("float32", "cbrtf", x)`."""
    return CallExtern(check_dtype(dtype, "te.call_pure_extern"), callee, tuple(convert(a) for a in arguments))


def fma(x: ExprLike, y: ExprLike, z: ExprLike) -> Expr:
    """`x * y + z` of floats of one dtype, rounded once."""
    a, b, c = convert(x), convert(y), convert(z)
    if not is_float(a.dtype) or {b.dtype, c.dtype} != {a.dtype}:
        fail(f"te.fma: expected floats of one dtype, got {a.dtype}, {b.dtype} and {c.dtype}")
    return Joint(a.dtype, "fma", (a, b, c))


def join_bytes(*parts: ExprLike) -> Expr:
    """A word, an int32, of four numbers of int8 or uint8 each, the first in its low bits."""
    bytes_ = tuple(map(convert, parts))
    if len(bytes_) != _BYTES or not {part.dtype for part in bytes_} <= {"int8", "uint8"}:
        fail(f"te.join_bytes: expected four bytes, got {', '.join(part.dtype for part in bytes_)}")
    return Joint("int32", "join_bytes", bytes_)


@pairwise
def truncdiv(x: ExprLike, y: ExprLike) -> Expr:
    return binary("truncdiv", x, y)


@pairwise
def truncmod(x: ExprLike, y: ExprLike) -> Expr:
    return binary("truncmod", x, y)


@pairwise
def floordiv(x: ExprLike, y: ExprLike) -> Expr:
    return binary("floordiv", x, y)


@pairwise
def floormod(x: ExprLike, y: ExprLike) -> Expr:
    return binary("floormod", x, y)


indexdiv = floordiv
indexmod = floormod


@unary
def isnan(x: ExprLike) -> Expr:
    """Return whether a number is NaN; an integer never is."""
    return compare("ne", x, x) if is_float(convert(x).dtype) else Const(False, BOOL)


@unary
def isinf(x: ExprLike) -> Expr:
    # The largest number, unlike infinity, has a text in vectors, too.
    value = convert(x)
    return compare("gt", abs(value), max_value(value.dtype)) if is_float(value.dtype) else Const(False, BOOL)


@unary
def isfinite(x: ExprLike) -> Expr:
    value = convert(x)
    return compare("le", abs(value), max_value(value.dtype)) if is_float(value.dtype) else Const(True, BOOL)


def cast(dtype: str, x: Operand) -> Any:
    """`x`, an expression or a tensor, of another dtype."""
    return x.astype(dtype) if isinstance(x, WholeTensor) else convert(x).astype(dtype)


def reinterpret(dtype: str, x: ExprLike) -> Expr:
    """The number of another dtype, of as many bits, that has the bits of `x`; of a vector, those of each lane."""
    value = convert(x)
    element, own = element_of(check_lanes(dtype, "te.reinterpret")), element_of(value.dtype)
    if BOOL in (element, own) or bits(element) != bits(own) or lanes_of(dtype) != lanes_of(value.dtype):
        fail(f"te.reinterpret: expected a dtype of {bits(own)} bits as {value.dtype} has, got {dtype}")
    return Reinterpret(dtype, value)


def _condition(condition: ExprLike, what: str) -> Expr:
    value = convert(condition)
    if element_of(value.dtype) != BOOL:
        fail(f"te.{what}: expected bool as condition, got {value.dtype}; compare it")
    return value


def likely(condition: ExprLike) -> Expr:
    """A condition that holds nearly always."""
    return Call("likely", _condition(condition, "likely"))


def _choice(condition: ExprLike, then: ExprLike, otherwise: ExprLike, guarded: bool) -> Expr:
    dtype = then.dtype if isinstance(then, Expr) else otherwise.dtype if isinstance(otherwise, Expr) else None
    element = None if dtype is None else element_of(dtype)
    a, b = convert(then, element), convert(otherwise, element)
    test = _condition(condition, "if_then_else" if guarded else "select")
    if element_of(a.dtype) != element_of(b.dtype):
        fail(f"te: expected both sides of a choice of one dtype, got {a.dtype} and {b.dtype}")
    wide = with_lanes(element_of(a.dtype), max(lanes_of(one.dtype) for one in (test, a, b)))
    return Select(test, a.astype(wide), b.astype(wide), guarded)


def if_then_else(condition: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """The side that the condition takes; reads of the other side may lie outside their tensors."""
    return _choice(condition, then, otherwise, True)


def select(condition: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """The side that the condition takes; both are evaluated."""
    return _choice(condition, then, otherwise, False)


def all(*conditions: ExprLike) -> Expr:
    """Return whether every condition holds."""
    return _logic("and", "all", conditions)


def any(*conditions: ExprLike) -> Expr:
    """Return whether some condition holds."""
    return _logic("or", "any", conditions)


def _logic(op: str, what: str, conditions: tuple[ExprLike, ...]) -> Expr:
    if not conditions:
        fail(f"te.{what}: Any/All must take at least 1 argument")
    result = _condition(conditions[0], what)
    for condition in conditions[1:]:
        result = Binary(op, *pair(op, result, _condition(condition, what)))
    return result


@pairwise
def logical_and(x: ExprLike, y: ExprLike) -> Expr:
    return _logic("and", "logical_and", (x, y))


@pairwise
def logical_or(x: ExprLike, y: ExprLike) -> Expr:
    return _logic("or", "logical_or", (x, y))


@pairwise
def logical_xor(x: ExprLike, y: ExprLike) -> Expr:
    return _logic("xor", "logical_xor", (x, y))


@unary
def logical_not(x: ExprLike) -> Expr:
    return Not(_condition(x, "logical_not"))
