"""Parts of a session as blocks of a report: texts in gzip and base64, under the names that the page asks for."""

from __future__ import annotations

import base64
import gzip
import re
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any, cast

from ...support.errors import FrontendError, expectation

LIMIT = 1 << 29
"""The most bytes that a file, or the blocks of a report together, may unpack to."""
HEAD = "session-head"
_BLOCK = re.compile(rb'<script type="application/octet-stream" id="([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>')
_BEGIN = b"<!doctype html>"


def packed(name: str, text: str) -> str:
    """Return a part as an element of HTML; no text of it can end the element."""
    data = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
    return f'<script type="application/octet-stream" id="{name}">{data}</script>'


def is_report(data: bytes) -> bool:
    """Return whether the bytes of a file are HTML, as those of reports are."""
    return data[: len(_BEGIN)].lower() == _BEGIN


def unpacked(data: bytes, title: str, limit: int = LIMIT) -> bytes:
    """Return what gzip holds, of more than `limit` bytes one more; raises FrontendError where it is damaged."""
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) as stream:
            return stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FrontendError(expectation(title, "gzip", f"a damaged file: {error}")) from error


class Blocks:
    """The blocks of a report, which are read one by one."""

    def __init__(self, data: bytes, title: str):
        self._packed = {match[1].decode(): match[2] for match in _BLOCK.finditer(data)}
        self._title = title
        self._left = LIMIT
        if HEAD not in self._packed:
            raise FrontendError(expectation(title, "a report of whence explore", "HTML without a session"))

    def text(self, name: str) -> bytes:
        """Return the text of a block; raises FrontendError for one that is missing, damaged or too large."""
        if (data := self._packed.get(name)) is None:
            raise FrontendError(expectation(self._title, f"a report with its part {name}", "one without"))
        try:
            text = unpacked(base64.b64decode(data, validate=True), self._title, self._left)
        except ValueError as error:
            raise FrontendError(expectation(f"{self._title}: {name}", "base64", str(error))) from error
        self._left -= len(text)
        if self._left < 0:
            raise FrontendError(expectation(self._title, f"at most {LIMIT} bytes of JSON", "more"))
        return text


def with_parts(head: object, parts: Callable[[str], object]) -> object:
    """Return the JSON of a session from that of its head; parts: returns the JSON of a part by its name."""
    if isinstance(head, dict):
        document = cast("dict[str, Any]", head)
        for table, part, name in (("stages", "stage", "body"), ("schedules", "schedule", "frames")):
            rows = document.get(table)
            for number, row in enumerate(cast("list[Any]", rows) if isinstance(rows, list) else []):
                if isinstance(row, dict):
                    row[name] = parts(f"{part}-{number}")
    return cast("object", head)
