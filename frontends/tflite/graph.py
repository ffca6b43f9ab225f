"""The format `tflite` of the importer: operators, and the types that the file states for their tensors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from ...dialects.relay.interpret import evaluate_module
from ...dialects.relay.size_ranges import main_of
from ...runtime.interpreting.flow import Region, Step
from ...runtime.values.open_specs import OpenSpec
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.converter import Converter
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.fold import is_fixed
from ..importing.inputs import Inputs
from ..importing.model import Format, Model
from ..importing.names import strings
from ..importing.results import Results, Stated
from ..importing.tensor import Tensor, Undecided
from ..importing.whole_models import import_model
from .complex_numbers import COMPLEX
from .context import Context
from .convert import CONVERTERS, converter_of
from .load import Source, load
from .model import TensorInfo
from .program import RENAMING, Builder, Node, operator_name
from .python_calls import python_call_of
from .values import DTYPES, dtype_of


def open_model(
    model: bytes | str | os.PathLike[str] | Any,
    signature: str | None = None,
    keep: bool = False,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Model:
    """Read and check a model; raises FrontendError for damaged and other files, and for unsupported operators.

    keep: whether variables that a call changes are inputs and outputs (`Model.states`), to be kept for the next call.
    """
    source = load(model, _evaluated, signature, keep, custom_ops)
    builder, region = source.builder, source.region
    state_of = {state.next: state.name for state in builder.states}
    kept = {state.name for state in builder.states}
    return Model(
        format=FORMAT,
        source=source,
        file=source.model.file,
        region=region,
        inputs=Inputs(
            source.model.file,
            [_spec(name, builder.infos[name], name in kept) for name in region.inputs],
            usual={name: builder.infos[name].shape for name in region.inputs if name not in kept},
        ),
        outputs=[_spec(name, builder.infos[state_of.get(name, name)], name in state_of) for name in region.outputs],
        states=builder.states,
        homes={name: (layer, 0) for name, layer in builder.layers.items()},
        custom_ops=custom_ops,
    )


def _evaluated(builder: Builder, region: Region) -> list[Array]:
    """Return the results of a region that runs once, before all calls."""
    source, file = Source(builder.model, region, builder), builder.file
    try:
        module = import_model(Model(format=FORMAT, source=source, file=file, region=region, inputs=Inputs(file)), {})
    except Undecided as error:
        raise FrontendError(str(error)) from error
    if not all(map(is_fixed, main_of(module).block.ops)):
        raise FrontendError(f"{builder.file}: expected initial values that are functions of constants, got others")
    return evaluate_module(module, [])


def _spec(name: str, info: TensorInfo, kept: bool) -> OpenSpec:
    """Return an input or output; a value that is kept from call to call has the size in the file."""
    dims = [None if open_ and not kept else extent for extent, open_ in zip(info.shape, info.open, strict=True)]
    return OpenSpec.of(name, dims, dtype_of(info))


def _converter(model: Model, node: Node) -> Converter[Context] | None:
    return converter_of(node)


def _operator_names(node: Node) -> tuple[str, ...]:
    return (operator_name(node.operator),)


def _stated(model: Model, step: Step, context: Context, tensors: Mapping[str, Tensor]) -> list[Stated]:
    """Return the results of an operator; complex numbers are two tensors of floats."""
    if context.op_type == RENAMING:
        return []
    return [Stated(None, _PARTS) if info.type == COMPLEX else _of_info(info) for info in context.node.outputs]


def _of_info(info: TensorInfo) -> Stated:
    shape = [None if open_ else extent for extent, open_ in zip(info.shape, info.open, strict=True)]
    return Stated(shape, DTYPES.get(info.type))


def _check_count(context: Context) -> Callable[[Results], None]:
    """Return a check for fewer results than in the file; results may have states behind them."""

    def check(results: Results) -> None:
        count, expected = len(results) if isinstance(results, tuple) else 1, len(context.node.outputs)
        if context.op_type != RENAMING and count < expected:
            context.fail(f"{count} outputs", str(expected))

    return check


_PARTS = np.dtype(np.float32)


def _finish(module: ModuleOp) -> None:
    """Store TVM's names of outputs in `@main`."""
    attributes = main_of(module).attributes
    if (names := attributes.get("output_names")) is not None:
        tensor_names = [name.data for name in cast("ArrayAttr[StringAttr]", names)]
        attributes["output_tensor_names"] = strings(re.sub(r"\W", "_", name) for name in tensor_names)


FORMAT = Format(
    name="tflite",
    context=Context,
    converter=_converter,
    named=lambda node: CONVERTERS.get(node.op_type),
    stated=_stated,
    states_shapes=False,
    check_types=_check_count,
    operator_names=_operator_names,
    python_call=python_call_of,
    finish=_finish,
)
