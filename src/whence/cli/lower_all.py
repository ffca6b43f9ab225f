"""The targets of whence-opt: LLVM IR and assembly of a module at any level from primitive functions down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.operator import Operator
from whence.dialects.tir import PrimFuncOp
from whence.lowering.relay_to_te.convert_relay_to_te import ConvertRelayToTePass
from whence.lowering.targets import AssemblyTarget, LLVMTarget
from whence.lowering.te_to_tir.convert_te_to_tir import ConvertTeToTirPass
from whence.passes.tir.pipeline import run_tir_passes
from whence.support.errors import PipelineError


def lowered_to_tir(ctx: Context, module: ModuleOp, target: str) -> ModuleOp:
    """A copy of `module` whose primitive functions and te functions are kernels, ready for LLVM.

    Raises PipelineError when nothing in it can become one.
    """
    copy = module.clone()
    if not any(isinstance(op, PrimFuncOp | llvm.FuncOp) for op in copy.ops):
        ConvertRelayToTePass(target).apply(ctx, copy)
        ConvertTeToTirPass().apply(ctx, copy)
    kernels = [op for op in copy.ops if isinstance(op, PrimFuncOp)]
    for kernel in kernels:
        run_tir_passes(kernel)
    if not kernels and not any(isinstance(op, llvm.FuncOp) for op in copy.ops):
        functions = [op for op in copy.ops if isinstance(op, FuncOp)]
        fused = not any(isinstance(inner, Operator) for op in functions for inner in op.block.ops)
        hint = "" if fused else " (run relay-fuse-ops first)"
        raise PipelineError(f"target: expected primitive functions, te or tir functions, got none{hint}")
    # The main function calls kernels, and is none.
    for op in [op for op in copy.ops if isinstance(op, FuncOp)]:
        op.detach()
        op.erase()
    return copy


@dataclass(frozen=True)
class LowerToLLVM(LLVMTarget):
    """The LLVM IR of all kernels."""

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        super().emit(ctx, lowered_to_tir(ctx, module, self.target), output)


@dataclass(frozen=True)
class LowerToAssembly(AssemblyTarget):
    """The machine code of all kernels, each part of it after the layers and the line of TIR that it serves."""

    name = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        super().emit(ctx, lowered_to_tir(ctx, module, self.target), output)
