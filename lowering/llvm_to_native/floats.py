"""Numbers of 16 bits, f16 and bf16, on machines that lack instructions for them.

There is no compiler runtime to call, so what LLVM would turn into `__truncsfbf2` and the like is written out here as
integer arithmetic, for vectors as for scalars. Where a type is *soft* its values are i16, so that loads, shuffles and
selections of vectors stay whole, and arithmetic on it is that of f32, rounded once to nearest even.

Everywhere, a conversion rounds once: f64 and wide integers go through an f32 that is rounded to odd, which the second
rounding cannot mistake for a tie. A machine's own bf16 instruction takes subnormal numbers for 0; these do not.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol, cast

from xdsl.dialects.builtin import BFloat16Type, Float64Type, IntegerType, VectorType
from xdsl.ir import Attribute

from ...dialects.element_types import bit_width
from .target import Target, binding
from .text import HALVES, Soft, type_text

_PROBE = """
define void @f(ptr %p, ptr %q) {{
  %a = load <8 x float>, ptr %p
  %b = fptrunc <8 x float> %a to <8 x {0}>
  store <8 x {0}> %b, ptr %q
  ret void
}}
define void @g(ptr %p, ptr %q) {{
  %a = load {0}, ptr %p
  %b = fpext {0} %a to float
  store float %b, ptr %q
  ret void
}}
"""


@cache
def is_soft(target: Target, kind: type[Attribute]) -> bool:
    """Return whether LLVM calls a library to convert between f32 and this type of 16 bits."""
    llvm, machine = binding(), target.machine()
    module = llvm.parse_assembly(_PROBE.format(HALVES[kind]))
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    text = str(machine.emit_assembly(module))
    return "__trunc" in text or "__extend" in text or "__gnu_" in text


class Writer(Protocol):
    """A receiver of instructions."""

    def put(self, text: str) -> None: ...

    def fresh(self) -> str: ...


class Lanes:
    """Instructions on vectors of one length, or on scalars (0 lanes); the last of them makes the result."""

    def __init__(self, writer: Writer, lanes: int):
        self._writer = writer
        self._lanes = lanes
        self._lines: list[tuple[str, str]] = []

    @staticmethod
    def like(writer: Writer, type_: Attribute) -> Lanes:
        return Lanes(writer, type_.get_shape()[0] if isinstance(type_, VectorType) else 0)

    def type(self, scalar: str) -> str:
        return f"<{self._lanes} x {scalar}>" if self._lanes else scalar

    def operand(self, value: str | int, scalar: str) -> str:
        if isinstance(value, str):
            return value
        return f"splat ({scalar} {value})" if self._lanes else str(value)

    def add(self, text: str) -> str:
        name = self._writer.fresh()
        self._lines.append((name, text))
        return name

    def op(self, opcode: str, scalar: str, a: str | int, b: str | int) -> str:
        return self.add(f"{opcode} {self.type(scalar)} {self.operand(a, scalar)}, {self.operand(b, scalar)}")

    def cast(self, opcode: str, source: str, value: str, target: str) -> str:
        return self.add(f"{opcode} {self.type(source)} {value} to {self.type(target)}")

    def select(self, condition: str, scalar: str, a: str | int, b: str | int) -> str:
        values = [f"{self.type(scalar)} {self.operand(value, scalar)}" for value in (a, b)]
        return self.add(f"select {self.type('i1')} {condition}, {', '.join(values)}")

    def finish(self, result: str) -> None:
        """Write the instructions; the last one is called `result`."""
        for name, text in self._lines[:-1]:
            self._writer.put(f"{name} = {text}")
        self._writer.put(f"{result} = {self._lines[-1][1]}")


def element(type_: Attribute) -> Attribute:
    return cast(VectorType[Attribute], type_).element_type if isinstance(type_, VectorType) else type_


def is_half(type_: Attribute) -> bool:
    """Return whether a type, or the element of a vector type, is a float of 16 bits."""
    return type(element(type_)) in HALVES


def to_f32(lanes: Lanes, value: str, kind: Attribute) -> str:
    """The f32 of the 16 bits of a float."""
    wide = lanes.cast("zext", "i16", value, "i32")
    if isinstance(kind, BFloat16Type):
        return lanes.cast("bitcast", "i32", lanes.op("shl", "i32", wide, 16), "float")
    size = lanes.op("shl", "i32", lanes.op("and", "i32", wide, 0x7FFF), 13)
    # The exponent moves from a bias of 15 to one of 127; infinity and NaN go on to the largest there is.
    shift = lanes.select(lanes.op("icmp uge", "i32", size, 0x1F << 23), "i32", 224 << 23, 112 << 23)
    normal = lanes.op("add", "i32", size, shift)
    # A subnormal number is what it exceeds the least normal one by when its exponent is that one's.
    shifted = lanes.cast("bitcast", "i32", lanes.op("add", "i32", size, 113 << 23), "float")
    least = lanes.cast("bitcast", "i32", lanes.operand(113 << 23, "i32"), "float")
    subnormal = lanes.cast("bitcast", "float", lanes.op("fsub", "float", shifted, least), "i32")
    magnitude = lanes.select(lanes.op("icmp ult", "i32", size, 1 << 23), "i32", subnormal, normal)
    sign = lanes.op("shl", "i32", lanes.op("and", "i32", wide, 0x8000), 16)
    return lanes.cast("bitcast", "i32", lanes.op("or", "i32", magnitude, sign), "float")


def from_f32(lanes: Lanes, value: str, kind: Attribute) -> str:
    """The 16 bits of the float nearest to an f32, the even one of two; NaN stays NaN and becomes quiet."""
    bits = lanes.cast("bitcast", "float", value, "i32")
    size = lanes.op("and", "i32", bits, 0x7FFFFFFF)
    is_nan = lanes.op("icmp ugt", "i32", size, 0x7F800000)
    if isinstance(kind, BFloat16Type):
        kept = lanes.op("lshr", "i32", bits, 16)
        up = lanes.op("add", "i32", lanes.op("and", "i32", kept, 1), 0x7FFF)
        rounded = lanes.op("lshr", "i32", lanes.op("add", "i32", bits, up), 16)
        quiet = lanes.op("or", "i32", kept, 0x40)
        return lanes.cast("trunc", "i32", lanes.select(is_nan, "i32", quiet, rounded), "i16")
    odd = lanes.op("and", "i32", lanes.op("lshr", "i32", size, 13), 1)
    biased = lanes.op("add", "i32", size, 0xFFF - (112 << 23))
    normal = lanes.op("lshr", "i32", lanes.op("add", "i32", biased, odd), 13)
    # In the sum with 0.5 the last bit is worth what it is in a subnormal f16: the addition rounds.
    half = lanes.cast("bitcast", "i32", lanes.operand(126 << 23, "i32"), "float")
    total = lanes.op("fadd", "float", lanes.cast("bitcast", "i32", size, "float"), half)
    subnormal = lanes.op("sub", "i32", lanes.cast("bitcast", "float", total, "i32"), 126 << 23)
    finite = lanes.select(lanes.op("icmp ult", "i32", size, 113 << 23), "i32", subnormal, normal)
    payload = lanes.op("and", "i32", lanes.op("lshr", "i32", size, 13), 0x3FF)
    special = lanes.select(is_nan, "i32", lanes.op("or", "i32", payload, 0x7E00), 0x7C00)
    magnitude = lanes.select(lanes.op("icmp uge", "i32", size, 143 << 23), "i32", special, finite)
    sign = lanes.op("and", "i32", lanes.op("lshr", "i32", bits, 16), 0x8000)
    return lanes.cast("trunc", "i32", lanes.op("or", "i32", magnitude, sign), "i16")


def odd_f32(lanes: Lanes, value: str) -> str:
    """The f32 of an f64: itself, or the one of its two neighbours whose last bit is 1."""
    near = lanes.cast("fptrunc", "double", value, "float")
    back = lanes.cast("fpext", "float", near, "double")
    inexact = lanes.op("fcmp one", "double", back, value)
    sizes = [lanes.cast("bitcast", "double", name, "i64") for name in (back, value)]
    sizes = [lanes.op("and", "i64", name, (1 << 63) - 1) for name in sizes]
    # NaN compares as not inexact, so that only numbers are moved towards 0.
    away = lanes.op("and", "i1", inexact, lanes.op("icmp ugt", "i64", *sizes))
    bits = lanes.cast("bitcast", "float", near, "i32")
    bits = lanes.op("sub", "i32", bits, lanes.cast("zext", "i1", away, "i32"))
    bits = lanes.op("or", "i32", bits, lanes.cast("zext", "i1", inexact, "i32"))
    return lanes.cast("bitcast", "i32", bits, "float")


def integer_f32(lanes: Lanes, value: str, width: int, *, signed: bool) -> str:
    """An f32 that rounds to 16 bits as the integer would: itself, or rounded to odd."""
    opcode, source = "sitofp" if signed else "uitofp", f"i{width}"
    if width <= 24:
        return lanes.cast(opcode, source, value, "float")
    if width <= 32:
        return odd_f32(lanes, lanes.cast(opcode, source, value, "double"))
    # Beyond 2^53 the last 11 bits become one, which says whether there were any; an f64 holds what is left.
    kept = lanes.op("and", source, value, -2048)
    rest = lanes.op("icmp ne", source, lanes.op("and", source, value, 2047), 0)
    sticky = lanes.op("shl", source, lanes.cast("zext", "i1", rest, source), 11)
    joined = lanes.op("or", source, kept, sticky)
    middle = lanes.op("add", source, value, 1 << 53) if signed else value
    small = lanes.op("icmp ult", source, middle, 1 << 54 if signed else 1 << 53)
    return odd_f32(lanes, lanes.cast(opcode, source, lanes.select(small, source, value, joined), "double"))


def convert(lanes: Lanes, opcode: str, value: str, types: tuple[Attribute, Attribute], soft: Soft) -> None:
    """A conversion from or to a float of 16 bits, rounded once.

    types: of source and result, without lanes.
    """
    source, target = types
    name, goal = (type_text(type_) for type_ in types)
    if is_half(source) and (soft(type(source)) or is_half(target)):
        wide = to_f32(lanes, value, source) if soft(type(source)) else lanes.cast("fpext", name, value, "float")
        value, name = wide, "float"
    if not is_half(target):
        if name != goal:
            lanes.cast(opcode, name, value, goal)
        return
    if isinstance(source, IntegerType):
        value = integer_f32(lanes, value, bit_width(cast(IntegerType, source)), signed=opcode == "sitofp")
    elif isinstance(source, Float64Type):
        value = odd_f32(lanes, value)
    if soft(type(target)):
        from_f32(lanes, value, target)
    else:
        lanes.cast("fptrunc", "float", value, goal)
