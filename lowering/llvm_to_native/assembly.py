"""Reading the assembly that an object was made of: its instructions, and the source line of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_LABEL = re.compile(r"([^\s#:]+):")
# Labels that only directives refer to; code jumps to .LBB ones.
_INTERNAL = re.compile(r"\.L(?!BB)|\.Lfunc")

# x86: push and pop, copies, moves to and from the stack, zero idioms, immediates and constants from memory.
_SETUP = re.compile(
    r"push|pop|v?mov\S* %\w+, %\w+$|(?:v?mov|lea)\S* .*\(%r[sb]p\)|v?p?xor\S* (%\w+)(?:, \1)+$"
    r"|mov\S* \$|v?\w+ \.LCPI\w+\(%rip\), %\w+$"
)


def compact(assembly: str) -> str:
    """The functions of a listing: labels, `.loc` directives and instructions; no data, no other directives."""
    kept: list[str] = []
    for line in _code(assembly):
        if (location := _LOC.match(line)) is not None:
            text = f"\t.loc\t1 {location[1]}"
            if kept and kept[-1].startswith("\t.loc"):
                kept.pop()
            kept.append(text)
        elif _LABEL.match(line):
            kept.append(line.split("#", 1)[0].rstrip())
        elif not line.lstrip().startswith("."):
            kept.append(_instruction(line))
    return "\n".join(kept) + "\n" if kept else ""


def _code(assembly: str) -> Iterator[str]:
    """The lines of text sections that say something."""
    code = True
    for line in assembly.splitlines():
        word = line.strip()
        if word.startswith((".text", ".section")):
            code = word.startswith(".text") or ".text" in word.split(",", 1)[0]
        elif code and word and not word.startswith("#"):
            if (label := _LABEL.match(line)) is None or not _INTERNAL.match(label[1]):
                yield line


def _instruction(line: str) -> str:
    return "\t" + line.split(" # ", 1)[0].split("\t#", 1)[0].strip()


class Instruction(NamedTuple):
    """A machine instruction, and the line of its kernel's source that it comes from."""

    function: str
    text: str
    line: int
    """0 where LLVM merged code of several lines, and where nothing tells."""
    exact: bool
    """True when the object's own line table says so; else the line is inferred from the code around."""


def instructions(assembly: str, owner: Callable[[int], object] = int) -> list[Instruction]:
    """The instructions of a listing.

    Where the line table says 0, set-up (saved registers, spills, constants) gets the line of the code it stands before
    in its block, or else behind. `owner` is who a line belongs to: where the code before and the code behind belong to
    different ones, set-up between them belongs to neither.
    """
    code: list[Instruction] = []
    block: list[Instruction] = []
    function, line = "", 0
    for text in _code(assembly):
        if (location := _LOC.match(text)) is not None:
            line = int(location[1])
        elif (label := _LABEL.match(text)) is not None:
            code += _inferred(block, owner)
            block = []
            if not label[1].startswith("."):
                function, line = label[1], 0
        elif not text.lstrip().startswith("."):
            block.append(Instruction(function, " ".join(_instruction(text).split()), line, line > 0))
    return code + _inferred(block, owner)


def _inferred(block: list[Instruction], owner: Callable[[int], object]) -> list[Instruction]:
    """The instructions of a block, set-up with the lines of what it stands between."""
    inferred: list[Instruction] = []
    after = 0
    following: list[int] = []
    for instruction in reversed(block):
        following.append(after)
        after = instruction.line if instruction.exact else 0 if not _SETUP.match(instruction.text) else after
    before = 0
    for instruction, behind in zip(block, reversed(following), strict=True):
        if instruction.exact:
            before = instruction.line
        elif not _SETUP.match(instruction.text):
            before = 0
        elif not before or not behind or owner(before) == owner(behind):
            instruction = instruction._replace(line=behind or before)
        inferred.append(instruction)
    return inferred


def line_coverage(assembly: str) -> tuple[int, int]:
    """Return the number of instructions with a source line in the object's line table, and that of all instructions."""
    code = instructions(assembly)
    return sum(instruction.exact for instruction in code), len(code)
