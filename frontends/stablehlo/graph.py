"""The format `stablehlo` of the importer: ops, and the types of their results."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ...dialects.sizes.text import identifier
from ...runtime.interpreting.flow import Step
from ...runtime.values.open_specs import OpenSpec
from ..importing.converter import Converter, Result
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.fold import folded
from ..importing.inputs import Inputs
from ..importing.model import Format, Model
from ..importing.python_calls import PythonCall
from ..importing.results import Results, Stated
from ..importing.tensor import Tensor
from .context import Context
from .convert import CONVERTERS
from .inputs import spec_of
from .load import load, operator_names
from .nodes import CUSTOM_CALL, Node
from .program import Builder
from .raising import raise_operators


def open_model(
    model: bytes | str | os.PathLike[str] | Any,
    params: Mapping[str, Any] | None = None,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Model:
    """Read and check a program; raises FrontendError for damaged and other files, and for unsupported operators."""
    source = load(model, params, custom_ops)
    builder, file = source.builder, source.file
    outputs = [
        spec_of(name, type_, f"{file}: output '{name}'", lambda axis: None) for name, type_ in builder.outputs.items()
    ]
    return Model(
        format=FORMAT,
        source=source,
        file=file,
        name=source.name,
        region=source.region,
        inputs=Inputs(file, _inputs(builder, file)),
        outputs=outputs,
        custom_ops=custom_ops,
    )


def _inputs(builder: Builder, file: str) -> list[OpenSpec]:
    """Return the inputs. An open extent keeps its name in JAX, or is named after the input and axis."""
    specs: list[OpenSpec] = []
    for name, type_ in builder.inputs.items():

        def name_of(axis: int, name: str = name) -> str:
            return identifier(builder.symbols.get((name, axis), f"{name}_{axis}"))

        specs.append(spec_of(name, type_, f"{file}: input '{name}'", name_of))
    return specs


def _label(model: Model, name: str, node: Node) -> str:
    """Return `<layer>.<tensor>`, the label of an input or weight for a layer that reads it."""
    return f"{node.layer}.{'constant' if name.startswith('constant') else name.rpartition('.')[2]}"


def _converter(model: Model, node: Node) -> Converter[Context] | None:
    return CONVERTERS.get(node.op_type)


def _operator_names(node: Node) -> tuple[str, str]:
    return operator_names(node.op_type)


def _stated(model: Model, step: Step, context: Context, tensors: Mapping[str, Tensor]) -> list[Stated]:
    indices = range(len(context.node.results))
    return [Stated(context.result_shape(at), context.result_dtype(at)) for at in indices]


def _folded(context: Context, convert: Callable[[Any], Results]) -> tuple[Result, ...] | None:
    arrays = [tensor.array for tensor in context.inputs if tensor is not None and tensor.array is not None]
    if any(array.dtype.kind not in "iubO" and array.size > 1 for array in arrays):
        # Weights are not shapes: FoldConstant computes with them, after the patterns that match this arithmetic.
        return None
    if context.op_type == "broadcast_in_dim" and arrays and arrays[0].dtype.kind not in "iubO":
        # Keep one number rather than many copies of it.
        return None
    return folded(context, convert)


def _python_call(step: Step, context: Context, stated: Sequence[Stated]) -> PythonCall:
    """Return the call of an op with its properties by name, or those of a custom call's backend, if they have names."""
    node = context.node
    attributes = node.attributes
    if node.op_type.startswith(CUSTOM_CALL):
        config = attributes.get("mhlo.backend_config") or attributes.get("backend_config")
        attributes = cast("dict[str, Any]", config) if isinstance(config, dict) else {}
    return PythonCall(list(range(len(step.inputs))), stated, attributes)


FORMAT = Format(
    name="stablehlo",
    context=Context,
    converter=_converter,
    label=_label,
    stated=_stated,
    folded=_folded,
    operator_names=_operator_names,
    python_call=_python_call,
    finish=raise_operators,
)
