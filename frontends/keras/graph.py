"""The format `keras` of the importer: calls of layers, and the types that the file states for their inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ...runtime.interpreting.flow import Step
from ...runtime.values.open_specs import Dimension, OpenSpec
from ..importing.converter import Converter
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.inputs import Inputs, no_element_type
from ..importing.model import Format, Model
from ..importing.python_calls import PythonCall
from ..importing.results import Stated
from ..importing.tensor import Tensor
from .context import Context, Node
from .convert import row_of
from .kept_states import InputInfo
from .layers import DTYPES
from .load import load
from .rows import Row

BATCH = "batch"
"""The symbol of the first dimension of every input, which all inputs share."""
OF_ANY_LAYER = ("name", "trainable", "dtype", "batch_input_shape", "quantization_config")
"""Entries that any layer's configuration may have, which do not change its results."""


def open_model(
    model: bytes | str | os.PathLike[str] | Any, keep: bool = False, custom_ops: CustomOps = NO_CUSTOM_OPS
) -> Model:
    """Read and check a model: a path, the bytes of a file, or a Keras model in memory.

    keep: whether states of layers are inputs and outputs (`Model.states`), to be kept for the next call.
    Raises FrontendError for a file that is no model, is damaged, holds code or uses unsupported layers.
    """
    source = load(model, keep, custom_ops)
    kept = {state.next: state.initial for state in source.states}
    outputs = [
        OpenSpec.of(name, kept[name].shape, kept[name].dtype)
        if name in kept
        else OpenSpec.of(name, None, DTYPES["float32"])
        for name in source.region.outputs
    ]
    return Model(
        format=FORMAT,
        source=source,
        file=source.file,
        name=source.name,
        region=source.region,
        inputs=Inputs(source.file, [_spec(info, source.file) for info in source.inputs.values()]),
        outputs=outputs,
        states=source.states,
        custom_ops=custom_ops,
    )


def _spec(info: InputInfo, file: str) -> OpenSpec:
    dims: list[Dimension] = [BATCH if n is None and not at else n for at, n in enumerate(info.shape)]
    if info.dtype not in DTYPES:
        raise no_element_type(f"{file}: input '{info.name}'", DTYPES, info.dtype)
    return OpenSpec.of(info.name, dims, DTYPES[info.dtype])


def channels_first(model: Model) -> bool:
    """Return whether some layer of a model has its channels first."""
    nodes = (step.source for step in model.region.steps)
    return any(isinstance(node, Node) and node.config.get("data_format") == "channels_first" for node in nodes)


def _converter(model: Model, node: Node) -> Converter[Context] | None:
    row = row_of(node.op_type, node.is_layer)
    return Row(row.masks.computed) if row is not None and node.is_mask and row.masks.computed else row


def _operator_names(node: Node) -> tuple[str, ...]:
    return () if node.is_mask else node.names


def _stated(model: Model, step: Step, context: Context, tensors: Mapping[str, Tensor]) -> Sequence[Stated]:
    return context.node.results or [Stated() for _ in step.outputs]


def _python_call(step: Step, context: Context, stated: Sequence[Stated]) -> PythonCall:
    """Return the call with its tensors, the layer's variables, and the entries of the layer's own configuration."""
    node = context.node
    variables = set(node.weights.values())
    inputs = [number for number in range(len(step.inputs)) if number not in variables]
    config = {name: value for name, value in node.config.items() if name not in OF_ANY_LAYER}
    return PythonCall([*inputs, *node.weights.values()], stated, config)


FORMAT = Format(
    name="keras",
    context=Context,
    converter=_converter,
    stated=_stated,
    operator_names=_operator_names,
    python_call=_python_call,
)
