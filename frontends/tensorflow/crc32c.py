"""The checksum of checkpoints: CRC-32C (Castagnoli), masked as LevelDB masks it."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
"""The polynomial, with its bits in reverse order."""
_MASK = 0xA282EAD8
_START = 4
"""Bytes of a checksum."""
_SHORTEST = 5
"""The logarithm of the least length of a part."""
_Words = NDArray[np.uint32]


def masked_crc32c(data: bytes | memoryview) -> int:
    """Return the masked checksum of bytes."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def crc32c(data: bytes | memoryview) -> int:
    """Return the checksum of bytes.

    They are cut into parts of one length, whose checksums are computed side by side and then joined in pairs: that of
    `a + b` is that of `a`, moved over as many zeros as `b` has bytes, xor that of `b`. Zeros in front change nothing.
    """
    array = np.frombuffer(data, np.uint8)
    count = len(array)
    if count < _START:
        return _short(bytes(data))
    length = 1 << max(count.bit_length() // 2, _SHORTEST)
    lanes = -(-count // length)
    rows = np.zeros(lanes * length, np.uint8)
    rows[-count:] = array
    # A checksum begins with ones: that is as if the first bytes were inverted.
    rows[-count:][:_START] ^= 0xFF
    table = _table()
    parts: _Words = np.zeros(1 << (lanes - 1).bit_length(), np.uint32)
    inside = parts[len(parts) - lanes :]
    for column in np.ascontiguousarray(rows.reshape(lanes, length).T):
        inside[:] = table[(inside ^ column) & 0xFF] ^ (inside >> np.uint32(8))
    tables = _zeros_after(length)
    while len(parts) > 1:
        parts = _moved(parts[::2], tables) ^ parts[1::2]
        tables = _twice(tables)
    return int(parts[0]) ^ 0xFFFFFFFF


def _short(data: bytes) -> int:
    crc, numbers = 0xFFFFFFFF, _table().tolist()
    for byte in data:
        crc = numbers[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@cache
def _table() -> _Words:
    """Return what each byte adds to a checksum."""
    entries = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        entries = np.where(entries & 1, entries >> 1 ^ _POLYNOMIAL, entries >> 1).astype(np.uint32)
    return entries


def _moved(parts: _Words, tables: _Words) -> _Words:
    """Return checksums moved over zeros; `tables` (4, 256) say what becomes of each byte of one."""
    result = tables[0][parts & 0xFF]
    for byte in range(1, 4):
        result = result ^ tables[byte][parts >> (8 * byte) & 0xFF]
    return result


@cache
def _zeros_after(length: int) -> _Words:
    """Return the tables that move a checksum over `length` zeros."""
    values = np.concatenate([np.arange(256, dtype=np.uint32) << np.uint32(8 * byte) for byte in range(4)])
    result = values.astype(np.uint32)
    power = (_table()[values & 0xFF] ^ (values >> 8)).astype(np.uint32).reshape(4, 256)
    while length:
        if length & 1:
            result = _moved(result, power)
        power, length = _twice(power), length >> 1
    return result.reshape(4, 256)


def _twice(tables: _Words) -> _Words:
    """Return the tables for twice as many zeros."""
    return _moved(tables.reshape(-1), tables).reshape(4, 256)
