"""The types of tir in C: as scalars, in memory, and as GNU vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation

from ...dialects.element_types import bit_width
from ...provenance.diagnostics import fail
from ..tir_to_llvm.types import element, lanes, vector_type

_FLOATS: dict[type[Attribute], tuple[str, str]] = {
    Float32Type: ("float", "f32"),
    Float64Type: ("double", "f64"),
    Float16Type: ("uint16_t", "f16"),
    BFloat16Type: ("uint16_t", "bf16"),
}
_WIDTHS = (8, 16, 32, 64)


@dataclass(frozen=True)
class CType:
    """A scalar of C, or a vector of `lanes` of them. Lanes of masks are int32_t, 0 or -1."""

    scalar: str
    """C's name of an element: float, int8_t, bool; f16 and bf16 are the uint16_t of their bits."""
    short: str
    """The name in names of vectors: f32, i8, i1."""
    bits: int
    """The width of an element in a vector."""
    lanes: int = 0
    """0 of a scalar."""

    @property
    def is_float(self) -> bool:
        return self.scalar in ("float", "double")

    @property
    def is_half(self) -> bool:
        return self.short in ("f16", "bf16")

    @property
    def is_bool(self) -> bool:
        return self.scalar == "bool"

    @property
    def stored(self) -> str:
        """C's name of an element in memory: a bool takes a byte."""
        return "int8_t" if self.is_bool else self.scalar

    def of(self, lanes: int) -> CType:
        return CType(self.scalar, self.short, self.bits, lanes)

    @property
    def integer(self) -> CType:
        """Signed integers as wide as an element."""
        return CType(f"int{self.bits}_t", f"i{self.bits}", self.bits, self.lanes)

    @property
    def unsigned(self) -> CType:
        """Unsigned integers as wide as an element."""
        return CType(f"uint{self.bits}_t", f"u{self.bits}", self.bits, self.lanes)


F32, I32, I8 = CType("float", "f32", 32), CType("int32_t", "i32", 32), CType("int8_t", "i8", 8)


def vector_name(type_: CType) -> str:
    """The name of a vector type: f32x16; masks are vectors of i32."""
    return f"{'i32' if type_.is_bool else 'u16' if type_.is_half else type_.short}x{type_.lanes}"


def c_type(op: Operation, type_: Attribute) -> CType:
    """The type of a value; raises VerifyException about `op` where C has none."""
    scalar = _scalar(element(type_))
    if scalar is None:
        fail(op, "numbers of C's types (bool, 8 to 64 bits)", str(type_))
    return scalar.of(lanes(type_)) if vector_type(type_) is not None else scalar


@cache
def _scalar(type_: Attribute) -> CType | None:
    if isinstance(type_, IndexType):
        return CType("int64_t", "i64", 64)
    if (name := _FLOATS.get(type(type_))) is not None:
        return CType(*name, bit_width(type_))
    if isinstance(type_, IntegerType):
        width = bit_width(cast("Attribute", type_))
        if width == 1:
            return CType("bool", "i1", 32)
        if width in _WIDTHS:
            return CType(f"int{width}_t", f"i{width}", width)
    return None


def literal(value: float, type_: CType) -> str:
    """A number as C spells it exactly."""
    if type_.is_half:
        return f"0x{_half_bits(float(value), type_.short):04x}"
    if type_.is_float:
        value = float(value)
        sign = "-" if math.copysign(1.0, value) < 0 else ""
        if math.isnan(value) or math.isinf(value):
            return f"{sign}{'NAN' if math.isnan(value) else 'INFINITY'}"
        return value.hex() + ("f" if type_.scalar == "float" else "")
    number = int(value)
    if type_.is_bool:
        return "true" if number else "false"
    if number >= 1 << (type_.bits - 1):
        number -= 1 << type_.bits
    if type_.bits == 64:
        return "INT64_MIN" if number == -(1 << 63) else f"INT64_C({number})"
    return "INT32_MIN" if number == -(1 << 31) else str(number)


def _half_bits(value: float, short: str) -> int:
    import ml_dtypes
    import numpy as np

    kind: Any = np.float16 if short == "f16" else ml_dtypes.bfloat16
    return int(np.array(value, np.float32).astype(kind).view(np.uint16))


def numbers(value: Attribute, count: int) -> list[Any]:
    """The numbers of a constant: one for each of `count` lanes."""
    if isinstance(value, DenseIntOrFPElementsAttr):
        values = list(cast("DenseIntOrFPElementsAttr[Any]", value).get_values())
    else:
        assert isinstance(value, FloatAttr | IntegerAttr)
        values = [cast("Any", value).value.data]
    return values * count if len(values) == 1 else values
