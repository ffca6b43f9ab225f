"""Arrays that a program gives, with the methods that TVM's have."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from whence.runtime.flow import Adt
from whence.runtime.ndarray import NDArray, view


def viewed(value: Any) -> Any:
    """A result whose arrays, also those in tuples and data types, answer to `numpy()`; the memory is the same."""
    made: dict[int, Any] = {}
    stack = [value]
    while stack:
        one = stack[-1]
        inner: Any = cast(Any, one) if isinstance(one, tuple) else one.fields if isinstance(one, Adt) else ()
        parts = list(cast("tuple[Any, ...]", inner))
        if missing := [part for part in parts if id(part) not in made]:
            stack += missing
            continue
        stack.pop()
        given = tuple(made[id(part)] for part in parts)
        if isinstance(one, tuple):
            made[id(cast(object, one))] = given
        elif isinstance(one, Adt):
            made[id(one)] = Adt(one.tag, one.name, given)
        else:
            made[id(cast(object, one))] = _array(one) if isinstance(one, np.ndarray | np.generic) else one
    return made[id(value)]


def _array(value: Any) -> NDArray:
    return view(np.asarray(value))
