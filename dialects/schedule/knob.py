"""The choices that a schedule was made by."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Self, cast

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, IntegerType, StringAttr, i64
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail
from ..format import parse_attributes
from .base import Name, number


@irdl_op_definition
class KnobOp(Name):
    """A number that the primitives below it follow from, and the others that it might have been.

    ```mlir
    schedule.knob "rows" in [4, 6, 8] {decision = 8}
    ```

    A change of the decision here changes no primitive: a schedule with other decisions is made by the strategy anew.
    """

    name = "schedule.knob"
    knob = prop_def(StringAttr)
    candidates = prop_def(DenseArrayBase)
    decision = prop_def(IntegerAttr[I64])

    def __init__(self, knob: str, candidates: Sequence[int], decision: int):
        properties = {
            "knob": StringAttr(knob),
            "candidates": DenseArrayBase.from_list(i64, list(candidates)),
            "decision": number(decision),
        }
        super().__init__(properties=properties)

    @property
    def values(self) -> tuple[int, ...]:
        """The candidates."""
        return tuple(cast(DenseArrayBase[IntegerType], self.candidates).get_values())

    def verify_(self) -> None:
        values, decision = self.values, self.decision.value.data
        if any(a >= b for a, b in pairwise(values)):
            fail(self, "increasing candidates", str(list(values)))
        if decision not in values:
            fail(self, f"a decision among {list(values)}", str(decision))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.knob)
        printer.print_string(f" in {list(self.values)}")
        printer.print_string(f" {{decision = {self.decision.value.data}}}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        parser.parse_keyword("in")
        candidates = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        with parser.in_braces():
            parser.parse_keyword("decision")
            parser.parse_punctuation("=")
            decision = parser.parse_integer()
        op = cls(name, candidates, decision)
        op.attributes.update(parse_attributes(parser))
        return op
