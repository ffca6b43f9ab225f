"""The pass `convert-relay-to-te`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.relay.core import FuncOp
from ...provenance.diagnostics import message
from ...support.errors import PipelineError, ScheduleError
from ..llvm_to_native.target import Target
from .knobs import decisions_of
from .lower import lower_function
from .strategy import schedule_function, space_of


@dataclass(frozen=True)
class ConvertRelayToTePass(ModulePass):
    """Lowers every primitive `relay.func` to a `te.func`, with its default schedule beside it.

    Before: primitive functions, as relay-fuse-ops makes them. After: for each a `te.func` and a `schedule.sequence`,
    both with its name; other functions stay as they are.
    A module of other relay functions alone is an error: nothing would be lowered.
    Locations: a stage, the ops in it and the primitives applied to it have their operator's.

    target: what the schedule is made for: "native", or "llvm -mcpu=.. -mattr=..".
    decisions: the numbers of knobs that are not to have their defaults, "rows=4,vectors=2", in every schedule
    that has them.

    ```mlir
    relay.func primitive @relu(%p0: tensor<64xf32>) -> (tensor<64xf32>) {
      %0 = relay.nn.relu %p0 : (tensor<64xf32>) -> tensor<64xf32>
      relay.return %0 : tensor<64xf32>
    }
    // becomes
    te.func @relu(%p0: tensor<64xf32>) -> (tensor<64xf32>) {
      %relu = te.compute "relu" (%ax0 in 64) : tensor<64xf32> {
        %0 = te.read %p0[%ax0] : tensor<64xf32>
        ..
      }
      te.return %relu : tensor<64xf32>
    }
    schedule.sequence @relu attributes {strategies = {relu = "injective"}} {
      %relu = schedule.stage "relu"
      %ax0 = schedule.axes %relu : 1
      %ax0.outer, %ax0.inner = schedule.split %ax0 factor 16
      schedule.vectorize %ax0.inner
    }
    ```
    """

    name = "convert-relay-to-te"
    target: str = "native"
    decisions: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Target.parse(self.target).hardware
        decisions, used = decisions_of(self.decisions), set[str]()
        block = op.body.block
        functions = [func for func in block.ops if isinstance(func, FuncOp)]
        primitive = [func for func in functions if func.primitive is not None]
        # Beside functions of further levels nothing may be left to lower.
        if functions and not primitive and len(functions) == len(block.ops):
            expected, actual = "a primitive function, as relay-fuse-ops makes them", f"none of {len(functions)}"
            raise PipelineError(message(self.name, expected, actual, functions[0].location))
        for func in primitive:
            lowered = lower_function(func)
            own: dict[str, int] = {}
            if decisions:
                names = {knob.name for knob in space_of(lowered.clone(), machine).knobs}
                own = {name: number for name, number in decisions.items() if name in names}
                used |= own.keys()
            # Scheduling may add stages to the function it works on; the sequence has a primitive for each.
            schedule = schedule_function(lowered.clone(), machine, decisions=own)
            block.insert_ops_before([lowered, schedule.sequence], func)
            func.detach()
            func.erase()
        if strange := sorted(decisions.keys() - used):
            raise ScheduleError(message("decisions", "knobs of some schedule", ", ".join(strange)))
