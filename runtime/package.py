"""The package of an exported model: everything but its code, as the section `.whence` of an ELF file.

    `WHENCE-PACK` and zeros up to 16 bytes, u64 bytes of the head, u64 zero, the head in JSON, then, each at a multiple
    of 64 bytes from the beginning, the parts that the head names: {"parts": {name: [at, size]}, ..}

The part `params` holds parameters one after the other, each at a multiple of 64 bytes; the head says what they are.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np

from ..support.dtypes import Array, numpy_of
from ..support.errors import FrontendError, expectation
from .tensors import ALIGNMENT, TensorSpec

SECTION = ".whence"
PARAMS = "params"
FORMAT = 2
_START = struct.Struct("<16sQQ")
_MAGIC = b"WHENCE-PACK"


@dataclass(frozen=True)
class Package:
    """A package in memory."""

    data: memoryview
    head: Mapping[str, Any]

    @staticmethod
    def of(data: memoryview, name: str) -> Package:
        """Read the head; raises FrontendError when the bytes are no package of this format."""
        what = f"a model in format {FORMAT}"
        if len(data) < _START.size:
            raise FrontendError(expectation(name, what, "something else"))
        magic, size, _ = _START.unpack_from(data)
        if magic != _MAGIC.ljust(16, b"\0") or _START.size + size > len(data):
            raise FrontendError(expectation(name, what, "something else"))
        head = cast("dict[str, Any]", json.loads(bytes(data[_START.size : _START.size + size])))
        if head.get("format") != FORMAT:
            raise FrontendError(expectation(name, what, f"format {head.get('format')}"))
        return Package(data, head)

    def part(self, name: str) -> memoryview:
        """The bytes of a part; none when there is no such part."""
        at, size = self.head["parts"].get(name, (0, 0))
        return self.data[at : at + size]

    def params(self) -> tuple[Array, ...]:
        """The parameters, read-only views of the package; none when it was written without."""
        if PARAMS not in self.head["parts"]:
            return ()
        content = self.part(PARAMS)
        arrays: list[Array] = []
        for _, shape, dtype, at in self.head["params"]:
            kind = numpy_of(dtype)
            count = prod(shape)
            # Of nothing there is no view.
            array = np.frombuffer(content, kind, count, at) if count else np.zeros(0, kind)
            arrays.append(cast(Array, array.reshape(shape)))
        return tuple(arrays)

    @property
    def names(self) -> tuple[str, ...]:
        """The graph's names of the parameters; "" for one that no node reads."""
        return tuple(name for name, *_ in self.head["params"])


def packed(
    head: Mapping[str, object], parts: Mapping[str, bytes], specs: Sequence[TensorSpec], params: Sequence[Array]
) -> Iterator[bytes | memoryview]:
    """The bytes of a package, in pieces.

    specs: what the parameters are; params: they themselves, C-contiguous, or none when they are kept elsewhere.
    """
    rows: list[object] = []
    end = 0
    for spec in specs:
        rows.append((spec.name, spec.shape, spec.dtype.name, end))
        end += _padded(spec.nbytes)
    sizes = {name: len(part) for name, part in parts.items()} | ({PARAMS: end} if params else {})
    content = {**head, "format": FORMAT, "params": rows}
    # The head says where parts lie, and that depends on how long it is: an upper bound decides.
    bound = _padded(_START.size + len(json.dumps(content | {"parts": dict.fromkeys(sizes, (1 << 62, 1 << 62))})))
    at, places = bound, dict[str, tuple[int, int]]()
    for name, size in sizes.items():
        places[name] = at, size
        at += _padded(size)
    text = json.dumps(content | {"parts": places}).encode()
    yield (_START.pack(_MAGIC, len(text), 0) + text).ljust(bound, b"\0")
    for part in parts.values():
        yield part.ljust(_padded(len(part)), b"\0")
    for array in params:
        if array.nbytes:
            yield memoryview(cast(Any, array).reshape(-1).view(np.uint8))
            yield bytes(_padded(array.nbytes) - array.nbytes)


def param_places(start: bytes | memoryview) -> list[int]:
    """Where the parameters lie, in bytes of the package that begins with `start`, its first piece."""
    head = Package.of(memoryview(start), "package").head
    begin = head["parts"].get(PARAMS, (0, 0))[0]
    return [begin + at for *_, at in head["params"]]


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
