"""Implementations of operators and kernels of functions, by TVM's names at `relay.backend.te_compiler`.

The compiler's implementations of an operator are its lowering with each of the rows that may schedule it
(docs/adding-a-schedule.md); a function under `FTVMStrategy` takes their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from whence.compiler.compile import compile as compile_model
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.op_strategy import OpImplementation, OpStrategy
from whence.lowering.relay_to_te.strategy import rows_that_serve, schedule_function
from whence.relay.builders import builder
from whence.relay.module import IRModule
from whence.relay.tensor_calls import lowered
from whence.runtime.values.ndarray import NDArray
from whence.support.doors import door
from whence.support.errors import ScheduleError
from whence.syntax.relay.expr import Function, Op
from whence.syntax.relay.op_attrs import STRATEGY
from whence.target import TargetLike, target_of
from whence.te import Tensor
from whence.te.language.emit import build_function
from whence.te.language.locations import here


@door(ScheduleError)
def get_valid_implementations(
    op: Op, attrs: Any, inputs: Sequence[Tensor], out_type: Any, target: Any
) -> list[OpImplementation]:
    """Return the implementations of an operator that serve for these arguments, in no order."""
    return _strategy(op, attrs, inputs, out_type, target).valid()


@door(ScheduleError)
def select_implementation(
    op: Op, attrs: Any, inputs: Sequence[Tensor], out_type: Any, target: Any, use_autotvm: bool = True
) -> tuple[OpImplementation, list[Tensor]]:
    """Return the implementation of the highest `plevel`, and its tensors.

    use_autotvm: without effect, as tuning decides about the knobs of a schedule and not about implementations.
    Raises ScheduleError where none serves.
    """
    del use_autotvm
    chosen = _strategy(op, attrs, inputs, out_type, target).best(op.name)
    return chosen, chosen.compute(attrs, inputs, out_type)


def _strategy(op: Op, attrs: Any, inputs: Sequence[Tensor], out_type: Any, target: Any) -> OpStrategy:
    if (own := op.get_attr(STRATEGY)) is not None:
        return own(attrs, inputs, out_type, target)

    def compute(attrs: Any, inputs: Sequence[Tensor], out_type: Any) -> Any:
        del out_type
        return lowered(here(op.name, __name__), partial(builder(op.name), **dict(attrs or {})), list(inputs), {})

    def schedule(attrs: Any, outs: Sequence[Tensor], target: Any) -> Any:
        del attrs
        return schedule_function(build_function(list(outs))[0], _machine(target).hardware)

    strategy = OpStrategy()
    results = compute(attrs, inputs, out_type)
    tensors = [results] if isinstance(results, Tensor) else list(results)
    for row in rows_that_serve(build_function(tensors, list(inputs))[0], _machine(target).hardware):
        strategy.add_implementation(compute, schedule, f"{op.name}.{row.name}", row.plevel)
    return strategy


def _machine(target: TargetLike) -> Target:
    resolved = target_of(target)
    return resolved if isinstance(resolved, Target) else Target.parse(resolved)


class TECompiler:
    """Compiles functions of relay for tensors of known shapes."""

    def __init__(self) -> None:
        self._lowered: dict[tuple[str, str], Any] = {}

    def lower(self, source_func: Function, target: TargetLike = None) -> Any:
        """Return the compiled program of a function; the same one for structurally equal functions."""
        module = IRModule.from_expr(source_func)
        key = str(module), str(target_of(target))
        if key not in self._lowered:
            self._lowered[key] = compile_model(module, target=target_of(target))
        return self._lowered[key]

    def jit(self, source_func: Function, target: TargetLike = None) -> Any:
        """Return a function of arrays, the last of which takes the result."""
        run = self.lower(source_func, target)

        def call(*arrays: NDArray) -> None:
            arrays[-1].copyfrom(run(*arrays[:-1]))

        return call

    def clear(self) -> None:
        """Forget the programs."""
        self._lowered.clear()


@cache
def get() -> TECompiler:
    """Return the one compiler of this process."""
    return TECompiler()
