"""The schedule primitives that make, order and mark loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail
from ..sizes import Size
from ..sizes.text import parse_size
from .base import AXIS, NUMBER, AxisType, NumberType, Primitive, StageType, ThreadType, number


def _operands(axis: SSAValue, value: object) -> list[SSAValue | list[SSAValue]]:
    """The operands of an op on an axis and a number, which may follow from a knob."""
    return [axis, [value] if isinstance(value, SSAValue) else []]


class _Split(Primitive):
    ENDS: ClassVar[bool] = True
    LEAST: ClassVar[str] = ""
    axis = operand_def(AxisType)
    number = opt_operand_def(NumberType)
    outer = result_def(AxisType)
    inner = result_def(AxisType)

    def __init__(self, axis: SSAValue, count: int | SSAValue | str):
        """count: the constant, a number that follows from a knob, or the text of a size over names."""
        constant: dict[str, Attribute] = {}
        if not isinstance(count, SSAValue):
            constant[self._word()] = StringAttr(count) if isinstance(count, str) else number(count)
        super().__init__(operands=_operands(axis, count), properties=constant, result_types=[AXIS, AXIS])

    @classmethod
    def _word(cls) -> str:
        return next(iter(cls.get_irdl_definition().properties))

    @property
    def count(self) -> Size | SSAValue:
        """The factor or the number of parts: a constant, a size over names, or a number that follows from a knob."""
        if self.number is not None:
            return self.number
        constant = self.properties[self._word()]
        if isinstance(constant, StringAttr):
            return parse_size(constant.data)
        return cast("IntegerAttr[IntegerType]", constant).value.data

    def verify_(self) -> None:
        constant = self.properties.get(self._word())
        if (constant is None) == (self.number is None):
            fail(self, f"a {self._word()}, as a constant or of a knob", "none" if constant is None else "both")
        try:
            count = self.count
        except ValueError as error:
            fail(self, f"a {self._word()} over names", f"{constant} ({error})")
        if isinstance(count, int) and count < 1:
            fail(self, self.LEAST, str(count))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.axis)
        printer.print_string(f" {self._word()} ")
        if isinstance(count := self.count, SSAValue):
            printer.print_ssa_value(count)
        else:
            printer.print_string(str(count) if isinstance(count, int) else f'"{count}"')
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        axis = parser.resolve_operand(parser.parse_unresolved_operand(), AXIS)
        parser.parse_keyword(cls._word())
        if (size := parser.parse_optional_str_literal()) is not None:
            count = size
        else:
            value = parser.parse_optional_unresolved_operand()
            count = parser.parse_integer() if value is None else parser.resolve_operand(value, NUMBER)
        op = cls(axis, count)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


@irdl_op_definition
class SplitOp(_Split):
    """`axis` becomes `outer` of ceil(extent / factor) and `inner` of factor: a number, or a size over names."""

    name = "schedule.split"
    LEAST: ClassVar[str] = "a factor of at least 1"
    factor = opt_prop_def(IntegerAttr[I64] | StringAttr)


@irdl_op_definition
class SplitByNPartsOp(_Split):
    """`axis` becomes `outer` of nparts and `inner` of ceil(extent / nparts)."""

    name = "schedule.split_by_nparts"
    LEAST: ClassVar[str] = "at least 1 part"
    nparts = opt_prop_def(IntegerAttr[I64] | StringAttr)


@irdl_op_definition
class FuseOp(Primitive):
    """Two neighbouring axes become one of their product."""

    name = "schedule.fuse"
    ENDS: ClassVar[bool] = True
    outer = operand_def(AxisType)
    inner = operand_def(AxisType)
    fused = result_def(AxisType)
    assembly_format = "$outer `,` $inner attr-dict"

    def __init__(self, outer: SSAValue, inner: SSAValue):
        super().__init__(operands=[outer, inner], result_types=[AXIS])

    def verify_(self) -> None:
        if self.outer is self.inner:
            fail(self, "two axes", "one axis twice")


@irdl_op_definition
class FusedOp(Primitive):
    """Ends a fuse of several axes, which is recorded as a primitive of its own; `axis` is what became of them."""

    name = "schedule.fused"
    RECORD: ClassVar[str | None] = "fuse"
    axis = operand_def(AxisType)
    assembly_format = "$axis attr-dict"

    def __init__(self, axis: SSAValue):
        super().__init__(operands=[axis])


@irdl_op_definition
class SingletonOp(Primitive):
    """The fuse of no axes: a new outermost loop of one pass."""

    name = "schedule.singleton"
    RECORD: ClassVar[str | None] = "fuse"
    stage = operand_def(StageType)
    axis = result_def(AxisType)
    assembly_format = "$stage attr-dict"

    def __init__(self, stage: SSAValue):
        super().__init__(operands=[stage], result_types=[AXIS])


class _Mark(Primitive):
    """Sets the kind of one loop."""

    axis = operand_def(AxisType)
    assembly_format = "$axis attr-dict"

    def __init__(self, axis: SSAValue):
        super().__init__(operands=[axis])


@irdl_op_definition
class VectorizeOp(_Mark):
    """A vector operation in place of the loop."""

    name = "schedule.vectorize"


@irdl_op_definition
class UnrollOp(_Mark):
    """The loop is unrolled in full."""

    name = "schedule.unroll"


@irdl_op_definition
class ParallelOp(_Mark):
    """The loop is shared among threads."""

    name = "schedule.parallel"


@irdl_op_definition
class BindOp(Primitive):
    """The passes of the loop are those of a thread."""

    name = "schedule.bind"
    axis = operand_def(AxisType)
    thread = operand_def(ThreadType)
    assembly_format = "$axis `,` $thread attr-dict"

    def __init__(self, axis: SSAValue, thread: SSAValue):
        super().__init__(operands=[axis, thread])


@irdl_op_definition
class TensorizeOp(Primitive):
    """The loop and those inside it become the body of an intrinsic."""

    name = "schedule.tensorize"
    axis = operand_def(AxisType)
    intrin = prop_def(StringAttr)
    assembly_format = "$axis $intrin attr-dict"

    def __init__(self, axis: SSAValue, intrin: str):
        super().__init__(operands=[axis], properties={"intrin": StringAttr(intrin)})


@irdl_op_definition
class PragmaOp(Primitive):
    """A hint for the loop, `pragma_<key>` of it in tir."""

    name = "schedule.pragma"
    axis = operand_def(AxisType)
    number = opt_operand_def(NumberType)
    key = prop_def(StringAttr)
    value = opt_prop_def(Attribute)
    assembly_format = "$axis $key (`=` $value^)? (`of` $number^)? attr-dict"

    def __init__(self, axis: SSAValue, key: str, value: Attribute | SSAValue | None):
        """value: a constant, or a number that follows from a knob."""
        properties = {"key": StringAttr(key), "value": value if isinstance(value, Attribute) else None}
        super().__init__(operands=_operands(axis, value), properties=properties)

    def verify_(self) -> None:
        if self.value is not None and self.number is not None:
            fail(self, "one value", "a constant and one of a knob")


@irdl_op_definition
class PrefetchOp(Primitive):
    """In each pass of the loop, a hint to fetch what the pass `offset` later reads of `tensor`."""

    name = "schedule.prefetch"
    READS: ClassVar[tuple[int, ...]] = (0,)
    tensor = operand_def(StageType)
    axis = operand_def(AxisType)
    offset = prop_def(IntegerAttr[I64])
    assembly_format = "$tensor `,` $axis `offset` $offset attr-dict"

    def __init__(self, tensor: SSAValue, axis: SSAValue, offset: int):
        super().__init__(operands=[tensor, axis], properties={"offset": number(offset)})


@irdl_op_definition
class ReorderOp(Primitive):
    """The axes given take, in this order, the places that they occupy together."""

    name = "schedule.reorder"
    axes = var_operand_def(AxisType)
    assembly_format = "$axes attr-dict"

    def __init__(self, axes: Sequence[SSAValue]):
        super().__init__(operands=[list(axes)])

    def verify_(self) -> None:
        if len(set(self.axes)) != len(self.axes):
            fail(self, "distinct axes", f"{len(self.axes)} that are {len(set(self.axes))}")
