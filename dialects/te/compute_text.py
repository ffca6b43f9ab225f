"""The text form of a te.compute: `te.compute "dense" (%i in 4, %j in 16) sum(%k in 8) : tensor<4x16xf32> {..}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypedDict

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..format import parse_argument, parse_attributes, parse_size
from ..sizes import Size
from ..sizes.kernel import dense, shape_map
from .types import INDEX, REDUCERS


class Written(Protocol):
    """The parts of a te.compute that are written."""

    label: StringAttr
    reducer: StringAttr | None
    identity: ArrayAttr[Any] | None
    body: Region
    combiner: Region | None
    attributes: dict[str, Attribute]

    @property
    def axes(self) -> Sequence[SSAValue]: ...
    @property
    def shape(self) -> Sequence[Size]: ...
    @property
    def reduce_axes(self) -> Sequence[SSAValue]: ...
    @property
    def reduce_shape(self) -> Sequence[Size]: ...
    @property
    def outputs(self) -> Sequence[SSAValue]: ...


class Parts(TypedDict):
    """The parts that a compute is made of."""

    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    regions: Sequence[Region]
    attributes: Mapping[str, Attribute]


def _print_axes(printer: Printer, arguments: Sequence[SSAValue], extents: Sequence[Size]) -> None:
    printer.print_string("(")
    for i, (argument, extent) in enumerate(zip(arguments, extents, strict=True)):
        printer.print_string(", " if i else "")
        printer.print_ssa_value(argument)
        printer.print_string(f" in {extent}")
    printer.print_string(")")


def print_compute(op: Written, printer: Printer) -> None:
    """Everything behind the name of the op."""
    printer.print_string(" ")
    printer.print_string_literal(op.label.data)
    printer.print_string(" ")
    _print_axes(printer, op.axes, op.shape)
    if op.reducer is not None:
        printer.print_string(" ")
        if op.combiner is None:
            printer.print_string(op.reducer.data)
        else:
            printer.print_string("reduce ")
            printer.print_string_literal(op.reducer.data)
        _print_axes(printer, op.reduce_axes, op.reduce_shape)
    printer.print_string(" : ")
    printer.print_list(op.outputs, lambda output: printer.print_attribute(output.type))
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False, print_empty_block=False)
    if op.combiner is not None and op.identity is not None:
        printer.enter_scope()
        printer.print_string(" combine(")
        printer.print_list(op.combiner.block.args, printer.print_block_argument)
        printer.print_string(") from(")
        printer.print_list(op.identity, printer.print_attribute)
        printer.print_string(") ")
        printer.print_region(op.combiner, print_entry_block_args=False, print_empty_block=False)
        printer.exit_scope()


def parse_compute(parser: Parser) -> Parts:
    """The parts of a compute, from behind the name of the op."""
    extents: list[Size] = []

    def axis() -> Parser.Argument:
        argument = parser.parse_argument(expect_type=False).resolve(INDEX)
        parser.parse_keyword("in")
        extents.append(parse_size(parser))
        return argument

    label = parser.parse_str_literal()
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, axis)
    rank = len(extents)
    properties: dict[str, Attribute] = {"label": StringAttr(label)}
    reducer: str | None = parser.parse_optional_keyword_in(REDUCERS)
    if reducer is None and parser.parse_optional_keyword("reduce") is not None:
        reducer = parser.parse_str_literal()
    if reducer is not None:
        properties["reducer"] = StringAttr(reducer)
        arguments += parser.parse_comma_separated_list(parser.Delimiter.PAREN, axis)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    attributes = parse_attributes(parser)
    regions = [parser.parse_region(arguments)]
    if parser.parse_optional_keyword("combine") is not None:
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
        parser.parse_keyword("from")
        numbers = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_attribute)
        properties["identity"] = ArrayAttr(numbers)
        regions.append(parser.parse_region(operands))
    properties["extents"] = DenseArrayBase.from_list(i64, dense(extents[:rank]))
    properties["reduce_extents"] = DenseArrayBase.from_list(i64, dense(extents[rank:]))
    if (sizes := shape_map(extents)) is not None:
        properties["sizes"] = sizes
    return Parts(result_types=types, properties=properties, regions=regions, attributes=attributes)
