"""The C around kernels: headers, helpers, and the types and macros of vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .conversions import conversion_text
from .prefixes import prefix_text
from .types import F32, CType, vector_name

PRELUDE = r"""
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
/* It would keep the numbers that the next passes of a loop read again in more registers than there are. */
#pragma GCC optimize("no-predictive-commoning")
#endif
#if defined(__GNUC__)
#define WHENCE_APART __attribute__((noinline))
#define WHENCE_ANY __attribute__((unused))
#define WHENCE_PREFETCH(address, locality) __builtin_prefetch(address, 0, locality)
#else
#define WHENCE_APART
#define WHENCE_ANY
#define WHENCE_PREFETCH(address, locality) ((void)0)
#endif
#define WHENCE_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define WHENCE_UNROLL(count) WHENCE_PRAGMA(clang loop unroll_count(count))
#elif defined(__GNUC__)
#define WHENCE_UNROLL(count) WHENCE_PRAGMA(GCC unroll count)
#else
#define WHENCE_UNROLL(count)
#endif
/* Results smaller than the smallest normal number are 0. */
#if defined(__x86_64__)
#define WHENCE_FLOATS_BEGIN unsigned int whence_mode = _mm_getcsr(); _mm_setcsr(whence_mode | 0x8000);
#define WHENCE_FLOATS_END _mm_setcsr(whence_mode);
#else
#define WHENCE_FLOATS_BEGIN
#define WHENCE_FLOATS_END
#endif

/* Products of tiles (AMX), where the compiler has them. */
#if defined(__AMX_TILE__) || defined(__AMXTILE__)
#if (defined(__AMX_INT8__) || defined(__AMXINT8__)) && (defined(__AMX_BF16__) || defined(__AMXBF16__))
#define WHENCE_TILES
#define WHENCE_TILE_FENCE __asm__ volatile("" ::: "memory");
#endif
#endif

typedef struct whence_pool whence_pool;
WHENCE_ANY static int64_t whence_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
WHENCE_ANY static int64_t whence_floormod(int64_t a, int64_t b) { return a - whence_floordiv(a, b) * b; }
WHENCE_ANY static int64_t whence_min(int64_t a, int64_t b) { return a < b ? a : b; }
WHENCE_ANY static int64_t whence_max(int64_t a, int64_t b) { return a > b ? a : b; }
WHENCE_ANY static inline int whence_ones(uint64_t x) {
  int count = 0;
  for (; x; x &= x - 1) count++;
  return count;
}
WHENCE_ANY static inline int whence_leading_zeros(uint64_t x, int bits) {
  int count = 0;
  while (count < bits && !(x >> (bits - 1 - count) & 1)) count++;
  return count;
}
WHENCE_ANY static inline int whence_trailing_zeros(uint64_t x, int bits) {
  int count = 0;
  while (count < bits && !(x >> count & 1)) count++;
  return count;
}
WHENCE_ANY static inline int32_t whence_word(const void *bytes) { int32_t word; memcpy(&word, bytes, 4); return word; }
#define WHENCE_EXTREMES(type, name)                                                                  \
  WHENCE_ANY static inline type whence_maximum_##name(type a, type b) {                              \
    return a != a ? a : b != b ? b : a == b ? (signbit(a) ? b : a) : a > b ? a : b;                  \
  }                                                                                                  \
  WHENCE_ANY static inline type whence_minimum_##name(type a, type b) {                              \
    return a != a ? a : b != b ? b : a == b ? (signbit(a) ? a : b) : a < b ? a : b;                  \
  }
WHENCE_EXTREMES(float, f32)
WHENCE_EXTREMES(double, f64)
WHENCE_ANY static inline uint32_t whence_bits(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
WHENCE_ANY static inline float whence_float(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
WHENCE_ANY static inline float whence_from_bf16(uint16_t half) { return whence_float((uint32_t)half << 16); }
WHENCE_ANY static inline uint16_t whence_to_bf16(float x) {
  uint32_t bits = whence_bits(x);
  if (x != x) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
WHENCE_ANY static inline float whence_from_f16(uint16_t half) {
#if defined(__F16C__)
  return _cvtsh_ss(half);
#else
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
  if (rest >= 0x7c00) return whence_float(sign | 0x7f800000 | (rest & 0x3ff) << 13 | (rest > 0x7c00 ? 0x400000 : 0));
  if (rest >= 0x400) return whence_float(sign | ((rest << 13) + 0x38000000));
  float small = (float)rest * 0x1p-24f;
  return sign ? -small : small;
#endif
}
WHENCE_ANY static inline uint16_t whence_to_f16(float x) {
#if defined(__F16C__)
  return _cvtss_sh(x, 0);
#else
  uint32_t bits = whence_bits(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff));
  if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (rest < 0x33000000) return (uint16_t)sign;
  uint32_t shift = rest >= 0x38800000 ? 13 : 126 - (rest >> 23);
  uint32_t whole = rest >= 0x38800000 ? rest - 0x38000000 : (rest & 0x7fffff) | 0x800000;
  uint32_t half = 1u << (shift - 1), low = whole & ((half << 1) - 1), kept = whole >> shift;
  return (uint16_t)(sign | (kept + (low > half || (low == half && (kept & 1)))));
#endif
}
""".lstrip()
"""What kernels need of C, once in a file."""

VECTORS = r"""
#define WHENCE_SELECT(type, integers, mask, a, b) \
  ((type)(((mask) & (integers)(a)) | (~(mask) & (integers)(b))))
#define WHENCE_LOW(type, a) ({ __typeof__(a) a_ = (a); type half_; memcpy(&half_, &a_, sizeof half_); half_; })
#define WHENCE_HIGH(type, a) \
  ({ __typeof__(a) a_ = (a); type half_; memcpy(&half_, (char *)&a_ + sizeof half_, sizeof half_); half_; })
/* So many bits from the lowest one. */
#define WHENCE_ONES(n) ((n) < 64 ? (UINT64_C(1) << (n)) - 1 : UINT64_MAX)
#define WHENCE_BY_LANE_1(type, lanes, function, a)                               \
  ({                                                                             \
    type a_ = (a), result_;                                                      \
    for (int l_ = 0; l_ < lanes; l_++) result_[l_] = function(a_[l_]);           \
    result_;                                                                     \
  })
#define WHENCE_BY_LANE_3(type, lanes, function, a, b, c)                         \
  ({                                                                             \
    type a_ = (a), b_ = (b), c_ = (c), result_;                                  \
    for (int l_ = 0; l_ < lanes; l_++) result_[l_] = function(a_[l_], b_[l_], c_[l_]); \
    result_;                                                                     \
  })
""".lstrip()


def _element(type_: CType) -> str:
    return "int32_t" if type_.is_bool else type_.scalar


@dataclass
class Vectors:
    """The types, conversions and prefixes of vectors that kernels use."""

    types: dict[str, CType] = field(default_factory=dict[str, CType])
    """By name."""
    conversions: dict[str, tuple[CType, CType]] = field(default_factory=dict[str, tuple[CType, CType]])
    """The types that macros convert, by the name of the macro."""

    prefixes: dict[str, CType] = field(default_factory=dict[str, CType])
    """The types of which leading lanes are read and written, by name."""

    @staticmethod
    def joined(parts: Iterable[Vectors]) -> Vectors:
        """All that some kernels use."""
        whole = Vectors()
        for part in parts:
            whole.types |= part.types
            whole.conversions |= part.conversions
            whole.prefixes |= part.prefixes
        return whole


def vector_text(vectors: Vectors) -> str:
    """The definitions of vector types, of macros on those of floats, and of conversions."""
    lines = [VECTORS]
    for name, type_ in sorted(vectors.types.items()):
        scalar, count = _element(type_), type_.lanes
        nbytes = type_.bits // 8
        lines.append(f"typedef {scalar} {name} __attribute__((vector_size({nbytes * count})));")
        lines.append(
            f"typedef {scalar} {name}_u __attribute__((vector_size({nbytes * count}), aligned({nbytes}), may_alias));"
        )
        lines.append(f"#define {name}_of(x) (({name}){{{', '.join(['x'] * count)}}})")
        if type_.is_float:
            lines += _float_macros(name, type_)
    for _, (source, target) in sorted(vectors.conversions.items()):
        lines += conversion_text(source, target)
    for _, type_ in sorted(vectors.prefixes.items()):
        lines += prefix_text(type_)
    return "\n".join(lines) + "\n"


_ROUNDINGS = {"floor": 9, "ceil": 10, "trunc": 11, "rint": 8}
"""The function of C for each -> the number of the instruction's mode."""
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "fma": ("a", "b", "c"),
    **{name: ("a",) for name in (*_ROUNDINGS, "sqrt")},
    "larger": ("a", "b"),
    "smaller": ("a", "b"),
}
"""Macros on vectors of floats, and their parameters. `larger` is `a > b ? a : b`."""
_REGISTERS = {128: ("_mm", "__SSE2__"), 256: ("_mm256", "__AVX__"), 512: ("_mm512", "__AVX512F__")}


def halved(type_: CType) -> CType | None:
    """The type of half a vector's lanes, where that is a vector which instructions take; else None."""
    return type_.of(type_.lanes // 2) if type_.bits * type_.lanes > 128 else None


def _float_macros(name: str, type_: CType) -> list[str]:
    """Macros by instructions where there are some, else by halves, and those lane by lane."""
    lines: list[str] = []
    for kind, parameters in _FUNCTIONS.items():
        head, passed = f"#define {name}_{kind}({', '.join(parameters)})", ", ".join(parameters)
        if (half := halved(type_)) is not None:
            narrow = vector_name(half)
            parts = [
                ", ".join(f"WHENCE_{side}({narrow}, {parameter})" for parameter in parameters)
                for side in ("LOW", "HIGH")
            ]
            low, high = (f"{narrow}_{kind}({part})" for part in parts)
            lanes = ", ".join(map(str, range(type_.lanes)))
            rest = f"__builtin_shufflevector({low}, {high}, {lanes})"
        elif kind in ("larger", "smaller"):
            integers = vector_name(type_.integer)
            sign = ">" if kind == "larger" else "<"
            rest = f"WHENCE_SELECT({name}, {integers}, (a) {sign} (b), a, b)"
        else:
            f = "f" if type_.scalar == "float" else ""
            rest = f"WHENCE_BY_LANE_{len(parameters)}({name}, {type_.lanes}, {kind}{f}, {passed})"
        lines += _by_instruction(head, kind, name, type_, rest)
    return lines


def _by_instruction(head: str, kind: str, name: str, type_: CType, rest: str) -> list[str]:
    """The definition of a macro by an instruction of machines that have one, else by `rest`."""
    bits = type_.bits * type_.lanes
    letter, wide = ("s", "") if type_.scalar == "float" else ("d", "d")
    cases: list[tuple[str, str]] = []
    if bits in _REGISTERS:
        (prefix, feature), word = _REGISTERS[bits], f"__m{bits}{wide}"
        operands = [f"({word})({parameter})" for parameter in _FUNCTIONS[kind]]
        instruction = {"fma": "fmadd", "larger": "max", "smaller": "min"}.get(kind, kind)
        if kind == "fma" and bits < 512:
            feature = "__FMA__"
        if kind in _ROUNDINGS:
            instruction = "roundscale" if bits == 512 else "round"
            operands.append(str(_ROUNDINGS[kind]))
            feature = "__SSE4_1__" if bits == 128 else feature
        cases.append((feature, f"(({name}){prefix}_{instruction}_p{letter}({', '.join(operands)}))"))
    if kind == "fma" and type_ == F32.of(4):
        neon = "vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b))"
        cases.append(("__ARM_FEATURE_FMA", f"(({name}){neon})"))
    lines: list[str] = []
    for number, (feature, text) in enumerate(cases):
        lines += [f"#{'elif' if number else 'if'} defined({feature})", f"{head} {text}"]
    return [*lines, "#else", f"{head} {rest}", "#endif"] if cases else [f"{head} {rest}"]
