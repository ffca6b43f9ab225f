"""Checks a flatbuffer before anything reads it: every offset, vtable, vector and string lies inside the file.

The schema's own classes trust the file. `SCHEMA` states the fields of each table, by slot, and `option_fields` those of
the many options. The format demands that numbers lie at multiples of their sizes, and that strings end in a 0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...support.errors import FrontendError
from .option_fields import MORE_OPTIONS, OPTIONS

IDENTIFIER = b"TFL3"


@dataclass(frozen=True)
class Scalar:
    """A number of `size` bytes."""

    size: int


@dataclass(frozen=True)
class String:
    """Bytes of UTF-8."""


@dataclass(frozen=True)
class Table:
    """A table of a kind."""

    kind: str


@dataclass(frozen=True)
class Vector:
    """A vector of numbers or tables."""

    of: Scalar | Table


@dataclass(frozen=True)
class Union:
    """A table whose kind is `kinds` of the field before, or `other` for a number that is left out."""

    kinds: Mapping[int, str]
    other: str | None = None


Field: TypeAlias = Scalar | Vector | String | Table | Union

_BYTE, _INT, _LONG = Scalar(1), Scalar(4), Scalar(8)
_BYTES, _INTS, _LONGS = Vector(_BYTE), Vector(_INT), Vector(_LONG)
_INDICES = Union({1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"})
_OPTIONS = Union({}, "Options")
_MORE_OPTIONS = Union({}, "MoreOptions")


def _tables(kind: str) -> Vector:
    return Vector(Table(kind))


SCHEMA: Mapping[str, Sequence[Field]] = {
    "Model": (
        *(_INT, _tables("OperatorCode"), _tables("SubGraph"), String(), _tables("Buffer")),
        *(_INTS, _tables("Metadata"), _tables("SignatureDef")),
    ),
    "OperatorCode": (_BYTE, String(), _INT, _INT),
    "SubGraph": (_tables("Tensor"), _INTS, _INTS, _tables("Operator"), String(), _INT),
    "Tensor": (
        *(_INTS, _BYTE, _INT, String(), Table("QuantizationParameters"), _BYTE),
        *(Table("SparsityParameters"), _INTS, _BYTE, _tables("VariantSubType")),
    ),
    "Operator": (
        *(_INT, _INTS, _INTS, _BYTE, _OPTIONS, _BYTES, _BYTE, _BYTES, _INTS, _LONG, _LONG, _BYTE, _MORE_OPTIONS),
    ),
    "Buffer": (_BYTES, _LONG, _LONG),
    "QuantizationParameters": (_INTS, _INTS, _INTS, _LONGS, _BYTE, Union({1: "CustomQuantization"}), _INT),
    "CustomQuantization": (_BYTES,),
    "SparsityParameters": (_INTS, _INTS, _tables("DimensionMetadata")),
    "DimensionMetadata": (_BYTE, _INT, _BYTE, _INDICES, _BYTE, _INDICES),
    "Int32Vector": (_INTS,),
    "Uint16Vector": (Vector(Scalar(2)),),
    "Uint8Vector": (_BYTES,),
    "Metadata": (String(), _INT),
    "SignatureDef": (_tables("TensorMap"), _tables("TensorMap"), String(), String(), _INT),
    "TensorMap": (String(), _INT),
    "VariantSubType": (_INTS, _BYTE, _BYTE),
}
"""Table -> its fields, by slot."""

_WORDS: Mapping[str, Field] = {
    **{"-": _BYTE, "1": _BYTE, "4": _INT, "8": _LONG, "v1": _BYTES, "v4": _INTS, "v8": _LONGS, "s": String()}
}


def _fields(kind: str, number: int) -> Sequence[Field]:
    """Return the fields of a table; `number` is that of options."""
    if kind not in ("Options", "MoreOptions"):
        return SCHEMA[kind]
    words = (OPTIONS if kind == "Options" else MORE_OPTIONS).get(number, "")
    return [_WORDS[word] for word in words.split()]


class Verifier:
    """One file under check. Each table is checked once per kind, so that time is linear in the size of the file."""

    def __init__(self, data: bytes, file: str):
        self.data = data
        self.file = file
        self._done: set[tuple[int, str, int]] = set()
        self._stack: list[tuple[int, str, int]] = []

    def fail(self, problem: str) -> FrontendError:
        return FrontendError(f"{self.file}: expected a TFLite model, got a file with {problem}; damaged or cut short?")

    def _number(self, code: str, at: int, what: str) -> int:
        size = struct.calcsize(code)
        if not 0 <= at <= len(self.data) - size:
            raise self.fail(f"{what} at byte {at} of {len(self.data)}")
        if at % size:
            raise self.fail(f"{what} at byte {at}, which is no multiple of {size}")
        return struct.unpack_from(f"<{code}", self.data, at)[0]

    def verify(self) -> None:
        """Raise FrontendError unless the data are a flatbuffer of a TFLite model."""
        if len(self.data) < 8 or self.data[4:8] != IDENTIFIER:
            raise FrontendError(
                f"{self.file}: expected a TFLite model, got {len(self.data)} bytes without the identifier TFL3"
            )
        self._stack.append((self._number("I", 0, "a root"), "Model", 0))
        while self._stack:
            entry = self._stack.pop()
            if entry not in self._done:
                self._done.add(entry)
                self._table(*entry)

    def _table(self, at: int, kind: str, options: int) -> None:
        what = f"a table {kind}"
        vtable = at - self._number("i", at, what)
        length, size = self._number("H", vtable, f"{what} whose vtable is"), self._number("H", vtable + 2, what)
        if length < 4 or length % 2 or size < 4 or vtable + length > len(self.data) or at + size > len(self.data):
            raise self.fail(f"{what} of {size} bytes and {length} of vtable at byte {at} of {len(self.data)}")
        fields = _fields(kind, options)
        before = 0
        for slot in range((length - 4) // 2):
            offset = self._number("H", vtable + 4 + 2 * slot, what)
            # Fields of a later schema are not checked.
            field = fields[slot] if slot < len(fields) else _BYTE
            if not offset:
                before = 0
                continue
            alignment = field.size if isinstance(field, Scalar) else 4
            if offset < 4 or offset + alignment > size:
                raise self.fail(f"{what} whose field {slot} is outside of it")
            if (at + offset) % alignment:
                raise self.fail(f"{what} whose field {slot} is at byte {at + offset}, no multiple of {alignment}")
            before = self._field(at + offset, field, f"field {slot} of {what}", before)

    def _field(self, at: int, field: Field, what: str, before: int) -> int:
        """Check a field; return its number, if it is a byte, else 0."""
        if isinstance(field, Scalar):
            return self.data[at] if field.size == 1 else 0
        target = self._target(at, what)
        match field:
            case Vector():
                length = self._vector(target, field.of.size if isinstance(field.of, Scalar) else 4, what)
                if isinstance(field.of, Table):
                    for number in range(length):
                        entry = target + 4 + 4 * number
                        self._stack.append((self._target(entry, what), field.of.kind, 0))
            case String():
                length = self._vector(target, 1, what)
                end = target + 4 + length
                if self.data[end : end + 1] != b"\0":
                    raise self.fail(f"{what} that does not end in 0")
                try:
                    self.data[target + 4 : end].decode()
                except UnicodeDecodeError as error:
                    raise self.fail(f"{what} that is no UTF-8") from error
            case Table():
                self._stack.append((target, field.kind, 0))
            case Union():
                kind = field.kinds.get(before, field.other)
                if kind is not None:
                    self._stack.append((target, kind, before))
        return 0

    def _target(self, at: int, what: str) -> int:
        """Return the position that an offset points to."""
        offset = self._number("I", at, what)
        if not offset:
            raise self.fail(f"{what} at byte {at} that leads to itself")
        return at + offset

    def _vector(self, at: int, size: int, what: str) -> int:
        """Return the length of a vector."""
        length = self._number("I", at, what)
        if at + 4 + length * size > len(self.data):
            raise self.fail(f"{what} of {length} elements at byte {at} of {len(self.data)}")
        if (at + 4) % size:
            raise self.fail(f"{what} whose elements of {size} bytes are at byte {at + 4}")
        return length


def verify(data: bytes, file: str) -> None:
    """Check the flatbuffer of a model; raises FrontendError for a damaged one."""
    Verifier(data, file).verify()
