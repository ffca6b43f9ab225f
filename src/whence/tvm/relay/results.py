"""Arrays that a program gives, with the methods that TVM's have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from whence.frontends.relay.expr import Constructor
from whence.runtime.container import ConstructorValue
from whence.runtime.flow import Adt
from whence.runtime.ndarray import NDArray, view


def viewed(value: Any, constructors: Mapping[str, Constructor] | None = None) -> Any:
    """A result whose arrays, also those in tuples and data types, answer to `numpy()`; the memory is the same.

    constructors: those of the program by name, where values of data types are to know theirs.
    """
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
            constructor = None if constructors is None else constructors.get(one.name)
            plain = Adt(one.tag, one.name, given)
            made[id(one)] = plain if constructor is None else ConstructorValue(one.tag, given, constructor)
        else:
            made[id(cast(object, one))] = _array(one) if isinstance(one, np.ndarray | np.generic) else one
    return made[id(value)]


def _array(value: Any) -> NDArray:
    return view(np.asarray(value))
