"""The on-disk cache of compiled kernels: key (hex sha256 of all that shapes the code) -> bytes.

Files are written beside their place and renamed, so that processes may share a folder. A file that is truncated or
changed is a miss and gets replaced. No file is ever executed as Python: records are JSON with raw blobs.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

_log = logging.getLogger(__name__)
_KEY = re.compile(r"[0-9a-f]{64}")
_MAGIC = b"WHENCE\x00\x01"
_HEADER = struct.Struct("<8sQ32s")
_LENGTH = struct.Struct("<Q")


def default_folder() -> Path | None:
    """WHENCE_CACHE_DIR, else `$XDG_CACHE_HOME/whence`, else `~/.cache/whence`; None when WHENCE_CACHE_DIR is empty."""
    given = os.environ.get("WHENCE_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "whence"
    try:
        return Path.home() / ".cache" / "whence"
    except RuntimeError:  # no home folder
        return None


class KernelCache:
    """A folder of cached bytes; without one (`enabled=False`, or an empty WHENCE_CACHE_DIR) every `get` misses.

    A folder that cannot be written is reported once through `logging`, and does no other harm.
    """

    folder: Path | None

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, enabled: bool = True):
        if not enabled:
            self.folder = None
        else:
            self.folder = Path(folder) if folder is not None else default_folder()
        self._writable = True

    def get(self, key: str) -> bytes | None:
        """The bytes under `key`; None when there are none or the file is damaged."""
        path = self._path(key)
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if len(content) < _HEADER.size:
            return None
        magic, length, digest = cast("tuple[bytes, int, bytes]", _HEADER.unpack_from(content))
        data = content[_HEADER.size :]
        whole = magic == _MAGIC and length == len(data) and digest == hashlib.sha256(data).digest()
        return data if whole else None

    def put(self, key: str, data: bytes) -> None:
        """Store `data` under `key`, replacing what is there."""
        path = self._path(key)
        if path is None or not self._writable:
            return
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(_HEADER.pack(_MAGIC, len(data), hashlib.sha256(data).digest()))
                file.write(data)
            os.replace(temporary, path)
        except OSError as error:
            self._writable = False
            _log.warning("kernel cache: cannot write %s (%s); going on without it", path.parent, error)
            if temporary is not None and os.path.exists(temporary):
                os.unlink(temporary)

    def _path(self, key: str) -> Path | None:
        """Where `key` lies. Raises ValueError when it is no hex sha256."""
        if not _KEY.fullmatch(key):
            raise ValueError(f"KernelCache: expected a key of 64 hex digits, got {key!r}")
        return None if self.folder is None else self.folder / key[:2] / key


def encode(record: Mapping[str, object]) -> bytes:
    """The bytes of a record of str, bytes, int, and tuples and str-keyed dicts of them (nested at will).

    Top-level texts are compressed. Raises TypeError for other values.
    """
    blobs: list[bytes] = []

    def blob(data: bytes) -> int:
        blobs.append(data)
        return len(data)

    def plain(value: object) -> object:
        match value:
            case int() | str() if not isinstance(value, bool):
                return value
            case bytes():
                return {"b": blob(value)}
            case tuple():
                return [plain(item) for item in cast("tuple[object, ...]", value)]
            case dict():
                items = cast("dict[object, object]", value)
                if not all(isinstance(key, str) for key in items):
                    raise TypeError("encode: expected str keys")
                return {"d": {key: plain(item) for key, item in items.items()}}
            case _:
                raise TypeError(f"encode: expected str, bytes, int, tuple or dict, got {type(value).__name__}")

    fields: dict[str, object] = {}
    for name, value in record.items():
        fields[name] = {"z": blob(zlib.compress(value.encode()))} if isinstance(value, str) else plain(value)
    head = json.dumps(fields, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *blobs))


def decode(data: bytes) -> dict[str, object]:
    """The record that `encode` made `data` of. Raises ValueError when the bytes are no record."""
    try:
        (size,) = cast("tuple[int]", _LENGTH.unpack_from(data))
        at = _LENGTH.size + size
        fields: dict[str, Any] = json.loads(data[_LENGTH.size : at])

        def take(length: int) -> bytes:
            nonlocal at
            at += length
            if length < 0 or at > len(data):
                raise ValueError("truncated")
            return data[at - length : at]

        def value(item: Any) -> object:
            match item:
                case int() | str():
                    return item
                case list():
                    return tuple(value(one) for one in cast("list[Any]", item))
                case {"b": int(length)}:
                    return take(length)
                case {"z": int(length)}:
                    return zlib.decompress(take(length)).decode()
                case {"d": items}:
                    return {key: value(one) for key, one in cast("dict[str, Any]", items).items()}
                case _:
                    raise ValueError(f"unexpected {item!r}")

        return {name: value(item) for name, item in fields.items()}
    except (struct.error, zlib.error, ValueError, AttributeError) as error:
        raise ValueError(f"decode: no record ({error})") from error
