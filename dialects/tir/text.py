"""Pieces of custom assembly that the accesses of buffers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ..format import parse_attributes, parse_indices, print_indices


def print_point(printer: Printer, buffer: SSAValue, map: AffineMapAttr, indices: Sequence[SSAValue]) -> None:
    """`%a[%i, %j * 16]`."""
    printer.print_ssa_value(buffer)
    print_indices(printer, map.data, indices)


def parse_point(parser: Parser) -> tuple[UnresolvedOperand, AffineMapAttr, list[SSAValue]]:
    """Parse what `print_point` prints; the buffer's type stands at the end."""
    buffer = parser.parse_unresolved_operand()
    return buffer, *parse_indices(parser)


def parse_values(parser: Parser, count: int) -> list[UnresolvedOperand]:
    """`%v, %m, `: operands whose types stand at the end."""
    operands: list[UnresolvedOperand] = []
    for _ in range(count):
        operands.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(",")
    return operands


def parse_not_negative(parser: Parser) -> None:
    """`>= 0`, behind guards."""
    parser.parse_punctuation(">")
    parser.parse_punctuation("=")
    parser.parse_integer()


def parse_stride(parser: Parser, default: int = 1) -> int:
    return parser.parse_integer() if parser.parse_optional_keyword("stride") is not None else default


def print_end(printer: Printer, op: Operation, *types: Attribute, between: str = ", ", stride: int = 1) -> None:
    """` stride 2 attributes {..} : type, type`, as far as there is something to say."""
    if stride != 1:
        printer.print_string(f" stride {stride}")
    printer.print_op_attributes(op.attributes, print_keyword=True)
    for number, type_ in enumerate(types):
        printer.print_string(between if number else " : ")
        printer.print_attribute(type_)


def parse_end(parser: Parser, count: int, between: str = ",") -> tuple[Mapping[str, Attribute], list[Attribute]]:
    """The attributes and the `count` types that `print_end` prints."""
    attributes = parse_attributes(parser)
    types: list[Attribute] = []
    for number in range(count):
        parser.parse_punctuation("->" if number and between == "->" else "," if number else ":")
        types.append(parser.parse_type())
    return attributes, types
