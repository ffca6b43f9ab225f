"""The math dialect, op by op: intrinsics of LLVM or the C library.

Of the elementary functions, `tir-lower-intrin` leaves those of f64 only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerAttr, f32, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...provenance.diagnostics import fail
from ..llvm_to_native.text import suffix, type_text
from .arithmetic import flags, intrinsic, overloaded
from .context import Handler, Lowering
from .types import element, lanes, like, vector_type

Function: TypeAlias = Callable[[Lowering, SSAValue], SSAValue]


def _widened(function: Function) -> Function:
    """The function for f16 and bf16 too, computed in f32."""

    def apply(ctx: Lowering, x: SSAValue) -> SSAValue:
        if not isinstance(element(x.type), Float16Type | BFloat16Type):
            return function(ctx, x)
        wide = ctx.value(llvm.FPExtOp, (x,), like(x.type, f32))
        return ctx.value(llvm.FPTruncOp, (function(ctx, wide),), x.type)

    return apply


def _unary(function: Function) -> Handler:
    def lower(ctx: Lowering, op: Operation) -> None:
        ctx.set(op.results[0], function(ctx, ctx.get(op.operands[0])))

    return lower


def _libm(name: str) -> Function:
    """A function of the C library, called lane by lane: `<name>f` on f32, `<name>` on f64."""

    def apply(ctx: Lowering, x: SSAValue) -> SSAValue:
        type_ = element(x.type)
        callee = f"{name}f" if isinstance(type_, Float32Type) else name
        ctx.extern(callee, (type_,), type_)
        if vector_type(x.type) is None:
            return ctx.call(callee, (x,), type_).results[0]
        result = ctx.poison(x.type)
        for lane in range(lanes(x.type)):
            result = ctx.insert(result, ctx.call(callee, (ctx.extract(x, lane, type_),), type_).results[0], lane)
        return result

    return apply


def _rsqrt(ctx: Lowering, op: Operation) -> None:
    x = ctx.get(op.operands[0])
    root = overloaded(ctx, "sqrt", [x], flags(op))
    ctx.set(op.results[0], ctx.value(llvm.FDivOp, (ctx.number(1.0, x.type), root), x.type, flags(op)))


def _with_zero_flag(name: str) -> Handler:
    """An intrinsic whose second operand says that a special input may give poison: it may not."""

    def lower(ctx: Lowering, op: Operation) -> None:
        x = ctx.get(op.operands[0])
        no = ctx.constant(IntegerAttr(0, i1), i1)
        full = f"llvm.{name}.{suffix(type_text(x.type))}"
        ctx.set(op.results[0], ctx.intrinsic(full, (x, no), x.type).results[0])

    return lower


def _powi(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, math.FPowIOp)
    x, power = ctx.get(op.lhs), ctx.get(op.rhs)
    if vector_type(power.type) is not None:
        fail(op, "a scalar power", str(power.type))
    full = f"llvm.powi.{suffix(type_text(x.type))}.{suffix(type_text(power.type))}"
    result: Attribute = x.type
    ctx.set(op.result, ctx.intrinsic(full, (x, power), result).results[0])


_INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.Atan2Op: "atan2",
    math.AcosOp: "acos",
    math.AsinOp: "asin",
    math.AtanOp: "atan",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.CtPopOp: "ctpop",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.Log10Op: "log10",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TruncOp: "trunc",
}

_LIBM: dict[type[Operation], str] = {
    math.AcoshOp: "acosh",
    math.AsinhOp: "asinh",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.ErfOp: "erf",
    math.ExpM1Op: "expm1",
    math.Log1pOp: "log1p",
    math.TanhOp: "tanh",
}

MATH: dict[type[Operation], Handler] = {
    **{kind: intrinsic(name) for kind, name in _INTRINSICS.items()},
    **{kind: _unary(_widened(_libm(name))) for kind, name in _LIBM.items()},
    math.RsqrtOp: _rsqrt,
    math.AbsIOp: _with_zero_flag("abs"),
    math.CountLeadingZerosOp: _with_zero_flag("ctlz"),
    math.CountTrailingZerosOp: _with_zero_flag("cttz"),
    math.FPowIOp: _powi,
}
