"""Tensor intrinsics in text: what a tile must compute, and what computes it instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, SymbolTable

from ...provenance.diagnostics import fail
from ..format import parse_attributes, parse_body
from ..te import ComputeOp, FuncOp
from .base import Primitive, SequenceOp, StageType, number

PATTERN, BODY, RESET, UPDATE = "pattern", "body", "reset", "update"
PARTS = (BODY, RESET, UPDATE)
"""The functions of a tile: all of it; only what a reduction starts from; only the terms, added to what is there."""


@irdl_op_definition
class TensorIntrinOp(IRDLOperation):
    """The intrinsic of a name that `schedule.tensorize` uses.

    `@pattern` is one compute, which the loops of a tile must be. `@body` computes the same from the same inputs, in the
    order that a sequence for it gives its loops. Where loops of a reduction stay outside the tile, `@reset` and then
    `@update` run instead; a body that ends in the pattern's reduction needs neither.

    ```mlir
    schedule.tensor_intrin "scale" {
      te.func @pattern(%a: tensor<16xf32>) -> (tensor<16xf32>) { .. }
      te.func @body(%a: tensor<16xf32>) -> (tensor<16xf32>) {
        %b = te.extern "b" "scale16"(%a, out 0) : (tensor<16xf32>) -> (tensor<16xf32>)
        te.return %b : tensor<16xf32>
      }
    }
    ```
    """

    name = "schedule.tensor_intrin"
    label = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), SymbolTable())

    @staticmethod
    def make(label: str, parts: Sequence[Operation]) -> TensorIntrinOp:
        return TensorIntrinOp.create(properties={"label": StringAttr(label)}, regions=[Region(Block(parts))])

    @property
    def functions(self) -> dict[str, FuncOp]:
        """The functions by their names."""
        return {op.sym_name.data: op for op in self.body.block.ops if isinstance(op, FuncOp)}

    @property
    def sequences(self) -> dict[str, SequenceOp]:
        """The sequences by the functions that they are for."""
        return {op.target.data: op for op in self.body.block.ops if isinstance(op, SequenceOp)}

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, FuncOp | SequenceOp):
                fail(self, "functions and their sequences", op.name)
        functions = self.functions
        wanted = f"@{PATTERN} and some of {', '.join(f'@{part}' for part in PARTS)}"
        if not {PATTERN} < functions.keys() <= {PATTERN, *PARTS} or not self.sequences.keys() <= functions.keys():
            fail(self, wanted, ", ".join(f"@{name}" for name in (*functions, *self.sequences)) or "none")
        pattern = functions[PATTERN]
        stages = list(pattern.block.ops)[:-1]
        if len(stages) != 1 or not isinstance(stages[0], ComputeOp) or len(stages[0].outputs) != 1:
            fail(self, "a pattern of one compute of one tensor", f"{len(stages)} operations")
        for name, func in functions.items():
            if func.function_type != pattern.function_type:
                fail(self, f"@{name} of type {pattern.function_type}", str(func.function_type))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal()
        attributes = parse_attributes(parser)
        properties: dict[str, Attribute] = {"label": StringAttr(label)}
        return cls.create(properties=properties, regions=[parse_body(parser)], attributes=attributes)


@irdl_op_definition
class TensorComputeOp(Primitive):
    """The stage is made of calls of an intrinsic: one at each point of its first `outer` axes and those of a reduction.

    It is what a stage is from its beginning, so that no record has it.
    """

    name = "schedule.tensor_compute"
    RECORD: ClassVar[str | None] = None
    stage = operand_def(StageType)
    intrin = prop_def(StringAttr)
    outer = prop_def(IntegerAttr[I64])
    assembly_format = "$stage $intrin `outer` $outer attr-dict"

    def __init__(self, stage: SSAValue, intrin: str, outer: int):
        super().__init__(operands=[stage], properties={"intrin": StringAttr(intrin), "outer": number(outer)})
