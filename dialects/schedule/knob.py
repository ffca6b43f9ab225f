"""The choices that a schedule was made by, and numbers that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self, cast

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, IntegerType, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail, message
from ...support.errors import ScheduleError
from ..format import name_hint, parse_attributes
from .base import NUMBER, Name, NumberType, SequenceOp, number
from .inputs import Input, WithInputs, parse_inputs, split_inputs


@irdl_op_definition
class KnobOp(Name):
    """A number that the primitives below it are given, and the others that it might have been.

    ```mlir
    %rows = schedule.knob "rows" in [4, 6, 8] {decision = 8}
    %i.outer, %i.inner = schedule.split %i factor %rows
    ```

    The text with another decision is another schedule. Where the primitives themselves were chosen by the decision,
    `{decision = 1, made_for = 1}`, a schedule with another is made by what made this one.
    """

    name = "schedule.knob"
    knob = prop_def(StringAttr)
    candidates = prop_def(DenseArrayBase)
    decision = prop_def(IntegerAttr[I64])
    made_for = opt_prop_def(IntegerAttr[I64])
    """The decision that the primitives below were chosen by, where they were."""
    value = result_def(NumberType)

    def __init__(self, knob: str, candidates: Sequence[int], decision: int, made_for: int | None = None):
        properties = {
            "knob": StringAttr(knob),
            "candidates": DenseArrayBase.from_list(i64, list(candidates)),
            "decision": number(decision),
            "made_for": None if made_for is None else number(made_for),
        }
        super().__init__(properties=properties, result_types=[NUMBER])
        self.value.name_hint = name_hint(knob)

    @property
    def values(self) -> tuple[int, ...]:
        """The candidates."""
        return tuple(cast(DenseArrayBase[IntegerType], self.candidates).get_values())

    @property
    def is_fixed(self) -> bool:
        """Return whether the primitives themselves were chosen by the decision."""
        return self.made_for is not None

    def fix(self) -> None:
        """Note that primitives are chosen by the decision."""
        self.made_for = self.decision

    def verify_(self) -> None:
        values, decision = self.values, self.decision.value.data
        if len(set(values)) != len(values):
            fail(self, "different candidates", str(list(values)))
        if decision not in values:
            fail(self, f"a decision among {list(values)}", str(decision))
        if self.made_for is not None and self.made_for != self.decision:
            made = self.made_for.value.data
            fail(self, f"the decision {made}, by which the primitives below were chosen", str(decision))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.knob)
        printer.print_string(f" in {list(self.values)}")
        made = f", made_for = {self.made_for.value.data}" if self.made_for is not None else ""
        printer.print_string(f" {{decision = {self.decision.value.data}{made}}}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        parser.parse_keyword("in")
        candidates = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        with parser.in_braces():
            decision = _entry(parser, "decision")
            made_for = _entry(parser, "made_for") if parser.parse_optional_punctuation(",") else None
        op = cls(name, candidates, decision, made_for)
        op.attributes.update(parse_attributes(parser))
        return op


def _entry(parser: Parser, key: str) -> int:
    parser.parse_keyword(key)
    parser.parse_punctuation("=")
    return parser.parse_integer()


ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: a // b,
    "parts": lambda a, b: -(-a // b),
    "sum": lambda a, b: a + b,
    "min": min,
}
"""What is computed with numbers of knobs; the quotient rounds down, the parts up."""


@irdl_op_definition
class ArithOp(WithInputs, Name):
    """A number computed of knobs' and constants: `%columns = schedule.arith product(%vectors, 16)`."""

    name = "schedule.arith"
    kind = prop_def(StringAttr)
    value = result_def(NumberType)

    def __init__(self, kind: str, inputs: Sequence[Input]):
        operands, places = split_inputs(inputs)
        properties = {"kind": StringAttr(kind), "places": places}
        super().__init__(operands=[operands], properties=properties, result_types=[NUMBER])
        self.value.name_hint = kind

    def verify_(self) -> None:
        self.check_inputs()
        if self.kind.data not in ARITHMETIC:
            fail(self, f"arithmetic among {', '.join(ARITHMETIC)}", self.kind.data)
        if len(self.inputs) != 2:
            fail(self, "two numbers", str(len(self.inputs)))
        for item in self.inputs:
            is_number = item.type == NUMBER if isinstance(item, SSAValue) else isinstance(item, IntegerAttr)
            if not is_number:
                fail(self, "numbers", str(item.type if isinstance(item, SSAValue) else item))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data}")
        self.print_inputs(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = parser.parse_identifier()
        op = cls(kind, parse_inputs(parser))
        op.attributes.update(parse_attributes(parser))
        return op


def check_knob(sequence: SequenceOp, name: object, candidates: Sequence[object], decision: object) -> None:
    """Raise ScheduleError unless a knob may be appended to a sequence."""
    where = f"knob {name!r}"
    if not isinstance(name, str) or not name:
        raise ScheduleError(message("knob", "a name", repr(name)))
    if any(isinstance(op, KnobOp) and op.knob.data == name for op in sequence.block.ops):
        raise ScheduleError(message(where, "a knob of another name than those before", "a second one"))
    if any(type(number) is not int for number in (*candidates, decision)):
        raise ScheduleError(message(where, "ints as candidates and decision", f"{[*candidates]} and {decision!r}"))
    if len(set(candidates)) != len(candidates) or decision not in candidates:
        raise ScheduleError(message(where, f"a decision among different candidates {[*candidates]}", str(decision)))


def decided(sequence: SequenceOp, decisions: Mapping[str, int]) -> SequenceOp:
    """Return a copy of a sequence with other decisions of its knobs; those that are not named stay.

    Raises ScheduleError for a knob that there is not, a number that is no candidate, and another decision of a knob
    by which the primitives were chosen.
    """
    copy = sequence.clone()
    knobs = {op.knob.data: op for op in copy.block.ops if isinstance(op, KnobOp)}
    if strange := sorted(decisions.keys() - knobs.keys()):
        raise ScheduleError(message("decisions", f"knobs among {', '.join(knobs) or 'none'}", ", ".join(strange)))
    for name, decision in decisions.items():
        op = knobs[name]
        if decision not in op.values:
            raise ScheduleError(message(f"knob '{name}'", f"one of {list(op.values)}", str(decision), op.location))
        if op.made_for is not None and op.made_for.value.data != decision:
            made = op.made_for.value.data
            text = f"the decision {made}, by which the primitives below were chosen"
            raise ScheduleError(message(f"knob '{name}'", text, str(decision), op.location))
        op.properties["decision"] = number(decision)
    return copy
