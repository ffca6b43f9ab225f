"""Lines that LLVM's passes drop, given back to the instructions that they belong to.

LLVM takes the line off an instruction that it moves out of a loop, and gives none to the phis it makes of a stack
buffer. Both keep their name: `%v12_`, or `%v12_.3` and `%v12_3` for copies. So the line that `%v12_` was written with
is theirs. (Without its last character, a copy of `%v1` could have the name of another value.) And where a function was
written with one return, any that it has is that one.
"""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"^define .*?@(\"[^\"]*\"|[\w.$-]+)\(.*?(?:!dbg !(\d+))? \{$")
_NAMED = re.compile(r"^  %?(v\d+_(?=.* = )|ret(?= ))([\d.][\w.]*)?")
_ATTACHED = re.compile(r", !dbg !(\d+)")
_LOCATION = re.compile(
    r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+), (?:column: \d+, )?scope: !(\d+)\)$", re.MULTILINE
)
_NODE = re.compile(r"^!(\d+) = ", re.MULTILINE)
_WITHOUT = re.compile(r"^  (?:%v\d+_[\w.]* = |ret )(?!.*, !dbg !\d)", re.MULTILINE)
# Inlined code has the names of another function.
_INLINED = re.compile(r"\.i\d*(?:\.|$)")


def lines_of(text: str) -> dict[tuple[str, str], int]:
    """(function, name) -> line, of the named instructions and returns of a module as it was written; 0 of several."""
    lines = {number: int(line) for number, line, _ in _LOCATION.findall(text)}
    line_of: dict[tuple[str, str], int] = {}
    function = ""
    for row in text.splitlines():
        if (start := _FUNCTION.match(row)) is not None:
            function = start[1]
        elif (named := _NAMED.match(row)) is not None and (attached := _ATTACHED.search(row)) is not None:
            line = lines[attached[1]]
            line_of[function, named[1]] = line if line_of.get((function, named[1]), line) == line else 0
    return line_of


def has_lost(text: str) -> bool:
    """Return whether a module, as LLVM prints it, may have named instructions without a line."""
    return "!DILocation(line: 0," in text or _WITHOUT.search(text) is not None


def with_lines(text: str, lines: dict[tuple[str, str], int]) -> str:
    """A module as LLVM prints it, where named instructions without a line have that of `lines` again."""
    at = {number: (scope, int(line)) for number, line, scope in _LOCATION.findall(text)}
    nodes = {position: number for number, position in at.items()}
    free = max(map(int, _NODE.findall(text)), default=-1) + 1
    added: list[str] = []
    rows: list[str] = []
    function, scope = "", None
    for row in text.splitlines():
        if (start := _FUNCTION.match(row)) is not None:
            function, scope = start[1], start[2]
        elif scope is not None and (named := _NAMED.match(row)) is not None:
            attached = _ATTACHED.search(row)
            lost = attached is None or at.get(attached[1]) == (scope, 0)
            if lost and (line := lines.get((function, named[1]))) and not _INLINED.search(named[2] or ""):
                if (position := (scope, line)) not in nodes:
                    nodes[position] = str(free + len(added))
                    added.append(f"!{nodes[position]} = !DILocation(line: {line}, column: 1, scope: !{scope})")
                dbg = f", !dbg !{nodes[position]}"
                row = _ATTACHED.sub(dbg, row) if attached is not None else row + dbg
        rows.append(row)
    return "\n".join([*rows, *added, ""])
