"""Pieces of custom assembly that the dialects share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import StringIO

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser
from xdsl.printer import Printer

from .affine import spell, symbols_to_dims


def name_hint(name: str) -> str | None:
    """`name` as a value can have it: `conv/1` as `conv_1`, `2x` as `_2x`, `_1` as `v_1`; None for an empty one."""
    spelled = re.sub(r"[^A-Za-z0-9_$.-]", "_", name)
    spelled = f"_{spelled}" if spelled[:1].isdigit() else spelled
    # xDSL takes numbers at the end for what tells equal names apart, and leaves them out.
    if spelled and not SSAValue.extract_valid_name(spelled):
        spelled = f"v{spelled}"
    return spelled or None


def parse_argument(parser: Parser) -> Parser.Argument:
    """`%x : type`, and its location if one follows."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


def parse_attributes(parser: Parser) -> Mapping[str, Attribute]:
    """`attributes {..}`, if it follows."""
    found = parser.parse_optional_attr_dict_with_keyword()
    return found.data if found is not None else {}


def parse_body(parser: Parser, arguments: Sequence[Parser.Argument] = ()) -> Region:
    """A region of one block; also where nothing stands between the braces."""
    region = parser.parse_region(arguments)
    if not region.blocks:
        region.add_block(Block())
    return region


def value_name(printer: Printer, value: SSAValue) -> str:
    """The name under which `printer` shows `value`."""
    stream, printer.stream = printer.stream, StringIO()
    try:
        return f"%{printer.print_ssa_value(value)}"
    finally:
        printer.stream = stream


def print_indices(printer: Printer, map: AffineMap, operands: Sequence[SSAValue]) -> None:
    """`[%i * 2 + %k - 1, %j]`."""
    names = [value_name(printer, operand) for operand in operands]
    printer.print_string(f"[{', '.join(spell(expr, names) for expr in map.results)}]")


def parse_indices(parser: Parser) -> tuple[AffineMapAttr, list[SSAValue]]:
    """The map over dims, and the index operands that stand for them in order of first use."""
    map, operands = parser.parse_affine_map_of_ssa_ids()
    results = tuple(symbols_to_dims(expr, len(operands)) for expr in map.results)
    return AffineMapAttr(AffineMap(len(operands), 0, results)), list(operands)


def join_indices(
    map: AffineMapAttr, indices: list[SSAValue], guard: AffineMapAttr, guarded: list[SSAValue]
) -> tuple[AffineMapAttr, AffineMapAttr, list[SSAValue]]:
    """Two maps brought over one list of operands."""
    joined = list(dict.fromkeys([*indices, *guarded]))
    position = {value: i for i, value in enumerate(joined)}
    dims = [AffineExpr.dimension(position[value]) for value in guarded]
    moved = tuple(expr.replace_dims_and_symbols(dims, ()) for expr in guard.data.results)
    return (
        AffineMapAttr(AffineMap(len(joined), 0, map.data.results)),
        AffineMapAttr(AffineMap(len(joined), 0, moved)),
        joined,
    )


def print_type_params(printer: Printer, names: ArrayAttr[StringAttr] | None) -> None:
    """`["A", "B"]`; nothing without any."""
    if names is not None:
        with printer.in_square_brackets():
            printer.print_list(names.data, printer.print_attribute)


def parse_type_params(parser: Parser) -> ArrayAttr[StringAttr] | None:
    """What `print_type_params` prints."""
    names = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
    return ArrayAttr(map(StringAttr, names)) if names is not None else None


def print_signature(
    printer: Printer,
    name: str,
    arguments: Sequence[BlockArgument],
    outputs: Sequence[Attribute],
    type_params: ArrayAttr[StringAttr] | None = None,
) -> None:
    """`@name(%x: type, ..) -> (type, ..)`, in the scope that the caller has entered."""
    printer.print_symbol_name(name)
    print_type_params(printer, type_params)
    printer.print_string("(")
    printer.print_list(arguments, printer.print_block_argument)
    printer.print_string(") -> (")
    printer.print_list(outputs, printer.print_attribute)
    printer.print_string(")")


def parse_signature(parser: Parser) -> tuple[StringAttr, list[Parser.Argument], list[Attribute]]:
    """What `print_signature` prints: name, arguments with their locations, output types."""
    return parser.parse_symbol_name(), *parse_arguments(parser)


def parse_arguments(parser: Parser) -> tuple[list[Parser.Argument], list[Attribute]]:
    """`(%x: type, ..) -> (type, ..)`."""
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
    parser.parse_punctuation("->")
    outputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return arguments, list(outputs)
