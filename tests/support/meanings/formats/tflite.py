# pyright: basic
"""TFLite models written operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tflite_builder
from special_numbers import Array

from meanings.meaning import Value
from whence.frontends.tflite import from_tflite as load

__all__ = ["Net", "load"]


class Net:
    """A model under construction; a call adds an operator."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.net = tflite_builder.Net()
        self.numbers: dict[str, int] = {}

    def _value(self, number: int, shape: Sequence[int], dtype: Any, array: Array | None = None) -> Value:
        value = Value(f"t{number}", tuple(shape), np.dtype(dtype), array)
        self.numbers[value.name] = number
        return value

    def input(self, array: Array) -> Value:
        number = self.net.input(f"x{len(self.net.tensors)}", array.shape, array.dtype.name)
        return self._value(number, array.shape, array.dtype)

    def const(self, array: Any, dtype: str = "") -> Value:
        array = np.asarray(array, dtype or None)
        number = self.net.const(f"c{len(self.net.tensors)}", array)
        return self._value(number, array.shape, array.dtype, array)

    def __call__(
        self,
        op: str,
        *values: Value | None,
        dtypes: Sequence[str] | str = "",
        options: str | None = None,
        **fields: Any,
    ) -> Any:
        """Add an operator; returns its result, or a tuple of them.

        dtypes: those of the results, where they are not that of the first input. options: the name of their class,
        by default that of the operator, if there are fields.
        """
        self.operators.add(op)
        listed = [dtypes] if isinstance(dtypes, str) else list(dtypes)
        if options is None:
            options = f"{op.title().replace('_', '')}Options" if fields else ""
        first = next(value for value in values if value is not None)
        results: list[Value] = []
        for dtype in listed:
            number = self.net.tensor(f"y{len(self.net.tensors)}", (), dtype or first.dtype.name)
            results.append(self._value(number, (), dtype or first.dtype))
        inputs = [-1 if value is None else self.numbers[value.name] for value in values]
        self.net.op(op, inputs, [self.numbers[value.name] for value in results], options, **fields)
        return results[0] if len(results) == 1 else tuple(results)

    def build(self, outputs: Sequence[Value], expected: Sequence[Array]) -> bytes:
        return self.net.build([self.numbers[value.name] for value in outputs])
