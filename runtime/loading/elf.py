"""ELF files of 64 bits, little endian, as far as a loader needs them: sections, symbols, relocations.

Every offset is checked before it is followed, so that any damaged file raises FrontendError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, NoReturn, cast

from ...support.errors import FrontendError

X86_64, AARCH64, RISCV64 = 62, 183, 243
MACHINES = {X86_64: "x86_64", AARCH64: "aarch64", RISCV64: "riscv64"}
ALLOC, WRITE, EXEC = 2, 1, 4
PROGBITS, SYMTAB, STRTAB, RELA, NOBITS = 1, 2, 3, 4, 8
UNWIND = 0x70000001
"""The type of sections for unwinding on x86-64."""
UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2
FUNC = 2
RELOCATABLE, SHARED = 1, 3

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")


class Section(NamedTuple):
    """A section; `offset` and `size` are in bytes of the file."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class Symbol(NamedTuple):
    """A symbol, with its place in a section of this file unless it is undefined."""

    name: str
    kind: int
    local: bool
    section: int
    """Index; UNDEFINED, ABSOLUTE or COMMON."""
    value: int
    size: int


class Relocation(NamedTuple):
    """A place, in bytes of its section, that takes the address of a symbol."""

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True)
class Elf:
    """An ELF file in memory."""

    data: memoryview
    name: str
    kind: int
    """RELOCATABLE or SHARED."""
    machine: int
    sections: tuple[Section, ...]

    @staticmethod
    def of(data: bytes | memoryview, name: str = "object") -> Elf:
        """Read the headers; raises FrontendError, about `name`, when `data` is no such file."""
        view = memoryview(data).cast("B")
        if len(view) < _HEADER.size or bytes(view[:6]) != b"\x7fELF\x02\x01":
            _fail(name, "an ELF file of 64 bits", "something else")
        header = cast("tuple[int, ...]", _HEADER.unpack_from(view)[1:])
        kind, machine, start, size, count, names = header[0], header[1], header[5], *header[10:13]
        if size != _SECTION.size or start + count * size > len(view) or not 0 <= names < count:
            _fail(name, "a table of sections", "one that leaves the file")
        raw = [cast("tuple[int, ...]", _SECTION.unpack_from(view, start + k * size)) for k in range(count)]
        for _, section, _, _, offset, length, *_ in raw:
            if section not in (0, NOBITS) and offset + length > len(view):
                _fail(name, "sections inside the file", "one that leaves it")
        strings = bytes(view[raw[names][4] : raw[names][4] + raw[names][5]])
        sections = tuple(
            Section(
                name=_text(strings, row[0], name),
                kind=row[1],
                flags=row[2],
                offset=row[4],
                size=row[5],
                link=row[6],
                info=row[7],
                align=max(row[8], 1),
            )
            for row in raw
        )
        return Elf(view, name, kind, machine, sections)

    def content(self, section: Section) -> memoryview:
        """Return the bytes of a section."""
        return self.data[section.offset : section.offset + section.size]

    def find(self, name: str) -> Section | None:
        """Return the section with a name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """All symbols by their numbers."""
        table = next((section for section in self.sections if section.kind == SYMTAB), None)
        if table is None:
            return ()
        if table.link >= len(self.sections):
            _fail(self.name, "names of symbols", "none")
        strings = bytes(self.content(self.sections[table.link]))
        symbols: list[Symbol] = []
        for name, info, _, section, value, size in self._rows(_SYMBOL, table):
            symbols.append(Symbol(_text(strings, name, self.name), info & 15, info < 16, section, value, size))
        return tuple(symbols)

    def relocations(self, section: int) -> Iterator[Relocation]:
        """Yield the relocations of a section; raises FrontendError for a place outside it, or an unknown symbol."""
        size, symbols = self.sections[section].size, len(self.symbols)
        for table in self.sections:
            if table.kind != RELA or table.info != section:
                continue
            for offset, info, addend in self._rows(_RELA, table):
                kind, symbol = info & 0xFFFFFFFF, info >> 32
                if offset >= size or symbol >= symbols:
                    _fail(self.name, f"relocations inside '{self.sections[section].name}'", "one that leaves it")
                yield Relocation(offset, kind, symbol, addend)

    def _rows(self, row: struct.Struct, table: Section) -> Iterator[tuple[int, ...]]:
        content = self.content(table)
        return row.iter_unpack(content[: len(content) // row.size * row.size])


def _text(strings: bytes, at: int, name: str) -> str:
    """Return the text that begins at a byte of a string table."""
    end = strings.find(b"\0", at)
    if at > len(strings) or end < 0:
        _fail(name, "names inside their table", "one that leaves it")
    return strings[at:end].decode(errors="replace")


def _fail(name: str, expected: str, actual: str) -> NoReturn:
    raise FrontendError(f"{name}: expected {expected}, got {actual}")
