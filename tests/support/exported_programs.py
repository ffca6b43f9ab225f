"""The exported PyTorch programs that are checked in, and what eager torch computed of two calls of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).parents[1] / "exports" / "pytorch"


def calls(name: str) -> list[tuple[list[Any], list[Any]]]:
    """The inputs and outputs of two calls."""
    with np.load(PROGRAMS / f"{name.partition('.')[0]}.npz") as arrays:
        return [(arrays_of(arrays, f"{call}.in"), arrays_of(arrays, f"{call}.out")) for call in (0, 1)]


def arrays_of(arrays: Any, prefix: str) -> list[Any]:
    return [arrays[f"{prefix}{at}"] for at in range(len(arrays.files)) if f"{prefix}{at}" in arrays]


def agree(results: Any, expected: list[Any]) -> None:
    found: list[Any] = [*results] if isinstance(results, tuple) else [results]
    assert len(found) == len(expected)
    for result, wanted in zip(found, expected, strict=True):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)
