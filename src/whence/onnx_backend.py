"""The backend interface of the onnx package, so that the standard's own runner drives the compiler.

>>> from whence import onnx_backend
>>> onnx_backend.prepare(model).run(inputs)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

import onnx
from onnx import ModelProto, NodeProto
from onnx.backend.base import Backend, BackendRep, namedtupledict

from whence.compiler.compile import compile as compile_model
from whence.executables.executable import Executable
from whence.frontends.onnx.opsets import KNOWN


class WhenceRep(BackendRep):
    """A compiled model."""

    def __init__(self, executable: Executable):
        self.executable = executable

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, for inputs in order, by name, or for the one input there is.

        Returns a named tuple where the names of the outputs allow it. Raises FrontendError when inputs do not fit.
        """
        if isinstance(inputs, Mapping):
            named = cast("Mapping[str, Any]", inputs)
            arrays: Sequence[Any] = [named[spec.name] for spec in self.executable.inputs]
        else:
            arrays = cast("Sequence[Any]", inputs) if isinstance(inputs, list | tuple) else [inputs]
        outputs = self.executable(*arrays)
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        return namedtupledict("Outputs", [spec.name for spec in self.executable.outputs])(*results)


class WhenceBackend(Backend):
    """Compiles ONNX models for the CPU."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.partition(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: ModelProto | str | PathLike[str], device: str = "CPU", **kwargs: Any) -> WhenceRep:
        """Return the compiled model; `kwargs` and errors are those of `whence.compile`."""
        return WhenceRep(compile_model(model, **kwargs))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Run one node, whose inputs have the types of the arrays."""
        declared = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip((name for name in node.input if name), inputs, strict=True)
        ]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", declared, outputs)
        opsets = [onnx.helper.make_opsetid(node.domain, kwargs.pop("opset_version", KNOWN[-1]))]
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), list(inputs), device, **kwargs)


is_compatible = WhenceBackend.is_compatible
prepare = WhenceBackend.prepare
run = WhenceBackend.run_model
run_model = WhenceBackend.run_model
run_node = WhenceBackend.run_node
supports_device = WhenceBackend.supports_device
