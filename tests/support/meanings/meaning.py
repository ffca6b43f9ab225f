"""Records of what an operator means, and the comparison of a format's spelling with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from special_numbers import Array, departures, flushed

FORMATS = ("onnx", "tflite", "torch", "keras", "tensorflow", "stablehlo")
Spelling = Callable[..., Any]
"""Writes nodes of a case into a net: `spelling(net, *values, **options)` returns the values of its results.

It returns None for options that the format has no words for.
"""


@dataclass(frozen=True, eq=False)
class Case:
    """Inputs and options of an operator."""

    name: str
    inputs: Sequence[Array]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constants: Sequence[Array] = ()
    """Weights, which come behind the inputs and are in the model."""


@dataclass(frozen=True, eq=False)
class Meaning:
    """A meaning that several formats spell. Where two formats mean something else by one name, it is two meanings."""

    name: str
    expected: Callable[..., Any]
    """Computes the result of a case, or the tuple of its results, in numpy: `expected(*arrays, **options)`."""
    cases: Sequence[Case]
    spellings: Mapping[str, Spelling]
    """By format."""
    lost: float = 0.0
    """The size of terms that cancel each other: what is left of them is as exact as they are."""
    unsigned: bool = False
    """Zeros may have any sign."""
    wrong: Mapping[str, str] = field(default_factory=dict[str, str])
    """Format -> what is known to be wrong there, or refused."""
    note: str = ""
    """What tells it from meanings of the same name."""

    def results(self, case: Case, flush: bool = False) -> list[Array]:
        """Return the expected results of a case. flush: of its inputs with zeros for subnormal numbers."""
        inputs = [flushed(x) if flush else x for x in case.inputs]
        with np.errstate(all="ignore"):
            results = self.expected(*inputs, *case.constants, **case.options)
        listed = cast("tuple[Any, ...]", results if isinstance(results, tuple) else (results,))
        return [np.asarray(result) for result in listed]


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a model that is being written."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    array: Array | None = None
    """The numbers of a constant."""


def described(meaning: Meaning, case: Case, index: int, result: Array, flush: bool) -> str:
    """Return what is wrong with a result of a case; "" where nothing is. flush: subnormal inputs may be zeros."""
    expected = meaning.results(case)[index]
    where = f"{case.name}: result {index}" if index else case.name
    if (result.shape, result.dtype) != (expected.shape, expected.dtype):
        return f"{where}: expected {expected.dtype}{list(expected.shape)}, got {result.dtype}{list(result.shape)}"
    right = [expected, meaning.results(case, True)[index]] if flush else [expected]
    places = departures(result, right, meaning.unsigned, meaning.lost)
    if not len(places):
        return ""
    listed = [f"at {place} {result.flat[place]}, not {expected.flat[place]}" for place in places[:4]]
    return f"{where}: {len(places)} of {result.size} numbers are wrong: {'; '.join(listed)}"
