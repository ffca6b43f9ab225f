"""Python stack traces that exporters write into models: the lines of the user's own files that call operators."""

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
    """The text of the line, if the exporter recorded it."""


_FILES = 4096
"""The number of file names that are cached: the thousands of traces of a model have the same few."""
MOST_TEXT = 1 << 16
"""The maximal number of characters of an exporter's text that is read."""
_MOST_CALLS = 24
"""The maximal number of calls of a location: the innermost ones."""

_FRAME = re.compile(r'\s*File "([^"]{1,1024})", line ([0-9]{1,9})(?:, in (.*))?')
_LIBRARY = re.compile(
    r"(?:^|[\\/])(?:torch[\\/](?:nn|_|fx|export|functional|utils|autograd|overrides|amp|ao|jit|distributions|onnx)"
    r"|tensorflow[\\/](?:python|core)[\\/]|(?:tf_)?keras[\\/]src[\\/]"
    r"|jax[\\/](?:_src|nn|numpy|lax|scipy|interpreters|experimental)[\\/]|flax[\\/](?:linen|nnx|core)[\\/]"
    r"|haiku[\\/]_src[\\/]|equinox[\\/](?:nn|_)|optax[\\/])"
)
"""The files of frameworks and of libraries of layers, which are not the user's."""
_INSTALLED = re.compile(r"^.*[\\/](?:site|dist)-packages[\\/]")


def frames_in(text: str) -> tuple[Frame, ...]:
    """Return the frames of a stack trace in Python's form, outermost first; a line of code may follow each.

    Other lines are ignored; a text of more than `MOST_TEXT` characters has no frames.
    """
    if len(text) > MOST_TEXT:
        return ()
    frames: list[Frame] = []
    expects_code = False
    for line in text.splitlines():
        match = _FRAME.fullmatch(line)
        if match is not None:
            expects_code = match[1].isprintable()
            if expects_code:
                frames.append(Frame(match[1], int(match[2]), (match[3] or "").strip()))
        elif expects_code:
            code = line.strip()
            frames[-1] = frames[-1]._replace(code=code if code.isprintable() else "")
            expects_code = False
    return tuple(frames)


def user_frames(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the calls outside libraries, innermost first; if there are none, the innermost call of a library.

    Frames outside files, `<stdin>` or `<eval_with_key>.1`, do not count. A line that a library calls back, such as a
    lambda in `jax.grad`, appears once. Names of files in installed packages begin with the package's name.
    """
    in_files = [frame for frame in reversed(frames) if not frame.file.startswith("<")]
    user_code = [frame for frame in in_files if not _is_library(frame.file)] or in_files[:1]
    lines = [next(repeated) for _, repeated in groupby(user_code, key=lambda frame: (frame.file, frame.line))]
    return tuple(frame._replace(file=_without_packages(frame.file)) for frame in lines[:_MOST_CALLS])


@lru_cache(_FILES)
def _is_library(file: str) -> bool:
    return _LIBRARY.search(file) is not None


@lru_cache(_FILES)
def _without_packages(file: str) -> str:
    return _INSTALLED.sub("", file)


def frames_location(layer: str, frames: Sequence[Frame]) -> NameLoc:
    """Return the leaf of a layer at the first of `user_frames`, with the others as its callers."""
    innermost, *callers = ((frame.file, frame.line) for frame in frames)
    return layer_location(layer, *innermost, callers=tuple(callers))
