"""The schedule dialect: the primitives that order a te.func's stages, one op each. The first k ops are snapshot k.

```mlir
schedule.sequence @fused_nn_dense {
  %dense = schedule.stage "dense"
  %i, %j, %k = schedule.axes %dense : 3
  %j.outer, %j.inner = schedule.split %j factor 16
  schedule.reorder %i, %j.outer, %k, %j.inner
  schedule.vectorize %j.inner
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolNameConstraint, i64
from xdsl.ir import Block, Dialect, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator

from ..provenance.diagnostics import fail
from .format import parse_body
from .tir import SCOPES


@irdl_attr_definition
class StageType(ParametrizedAttribute, TypeAttribute):
    """A stage: one compute of the function."""

    name = "schedule.stage_handle"


@irdl_attr_definition
class AxisType(ParametrizedAttribute, TypeAttribute):
    """An iteration variable of a stage."""

    name = "schedule.axis"


STAGE = StageType()
AXIS = AxisType()


@irdl_op_definition
class SequenceOp(IRDLOperation):
    """The primitives applied to the te.func of the same name, in order."""

    name = "schedule.sequence"
    target = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator())

    def __init__(self, target: str):
        super().__init__(properties={"target": StringAttr(target)}, regions=[Region(Block())])

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        replaced: dict[SSAValue, Operation] = {}
        for op in self.block.ops:
            if not isinstance(op, (StageOp, AxesOp, *PRIMITIVES)):
                fail(self, "schedule primitives only", op.name)
            for operand in op.operands:
                if (by := replaced.get(operand)) is not None:
                    name = f"%{operand.name_hint}" if operand.name_hint else "one"
                    what = "stage" if isinstance(operand.type, StageType) else "axis"
                    fail(op, f"a live {what}", f"{name} that {by.name} did away with")
            if isinstance(op, SplitOp | FuseOp):
                replaced.update(dict.fromkeys(op.operands, op))
            elif isinstance(op, ComputeInlineOp):
                replaced[op.stage] = op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.target.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target = parser.parse_symbol_name()
        extra = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties={"target": target}, regions=[parse_body(parser)], attributes=extra.data if extra else {}
        )


@irdl_op_definition
class StageOp(IRDLOperation):
    """The stage of the compute with this label."""

    name = "schedule.stage"
    traits = traits_def(HasParent(SequenceOp))
    label = prop_def(StringAttr)
    stage = result_def(StageType)
    assembly_format = "$label attr-dict"

    def __init__(self, label: str):
        super().__init__(properties={"label": StringAttr(label)}, result_types=[STAGE])


@irdl_op_definition
class AxesOp(IRDLOperation):
    """The root axes of a stage: data axes, then reduce axes."""

    name = "schedule.axes"
    traits = traits_def(HasParent(SequenceOp))
    stage = operand_def(StageType)
    axes = var_result_def(AxisType)

    def __init__(self, stage: SSAValue, count: int):
        super().__init__(operands=[stage], result_types=[[AXIS] * count])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.stage)
        printer.print_string(f" : {len(self.axes)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        stage = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        count = parser.parse_integer()
        extra = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=[parser.resolve_operand(stage, STAGE)],
            result_types=[AXIS] * count,
            attributes=extra.data if extra else {},
        )


@irdl_op_definition
class SplitOp(IRDLOperation):
    """`axis` becomes `outer` of ceil(extent / factor) and `inner` of factor."""

    name = "schedule.split"
    traits = traits_def(HasParent(SequenceOp))
    axis = operand_def(AxisType)
    factor = prop_def(IntegerAttr)
    outer = result_def(AxisType)
    inner = result_def(AxisType)

    def __init__(self, axis: SSAValue, factor: int):
        super().__init__(operands=[axis], properties={"factor": IntegerAttr(factor, i64)}, result_types=[AXIS, AXIS])

    def verify_(self) -> None:
        if self.factor.value.data < 1:
            fail(self, "a factor of at least 1", str(self.factor.value.data))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.axis)
        printer.print_string(f" factor {self.factor.value.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        axis = parser.parse_unresolved_operand()
        parser.parse_keyword("factor")
        factor = parser.parse_integer()
        extra = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=[parser.resolve_operand(axis, AXIS)],
            properties={"factor": IntegerAttr(factor, i64)},
            result_types=[AXIS, AXIS],
            attributes=extra.data if extra else {},
        )


@irdl_op_definition
class FuseOp(IRDLOperation):
    """Two neighbouring axes become one of their product."""

    name = "schedule.fuse"
    traits = traits_def(HasParent(SequenceOp))
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
class SingletonOp(IRDLOperation):
    """The fuse of no axes: a new outermost loop of one pass."""

    name = "schedule.singleton"
    stage = operand_def(StageType)
    axis = result_def(AxisType)
    assembly_format = "$stage attr-dict"

    def __init__(self, stage: SSAValue):
        super().__init__(operands=[stage], result_types=[AXIS])


class _Mark(IRDLOperation):
    """Sets the kind of one loop."""

    traits = traits_def(HasParent(SequenceOp))
    axis = operand_def(AxisType)
    assembly_format = "$axis attr-dict"

    def __init__(self, axis: SSAValue):
        super().__init__(operands=[axis])


@irdl_op_definition
class VectorizeOp(_Mark):
    """One vector operation instead of the loop."""

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
class ReorderOp(IRDLOperation):
    """The axes given take, in this order, the places that they occupy together."""

    name = "schedule.reorder"
    traits = traits_def(HasParent(SequenceOp))
    axes = var_operand_def(AxisType)
    assembly_format = "$axes attr-dict"

    def __init__(self, axes: Sequence[SSAValue]):
        super().__init__(operands=[list(axes)])

    def verify_(self) -> None:
        if len(set(self.axes)) != len(self.axes):
            fail(self, "distinct axes", f"{len(self.axes)} that are {len(set(self.axes))}")


@irdl_op_definition
class ComputeAtOp(IRDLOperation):
    """`stage` is computed inside the loop `axis` of `consumer`, as much of it as one pass of that loop needs."""

    name = "schedule.compute_at"
    traits = traits_def(HasParent(SequenceOp))
    stage = operand_def(StageType)
    consumer = operand_def(StageType)
    axis = operand_def(AxisType)
    assembly_format = "$stage `,` $consumer `,` $axis attr-dict"

    def __init__(self, stage: SSAValue, consumer: SSAValue, axis: SSAValue):
        super().__init__(operands=[stage, consumer, axis])

    def verify_(self) -> None:
        if self.stage is self.consumer:
            fail(self, "a stage and another that consumes it", "one stage twice")


@irdl_op_definition
class ComputeInlineOp(IRDLOperation):
    """`stage` is computed where it is read, and has no buffer."""

    name = "schedule.compute_inline"
    traits = traits_def(HasParent(SequenceOp))
    stage = operand_def(StageType)
    assembly_format = "$stage attr-dict"

    def __init__(self, stage: SSAValue):
        super().__init__(operands=[stage])


@irdl_op_definition
class ComputeRootOp(IRDLOperation):
    """`stage` is computed in full before its consumers."""

    name = "schedule.compute_root"
    traits = traits_def(HasParent(SequenceOp))
    stage = operand_def(StageType)
    assembly_format = "$stage attr-dict"

    def __init__(self, stage: SSAValue):
        super().__init__(operands=[stage])


class _Scope(IRDLOperation):
    """An operation on a stage and a storage scope."""

    traits = traits_def(HasParent(SequenceOp))
    stage = operand_def(StageType)
    scope = prop_def(StringAttr)

    def verify_(self) -> None:
        if self.scope.data not in SCOPES:
            fail(self, f"a scope among {', '.join(SCOPES)}", self.scope.data)


@irdl_op_definition
class SetScopeOp(_Scope):
    """The stage's buffer lives in `scope`."""

    name = "schedule.set_scope"
    assembly_format = "$stage $scope attr-dict"

    def __init__(self, stage: SSAValue, scope: str):
        super().__init__(operands=[stage], properties={"scope": StringAttr(scope)})


@irdl_op_definition
class CacheWriteOp(_Scope):
    """A new stage in `scope` computes what `stage` did; `stage` becomes its copy."""

    name = "schedule.cache_write"
    cache = result_def(StageType)
    assembly_format = "$stage $scope attr-dict"

    def __init__(self, stage: SSAValue, scope: str):
        super().__init__(operands=[stage], properties={"scope": StringAttr(scope)}, result_types=[STAGE])


PRIMITIVES: tuple[type[IRDLOperation], ...] = (
    SplitOp,
    FuseOp,
    SingletonOp,
    ReorderOp,
    VectorizeOp,
    UnrollOp,
    ParallelOp,
    ComputeAtOp,
    ComputeInlineOp,
    ComputeRootOp,
    SetScopeOp,
    CacheWriteOp,
)
"""The ops that change a schedule; `stage` and `axes` only name its parts."""

Schedule = Dialect("schedule", [SequenceOp, StageOp, AxesOp, *PRIMITIVES], [StageType, AxisType])
