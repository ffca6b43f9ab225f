"""Statements of tir beside loops, branches and accesses: what holds, what repeats, what a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
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
from xdsl.traits import HasParent, IsTerminator, NoTerminator, Pure, RecursiveMemoryEffect

from ...provenance.diagnostics import fail
from ..affine import below, bounds
from ..checks import check_map, plural
from ..element_types import stored_type
from ..format import parse_attributes, parse_body, parse_size
from ..sizes import Size
from ..sizes.kernel import dense, negative
from .buffer import BufferType, buffer_of, extent_in, strides_attribute
from .effects import ActsBesideMemory
from .text import parse_end, parse_point, print_end, print_point


@irdl_op_definition
class AssertOp(IRDLOperation):
    """Stops the kernel with a message unless the condition holds.

    ```mlir
    tir.assert %positive, "the extent has to be positive"
    ```
    """

    name = "tir.assert"
    condition = operand_def(i1)
    message = prop_def(StringAttr)
    traits = traits_def(ActsBesideMemory())
    assembly_format = "$condition `,` $message attr-dict"

    @staticmethod
    def make(condition: SSAValue, message: str) -> AssertOp:
        return AssertOp.create(operands=[condition], properties={"message": StringAttr(message)})


@irdl_op_definition
class WhileOp(IRDLOperation):
    """Repeats its body as long as the condition, computed anew before each iteration, holds.

    ```mlir
    tir.while {
      %left = tir.load %n[] : !tir.buffer<i32> -> i32
      %go = arith.cmpi sgt, %left, %zero : i32
      tir.condition %go
    } do {
      ..
    }
    ```
    """

    name = "tir.while"
    before = region_def("single_block")
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @staticmethod
    def make() -> WhileOp:
        return WhileOp.create(regions=[Region(Block()), Region(Block())])

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        for region in self.regions:
            if region.block.args:
                fail(self, "regions without block arguments", f"{len(region.block.args)}")
        last = self.before.block.last_op
        if not isinstance(last, ConditionOp):
            fail(self, "a condition that ends in tir.condition", last.name if last is not None else "nothing")

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.before, print_empty_block=False)
        printer.print_string(" do ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parse_attributes(parser)
        before = parse_body(parser)
        parser.parse_keyword("do")
        return cls.create(regions=[before, parse_body(parser)], attributes=attributes)


@irdl_op_definition
class ConditionOp(IRDLOperation):
    """Decides if a `tir.while` goes on."""

    name = "tir.condition"
    condition = operand_def(i1)
    traits = traits_def(IsTerminator(), HasParent(WhileOp), Pure())
    assembly_format = "$condition attr-dict"


@irdl_op_definition
class AllocConstOp(IRDLOperation):
    """A buffer of numbers known beforehand, which nothing writes.

    ```mlir
    %taps = tir.alloc_const dense<[0.25, 0.5, 0.25]> : tensor<3xf32> : !tir.buffer<3xf32>
    ```
    """

    name = "tir.alloc_const"
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($result)"

    @staticmethod
    def make(value: DenseIntOrFPElementsAttr, type: BufferType) -> AllocConstOp:
        return AllocConstOp.create(result_types=[type], properties={"value": value})

    def verify_(self) -> None:
        type_, type_of_value = self.result.type, cast("TensorType[Attribute]", self.value.get_type())
        expected = TensorType(stored_type(type_.element_type), dense(type_.get_shape()))
        if type_of_value != expected:
            fail(self, f"numbers of type {expected}", str(type_of_value))
        for use in self.result.uses:
            if use.operation.name == "tir.store":
                fail(use.operation, "a buffer that may be written", "a constant one")


@irdl_op_definition
class DeclBufferOp(IRDLOperation):
    """Another name for part of a buffer, from a point on.

    Without `strides` the dims of the view are the last ones of the source, so that element (i, j) of a view that starts
    at [a, b] is element [a + i, b + j]. With them it lies `i * strides[0] + j * strides[1]` elements behind the point,
    whatever the shape of the source.

    ```mlir
    %row = tir.decl_buffer %a[%i, 0] : !tir.buffer<8x64xf32> -> !tir.buffer<64xf32>
    %diagonal = tir.decl_buffer %a[0, 0] strides [65] : !tir.buffer<8x64xf32> -> !tir.buffer<8xf32>
    ```
    """

    name = "tir.decl_buffer"
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    strides = opt_prop_def(ArrayAttr[Attribute])
    result = result_def(BufferType)
    traits = traits_def(Pure())

    @staticmethod
    def make(
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        type: BufferType,
        strides: Sequence[Size] | None = None,
    ) -> DeclBufferOp:
        properties: dict[str, Attribute] = {"map": AffineMapAttr(map)}
        if strides is not None:
            properties["strides"] = strides_attribute(strides)
        return DeclBufferOp.create(operands=[buffer, *indices], result_types=[type], properties=properties)

    @property
    def steps(self) -> tuple[Size, ...] | None:
        """The strides, elements apart; None without."""
        return None if self.strides is None else tuple(map(extent_in, self.strides))

    def verify_(self) -> None:
        source, view = buffer_of(self.buffer), self.result.type
        check_map(self, self.map.data, len(self.indices), len(source.shape))
        if (view.element_type, view.scope) != (source.element_type, source.scope):
            fail(self, f"a view of {source.element_type} in scope {source.scope.data}", str(view))
        if self.strides is not None and len(self.strides) != len(view.shape):
            fail(self, plural(len(view.shape), "stride"), str(len(self.strides)))
        if self.strides is None and len(view.shape) > len(source.shape):
            fail(self, f"strides, or at most {plural(len(source.shape), 'dim')}", plural(len(view.shape), "dim"))
        if self.strides is None:
            self._check_inside(source, view)

    def _check_inside(self, source: BufferType, view: BufferType) -> None:
        shape = view.get_shape()
        lengths = (1,) * (len(source.shape) - len(shape)) + shape
        for dim, (expr, extent, length) in enumerate(
            zip(self.map.data.results, source.get_shape(), lengths, strict=True)
        ):
            if expr.used_dims():
                continue
            first, _ = bounds(expr, ())
            if negative(first) or below(extent, first + length):
                fail(self, f"a view inside [0, {extent}) of dimension {dim}", f"[{first}, {first + length})")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_point(printer, self.buffer, self.map, self.indices)
        if self.strides is not None:
            printer.print_string(f" strides [{', '.join(map(str, self.steps or ()))}]")
        print_end(printer, self, self.buffer.type, self.result.type, between=" -> ")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer, map, indices = parse_point(parser)
        properties: dict[str, Attribute] = {"map": map}
        if parser.parse_optional_keyword("strides") is not None:
            strides = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_size(parser))
            properties["strides"] = strides_attribute(strides)
        attributes, (type_, result) = parse_end(parser, 2, "->")
        operands = [parser.resolve_operand(buffer, type_), *indices]
        return cls.create(operands=operands, result_types=[result], properties=properties, attributes=attributes)
