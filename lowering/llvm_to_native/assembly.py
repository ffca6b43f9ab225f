"""Reading the assembly that an object was made of: its instructions, and the source line of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .readers import Block, readers

LOCATION = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_FILE = re.compile(r"\s*\.loc\s+(\d+)")
INFERRED = 2
"""The column of lines that are inferred, in objects; LLVM's own have 1."""
_LABEL = re.compile(r"([^\s#:]+):")
# Labels that only directives refer to; code jumps to .LBB ones.
_INTERNAL = re.compile(r"\.L(?!BB)|\.Lfunc")

_NUMBERED = re.compile(r"^(\t\.loc\t)1 (\d+)")

# Where LLVM begins a function: column 0, which no instruction has.
_BEGIN = re.compile(r"\t\.loc\t(\d+) [1-9]\d* 0\b")
_MAKES_ROOM = re.compile(r"\t(?:and|sub)q\t\$-?\w+, %rsp\b")


def without_inherited_lines(assembly: str) -> str:
    """An assembly text whose functions begin with a line that only what sets up their frame has.

    LLVM says there where the function begins; an instruction without a line that comes next would inherit it.
    """
    lines: list[str] = []
    begin = ""
    pending: list[str] = []
    for text in assembly.splitlines():
        if begin and (text.startswith("\t.loc") or _LABEL.match(text)):
            lines += _frame_apart(pending, begin)
            begin, pending = "", []
        (pending if begin else lines).append(text)
        if (match := _BEGIN.match(text)) is not None:
            begin = f"\t.loc\t{match[1]} 0 0"
    return "\n".join([*lines, *pending, ""])


def _frame_apart(texts: list[str], location: str) -> list[str]:
    """The lines of the beginning of a function, `location` behind the frame."""
    end = max((number for number, text in enumerate(texts, 1) if text.startswith("\t.cfi_")), default=0)
    while end < len(texts) and _MAKES_ROOM.match(texts[end]):
        end += 1
    return [*texts[:end], location, *texts[end:]] if end < len(texts) else texts


def located_at(assembly: str, places: Mapping[int, tuple[str, int]]) -> str:
    """An assembly text whose lines are named by other places, where there are: line -> file and line there."""
    files = {file: number for number, file in enumerate(dict.fromkeys(file for file, _ in places.values()), start=2)}

    def other(match: re.Match[str]) -> str:
        at = places.get(int(match[2]))
        return match[0] if at is None else f"{match[1]}{files[at[0]]} {at[1]}"

    lines: list[str] = []
    for text in assembly.splitlines():
        lines.append(_NUMBERED.sub(other, text))
        if text.startswith("\t.file\t1 "):
            lines += [f"\t.file\t{number} {_quoted(file)}" for file, number in files.items()]
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def compact(assembly: str) -> str:
    """The functions of a listing: labels, `.loc` directives and instructions; no data, no other directives."""
    kept: list[str] = []
    said = line_before = ""
    """The line that was told last, and that of the last instruction."""
    for line in _code(assembly):
        if (location := LOCATION.match(line)) is not None:
            text, said = f"\t.loc\t1 {location[1]}", location[1]
            if kept and kept[-1].startswith("\t.loc"):
                kept.pop()
            # To say once more that nothing tells begins no run of its own: see `LineTable.of`.
            if location[1] != "0" or line_before != "0":
                kept.append(text)
        elif _LABEL.match(line):
            kept.append(line.split("#", 1)[0].rstrip())
        elif not line.lstrip().startswith("."):
            kept.append(_instruction(line))
            line_before = said
    return "\n".join(kept) + "\n" if kept else ""


def _code(assembly: str) -> Iterator[str]:
    """The lines of text sections that say something."""
    return (line for line, says in _told_apart(assembly) if says)


def _told_apart(assembly: str) -> Iterator[tuple[str, bool]]:
    """All lines, and of each whether it is of a text section and says something."""
    code = True
    for line in assembly.splitlines():
        word = line.strip()
        says = False
        if word.startswith((".text", ".section")):
            code = word.startswith(".text") or ".text" in word.split(",", 1)[0]
        elif code and word and not word.startswith("#"):
            says = (label := _LABEL.match(line)) is None or not _INTERNAL.match(label[1])
        yield line, says


def with_inferred_lines(assembly: str, layers: Callable[[int], Collection[object]]) -> str:
    """An assembly text in which instructions without a line have the one that `instructions` infers, in column 2.

    The code is the same.
    """
    code = iter(instructions(assembly, layers))
    lines: list[str] = []
    file, now = "1", 0
    """The inferred line that holds; 0 while LLVM's own does."""
    for text, says in _told_apart(assembly):
        if says and (location := _FILE.match(text)) is not None:
            file, now = location[1], 0
        elif says and not _LABEL.match(text) and not text.lstrip().startswith("."):
            instruction = next(code)
            line = 0 if instruction.exact else instruction.line
            if line != now:
                lines.append(f"\t.loc\t{file} {line} {INFERRED if line else 0}")
                now = line
        lines.append(text)
    return "\n".join([*lines, ""])


def _instruction(line: str) -> str:
    return "\t" + line.split(" # ", 1)[0].split("\t#", 1)[0].strip()


class Instruction(NamedTuple):
    """A machine instruction, and the line of its kernel's source that it comes from."""

    function: str
    text: str
    line: int
    """0 where LLVM merged code of several lines, and where nothing tells."""
    exact: bool
    """True when LLVM says so of a line that can have made it; else the line is inferred."""


def _itself(line: int) -> Collection[object]:
    return (line,)


def _whichever(line: int, text: str) -> bool:
    return True


def instructions(
    assembly: str,
    layers: Callable[[int], Collection[object]] = _itself,
    fits: Callable[[int, str], bool] = _whichever,
) -> list[Instruction]:
    """The instructions of a listing.

    fits: says whether the op at a line can have made an instruction, by its text. Where it cannot, LLVM's line stands
    as one that is inferred: something that the instruction was made with had it.

    Where the line table says 0, LLVM gave the instruction no line: constants, copies, spills. It gets a line of what
    reads its result (see `readers`): one whose `layers`, those behind a line, are the layers of all that read it. Where
    no line has just these it gets none.
    """
    code: list[Instruction] = []
    function = [Block("")]
    name, line = "", 0
    for text in [*_code(assembly), "end:"]:
        if (location := LOCATION.match(text)) is not None:
            line = int(location[1])
        elif (label := _LABEL.match(text)) is not None:
            if not label[1].startswith("."):
                code += _with_readers(name, function, layers, fits)
                function, name, line = [], label[1], 0
            function.append(Block(label[1]))
        elif not text.lstrip().startswith("."):
            function[-1].texts.append(" ".join(_instruction(text).split()))
            function[-1].lines.append(line)
    return code


def _with_readers(
    name: str,
    function: Sequence[Block],
    layers: Callable[[int], Collection[object]],
    fits: Callable[[int, str], bool],
) -> Iterator[Instruction]:
    """The instructions of a function, those without a line with one of what reads their results."""
    inferred: dict[int, int] = {}
    for block, reading in zip(function, readers(function), strict=True):
        for text, line, lines in zip(block.texts, block.lines, reading, strict=True):
            if not line and lines not in inferred:
                inferred[lines] = line_of_all(_numbers(lines), layers)
            yield Instruction(name, text, line or inferred[lines], line > 0 and fits(line, text))


def _numbers(bits: int) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def line_of_all(lines: Iterable[int], layers: Callable[[int], Collection[object]]) -> int:
    """The first of some lines that has the layers of all; 0 where there is none, and where 0 is one of them."""
    ordered = sorted(lines)
    if 0 in ordered[:1]:
        return 0
    behind = {line: frozenset(layers(line)) for line in ordered}
    union = frozenset[object]().union(*behind.values())
    return next((line for line, some in behind.items() if some == union), 0)


def line_coverage(assembly: str) -> tuple[int, int]:
    """Return the number of instructions with a source line in the object's line table, and that of all instructions."""
    code = instructions(assembly)
    return sum(instruction.exact for instruction in code), len(code)
