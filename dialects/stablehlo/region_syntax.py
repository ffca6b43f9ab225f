"""The forms of `reduce` and `while`, whose regions stand between words.

```mlir
%0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (..) -> tensor<2xf32>
%1:2 = stablehlo.reduce(%x init: %c), (%y init: %d) across dimensions = [0] : (..) -> (tensor<f32>, tensor<i32>)
 reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
  stablehlo.return %a, %i : tensor<f32>, tensor<i32>
}
%2 = stablehlo.while(%state = %x) : tensor<f32>
cond {
  stablehlo.return %p : tensor<i1>
} do {
  stablehlo.return %state : tensor<f32>
}
```
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ..located_parser import LocatesItsBody
from .directives import parse_numbers, print_numbers
from .type_directives import parse_optional_function_type, print_function_type


class ReduceSyntax(IRDLOperation):
    """The form of `reduce`, which says a body of one op by the op's name."""

    traits = traits_def(LocatesItsBody())

    @classmethod
    def parse(cls, parser: Parser) -> ReduceSyntax:
        pairs = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_pair(parser))
        applied = _parse_name_of_op(parser) if parser.parse_optional_keyword("applies") is not None else None
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = parse_numbers(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        whole = parse_optional_function_type(parser, 2 * len(pairs))
        if whole is None:
            parser.raise_error("expected the types of operands and results", position)
        types, results = whole
        inputs, starts = ([pair[side] for pair in pairs] for side in (0, 1))
        operands = parser.resolve_operands([*inputs, *starts], types, position)
        if applied is None:
            region = _parse_reducer(parser)
        else:
            region = _body_of(parser, applied, types[len(pairs) :])
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"dimensions": dimensions},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        half = len(self.operands) // 2
        inputs, starts = self.operands[:half], self.operands[half:]

        def pair(values: tuple[SSAValue, SSAValue]) -> None:
            with printer.in_parens():
                printer.print_ssa_value(values[0])
                printer.print_string(" init: ")
                printer.print_ssa_value(values[1])

        printer.print_list(zip(inputs, starts, strict=True), pair)
        applied = _applied(self)
        printer.print_string(f" applies {applied.name} across" if applied is not None else " across")
        printer.print_string(" dimensions = ")
        print_numbers(printer, self.properties["dimensions"])
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        print_function_type(printer, self.operand_types, self.result_types)
        if applied is not None:
            return
        block = self.regions[0].block
        printer.print_string("\n reducer")
        arguments = zip(block.args[:half], block.args[half:], strict=True)
        printer.print_list(arguments, lambda both: _print_arguments(printer, both), " ")
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False)


def _parse_pair(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    with parser.in_parens():
        value = parser.parse_unresolved_operand()
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        return value, parser.parse_unresolved_operand()


def _parse_name_of_op(parser: Parser) -> str:
    """Parse the name of an op that takes two values of one type and gives one."""
    position = parser.pos
    name = parser.parse_identifier(" of an op")
    kind = parser.ctx.get_optional_op(name)
    fields = kind.get_irdl_definition() if kind is not None and issubclass(kind, IRDLOperation) else None
    if fields is None or (len(fields.operands), len(fields.results), len(fields.regions)) != (2, 1, 0):
        parser.raise_error(f"expected an op of two values, got {name}", position)
    return name


def _parse_reducer(parser: Parser) -> Region:
    """Parse the body; arguments stand in pairs of the two that are combined."""
    parser.parse_keyword("reducer")
    pairs = list[tuple[Parser.Argument, Parser.Argument]]()

    def argument() -> Parser.Argument:
        stated = parser.parse_argument()
        stated.location = parser.parse_optional_location()
        return stated

    position = parser.pos
    while (both := parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, argument)) is not None:
        if len(both) != 2:
            parser.raise_error(f"expected two arguments for each input, got {len(both)}", position)
        pairs.append((both[0], both[1]))
    return parser.parse_region([pair[side] for side in (0, 1) for pair in pairs])


def _body_of(parser: Parser, name: str, types: Sequence[Attribute]) -> Region:
    """Return the body that combines its two arguments by one op. Its ops are at the place of the reduction."""
    kind, leaving = parser.ctx.get_op(name), parser.ctx.get_op("stablehlo.return")
    block = Block(arg_types=[*types, *types])
    combined = kind.create(operands=block.args, result_types=types)
    block.add_ops([combined, leaving.create(operands=combined.results)])
    return Region(block)


def _applied(op: IRDLOperation) -> Operation | None:
    """Return the op that a body is, if it says all of the body: another order, or a place of its own, it does not."""
    block = op.regions[0].block
    combined, leaving = block.first_op, block.last_op
    if combined is None or leaving is None or combined.next_op is not leaving or len(block.args) != 2:
        return None
    plain = (
        tuple(combined.operands) == tuple(block.args)
        and tuple(leaving.operands) == tuple(combined.results)
        and len({*(arg.type for arg in block.args), *combined.result_types}) == 1
        and not combined.attributes
        and not combined.properties
        and {combined.location, leaving.location} == {op.location}
    )
    return combined if plain else None


def _print_arguments(printer: Printer, arguments: Sequence[BlockArgument]) -> None:
    with printer.in_parens():
        printer.print_list(arguments, printer.print_block_argument)


class WhileSyntax(IRDLOperation):
    """The form of `while`, whose values have one name in both regions."""

    @classmethod
    def parse(cls, parser: Parser) -> WhileSyntax:
        def carried() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            name = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return name, parser.parse_unresolved_operand()

        position = parser.pos
        values = parser.parse_comma_separated_list(parser.Delimiter.PAREN, carried)
        types = list[Attribute]()
        if values:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        operands = parser.resolve_operands([operand for _, operand in values], types, position)
        stated = parser.parse_optional_attr_dict_with_keyword()
        arguments = [name.resolve(type_) for (name, _), type_ in zip(values, types, strict=True)]
        parser.parse_keyword("cond")
        condition = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        return cls.create(
            operands=operands,
            result_types=types,
            attributes=stated.data if stated is not None else {},
            regions=[condition, body],
        )

    def print(self, printer: Printer) -> None:
        condition, body = self.regions
        with printer.in_parens():
            pairs = zip(condition.block.args, body.block.args, self.operands, strict=True)
            printer.print_list(pairs, lambda values: _print_carried(printer, *values))
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string("\ncond ")
        printer.print_region(condition, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(body, print_entry_block_args=False)


def _print_carried(printer: Printer, condition: BlockArgument, body: BlockArgument, operand: SSAValue) -> None:
    """Print `%state = %x`; the argument of the body has the name of the condition's."""
    printer.print_ssa_value(condition)
    names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
    names[body] = names[condition]
    printer.print_string(" = ")
    printer.print_ssa_value(operand)
