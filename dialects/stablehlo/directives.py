"""Directives of the assembly formats of StableHLO, beside xDSL's own: numbers, words and dimensions.

```mlir
%1 = stablehlo.slice %0 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
%2 = stablehlo.dot_general %m, %n, contracting_dims = [1] x [0], precision = [DEFAULT, HIGH] : (..) -> tensor<4x5xf32>
```

The directives have the names of StableHLO's own, `custom<SameOperandsAndResultType>`; each says what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    SymbolRefAttr,
    TensorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from .attributes import ConvAttr, Record, Word, kind_named
from .type_directives import TYPE_DIRECTIVES


@irdl_custom_directive
class ConstantValue(CustomDirective):
    """An attribute that says the type of the result: `dense<1.0> : tensor<4xf32>`."""

    value: AttributeVariable
    result: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        value = parser.parse_attribute()
        type_ = cast("Any", value).type if hasattr(value, "type") else None
        if not isinstance(type_, Attribute):
            parser.raise_error("expected a constant that has a type", position)
        self.value.set(state, value)
        self.result.set(state, [type_])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.value.print(printer, state, op)


class PropertyDirective(CustomDirective):
    """A property in a form of its own."""

    value: AttributeVariable

    def read(self, parser: Parser, state: ParsingState) -> Attribute:
        """Parse the property."""
        raise NotImplementedError

    def write(self, printer: Printer, value: Any) -> None:
        """Print the property."""
        raise NotImplementedError

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, self.read(parser, state))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        self.write(printer, self.value.get(op))

    def is_present(self, op: IRDLOperation) -> bool:
        return self.value.is_present(op)

    def is_anchorable(self) -> bool:
        return True


@irdl_custom_directive
class I64(PropertyDirective):
    """`1`, an integer of 64 bits."""

    value: AttributeVariable
    TYPE: ClassVar = i64

    def read(self, parser: Parser, state: ParsingState) -> Attribute:
        return IntegerAttr(parser.parse_integer(), self.TYPE)

    def write(self, printer: Printer, value: Any) -> None:
        printer.print_string(str(value.value.data))


@irdl_custom_directive
class I32(I64):
    """`1`, an integer of 32 bits."""

    value: AttributeVariable
    TYPE: ClassVar = i32


@irdl_custom_directive
class I64Array(PropertyDirective):
    """`[1, 0]`, integers of 64 bits."""

    value: AttributeVariable

    def read(self, parser: Parser, state: ParsingState) -> Attribute:
        return parse_numbers(parser)

    def write(self, printer: Printer, value: Any) -> None:
        print_numbers(printer, value)


def parse_numbers(parser: Parser) -> Attribute:
    """Parse `[1, 0]`."""
    return DenseArrayBase.from_list(
        i64, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    )


def print_numbers(printer: Printer, numbers: Any) -> None:
    """Print `[1, 0]`."""
    printer.print_string(str(list(numbers.get_values())))


def _dialect(state: ParsingState) -> str:
    return state.op_type.name.partition(".")[0]


@irdl_custom_directive
class Enum(PropertyDirective):
    """`LT`, one word of the property's set; the attribute has the name of the property, but for `compare_type`."""

    value: AttributeVariable

    def read(self, parser: Parser, state: ParsingState) -> Attribute:
        name = {"compare_type": "comparison_type"}.get(self.value.name, self.value.name)
        return _parse_word(parser, kind_named(f"{_dialect(state)}.{name}"))

    def write(self, printer: Printer, value: Any) -> None:
        printer.print_string(value.value.data)


def _parse_word(parser: Parser, kind: type[Word]) -> Word:
    return kind.new(kind.parse_parameters(parser))


@irdl_custom_directive
class PrecisionConfig(PropertyDirective):
    """`[DEFAULT, HIGH]`, a precision for each side."""

    value: AttributeVariable

    def read(self, parser: Parser, state: ParsingState) -> Attribute:
        kind = kind_named(f"{_dialect(state)}.precision")
        return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_word(parser, kind)))

    def write(self, printer: Printer, value: Any) -> None:
        with printer.in_square_brackets():
            printer.print_list(value.data, lambda word: printer.print_string(word.value.data))


@irdl_custom_directive
class CustomCallTarget(PropertyDirective):
    """`@target`, where the property is a string."""

    value: AttributeVariable

    def read(self, parser: Parser, state: ParsingState) -> Attribute:
        return parser.parse_symbol_name()

    def write(self, printer: Printer, value: Any) -> None:
        printer.print_attribute(SymbolRefAttr(value))


@irdl_custom_directive
class ConvolutionDimensions(PropertyDirective):
    """`[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    value: AttributeVariable

    def read(self, parser: Parser, state: ParsingState) -> Attribute:
        return ConvAttr.new(ConvAttr.parse_axes(parser))

    def write(self, printer: Printer, value: Any) -> None:
        printer.print_string(value.axes())


@irdl_custom_directive
class VariadicOperandWithAttribute(CustomDirective):
    """Operands with a comma behind each, before the property that follows."""

    operands: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        values = list[Any]()
        while (value := parser.parse_optional_unresolved_operand()) is not None:
            values.append(value)
            parser.parse_punctuation(",")
        if not values:
            parser.parse_optional_punctuation(",")
        state.operands[self.operands.index] = values

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_list(getattr(op, self.operands.name), printer.print_ssa_value)
        printer.print_string(",")


@irdl_custom_directive
class SliceRanges(CustomDirective):
    """`[1:3, 0:5:2]`: begin, end and step along each axis."""

    begins: AttributeVariable
    ends: AttributeVariable
    steps: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        def span() -> tuple[int, int, int]:
            begin = parser.parse_integer()
            parser.parse_punctuation(":")
            end = parser.parse_integer()
            step = parser.parse_integer() if parser.parse_optional_punctuation(":") else 1
            return begin, end, step

        spans = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, span)
        for at, variable in enumerate((self.begins, self.ends, self.steps)):
            variable.set(state, DenseArrayBase.from_list(i64, [numbers[at] for numbers in spans]))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        columns = [cast("Any", variable.get(op)).get_values() for variable in (self.begins, self.ends, self.steps)]
        spans = [
            f"{begin}:{end}" + (f":{step}" if step != 1 else "") for begin, end, step in zip(*columns, strict=True)
        ]
        printer.print_string(f"[{', '.join(spans)}]")


_MINIFLOAT = re.compile(r"e(\d+)m(\d+)")


@irdl_custom_directive
class ExponentMantissa(CustomDirective):
    """`e8m7`: the bits of a float."""

    exponent: AttributeVariable
    mantissa: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        match = _MINIFLOAT.fullmatch(parser.parse_identifier(" of a format of floats"))
        if match is None:
            parser.raise_error("expected a format of floats such as e8m7", position)
        for variable, bits in zip((self.exponent, self.mantissa), match.groups(), strict=True):
            variable.set(state, IntegerAttr(int(bits), i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        exponent, mantissa = (cast("Any", variable.get(op)).value.data for variable in (self.exponent, self.mantissa))
        printer.print_string(f"e{exponent}m{mantissa}")


@irdl_custom_directive
class DotDimensionNumbers(CustomDirective):
    """`batching_dims = [0] x [0], contracting_dims = [2] x [1]`; without what is empty, but for the second pair."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        fields = dict[str, Attribute]()

        def sides(kind: str) -> None:
            parser.parse_punctuation("=")
            for side in ("lhs", "rhs"):
                if side == "rhs":
                    parser.parse_keyword("x")
                fields[f"{side}_{kind}_dimensions"] = parse_numbers(parser)

        if parser.parse_optional_keyword("batching_dims") is not None:
            sides("batching")
            parser.parse_punctuation(",")
        parser.parse_keyword("contracting_dims")
        sides("contracting")
        stated = {name: numbers for name, numbers in fields.items() if cast("Any", numbers).get_values()}
        self.value.set(state, kind_named("stablehlo.dot").new([DictionaryAttr(stated)]))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        fields = cast(Record, self.value.get(op)).values()

        def sides(kind: str) -> str:
            lists = [list(cast("Any", fields.get(f"{side}_{kind}_dimensions", ()))) for side in ("lhs", "rhs")]
            return f"{kind}_dims = {lists[0]} x {lists[1]}"

        batching = sides("batching")
        printer.print_string(f"{batching}, " if batching != "batching_dims = [] x []" else "")
        printer.print_string(sides("contracting"))


def _precision(variable: AttributeVariable) -> PropertyDirective:
    make: Any = PrecisionConfig
    return make(variable)


@irdl_custom_directive
class PrecisionConfigAndAlgorithm(CustomDirective):
    """`, precision = [DEFAULT, HIGH], algorithm = <..>`, each where it is stated."""

    precision: AttributeVariable
    algorithm: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        words: PropertyDirective = _precision(self.precision)
        kind = kind_named("stablehlo.dot_algorithm")
        while parser.parse_optional_punctuation(",") is not None:
            if parser.parse_optional_keyword("precision") is not None:
                parser.parse_punctuation("=")
                words.parse(parser, state)
            else:
                parser.parse_keyword("algorithm")
                parser.parse_punctuation("=")
                self.algorithm.set(state, kind.new(kind.parse_parameters(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        if self.precision.is_present(op):
            printer.print_string(", precision =")
            _precision(self.precision).print(printer, state, op)
        if self.algorithm.is_present(op):
            printer.print_string(", algorithm = ")
            cast(ParametrizedAttribute, self.algorithm.get(op)).print_parameters(printer)


@irdl_custom_directive
class WindowAttributes(CustomDirective):
    """`stride = [2, 1], pad = [[1, 1], [0, 1]], lhs_dilate = .., rhs_dilate = .., reverse = ..`, as far as stated."""

    stride: AttributeVariable
    pad: AttributeVariable
    lhs_dilate: AttributeVariable
    rhs_dilate: AttributeVariable
    reverse: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        readers: dict[str, tuple[AttributeVariable, Callable[[Parser], Attribute]]] = {
            "stride": (self.stride, parse_numbers),
            "pad": (self.pad, _parse_pads),
            "lhs_dilate": (self.lhs_dilate, parse_numbers),
            "rhs_dilate": (self.rhs_dilate, parse_numbers),
            "reverse": (self.reverse, _parse_flags),
        }
        while True:
            position = parser.pos
            name = parser.parse_optional_identifier()
            if name is None:
                return
            if name not in readers:
                parser.raise_error(f"expected each of {', '.join(readers)} once at most, got {name}", position)
            parser.parse_punctuation("=")
            variable, read = readers.pop(name)
            variable.set(state, read(parser))
            if parser.parse_optional_punctuation(",") is None:
                return

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        words = list[str]()
        for name, variable in cast("dict[str, AttributeVariable]", vars(self)).items():
            value = cast("Any", variable.get(op))
            if value is None:
                continue
            numbers = list(value.get_values())
            if name == "pad":
                numbers = [numbers[at : at + 2] for at in range(0, len(numbers), 2)]
            elif name == "reverse":
                numbers = [bool(number) for number in numbers]
            words.append(f"{name} = {str(numbers).lower()}")
        printer.print_string(", ".join(words))
        state.last_was_punctuation = False


def _parse_pads(parser: Parser) -> Attribute:
    def pair() -> list[int]:
        return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)

    position = parser.pos
    pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, pair)
    if any(len(numbers) != 2 for numbers in pairs):
        parser.raise_error("expected two numbers for each axis as pad", position)
    numbers = [number for numbers in pairs for number in numbers]
    return DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(pairs), 2]), numbers)


def _parse_flags(parser: Parser) -> Attribute:
    flags = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_boolean)
    return DenseArrayBase.from_list(i1, [int(flag) for flag in flags])


DIRECTIVES: tuple[type[CustomDirective], ...] = (
    *TYPE_DIRECTIVES,
    ConstantValue,
    I64,
    I32,
    I64Array,
    Enum,
    PrecisionConfig,
    CustomCallTarget,
    ConvolutionDimensions,
    VariadicOperandWithAttribute,
    SliceRanges,
    ExponentMantissa,
    DotDimensionNumbers,
    PrecisionConfigAndAlgorithm,
    WindowAttributes,
)
