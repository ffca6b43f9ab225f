"""The ops of tir that hold others: the kernel, the loop and the branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, RecursiveMemoryEffect, SymbolOpInterface

from ...provenance.diagnostics import fail
from ..affine import Range
from ..checks import check_map
from ..format import parse_argument, parse_attributes, parse_body, parse_indices, print_indices
from .buffer import BufferType
from .text import parse_not_negative

INDEX = IndexType()
KINDS = ("serial", "parallel", "vectorized", "unrolled")


@irdl_op_definition
class PrimFuncOp(IRDLOperation):
    """A kernel: buffers in, the last `outputs` of them written."""

    name = "tir.prim_func"
    sym_name = prop_def(SymbolNameConstraint())
    outputs = prop_def(IntegerAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, buffers: Sequence[BufferType], outputs: int):
        super().__init__(
            properties={"sym_name": StringAttr(name), "outputs": IntegerAttr(outputs, i64)},
            regions=[Region(Block(arg_types=buffers))],
        )

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        for argument in self.block.args:
            if not isinstance(argument.type, BufferType):
                fail(self, "buffers as arguments", str(argument.type))
            if argument.type.scope.data != "global":
                fail(self, "arguments in scope global", str(argument.type))
        if not 0 <= self.outputs.value.data <= len(self.block.args):
            count = len(self.block.args)
            fail(self, f"outputs that are among its {count} arguments", str(self.outputs.value.data))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.enter_scope()
        printer.print_string("(")
        printer.print_list(self.block.args, printer.print_block_argument)
        printer.print_string(f") outputs {self.outputs.value.data} ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
        parser.parse_keyword("outputs")
        outputs = IntegerAttr(parser.parse_integer(), i64)
        attributes = parse_attributes(parser)
        region = parse_body(parser, arguments)
        return cls.create(
            properties={"sym_name": name, "outputs": outputs},
            regions=[region],
            attributes=attributes,
        )


def prim_funcs(module: ModuleOp) -> Iterator[PrimFuncOp]:
    """The kernels of a module."""
    return (op for op in module.ops if isinstance(op, PrimFuncOp))


@irdl_op_definition
class ForOp(IRDLOperation):
    """A loop from 0 to `extent`. An `unrolled` one stays rolled in the IR and is unrolled by LLVM."""

    name = "tir.for"
    extent = prop_def(IntegerAttr)
    kind = prop_def(StringAttr, default_value=StringAttr("serial"))
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @staticmethod
    def make(extent: int, kind: str = "serial", hint: str | None = None) -> ForOp:
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = hint
        return ForOp.create(
            properties={"extent": IntegerAttr(extent, i64), "kind": StringAttr(kind)}, regions=[Region(block)]
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def var(self) -> BlockArgument:
        return self.block.args[0]

    @property
    def trip_count(self) -> int:
        return self.extent.value.data

    @property
    def bounds(self) -> Range:
        """The smallest and largest value of the variable; of a loop that never runs, as if it ran once."""
        return 0, max(0, self.trip_count - 1)

    def verify_(self) -> None:
        if self.kind.data not in KINDS:
            fail(self, f"a kind among {', '.join(KINDS)}", self.kind.data)
        if self.trip_count < 0:
            fail(self, "a non-negative extent", str(self.trip_count))
        if len(self.block.args) != 1 or self.var.type != INDEX:
            fail(self, "one block argument of type index", ", ".join(str(a.type) for a in self.block.args) or "none")

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.kind.data == "serial" else f" {self.kind.data} ")
        printer.print_ssa_value(self.var)
        printer.print_string(f" in {self.trip_count}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = parser.parse_optional_keyword_in(KINDS) or "serial"
        argument = parser.parse_argument(expect_type=False).resolve(INDEX)
        parser.parse_keyword("in")
        extent = parser.parse_integer()
        attributes = parse_attributes(parser)
        region = parse_body(parser, [argument])
        return cls.create(
            properties={"extent": IntegerAttr(extent, i64), "kind": StringAttr(kind)},
            regions=[region],
            attributes=attributes,
        )


@irdl_op_definition
class IfOp(IRDLOperation):
    """Runs its body where every guard expression is at least 0. `likely` marks the guard of an uneven split."""

    name = "tir.if"
    indices = var_operand_def(IndexType)
    guard = prop_def(AffineMapAttr)
    likely = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    orelse = opt_region_def("single_block")
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @staticmethod
    def make(guard: AffineMap, indices: Sequence[SSAValue], *, likely: bool = False, orelse: bool = False) -> IfOp:
        properties: dict[str, Attribute] = {"guard": AffineMapAttr(guard)}
        if likely:
            properties["likely"] = UnitAttr()
        regions = [Region(Block()), Region(Block())] if orelse else [Region(Block())]
        return IfOp.create(operands=indices, properties=properties, regions=regions)

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        check_map(self, self.guard.data, len(self.indices), what="guard expression")
        for region in self.regions:
            if region.block.args:
                fail(self, "branches without block arguments", f"{len(region.block.args)}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" likely " if self.likely else " ")
        print_indices(printer, self.guard.data, self.indices)
        printer.print_string(" >= 0 ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_region(self.body, print_empty_block=False)
        if self.orelse is not None:
            printer.print_string(" else ")
            printer.print_region(self.orelse, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("likely") is not None:
            properties["likely"] = UnitAttr()
        properties["guard"], indices = parse_indices(parser)
        parse_not_negative(parser)
        attributes = parse_attributes(parser)
        regions = [parse_body(parser)]
        if parser.parse_optional_keyword("else") is not None:
            regions.append(parse_body(parser))
        return cls.create(operands=indices, properties=properties, regions=regions, attributes=attributes)
