"""The inputs and outputs of a program when only a call decides all of their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .tensors import TensorSpec
from .values import Unsuitable, natural

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

    @classmethod
    def of(
        cls, name: str, dims: Sequence[Dimension] | None, dtype: np.dtype[np.generic], kind: str = "tensor"
    ) -> OpenSpec:
        """Return the spec of what a model says of a tensor; `dims` is None where even their number is open."""
        shape = tuple(dim if isinstance(dim, int) else OPEN for dim in dims or ())
        names = tuple(dim if isinstance(dim, str) else None for dim in dims or ())
        return cls(name, shape, dtype, names, kind, dims is not None)

    @property
    def dims(self) -> list[Dimension] | None:
        """The extents, with names or None for those that are open; None where even their number is."""
        pairs = zip(self.shape, self.names, strict=True)
        return [name if extent == OPEN else extent for extent, name in pairs] if self.ranked else None

    def __str__(self) -> str:
        if self.kind != "tensor":
            return f"{self.kind} '{self.name}'"
        dtype = "string" if self.dtype.hasobject else self.dtype.name
        return f"{dtype}{spelled(self.dims)} '{self.name}'"

    def accept(self, value: Any) -> Any:
        if self.kind == "tensor":
            return super().accept(value)
        if self.kind == "map":
            if isinstance(value, dict):
                return cast("dict[Any, Any]", value)
            raise Unsuitable(f"expected {self}, got a {type(value).__name__}")
        if value is None:
            return None
        try:
            return [_item(item) for item in cast("list[Any]", value)] if isinstance(value, list) else _item(value)
        except Unsuitable as unsuitable:
            raise Unsuitable(f"expected {self}, got {unsuitable}") from None

    def takes(self, shape: tuple[int, ...]) -> bool:
        if not self.ranked:
            return True
        return len(shape) == len(self.shape) and all(map(_meets, self.shape, shape))


def _meets(wanted: int, extent: int) -> bool:
    return wanted in (OPEN, extent)


def _item(item: Any) -> Any:
    """Return an item of a sequence as a value."""
    if isinstance(item, dict):
        return cast("dict[Any, Any]", item)
    return natural(item)


def spelled(dims: Sequence[Dimension] | None) -> str:
    """Dimensions as text; None where not even their number is known."""
    return "[...]" if dims is None else f"[{', '.join('?' if d is None else str(d) for d in dims)}]"
