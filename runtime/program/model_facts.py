"""Facts about a model in onnxruntime's words: its inputs and outputs, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..values.open_specs import OPEN, OpenSpec
from ..values.tensors import TensorSpec
from .sizes import SizedSpec

_TYPES = {"float32": "float", "float64": "double", "object": "string"}
"""Names of element types that differ from the dtype's."""


@dataclass(frozen=True)
class NodeArg:
    """An input or output of a model."""

    name: str
    shape: list[int | str | None]
    """The extents; for one that a call decides its text, or None if the model has none."""
    type: str
    """`tensor(float)`, for example; the kind of a value that is no tensor."""

    @staticmethod
    def of(spec: TensorSpec) -> NodeArg:
        """The input or output of a specification."""
        if isinstance(spec, OpenSpec) and spec.kind != "tensor":
            return NodeArg(spec.name, [], spec.kind)
        return NodeArg(spec.name, _extents(spec), f"tensor({type_name(spec.dtype)})")


def type_name(dtype: np.dtype[Any]) -> str:
    """The name of an element type."""
    return _TYPES.get(dtype.name, dtype.name.replace("float8_", "float8").replace("float4_", "float4"))


def _extents(spec: TensorSpec) -> list[int | str | None]:
    if isinstance(spec, SizedSpec):
        return [int(text) if text.isdecimal() else text for text in spec.texts]
    if isinstance(spec, OpenSpec):
        names = zip(spec.shape, spec.names, strict=True)
        return [name if extent == OPEN else extent for extent, name in names] if spec.ranked else []
    return list(spec.shape)


@dataclass(frozen=True)
class ModelMetadata:
    """The metadata in a model's file: "" and 0 where it has none."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    """`metadata_props` of an ONNX model."""
