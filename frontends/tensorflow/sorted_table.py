"""Reads the index file of a checkpoint, a sorted table of keys and values in LevelDB's form."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ...support.errors import FrontendError
from .crc32c import masked_crc32c

_MAGIC = 0xDB4775248B80FB57
_FOOTER, _TRAILER = 48, 5
"""The number of bytes at the end of the file, and after each block, which hold its compression and checksum."""
_MOST_BITS = 63


def entries(data: bytes, file: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a table, in order. Raises FrontendError for damaged and other files."""
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise _damaged(file, "a footer that says it is a table")
    footer = data[-_FOOTER:]
    _, at = _handle(footer, 0, file)
    index, _ = _handle(footer, at, file)
    for _, value in _block(data, *index, file):
        handle, _ = _handle(value, 0, file)
        yield from _block(data, *handle, file)


def _block(data: bytes, offset: int, size: int, file: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block; a key is a prefix of the key before and a suffix."""
    if size < 4 or offset + size + _TRAILER > len(data) - _FOOTER:
        raise _damaged(file, f"a block inside the file, not at {offset} of {size} bytes")
    kind, checksum = struct.unpack_from("<BI", data, offset + size)
    if masked_crc32c(data[offset : offset + size + 1]) != checksum:
        raise _damaged(file, f"the checksum of its block at {offset}")
    if kind:
        raise FrontendError(f"{file}: expected a table without compression, got kind {kind}")
    block = data[offset : offset + size]
    (restarts,) = struct.unpack_from("<I", block, size - 4)
    end = size - 4 - 4 * restarts
    at, key = 0, b""
    while at < end:
        prefix_length, at = _varint(block, at, file)
        suffix_length, at = _varint(block, at, file)
        length, at = _varint(block, at, file)
        if prefix_length > len(key) or at + suffix_length + length > end:
            raise _damaged(file, "entries inside their block")
        key = key[:prefix_length] + block[at : at + suffix_length]
        at += suffix_length
        yield key, block[at : at + length]
        at += length


def _handle(data: bytes, at: int, file: str) -> tuple[tuple[int, int], int]:
    """Return the offset and size of a block, and the position of the next value."""
    offset, at = _varint(data, at, file)
    size, at = _varint(data, at, file)
    return (offset, size), at


def _varint(data: bytes, at: int, file: str) -> tuple[int, int]:
    number = shift = 0
    while at < len(data) and shift <= _MOST_BITS:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
    raise _damaged(file, "numbers that end")


def _damaged(file: str, expected: str) -> FrontendError:
    return FrontendError(f"{file}: expected {expected}, got a damaged index of a checkpoint")
