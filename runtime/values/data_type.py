"""Dtypes as TVM's runtime has them: a kind, bits and lanes, in the form of their text."""

from __future__ import annotations

import re
from enum import IntEnum

from ...support.errors import FrontendError, expectation


class DataTypeCode(IntEnum):
    """The kinds of numbers, by the numbers of DLPack."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


_KINDS = {code.name.lower(): code for code in DataTypeCode}
_TEXT = re.compile(r"(u?int|b?float|handle)(\d*)(?:x(\d+))?")


class DataType(str):
    """The dtype of a text, `float32` or `int8x4`, which it is equal to. Raises FrontendError for another text."""

    __slots__ = ("bits", "lanes", "type_code")

    def __init__(self, text: str):
        written = "uint1" if text == "bool" else text
        if (match := _TEXT.fullmatch(written)) is None or not (match[2] or match[1] == "handle"):
            raise FrontendError(expectation("DataType", "a dtype such as float32 or int8x4", repr(text)))
        self.type_code = _KINDS[match[1]]
        self.bits = int(match[2] or 64)
        self.lanes = int(match[3] or 1)

    @property
    def itemsize(self) -> int:
        """The bytes of an element, with all its lanes."""
        return (self.bits * self.lanes + 7) // 8
