"""The checksum of checkpoints: CRC-32C (Castagnoli), masked as LevelDB masks it."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
"""Of the bits in reverse order."""
_MASK = 0xA282EAD8
_LANE = 2048
"""Bytes of a part: so many steps are made for all parts at once."""
_Words = NDArray[np.uint32]


def masked_crc32c(data: bytes | memoryview) -> int:
    """Return the masked checksum of bytes."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def crc32c(data: bytes | memoryview) -> int:
    """Return the checksum of bytes.

    Long data are cut into parts of one length, whose checksums are computed side by side and then joined in pairs: that
    of `a + b` is that of `a`, moved over as many zeros as `b` has bytes, xor that of `b`.
    """
    array = np.frombuffer(data, np.uint8)
    lanes = 1 << (len(array) // _LANE).bit_length() - 1 if len(array) >= 2 * _LANE else 1
    length = len(array) // lanes if lanes > 1 else 0
    crc = 0xFFFFFFFF
    if length:
        parts: _Words = np.zeros(lanes, np.uint32)
        parts[0] = crc
        table, columns = _table(), np.ascontiguousarray(array[: lanes * length].reshape(lanes, length).T)
        for column in columns:
            parts = table[(parts ^ column) & 0xFF] ^ (parts >> np.uint32(8))
        tables = _zeros_after(length)
        while len(parts) > 1:
            parts = _moved(parts[::2], tables) ^ parts[1::2]
            tables = _twice(tables)
        crc = int(parts[0])
    numbers = _table().tolist()
    for byte in array[lanes * length :].tolist():
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
