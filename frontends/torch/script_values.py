# pyright: basic, reportMissingImports=false
"""The values of a TorchScript program during evaluation: Python's numbers and lists, and the results of calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from ...support.dtypes import Array
from .schema import TensorMeta

CODES = {
    "uint8": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "complex32": 9,
    "complex64": 10,
    "complex128": 11,
    "bool": 12,
    "bfloat16": 13,
    "quint8": 14,
    "qint8": 15,
    "qint32": 16,
    "uint16": 28,
    "float8_e4m3fn": 29,
    "float8_e5m2": 30,
}
"""torch's name of an element type -> its number in the schema of exported programs."""
TORCH_CODES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 14, 16, 13)
"""torch's own number of an element type -> its number in the schema."""


@dataclass(eq=False)
class Tensor:
    """A tensor that the program computes, or that the module has."""

    name: str
    fake: Any
    """The tensor without its elements, from which torch infers types; None where the type is unknown."""
    real: Any = None
    """The tensor with its elements, if it is small and computed from the program's constants."""


@dataclass(eq=False)
class Number:
    """A number that a call computes."""

    name: str
    symbol: Any
    """torch's symbol for it."""


@dataclass(frozen=True, eq=False)
class Member:
    """A module, or another object in a module."""

    owner: Any
    path: str


def leaves_of(value: Any) -> Iterator[Any]:
    """Yield the values in lists, tuples and dictionaries, in order."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves_of(item)
    else:
        yield value


def computed_in(value: Any) -> list[Any]:
    """Return the tensors and numbers among values that are computed at a call."""
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, Tensor | Number)]


def meta_of(fake: Any) -> TensorMeta:
    """Return the type of a tensor in the schema of exported programs."""

    def size(extent: Any) -> int | str:
        if isinstance(extent, int):
            return extent
        from sympy import srepr

        return srepr(extent.node.expr)

    return TensorMeta(
        CODES[str(fake.dtype).removeprefix("torch.")],
        tuple(map(size, fake.shape)),
        tuple(map(size, fake.stride())),
        size(fake.storage_offset()),
    )


def array_of(tensor: Any) -> Array:
    """Return a tensor of torch as an array that shares no memory with it."""
    plain = tensor.detach().cpu().contiguous()
    name = str(plain.dtype).removeprefix("torch.")
    if hasattr(ml_dtypes, name):
        torch: Any = import_module("torch")
        bits = torch.int16 if plain.element_size() == 2 else torch.int8
        return plain.view(bits).numpy().copy().view(np.dtype(getattr(ml_dtypes, name)))
    return plain.numpy().copy()
