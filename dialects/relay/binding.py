"""Let-blocks and branches."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from xdsl.dialects.builtin import StringAttr, TensorType, i1
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect

from ...provenance.diagnostics import fail
from ..format import parse_argument, parse_attributes, parse_body
from .functions import YieldOp, yielded
from .types import fits


class Flavour(StrEnum):
    """The kind of ops in a let-block (TVM's LetBlockFlavor)."""

    PURE = "pure"
    """Values that only compute. Each sees the ones before it."""
    IMPURE = "impure"
    """Values that may read and write references, in order. Each sees the ones before it."""
    REC = "rec"
    """Functions, each of which sees all of them."""


@irdl_op_definition
class LetOp(IRDLOperation):
    """A let-block: bindings, flat, of which those that are needed behind it are yielded.

    A binding is an op whose result has a name; an op without one belongs to the binding that reads it.

    ```mlir
    %b = relay.let pure {
      %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %b = relay.negative %a : (tensor<4xf32>) -> tensor<4xf32>
      relay.yield %b : tensor<4xf32>
    }
    ```

    Of a `rec` one the block's arguments stand for the values that it yields, in order:

    ```mlir
    %f = relay.let rec (%self: (tensor<i32>) -> tensor<i32>) {
      %f = relay.fn (%n: tensor<i32>) -> tensor<i32> { .. relay.invoke %self(%n) .. }
      relay.yield %f : (tensor<i32>) -> tensor<i32>
    }
    ```
    """

    name = "relay.let"
    flavour = prop_def(StringAttr)
    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, flavour: Flavour, body: Block):
        last = body.last_op
        types = list(last.operand_types) if isinstance(last, YieldOp) else []
        super().__init__(
            properties={"flavour": StringAttr(flavour.value)}, regions=[Region(body)], result_types=[types]
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def kind(self) -> Flavour:
        return Flavour(self.flavour.data)

    def verify_(self) -> None:
        if self.flavour.data not in list(Flavour):
            fail(self, f"a flavour among {', '.join(Flavour)}", self.flavour.data)
        types = tuple(value.type for value in yielded(self, self.body))
        if types != tuple(self.result_types):
            fail(self, f"results {_list(types)}", _list(self.result_types))
        arguments = tuple(argument.type for argument in self.block.args)
        if self.kind is Flavour.REC and (len(arguments) != len(types) or not all(map(fits, arguments, types))):
            fail(self, f"arguments {_list(types)}, as yielded", _list(arguments))
        if self.kind is not Flavour.REC and arguments:
            fail(self, f"no arguments in a let-block that is {self.flavour.data}", _list(arguments))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.flavour.data} ")
        printer.enter_scope()
        if self.block.args:
            with printer.in_parens():
                printer.print_list(self.block.args, printer.print_block_argument)
            printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.exit_scope()
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> LetOp:
        flavour = parser.parse_identifier()
        arguments = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
        body = parse_body(parser, arguments or [])
        attributes = parse_attributes(parser)
        last = body.block.last_op
        return cls.create(
            properties={"flavour": StringAttr(flavour)},
            regions=[body],
            result_types=list(last.operand_types) if isinstance(last, YieldOp) else [],
            attributes=attributes,
        )


@irdl_op_definition
class IfOp(IRDLOperation):
    """The value of one of two branches, which read what they need of the values around them.

    ```mlir
    %y = relay.if %c : tensor<i1> -> tensor<4xf32> {
      relay.yield %a : tensor<4xf32>
    } else {
      relay.yield %b : tensor<4xf32>
    }
    ```
    """

    name = "relay.if"
    condition = operand_def(TensorType)
    true_branch = region_def("single_block")
    false_branch = region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect())
    assembly_format = (
        "$condition `:` type($condition) `->` type($result) attr-dict-with-keyword $true_branch `else` $false_branch"
    )

    def __init__(self, condition: SSAValue | Operation, true_branch: Block, false_branch: Block, type_: Attribute):
        super().__init__(
            operands=[SSAValue.get(condition)],
            regions=[Region(true_branch), Region(false_branch)],
            result_types=[type_],
        )

    def verify_(self) -> None:
        if self.condition.type != TensorType(i1, []):
            fail(self, "a condition of tensor<i1>", str(self.condition.type))
        for name, region in (("true", self.true_branch), ("false", self.false_branch)):
            if region.block.args:
                fail(self, f"a {name} branch without arguments", str(len(region.block.args)))
            types = tuple(value.type for value in yielded(self, region))
            if len(types) != 1 or not fits(self.result.type, types[0]):
                fail(self, f"{self.result.type} of the {name} branch", _list(types))


def resolved(value: SSAValue) -> SSAValue:
    """The value that let-blocks, other than recursive ones, yield for `value`."""
    while isinstance(value, OpResult) and isinstance(let := value.op, LetOp) and let.kind is not Flavour.REC:
        last = let.block.last_op
        assert last is not None
        value = last.operands[value.index]
    return value


def _list(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "none"
