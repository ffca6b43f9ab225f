"""Records of what an operator means, and the comparison of a format's spelling with it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
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
    """Weights, which spellings are given as arrays behind the inputs: they are in the model."""


@dataclass(frozen=True, eq=False)
class Meaning:
    """A meaning that several formats spell. Where two formats mean something else by one name, it is two meanings."""

    name: str
    expected: Callable[..., Any]
    """Computes the result of a case, or the tuple of its results, in numpy: `expected(*arrays, **options)`."""
    cases: Sequence[Case]
    spellings: Mapping[str, Spelling]
    """By format; behind the format may stand a word for one more spelling there, as in `keras layer`."""
    lost: float = 0.0
    """The size of terms that cancel each other: what is left of them is as exact as they are."""
    unsigned: bool = False
    """Zeros may have any sign."""
    wrong: Mapping[str, str] = field(default_factory=dict[str, str])
    """Format -> what is known to be wrong there, or refused."""
    dtypes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Format -> the dtype of the first result there, where it is another one."""
    channels_last: Container[str] = ()
    """The formats in which inputs and first results have their second axis last."""
    lacking: Mapping[str, str] = field(default_factory=dict[str, str])
    """Format -> an operator of it that means this, and that its frontend has no row for."""
    note: str = ""
    """What tells it from meanings of the same name."""

    def inputs(self, case: Case, form: str) -> list[Array]:
        """Return the inputs of a case in a format."""
        last = form in self.channels_last
        return [np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x for x in case.inputs]

    def results(self, case: Case, form: str, flush: bool = False) -> list[Array]:
        """Return the expected results of a case in a format. flush: of its inputs with zeros for subnormal numbers."""
        inputs = [flushed(x) if flush else x for x in case.inputs]
        with np.errstate(all="ignore"):
            results = self.expected(*inputs, *case.constants, **case.options)
        listed = cast("tuple[Any, ...]", results if isinstance(results, tuple) else (results,))
        arrays = [np.asarray(result) for result in listed]
        if form in self.channels_last:
            arrays[0] = np.moveaxis(arrays[0], 1, -1)
        return [arrays[0].astype(self.dtypes.get(form, arrays[0].dtype)), *arrays[1:]]


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a model that is being written."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    array: Array | None = None
    """The numbers of a constant."""


def format_of(way: str) -> str:
    """Return the format of a way to spell, `keras` of `keras layer`."""
    return way.partition(" ")[0]


def described(meaning: Meaning, form: str, case: Case, index: int, result: Array, flush: bool) -> str:
    """Return what is wrong with a result of a case; "" where nothing is. flush: subnormal inputs may be zeros."""
    expected = meaning.results(case, form)[index]
    where = f"{case.name}: result {index}" if index else case.name
    if (result.shape, result.dtype) != (expected.shape, expected.dtype):
        return f"{where}: expected {expected.dtype}{list(expected.shape)}, got {result.dtype}{list(result.shape)}"
    right = [expected, meaning.results(case, form, True)[index]] if flush else [expected]
    places = departures(result, right, meaning.unsigned, meaning.lost)
    if not len(places):
        return ""
    listed = [f"at {place} {result.flat[place]}, not {expected.flat[place]}" for place in places[:4]]
    return f"{where}: {len(places)} of {result.size} numbers are wrong: {'; '.join(listed)}"
