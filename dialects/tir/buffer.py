"""The buffer type of tir."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntAttr, StringAttr, bf16, f16, f32, f64
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..element_types import bit_width, is_integer
from ..format import parse_size
from ..sizes import Size, product
from ..sizes.kernel import size_attribute, size_in

SCOPES = ("global", "local")
"""The scopes of buffers: `global` is memory that all threads share, `local` is the registers or stack of one."""
STACK_LIMIT = 1 << 18
"""A local buffer, or one computed inside a parallel loop, lives on its thread's stack; this many bytes at most."""
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
    """A dense row-major array in memory: `!tir.buffer<4x64xf32>`, `!tir.buffer<14x16xf32, local>`.

    Extents that only a call decides are listed behind: `!tir.buffer<?x64xf32, [s0 + 1]>`.
    """

    name = "tir.buffer"
    shape: ArrayAttr[Attribute] = param_def()
    element_type: Attribute = param_def()
    scope: StringAttr = param_def()

    @staticmethod
    def of(shape: Sequence[Size], element: Attribute, scope: str = "global") -> BufferType:
        return BufferType(ArrayAttr(map(_extent, shape)), element, StringAttr(scope))

    def get_shape(self) -> tuple[Size, ...]:
        shape = cast("ArrayAttr[IntAttr[int]]", self.shape)
        return tuple([extent.data if extent.__class__ is IntAttr else size_in(extent) for extent in shape])

    @property
    def is_static(self) -> bool:
        """Return whether all extents are numbers."""
        return all(isinstance(extent, IntAttr) for extent in self.shape)

    @property
    def strides(self) -> tuple[Size, ...]:
        """Elements between neighbours along each dimension."""
        shape = self.get_shape()
        return tuple(product(shape[i + 1 :]) for i in range(len(shape)))

    @property
    def size(self) -> Size:
        """Elements."""
        return product(self.get_shape())

    @property
    def nbytes(self) -> Size:
        return self.size * element_bytes(self.element_type)

    def verify(self) -> None:
        if self.scope.data not in SCOPES:
            raise VerifyException(f"tir.buffer: expected a scope among {', '.join(SCOPES)}, got {self.scope.data}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            shape = self.get_shape()
            for extent in shape:
                printer.print_string(f"{extent if isinstance(extent, int) else '?'}x")
            printer.print_attribute(self.element_type)
            if open := [extent for extent in shape if not isinstance(extent, int)]:
                printer.print_string(f", [{', '.join(map(str, open))}]")
            if self.scope.data != "global":
                printer.print_string(f", {self.scope.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            scope, sizes = "global", list[Size]()
            if more := parser.parse_optional_punctuation(",") is not None:
                extents = parser.parse_optional_comma_separated_list(
                    parser.Delimiter.SQUARE, lambda: parse_size(parser)
                )
                if extents is not None:
                    sizes, more = extents, parser.parse_optional_punctuation(",") is not None
            if more:
                scope = parser.parse_identifier()
        if len(sizes) != shape.count(DYNAMIC_INDEX):
            parser.raise_error(f"expected a size for each of {shape.count(DYNAMIC_INDEX)} dimensions, got {len(sizes)}")
        rest = iter(sizes)
        full = [_extent(next(rest) if extent == DYNAMIC_INDEX else extent) for extent in shape]
        return [ArrayAttr(full), element, StringAttr(scope)]


def _extent(size: Size) -> Attribute:
    return IntAttr(size) if isinstance(size, int) else size_attribute(size)


def extent_in(attribute: Attribute) -> Size:
    """The size that an element of a list of extents or strides is."""
    return cast("IntAttr[int]", attribute).data if isinstance(attribute, IntAttr) else size_in(attribute)


def strides_attribute(strides: Sequence[Size]) -> ArrayAttr[Attribute]:
    return ArrayAttr(map(_extent, strides))


def buffer_of(value: SSAValue) -> BufferType:
    assert isinstance(value.type, BufferType)
    return value.type
