"""The work of a process that compiles texts for another: `u64 size, JSON of a Source` in, `u64 size, record` out,
of 0 bytes where it has no machine code.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ...support.codec import JSON
from ...support.errors import WhenceError
from ..cache import encode
from .compile import compile_text
from .target import Target

LENGTH = struct.Struct("<Q")


class Source(NamedTuple):
    """A module, and the lines of its source, as `compile_text` takes them."""

    text: str
    lines: Sequence[Sequence[Any]]


def main(target: str) -> None:
    """Compile for a target in JSON until standard input ends."""
    machine = JSON.decode(Target, json.loads(target), "target")
    into, out = sys.stdin.buffer, sys.stdout.buffer
    while len(head := into.read(LENGTH.size)) == LENGTH.size:
        (size,) = cast("tuple[int]", LENGTH.unpack(head))
        try:
            source = JSON.decode(Source, json.loads(into.read(size)), "source")
            answer = encode(vars(compile_text(source.text, machine, source.lines)))
        except WhenceError:
            answer = b""
        out.write(LENGTH.pack(len(answer)) + answer)
        out.flush()
