# pyright: basic
"""TensorFlow graphs written node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_graphs
from special_numbers import Array

from meanings.meaning import Value
from whence.frontends.tensorflow import from_tensorflow as load

__all__ = ["Net", "load"]


class Net:
    """A graph under construction; a call adds a node."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.net = tensorflow_graphs.Net()
        self.count = 0

    def _name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def input(self, array: Array) -> Value:
        return Value(self.net.placeholder(self._name("x"), array.shape, array.dtype.name), array.shape, array.dtype)

    def const(self, array: Any, dtype: str = "") -> Value:
        array = np.asarray(array, dtype or None)
        return Value(self.net.const(self._name("c"), array), array.shape, array.dtype, array)

    def __call__(self, op: str, *values: Value, results: int = 1, **attributes: Any) -> Any:
        """Add a node; returns its result, or a tuple of them. T is the type of the first input."""
        self.operators.add(op)
        attributes = {"T": values[0].dtype.name, **attributes} if values else attributes
        name = self.net.op(op, self._name("y"), *(value.name for value in values), **attributes)
        dtype = values[0].dtype if values else np.dtype(np.float32)
        made = [Value(f"{name}:{at}" if at else name, (), dtype) for at in range(results)]
        return made[0] if results == 1 else tuple(made)

    def build(self, outputs: Sequence[Value], expected: Sequence[Array]) -> Any:
        # What no node reads is an output.
        for value, array in zip(outputs, expected, strict=True):
            self.net.op("Identity", self._name("z"), value.name, T=array.dtype.name)
        return self.net.build()
