"""The virtual machine by TVM's names.

>>> exe = relay.vm.compile(mod, target="llvm", params=params)
>>> vm.VirtualMachine(exe, device).invoke("main", x)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from whence.executable import Executable as Compiled
from whence.executors import compiled_invoke
from whence.lowering.llvm_to_native.target import Target
from whence.relay.module import IRModule
from whence.relay.results import viewed
from whence.relay.vm_executable import VMExecutable
from whence.support.dtypes import Array
from whence.support.errors import PipelineError

Executable = VMExecutable


def compile(
    mod: ModuleOp | IRModule, target: str | Target = "llvm", params: Mapping[str, Array] | None = None
) -> VMExecutable:
    """The executable of a module; one of a static program has `@main` alone. Errors as `create_executor`."""
    return VMExecutable(mod.module if isinstance(mod, IRModule) else mod, target, params)


class VirtualMachine:
    """Runs an executable on a device, of which the CPU is the only one."""

    def __init__(self, exe: VMExecutable | Compiled, device: object = None):
        if device is not None and "cpu" not in str(device):
            raise PipelineError(f"VirtualMachine: expected the CPU as device, got {device}")
        self.executable = exe.executable if isinstance(exe, VMExecutable) else exe
        self._call = compiled_invoke(self.executable)
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: Any = None

    def invoke(self, func_name: str, *args: Any) -> Any:
        """What a function gives for arguments in order, or for those that `set_input` took."""
        given = args or self._inputs.get(func_name, ())
        self._outputs = viewed(self._call(func_name, *given))
        return self._outputs

    def run(self, *args: Any) -> Any:
        """What `@main` gives."""
        return self.invoke("main", *args)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Arguments for the next calls of a function, in order or by name; those by name fill the places left."""
        if not kwargs:
            self._inputs[func_name] = args
            return
        rest = iter(args)
        names = self._parameters(func_name)
        given = [kwargs.pop(name) if name in kwargs else next(rest, None) for name in names]
        if kwargs or next(rest, None) is not None:
            raise PipelineError(f"set_input: expected arguments {', '.join(names)} of @{func_name}, got other ones")
        self._inputs[func_name] = tuple(given)

    def _parameters(self, func_name: str) -> list[str]:
        if func_name != "main":
            raise PipelineError(f"set_input: expected arguments of @{func_name} in order, got names")
        return [spec.name for spec in self.executable.inputs]

    def invoke_stateful(self, func_name: str, *args: Any) -> None:
        """As `invoke`; `get_outputs` has what it gave."""
        self.invoke(func_name, *args)

    def get_output(self, index: int) -> Any:
        """One of them; raises IndexError beyond the last one."""
        return self.get_outputs()[index]

    def get_num_outputs(self) -> int:
        """How many the last call gave."""
        return len(self.get_outputs())

    def get_outputs(self) -> list[Any]:
        """What the last call gave; of a tuple its fields."""
        return list(cast("tuple[Any, ...]", self._outputs)) if isinstance(self._outputs, tuple) else [self._outputs]
