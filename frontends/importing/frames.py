"""Stack traces of Python that exporters write into models: which line of the user's own file called an operator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from xdsl.dialects.builtin import NameLoc

from ...provenance.span import layer_location


class Frame(NamedTuple):
    """A call in a stack trace."""

    file: str
    line: int
    function: str = ""
    code: str = ""
    """The text of the line, where the exporter wrote it down."""


_FILES = 4096
"""The number of files whose names are kept: those of a model are the same few in thousands of traces."""
MOST_TEXT = 1 << 16
"""The characters of the longest text of an exporter that is read."""
_MOST_CALLS = 24
"""The number of calls that a place has at most: the innermost ones."""

_FRAME = re.compile(r'\s*File "([^"]{1,1024})", line ([0-9]{1,9})(?:, in (.*))?')
_LIBRARY = re.compile(
    r"(?:^|[\\/])(?:torch[\\/](?:nn|_|fx|export|functional|utils|autograd|overrides|amp|ao|jit|distributions|onnx)"
    r"|tensorflow[\\/](?:python|core)[\\/]|(?:tf_)?keras[\\/]src[\\/]"
    r"|jax[\\/](?:_src|nn|numpy|lax|scipy|interpreters|experimental)[\\/]|flax[\\/](?:linen|nnx|core)[\\/]"
    r"|haiku[\\/]_src[\\/]|equinox[\\/](?:nn|_)|optax[\\/])"
)
"""Files of frameworks and of libraries of layers, in which no layer of the user's is written."""
_INSTALLED = re.compile(r"^.*[\\/](?:site|dist)-packages[\\/]")


def frames_in(text: str) -> tuple[Frame, ...]:
    """The frames of a stack trace as Python writes it, the outermost first; each may be followed by a line of code.

    Other lines are left out; a text of more than `MOST_TEXT` characters has no frames.
    """
    if len(text) > MOST_TEXT:
        return ()
    frames: list[Frame] = []
    fresh = False
    for line in text.splitlines():
        match = _FRAME.fullmatch(line)
        if match is not None:
            fresh = match[1].isprintable()
            if fresh:
                frames.append(Frame(match[1], int(match[2]), (match[3] or "").strip()))
        elif fresh:
            code = line.strip()
            frames[-1] = frames[-1]._replace(code=code if code.isprintable() else "")
            fresh = False
    return tuple(frames)


def user_frames(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The calls that are no part of a library, the innermost first; of the library's the innermost without others.

    None without frames of files: `<stdin>` and `<eval_with_key>.1` are none. A line that a library called back is
    there once, as that of a lambda in `jax.grad`. Names of files in installed packages begin with the package's name.
    """
    in_files = [frame for frame in reversed(frames) if not frame.file.startswith("<")]
    own = [frame for frame in in_files if not _is_library(frame.file)] or in_files[:1]
    lines = [next(same) for _, same in groupby(own, key=lambda frame: (frame.file, frame.line))]
    return tuple(frame._replace(file=_without_packages(frame.file)) for frame in lines[:_MOST_CALLS])


@lru_cache(_FILES)
def _is_library(file: str) -> bool:
    return _LIBRARY.search(file) is not None


@lru_cache(_FILES)
def _without_packages(file: str) -> str:
    return _INSTALLED.sub("", file)


def frames_location(layer: str, frames: Sequence[Frame]) -> NameLoc:
    """The leaf of a layer that was called by the first of `user_frames`, and that by the others."""
    innermost, *callers = ((frame.file, frame.line) for frame in frames)
    return layer_location(layer, *innermost, callers=tuple(callers))
