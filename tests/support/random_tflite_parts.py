"""What random models of one operator are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tflite_builder import Array, Net

Rng = np.random.Generator
Make = Callable[[Rng], bytes]


def pick(rng: Rng, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def normal(rng: Rng, shape: int | Sequence[int]) -> Array:
    return np.asarray(rng.standard_normal(shape), np.float32)


def sizes(rng: Rng, rank: int, most: int = 5) -> list[int]:
    return [int(n) for n in rng.integers(1, most + 1, rank)]


def one(
    op: str,
    inputs: Sequence[Array | tuple[str, Sequence[int]]],
    outputs: Sequence[str] = ("float32",),
    options: str = "",
    version: int = 1,
    **fields: Any,
) -> bytes:
    """The model of an operator; inputs are arrays, or dtype and shape of what a call gives."""
    net = Net()
    numbers: list[int] = []
    for at, given in enumerate(inputs):
        if isinstance(given, tuple):
            numbers.append(net.input(f"x{at}", given[1], given[0]))
        else:
            numbers.append(net.const(f"c{at}", given))
    made = [net.tensor(f"y{at}", (), dtype) for at, dtype in enumerate(outputs)]
    net.op(op, numbers, made, options, version, **fields)
    return net.build(made)


def broadcasting(rng: Rng, most: int = 4) -> tuple[list[int], list[int]]:
    """Two shapes that broadcast."""
    shape = sizes(rng, int(rng.integers(1, most + 1)))
    kind = pick(rng, "same", "one", "some", "shorter")
    if kind == "same":
        return shape, shape
    if kind == "one":
        return shape, [1]
    other = [pick(rng, n, 1) for n in shape]
    if kind == "shorter":
        other = other[int(rng.integers(len(other))) :]
    return (shape, other) if rng.integers(2) else (other, shape)


def image(rng: Rng, channels: int) -> list[int]:
    return [int(rng.integers(1, 3)), int(rng.integers(3, 10)), int(rng.integers(3, 10)), channels]
