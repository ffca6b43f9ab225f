"""What a program takes and gives when only a call decides all of it."""

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
    """What the model calls each open extent."""
    kind: str = "tensor"
    """Or `sequence`, or `optional`; shape and dtype say nothing then."""
    ranked: bool = True
    """Whether the number of dimensions is known."""

    def __str__(self) -> str:
        if self.kind != "tensor":
            return f"{self.kind} '{self.name}'"
        dims = [name or "?" if n == OPEN else n for n, name in zip(self.shape, self.names, strict=True)]
        return f"{self.dtype.name}{spelled(dims if self.ranked else None)} '{self.name}'"

    def accept(self, given: Any) -> tuple[Value, str]:
        """The value of what a caller gives, and what is wrong with it, if anything is."""
        if self.kind != "tensor" and (given is None or isinstance(given, list)):
            items = cast("list[Any]", given)
            return (None if given is None else [np.asarray(item) for item in items]), ""
        if isinstance(given, np.ndarray):
            array = cast(Array, given)
        else:
            try:
                array = np.asarray(given, self.dtype if self.kind == "tensor" else None)
            except (TypeError, ValueError, OverflowError):
                return None, f"expected {self}, got a {type(given).__name__} that is no such array"
        fits = self.kind != "tensor" or array.dtype == self.dtype
        if self.ranked and self.kind == "tensor":
            pairs = zip(self.shape, array.shape, strict=False)
            fits = fits and len(self.shape) == array.ndim and all(wanted in (OPEN, n) for wanted, n in pairs)
        return array, "" if fits else f"expected {self}, got {array.dtype.name}{list(array.shape)}"


def spelled(dims: Sequence[Dimension] | None) -> str:
    """Dimensions as text; None where not even their number is known."""
    return "[...]" if dims is None else f"[{', '.join('?' if d is None else str(d) for d in dims)}]"
