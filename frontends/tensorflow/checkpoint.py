"""Reads checkpoints: bundles of an index and shards of data, which hold the tensors of variables."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError
from .crc32c import masked_crc32c
from .messages import parse
from .sorted_table import entries
from .values import dtype_of, extents_of

_MOST_SHARDS = 99_999


class Checkpoint(Mapping[str, Array]):
    """The tensors of a bundle by their keys, each read and checked on access.

    prefix: the path of the index file without `.index`. Raises FrontendError for missing and damaged files.
    """

    def __init__(self, prefix: Path):
        self.prefix = prefix
        index = prefix.with_name(f"{prefix.name}.index")
        try:
            data = index.read_bytes()
        except OSError as error:
            raise FrontendError(f"{index}: expected the index of the variables, got: {error.strerror}") from error
        self._shards = 1
        self._entries: dict[str, Any] = {}
        self._data: dict[int, Array] = {}
        for key, value in entries(data, str(index)):
            if not key:
                header = parse("BundleHeaderProto", value, str(index))
                self._shards = header.num_shards
                if header.endianness or not 0 <= header.num_shards <= _MOST_SHARDS:
                    actual = f"{header.num_shards} shards, byte order {header.endianness}"
                    raise FrontendError(f"{index}: expected shards of little-endian numbers, got {actual}")
                continue
            self._entries[key.decode(errors="replace")] = parse("BundleEntryProto", value, str(index))

    def __iter__(self):
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __getitem__(self, key: str) -> Array:
        entry = self._entries[key]
        subject = f"{self.prefix}: variable '{key}'"
        dtype, shape = dtype_of(entry.dtype, subject), extents_of(entry.shape)
        if entry.slices:
            raise FrontendError(f"{subject}: expected a variable in one piece, got one in {len(entry.slices)}")
        if shape is None or min(shape, default=0) < 0 or entry.size != prod(shape) * dtype.itemsize:
            raise FrontendError(f"{subject}: expected the bytes of {dtype.name}{list(shape or ())}, got {entry.size}")
        shard = self._shard(entry.shard_id, subject)
        if not 0 <= entry.offset <= len(shard) - entry.size:
            actual = f"{entry.size} at {entry.offset} of {len(shard)}"
            raise FrontendError(f"{subject}: expected bytes inside the file, got {actual}")
        raw = shard[entry.offset : entry.offset + entry.size].tobytes()
        if masked_crc32c(raw) != entry.crc32c:
            raise FrontendError(f"{subject}: expected the bytes of checksum {entry.crc32c:#010x}, got a damaged file")
        return np.frombuffer(raw, dtype).reshape(shape)

    def _shard(self, number: int, subject: str) -> Array:
        """Return the bytes of a shard, mapped into memory."""
        if not 0 <= number < self._shards:
            raise FrontendError(f"{subject}: expected a shard below {self._shards}, got {number}")
        if number not in self._data:
            path = self.prefix.with_name(f"{self.prefix.name}.data-{number:05d}-of-{self._shards:05d}")
            try:
                empty = not path.stat().st_size
                self._data[number] = np.zeros(0, np.uint8) if empty else np.memmap(path, np.uint8, "r")
            except OSError as error:
                raise FrontendError(f"{path}: expected the data of variables, got: {error.strerror}") from error
        return self._data[number]
