"""The types of the graph inputs: what the model says, completed by the shapes that the user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import TensorShapeProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import element_type
from ...support.errors import FrontendError
from .limits import excess, expectation
from .load import Source
from .tensors import dtype_of

Dimension = int | str | None
"""An extent, the name of an unknown one, or nothing at all."""


def input_types(source: Source, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
    """Input name -> type, in order. Inputs with an initializer are constants and are left out.

    A named dimension that `shapes` fixes for one input holds for all.

    Raises FrontendError for inputs that are no tensors, shapes that contradict the model, and dynamic dimensions
    that `shapes` does not fix.
    """
    constants = {tensor.name for tensor in source.model.graph.initializer}
    inputs = [value for value in source.model.graph.input if value.name not in constants]
    if unknown := [name for name in shapes if name not in {value.name for value in inputs}]:
        names = ", ".join(unknown)
        raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {names}")
    symbols: dict[str, int] = {}
    found = {value.name: _merged(value, shapes.get(value.name), symbols) for value in inputs}
    fixed = {
        name: [symbols.get(d, d) if isinstance(d, str) else d for d in dims] if dims is not None else None
        for name, dims in found.items()
    }
    if dynamic := [name for name, dims in fixed.items() if dims is None or not all(isinstance(d, int) for d in dims)]:
        spelled = ", ".join(f"{name} {_spelled(fixed[name])}" for name in dynamic)
        example = ",".join(str(d if isinstance(d, int) else 1) for d in fixed[dynamic[0]] or [1])
        raise FrontendError(
            f"{source.file}: expected static shapes, got dynamic dimensions in inputs {spelled}; "
            f'give their shapes, such as "{dynamic[0]}:[{example}]" (input_shapes, --input-shapes)'
        )
    return {value.name: _type(value, [d for d in fixed[value.name] or () if isinstance(d, int)]) for value in inputs}


def _spelled(dims: Sequence[Dimension] | None) -> str:
    return "[...]" if dims is None else f"[{', '.join('?' if d is None else str(d) for d in dims)}]"


def _dimension(dim: TensorShapeProto.Dimension) -> Dimension:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    return dim.dim_param or None


def _merged(value: ValueInfoProto, given: Sequence[int] | None, symbols: dict[str, int]) -> list[Dimension] | None:
    """The dimensions of an input after `given`, None if even their number is open; fills in `symbols`."""
    if not value.type.HasField("tensor_type"):
        raise FrontendError(f"input '{value.name}': expected a tensor, got {value.type.WhichOneof('value')}")
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
            f"input '{value.name}': expected a shape that agrees with the model's {_spelled(declared)}, got {extents}"
        )
    return list(extents)


def _type(value: ValueInfoProto, shape: Sequence[int]) -> TensorType[Attribute]:
    what = f"input '{value.name}'"
    dtype = dtype_of(value.type.tensor_type.elem_type, what)
    if too_big := excess(shape, dtype.itemsize):
        raise FrontendError(f"{what}: expected {expectation()}, got {too_big}")
    return TensorType(element_type(dtype), shape)
