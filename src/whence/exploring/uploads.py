"""Models that the page sends: files in a private folder under names of ours."""

from __future__ import annotations

import errno
import threading
from io import BufferedIOBase, BytesIO
from pathlib import Path

from whence.exploring.guard import UPLOAD_LIMIT, Refusal
from whence.reading.models import SUFFIXES

_CHUNK = 1 << 20
MOST_BYTES = 4 * UPLOAD_LIMIT
"""The most bytes of all files together."""
MOST_FILES = 1024


class Uploads:
    """Complete files by number; a sender's name of a file is never part of a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._paths: dict[int, Path] = {}
        self._count = self._bytes = 0

    def take(self, stream: BufferedIOBase, length: int, name: str) -> dict[str, object]:
        """Write the next `length` bytes of a stream to a file, of whose name only the suffix is kept.

        Refuses suffixes that no model has, truncated data, and files that exceed the space.
        """
        suffix = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), None)
        if suffix is None:
            raise Refusal(400, f"expected a file in {', '.join(SUFFIXES)}")
        return {"upload": self._kept(stream, length, f"upload{{}}{suffix}")[0]}

    def path(self, number: object) -> Path:
        """Return the file of a number; refuses others."""
        with self._lock:
            if isinstance(number, bool) or not isinstance(number, int) or number not in self._paths:
                raise Refusal(400, "expected an upload")
            return self._paths[number]

    def write(self, text: str, suffix: str) -> Path:
        """Store a text as a file; refuses suffixes that no text has, and texts that exceed the space."""
        if suffix not in (".relay", ".mlir"):
            raise Refusal(400, "expected Relay text (.relay) or a module (.mlir)")
        data = text.encode()
        return self._kept(BytesIO(data), len(data), f"text{{}}{suffix}")[1]

    def _kept(self, stream: BufferedIOBase, length: int, name: str) -> tuple[int, Path]:
        """Write a file, and number it when it is complete; an incomplete file is removed."""
        with self._lock:
            if self._count >= MOST_FILES or self._bytes + length > MOST_BYTES:
                raise Refusal(413, f"expected at most {MOST_FILES} files of {MOST_BYTES} bytes in all")
            number, self._count, self._bytes = self._count, self._count + 1, self._bytes + length
        path = self._folder / name.format(number)
        try:
            with open(path, "wb") as file:
                left = length
                while left and (data := stream.read(min(left, _CHUNK))):
                    file.write(data)
                    left -= len(data)
            if left:
                raise Refusal(400, "expected the whole body")
        except BaseException as error:
            path.unlink(missing_ok=True)
            with self._lock:
                self._bytes -= length
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise Refusal(507, f"expected room for {length} bytes, got a full disk") from error
            raise
        with self._lock:
            self._paths[number] = path
        return number, path
