"""Models that the page sends: files in a private folder under names of ours."""

from __future__ import annotations

import threading
from io import BufferedIOBase
from pathlib import Path

from whence.exploring.guard import Refusal
from whence.reading.models import SUFFIXES

_CHUNK = 1 << 20


class Uploads:
    """Files by number; what a file is called by its sender is never part of a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._paths: list[Path] = []

    def take(self, stream: BufferedIOBase, length: int, name: str) -> dict[str, object]:
        """Write the next `length` bytes of a stream to a file; of the name only the ending counts.

        Refuses other endings than those of models, and less data.
        """
        suffix = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), None)
        if suffix is None:
            raise Refusal(400, f"expected a file in {', '.join(SUFFIXES)}")
        with self._lock:
            number = len(self._paths)
            self._paths.append(self._folder / f"upload{number}{suffix}")
        path = self._paths[number]
        left = length
        with open(path, "wb") as file:
            while left and (data := stream.read(min(left, _CHUNK))):
                file.write(data)
                left -= len(data)
        if left:
            path.unlink()
            raise Refusal(400, "expected the whole body")
        return {"upload": number}

    def path(self, number: object) -> Path:
        """Return the file of a number; refuses others."""
        with self._lock:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self._paths):
                raise Refusal(400, "expected an upload")
            return self._paths[number]

    def write(self, text: str, suffix: str) -> Path:
        """Keep a text as a file; refuses endings that no text has."""
        if suffix not in (".relay", ".mlir"):
            raise Refusal(400, "expected Relay text (.relay) or a module (.mlir)")
        with self._lock:
            path = self._folder / f"text{len(self._paths)}{suffix}"
            self._paths.append(path)
        path.write_text(text)
        return path
