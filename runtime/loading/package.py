"""The package of an exported model: everything but its code, as the section `.whence` of an ELF file.

    `WHENCE-PACK` and zeros up to 16 bytes, u64 bytes of the head, u64 zero, the head in JSON, then, each at a multiple
    of 64 bytes from the beginning, the parts that the head names

The part `params` holds parameters one after the other, each at a multiple of 64 bytes; the head describes them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from ...support.codec import JSON
from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation
from ..values.tensors import ALIGNMENT, TensorSpec

SECTION = ".whence"
PARAMS = "params"
FORMAT = 3
_START = struct.Struct("<16sQQ")
_MAGIC = b"WHENCE-PACK"


T = TypeVar("T")


class Part(NamedTuple):
    """The position of a part's bytes."""

    at: int
    size: int


class Param(NamedTuple):
    """A parameter; `at` is a byte of the part `params`."""

    name: str
    """The name in the graph; "" for one that no node reads."""
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    at: int


@dataclass(frozen=True)
class Head:
    """The contents of a package."""

    format: int
    about: Any
    """The subject of the package in JSON's types: the fields of a class that readers know."""
    params: tuple[Param, ...]
    parts: dict[str, Part]


@dataclass(frozen=True)
class Package:
    """A package in memory."""

    data: memoryview
    head: Head
    name: str
    """The name that errors show."""

    @staticmethod
    def of(data: memoryview, name: str) -> Package:
        """Read the head; raises FrontendError when the bytes are no package of this format."""
        expected = f"a model in format {FORMAT}"
        if len(data) < _START.size:
            raise FrontendError(expectation(name, expected, "something else"))
        magic, size, _ = _START.unpack_from(data)
        if magic != _MAGIC.ljust(16, b"\0") or _START.size + size > len(data):
            raise FrontendError(expectation(name, expected, "something else"))
        head = cast("dict[str, Any]", json.loads(bytes(data[_START.size : _START.size + size])))
        if head.get("format") != FORMAT:
            raise FrontendError(expectation(name, expected, f"format {head.get('format')}"))
        return Package(data, JSON.decode(Head, head, name), name)

    def about(self, kind: type[T]) -> T:
        """Return the subject of the package. Raises FrontendError if that is no `kind`."""
        return JSON.decode(kind, self.head.about, self.name)

    def part(self, name: str) -> memoryview:
        """Return the bytes of a part; none if there is no such part."""
        part = self.head.parts.get(name, Part(0, 0))
        return self.data[part.at : part.at + part.size]

    def params(self) -> tuple[Array, ...]:
        """Return the parameters as read-only views of the package; none if it was written without."""
        if PARAMS not in self.head.parts:
            return ()
        content = self.part(PARAMS)
        arrays: list[Array] = []
        for param in self.head.params:
            count = prod(param.shape)
            # numpy refuses a view of no bytes.
            array = np.frombuffer(content, param.dtype, count, param.at) if count else np.zeros(0, param.dtype)
            arrays.append(cast(Array, array.reshape(param.shape)))
        return tuple(arrays)

    @property
    def names(self) -> tuple[str, ...]:
        """The graph's names of the parameters; "" for one that no node reads."""
        return tuple(param.name for param in self.head.params)


def packed(
    about: object, parts: Mapping[str, bytes], specs: Sequence[TensorSpec], params: Sequence[Array]
) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a package, in pieces.

    about: a dataclass, the subject of the package. specs: the parameters' names, shapes and dtypes. params: their
    arrays, C-contiguous, or none if they are kept elsewhere.
    """
    rows: list[Param] = []
    end = 0
    for spec in specs:
        rows.append(Param(spec.name, spec.shape, spec.dtype, end))
        end += _padded(spec.nbytes)
    sizes = {name: len(part) for name, part in parts.items()} | ({PARAMS: end} if params else {})
    head = Head(FORMAT, JSON.encode(about), tuple(rows), dict.fromkeys(sizes, Part(1 << 62, 1 << 62)))
    # The head holds the offsets of parts, which depend on its own length: an upper bound of that decides.
    bound = _padded(_START.size + len(JSON.text(head)))
    at, placed = bound, dict[str, Part]()
    for name, size in sizes.items():
        placed[name] = Part(at, size)
        at += _padded(size)
    text = JSON.text(replace(head, parts=placed)).encode()
    yield (_START.pack(_MAGIC, len(text), 0) + text).ljust(bound, b"\0")
    for part in parts.values():
        yield part.ljust(_padded(len(part)), b"\0")
    for array in params:
        if array.nbytes:
            yield memoryview(cast(Any, array).reshape(-1).view(np.uint8))
            yield bytes(_padded(array.nbytes) - array.nbytes)


def param_places(start: bytes | memoryview) -> list[int]:
    """Return the offsets of the parameters in the package whose first piece is `start`."""
    head = Package.of(memoryview(start), "package").head
    begin = head.parts.get(PARAMS, Part(0, 0)).at
    return [begin + param.at for param in head.params]


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
