"""A checked model as the importer takes it: inputs and outputs by name, layers, and the converters of operators."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import NameLoc, TensorType
from xdsl.ir import Attribute

from ...dialects.sizes import Size
from ...runtime.flow import Region, Step
from ...runtime.open_specs import OpenSpec
from ...support.errors import FrontendError
from ..importing import importer
from ..importing.converter import Converter, Result
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.node import node_of
from ..importing.python_calls import PythonCall
from ..importing.state import State
from ..importing.tensor import Tensor
from .context import DEFAULT, Context, Conversion
from .convert import CONVERTERS
from .graphs import Graph, Ref, tensor_ref
from .inputs import Input, input_of, input_types, stated, symbolic_types
from .model_file import ModelFile
from .program import Builder
from .python_calls import python_call_of
from .scopes import Node
from .source import read
from .symbolic import folded_sizes

_NO_RESULT = ("Assert", "Const", "NoOp", "Placeholder", "Print", "PrintV2", "Switch", "VarHandleOp")
"""Operators whose nodes are no outputs of a graph that names none."""


class Model(importer.Model):
    """A loaded TensorFlow model.

    outputs: those of a graph without signature, as `node` or `node:slot`; without, all that no node reads.
    keep: whether what a call changes is an input and an output (`states`), to be kept for the next one.
    """

    prefix = "tensorflow"

    def __init__(
        self,
        source: ModelFile,
        outputs: Sequence[str] | None = None,
        keep: bool = False,
        conversion: Conversion = DEFAULT,
        custom_ops: CustomOps = NO_CUSTOM_OPS,
    ):
        self.custom_ops = custom_ops
        self.file, self.name, self.conversion = source.file, "main", conversion
        signature, main = source.signature, source.main
        signed = signature.inputs if signature is not None else dict[str, Ref]()
        if signature is not None and outputs is None:
            results = signature.outputs
        else:
            results = {text: tensor_ref(text, source.file) for text in outputs or _unread(main)}
        if not results:
            raise FrontendError(f"{source.file}: expected a graph with at least one output, got none")
        self.builder = Builder(source, CONVERTERS, keep, custom_ops)
        # Values have one name each: an input that is called as another output is, has that of its placeholder.
        inputs = {ref.name if results.get(name, ref) != ref else name: ref for name, ref in signed.items()}
        self.region = self.builder.main(inputs, results)
        self.states = self.builder.states
        """The state that a call changes for the next one."""
        self.infos: Mapping[str, Any] = signature.output_infos if signature is not None and outputs is None else {}
        infos: Mapping[Ref, Any] = {}
        if signature is not None:
            infos = {ref: signature.input_infos[name] for name, ref in signed.items()}
        self.inputs = [
            stated(name, node.name, infos[Ref(node.name)], source.file)
            if Ref(node.name) in infos
            else input_of(name, node, source.file)
            for name, node in self.builder.inputs.items()
        ]
        called = {ref.name: name for name, ref in signed.items()}
        names = {entry.name for entry in self.inputs}
        self.aliases = {
            alias: entry.name
            for entry in self.inputs
            for alias in (f"{entry.node}:0", entry.node, called.get(entry.node, entry.node))
            if alias not in names
        }
        self.inputs += [_kept(state.name, state) for state in self.states]

    def importer(self, region: Region) -> Importer:
        return Importer(self, region)

    def input_types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        return input_types(self.inputs, self._named(shapes), self.file)

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        return symbolic_types(self.inputs, self._named(shapes))

    def open_inputs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        by_name = self._named(shapes)
        return tuple(entry.spec(by_name.get(entry.name)) for entry in self.inputs)

    def open_outputs(self) -> tuple[OpenSpec, ...]:
        """The outputs, as the signature says; of a graph files say nothing."""
        return tuple(self._output(name).spec(None) for name in self.region.outputs)

    def _output(self, name: str) -> Input:
        for state in self.states:
            if state.next == name:
                return _kept(name, state)
        if name in self.infos:
            return stated(name, "", self.infos[name], self.file)
        return Input(name, "", np.dtype(np.float32), None)

    def _named(self, shapes: Mapping[str, Any]) -> dict[str, Any]:
        """Return shapes by the names of inputs; those of their placeholders will do, too."""
        names = {**self.aliases, **{entry.name: entry.name for entry in self.inputs}}
        if unknown := [name for name in shapes if name not in names]:
            listed = ", ".join(unknown)
            raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {listed}")
        return {names[name]: shape for name, shape in shapes.items()}


def open_model(
    model: bytes | str | os.PathLike[str] | Any,
    signature: str | None = None,
    keep: bool = False,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Model:
    """Read and check a model; raises FrontendError when it is none, damaged or uses unsupported operators.

    keep: whether what a call changes is an input and an output (`Model.states`), to be kept for the next one.
    """
    return Model(read(model, signature), keep=keep, custom_ops=custom_ops)


def _kept(name: str, state: State) -> Input:
    """Return what a state is as an input or output."""
    return Input(name, name, cast("np.dtype[Any]", state.initial.dtype), state.initial.shape)


def _unread(graph: Graph) -> list[str]:
    """Return the nodes whose outputs no node reads."""
    read = {name for node in graph.nodes.values() for name in (*(ref.name for ref in node.inputs), *node.controls)}
    unread = [node for node in graph.nodes.values() if node.name not in read and node.op not in _NO_RESULT]
    return [node.name for node in unread]


class Importer(importer.Importer):
    """The state of one import."""

    def place(self, name: str, region: Region, reader: Step | None = None) -> tuple[str, int]:
        """An input, constant or variable has the name of its node, at its first reader."""
        layer, index = cast(Model, self.source).builder.places.get(name, (name, 0))
        if (user := self.users(region).get(name)) is not None:
            node = node_of(user)
            index = node.index
            if isinstance(node.leaf, NameLoc):
                self.positions[layer, index] = node.leaf.location
        return layer, index

    def context(self, step: Step, inputs: Sequence[Tensor | None]) -> Context:
        node = cast(Node, step.source)
        return Context(
            op_type=node.op_type,
            leaf=node.leaf,
            inputs=inputs,
            builder=self.builder,
            module=self.module,
            node=node,
            conversion=cast(Model, self.source).conversion,
        )

    def operator_names(self, step: Step) -> tuple[str, ...]:
        return (node_of(step).op_type,)

    def python_call(self, step: Step, context: Context) -> PythonCall:
        return python_call_of(step, context)

    def folded(self, context: Any, convert: Callable[[Any], Result | tuple[Result, ...]]) -> tuple[Result, ...] | None:
        sizes = folded_sizes(context)
        return super().folded(context, convert) if sizes is None else (sizes,)

    def converter(self, step: Step) -> Converter[Context] | None:
        return CONVERTERS.get(node_of(step).op_type)
