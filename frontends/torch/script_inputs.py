# pyright: basic, reportMissingImports=false
"""Checks the names, shapes and types of inputs that you give `relay.frontend.from_pytorch` against the graph."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...support.errors import FrontendWarning, InputInfosError

_DTYPES: Mapping[str, str] = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "bfloat16": "bfloat16",
    **{name: name for name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8")},
}
"""torch's or numpy's name of an element type -> numpy's."""


@dataclass(frozen=True)
class Spec:
    """The type of an input that is a tensor."""

    shape: tuple[int, ...]
    dtype: str


Structure: TypeAlias = "Spec | tuple[Structure, ...] | list[Structure]"


def dtype_named(name: str | None, default: str) -> str:
    """Return the element type of torch's or numpy's name; without a name the default, with a warning.

    Raises InputInfosError for another name.
    """
    if not name:
        warnings.warn(FrontendWarning(f"Untyped Tensor found, assume it is {default}"), stacklevel=2)
        return dtype_named(default, default)
    if (result := _DTYPES.get(name.lower().removeprefix("torch."))) is None:
        raise InputInfosError(f"input_type {name} is not handled yet: expected one among {', '.join(_DTYPES)}")
    return result


def input_specs(graph_inputs: Sequence[Any], infos: Any, default_dtype: str) -> list[tuple[str, Structure]]:
    """Return the name and type of each input; raises InputInfosError, with TVM's texts, for unfitting infos."""
    if not isinstance(infos, list):
        raise InputInfosError("Graph inputs input_infos should be a list")
    if len(graph_inputs) != len(infos):
        raise InputInfosError(f"PyTorch has {len(graph_inputs)} inputs and input_infos lists {len(infos)}.")
    specs: list[tuple[str, Structure]] = []
    for at, (value, info) in enumerate(zip(graph_inputs, infos, strict=True)):
        if not isinstance(info, tuple):
            raise InputInfosError(f"Graph input {at} is not a tuple")
        if len(info) != 2 or not isinstance(info[0], str):
            text = f"Graph input {info} is not valid, expected ('name', shape) or ('name', (shape, dtype))"
            raise InputInfosError(text)
        name, shape = info
        if name in dict(specs):
            raise InputInfosError(f"Graph input '{name}' is there twice: expected names that differ")
        dtype = None
        if isinstance(shape, tuple) and shape and isinstance(shape[-1], str):
            if len(shape) != 2:
                text = f"Graph input {info} is not valid, expected ('name', shape) or ('name', (shape, dtype))"
                raise InputInfosError(text)
            shape, dtype = shape
        specs.append((name, _structure(value.type(), shape, dtype, default_dtype)))
    return specs


def _structure(type_: Any, shape: Any, dtype: str | None, default: str) -> Structure:
    """Return the type of a value; its shapes have the structure of the graph's type."""
    match type_.kind():
        case "OptionalType":
            return _structure(type_.getElementType(), shape, dtype, default)
        case "TupleType":
            if not isinstance(shape, tuple):
                raise InputInfosError("Shapes for tuples must be tuples")
            elements = type_.elements()
            if len(elements) != len(shape):
                raise InputInfosError(f"Shapes for tuples must be as many, {len(elements)}, got {len(shape)}")
            pairs = zip(elements, shape, strict=True)
            return tuple(_structure(element, part, dtype, default) for element, part in pairs)
        case "ListType":
            if not isinstance(shape, list):
                raise InputInfosError("Shapes for lists must be lists")
            parts = [_structure(type_.getElementType(), part, dtype, default) for part in shape]
            if any(part != parts[0] for part in parts):
                raise InputInfosError("List elements need have identical types")
            return parts
        case "TensorType":
            return _tensor(type_, shape, dtype, default)
        case kind:
            raise InputInfosError(f"unsupported input type: expected tensors, and tuples and lists of them, got {kind}")


def _tensor(type_: Any, shape: Any, dtype: str | None, default: str) -> Spec:
    if not isinstance(shape, list | tuple) or not all(
        isinstance(extent, int) and not isinstance(extent, bool) for extent in shape
    ):
        raise InputInfosError(f"Shape for Tensors must be lists of ints, got {shape!r}")
    if type_.dim() is not None and type_.dim() != len(shape):
        raise InputInfosError(f"Shapes of input list and information in the graph do not match: rank {type_.dim()}")
    sizes = type_.sizes()
    if sizes is not None and any(graph_dtype != extent for graph_dtype, extent in zip(sizes, shape, strict=True)):
        text = f"Shapes of input list and information in the graph do not match: {list(sizes)} and {list(shape)}"
        raise InputInfosError(text)
    if any(extent <= 0 for extent in shape[1:]):
        text = "Expected input's non-batch dimensions to have positive length, but input has a shape of"
        raise InputInfosError(f"{text} {list(shape)}")
    if shape and shape[0] < 0:
        raise InputInfosError(f"Expected an input's batch of a known size, but input has a shape of {list(shape)}")
    graph_dtype = type_.dtype()
    return Spec(tuple(shape), dtype_named(str(graph_dtype) if graph_dtype is not None else dtype, default))
