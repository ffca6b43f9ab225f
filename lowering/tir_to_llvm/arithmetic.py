"""The arith dialect, op by op, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import llvm_ext
from ...dialects.element_types import bit_width
from ...provenance.diagnostics import fail
from ..llvm_to_native.text import suffix, type_text
from .builder import NO_FLAGS
from .context import Handler, Lowering
from .types import element, like, number_attribute, register_type, vector_type

_WRAP_BITS = {"nsw": 1, "nuw": 2}


def flags(op: Operation) -> Mapping[str, Attribute]:
    """Fast math, overflow and exactness flags of an arith or math op, as those of an llvm op."""
    properties = op.properties
    fast = properties.get("fastmath")
    if isinstance(fast, arith.FastMathFlagsAttr) and fast.data:
        return {"fastmathFlags": llvm.FastMathAttr(fast.data)}
    wrap = properties.get("overflowFlags")
    if isinstance(wrap, arith.IntegerOverflowAttr) and wrap.data:
        return {"overflowFlags": IntegerAttr(sum(_WRAP_BITS[flag.value] for flag in wrap.data), i32)}
    return {"isExact": UnitAttr()} if "isExact" in properties else NO_FLAGS


def direct(kind: type[Operation]) -> Handler:
    """An llvm op with the same operands and result."""

    def lower(ctx: Lowering, op: Operation) -> None:
        result = op.results[0]
        operands = [ctx.get(operand) for operand in op.operands]
        ctx.set(result, ctx.value(kind, operands, register_type(result.type), flags(op)))

    return lower


def overloaded(ctx: Lowering, name: str, operands: list[SSAValue], properties: Mapping[str, Attribute]) -> SSAValue:
    """A call of the intrinsic `llvm.<name>` on operands of the result's type."""
    type_ = operands[0].type
    return ctx.intrinsic(f"llvm.{name}.{suffix(type_text(type_))}", operands, type_, properties).results[0]


def intrinsic(name: str) -> Handler:
    def lower(ctx: Lowering, op: Operation) -> None:
        operands = [ctx.get(operand) for operand in op.operands]
        ctx.set(op.results[0], overloaded(ctx, name, operands, flags(op)))

    return lower


def resize(ctx: Lowering, value: SSAValue, type_: Attribute) -> SSAValue:
    """A signed integer, or a vector of them, in another width."""
    have, want = (bit_width(element(t)) for t in (value.type, type_))
    if have == want:
        return value
    return ctx.value(llvm.TruncOp if have > want else llvm.SExtOp, (value,), type_)


def _index_cast(ctx: Lowering, op: Operation) -> None:
    ctx.set(op.results[0], resize(ctx, ctx.get(op.operands[0]), register_type(op.results[0].type)))


def _constant(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    type_, value = register_type(op.result.type), op.value
    if isinstance(value, IntegerAttr | FloatAttr):
        lowered = number_attribute(value.value.data, type_)
    elif isinstance(value, DenseIntOrFPElementsAttr) and vector_type(type_) is not None:
        # `index` elements are stored as i64 already.
        lowered = DenseIntOrFPElementsAttr(cast(VectorType[IntegerType], type_), value.data)
    else:
        fail(op, "a number or a vector of numbers", str(value))
    ctx.set(op.result, ctx.constant(lowered, type_))


def _cmpi(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    predicate = llvm.ALL_ICMP_FLAGS[op.predicate.value.data].value
    ctx.set(op.result, ctx.icmp(predicate, ctx.get(op.lhs), ctx.get(op.rhs)))


def fcmp(
    ctx: Lowering, predicate: str, lhs: SSAValue, rhs: SSAValue, properties: Mapping[str, Attribute] = NO_FLAGS
) -> SSAValue:
    """A comparison of floats, or of vectors of them."""
    type_ = like(lhs.type, i1)
    if vector_type(lhs.type) is not None:
        return ctx.value(llvm_ext.FCmpOp, (lhs, rhs), type_, {"predicate": StringAttr(predicate)})
    number = IntegerAttr(_FCMP_NUMBERS[predicate], 64)
    return ctx.value(llvm.FCmpOp, (lhs, rhs), type_, {"predicate": number, **properties})


_FCMP_NUMBERS = {flag.value.removeprefix("_"): number for number, flag in enumerate(llvm.ALL_FCMP_FLAGS)}
_FCMP_NAMES = list(_FCMP_NUMBERS)


def _cmpf(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, arith.CmpfOp)
    name = _FCMP_NAMES[op.predicate.value.data]
    ctx.set(op.result, fcmp(ctx, name, ctx.get(op.lhs), ctx.get(op.rhs), flags(op)))


def select(ctx: Lowering, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """A choice by one condition, or lane by lane."""
    kind = llvm.SelectOp if vector_type(condition.type) is None else llvm_ext.SelectOp
    return ctx.value(kind, (condition, lhs, rhs), lhs.type)


def _select(ctx: Lowering, op: Operation) -> None:
    condition, lhs, rhs = (ctx.get(operand) for operand in op.operands)
    ctx.set(op.results[0], select(ctx, condition, lhs, rhs))


def _rounded_division(*, up: bool) -> Handler:
    """A signed division: what truncates towards zero is corrected by one where the rest is not 0."""

    def lower(ctx: Lowering, op: Operation) -> None:
        lhs, rhs = (ctx.get(operand) for operand in op.operands)
        type_ = lhs.type
        zero = ctx.number(0, type_)
        quotient = ctx.value(llvm.SDivOp, (lhs, rhs), type_)
        rest = ctx.value(llvm.SRemOp, (lhs, rhs), type_)
        signs = ctx.value(llvm.XOrOp, (rest, rhs), type_)
        # The rest has the sign of the dividend: equal signs of rest and divisor mean a positive quotient.
        inexact, direction = ctx.icmp("ne", rest, zero), ctx.icmp("sge" if up else "slt", signs, zero)
        wrong = ctx.value(llvm.AndOp, (inexact, direction), inexact.type)
        one = ctx.value(llvm.ZExtOp, (wrong,), type_)
        ctx.set(op.results[0], ctx.value(llvm.AddOp if up else llvm.SubOp, (quotient, one), type_))

    return lower


_DIRECT: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.RemUIOp: llvm.URemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.NegfOp: llvm.FNegOp,
    arith.ExtFOp: llvm.FPExtOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.UIToFPOp: llvm_ext.UIToFPOp,
    arith.FPToSIOp: llvm_ext.FPToSIOp,
    arith.FPToUIOp: llvm_ext.FPToUIOp,
    arith.BitcastOp: llvm.BitcastOp,
}

_INTRINSICS: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
    arith.MaxSIOp: "smax",
    arith.MinSIOp: "smin",
    arith.MaxUIOp: "umax",
    arith.MinUIOp: "umin",
}

ARITHMETIC: dict[type[Operation], Handler] = {
    **{kind: direct(lowered) for kind, lowered in _DIRECT.items()},
    **{kind: intrinsic(name) for kind, name in _INTRINSICS.items()},
    arith.ConstantOp: _constant,
    arith.CmpiOp: _cmpi,
    arith.CmpfOp: _cmpf,
    arith.SelectOp: _select,
    arith.IndexCastOp: _index_cast,
    arith.FloorDivSIOp: _rounded_division(up=False),
    arith.CeilDivSIOp: _rounded_division(up=True),
}
