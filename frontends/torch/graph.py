"""The format `torch` of the importer: calls of operators, and the exporter's metadata of their results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.sizes import Size
from ...runtime.interpreting.flow import Step
from ...runtime.values.open_specs import Dimension, OpenSpec
from ...support.errors import FrontendError
from ..importing.converter import Converter, Result
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.model import Format, Model
from ..importing.python_calls import LibraryCall, PythonCall
from ..importing.results import Results, Stated
from ..importing.tensor import Tensor, shape_of
from .calls import Call
from .context import Context
from .convert import CONVERTERS
from .expressions import lone_symbol, parse_expression
from .inputs import inputs_of
from .load import Source, load, operator_names
from .numbers import ARITHMETIC, arithmetic
from .program import Builder
from .promotion import cast_to
from .python_calls import python_call_of
from .schema import TensorMeta
from .shaping import broadcast
from .tensors import DTYPES, dtype_of


def open_model(
    model: bytes | str | os.PathLike[str] | Any, keep: bool = False, custom_ops: CustomOps = NO_CUSTOM_OPS
) -> Model:
    """Read and check a program; raises FrontendError for damaged and other files, and for unsupported operators.

    keep: whether buffers that a call changes are inputs and outputs (`Model.states`), to be kept for the next call.
    """
    return model_of(load(model, keep, custom_ops))


def model_of(source: Source, form: Format | None = None) -> Model:
    """Return the model of a program that was read."""
    builder, file = source.builder, source.file
    return Model(
        format=form or FORMAT,
        source=source,
        file=file,
        region=source.region,
        inputs=inputs_of(file, builder.inputs, source.program.ranges, builder.dims, builder.states),
        outputs=_outputs(source),
        states=builder.states,
        custom_ops=source.custom_ops,
    )


def _outputs(source: Source) -> list[OpenSpec]:
    specs: list[OpenSpec] = []
    for name, meta in source.builder.outputs.items():
        dims: list[Dimension] = [size if isinstance(size, int) else None for size in (meta.sizes if meta else ())]
        dtype = dtype_of(meta.dtype, f"output '{name}'") if meta is not None else np.dtype(np.int64)
        specs.append(OpenSpec.of(name, dims, dtype))
    kept = (OpenSpec.of(state.next, state.initial.shape, state.initial.dtype) for state in source.builder.states)
    return [*specs, *kept]


def _fields(model: Model, node: Call) -> dict[str, Any]:
    return {"call": node}


def _label(model: Model, name: str, node: Call) -> str:
    """Return `<layer>.<tensor>`, the label of an input or weight for a layer that reads it."""
    return f"{node.layer}.{name.rpartition('.')[2]}"


def _operator_names(node: Call) -> tuple[str, ...]:
    return operator_names(node.op_type)


def converter_of(model: Model, node: Call) -> Converter[Context] | None:
    """Return the converter of a call: its row, and for arithmetic and writes the code around it."""
    if (row := CONVERTERS.get(node.op_type)) is None:
        return None
    if node.op_type in ARITHMETIC:
        return Converter(lambda ctx: arithmetic(ctx, late=model.control is not None))
    return Converter(lambda ctx: _in_place(ctx, row.convert(ctx)), unread=row.unread) if node.in_place else row


def _in_place(ctx: Context, results: Results) -> Results:
    """Return results with the first in the shape and element type of the target, whose new contents it is."""
    first, *others = results if isinstance(results, tuple) else (results,)
    dtype, shape = ctx.dtype(0), ctx.shape(0)
    if isinstance(first, np.ndarray):
        contents: Result = first if first.dtype == np.object_ else np.broadcast_to(first.astype(dtype), shape)
    elif isinstance(first, SSAValue):
        contents = broadcast(ctx, cast_to(ctx, first, dtype), shape)
    else:
        ctx.fail("a tensor of the shape of its target", "one of another kind")
    return (contents, *others)


def _stated(model: Model, step: Step, context: Context, tensors: Mapping[str, Tensor]) -> list[Stated]:
    symbols: dict[str, Size] = {}
    if any(isinstance(size, str) for meta in context.call.metas if meta is not None for size in meta.sizes):
        symbols = _symbols(model.source.builder, tensors)
    return [Stated() if meta is None else _of_meta(meta, symbols) for meta in context.call.metas]


def _of_meta(meta: TensorMeta, symbols: Mapping[str, Size]) -> Stated:
    return Stated([_extent(size, symbols) for size in meta.sizes], DTYPES.get(meta.dtype))


def _extent(size: int | str, symbols: Mapping[str, Size]) -> int | None:
    if isinstance(size, int):
        return size
    try:
        extent = parse_expression(size, symbols, "a result")
    except FrontendError:  # A symbol that is in no input of this call.
        return None
    return extent if isinstance(extent, int) else None


def _symbols(builder: Builder, tensors: Mapping[str, Tensor]) -> dict[str, Size]:
    """Return the sizes of the exporter's symbols, from the present inputs."""
    symbols: dict[str, Size] = {}
    for name, meta in builder.inputs.items():
        tensor = tensors.get(name)
        if tensor is None or tensor.value is None:
            continue
        for size, extent in zip(meta.sizes, shape_of(tensor.value), strict=False):
            if isinstance(size, str) and (lone := lone_symbol(size)) is not None:
                symbols.setdefault(lone, extent)
    return symbols


def _library_call(step: Step, context: Context, library: str, call: PythonCall) -> LibraryCall:
    from .fallback import library_call

    return library_call(context, call)


FORMAT = Format(
    name="torch",
    context=Context,
    fields=_fields,
    converter=converter_of,
    label=_label,
    stated=_stated,
    operator_names=_operator_names,
    python_call=python_call_of,
    library_call=_library_call,
)
