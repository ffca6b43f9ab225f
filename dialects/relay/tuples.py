"""Tuples as values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TupleType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...provenance.diagnostics import fail, message
from ..format import parse_attributes
from .types import fields_of, tuple_type


@irdl_op_definition
class TupleOp(IRDLOperation):
    """Values as one: `%t = relay.tuple %a, %b : tuple<tensor<4xf32>, tensor<i1>>`."""

    name = "relay.tuple"
    fields = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())

    def __init__(self, fields: Sequence[SSAValue | Operation]):
        values = [SSAValue.get(field) for field in fields]
        super().__init__(operands=[values], result_types=[tuple_type([value.type for value in values])])

    def verify_(self) -> None:
        if self.result.type != (expected := tuple_type(list(self.operand_types))):
            fail(self, f"result {expected}", str(self.result.type))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.operands:
            printer.print_list(self.operands, printer.print_ssa_value)
            printer.print_string(" ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(": ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> TupleOp:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        position = parser.pos
        if (types := fields_of(type_ := parser.parse_type())) is None:
            parser.raise_error(f"relay.tuple: expected a tuple type, got {type_}")
        values = parser.resolve_operands(operands or [], types, position)
        return cls.create(operands=values, result_types=[type_], attributes=attributes)


@irdl_op_definition
class TupleGetItemOp(IRDLOperation):
    """A value of a tuple: `%a = relay.tuple_get_item %t[0] : tuple<tensor<4xf32>, tensor<i1>>`."""

    name = "relay.tuple_get_item"
    tuple_value = operand_def(TupleType)
    index = prop_def(IntegerAttr)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, tuple_value: SSAValue | Operation, index: int):
        value = SSAValue.get(tuple_value)
        fields = fields_of(value.type)
        if fields is None or not 0 <= index < len(fields):
            wanted = "a tuple" if fields is None else f"an index in [0, {len(fields)})"
            raise VerifyException(message(self.name, wanted, str(value.type) if fields is None else str(index)))
        super().__init__(operands=[value], properties={"index": IntegerAttr(index, i64)}, result_types=[fields[index]])

    def verify_(self) -> None:
        fields, index = fields_of(self.tuple_value.type) or (), self.index.value.data
        if not 0 <= index < len(fields):
            fail(self, f"an index in [0, {len(fields)})", str(index))
        if fields[index] != self.result.type:
            fail(self, f"result {fields[index]}", str(self.result.type))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.tuple_value)
        printer.print_string(f"[{self.index.value.data}]")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.tuple_value.type)

    @classmethod
    def parse(cls, parser: Parser) -> TupleGetItemOp:
        operand = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = parser.parse_integer(allow_boolean=False, allow_negative=False)
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        fields = fields_of(type_ := parser.parse_type())
        if fields is None or index >= len(fields):
            wanted = "a tuple type" if fields is None else f"an index in [0, {len(fields)})"
            parser.raise_error(f"relay.tuple_get_item: expected {wanted}, got {type_ if fields is None else index}")
        return cls.create(
            operands=[parser.resolve_operand(operand, type_)],
            properties={"index": IntegerAttr(index, i64)},
            result_types=[fields[index]],
            attributes=attributes,
        )
