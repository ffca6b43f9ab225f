"""Blocks of tir: a computation over iteration variables, apart from the loops that run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IndexType, IntegerAttr, StringAttr
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
from ..format import join_indices, parse_attributes, parse_body, parse_indices, parse_size, print_indices
from ..sizes import Size
from ..sizes.kernel import negative, size_attribute, size_in
from .access import AllocOp
from .statements import DeclBufferOp
from .text import parse_not_negative

INDEX = IndexType()
ITER_KINDS = ("spatial", "reduce", "opaque")
"""The way a block depends on an iteration variable: iterations independent, combined, or in order."""
BUFFERS = (AllocOp, DeclBufferOp)
"""What may stand before the init part of a block."""


@irdl_op_definition
class BlockOp(IRDLOperation):
    """A computation over iteration variables, and the point that the loops around run it at.

    `at [..]` gives each variable its value. The block runs where, in one of the lists behind `where`, all expressions
    are at least 0; without `where`, always. An extent may be a size of the kernel. TVM's Block and BlockRealize in one;
    what it reads and writes is what its body accesses.

    ```mlir
    tir.block "C" (%vi : spatial 128, %vk : reduce s0) at [%io * 32 + %ii, %k] where [%io * -32 - %ii + 127] >= 0 {
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
    extents = prop_def(ArrayAttr[IntegerAttr | AffineMapAttr])
    map = prop_def(AffineMapAttr)
    where = opt_prop_def(ArrayAttr[AffineMapAttr])
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @staticmethod
    def make(
        label: str,
        axes: Sequence[tuple[str, Size]],
        map: AffineMap,
        indices: Sequence[SSAValue],
        *,
        where: Sequence[AffineMap] = (),
        hints: Sequence[str | None] = (),
    ) -> BlockOp:
        """axes: kind and extent of each iteration variable; map: its value, over `indices`.

        where: maps over `indices`; the block runs where one of them has no negative result, or if there is none.
        """
        block = Block(arg_types=[INDEX] * len(axes))
        for argument, hint in zip(block.args, hints, strict=False):
            argument.name_hint = hint
        properties: dict[str, Attribute] = {
            "label": StringAttr(label),
            "kinds": ArrayAttr([StringAttr(kind) for kind, _ in axes]),
            "extents": ArrayAttr([size_attribute(extent) for _, extent in axes]),
            "map": AffineMapAttr(map),
        }
        if where:
            properties["where"] = ArrayAttr([AffineMapAttr(guard) for guard in where])
        return BlockOp.create(operands=indices, properties=properties, regions=[Region(block)])

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def domain(self) -> tuple[Size, ...]:
        """The extents of the iteration variables."""
        return tuple(map(size_in, self.extents))

    @property
    def guards(self) -> tuple[AffineMap, ...]:
        """The alternatives of `where`, of which one has to hold; none if the block always runs."""
        return () if self.where is None else tuple(guard.data for guard in self.where)

    @property
    def init(self) -> InitOp | None:
        """The part that runs first, if the block has one."""
        first = self.block.first_op
        while isinstance(first, BUFFERS):
            first = first.next_op
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
        if short := [extent for extent in self.domain if negative(extent)]:
            fail(self, "non-negative extents", str(short[0]))
        check_map(self, self.map.data, len(self.indices), count, what="binding")
        for guard in self.guards:
            check_map(self, guard, len(self.indices), what="guard expression")
        if self.where is not None and len(self.guards) != 1 and not all(guard.results for guard in self.guards):
            fail(self, "guard expressions in each alternative of where", "an empty one")
        init = self.init
        for op in self.block.ops:
            if isinstance(op, InitOp) and op is not init:
                fail(op, "tir.init first in its block, but for its buffers", "it behind others")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string(" (")
        axes = zip(self.block.args, self.kinds, self.domain, strict=True)
        for number, (argument, kind, extent) in enumerate(axes):
            printer.print_string(", " if number else "")
            printer.print_ssa_value(argument)
            printer.print_string(f" : {kind.data} {extent}")
        printer.print_string(") at ")
        print_indices(printer, self.map.data, self.indices)
        for number, guard in enumerate(self.guards):
            printer.print_string(" or " if number else " where ")
            print_indices(printer, guard, self.indices)
            printer.print_string(" >= 0")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = StringAttr(parser.parse_str_literal())

        def axis() -> tuple[Parser.Argument, str, Size]:
            argument = parser.parse_argument(expect_type=False).resolve(INDEX)
            parser.parse_punctuation(":")
            kind = parser.parse_identifier()
            return argument, kind, parse_size(parser)

        axes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, axis)
        parser.parse_keyword("at")
        map, indices = parse_indices(parser)
        properties: dict[str, Attribute] = {
            "label": label,
            "kinds": ArrayAttr([StringAttr(kind) for _, kind, _ in axes]),
            "extents": ArrayAttr([size_attribute(extent) for *_, extent in axes]),
            "map": map,
        }
        guards: list[tuple[AffineMapAttr, list[SSAValue]]] = []
        keyword = "where"
        while parser.parse_optional_keyword(keyword) is not None:
            guards.append(parse_indices(parser))
            parse_not_negative(parser)
            keyword = "or"
        if guards:
            (properties["map"], *where), indices = join_indices((map, indices), *guards)
            properties["where"] = ArrayAttr(where)
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
