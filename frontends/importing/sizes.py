"""Tensors of sizes that only a call decides: arrays of objects that count as elements of some dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.relay.size_arithmetic import is_open, objects, settled
from ...dialects.sizes import Size
from ...support.dtypes import Array
from .context import Context
from .converter import Result
from .tensor import SIZE, Tensor


def sizes_array(values: Sequence[Size] | Size) -> Array:
    """Return sizes as an array, of int64 if all are numbers."""
    flat = list(values) if isinstance(values, Sequence) else [values]
    shape = (len(flat),) if isinstance(values, Sequence) else ()
    return settled(objects(flat, shape), SIZE)


def counted(ctx: Context, array: Array, dtype: np.dtype[Any]) -> Result:
    """Return an array of sizes, which counts as a dtype, as the output of a node."""
    if not is_open(array):
        return array.astype(dtype, copy=False)
    if dtype == SIZE:
        return array
    return Tensor("", array, leaf=ctx.builder.location, made_of=tuple(ctx.read), counts=dtype)


def open_places(array: Array) -> tuple[int, ...]:
    """Return the positions of the elements that are no numbers."""
    return tuple(at for at, value in enumerate(array.reshape(-1).tolist()) if not isinstance(value, int | float))
