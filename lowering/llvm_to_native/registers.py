"""The registers and stack cells that instructions of x86-64 read and write, by their text in a listing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, TypeAlias

Cell: TypeAlias = str | int
"""A holder of a value: a whole register (`a` for %rax and its parts, `v3` for %xmm3 and wider ones, `k1`), `flags`, or
a place of the stack: its distance from %rsp, or from %rbp as `bp-8`.
"""
FLAGS = "flags"
STACK = "sp"

_WORDS = {"ax": "a", "bx": "b", "cx": "c", "dx": "d", "si": "si", "di": "di", "bp": "bp", "sp": STACK}
_WHOLE: dict[str, str] = {
    **{f"{wide}{word}": short for word, short in _WORDS.items() for wide in ("r", "e", "")},
    **{f"{short}{half}": short for short in "abcd" for half in "lh"},
    **{f"{short}l": short for short in ("si", "di", "bp", STACK)},
    **{f"r{number}{width}": f"r{number}" for number in range(8, 16) for width in ("", "d", "w", "b")},
    **{f"{kind}mm{number}": f"v{number}" for number in range(32) for kind in "xyz"},
    **{f"k{number}": f"k{number}" for number in range(8)},
}
"""Register -> the whole one that it is a part of."""
_VECTORS = tuple(f"v{number}" for number in range(32))
_ARGUMENTS: tuple[Cell, ...] = ("di", "si", "d", "c", "r8", "r9", "a", *_VECTORS[:8])
_CLOBBERED: tuple[Cell, ...] = (
    *("a", "c", "d", "si", "di", "r8", "r9", "r10", "r11", FLAGS),
    *_VECTORS,
    *(f"k{number}" for number in range(8)),
)
"""The registers that a called function may change."""

_OPERAND = re.compile(r"(?:[^,(]|\([^)]*\))+")
_REGISTER = re.compile(r"%(\w+)")
_SLOT = re.compile(r"(-?\w*)\(%r([sb]p)\)")
_MASK = re.compile(r"\{%(k\d)\}")

_TESTS = re.compile(
    r"v?u?comis[sdh]|v?p?test\w*|k(?:or)?test\w|cmp[bwlq]|bt[wlq]|push\w?|prefetch\w+|i?div[bwlq]|mul[bwlq]|call\w?|j\w+"
)
"""Their last operand is a source like the others."""
_WRITES_TWO = re.compile(r"mulx|xchg|xadd")
_REPLACES = re.compile(
    r"v\w+|k\w+|mov\w+|lea\w|pop\w?|cvt\w+|sqrt\w+|r(?:sqrt|cp|ound)\w+|pshuf(?:d|lw|hw)|pabs\w|pmov\w+|pextr\w|"
    r"(?:andn|bextr|bzhi|pdep|pext|rorx|sarx|shlx|shrx|mulx|blsr|blsi|blsmsk|popcnt|[lt]zcnt|bs[fr])[lq]?"
)
"""Instructions that overwrite their last operand without reading it."""
_ADDS_TO = re.compile(
    r"vfn?m\w+|vpdp\w+|vdpbf16ps|vpternlog\w|vperm[ti]2\w+|vpmadd52\w+|vfixupimm\w+|vp?gather\w+|vpsh[lr]dv\w|"
    r"mov(?:[lh]p[sd]|lhps|hlps)"
)
"""These do, among what looks like the former. So do `movss` and `movsd` between registers, and what a mask leaves."""
_PASSES_ON = re.compile(
    r"v(?:cvt\w+2s[sdh][lq]?|(?:sqrt|rcp|rcp14|rsqrt|rsqrt14|round|rndscale|getexp|getmant|reduce)s[sdh])"
)
"""The operand before the last gives lanes that nobody needs, so that LLVM names any register."""
_CONSTANT_OF_EQUALS = re.compile(r"v?p?xor\w*|v?p?andn\w*|v?pcmp(?:eq|gt)\w|v?p?sub\w*|kxn?or\w")
_READS_FLAGS = re.compile(r"j(?!mp)\w+|set\w+|cmov\w+|adc\w|sbb\w|rc[lr]\w")
_SETS_FLAGS = re.compile(
    r"(?:adc|add|sub|sbb|andn?|or|xor|cmp|test|inc|dec|neg|i?mul|i?div|sh[lr]d?|sa[lr]|ro[lr]|rc[lr]|bt[src]?|blsr|blsi|"
    r"blsmsk|bzhi|bextr|popcnt|[lt]zcnt|bs[fr])[bwlq]?|v?u?comis[sdh]|v?p?test(?:p[sd])?|k(?:or)?test\w"
)
_IMPLICIT: tuple[tuple[re.Pattern[str], tuple[Cell, ...], tuple[Cell, ...]], ...] = (
    (re.compile(r"i?mul[bwlq] [^,]*(?:\([^)]*\))?$"), ("a",), ("a", "d")),
    (re.compile(r"i?div[bwlq] "), ("a", "d"), ("a", "d")),
    (re.compile(r"c(?:qto|ltd|wtd)"), ("a",), ("d",)),
    (re.compile(r"c(?:ltq|wtl|btw)"), ("a",), ("a",)),
    (re.compile(r"mulx"), ("d",), ()),
    (re.compile(r"(?:lock )?cmpxchg"), ("a",), ("a",)),
    (re.compile(r"p?blendv"), ("v0",), ()),
    (re.compile(r"rep"), ("a", "c", "si", "di"), ("c", "si", "di")),
    (re.compile(r"(?:push|pop)"), (STACK,), (STACK,)),
    (re.compile(r"ret"), (STACK,), ()),
    (re.compile(r"call"), (*_ARGUMENTS, STACK), _CLOBBERED),
    # A jump to another function is a call, the last thing that this one does.
    (re.compile(r"jmp (?!\.L)"), (*_ARGUMENTS, STACK), ()),
)
"""The implicit reads and writes of instructions."""


class Effect(NamedTuple):
    """The places that an instruction reads, and those that it writes."""

    reads: frozenset[Cell]
    writes: frozenset[Cell]


def operands_of(text: str) -> list[str]:
    """The operands of an instruction; the last one is the target, if it has one."""
    rest = text.removeprefix("lock ").partition(" ")[2]
    return [operand.strip() for operand in _OPERAND.findall(rest)]


def target_in_memory(text: str) -> bool:
    """Return whether an instruction writes memory other than the stack's."""
    operands, mnemonic = operands_of(text), text.partition(" ")[0]
    return bool(operands) and is_in_memory(operands[-1]) and _TESTS.fullmatch(mnemonic) is None


def is_in_memory(operand: str) -> bool:
    """Return whether an operand is memory other than the stack's and that of constants."""
    return "(" in operand and "%rip" not in operand and ".LCPI" not in operand and _SLOT.match(operand) is None


@lru_cache(maxsize=1 << 14)
def effect(text: str) -> Effect:
    """The effect of an instruction."""
    mnemonic = text.removeprefix("lock ").partition(" ")[0]
    reads: set[Cell] = {FLAGS} if _READS_FLAGS.fullmatch(mnemonic) else set()
    writes: set[Cell] = {FLAGS} if _SETS_FLAGS.fullmatch(mnemonic) else set()
    for pattern, read, written in _IMPLICIT:
        if pattern.match(text):
            reads.update(read)
            writes.update(written)
    operands = operands_of(text)
    count = 0 if _TESTS.fullmatch(mnemonic) else 2 if _WRITES_TWO.match(mnemonic) else 1
    sources, targets = operands[: max(len(operands) - count, 0)], operands[-count:] if count else []
    for operand in targets:
        reads.update(_address(operand), _MASK.findall(operand))
        writes.update(_held(operand))
    if _is_constant(mnemonic, sources, targets):
        return Effect(frozenset(reads), frozenset(writes))
    if len(operands) > 2 and _PASSES_ON.fullmatch(mnemonic):
        sources = sources[:-1]
    for operand in sources:
        reads.update(_address(operand), _held(operand), _MASK.findall(operand))
    if _keeps(mnemonic, operands):
        reads.update(cell for operand in targets for cell in _held(operand))
    return Effect(frozenset(reads), frozenset(writes))


_MOVES = re.compile(r"v?mov|kmov|v?p?broadcast")
_COMPUTES = re.compile(r"call|.*%[xyz]mm|.*%k")


def sets_up(text: str) -> bool:
    """Return whether an instruction computes no data: a constant, copy, spill, address, count, jump, or the frame.

    Arithmetic in general registers counts as one of addresses.
    """
    return _COMPUTES.match(text) is None or _MOVES.match(text) is not None or not effect(text).reads


def _registers(text: str) -> list[str]:
    return [whole for name in _REGISTER.findall(text) if (whole := _WHOLE.get(name)) is not None]


def _address(operand: str) -> list[str]:
    """The registers of an address."""
    return _registers(operand[operand.index("(") :].partition("{")[0]) if "(" in operand else []


def _held(operand: str) -> list[Cell]:
    """The cell that an operand is: none for immediates and memory other than the stack's."""
    if (slot := _SLOT.match(operand)) is not None:
        distance = int(slot[1] or "0", 0)
        return [distance if slot[2] == "sp" else f"bp{distance:+}"]
    return [] if "(" in operand else list[Cell](_registers(operand.partition("{")[0]))


def _is_constant(mnemonic: str, sources: list[str], targets: list[str]) -> bool:
    """Return whether the result is the same whatever registers hold: `xorl %eax, %eax`."""
    named = {operand for operand in sources if operand[0] != "$"}
    if mnemonic.startswith("vpternlog"):
        return sources[:1] in (["$255"], ["$0"])
    return _CONSTANT_OF_EQUALS.fullmatch(mnemonic) is not None and (
        len(named) == 1 and (len(sources) > 1 or named == set(targets))
    )


def _keeps(mnemonic: str, operands: list[str]) -> bool:
    """Return whether what the target held before counts."""
    if mnemonic.startswith("imul") and len(operands) == 3:
        return False
    if _ADDS_TO.fullmatch(mnemonic) or not _REPLACES.fullmatch(mnemonic):
        return True
    if mnemonic in ("movss", "movsd"):
        return "(" not in "".join(operands)
    return bool(operands) and "{%k" in operands[-1] and "{z}" not in operands[-1]
