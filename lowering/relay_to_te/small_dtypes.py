"""Elements of small dtypes, which are bytes: the numbers that they stand for, and the bytes of numbers.

The floats have a sign, exponent and mantissa bits as the wide ones have, so that both ways are shifts of an f32's bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import te
from ...dialects.relay.small_dtypes import THROUGH, element_bits
from ...support.dtypes import BOOL, SMALL, bits, is_float, is_unsigned, numpy_of, storage
from ...te import Expr

_MANTISSA, _BIAS = 23, 127
"""The mantissa bits and the bias of float32."""
_INFINITY = 0x7F800000


@dataclass(frozen=True)
class _Format:
    """A small float with a sign. Codes are without it."""

    mantissa: int
    bias: int
    most: int
    """The code of the greatest finite number."""
    beyond: int
    """The code that greater numbers become: that of infinity, of NaN, or of the greatest number."""
    nan: int
    """The code that NaN becomes."""
    zero_is_nan: bool = False
    """True when the code of -0 is that of NaN, and there is no other."""
    width: int = 8


_FORMATS = {
    "float8_e4m3fn": _Format(3, 7, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": _Format(3, 8, 0x7F, 0x80, 0x80, zero_is_nan=True),
    "float8_e5m2": _Format(2, 15, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": _Format(2, 16, 0x7F, 0x80, 0x80, zero_is_nan=True),
    "float4_e2m1fn": _Format(1, 1, 0x7, 0x7, 0x8, width=4),
}
_POWERS = "float8_e8m0fnu"
"""Powers of two from 2^-127 on; 255 is NaN."""


def number_of(byte: Expr, dtype: str) -> Expr:
    """The number that a byte stands for: an int32, or a float32."""
    code = byte.astype("int32")
    if not is_float(dtype):
        unused = 32 - bits(dtype)
        return code if is_unsigned(dtype) else te.shift_right(te.shift_left(code, unused), unused)
    if dtype == _POWERS:
        power = te.reinterpret(
            "float32", te.select(code.equal(0), 1 << (_MANTISSA - 1), te.shift_left(code, _MANTISSA))
        )
        return te.select(code.equal(255), te.const(float("nan"), "float32"), power)
    form = _FORMATS[dtype]
    sign = 1 << (form.width - 1)
    magnitude = te.bitwise_and(code, sign - 1)
    # The exponent's other bias is a factor, by which what has no leading bit becomes right, too.
    shifted = te.reinterpret("float32", te.shift_left(magnitude, _MANTISSA - form.mantissa))
    number = shifted * 2.0 ** (_BIAS - form.bias)
    if form.zero_is_nan:
        number = te.select(code.equal(form.nan), te.const(float("nan"), "float32"), number)
    elif form.beyond > form.most:
        # Above the finite ones are infinity, where there is one, and NaN.
        special = te.const(float("nan"), "float32")
        if form.nan > form.beyond:
            special = te.select(magnitude.equal(form.beyond), te.const(float("inf"), "float32"), special)
        number = te.select(magnitude > form.most, special, number)
    return te.select(te.bitwise_and(code, sign).equal(0), number, -number)


def byte_of(number: Expr, dtype: str, mode: str = "") -> Expr:
    """The byte of a number: of an integer or float its last bits, of a float the nearest, halves to even.

    What is too large for a float becomes infinity, where there is one, else NaN or the greatest number. mode: where a
    power of two goes that is none, "up", "down" or to the nearest.
    """
    if not is_float(dtype):
        integer = number.astype("int32") if is_float(number.dtype) or number.dtype == BOOL else number
        return te.bitwise_and(integer.astype("int32"), (1 << bits(dtype)) - 1).astype("uint8")
    x = te.reinterpret("int32", number.astype("float32"))
    magnitude = te.bitwise_and(x, 0x7FFFFFFF)
    if dtype == _POWERS:
        return _power_of(x, magnitude, mode)
    form = _FORMATS[dtype]
    dropped = _MANTISSA - form.mantissa
    odd = te.bitwise_and(te.shift_right(magnitude, dropped), 1)
    integer = te.shift_right(magnitude + odd + ((1 << (dropped - 1)) - 1), dropped)
    normal = integer - ((_BIAS - form.bias) << form.mantissa)
    # Numbers without a leading bit are multiples of the smallest.
    steps = te.minimum(te.reinterpret("float32", magnitude) * 2.0 ** (form.bias - 1 + form.mantissa), 256.0)
    least = (_BIAS - form.bias + 1) << _MANTISSA
    code = te.select(magnitude < least, te.nearbyint(steps).astype("int32"), normal)
    code = te.select(code > form.most, form.beyond, code)
    code = te.select(magnitude > _INFINITY, form.nan, code)
    sign = te.select(x < 0, 1 << (form.width - 1), 0)
    if form.zero_is_nan:
        sign = te.select(te.any(code.equal(0), code.equal(form.nan)), 0, sign)
    return te.bitwise_xor(code, sign).astype("uint8")


def _power_of(x: Expr, magnitude: Expr, mode: str) -> Expr:
    """The code of a power of two; of numbers below 0, infinity and NaN that of NaN."""
    least = 1 << (_MANTISSA - 1)
    added = {"up": (1 << _MANTISSA) - 1, "down": 0}.get(mode, least)
    code = te.shift_right(magnitude + added, _MANTISSA)
    # The least power has no leading bit.
    first = {"up": least + 1, "down": 2 * least}.get(mode, least * 3 // 2)
    code = te.select(magnitude < 2 * least, te.select(magnitude < first, 0, 1), code)
    return te.select(te.any(x < 0, magnitude >= _INFINITY), 255, te.minimum(code, 254)).astype("uint8")


def cast(x: Expr, source: str, target: str, mode: str = "") -> Expr:
    """An element of the dtype `source`, as it lies in memory, as one of `target`."""
    number = number_of(x, source) if source in SMALL else x
    if target in SMALL:
        return byte_of(number, target, mode)
    if is_float(number.dtype) and target == "uint64":
        return _uint64_of(number)
    return (number.astype(THROUGH[target]) if is_float(number.dtype) and target in THROUGH else number).astype(target)


def _uint64_of(number: Expr) -> Expr:
    """A float as int64, whose bits those of negative numbers are; from 2^63 on less that, and its bit."""
    wide = number.astype("float32") if bits(number.dtype) < 32 else number
    above = wide >= 2.0**63
    low = te.select(above, wide - 2.0**63, wide).astype("int64").astype("uint64")
    return te.select(above, te.bitwise_xor(low, te.const(1 << 63, "uint64")), low)


def reinterpret(x: Expr, source: str, target: str) -> Expr:
    """An element of the dtype `source`, as it lies in memory, as the one of `target` that has its bits."""
    if target == BOOL:
        return x.astype(BOOL)
    if source == BOOL:
        x = x.astype("uint8")
    if element_bits(source) < 8:
        x = te.bitwise_and(x, te.const((1 << bits(source)) - 1, x.dtype))
    return te.reinterpret(storage(target), x)


def stored(value: float, dtype: str) -> float:
    """A number as it lies in memory: the byte of a small dtype."""
    return int(np.asarray(value).astype(numpy_of(dtype)).view(np.uint8)) if dtype in SMALL else value
