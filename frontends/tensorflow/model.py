"""The format `tensorflow` of the importer: inputs and outputs by name, layers, and nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.values.open_specs import OpenSpec
from ...support.errors import FrontendError
from ..importing.converter import Converter
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.inputs import Inputs
from ..importing.model import Format, Model
from ..importing.results import Stated
from ..importing.state import State
from .context import DEFAULT, Context, Conversion
from .convert import CONVERTERS
from .graphs import Graph, Ref, tensor_ref
from .inputs import input_of, stated
from .model_file import ModelFile
from .program import Builder
from .python_calls import open_extents, python_call_of, stated_results
from .scopes import Node
from .source import read
from .values import DTYPES, value_type

_NO_RESULT = ("Assert", "Const", "NoOp", "Placeholder", "Print", "PrintV2", "Switch", "VarHandleOp")
"""Operators whose nodes are not outputs of a graph without named outputs."""


def model_of(
    source: ModelFile,
    outputs: Sequence[str] | None = None,
    keep: bool = False,
    conversion: Conversion = DEFAULT,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Model:
    """Return the model of a file that was read; raises FrontendError for a graph without outputs.

    outputs: the outputs of a graph without signature, as `node` or `node:slot`; by default all that no node reads.
    keep: whether variables that a call changes are inputs and outputs (`Model.states`), to be kept for the next call.
    """
    signature, main, file = source.signature, source.main, source.file
    signed = signature.inputs if signature is not None else dict[str, Ref]()
    infos: Mapping[str, Any] = {}
    if signature is not None and outputs is None:
        results, infos = signature.outputs, signature.output_infos
    else:
        results = {text: tensor_ref(text, file) for text in outputs or _unread(main)}
    if not results:
        raise FrontendError(f"{file}: expected a graph with at least one output, got none")
    builder = Builder(source, CONVERTERS, keep, custom_ops)
    # Each value has one name: an input with the name of another output takes the name of its placeholder.
    inputs = {ref.name if results.get(name, ref) != ref else name: ref for name, ref in signed.items()}
    region = builder.main(inputs, results)
    kept = {state.next: state for state in builder.states}
    return Model(
        format=FORMAT,
        source=Source(builder, conversion, {name: _stated(info) for name, info in infos.items()}),
        file=file,
        region=region,
        inputs=_inputs(source, builder),
        outputs=[
            _kept(name, kept[name])
            if name in kept
            else stated(name, infos[name], f"{file}: output '{name}'")
            if name in infos
            else OpenSpec.of(name, None, np.dtype(np.float32))
            for name in region.outputs
        ],
        states=builder.states,
        homes=builder.places,
        custom_ops=custom_ops,
    )


def _inputs(source: ModelFile, builder: Builder) -> Inputs:
    signature, specs = source.signature, list[OpenSpec]()
    signature_names: dict[str, str] = {}
    """Placeholder -> its name in the signature."""
    if signature is not None:
        signature_names = {ref.name: name for name, ref in signature.inputs.items()}
    for name, node in builder.inputs.items():
        subject = f"{source.file}: input '{name}'"
        if signature is not None and node.name in signature_names:
            specs.append(stated(name, signature.input_infos[signature_names[node.name]], subject))
        else:
            specs.append(input_of(name, node, subject))
    aliases = {
        alias: name
        for name, node in builder.inputs.items()
        for alias in (f"{node.name}:0", node.name, signature_names.get(node.name, node.name))
        if alias not in builder.inputs
    }
    return Inputs(source.file, [*specs, *(_kept(state.name, state) for state in builder.states)], aliases)


def open_model(
    model: bytes | str | os.PathLike[str] | Any,
    signature: str | None = None,
    keep: bool = False,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Model:
    """Read and check a model; raises FrontendError for damaged and other files, and for unsupported operators.

    keep: whether variables that a call changes are inputs and outputs (`Model.states`), to be kept for the next call.
    """
    return model_of(read(model, signature), keep=keep, custom_ops=custom_ops)


def _kept(name: str, state: State) -> OpenSpec:
    """Return the spec of a state as an input or output."""
    return OpenSpec.of(name, state.initial.shape, state.initial.dtype)


def _unread(graph: Graph) -> list[str]:
    """Return the nodes whose outputs no node reads."""
    read = {name for node in graph.nodes.values() for name in (*(ref.name for ref in node.inputs), *node.controls)}
    unread = [node for node in graph.nodes.values() if node.name not in read and node.op not in _NO_RESULT]
    return [node.name for node in unread]


@dataclass(frozen=True, eq=False)
class Source:
    """A graph as steps, and the user's choices among equivalent forms."""

    builder: Builder
    conversion: Conversion
    signed: Mapping[str, Stated]
    """The types that the signature states for outputs."""


def _stated(info: Any) -> Stated:
    return Stated(open_extents(info.tensor_shape), DTYPES.get(value_type(info.dtype)))


def _fields(model: Model, node: Node) -> dict[str, Any]:
    return {"node": node, "conversion": model.source.conversion}


def _converter(model: Model, node: Node) -> Converter[Context] | None:
    return CONVERTERS.get(node.op_type)


def _operator_names(node: Node) -> tuple[str, ...]:
    return (node.op_type,)


FORMAT = Format(
    name="tensorflow",
    context=Context,
    fields=_fields,
    converter=_converter,
    stated=stated_results,
    operator_names=_operator_names,
    python_call=python_call_of,
)
