"""Loads and stores of the leading lanes of vectors: by masks where the machine has them, else by copies of bytes."""

from __future__ import annotations

from collections.abc import Sequence

from .types import CType, vector_name

_REGISTERS = {128: "_mm", 256: "_mm256", 512: "_mm512"}


def prefix_text(type_: CType) -> Sequence[str]:
    """Lines that define `load_first(a, p, n)`, of which other lanes are those of `a`, and `store_first(p, a, n)`."""
    name, lanes, bits = vector_name(type_), type_.lanes, type_.bits * type_.lanes
    load, store = f"#define {name}_load_first(a, p, n)", f"#define {name}_store_first(p, a, n)"
    rest = [
        f"{load} ({{ {name} a_ = (a); memcpy(&a_, p, (n) * {type_.bits // 8}); a_; }})",
        f"{store} ({{ {name} a_ = (a); memcpy(p, &a_, (n) * {type_.bits // 8}); (void)0; }})",
    ]
    if bits not in _REGISTERS:
        return rest
    prefix = _REGISTERS[bits]
    word, kind = f"__m{bits}i", f"epi{type_.bits}"
    mask = f"(__mmask{max(lanes, 8)})WHENCE_ONES(n)"
    feature = "__AVX512BW__" if type_.bits < 32 else "__AVX512F__"
    lines = [
        f"#if defined({feature})" + (" && defined(__AVX512VL__)" if bits < 512 else ""),
        f"{load} (({name}){prefix}_mask_loadu_{kind}(({word})(a), {mask}, p))",
        f"{store} {prefix}_mask_storeu_{kind}(p, {mask}, ({word})(a))",
    ]
    if type_.bits >= 32 and bits <= 256:
        integers = vector_name(type_.integer)
        # Of 64 bits the instructions want pointers to long long.
        pointer = "int" if type_.bits == 32 else "long long"
        numbers = ", ".join(map(str, range(lanes)))
        test = f"(({integers}){{{numbers}}} < ({type_.integer.scalar})(n))"
        read = f"({name}){prefix}_maskload_{kind}((const {pointer} *)(p), ({word}){test})"
        lines += [
            "#elif defined(__AVX2__)",
            f"{load} WHENCE_SELECT({name}, {integers}, {test}, {read}, (a))",
            f"{store} {prefix}_maskstore_{kind}(({pointer} *)(p), ({word}){test}, ({word})(a))",
        ]
    return [*lines, "#else", *rest, "#endif"]
