"""The inputs and outputs of a program whose shapes are not all known before a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .tensors import TensorSpec
from .values import Unsuitable, natural

Dimension = int | str | None
"""An extent, the name of an unknown extent, or None for an unknown extent without a name."""

OPEN = -1
"""An extent that only a call decides."""


@dataclass(frozen=True)
class OpenSpec(TensorSpec):
    """An input or output whose shape or rank may be open until a call."""

    names: tuple[str | None, ...] = ()
    """The model's name of each open extent."""
    kind: str = "tensor"
    """`tensor`, or `map`, `sequence` or `optional`, which shape and dtype do not describe."""
    ranked: bool = True
    """True if the rank is known."""

    @classmethod
    def of(
        cls, name: str, dims: Sequence[Dimension] | None, dtype: np.dtype[np.generic], kind: str = "tensor"
    ) -> OpenSpec:
        """Return the spec of a tensor as a model declares it; `dims` is None if even the rank is open."""
        shape = tuple(dim if isinstance(dim, int) else OPEN for dim in dims or ())
        names = tuple(dim if isinstance(dim, str) else None for dim in dims or ())
        return cls(name, shape, dtype, names, kind, dims is not None)

    @property
    def dims(self) -> list[Dimension] | None:
        """The extents, with names or None for the open ones; None if even the rank is open."""
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


def _meets(expected: int, extent: int) -> bool:
    return expected in (OPEN, extent)


def _item(item: Any) -> Any:
    """Return an item of a sequence as a map or an array."""
    if isinstance(item, dict):
        return cast("dict[Any, Any]", item)
    return natural(item)


def spelled(dims: Sequence[Dimension] | None) -> str:
    """Return dimensions as text; `dims` is None if not even the rank is known."""
    return "[...]" if dims is None else f"[{', '.join('?' if d is None else str(d) for d in dims)}]"
