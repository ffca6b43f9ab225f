"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import PipelineError


def _mode() -> int:
    """What `open` would give a new file; temporary files are private."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes]]:
    """A stream whose bytes become the file `path` when the scope ends well; otherwise nothing changes.

    What is no ordinary file (a pipe, /dev/null) is written directly. Raises PipelineError when it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            with open(path, "wb") as stream:
                yield stream
            return
        target = path.resolve()
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with open(handle, "wb") as stream:
                yield stream
            os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else _mode())
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise PipelineError(f"{path}: cannot be written: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file, as a whole or not at all; raises PipelineError when that fails."""
    with replacing(path) as stream:
        stream.write(text.encode())
