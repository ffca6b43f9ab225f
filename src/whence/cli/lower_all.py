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
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.convert_relay_to_te import ConvertRelayToTePass
from whence.lowering.targets import AssemblyTarget, LLVMTarget
from whence.lowering.te_to_tir.convert_te_to_tir import ConvertTeToTirPass
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.passes.tir.pipeline import run_tir_passes
from whence.support.context import PassContext
from whence.support.errors import PipelineError


def lowered_to_tir(ctx: Context, module: ModuleOp, target: str) -> ModuleOp:
    """Return a copy of `module` as kernels ready for LLVM, by the passes that it has not been through.

    A relay module without primitive functions goes through all relay passes, as in a compilation; primitive and te
    functions become loops with their default schedules. Raises PipelineError if nothing can become a kernel.
    """
    copy = module.clone()
    machine = Target.parse(target).hardware
    if not any(isinstance(op, PrimFuncOp | llvm.FuncOp) for op in copy.ops):
        if _has_operators(copy):
            run_passes(copy, relay_pipeline(PassContext.current().opt_level, machine))
        ConvertRelayToTePass(target).apply(ctx, copy)
        ConvertTeToTirPass().apply(ctx, copy)
    kernels = [op for op in copy.ops if isinstance(op, PrimFuncOp)]
    for kernel in kernels:
        run_tir_passes(kernel, machine)
    if not kernels and not any(isinstance(op, llvm.FuncOp) for op in copy.ops):
        raise PipelineError("target: expected primitive functions, te or tir functions, got none")
    # The main function calls kernels, and is none.
    for op in [op for op in copy.ops if isinstance(op, FuncOp)]:
        op.detach()
        op.erase()
    return copy


def _has_operators(module: ModuleOp) -> bool:
    """Return whether a relay function that is no primitive one computes something."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is None]
    return any(isinstance(inner, Operator) for func in functions for inner in func.block.ops)


@dataclass(frozen=True)
class LowerToLLVM(LLVMTarget):
    """The LLVM IR of all kernels."""

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        super().emit(ctx, lowered_to_tir(ctx, module, self.target), output)


@dataclass(frozen=True)
class LowerToAssembly(AssemblyTarget):
    """Return the machine code of all kernels; each part follows its layers and its line of TIR."""

    name = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        super().emit(ctx, lowered_to_tir(ctx, module, self.target), output)
