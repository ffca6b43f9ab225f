"""Ops that differ in nothing but a word."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.ir import Operation

from ...dialects import llvm_ext

BINARY: dict[type[Operation], str] = {
    llvm.AddOp: "add",
    llvm.SubOp: "sub",
    llvm.MulOp: "mul",
    llvm.SDivOp: "sdiv",
    llvm.UDivOp: "udiv",
    llvm.SRemOp: "srem",
    llvm.URemOp: "urem",
    llvm.AndOp: "and",
    llvm.OrOp: "or",
    llvm.XOrOp: "xor",
    llvm.ShlOp: "shl",
    llvm.LShrOp: "lshr",
    llvm.AShrOp: "ashr",
}
"""Integer ops of two operands of one type, by opcode."""

FLOAT_BINARY: dict[type[Operation], str] = {
    llvm.FAddOp: "fadd",
    llvm.FSubOp: "fsub",
    llvm.FMulOp: "fmul",
    llvm.FDivOp: "fdiv",
    llvm.FRemOp: "frem",
}
"""The same of floats."""

CONVERSIONS: dict[type[Operation], str] = {
    llvm.TruncOp: "trunc",
    llvm.ZExtOp: "zext",
    llvm.SExtOp: "sext",
    llvm.BitcastOp: "bitcast",
    llvm.IntToPtrOp: "inttoptr",
    llvm.PtrToIntOp: "ptrtoint",
}
"""Ops that make a value of another type, by opcode."""

FLOAT_CONVERSIONS: dict[type[Operation], str] = {
    llvm.SIToFPOp: "sitofp",
    llvm.FPExtOp: "fpext",
    llvm.FPTruncOp: "fptrunc",
    llvm_ext.UIToFPOp: "uitofp",
    llvm_ext.FPToSIOp: "fptosi",
    llvm_ext.FPToUIOp: "fptoui",
}
"""The same from or to a float."""

INTRINSICS: tuple[type[Operation], ...] = (
    llvm.FAbsOp,
    llvm.FCeilOp,
    llvm.FSqrtOp,
    llvm.FFloorOp,
    llvm.FExp2Op,
    llvm.FLogOp,
    llvm.FExpOp,
    llvm.FSinOp,
    llvm.FCosOp,
    llvm.FLog2Op,
    llvm.VectorFMaxOp,
    llvm.VectorFMinOp,
    llvm.FCopySignOp,
    llvm.FMAOp,
    llvm.FPowOp,
)
"""Ops `llvm.intr.x` that are calls of `llvm.x.<type>`."""
