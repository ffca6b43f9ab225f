"""The LLVM spelling of types and constants."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from ctypes import c_float
from typing import TypeAlias, cast

from xdsl.dialects import llvm
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
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import bit_width
from ...dialects.te import INDEX

_FLOATS: dict[type[Attribute], str] = {
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
}
HALVES: dict[type[Attribute], str] = {Float16Type: "half", BFloat16Type: "bfloat"}
"""The floats of 16 bits."""
Soft: TypeAlias = Callable[[type[Attribute]], bool]
"""The question whether values of one of the `HALVES` are spelled as i16 (see floats.py)."""


def hard(kind: type[Attribute]) -> bool:
    """No type is soft."""
    return False


_PLAIN: dict[type[Attribute], str] = {
    **_FLOATS,
    IndexType: "i64",
    llvm.LLVMPointerType: "ptr",
    llvm.LLVMVoidType: "void",
}
_SUFFIXES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}


def type_text(type_: Attribute, soft: Soft = hard) -> str:
    """`<16 x float>` for `vector<16xf32>`. Raises VerifyException for a type that LLVM does not have."""
    # Not cached: to hash a vector type costs more than to spell it.
    if (plain := _PLAIN.get(kind := type(type_))) is not None:
        return "i16" if kind in HALVES and soft(kind) else plain
    match type_:
        case IntegerType():
            return f"i{bit_width(type_)}"
        case VectorType() if len(type_.shape) == 1:
            return f"<{type_.get_shape()[0]} x {type_text(type_.element_type, soft)}>"
        case llvm.LLVMArrayType():
            return f"[{type_.size.data} x {type_text(type_.type, soft)}]"
        case llvm.LLVMStructType():
            return f"{{ {', '.join(type_text(t, soft) for t in type_.types)} }}"
        case llvm.LLVMFunctionType():
            inputs = parameters_text([type_text(t, soft) for t in type_.inputs], type_)
            return f"{type_text(type_.output, soft)} ({inputs})"
        case _:
            raise VerifyException(f"expected a type that LLVM has, got {type_}")


def parameters_text(parameters: Sequence[str], type_: llvm.LLVMFunctionType) -> str:
    """The list between the parentheses of a function."""
    return ", ".join([*parameters, "..."] if type_.is_variadic else parameters)


def suffix(type_: str) -> str:
    """Return the name of a type in an overloaded intrinsic: `<16 x float>` is `v16f32`."""
    if type_.startswith("<"):
        count, _, element = type_[1:-1].split(" ", 2)
        return f"v{count}{suffix(element)}"
    return _SUFFIXES.get(type_, type_)


def float_text(value: float, type_: Attribute) -> str:
    """The exact bits of a float rounded to its type, so that infinities, NaN and -0 are right."""
    match type_:
        case Float64Type():
            return f"0x{struct.pack('>d', value).hex()}"
        case Float32Type():
            return f"0x{struct.pack('>d', c_float(value).value).hex()}"
        case Float16Type():
            return f"0xH{struct.pack('>e', value).hex()}"
        case BFloat16Type():
            bits = int.from_bytes(struct.pack(">f", c_float(value).value), "big")
            if value != value:
                return "0xR7FC0"
            return f"0xR{(bits + 0x7FFF + (bits >> 16 & 1)) >> 16:04X}"
        case _:
            raise VerifyException(f"expected a float type, got {type_}")


def integer_text(value: int, type_: Attribute) -> str:
    """An integer in two's complement of its width."""
    width = 64 if type_ == INDEX else bit_width(type_)
    if width == 1:
        return "true" if value & 1 else "false"
    value &= (1 << width) - 1
    return str(value - (1 << width) if value >> (width - 1) else value)


def scalar_text(value: float, type_: Attribute, soft: Soft = hard) -> str:
    kind = type(type_)
    if kind not in _FLOATS:
        return integer_text(int(value), type_)
    text = float_text(value, type_)
    return str(int(text[3:], 16)) if kind in HALVES and soft(kind) else text


def constant_text(value: Attribute, type_: Attribute, soft: Soft = hard) -> str:
    """The spelling of a constant of the llvm dialect, without its type."""
    match value:
        case IntegerAttr():
            return integer_text(value.value.data, type_)
        case FloatAttr():
            return scalar_text(value.value.data, type_, soft)
        case DenseIntOrFPElementsAttr():
            numbers = cast("tuple[float, ...]", value.get_values())
            element = value.get_element_type()
            spelled = type_text(element, soft)
            if isinstance(type_, VectorType) and len(set(map(repr, numbers))) == 1:
                return f"splat ({spelled} {scalar_text(numbers[0], element, soft)})"
            brackets = "<>" if isinstance(type_, VectorType) else "[]"
            return (
                f"{brackets[0]}{', '.join(f'{spelled} {scalar_text(n, element, soft)}' for n in numbers)}{brackets[1]}"
            )
        case StringAttr():
            return string_text(value.data.encode(), "c")
        case _:
            raise VerifyException(f"expected a constant that LLVM has, got {value}")


def string_text(data: bytes, prefix: str = "") -> str:
    """A quoted string, every byte that is not plain text as two hexadecimal digits."""
    plain = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f'{prefix}"{plain}"'


def symbol_text(name: str) -> str:
    """`@name`, quoted where LLVM asks for it."""
    return f"@{name}" if name.replace("_", "").replace(".", "").isalnum() else f"@{string_text(name.encode())}"
