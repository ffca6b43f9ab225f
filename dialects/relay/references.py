"""References: cells whose value changes."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect

from ...provenance.diagnostics import fail
from .types import UNIT, RefType, fits


@irdl_op_definition
class RefCreateOp(IRDLOperation):
    """A new reference that holds a value: `%r = relay.ref_create %x : tensor<4xf32>`."""

    name = "relay.ref_create"
    value = operand_def()
    result = result_def(RefType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue | Operation):
        operand = SSAValue.get(value)
        super().__init__(operands=[operand], result_types=[RefType(cast(TypeAttribute, operand.type))])

    def verify_(self) -> None:
        if self.result.type.value != self.value.type:
            fail(self, f"result !relay.ref<{self.value.type}>", str(self.result.type))


@irdl_op_definition
class RefReadOp(IRDLOperation):
    """The value that a reference holds: `%x = relay.ref_read %r : !relay.ref<tensor<4xf32>> -> tensor<4xf32>`."""

    name = "relay.ref_read"
    ref = operand_def(RefType)
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$ref attr-dict `:` type($ref) `->` type($result)"

    def __init__(self, ref: SSAValue | Operation):
        operand = SSAValue.get(ref)
        super().__init__(operands=[operand], result_types=[_held(operand.type)])

    def verify_(self) -> None:
        if _held(self.ref.type) != self.result.type:
            fail(self, f"result {_held(self.ref.type)}", str(self.result.type))


@irdl_op_definition
class RefWriteOp(IRDLOperation):
    """Has a reference hold another value; gives `()`: `%u = relay.ref_write %r, %x : !relay.ref<..>, tensor<4xf32>`."""

    name = "relay.ref_write"
    ref = operand_def(RefType)
    value = operand_def()
    result = result_def(TupleType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$ref `,` $value attr-dict `:` type($ref) `,` type($value) `->` type($result)"

    def __init__(self, ref: SSAValue | Operation, value: SSAValue | Operation):
        super().__init__(operands=[SSAValue.get(ref), SSAValue.get(value)], result_types=[UNIT])

    def verify_(self) -> None:
        if not fits(_held(self.ref.type), self.value.type):
            fail(self, f"a value of {_held(self.ref.type)}", str(self.value.type))
        if self.result.type != UNIT:
            fail(self, f"result {UNIT}", str(self.result.type))


def _held(type_: Attribute) -> Attribute:
    return type_.value if isinstance(type_, RefType) else type_
