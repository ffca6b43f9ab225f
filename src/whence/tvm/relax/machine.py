"""`relax.build` and the virtual machine by Relax's names; programs are compiled as all others are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from whence.executables.by_function import FunctionExecutables
from whence.executables.executable import Executable as Compiled
from whence.relay import profiler_vm, vm
from whence.relay.module import IRModule
from whence.runtime.debugger.report import Report
from whence.runtime.loading.loaded import LoadedModule
from whence.runtime.program.timing import BenchmarkResult, Timing
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError
from whence.target import TargetLike

Executable = FunctionExecutables


@door()
def build(
    mod: IRModule,
    target: TargetLike = "llvm",
    params: Mapping[str, Array] | None = None,
    relax_pipeline: object = None,
    tir_pipeline: object = None,
    exec_mode: str = "bytecode",
) -> Executable:
    """Return the executable of a module; with one function, it is compiled now.

    params: values for parameters of `main` by name. relax_pipeline, tir_pipeline, exec_mode: as in TVM; the passes are
    those of the PassContext, and all code is native. Raises FrontendError and PipelineError as `relay.build`.
    """
    del relax_pipeline, tir_pipeline
    if exec_mode not in ("bytecode", "compiled"):
        raise PipelineError(f"relax.build: expected bytecode or compiled as exec_mode, got {exec_mode}")
    executable = Executable(mod, lambda held: vm.compile(held, target, params=params))
    if len(executable.names) == 1 or "main" in executable.names:
        executable.function("main" if "main" in executable.names else executable.names[0])
    return executable


class VirtualMachine:
    """A machine that calls the functions of an executable: `vm["main"](x)`. The CPU is the only device."""

    def __init__(
        self,
        rt_mod: Executable | Compiled | LoadedModule,
        device: object = None,
        memory_cfg: object = None,
        profile: bool = False,
    ) -> None:
        """rt_mod: of `relax.build` or `whence.compile`, or the program of a file, whose function is `main`."""
        if device is not None and "cpu" not in str(device):
            raise PipelineError(f"VirtualMachine: expected the CPU as device, got {device}")
        if not isinstance(rt_mod, Executable | Compiled | LoadedModule):  # pyright: ignore[reportUnnecessaryIsInstance]
            found = type(rt_mod).__name__
            raise PipelineError(f"VirtualMachine: expected what relax.build or load_module returns, got {found}")
        del memory_cfg, profile
        self.executable = rt_mod
        self._machines: dict[str, vm.VirtualMachine] = {}
        self._ready: set[str] = set()
        self._outputs: dict[str, Any] = {}
        self._saved: dict[str, Callable[..., Any]] = {}

    def _machine(self, name: str) -> vm.VirtualMachine:
        if name not in self._machines:
            self._machines[name] = vm.VirtualMachine(cast(Any, self._program(name)))
        return self._machines[name]

    def _program(self, name: str) -> vm.VMExecutable | Compiled | LoadedModule:
        if isinstance(self.executable, Executable):
            return self.executable.function(name)
        if name != "main":
            raise PipelineError(f"VirtualMachine: expected main, the function that was compiled, got {name}")
        return self.executable

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """Return a function; raises PipelineError for an unknown name."""
        if func_name in self._saved:
            return self._saved[func_name]
        return partial(self._machine(func_name).invoke, "main")

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set the arguments of `invoke_stateful`: in order, by name, or both; raises PipelineError unless it is all."""
        machine = self._machine(func_name)
        names = [spec.name for spec in machine.executable.inputs]
        free = [name for name in names if name not in kwargs]
        given = f"{len(args)} arguments" + "".join(f", {name}" for name in kwargs)
        if len(args) != len(free) or len(free) + len(kwargs) != len(names):
            expected = ", ".join(names) or "no arguments"
            raise PipelineError(f"set_input: expected {expected} of {func_name}, got {given}")
        machine.set_input("main", *args, **kwargs)
        self._ready.add(func_name)
        self._outputs.pop(func_name, None)

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the arguments of `set_input`; `get_outputs` returns its results."""
        machine = self._machine(func_name)
        if func_name not in self._ready:
            raise PipelineError(f"invoke_stateful: expected set_input of {func_name} before it, got none")
        self._outputs[func_name] = machine.invoke("main")

    def get_outputs(self, func_name: str) -> Any:
        """Return the result of `invoke_stateful`, a tuple for several; raises PipelineError before that."""
        self._machine(func_name)
        if func_name not in self._outputs:
            raise PipelineError(f"get_outputs: expected invoke_stateful of {func_name} before it, got none")
        return self._outputs[func_name]

    def save_function(self, func_name: str, saved_name: str, *args: Any, include_return: bool = True) -> None:
        """Keep a call with its arguments under another name, which no function has."""
        function = self[func_name]
        if isinstance(self.executable, Executable) and saved_name in self.executable.names:
            raise PipelineError(f"save_function: expected a name that no function has, got {saved_name}")

        def call() -> Any:
            result = function(*args)
            return result if include_return else None

        self._saved[saved_name] = call

    def set_instrument(self, instrument: object) -> None:
        """Refuse instruments: kernels are called by native code."""
        raise PipelineError("set_instrument: expected no instrument of calls, which native code makes; see explore")

    def time_evaluator(
        self,
        func_name: str,
        dev: object = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that measures calls with its arguments, as TVM does."""
        del dev, f_preproc
        timing = Timing(number, repeat, min_repeat_ms, 100, cooldown_interval_ms, repeats_to_cooldown)
        return lambda *args: timing.measure(lambda: self[func_name](*args))

    def profile(self, func_name: str, *args: Any) -> Report:
        """Return the time of each kernel of one call."""
        program = self._program(func_name)
        if isinstance(program, LoadedModule):
            raise PipelineError("profile: expected what relax.build returns, got the program of a file")
        return profiler_vm.VirtualMachineProfiler(program).profile(*args)
