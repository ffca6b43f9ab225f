"""Stack traces of Python that exporters write into models: which line of the user's own file called an operator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

Frame: TypeAlias = "tuple[str, int, str]"
"""File, line and function of a call."""

MOST_TEXT = 1 << 16
"""The characters of the longest text of an exporter that is read."""

_FRAME = re.compile(r'\s*File "([^"]{1,1024})", line ([0-9]{1,9})(?:, in (.*))?')
_LIBRARY = re.compile(
    r"(?:^|[\\/])torch[\\/](?:nn|_|fx|export|functional|utils|autograd|overrides|amp|ao|jit|distributions|onnx)"
)
"""Files of torch itself, in which no layer is written."""
_INSTALLED = re.compile(r"^.*[\\/](?:site|dist)-packages[\\/]")


def frames_in(text: str) -> tuple[Frame, ...]:
    """File, line and function of each frame of a stack trace as Python writes it, the outermost first.

    Lines that are no frames are left out; a text of more than `MOST_TEXT` characters has none.
    """
    if len(text) > MOST_TEXT:
        return ()
    matches = (_FRAME.fullmatch(line) for line in text.splitlines())
    return tuple((m[1], int(m[2]), (m[3] or "").strip()) for m in matches if m is not None and m[1].isprintable())


def user_line(frames: Sequence[Frame]) -> tuple[str, int] | None:
    """File and line of the innermost call that is no part of torch; of torch's where there is no other.

    None without frames of files. Names of files in installed packages begin with the package's name.
    """
    library: Frame | None = None
    for frame in reversed(frames):
        if frame[0].startswith("<"):  # `<stdin>` and `<eval_with_key>.1` are no files
            continue
        if not _LIBRARY.search(frame[0]):
            return _INSTALLED.sub("", frame[0]), frame[1]
        library = library or frame
    return None if library is None else (_INSTALLED.sub("", library[0]), library[1])
