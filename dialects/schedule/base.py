"""The common parts of the schedule dialect's ops: handle types, the sequence, and names for parts of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, SymbolNameConstraint, i64
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator

from ...provenance.diagnostics import fail
from ..format import parse_attributes, parse_body


@irdl_attr_definition
class StageType(ParametrizedAttribute, TypeAttribute):
    """A stage: one compute of the function, an argument of it, or a group of computes."""

    name = "schedule.stage_handle"


@irdl_attr_definition
class AxisType(ParametrizedAttribute, TypeAttribute):
    """An iteration variable of a stage."""

    name = "schedule.axis"


@irdl_attr_definition
class ThreadType(ParametrizedAttribute, TypeAttribute):
    """A thread that loops are bound to."""

    name = "schedule.thread_handle"


@irdl_attr_definition
class NumberType(ParametrizedAttribute, TypeAttribute):
    """A number that follows from the decisions of knobs."""

    name = "schedule.number"


SCOPES = ("global", "shared", "local")
"""The scopes of a stage's buffer: visible to all threads, to the threads of a block, or to one thread."""
STAGE = StageType()
AXIS = AxisType()
THREAD = ThreadType()
NUMBER = NumberType()
_WORDS: dict[type[Attribute], str] = {StageType: "stage", AxisType: "axis"}


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
        knobs = set[str]()
        for op in self.block.ops:
            if not isinstance(op, (Name, Primitive)):
                fail(self, "schedule primitives only", op.name)
            if isinstance(knob := op.properties.get("knob"), StringAttr):
                if knob.data in knobs:
                    fail(op, "a knob of another name than those before", f"'{knob.data}' again")
                knobs.add(knob.data)
            for i, operand in enumerate(op.operands):
                if (by := replaced.get(operand)) is not None:
                    name = f"%{operand.name_hint}" if operand.name_hint else "one"
                    what = _WORDS.get(type(operand.type), "handle")
                    fail(op, f"a live {what}", f"{name} that {by.name} did away with")
                if isinstance(operand.owner, ArgumentOp) and not (isinstance(op, Primitive) and i in op.READS):
                    fail(op, "a stage", "an argument of the function")
            if isinstance(op, Primitive):
                replaced.update(dict.fromkeys(op.ended, op))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.target.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target = parser.parse_symbol_name()
        attributes = parse_attributes(parser)
        return cls.create(properties={"target": target}, regions=[parse_body(parser)], attributes=attributes)


class Name(IRDLOperation):
    """Names a part of the schedule, or a choice that it follows from, and changes nothing."""

    traits = traits_def(HasParent(SequenceOp))


class Primitive(IRDLOperation):
    """Changes the schedule."""

    traits = traits_def(HasParent(SequenceOp))
    RECORD: ClassVar[str | None] = ""
    """Its name in the record: the op's name where empty; None for what TVM leaves out."""
    ENDS: ClassVar[bool] = False
    """True if what it is applied to is gone afterwards."""
    READS: ClassVar[tuple[int, ...]] = ()
    """The operands that may be arguments of the function."""

    @property
    def ended(self) -> Sequence[SSAValue]:
        """The handles that are gone afterwards."""
        return [operand for operand in self.operands if operand.type != NUMBER] if self.ENDS else ()

    @classmethod
    def title(cls) -> str | None:
        """The name in the record; None when it is not recorded."""
        return cls.name.removeprefix("schedule.") if cls.RECORD == "" else cls.RECORD


@irdl_op_definition
class StageOp(Name):
    """The stage of the compute with this label."""

    name = "schedule.stage"
    label = prop_def(StringAttr)
    stage = result_def(StageType)
    assembly_format = "$label attr-dict"

    def __init__(self, label: str):
        super().__init__(properties={"label": StringAttr(label)}, result_types=[STAGE])


@irdl_op_definition
class ArgumentOp(Name):
    """The tensor that the function gets at this position."""

    name = "schedule.argument"
    index = prop_def(IntegerAttr[I64])
    stage = result_def(StageType)
    assembly_format = "$index attr-dict"

    def __init__(self, index: int):
        super().__init__(properties={"index": IntegerAttr(index, i64)}, result_types=[STAGE])


@irdl_op_definition
class AxesOp(Name):
    """The root axes of a stage: data axes, then reduce axes."""

    name = "schedule.axes"
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
        attributes = parse_attributes(parser)
        return cls.create(
            operands=[parser.resolve_operand(stage, STAGE)],
            result_types=[AXIS] * count,
            attributes=attributes,
        )


@irdl_op_definition
class ThreadOp(Name):
    """A thread by its tag: `blockIdx.x`, `threadIdx.x`; `in 8` when it has an extent of its own."""

    name = "schedule.thread"
    tag = prop_def(StringAttr)
    extent = opt_prop_def(IntegerAttr[I64])
    thread = result_def(ThreadType)
    assembly_format = "$tag (`in` $extent^)? attr-dict"

    def __init__(self, tag: str, extent: int | None):
        properties = {"tag": StringAttr(tag), "extent": IntegerAttr(extent, i64) if extent is not None else None}
        super().__init__(properties=properties, result_types=[THREAD])


def number(value: int) -> IntegerAttr:
    return IntegerAttr(value, i64)
