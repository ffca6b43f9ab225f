"""`tir.prefetch`: a hint that a buffer's element will be read soon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail
from ..checks import check_map
from .buffer import BufferType, buffer_of
from .effects import ActsBesideMemory
from .text import parse_end, parse_point, print_end, print_point

LOCALITIES = range(4)
"""The nearness at which the element is to be kept: 0 not at all, 3 as near as possible."""


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Brings the cache line of an element near. The point may be outside of the buffer: nothing is read then.

    ```mlir
    tir.prefetch %a[%i + 2, %j] locality 2 : !tir.buffer<8x64xf32>
    ```
    """

    name = "tir.prefetch"
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    locality = prop_def(IntegerAttr, default_value=IntegerAttr(3, i64))
    traits = traits_def(ActsBesideMemory())

    @staticmethod
    def make(buffer: SSAValue, map: AffineMap, indices: Sequence[SSAValue], locality: int = 3) -> PrefetchOp:
        return PrefetchOp.create(
            operands=[buffer, *indices],
            properties={"map": AffineMapAttr(map), "locality": IntegerAttr(locality, i64)},
        )

    @property
    def step(self) -> int:
        """The distance of lanes, as of a load."""
        return 1

    def verify_(self) -> None:
        check_map(self, self.map.data, len(self.indices), len(buffer_of(self.buffer).shape))
        if (locality := self.locality.value.data) not in LOCALITIES:
            fail(self, f"a locality from {LOCALITIES[0]} to {LOCALITIES[-1]}", str(locality))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_point(printer, self.buffer, self.map, self.indices)
        if (locality := self.locality.value.data) != LOCALITIES[-1]:
            printer.print_string(f" locality {locality}")
        print_end(printer, self, self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer, map, indices = parse_point(parser)
        locality = LOCALITIES[-1]
        if parser.parse_optional_keyword("locality") is not None:
            locality = parser.parse_integer()
        attributes, (type_,) = parse_end(parser, 1)
        operands = [parser.resolve_operand(buffer, type_), *indices]
        properties = {"map": map, "locality": IntegerAttr(locality, i64)}
        return cls.create(operands=operands, properties=properties, attributes=attributes)
