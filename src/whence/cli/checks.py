"""Comparing outputs with a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from whence.reading.arrays import named, read_arrays
from whence.reading.models import shipped_references
from whence.runtime.values.tensors import TensorSpec
from whence.support.dtypes import Array
from whence.support.errors import FrontendError

RTOL, ATOL = 1e-3, 1e-7
"""The tolerances of the onnx package's own tests of models."""

_Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Check:
    """The distance of an output from its reference."""

    output: str
    error: float
    """The largest absolute difference; nan or inf if either value is."""
    relative: float
    """The largest difference relative to the reference."""
    right: bool
    flat: bool
    """True if the reference has the same value everywhere, so that it proves little."""
    value: float
    """The first value of the reference."""

    def __str__(self) -> str:
        verdict = "ok" if self.right else f"WRONG: expected at most {RTOL:g} relative"
        text = f"{self.output}: max error {self.error:.3g} absolute, {self.relative:.3g} relative ({verdict})"
        return text + (f"; note: the reference is {self.value:.4g} everywhere, so it tells little" if self.flat else "")


def compare(name: str, actual: Array, expected: Array) -> Check:
    """Compare an output with its reference; raises FrontendError when their shapes differ."""
    if actual.shape != expected.shape:
        raise FrontendError(f"check: expected a reference of shape {actual.shape} for '{name}', got {expected.shape}")
    a, b = actual.astype(np.float64), cast(_Numbers, expected.astype(np.float64))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        difference = np.where(same, 0.0, np.abs(a - b))
        relative = np.where(same, 0.0, difference / np.abs(b))
        right = bool(np.all(same | (difference <= ATOL + RTOL * np.abs(b))))
    flat = b.size > 1 and bool(np.ptp(b) <= 1e-6 * np.max(np.abs(b), initial=0.0))
    largest = float(np.max(difference, initial=0.0)), float(np.max(relative, initial=0.0))
    return Check(name, *largest, right, flat, float(b.flat[0]) if b.size else 0.0)


def reference(specs: tuple[TensorSpec, ...], model: Path, path: Path | None, default_input: bool) -> dict[str, Array]:
    """Return the expected outputs by name: from the file `given`, or for a shipped model and its default input from
    the files beside it; {} if there is no reference.
    """
    if path is not None:
        return named(read_arrays(path), specs)
    files = shipped_references(model) if default_input else ()
    if len(files) != len(specs):
        return {}
    return {spec.name: next(iter(read_arrays(file).values())) for spec, file in zip(specs, files, strict=True)}


def check(outputs: Mapping[str, Array], expected: Mapping[str, Array]) -> list[Check]:
    """Compare every output that has a reference; raises FrontendError for references of no output."""
    if strange := [name for name in expected if name not in outputs]:
        raise FrontendError(f"check: expected references for {', '.join(outputs)}, got {', '.join(map(repr, strange))}")
    return [compare(name, outputs[name], array) for name, array in expected.items()]
