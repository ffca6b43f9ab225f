"""The relay ops that are no operators: function, constant, call, return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FunctionType,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    ConstantLike,
    HasFolder,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
)

from ...provenance.diagnostics import fail
from ...support.dtypes import SMALL, Array
from ..element_types import tensor_type
from ..format import parse_arguments, parse_attributes, parse_type_params, print_signature
from .constants import LITERAL_LIMIT, literal, literal_value, pool_of
from .effects import EffectsOfCall
from .types import fits

COMPILER = "Compiler"
"""The attribute that says which external compiler a function is for."""


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function. A `primitive` one is a fused group of tensor operators: the unit that is lowered to a kernel.

    Several results, or none, stand for a tuple of them. A polymorphic function is written `relay.func @id["A"](..)`.

    ```mlir
    relay.func @main(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>) {
      %0 = relay.nn.relu %x : tensor<1x4xf32>
      relay.return %0
    }
    ```
    """

    name = "relay.func"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    primitive = opt_prop_def(UnitAttr)
    type_params = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        inputs: Sequence[Attribute],
        outputs: Sequence[Attribute],
        *,
        primitive: bool = False,
        type_params: Sequence[str] = (),
        location: LocationAttr | None = None,
    ):
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(list(inputs), list(outputs)),
        }
        if type_params:
            properties["type_params"] = ArrayAttr(map(StringAttr, type_params))
        if primitive:
            properties["primitive"] = UnitAttr()
        super().__init__(properties=properties, regions=[Region(Block(arg_types=inputs))])
        if location is not None:
            self.location = location

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def return_op(self) -> ReturnOp:
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        return last

    def type_names(self) -> tuple[str, ...]:
        """The names of its type parameters."""
        return tuple(name.data for name in self.type_params) if self.type_params is not None else ()

    def update_type(self) -> None:
        """Make the function type agree with the block arguments and the returned values."""
        self.function_type = FunctionType.from_lists(
            [a.type for a in self.block.args], list(self.return_op.operand_types)
        )

    def verify_(self) -> None:
        inputs = tuple(self.function_type.inputs)
        if inputs != tuple(a.type for a in self.block.args):
            fail(self, "block arguments of the function's input types", ", ".join(str(a.type) for a in self.block.args))
        if not isinstance(last := self.block.last_op, ReturnOp):
            fail(self, "a body that ends in relay.return", last.name if last else "an empty body")
        outputs = self.function_type.outputs.data
        if len(outputs) != len(last.operands) or not all(map(fits, outputs, last.operand_types)):
            wanted = ", ".join(map(str, self.function_type.outputs))
            fail(self, f"{wanted} returned", ", ".join(map(str, last.operand_types)))

    def print(self, printer: Printer) -> None:
        printer.print_string(" primitive " if self.primitive else " ")
        printer.enter_scope()
        print_signature(printer, self.sym_name.data, self.block.args, self.function_type.outputs.data, self.type_params)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        primitive = parser.parse_optional_keyword("primitive") is not None
        name, type_params = parser.parse_symbol_name(), parse_type_params(parser)
        arguments, outputs = parse_arguments(parser)
        attributes = parse_attributes(parser)
        region = parser.parse_region(arguments)
        properties: dict[str, Attribute] = {
            "sym_name": name,
            "function_type": FunctionType.from_lists([a.type for a in arguments], outputs),
        }
        if type_params is not None:
            properties["type_params"] = type_params
        if primitive:
            properties["primitive"] = UnitAttr()
        return cls.create(properties=properties, regions=[region], attributes=attributes)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The results of a function."""

    name = "relay.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[[SSAValue.get(v) for v in values]])


class Literal(HasFolder):
    """Trait of `relay.constant`: passes of xDSL see the value of one that is spelled out, not of one in the pool."""

    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        assert isinstance(op, ConstantOp)
        return None if op.literal is None else [op.literal]


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant tensor: at most 8 elements spelled out, more, and those of small dtypes, by a key into the pool.

    ```mlir
    %w = relay.constant @conv1.w : tensor<64x3x7x7xf32>
    %e = relay.constant dense<1.0e-05> : tensor<f32>
    ```
    """

    name = "relay.constant"
    key = opt_prop_def(StringAttr)
    literal = opt_prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure(), ConstantLike(), Literal())

    def __init__(
        self, type: TensorType[Attribute], *, key: str | None = None, literal: DenseIntOrFPElementsAttr | None = None
    ):
        super().__init__(
            result_types=[type], properties={"key": StringAttr(key) if key is not None else None, "literal": literal}
        )

    @staticmethod
    def of(array: Array, module: ModuleOp, hint: str) -> ConstantOp:
        """The constant of an array; a large one goes into the pool of `module`, named after `hint`."""
        if array.size <= LITERAL_LIMIT and array.dtype.name not in SMALL:
            op = ConstantOp(tensor_type(array), literal=literal(array))
        else:
            op = ConstantOp(tensor_type(array), key=pool_of(module).add(hint, array))
        op.result.name_hint = (SSAValue.is_valid_name(hint) and hint) or None
        return op

    def value(self, module: ModuleOp) -> Array:
        """The array (read-only). Raises PipelineError when the pool of `module` lacks the key."""
        if self.literal is not None:
            return literal_value(self.literal)
        assert self.key is not None
        return pool_of(module)[self.key.data]

    @property
    def hint(self) -> str:
        """A name for constants made of this one."""
        return self.key.data if self.key is not None else "const"

    def verify_(self) -> None:
        if (self.key is None) == (self.literal is None):
            fail(self, "either a pool key or a literal", "both" if self.key is not None else "neither")
        if self.literal is not None and self.literal.type != self.result.type:
            fail(self, f"a literal of type {self.result.type}", str(self.literal.type))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.key is not None:
            printer.print_symbol_name(self.key.data)
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)
        elif self.literal is not None:
            printer.print_attribute(self.literal)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if (key := parser.parse_optional_symbol_name()) is not None:
            properties["key"] = key
            parser.parse_punctuation(":")
            type_: Attribute = parser.parse_type()
        else:
            value = parser.parse_attribute()
            if not isinstance(value, DenseIntOrFPElementsAttr):
                parser.raise_error(f"relay.constant: expected a pool key or a dense literal, got {value}")
            properties["literal"] = value
            type_ = cast(Attribute, value.type)
        attributes = parse_attributes(parser)
        return cls.create(properties=properties, result_types=[type_], attributes=attributes)


@irdl_op_definition
class CallOp(IRDLOperation):
    """A call of a function of the same module; `impure` when it may read or write references."""

    name = "relay.call"
    callee = prop_def(SymbolRefAttr)
    arguments = var_operand_def()
    impure = opt_prop_def(UnitAttr)
    outputs = var_result_def()
    traits = traits_def(EffectsOfCall())
    assembly_format = (
        "(`impure` $impure^)? $callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"
    )

    def __init__(
        self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute], *, impure: bool = False
    ):
        super().__init__(
            operands=[list(arguments)],
            result_types=[list(result_types)],
            properties={"callee": SymbolRefAttr(callee), "impure": UnitAttr() if impure else None},
        )

    @property
    def function(self) -> FuncOp:
        """The called function; raises VerifyException when the module has none of that name."""
        target = SymbolTable.lookup_symbol(self, self.callee)
        if not isinstance(target, FuncOp):
            fail(self, f"a relay.func named @{self.callee.string_value()}", "none in the module")
        return target
