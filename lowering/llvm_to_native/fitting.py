"""The classes of machine instructions, and which of them an op of LLVM IR can become.

LLVM gives what it makes of several ops the line of one of them, and what it adds to a loop the line of an op that reads
it: a comparison may stand at the line of a store. So a line of LLVM's is believed where the ops at it, before
optimisation, can become such an instruction. A sum becomes no comparison, and a store no load.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from enum import Flag, auto
from functools import lru_cache

from .registers import effect, is_in_memory, operands_of, target_in_memory


class Kind(Flag):
    """The classes of machine instructions. Copies between registers and constants are of none."""

    COUNT = auto()
    """Arithmetic in general registers: addresses, indices, scalars."""
    SCALE = auto()
    """Products in general registers, shifts to the left among them."""
    COMPARE = auto()
    """Comparisons in general registers, and choices by them."""
    INTEGER = auto()
    """Integer arithmetic on vectors."""
    FLOAT = auto()
    LOGIC = auto()
    """And, or, xor on vectors and masks, of whatever they hold."""
    LOAD = auto()
    STORE = auto()
    CONTROL = auto()


_ANY = ~Kind(0)
_ADDRESS = Kind.COUNT | Kind.SCALE
_SUM = Kind.COUNT | Kind.INTEGER | Kind.LOGIC
_WHOLE = _SUM | Kind.SCALE
_DECIDED = _WHOLE | Kind.COMPARE
_FLOAT = Kind.FLOAT | Kind.LOGIC
_CONVERTED = _DECIDED | Kind.FLOAT | Kind.LOAD

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("add", "and", "or", "xor"), _SUM),
    **dict.fromkeys(("mul", "shl", "lshr", "ashr"), _WHOLE),
    # A comparison may be of a difference.
    "sub": _SUM | Kind.COMPARE,
    "icmp": _SUM | Kind.COMPARE,
    # LLVM tests whether a division fits 32 bits.
    **dict.fromkeys(("sdiv", "udiv", "srem", "urem"), _DECIDED | Kind.FLOAT | Kind.CONTROL),
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "fneg"), _FLOAT),
    "fcmp": _FLOAT | Kind.COMPARE,
    **dict.fromkeys(("trunc", "zext", "sext", "bitcast", "ptrtoint", "inttoptr"), _DECIDED | Kind.LOAD),
    **dict.fromkeys(("fpext", "fptrunc", "fptosi", "fptoui", "sitofp", "uitofp"), _CONVERTED),
    **dict.fromkeys(("shufflevector", "insertelement", "extractelement"), _SUM | Kind.COMPARE | Kind.LOAD),
    # It is the mask of what computes either value, the least of two, or a branch.
    "select": _CONVERTED | Kind.CONTROL,
    "getelementptr": _ADDRESS,
    "load": _ADDRESS | Kind.LOAD,
    "store": _ADDRESS | Kind.STORE,
    "phi": Kind.COUNT,
    **dict.fromkeys(("br", "ret", "unreachable"), _ADDRESS | Kind.COMPARE | Kind.CONTROL),
}
"""Opcode of LLVM IR -> what instructions it becomes, with the arithmetic that folds into addresses; others: any."""

_INTRINSICS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"llvm\.(?:fma|fmuladd|sqrt|fabs|copysign|floor|ceil|rint|trunc|vector\.reduce\.f\w+)\."), _FLOAT),
    (re.compile(r"llvm\.(?:max|min)(?:imum|num)\."), _CONVERTED | Kind.CONTROL),
    (re.compile(r"llvm\.(?:[su](?:min|max)|abs)\."), _DECIDED | Kind.CONTROL),
    (re.compile(r"llvm\.masked\.load\."), _ADDRESS | Kind.LOAD),
    (re.compile(r"llvm\.masked\.store\."), _ADDRESS | Kind.STORE),
)
"""The same of intrinsics that are called."""

_OP = re.compile(r"^ +(?:%\S+ = )?(?:tail )?(\w+)(?:.*?@([\w.]+))?.*, !dbg !(\d+)$", re.MULTILINE)
_LINE = re.compile(r"^!(\d+) = !DILocation\(line: (\d+)", re.MULTILINE)


@lru_cache(maxsize=512)
def kinds_of_lines(text: str) -> Mapping[int, Kind]:
    """Line -> what instructions the ops become that a module in text, before optimisation, has at it."""
    lines = {match[1]: int(match[2]) for match in _LINE.finditer(text)}
    kinds: dict[int, Kind] = defaultdict(lambda: Kind(0))
    for match in _OP.finditer(text):
        if match[3] in lines:
            kinds[lines[match[3]]] |= _kind_of_op(match[1], match[2] or "")
    return dict(kinds)


def _kind_of_op(opcode: str, callee: str) -> Kind:
    if opcode == "call":
        return next((kind for pattern, kind in _INTRINSICS if pattern.match(callee)), _ANY)
    return _KINDS.get(opcode, _ANY)


_FLOATS = re.compile(r"v?(?:add|sub|mul|div|min|max|sqrt|u?comi|cmp|rndscale|round|fn?m(?:add|sub)).*[ps][sdh]|vcvt.*")
_LOGIC = re.compile(r"v?p(?:andn?|x?or)[dq]?|v?(?:andn?|x?or)p[sd]|vpternlog[dq]|k(?:andn?|x?n?or|not)[bwdq]")
_INTEGERS = re.compile(r"v?p(?:add|sub|mul|madd|abs|min|max|s[lr][la]|cmp|dp|sad|avg)\w*")
_COUNTS = re.compile(
    r"(?:lea|add|adc|sub|sbb|inc|dec|neg|not|i?div|and|or|xor|sh(?:rd?|ld)x?|sarx?|ro[lr]x?|andn|bzhi)"
    r"[bwlqx]?"
)
_SCALES = re.compile(r"(?:i?mul|shl|sal)x?[bwlq]?|mulx[lq]")
_COMPARES = re.compile(r"(?:cmp|test|bt)[bwlq]|cmov\w+|set\w+")
_CONTROL = re.compile(r"j\w+|ret\w?")
_MOVES = re.compile(r"v?mov\w+|v(?:p?broadcast|pmov)\w+")


_BY_NAME = (
    (_LOGIC, Kind.LOGIC),
    (_FLOATS, Kind.FLOAT),
    (_INTEGERS, Kind.INTEGER),
    (_COMPARES, Kind.COMPARE),
    (_SCALES, Kind.SCALE),
    (_COUNTS, Kind.COUNT),
)


@lru_cache(maxsize=1 << 14)
def kind_of(text: str) -> Kind:
    """The class of an instruction of x86-64, which the op of its line has to have as well; none of what moves values.

    A load that is an operand of arithmetic does not count: the line is that of the arithmetic.
    """
    mnemonic = text.partition(" ")[0]
    if _CONTROL.fullmatch(mnemonic):
        return Kind.CONTROL
    if target_in_memory(text):
        # The stored value may be computed at another line.
        return Kind.STORE
    operands = operands_of(text)
    if _MOVES.fullmatch(mnemonic) and any(map(is_in_memory, operands)):
        return Kind.LOAD
    if "%" not in text or "%rsp" in operands or not effect(text).reads:
        # Code for another machine, the frame, and constants.
        return Kind(0)
    return next((kind for pattern, kind in _BY_NAME if pattern.fullmatch(mnemonic)), Kind(0))


def fits(module: str, line: int, text: str) -> bool:
    """Return whether what a module, in text before optimisation, has at a line becomes such an instruction.

    True where nothing is said of either: of a line without ops, and of code for other machines than x86-64.
    """
    return kind_of(text) in kinds_of_lines(module).get(line, _ANY)
