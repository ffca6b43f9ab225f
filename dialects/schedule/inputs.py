"""Inputs of ops that may be constants or values: `(%i, none, 4)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail

Input: TypeAlias = SSAValue | Attribute
"""A value, or a constant; `none` for what is left open."""
HOLE = UnitAttr()
"""The place of an operand among the inputs of an op."""


class WithInputs(IRDLOperation):
    """An op whose inputs are values and constants, in any order."""

    handles = var_operand_def()
    places = prop_def(ArrayAttr)

    @property
    def inputs(self) -> list[Input]:
        """The values and constants that it takes, in order."""
        handles = iter(self.handles)
        return [next(handles) if place == HOLE else place for place in self.places]

    def check_inputs(self) -> None:
        """Fail unless there is an operand for each place of one."""
        holes = sum(place == HOLE for place in self.places)
        if holes != len(self.handles):
            fail(self, f"{len(self.handles)} handles among its inputs", str(holes))

    def print_inputs(self, printer: Printer) -> None:
        """Print the inputs in brackets."""
        printer.print_string("(")
        for number, item in enumerate(self.inputs):
            printer.print_string(", " if number else "")
            if isinstance(item, SSAValue):
                printer.print_ssa_value(item)
            else:
                printer.print_string(str(item).removesuffix(" : i64"))
        printer.print_string(")")


def split_inputs(inputs: Sequence[Input]) -> tuple[list[SSAValue], ArrayAttr[Attribute]]:
    """The operands among inputs, and the places of all."""
    operands = [item for item in inputs if isinstance(item, SSAValue)]
    return operands, ArrayAttr([HOLE if isinstance(item, SSAValue) else item for item in inputs])


def parse_inputs(parser: Parser) -> list[Input]:
    """Read inputs in brackets; values are those defined above."""

    def item() -> Input:
        if (operand := parser.parse_optional_unresolved_operand()) is None:
            return parser.parse_attribute()
        known = parser.ssa_values.get(operand.operand_name)
        if known is None:
            parser.raise_error(f"expected a handle that is defined above, got {operand.span.text}", operand.span)
        return parser.resolve_operand(operand, known[operand.index].type)

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, item)
