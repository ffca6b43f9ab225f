"""The metadata of an LLVM module: debug info (lines of one source file) and loop hints."""

from __future__ import annotations

from os.path import split
from typing import Final

from .text import string_text


class Metadata:
    """The numbered nodes of one module. Equal nodes are one, except distinct ones."""

    _nodes: list[str]
    _numbers: dict[str, int]

    def __init__(self) -> None:
        self._nodes = []
        self._numbers = {}

    def node(self, text: str) -> str:
        """The reference (`!3`) of the node of this text."""
        if (number := self._numbers.get(text)) is None:
            number = self._numbers[text] = len(self._nodes)
            self._nodes.append(text)
        return f"!{number}"

    def distinct(self, text: str) -> str:
        """The reference of a new node; `$` in its text stands for the node itself."""
        reference = f"!{len(self._nodes)}"
        self._nodes.append("distinct " + text.replace("$", reference))
        return reference

    def loop(self, unroll: str | int) -> str:
        """The identity of a loop that is to be unrolled fully ("full"), not at all ("disable") or `unroll` times."""
        hint = f'"llvm.loop.unroll.{unroll}"' if isinstance(unroll, str) else f'"llvm.loop.unroll.count", i32 {unroll}'
        return self.distinct(f"!{{$, {self.node(f'!{{!{hint}}}')}}}")

    def text(self) -> str:
        return "".join(f"!{number} = {node}\n" for number, node in enumerate(self._nodes))


class DebugInfo:
    """Line tables of a module: one file, one subprogram per function, one location per line (column 1)."""

    metadata: Final[Metadata]
    _file: str
    _unit: str
    _type: str
    _locations: dict[tuple[str, int], str]

    def __init__(self, metadata: Metadata, source: str):
        directory, filename = split(source)
        self.metadata = metadata
        self._locations = {}
        self._file = metadata.node(
            f"!DIFile(filename: {string_text(filename.encode())}, directory: {string_text(directory.encode())})"
        )
        self._unit = metadata.distinct(
            f'!DICompileUnit(language: DW_LANG_C99, file: {self._file}, producer: "whence", isOptimized: true, '
            "runtimeVersion: 0, emissionKind: LineTablesOnly)"
        )
        self._type = metadata.node("!DISubroutineType(types: !{})")

    def subprogram(self, name: str, line: int, *, local: bool) -> str:
        """The scope of the function `name`, which starts at `line`."""
        spelled = string_text(name.encode())
        flags = "DISPFlagDefinition | DISPFlagOptimized" + (" | DISPFlagLocalToUnit" if local else "")
        return self.metadata.distinct(
            f"!DISubprogram(name: {spelled}, linkageName: {spelled}, scope: {self._file}, file: {self._file}, "
            f"line: {line}, type: {self._type}, scopeLine: {line}, spFlags: {flags}, unit: {self._unit})"
        )

    def attachment(self, line: int, scope: str) -> str:
        """Return the end of an instruction of `line`: `, !dbg !7`."""
        if (attachment := self._locations.get((scope, line))) is None:
            location = self.metadata.node(f"!DILocation(line: {line}, column: 1, scope: {scope})")
            attachment = self._locations[scope, line] = f", !dbg {location}"
        return attachment

    def header(self) -> str:
        """The named nodes that switch line tables on."""
        flags = [self.metadata.node(f'!{{i32 {kind}, !"{name}", i32 {value}}}') for kind, name, value in _FLAGS]
        return f"!llvm.dbg.cu = !{{{self._unit}}}\n!llvm.module.flags = !{{{', '.join(flags)}}}\n"


_FLAGS = ((2, "Debug Info Version", 3), (7, "Dwarf Version", 4))
