"""The pass `relay-outline`: what is in the fused kernels of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.call_tir import CallTirOp, calls_of, hold_kernels
from ...dialects.relay.core import COMPILER, CallOp, FuncOp
from ...dialects.relay.operator import element_of, shape_of
from ...dialects.relay.transform import ReshapeOp
from ...dialects.sizes import Size, same_shape, substitute
from ...dialects.sizes.kernel import kernel_size
from ...dialects.tir import SCHEDULED, PrimFuncOp, buffer_of
from ...passes.relay.symbol_names import SymbolNames
from ...provenance.ledger import current_ledger
from ...provenance.numbers import moves_of
from ...support.errors import ScheduleError
from ...te.schedule.schedule import Schedule
from ..llvm_to_native.target import Target
from ..relay_to_te.lower import lower_function
from ..relay_to_te.strategy import plain_schedule
from ..te_to_tir.lower import lower_schedule
from .draft import run_kernel_passes
from .few_rows import lower_scheduled
from .sizes import is_sized, sizes_of, with_kernel_sizes


def outlined(func: FuncOp, target: Target | None) -> PrimFuncOp:
    """Return the loops of a primitive function as its schedule leaves them, before the passes of tir.

    target: what they are scheduled for; None gives blocks that nobody scheduled. Ops are located at the layers that
    they serve. Axes may be joined in the shapes of scheduled buffers. Raises ScheduleError and VerifyException as
    `draft_kernel` does.
    """
    source = with_kernel_sizes(func) if is_sized(func) else func
    if target is None:
        loops = lower_schedule(Schedule(lower_function(source, join=False)), blocks=True)
        loops.sym_name = func.sym_name
        return loops
    try:
        _, loops = lower_scheduled(lower_function(source), target.hardware)
        run_kernel_passes(loops.clone(), target)
    except ScheduleError:
        loops = lower_schedule(plain_schedule(lower_function(source)))
    loops.sym_name = func.sym_name
    loops.attributes[SCHEDULED] = BoolAttr.from_bool(True)
    return loops


def _outline(module: ModuleOp, func: FuncOp, kernel: PrimFuncOp) -> None:
    """Call a kernel in the place of a function."""
    calls = [op for op in module.walk() if isinstance(op, CallOp) and op.callee.string_value() == func.sym_name.data]
    sizes: dict[str, Size] = {str(kernel_size(number)): size for number, size in enumerate(sizes_of(func))}
    func.detach()
    module.body.block.add_op(kernel)
    if (ledger := current_ledger()) is not None:
        reason = f"the loops of @{func.sym_name.data}"
        ledger.record("Outline", created=[kernel], removed=list(func.walk()), reason=reason)
    for call in calls:
        values = [
            _shaped(value, [substitute(extent, sizes) for extent in buffer_of(argument).get_shape()], call)
            for value, argument in zip(call.arguments, kernel.block.args, strict=False)
        ]
        made = CallTirOp(values, kernel, location=call.location, sizes=list(sizes.values()))
        made.attributes.clear()
        assert call.parent is not None
        call.parent.insert_op_before(made, call)
        results = [_shaped(result, shape_of(old), call) for result, old in zip(made.results, call.results, strict=True)]
        for old, new in zip(call.results, results, strict=True):
            old.replace_all_uses_with(new)
            new.name_hint = old.name_hint
        if ledger is not None:
            moves = moves_of(call.results, results)
            ledger.record("Outline", created=[made], removed=[call], moves=moves, reason=f"@{func.sym_name.data}")
        call.detach()
        call.erase()
    func.erase()


def _shaped(value: SSAValue, shape: Sequence[Size], before: Operation) -> SSAValue:
    """Return a tensor of a shape that has its elements in the same order."""
    if same_shape(shape_of(value), shape):
        return value
    reshape = ReshapeOp(value, newshape=shape, location=before.location)  # type: ignore[arg-type]
    assert before.parent is not None
    before.parent.insert_op_before(reshape, before)
    return reshape.result


def _holds_as_stated(func: FuncOp, kernel: PrimFuncOp) -> bool:
    """Return whether the elements of a kernel's buffers are those of the function's tensors."""
    values = (*func.block.args, *func.return_op.operands)
    elements = [(element_of(v), buffer_of(a).element_type) for v, a in zip(values, kernel.block.args, strict=True)]
    return all(element == stored for element, stored in elements)


@dataclass(frozen=True)
class OutlinePass(ModulePass):
    """Makes a kernel of tir of each primitive function, which `relay.call_tir` calls.

    target: what the kernels are scheduled for: "native", or "llvm -mcpu=.. -mattr=..".
    scheduled: False leaves them as blocks, which fuse when they are compiled as operators do.

    Before: a relay module with primitive functions, as relay-fuse-ops makes them. After: calls of `tir.prim_func`s in
    their place, with loops as the schedule leaves them; where it joins axes, reshapes around the call. The module
    compiles to the same machine code, and a kernel prints as TVMScript. Functions for external compilers, and those of
    tensors with small elements, such as int4, stay.
    Locations: a call keeps its own; ops of a kernel have those of their operators.

    ```mlir
    relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {
      %0 = relay.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
      ..
    }
    relay.func primitive @fused(..) {..}
    // becomes
    relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {
      %0 = relay.call_tir @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
      ..
    }
    tir.prim_func @fused(%p0: !tir.buffer<4xf32>, %out: !tir.buffer<4xf32>) outputs 1 {..}
    ```
    """

    name = "relay-outline"
    target: str = "native"
    scheduled: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target) if self.scheduled else None
        funcs = [func for func in op.ops if isinstance(func, FuncOp) and func.primitive is not None]
        hold_kernels(op, [call for func in funcs for call in calls_of(func)])
        names = SymbolNames(op)
        for func in funcs:
            if COMPILER in func.attributes:
                continue
            kernel = outlined(func, target)
            if _holds_as_stated(func, kernel):
                if not self.scheduled:
                    kernel.sym_name = StringAttr(names.take(func.sym_name.data.removeprefix("fused_")))
                _outline(op, func, kernel)
