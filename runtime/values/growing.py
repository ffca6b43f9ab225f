"""Arrays with room for more rows along an axis: what a call appends to stays where it is."""

from __future__ import annotations

from threading import Lock
from typing import Any, cast

import numpy as np

from ...support.dtypes import Array
from .tensors import Tensor, address, lasting_empty

_MORE = 2
"""The part of its rows, one in so many, for which an array gets room when it is full."""
_FEWEST = 64
"""The fewest rows of room, of which rooms are multiples."""
_claims = Lock()


def room_for(rows: int) -> int:
    """Return how many rows an array of so many should have room for, so that few calls have to copy it."""
    return -(-(rows + max(_FEWEST, rows // _MORE)) // _FEWEST) * _FEWEST


class Growing:
    """Memory of which an array has the first rows. Safe to use from several threads at once.

    Arrays that it gave out hold it; rows that it has do not change.
    """

    __slots__ = ("__array_interface__", "_axis", "_memory", "rows")

    def __init__(self, shape: tuple[int, ...], dtype: Any, axis: int):
        """Make memory for an array of a shape, without rows along `axis`."""
        self._memory = lasting_empty(shape, dtype)
        self._axis = axis
        self.rows = 0
        self.__array_interface__: dict[str, Any] = self._memory.__array_interface__

    @property
    def room(self) -> int:
        """The rows that there may be."""
        return self._memory.shape[self._axis]

    @property
    def whole(self) -> Tensor:
        """The array of all rows, with undefined contents behind the last one."""
        return np.asarray(cast(Any, self))

    def first(self, rows: int) -> Tensor:
        """The array of the first rows."""
        return self.whole[(*[slice(None)] * self._axis, slice(rows))]

    def claim(self, before: int, after: int) -> bool:
        """Make it have `after` rows if it has `before` now; return whether it had."""
        with _claims:
            if self.rows != before:
                return False
            self.rows = after
            return True

    def holds(self, array: Array, axis: int) -> bool:
        """Return whether an array is of the first rows of this memory, along this axis."""
        memory = self._memory
        return (
            axis == self._axis
            and array.dtype == memory.dtype
            and array.strides == memory.strides
            and (*array.shape[:axis], *array.shape[axis + 1 :]) == (*memory.shape[:axis], *memory.shape[axis + 1 :])
            and int(array.ctypes.data) == address(memory)
        )


def growing_of(array: Array, axis: int) -> Growing | None:
    """The memory of which an array has the first rows along an axis; None for any other array."""
    base: Any = array.base
    while isinstance(base, np.ndarray):
        base = cast(Any, base).base
    return base if isinstance(base, Growing) and base.holds(array, axis) else None
