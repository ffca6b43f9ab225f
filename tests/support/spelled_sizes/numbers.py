# pyright: basic
"""The functions of sizes that formats spell, of numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

MEANINGS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "add": operator.add,
    "and": lambda a, b: a and b,
    "at_least": operator.ge,
    "ceil": np.ceil,
    "clamp": lambda a, low, high: min(max(a, low), high),
    "divide": lambda a, b: a / b,
    "equal": operator.eq,
    "floor": np.floor,
    "floor_divide": operator.floordiv,
    "floor_mod": operator.mod,
    "less": operator.lt,
    "max": max,
    "min": min,
    "mul": operator.mul,
    "neg": operator.neg,
    "not": operator.not_,
    "not_equal": operator.ne,
    "or": lambda a, b: a or b,
    "product": lambda values: int(np.prod(values)),
    "real": float,
    "sign": lambda a: int(np.sign(a)),
    "sub": operator.sub,
    "times": operator.mul,
    "total": lambda values: int(sum(values)),
    "greatest": max,
    "trunc_divide": lambda a, b: int(np.trunc(a / b)),
    "trunc_mod": lambda a, b: int(np.fmod(a, b)),
    "where": lambda c, a, b: a if c else b,
    "whole": int,
}
"""Name -> what it computes of numbers."""


class Numbers:
    """The same functions, of numbers."""

    def __init__(self, x: Array):
        self.x = x
        self.outputs: list[Array] = []

    def extents(self) -> tuple[int, ...]:
        return self.x.shape

    def number(self, value: float) -> float:
        return value

    def call(self, name: str, *sizes: Any) -> Any:
        if isinstance(sizes[0], list) and name not in ("greatest", "product", "total"):
            return [MEANINGS[name](*row) for row in zip(*sizes, strict=True)]
        return MEANINGS[name](*sizes)

    def vector(self, *sizes: int) -> list[int]:
        return list(sizes)

    def item(self, values: list[int], at: int) -> int:
        return values[at]

    def part(self, values: list[int], begin: int, end: int) -> list[int]:
        return values[begin:end]

    def joined(self, *parts: list[int]) -> list[int]:
        return [value for part in parts for value in part]

    def filled(self, *sizes: int) -> None:
        self.outputs.append(np.full(sizes, 0.5, np.float32))

    def reshaped(self, *sizes: int) -> None:
        self.outputs.append(self.x.reshape(sizes))

    def tiled(self, *sizes: int) -> None:
        self.outputs.append(np.tile(self.x, sizes))

    def cut(self, rows: int) -> None:
        self.outputs.append(self.x[:rows])

    def counted(self, size: int) -> None:
        self.outputs.append(np.arange(size))
