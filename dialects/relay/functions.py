"""Functions as values: closures, global functions by name, and calls of either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, LocationAttr, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure

from ...provenance.diagnostics import fail
from ..format import parse_argument, parse_attributes, parse_type_params, print_type_params
from .effects import EffectsOfCall
from .types import fits, function_type, signature_of


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The values of a region: of a closure, a branch, a clause or a let-block."""

    name = "relay.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation, location: LocationAttr | None = None):
        super().__init__(operands=[[SSAValue.get(v) for v in values]])
        if location is not None:
            self.location = location


def yielded(op: Operation, region: Region) -> tuple[SSAValue, ...]:
    """Return what the one block of a region of `op` yields; raises VerifyException if it ends without relay.yield."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        fail(op, "a region that ends in relay.yield", last.name if last is not None else "an empty one")
    return tuple(last.values)


@irdl_op_definition
class FnOp(IRDLOperation):
    """A function as a value. It reads what it needs of the values around it.

    ```mlir
    %f = relay.fn (%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relay.add %x, %bias : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      relay.yield %0 : tensor<4xf32>
    }
    %id = relay.fn["A"] (%x: !relay.type_var<"A">) -> !relay.type_var<"A"> { .. }
    ```
    """

    name = "relay.fn"
    type_params = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(Pure())

    def __init__(
        self,
        inputs: Sequence[Attribute],
        output: Attribute,
        type_params: Sequence[str] = (),
        *,
        location: LocationAttr | None = None,
    ):
        super().__init__(
            result_types=[function_type(type_params, inputs, output)],
            properties={"type_params": ArrayAttr(map(StringAttr, type_params)) if type_params else None},
            regions=[Region(Block(arg_types=inputs))],
        )
        if location is not None:
            self.location = location

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def signature(self) -> FunctionType:
        """Inputs and output, with the type variables as they are."""
        return cast(FunctionType, signature_of(self.result.type))

    def type_names(self) -> tuple[str, ...]:
        return tuple(name.data for name in self.type_params) if self.type_params is not None else ()

    def verify_(self) -> None:
        outputs = [value.type for value in yielded(self, self.body)]
        if len(outputs) != 1:
            fail(self, "one value yielded", str(len(outputs)))
        signature = signature_of(self.result.type)
        output = signature.outputs.data[0] if signature is not None else outputs[0]
        if not fits(output, outputs[0]):
            fail(self, f"{output} yielded", str(outputs[0]))
        expected = function_type(self.type_names(), [a.type for a in self.block.args], output)
        if expected != self.result.type:
            fail(self, f"result {expected}", str(self.result.type))

    def print(self, printer: Printer) -> None:
        print_type_params(printer, self.type_params)
        printer.print_string(" ")
        printer.enter_scope()
        with printer.in_parens():
            printer.print_list(self.block.args, printer.print_block_argument)
        printer.print_string(" -> ")
        printer.print_attribute(self.signature.outputs.data[0])
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> FnOp:
        params = parse_type_params(parser)
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
        parser.parse_punctuation("->")
        output = parser.parse_type()
        attributes = parse_attributes(parser)
        body = parser.parse_region(arguments)
        names = [name.data for name in params] if params is not None else []
        properties: dict[str, Attribute] = {} if params is None else {"type_params": params}
        return cls.create(
            properties=properties,
            regions=[body],
            result_types=[function_type(names, [a.type for a in arguments], output)],
            attributes=attributes,
        )


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """A function of the module as a value: `%f = relay.global @f : (tensor<4xf32>) -> tensor<4xf32>`."""

    name = "relay.global"
    symbol = prop_def(SymbolRefAttr)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$symbol attr-dict `:` type($result)"

    def __init__(self, symbol: str, type_: Attribute):
        super().__init__(properties={"symbol": SymbolRefAttr(symbol)}, result_types=[type_])


@irdl_op_definition
class InvokeOp(IRDLOperation):
    """A call of a function value; `impure` when it may read or write references.

    ```mlir
    %y = relay.invoke %f(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "relay.invoke"
    function = operand_def()
    arguments = var_operand_def()
    impure = opt_prop_def(UnitAttr)
    result = result_def()
    traits = traits_def(EffectsOfCall())
    assembly_format = (
        "(`impure` $impure^)? $function `(` $arguments `)` attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self, function: SSAValue | Operation, arguments: Sequence[SSAValue], output: Attribute, impure: bool = False
    ):
        super().__init__(
            operands=[SSAValue.get(function), list(arguments)],
            result_types=[output],
            properties={"impure": UnitAttr() if impure else None},
        )

    def verify_(self) -> None:
        if (signature := signature_of(self.function.type)) is None:
            fail(self, "a function", str(self.function.type))
        actual = FunctionType.from_lists([a.type for a in self.arguments], [self.result.type])
        if isinstance(self.function.type, FunctionType) and not fits(signature, actual):
            fail(self, f"a call of type {signature}", str(actual))
        if len(signature.inputs) != len(actual.inputs):
            fail(self, f"{len(signature.inputs)} arguments", str(len(actual.inputs)))
