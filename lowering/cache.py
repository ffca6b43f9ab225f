"""The on-disk cache of compiled kernels: key (hex sha256 of all that shapes the code) -> bytes.

What is found here is executed, so only what this user wrote is read: the folder and its files must be his, and nobody
else may write to them. A folder that is not so is left alone, with one warning. The path may lead through links, its
files may not be any.

Its files have a bound, WHENCE_CACHE_MB (1024 where it is not set, 0 for none): the folder is measured now and then as
files are written, and those not used for longest go. `whence cache` shows and clears it (`cache_folder.py`).

Files are written beside their place and renamed, so that processes may share a folder. A file that is truncated or
changed is a miss and gets replaced. No file is ever executed as Python: records are JSON with raw blobs.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import stat
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from .cache_folder import TEMPORARY, Untrusted, doubt, limit_bytes, opened, trim

_log = logging.getLogger(__name__)
_KEY = re.compile(r"[0-9a-f]{64}")
_MAGIC = b"WHENCE\x00\x02"
_HEADER = struct.Struct("<8sQ32s")
_LENGTH = struct.Struct("<Q")
_EFFORT = 1
"""The level of compression; the best one is a quarter smaller and takes five times as long."""


def default_folder() -> Path | None:
    """WHENCE_CACHE_DIR, else `$XDG_CACHE_HOME/whence`, else `~/.cache/whence`; None when WHENCE_CACHE_DIR is empty."""
    path = os.environ.get("WHENCE_CACHE_DIR")
    if path is not None:
        return Path(path) if path else None
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "whence"
    try:
        return Path.home() / ".cache" / "whence"
    except RuntimeError:  # no home folder
        return None


@cache
def _warn(text: str) -> None:
    """Log a warning, once per process and text."""
    _log.warning("%s", text)


class KernelCache:
    """A folder of cached bytes; without one (`enabled=False`, or an empty WHENCE_CACHE_DIR) every `get` misses.

    A folder that cannot be written, or trusted, is reported once through `logging`, and does no other harm.
    """

    folder: Path | None

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, enabled: bool = True):
        if not enabled:
            self.folder = None
        else:
            self.folder = Path(folder) if folder is not None else default_folder()
        self._writable = True

    def get(self, key: str) -> bytes | None:
        """The bytes under `key`; None when there are none, the file is damaged, or others may have written it."""
        _check(key)
        if self.folder is None:
            return None
        try:
            with opened(self.folder) as folder:
                content = _read(key, folder)
        except Untrusted as error:
            _warn(f"kernel cache: {self.folder} is not used: {error}")
            return None
        except OSError:
            return None
        if content is None or len(content) < _HEADER.size:
            return None
        magic, length, digest = cast("tuple[bytes, int, bytes]", _HEADER.unpack_from(content))
        data = content[_HEADER.size :]
        whole = magic == _MAGIC and length == len(data) and digest == _digest(key, data)
        return data if whole else None

    def put(self, key: str, data: bytes) -> None:
        """Store `data` under `key`, replacing what is there."""
        _check(key)
        if self.folder is None or not self._writable:
            return
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            with opened(self.folder) as folder:
                _write(key, _HEADER.pack(_MAGIC, len(data), _digest(key, data)) + data, folder)
                if _is_due(key, len(data)):
                    trim(folder, limit_bytes())
        except Untrusted as error:
            self._writable = False
            _warn(f"kernel cache: {self.folder} is not used: {error}")
        except OSError as error:
            self._writable = False
            _warn(f"kernel cache: cannot write {self.folder} ({error}); going on without it")


def _is_due(key: str, size: int) -> bool:
    """Return whether the folder is to be measured, now that a file of `size` bytes was written.

    Measuring takes long where there are many files, and no process knows what others wrote. So keys decide, which are
    evenly spread: of what all processes write, one file in each 64th of the limit has the folder measured.
    """
    most = limit_bytes()
    return most > 0 and int(key[:8], 16) * most < (64 * size) << 32


def _check(key: str) -> None:
    """Raises ValueError when a key is no hex sha256."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"KernelCache: expected a key of 64 hex digits, got {key!r}")


def _digest(key: str, data: bytes) -> bytes:
    """Return the digest of data and key, so that a file under another's name counts as damaged."""
    digest = hashlib.sha256(key.encode())
    digest.update(data)
    return digest.digest()


def _read(name: str, folder: int) -> bytes | None:
    """The bytes of a regular file of ours in a folder; None when it is another's. Raises OSError as `open` does."""
    # Not blocking: one that is a pipe must not hold us up.
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if problem := doubt(status):
            raise Untrusted(f"{name} in it: {problem}")
        # The file used last stays longest; another process may have removed it meanwhile.
        with suppress(OSError):
            os.utime(descriptor)
        return file.read()


def _write(name: str, content: bytes, folder: int) -> None:
    """Write a file of a folder whole or not at all. Raises OSError when it cannot be written."""
    temporary = f".{token_hex(8)}{TEMPORARY}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


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
        fields[name] = {"z": blob(zlib.compress(value.encode(), _EFFORT))} if isinstance(value, str) else plain(value)
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
                    return tuple(value(part) for part in cast("list[Any]", item))
                case {"b": int(length)}:
                    return take(length)
                case {"z": int(length)}:
                    return zlib.decompress(take(length)).decode()
                case {"d": items}:
                    return {key: value(part) for key, part in cast("dict[str, Any]", items).items()}
                case _:
                    raise ValueError(f"unexpected {item!r}")

        return {name: value(item) for name, item in fields.items()}
    except (struct.error, zlib.error, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"decode: no record ({error})") from error
