"""The ops of tir that hold others: the kernel, the loop and the branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
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
from ...provenance.walk import walk
from ..affine import Range
from ..checks import check_map
from ..format import parse_argument, parse_attributes, parse_body, parse_indices, parse_size, print_indices
from ..sizes import Size
from ..sizes.checks import check_sizes
from ..sizes.kernel import at_least, last_value, names_of, size_attribute, size_in
from .buffer import BufferType
from .text import parse_not_negative

INDEX = IndexType()
KINDS = ("serial", "parallel", "vectorized", "unrolled")
SCHEDULED = "tir.is_scheduled"
"""The attribute of a kernel whose loops somebody's schedule made, so that no other schedule replaces them."""


def _shape(type_: Attribute) -> tuple[Size, ...]:
    return type_.get_shape() if isinstance(type_, BufferType) and not type_.is_static else ()


@irdl_op_definition
class PrimFuncOp(IRDLOperation):
    """A kernel: buffers in, the last `outputs` of them written.

    With `sizes ["n", "m"]` it takes two numbers behind its buffers, which shapes, extents and indices call s0 and s1:

    ```mlir
    tir.prim_func @neg(%a: !tir.buffer<?xf32, [s0]>, %b: !tir.buffer<?xf32, [s0]>) outputs 1 sizes ["n"] {
      tir.for %i in s0 {
        %0 = tir.load %a[s0 - 1 - %i] : !tir.buffer<?xf32, [s0]> -> f32
        tir.store %0, %b[%i] : f32, !tir.buffer<?xf32, [s0]>
      }
    }
    ```
    """

    name = "tir.prim_func"
    sym_name = prop_def(SymbolNameConstraint())
    outputs = prop_def(IntegerAttr)
    sizes = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, buffers: Sequence[BufferType], outputs: int, sizes: Sequence[str] = ()):
        """sizes: what its sizes are called, in order."""
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "outputs": IntegerAttr(outputs, i64)}
        if sizes:
            properties["sizes"] = ArrayAttr(map(StringAttr, sizes))
        super().__init__(
            properties=properties,
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
        check_sizes(self, len(self.size_names), _shape)

    def take(self, other: PrimFuncOp) -> None:
        """Take arguments, body and notes of another kernel, which is left without them; the name stays."""
        self.properties, self.attributes = {**other.properties, "sym_name": self.sym_name}, dict(other.attributes)
        self.detach_region(0)
        self.add_region(other.detach_region(0))

    @property
    def size_names(self) -> tuple[str, ...]:
        """The names of its sizes s0, s1, .., in order."""
        return names_of(self.sizes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.enter_scope()
        printer.print_string("(")
        printer.print_list(self.block.args, printer.print_block_argument)
        printer.print_string(f") outputs {self.outputs.value.data} ")
        if self.sizes is not None:
            printer.print_string("sizes ")
            printer.print_attribute(self.sizes)
            printer.print_string(" ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
        parser.parse_keyword("outputs")
        properties: dict[str, Attribute] = {"sym_name": name, "outputs": IntegerAttr(parser.parse_integer(), i64)}
        if parser.parse_optional_keyword("sizes") is not None:
            names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
            properties["sizes"] = ArrayAttr(map(StringAttr, names))
        attributes = parse_attributes(parser)
        region = parse_body(parser, arguments)
        return cls.create(
            properties=properties,
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
    extent = prop_def(IntegerAttr | AffineMapAttr)
    kind = prop_def(StringAttr, default_value=StringAttr("serial"))
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @staticmethod
    def make(extent: Size, kind: str = "serial", hint: str | None = None) -> ForOp:
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = hint
        return ForOp.create(
            properties={"extent": size_attribute(extent), "kind": StringAttr(kind)}, regions=[Region(block)]
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def var(self) -> BlockArgument:
        return self.block.args[0]

    @property
    def trip_count(self) -> Size:
        """The number of iterations; where that is an expression of sizes, which may be negative, at least 0."""
        extent = self.extent
        return extent.value.data if isinstance(extent, IntegerAttr) else size_in(extent)

    @property
    def bounds(self) -> Range:
        """The smallest and largest value of the variable; of a loop that never runs, as if it ran once."""
        extent = self.extent
        return 0, max(0, extent.value.data - 1) if isinstance(extent, IntegerAttr) else last_value(size_in(extent))

    @property
    def is_known(self) -> bool:
        """Return whether how often it runs is a number."""
        return isinstance(self.extent, IntegerAttr)

    def is_run(self, least: int = 1) -> bool:
        """Return whether it surely runs so often, or more."""
        return at_least(self.trip_count, least)

    def verify_(self) -> None:
        if self.kind.data not in KINDS:
            fail(self, f"a kind among {', '.join(KINDS)}", self.kind.data)
        if isinstance(self.trip_count, int) and self.trip_count < 0:
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
        extent = parse_size(parser)
        attributes = parse_attributes(parser)
        region = parse_body(parser, [argument])
        return cls.create(
            properties={"extent": size_attribute(extent), "kind": StringAttr(kind)},
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


def captured_values(op: ForOp) -> list[SSAValue]:
    """The values from outside that a loop uses, in order of first use."""
    defined: set[SSAValue] = set()
    captured: dict[SSAValue, None] = {}
    for inner in walk(op):
        defined.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                defined.update(block.args)
        captured.update((operand, None) for operand in inner.operands if operand not in defined)
    return list(captured)
