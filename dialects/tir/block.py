"""Blocks of tir: a computation over iteration variables, apart from the loops that run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IndexType, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, NoTerminator, RecursiveMemoryEffect

from ...provenance.diagnostics import fail
from ..checks import check_map, plural
from ..format import join_indices, parse_attributes, parse_body, parse_indices, print_indices
from .text import parse_not_negative

INDEX = IndexType()
ITER_KINDS = ("spatial", "reduce", "opaque")
"""The way a block depends on an iteration variable: iterations independent, combined, or in order."""


@irdl_op_definition
class BlockOp(IRDLOperation):
    """A computation over iteration variables, and the point that the loops around run it at.

    `at [..]` gives each variable its value; nothing runs where a `where` expression is negative. TVM's Block and
    BlockRealize in one; what it reads and writes is what its body accesses.

    ```mlir
    tir.block "C" (%vi : spatial 128, %vk : reduce 64) at [%io * 32 + %ii, %k] where [%io * -32 - %ii + 127] >= 0 {
      tir.init {
        tir.store %zero, %c[%vi] : f32, !tir.buffer<128xf32>
      }
      ..
    }
    ```
    """

    name = "tir.block"
    indices = var_operand_def(IndexType)
    label = prop_def(StringAttr)
    kinds = prop_def(ArrayAttr[StringAttr])
    extents = prop_def(ArrayAttr[IntAttr])
    map = prop_def(AffineMapAttr)
    guard = opt_prop_def(AffineMapAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @staticmethod
    def make(
        label: str,
        axes: Sequence[tuple[str, int]],
        map: AffineMap,
        indices: Sequence[SSAValue],
        *,
        guard: AffineMap | None = None,
        hints: Sequence[str | None] = (),
    ) -> BlockOp:
        """axes: kind and extent of each iteration variable; map: its value, over `indices`."""
        block = Block(arg_types=[INDEX] * len(axes))
        for argument, hint in zip(block.args, hints, strict=False):
            argument.name_hint = hint
        properties: dict[str, Attribute] = {
            "label": StringAttr(label),
            "kinds": ArrayAttr([StringAttr(kind) for kind, _ in axes]),
            "extents": ArrayAttr([IntAttr(extent) for _, extent in axes]),
            "map": AffineMapAttr(map),
        }
        if guard is not None:
            properties["guard"] = AffineMapAttr(guard)
        return BlockOp.create(operands=indices, properties=properties, regions=[Region(block)])

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def init(self) -> InitOp | None:
        """The part that runs first, if the block has one."""
        first = self.block.first_op
        return first if isinstance(first, InitOp) else None

    def verify_(self) -> None:
        count = len(self.block.args)
        if len(self.kinds) != count or len(self.extents) != count:
            fail(self, f"a kind and an extent for each of {plural(count, 'variable')}", str(len(self.kinds)))
        for kind in self.kinds:
            if kind.data not in ITER_KINDS:
                fail(self, f"a kind among {', '.join(ITER_KINDS)}", kind.data)
        if any(argument.type != INDEX for argument in self.block.args):
            fail(self, "variables of type index", ", ".join(str(argument.type) for argument in self.block.args))
        check_map(self, self.map.data, len(self.indices), count, what="binding")
        if self.guard is not None:
            check_map(self, self.guard.data, len(self.indices), what="guard expression")
        for op in self.block.ops:
            if isinstance(op, InitOp) and op is not self.block.first_op:
                fail(op, "tir.init as the first op of its block", "it behind others")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string(" (")
        axes = zip(self.block.args, self.kinds, self.extents, strict=True)
        for number, (argument, kind, extent) in enumerate(axes):
            printer.print_string(", " if number else "")
            printer.print_ssa_value(argument)
            printer.print_string(f" : {kind.data} {extent.data}")
        printer.print_string(") at ")
        print_indices(printer, self.map.data, self.indices)
        if self.guard is not None:
            printer.print_string(" where ")
            print_indices(printer, self.guard.data, self.indices)
            printer.print_string(" >= 0")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = StringAttr(parser.parse_str_literal())

        def axis() -> tuple[Parser.Argument, str, int]:
            argument = parser.parse_argument(expect_type=False).resolve(INDEX)
            parser.parse_punctuation(":")
            kind = parser.parse_identifier()
            return argument, kind, parser.parse_integer()

        axes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, axis)
        parser.parse_keyword("at")
        map, indices = parse_indices(parser)
        properties: dict[str, Attribute] = {
            "label": label,
            "kinds": ArrayAttr([StringAttr(kind) for _, kind, _ in axes]),
            "extents": ArrayAttr([IntAttr(extent) for *_, extent in axes]),
            "map": map,
        }
        if parser.parse_optional_keyword("where") is not None:
            guard, guarded = parse_indices(parser)
            properties["map"], properties["guard"], indices = join_indices(map, indices, guard, guarded)
            parse_not_negative(parser)
        attributes = parse_attributes(parser)
        region = parse_body(parser, [argument for argument, *_ in axes])
        return cls.create(operands=indices, properties=properties, regions=[region], attributes=attributes)


@irdl_op_definition
class InitOp(IRDLOperation):
    """The part of a block that runs only where its reduce variables are 0."""

    name = "tir.init"
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), HasParent(BlockOp), RecursiveMemoryEffect())

    @staticmethod
    def make() -> InitOp:
        return InitOp.create(regions=[Region(Block())])

    @property
    def block(self) -> Block:
        return self.body.block

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parse_attributes(parser)
        return cls.create(regions=[parse_body(parser)], attributes=attributes)
