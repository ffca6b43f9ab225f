"""The schedule primitives that place stages, make new ones, and say how their results are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    I64,
    AffineMapAttr,
    AffineSetAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent

from ...provenance.diagnostics import fail
from ..affine import malformed
from ..format import parse_attributes
from .base import AXIS, SCOPES, STAGE, THREAD, AxisType, Primitive, SequenceOp, StageType, ThreadType, number


@irdl_op_definition
class ComputeAtOp(Primitive):
    """`stage` is computed inside the loop `axis` of `consumer`, as much of it as one pass of that loop needs."""

    name = "schedule.compute_at"
    stage = operand_def(StageType)
    consumer = operand_def(StageType)
    axis = operand_def(AxisType)
    assembly_format = "$stage `,` $consumer `,` $axis attr-dict"

    def __init__(self, stage: SSAValue, consumer: SSAValue, axis: SSAValue):
        super().__init__(operands=[stage, consumer, axis])

    def verify_(self) -> None:
        if self.stage is self.consumer:
            fail(self, "a stage and another that consumes it", "one stage twice")


class _OnStage(Primitive):
    """About one stage, and no more."""

    stage = operand_def(StageType)
    assembly_format = "$stage attr-dict"

    def __init__(self, stage: SSAValue):
        super().__init__(operands=[stage])


@irdl_op_definition
class ComputeInlineOp(_OnStage):
    """`stage` is computed where it is read, and has no buffer."""

    name = "schedule.compute_inline"


@irdl_op_definition
class ComputeRootOp(_OnStage):
    """`stage` is computed in full before its consumers."""

    name = "schedule.compute_root"


@irdl_op_definition
class DoubleBufferOp(_OnStage):
    """The buffer of `stage` exists twice: one is filled while the other is read."""

    name = "schedule.double_buffer"


@irdl_op_definition
class RollingBufferOp(_OnStage):
    """Keep what one pass of the loop around `stage` computed for the next, which computes only what is new."""

    name = "schedule.rolling_buffer"


def _check_scope(op: Primitive, scope: StringAttr) -> None:
    if scope.data not in SCOPES:
        fail(op, f"a scope among {', '.join(SCOPES)}", scope.data)


class _Scope(Primitive):
    """An operation on a stage and a storage scope."""

    stage = operand_def(StageType)
    scope = prop_def(StringAttr)

    def verify_(self) -> None:
        _check_scope(self, self.scope)


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
    RECORD: ClassVar[str | None] = "set_scope"
    cache = result_def(StageType)
    assembly_format = "$stage $scope attr-dict"

    def __init__(self, stage: SSAValue, scope: str):
        super().__init__(operands=[stage], properties={"scope": StringAttr(scope)}, result_types=[STAGE])


@irdl_op_definition
class CacheReadOp(Primitive):
    """A new stage in `scope` copies `stage`; `readers` read the copy."""

    name = "schedule.cache_read"
    RECORD: ClassVar[str | None] = "set_scope"
    READS: ClassVar[tuple[int, ...]] = (0,)
    stage = operand_def(StageType)
    readers = var_operand_def(StageType)
    scope = prop_def(StringAttr)
    cache = result_def(StageType)
    assembly_format = "$stage $scope `readers` `(` $readers `)` attr-dict"

    def __init__(self, stage: SSAValue, scope: str, readers: Sequence[SSAValue]):
        properties = {"scope": StringAttr(scope)}
        super().__init__(operands=[stage, list(readers)], properties=properties, result_types=[STAGE])

    def verify_(self) -> None:
        _check_scope(self, self.scope)


@irdl_op_definition
class RfactorOp(Primitive):
    """A new stage reduces over all but `axis`, its data axis number `factor_axis`; the old one over `axis` alone."""

    name = "schedule.rfactor"
    RECORD: ClassVar[str | None] = None
    ENDS: ClassVar[bool] = True
    axis = operand_def(AxisType)
    factor_axis = prop_def(IntegerAttr[I64])
    factored = result_def(StageType)
    assembly_format = "$axis `at` $factor_axis attr-dict"

    def __init__(self, axis: SSAValue, factor_axis: int):
        super().__init__(operands=[axis], properties={"factor_axis": number(factor_axis)}, result_types=[STAGE])


@irdl_op_definition
class CreateGroupOp(Primitive):
    """The stages on the way from `inputs` to `outputs`, to be placed as one."""

    name = "schedule.create_group"
    traits = traits_def(HasParent(SequenceOp))
    RECORD: ClassVar[str | None] = None
    READS: ClassVar[tuple[int, ...]] = tuple(range(1 << 10))
    outputs = var_operand_def(StageType)
    inputs = var_operand_def(StageType)
    include_inputs = opt_prop_def(UnitAttr)
    group = result_def(StageType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "`outputs` `(` $outputs `)` `inputs` `(` $inputs `)` (`include_inputs` $include_inputs^)? attr-dict"
    )

    def __init__(self, outputs: Sequence[SSAValue], inputs: Sequence[SSAValue], include_inputs: bool):
        super().__init__(
            operands=[list(outputs), list(inputs)],
            properties={"include_inputs": UnitAttr() if include_inputs else None},
            result_types=[STAGE],
        )


@irdl_op_definition
class EnvThreadsOp(Primitive):
    """The steps of a scan run in each of the threads."""

    name = "schedule.env_threads"
    stage = operand_def(StageType)
    threads = var_operand_def(ThreadType)
    axes = var_result_def(AxisType)

    def __init__(self, stage: SSAValue, threads: Sequence[SSAValue]):
        super().__init__(operands=[stage, list(threads)], result_types=[[AXIS] * len(threads)])

    def verify_(self) -> None:
        if not self.threads or len(self.threads) != len(self.axes):
            fail(self, "an axis for each of at least one thread", f"{len(self.axes)} for {len(self.threads)}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.stage)
        printer.print_string("(")
        printer.print_list(self.threads, printer.print_ssa_value)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        stage = parser.resolve_operand(parser.parse_unresolved_operand(), STAGE)
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parse_attributes(parser)
        op = cls(stage, [parser.resolve_operand(name, THREAD) for name in names])
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class StorageAlignOp(Primitive):
    """Neighbours along `axis` lie a number of elements apart that is `offset` modulo `factor`."""

    name = "schedule.storage_align"
    axis = operand_def(AxisType)
    factor = prop_def(IntegerAttr[I64])
    offset = prop_def(IntegerAttr[I64])
    assembly_format = "$axis `factor` $factor `offset` $offset attr-dict"

    def __init__(self, axis: SSAValue, factor: int, offset: int):
        super().__init__(operands=[axis], properties={"factor": number(factor), "offset": number(offset)})

    def verify_(self) -> None:
        factor, offset = self.factor.value.data, self.offset.value.data
        if factor < 1 or not 0 <= offset < factor:
            fail(self, "a factor of at least 1 and an offset from 0 below it", f"factor {factor}, offset {offset}")


@irdl_op_definition
class SetStorePredicateOp(Primitive):
    """Elements are stored only where `condition` holds; its dims are the stage's data axes."""

    name = "schedule.set_store_predicate"
    stage = operand_def(StageType)
    condition = prop_def(AffineSetAttr)
    assembly_format = "$stage `if` $condition attr-dict"

    def __init__(self, stage: SSAValue, condition: AffineSetAttr):
        super().__init__(operands=[stage], properties={"condition": condition})


@irdl_op_definition
class TransformLayoutOp(Primitive):
    """Element (i, j, ..) of the stage is stored at `layout`(i, j, ..); the loops along it, where they follow it."""

    name = "schedule.transform_layout"
    READS: ClassVar[tuple[int, ...]] = (0,)
    stage = operand_def(StageType)
    layout = prop_def(AffineMapAttr)
    axes = var_result_def(AxisType)

    def __init__(self, stage: SSAValue, layout: AffineMapAttr, axes: int = 0):
        super().__init__(operands=[stage], properties={"layout": layout}, result_types=[[AXIS] * axes])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.stage)
        printer.print_string(" ")
        printer.print_attribute(self.layout)
        if self.axes:
            printer.print_string(f" : {len(self.axes)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        stage, layout = parser.parse_unresolved_operand(), parser.parse_attribute()
        count = parser.parse_integer() if parser.parse_optional_punctuation(":") is not None else 0
        attributes = parse_attributes(parser)
        return cls.create(
            operands=[parser.resolve_operand(stage, STAGE)],
            properties={"layout": layout},
            result_types=[AXIS] * count,
            attributes=attributes,
        )

    def verify_(self) -> None:
        if len(self.axes) not in (0, len(self.layout.data.results)):
            fail(self, f"{len(self.layout.data.results)} loops, or none", str(len(self.axes)))
        for expr in self.layout.data.results:
            if (wrong := malformed(expr)) is not None:
                fail(self, "affine expressions of the axes", wrong)


@irdl_op_definition
class SetAxisSeparatorsOp(Primitive):
    """The positions that split the dimensions of the stage's buffer into groups; each group is flattened alone."""

    name = "schedule.set_axis_separators"
    READS: ClassVar[tuple[int, ...]] = (0,)
    stage = operand_def(StageType)
    positions = prop_def(DenseArrayBase)

    def __init__(self, stage: SSAValue, positions: Sequence[int]):
        super().__init__(operands=[stage], properties={"positions": DenseArrayBase.from_list(i64, list(positions))})

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(cast(DenseArrayBase[IntegerType], self.positions).get_values())

    def verify_(self) -> None:
        if any(a >= b for a, b in zip((0, *self.values), self.values, strict=False) if (a, b) != (0, 0)):
            fail(self, "increasing positions", str(list(self.values)))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.stage)
        printer.print_string(f" {list(self.values)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        stage = parser.parse_unresolved_operand()
        positions = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parse_attributes(parser)
        return cls.create(
            operands=[parser.resolve_operand(stage, STAGE)],
            properties={"positions": DenseArrayBase.from_list(i64, positions)},
            attributes=attributes,
        )
