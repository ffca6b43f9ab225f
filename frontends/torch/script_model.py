# pyright: basic, reportMissingImports=false
"""TorchScript as the importer takes it: layers and tensors have TVM's names, and users may convert operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import NameLoc

from ...runtime.flow import Region, Step
from ..importing.converter import Converter
from ..importing.node import Node, node_of
from .context import Context
from .graph import Importer, Model
from .load import Source, made
from .program import RENAMING
from .script import MEMORY, Options, Script, graph_of, read_script, traced_specs
from .script_custom import converted
from .script_inputs import Structure


class ScriptModel(Model):
    """A TorchScript program that was read."""

    def __init__(self, source: Source, script: Script, options: Options):
        super().__init__(source)
        self.script, self.options = script, options

        self.weights = script.weights
        """The names of the module's tensors."""

    def place_of(self, name: str, node: Node) -> str:
        """The name of an input or weight for a node that reads it."""
        script = self.script
        if not script.leaves and name in self.weights:
            return name
        return f"{node.layer}{script.separator}{script.leaves.get(name, name)}"

    def importer(self, region: Region) -> Importer:
        return ScriptImporter(self, region)


class ScriptImporter(Importer):
    """The state of one import."""

    source: ScriptModel  # pyright: ignore[reportIncompatibleVariableOverride]

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """An input or weight is `<layer>.<tensor>` for a layer that reads it; with scopes kept, a weight is its own."""
        if (step := reader or self.users(region).get(name)) is None:
            return name, 0
        node = node_of(step)
        label = self.source.place_of(name, node)
        if isinstance(node.leaf, NameLoc):
            self.positions[label, node.index] = node.leaf.location
        return label, node.index

    def converter(self, step: Step) -> Converter[Context] | None:
        op_type = node_of(step).op_type
        custom = None if op_type == RENAMING else self.source.options.function(op_type)
        if custom is None:
            return super().converter(step)
        return Converter(lambda ctx: converted(ctx, custom))


def steps_in(region: Region) -> Iterator[Step]:
    """The steps of a region and of the bodies in it."""
    for step in region.steps:
        yield step
        for body in step.bodies.values():
            yield from steps_in(body)


def script_model(
    module: Any,
    specs: Sequence[tuple[str, Structure]] | None = None,
    options: Options | None = None,
    keep: bool = False,
) -> ScriptModel:
    """Read a TorchScript module or function for inputs of known types; without, for those that tracing saw."""
    options = options or Options()
    graph, inputs = graph_of(module)
    script = read_script(module, traced_specs(inputs) if specs is None else specs, graph, options)
    return ScriptModel(made(script.program, script.tensors, MEMORY, keep), script, options)


def open_model(model: Any, keep: bool = False) -> ScriptModel:
    """Read a TorchScript module or function for the inputs that tracing saw; raises FrontendError where it saw none.

    keep: whether what a call changes is an input and an output (`Model.states`), to be kept for the next one.
    """
    return script_model(model, keep=keep)
