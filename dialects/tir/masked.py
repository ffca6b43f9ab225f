"""Vectors of which only some lanes are read or written.

```mlir
%m = tir.mask [12 - %i * 8] steps [-1] >= 0 : vector<8xi1>
%0 = tir.masked_load %m, %a[%i * 8] else dense<0.0> : vector<8xf32> : !tir.buffer<13xf32> -> vector<8xf32>
tir.masked_store %0, %m, %b[%i * 8] : vector<8xf32>, !tir.buffer<13xf32>
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ...provenance.diagnostics import fail
from ..checks import check_else, check_map, check_value, plural
from ..element_types import stored_type
from ..format import parse_indices, print_indices
from ..int_lists import numbers_of
from .buffer import BufferType, buffer_of
from .effects import ReadsBuffer, WritesBuffer
from .lanes import lanes, scalar_type
from .text import parse_end, parse_not_negative, parse_point, parse_stride, parse_values, print_end, print_point


@irdl_op_definition
class MaskOp(IRDLOperation):
    """A bit per lane: set if every expression, plus its step times the number of the lane, is at least 0."""

    name = "tir.mask"
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    steps = prop_def(DenseArrayBase)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    @staticmethod
    def make(map: AffineMap, indices: Sequence[SSAValue], steps: Sequence[int], width: int) -> MaskOp:
        return MaskOp.create(
            operands=indices,
            result_types=[VectorType(i1, [width])],
            properties={"map": AffineMapAttr(map), "steps": DenseArrayBase.from_list(i64, list(steps))},
        )

    @property
    def by_lane(self) -> tuple[int, ...]:
        """The step of each expression."""
        return numbers_of(cast("DenseArrayBase[IntegerType]", self.steps))

    def verify_(self) -> None:
        check_map(self, self.map.data, len(self.indices), what="condition")
        if scalar_type(self.result.type) != i1 or len(lanes(self.result.type)) != 1:
            fail(self, "a 1-d vector of i1 as result", str(self.result.type))
        if len(self.by_lane) != (count := len(self.map.data.results)):
            fail(self, plural(count, "step"), str(len(self.by_lane)))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_indices(printer, self.map.data, self.indices)
        printer.print_string(f" steps [{', '.join(map(str, self.by_lane))}] >= 0")
        print_end(printer, self, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        map, indices = parse_indices(parser)
        parser.parse_keyword("steps")
        steps = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parse_not_negative(parser)
        attributes, types = parse_end(parser, 1)
        properties = {"map": map, "steps": DenseArrayBase.from_list(i64, steps)}
        return cls.create(operands=indices, result_types=types, properties=properties, attributes=attributes)


def _check(op: MaskedLoadOp | MaskedStoreOp, value: Attribute) -> None:
    type_ = buffer_of(op.buffer)
    check_map(op, op.map.data, len(op.indices), len(type_.shape))
    count = check_value(op, value, stored_type(type_.element_type), op.step)
    if not count:
        fail(op, "a vector", str(value))
    if op.mask.type != (wanted := VectorType(i1, [count])):
        fail(op, f"a mask of type {wanted}", str(op.mask.type))


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    """A `tir.load` of a vector in which lanes without a set bit read nothing and have the value after `else`."""

    name = "tir.masked_load"
    mask = operand_def(VectorType)
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    otherwise = prop_def(Attribute)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    result = result_def(VectorType)
    traits = traits_def(ReadsBuffer())

    @staticmethod
    def make(
        mask: SSAValue,
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        otherwise: Attribute,
        type: Attribute,
        stride: int = 1,
    ) -> MaskedLoadOp:
        return MaskedLoadOp.create(
            operands=[mask, buffer, *indices],
            result_types=[type],
            properties={"map": AffineMapAttr(map), "otherwise": otherwise, "stride": IntegerAttr(stride, i64)},
        )

    @property
    def step(self) -> int:
        """The distance of lanes, in elements."""
        return self.stride.value.data

    def verify_(self) -> None:
        _check(self, self.result.type)
        check_else(self, self.otherwise, self.result.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.mask)
        printer.print_string(", ")
        print_point(printer, self.buffer, self.map, self.indices)
        printer.print_string(" else ")
        printer.print_attribute(self.otherwise)
        print_end(printer, self, self.buffer.type, self.result.type, between=" -> ", stride=self.step)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        (mask,) = parse_values(parser, 1)
        buffer, map, indices = parse_point(parser)
        parser.parse_keyword("else")
        otherwise = parser.parse_attribute()
        stride = parse_stride(parser)
        attributes, (type_, result) = parse_end(parser, 2, "->")
        mask_type = VectorType(i1, lanes(result) or (1,))
        return cls.create(
            operands=[parser.resolve_operand(mask, mask_type), parser.resolve_operand(buffer, type_), *indices],
            result_types=[result],
            properties={"map": map, "otherwise": otherwise, "stride": IntegerAttr(stride, i64)},
            attributes=attributes,
        )


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    """A `tir.store` of a vector that writes only lanes with a set bit."""

    name = "tir.masked_store"
    value = operand_def(VectorType)
    mask = operand_def(VectorType)
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    traits = traits_def(WritesBuffer())

    @staticmethod
    def make(
        value: SSAValue,
        mask: SSAValue,
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        stride: int = 1,
    ) -> MaskedStoreOp:
        return MaskedStoreOp.create(
            operands=[value, mask, buffer, *indices],
            properties={"map": AffineMapAttr(map), "stride": IntegerAttr(stride, i64)},
        )

    @property
    def step(self) -> int:
        """The distance of lanes, in elements."""
        return self.stride.value.data

    def verify_(self) -> None:
        _check(self, self.value.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        for value in (self.value, self.mask):
            printer.print_ssa_value(value)
            printer.print_string(", ")
        print_point(printer, self.buffer, self.map, self.indices)
        print_end(printer, self, self.value.type, self.buffer.type, stride=self.step)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value, mask = parse_values(parser, 2)
        buffer, map, indices = parse_point(parser)
        stride = parse_stride(parser)
        attributes, (value_type, type_) = parse_end(parser, 2)
        mask_type = VectorType(i1, lanes(value_type) or (1,))
        operands = [(value, value_type), (mask, mask_type), (buffer, type_)]
        return cls.create(
            operands=[*(parser.resolve_operand(*operand) for operand in operands), *indices],
            properties={"map": map, "stride": IntegerAttr(stride, i64)},
            attributes=attributes,
        )
