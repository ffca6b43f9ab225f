"""Arrays that a program returns, with the methods of TVM's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from whence.runtime.interpreting.container import ConstructorValue
from whence.runtime.interpreting.flow import Adt
from whence.runtime.values.ndarray import NDArray, view
from whence.syntax.relay.expr import Constructor


def viewed(value: Any, constructors: Mapping[str, Constructor] | None = None) -> Any:
    """A result whose arrays, also those in tuples and data types, answer to `numpy()`; the memory is the same.

    constructors: those of the program by name, where values of data types are to know theirs.
    """
    converted: dict[int, Any] = {}
    stack = [value]
    while stack:
        current = stack[-1]
        inner: Any = (
            cast(Any, current) if isinstance(current, tuple) else current.fields if isinstance(current, Adt) else ()
        )
        parts = list(cast("tuple[Any, ...]", inner))
        if missing := [part for part in parts if id(part) not in converted]:
            stack += missing
            continue
        stack.pop()
        fields = tuple(converted[id(part)] for part in parts)
        if isinstance(current, tuple):
            converted[id(cast(object, current))] = fields
        elif isinstance(current, Adt):
            constructor = None if constructors is None else constructors.get(current.name)
            plain = Adt(current.tag, current.name, fields)
            converted[id(current)] = (
                plain if constructor is None else ConstructorValue(current.tag, fields, constructor)
            )
        else:
            converted[id(cast(object, current))] = (
                _array(current) if isinstance(current, np.ndarray | np.generic) else current
            )
    return converted[id(value)]


def _array(value: Any) -> NDArray:
    return view(np.asarray(value))
