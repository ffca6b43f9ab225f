"""The types of the graph inputs: what the model says, completed by the shapes that the user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from onnx import TensorProto, TensorShapeProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import element_type
from ...dialects.sizes import RESERVED, Size, same, symbol
from ...dialects.sizes.text import parse_size
from ...dialects.sizes.types import tensor_of
from ...runtime.open_specs import OPEN, Dimension, OpenSpec, spelled
from ...support.errors import FrontendError
from ..importing.limits import excess, expectation
from ..importing.tensor import Undecided
from .host import is_hosted_type
from .load import Source
from .tensors import dtype_of


def open_inputs(source: Source, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
    """The inputs of a model after `shapes`, which `input_types` has checked."""
    symbols: dict[str, int] = {}
    names = set(source.region.inputs)
    inputs = [value for value in source.model.graph.input if value.name in names]
    found = [
        (value, _merged(value, shapes.get(value.name), symbols) if value.type.HasField("tensor_type") else None)
        for value in inputs
    ]
    return tuple(
        _open(value, None if dims is None else [symbols.get(d, d) if isinstance(d, str) else d for d in dims])
        for value, dims in found
    )


def open_outputs(source: Source) -> tuple[OpenSpec, ...]:
    """The outputs of a model, as far as it says."""
    return tuple(
        _open(value, [_dimension(dim) for dim in tensor.shape.dim] if tensor.HasField("shape") else None)
        for value in source.model.graph.output
        for tensor in [value.type.tensor_type]
    )


def _open(value: ValueInfoProto, dims: Sequence[Dimension] | None) -> OpenSpec:
    kind = (value.type.WhichOneof("value") or "tensor_type").removesuffix("_type")
    code = value.type.tensor_type.elem_type
    if code == TensorProto.STRING:
        dtype: np.dtype[Any] = np.dtype(np.object_)
    else:
        dtype = dtype_of(code, f"'{value.name}'") if code else np.dtype(np.float32)
    extents = tuple(d if isinstance(d, int) else OPEN for d in dims or ())
    names = tuple(d if isinstance(d, str) else None for d in dims or ())
    return OpenSpec(value.name, extents, dtype, names, kind, dims is not None)


def input_types(source: Source, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
    """Input name -> type, in order. Inputs with an initializer are constants and are left out.

    A named dimension that `shapes` fixes for one input holds for all.

    Raises FrontendError for shapes that contradict the model, and Undecided for inputs that are no tensors, and dynamic
    dimensions that `shapes` does not fix.
    """
    constants = {tensor.name for tensor in source.model.graph.initializer}
    inputs = [value for value in source.model.graph.input if value.name not in constants]
    _check_names(shapes, inputs)
    _check_compiled(inputs)
    symbols: dict[str, int] = {}
    found = {value.name: _merged(value, shapes.get(value.name), symbols) for value in inputs}
    fixed = {
        name: [symbols.get(d, d) if isinstance(d, str) else d for d in dims] if dims is not None else None
        for name, dims in found.items()
    }
    if dynamic := [name for name, dims in fixed.items() if dims is None or not all(isinstance(d, int) for d in dims)]:
        listed = ", ".join(f"{name} {spelled(fixed[name])}" for name in dynamic)
        example = ",".join(str(d if isinstance(d, int) else 1) for d in fixed[dynamic[0]] or [1])
        raise Undecided(
            f"{source.file}: expected static shapes, got dynamic dimensions in inputs {listed}; "
            f'give their shapes, such as "{dynamic[0]}:[{example}]" (input_shapes, --input-shapes)',
            None,
        )
    return {value.name: _type(value, [d for d in fixed[value.name] or () if isinstance(d, int)]) for value in inputs}


def symbolic_types(source: Source, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
    """As `input_types`, with a symbol for each open dimension: that of its name, of its place where it has none.

    What `shapes` says of one input's named dimension, a number or a size, holds for all. Raises Undecided for inputs
    that are no tensors, or of unknown rank.
    """
    constants = {tensor.name for tensor in source.model.graph.initializer}
    inputs = [value for value in source.model.graph.input if value.name not in constants]
    _check_names(shapes, inputs)
    _check_compiled(inputs)
    symbols: dict[str, Size] = {}
    found = {value.name: _merged_sizes(value, shapes.get(value.name), symbols) for value in inputs}
    types: dict[str, TensorType[Attribute]] = {}
    for value in inputs:
        sizes: list[Size] = []
        for axis, dim in enumerate(found[value.name]):
            if isinstance(dim, str):
                sizes.append(symbols[dim] if dim in symbols else size_named(dim))
            else:
                sizes.append(symbol(_identifier(f"{value.name}_{axis}")) if dim is None else dim)
        if all(isinstance(size, int) for size in sizes):
            types[value.name] = _type(value, cast("list[int]", sizes))
        else:
            dtype = dtype_of(value.type.tensor_type.elem_type, f"input '{value.name}'")
            types[value.name] = tensor_of(element_type(dtype), sizes)
    return types


def size_named(text: str) -> Size:
    """The size that the name of a dimension says: an expression such as `past + 1`, else the symbol called like it."""
    try:
        return parse_size(text)
    except ValueError:
        return symbol(_identifier(text))


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() and name not in RESERVED else f"_{name}"


def _merged_sizes(
    value: ValueInfoProto, given: Sequence[Size] | None, symbols: dict[str, Size]
) -> Sequence[Size | str | None]:
    """The dimensions of an input after `given`; fills in what that says of names."""
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        raise Undecided(f"input '{value.name}': expected a tensor, got {value.type.WhichOneof('value')}", None)
    declared = [_dimension(dim) for dim in tensor.shape.dim] if tensor.HasField("shape") else None
    if given is None:
        if declared is None:
            raise Undecided(f"input '{value.name}': expected a tensor of known rank, got any", None)
        return declared
    known: list[Dimension] = [None] * len(given) if declared is None else declared
    agree = len(known) == len(given) and not any(isinstance(size, int) and size < 0 for size in given)
    for dim, size in zip(known, given, strict=False):
        wanted = symbols.setdefault(dim, size) if isinstance(dim, str) else dim
        agree = agree and (wanted is None or same(wanted, size))
    if not agree:
        raise FrontendError(
            f"input '{value.name}': expected a shape that agrees with the model's {spelled(declared)}, "
            f"got [{', '.join(map(str, given))}]"
        )
    return list(given)


def _check_compiled(inputs: Sequence[ValueInfoProto]) -> None:
    """Raise Undecided for inputs that native code does not take."""
    for value in inputs:
        if is_hosted_type(value.type):
            raise Undecided(f"input '{value.name}': expected numbers, got texts or maps", None)


def _check_names(shapes: Mapping[str, object], inputs: Sequence[ValueInfoProto]) -> None:
    if unknown := [name for name in shapes if name not in {value.name for value in inputs}]:
        names = ", ".join(map(str, unknown))
        raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {names}")


def _dimension(dim: TensorShapeProto.Dimension) -> Dimension:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    # Exporters write these for extents that have nothing in common.
    return None if dim.dim_param in ("", "?", "-1", "None") else dim.dim_param


def _merged(value: ValueInfoProto, given: Sequence[int] | None, symbols: dict[str, int]) -> list[Dimension] | None:
    """The dimensions of an input after `given`, None if even their number is open; fills in `symbols`."""
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value")
        raise Undecided(f"input '{value.name}': expected a tensor, got {kind}", None)
    tensor = value.type.tensor_type
    declared = [_dimension(dim) for dim in tensor.shape.dim] if tensor.HasField("shape") else None
    if given is None:
        return declared
    extents = [int(extent) for extent in given]
    known: list[Dimension] = [None] * len(extents) if declared is None else declared
    agree = len(known) == len(extents) and all(extent >= 0 for extent in extents)
    for dim, extent in zip(known, extents, strict=False):
        wanted = symbols.setdefault(dim, extent) if isinstance(dim, str) else dim
        agree = agree and wanted in (None, extent)
    if not agree:
        raise FrontendError(
            f"input '{value.name}': expected a shape that agrees with the model's {spelled(declared)}, got {extents}"
        )
    return list(extents)


def _type(value: ValueInfoProto, shape: Sequence[int]) -> TensorType[Attribute]:
    what = f"input '{value.name}'"
    dtype = dtype_of(value.type.tensor_type.elem_type, what)
    if too_big := excess(shape, dtype.itemsize):
        raise FrontendError(f"{what}: expected {expectation()}, got {too_big}")
    return TensorType(element_type(dtype), shape)
