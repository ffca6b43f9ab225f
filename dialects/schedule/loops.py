"""The schedule primitives that make, order and mark loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)

from ...provenance.diagnostics import fail
from .base import AXIS, AxisType, Primitive, StageType, ThreadType, number


class _Split(Primitive):
    ENDS: ClassVar[bool] = True
    axis = operand_def(AxisType)
    outer = result_def(AxisType)
    inner = result_def(AxisType)


@irdl_op_definition
class SplitOp(_Split):
    """`axis` becomes `outer` of ceil(extent / factor) and `inner` of factor."""

    name = "schedule.split"
    factor = prop_def(IntegerAttr[I64])
    assembly_format = "$axis `factor` $factor attr-dict"

    def __init__(self, axis: SSAValue, factor: int):
        super().__init__(operands=[axis], properties={"factor": number(factor)}, result_types=[AXIS, AXIS])

    def verify_(self) -> None:
        if self.factor.value.data < 1:
            fail(self, "a factor of at least 1", str(self.factor.value.data))


@irdl_op_definition
class SplitByNPartsOp(_Split):
    """`axis` becomes `outer` of nparts and `inner` of ceil(extent / nparts)."""

    name = "schedule.split_by_nparts"
    nparts = prop_def(IntegerAttr[I64])
    assembly_format = "$axis `nparts` $nparts attr-dict"

    def __init__(self, axis: SSAValue, nparts: int):
        super().__init__(operands=[axis], properties={"nparts": number(nparts)}, result_types=[AXIS, AXIS])

    def verify_(self) -> None:
        if self.nparts.value.data < 1:
            fail(self, "at least 1 part", str(self.nparts.value.data))


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
    key = prop_def(StringAttr)
    value = opt_prop_def(Attribute)
    assembly_format = "$axis $key (`=` $value^)? attr-dict"

    def __init__(self, axis: SSAValue, key: str, value: Attribute | None):
        super().__init__(operands=[axis], properties={"key": StringAttr(key), "value": value})


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
