"""The llvm_ext dialect: LLVM instructions on vectors and conversions that xDSL's llvm dialect lacks.

```mlir
%v = llvm_ext.splat %x : f32 to vector<16xf32>
%c = llvm_ext.fcmp "olt" %v, %w : vector<16xf32> to vector<16xi1>
%s = llvm_ext.select %c, %v, %w : vector<16xi1>, vector<16xf32>
%e = llvm_ext.extractelement %s[%i : i64] : vector<16xf32>
%n = llvm_ext.fptosi %e : f32 to i32
%a = llvm_ext.addresses %p[%j] : !llvm.ptr, vector<16xi64> of f32 to vector<16x!llvm.ptr>
```

Attributes of this dialect on llvm ops: `llvm_ext.unroll` on the `llvm.cond_br` that closes a loop is "full", "disable"
or a number of copies; `llvm_ext.workspace` on an `llvm.func` is the scratch memory that the kernel needs, in bytes.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import I1, I64, AnyFloatConstr, SignlessIntegerConstraint, StringAttr, VectorType, i1
from xdsl.ir import Attribute, Dialect, SSAValue, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ..provenance.diagnostics import fail

UNROLL = "llvm_ext.unroll"
WORKSPACE = "llvm_ext.workspace"

PREDICATES = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno")
"""The predicates of `fcmp`: ordered (no operand is NaN) and .., or unordered (one is) or .."""


class Conversion(IRDLOperation, ABC):
    """A conversion between a float and an integer type, or vectors of them, lane by lane."""

    value = operand_def(Attribute)
    result = result_def(Attribute)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue, type: Attribute):
        super().__init__(operands=[value], result_types=[type])


@irdl_op_definition
class UIToFPOp(Conversion):
    """The float nearest to an unsigned integer."""

    name = "llvm_ext.uitofp"


@irdl_op_definition
class FPToSIOp(Conversion):
    """The signed integer towards zero; poison where it does not fit."""

    name = "llvm_ext.fptosi"


@irdl_op_definition
class FPToUIOp(Conversion):
    """The unsigned integer towards zero; poison where it does not fit."""

    name = "llvm_ext.fptoui"


@irdl_op_definition
class SplatOp(IRDLOperation):
    """A vector of one value: `insertelement` and `shufflevector` in LLVM."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    name = "llvm_ext.splat"
    value = operand_def(T)
    result = result_def(VectorType.constr(T))
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue, type: VectorType):
        super().__init__(operands=[value], result_types=[type])


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A value that nothing may depend on: what a vector holds before its lanes are inserted."""

    name = "llvm_ext.poison"
    result = result_def(Attribute)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One lane of a vector."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    name = "llvm_ext.extractelement"
    vector = operand_def(VectorType.constr(T))
    index = operand_def(SignlessIntegerConstraint)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$vector `[` $index `:` type($index) `]` attr-dict `:` type($vector)"

    def __init__(self, vector: SSAValue, index: SSAValue):
        element = cast(VectorType[Attribute], vector.type).element_type
        super().__init__(operands=[vector, index], result_types=[element])


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """The comparison of two float vectors, lane by lane."""

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyFloatConstr))
    name = "llvm_ext.fcmp"
    predicate = prop_def(StringAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(VectorType[I1])
    traits = traits_def(Pure())
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `to` type($result)"

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue):
        shape = cast(VectorType[Attribute], lhs.type).get_shape()
        super().__init__(
            operands=[lhs, rhs],
            result_types=[VectorType(i1, shape)],
            properties={"predicate": StringAttr(predicate)},
        )

    def verify_(self) -> None:
        if self.predicate.data not in PREDICATES:
            fail(self, f"a predicate among {', '.join(PREDICATES)}", self.predicate.data)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """The choice between two vectors, lane by lane."""

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))
    name = "llvm_ext.select"
    condition = operand_def(VectorType[I1])
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($result)"

    def __init__(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[condition, lhs, rhs], result_types=[lhs.type])


@irdl_op_definition
class AddressesOp(IRDLOperation):
    """The addresses of elements, one per lane: LLVM's getelementptr with a vector of indices."""

    name = "llvm_ext.addresses"
    pointer = operand_def(llvm.LLVMPointerType)
    indices = operand_def(VectorType[I64])
    element = prop_def(TypeAttribute)
    result = result_def(VectorType[llvm.LLVMPointerType])
    traits = traits_def(Pure())
    assembly_format = (
        "$pointer `[` $indices `]` attr-dict `:` type($pointer) `,` type($indices) `of` $element `to` type($result)"
    )

    def __init__(self, element: TypeAttribute, pointer: SSAValue, indices: SSAValue):
        shape = cast(VectorType[Attribute], indices.type).get_shape()
        super().__init__(
            operands=[pointer, indices],
            result_types=[VectorType(llvm.LLVMPointerType(), shape)],
            properties={"element": element},
        )


LLVMExt = Dialect(
    "llvm_ext",
    [UIToFPOp, FPToSIOp, FPToUIOp, SplatOp, PoisonOp, ExtractElementOp, FCmpOp, SelectOp, AddressesOp],
)
