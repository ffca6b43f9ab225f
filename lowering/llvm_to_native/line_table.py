"""The line table of an object file: DWARF's, as LLVM writes it into 64-bit little-endian ELF."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, cast

from .assembly import INFERRED
from .perf_map import functions

_SECTIONS = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_RELA = 4
_COPY, _PC, _LINE, _FILE, _COLUMN, _CONST_PC, _FIXED_PC = 1, 2, 3, 4, 5, 8, 9
_END, _ADDRESS = 1, 2


class Row(NamedTuple):
    """From an offset on, code comes of a line."""

    section: int
    offset: int
    line: int
    """0: of no line; -1: what ends here is the code."""
    column: int = 0


class _Section(NamedTuple):
    name: str
    kind: int
    offset: int
    size: int
    link: int
    target: int


def _sections(data: bytes) -> list[_Section]:
    start, size, count, names = cast("tuple[int, int, int, int]", _SECTIONS.unpack_from(data))
    raw = [cast("tuple[int, ...]", _SECTION.unpack_from(data, start + number * size)) for number in range(count)]
    at = raw[names][4]
    return [
        _Section(
            data[at + header[0] : data.index(b"\0", at + header[0])].decode(),
            header[1],
            header[4],
            header[5],
            header[6],
            header[7],
        )
        for header in raw
    ]


def rows(data: bytes) -> list[Row]:
    """The rows of an object's line table, in the order of the table; none of a file of another kind."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    sections = _sections(data)
    table: list[Row] = []
    for number, section in enumerate(sections):
        if section.name == ".debug_line":
            moved = dict(_relocations(data, sections, number))
            at = 0
            while at + 4 <= section.size:
                at = _unit(data[section.offset : section.offset + section.size], at, moved, table)
    return table


def _relocations(data: bytes, sections: list[_Section], number: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Place in a section -> the section and offset that an address there stands for."""
    for section in sections:
        if section.kind != _RELA or section.target != number:
            continue
        symbols = sections[section.link].offset
        for at in range(section.offset, section.offset + section.size, _RELOCATION.size):
            offset, info, addend = cast("tuple[int, int, int]", _RELOCATION.unpack_from(data, at))
            symbol = cast("tuple[int, ...]", _SYMBOL.unpack_from(data, symbols + (info >> 32) * _SYMBOL.size))
            yield offset, (symbol[3], symbol[4] + addend)


class _Program:
    """Reads the bytes of a line program."""

    def __init__(self, data: bytes, at: int):
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self, signed: bool = False) -> int:
        """A LEB128 number."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value


def _unit(data: bytes, at: int, moved: Mapping[int, tuple[int, int]], table: list[Row]) -> int:
    """Read the table of one unit; where the next one begins."""
    length, version = struct.unpack_from("<IH", data, at)
    end = at + 4 + length
    head = at + 6 + (2 if version >= 5 else 0)
    (header,) = struct.unpack_from("<I", data, head)
    program = _Program(data, head + 4 + header)
    fields = head + 4
    step = data[fields]
    fields += 2 if version >= 4 else 1
    base, span, first = struct.unpack_from("<bBB", data, fields + 1)
    counts = data[fields + 4 : fields + 3 + first]
    section = offset = column = 0
    line = 1
    while program.at < end:
        code = program.byte()
        if code >= first:
            offset += (code - first) // span * step
            line += base + (code - first) % span
            table.append(Row(section, offset, line, column))
        elif code == 0:
            size = program.number()
            after = program.at + size
            kind = program.byte()
            if kind == _END:
                table.append(Row(section, offset, -1))
                section = offset = column = 0
                line = 1
            elif kind == _ADDRESS:
                section, offset = moved.get(program.at, (section, offset))
            program.at = after
        elif code == _COPY:
            table.append(Row(section, offset, line, column))
        elif code == _PC:
            offset += program.number() * step
        elif code == _LINE:
            line += program.number(signed=True)
        elif code == _COLUMN:
            column = program.number()
        elif code == _CONST_PC:
            offset += (255 - first) // span * step
        elif code == _FIXED_PC:
            offset += struct.unpack_from("<H", data, program.at)[0]
            program.at += 2
        else:
            for _ in range(counts[code - 1]):
                program.number()
    return end


@dataclass(frozen=True)
class LineTable:
    """The code of an object: what runs at an offset of a section."""

    starts: tuple[tuple[int, int], ...]
    """Section and offset, ascending, of each run of instructions."""
    lines: tuple[int, ...]
    """The line of each run; -1 where there is no code."""

    @staticmethod
    def of(data: bytes) -> LineTable:
        """The table of an object file as LLVM tells it: a line that is inferred is none."""
        last: dict[tuple[int, int], int] = {}
        for row in rows(data):
            line = 0 if row.column == INFERRED and row.line > 0 else row.line
            last[row.section, row.offset] = line if line >= 0 else last.get((row.section, row.offset), -1)
        ordered = sorted(last)
        # An inferred row within a run without a line does not begin a run.
        starts = [
            start
            for before, start in zip([None, *ordered], ordered, strict=False)
            if last[start] or before is None or last[before] or before[0] != start[0]
        ]
        return LineTable(tuple(starts), tuple(last[start] for start in starts))

    def run(self, section: int, offset: int) -> int:
        """The number of the run that an offset is in; -1 where there is none."""
        at = bisect_right(self.starts, (section, offset)) - 1
        return at if at >= 0 and self.starts[at][0] == section and self.lines[at] >= 0 else -1


@lru_cache(maxsize=512)
def line_table(data: bytes) -> LineTable:
    """The line table of an object file, read once."""
    return LineTable.of(data)


def code_range(data: bytes, symbol: str, address: int) -> tuple[int, int, int]:
    """Return begin, end and number of the section of a loaded function; (0, 0, 0) if it is unknown."""
    symbols = list(functions(data))
    for function in symbols:
        if function.name == symbol:
            start = address - function.offset
            end = max(start + other.offset + other.size for other in symbols if other.section == function.section)
            return start, end, function.section
    return 0, 0, 0
