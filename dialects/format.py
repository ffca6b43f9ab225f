"""Pieces of custom assembly that the dialects share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import StringIO

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IndexType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.parser.affine_parser import AffineParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .affine import spell
from .sizes import Size
from .sizes.kernel import affine_map, number_of, size_of


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
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return attributes.data if attributes is not None else {}


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


class _IndexParser(AffineParser):
    """Reads affine expressions of SSA values, which are dims in order of first use, and sizes `s0`, `s1`, .."""

    def __init__(self, parser: AttrParser):
        super().__init__(parser._parser_state)  # pyright: ignore[reportPrivateUsage]
        self.spans: dict[str, Span] = {}

    def _leaf(self) -> AffineExpr | None:
        token = self._parse_optional_token_in([MLIRTokenKind.PERCENT_IDENT, MLIRTokenKind.BARE_IDENT])
        if token is None:
            return None
        text = token.span.text
        if token.kind is MLIRTokenKind.BARE_IDENT:
            try:
                return AffineExpr.symbol(number_of(text))
            except VerifyException as error:
                raise ParseError(token.span, str(error)) from error
        self.spans.setdefault(text, token.span)
        return AffineExpr.dimension(list(self.spans).index(text))

    def expression(self) -> AffineExpr:
        return self._parse_affine_expr(self._leaf)

    def list(self) -> list[AffineExpr]:
        return self.parse_comma_separated_list(self.Delimiter.SQUARE, self.expression)


def parse_indices(parser: Parser) -> tuple[AffineMapAttr, list[SSAValue]]:
    """The map over dims, and the index operands that stand for them in order of first use."""
    reader = _IndexParser(parser)
    results = tuple(reader.list())
    operands = [parser.resolve_operand(UnresolvedOperand(span, 0), IndexType()) for span in reader.spans.values()]
    return AffineMapAttr(affine_map(len(operands), results)), list[SSAValue](operands)


def parse_size(parser: AttrParser) -> Size:
    """A number, or an expression of sizes `s0`, `s1`, ..: what `str` of a kernel's size is."""
    at = parser.pos
    try:
        return size_of(_IndexParser(parser).expression())
    except VerifyException as error:
        parser.raise_error(str(error), at)


def join_indices(
    *maps: tuple[AffineMapAttr, Sequence[SSAValue]],
) -> tuple[list[AffineMapAttr], list[SSAValue]]:
    """Maps, each with its operands, brought over one list of operands."""
    joined = list(dict.fromkeys(operand for _, operands in maps for operand in operands))
    position = {value: i for i, value in enumerate(joined)}
    moved: list[AffineMapAttr] = []
    for map, operands in maps:
        dims = [AffineExpr.dimension(position[value]) for value in operands]
        results = tuple(expr.replace_dims_and_symbols(dims, ()) for expr in map.data.results)
        moved.append(AffineMapAttr(affine_map(len(joined), results)))
    return moved, joined


def print_type_params(printer: Printer, names: ArrayAttr[StringAttr] | None) -> None:
    """`["A", "B"]`; nothing without any."""
    if names is not None:
        with printer.in_square_brackets():
            printer.print_list(names.data, printer.print_attribute)


def parse_type_params(parser: Parser) -> ArrayAttr[StringAttr] | None:
    """Parse what `print_type_params` prints."""
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
    """Parse what `print_signature` prints: name, arguments with their locations, output types."""
    return parser.parse_symbol_name(), *parse_arguments(parser)


def parse_arguments(parser: Parser) -> tuple[list[Parser.Argument], list[Attribute]]:
    """`(%x: type, ..) -> (type, ..)`."""
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
    parser.parse_punctuation("->")
    outputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return arguments, list(outputs)
