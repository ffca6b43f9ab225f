"""The pass `convert-te-to-tir`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects import te
from ...dialects.schedule import SequenceOp, TensorIntrinOp
from ...passes.tir.rewriting.ops import drop
from ...provenance.diagnostics import message
from ...support.errors import ScheduleError
from ...te.schedule.intrin import intrin_of
from ...te.schedule.schedule import Schedule, replay
from ...te.schedule.tensor_intrin import TensorIntrin
from .lower import lower_schedule


@dataclass(frozen=True)
class ConvertTeToTirPass(ModulePass):
    """Lowers every `te.func`, as its schedule says, to a `tir.prim_func` of loops over buffers.

    Before: `te.func`s; a `schedule.sequence` with the name of one belongs to it, one without is not scheduled: each
    stage gets its own loops, in order. After: a `tir.prim_func` for each, no sequences; other functions stay.
    Locations: an op has its stage's; a loop of several stages has the fuse of theirs.
    Raises ScheduleError when a sequence does not fit its function, or there is none for it.

    ```mlir
    te.func @neg(%a: tensor<64xf32>) -> (tensor<64xf32>) {
      %b = te.compute "b" (%i in 64) : tensor<64xf32> {
        %0 = te.read %a[%i] : tensor<64xf32>
        %1 = arith.negf %0 : f32
        te.yield %1 : f32
      }
      te.return %b : tensor<64xf32>
    }
    // becomes
    tir.prim_func @neg(%a: !tir.buffer<64xf32>, %out: !tir.buffer<64xf32>) outputs 1 {
      tir.for %i in 64 {
        %0 = tir.load %a[%i] : !tir.buffer<64xf32> -> f32
        %1 = arith.negf %0 : f32
        tir.store %1, %out[%i] : f32, !tir.buffer<64xf32>
      }
    }
    ```
    """

    name = "convert-te-to-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_functions(op, [f for f in op.body.block.ops if isinstance(f, te.FuncOp)])


def lower_functions(module: ModuleOp, functions: Sequence[te.FuncOp], *, scheduled_only: bool = False) -> None:
    """Put loops in the place of `functions` of a module and of their sequences.

    scheduled_only: leave those without a sequence.
    """
    block = module.body.block
    sequences = _sequences(module, {f.sym_name.data for f in functions})
    intrinsics = intrinsics_of(module)
    for func in functions:
        sequence = sequences.get(func.sym_name.data)
        if sequence is None and scheduled_only:
            continue
        schedule = replay(func.clone(), sequence, None, intrinsics) if sequence is not None else Schedule(func.clone())
        block.insert_op_before(lower_schedule(schedule, own_layouts=True), func)
        func.detach()
        func.erase()
    for sequence in sequences.values():
        sequence.detach()
        sequence.erase()
    for op in [op for op in block.ops if isinstance(op, TensorIntrinOp)]:
        drop(op, "ApplyIntrinsics", "it was put where sequences name it")


def intrinsics_of(module: ModuleOp) -> dict[str, TensorIntrin]:
    """The intrinsics that sequences of the module may name."""
    intrinsics: dict[str, TensorIntrin] = {}
    for op in module.body.block.ops:
        if isinstance(op, TensorIntrinOp):
            if op.label.data in intrinsics:
                raise ScheduleError(message(op.name, "a label of its own", f'"{op.label.data}" again', op.location))
            intrinsics[op.label.data] = intrin_of(op)
    return intrinsics


def _sequences(module: ModuleOp, functions: set[str]) -> dict[str, SequenceOp]:
    """The sequence of each function that has one."""
    sequences: dict[str, SequenceOp] = {}
    for op in module.ops:
        if isinstance(op, SequenceOp):
            name = op.target.data
            if name not in functions:
                raise ScheduleError(message(op.name, f"a te.func @{name} in the module", "none", op.location))
            if name in sequences:
                raise ScheduleError(message(op.name, f"one sequence for @{name}", "another", op.location))
            sequences[name] = op
    return sequences
