"""The pass `convert-tir-to-llvm`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.tir import PrimFuncOp
from .convert import lower_function


@dataclass(frozen=True)
class ConvertTirToLlvmPass(ModulePass):
    """Lower every `tir.prim_func` to functions of the llvm dialect.

    Before: prim_funcs of tir, arith, math and vector ops; no vectorized loops. After: `llvm.func`s, one per kernel, and
    two more per parallel loop; ops of llvm and llvm_ext only. The scratch memory of a kernel stands in its attribute
    `llvm_ext.workspace`. Each llvm op has the location of the tir op it was made for; a constant or an index that
    several ops share has the fuse of theirs.

    ```mlir
    tir.prim_func @neg(%x: !tir.buffer<64xf32>, %y: !tir.buffer<64xf32>) outputs 1 {
      tir.for %i in 64 {
        %0 = tir.load %x[%i] : !tir.buffer<64xf32> -> f32
        %1 = arith.negf %0 : f32
        tir.store %1, %y[%i] : f32, !tir.buffer<64xf32>
      }
    }
    // becomes
    llvm.func @neg(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %y: !llvm.ptr {llvm.noalias}, ..) {
      ..
    ^bb0(%i : i64):
      %0 = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %1 = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> f32
      %2 = llvm.fneg %1 : f32
      ..
    ```
    """

    name = "convert-tir-to-llvm"
    flush_denormals: bool = False
    """Numbers smaller than the smallest normal one are 0, as kernels of models have it on x86-64."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = op.body.block
        declared = {function.sym_name.data for function in block.ops if isinstance(function, llvm.FuncOp)}
        for func in [func for func in block.ops if isinstance(func, PrimFuncOp)]:
            lowered = lower_function(func, {}, flush=self.flush_denormals)
            block.insert_ops_before(lowered.globals, func)
            for function in lowered.functions:
                # Kernels share the declarations of the functions that they call.
                if function.body.blocks or function.sym_name.data not in declared:
                    declared.add(function.sym_name.data)
                    block.insert_op_before(function, func)
            func.detach()
            func.erase()
