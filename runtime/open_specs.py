"""The inputs and outputs of a program when only a call decides all of their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..support.dtypes import Array
from .flow import Value
from .tensors import TensorSpec

Dimension = int | str | None
"""An extent, the name of an unknown one, or nothing at all."""

OPEN = -1
"""An extent that only a call decides."""


@dataclass(frozen=True)
class OpenSpec(TensorSpec):
    """An input or output of which something may be open until a call."""

    names: tuple[str | None, ...] = ()
    """The model's name of each open extent."""
    kind: str = "tensor"
    """Or `sequence`, or `optional`; shape and dtype say nothing then."""
    ranked: bool = True
    """True if the number of dimensions is known."""

    def __str__(self) -> str:
        if self.kind != "tensor":
            return f"{self.kind} '{self.name}'"
        dtype = "string" if self.dtype.hasobject else self.dtype.name
        dims = [name or "?" if n == OPEN else n for n, name in zip(self.shape, self.names, strict=True)]
        return f"{dtype}{spelled(dims if self.ranked else None)} '{self.name}'"

    def accept(self, given: Any) -> tuple[Value, str]:
        """The value of what a caller gives, and what is wrong with it, if anything is."""
        if self.kind == "map" and isinstance(given, dict):
            return cast("dict[Any, Any]", given), ""
        if self.kind != "tensor" and (given is None or isinstance(given, list)):
            items = cast("list[Any]", given)
            return (None if given is None else [_item(item) for item in items]), ""
        if isinstance(given, np.ndarray):
            array = cast(Array, given)
        else:
            try:
                array = np.asarray(given, self.dtype if self.kind == "tensor" else None)
            except (TypeError, ValueError, OverflowError):
                return None, f"expected {self}, got a {type(given).__name__} that is no such array"
        if self.kind == "tensor" and self.dtype.hasobject:
            array = _texts(array)
            if array.dtype.hasobject and not all(isinstance(item, str) for item in array.reshape(-1).tolist()):
                return None, f"expected {self}, got objects of which some are no texts"
        fits = self.kind not in ("tensor", "map") or (self.kind == "tensor" and array.dtype == self.dtype)
        if self.ranked and self.kind == "tensor":
            pairs = zip(self.shape, array.shape, strict=False)
            fits = fits and len(self.shape) == array.ndim and all(wanted in (OPEN, n) for wanted, n in pairs)
        return array, "" if fits else f"expected {self}, got {array.dtype.name}{list(array.shape)}"


def _item(item: Any) -> Value:
    """Return an item of a sequence as a value."""
    if isinstance(item, dict):
        return cast("dict[Any, Any]", item)
    array: Array = np.asarray(item)
    return _texts(array)


def _texts(array: Array) -> Array:
    """Texts of numpy's own dtypes, and bytes that are UTF-8, as objects; others as they are."""
    if array.dtype.kind not in "USO":
        return array
    flat: list[Any] = array.reshape(-1).tolist()
    try:
        flat = [item.decode() if isinstance(item, bytes) else item for item in flat]
    except UnicodeDecodeError:
        return array
    texts = np.empty(len(flat), np.object_)
    texts[:] = flat
    return texts.reshape(array.shape)


def spelled(dims: Sequence[Dimension] | None) -> str:
    """Dimensions as text; None where not even their number is known."""
    return "[...]" if dims is None else f"[{', '.join('?' if d is None else str(d) for d in dims)}]"
