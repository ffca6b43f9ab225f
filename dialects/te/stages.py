"""Stages of a te.func that are no computes: scans over time, calls of functions, and loops written by hand.

```mlir
%s = te.state "s" : tensor<16x8xf32>
%next = te.compute "next" (%t in 16, %i in 8) : tensor<16x8xf32> {
  %0 = te.read %s[%t - 1, %i] : tensor<16x8xf32>
  ...
}
%sum = te.scan "sum" (%s from %init next %next : tensor<1x8xf32> -> tensor<16x8xf32>)
%c = te.extern "c" packed "matmul"(%a, %b, out 0, 2 : i32) : (tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>)
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast
from zlib import crc32

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntAttr, IntegerAttr, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import NoTerminator

from ...provenance.diagnostics import fail
from ..format import parse_attributes
from ..sizes import Size, decide, same, same_shape
from ..sizes.types import extents_of


def _shape(value: SSAValue) -> tuple[Size, ...]:
    return extents_of(cast(TensorType[Attribute], value.type))


def _name_results(op: IRDLOperation, label: str) -> None:
    for i, result in enumerate(op.results):
        hint = label if len(op.results) == 1 else f"{label}.v{i}"
        result.name_hint = hint if SSAValue.is_valid_name(hint) else None


def tensor_number(argument: Attribute) -> int | None:
    """The number of the tensor that an argument of te.extern stands for; None for a number."""
    return cast("IntAttr[int]", argument).data if isinstance(argument, IntAttr) else None


@irdl_op_definition
class StateOp(IRDLOperation):
    """The rows that a scan has computed so far: inside its updates, those of earlier times."""

    name = "te.state"
    label = prop_def(StringAttr)
    result = result_def(TensorType)
    assembly_format = "$label attr-dict `:` type($result)"

    def __init__(self, label: str, type: Attribute):
        super().__init__(properties={"label": StringAttr(label)}, result_types=[type])
        _name_results(self, label)

    def verify_(self) -> None:
        scans = [use.operation for use in self.result.uses if isinstance(use.operation, ScanOp)]
        if len(scans) != 1:
            fail(self, "one te.scan of the state", str(len(scans)))


@irdl_op_definition
class ScanOp(IRDLOperation):
    """States over time, which is the first dimension.

    The first rows of each state are its `init`; each later row is that row of its `update`, a compute that reads states
    at earlier times only. All states have as many rows, and all inits.
    """

    name = "te.scan"
    label = prop_def(StringAttr)
    states = var_operand_def(TensorType)
    inits = var_operand_def(TensorType)
    updates = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, label: str, states: Sequence[SSAValue], inits: Sequence[SSAValue], updates: Sequence[SSAValue]):
        super().__init__(
            properties={"label": StringAttr(label)},
            operands=[list(states), list(inits), list(updates)],
            result_types=[[state.type for state in states]],
        )
        _name_results(self, label)

    @property
    def steps(self) -> Size:
        """The rows of a state."""
        return _shape(self.states[0])[0]

    @property
    def first(self) -> Size:
        """The first time that is computed: the rows of an init."""
        return _shape(self.inits[0])[0]

    def verify_(self) -> None:
        if len(self.states) != len(self.inits) or len(self.states) != len(self.updates) or not self.states:
            actual = f"{len(self.states)} states, {len(self.inits)} inits and {len(self.updates)} updates"
            fail(self, "an init and an update for each of at least one state", actual)
        for state, init, update, output in zip(self.states, self.inits, self.updates, self.outputs, strict=True):
            self._verify_state(state, init, update)
            if output.type != state.type:
                fail(self, f"a result of the state's type {state.type}", str(output.type))
        if not all(same(_shape(state)[0], self.steps) for state in self.states):
            fail(self, "states of as many steps", ", ".join(str(_shape(s)[0]) for s in self.states))
        if not all(same(_shape(init)[0], self.first) for init in self.inits):
            fail(self, "inits of as many steps", ", ".join(str(_shape(i)[0]) for i in self.inits))

    def _verify_state(self, state: SSAValue, init: SSAValue, update: SSAValue) -> None:
        if not isinstance(state.owner, StateOp):
            fail(self, "states that te.state makes", str(state.type))
        if update.type != state.type:
            fail(self, f"an update of the state's type {state.type}", str(update.type))
        if isinstance(update.owner, Block) or update.owner.name != "te.compute":
            actual = "an argument" if isinstance(update.owner, Block) else update.owner.name
            fail(self, "an update that te.compute makes", actual)
        rows, start = _shape(state), _shape(init)
        alike = (
            cast(TensorType[Attribute], init.type).element_type == cast(TensorType[Attribute], state.type).element_type
        )
        if not rows or len(start) != len(rows) or not same_shape(start[1:], rows[1:]) or not alike:
            fail(self, f"an init that is some first rows of {state.type}", str(init.type))
        if decide(1, "<=", start[0]) is False or decide(start[0], "<=", rows[0]) is False:
            fail(self, f"an init of 1 to {rows[0]} steps", str(start[0]))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string(" (")
        for i, (state, init, update) in enumerate(zip(self.states, self.inits, self.updates, strict=True)):
            printer.print_string(", " if i else "")
            printer.print_ssa_value(state)
            printer.print_string(" from ")
            printer.print_ssa_value(init)
            printer.print_string(" next ")
            printer.print_ssa_value(update)
            printer.print_string(" : ")
            printer.print_attribute(init.type)
            printer.print_string(" -> ")
            printer.print_attribute(state.type)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        states: list[SSAValue] = []
        inits: list[SSAValue] = []
        updates: list[SSAValue] = []

        def state() -> None:
            name = parser.parse_unresolved_operand()
            parser.parse_keyword("from")
            init = parser.parse_unresolved_operand()
            parser.parse_keyword("next")
            update = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            init_type = parser.parse_type()
            parser.parse_punctuation("->")
            type_ = parser.parse_type()
            states.append(parser.resolve_operand(name, type_))
            inits.append(parser.resolve_operand(init, init_type))
            updates.append(parser.resolve_operand(update, type_))

        label = parser.parse_str_literal()
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, state)
        attributes = parse_attributes(parser)
        op = cls(label, states, inits, updates)
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class ExternOp(IRDLOperation):
    """A call of a function on whole tensors: a C function by its symbol, or (`packed`) a registered Python one.

    `arguments` are what it is called with: `#builtin.int<k>` is tensor k of the operands and then the results, a number
    is itself. Operands are in the order of their first use; a C function gets pointers to their elements.
    """

    name = "te.extern"
    label = prop_def(StringAttr)
    callee = prop_def(StringAttr)
    packed = opt_prop_def(UnitAttr)
    arguments = prop_def(ArrayAttr)
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)

    @staticmethod
    def make(
        label: str,
        callee: str,
        arguments: Sequence[Attribute],
        inputs: Sequence[SSAValue],
        types: Sequence[Attribute],
        *,
        packed: bool = False,
    ) -> ExternOp:
        properties: dict[str, Attribute] = {
            "label": StringAttr(label),
            "callee": StringAttr(callee),
            "arguments": ArrayAttr(arguments),
        }
        if packed:
            properties["packed"] = UnitAttr()
        op = ExternOp.create(operands=inputs, result_types=types, properties=properties)
        _name_results(op, label)
        return op

    @property
    def symbol(self) -> str:
        """The symbol that the kernel calls; for a Python function, one that its runtime supplies.

        Its last part tells calls of one label apart: intrinsics of one name may call functions of their own.
        """
        if self.packed is None:
            return self.callee.data
        types = [*self.operand_types, *self.result_types]
        call = " ".join(map(str, (self.callee, self.arguments, *types)))
        label = "".join(c if c.isalnum() else "_" for c in self.label.data)
        return f"whence_packed_{label}_{crc32(call.encode()):08x}"

    def verify_(self) -> None:
        seen: list[int] = []
        tensors = len(self.inputs) + len(self.outputs)
        for argument in self.arguments:
            match argument:
                case IntAttr(data=number):
                    if not 0 <= number < tensors:
                        fail(self, f"tensor arguments below {tensors}", str(number))
                    if number not in seen:
                        seen.append(number)
                case IntegerAttr() | FloatAttr():
                    pass
                case _:
                    fail(self, "tensors and numbers as arguments", str(argument))
        order = [number for number in seen if number < len(self.inputs)]
        if order != list(range(len(self.inputs))) or len(set(self.inputs)) != len(self.inputs):
            fail(self, "each operand once, in the order of its first use", f"the order {order}")

    def print(self, printer: Printer) -> None:
        def argument(attribute: Attribute) -> None:
            number = tensor_number(attribute)
            if number is None:
                printer.print_attribute(attribute)
            elif number < len(self.inputs):
                printer.print_ssa_value(self.inputs[number])
            else:
                printer.print_string(f"out {number - len(self.inputs)}")

        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string(" packed " if self.packed is not None else " ")
        printer.print_string_literal(self.callee.data)
        printer.print_string("(")
        printer.print_list(self.arguments, argument)
        printer.print_string(") : ")
        _print_types(printer, self.inputs, self.outputs)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal()
        packed = parser.parse_optional_keyword("packed") is not None
        callee = parser.parse_str_literal()
        names: list[str] = []
        operands: list[UnresolvedOperand] = []
        outs: list[tuple[int, int]] = []
        arguments: list[Attribute] = []

        def argument() -> None:
            operand = parser.parse_optional_unresolved_operand()
            if operand is not None:
                key = f"{operand.operand_name}#{operand.index}"
                if key not in names:
                    names.append(key)
                    operands.append(operand)
                arguments.append(IntAttr(names.index(key)))
            elif parser.parse_optional_keyword("out") is not None:
                outs.append((len(arguments), parser.parse_integer()))
                arguments.append(UnitAttr())
            else:
                arguments.append(parser.parse_attribute())

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        parser.parse_punctuation(":")
        input_types, types = _parse_types(parser)
        attributes = parse_attributes(parser)
        for position, number in outs:
            arguments[position] = IntAttr(len(operands) + number)
        inputs = parser.resolve_operands(operands, input_types, parser.pos)
        op = cls.make(label, callee, arguments, inputs, types, packed=packed)
        op.attributes.update(attributes)
        return cast(Self, op)


@irdl_op_definition
class HybridOp(IRDLOperation):
    """Loops written by hand: a body of tir on the buffers of the inputs and then of the outputs."""

    name = "te.hybrid"
    label = prop_def(StringAttr)
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @staticmethod
    def make(label: str, inputs: Sequence[SSAValue], types: Sequence[Attribute], body: Region) -> HybridOp:
        op = HybridOp.create(
            operands=inputs, result_types=types, properties={"label": StringAttr(label)}, regions=[body]
        )
        _name_results(op, label)
        return op

    def verify_(self) -> None:
        tensors, buffers = len(self.inputs) + len(self.outputs), len(self.body.block.args)
        if tensors != buffers:
            fail(self, f"a buffer argument per input and output, {tensors} in all", str(buffers))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string("(")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_string(") : ")
        _print_types(printer, self.inputs, self.outputs)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal()
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        input_types, types = _parse_types(parser)
        attributes = parse_attributes(parser)
        inputs = parser.resolve_operands(operands, input_types, parser.pos)
        op = cls.make(label, inputs, types, parser.parse_region())
        op.attributes.update(attributes)
        return cast(Self, op)


def _print_types(printer: Printer, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> None:
    printer.print_string("(")
    printer.print_list(inputs, lambda value: printer.print_attribute(value.type))
    printer.print_string(") -> (")
    printer.print_list(outputs, lambda value: printer.print_attribute(value.type))
    printer.print_string(")")


def _parse_types(parser: Parser) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    input_types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    parser.parse_punctuation("->")
    return input_types, parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
