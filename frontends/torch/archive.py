"""Reads the zip archive of a .pt2 file, whose entries are checked before use. No pickle is ever read."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any, cast

from ...support.errors import FrontendError
from ...support.names import shortened, shown

_LARGEST_DOCUMENT = 1 << 30
"""The greatest number of bytes of a JSON document, which takes many times as many in memory."""
_ENCRYPTED, _UTF8 = 1, 1 << 11
_HEADER = struct.Struct("<4s2xH18xHH")
"""The header of an entry: a mark, flags, and the lengths of its name and of extra fields."""
_MARK = b"PK\x03\x04"
SHOWN = 300
"""The greatest number of characters of a file that an error shows."""
_OLD = "serialized_exported_program.json"
_AGAIN = "have torch.export.save of torch 2.8 or later write it again"


class Archive:
    """A checked archive: entries by their names below the one root folder."""

    def __init__(self, data: bytes, file: str):
        self.file = file
        self._data = memoryview(data)
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
            infos = self._zip.infolist()
        except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError) as error:
            raise self.fail("a .pt2 archive (a zip file)", f"{len(data)} bytes that are none: {error}") from error
        if any(info.filename == _OLD for info in infos):
            raise self.fail("a .pt2 archive of torch 2.8 or later", f"one of an older torch; {_AGAIN}")
        self._entries: dict[str, zipfile.ZipInfo] = {}
        root = infos[0].filename.partition("/")[0] if infos else ""
        total = 0
        for info in infos:
            self._check(info, root)
            total += info.file_size
            name = info.filename.removeprefix(f"{root}/")
            if name in self._entries:
                raise self.fail("entries whose names differ", f"two called '{info.filename}'")
            self._entries[name] = info
        if total > len(data):
            raise self.fail(f"entries inside the file of {len(data)} bytes", f"entries of {total} bytes together")
        self._check_kind()

    def fail(self, expected: str, actual: str) -> FrontendError:
        text = f"expected {shortened(shown(expected), SHOWN)}, got {shortened(shown(actual), SHOWN)}"
        return FrontendError(f"{self.file}: {text}")

    def _check(self, info: zipfile.ZipInfo, root: str) -> None:
        """Raise FrontendError for an entry that no exporter writes."""
        name = info.filename
        parts = name.split("/")
        if ".." in parts or name.startswith("/") or "\\" in name or "\0" in name:
            raise self.fail("names of entries inside the archive", repr(name))
        if parts[0] != root:
            raise self.fail(f"all entries in one folder '{root}'", repr(name))
        if info.flag_bits & _ENCRYPTED:
            raise self.fail("entries that are not encrypted", repr(name))
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            actual = f"'{name}' of {info.file_size} bytes in {info.compress_size}"
            raise self.fail("entries that are stored, not compressed", actual)

    def _check_kind(self) -> None:
        """Raise FrontendError for archives of other kinds, by name."""
        if "archive_format" in self._entries and self.read("archive_format").strip() == b"pt2":
            if (order := self.read("byteorder").strip() if "byteorder" in self._entries else b"little") != b"little":
                raise self.fail("numbers in little-endian order", order.decode("utf-8", "replace"))
            return
        if {"data.pkl", "constants.pkl"} & self._entries.keys():
            actual = "pickled objects (torch.save, torch.jit.save), which are not read: they may run any code"
            raise self.fail("a program written by torch.export.save", actual)
        raise self.fail("a .pt2 archive, with 'archive_format' pt2", "a zip file without")

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def size(self, name: str) -> int:
        """Return the number of bytes of an entry."""
        return self._info(name).file_size

    def _info(self, name: str) -> zipfile.ZipInfo:
        if name not in self._entries:
            raise self.fail(f"an entry '{name}'", "none")
        return self._entries[name]

    def read(self, name: str) -> bytes:
        """Return the contents of an entry; raises FrontendError for a missing or damaged entry."""
        return bytes(self.view(name))

    def view(self, name: str) -> memoryview:
        """Return the contents of an entry without a copy; raises as `read`."""
        info = self._info(name)
        header = bytes(self._data[info.header_offset : info.header_offset + _HEADER.size])
        if len(header) != _HEADER.size:
            raise self.fail(f"a readable entry '{name}'", "one that begins behind the end of the file")
        mark, flags, name_length, extra_length = _HEADER.unpack(header)
        start = info.header_offset + _HEADER.size
        stored = bytes(self._data[start : start + name_length])
        expected_name = info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437", "replace")
        if mark != _MARK or flags & _ENCRYPTED or stored != expected_name:
            raise self.fail(f"a readable entry '{name}'", "another one in its place")
        data = self._data[start + name_length + extra_length : start + name_length + extra_length + info.file_size]
        if len(data) != info.file_size:
            raise self.fail(f"{info.file_size} bytes in '{name}'", str(len(data)))
        if zlib.crc32(data) != info.CRC:
            raise self.fail(f"a readable entry '{name}'", "one whose checksum is wrong")
        return data

    def document(self, name: str) -> Mapping[str, Any]:
        """Return the JSON object in an entry."""
        if self.size(name) > _LARGEST_DOCUMENT:
            raise self.fail(f"a JSON document of at most {_LARGEST_DOCUMENT} bytes in '{name}'", str(self.size(name)))
        try:
            parsed: object = json.loads(self.read(name))
        except RecursionError as error:
            raise self.fail(f"a JSON document in '{name}'", "one that nests too deeply") from error
        except ValueError as error:
            raise self.fail(f"a JSON document in '{name}'", f"none: {error}") from error
        if not isinstance(parsed, dict):
            raise self.fail(f"a JSON object in '{name}'", type(parsed).__name__)
        return cast("dict[str, Any]", parsed)

    def model(self) -> str:
        """Return the name of the entry with the program."""
        models = [name for name in self._entries if name.startswith("models/") and name.endswith(".json")]
        if "models/model.json" in models:
            return "models/model.json"
        if len(models) != 1:
            listed = ", ".join(sorted(models)) or "none (a compiled package?)"
            raise self.fail("one exported program in 'models'", listed)
        return models[0]
