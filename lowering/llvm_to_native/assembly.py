"""Reading the compiler's assembly: its instructions, and the source line of each."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def instructions(assembly: str) -> list[tuple[str, str, int | None]]:
    """(function, instruction, source line) of a listing; None where LLVM merged code of several lines.

    Set-up (saved registers, spills, constants) has no line in LLVM; it gets that of the code it stands before in its
    block, or else behind.
    """
    found: list[tuple[str, str, int | None]] = []
    function, line, pending = "", None, 0
    previous: int | None = None
    for text in _code(assembly):
        if (location := _LOC.match(text)) is not None:
            line = int(location[1]) or None
        elif (label := _LABEL.match(text)) is not None:
            if not label[1].startswith("."):
                function, line, previous = label[1], None, None
            pending = 0
        elif not text.lstrip().startswith("."):
            instruction = " ".join(_instruction(text).split())
            if line is not None:
                for index in range(len(found) - pending, len(found)):
                    found[index] = (*found[index][:2], line)
                previous, pending = line, 0
                found.append((function, instruction, line))
            elif _SETUP.match(instruction):
                found.append((function, instruction, previous))
                pending += 1
            else:
                found.append((function, instruction, None))
                pending = 0
    return found


def line_coverage(assembly: str) -> tuple[int, int]:
    """How many instructions have a source line, and how many there are."""
    lines = [line for _, _, line in instructions(assembly)]
    return sum(line is not None for line in lines), len(lines)
