"""The work of a process that compiles texts for another: `u64 size, JSON of text and lines` in, `u64 size, record` out,
of 0 bytes where it has no machine code.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import cast

from ...support.errors import WhenceError
from ..cache import encode
from .compile import compile_text
from .target import Target

LENGTH = struct.Struct("<Q")


def main(target: str) -> None:
    """Compile for a target, the JSON of its first four fields, until standard input ends."""
    machine = Target(*json.loads(target))
    into, out = sys.stdin.buffer, sys.stdout.buffer
    while len(head := into.read(LENGTH.size)) == LENGTH.size:
        (size,) = cast("tuple[int]", LENGTH.unpack(head))
        try:
            text, lines = json.loads(into.read(size))
            answer = encode(vars(compile_text(text, machine, lines)))
        except WhenceError:
            answer = b""
        out.write(LENGTH.pack(len(answer)) + answer)
        out.flush()
