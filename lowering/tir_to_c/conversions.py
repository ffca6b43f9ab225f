"""Conversions between vectors of integers: by instructions, as gcc converts many of them lane by lane."""

from __future__ import annotations

from collections.abc import Sequence

from .types import CType, vector_name

_REGISTERS = {128: "_mm", 256: "_mm256", 512: "_mm512"}


def conversion_name(source: CType, target: CType) -> str:
    """The name of the macro that converts vectors of one type of integers to another."""
    return f"{vector_name(target)}_from_{vector_name(source)}"


def conversion_text(source: CType, target: CType) -> Sequence[str]:
    """Lines that define the macro `conversion_name`."""
    head = f"#define {conversion_name(source, target)}(x)"
    name = vector_name(target)
    cases = _widened(source, target) if source.bits < target.bits else _narrowed(source, target)
    lines: list[str] = []
    for number, (features, text) in enumerate(cases):
        lines += [f"#{'elif' if number else 'if'} {features}", f"{head} (({name}){text})"]
    rest = f"{head} __builtin_convertvector(x, {name})"
    return [*lines, "#else", rest, "#endif"] if lines else [rest]


def _defined(*features: str) -> str:
    return " && ".join(f"defined({feature})" for feature in features)


def _widened(source: CType, target: CType) -> Sequence[tuple[str, str]]:
    """The conditions under which there are instructions, with these."""
    bits, narrow = target.bits * target.lanes, source.bits * source.lanes
    if bits not in _REGISTERS or narrow < 32:
        return ()
    features = {128: ("__SSE4_1__",), 256: ("__AVX2__",), 512: ("__AVX512F__",)}[bits]
    if bits == 512 and target.bits == 16:
        features = ("__AVX512BW__",)
    letter = "u" if _is_unsigned(source) else "i"
    register = f"(__m{max(narrow, 128)}i)(x)" if narrow >= 128 else _in_register("x", narrow)
    return [(_defined(*features), f"{_REGISTERS[bits]}_cvtep{letter}{source.bits}_epi{target.bits}({register})")]


def _narrowed(source: CType, target: CType) -> Sequence[tuple[str, str]]:
    bits, narrow = source.bits * source.lanes, target.bits * target.lanes
    if bits not in _REGISTERS or narrow < 32:
        return ()
    features = ["__AVX512BW__" if source.bits == 16 else "__AVX512F__", *(["__AVX512VL__"] if bits < 512 else [])]
    text = f"{_REGISTERS[bits]}_cvtepi{source.bits}_epi{target.bits}((__m{bits}i)(x))"
    if narrow < 128:
        text = f"_mm_cvtsi128_si{narrow}({text})"
    cases = [(_defined(*features), text)]
    if bits <= 256:
        # The lower parts of the numbers, in the order in which bytes lie on x86.
        whole = CType(target.scalar, target.short, target.bits, bits // target.bits)
        places = ", ".join(str(lane * source.bits // target.bits) for lane in range(source.lanes))
        type_ = f"({_anonymous(whole)})(x)"
        cases.append((_defined("__AVX2__"), f"__builtin_shufflevector({type_}, {type_}, {places})"))
    return cases


def _in_register(text: str, bits: int) -> str:
    """A short vector in the low part of a register."""
    return f"_mm_cvtsi{bits}_si128((int{bits}_t)({text}))"


def _anonymous(type_: CType) -> str:
    return f"{type_.scalar} __attribute__((vector_size({type_.bits * type_.lanes // 8})))"


def _is_unsigned(type_: CType) -> bool:
    return type_.scalar.startswith("u")
