"""The types of ops in assembly formats: all of them, or the few that say the others.

```mlir
%0 = stablehlo.add %a, %b : tensor<4xf32>
%1 = stablehlo.add %a, %c : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
%2 = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ComplexType, TensorType, TupleType
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

Types: TypeAlias = "Sequence[Attribute]"


def parse_optional_function_type(parser: Parser, operands: int) -> tuple[Types, Types] | None:
    """Parse `(tensor<4xf32>) -> tensor<4xi1>`, the types of operands and of results; None without a parenthesis."""
    position = parser.pos
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if types is None:
        return None
    if len(types) != operands:
        parser.raise_error(f"expected types of {operands} operands, got {len(types)}", position)
    parser.parse_punctuation("->")
    results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return types, results if results is not None else [parser.parse_type()]


def print_function_type(printer: Printer, operands: Types, results: Types) -> None:
    """Print the types of operands and of results; one result has no parentheses."""
    with printer.in_parens():
        printer.print_list(operands, printer.print_attribute)
    printer.print_string(" -> ")
    if len(results) == 1:
        printer.print_attribute(results[0])
        return
    with printer.in_parens():
        printer.print_list(results, printer.print_attribute)


class ShortTypes(CustomDirective):
    """All types, or fewer where `short` of an op says that the others follow from them."""

    operands: TypeDirective
    results: TypeDirective

    def short(self, operands: Types, results: Types) -> Types | None:
        """Return the types that say all of an op's; None where it needs them all."""
        raise NotImplementedError

    def whole(self, types: Types, operands: int) -> tuple[Types, Types] | None:
        """Return the types of operands and of results that a list of some says; None for one that says none."""
        raise NotImplementedError

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        count = sum(len(operands) for operands in state.operands if operands is not None)
        both = parse_optional_function_type(parser, count)
        if both is None:
            some = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            both = self.whole(some, count)
        if both is None or len(both[0]) != count:
            parser.raise_error(f"expected the types of {count} operands and of the results", position)
        self.operands.set(state, both[0])
        self.results.set(state, both[1])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        operands, results = self.operands.get(op), self.results.get(op)
        some = self.short(operands, results)
        if some is not None:
            printer.print_list(some, printer.print_attribute)
        else:
            print_function_type(printer, operands, results)

    def set_empty(self, state: ParsingState) -> None:
        self.operands.set(state, [])
        self.results.set(state, [])


@irdl_custom_directive
class SameOperandsAndResultType(ShortTypes):
    """`tensor<4xf32>` where operands and result have one type."""

    operands: TypeDirective
    results: TypeDirective

    def short(self, operands: Types, results: Types) -> Types | None:
        return results if all(type_ == results[0] for type_ in operands) else None

    def whole(self, types: Types, operands: int) -> tuple[Types, Types] | None:
        return ([types[0]] * operands, types) if len(types) == 1 else None


@irdl_custom_directive
class SelectOpType(ShortTypes):
    """`tensor<4xi1>, tensor<4xf32>` where both choices and the result have one type."""

    operands: TypeDirective
    results: TypeDirective

    def short(self, operands: Types, results: Types) -> Types | None:
        return operands[:2] if operands[1] == operands[2] == results[0] else None

    def whole(self, types: Types, operands: int) -> tuple[Types, Types] | None:
        return ([types[0], types[1], types[1]], types[1:]) if len(types) == 2 else None


@irdl_custom_directive
class ComplexOpType(ShortTypes):
    """`tensor<4xcomplex<f32>>`, of which the operands are the parts."""

    operands: TypeDirective
    results: TypeDirective

    def short(self, operands: Types, results: Types) -> Types | None:
        whole = self.whole(results, 2)
        return results if whole is not None and list(whole[0]) == list(operands) else None

    def whole(self, types: Types, operands: int) -> tuple[Types, Types] | None:
        if len(types) != 1 or not isinstance(types[0], TensorType):
            return None
        type_ = cast("TensorType[Any]", types[0])
        element = cast("ComplexType[Any] | Attribute", type_.element_type)
        if not isinstance(element, ComplexType):
            return None
        part = cast("Attribute", element.element_type)
        return [TensorType(part, type_.shape, type_.encoding)] * 2, types


@irdl_custom_directive
class TupleOpType(ShortTypes):
    """`tuple<tensor<f32>, tensor<i32>>`, which has the types of the operands."""

    operands: TypeDirective
    results: TypeDirective

    def short(self, operands: Types, results: Types) -> Types | None:
        whole = self.whole(results, len(operands))
        return results if whole is not None and list(whole[0]) == list(operands) else None

    def whole(self, types: Types, operands: int) -> tuple[Types, Types] | None:
        if len(types) != 1 or not isinstance(types[0], TupleType):
            return None
        return types[0].types.data, types


@irdl_custom_directive
class PairwiseOpType(ShortTypes):
    """The types of the operands, which are those of the results."""

    operands: TypeDirective
    results: TypeDirective

    def short(self, operands: Types, results: Types) -> Types | None:
        return operands if list(operands) == list(results) else None

    def whole(self, types: Types, operands: int) -> tuple[Types, Types] | None:
        return types, types


TYPE_DIRECTIVES: tuple[type[CustomDirective], ...] = (
    SameOperandsAndResultType,
    SelectOpType,
    ComplexOpType,
    TupleOpType,
    PairwiseOpType,
)
