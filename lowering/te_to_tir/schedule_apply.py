"""The pass `schedule-apply`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects import te
from .convert_te_to_tir import lower_functions


@dataclass(frozen=True)
class ScheduleApplyPass(ModulePass):
    """Runs every `schedule.sequence` over the `te.func` of its name; both become a `tir.prim_func`.

    It is `convert-te-to-tir` for the functions that are scheduled; others stay as they are.

    Before: sequences, each with a `te.func` of its name. After: the loops of those functions, before any tir pass; no
    sequences. Locations: an op has its stage's; a loop of several stages has the fuse of theirs.
    Raises ScheduleError when a primitive does not fit, or there is no function for a sequence.

    ```mlir
    te.func @neg(%a: tensor<64xf32>) -> (tensor<64xf32>) {
      %b = te.compute "b" (%i in 64) : tensor<64xf32> {
        %0 = te.read %a[%i] : tensor<64xf32>
        %1 = arith.negf %0 : f32
        te.yield %1 : f32
      }
      te.return %b : tensor<64xf32>
    }
    schedule.sequence @neg {
      %b = schedule.stage "b"
      %i = schedule.axes %b : 1
      %o, %n = schedule.split %i factor 16
      schedule.vectorize %n
    }
    // becomes
    tir.prim_func @neg(%a: !tir.buffer<64xf32>, %out: !tir.buffer<64xf32>) outputs 1 {
      tir.for %i.outer in 4 {
        tir.for vectorized %i.inner in 16 {
          %0 = tir.load %a[%i.outer * 16 + %i.inner] : !tir.buffer<64xf32> -> f32
          %1 = arith.negf %0 : f32
          tir.store %1, %out[%i.outer * 16 + %i.inner] : f32, !tir.buffer<64xf32>
        }
      }
    }
    ```
    """

    name = "schedule-apply"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, te.FuncOp)]
        lower_functions(op, functions, scheduled_only=True)
