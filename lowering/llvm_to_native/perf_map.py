"""`/tmp/perf-PID.map`, by which Linux perf names the functions of code that was made while the program ran.

Written when WHENCE_PERF_MAP is set to anything but "" and 0.
"""

from __future__ import annotations

import logging
import os
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

_log = logging.getLogger(__name__)
_SECTIONS = struct.Struct("<40xQ10xHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB, _FUNC = 2, 2


class Function(NamedTuple):
    """A function of an object file: where it lies in its section, in bytes."""

    name: str
    section: int
    offset: int
    size: int


def functions(data: bytes) -> Iterator[Function]:
    """The functions that a 64-bit little-endian ELF object defines, local ones included; none of another file."""
    if data[:6] != b"\x7fELF\x02\x01":
        return
    start, size, count = cast("tuple[int, int, int]", _SECTIONS.unpack_from(data))
    sections = [cast("tuple[int, ...]", _SECTION.unpack_from(data, start + number * size)) for number in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != _SYMTAB:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, info, _, section, value, extent = cast("tuple[int, ...]", _SYMBOL.unpack_from(data, at))
            if info & 15 == _FUNC and section:
                text = data[strings + name : data.index(b"\0", strings + name)]
                yield Function(text.decode(), section, value, extent)


def write_perf_map(objects: Sequence[bytes], addresses: Mapping[str, int]) -> None:
    """Add the functions of loaded objects to this process's map. `addresses` holds at least one of each section's."""
    if os.environ.get("WHENCE_PERF_MAP", "0") in ("", "0"):
        return
    lines: list[str] = []
    for data in objects:
        code = list(functions(data))
        bases = {
            function.section: addresses[function.name] - function.offset
            for function in code
            if function.name in addresses
        }
        lines += [
            f"{bases[function.section] + function.offset:x} {function.size:x} {function.name}\n"
            for function in code
            if function.section in bases
        ]
    # Anybody may have put something at this name: what is a link, or another's, is left alone.
    path = f"/tmp/perf-{os.getpid()}.map"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        _log.warning("%s is not written: %s", path, error.strerror)
        return
    with open(handle, "a") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_nlink != 1:
            _log.warning("%s is not written: it is no file of ours alone", path)
            return
        file.write("".join(lines))
