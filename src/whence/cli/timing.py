"""Times of a compiled model: of a run, of its kernel calls, and of its layers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from whence.api import Executable
from whence.explorer.layers import layers_of
from whence.provenance.span import leaf_name, leaves
from whence.runtime.tensors import Tensor
from whence.support.dtypes import Array

_BUDGET = 1.5
"""Seconds that are spent on repeating a run."""
_RUNS = 3, 30


@dataclass(frozen=True)
class LayerTime:
    """What a layer took, in all kernels that serve it."""

    name: str
    seconds: float
    kernels: tuple[str, ...]


def run_times(compiled: Executable, inputs: Mapping[str, Array]) -> tuple[dict[str, Tensor], list[float]]:
    """The outputs of a first run, and the seconds of those after it."""
    outputs = compiled.run(inputs)
    fewest, most = _RUNS
    times: list[float] = []
    while len(times) < fewest or (len(times) < most and sum(times) < _BUDGET):
        start = time.perf_counter()
        compiled.run(inputs)
        times.append(time.perf_counter() - start)
    return outputs, times


def call_times(compiled: Executable, inputs: Mapping[str, Array], run: float) -> list[float]:
    """Median seconds of each kernel call; `run` is about what a run takes."""
    fewest, most = _RUNS
    repeat = min(most, max(fewest, int(_BUDGET / max(run, 1e-6))))
    seconds = np.asarray(compiled.profile(inputs, repeat))
    return [median(column) for column in seconds.T.tolist()]


def layer_times(compiled: Executable, calls: list[float]) -> list[LayerTime]:
    """The time of every layer, longest first. A call's time is split evenly over the layers that it serves."""
    known = {layer.leaf for layer in layers_of(compiled.artifact)}
    seconds: dict[object, float] = {}
    kernels: dict[object, list[str]] = {}
    names: dict[object, str] = {}
    for call, taken in zip(compiled.artifact.calls, calls, strict=True):
        served = [leaf for leaf in leaves(call.location) if leaf in known]
        for leaf in served:
            names[leaf] = leaf_name(leaf)
            seconds[leaf] = seconds.get(leaf, 0.0) + taken / len(served)
            kernels.setdefault(leaf, []).append(call.name)
    ranked = sorted(seconds, key=lambda leaf: -seconds[leaf])
    return [LayerTime(names[leaf], seconds[leaf], tuple(kernels[leaf])) for leaf in ranked]
