# pyright: basic, reportMissingImports=false
"""The format of TorchScript in the importer: layers and tensors have TVM's names, and you may convert operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...runtime.interpreting.flow import Region, Step
from ..importing.converter import Converter
from ..importing.model import Format, Model
from ..importing.node import Node, node_of
from .context import Context
from .graph import FORMAT, converter_of, model_of
from .load import made
from .program import RENAMING
from .script import MEMORY, Options, Script, graph_of, read_script, traced_specs
from .script_custom import converted
from .script_inputs import Structure


@dataclass(frozen=True)
class ScriptModel:
    """A TorchScript program that was read, and its names of weights."""

    model: Model
    script: Script

    def parameters(self) -> dict[str, str]:
        """Return label of a weight for each node that reads it -> the weight."""
        return {
            _label(self.script, name, node_of(step)): name
            for step in _steps_in(self.model.region)
            for name in step.inputs
            if name in self.script.weights
        }


def _label(script: Script, name: str, node: Node) -> str:
    """Return `<layer>.<tensor>`, the label of an input or weight for a reader; with scopes, a weight keeps its name."""
    if not script.leaves and name in script.weights:
        return name
    return f"{node.layer}{script.separator}{script.leaves.get(name, name)}"


def _format(script: Script, options: Options) -> Format:
    """Return the format of exported programs with other names, and with the operators that the user converts."""

    def label(model: Model, name: str, node: Node) -> str:
        return _label(script, name, node)

    def converter(model: Model, node: Any) -> Converter[Context] | None:
        custom = None if node.op_type == RENAMING else options.function(node.op_type)
        return converter_of(model, node) if custom is None else Converter(partial(converted, function=custom))

    return replace(FORMAT, label=label, converter=converter)


def _steps_in(region: Region) -> Iterator[Step]:
    """Yield the steps of a region and of the bodies in it."""
    for step in region.steps:
        yield step
        for body in step.bodies.values():
            yield from _steps_in(body)


def script_model(
    module: Any,
    specs: Sequence[tuple[str, Structure]] | None = None,
    options: Options | None = None,
    keep: bool = False,
) -> ScriptModel:
    """Read a TorchScript module or function for inputs of given types, by default those at tracing."""
    options = options or Options()
    graph, inputs = graph_of(module)
    script = read_script(module, traced_specs(inputs) if specs is None else specs, graph, options)
    source = made(script.program, script.tensors, MEMORY, keep)
    return ScriptModel(model_of(source, _format(script, options)), script)


def open_model(model: Any, keep: bool = False) -> Model:
    """Read a TorchScript module or function for the inputs at tracing; raises FrontendError if it was not traced.

    keep: whether buffers that a call changes are inputs and outputs (`Model.states`), to be kept for the next call.
    """
    return script_model(model, keep=keep).model
