"""Stack traces of Python that exporters write into models: which line of the user's own file called an operator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Frame: TypeAlias = "tuple[str, int, str]"
"""File, line and function of a call."""

MOST_TEXT = 1 << 16
"""The characters of the longest text of an exporter that is read."""

_FRAME = re.compile(r'\s*File "([^"]{1,1024})", line ([0-9]{1,9})(?:, in (.*))?')
_LIBRARY = re.compile(
    r"(?:^|[\\/])(?:torch[\\/](?:nn|_|fx|export|functional|utils|autograd|overrides|amp|ao|jit|distributions|onnx)"
    r"|jax[\\/](?:_src|nn|numpy|lax|scipy|interpreters|experimental)[\\/]|flax[\\/](?:linen|nnx|core)[\\/]"
    r"|haiku[\\/]_src[\\/]|equinox[\\/](?:nn|_)|optax[\\/])"
)
"""Files of torch, and of JAX and the libraries of layers for it, in which no layer of the user's is written."""
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
    """File and line of the innermost call that is no part of a library of layers; of one where there is no other.

    None without frames of files. Names of files in installed packages begin with the package's name.
    """
    return _last(frame for frame in frames if not _LIBRARY.search(frame[0])) or _last(frames)


def _last(frames: Iterable[Frame]) -> tuple[str, int] | None:
    """The innermost frame of a file: `<stdin>` and `<eval_with_key>.1` are none."""
    in_files = [(file, line) for file, line, _ in frames if not file.startswith("<")]
    return (_INSTALLED.sub("", in_files[-1][0]), in_files[-1][1]) if in_files else None
