"""An ELF object of one section of bytes, written without an assembler."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ..runtime.loading.elf import ALLOC, PROGBITS, RELOCATABLE, STRTAB, SYMTAB
from ..runtime.values.tensors import ALIGNMENT

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MACHINE, _FLAGS = struct.Struct("<18xH"), struct.Struct("<48xI")
_MAGIC, _GLOBAL_OBJECT, _HIDDEN = b"\x7fELF\x02\x01\x01", 0x11, 2


def bytes_object(
    like: bytes, section: str, symbol: str, pieces: Iterable[bytes | memoryview]
) -> list[bytes | memoryview]:
    """The object, in pieces: `symbol`, which no other library sees, is the first byte of a read-only `section`.

    like: an object of the same machine. The bytes lie at multiples of 64, in the file as in memory.
    """
    content = list(pieces)
    size = sum(map(len, content))
    names = b"\0".join((b"", section.encode(), b".symtab", b".strtab", b".note.GNU-stack", symbol.encode(), b""))
    symbols = bytes(_SYMBOL.size) + _SYMBOL.pack(names.index(symbol.encode()), _GLOBAL_OBJECT, _HIDDEN, 1, 0, size)
    at_symbols = ALIGNMENT + size + -size % 8
    at_names = at_symbols + len(symbols)
    at_sections = at_names + len(names) + -len(names) % 8

    def row(
        name: str,
        kind: int,
        at: int,
        length: int,
        flags: int = 0,
        link: int = 0,
        info: int = 0,
        align: int = 1,
        entry: int = 0,
    ) -> bytes:
        return _SECTION.pack(names.index(name.encode()), kind, flags, 0, at, length, link, info, align, entry)

    sections = [
        bytes(_SECTION.size),
        row(section, PROGBITS, ALIGNMENT, size, flags=ALLOC, align=ALIGNMENT),
        row(".symtab", SYMTAB, at_symbols, len(symbols), link=3, info=1, align=8, entry=_SYMBOL.size),
        row(".strtab", STRTAB, at_names, len(names)),
        # This section tells the linker that the code needs no executable stack.
        row(".note.GNU-stack", PROGBITS, at_names, 0),
    ]
    (machine,), (flags,) = _MACHINE.unpack_from(like), _FLAGS.unpack_from(like)
    header = _HEADER.pack(
        _MAGIC, RELOCATABLE, machine, 1, 0, 0, at_sections, flags, _HEADER.size, 0, 0, _SECTION.size, len(sections), 3
    )
    tail = bytes(-size % 8) + symbols + names + bytes(-len(names) % 8) + b"".join(sections)
    return [header, *content, tail]
