"""Inputs and outputs bound to memory before a run, by onnxruntime's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from whence.executables.executable import Executable
from whence.onnxruntime.ortvalue import OrtValue, array_at, check_device
from whence.runtime.values.tensors import Tensor
from whence.support.doors import doors


class HasExecutable(Protocol):
    """A session."""

    @property
    def executable(self) -> Executable:
        """Return the compiled model."""
        ...


@doors()
class IOBinding:
    """The values of a session's inputs, and the arrays that its outputs go to."""

    def __init__(self, session: HasExecutable):
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Tensor | None] = {}
        self._results: dict[str, Any] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Have an input be an array."""
        self._inputs[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Have an input be a value."""
        self._inputs[name] = ortvalue.numpy()

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Bind an input to the memory at an address."""
        check_device(device_type)
        self._inputs[name] = array_at(buffer_ptr, shape, element_type)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Want an output, in a new array or at an address."""
        check_device(device_type)
        self._outputs[name] = None
        if buffer_ptr is not None and shape is not None:
            self._outputs[name] = array_at(buffer_ptr, shape, element_type)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Want an output in a value."""
        self._outputs[name] = ortvalue.numpy()

    def run(self) -> None:
        """Run the session."""
        out = {name: array for name, array in self._outputs.items() if array is not None}
        results = self._session.executable.run(self._inputs, out=out)
        self._results = {name: results[name] for name in self._outputs or results}

    def get_outputs(self) -> list[OrtValue]:
        """Return the values of the wanted outputs."""
        return [OrtValue(np.asarray(value)) for value in self._results.values()]

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Return the arrays of the wanted outputs."""
        return list(self._results.values())

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs.clear()
        self._results = {}

    def synchronize_inputs(self) -> None:
        """Do nothing: a run waits for its inputs."""

    def synchronize_outputs(self) -> None:
        """Do nothing: a run ends with its outputs."""
