"""Arrays in the layouts that `transform_layout` gives arguments and results, element by element."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]


def _places(schedule: Schedule, tensor: Tensor) -> tuple[NDArray[np.int64], ...] | None:
    """The indices of each element, in order, in the array of its layout; None without one."""
    stage = schedule[tensor]
    if (layout := stage.storage.layout) is None:
        return None
    points = np.ndindex(*cast("tuple[int, ...]", stage.shape))
    rows = [[expr.eval(list(point), []) for expr in layout.data.results] for point in points]
    return tuple(np.array(rows, np.int64).T)


def laid_out(schedule: Schedule, tensor: Tensor, array: Array) -> Array:
    """Return the array that a caller passes for a tensor of these elements."""
    if (places := _places(schedule, tensor)) is None:
        return array
    stored = np.zeros([int(column.max()) + 1 for column in places], array.dtype)
    stored[places] = array.ravel()
    return stored


def in_order(schedule: Schedule, tensor: Tensor, stored: Array) -> Array:
    """Return the elements of a tensor, from an array in its layout."""
    if (places := _places(schedule, tensor)) is None:
        return stored
    shape = cast("tuple[int, ...]", schedule[tensor].shape)
    return stored[places].reshape(shape)
