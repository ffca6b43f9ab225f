"""The roof over a kernel call: the least CPU time that a core needs for its operations and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..planning.artifact import Artifact
from .code import kernel_of
from .probe import Probe
from .shares import Shares
from .times import Times

_BYTES_AT_ONCE = 4
"""Products of bytes that `vpdpbusd` sums in the time of one of floats."""


@dataclass(frozen=True)
class Roof:
    """The least CPU seconds of a call; data that is in a cache may take less."""

    seconds: float
    bound: str
    """`ops` or `bytes`: the work that takes this long."""


def roofs(artifact: Artifact, probe: Probe) -> list[Roof]:
    """Return the roof over each call of the artifact, by the rates that the probe measured."""
    return [_roof(artifact, call.kernel, probe) for call in artifact.calls]


def _roof(artifact: Artifact, index: int, probe: Probe) -> Roof:
    kernel = kernel_of(artifact, index)
    rate = probe.operations * (_BYTES_AT_ONCE if "tir.dot" in kernel.tir else 1)
    operations = sum(operations for operations, _ in kernel.work) / rate
    moved = sum(size for _, size in kernel.work) / probe.bytes
    return Roof(operations, "ops") if operations >= moved else Roof(moved, "bytes")


def layer_roofs(times: Times, roofs: Sequence[Roof]) -> Shares:
    """Return the roof of each layer in seconds: a layer has the part of a call's roof that it has of its time."""
    seconds: Shares = {}
    for roof, spent, parts in zip(roofs, times.calls, times.layers, strict=True):
        for layer, part in parts.items():
            seconds[layer] = seconds.get(layer, 0.0) + (roof.seconds * part / spent if spent else 0.0)
    return seconds
