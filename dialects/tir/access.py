"""Buffers and accesses: allocation, load, store, index values, and calls of external functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i8,
    i32,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    SSAValue,
)
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure

from ...provenance.diagnostics import fail
from ..affine import Range
from ..checks import check_bounds, check_else, check_map, check_value
from ..element_types import stored_type
from ..format import join_indices, parse_attributes, parse_indices, print_indices
from .buffer import BufferType, buffer_of
from .control import INDEX, ForOp, IfOp, PrimFuncOp
from .effects import AllocatesBuffer, ReadsAndWritesAll, ReadsBuffer, WritesBuffer
from .lanes import lanes, scalar_type
from .statements import WhileOp
from .text import parse_end, parse_not_negative, parse_point, parse_stride, parse_values, print_end, print_point

UNBOUNDED = (-(1 << 62), 1 << 62)
"""The range of an index that no loop bounds."""


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer that lives in the enclosing block. Global ones stand at the top of a prim_func.

    `tir.alloc : .. in "shared"`: the scope that somebody asked for, where a CPU has no memory of its own for it.
    """

    name = "tir.alloc"
    storage = opt_prop_def(StringAttr)
    result = result_def(BufferType)
    traits = traits_def(AllocatesBuffer())
    assembly_format = "attr-dict `:` type($result) (`in` $storage^)?"

    def __init__(self, type: BufferType, storage: str = ""):
        """storage: a scope, of which nothing is kept if it is the type's."""
        named = {"storage": StringAttr(storage)} if storage and storage != type.scope.data else {}
        super().__init__(result_types=[type], properties=named)

    @property
    def asked(self) -> str:
        """The scope that somebody asked for."""
        return self.result.type.scope.data if self.storage is None else self.storage.data

    def verify_(self) -> None:
        if self.result.type.scope.data == "global" and not isinstance(parent := self.parent_op(), PrimFuncOp):
            where = parent.name if parent is not None else "nothing"
            fail(
                self,
                "a global buffer at the top of a tir.prim_func (a local one may stand anywhere)",
                f"one in {where}",
            )


def _is_conditional(op: Operation) -> bool:
    """Return whether `op` may never run."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, PrimFuncOp):
        if isinstance(parent, IfOp | WhileOp) or (isinstance(parent, ForOp) and not parent.is_run()):
            return True
        parent = parent.parent_op()
    return False


def _check_access(op: LoadOp | StoreOp, value: Attribute, *, guarded: bool) -> None:
    type_ = buffer_of(op.buffer)
    shape = type_.get_shape()
    check_map(op, op.map.data, len(op.indices), len(shape))
    element = stored_type(type_.element_type)
    words = isinstance(op, LoadOp) and element == i8 and scalar_type(value) == i32
    lanes = check_value(op, value, i32 if words else element, op.step)
    if not guarded and not _is_conditional(op):
        check_bounds(op, op.map.data, shape, type_.strides, lanes, op.step)


PAST_THE_END = "past_the_end"
"""The attribute of guarded loads past whose guard any value will do, as nobody reads what is computed of it."""


@irdl_op_definition
class LoadOp(IRDLOperation):
    """An element at an affine point, or a vector of elements `stride` apart (in elements) that starts there.

    Of a buffer of bytes also an i32, or a vector of these: words of the four neighbours from each of the points on.

    `if [..] >= 0 else c` guards it: where a guard expression is negative nothing is read and the value is c.
    """

    name = "tir.load"
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    guard = opt_prop_def(AffineMapAttr)
    otherwise = opt_prop_def(Attribute)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    result = result_def(Attribute)
    traits = traits_def(ReadsBuffer())

    @staticmethod
    def make(
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        *,
        type: Attribute | None = None,
        guard: AffineMap | None = None,
        otherwise: Attribute | None = None,
        stride: int = 1,
    ) -> LoadOp:
        properties: dict[str, Attribute] = {"map": AffineMapAttr(map), "stride": IntegerAttr(stride, i64)}
        if guard is not None and otherwise is not None:
            properties |= {"guard": AffineMapAttr(guard), "otherwise": otherwise}
        result = type if type is not None else stored_type(buffer_of(buffer).element_type)
        return LoadOp.create(operands=[buffer, *indices], result_types=[result], properties=properties)

    @property
    def step(self) -> int:
        return self.stride.value.data

    def verify_(self) -> None:
        _check_access(self, self.result.type, guarded=self.guard is not None)
        if self.guard is not None and self.otherwise is not None:
            check_map(self, self.guard.data, len(self.indices), what="guard expression")
            check_else(self, self.otherwise, self.result.type)
        elif self.guard is not None or self.otherwise is not None:
            fail(self, "a guard and its else value together", "a guard" if self.guard is not None else "an else value")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_point(printer, self.buffer, self.map, self.indices)
        if self.guard is not None and self.otherwise is not None:
            printer.print_string(" if ")
            print_indices(printer, self.guard.data, self.indices)
            printer.print_string(" >= 0 else ")
            printer.print_attribute(self.otherwise)
        print_end(printer, self, self.buffer.type, self.result.type, between=" -> ", stride=self.step)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer, map, indices = parse_point(parser)
        properties: dict[str, Attribute] = {"map": map}
        if parser.parse_optional_keyword("if") is not None:
            guard, guarded = parse_indices(parser)
            (properties["map"], properties["guard"]), indices = join_indices((map, indices), (guard, guarded))
            parse_not_negative(parser)
            parser.parse_keyword("else")
            properties["otherwise"] = parser.parse_attribute()
        properties["stride"] = IntegerAttr(parse_stride(parser), i64)
        attributes, (type_, result) = parse_end(parser, 2, "->")
        operands = [parser.resolve_operand(buffer, type_), *indices]
        return cls.create(operands=operands, result_types=[result], properties=properties, attributes=attributes)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes an element, or a vector of elements `stride` apart, to an affine point."""

    name = "tir.store"
    value = operand_def(Attribute)
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    traits = traits_def(WritesBuffer())

    @staticmethod
    def make(
        value: SSAValue, buffer: SSAValue, map: AffineMap, indices: Sequence[SSAValue], *, stride: int = 1
    ) -> StoreOp:
        return StoreOp.create(
            operands=[value, buffer, *indices],
            properties={"map": AffineMapAttr(map), "stride": IntegerAttr(stride, i64)},
        )

    @property
    def step(self) -> int:
        return self.stride.value.data

    def verify_(self) -> None:
        _check_access(self, self.value.type, guarded=False)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        print_point(printer, self.buffer, self.map, self.indices)
        print_end(printer, self, self.value.type, self.buffer.type, stride=self.step)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        (value,) = parse_values(parser, 1)
        buffer, map, indices = parse_point(parser)
        stride = parse_stride(parser)
        attributes, (value_type, type_) = parse_end(parser, 2)
        return cls.create(
            operands=[parser.resolve_operand(value, value_type), parser.resolve_operand(buffer, type_), *indices],
            properties={"map": map, "stride": IntegerAttr(stride, i64)},
            attributes=attributes,
        )


@irdl_op_definition
class IndexOp(IRDLOperation):
    """An affine function of loop variables as a number; with a vector result, `stride` is added per lane."""

    name = "tir.index"
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    result = result_def(Attribute)
    traits = traits_def(Pure())

    @staticmethod
    def make(map: AffineMap, indices: Sequence[SSAValue], type: Attribute = INDEX, stride: int = 0) -> IndexOp:
        return IndexOp.create(
            operands=indices,
            result_types=[type],
            properties={"map": AffineMapAttr(map), "stride": IntegerAttr(stride, i64)},
        )

    def verify_(self) -> None:
        check_map(self, self.map.data, len(self.indices), 1)
        type_ = self.result.type
        if scalar_type(type_) != INDEX or len(lanes(type_)) > 1:
            fail(self, "a result of type index or a 1-d vector of index", str(type_))
        if (step := self.stride.value.data) and not isinstance(type_, VectorType):
            fail(self, "no stride, as a scalar has one lane", str(step))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_indices(printer, self.map.data, self.indices)
        if self.stride.value.data:
            printer.print_string(f" stride {self.stride.value.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        map, indices = parse_indices(parser)
        stride = parse_stride(parser, 0)
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        return cls.create(
            operands=indices,
            result_types=[parser.parse_type()],
            properties={"map": map, "stride": IntegerAttr(stride, i64)},
            attributes=attributes,
        )


@irdl_op_definition
class CallExternOp(IRDLOperation):
    """A call of a C function by name (`tir.call_extern "expf"(%x) : (f32) -> f32`); a buffer is passed as a pointer.

    `at` moves the pointer that many elements (an index) behind the buffer's first, in row-major order:

    ```mlir
    tir.call_extern "dot"(%a at %0, %b, %c at %i) : (!tir.buffer<8x4xf32>, !tir.buffer<4xf32>, !tir.buffer<8xf32>) -> ()
    ```
    """

    name = "tir.call_extern"
    callee = prop_def(StringAttr)
    arguments = var_operand_def(Attribute)
    offsets = var_operand_def(IndexType)
    positions = opt_prop_def(DenseArrayBase)
    outputs = var_result_def(Attribute)
    traits = traits_def(ReadsAndWritesAll())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        offsets: Mapping[int, SSAValue] | None = None,
    ):
        """offsets: by the number of an argument."""
        properties: dict[str, Attribute] = {"callee": StringAttr(callee)}
        if offsets:
            properties["positions"] = DenseArrayBase.from_list(i64, list(offsets))
        super().__init__(
            operands=[list(arguments), list((offsets or {}).values())],
            result_types=[list(result_types)],
            properties=properties,
        )

    @property
    def offset_of(self) -> dict[int, SSAValue]:
        """The elements behind the first one from which a buffer is passed, by the number of the argument."""
        if self.positions is None:
            return {}
        positions = cast(DenseArrayBase[IntegerType], self.positions).get_values()
        return dict(zip(positions, self.offsets, strict=True))

    def verify_(self) -> None:
        count = len(self.positions) if self.positions is not None else 0
        if count != len(self.offsets):
            fail(self, f"{len(self.offsets)} arguments with an offset", str(count))
        for number in self.offset_of:
            if not 0 <= number < len(self.arguments) or not isinstance(self.arguments[number].type, BufferType):
                fail(self, "offsets of buffers", f"one of argument {number}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        printer.print_string("(")
        offsets = self.offset_of
        for number, argument in enumerate(self.arguments):
            printer.print_string(", " if number else "")
            printer.print_ssa_value(argument)
            if number in offsets:
                printer.print_string(" at ")
                printer.print_ssa_value(offsets[number])
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(FunctionType.from_lists([a.type for a in self.arguments], list(self.result_types)))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_str_literal()

        def argument() -> tuple[UnresolvedOperand, UnresolvedOperand | None]:
            value = parser.parse_unresolved_operand()
            offset = parser.parse_unresolved_operand() if parser.parse_optional_keyword("at") is not None else None
            return value, offset

        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        at = parser.pos
        type_ = parser.parse_attribute()
        if not isinstance(type_, FunctionType) or len(type_.inputs) != len(operands):
            parser.raise_error(f"expected a function type with {len(operands)} inputs", at)
        arguments = [
            parser.resolve_operand(value, input) for (value, _), input in zip(operands, type_.inputs, strict=True)
        ]
        offsets = {
            number: parser.resolve_operand(offset, INDEX)
            for number, (_, offset) in enumerate(operands)
            if offset is not None
        }
        op = cls(callee, arguments, list(type_.outputs), offsets)
        op.attributes.update(attributes)
        return op


def index_ranges(values: Sequence[SSAValue]) -> list[Range]:
    """The range of each index operand: a loop variable's from its loop, anything else unbounded."""
    ranges: list[Range] = []
    for value in values:
        owner = value.owner
        loop = owner.parent_op() if isinstance(owner, Block) else None
        ranges.append(loop.bounds if isinstance(loop, ForOp) else UNBOUNDED)
    return ranges
