"""The virtual machine by TVM's names.

>>> exe = relay.vm.compile(mod, target="llvm", params=params)
>>> vm.VirtualMachine(exe, device).invoke("main", x)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from whence.executables.executable import Executable as Compiled
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.relay.executors import bound_params, compiled_invoke
from whence.relay.module import IRModule
from whence.relay.results import viewed
from whence.relay.vm_executable import VMExecutable
from whence.runtime.program.timing import BenchmarkResult, Timing
from whence.support.context import PassContext
from whence.support.doors import doors
from whence.support.dtypes import Array
from whence.support.errors import PipelineError
from whence.target import TargetLike, params_beside, target_of

Executable = VMExecutable


def compile(
    mod: ModuleOp | IRModule,
    target: TargetLike = "llvm",
    target_host: TargetLike = None,
    params: Mapping[str, Array] | None = None,
) -> VMExecutable:
    """The executable of a module; one of a static program has `@main` alone.

    Arguments and errors as those of `relay.build`, and errors as `create_executor`.
    """
    params = params_beside("relay.vm.compile", target, target_host, params)
    return VMExecutable(mod.module if isinstance(mod, IRModule) else mod, target_of(target), params)


def optimize(
    mod: ModuleOp | IRModule,
    target: TargetLike = "llvm",
    target_host: TargetLike = None,
    params: Mapping[str, Array] | None = None,
) -> tuple[IRModule, dict[str, Array]]:
    """The module after the passes on Relay of the PassContext's level, params being constants of it; and the params."""
    params = params_beside("relay.vm.optimize", target, target_host, params)
    held = mod.module if isinstance(mod, IRModule) else mod
    copy = bound_params(held, params) if params else held.clone()
    run_passes(copy, relay_pipeline(PassContext.current().opt_level))
    return IRModule.of(copy), dict(params or {})


class VMCompiler:
    """Compiles a module in TVM's steps: `lower`, `codegen`, then `get_exec`."""

    def __init__(self) -> None:
        self._params: dict[str, Array] = {}
        self._made: VMExecutable | None = None

    def set_params(self, params: Mapping[str, Array]) -> None:
        """Bind parameters of `@main` to values; they become constants."""
        self._params |= params

    def lower(self, mod: ModuleOp | IRModule, target: TargetLike = "llvm", target_host: TargetLike = None) -> None:
        self._made = compile(mod, target, target_host, self._params)

    def codegen(self) -> None:
        """Do nothing: `lower` generates the code."""

    def optimize(
        self,
        mod: ModuleOp | IRModule,
        target: TargetLike = "llvm",
        target_host: TargetLike = None,
        params: Mapping[str, Array] | None = None,
    ) -> tuple[IRModule, dict[str, Array]]:
        """Return the module after the Relay passes of the current level, and the parameters."""
        self.set_params(params_beside("VMCompiler.optimize", target, target_host, params) or {})
        return optimize(mod, target, params=self._params)

    def get_exec(self) -> VMExecutable:
        """Return the executable. Raises PipelineError before `lower`."""
        if self._made is None:
            raise PipelineError("VMCompiler: expected `lower` before `get_exec`, got nothing compiled")
        return self._made


@doors()
class VirtualMachine:
    """A machine that runs an executable on a device; the CPU is the only one."""

    def __init__(self, exe: VMExecutable | Compiled, device: object = None):
        if device is not None and "cpu" not in str(device):
            raise PipelineError(f"VirtualMachine: expected the CPU as device, got {device}")
        self.executable = exe.executable if isinstance(exe, VMExecutable) else exe
        self._call = compiled_invoke(self.executable)
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: Any = None

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function with arguments in order or by name, or with those of `set_input`."""
        if kwargs:
            self.set_input(func_name, *args, **kwargs)
            args = ()
        arguments = args or self._inputs.get(func_name, ())
        self._outputs = viewed(self._call(func_name, *arguments))
        return self._outputs

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Call `@main` and return its result."""
        return self.invoke("main", *args, **kwargs)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set the arguments of the next calls of a function, by name, and in order for the other parameters."""
        if not kwargs:
            self._inputs[func_name] = args
            return
        rest = iter(args)
        names = self._parameters(func_name)
        values = [kwargs.pop(name) if name in kwargs else next(rest, None) for name in names]
        if kwargs or next(rest, None) is not None:
            raise PipelineError(f"set_input: expected arguments {', '.join(names)} of @{func_name}, got other ones")
        self._inputs[func_name] = tuple(values)

    def _parameters(self, func_name: str) -> list[str]:
        if func_name != "main":
            raise PipelineError(f"set_input: expected arguments of @{func_name} in order, got names")
        return [spec.name for spec in self.executable.inputs]

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set one argument of the next calls of a function: `(name or position, value)`, or `name=value`."""
        if len(args) + 2 * len(kwargs) != 2:
            raise PipelineError(f"set_one_input: expected one argument of @{func_name}, got {len(args)} values")
        tag, value = args or next(iter(kwargs.items()))
        index = self.get_input_index(tag, func_name) if isinstance(tag, str) else tag
        values = list(self._inputs.get(func_name, ()))
        if not isinstance(index, int) or index < 0:
            raise PipelineError(f"set_one_input: expected an argument of @{func_name}, got {tag!r}")
        values += [None] * (index + 1 - len(values))
        values[index] = value
        self._inputs[func_name] = tuple(values)

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """Return the position of an argument; -1 for an unknown name."""
        names = self._parameters(func_name)
        return names.index(input_name) if input_name in names else -1

    def invoke_with_outputs(self, func_name: str, input_args: Mapping[str, Any], output_args: Sequence[Any]) -> None:
        """Call a function with arguments by name, and copy its results into arrays."""
        self.set_input(func_name, **input_args)
        self.invoke(func_name)
        for target, value in zip(output_args, self.get_outputs(), strict=True):
            np.copyto(target, value)

    def benchmark(
        self,
        device: object,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Return the times of runs of a function, measured as TVM does; `device` has no effect."""
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        options = (limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown)
        return Timing(number, repeat, min_repeat_ms, *options).measure(lambda: self.invoke(func_name))

    def invoke_stateful(self, func_name: str, *args: Any) -> None:
        """Run like `invoke`; `get_outputs` returns the results."""
        self.invoke(func_name, *args)

    def get_output(self, index: int) -> Any:
        """Return one output of the last call; raises IndexError beyond the last one."""
        return self.get_outputs()[index]

    def get_num_outputs(self) -> int:
        """Return the number of outputs of the last call."""
        return len(self.get_outputs())

    def get_outputs(self) -> list[Any]:
        """Return the outputs of the last call; of a tuple its fields."""
        return list(cast("tuple[Any, ...]", self._outputs)) if isinstance(self._outputs, tuple) else [self._outputs]
