"""Checks a flatbuffer before anything reads it: every offset, vtable, vector and string lies inside the file.

The schema's own classes trust what they read. `SCHEMA` says of each table what its fields are, by slot; of options,
which are many and hold little but numbers, only the few fields that are not (`VECTORS`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...support.errors import FrontendError

IDENTIFIER = b"TFL3"


@dataclass(frozen=True)
class Scalar:
    """A number of `size` bytes."""

    size: int


@dataclass(frozen=True)
class Vector:
    """Numbers of `size` bytes each."""

    size: int


@dataclass(frozen=True)
class String:
    """Bytes of UTF-8."""


@dataclass(frozen=True)
class Table:
    """A table of a kind."""

    kind: str


@dataclass(frozen=True)
class Tables:
    """A vector of tables of a kind."""

    kind: str


@dataclass(frozen=True)
class Union:
    """A table whose kind the field before says: what stands for each number; `other` for those left out."""

    kinds: Mapping[int, str]
    other: str | None = None


Field: TypeAlias = Scalar | Vector | String | Table | Tables | Union

_BYTE, _INT, _LONG = Scalar(1), Scalar(4), Scalar(8)
_INTS = Vector(4)
_INDICES = Union({1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"})
_OPTIONS = Union({}, "Options")
_MORE_OPTIONS = Union({}, "MoreOptions")

SCHEMA: Mapping[str, Sequence[Field]] = {
    "Model": (
        *(_INT, Tables("OperatorCode"), Tables("SubGraph"), String(), Tables("Buffer")),
        *(_INTS, Tables("Metadata"), Tables("SignatureDef")),
    ),
    "OperatorCode": (_BYTE, String(), _INT, _INT),
    "SubGraph": (Tables("Tensor"), _INTS, _INTS, Tables("Operator"), String(), _INT),
    "Tensor": (
        *(_INTS, _BYTE, _INT, String(), Table("QuantizationParameters"), _BYTE),
        *(Table("SparsityParameters"), _INTS, _BYTE, Tables("VariantSubType")),
    ),
    "Operator": (
        *(_INT, _INTS, _INTS, _BYTE, _OPTIONS, Vector(1), _BYTE, Vector(1), _INTS, _LONG, _LONG, _BYTE, _MORE_OPTIONS),
    ),
    "Buffer": (Vector(1), _LONG, _LONG),
    "QuantizationParameters": (_INTS, _INTS, _INTS, Vector(8), _BYTE, Union({1: "CustomQuantization"}), _INT),
    "CustomQuantization": (Vector(1),),
    "SparsityParameters": (_INTS, _INTS, Tables("DimensionMetadata")),
    "DimensionMetadata": (_BYTE, _INT, _BYTE, _INDICES, _BYTE, _INDICES),
    "Int32Vector": (_INTS,),
    "Uint16Vector": (Vector(2),),
    "Uint8Vector": (Vector(1),),
    "Metadata": (String(), _INT),
    "SignatureDef": (Tables("TensorMap"), Tables("TensorMap"), String(), String(), _INT),
    "TensorMap": (String(), _INT),
    "VariantSubType": (_INTS, _BYTE, _BYTE),
    "Options": (),
    "MoreOptions": (),
}
"""Table -> its fields, by slot."""

VECTORS: Mapping[int, Mapping[int, Field]] = {
    3: {1: _INTS, 2: _INTS},  # ConcatEmbeddingsOptions
    17: {0: _INTS},  # ReshapeOptions
    30: {0: _INTS},  # SqueezeOptions
    111: {0: String(), 1: String()},  # VarHandleOptions
    115: {0: _INTS},  # BucketizeOptions
}
"""Number of options (`BuiltinOptions`) -> their fields that are no numbers."""


class Verifier:
    """One file under check. Each table is looked at once per kind, so that time is linear in the size of the file."""

    def __init__(self, data: bytes, file: str):
        self.data = data
        self.file = file
        self._done: set[tuple[int, str, int]] = set()
        self._stack: list[tuple[int, str, int]] = []

    def fail(self, found: str) -> FrontendError:
        return FrontendError(f"{self.file}: expected a TFLite model, got a file with {found}; damaged or cut short?")

    def _number(self, code: str, at: int, what: str) -> int:
        size = struct.calcsize(code)
        if not 0 <= at <= len(self.data) - size:
            raise self.fail(f"{what} at byte {at} of {len(self.data)}")
        return struct.unpack_from(f"<{code}", self.data, at)[0]

    def verify(self) -> None:
        """Raises FrontendError for what is no flatbuffer of a TFLite model."""
        if len(self.data) < 8 or self.data[4:8] != IDENTIFIER:
            raise FrontendError(
                f"{self.file}: expected a TFLite model, got {len(self.data)} bytes without the identifier TFL3"
            )
        self._stack.append((self._number("I", 0, "a root"), "Model", 0))
        while self._stack:
            found = self._stack.pop()
            if found not in self._done:
                self._done.add(found)
                self._table(*found)

    def _table(self, at: int, kind: str, options: int) -> None:
        what = f"a table {kind}"
        vtable = at - self._number("i", at, what)
        length, size = self._number("H", vtable, f"{what} whose vtable is"), self._number("H", vtable + 2, what)
        if length < 4 or length % 2 or size < 4 or vtable + length > len(self.data) or at + size > len(self.data):
            raise self.fail(f"{what} of {size} bytes and {length} of vtable at byte {at} of {len(self.data)}")
        fields: Mapping[int, Field] = VECTORS.get(options, {}) if kind == "Options" else dict(enumerate(SCHEMA[kind]))
        before = 0
        for slot in range((length - 4) // 2):
            offset = self._number("H", vtable + 4 + 2 * slot, what)
            field = fields.get(slot, _BYTE)
            if not offset:
                before = 0
                continue
            needed = field.size if isinstance(field, Scalar) else 4
            if offset < 4 or offset + needed > size:
                raise self.fail(f"{what} whose field {slot} is outside of it")
            before = self._field(at + offset, field, f"field {slot} of {what}", before)

    def _field(self, at: int, field: Field, what: str, before: int) -> int:
        """Check a field; what number it is, if it is a byte."""
        if isinstance(field, Scalar):
            return self.data[at] if field.size == 1 else 0
        target = at + self._number("I", at, what)
        match field:
            case Vector():
                self._vector(target, field.size, what)
            case String():
                length = self._vector(target, 1, what)
                try:
                    self.data[target + 4 : target + 4 + length].decode()
                except UnicodeDecodeError as error:
                    raise self.fail(f"{what} that is no UTF-8") from error
            case Table():
                self._stack.append((target, field.kind, 0))
            case Tables():
                for place in range(self._vector(target, 4, what)):
                    entry = target + 4 + 4 * place
                    self._stack.append((entry + self._number("I", entry, what), field.kind, 0))
            case Union():
                kind = field.kinds.get(before, field.other)
                if kind is not None:
                    self._stack.append((target, kind, before))
        return 0

    def _vector(self, at: int, size: int, what: str) -> int:
        """The length of a vector."""
        length = self._number("I", at, what)
        if at + 4 + length * size > len(self.data):
            raise self.fail(f"{what} of {length} elements at byte {at} of {len(self.data)}")
        return length


def verify(data: bytes, file: str) -> None:
    """Check the flatbuffer of a model; raises FrontendError when something in it is not where it should be."""
    Verifier(data, file).verify()
