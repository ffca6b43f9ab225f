"""The buffer type of tir."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, bf16, f16, f32, f64
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..element_types import bit_width, is_integer

SCOPES = ("global", "local")
"""Where a buffer lives: `global` in memory shared by all threads, `local` in the registers or stack of one."""
_BYTES: dict[Attribute, int] = {f16: 2, bf16: 2, f32: 4, f64: 8}


def element_bytes(element: Attribute) -> int:
    """The size in memory of an element; bool takes one byte."""
    if is_integer(element):
        return max(1, bit_width(element) // 8)
    if element not in _BYTES:
        raise VerifyException(f"expected an element type with a size, got {element}")
    return _BYTES[element]


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """A dense row-major array in memory: `!tir.buffer<4x64xf32>`, `!tir.buffer<14x16xf32, local>`."""

    name = "tir.buffer"
    shape: ArrayAttr[IntAttr] = param_def()
    element_type: Attribute = param_def()
    scope: StringAttr = param_def()

    @staticmethod
    def of(shape: Sequence[int], element: Attribute, scope: str = "global") -> BufferType:
        return BufferType(ArrayAttr([IntAttr(extent) for extent in shape]), element, StringAttr(scope))

    def get_shape(self) -> tuple[int, ...]:
        return tuple(extent.data for extent in self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension."""
        shape = self.get_shape()
        return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.get_shape())

    @property
    def nbytes(self) -> int:
        return self.size * element_bytes(self.element_type)

    def verify(self) -> None:
        if self.scope.data not in SCOPES:
            raise VerifyException(f"tir.buffer: expected a scope among {', '.join(SCOPES)}, got {self.scope.data}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for extent in self.shape:
                printer.print_string(f"{extent.data}x")
            printer.print_attribute(self.element_type)
            if self.scope.data != "global":
                printer.print_string(f", {self.scope.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            scope = "global"
            if parser.parse_optional_punctuation(",") is not None:
                scope = parser.parse_identifier()
        return [ArrayAttr([IntAttr(extent) for extent in shape]), element, StringAttr(scope)]


def buffer_of(value: SSAValue) -> BufferType:
    assert isinstance(value.type, BufferType)
    return value.type
