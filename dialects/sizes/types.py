"""Tensor types with symbolic sizes: `tensor<?x?x768xf32, #relay.sizes<batch, past + 1>>`.

The encoding has an expression for each `?` in order. A `?` of a type without encoding is a size without a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...support.identity import by_identity
from .expr import Size, SizeExpr
from .text import parse_size

UNKNOWN = "?"
"""The text of a size that nothing tells, beside others that are symbolic."""


@irdl_attr_definition
class SizesAttr(ParametrizedAttribute):
    """The sizes of the `?` of a tensor type, in order: `#relay.sizes<batch, past + 1>`."""

    name = "relay.sizes"
    texts: ArrayAttr[StringAttr] = param_def()

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes; DYNAMIC_INDEX for one that nothing tells."""
        return tuple(DYNAMIC_INDEX if text.data == UNKNOWN else parse_size(text.data) for text in self.texts)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def one() -> StringAttr:
            return StringAttr(_parse(parser))

        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, one))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(text.data for text in self.texts))

    def verify(self) -> None:
        for text in self.texts:
            try:
                normal = text.data == UNKNOWN or str(parse_size(text.data)) == text.data
            except ValueError as error:
                raise VerifyException(str(error)) from error
            if not normal:
                raise VerifyException(f"expected the size {parse_size(text.data)}, got {text.data}")


def _parse(parser: AttrParser) -> str:
    """The normal text of a size."""
    parts: list[str] = []
    depth, start = 0, parser.pos
    while True:
        if (number := parser.parse_optional_integer(allow_boolean=False, allow_negative=False)) is not None:
            parts.append(str(number))
        elif (word := parser.parse_optional_identifier()) is not None:
            parts.append(word)
        elif depth and parser.parse_optional_punctuation(",") is not None:
            parts.append(",")
        else:
            for mark in ("(", ")", "+", "-", "*", "?"):
                if parser.parse_optional_punctuation(mark) is not None:
                    break
            else:
                break
            depth += {"(": 1, ")": -1}.get(mark, 0)
            parts.append(mark)
    try:
        return UNKNOWN if parts == [UNKNOWN] else str(parse_size(" ".join(parts)))
    except ValueError as error:
        parser.raise_error(str(error), start, parser.pos)


def extents_of(type_: TensorType[Attribute]) -> tuple[Size, ...]:
    """The shape of a tensor type; DYNAMIC_INDEX for a size that nothing tells.

    Raises VerifyException when the encoding has not as many sizes as there are `?`.
    """
    return type_.get_shape() if isinstance(type_.encoding, NoneAttr) else _extents(type_)


@by_identity(1 << 13)
@lru_cache(maxsize=1 << 13)
def _extents(type_: TensorType[Attribute]) -> tuple[Size, ...]:
    shape = type_.get_shape()
    if not isinstance(type_.encoding, SizesAttr):
        return shape
    sizes = type_.encoding.sizes
    if shape.count(DYNAMIC_INDEX) != len(sizes):
        raise VerifyException(f"expected a size for each ? of {type_}, got {len(sizes)}")
    rest = iter(sizes)
    return tuple(next(rest) if extent == DYNAMIC_INDEX else extent for extent in shape)


def tensor_of(element: Attribute, shape: Sequence[Size]) -> TensorType[Attribute]:
    """The tensor type of an element type and sizes, of which DYNAMIC_INDEX is one that nothing tells."""
    if not any(isinstance(size, SizeExpr) for size in shape):
        return _closed_tensor(element, tuple(cast("Sequence[int]", shape)))
    return _open_tensor(element, tuple(map(_Extent, shape)))


@lru_cache(maxsize=1 << 13)
def _closed_tensor(element: Attribute, shape: tuple[int, ...]) -> TensorType[Attribute]:
    """One attribute for each type: xDSL checks all parts of each that it makes."""
    return TensorType(element, shape)


class _Extent:
    """A size by what it is: comparing sizes themselves may depend on a call."""

    __slots__ = ("size", "text")

    def __init__(self, size: Size):
        self.size, self.text = size, str(size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Extent) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(maxsize=1 << 12)
def _open_tensor(element: Attribute, extents: tuple[_Extent, ...]) -> TensorType[Attribute]:
    shape = [extent.size for extent in extents]
    open_ = [size for size in shape if isinstance(size, SizeExpr) or size == DYNAMIC_INDEX]
    texts = [StringAttr(str(size) if isinstance(size, SizeExpr) else UNKNOWN) for size in open_]
    plain = [DYNAMIC_INDEX if isinstance(size, SizeExpr) else size for size in shape]
    return TensorType(element, plain, SizesAttr(ArrayAttr(texts)))


def sizes_attr(sizes: Sequence[Size]) -> SizesAttr:
    """Sizes as an attribute, numbers among them."""
    return SizesAttr(ArrayAttr([StringAttr(str(size)) for size in sizes]))


def is_static(type_: Attribute) -> bool:
    """Return whether a type is no tensor's, or one's of which all extents are numbers."""
    return not isinstance(type_, TensorType) or DYNAMIC_INDEX not in type_.get_shape()


def is_open(type_: Attribute) -> bool:
    """Return whether a type is a tensor's with a size that nothing tells."""
    return not is_static(type_) and not is_symbolic(type_)


def is_symbolic(type_: Attribute) -> bool:
    """Return whether a type is a tensor's with symbolic sizes, of which all are told."""
    return (
        isinstance(type_, TensorType)
        and isinstance(type_.encoding, SizesAttr)
        and all(text.data != UNKNOWN for text in type_.encoding.texts)
    )
